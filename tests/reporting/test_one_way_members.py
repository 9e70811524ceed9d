"""The one-way tables of a packet: they are made again, and programs in Python and R read boxes by them alike."""

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.releasing.expand import expand
from anonymizer.releasing.one_way import Made
from anonymizer.releasing.one_way_file import FIELDS, OneWayFiles, files_of, one_way_file, tables_in
from anonymizer.releasing.set_names import named
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.reporting.packet import check_packet, packet_of
from anonymizer.reporting.packet_files import BOXES, ONE_WAY, READERS, readers
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings
from tests.conftest import absent
from tests.naive_margins import expanded
from tests.reporting.test_packet import members_of, with_manifest

HOSTILE = '=cmd|"{a, b}"'
WAYS = (
    {}, {"numbers": "range"}, {"numbers": "mean"}, {"writing": "groups"}, {"writing": "weighted"},
    {"generalizer": "tiered-strict"}, {"sets": "named"}, {"generalizer": "uniform", "writing": "concatenate"},
)  # fmt: skip


@cache
def flow_of(way: int = 0) -> Flow:
    rng = np.random.default_rng(3)
    n = 300
    table = pd.DataFrame(
        {
            "age": np.clip(rng.normal(40, 9, n), 18, 90).round(), "hours": rng.choice([40, 40, 40, 38, 20, 35, 60], n),
            "town": rng.choice([HOSTILE, "plain", "-1+2", "B, C", *"defghij"], n, p=[.3, .3, .1, .05, *[.25 / 7] * 7]),
            "seen": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.exponential(30, n).astype(int), "D"),
            "weight": np.round(rng.normal(70, 12, n), 2), "ill": rng.choice(["a", "b", "c"], n),
        }
    )  # fmt: skip
    table.loc[:20, "town"], table.loc[30:33, "weight"] = None, None
    schema = Schema.of(table, quasi_identifying=[*table.columns[:5]], sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=5, **WAYS[way]))
    return flow.but(reasons={finding.key: "for a good reason" for finding in flow.judgement.findings})


@cache
def members() -> Mapping[str, bytes]:
    made = flow_of()
    findings = findings_of(made.report, made.table, made.released, None, ())
    return members_of(packet_of(made.leaving, findings, Statement(), "external"))


@pytest.mark.parametrize("way", range(len(WAYS)), ids=str)
def test_file__is_read_back_as_it_was(way: int) -> None:
    flow = flow_of(way)
    made = Made.of(flow.settings)
    content = one_way_file(flow.boxed.readings)
    again = tables_in(content, flow.schema, made)
    assert list(again) == [name for name, reading in flow.boxed.readings.items() if reading.table is not None]
    for name, (atoms, table) in again.items():
        own, ours = flow.boxed.readings[name].atoms, flow.boxed.readings[name].table
        for field in ("levels", "missing", "low", "high", "piece", "start", "stop", "gap"):
            assert np.array_equal(getattr(atoms, field), getattr(own, field)), (name, field)
        assert np.array_equal(table.cell_of, ours.cell_of)
        assert np.array_equal(table.counts, ours.counts)
    files = files_of(flow.release, flow.schema, flow.look_alikes, again, made)
    assert files.one_way == content
    assert files.boxes.startswith(b"column,text,records,boxes,open,sure\n")


@pytest.mark.parametrize("way", range(len(WAYS)), ids=str)
def test_expanded_release__is_read_as_the_measures_read_it(way: int) -> None:
    """From the released text and the two files alone: weighted, and drawn."""
    flow = flow_of(way)
    made, classes = Made.of(flow.settings), flow.look_alikes
    tables = tables_in(one_way_file(flow.boxed.readings), flow.schema, made)
    release = named(flow.release, flow.settings.sets)
    files, frame = files_of(release, flow.schema, classes, tables, made), release.frame()
    for name in tables:
        after = expand(frame, flow.schema, columns=[name], tables=files, weight="share")
        own = expanded(flow, name)
        assert after["share"].sum() == pytest.approx(len(frame))
        assert after["share"][after[name].isna()].sum() == pytest.approx(own["share"][own[name].isna()].sum(), abs=1e-6)
        if flow.schema[name].kind is Kind.CATEGORICAL:
            sums = [one.groupby(name)["share"].sum().loc[lambda part: part > 1e-9] for one in (after, own)]
            assert sums[0].to_dict() == pytest.approx(sums[1].to_dict(), rel=1e-4)
            continue
        scale = 1.0 if flow.schema[name].kind is Kind.NUMERIC else 86_400e6
        numbers = after[name] if scale == 1 else after[name].astype("datetime64[us]").astype("int64")
        there, present = after[name].notna(), own.dropna()
        total = (numbers[there] * after["share"][there]).sum() / scale
        assert total == pytest.approx((present[name].astype(float) * present["share"]).sum() / scale, rel=1e-6)
        how = {"tables": files, "weight": "share", "draws": 40, "rng": np.random.default_rng(1)}
        values = expand(frame, flow.schema, columns=[name], **how)
        assert len(values) == 40 * len(frame)
        numbers = values[name] if scale == 1 else values[name].astype("datetime64[us]").astype("int64")
        mean = total * scale / after["share"][there].sum()
        assert numbers[values[name].notna()].mean() == pytest.approx(mean, rel=0.02)


def test_tables_of_another_release__are_refused() -> None:
    packed, flow = members(), flow_of()
    files = OneWayFiles(packed[ONE_WAY], packed[BOXES])
    with pytest.raises(ParameterError, match=r"no box of \d+ rows with such a cell in column 'age'"):
        expand(flow.released.assign(age="[1, 2]"), flow.schema, tables=files, weight="share")
    for broken in (files._replace(boxes=b"x"), files._replace(one_way=packed[BOXES]), OneWayFiles(b"\xff", b"")):
        with pytest.raises(ReadError):
            expand(flow.released, flow.schema, tables=broken, weight="share")
    with pytest.raises(ParameterError, match="draws"):
        expand(flow.released, flow.schema, tables=files, weight="share", draws=0)


def test_packet__has_tables_that_are_made_again() -> None:
    packed = members()
    rows = list(csv.reader(io.StringIO(packed[ONE_WAY].decode())))
    assert tuple(rows[0]) == FIELDS
    assert {row[0] for row in rows[1:]} == {"age", "hours", "town", "seen", "weight"}
    assert min(int(row[6]) for row in rows[1:]) >= 1
    assert {READERS[0], READERS[1]} <= set(packed)
    assert check_packet(with_manifest(dict(packed))).differences == ()


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        (ONE_WAY, b",0.", b",0.1", "one_way.csv is not what follows"),
        (ONE_WAY, b"age,1,", b"age,9,", "a cell has two counts"),
        (ONE_WAY, b"age,", b"wage,", "a column that is not generalized"),
        (ONE_WAY, b"column", b"colum", "does not have its columns"),
        (ONE_WAY, b"\nage,1,", b"\nage,1,9", "one_way.csv"),
        (BOXES, b",1,", b",2,", "boxes.csv is not what follows"),
        (READERS[0], b"1e-3", b"1e-2", "read_boxes.py is not what follows"),
        (READERS[1], b"1e-3", b"1e-2", "read_boxes.R is not what follows"),
    ],
)
def test_packet__with_other_tables_is_seen(path: str, old: bytes, new: bytes, problem: str) -> None:
    packed = dict(members())
    assert old in packed[path]
    packed[path] = packed[path].replace(old, new, 1)
    (difference, *_) = check_packet(with_manifest(packed)).differences
    assert problem in difference


def test_packet__cannot_hide_numbers_in_counts() -> None:
    packed = dict(members())
    lines = [line.split(b",") for line in packed[ONE_WAY].splitlines()]
    for line in lines[1:]:
        line[6] = b"19560314" + line[1]
    packed[ONE_WAY] = b"".join(b",".join(line) + b"\n" for line in lines)
    (difference, *_) = check_packet(with_manifest(packed)).differences
    assert "a count is far above the rows of the release" in difference


def test_tables__that_are_none_are_refused() -> None:
    schema, made, head = flow_of().schema, Made.of(flow_of().settings), ",".join(FIELDS)
    for rows in (
        "age,1,5,4,,,7,1", "age,1,x,4,,,7,1", "age,0,1,4,,,7,1", "age,1,1,4,,,0,1", "age,1,1,4,,,7,1\nage,1,1,4,,,8,1",
        "age,2,1,4,,,7,1", "town,1,,,a,,7,1\ntown,1,,,a,,7,1", "age,1,10,20,,,7,1\nage,1,1,4,,,7,1", "age,1,,,,1,7,1",
        "age,1,1,4,,,7",
        'age,1,"1', "age,1,1,4,,,7,1\nage,2,1,1,,,7,1\nage,2,1,1,,,7,1",
    ):  # fmt: skip
        with pytest.raises(ReadError):
            tables_in(f"{head}\n{rows}\n".encode(), schema, made)
    with pytest.raises(ReadError):
        tables_in(b"\xff", schema, made)
    assert tables_in(b"", schema, Made("pack", "sets", "public", 5)) == {}


def shares_of(text: str) -> list[tuple[str, str, int, int, float]]:
    rows = list(csv.reader(io.StringIO(text)))[1:]
    return [(column, cell, int(float(n)), int(atom), float(share)) for column, cell, n, atom, share in rows]


def unpacked(folder: Path) -> Path:
    for path in (ONE_WAY, BOXES, *READERS):
        (folder / path).write_bytes(members()[path])
    return folder


def compare(answer: list[tuple[str, str, int, int, float]]) -> None:
    """Compare what a program says of every box with our reading of the release."""
    expected = {}
    for name, reading in flow_of().boxed.readings.items():
        shares, boxes = reading.boxes.shares(reading.weights).toarray(), reading.boxes
        for row, cell in enumerate(boxes.cell.tolist()):
            text = flow_of().release[name].cells[cell].text() or ""
            for atom in boxes.cells.atom[boxes.cells.cell == cell].tolist():
                expected[name, text, int(boxes.n[row]), atom + 1] = shares[row, atom]
    assert {row[:4] for row in answer} == set(expected)
    np.testing.assert_allclose([share for *_, share in answer], [expected[row[:4]] for row in answer], atol=1e-6)


def test_reader_in_python__agrees(tmp_path: Path) -> None:
    command = [sys.executable, "-I", READERS[0]]
    answer = subprocess.run(command, capture_output=True, check=True, cwd=unpacked(tmp_path))
    compare(shares_of(answer.stdout.decode()))


def test_reader_in_r__agrees(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        absent("r", "R is not installed (Rscript)")
    command = ["Rscript", "--vanilla", READERS[1]]
    answer = subprocess.run(command, capture_output=True, check=False, cwd=unpacked(tmp_path))
    assert answer.returncode == 0, answer.stderr.decode()
    compare(shares_of(answer.stdout.decode()))


def test_readers__need_nothing_but_their_language() -> None:
    for content in readers().values():
        assert b"library(" not in content
        assert content.count(b"\n") <= 60
