"""The frontier: every point is what the flow makes and measures with the same parameters."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.linkage import linkage_risk, look_alikes
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.groups.prune import prune
from anonymizer.groups.recipe import natural_criterion
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import Tree
from anonymizer.measuring.points import Point, cut_groupings
from anonymizer.measuring.utility import gcp, majority_class_error
from anonymizer.schema import Schema
from anonymizer.settings import Settings, method_text
from anonymizer.values import share
from anonymizer.whatif.chart import LOSSES, RISKS, available, frontier_figure, frontier_sentence
from anonymizer.whatif.frontier import (
    POLICIES,
    Method,
    best_points,
    fitting_methods,
    k_for,
    record_frontier,
    released_point,
)


def people(numeric: bool, n: int = 700) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(5)
    age, zip_code = rng.integers(0, 300, n), rng.integers(0, 300, n)
    city = rng.choice(list("abcdef"), n)
    ill = np.where((age > 150) ^ (city == "a") ^ (rng.random(n) < 0.2), "yes", "no")
    table = pd.DataFrame(
        {"age": age, "zip": zip_code, "city": city, "ill": ill, "pay": age * 2.0 + rng.normal(0, 9, n)}
    )
    sensitive = ["pay"] if numeric else ["ill", "pay"]
    table = table[["age", "zip", "city", *sensitive]]
    return table, Schema.of(table, quasi_identifying=["age", "zip", "city"], sensitive=sensitive)


@cache
def grow_case(numeric: bool) -> tuple[pd.DataFrame, Schema, EncodedTable, Tree, NodeRisk]:
    table, schema = people(numeric)
    encoded = encode(table, schema)
    tree = grow(encoded, natural_criterion(encoded))
    return table, schema, encoded, tree, annotate(tree, encoded)


def check_against_flow(point: Point, table: pd.DataFrame, schema: Schema, **limits: float) -> None:
    """The same figures from the cells of the release that the flow makes; packed anew, nearly the same."""
    result = Flow(table, schema, Settings(**point.parameters, **limits))
    frame, names = result.release.frame(), list(schema.quasi_identifying)
    risk = linkage_risk(frame, names)
    assert point.risk == 1 / point.smallest
    if point.generalizer == "pack":
        assert min(risk.smallest, point.smallest) >= point.k
        assert gcp(result.release, result.encoded.encodings) == pytest.approx(point.gcp, rel=0.2)
        return
    assert risk.groups == point.groups
    assert risk.smallest == point.smallest
    assert risk.highest == pytest.approx(point.risk)
    assert gcp(result.release, result.encoded.encodings) == pytest.approx(point.gcp, abs=1e-12)
    if schema[schema.target].kind == "categorical":
        assert majority_class_error(frame[schema.target], look_alikes(frame, names)) == pytest.approx(
            point.error, abs=1e-12
        )
        shares = frame.groupby(names, observed=True, dropna=False)[schema.target].value_counts(normalize=True)
        assert point.posterior == pytest.approx(shares.max(), abs=1e-12)
    else:
        assert (point.error, point.posterior) == (None, None)
    group = frame.groupby(names, observed=True, dropna=False)["pay"]
    pay = frame["pay"]
    apart = (pay - group.transform("mean")) ** 2
    assert point.unexplained == pytest.approx(apart.sum() / ((pay - pay.mean()) ** 2).sum(), abs=1e-9)
    around = ((pay - pay.mean()) ** 2).groupby([frame[name] for name in names], observed=True).sum()
    within = apart.groupby([frame[name] for name in names], observed=True).sum()
    assert point.rsd == pytest.approx((within / around).min(), abs=1e-9)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("numeric", [False, True])
def test_points__is_what_the_flow_makes(numeric: bool) -> None:
    table, schema, encoded, tree, risk = grow_case(numeric)
    points = Flow(table, schema).points(range(2, 41))
    assert len(points) == 39 * len(cut_groupings(risk)) == 39 * 3
    for point in points[::13]:
        check_against_flow(point, table, schema)


@pytest.mark.parametrize("numeric", [False, True])
def test_points__agrees_with_pruning_at_every_k(numeric: bool) -> None:
    flow = Flow(*people(numeric))
    for guided in (flow, flow.but(grouping="error-digression" if numeric else "error-risk")):
        tree, risk = guided.tree, guided.risk
        for point in guided.points(range(2, 60)):
            cut = prune(tree, risk, point.grouping, point.k).cut()
            assert (point.groups, point.smallest) == (len(cut), tree.n[cut].min())
            assert point.tidi == risk.tidi[cut].min()
            assert point.parameters["criterion"] == guided.criterion


def test_points__keeps_the_other_limits() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    points = Flow(table, schema, Settings(l=2, t=0.4, rsd_min=0.05)).points((5, 20), ["least"])
    free = Flow(table, schema).points((5, 20), ["least"])
    assert [point.k for point in points] == [5, 20]
    assert [point.groups for point in points] < [point.groups for point in free]
    for point in points:
        check_against_flow(point, table, schema, l=2, t=0.4, rsd_min=0.05)


def test_points__leaves_out_what_cannot_be_satisfied() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    assert [point.k for point in Flow(table, schema).points((700, 701), ["least", "error-risk"])] == [700, 700]
    assert Flow(table, schema, Settings(l=3)).points((5,)) == ()


def test_points__refuses_what_does_not_fit() -> None:
    table, schema = people(False)
    table, schema = table.drop(columns="pay"), Schema(schema.columns[:-1])
    encoded = encode(table, schema)
    tree = grow(encoded)
    risk = annotate(tree, encoded)
    assert cut_groupings(risk) == ("least", "error-risk")
    for groupings, ks in ((["error-digression"], [5]), (["median-mondrian"], [5]), (["least"], [0])):
        with pytest.raises(ParameterError):
            Flow(table, schema).points(ks, groupings)
    point = Flow(table, schema).points((5,), ["least"])[0]
    assert (point.rsd, point.unexplained) == (None, None)


def test_record_frontier__without_a_target() -> None:
    table, _ = people(False, 200)
    table = table[["age", "zip", "city"]]
    schema = Schema.of(table, quasi_identifying=["age", "zip", "city"])
    encoded = encode(table, schema)
    methods = fitting_methods(encoded)
    assert not {"infogain-mondrian", "regression-mondrian"} & {method.grouping for method in methods}
    points = record_frontier(Flow(table, schema), (5,))
    assert {(p.grouping, p.generalizer, p.weight) for p in points} == set(methods)
    assert min(point.gcp for point in points) < 0.5


@pytest.mark.sweep(1)
@pytest.mark.parametrize("numeric", [False, True])
def test_record_frontier__is_what_the_flow_makes(numeric: bool) -> None:
    table, schema, encoded, tree, risk = grow_case(numeric)
    methods = fitting_methods(encoded)
    points = record_frontier(Flow(table, schema), (5, 20))
    assert len(points) == 2 * len(methods)
    assert {(p.grouping, p.generalizer, p.weight) for p in points} == set(methods)
    for point in points:
        check_against_flow(point, table, schema)
        strict = point.generalizer != "tiered"
        assert (point.smallest >= point.k) == strict


def test_record_frontier__tells_how_far_it_is_and_stops() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    calls: list[tuple[float, str]] = []
    methods = [Method("least", "refine"), Method("median-mondrian")]
    points = record_frontier(
        Flow(table, schema), (5, 10, 701), methods,
        progress=lambda share, what: calls.append((share, what)), cancelled=lambda: len(calls) == 3,
    )  # fmt: skip
    assert [share for share, _ in calls] == [0.0, 0.25, 0.5]
    assert calls[0][1] == "Least pruning with refined groups, k = 5"
    assert [(point.method, point.k) for point in points] == [
        *((method_text("least", "refine"), k) for k in (5, 10)), (method_text("median-mondrian", "uniform"), 5),
    ]  # fmt: skip


def test_k_for__and_the_policies() -> None:
    assert [policy.k for policy in POLICIES] == [5, 10, 12, 20]
    for k in range(1, 2000):
        assert k_for(1 / k) == k
        assert 1 / k_for(1 / k - 1e-7) <= 1 / k - 1e-7
    for risk in (0, -1, 1.1, float("nan")):
        with pytest.raises(ParameterError):
            k_for(risk)


def test_best_points__are_those_that_no_other_beats() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    points = Flow(table, schema).points(range(2, 80))
    for measure, sign in (("risk", 1), ("posterior", 1), ("tidi", -1), ("rsd", -1)):
        best = best_points(points, "gcp", measure)
        assert len(best) >= 2
        for point in points:
            beaten_by = [
                other
                for other in best
                if other.gcp <= point.gcp and sign * getattr(other, measure) <= sign * getattr(point, measure)
            ]
            assert beaten_by
            assert point not in best or beaten_by == [point]


def test_figure__draws_every_point_once_and_the_policies() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    points = (
        *Flow(table, schema).points(range(2, 40)),
        *record_frontier(Flow(table, schema), (5,), [Method("least", "tiered"), Method("least", "refine")]),
    )
    assert available(points, LOSSES) == ("gcp", "error", "unexplained")
    for loss in LOSSES:
        for measure in RISKS:
            chart = json.loads(frontier_figure(points, loss, measure, here=points[3]).to_json())
            marks = [
                (place, x, y)
                for trace in frontier_figure(points, loss, measure).data
                if trace.customdata is not None
                for place, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
            ]
            expected = [
                (place, getattr(point, loss), getattr(point, measure))
                for place, point in enumerate(points)
                if getattr(point, measure) is not None
            ]
            assert sorted(marks) == expected
            lines = [shape["y0"] for shape in chart["layout"].get("shapes", [])]
            assert lines == ([policy.risk for policy in POLICIES] if measure == "risk" else [])
            assert chart["data"][-1]["x"] == [getattr(points[3], loss)]
    with pytest.raises(ParameterError):
        frontier_figure(points, "cost")


def test_sentence__names_the_best_setting() -> None:
    table, schema, encoded, tree, risk = grow_case(False)
    points = Flow(table, schema).points(range(2, 40))
    best = min((point for point in points if point.smallest >= 10), key=lambda point: point.gcp)
    sentence = frontier_sentence(points, "gcp", 0.1)
    assert f"is {share(best.gcp)}: " in sentence
    assert best.method in sentence
    assert "No setting" in frontier_sentence(points, "gcp", 0.001)
    assert frontier_sentence(points, "gcp", 0.1, best).startswith("Your release has the least")
    worse = max((point for point in points if point.smallest == best.smallest), key=lambda point: point.gcp)
    flow = Flow(table, schema).but(k=10, generalizer="pack", grouping="least")
    mine = released_point(flow)
    assert (mine.k, mine.generalizer, mine.made) == (10, "pack", flow.release.method)
    assert mine.gcp == pytest.approx(flow.utility.gcp)
    assert mine.risk == pytest.approx(flow.after.highest)
    for one in (worse, mine):
        sentence = frontier_sentence((*points, one), "gcp", 0.5, one)
        assert share(one.gcp) in sentence, "the setting in use, whatever risk was asked for"
