"""Limits on the cells that releases leave together, against counting with pandas, the cases, and files of runs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.cell_limits import (
    CellLimit,
    Promise,
    changed_cells,
    hold_in,
    limits_on_cells,
    risks_on_cells,
    worst_of,
)
from anonymizer.checking.together import cells_of
from anonymizer.errors import GuaranteeError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, LastTable, Now, beside_earlier
from anonymizer.gate.finding import Finding, Severity
from anonymizer.population.sample import WHOLE, Population
from anonymizer.settings import Limits, Settings
from tests import naive_verify as naive
from tests.checking.test_together import cases, numbers
from tests.sweeps import few

ILL = (an.Column("ill", an.Role.SENSITIVE, an.Kind.CATEGORICAL),)
COST = (an.Column("cost", an.Role.SENSITIVE, an.Kind.NUMERIC),)


def promise(columns: tuple[an.Column, ...] = ILL, **limits: Any) -> Promise:
    return Promise(Limits(**limits), columns)


def by_limit(answers: tuple[CellLimit, ...]) -> dict[str, CellLimit]:
    return {one.limit: one for one in answers}


people = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(-1, 2), st.sampled_from(["flu", "gout", "asthma", None])),
    min_size=1, max_size=30,
)  # fmt: skip


@given(people)
@settings(max_examples=few(300, 40))
def test_figures__are_those_of_naive_counting(rows: list[tuple[int, int, str | None]]) -> None:
    releases = [np.array([row[side] for row in rows]) for side in (0, 1)]
    cell = cells_of(releases)[0]
    table = pd.DataFrame({"ill": pd.Series([row[2] for row in rows], dtype=object)})
    answers = by_limit(limits_on_cells(table, [promise(l=2, entropy_l=1.5, t=0.3)], cell))
    inside = [row for row in rows if row[:2] != (-1, -1)]
    pairs, values = [row[:2] for row in inside], [row[2] for row in inside]
    if not inside:
        assert not answers
        return
    assert answers["t"].verdict == ("fails" if naive.closeness(pairs, values, None) > 0.3 + 1e-9 else "holds")
    if answers["t"].verdict == "fails":
        assert answers["t"].achieved == pytest.approx(naive.closeness(pairs, values, None))
    fewest = naive.distinct_l(pairs, values)
    if fewest is None:
        assert set(answers) == {"t"}
        return
    below = naive.people_below([tuple(None if one < 0 else one for one in pair) for pair in pairs], values, 2)
    assert answers["l"].below == below
    assert answers["l"].persons == len(inside)
    assert (answers["l"].verdict == "fails") == (fewest < 2) == (below > 0)
    mixed = naive.entropy_l(pairs, values)
    assert mixed is not None
    assert (answers["entropy_l"].verdict == "fails") == (mixed < 1.5 - 1e-9)
    if answers["entropy_l"].verdict == "fails":
        assert answers["entropy_l"].achieved == pytest.approx(mixed)


def test_worked_case__has_one_value_in_a_cell_and_none_in_a_class() -> None:
    for case in cases("ledger_worked"):
        names = [one["person"] for one in case["people"]]
        releases = [numbers([of["groups"][name] for name in names]) for of in case["releases"]]
        table = pd.DataFrame({"ill": [one["illness"] for one in case["people"]]})
        owed = [promise(l=2)]
        for classes in releases:
            assert by_limit(limits_on_cells(table, owed, classes))["l"].verdict == "holds"
        (answer,) = limits_on_cells(table, owed, cells_of(releases)[0])
        assert (answer.below, answer.persons, answer.achieved, answer.verdict) == (2, 8, 1.0, "fails")
        assert answer.sentence == "2 of 8 people are in groups with fewer than 2 values of ill (at worst 1)."


def test_distinct_l_of_cells__bounds_the_sets_of_the_cases() -> None:
    """What whole cells have in common is in every set of their classes, so l on cells bounds the sets."""
    for case in cases("ledger_values"):
        people = sorted({person for year in case["years"] for person in year})
        if any(len({year[who]["value"] for year in case["years"] if who in year}) > 1 for who in people):
            continue
        values = [next(year[who]["value"] for year in case["years"] if who in year) for who in people]
        releases = [numbers([year.get(who, {}).get("group") for who in people]) for year in case["years"]]
        owed = [promise(l=case["l"])]
        (answer,) = limits_on_cells(pd.DataFrame({"ill": values}), owed, cells_of(releases)[0])
        assert answer.below >= case["expected"]["persons_below_l"]


def test_numbers__are_held_to_their_spread_and_their_share_of_the_error() -> None:
    table = pd.DataFrame({"cost": [1.0, 1.0, 9.0, 9.0, 1.0, 9.0, 2.0, 8.0]})
    cell = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    answers = by_limit(limits_on_cells(table, [promise(COST, rsd_min=0.2, spread_min=0.2)], cell))
    assert answers["rsd_min"].below == answers["spread_min"].below == 4
    assert answers["rsd_min"].achieved == 0
    assert (
        "groups that leave less than 20.0% of the squared error of cost (at worst 0.0%)" in answers["rsd_min"].sentence
    )


def test_share_of_one__is_by_rows_of_persons() -> None:
    table, person = pd.DataFrame({"ill": ["flu"] * 6}), np.array([0, 0, 1, 2, -1, -1])
    (answer,) = limits_on_cells(table, [promise((), share_max=0.5)], np.array([0, 0, 0, 1, 1, -1]), person)
    assert answer.achieved == pytest.approx(2 / 3)
    assert (answer.below, answer.persons) == (2, 3)
    assert answer.sentence.startswith("2 of 3 people are in groups with more than 50.0% of the rows one person's")


def test_persons__are_counted_once_for_a_value() -> None:
    table, person = pd.DataFrame({"ill": ["flu", "flu", "gout", "flu"]}), np.array([0, 0, 0, 1])
    cell = np.array([0, 0, 0, 1])
    (answer,) = limits_on_cells(table, [promise(l=2)], cell, person)
    assert (answer.below, answer.persons) == (1, 2)


def test_every_promise__counts_and_the_strictest_wins() -> None:
    table = pd.DataFrame({"ill": ["flu", "gout"] * 2, "cost": [1.0, 2.0, 3.0, 4.0]})
    cell = np.array([0, 0, 1, 1])
    assert limits_on_cells(table, [promise(), promise(COST)], cell) == ()
    (answer,) = limits_on_cells(table, [promise(l=2), promise(l=3), promise(COST)], cell)
    assert (answer.required, answer.below) == (3, 4)
    (unknown,) = limits_on_cells(table[["cost"]], [promise(l=2)], cell)
    assert (unknown.verdict, unknown.achieved) == ("cannot tell", None)
    assert unknown.sentence == "Whether every group that all releases share has at least 2 values of ill is not known."
    assert worst_of([answer, unknown]) == (answer,)
    with_other = limits_on_cells(table, [promise(l=2), promise(COST, l=2)], cell)
    assert [one.column for one in with_other] == ["ill", "cost"]


def test_cells__that_stay_as_they_were_owe_what_was_promised_before() -> None:
    before, after = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    cell, sizes = cells_of([before, after])
    changed = changed_cells([before], cell, sizes)
    assert changed[cell].tolist() == [False, False, True, True, True, True]
    table = pd.DataFrame({"ill": ["flu", "flu", "flu", "gout", "flu", "gout"]})
    how = [promise(l=2), promise()]
    assert limits_on_cells(table, how, cell, None, how[1:], changed)[0].verdict == "holds"
    assert limits_on_cells(table, how, cell, None, how[:1], changed)[0].below == 2
    other = table.assign(ill=["flu", "flu", "flu", "flu", "flu", "gout"])
    assert limits_on_cells(other, how, cell, None, how[1:], changed)[0].below == 2
    assert hold_in(table, how, cell).tolist() == [False, True, True]


# What the gate says.


def findings(before: Earlier, after: list[int], table: pd.DataFrame, own: Promise) -> list[Finding]:
    schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    now = Now(table, schema, table, np.array(after), 2, None, promise=own)
    return list(beside_earlier([before], now))


def test_finding__of_limits_that_hold_and_of_those_that_do_not() -> None:
    table = pd.DataFrame({"age": range(8), "ill": ["flu", "gout"] * 4})
    earlier = Earlier(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2, promise(l=2))
    _, fine = findings(earlier, [0, 0, 1, 1, 2, 2, 2, 2], table, promise())
    assert (fine.severity, fine.detail) == (Severity.FINE, "at least 2 values of ill.")
    assert fine.sentence == "With the release made before, every group that all share keeps the other limits, too."
    _, stops = findings(earlier, [0, 1, 0, 1, 2, 2, 2, 2], table, promise())
    assert stops.severity is Severity.STOPS
    assert stops.sentence == (
        "With the release made before, 4 of 8 people are in groups with fewer than 2 values of ill (at worst 1)."
    )
    assert "at least 2 values of ill: 4, fails" in stops.key
    assert stops.repairs
    assert len(findings(Earlier(earlier.class_of, 2), [0, 1, 0, 1, 2, 2, 2, 2], table, promise())) == 1
    _, old = findings(Earlier(np.array([0, 1, 0, 1, 2, 2, 2, 2]), 2), [0, 0, 0, 0, 2, 2, 2, 2], table, promise(l=2))
    assert (old.severity, old.figure) == (Severity.LOOK, "Limits hold")
    assert old.sentence == "With the release made before, no group that all share is new and misses the other limits."
    assert old.detail.endswith("4 people are in groups as they were before, which miss one that was not promised then.")


def test_risk__on_cells_is_by_who_stands_behind_their_rows() -> None:
    table = pd.DataFrame({"age": range(6), "weight": [5.0, 5.0, 1.0, 1.0, 1.0, 1.0]})
    schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=[]).with_column("weight", role="weight")
    cell = np.array([0, 0, 1, 1, 2, -1])
    owed = [promise((), risk_max=0.4), promise((), risk_max=0.5, risk_mean=0.9, k_map=3)]
    whole = schema.with_column("weight", role="insensitive")
    answers = by_limit(risks_on_cells(table, whole, WHOLE, owed, cell))
    assert (answers["risk_max"].required, answers["risk_max"].below, answers["risk_max"].achieved) == (0.4, 5, 1.0)
    assert (answers["risk_mean"].verdict, answers["risk_mean"].achieved) == ("holds", pytest.approx(0.6))
    assert answers["k_map"].verdict == "cannot tell"
    assert answers["risk_max"].sentence.endswith("link to a row is right with a chance above 0.4 (at worst 1).")
    changed = np.array([False, False, True])
    alike = by_limit(risks_on_cells(table, whole, WHOLE, owed[:1], cell, [], changed))
    assert alike["risk_max"].below == 1
    weights = by_limit(risks_on_cells(table, schema, WHOLE, owed, cell))
    assert (weights["risk_max"].verdict, weights["risk_max"].below) == ("fails", 3)
    assert weights["k_map"].verdict == "cannot tell"
    assert risks_on_cells(table, schema, None, owed, cell) == ()
    people = by_limit(risks_on_cells(table, schema, Population(table=table), owed, cell))
    assert {one.verdict for one in people.values()} == {"cannot tell"}


def test_last_table__is_held_to_the_values_of_both() -> None:
    people = pd.Series(list("abcdefgh"))
    last = pd.DataFrame({"ill": ["flu"] * 2 + ["flu", "gout"] * 3})
    now_ill = ["flu", "gout"] * 4
    table = pd.DataFrame({"id": people, "age": range(8), "ill": now_ill})
    schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], person="id")
    person = np.arange(8)
    halves, pairs = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    now = Now(table, schema, table, pairs, 2, person, promise=promise(l=2))
    _, fails = LastTable(people, halves, 2, promise(l=2), last).beside(now)
    assert "2 of 8 people are in groups with fewer than 2 values of ill" in fails.sentence
    _, holds = LastTable(people, halves, 2, promise(l=2), table[["ill"]]).beside(now)
    assert holds.severity is Severity.FINE


# Releases of a table, by their files.

GROUPINGS = ["least", "error-risk", "median-mondrian"]


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[int, list[dict[str, Any]], bool]:
    runs = [
        {
            "k": draw(st.integers(2, 4)), "grouping": draw(st.sampled_from(GROUPINGS)), "l": draw(st.integers(2, 3)),
            "generalizer": draw(st.sampled_from(["pack", "uniform"])),
        }
        for _ in range(2)
    ]  # fmt: skip
    runs[1] |= draw(st.sampled_from([{}, {"l": None}, {"entropy_l": 1.5}, {"t": 0.6}]))
    return draw(st.integers(0, 10**6)), runs, draw(st.booleans())


def small_table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(24, 70))
    return pd.DataFrame({
        "q0": rng.integers(0, 30, n).astype(float), "q1": rng.choice(list("uvwxyz"), n),
        "c0": rng.choice(["flu", "gout", "asthma"], n, p=[0.6, 0.2, 0.2]),
    })  # fmt: skip


@given(two_runs())
@settings(max_examples=few(120, 12), deadline=None)
def test_check_and_keeping__agree_with_the_released_files(case: tuple[int, list[dict[str, Any]], bool]) -> None:
    """Whoever joins the files by the true person finds cells below l where the gate says so, and none where groups are
    kept."""
    seed, runs, keeps = case
    table = small_table(seed)
    schema = an.Schema.of(table, quasi_identifying=["q0", "q1"], sensitive=["c0"], target="c0")
    first = Flow(table, schema, Settings(**runs[0]))
    try:
        earlier = Earlier(first.class_of, first.settings.k, Promise.of(schema, first.limits))
        second = Flow(table, schema, Settings(**runs[1]), earlier=[earlier], keep=keeps)
        of_limits = [one for one in second.judgement.findings if one.key.startswith("together: limits")]
    except GuaranteeError:
        return
    files = [flow.release.frame() for flow in (first, second)]
    orders = [flow.release.order for flow in (first, second)]
    rows = naive.joined(files, orders, ["q0", "q1"], len(table))
    fewest = max(runs[0]["l"], runs[1]["l"] or 0)
    below = naive.people_below(rows, table["c0"].tolist(), fewest)
    promised = naive.people_below([row[:1] for row in rows], table["c0"].tolist(), fewest)
    (finding,) = of_limits
    if below == 0 or promised == 0:  # no group of the first misses the limit, so every cell owes it
        assert (below > 0) == ("values of c0: " in finding.key.partition("before: ")[2])
    if keeps and promised == 0:
        assert below == 0
    if keeps and runs[1].get("l") == runs[0]["l"] and len(runs[1]) == 4:
        assert finding.severity is Severity.FINE
