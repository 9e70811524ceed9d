"""Bring a table in: delimited text, Parquet or a spreadsheet, from a path, bytes or an open file.

Everything found out on the way (delimiter, encoding, decimal mark, what was taken as missing) comes back in
:class:`Reading` and can be corrected by :class:`ReadOptions`. What cannot be read is a :class:`ReadError` that
says what is wrong, where, and what to do; never another exception, whatever the bytes.
"""

import gzip
import hashlib
import io
import os
import zipfile
import zlib
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.delimited import (
    DELIMITERS,
    ENCODINGS,
    MAX_COLUMNS,
    Progress,
    decode,
    find_delimiter,
    read_columns,
    repair_names,
)
from anonymizer.errors import ReadError
from anonymizer.parse import DEFAULT_MISSING, Problem, TextColumn, decimal_mark, typed

__all__ = [
    "DEFAULT_MISSING", "DELIMITERS", "ENCODINGS", "MAX_BYTES", "MAX_COLUMNS", "Problem", "ReadOptions", "Reading",
    "read_table",
]  # fmt: skip

MAX_BYTES = 4 << 30
"""Largest file that is read, unpacked: 4 GiB."""

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; ``None`` means "find out".

    ``delimiter``: one character. ``encoding``: one of ENCODINGS. ``decimal``: "." or ",". ``missing``: texts that
    mean "missing"; ``keep``: those among them that are real values in this file. ``sheet``: name of the sheet of
    a spreadsheet. ``header``: the first line holds the column names.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = DEFAULT_MISSING
    keep: tuple[str, ...] = ()
    sheet: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "keep", tuple(self.keep))
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n' or not self.delimiter.isascii()
        ):
            raise ReadError(
                f"The delimiter {self.delimiter!r} cannot be used.",
                value=self.delimiter,
                remedy="Choose one character, such as a comma, semicolon, tab or bar.",
            )
        if self.decimal not in (None, ".", ","):
            raise ReadError(f"The decimal mark {self.decimal!r} cannot be used.", remedy="Choose a point or a comma.")

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that are taken as missing: ``missing`` without those in ``keep``."""
        return tuple(mark for mark in self.missing if mark not in self.keep)


@dataclass(frozen=True, eq=False)
class Reading:
    """A table and how it was read.

    ``options``: as used, nothing left open. ``sha256``: of the bytes as they came; ``size``: their number.
    ``format``: "csv", "parquet" or "spreadsheet". ``sheets``: the sheets that a spreadsheet has.
    """

    frame: pd.DataFrame
    options: ReadOptions
    problems: tuple[Problem, ...]
    sha256: str
    size: int
    name: str
    format: str
    sheets: tuple[str, ...] = ()


def read_table(
    source: Source,
    *,
    name: str | None = None,
    options: ReadOptions = ReadOptions(),
    progress: Progress | None = None,
) -> Reading:
    """The table in ``source``; the format is recognised by its first bytes, not by its name.

    Whole numbers become int64 (float64 with missing ones), numbers float64, dates datetime64 and all else text
    (categorical when values repeat). Leading zeros and numbers of more than 15 digits stay text. ``name``: what
    to call the file. ``progress``: called with a share from 0 to 1 and a few words.

    Raises :class:`ReadError`, and nothing else, when no table can be made of it.
    """
    data, name = _bytes_of(source, name)
    digest = hashlib.sha256(data).hexdigest()
    size = len(data)
    try:
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(data)
        frame, used, problems, kind, sheets = _read(data, name, options, progress)
        problems += _constant_columns(frame)
    except ReadError:
        raise
    except MemoryError as error:
        raise ReadError(
            f"{name} is too large for the memory of this computer.", remedy="Bring fewer records or columns."
        ) from error
    except Exception as error:  # the parsers of foreign formats raise types of many kinds
        raise ReadError(
            f"{name} cannot be read ({type(error).__name__}).",
            remedy="Save it again as UTF-8 CSV or as Parquet; it may be damaged or cut off.",
        ) from error
    if progress is not None:
        progress(1.0, "Read")
    return Reading(frame, used, tuple(problems), digest, size, name, kind, sheets)


def _read(
    data: bytes, name: str, options: ReadOptions, progress: Progress | None
) -> tuple[pd.DataFrame, ReadOptions, list[Problem], str, tuple[str, ...]]:
    """Frame, options as used, problems, format and sheets."""
    if not data[:4096].strip() and not data.strip():
        raise ReadError(f"{name} is empty.", remedy="Bring a table with column names and at least one record.")
    if data[:4] == b"PAR1":
        return (*_read_parquet(data, name, options), "parquet", ())
    if data[:4] == b"PK\x03\x04" or data[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        frame, used, problems, sheets = _read_spreadsheet(data, name, options)
        return frame, used, problems, "spreadsheet", sheets
    ending = Path(name).suffix.lower()
    if ending in (".parquet", ".xlsx", ".xls", ".ods", ".gz") and data[:2] != b"\x1f\x8b" and b"\x00" in data[:4096]:
        raise ReadError(
            f"{name} is named {ending}, but its content is something else, or it is damaged.",
            remedy="Save it again from the program that it came from.",
        )
    return (*_read_delimited(data, name, options, progress), "csv", ())


def _read_delimited(
    data: bytes, name: str, options: ReadOptions, progress: Progress | None
) -> tuple[pd.DataFrame, ReadOptions, list[Problem]]:
    text, encoding, problems = decode(data, options.encoding)
    del data
    first = text[:7].lower()
    delimiter = options.delimiter
    if first[:4] == b"sep=" and text[5:6] in (b"\r", b"\n"):  # a line that spreadsheets write before the names
        delimiter = delimiter or text[4:5].decode("ascii", "replace")
        text = text[5:].lstrip(b"\r\n")
        delimiter = delimiter if delimiter.isascii() and delimiter not in '"\r\n' else None
    if delimiter is None:
        delimiter = find_delimiter(text, name)
    names, columns, found = read_columns(text, delimiter, options.header, progress)
    del text
    decimal = options.decimal or decimal_mark(columns, options.marks, delimiter)
    if decimal == "," and options.decimal is None:
        found.append(Problem("info", "Numbers with a decimal comma were found and read as such."))
    values: dict[str, Any] = {}
    for position, label in enumerate(names):
        values[label], more = typed(label, columns[position], options.marks, decimal)
        columns[position] = TextColumn(columns[position].texts.slice(0, 0), None)
        found += more
        if progress is not None:
            progress(0.9 + 0.1 * position / len(names), f"Reading column {label}")
    used = replace(options, delimiter=delimiter, encoding=encoding, decimal=decimal)
    return pd.DataFrame(values, copy=False), used, problems + found


def _read_parquet(data: bytes, name: str, options: ReadOptions) -> tuple[pd.DataFrame, ReadOptions, list[Problem]]:
    file = pq.ParquetFile(pa.BufferReader(data))
    names = list(file.schema_arrow.names)
    _check_width(len(names), name)
    if not file.metadata.num_rows or not names:
        raise ReadError(f"{name} has no records.", remedy="Bring a table with at least one record.")
    texts = [
        field.name for field in file.schema_arrow if pa.types.is_string(field.type) and names.count(field.name) == 1
    ]
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts).read()
    repaired, problems = repair_names(names)
    values: dict[str, Any] = {}
    for position, label in enumerate(repaired):
        values[label], found = _arrow_values(label, table.column(position), options)
        problems += found
    return pd.DataFrame(values, copy=False), options, problems


def _arrow_values(name: str, column: pa.ChunkedArray, options: ReadOptions) -> tuple[Any, list[Problem]]:
    """The values of a Parquet column: numbers and dates as they are, text with its missing marks."""
    kind = column.type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(kind):
        column, inner = column.cast(pa.string()), pa.string()
    if pa.types.is_boolean(inner):
        column, inner = column.cast(pa.string()), pa.string()
    if pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner):
        plain = column.cast(pa.large_string()).combine_chunks()
        encoded = plain.fill_null("").dictionary_encode()
        if 2 * len(encoded.dictionary) > len(encoded):
            text = TextColumn(plain.fill_null(""), None)
        else:
            text = TextColumn.of([encoded])
        marks = ("", *options.marks) if column.null_count else options.marks
        return typed(name, text, marks, numbers=False)
    if pa.types.is_dictionary(kind):
        column = column.cast(inner)
    if pa.types.is_date(inner) or pa.types.is_timestamp(inner):
        return column.cast(pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]"), []
    if pa.types.is_decimal(inner) or pa.types.is_float16(inner):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
        raise ReadError(
            f"Column {name!r} holds values of type {inner}, which are neither numbers, dates nor text.",
            column=name,
            remedy="Leave the column out, or turn it into text.",
        )
    numbers = column.to_numpy()
    if numbers.dtype == np.uint64 and len(numbers) and int(numbers.max()) > np.iinfo(np.int64).max:
        return typed(name, TextColumn.of([column.cast(pa.string()).combine_chunks()]), ())
    numbers = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64, copy=False)
    return numbers, _infinite(name, numbers)


def _read_spreadsheet(
    data: bytes, name: str, options: ReadOptions
) -> tuple[pd.DataFrame, ReadOptions, list[Problem], tuple[str, ...]]:
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            inside = packed.infolist()
        if not any(part.filename in ("[Content_Types].xml", "content.xml", "mimetype") for part in inside):
            raise ReadError(f"{name} is a ZIP archive, not a table.", remedy="Unpack it, and bring the table itself.")
        if sum(part.file_size for part in inside) > MAX_BYTES:
            raise _too_large(name)
    cells, sheets, sheet = _cells(data, name, options.sheet)
    while cells and not any(cell != "" for cell in cells[-1]):
        cells.pop()
    width = max(map(len, cells), default=0)
    _check_width(width, name)
    if len(cells) <= options.header:
        raise ReadError(
            f"The sheet {sheet!r} of {name} has no records.",
            remedy="Choose another sheet." if len(sheets) > 1 else "Bring a table with at least one record.",
        )
    header = [_cell_text(cell) for cell in cells[0]] if options.header else []
    header += [""] * (width - len(header))
    names, problems = repair_names(header if options.header else [f"column {j + 1}" for j in range(width)])
    rows = cells[1:] if options.header else cells
    values: dict[str, Any] = {}
    for position, label in enumerate(names):
        column = [row[position] if position < len(row) else "" for row in rows]
        values[label], found = _cell_values(label, column, options)
        problems += found
    return pd.DataFrame(values, copy=False), replace(options, sheet=sheet), problems, sheets


def _cells(data: bytes, name: str, wanted: str | None) -> tuple[list[list[Any]], tuple[str, ...], str]:
    """The cells of a sheet by row, the names of all sheets, and that of the sheet."""
    from python_calamine import CalamineWorkbook

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = tuple(book.sheet_names)
        sheet = sheets[0] if wanted is None and sheets else wanted
        if sheet is None or sheet not in sheets:
            raise ReadError(
                f"{name} has no sheet {wanted!r}.", value=wanted, remedy=f"Its sheets are: {', '.join(sheets)}."
            )
        return book.get_sheet_by_name(sheet).to_python(skip_empty_area=False), sheets, sheet
    except ReadError:
        raise
    except BaseException as error:  # a panic of the reader's native code is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise
        raise ReadError(
            f"{name} is not a spreadsheet that can be read, or it is damaged or cut off.",
            remedy="Save it again as .xlsx, or as CSV.",
        ) from error


def _cell_values(name: str, cells: list[Any], options: ReadOptions) -> tuple[Any, list[Problem]]:
    present = [cell for cell in cells if cell != ""]
    if present and all(type(cell) in (int, float) for cell in present):
        numbers = np.array([np.nan if cell == "" else float(cell) for cell in cells])
        if len(present) == len(cells) and np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.floor(numbers)):
            return numbers.astype(np.int64), []
        found = _infinite(name, numbers)
        if len(present) < len(cells):
            blank = len(cells) - len(present)
            text = f"Column {name!r}: {blank:,} of {len(cells):,} values were taken as missing: blank ({blank:,})."
            found.append(Problem("info", text, name))
        return numbers, found
    texts = pa.array([_cell_text(cell) for cell in cells], pa.large_string())
    encoded = texts.dictionary_encode()
    repeats = 2 * len(encoded.dictionary) <= len(texts)
    return typed(name, TextColumn.of([encoded]) if repeats else TextColumn(texts, None), options.marks)


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == datetime.min.time() else cell.isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)


def _infinite(name: str, numbers: np.ndarray[Any, Any]) -> list[Problem]:
    rows = np.flatnonzero(np.isinf(numbers)) if numbers.dtype.kind == "f" else np.array([], dtype=int)
    if not len(rows):
        return []
    text = f"Column {name!r} holds {len(rows):,} infinite numbers, the first in record {rows[0] + 1:,}."
    return [Problem("warning", text, name, int(rows[0]), "Correct them; an infinite number cannot be generalized.")]


def _constant_columns(frame: pd.DataFrame) -> list[Problem]:
    """A problem for each column with one value in all records."""
    problems = []
    for name in frame.columns if len(frame) > 1 else ():
        values = frame[name]
        first = values.iloc[0]
        same = len(values.cat.categories) == 1 if isinstance(values.dtype, pd.CategoricalDtype) else None
        if same is None:
            same = bool(values.iloc[-1] == first) and bool((values == first).all()) if pd.notna(first) else False
        if same and not values.isna().any():
            text = f"Column {name!r} has the same value in every record."
            problems.append(Problem("info", text, name, remedy="It tells nobody apart; it may as well be left out."))
    return problems


def _check_width(width: int, name: str) -> None:
    if width > MAX_COLUMNS:
        raise ReadError(
            f"{name} has {width:,} columns; at most {MAX_COLUMNS:,} can be handled.",
            remedy="Leave out columns that need not be released.",
        )


def _bytes_of(source: Source, name: str | None) -> tuple[bytes, str]:
    """The bytes of a source and what to call it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, called = bytes(source), name or "The table"
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        called = name or path.name
        try:
            if path.stat().st_size > MAX_BYTES:
                raise _too_large(called)
            data = path.read_bytes()
        except (OSError, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
            raise ReadError(f"{called} cannot be opened: {reason}.", remedy="Check the path.") from error
    else:
        called = name or Path(str(getattr(source, "name", "") or "The table")).name
        try:
            found = source.read()
        except (OSError, ValueError) as error:
            raise ReadError(f"{called} cannot be read.", remedy="Open it again.") from error
        if not isinstance(found, bytes):
            raise ReadError(f"{called} was opened as text.", remedy="Open it in binary mode.")
        data = found
    if len(data) > MAX_BYTES:
        raise _too_large(called)
    return data, called


def _unpacked(data: bytes) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while piece := packed.read(1 << 22):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BYTES:
                    raise _too_large("The unpacked file")
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(
            "The gzip file is damaged or cut off.", remedy="Pack it again, or bring it unpacked."
        ) from error
    return b"".join(pieces)


def _too_large(name: str) -> ReadError:
    return ReadError(
        f"{name} is larger than {MAX_BYTES >> 30} GiB.", remedy="Bring fewer records or columns, or use Parquet."
    )
