"""What a Parquet file holds beside its rows is found in work that grows as the file does."""

import io
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.checking import parquet_file
from anonymizer.checking.parquet_file import ParquetRows, _count_absent, parquet_rows
from anonymizer.checking.released_file import read_file
from anonymizer.checking.verify import verify
from anonymizer.errors import ReadError
from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema

WORK: Counter[str] = Counter()


class Counted(str):
    """A text that counts how often it is compared."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        WORK["comparisons"] += 1
        return str.__eq__(self, other)

    def __lt__(self, other: str) -> bool:
        WORK["comparisons"] += 1
        return str.__lt__(self, other)


def file_of(groups: int) -> bytes:
    """A file of so many groups of ten rows, no two of which are alike."""
    n, sink = 10 * groups, io.BytesIO()
    table = pa.table({"text": [f"t{at:05}" for at in range(n)], "x": np.arange(n) / 2, "i": np.arange(n, dtype="i2")})
    pq.write_table(table, sink, row_group_size=10, store_schema=False)
    return sink.getvalue()


def test_a_few_levels_among_many_values__take_few_comparisons() -> None:
    values = np.array([f"t{at:05}" for at in range(20_000)], dtype=object)
    levels = np.array([*map(Counted, values[::400]), Counted("none"), Counted("")], dtype=object)
    WORK.clear()
    assert _count_absent(levels, values) == 2
    assert WORK["comparisons"] < 20 * len(levels)


def test_numbers__are_looked_for_as_they_stand_in_pages() -> None:
    narrow = parquet_file._union([np.array([3, 1], np.int8), np.array([2], np.int8)])
    assert _count_absent(np.array([1, 3, 1_000_001], np.int32), narrow) == 1
    wide = parquet_file._union([np.array([2**64 - 1, 5], np.uint64)])
    assert _count_absent(np.array([-1, 5, 6], np.int64), wide) == 1
    floats = parquet_file._union([np.array([0.5, np.nan])])
    assert _count_absent(np.array([0.5, np.nan, 1.5]), floats) == 1


def test_groups_of_rows__each_look_for_their_own_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    work: Counter[int] = Counter()

    def counted(levels: Any, values: Any) -> int:
        work[groups] += len(levels)
        return _count_absent(levels, values)

    monkeypatch.setattr(parquet_file, "_count_absent", counted)
    for groups in (20, 80):
        file = ParquetRows(file_of(groups))
        assert sum(map(len, file.groups())) == 10 * groups
        assert file.beside() == ()
    assert work[80] == 4 * work[20]


@pytest.fixture(scope="module")
def parquet() -> bytes:
    """A release as Parquet, in several groups of rows, with missing cells."""
    table = SAMPLES["hospital"].load().head(900)
    release = replace(anonymize(table, suggest(table), k=5).release, bars=())
    return release.to_bytes("parquet", group=256)


def test_a_release__is_the_same_bytes_when_its_rows_are_written_again(parquet: bytes) -> None:
    _, beside, unjudged = parquet_rows(parquet)
    assert (beside, unjudged) == ((), "")


def texts_of_the_footer(data: bytes) -> list[tuple[int, int]]:
    """Where texts of three letters and more stand in a footer, each with its length: places that could hide more."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    places = []
    for match in re.finditer(rb"[\x03-\x7f](?=[A-Za-z_])", data[start:-8]):
        at, size = start + match.start(), match[0][0]
        text = data[at + 1 : at + 1 + size]
        if len(text) == size and re.fullmatch(rb"[A-Za-z_][\w .()-]*", text):
            places.append((at, size))
    return places


def test_a_footer__hides_no_text_in_any_place(parquet: bytes) -> None:
    places, wrong = texts_of_the_footer(parquet), []
    assert len(places) > 19
    length = int.from_bytes(parquet[-8:-4], "little")
    for at, size in places:
        text = b"x" * 7_200
        count = bytes([len(text) & 0x7F | 0x80, len(text) >> 7])
        more = parquet[:at] + count + text + parquet[at + 1 + size : -8]
        grown = len(more) - (len(parquet) - 8)
        forged = more + (length + grown).to_bytes(4, "little") + b"PAR1"
        try:
            _, beside, unjudged = parquet_rows(forged)
        except (ReadError, pa.ArrowException, OSError):
            continue
        wrong += [] if beside or unjudged else [at]
    assert not wrong


def test_any_changed_byte__is_not_silent(parquet: bytes) -> None:
    rng, rows = np.random.default_rng(3), parquet_rows(parquet)[0]
    for at in rng.integers(0, len(parquet), 250):
        forged = bytearray(parquet)
        forged[at] ^= 1 << int(rng.integers(8))
        try:
            table, beside, unjudged = parquet_rows(bytes(forged))
        except (ReadError, pa.ArrowException, OSError, UnicodeDecodeError):
            continue
        assert beside or unjudged or not table.equals(rows), at  # other rows are another release


def test_a_file_of_another_program__has_its_rows_and_is_not_judged() -> None:
    sink = io.BytesIO()
    table = pd.DataFrame({"age": ["[20, 29]", "[30, 39]"]})
    pq.write_table(pa.table(table), sink, compression="snappy", store_schema=False)
    file = read_file(sink.getvalue())
    assert "cannot be said for certain" in file.unjudged
    schema = Schema.of(table, quasi_identifying=["age"], kinds={"age": "numeric"})
    verification = verify(file.rows, schema, beside=file.beside, unjudged=file.unjudged, k=1)
    assert (verification["file"].passed, verification.passed) == (None, True)
