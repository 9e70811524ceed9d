"""Several releases attacked together, against loops over people, every way to deal out values, and the cases."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.attacks.joint import OverReleases, attack_beside_table, attack_releases, step_names
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, LastTable
from anonymizer.settings import Settings
from anonymizer.studies.attack import attack_over_releases
from tests import naive_attacks as naive
from tests import naive_verify
from tests.checking.test_several import SCHEMA, people_in_groups, people_of, with_boxes
from tests.checking.test_together import cases, numbers
from tests.sweeps import few

ILL = an.Schema((an.Column("ill", an.Role.SENSITIVE, an.Kind.CATEGORICAL),))


def beside(classes: list[list[int]], values: list[str | None], k: int, **more: Any) -> OverReleases:
    table = pd.DataFrame({"ill": pd.Series(values, dtype=object)})
    return attack_beside_table([np.array(of) for of in classes], table, ILL, k, **more)


def steps_of(sizes: list[int], k: int) -> tuple[int, ...]:
    """How many people have 1, 2 to k - 1, k to 2k - 1 and more candidates."""
    there = [size for size in sizes if size]
    ranges = [(1, 2), *([(2, k)] if k > 2 else []), (k, 2 * k), (2 * k, 1 << 30)]
    return tuple(sum(low <= size < high for size in there) for low, high in ranges)


ILLNESSES = st.sampled_from(["flu", "gout", "asthma", None])
some_people = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(-1, 2), st.integers(0, 1), ILLNESSES), min_size=1, max_size=16
)


def certain(sets: list[set[str | None]], rows: list[int]) -> int:
    return sum(len(sets[row]) == 1 and None not in sets[row] for row in rows)


@given(some_people, st.integers(2, 4))
@settings(max_examples=few(300, 40), deadline=None)
def test_figures__are_those_of_loops_over_people(people: list[tuple[int, int, int, str | None]], k: int) -> None:
    *groups, values = (list(own) for own in zip(*people, strict=True))
    answer = beside(groups, values, k)
    sizes = naive.candidates_left(groups)
    there = [row for row, size in enumerate(sizes) if size]
    assert answer.persons == len(there)
    assert answer.below == sum(sizes[row] < k for row in there)
    assert answer.alone == sum(sizes[row] == 1 for row in there)
    assert answer.fewest == min(sizes[row] for row in there)
    alone = [naive.candidates_left([of]) for of in groups]
    fewest = min(alone, key=lambda own: (sum(0 < one < k for one in own), sum(0 < one < 2 * k for one in own)))
    assert answer.steps == (steps_of(fewest, k), steps_of(sizes, k))
    (left,) = answer.values
    assert left.sets == certain(naive.sets_left(groups, values), there)
    in_one = (certain(naive.sets_left([of], values), [row for row in there if of[row] >= 0]) for of in groups)
    assert left.alone == max(in_one)
    room = naive.counting_left(groups, values)
    cells = list(zip(*groups, strict=True))
    by_cell = [room.get(cell, set()) for cell in cells]
    assert left.counting == certain(by_cell, there)
    assert left.alone <= left.sets <= (left.counting or 0)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=7))
@settings(max_examples=few(150, 30), deadline=None)
def test_counting__rules_out_nothing_that_could_be(people: list[tuple[int, int, str]]) -> None:
    """Whoever is certain by counting is certain in every way to deal out the values."""
    *groups, values = (list(own) for own in zip(*people, strict=True))
    room = naive.counting_left(groups, values)
    ways = naive.ways_left(groups, values)
    for cell, own in zip(zip(*groups, strict=True), ways, strict=True):
        assert own <= room[cell]


def test_worked_case__sets_leave_two_values_and_counting_one() -> None:
    for case in cases("ledger_worked"):
        names = [one["person"] for one in case["people"]]
        groups = [numbers([of["groups"][name] for name in names]).tolist() for of in case["releases"]]
        values = [one["illness"] for one in case["people"]]
        answer = beside(groups, values, case["k"])
        expected = case["expected"]
        assert (answer.below, answer.persons, answer.fewest) == (expected["persons_below_k"], 8, expected["smallest"])
        (left,) = answer.values
        sure = [name for name, chances in expected["posterior_groups_known"].items() if len(chances) == 1]
        assert (left.alone, left.sets, left.counting) == (0, 0, len(sure))
        for row, name in enumerate(names):
            own = expected["by_person"][name]["values_both"]
            assert sorted(filter(None, naive.sets_left(groups, values)[row])) == own
            assert len(naive.ways_left(groups, values)[row]) == len(expected["posterior_groups_known"][name])
        assert answer.headline == "Both releases together leave 8 of 8 people fewer than 4 candidates."
        assert "counting leaves one for 2; a single release leaves one for 0." in answer.sentences[-1]


def test_persons__with_several_rows_are_counted_once() -> None:
    person = np.array([0, 0, 1, 2, -1])
    answer = beside([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], ["flu", "flu", "flu", "gout", "gout"], 2, person=person)
    assert (answer.persons, answer.below, answer.alone) == (3, 1, 1)
    (left,) = answer.values
    assert (left.alone, left.sets) == (3, 3)


@given(people_in_groups, st.integers(2, 4), st.integers(2, 3), st.booleans())
@settings(max_examples=few(200, 30), deadline=None)
def test_files_alone__show_no_more_than_the_table(
    rows: list[tuple[int, str, int, int, int]], k: int, n_files: int, everybody: bool
) -> None:
    ages, illness, *groups = zip(*rows, strict=True)
    groups = [[abs(one) if everybody else one for one in own] for own in groups[:n_files]]
    people = people_of(ages, "".join(illness))
    tables = [with_boxes(people, own) for own in groups]
    if not all(map(len, tables)):
        return
    boxes = naive_verify.joined(tables, [np.flatnonzero(np.asarray(own) >= 0) for own in groups], ["age"], len(people))
    classes = [list(pd.factorize(pd.Series(own, dtype=object))[0]) for own in zip(*boxes, strict=True)]
    truth = beside(classes, list(illness), k)
    alone = attack_releases(tables, [SCHEMA] * n_files, k)
    assert not alone.exact
    assert alone.below <= truth.below
    assert alone.alone <= truth.alone
    assert alone.values[0].sets <= truth.values[0].sets
    assert alone.values[0].counting is not None
    assert truth.values[0].counting is not None
    pairs = [[(box[i], box[j]) for box in boxes] for i, j in combinations(range(n_files), 2)]
    single = max(naive_verify.people_below(pair, list(illness), 2) for pair in pairs)
    assert alone.values[0].counting <= single
    assert alone.joined is not None
    assert alone.joined.right <= alone.joined.tries


def test_releases_of_a_run__are_attacked_beside_the_table_and_alone() -> None:
    table = an.SAMPLES["hospital"].load().head(300)[["age", "sex", "postcode", "diagnosis", "cost"]]
    qi = ["age", "sex", "postcode"]
    schema = an.Schema.of(table, quasi_identifying=qi, sensitive=["diagnosis", "cost"], target="diagnosis")
    flows = [Flow(table, schema, Settings(k=5, generalizer="pack", grouping=one)) for one in ("least", "error-risk")]
    tables = [flow.release.frame() for flow in flows]
    exact = attack_releases(tables, [schema] * 2, 5, table)
    alone = attack_releases(tables, [schema] * 2, 5)
    assert (exact.exact, alone.exact) == (True, False)
    rows = naive_verify.joined(tables, [flow.release.order for flow in flows], qi, len(table))
    sizes = pd.Series(rows).map(pd.Series(rows).value_counts())
    assert exact.below == int((sizes < 5).sum())
    assert 0 < alone.below <= exact.below
    assert exact.joined == alone.joined
    assert [one.column for one in exact.values] == ["diagnosis"]
    earlier = Earlier(flows[0].class_of, 5)
    of_flow = attack_over_releases(flows[1].but(earlier=[earlier]))
    assert of_flow is not None
    assert (of_flow.below, of_flow.values, of_flow.joined) == (exact.below, exact.values, None)
    assert attack_over_releases(flows[1]) is None


def test_another_table__is_counted_over_the_people_of_this_one_and_its_values_are_not() -> None:
    table = an.SAMPLES["hospital"].load().head(120)[["age", "sex", "diagnosis"]].assign(
        who=[f"p{row}" for row in range(120)]
    )  # fmt: skip
    schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"], person="who")
    last = pd.Series([f"p{row}" for row in range(20, 140)])
    classes = np.arange(120) // 40
    flow = Flow(table, schema, Settings(k=5), earlier=[LastTable(last, classes, 5)])
    answer = attack_over_releases(flow)
    assert answer is not None
    before = dict(zip(last, classes, strict=True))
    sizes = pd.Series([(before.get(who, -1), own) for who, own in zip(table["who"], flow.class_of, strict=True)])
    assert answer.below == int((sizes.map(sizes.value_counts()) < 5).sum())
    assert answer.values == ()


def test_words__say_what_was_found() -> None:
    fine = beside([[0, 0, 0, 0], [0, 0, 0, 0]], ["a", "b", "a", "b"], 2)
    assert fine.headline == "Both releases together leave everybody at least 4 candidates."
    alone = replace(fine, fewest=None, exact=False)
    assert alone.headline == "The files alone leave nobody with fewer candidates for sure."
    assert step_names(10) == ("1", "2 to 9", "10 to 19", "20 and more")
    assert step_names(2) == ("1", "2 to 3", "4 and more")
    with pytest.raises(ParameterError, match="Only one release is named"):
        attack_releases([pd.DataFrame({"age": ["1"], "illness": ["a"]})], [SCHEMA], 2)
