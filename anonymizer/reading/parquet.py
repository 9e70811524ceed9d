"""Bring a Parquet file in: numbers and dates as they are, text with its missing marks, nothing decoded twice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anonymizer.errors import Progress, ReadError
from anonymizer.reading.decimals import LONGEST_INTEGER
from anonymizer.reading.delimited import repair_names
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions, refuse_too_wide
from anonymizer.reading.parse import TextColumn, infinity_problems, plain_text

EXACT = 1 << 53
"""Whole numbers up to here are exact beside missing values, where they are floats."""


def parquet_extent(file: pq.ParquetFile) -> Extent:
    """Return how far a Parquet file reaches, from its metadata.

    A number takes 8 bytes and a text at least the 4 of its code; pages are unpacked before they become columns.
    """
    metadata, schema = file.metadata, file.schema_arrow
    widths = [4 if _is_text(field.type) or pa.types.is_dictionary(field.type) else 8 for field in schema]
    packed = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    rows, columns = metadata.num_rows, len(schema)
    return Extent(rows, columns, rows * columns, max(packed, rows * sum(widths)))


def read_parquet(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of a Parquet file. ``stop``: called with its extent, so that it can raise.

    Raises :class:`ReadError` for values that are neither numbers, dates nor text, and for a file without records.
    """
    file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    names = list(file.schema_arrow.names)
    stop(parquet_extent(file))
    refuse_too_wide(len(names), name)
    if not file.metadata.num_rows or not names:
        raise ReadError(f"{name} has no records.", remedy="Bring a table with at least one record.")
    texts = [field.name for field in file.schema_arrow if _is_text(field.type) and names.count(field.name) == 1]
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts, page_checksum_verification=True).read()
    repaired, problems = repair_names(names)
    values: dict[str, Any] = {}
    for position, label in enumerate(repaired):
        values[label], notes = _values(label, table.column(position), options)
        problems += notes
        if progress is not None:
            progress(position / len(names), f"Reading column {label}")
    return Content(pd.DataFrame(values, copy=False), options, problems)


def _values(name: str, column: pa.ChunkedArray, options: ReadOptions) -> tuple[Any, list[Problem]]:
    """Return the values of a column: numbers and dates as they are, text with its missing marks."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        column, kind = column.cast(pa.string()), pa.string()
    if _is_text(kind) or pa.types.is_dictionary(kind):
        marks = ("", *options.marks) if column.null_count else options.marks
        text = plain_text(name, _text_column(column), marks)
        return text.values, text.problems
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _moments(name, column)
    if pa.types.is_decimal(kind):
        return _decimals(name, column)
    if pa.types.is_integer(kind):
        return _whole_numbers(name, column)
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).to_numpy().astype(np.float64)
        return numbers, infinity_problems(name, numbers)
    raise ReadError(
        f"Column {name!r} holds values of type {kind}, which are neither numbers, dates nor text.",
        column=name,
        remedy="Leave the column out, or turn it into text.",
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _text_column(column: pa.ChunkedArray) -> TextColumn:
    """Return a column of text, missing as "": by codes when it repeats, its dictionary taken over as it stands."""
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        texts, indices = whole.dictionary.cast(pa.large_string()), whole.indices
        distinct = len(texts.unique()) == len(texts) and not texts.null_count
        if not distinct or 2 * len(texts) > len(indices):
            return _text_column(column.cast(pa.large_string()))
        blank = texts.index("").as_py()
        if indices.null_count and blank < 0:
            blank, texts = len(texts), pa.concat_arrays([texts, pa.array([""], pa.large_string())])
        return TextColumn(texts, indices.cast(pa.int32()).fill_null(blank).to_numpy(zero_copy_only=False))
    plain = column.cast(pa.large_string()).combine_chunks().fill_null("")
    encoded = plain.dictionary_encode()
    return TextColumn(plain, None) if 2 * len(encoded.dictionary) > len(encoded) else TextColumn.of([encoded])


def _whole_numbers(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return whole numbers; text when missing ones beside them would cost digits."""
    ends = pc.min_max(column).as_py()
    least, most = int(ends["min"] or 0), int(ends["max"] or 0)
    if column.null_count:
        if max(-least, most) > EXACT:
            return _as_text(name, column, f"whole numbers beyond {EXACT:,} beside missing values")
        return column.to_numpy().astype(np.float64), []
    if most > np.iinfo(np.int64).max:
        return _as_text(name, column, "whole numbers of more than 63 bits")
    return column.to_numpy().astype(np.int64), []


def _decimals(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return decimal numbers; text when some have more digits than a number holds."""
    texts = column.cast(pa.string())  # Arrow's own way from decimals to floats makes 0.1 of them 0.09999999999999999
    digits = pc.utf8_trim(pc.replace_substring_regex(texts, r"E.*$|[-.]", ""), characters="0")
    if (pc.max(pc.utf8_length(digits)).as_py() or 0) > LONGEST_INTEGER:
        return _as_text(name, column, f"decimal numbers of more than {LONGEST_INTEGER} digits")
    return texts.cast(pa.float64()).to_numpy().astype(np.float64), []


def _as_text(name: str, column: pa.ChunkedArray, what: str) -> tuple[Any, list[Problem]]:
    texts = column.cast(pa.string())
    marks = ("",) if column.null_count else ()
    plain = plain_text(name, _text_column(texts), marks)
    text = f"Column {name!r} holds {what}, which cannot be kept exactly as numbers. It stays text."
    return plain.values, [
        *plain.problems,
        Problem("warning", text, name, remedy="Round it in the file if it is a measure."),
    ]


def _moments(name: str, column: pa.ChunkedArray) -> tuple[Any, list[Problem]]:
    """Return dates and times, in the clock time of their zone: the day that the file's own program shows."""
    problems = []
    zone = getattr(column.type, "tz", None)
    plain = column.cast(pa.timestamp(column.type.unit)) if zone else column
    options = pc.CastOptions(target_type=pa.timestamp("us"), allow_time_truncate=True)
    stamps = pc.cast(plain, options=options)
    if pa.types.is_timestamp(plain.type) and plain.type.unit == "ns" and not plain.equals(stamps.cast(plain.type)):
        problems.append(Problem("info", f"The times of column {name!r} were cut to microseconds.", name))
    moments = stamps.to_numpy().astype("datetime64[us]")
    if zone:
        local = pd.DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).tz_localize(None)
        moments = local.to_numpy(dtype="datetime64[us]", copy=True)
        text = f"The times of column {name!r} are those of the clocks in the zone {zone}."
        problems.append(Problem("info", text, name))
    return moments, problems
