"""The digest of a table in pieces is that of the bytes that were read, or there is none."""

import gzip
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.engines import anonymize_files
from anonymizer.errors import CancelledError, ReadError
from anonymizer.partitions import pieces, ranges
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.parted import read_pieces
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.places import File, opened, stamp_of
from anonymizer.partitions.values import first_rows
from anonymizer.reading.options import ReadOptions
from anonymizer.workers import shares
from anonymizer.workers.questions import Failure, shares_of
from tests.partitions.tables import people, schema_of

HOW = {"generalizer": "uniform", "grouping": "least"}
FRAME = people(2000, 3)
SCHEMA = schema_of(FRAME)


def parquet(path: Path, frame: pd.DataFrame = FRAME) -> None:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=300)


def text(path: Path, frame: pd.DataFrame = FRAME) -> None:
    data = frame.to_csv(index=False).encode("cp1252")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


WRITERS: dict[str, Callable[..., None]] = {".parquet": parquet, ".csv": text, ".csv.gz": text}


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is not packed is read in pieces."""
    monkeypatch.setattr(ranges, "RANGE", 10_000)


@pytest.mark.parametrize("ending", WRITERS)
def test_the_digest__is_of_the_bytes_of_all_files(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, rows in enumerate((slice(0, 900), slice(900, 2000))):
        WRITERS[ending](tmp_path / f"{number}{ending}", FRAME[rows])
    digests = [sha256(path.read_bytes()) for path in sorted(tmp_path.iterdir())]
    table, passed, read = open_table(tmp_path, 500, ReadOptions(encoding="cp1252")), dict[File, str](), []
    code_table(table, SCHEMA, passed=passed)
    monkeypatch.setattr(pieces, "opened", lambda file: read.append(file) or opened(file))
    assert table.digest(passed) == sha256(b"".join(digest.digest() for digest in digests)).hexdigest()
    assert len(read) == (2 if ending == ".parquet" else 0)  # text was hashed while it was read, or cut
    alone = open_table(tmp_path / f"0{ending}", options=ReadOptions(encoding="cp1252"))
    assert alone.digest({}) == digests[0].hexdigest()


def rewrite(path: Path) -> None:
    """Write other bytes over a file, as many as before and at the same time of day."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_changes_between_two_readings__is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"one{ending}"
    WRITERS[ending](path)
    table = open_table(path)
    first_rows(table, 100)
    rewrite(path)
    for reading in (lambda: first_rows(table, 100), lambda: code_table(table, SCHEMA), lambda: table.digest({})):
        with pytest.raises(ReadError, match="changed while it was read"):
            reading()
    (share,) = shares_of("digests", table, SCHEMA, ReadOptions(), 1)
    for answer in (shares.read(share), shares.digests(share, [*table.stamps.items()])):
        assert isinstance(answer, Failure)
        assert "changed while it was read" in answer.problem
    shares.forget("digests")


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_is_gone__is_said_to_have_changed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"one{ending}"
    WRITERS[ending](path)
    table = open_table(path, options=ReadOptions(encoding="cp1252"))
    path.unlink()
    with pytest.raises(ReadError, match="changed while it was read"):
        code_table(table, SCHEMA)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_changes_in_a_run__leaves_no_release(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"one{ending}"
    WRITERS[ending](path)
    table, before = open_table(path), sha256(path.read_bytes()).hexdigest()

    def change_at(step: str) -> Callable[[float, str], None]:
        return lambda share, what: rewrite(path) if what == step else None

    how: dict[str, Any] = {"progress": change_at("Growing the tree"), **HOW}
    assert anonymize_files(table, SCHEMA, tmp_path / "out", **how).digest == before
    with pytest.raises(ReadError, match="changed while it was read"):
        anonymize_files(table, SCHEMA, tmp_path / "two", **HOW)
    WRITERS[ending](path)
    how["progress"] = change_at(f"Reading {path.name}")  # once all of it was read, or its first pieces
    if ending != ".csv.gz":
        with pytest.raises(ReadError, match="changed while it was read"):
            anonymize_files(path, SCHEMA, tmp_path / "two", **how)
        assert sorted(os.listdir(tmp_path)) == [path.name, "out"]
    else:
        assert anonymize_files(path, SCHEMA, tmp_path / "two", **how).digest == before


def test_a_file_at_an_address__is_refused_when_it_was_written_again() -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    try:
        store.pipe("/copse-digests/a.csv", b"a,b\n1,x\n2,y\n")
        table = open_table("memory://copse-digests/a.csv")
        assert table.digest({}) == sha256(b"a,b\n1,x\n2,y\n").hexdigest()
        store.pipe("/copse-digests/a.csv", b"a,b\n1,x\n3,y\n")
        with pytest.raises(ReadError, match=r"a\.csv changed while it was read"):
            first_rows(table, 9)
        store.rm("/copse-digests/a.csv")
        with pytest.raises(ReadError, match=r"a\.csv changed while it was read"):
            table.digest({})
    finally:
        if store.exists("/copse-digests"):
            store.rm("/copse-digests", recursive=True)


def test_a_digest__is_stopped_between_blocks(tmp_path: Path) -> None:
    parquet(tmp_path / "in.parquet")
    steps: list[str] = []

    def stopped() -> None:
        if steps[-1] == "Taking the digest of the files":
            raise CancelledError("It was stopped.")

    with pytest.raises(CancelledError):
        read_pieces(tmp_path / "in.parquet", "in", tmp_path, None, lambda _, what: steps.append(what), stopped)


def test_a_file_that_cannot_be_read_on__is_named(tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_bytes(b"age,town\n1,a\n")

    def broken() -> None:
        raise OSError("of the disk")

    with pytest.raises(ReadError, match=r"^part.csv cannot be read \(OSError\)."):
        pieces.file_digest(path, stamp_of(path), broken)
