"""Bring a table in: delimited text, JSON, Parquet, a spreadsheet or a statistician's file, from a path, bytes or a
file.

Everything found out on the way (delimiter, encoding, decimal mark, what was taken as missing) comes back in
:class:`Reading` and can be corrected by :class:`ReadOptions`. What cannot be read is a :class:`ReadError` that
says what is wrong, where, and what to do; never another exception, whatever the bytes.
"""

import gzip
import hashlib
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.labelled.read import KINDS, read_labelled
from anonymizer.labelled.variable import Variable
from anonymizer.reading.delimited import (
    DELIMITERS,
    ENCODINGS,
    codec_of,
    decode,
    find_delimiter,
    one_column_problem,
    read_columns,
    repair_names,
    start_of_table,
)
from anonymizer.reading.json_rows import is_json, read_json
from anonymizer.reading.options import (
    DEFAULT_MISSING,
    LEAST_MEMORY,
    MAX_COLUMNS,
    Allowance,
    Content,
    Extent,
    Problem,
    Question,
    ReadOptions,
    bytes_text,
    one_each,
    operator_allowance,
    refuse_too_large,
    refuse_too_wide,
)
from anonymizer.reading.parquet import parquet_extent, read_arrow, read_parquet
from anonymizer.reading.parse import (
    TextColumn,
    infinity_problems,
    manner_of,
    plain_text,
    type_column,
    with_decimal,
)
from anonymizer.reading.place import Place, start_of, state_of, text_of
from anonymizer.reading.remarks import table_remarks
from anonymizer.reading.spreadsheet import read_spreadsheet
from anonymizer.reading.stream import Text

__all__ = [
    "DEFAULT_MISSING", "DELIMITERS", "ENCODINGS", "MAX_BYTES", "MAX_COLUMNS", "Problem", "ReadOptions", "Reading",
    "read_table",
]  # fmt: skip

MAX_BYTES = 4 << 30
"""Largest file that is read, unpacked: 4 GiB."""

USUAL_FOLDED = 32
"""Times that an ordinary table is smaller when it is packed, at most; what states more is judged as it came."""

MOST_FOLDED = 1032
"""Times that deflate makes a text smaller at most."""

PIECE = 4 << 20
"""Bytes that are unpacked at once."""

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO

PREVIEW = 200
"""First records that are shown of a table."""


@dataclass(frozen=True, eq=False)
class Reading:
    r"""A table and how it was read.

    ``options``: as used, nothing left open. ``sha256``: of the bytes as they came; ``size``: their number.
    ``format``: a key of :data:`READERS`. ``sheets``: the sheets that a spreadsheet has. ``questions``: what must be
    answered before the table is used, for the file can be read in two ways. ``variables``: what a statistician's file
    says of its columns, by name. ``distinct``: see :class:`anonymizer.reading.options.Content`.

    >>> import anonymizer as an
    >>> reading = an.read_table(b"age,sex\n41,f\n52,m\n")
    >>> reading.format, reading.frame.shape
    ('csv', (2, 2))
    """

    frame: pd.DataFrame
    options: ReadOptions
    problems: tuple[Problem, ...]
    sha256: str
    size: int
    name: str
    format: str
    sheets: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=dict)
    distinct: "Mapping[str, pd.Series[Any]] | None" = None
    in_pieces = False

    def __repr__(self) -> str:
        problems = f", {len(self.problems):,} notes" if self.problems else ""
        return (
            f"Reading of {self.name!r} ({self.format}): {self.n_records:,} rows, {len(self.names):,} columns{problems}"
        )

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.frame)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(map(str, self.frame.columns))

    @property
    def preview(self) -> pd.DataFrame:
        """The first records, at most :data:`PREVIEW`."""
        return self.frame.head(PREVIEW)

    @property
    def values(self) -> "Mapping[str, pd.Series[Any]]":
        """The values of each column, by name."""
        return dict(self.frame.items())

    def counts(self, name: str) -> None:
        """Return how many records have each of :attr:`values`; ``None``, for there is one for every record."""


def read_table(
    source: Source,
    *,
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
    allowance: Allowance | None = None,
    reader: "Reader | None" = None,
    instead: "Mapping[str, Reader] | None" = None,
) -> Reading:
    r"""Return the table in ``source``; the format is recognised by its first bytes, not by its name.

    Whole numbers become int64 (float64 with missing ones), numbers float64, dates datetime64 and all else text
    (categorical when values repeat). Leading zeros and numbers of more than 15 digits stay text. ``name``: what
    to call the file. ``progress``: called with a share from 0 to 1 and a few words. ``allowance``: how far the table
    may reach; ``None``: what the operator set. :func:`anonymizer.reading.child.read_in_child` holds to all of it.
    ``reader``: reads the bytes as they came, whatever their format; ``instead``: what reads a format in place of what
    stands in :data:`READERS`.

    Raises :class:`ReadError`, and nothing else, when no table can be made of it.

    >>> import anonymizer as an
    >>> an.read_table(b"age,sex\n41,f\n52,m\n").frame["age"].tolist()
    [41, 52]
    """
    options, readers = options or ReadOptions(), {**READERS, **(instead or {})}
    place = None if reader else place_of(source, name, options, readers["csv"])
    data, name = _bytes_of(source, name) if place is None else (b"", name or place.path.name)
    digest = hashlib.sha256(data).hexdigest() if place is None else place.sha256
    length = len(data) if place is None else place.size
    size = size_in_use(data) if place is None else length
    allowance = operator_allowance() if allowance is None else allowance

    def stop(extent: Extent) -> None:
        refuse_too_large(extent, name, size, allowance)

    try:
        if data[:2] == b"\x1f\x8b" and reader is None:
            most = min(MAX_BYTES, allowance.memory_for(size) // 2)
            data = unpack(data, name, most if size == length else min(most, max(size, LEAST_MEMORY // 2)))
        kind = "released" if reader else _format_of(data, name) if place is None else place.format
        if place is None:
            content = (reader or readers[kind])(data, name, options, stop, progress)
        else:
            with place.unchanged(name):
                if place.text is None:
                    content = read_statistics(place.path, name, options, stop, progress)
                else:
                    content = read_delimited(place.text, name, options, stop, progress)
        problems = (
            unused_problems(options, kind)
            + content.problems
            + ([] if content.distinct else table_remarks(content.frame))
        )
        pa.default_memory_pool().release_unused()  # what Arrow keeps for its next table is as large as this one
    except ReadError:
        raise
    except MemoryError as error:
        raise ReadError(
            f"{name} takes more memory than there is for it ({bytes_text(allowance.memory_for(size))}).",
            remedy="Use fewer rows or columns.",
        ) from error
    except Exception as error:  # the parsers of foreign formats raise types of many kinds
        raise ReadError(
            f"{name} cannot be read ({type(error).__name__}).",
            remedy="Save it again as UTF-8 CSV or as Parquet; it may be damaged or cut off.",
        ) from error
    if progress is not None:
        progress(1.0, "Read")
    return Reading(
        content.frame, content.options, tuple(problems), digest, size, name, kind, content.sheets, content.questions,
        content.variables, content.distinct,
    )  # fmt: skip


def unused_problems(options: ReadOptions, format: str) -> list[Problem]:
    """Return a problem where options are named that say nothing of a file of this format."""
    own = [name for name, value in vars(options).items() if value != getattr(ReadOptions(), name)]
    unused = [name.replace("_", " ") for name in own if name not in USED.get(format, own)]
    text = f"Of a {format} file these options say nothing, so they were not used: {', '.join(unused)}."
    return [Problem("info", text)] if unused else []


def endings() -> list[str]:
    """Return the endings of files that can be brought, those of readers that were added too."""
    return list(dict.fromkeys((*ENDINGS, *formats_by_name())))


def formats_by_name() -> tuple[str, ...]:
    """Return the formats that no first bytes give away: their names are the endings of their files."""
    return tuple(kind for kind in READERS if kind not in SIGNATURES.values())


def _format_of(data: bytes, name: str) -> str:
    """Return the format, a key of :data:`READERS`: by the first bytes, or by the name where these say nothing."""
    if not data[:4096].strip() and not data.strip():
        raise ReadError(f"{name} is empty.", remedy="Use a table with column names and at least one row.")
    if kind := _signed(data):
        return kind
    kind = Path(name.lower().removesuffix(".gz")).suffix[1:]
    if kind in formats_by_name() and kind != "csv":
        return kind
    if is_json(data):
        return "json"
    ending = Path(name).suffix.lower()
    if (
        ending in (".parquet", ".xlsx", ".xls", ".ods", ".gz", ".feather", *(f".{kind}" for kind in KINDS))
        and data[:2] != b"\x1f\x8b"
        and b"\x00" in data[:4096]
    ):
        raise ReadError(
            f"{name} is named {ending}, but its content is something else, or it is damaged.",
            remedy="Save it again from the program that it came from.",
        )
    return "csv"


def read_delimited(
    data: bytes | Text, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of delimited text; ``data``: the bytes of a file, or the text in it where that is plain."""
    problems, questions = list[Problem](), list[Question]()
    if isinstance(data, Text):
        delimiter = options.delimiter or find_delimiter(data.head, name)
        start, skip, problems = start_of_table(data.head, delimiter, options.skip, options.header)
        text = data.after(start) if start else data
        used = replace(options, delimiter=delimiter, encoding="utf-8", skip=skip)
    else:
        content, used, problems, questions = delimited_text(data, name, options)
        text = Text.of(content)
        del content
    delimiter = str(used.delimiter)
    names, columns, notes = read_columns(text, delimiter, options.header, stop, progress)
    notes += one_column_problem(text.head) if len(names) == 1 and options.delimiter is None else []
    del text
    manner = manner_of(columns, options, delimiter)
    values: dict[str, Any] = {}
    variables: dict[str, Variable] = {}
    for position, label in enumerate(names):
        column = type_column(label, columns[position], manner)
        columns[position] = TextColumn(columns[position].texts.slice(0, 0), None)
        values[label] = column.values
        notes += column.problems
        questions += [column.question] if column.question else []
        variables |= {label: Variable(dates=column.dates)} if column.dates else {}
        if progress is not None:
            progress(0.9 + 0.1 * position / len(names), f"Reading column {label}")
    used = with_decimal(used, manner, questions)
    frame = pd.DataFrame(values, copy=False)
    return Content(frame, used, problems + notes, questions=one_each(questions), variables=variables)


def delimited_text(
    data: bytes, name: str, options: ReadOptions
) -> tuple[bytes, ReadOptions, list[Problem], list[Question]]:
    """Return the text of a file in UTF-8, the options with its delimiter and encoding, and what to know and to ask."""
    text, encoding, problems, question = decode(data, options.encoding)
    first = text[:7].lower()
    delimiter = options.delimiter
    if first[:4] == b"sep=" and text[5:6] in (b"\r", b"\n"):  # a line that spreadsheets write before the names
        delimiter = delimiter or text[4:5].decode("ascii", "replace")
        text = text[5:].lstrip(b"\r\n")
        delimiter = delimiter if delimiter.isascii() and delimiter not in '"\r\n' else None
    if delimiter is None:
        delimiter = find_delimiter(text, name)
    start, skip, above = start_of_table(text, delimiter, options.skip, options.header)
    used = replace(options, delimiter=delimiter, encoding=encoding, skip=skip)
    return text[start:], used, problems + above, [question] if question else []


def read_statistics(
    data: bytes | Path, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of a file of SPSS, Stata or SAS, shown by its labels; ``data``: its bytes, or where it lies."""

    def reach(rows: int, width: int) -> None:
        refuse_too_wide(width, name)
        stop(Extent(rows, width, rows * width, 4 * rows * width))

    kind = _signed(data if isinstance(data, bytes) else start_of(data, START)) or "por"
    columns = read_labelled(
        data, kind, name, stop=reach, encoding=options.encoding and codec_of(options.encoding),
        as_numbers=options.as_numbers,
        as_text=options.as_text, progress=progress or no_progress,
    )  # fmt: skip
    names, problems = repair_names([column.name for column in columns])
    values: dict[str, Any] = {}
    for label, column in zip(names, columns, strict=True):
        values[label] = column.values
        problems += [Problem(level, text, label, remedy=remedy) for level, text, remedy in column.notes]
        if isinstance(column.values, list):
            text = plain_text(label, TextColumn.of(column.values), ("", *options.marks))
            values[label] = text.values
            problems += text.problems
        elif column.values.dtype.kind == "f":
            problems += infinity_problems(label, column.values)
    variables = {label: column.variable for label, column in zip(names, columns, strict=True)}
    return Content(pd.DataFrame(values, copy=False), options, problems, variables=variables)


Reader = Callable[[bytes, str, ReadOptions, Callable[[Extent], None], Progress | None], Content]

READERS: dict[str, Reader] = {
    "csv": read_delimited,
    "parquet": read_parquet,
    "spreadsheet": read_spreadsheet,
    "feather": read_arrow,
    "json": read_json,
    **dict.fromkeys(KINDS, read_statistics),
}
"""How each format is read: from bytes, a name, options, what stops a table that is too large, and progress.

A format without a signature is recognised by its name here, as the ending of the file's; what nothing claims is csv."""

SIGNATURES: dict[bytes, str] = {
    b"PAR1": "parquet",
    b"PK\x03\x04": "spreadsheet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "spreadsheet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"$FL2": "sav",
    b"$FL3": "sav",
    b"<stata_dta>": "dta",
    **{bytes((version, order, 1, 0)): "dta" for version in range(110, 116) for order in (1, 2)},
    b"HEADER RECORD*******LIB": "xpt",
    bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11": "sas7bdat",
}
"""The first bytes of formats that have such, and the format."""

USED: dict[str, frozenset[str]] = {
    "csv": frozenset(ReadOptions.__dataclass_fields__) - {"sheet"},
    "spreadsheet": frozenset(ReadOptions.__dataclass_fields__) - {"delimiter", "encoding"},
    "json": frozenset({"missing", "keep", "encoding", "dates", "as_text"}),
    **dict.fromkeys(("parquet", "feather", "database"), frozenset({"missing", "keep"})),
    **dict.fromkeys(KINDS, frozenset({"missing", "keep", "encoding", "as_text", "as_numbers"})),
    "por": frozenset({"missing", "keep", "as_text", "as_numbers"}),
    "sample": frozenset(),
}
"""The options of :class:`ReadOptions` that say anything of a file, by its format."""

IN_PIECES = ("csv", "tsv", "tab", "psv", "txt", "dat", "data", "parquet", "pq")
"""The usual endings of what can be read in pieces: delimited text, which may be packed, and Parquet."""
ENDINGS = (
    *IN_PIECES, "gz", "json", "jsonl", "ndjson", "feather", "arrow", "ipc", "xlsx", "xlsm", "xls", "xlsb", "ods", "sav",
    "zsav", "por", "dta", "sas7bdat", "xpt",
)  # fmt: skip
"""The usual endings of files that are read, without the point. What a file is, is told by its content; those that name
their format alone are :func:`formats_by_name`."""

START = 4096
"""First bytes by which a format is told."""

PACKED = (b"\x1f\x8b", b"PAR1", b"PK")
"""The first bytes of packed files."""


def place_of(source: Source, name: str | None, options: ReadOptions, reader: Reader) -> Place | None:
    """Return where a file lies that is read from there: a statistician's, that is known by its first bytes, or text in
    UTF-8 where ``reader``, of such text, is the one here; ``None`` for anything else, and for what has a fault.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    with suppress(OSError, ValueError, ReadError):  # reading its bytes will say what is wrong
        path = Path(source)
        start, state = start_of(path, START) if path.is_file() else b"", state_of(path)
        kind = _signed(start)
        if state[0] > MAX_BYTES:
            return None
        if kind in KINDS:
            with path.open("rb") as file:
                return Place(path, kind, state[0], state, hashlib.file_digest(file, "sha256").hexdigest())
        if reader is read_delimited and _format_of(start, name or path.name) == "csv":
            text, digest, size = text_of(path, options.encoding)
            return Place(path, "csv", size, state, digest, text)
    return None


def may_unfold(path: Path) -> bool:
    """Return whether a file may take more than its own size, by its first bytes: see :func:`size_in_use`."""
    return start_of(path, START).startswith(PACKED)


def _signed(data: bytes) -> str:
    """Return the format that the first bytes give away, "" for none."""
    return next((kind for start, kind in SIGNATURES.items() if data.startswith(start)), "")


def _bytes_of(source: Source, name: str | None) -> tuple[bytes, str]:
    """Return the bytes of a source and what to call it."""
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
            content = source.read()
        except (OSError, ValueError) as error:
            raise ReadError(f"{called} cannot be read.", remedy="Open it again.") from error
        if not isinstance(content, bytes):
            raise ReadError(f"{called} was opened as text.", remedy="Open it in binary mode.")
        data = content
    if len(data) > MAX_BYTES:
        raise _too_large(called)
    return data, called


def size_in_use(data: bytes) -> int:
    """Return the bytes by which it is judged what the reading of a file may take: its own size, or what a packed file
    (gzip, Parquet, a workbook) states that it unfolds into, where tables pack so well."""
    stated = _stated_size(data)
    return stated if len(data) < stated <= USUAL_FOLDED * len(data) else len(data)


def _stated_size(data: bytes) -> int:
    """Return the bytes that a packed file says it unfolds into; 0 for what is not packed, or is damaged."""
    try:
        if data[:2] == b"\x1f\x8b" and len(data) >= 18:
            return int(struct.unpack("<I", data[-4:])[0])
        if data[:4] == b"PAR1":
            return parquet_extent(pq.ParquetFile(pa.BufferReader(data))).memory
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                return sum(part.file_size for part in packed.infolist())
    except Exception:  # whoever reads it says what is wrong
        return 0
    return 0


def unpack(data: bytes, name: str, most: int) -> bytes:
    """Return the content of a gzip file, at most ``most`` bytes.

    Raises :class:`ReadError` when it is damaged or longer; a length that the file states itself is believed first.
    """
    too_long = ReadError(
        f"{name} has {bytes_text(len(data))}, but unfolds into more than {bytes_text(most)}, the most that a "
        "packed file of its size may.",
        remedy="Use it unpacked, or use fewer rows or columns.",
    )
    stated = struct.unpack("<I", data[-4:])[0] if len(data) >= 18 else 0  # the length, modulo 2^32
    if most < stated <= MOST_FOLDED * len(data):
        raise too_long
    pieces: list[bytes] = []
    total = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while piece := packed.read(PIECE):
                pieces.append(piece)
                total += len(piece)
                if total > most:
                    raise too_long
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(
            f"The gzip file {name} is damaged or cut off.", remedy="Pack it again, or use it unpacked."
        ) from error
    return b"".join(pieces)


def _too_large(name: str) -> ReadError:
    return ReadError(
        f"{name} is larger than {MAX_BYTES >> 30} GiB.", remedy="Use fewer rows or columns, or use Parquet."
    )
