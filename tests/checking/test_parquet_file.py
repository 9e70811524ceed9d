"""What a Parquet file holds beside its rows is found in work that grows as the file does."""

import io
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.checking import parquet_file
from anonymizer.checking.parquet_file import ParquetRows, _count_absent

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
