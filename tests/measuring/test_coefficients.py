"""Regressions of the original and of its release: against other libraries, by hand, and where they cannot be fitted."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from anonymizer.flow import Flow
from anonymizer.measuring.boxed import BoxedTable, pick
from anonymizer.measuring.coefficients import (
    DRAWS,
    FEWEST,
    MOST_LEVELS,
    Design,
    Term,
    agreement,
    independent,
    linear,
    logistic,
    regression_of,
    terms_of_codes,
)
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.naive_margins import values_of
from tests.sweeps import few


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 80, n), "city": rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])})
    score = 0.05 * (table["age"] - 50) + table["city"].map({"a": 0.0, "b": 1.0, "c": -1.0}) + rng.logistic(size=n)
    return table.assign(ill=np.where(score > 0, "yes", "no"), cost=100 + 40 * score)


def flow_of(table: pd.DataFrame, target: str, **settings: object) -> Flow:
    schema = Schema.of(table, quasi_identifying=["age", "city"], sensitive=[target])
    return Flow(table, schema, Settings(**settings))


def design_by_hand(table: pd.DataFrame) -> np.ndarray:
    """A constant, the age as a share of its range, and the two rarer cities."""
    age = (table["age"] - table["age"].min()) / (table["age"].max() - table["age"].min())
    return np.column_stack([np.ones(len(table)), age, table["city"] == "b", table["city"] == "c"]).astype(float)


def test_numbers__are_least_squares_with_their_usual_intervals() -> None:
    table = people()
    (fit,) = flow_of(table, "cost").on_all.fits
    x, y = design_by_hand(table), table["cost"].to_numpy()
    expected, squares, _, _ = np.linalg.lstsq(x, y, rcond=None)
    errors = np.sqrt(squares[0] / (len(x) - 4) * np.diag(np.linalg.inv(x.T @ x)))
    reach = t.ppf(0.975, len(x) - 4) * errors
    width = y.max() - y.min()  # the response is scaled to its range
    np.testing.assert_allclose(fit.estimate[1:] * width, expected[1:], rtol=1e-8)
    np.testing.assert_allclose(fit.low[1:] * width, (expected - reach)[1:], rtol=1e-8)
    np.testing.assert_allclose(fit.high[1:] * width, (expected + reach)[1:], rtol=1e-8)


def test_classes__are_the_logistic_regression_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    table = people()
    regression = flow_of(table, "ill").on_all
    (fit,) = regression.fits
    x = design_by_hand(table)
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    expected = model.fit(x, fit.response).coef_[0]
    np.testing.assert_allclose(fit.estimate, expected, rtol=1e-6)
    share = model.predict_proba(x)[:, 1]
    errors = np.sqrt(np.diag(np.linalg.inv((x.T * (share * (1 - share))) @ x)))
    np.testing.assert_allclose(fit.high - fit.low, 2 * norm.ppf(0.975) * errors, rtol=1e-6)
    assert regression.logistic


@settings(max_examples=few(20))
@given(st.integers(0, 10**6), st.sampled_from(sorted(GENERALIZERS)), st.sampled_from(["ill", "cost"]))
def test_agreement__is_that_of_a_regression_of_the_released_rows(seed: int, generalizer: str, target: str) -> None:
    """The same regression, row by row, from what is drawn of each box."""
    from sklearn.linear_model import LogisticRegression

    flow = flow_of(people(800, seed), target, k=8, generalizer=generalizer)
    (fit,) = flow.on_all.fits
    rng, (low, high) = np.random.default_rng(DRAWS), flow.encoded.encodings[0].domain
    pairs = zip(values_of(flow, "age", rng), values_of(flow, "city", rng), strict=True)
    x = np.array([[1.0, (age - low) / (high - low), city == "b", city == "c"] for age, city in pairs])
    y = fit.response
    rank = np.linalg.matrix_rank(x, tol=1e-7)
    answer = flow.coefficients
    assert answer.coefficients == 3
    if rank < 4:
        assert answer.inside < 3
        return
    if target == "cost":
        estimate = np.linalg.lstsq(x, y, rcond=None)[0]
    else:
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, solver="newton-cholesky", max_iter=200)
        estimate = model.fit(x, y).coef_[0]
    near = np.minimum(abs(estimate - fit.low), abs(estimate - fit.high)).min() < 1e-4
    if not near:
        assert answer.inside == ((fit.low <= estimate) & (estimate <= fit.high))[1:].sum()
    errors = (fit.high - fit.estimate)[1:] / (t.ppf(0.975, 796) if target == "cost" else norm.ppf(0.975))
    assert answer.distance == pytest.approx(np.median(np.abs(estimate - fit.estimate)[1:] / errors), rel=1e-3)


@pytest.mark.parametrize("target", ["ill", "cost"])
def test_records_themselves__agree_with_every_coefficient(target: str) -> None:
    flow = flow_of(people(), target)
    answer = agreement(flow.on_all, BoxedTable.of_records(flow.encoded))
    assert (answer.coefficients, answer.inside, answer.share) == (3, 3, 1.0)


def test_one_group__says_that_nothing_depends_on_anything() -> None:
    """What is drawn of a box knows nothing of who has it, so slopes are near 0, and far from the original's."""
    for target in ("ill", "cost"):
        answer = flow_of(people(), target, k=600).coefficients
        assert (answer.target, answer.logistic, answer.coefficients) == (target, target == "ill", 3)
        assert answer.inside <= 1
        assert answer.distance > 4
        assert answer.to_dict()["median_distance_in_standard_errors"] == answer.distance


def test_pick__draws_by_the_shares_of_narrow_rows() -> None:
    """Rows may be numbered in a single byte, and places among all shares not."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(20), 120)
    shares[7] = np.eye(20)[19]
    row = np.repeat(np.arange(120), 400)
    answer = pick(shares, row.astype(np.uint8), np.random.default_rng(1))
    assert (answer == pick(shares, row, np.random.default_rng(1))).all()
    assert (answer[row == 7] == 19).all()
    counts = np.bincount(row * 20 + answer, minlength=2400).reshape(120, 20) / 400
    assert np.abs(counts - shares).max() < 0.12


def test_more_classes__are_each_set_against_the_rest() -> None:
    table = people(900)
    table["kind"] = np.random.default_rng(1).choice([*"pqrstuv"], 900, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.09, 0.01])
    regression = flow_of(table, "kind").on_all
    often = table["kind"].value_counts().index[:5]
    assert len(regression.fits) == 5
    for fit, level in zip(regression.fits, often, strict=True):
        assert fit.response.tolist() == (table["kind"] == level).astype(float).tolist()
    assert flow_of(table, "kind", k=20, generalizer="refine").coefficients.coefficients == 15


def test_where_there_is_nothing_to_fit__there_is_no_figure() -> None:
    table = people(600)
    bare = Flow(table, Schema.of(table, quasi_identifying=["age", "city"]))
    assert (bare.on_all, bare.coefficients) == (None, None)
    assert flow_of(table.head(19), "cost", k=2).coefficients is None, "fewer than ten people a term"
    few = table.assign(ill=np.where(np.arange(600) < FEWEST - 1, "yes", "no"))
    assert flow_of(few, "ill").coefficients is None, "fewer than ten people in a class"
    assert flow_of(table.assign(ill="yes"), "ill").coefficients is None, "one class"
    assert flow_of(table.assign(cost=3.0), "cost").coefficients is None, "one number"
    parted = table.assign(ill=np.where(table["age"] > 50, "yes", "no"))
    answer = flow_of(parted, "ill", generalizer="refine").coefficients
    assert answer is None, "a class that the age tells for sure has no largest likelihood"


def test_twins__are_left_out() -> None:
    table = people(600).assign(months=lambda frame: frame["age"] * 12)
    schema = Schema.of(table, quasi_identifying=["age", "months", "city"], sensitive=["cost"])
    (fit,) = Flow(table, schema).on_all.fits
    assert len(fit.places) == 4
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x = np.column_stack([x[:, 0], x[:, 0] * 2, x[:, 1], x[:, 0] - x[:, 1], x[:, 2], np.zeros(50)])
    assert independent(x.T @ x).tolist() == [0, 2, 4]


def test_rare_levels__count_together() -> None:
    levels = [f"l{number:02}" for number in range(20)]
    counts = [100, *range(40, 21, -1)]
    values = np.repeat(levels, counts)
    table = pd.DataFrame({"age": np.arange(len(values)) % 50, "city": values, "cost": np.arange(float(len(values)))})
    encoded = flow_of(table, "cost").encoded
    encoding, codes = encoded.encodings[1], encoded.codes.columns[1]
    term = terms_of_codes(encoding, codes, None)
    assert term.tolist() == [0, *range(1, MOST_LEVELS), *[MOST_LEVELS] * (20 - MOST_LEVELS)]
    ill = (codes % 2 == 0).astype(float)
    assert terms_of_codes(encoding, codes, ill).tolist() == [0, *[1] * 19], "each is ill for sure, or is not"
    few = np.array([0] * 50 + [1] * 50 + [2] * (FEWEST - 1))
    assert terms_of_codes(encoding, few, None)[:3].tolist() == [0, 1, 0]


def test_missing_numbers__are_a_term_where_there_are_enough() -> None:
    table = people(600).astype({"age": float})
    table.loc[::6, "age"] = np.nan
    (fit,) = flow_of(table, "cost").on_all.fits
    assert len(fit.places) == 5
    table = people(600).astype({"age": float})
    table.loc[:5, "age"] = np.nan
    (fit,) = flow_of(table, "cost").on_all.fits
    assert len(fit.places) == 4


def test_blocks__of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, weights = rng.normal(size=(40, 2)), rng.integers(1, 5, 40).astype(float)
    share = rng.random(40)
    design, places, start = Design([Term(x, np.arange(40))], weights), np.arange(3), np.zeros(3)
    whole = [design.gram(), *linear(design, places, share, start), *logistic(design, places, share, start)]
    monkeypatch.setattr("anonymizer.measuring.coefficients._BLOCK", 7)
    again = [design.gram(), *linear(design, places, share, start), *logistic(design, places, share, start)]
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_regression_of__predicts_the_target_among_several_numbers() -> None:
    table = people(600).assign(other=lambda frame: -frame["cost"] + frame["age"])
    schema = Schema.of(table, quasi_identifying=["age", "city"], sensitive=["other", "cost"], target="cost")
    flow = Flow(table, schema)
    assert flow.on_all.target == "cost"
    (fit,) = flow.on_all.fits
    position = flow.encoded.numeric.names.index("cost")
    assert fit.response.tolist() == flow.encoded.numeric.values[:, position].tolist()
    assert regression_of(flow.encoded, None) is None
