"""Settings beside each other: which are not beaten, what the figure shows, and the sentence above it."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import (
    as_table,
    asked_by,
    by_fold,
    by_rank,
    differences,
    drawable,
    in_use,
    ranks,
    title_of,
    tradeoff_figure,
    tradeoff_sentence,
    unbeaten,
)
from anonymizer.measuring.measures import FORMS, MEASURES, MODELS, OF_NUMBERS, ORIGINAL, SINGLE, Outcome
from anonymizer.studies.experiment import evaluate
from anonymizer.values import number_text
from tests.groups.test_refine import random_table

NUMBERS = [f"{figure}_{model}" for figure in OF_NUMBERS if figure != "slope" for model in MODELS]


@pytest.fixture(scope="module")
def outcomes():
    table, schema = random_table(31, 240)
    groupings, generalizers = ["least", "median-mondrian", "blend:0.2"], ["uniform", "refine"]
    return evaluate(Flow(table, schema), folds=2, ks=(4, 9), groupings=groupings, generalizers=generalizers)


@pytest.mark.parametrize("measure", ["error_raw", "error_box", "two_way", "ranges", *SINGLE, "coefficients", "rsd"])
def test_unbeaten__is_what_no_other_setting_of_its_k_dominates(outcomes, measure):
    sign = -1 if measure in ("rsd", "coefficients") else 1
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


@pytest.mark.parametrize("measure", ["two_way", "coefficients"])
def test_by_rank__the_best_of_each_k_comes_first(outcomes, measure):
    ranked = by_rank(outcomes, measure)
    sign = -1 if measure == "coefficients" else 1
    assert ranked[0] is outcomes[0]
    assert [one.k for one in ranked[1:]] == [4] * 6 + [9] * 6
    for k in (4, 9):
        figures = [sign * one.mean(measure) for one in ranked[1:] if one.k == k]
        assert figures == sorted(figures)
        assert len(set(figures)) > 1
    assert by_rank(outcomes, "") == outcomes


def test_the_figure__has_each_setting_once_and_rings_those_that_are_not_beaten(outcomes):
    figure = json.loads(tradeoff_figure(outcomes, "error_raw").to_json())
    lines, ring = figure["data"][:-1], figure["data"][-1]
    points = {
        (line["name"], int(k)): (x, y)
        for line in lines
        for k, x, y in zip(line["text"], line["x"], line["y"], strict=True)
    }
    assert points == {
        (title_of(o.grouping, o.generalizer), o.k): (o.mean("gcp"), o.mean("error_raw")) for o in outcomes[1:]
    }
    assert list(zip(ring["x"], ring["y"], strict=True)) == [
        (o.mean("gcp"), o.mean("error_raw")) for o in unbeaten(outcomes, "error_raw")
    ]
    assert figure["layout"]["shapes"][0]["y0"] == outcomes[0].mean("error_raw")


def test_the_sentence__names_the_best_at_the_smallest_k(outcomes):
    sentence = tradeoff_sentence(outcomes, "error_raw")
    at = [o for o in outcomes[1:] if o.k == 4]
    best, tightest = min(at, key=lambda o: o.mean("error_raw")), min(at, key=lambda o: o.mean("gcp"))
    first = (
        f"{title_of(best.grouping, best.generalizer)} has the lowest classification error, raw "
        f"({number_text(best.mean('error_raw'))})"
    )
    assert first in sentence
    assert f"detail lost (GCP) ({number_text(tightest.mean('gcp'))})" in sentence
    assert "highest mean RSD" in tradeoff_sentence(outcomes, "rsd")


def test_the_setting_in_use__has_the_headline_and_the_largest_mark(outcomes):
    for mine in outcomes[1:]:
        assert in_use(outcomes, mine.grouping, mine.generalizer, mine.k) is mine
        sentence = tradeoff_sentence(outcomes, "error_raw", mine)
        assert sentence.startswith(f"Your setting, {title_of(mine.grouping, mine.generalizer)}, has ")
        assert f"{number_text(mine.mean('error_raw'))} at k = {mine.k}" in sentence
        best = min((o for o in outcomes[1:] if o.k == mine.k), key=lambda o: o.mean("error_raw"))
        same = best.mean("error_raw") == mine.mean("error_raw")
        end = "none that was tried there is better"
        if not same:
            end = f"{title_of(best.grouping, best.generalizer)} has {number_text(best.mean('error_raw'))}"
        assert sentence.endswith(f"; {end}")
        mark = next(
            trace for trace in tradeoff_figure(outcomes, "error_raw", mine).data if trace.name == "your setting"
        )
        assert (mark.x[0], mark.y[0]) == (mine.mean("gcp"), mine.mean("error_raw"))
        sizes = [trace.marker.size for trace in tradeoff_figure(outcomes, "error_raw", mine).data]
        assert max(sizes) == mark.marker.size
    assert in_use(outcomes, "least", "uniform", 999) is None


def test_what_was_not_measured__is_not_drawn(outcomes):
    measured = {f"{what}_{form}" for form in FORMS for what in ("error", *NUMBERS)}
    assert set(drawable(outcomes)) == measured | {"two_way", "ranges", *SINGLE, "coefficients", "rsd"}
    none = {name: np.array([0.5 if name == "gcp" else np.nan]) for name in MEASURES}
    assert drawable([Outcome(ORIGINAL, "none", 1, none, 0), Outcome("least", "uniform", 5, none, 0)]) == ()


def test_files_and_tests__hold_every_setting(outcomes):
    folds = pd.read_csv(pd.io.common.StringIO(by_fold(outcomes)))
    assert len(folds) == 2 * len(outcomes)
    means = (
        folds.groupby(["grouping", "generalizer", "k"], sort=False)[["gcp", "two_way", "error_raw", "rsd"]]
        .mean()
        .reset_index()
    )
    table = as_table(outcomes)
    np.testing.assert_allclose(
        means[["gcp", "two_way", "error_raw", "rsd"]], table[["gcp", "two_way", "error_raw", "rsd"]], rtol=1e-12
    )
    tests = differences(outcomes[1:], "least/uniform")
    assert {(t["grouping"], t["generalizer"], t["k"]) for t in tests} == {
        (o.grouping, o.generalizer, o.k) for o in outcomes[1:] if (o.grouping, o.generalizer) != ("least", "uniform")
    }


def outcomes_of(r2: float) -> list[Outcome]:
    """Two settings and the original records, from which the models explain so much."""
    everywhere = {name: np.array([0.5, 0.5]) for name in MEASURES}
    original = everywhere | {"r2_linear_raw": np.array([r2 - 0.01, r2 + 0.01])}
    worse = everywhere | {"mape_linear_raw": np.array([0.6, 0.7]), "gcp": np.array([0.6, 0.6])}
    named = [(ORIGINAL, "none", 1, original), ("least", "uniform", 5, everywhere), ("blend", "uniform", 5, worse)]
    return [Outcome(*names, measured, 0) for *names, measured in named]


def test_ranking__ends_where_the_original_records_explain_nothing() -> None:
    some, nothing = outcomes_of(0.06), outcomes_of(0.04)
    for measure in ("mape_linear_raw", "mape_linear_box", "rmse_linear_raw", "r2_linear_box"):
        assert ranks(some, measure)
        assert not ranks(nothing, measure)
        assert unbeaten(nothing, measure) == ()
        assert len(tradeoff_figure(nothing, measure).data[-1].x) == 0
        assert tradeoff_sentence(nothing, measure).startswith("No ranking")
        assert "R² 0.040, below 0.05" in tradeoff_sentence(nothing, measure)
    assert unbeaten(some, "mape_linear_raw") == (some[1],)
    for measure in ("mape_tree_raw", "error_raw", "rsd", "two_way", "coefficients"):
        assert ranks(nothing, measure), "another model, or none of numbers"
    compared = {test["measure"] for test in differences(nothing, "least/uniform")}
    assert "mape_tree_raw" in compared
    assert not {measure for measure in compared if "_linear_" in measure}


def test_asked_by__keeps_one_form_of_every_prediction(outcomes) -> None:
    table = as_table(outcomes)
    forms = {form: set(asked_by(table, form)) for form in FORMS}
    assert forms["raw"] | forms["box"] == set(table)
    assert (
        {name.removesuffix("_raw") for name in forms["raw"] - forms["box"]}
        == {name.removesuffix("_box") for name in forms["box"] - forms["raw"]}
        == {"error", *NUMBERS, *(f"slope_{model}" for model in MODELS)}
    )
