"""What people bring as a table, as one of pandas: frames of pandas, polars and Arrow, relations of DuckDB, whatever
has an Arrow stream (``__arrow_c_stream__``, the Arrow PyCapsule interface)."""

import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from anonymizer.errors import SchemaError, check_headers, warn

LONGEST_NUMBER = 15
"""Digits of a decimal number that a 64-bit float holds exactly."""

READ_FIRST = "Read the file first: read_table(path).frame."
PLAIN = "Turn them into text or into numbers of 64 bits, or leave the column out."


def frame_of(value: Any, name: str = "table") -> pd.DataFrame:
    """Return a table of pandas from whatever holds one; a table of pandas that needs no change is itself.

    ``value``: a frame of pandas or polars, a table, batch or reader of Arrow, a relation of DuckDB, or another object
    with ``__arrow_c_stream__``. ``name``: what it is called in an error. Days and decimal numbers that came as objects
    become dates and numbers, and a warning says so; decimals with more digits than a number holds stay.

    Raises :class:`SchemaError` for anything else, and for headers that are not distinct, non-empty text.
    """
    if isinstance(value, pd.DataFrame):
        frame = value
    elif hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        frame = _frame_of_arrow(value, name)
    else:
        raise SchemaError(f"The {name} is {kind_text(value)}, not a table.", remedy=remedy_for(value))
    check_headers(frame)
    return _with_plain_objects(frame)


def kind_text(value: Any) -> str:
    """Return what kind of thing a value is, with its article; never the value itself."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return "a text"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def remedy_for(value: Any) -> str:
    """Return what to do with something that is no table."""
    if isinstance(value, str | Path):
        return READ_FIRST
    if isinstance(value, pd.Series):
        return "Make a DataFrame of it: series.to_frame()."
    if isinstance(value, dict | list | tuple | np.ndarray):
        return "Make a DataFrame of it: pandas.DataFrame(...)."
    return "Use a DataFrame of pandas or polars, a table of Arrow, or a relation of DuckDB."


def as_it_came(frame: pd.DataFrame, kind: type) -> Any:
    """Return a table of pandas as a table of some kind: of polars where that is a class of polars, of Arrow where it
    has an Arrow stream in any other way, else as it stands."""
    if issubclass(kind, pd.DataFrame) or not (
        hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")
    ):
        return frame
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    polars = sys.modules.get("polars") if kind.__module__.partition(".")[0] == "polars" else None
    return table if polars is None else polars.from_arrow(table)


def _frame_of_arrow(value: Any, name: str) -> pd.DataFrame:
    """Return what an Arrow stream holds. Raises :class:`SchemaError` where it cannot be read as a table."""
    try:
        is_batch = hasattr(value, "__arrow_c_array__") and not hasattr(value, "__arrow_c_stream__")
        table = pa.table(pa.record_batch(value) if is_batch else value)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"The {name} is {kind_text(value)}, not a table.", remedy=remedy_for(value)) from error
    if len(set(table.column_names)) < table.num_columns or not all(table.column_names):
        check_headers(pd.DataFrame(np.empty((0, table.num_columns)), columns=table.column_names))
    columns: dict[str, Any] = {}
    for label, column in zip(table.column_names, table.columns, strict=True):
        columns[label] = _series_of_arrow(label, column)
    return pd.DataFrame(columns, index=range(table.num_rows), copy=False)


def _series_of_arrow(name: str, column: pa.ChunkedArray) -> "pd.Series[Any]":
    """Return a column of Arrow as one of pandas: whole numbers exact beside missing ones, days as dates."""
    kind = column.type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(inner) or pa.types.is_binary(inner) or pa.types.is_large_binary(inner):
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        where, what = (f" (the first is in row {there[0] + 1})", int(there[0])) if len(there) else ("", None)
        raise SchemaError(f"Column {name!r} holds values of type {inner}{where}.", column=name, row=what, remedy=PLAIN)
    if pa.types.is_decimal(inner):
        return _decimals_of_arrow(name, column.cast(inner) if inner is not kind else column)
    if pa.types.is_null(kind):
        return pd.Series([None] * len(column), dtype="str", name=name)
    if pa.types.is_integer(kind) and column.null_count:
        whole = column.cast(pa.int64() if not pa.types.is_uint64(kind) else kind)
        mapper = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}.get
        return pd.Series(whole.to_pandas(types_mapper=mapper), name=name)
    return pd.Series(column.to_pandas(date_as_object=False), name=name)


def _decimals_of_arrow(name: str, column: pa.ChunkedArray) -> "pd.Series[Any]":
    """Return decimal numbers, as text where some have more digits than a number holds."""
    texts = column.cast(pa.string())  # Arrow's own way from decimals to floats is not exact in the last digit
    digits = pc.utf8_trim(pc.replace_substring_regex(texts, r"E.*$|[-.]", ""), characters="0")
    exact = (pc.max(pc.utf8_length(digits)).as_py() or 0) <= LONGEST_NUMBER
    return pd.Series((texts.cast(pa.float64()) if exact else texts).to_pandas(), name=name)


def _with_plain_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose days and decimal numbers are dates and numbers; the same one where there are none."""
    changes: dict[str, Any] = {}
    dates, numbers = list[str](), list[str]()
    for name in frame.columns:
        values = frame[name]
        if isinstance(values.dtype, pd.ArrowDtype):
            kind = values.dtype.pyarrow_dtype
            if pa.types.is_date(kind):
                changes[name] = values.astype("datetime64[us]")
            elif pa.types.is_decimal(kind):
                plain = _decimals_of_arrow(name, pa.chunked_array(values.array.__arrow_array__()))
                changes[name] = plain.set_axis(values.index)
        elif values.dtype == object:
            plain = _plain_objects(values)
            if plain is not None:
                changes[name] = plain
        if name in changes:
            (dates if changes[name].dtype.kind == "M" else numbers).append(str(name))
    if not changes:
        return frame
    for names, what in ((dates, "dates"), (numbers, "numbers")):
        if names:
            columns = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            one = len(names) == 1
            note = f"{'Column' if one else 'Columns'} {columns} {'is' if one else 'are'} taken as {what}."
            warn(note)
    return frame.assign(**changes)


def _plain_objects(values: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Return a column of days as dates, or of decimals as numbers; ``None`` for what is neither, or not exact."""
    first = next((value for value in values if value is not None and value == value), None)
    if not isinstance(first, date | Decimal) or isinstance(first, datetime):
        return None
    absent = values.isna()
    there = values[~absent]
    if isinstance(first, date):
        if not all(type(value) is date for value in there):
            return None
        moments = np.array([None if lack else value for value, lack in zip(values, absent, strict=True)], "M8[us]")
        return pd.Series(moments, index=values.index, name=values.name)
    if not all(isinstance(value, Decimal) and value.is_finite() and _is_short(value) for value in there):
        return None
    numbers = [np.nan if lack else float(value) for value, lack in zip(values, absent, strict=True)]
    return pd.Series(numbers, index=values.index, name=values.name, dtype=np.float64)


def _is_short(value: Decimal) -> bool:
    """Return True when a float holds every digit of a decimal number."""
    return len(value.normalize().as_tuple().digits) <= LONGEST_NUMBER and abs(value.adjusted()) < 300
