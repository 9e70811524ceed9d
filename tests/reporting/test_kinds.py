"""Three kinds of release on the same axes, against figures that are counted person by person."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import assess
from anonymizer.disclosure.outline import keys_of, lay_keys, outline_of
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.forest.domains import code
from anonymizer.forest.forest import class_shares_of, grow_forest
from anonymizer.forest.mechanisms import RehearsalNoise
from anonymizer.growing.records import descend
from anonymizer.measuring.members import hold_out
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital, visits
from anonymizer.reporting.kinds import KINDS, RISKS, KindPoint, compare_kinds, kinds_figure, rule_domains
from anonymizer.schema import Schema
from anonymizer.settings import Settings

TABLE = hospital(400, 5)
SCHEMA = Schema.of(
    TABLE[["age", "sex", "occupation", "diagnosis"]],
    quasi_identifying=["age", "sex", "occupation"],
    sensitive=["diagnosis"],
)
FLOW = Flow(TABLE[["age", "sex", "occupation", "diagnosis"]], SCHEMA, Settings(generalizer="uniform"))


def noise() -> RehearsalNoise:
    return RehearsalNoise(np.random.default_rng(4))


@pytest.fixture(scope="module")
def points() -> tuple[KindPoint, ...]:
    return compare_kinds(FLOW, ks=(5, 20), budgets=(1.0,), noise=noise)


def figures_of(point: KindPoint) -> tuple[float, float, float, float]:
    return point.surest, point.exposed, point.right, point.error


def test_every_kind_is_there(points: tuple[KindPoint, ...]) -> None:
    assert [(point.kind, point.setting) for point in points] == [
        ("table", "k = 5"), ("table", "k = 20"), ("tree", "k = 5"), ("tree", "k = 20"), ("rules", "ε = 1"),
    ]  # fmt: skip


@pytest.mark.parametrize("k", [5, 20])
def test_table__counted_person_by_person(points: tuple[KindPoint, ...], k: int) -> None:
    inside, outside = hold_out(FLOW.encoded, 0)
    assert sorted([*inside, *outside]) == list(range(400))
    assert len(outside) == 80
    flow = FLOW.rows(inside).but(k=k)
    group = flow.pruning.group_of_node()
    members: dict[int, Counter[int]] = defaultdict(Counter)
    for leaf, value in zip(flow.leaf.tolist(), flow.encoded.target.codes.tolist(), strict=True):
        members[group[leaf]][value] += 1
    assert min(sum(one.values()) for one in members.values()) >= k
    guess = {node: min(one, key=lambda value, one=one: (-one[value], value)) for node, one in members.items()}
    surest = max(max(one.values()) / sum(one.values()) for one in members.values())
    exposed = sum(n for one in members.values() for n in one.values() if n / sum(one.values()) >= 0.9)
    right = sum(max(one.values()) for one in members.values())
    judge = FLOW.rows(outside)
    there = group[descend(flow.tree, judge.encoded)]
    wrong = sum(
        guess[node] != value for node, value in zip(there.tolist(), judge.encoded.target.codes.tolist(), strict=True)
    )
    table = next(point for point in points if (point.kind, point.setting) == ("table", f"k = {k}"))
    # Records with the same key in one group share its box, so their shares are those of the group.
    assert figures_of(table) == pytest.approx((surest, exposed / 320, right / 320, wrong / 80))


def test_tree__is_the_estimate_of_maximum_entropy(points: tuple[KindPoint, ...]) -> None:
    inside, outside = hold_out(FLOW.encoded, 0)
    flow = FLOW.rows(inside).but(k=20)
    keys = keys_of(flow.encoded)
    tree = lay_keys(outline_of(flow.tree, keys.encodings, flow.pruning.cut()), keys)
    figures = assess(tree, Knowledge()).figures
    label = {node: int(tree.label[place]) for place, node in zip(tree.outline.leaves, flow.pruning.cut(), strict=True)}
    judge = FLOW.rows(outside)
    there = flow.pruning.group_of_node()[descend(flow.tree, judge.encoded)]
    wrong = [label[node] != value for node, value in zip(there.tolist(), judge.encoded.target.codes, strict=True)]
    point = next(point for point in points if (point.kind, point.setting) == ("tree", "k = 20"))
    expected = (figures.highest_posterior, figures.count_exposed(0.9) / 320, figures.accuracy, np.mean(wrong))
    assert figures_of(point) == pytest.approx(expected)


def test_rules__are_those_of_the_forest_that_was_grown_inside(points: tuple[KindPoint, ...]) -> None:
    inside, outside = hold_out(FLOW.encoded, 0)
    domains = rule_domains(FLOW)
    assert domains is not None
    train, judge = (code(FLOW.table.iloc[rows], domains) for rows in (inside, outside))
    forest = grow_forest(train, 1.0, noise=noise())
    shares = class_shares_of(forest, train.codes)
    wrong = (class_shares_of(forest, judge.codes).argmax(axis=1) != judge.classes).mean()
    right = (shares.argmax(axis=1) == train.classes).mean()
    (point,) = [point for point in points if point.kind == "rules"]
    assert (point.surest, point.right, point.error) == pytest.approx((shares.max(), right, wrong))


def test_points_come_one_by_one_and_can_be_stopped() -> None:
    points_so_far: list[KindPoint] = []
    whole = compare_kinds(
        FLOW, ks=(20,), budgets=(), each=points_so_far.append, cancelled=lambda: len(points_so_far) == 1
    )
    assert whole == tuple(points_so_far)
    assert len(points_so_far) == 1


def test_persons__are_held_out_whole() -> None:
    table = visits(60, 1)
    flow = Flow(table, suggest(table))
    inside, outside = hold_out(flow.encoded, 3)
    person = table["patient_id"]
    assert not set(person.iloc[inside]) & set(person.iloc[outside])
    assert person.iloc[outside].nunique() == 12


def test_numbers__have_no_such_comparison() -> None:
    table = TABLE[["age", "sex", "cost"]]
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["cost"])
    with pytest.raises(ParameterError, match="column of categories"):
        compare_kinds(Flow(table, schema))


@pytest.mark.parametrize("risk", RISKS)
def test_figure__has_every_point_once(points: tuple[KindPoint, ...], risk: str) -> None:
    figure = kinds_figure(points, risk)
    marks = {(trace.name, *mark) for trace in figure.data for mark in zip(trace.text, trace.x, trace.y, strict=True)}
    assert marks == {(KINDS[one.kind], one.setting, one.error, getattr(one, risk)) for one in points}
