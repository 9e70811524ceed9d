"""Settings beside each other: which are not beaten, what the figure shows, and the sentence above it."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import (
    as_table,
    by_fold,
    differences,
    drawable,
    tradeoff_figure,
    tradeoff_sentence,
    unbeaten,
)
from anonymizer.measuring.experiment import MEASURES, ORIGINAL, Outcome, evaluate
from tests.groups.test_refine import random_table


@pytest.fixture(scope="module")
def outcomes():
    table, schema = random_table(31, 240)
    groupings, generalizers = ["least", "median-mondrian", "blend:0.2"], ["uniform", "refine"]
    return evaluate(Flow(table, schema), folds=2, ks=(4, 9), groupings=groupings, generalizers=generalizers)


@pytest.mark.parametrize("measure", ["error", "mape_linear", "mape_tree", "rsd"])
def test_unbeaten__is_what_no_other_setting_of_its_k_dominates(outcomes, measure):
    sign = -1 if measure == "rsd" else 1
    points = {id(o): (o.mean("gcp"), sign * o.mean(measure)) for o in outcomes}
    beaten = {
        id(one)
        for one, other in itertools.permutations(outcomes[1:], 2)
        if one.k == other.k
        and all(np.less_equal(points[id(other)], points[id(one)]))
        and points[id(other)] != points[id(one)]
    }
    assert [id(o) for o in unbeaten(outcomes, measure)] == [id(o) for o in outcomes[1:] if id(o) not in beaten]
    assert 0 < len(beaten) < len(outcomes) - 1


def test_the_figure__has_each_setting_once_and_rings_those_that_are_not_beaten(outcomes):
    figure = json.loads(tradeoff_figure(outcomes, "error").to_json())
    lines, ring = figure["data"][:-1], figure["data"][-1]
    points = {
        (line["name"], int(k)): (x, y)
        for line in lines
        for k, x, y in zip(line["text"], line["x"], line["y"], strict=True)
    }
    assert points == {(f"{o.grouping} · {o.generalizer}", o.k): (o.mean("gcp"), o.mean("error")) for o in outcomes[1:]}
    assert list(zip(ring["x"], ring["y"], strict=True)) == [
        (o.mean("gcp"), o.mean("error")) for o in unbeaten(outcomes, "error")
    ]
    assert figure["layout"]["shapes"][0]["y0"] == outcomes[0].mean("error")


def test_the_sentence__names_the_best_at_the_smallest_k(outcomes):
    sentence = tradeoff_sentence(outcomes, "error")
    at = [o for o in outcomes[1:] if o.k == 4]
    best, tightest = min(at, key=lambda o: o.mean("error")), min(at, key=lambda o: o.mean("gcp"))
    first = f"{best.grouping} · {best.generalizer} has the lowest classification error ({best.mean('error'):.3g})"
    assert first in sentence
    assert f"loss (GCP {tightest.mean('gcp'):.3g})" in sentence
    assert "highest RSD" in tradeoff_sentence(outcomes, "rsd")


def test_what_was_not_measured__is_not_drawn(outcomes):
    assert drawable(outcomes) == ("error", "mape_linear", "mape_tree", "rsd")
    none = {name: np.array([0.5 if name == "gcp" else np.nan]) for name in MEASURES}
    assert drawable([Outcome(ORIGINAL, "none", 1, none, 0), Outcome("least", "uniform", 5, none, 0)]) == ()


def test_files_and_tests__hold_every_setting(outcomes):
    folds = pd.read_csv(pd.io.common.StringIO(by_fold(outcomes)))
    assert len(folds) == 2 * len(outcomes)
    means = folds.groupby(["grouping", "generalizer", "k"], sort=False)[["gcp", "error", "rsd"]].mean().reset_index()
    table = as_table(outcomes)
    np.testing.assert_allclose(means[["gcp", "error", "rsd"]], table[["gcp", "error", "rsd"]], rtol=1e-12)
    tests = differences(outcomes[1:], "least/uniform")
    assert {(t["grouping"], t["generalizer"], t["k"]) for t in tests} == {
        (o.grouping, o.generalizer, o.k) for o in outcomes[1:] if (o.grouping, o.generalizer) != ("least", "uniform")
    }
