"""The bytes of one large file in pieces: the same values, notes, questions, tree and released rows as of the file read
whole, and as of the same file in a folder; nothing of it on the disk."""

import gzip
import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonymizer as an
from anonymizer.errors import ReadError
from anonymizer.growing.encode import encode
from anonymizer.partitions import parted as module
from anonymizer.partitions.coded import code_table, code_values
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.folder import Packing
from anonymizer.partitions.parted import LARGE_READERS, PartedReading, parted, read_pieces
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.places import MemoryFile
from anonymizer.reading.child import read_in_child
from anonymizer.reading.facts import profile
from anonymizer.reading.files import Reading, read_table
from anonymizer.reading.options import Allowance, ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.settings import Settings
from tests.partitions.tables import people, schema_of
from tests.partitions.test_run import same_rows
from tests.partitions.test_values import assert_same_encoding


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 10)


def parquet(table: pd.DataFrame, **how: Any) -> bytes:
    sink = io.BytesIO()
    table.to_parquet(sink, index=False, **how)
    return sink.getvalue()


def text(table: pd.DataFrame, **how: Any) -> bytes:
    return table.to_csv(index=False, **how).encode()


def read_bytes(data: bytes, name: str, options: ReadOptions | None = None) -> PartedReading:
    reading = parted(read_table(data, name=name, options=options, instead=LARGE_READERS))
    assert isinstance(reading, PartedReading)
    return reading


@cache
def kinds() -> dict[str, tuple[bytes, str]]:
    """The same people in the kinds of files that are read in pieces."""
    table = people(1500, 2)
    table["ward"] = table["ward"].replace("east", "NA")
    table["same"] = 7
    table["none"] = None
    table[" odd\n"] = "  x"
    content = text(table)
    return {
        "parquet": (parquet(table, row_group_size=400), "people.parquet"),
        "csv": (content, "people.csv"),
        "packed": (gzip.compress(content), "people.csv.gz"),
        "other letters": (text(table.assign(town="Zürich")).decode().encode("cp1252"), "people.csv"),
        "wide letters": (content.decode().encode("utf-16"), "people.txt"),
        "semicolons": (b"sep=;\r\n" + text(table, sep=";", decimal=","), "people.csv"),
        "no ending": (content, "people"),
        "blank lines": (b"\n\n" + content, "people.csv"),
    }


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", kinds())
def test_bytes_in_pieces__are_read_as_the_whole(kind: str) -> None:
    data, name = kinds()[kind]
    whole, pieces = read_table(data, name=name), read_bytes(data, name)
    for field in ("options", "problems", "questions", "sha256", "size", "name", "format", "names", "n_records"):
        assert getattr(pieces, field) == getattr(whole, field), field
    assert pieces.table.facts == profile(whole.frame)
    assert suggest(pieces.values, facts=pieces.table.facts) == suggest(whole.frame)
    schema = schema_of(whole.frame)
    assert_same_encoding(code_values(pieces.table.columns, schema), encode(whole.frame, schema))


def test_what_can_be_read_in_two_ways__is_asked_as_of_the_whole() -> None:
    table = people(300, 1)[["town", "diagnosis"]]
    table = table.assign(seen="03/04/2024", weight=[f"{1 + n % 7}.{200 + n % 7}" for n in range(300)])
    data = text(table, sep=";")
    whole, pieces = read_table(data, name="people.csv"), read_bytes(data, "people.csv")
    assert len(pieces.questions) == 2
    assert pieces.questions == whole.questions
    assert pieces.options == whole.options
    options = pieces.options
    for question in pieces.questions:
        options = question.answers[0].apply(options)
    whole, pieces = read_table(data, name="people.csv", options=options), read_bytes(data, "people.csv", options)
    assert pieces.problems == whole.problems
    assert not pieces.questions
    assert pieces.table.facts == profile(whole.frame)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_upload__is_released_as_the_folder_and_as_the_table_in_memory(kind: str, tmp_path: Path) -> None:
    data, name = kinds()[kind]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(data)
    folder = read_pieces(tmp_path / "in", "people", tmp_path)
    upload = parted(read_in_child(data, name=name, instead=LARGE_READERS_OF_TEST))
    assert isinstance(upload, PartedReading)
    frame = read_table(data, name=name).frame
    schema, secret = schema_of(frame), np.random.default_rng
    for how in ({"generalizer": "uniform", "grouping": "least"}, {"generalizer": "pack"}):
        whole = an.anonymize(frame, schema, rng=secret(1), **how)
        results = []
        for reading in (folder, upload):
            flow = PartedFlow(reading.table, schema, Settings(**how), rng=secret(1))  # type: ignore[arg-type]
            results.append(flow.write_folder(Packing("people")))
            assert flow.tree.sums.tobytes() == whole.tree.sums.tobytes()
        archives = [result.folder for result in results]
        assert archives[0].data == archives[1].data  # type: ignore[union-attr]
        parts = [archives[1].read(part.name) for part in results[1].manifest.parts]  # type: ignore[union-attr]
        rows = pd.concat([pd.read_parquet(io.BytesIO(part)) for part in parts], ignore_index=True)
        assert same_rows(rows, whole.release.frame())
        assert results[1].to_dict()["provenance"]["input"]["files"] == 1


def test_bytes_in_memory__are_a_table_like_a_file(tmp_path: Path) -> None:
    data, _ = kinds()["parquet"]
    (tmp_path / "people.parquet").write_bytes(data)
    here, there = open_table(MemoryFile("people.parquet", data), 500), open_table(tmp_path / "people.parquet", 500)
    assert [(piece.groups, piece.rows) for piece in here.pieces] == [(p.groups, p.rows) for p in there.pieces]
    assert here.types == there.types
    assert here.source == "people.parquet"
    schema = schema_of(read_table(data, name="people.parquet").frame)
    one, other = code_table(here, schema), code_table(there, schema)
    assert_same_encoding(one, other.whole)
    assert repr(data)[:40] not in repr(here.files)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (kinds()["parquet"][0][:-400], "people.parquet"),
        (kinds()["csv"][0] + b"one,more\n", "people.csv"),
        (kinds()["csv"][0] + b'"open', "people.csv"),
        (kinds()["csv"][0][:3], "people.csv"),
        (b"a,b\n", "people.csv"),
    ],
)
def test_what_cannot_be_read__is_said_as_of_the_whole(data: bytes, name: str) -> None:
    with pytest.raises(ReadError) as whole:
        read_table(data, name=name)
    with pytest.raises(ReadError) as pieces:
        read_table(data, name=name, instead=LARGE_READERS)
    assert str(pieces.value) == str(whole.value)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_table_that_reaches_too_far__is_refused_before_it_is_read(kind: str) -> None:
    data, name = kinds()[kind]
    with pytest.raises(ReadError, match=r"reaches over 1,50. rows and 10 columns; at most 1,000 cells are read"):
        read_table(data, name=name, instead=LARGE_READERS, allowance=Allowance(cells=1000))


def test_names_that_stand_twice__are_read_whole() -> None:
    table = pa.table([pa.array(range(20)), pa.array(["x", "y"] * 10)], names=["a", "a"])
    sink = io.BytesIO()
    pq.write_table(table, sink)
    reading = parted(read_table(sink.getvalue(), name="people.parquet", instead=LARGE_READERS))
    assert isinstance(reading, Reading)
    assert reading.names == ("a", "a (2)")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_small_file__is_read_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, name = kinds()[kind]
    cells = 1500 * len(read_table(data, name=name).names)
    for large, whole in ((cells + 100, True), (cells, False)):
        monkeypatch.setattr(module, "LARGE", large)
        reading = parted(read_table(data, name=name, instead=LARGE_READERS))
        assert isinstance(reading, Reading) is whole


def read_parquet_large(*arguments: Any) -> Any:
    module.LARGE = 10
    return module.read_parquet_bytes(*arguments)


def read_text_large(*arguments: Any) -> Any:
    module.LARGE = 10
    return module.read_text_bytes(*arguments)


LARGE_READERS_OF_TEST = {"parquet": read_parquet_large, "csv": read_text_large}
"""The same in a process of its own, which knows nothing of what a test set."""
