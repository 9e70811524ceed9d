"""The estimator: scikit-learn's own checks, boxes of k fitted rows at least, the same as those that are released."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import anonymizer as an
from anonymizer.growing.records import descend
from anonymizer.sklearn import Anonymizer, route

TABLE = an.SAMPLES["hospital"].load().head(600)
X, Y = TABLE[["age", "sex", "marital_status"]], TABLE["diagnosis"]
CHECKS = {
    f"{at} {check.func.__name__}": check for at, (_, check) in enumerate(estimator_checks_generator(Anonymizer(k=2)))
}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_scikit_learn__hold(name: str) -> None:
    CHECKS[name](Anonymizer(k=2))


@pytest.mark.parametrize("k", [2, 10, 60])
def test_transform__gives_what_is_released_and_at_least_k_alike(k: int) -> None:
    one = Anonymizer(k=k, as_text=True).fit(X, Y)
    boxes = one.transform(X)
    rows = pd.DataFrame(boxes).groupby([0, 1, 2], dropna=False).size()
    assert rows.min() >= k
    release = one.result_.release
    released = release.frame()[list(X.columns)].astype(object).to_numpy()
    boxes = boxes[release.order]
    assert ((boxes == released) | (pd.isna(boxes) & pd.isna(released))).all()


def test_other_rows__get_boxes_of_fitted_ones_only() -> None:
    one = Anonymizer(k=20, as_text=True).fit(X, Y)
    there = {tuple(row) for row in one.transform(X)}
    others = pd.DataFrame({"age": [3, 200, None, 40], "sex": ["x", "male", None, "female"], "marital_status": "none"})
    assert {tuple(row) for row in one.transform(others)} <= there


def test_route__is_where_records_descend() -> None:
    frame = X.assign(age=X["age"].where(X.index % 7 > 0), sex=X["sex"].where(X.index % 5 > 0))
    one = Anonymizer(k=5).fit(frame, Y)
    encoded, tree = one.result_.encoded, one.result_.flow.tree
    assert (route(tree, encoded.encodings, frame) == descend(tree, encoded)).all()


def test_pipeline__learns_from_middles_of_boxes() -> None:
    numbers = TABLE[["age", "days_of_stay"]]
    model = make_pipeline(Anonymizer(k=10), LogisticRegression(max_iter=500)).fit(numbers, TABLE["sex"])
    assert 0 < model.score(numbers, TABLE["sex"]) <= 1
    one = model[0].set_output(transform="pandas")
    assert list(one.transform(numbers).columns) == ["age", "days_of_stay"]
    assert one.transform(numbers)["age"].between(numbers["age"].min(), numbers["age"].max()).all()
    assert clone(one).get_params() == one.get_params()


def test_too_few_rows__are_refused() -> None:
    with pytest.raises(an.GuaranteeError, match="fewer than k = 50"):
        Anonymizer(k=50).fit(np.arange(40.0).reshape(20, 2))


def test_state__has_no_rows() -> None:
    state = Anonymizer(k=20).fit(X, Y).__getstate__()
    assert not any(isinstance(value, pd.DataFrame | an.Result) for value in state.values())


def test_package__has_the_estimator() -> None:
    assert an.sklearn.Anonymizer is Anonymizer
