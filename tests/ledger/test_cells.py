"""The classes of a table's people in a ledger, against counting with dictionaries, and what the gate says of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.gate.earlier import Now
from anonymizer.gate.finding import Finding, Severity
from anonymizer.growing.encode import persons_of
from anonymizer.ledger.cells import LedgerCells, cells_of_rows, day_text, findings_of
from anonymizer.ledger.chain import ReleaseEntry
from anonymizer.ledger.members import Members, person_digests
from anonymizer.ledger.rows import members_of_rows, rows_print, several_rows
from tests.checking.test_together import cases, numbers
from tests.ledger.test_members import keyed, members_of, prints_of

KEY = bytes(range(32))
FILE = "0002-aaaaaaaa"
Rows = Sequence[tuple[str | None, int]]
"""The person of each row, and the class that it is released in, -1 for none."""


def table_of(people: Sequence[str | None], first: int = 0) -> tuple[pd.DataFrame, an.Schema]:
    """A table with a row for each of some people, and ages from ``first`` on."""
    ages = range(first, first + len(people))
    table = pd.DataFrame({"id": pd.Series(people, dtype=object), "age": ages, "ill": "flu"})
    return table, an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], person="id")


def released(rows: Rows, line: int, k: int = 2, first: int = 0) -> tuple[ReleaseEntry, Members]:
    """The entry and the members of a release of some rows."""
    table, schema = table_of([who for who, _ in rows], first)
    own_rows = keyed(table, schema)
    several = several_rows(own_rows)
    members = members_of_rows(own_rows, np.array([own for _, own in rows]), several)
    of_rows = rows_print(several)
    return ReleaseEntry(line, f"2026-05-0{line}T10:00:00Z", k, "id", False, ("age",), {}, of_rows, FILE, ""), members


def looked_at(releases: Sequence[Rows], rows: Rows, k: int = 2, ks: Sequence[int] = ()) -> tuple[LedgerCells, Now]:
    """The classes of a table in some releases, and a release of it."""
    table, schema = table_of([who for who, _ in rows])
    person = persons_of(table, schema)[0]
    ks = ks or [k] * len(releases)
    years = enumerate(zip(releases, ks, strict=True), 2)
    entries = [released(one, line, own, 100 * line) for line, (one, own) in years]
    cells = cells_of_rows(keyed(table, schema), entries)
    return cells, Now(table, schema, table, np.array([own for _, own in rows]), k, person)


def sets_of(rows: Rows) -> dict[str, frozenset[int]]:
    """The classes of each person's rows."""
    sets = defaultdict(set)
    for who, own in rows:
        if who is not None and own >= 0:
            sets[who].add(own)
    return {who: frozenset(own) for who, own in sets.items()}


def counted(releases: Sequence[Rows], now: Rows) -> Mapping[str, int]:
    """How many people share the cell of each."""
    every = [*map(sets_of, releases), sets_of(now)]
    cells = defaultdict(set)
    for who in set().union(*every):
        cells[tuple(sets.get(who) for sets in every)].add(who)
    return {who: len(members) for members in cells.values() for who in members}


some_rows = st.lists(
    st.tuples(st.sampled_from([None, *(f"p{one}" for one in range(12))]), st.integers(-1, 3)), min_size=1, max_size=24
)


@given(st.lists(some_rows, min_size=1, max_size=3), some_rows, st.integers(1, 5))
def test_cells__agree_with_dictionaries(releases: list[Rows], now: Rows, k: int) -> None:
    cells, looked = looked_at(releases, now, k)
    both = cells.together(looked.class_of, k)
    sizes = counted(releases, now)
    assert both.persons == len(sizes)
    assert both.below == sum(size < k for size in sizes.values())
    assert both.alone == sum(size == 1 for size in sizes.values())
    everybody = {who for rows in releases for who, _ in rows} - {None}
    assert cells.recognised == len(everybody & {who for who, _ in now})
    for at, line in enumerate(cells.lines):
        sets = sets_of(releases[line - 2])
        expected = [sets.get(who) for who, _ in now]
        own = cells.rows[at]
        assert [one < 0 for one in own] == [one is None for one in expected]
        assert [own[0] == one for one in own] == [expected[0] == one for one in expected]


@given(st.lists(some_rows, min_size=2, max_size=3), some_rows)
def test_cells__do_not_depend_on_the_order_of_releases_and_grow_with_none(releases: list[Rows], now: Rows) -> None:
    cells, looked = looked_at(releases, now, 3)
    other, _ = looked_at(releases[::-1], now, 3)
    assert other.together(looked.class_of, 3) == cells.together(looked.class_of, 3)
    fewer, _ = looked_at(releases[1:], now, 3)
    assert fewer.together(looked.class_of, 3).below <= cells.together(looked.class_of, 3).below


@pytest.mark.parametrize("name", ["ledger_cells", "ledger_cells_random", "ledger_worked"])
def test_cells__are_those_of_the_cases(name: str) -> None:
    """The last release of each is the new one, of a table of everybody who is in it."""
    for case in cases(name):
        people = [one if isinstance(one, str) else one["person"] for one in case["people"]]
        groups = [release.get("groups", release) for release in case["releases"]]
        columns = [numbers([of.get(one) for one in people]).tolist() for of in groups]
        releases = [[(who, own) for who, own in zip(people, of, strict=True) if own >= 0] for of in columns]
        cells, looked = looked_at(releases[:-1], releases[-1], case["k"])
        both, expected = cells.together(looked.class_of, case["k"]), case["expected"]
        assert (both.persons, both.below) == (expected["persons"], expected["persons_below_k"]), case.get("name")
        assert (both.alone, both.smallest) == (expected["alone"], expected["smallest"])
        (finding, *_) = findings_of(cells, looked)
        if any(cells.related) and cells.same_as(looked.class_of) is None:
            assert (finding.severity is Severity.FINE) == expected["holds"]


# Persons with several rows in one table: rows are put beside each other.


def same_table(first: Rows, second: Sequence[int]) -> tuple[LedgerCells, np.ndarray]:
    """The rows of a table in a release, when the table comes again in another order and another class for each row."""
    table, schema = table_of([who for who, _ in first])
    order = np.random.default_rng(len(first)).permutation(len(first))
    mixed = table.iloc[order].reset_index(drop=True)
    cells = cells_of_rows(keyed(mixed, schema), [released(first, 2)])
    return cells, np.array(second)[order]


@given(some_rows, st.data())
def test_rows__of_one_table_agree_with_dictionaries(rows: Rows, data: st.DataObject) -> None:
    classes = data.draw(st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows)))
    k = data.draw(st.integers(2, 4))
    cells, own = same_table(rows, classes)
    if not any(who is not None for who, _ in rows):
        return
    of_cell = defaultdict(set)
    for (who, before), after in zip(rows, classes, strict=True):
        if who is not None and (before, after) != (-1, -1):
            of_cell[before, after].add(who)
    below = {who for members in of_cell.values() if len(members) < k for who in members}
    if not any(cells.related):
        assert all(before < 0 for who, before in rows if who is not None)
        return
    both = cells.together(own, k)
    assert both.below == len(below)
    assert both.persons == len(set().union(*of_cell.values()))
    pairs = {(before, after) for (who, before), after in zip(rows, classes, strict=True) if who is not None}
    sides = [{pair[side] for pair in pairs} for side in (0, 1)]
    same = len(pairs) == len(sides[0]) == len(sides[1]) and all((a < 0) == (b < 0) for a, b in pairs)
    assert (cells.same_as(own) == 2) == same


def test_rows__are_counted_as_the_cases_say() -> None:
    for case in cases("ledger_persons"):
        first, second = (numbers([row[side] for row in case["rows"]]).tolist() for side in ("first", "second"))
        people = [row["person"] for row in case["rows"]]
        cells, own = same_table(list(zip(people, first, strict=True)), second)
        both = cells.together(own, case["k"])
        assert (both.smallest, both.holds) == (case["expected"]["smallest"], case["expected"]["holds"])


def test_rows__that_cross_are_seen_where_sets_are_the_same() -> None:
    people = ["p", "p", "q", "q"]
    first, crossing = list(zip(people, [0, 1, 0, 1], strict=True)), [0, 1, 1, 0]
    cells, own = same_table(first, crossing)
    assert cells.together(own, 2).below == 2
    assert cells.rows[0][own == 0].tolist() in ([0, 1], [1, 0])
    other, looked = looked_at([first], list(zip(people, crossing, strict=True)))
    assert other.aligned == (None,)
    assert other.together(looked.class_of, 2).holds


def test_rows__of_who_was_erased_are_nobodys() -> None:
    rows = [("p", 0), ("p", 1), ("q", 0), ("q", 1), ("r", 1)]
    entry, members = released(rows, 2)
    table, schema = table_of([who for who, _ in rows])
    rest = members.without(person_digests(["q"], KEY))
    cells = cells_of_rows(keyed(table, schema), [(entry, rest)])
    assert cells.rows[0].tolist() == [0, 1, -1, -1, 1]
    assert cells.recognised == 2


# What the gate says.


def rows_of(*classes: int, first: int = 0) -> Rows:
    return [(f"p{first + at}", own) for at, own in enumerate(classes)]


def findings(releases: Sequence[Rows], now: Rows, k: int = 2, ks: Sequence[int] = ()) -> tuple[Finding, ...]:
    return findings_of(*looked_at(releases, now, k, ks))


def test_finding__of_cells_that_fail() -> None:
    (finding,) = findings([rows_of(0, 0, 1, 1)], rows_of(0, 1, 0, 1))
    assert finding.severity is Severity.STOPS
    assert finding.sentence == (
        "With the release of 2 May 2026, 4 of 4 people are in groups of fewer than 2, 4 of them alone."
    )
    assert finding.detail == "Keep the same groups, or join earlier ones."


def test_finding__of_the_same_groups_changes_nothing() -> None:
    (finding,) = findings([rows_of(0, 1, 0, 1), rows_of(0, 0, 1, 1)], rows_of(5, 5, 3, 3))
    assert finding.severity is Severity.FINE
    assert finding.sentence.startswith("These are the same groups as release 3, of 3 May 2026: nobody is in a smaller")
    assert not [
        one for one in findings([rows_of(0, 0, 1, 1)], rows_of(0, 0, 1, -1)) if "same groups as" in one.sentence
    ]
    assert not [one for one in findings([rows_of(0, 0, 1, 1)], rows_of(0, 0, 0, 0)) if "same groups as" in one.sentence]


def test_finding__of_people_who_are_gone() -> None:
    (finding,) = findings([rows_of(0, 0, 0, 1, 1)], rows_of(0, 0, -1, 1, 1))
    assert finding.severity is Severity.STOPS
    assert finding.detail.startswith(
        "1 person of 1 earlier group is not in this release. No grouping changes that: keep their rows, publish only "
        "who is new, or leave out the 2 others of these groups."
    )
    (fine,) = findings([rows_of(0, 0, 0, 0)], rows_of(0, 0, -1, -1))
    assert fine.severity is Severity.FINE


def test_finding__of_few_who_are_new() -> None:
    (finding,) = findings([rows_of(0, 0)], rows_of(0, 0, 0))
    assert finding.detail.startswith("1 person is new, fewer than 2: they wait for the next release.")


def test_finding__of_a_smaller_promise() -> None:
    smaller = findings([rows_of(0, 0, 0), rows_of(0, 0, 0)], rows_of(0, 0, 0), 2, (2, 3))
    assert [one.severity for one in smaller] == [Severity.FINE, Severity.STOPS]
    assert smaller[1].sentence == "The release of 3 May 2026 promised 3. With this one it is 2."
    assert len(findings([rows_of(0, 0, 0)], rows_of(0, 0, 0), 3, (2,))) == 1


def test_finding__of_joined_groups_says_that_none_is_changed() -> None:
    (finding,) = findings([rows_of(0, 0, 1, 1)], rows_of(0, 0, 0, 0), 4, (2,))
    assert finding.severity is Severity.FINE
    assert finding.sentence.endswith("everybody is still in a group of at least 2 people.")
    assert "This release changes no group of people" in finding.detail
    (parted,) = findings([rows_of(0, 0, 1, 1)], rows_of(0, 0, 0, 1), 4, (2,))
    assert parted.severity is Severity.STOPS


def test_finding__of_other_people() -> None:
    (finding,) = findings([rows_of(0, 0)], rows_of(0, 0, first=5))
    assert (finding.severity, finding.sentence) == (Severity.LOOK, "None of these people is in the ledger.")
    assert findings([], rows_of(0, 0)) == (finding,)


def test_other_people__who_were_promised_less_are_not_held_to_more() -> None:
    others = rows_of(0, 0, 1, 1, 1)
    cells, looked = looked_at([others, rows_of(7, 7, 7, first=5)], rows_of(0, 0, 0, first=5), 3, (2, 3))
    assert (cells.related, cells.required(3)) == ((False, True), 3)
    assert cells.together(looked.class_of, 3).holds
    between = rows_of(0, 0, 0, first=4)
    cells, looked = looked_at([others, between], rows_of(0, 0, 0, first=5), 3, (2, 3))
    assert cells.related == (True, True)
    assert cells.together(looked.class_of, 3).below == 8
    assert looked_at([others], rows_of(0, 0, first=5), 2, (9,))[0].required(2) == 2


# Tables that do not say whose their rows are.


def test_records__are_recognised_in_the_same_table_in_any_order_alone() -> None:
    table = pd.DataFrame({"age": [1, 1, 2, 2, 3], "sex": list("fffmm"), "ill": list("abcde")})
    schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    classes = np.array([0, 0, 1, 1, -1])
    entry = ReleaseEntry(2, "2026-05-02T10:00:00Z", 2, None, False, ("age", "sex"), prints_of(table, KEY), "", FILE, "")
    release = entry, members_of(table, schema, classes)
    order = np.array([3, 0, 4, 2, 1])
    other = table.iloc[order].reset_index(drop=True)
    few = an.Schema.of(other, quasi_identifying=["age"], sensitive=["ill"])
    cells = cells_of_rows(keyed(other, few), [release])
    assert (cells.lines, cells.recognised, cells.unknown) == ((2,), 5, ())
    assert cells.rows[0].tolist() == classes[order].tolist()
    ways = {
        "2 of 3 columns hold": other.assign(age=[9, *other["age"][1:]]),
        "cannot be counted. Name": other.head(4),
        "2 of 3 columns": other.drop(columns="sex"),
    }
    for words, changed in ways.items():
        cells = cells_of_rows(keyed(changed, few), [release])
        (finding,) = findings_of(cells, Now(changed, few, changed, np.zeros(len(changed), int), 2, None))
        assert finding.severity is Severity.STOPS
        assert finding.sentence == "Nothing says who is who, so last time's people cannot be recognised."
        assert words in finding.detail


def test_persons__are_not_recognised_without_their_column_or_by_other_rules_for_ids() -> None:
    rows = rows_of(0, 0, 1, 1)
    table, schema = table_of([who for who, _ in rows])
    bare = an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], identifying=["id"])
    cells = cells_of_rows(keyed(table, bare), [released(rows, 2)])
    assert [line for line, *_ in cells.unknown] == [2]
    alike = schema.with_column("id", alike=True)
    cells = cells_of_rows(keyed(table, alike), [released(rows, 2)])
    assert cells.unknown[0][1].startswith("Ids that differ in writing only")


def test_day__is_read() -> None:
    assert day_text("2026-05-03T10:40:00Z") == "3 May 2026"


@given(
    st.lists(st.lists(st.integers(-1, 2), min_size=6, max_size=6), max_size=2),
    st.lists(st.integers(-1, 2), min_size=6, max_size=6), st.integers(1, 3),
)  # fmt: skip
def test_people_below__are_those_of_too_small_cells_that_are_new(
    before: list[list[int]], now: list[int], k: int
) -> None:
    people = [f"p{one}" for one in range(6)]
    releases = [list(zip(people, own, strict=True)) for own in before if max(own) >= 0]
    cells, looks = looked_at(releases, list(zip(people, now, strict=True)), k)
    groups = np.array([0, 0, 1, 1, 2, 2])
    keys = list(zip(*([own for _, own in one] for one in releases), now, strict=True))
    olds = [key[:-1] for key in keys]
    related = [at for at, one in enumerate(releases) if any(own >= 0 for _, own in one)]
    assert len(related) == len(releases)
    few = [any(own >= 0 for own in key) and keys.count(key) < k for key in keys]
    new = [
        one and (keys.count(key) < olds.count(old) or not any(own >= 0 for own in old))
        for one, key, old in zip(few, keys, olds, strict=True)
    ]
    expected: dict[int, int] = defaultdict(int)
    for one, group in zip(few, groups.tolist(), strict=True):
        expected[group] += one and any(new)
    answer = cells.people_below(looks.class_of, k, groups)
    assert answer == {group: number for group, number in expected.items() if number}
