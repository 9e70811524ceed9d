"""Losses: cells, releases and cuts agree with each other and with plain arithmetic."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from anonymizer.cells import Cell
from anonymizer.checking.linkage import look_alikes
from anonymizer.errors import ParameterError
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.measuring.utility import (
    cell_ncp,
    classification_error,
    cut_discernibility,
    cut_error,
    cut_gcp,
    cut_ncp_by_column,
    discernibility,
    gcp,
    majority_class_error,
    ncp,
    ncp_by_column,
    node_ncp,
)
from anonymizer.releasing.generalize import generalize
from anonymizer.schema import Schema
from tests.releasing.test_generalize import QUASI, grow_case, trees
from tests.sweeps import few


def encodings_of(**columns):
    table = pd.DataFrame(columns)
    return encode(table, Schema.of(table, quasi_identifying=list(columns))).encodings


def test_cell_ncp__by_hand():
    age, city = encodings_of(age=[20, 30, 60, None], city=["a", "b", "c", None])
    w = 1 / 4  # three ages and missing
    assert cell_ncp(Cell.interval("20", "30"), age) == pytest.approx(10 / 40)
    assert cell_ncp(Cell.interval("20", "30", missing=True), age) == pytest.approx((1 - w) * 10 / 40 + w)
    assert cell_ncp(Cell.interval("20", "20", missing=True), age) == pytest.approx(w)
    assert cell_ncp(Cell.interval("20", "60"), age) == 1
    assert cell_ncp(Cell.of_levels(("a", "b")), city) == pytest.approx(2 / 4)
    assert cell_ncp(Cell.of_levels(("a",), missing=True), city) == pytest.approx(2 / 4)
    assert cell_ncp(Cell.WITHHELD, city) == cell_ncp(Cell.WITHHELD, age) == 1
    for encoding in (age, city):
        assert cell_ncp(Cell.MISSING, encoding) == 0
    assert cell_ncp(Cell.value("a"), city) == cell_ncp(Cell.interval("20", "20"), age) == 0


def test_constant_columns__lose_nothing():
    age, city = encodings_of(age=[5, 5], city=["a", "a"])
    assert cell_ncp(Cell.interval("5", "5"), age) == cell_ncp(Cell.value("a"), city) == 0


@settings(max_examples=few(60))
@given(trees)
def test_cut_arithmetic__agrees_with_the_release(case):
    table, schema, encoded, pruning = grow_case(*case)
    release = generalize(table, schema, encoded, pruning, "uniform", case[2])
    of_node, cut = node_ncp(pruning.tree, encoded.encodings), pruning.cut()
    assert cut_gcp(pruning.tree, of_node, cut) == pytest.approx(gcp(release, encoded.encodings), abs=1e-12)
    assert cut_ncp_by_column(pruning.tree, of_node, cut) == pytest.approx(
        list(ncp_by_column(release, encoded.encodings).values()), abs=1e-12
    )
    cells = ncp(release, encoded.encodings)
    assert cells.shape == (len(table), len(QUASI))
    assert cells.mean() == pytest.approx(gcp(release, encoded.encodings), abs=1e-12)
    assert cells.min() >= 0
    assert cells.max() <= 1
    # Two groups can get the same box, and then their rows look alike.
    classes = look_alikes(release.frame(), QUASI)
    assert discernibility(classes) >= cut_discernibility(pruning.tree, cut)
    assert majority_class_error(table["class"].iloc[release.order], classes) >= cut_error(pruning.tree, cut) - 1e-12


@settings(max_examples=few(30))
@given(trees)
def test_merging_groups__never_lowers_a_loss(case):
    _, _, encoded, pruning = grow_case(*case)
    of_node = node_ncp(pruning.tree, encoded.encodings)
    losses = [cut_gcp(pruning.tree, of_node, pruning.cut(after)) for after in range(pruning.n_steps + 1)]
    assert np.all(np.diff(losses) >= -1e-12)


def test_discernibility_and_majority_error__by_hand():
    frame = pd.DataFrame({"q": ["x", "x", "x", None, None, "y"], "s": ["a", "a", "b", "a", None, "b"]})
    classes = look_alikes(frame, ["q"])
    assert discernibility(classes) == 9 + 4 + 1
    assert majority_class_error(frame["s"], classes) == pytest.approx(2 / 6)
    assert majority_class_error(frame["s"], look_alikes(frame, [])) == pytest.approx(3 / 6)


def make_release(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.integers(0, 100, n), "c": rng.choice(list("abc"), n)})
    truth = (table["x"] > 50) | (table["c"] == "a")
    table["s"] = np.where(truth ^ (rng.random(n) < noise), "yes", "no")
    schema = Schema.of(table, quasi_identifying=["x", "c"], sensitive=["s"])
    encoded = encode(table, schema)
    tree = grow(encoded)
    return generalize(table, schema, encoded, prune(tree, annotate(tree, encoded), "least", 10), "uniform", 10)


def test_classification_error__finds_what_can_be_predicted_and_no_more():
    assert classification_error(make_release(2000, 0.0), "s") < 0.01
    noisy = classification_error(make_release(2000, 0.5), "s")
    assert 0.3 < noisy < 0.6
    assert classification_error(make_release(2000, 0.2), "s") == pytest.approx(0.2, abs=0.06)


def test_classification_error__refuses_what_it_cannot_do():
    release = make_release(60, 0.0)
    with pytest.raises(ParameterError):
        classification_error(release, "x")
    with pytest.raises(ParameterError):
        classification_error(release, "s", folds=61)
    with pytest.raises(ParameterError):
        classification_error(release, "absent")


def test_losses__need_the_encodings_of_the_release():
    with pytest.raises(ParameterError):
        gcp(make_release(60, 0.0), encodings_of(age=[1, 2]))
