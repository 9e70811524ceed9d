"""Released cells as weighted records: shares add up, and a weighted release gives the original sums back."""

import doctest
import importlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.checking.verify import verify
from anonymizer.errors import CellError, ParameterError
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.releasing.expand import expand
from anonymizer.releasing.generalize import generalize
from anonymizer.schema import Schema
from tests.groups.test_refine import random_table
from tests.sweeps import few

module = importlib.import_module("anonymizer.releasing.expand")


def make_release(seed, n, k, **writing):
    table, schema = random_table(seed, n)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=1)
    pruning = prune(tree, annotate(tree, encoded), "least", k)
    return table, schema, generalize(table, schema, encoded, pruning, k=k, **writing)


def test_the_example_of_the_documentation_is_true():
    (example,) = doctest.DocTestFinder().find(expand, "expand", globs=dict(vars(module)))
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.attempted == 5
    assert not outcome.failed


@settings(max_examples=few(60))
@given(st.tuples(st.integers(0, 10**6), st.integers(6, 60), st.integers(1, 5)))
def test_weights__add_up_and_weighted_levels_have_their_original_frequencies(case):
    table, schema, release = make_release(*case, writing="weighted", numbers="mean")
    records = expand(release.frame(), schema)
    assert records["weight"].sum() == pytest.approx(len(table))
    for name in ("city", "grade"):
        weights = records.groupby(records[name].fillna("(missing)"))["weight"].sum()
        counts = table[name].fillna("(missing)").value_counts()
        assert weights.to_dict() == pytest.approx(counts.to_dict())
    if not table["age"].isna().any():
        assert (records["age"] * records["weight"]).sum() == pytest.approx(table["age"].sum())


def test_unweighted_cells__share_equally():
    table = pd.DataFrame(
        {
            "job": ["{a, missing}", "a+b", "*", None, '"c+d"'],
            "age": ["[30, 40]", "7", "{~8.5, missing}", "*", None],
            "born": ["[2020-01-01, 2020-01-03]", "2020-01-01", None, "~2020-01-09", "2020-01-01"],
            "pay": [1, 2, 3, 4, 5],
        }
    )
    schema = Schema.of(
        table,
        quasi_identifying=["job", "age", "born"],
        sensitive=["pay"],
        kinds={"job": "categorical", "age": "numeric", "born": "date"},
        domains={"job": ["a", "b", "c+d"]},
    )
    records = expand(table, schema)
    by_row = dict(iter(records.groupby("pay")))
    assert by_row[1]["job"].tolist() == ["a", pytest.approx(np.nan, nan_ok=True)]
    assert by_row[1]["age"].tolist() == [35, 35]
    assert by_row[1]["born"].tolist() == [pd.Timestamp("2020-01-02")] * 2
    assert by_row[2]["job"].tolist() == ["a", "b"]
    assert by_row[2]["weight"].tolist() == [0.5, 0.5]
    assert len(by_row[3]) == 3 * 2
    assert by_row[3]["age"].fillna(-1).tolist() == [8.5, -1] * 3
    assert by_row[3]["weight"].tolist() == pytest.approx([1 / 6] * 6)
    assert by_row[4][["job", "age"]].isna().all(axis=None)
    assert by_row[5]["job"].tolist() == ["c+d"]
    only = expand(table, schema, columns=["age"], weight="share")
    assert only["job"].tolist()[1] == "a+b"
    assert only["share"].tolist() == [1, 1, 0.5, 0.5, 1, 1]


def test_what_cannot_be_expanded__is_said(monkeypatch):
    _, schema, release = make_release(1, 40, 5)
    frame = release.frame()
    with pytest.raises(ParameterError, match="'ill' is not a quasi-identifying"):
        expand(frame, schema, columns=["ill"])
    with pytest.raises(ParameterError, match="already has a column 'cost'"):
        expand(frame, schema, weight="cost")
    monkeypatch.setattr(module, "MAX_ROWS", 10)
    with pytest.raises(ParameterError, match="more than 10"):
        expand(frame, schema)
    with pytest.raises(CellError):
        expand(frame.assign(age="about forty"), schema)


def test_the_checker__says_that_means_contain_nobody():
    table, schema, release = make_release(3, 80, 5, numbers="mean")
    plain = verify(release.frame(), schema, k=5)
    assert plain.k_anonymous
    assert plain["means and medians"].passed is None
    assert "need not contain" in plain["means and medians"].sentence
    beside = verify(release.frame(), schema, k=5, original=table, order=release.order)
    assert beside["containment"].passed
    assert "but the means and medians" in beside["containment"].sentence
    # The columns that are written as sets are still checked.
    wrong = release.frame()
    wrong["city"] = wrong["city"].cat.set_categories([*wrong["city"].cat.categories, "nowhere"])
    wrong.loc[0, "city"] = "nowhere"
    assert verify(wrong, schema, k=1, original=table, order=release.order)["containment"].passed is False
    _, _, ranges = make_release(3, 80, 5)
    assert verify(ranges.frame(), schema, k=5).get("means and medians") is None
