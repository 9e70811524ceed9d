"""Persons with several rows in a table in pieces: counted, cut, written and checked as in one table in memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.evidence import class_histograms
from anonymizer.checking.linkage import LookAlikes
from anonymizer.checking.persons import persons_of_rows
from anonymizer.engines import anonymize_files
from anonymizer.errors import GuaranteeError
from anonymizer.flow import Flow
from anonymizer.groups.recipe import Recipe, grow_by
from anonymizer.growing.tree import Persons
from anonymizer.partitions import run
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.parted import read_pieces
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import grow_pieces
from anonymizer.releasing.grid import ends_of_persons
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.partitions.tables import visits, visits_schema, whole_frame, write_pieces
from tests.partitions.test_run import rows_of, same_rows
from tests.sweeps import few

WAYS: list[dict[str, Any]] = [
    {"generalizer": "uniform", "grouping": "least"},
    {"generalizer": "uniform", "grouping": "error-risk", "numbers": "range", "l": 2},
    {"generalizer": "uniform", "grouping": "least", "numbers": "mean", "writing": "weighted"},
    {"generalizer": "refine", "grouping": "least", "t": 0.6},
    {"generalizer": "pack", "grouping": "least", "l": 2},
    {"generalizer": "pack-persons", "grouping": "least"},
    {"generalizer": "tiered-strict", "grouping": "least"},
    {"generalizer": "tiered-strict", "grouping": "least", "share_max": 0.1},
    {"generalizer": "pack", "grouping": "least", "share_max": 0.1},
    {"generalizer": "refine", "grouping": "error-risk", "share_max": 0.08},
    {"generalizer": "pack-persons", "grouping": "least", "share_max": 0.1},
]
ACCEPTS = {"prosecutor_limit": 1}
"""So that the highest risk of a row stops nothing."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("changes", WAYS)
def test_files_of_persons__are_released_as_the_table_in_memory(tmp_path: Path, changes: dict[str, Any]) -> None:
    table = pa.Table.from_pandas(visits(4000, 3), preserve_index=False)
    frame = whole_frame(table)
    schema = visits_schema(frame)
    source = write_pieces(tmp_path / "in", table, [1000, 1000, 2500], 700)
    secret = np.random.default_rng
    changes = changes | ACCEPTS
    expected = an.anonymize(frame, schema, rng=secret(1), **changes)
    result = anonymize_files(source, schema, tmp_path / "out", rng=secret(1), rows=900, **changes)
    assert result.folder is not None, result.gate.open
    assert result.tree.persons.n.tolist() == expected.tree.persons.n.tolist()
    assert result.tree.persons.sums.tolist() == expected.tree.persons.sums.tolist()
    assert result.tree.persons.n[0] < result.tree.n[0]
    assert result.pruning.cut().tolist() == expected.pruning.cut().tolist()
    assert same_rows(rows_of(tmp_path / "out"), expected.release.frame())
    for check in result.verification.checks:
        if check.name not in ("file", "linking posterior", "rows together"):
            other = expected.verification[check.name]
            assert (check.passed, check.achieved, check.sentence) == (other.passed, other.achieved, other.sentence)
    assert result.verification["k persons"].passed is True
    assert "takes one table in memory" in result.verification["rows together"].sentence
    assert result.after.sizes.tolist() == expected.report.after.sizes.tolist()
    assert result.after.highest == expected.report.after.highest <= changes.get("share_max", 1)
    assert result.notes == expected.encoded.notes


@pytest.mark.parametrize(("rows", "enough"), [(700, 50), (4000, 900), (1, 4000)])
def test_persons_of_nodes_in_any_pieces__are_those_of_the_whole(tmp_path: Path, rows: int, enough: int) -> None:
    table = pa.Table.from_pandas(visits(1500, 3), preserve_index=False)
    frame = whole_frame(table)
    schema = visits_schema(frame, sensitive=["diagnosis", "ward"])
    coded = code_table(open_table(write_pieces(tmp_path / "in", table, [400, 900])), schema)
    expected = grow_by(Recipe("entropy", 2), an.encode(frame, schema))[0].persons
    persons = grow_pieces(coded, Recipe("entropy", 2), rows, enough)[0].persons
    assert persons.n.tolist() == expected.n.tolist()
    assert persons.sums.tolist() == expected.sums.tolist()
    assert [counts.tolist() for counts in persons.others] == [counts.tolist() for counts in expected.others]


def test_persons_in_any_pieces__have_the_numbers_of_the_whole(tmp_path: Path) -> None:
    """Marks of missing ones that differ, numbers here and text there, a piece in which everybody is nobody."""
    table = pa.table({
        "who": pa.array(["7", "7", "b", None, "n/a", None, "07", "b"]),
        "age": pa.array([30, 40, 30, 30, 40, 30, 40, 40]),
        "sick": pa.array(["yes", "no"] * 4),
    })  # fmt: skip
    frame = whole_frame(table)
    schema = Schema.of(frame, quasi_identifying=["age"], sensitive=["sick"], person="who")
    expected = an.encode(frame, schema)
    assert expected.person is not None
    for ends in ([], [1, 4], [3, 4, 6]):
        source = write_pieces(tmp_path / f"in {len(ends)}", table, ends)
        coded = code_table(open_table(source), schema)
        assert coded.encoded.person is not None
        assert coded.encoded.person.tolist() == expected.person.tolist()
        assert coded.encoded.notes == expected.notes
        assert "who" not in coded.columns


def test_the_gate_and_the_folder__know_nothing_of_whose_a_row_is(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(visits(1500, 5), preserve_index=False)
    schema = visits_schema(whole_frame(table))
    result = anonymize_files(
        write_pieces(tmp_path / "in", table, [800]),
        schema,
        tmp_path / "out",
        generalizer="uniform",
        grouping="least",
        **ACCEPTS,
    )
    assert "patient" not in rows_of(tmp_path / "out").columns
    for path in (tmp_path / "out").iterdir():
        assert b"patient" not in path.read_bytes()
        assert b"P0000" not in path.read_bytes()
    assert "P0000" not in result.to_json()


def test_an_identifying_column_that_repeats__stops_the_release(tmp_path: Path) -> None:
    """Rows would be counted, not persons, as the gate of one table in memory says."""
    table = pa.Table.from_pandas(visits(1500, 5).rename(columns={"patient": "patient_id"}), preserve_index=False)
    frame = whole_frame(table)
    schema = visits_schema(frame, person=None, identifying=["patient_id"])
    source = write_pieces(tmp_path / "in", table, [800])
    result = anonymize_files(source, schema, tmp_path / "out", generalizer="uniform", grouping="least")
    assert result.folder is None
    assert [finding.key for finding in result.gate.open] == ["persons: patient_id"]
    expected = an.anonymize(frame, schema, generalizer="uniform", grouping="least")
    assert result.gate.open == expected.gate.open
    settled = anonymize_files(
        source, schema, tmp_path / "out", generalizer="uniform", grouping="least",
        reasons={"persons: patient_id": "numbers of visits"},
    )  # fmt: skip
    assert settled.folder == tmp_path / "out"


def test_a_group_of_one_persons_rows__fails_the_check_of_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve rows of each of two persons: the groups have k rows, and are of one person."""
    frame = pd.DataFrame({
        "patient": ["a"] * 12 + ["b"] * 12, "age": [30] * 12 + [60] * 12,
        "sick": ["yes"] * 9 + ["no"] * 3 + ["yes"] * 3 + ["no"] * 9,
    })  # fmt: skip
    schema = Schema.of(frame, quasi_identifying=["age"], sensitive=["sick"], person="patient")
    source = write_pieces(tmp_path / "in", pa.Table.from_pandas(frame, preserve_index=False), [10])
    with pytest.raises(GuaranteeError, match="The table has 2 persons, fewer than k = 3"):
        anonymize_files(source, schema, tmp_path / "out", k=3)
    keep = run.groups_of
    monkeypatch.setattr(run, "groups_of", lambda tree, encoded, *rest: keep(rows_alone(tree), encoded, *rest))
    result = anonymize_files(source, schema, tmp_path / "out", k=2, numbers="range", override="to see it fail")
    check = result.verification["k persons"]
    assert (check.passed, check.achieved) == (False, 1)
    assert not result.verification.k_anonymous


def rows_alone(tree: an.Tree) -> an.Tree:
    """Return the tree as if every row were a person."""
    return replace(tree, persons=Persons(tree.n, tree.sums, tree.others))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4), st.integers(0, 2), st.integers(1, 3)), min_size=1))
@settings(max_examples=few(200), deadline=None)
def test_equal_rows_of_a_person_put_together__count_as_apart(rows: list[tuple[int, int, int, int]]) -> None:
    class_of, person, value, counts = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    class_of = np.unique(class_of, return_inverse=True)[1].astype(np.int64)
    apart = [np.repeat(column, counts) for column in (class_of, person, value)]
    classes = LookAlikes(apart[0], np.bincount(apart[0]).astype(np.int64))
    expected = persons_of_rows(apart[1], classes)
    result = persons_of_rows(person, LookAlikes(class_of, classes.sizes), counts)
    assert expected.in_class is not None
    assert result.in_class is not None
    assert result.in_class.tolist() == expected.in_class.tolist()
    assert result.largest == expected.largest
    column = Schema.of(pd.DataFrame({"sick": ["a"], "age": [1]}), quasi_identifying=["age"], sensitive=["sick"])["sick"]
    texts = pd.Series(value).map(str)
    one = class_histograms(texts, column, class_of, classes.sizes, person, counts)
    other = class_histograms(pd.Series(apart[2]).map(str), column, apart[0], classes.sizes, apart[1])
    for name in ("group", "value", "count", "totals", "sizes"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 4)), max_size=30))
def test_ends_of_persons__are_their_lowest_and_highest_codes(rows: list[tuple[int, int]]) -> None:
    b = 6  # code 6 is missing
    codes, person = (np.array(column, np.int64) for column in (zip(*rows, strict=True) if rows else ([], [])))
    lowest, highest = np.zeros(b, int), np.zeros(b, int)
    for one in {who for who in person.tolist() if who >= 0}:
        own = [code for code, who in rows if who == one and code < b]
        if own:
            lowest[min(own)] += 1
            highest[max(own)] += 1
    result = ends_of_persons(codes, person, b)
    assert [counts.tolist() for counts in result] == [lowest.tolist(), highest.tolist()]


def test_the_flow_of_a_folder__counts_persons(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(visits(2000, 7), preserve_index=False)
    frame = whole_frame(table)
    schema = visits_schema(frame)
    source = write_pieces(tmp_path / "in", table, [900])
    reading = read_pieces(source, "in", tmp_path)
    flow = PartedFlow(reading.table, schema, Settings(generalizer="uniform", grouping="least"))
    whole = Flow(frame, schema, Settings(generalizer="uniform", grouping="least"))
    assert flow.before.sizes.tolist() == whole.before.sizes.tolist()
    assert flow.tree.persons.n.tolist() == whole.tree.persons.n.tolist()
    assert flow.about_table == whole.about_table
    assert {name: ladder.below.tolist() for name, ladder in flow.ladders.items()} == {
        name: ladder.below.tolist() for name, ladder in whole.ladders.items()
    }
    result = flow.write_folder(tmp_path / "out")
    assert result.verification["k persons"].passed is True


def test_ids_in_several_ways_and_of_nobody__are_seen_and_repaired_as_in_memory(tmp_path: Path) -> None:
    frame = visits(3000, 3)
    turn = np.random.default_rng(2).integers(0, 4, len(frame))
    frame["patient"] = np.select(
        [turn == 1, turn == 2, (turn == 3) & (frame.index % 3 == 0)],
        [frame.patient.str.lower(), frame.patient.str[:1] + "-" + frame.patient.str[1:], "unknown"],
        frame.patient,
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame = whole_frame(table)
    schema = visits_schema(frame)
    source = write_pieces(tmp_path / "in", table, [1000, 2200], 700)
    how: dict[str, Any] = {"generalizer": "uniform", "grouping": "least", **ACCEPTS}
    for ways, out in ((schema, "dirty"), (schema.with_column("patient", alike=True, nobody=("unknown",)), "repaired")):
        expected = an.anonymize(frame, ways, **how)
        result = anonymize_files(source, ways, tmp_path / out, **how)
        stops = {finding.key: finding.to_dict() for finding in result.gate.open}
        assert stops == {finding.key: finding.to_dict() for finding in expected.gate.open}
        assert result.tree.persons.n.tolist() == expected.tree.persons.n.tolist()
        assert bool(stops) is (out == "dirty")
    assert result.tree.persons.n[0] == frame.patient.str.replace("-", "").str.upper().replace("UNKNOWN", None).nunique()


def test_left_out_columns__are_not_read_and_the_gate_says_so(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(visits(1500, 5).rename(columns={"patient": "pseudonym"}), preserve_index=False)
    roles: dict[str, Any] = {"quasi_identifying": ["age", "income", "job", "town"], "sensitive": ["diagnosis"]}
    schema = Schema.of(whole_frame(table), identifying=["pseudonym", "born"], **roles)
    source = write_pieces(tmp_path / "in", table, [800])
    result = anonymize_files(source, schema, tmp_path / "out", generalizer="uniform", grouping="least")
    assert "born, pseudonym" in result.gate["left out unread"].detail
