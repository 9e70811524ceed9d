"""Releases of one table that are counted together, in Python."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.checking.together import together
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import (
    Earlier,
    LastRelease,
    LastTable,
    Now,
    OtherPeople,
    Uncounted,
    beside_earlier,
    classes_of_persons,
)
from anonymizer.gate.finding import Finding, Severity
from anonymizer.pipeline import Result
from anonymizer.settings import Settings
from tests.groups.test_secret import SAMPLE, schema_of

HOW: dict[str, Any] = {"k": 10, "generalizer": "pack"}


def classes(result: Result) -> np.ndarray:
    """The class of each row, by the texts of its released cells."""
    class_of = np.full(len(SAMPLE), -1)
    cells = result.release.frame()[list(result.schema.quasi_identifying)].astype(str).agg("|".join, axis=1)
    class_of[result.release.order] = cells.factorize()[0]
    return class_of


@cache
def first_release() -> Result:
    return an.anonymize(SAMPLE, schema_of(SAMPLE), **HOW)


def test_earlier_release__is_counted_with_the_new_one() -> None:
    schema, first = schema_of(SAMPLE), first_release()
    other = an.anonymize(SAMPLE, schema, **(HOW | {"k": 12}), earlier=[first])
    both = together([classes(first), classes(other)], 12)
    (finding,) = (one for one in other.gate.findings if one.key.startswith("together: "))
    assert finding.severity is Severity.STOPS
    assert both.below > len(SAMPLE) / 4
    assert finding.sentence == f"With the release made before, {both.sentence}"
    assert finding.sentence.startswith(f"With the release made before, {both.below:,} of {len(SAMPLE):,} people are in")
    assert f"fewer than 12, {both.alone:,} of them alone." in finding.sentence
    with pytest.raises(an.GuaranteeError):
        other.release.to_bytes("csv")
    allowed = an.anonymize(
        SAMPLE, schema, **(HOW | {"k": 12}), earlier=[first],
        reasons={one.key: "both go to one office" for one in other.gate.findings},
    )  # fmt: skip
    assert allowed.release.to_bytes("csv")


def test_the_same_release_again__stops_nothing() -> None:
    schema, first = schema_of(SAMPLE), first_release()
    again = an.anonymize(SAMPLE, schema, **HOW, earlier=[first, first])
    (finding,) = (one for one in again.gate.findings if one.key.startswith("together: "))
    assert finding.severity is Severity.FINE
    assert "everybody is still in a group of at least" in finding.sentence
    assert "the 2 releases made before" in finding.sentence


def test_earlier_release__promised_the_larger_k() -> None:
    schema = schema_of(SAMPLE)
    first = an.anonymize(SAMPLE, schema, **(HOW | {"k": 30}))
    other = an.anonymize(SAMPLE, schema, **HOW, earlier=[first])
    assert any("fewer than 30" in one.sentence for one in other.gate.open)


def test_earlier_release__of_a_larger_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="another table"):
        an.anonymize(SAMPLE.head(300), schema_of(SAMPLE.head(300)), **HOW, earlier=[first_release()])


# Last time's release: of another table, with some of the same people.


@cache
def last_and_now() -> tuple[Result, Flow]:
    """Last year's release of a table with numbers of people, and this year's flow: 400 stay, 100 go, 100 come."""
    years = [
        SAMPLE.assign(id=[f"p{row:03d}" for row in range(600)]).iloc[rows] for rows in (slice(500), slice(100, 600))
    ]
    last, now = (year.reset_index(drop=True) for year in years)
    schema = schema_of(last).with_column("id", role="person")
    return an.anonymize(last, schema, **HOW), Flow(now, schema, Settings(**HOW))


def finding_of(flow: Flow, other: OtherPeople) -> Finding:
    (finding,) = (one for one in flow.but(earlier=[other]).gate.findings if one.key.startswith("together: "))
    return finding


def class_of(result: Result | Flow) -> np.ndarray:
    return Earlier.of(result.release, result.encoded.n_records, 10).class_of


def test_last_table__is_counted_person_by_person() -> None:
    last, flow = last_and_now()
    of_last, of_now = np.full(600, -1), np.full(600, -1)
    of_last[:500], of_now[100:] = class_of(last), class_of(flow)
    both = together([of_last, of_now], 10)
    people = pd.Series([f"p{row:03d}" for row in range(500)])
    finding = finding_of(flow, LastTable(people, class_of(last), 10))
    assert finding.severity is Severity.STOPS
    assert finding.sentence == f"With last time's release, {both.sentence}"
    assert (both.persons, both.below > 100) == (600, True)
    (stays,) = LastTable(people, class_of(last), 10).of_rows(flow.table, flow.schema)
    assert np.array_equal(stays.class_of, np.append(class_of(last)[100:], np.full(100, -1)))


def test_last_table__counts_sets_of_classes_where_a_person_has_several_rows() -> None:
    who, classes = np.array([0, 0, 1, 1, 2, -1, 3]), np.array([4, 5, 5, 4, 4, 4, -1])
    sets = classes_of_persons(who, classes, 5)
    assert sets[0] == sets[1] != sets[2]
    assert sets[3:].tolist() == [-1, -1]


def test_last_release__alone_gives_a_lower_bound() -> None:
    last, flow = last_and_now()
    people = pd.Series([f"p{row:03d}" for row in range(500)])
    truth = finding_of(flow, LastTable(people, class_of(last), 10))
    finding = finding_of(flow, LastRelease(last.release.frame(), last.schema, 10))
    assert finding.severity is Severity.STOPS
    at_least, exact = (int(one.figure.strip("≥ ").partition(" ")[0].replace(",", "")) for one in (finding, truth))
    assert 100 < at_least <= exact


def test_last_release__is_no_table_and_no_other_file() -> None:
    last, _ = last_and_now()
    released = last.release.frame()
    for rows, words in (
        (released.drop(columns=last.schema.released[0]), f"no column '{last.schema.released[0]}'"),
        (released.assign(id="p001"), "the left-out column 'id'"),
    ):
        with pytest.raises(ParameterError, match=words):
            LastRelease(rows, last.schema, 10)


def test_last_release__of_which_nothing_is_there_is_said_and_stops() -> None:
    _, flow = last_and_now()
    finding = finding_of(flow, Uncounted())
    assert finding.is_open
    assert "cannot be counted" in finding.sentence
    nameless = Flow(flow.table, schema_of(flow.table).with_column("id", role="identifying"), flow.settings)
    people = pd.Series([f"p{row:03d}" for row in range(500)])
    last_table = LastTable(people, np.zeros(500, np.int64), 10)
    assert last_table.of_rows(nameless.table, nameless.schema) == ()
    other = finding_of(nameless, last_table)
    assert (other.key, other.sentence, other.is_open) == (finding.key, finding.sentence, True)
    assert "No column says whose a row is" in other.detail
    assert "open last time's table" in finding.detail


def now_of(class_of: list[int], k: int) -> Now:
    some = SAMPLE.head(len(class_of)).assign(diagnosis=["a", "b", "a", "b", "a"][: len(class_of)])
    return Now(some, schema_of(SAMPLE), some, np.array(class_of), k, None)


@pytest.mark.parametrize(
    ("before", "k_before", "after", "k", "severity", "words"),
    [
        ([0, 0, 1, 1], 2, [0, 0, 0, 0], 4, Severity.FINE, "still in a group of at least 2 people"),
        ([0, 0, 0, 0], 2, [0, 0, 1, 1], 3, Severity.STOPS, "4 of 4 people are in groups of fewer than 3"),
        ([0, 0, 1, 1, -1], 2, [0, 0, 0, 0, 0], 4, Severity.STOPS, "5 of 5 people are in groups of fewer than 4"),
        ([0, 0, 0, 0], 4, [0, 0, 1, 1], 2, Severity.STOPS, "promised 4. With this one it is 2."),
        ([0, 0, 0, 1], 4, [0, 0, 1, 1], 2, Severity.STOPS, "4 of 4 people are in groups of fewer than 4, 2 of them"),
    ],
)
def test_another_k__is_asked_of_cells_that_become_smaller(
    before: list[int], k_before: int, after: list[int], k: int, severity: Severity, words: str
) -> None:
    (finding,) = beside_earlier([Earlier(np.array(before), k_before)], now_of(after, k))
    assert finding.severity is severity
    assert words in f"{finding.sentence} {finding.detail}"
    assert ("promised" in finding.detail) == ("promised" in words)


def test_values__that_all_groups_leave_are_told() -> None:
    table = pd.DataFrame({"age": ["1"] * 8, "ill": list("abababab")})
    schema = an.Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    now = Now(table, schema, table, np.array([0, 0, 0, 1, 1, 1, 0, 1]), 2, None)
    other = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    (finding,) = beside_earlier([Earlier(other, 2)], now)
    assert "leave one possible 'ill' for 8 people, this release alone for 0." in finding.detail
    (finding,) = beside_earlier([Earlier(now.class_of, 2)], now)
    assert finding.detail == ""
