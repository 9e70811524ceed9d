"""Two releases of the same persons, against the worked and enumerated cases, and against counting with dictionaries."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.cells import Cell
from anonymizer.checking.together import (
    ReleasedClasses,
    bounds,
    cells_meet,
    cells_of,
    classes_in_common,
    together,
    value_sets,
)
from tests.conftest import ROOT, absent

CASES = ROOT.parent / "shared" / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    path = CASES / f"{name}.json"
    if not path.exists():
        absent("shared", f"{name}.json of the shared cases is absent")
    loaded: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cases"]
    return loaded


def numbers(groups: list[str | None]) -> np.ndarray:
    return np.asarray(pd.factorize(pd.Series(groups, dtype=object))[0], np.int64)


@pytest.mark.parametrize("name", ["ledger_cells", "ledger_cells_random", "ledger_worked"])
def test_cells__are_those_of_the_cases(name: str) -> None:
    for case in cases(name):
        people = [one if isinstance(one, str) else one["person"] for one in case["people"]]
        groups = [release.get("groups", release) for release in case["releases"]]
        releases = [numbers([of.get(person) for person in people]) for of in groups]
        expected = case["expected"]
        answer = together(releases, case["k"])
        assert answer.persons == expected["persons"]
        assert answer.below == expected["persons_below_k"]
        assert answer.alone == expected["alone"]
        assert answer.smallest == expected["smallest"]
        assert answer.holds == expected["holds"]
        cell, sizes = cells_of(releases)
        members = defaultdict(set)
        for person, number in zip(people, cell.tolist(), strict=True):
            members[number].add(person)
        members.pop(-1, None)
        assert sorted(map(sorted, members.values())) == sorted(sorted(one["persons"]) for one in expected["cells"])
        assert sorted(sizes.tolist()) == sorted(map(len, members.values()))
        for pair in expected.get("pairs", ()):
            both = together([releases[number] for number in pair["releases"]], case["k"])
            assert (both.holds, both.smallest, both.below) == (
                pair["holds"], pair["smallest"], pair["persons_below_k"]
            )  # fmt: skip


def test_cells__of_rows_count_different_persons() -> None:
    for case in cases("ledger_persons"):
        rows = case["rows"]
        releases = [numbers([row[side] for row in rows]) for side in ("first", "second")]
        answer = together(releases, case["k"], numbers([row["person"] for row in rows]))
        assert (answer.smallest, answer.holds) == (case["expected"]["smallest"], case["expected"]["holds"])
        sizes = sorted(cells_of(releases, numbers([row["person"] for row in rows]))[1].tolist())
        assert sizes == sorted(one["persons"] for one in case["expected"]["cells"])


groups = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers(-1, 6)), min_size=1, max_size=40)


@given(groups, st.integers(1, 5))
def test_cells__agree_with_dictionaries_where_rows_are_nobodys(rows: list[tuple[int, int, int]], k: int) -> None:
    first, second, who = np.array(rows).T
    cells = defaultdict(set)
    for a, b, person in rows:
        if (a, b) != (-1, -1) and person >= 0:
            cells[a, b].add(person)
    of_person = defaultdict(list)
    for members in cells.values():
        for person in members:
            of_person[person].append(len(members))
    answer = together([first, second], k, who)
    assert answer.persons == len(of_person)
    assert answer.below == sum(min(sizes) < k for sizes in of_person.values())
    assert answer.alone == sum(min(sizes) == 1 for sizes in of_person.values())
    assert answer.smallest == min((len(members) for members in cells.values()), default=0)


def test_one_release_twice__is_that_release() -> None:
    once = np.array([0, 0, 1, 1, 1, -1])
    assert together([once, once], 2) == together([once], 2)
    assert together([once, once[[5, 4, 3, 2, 1, 0]]], 2).alone == 4


releases_of_ten = st.lists(st.lists(st.integers(-1, 3), min_size=10, max_size=10).map(np.array), min_size=1, max_size=4)


@given(releases_of_ten, st.integers(1, 5), st.randoms(use_true_random=False))
def test_more_releases__never_leave_fewer_below(releases: list[np.ndarray], k: int, random: Any) -> None:
    answer = together(releases, k)
    assert together(random.sample(releases, len(releases)), k) == answer
    for out in range(len(releases)):
        rest = [one for number, one in enumerate(releases) if number != out]
        if rest:
            fewer = together(rest, k)
            assert fewer.below <= answer.below
            assert fewer.smallest >= answer.smallest or fewer.persons < answer.persons
    cell = cells_of(releases)[0]
    assert together([*releases, np.where(cell < 0, -1, cell // 2)], k) == answer  # unions of cells


# Sets of values.


def test_value_sets__are_those_of_the_cases() -> None:
    for case in cases("ledger_values"):
        people = sorted({person for year in case["years"] for person in year})
        names = sorted({one["value"] for year in case["years"] for one in year.values()})
        releases = [numbers([year.get(person, {}).get("group") for person in people]) for year in case["years"]]
        values = [
            np.array([names.index(year[person]["value"]) if person in year else -1 for person in people])
            for year in case["years"]
        ]
        answer, expected = value_sets(releases, values), case["expected"]
        for row, person in enumerate(people):
            own = expected["by_person"][person]
            assert sorted(names[value] for value in answer.sets[answer.of_row[row]]) == own["common"]
            assert (bool(answer.unchanged[row]), int(answer.fewest[row])) == (own["unchanged"], own["fewest_in_one"])
        assert answer.below(case["l"]) == expected["persons_below_l"]
        assert (answer.certain, answer.changed) == (expected["certain"], expected["signature_changed"])
        assert answer.invariant(case["l"]) == expected["m_invariant"]


years = st.lists(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=9, max_size=9), min_size=1, max_size=4
)


@given(years)
def test_value_sets__agree_with_sets_of_python(over: list[list[tuple[int, int]]]) -> None:
    releases, values = ([np.array([one[side] for one in year]) for year in over] for side in (0, 1))
    answer, cells = value_sets(releases, values), cells_of(releases)[0]
    for row in range(9):
        own = [
            {value for group, value in year if group == year[row][0] and value >= 0}
            for year in over
            if year[row][0] >= 0
        ]
        assert answer.sets[answer.of_row[row]] == (set.intersection(*own) if own else set())
        assert answer.common[row] == len(answer.sets[answer.of_row[row]])
        assert answer.fewest[row] == min(map(len, own), default=0)
        assert answer.unchanged[row] == (len({frozenset(one) for one in own}) <= 1)
        if all(np.array_equal(one, values[0]) for one in values) and own:
            of_cell = {int(value) for value in values[0][cells == cells[row]] if value >= 0}
            assert of_cell <= answer.sets[answer.of_row[row]]


# Files alone.


def file_of(rows: list[dict[str, Any]], values: np.ndarray) -> ReleasedClasses:
    names = [row["class"] for row in rows]
    class_of, distinct = pd.factorize(pd.Series(names))
    boxes = {row["class"]: tuple(row["age"]) for row in rows}
    cells = tuple(Cell.interval(*map(str, boxes[name])) for name in distinct)
    return ReleasedClasses(class_of.astype(np.int64), ((cells, np.arange(len(cells))),), values)


def test_bounds__are_those_of_the_cases() -> None:
    for case in cases("ledger_files_alone"):
        both = [*case["first"], *case["second"]]
        values = np.split(numbers([str(row["kept"]) for row in both]), [len(case["first"])])
        first, second = file_of(case["first"], values[0]), file_of(case["second"], values[1])
        answer = bounds(first, second)
        assert answer.verdict(case["k"]) == case["expected"]["verdict_of_bounds"]
        names = [list(dict.fromkeys(row["class"] for row in case[side])) for side in ("first", "second")]
        found_bounds = {
            (names[0][g], names[1][h]): (int(low), int(high))
            for g, h, low, high in zip(answer.first, answer.second, answer.least, answer.most, strict=True)
        }
        for cell in case["expected"]["cells"]:
            least, most = found_bounds.get(tuple(cell["classes"]), (0, 0))
            assert (least, most) == (cell["bound_least"], cell["bound_most"])
            assert least <= cell["least"] <= cell["most"] <= most
        others = bounds(first, second, same_people=False)
        assert (others.least <= answer.least).all()
        assert (others.most == answer.most).all()


def test_bounds__of_other_people_join_unique_values_alone() -> None:
    cells = ((Cell.interval("1", "9"),), np.array([0]))
    one = ReleasedClasses(np.zeros(3, np.int64), (cells,), np.array([0, 1, 1]))
    other = ReleasedClasses(np.zeros(2, np.int64), (cells,), np.array([0, 1]))
    answer = bounds(one, other, same_people=False)
    assert (answer.least.tolist(), answer.most.tolist()) == ([1], [2])
    assert bounds(one, ReleasedClasses(np.zeros(1, np.int64), (cells,), np.array([7]))).verdict(2) == "holds"


def test_cells__meet_where_one_value_is_in_both() -> None:
    interval, levels = Cell.interval("3", "5"), Cell.of_levels(("a", "b"), missing=True)
    cells = [interval, levels, Cell.WITHHELD, Cell.MISSING, Cell.interval("5", "9"), Cell.of_levels(("c",))]
    meets = cells_meet(cells, cells)
    assert (meets == meets.T).all()
    assert meets[0].tolist() == [True, False, True, False, True, False]
    assert meets[1].tolist() == [False, True, True, True, False, False]
    assert meets[2].all()


def test_bounds__of_two_released_files_enclose_the_truth() -> None:
    table = an.SAMPLES["hospital"].load().head(500).drop(columns=["name", "email"])
    qi = ["age", "sex", "postcode"]
    schema = an.Schema.of(table, quasi_identifying=qi, sensitive=["diagnosis", "cost"], target="diagnosis")
    results = [
        an.anonymize(table, schema, k=10, generalizer="pack", grouping=grouping) for grouping in ("least", "error-risk")
    ]
    classes = []
    for result in results:
        class_of = np.empty(len(table), np.int64)
        class_of[result.release.order] = result.release.frame().groupby(qi, sort=False).ngroup()
        classes.append(class_of)
    truth = together(classes, 10)
    tables = [result.release.frame() for result in results]
    answer = bounds(*classes_in_common(*tables, (schema, schema)))
    sure = answer.surely_below(10)
    assert 0.9 * truth.below < sure <= truth.below  # costs are nearly all different, so nearly every row is joined
    assert answer.verdict(10) == "fails"
