"""Parquet: no digit lost, no day moved, no text decoded twice."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import Reading, read_table


def read(column: pa.Array, **how: Any) -> Reading:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": column}), sink, **how)
    return read_table(sink.getvalue())


def notes(reading: Reading) -> str:
    return " ".join(problem.text for problem in reading.problems)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_long_whole_numbers_beside_a_missing_one__stay_apart(kind: pa.DataType) -> None:
    reading = read(pa.array([2**60 + 1, 2**60 + 2, None], kind))
    assert reading.frame["x"].tolist()[:2] == [str(2**60 + 1), str(2**60 + 2)]
    assert reading.frame["x"].isna().tolist() == [False, False, True]
    assert "cannot be kept exactly" in notes(reading)


def test_long_whole_numbers_alone__are_exact() -> None:
    assert read(pa.array([2**60 + 1, 2**60 + 2], pa.int64())).frame["x"].tolist() == [2**60 + 1, 2**60 + 2]
    assert read(pa.array([2**53, None], pa.int64())).frame["x"][0] == 2**53


def test_long_decimals__stay_text() -> None:
    long = [Decimal("1234567890123456.78"), Decimal("1234567890123456.79"), None]
    reading = read(pa.array(long, pa.decimal128(38, 2)))
    assert reading.frame["x"].tolist()[:2] == ["1234567890123456.78", "1234567890123456.79"]
    assert "more than 15 digits" in notes(reading)
    short = read(pa.array([Decimal("0.10"), Decimal("12345678901.25")], pa.decimal128(38, 20)))
    assert short.frame["x"].tolist() == [0.1, 12345678901.25]


def test_times_with_a_zone__keep_their_day() -> None:
    moment = datetime(2024, 6, 30, 22, 30, tzinfo=UTC)
    reading = read(pa.array([moment, None], pa.timestamp("us", "Europe/Berlin")))
    assert reading.frame["x"][0] == pd.Timestamp("2024-07-01 00:30")
    assert reading.frame["x"].isna()[1]
    assert "clocks in the zone Europe/Berlin" in notes(reading)


def test_nanoseconds__are_cut_with_a_note() -> None:
    assert "cut to microseconds" in notes(read(pa.array([1_001], pa.timestamp("ns"))))
    assert "cut" not in notes(read(pa.array([1_000], pa.timestamp("ns"))))


def test_times_out_of_range__are_refused() -> None:
    with pytest.raises(ReadError):
        read(pa.array([2**62], pa.timestamp("ms")))


@pytest.mark.parametrize("texts", [["a", None, "b", "a", "", "a"], ["a", "b", "a", "b"], ["x", None, None, None]])
def test_dictionaries__are_taken_over_with_missing_ones(texts: list[str | None]) -> None:
    reading = read(pa.array(texts).dictionary_encode())
    values = [None if value != value else value for value in reading.frame["x"].astype(object).tolist()]
    assert values == [text or None for text in texts]


def test_a_damaged_page__is_refused() -> None:
    sink = io.BytesIO()
    table = pa.table({"x": pa.array(range(1000), pa.int64())})
    pq.write_table(table, sink, write_page_checksum=True, compression=None, use_dictionary=False)
    data = bytearray(sink.getvalue())
    data[1000] ^= 1
    with pytest.raises(ReadError):
        read_table(bytes(data))
