"""Parquet: no digit lost, no day moved, no text decoded twice."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import Reading, read_table
from tests.reading.texts import notes, read


def read_column(column: pa.Array, **how: Any) -> Reading:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": column}), sink, **how)
    return read_table(sink.getvalue())


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_long_whole_numbers_beside_a_missing_one__stay_apart(kind: pa.DataType) -> None:
    reading = read_column(pa.array([2**60 + 1, 2**60 + 2, None], kind))
    assert reading.frame["x"].tolist()[:2] == [str(2**60 + 1), str(2**60 + 2)]
    assert reading.frame["x"].isna().tolist() == [False, False, True]
    assert "cannot be kept exactly" in notes(reading)


def test_long_whole_numbers_alone__are_exact() -> None:
    assert read_column(pa.array([2**60 + 1, 2**60 + 2], pa.int64())).frame["x"].tolist() == [2**60 + 1, 2**60 + 2]
    assert read_column(pa.array([2**53, None], pa.int64())).frame["x"][0] == 2**53


def test_long_decimals__stay_text() -> None:
    long = [Decimal("1234567890123456.78"), Decimal("1234567890123456.79"), None]
    reading = read_column(pa.array(long, pa.decimal128(38, 2)))
    assert reading.frame["x"].tolist()[:2] == ["1234567890123456.78", "1234567890123456.79"]
    assert "more than 15 digits" in notes(reading)
    short = read_column(pa.array([Decimal("0.10"), Decimal("12345678901.25")], pa.decimal128(38, 20)))
    assert short.frame["x"].tolist() == [0.1, 12345678901.25]


def test_times_with_a_zone__keep_their_day() -> None:
    moment = datetime(2024, 6, 30, 22, 30, tzinfo=UTC)
    reading = read_column(pa.array([moment, None], pa.timestamp("us", "Europe/Berlin")))
    assert reading.frame["x"][0] == pd.Timestamp("2024-07-01 00:30")
    assert reading.frame["x"].isna()[1]
    assert "clocks in the zone Europe/Berlin" in notes(reading)


def test_nanoseconds__are_cut_with_a_note() -> None:
    assert "cut to microseconds" in notes(read_column(pa.array([1_001], pa.timestamp("ns"))))
    assert "cut" not in notes(read_column(pa.array([1_000], pa.timestamp("ns"))))


def test_times_out_of_range__are_refused() -> None:
    with pytest.raises(ReadError):
        read_column(pa.array([2**62], pa.timestamp("ms")))


@pytest.mark.parametrize("texts", [["a", None, "b", "a", "", "a"], ["a", "b", "a", "b"], ["x", None, None, None]])
def test_dictionaries__are_taken_over_with_missing_ones(texts: list[str | None]) -> None:
    reading = read_column(pa.array(texts).dictionary_encode())
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


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def test_parquet__types() -> None:
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "u": pa.array([1, 2, 3], pa.uint8()),
            "f": pa.array([0.5, None, 1.5], pa.float32()),
            "s": ["02139", "?", "x"],
            "b": [True, None, False],
            "d": pa.array([0, 1, None], pa.date32()),
            "t": pa.array([0, 1, 2], pa.timestamp("ns")),
            "c": pa.array(["p", None, "p"]).dictionary_encode(),
            "m": pa.array([1, 2, 3], pa.int64()).cast(pa.decimal128(30, 2)),
            "n": pa.nulls(3),
        }
    )
    reading = read(parquet(table))
    frame = reading.frame
    assert reading.format == "parquet"
    assert frame["i"].isna().tolist() == [False, True, False]
    assert frame["u"].dtype == np.int64
    assert frame["f"].dtype == np.float64
    assert frame["s"].tolist()[::2] == ["02139", "x"]
    assert frame["s"].isna()[1]
    assert frame["b"].tolist()[::2] == ["true", "false"]
    assert frame["d"][1] == pd.Timestamp("1970-01-02")
    assert frame["t"].dtype == "datetime64[us]"
    assert frame["c"].isna().tolist() == [False, True, False]
    assert frame["m"].tolist() == [1.0, 2.0, 3.0]
    assert frame["n"].isna().all()


def test_parquet__keep_a_mark_as_a_value() -> None:
    frame = read(parquet(pa.table({"s": ["NA", None, "x", "x"]})), keep=("NA",)).frame
    assert frame["s"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize("nested", [[[1], [2]], [{"b": 1}, {"b": 2}], [b"x", b"y"]])
def test_parquet__nested_column_is_left_out_and_said(nested: list[object]) -> None:
    reading = read(parquet(pa.table({"a": nested, "age": [30, 40]})))
    assert list(reading.frame) == ["age"]
    assert [problem.column for problem in reading.problems if "It was left out" in problem.text] == ["a"]


def test_parquet__only_nested_columns_are_refused_by_name() -> None:
    with pytest.raises(ReadError, match="'a' holds values of type list") as raised:
        read(parquet(pa.table({"a": [[1], [2]]})))
    assert raised.value.column == "a"


def test_parquet__text_in_encodings_without_codes_is_read() -> None:
    sink = io.BytesIO()
    table = pa.table({"age": [20, 30, 40], "sex": ["m", "f", "m"]})
    pq.write_table(table, sink, use_dictionary=False, column_encoding={"age": "PLAIN", "sex": "DELTA_BYTE_ARRAY"})
    assert read(sink.getvalue()).frame["sex"].tolist() == ["m", "f", "m"]


def test_parquet__no_records() -> None:
    with pytest.raises(ReadError, match="no rows"):
        read(parquet(pa.table({"a": pa.array([], pa.int64())})))
