"""The private scorecard: points by hand and by the slow twin, its ledger, its exact privacy loss, its rules."""

import csv
import io
import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cells import kept_value
from anonymizer.forest.audit import Recorder, log_ratio
from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import MODES, Forest, class_shares_of, grow_forest, predict_records
from anonymizer.forest.mechanisms import Budget, Noise, RehearsalNoise
from anonymizer.forest.rules import rules_csv, rules_json, rules_of, rules_text
from anonymizer.forest.scorecard import COUNT_VALUES, DAMPING, GRID, LARGEST, SUM_RESIDUALS, score
from tests.forest.samples import rehearse, sample
from tests.naive_scorecard import naive_scorecard, naive_shares
from tests.sweeps import few


class Scripted:
    """Noise that a test decides: whole offsets, one after another."""

    rehearsal = True

    def __init__(self, offsets: Iterator[int] | None = None) -> None:
        self.offsets = offsets or itertools.repeat(0)
        self.queries: list[tuple[np.ndarray, float]] = []

    def discrete_laplace(self, counts: np.ndarray, epsilon: float) -> np.ndarray:
        self.queries.append((counts.copy(), epsilon))
        return np.array([count + next(self.offsets) for count in counts], dtype=float)

    def noisy_max(self, scores: list[int], epsilon: float, sensitivity: int) -> int:
        return int(np.argmax(scores))


def table_of(records: list[list[int]], classes: list[int], widths: list[int], n_classes: int) -> CodedTable:
    attributes = tuple(Attribute(f"a{place}", tuple(map(str, range(width)))) for place, width in enumerate(widths))
    target = Attribute("class", tuple(map(str, range(n_classes))))
    codes = np.array(records, dtype=np.uint16).reshape(len(records), len(widths))
    return CodedTable(Domains(attributes, target), codes, np.array(classes, dtype=np.uint16))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int], int]:
    """Records, classes, number of values of each column, number of classes."""
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    n_classes = draw(st.integers(2, 4))
    n = draw(st.integers(0, 12))
    records = [[draw(st.integers(0, width - 1)) for width in widths] for _ in range(n)]
    return records, [draw(st.integers(0, n_classes - 1)) for _ in range(n)], widths, n_classes


def grow(table: CodedTable, epsilon: float, noise: Noise) -> Forest:
    return grow_forest(table, epsilon, mode="scorecard", noise=noise)


# Points.


def test_points__of_eight_records_by_hand() -> None:
    """ε = 2, one column: cost 1 a query, variance 2. G = ±1, H = 4/4, noise in G 2/4 + 2/4: half of ±1/2 is ±1/4.

    Then 3 residuals of 1 − σ(1/4) and one of −σ(1/4); H = 4 · 3/4 · 1/4 and noise 2.
    """
    table = table_of([[0]] * 4 + [[1]] * 4, [0, 0, 0, 1, 0, 1, 1, 1], [2], 2)
    card = grow(table, 2.0, Scripted()).model
    residuals = 3 - 4 / (1 + math.exp(-0.25))
    last = 0.25 + 0.75 * residuals / (0.75**2 + 2)
    assert card.base.tolist() == [0, 0]
    np.testing.assert_allclose(card.points[0], [[last, -last], [-last, last]], atol=1e-5)
    assert last == pytest.approx(0.469891, abs=1e-6)
    assert card.counts[0].tolist() == [[3, 1], [1, 3]]


@settings(max_examples=few(60))
@given(case=tables(), epsilon=st.floats(0.05, 8), seed=st.integers(0, 99))
def test_points__agree_with_the_slow_twin(case: Any, epsilon: float, seed: int) -> None:
    records, classes, widths, n_classes = case

    def offsets() -> Iterator[int]:
        rng = np.random.default_rng(seed)
        while True:
            yield int(rng.integers(-3, 4)) if seed else 0

    card = grow(table_of(*case), epsilon, Scripted(offsets())).model
    twin = offsets()
    base, points = naive_scorecard(records, classes, widths, n_classes, epsilon, lambda: next(twin))
    np.testing.assert_allclose(card.base, base, atol=1e-9)
    for own, expected in zip(card.points, points, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-4 * max(1, epsilon))  # one step of the grid, at most
    everybody = list(itertools.product(*map(range, widths)))
    shares = card.shares(np.array(everybody))
    for record, share in zip(everybody, shares, strict=True):
        np.testing.assert_allclose(share, naive_shares(base, points, list(record)), atol=1e-3 * max(1, epsilon))


@settings(max_examples=few(40))
@given(case=tables(), epsilon=st.floats(0.05, 8), seed=st.integers(0, 99))
def test_points__are_bounded_and_those_of_two_classes_are_opposite(case: Any, epsilon: float, seed: int) -> None:
    forest = grow(table_of(*case), epsilon, RehearsalNoise(np.random.default_rng(seed)))
    card = forest.model
    for points in card.points:
        assert np.abs(points).max() <= DAMPING * LARGEST + LARGEST
        if case[3] == 2:
            np.testing.assert_allclose(points[:, 0], -points[:, 1], atol=1e-12)
    shares = card.shares(np.array(list(itertools.product(*map(range, case[2])))))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()


def test_one_class__is_certain() -> None:
    forest = grow(table_of([[0], [1]], [0, 0], [2], 1), 1.0, RehearsalNoise(np.random.default_rng(0)))
    assert class_shares_of(forest, np.array([[0], [1]])).tolist() == [[1], [1]]


# Privacy.


@settings(max_examples=few(150))
@given(case=tables(), epsilon=st.floats(0.05, 8), seed=st.integers(0, 999), data=st.data())
def test_privacy_loss__of_any_run_on_any_neighbours_is_at_most_epsilon(
    case: Any, epsilon: float, seed: int, data: st.DataObject
) -> None:
    """Exact: the noise is added to whole numbers, so the likelihood of each answer is known on either table."""
    records, classes, widths, n_classes = case
    extra = [data.draw(st.integers(0, width - 1)) for width in widths]
    fewer = table_of(records, classes, widths, n_classes)
    more = table_of([*records, extra], [*classes, data.draw(st.integers(0, n_classes - 1))], widths, n_classes)
    recorder = Recorder(RehearsalNoise(np.random.default_rng(seed)))
    grow(fewer if seed % 2 else more, epsilon, recorder)
    loss = log_ratio(lambda table, noise: grow(table, epsilon, noise), recorder, (fewer, more))
    assert abs(loss) <= epsilon * (1 + 1e-9)


@settings(max_examples=few(40))
@given(case=tables(), epsilon=st.floats(0.05, 8))
def test_ledger__every_query_is_charged_an_equal_part_and_they_add_up_to_epsilon(case: Any, epsilon: float) -> None:
    noise = Scripted()
    forest = grow(table_of(*case), epsilon, noise)
    names = [attribute.name for attribute in forest.domains.attributes]
    queries = [(entry.part, entry.level, entry.purpose) for entry in forest.ledger.entries]
    assert sorted(queries) == sorted(
        [(name, 1, COUNT_VALUES) for name in names] + [(name, 2, SUM_RESIDUALS) for name in names]
    )
    assert {entry.queries for entry in forest.ledger.entries} == {1}
    assert {entry.composition for entry in forest.ledger.entries} == {"sequential"}
    assert [entry.epsilon for entry in forest.ledger.entries] == pytest.approx([epsilon / len(queries)] * len(queries))
    assert forest.ledger.spent == pytest.approx(epsilon, rel=1e-12)
    assert forest.ledger.spent == math.fsum(step[3] for step in forest.ledger.dearest)
    assert len(noise.queries) == len(queries)
    reach = 1 if case[3] == 2 else 2
    scales = [epsilon / len(queries)] * len(names) + [epsilon / len(queries) / (reach * GRID)] * len(names)
    assert [rate for _, rate in noise.queries] == pytest.approx(scales)


def test_scorecard__spends_what_cut_points_left() -> None:
    budget = Budget(1.0)
    budget.spend(0.1, "find cut points of q0")
    forest = grow_forest(sample(), 1.0, mode="scorecard", budget=budget)
    assert forest.ledger.spent == pytest.approx(1.0, rel=1e-12)
    assert forest.private


# Rules.


def apply_rules(rules: list[tuple[list[tuple[str, str]], list[float]]], record: dict[str, str]) -> list[float]:
    """Apply rules by what the file says of them, and by nothing else."""
    scores = [
        math.fsum(
            points[label] for conditions, points in rules if all(record[name] == value for name, value in conditions)
        )
        for label in range(len(rules[0][1]))
    ]
    odds = [1 / (1 + math.exp(-each)) for each in scores]
    return [each / sum(odds) for each in odds]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rules__from_either_file_predict_as_the_scorecard_does(n_classes: int) -> None:
    table = sample(400)
    if n_classes == 2:
        target = Attribute("class", ("a", "b"))
        table = CodedTable(Domains(table.domains.attributes, target), table.codes, table.classes % 2)
    forest = grow_forest(table, 1.0, mode="scorecard", noise=RehearsalNoise(np.random.default_rng(3)))
    domains, rules = forest.domains, rules_of(forest)
    assert len(rules) == 1 + 3 + 2 + 4 + 2
    described = json.loads(rules_json(forest, rules))
    from_json = [
        ([(part["column"], part["value"]) for part in rule["if"]], list(rule["points"].values()))
        for rule in described["rules"]
    ]
    rows = [row for row in csv.reader(io.StringIO(rules_csv(forest, rules))) if not row[2].startswith("WARNING")]
    assert rows[0][8:] == [f"points for {domains.target.text(code)}" for code in range(n_classes)]
    from_csv = []
    for row in rows[1:]:
        premise = kept_value(row[2])
        conditions = [tuple(part.split(" = ")) for part in premise.split(" and ") if premise != "always"]
        from_csv.append((conditions, list(map(float, row[8:]))))
    shares = class_shares_of(forest, table.codes[:50])
    for codes, expected in zip(table.codes[:50], shares, strict=True):
        record = {a.name: a.text(int(value)) for a, value in zip(domains.attributes, codes, strict=True)}
        assert apply_rules(from_json, record) == pytest.approx(expected.tolist(), abs=1e-9)
        assert apply_rules(from_csv, record) == pytest.approx(expected.tolist(), abs=1e-9)
    assert "Add up the points" in described["how_to_apply"]
    assert "Add up the points" in rules_text(forest, rules)
    assert "points" not in json.loads(rules_json(rehearse(), rules_of(rehearse())))["rules"][0]


def test_predict_records__of_a_scorecard() -> None:
    import pandas as pd

    forest = rehearse("scorecard", 4.0)
    record = pd.DataFrame({"q0": ["v1"], "q1": ["v0"], "q2": ["v2"], "q3": ["v1"]})
    answer = predict_records(forest, record)
    share = class_shares_of(forest, np.array([[1, 0, 2, 1]]))[0]
    assert answer["class"][0] == forest.domains.target.text(int(share.argmax()))
    assert answer["confidence"][0] == pytest.approx(share.max())


def test_score__is_what_the_mode_grows() -> None:
    assert MODES["scorecard"].grow is score
    assert MODES["scorecard"].private
    assert not MODES["scorecard"].trees
