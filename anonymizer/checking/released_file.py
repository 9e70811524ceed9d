"""A released file, read by the checker itself: its rows, and what else is in the file that no row needs.

A file is in order when nothing is in it but the rows, written in one way throughout: whatever else there is, a level
that no row has, a comment, an index, a line that is written unlike the others, can carry what was to stay behind.
"""

import csv
import gzip
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd

from anonymizer.cells import is_date, is_number, kept_text, kept_value, parse_cell
from anonymizer.checking.labels import LABELLED, label_problems, labelled_rows
from anonymizer.checking.released import is_plain
from anonymizer.checking.set_names import SetNames, in_full
from anonymizer.checking.workbook_file import refuse_workbook, workbook_rows
from anonymizer.errors import AnonymizerError, CellError, Progress, ReadError
from anonymizer.json_value import parse, short_text
from anonymizer.labelled.dates import FORMS, read_dates, write_dates
from anonymizer.labelled.variable import Variable
from anonymizer.reading.delimited import decode
from anonymizer.reading.files import SIGNATURES, Reading
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions
from anonymizer.reading.parquet import arrow_bytes, arrow_rows
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.values import numbers_of

BESIDE = "warning"
STORED, LABELS, FORMAT, UNJUDGED = NOTES = ("stored", "labels", "format", "unjudged")
"""Levels of what is told of a file beside its rows and is no fault."""
TYPED = "The columns have types."
INDEX_NAME = "__index_level_"
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
LARGEST_ARCHIVE = 4 << 30
"""Bytes that the members of an archive may have together."""
GZIP_LEVELS, GZIP_SYSTEMS = (0, 2, 4), (3, 255)
"""What the header of a packed file may say: how hard it was packed, and that nobody knows where, or on Unix."""
PACKING = 6
"""How hard releases are packed: their content, packed again, has to be the same bytes."""
QUOTE = '"'
MARK = b"\xef\xbb\xbf"
MANNERS = tuple(
    (quoting, end, last) for end in ("\n", "\r\n") for quoting in ("present", "needed", "all") for last in (True, False)
)
"""The ways to write all lines of a CSV file: which cells are quoted, how lines end, and whether the last one does."""


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """What was in a file. ``rows``: as a table; ``beside``: what else there is, a sentence each. ``texts``: whether all
    of its cells are text, as in CSV, so that kept columns are values only :meth:`under` a schema. ``stored``: of a
    workbook, how the filled cells of each column are stored, "number", "text" or "both"; ``variables``: what a file of
    the kind ``format`` with labels says of each column. ``unjudged``: why it cannot be said for certain what else there
    is; "" where it can."""

    rows: pd.DataFrame
    beside: tuple[str, ...]
    texts: bool
    stored: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    format: str = ""
    unjudged: str = ""

    @classmethod
    def of_reading(cls, reading: Reading) -> "ReleasedFile":
        """Return what :func:`read_released` read in another process."""
        beside = tuple(problem.text for problem in reading.problems if problem.level == BESIDE)
        notes = {level: {p.column or "": p.text for p in reading.problems if p.level == level} for level in NOTES}
        variables = {
            name: Variable.from_value(parse(text, "file", "Use it as it was downloaded."))
            for name, text in notes[LABELS].items()
        }
        typed = any(problem.text == TYPED for problem in reading.problems)
        return cls(
            reading.frame,
            beside,
            not typed,
            notes[STORED],
            variables,
            notes[FORMAT].get("", ""),
            notes[UNJUDGED].get("", ""),
        )

    def under(
        self, schema: Schema, *, labels: bool = False, stored: bool = True, sets: SetNames | None = None
    ) -> "ReleasedFile":
        """Return the same with kept columns as values: numbers, dates, and text without its protecting quotes.
        ``labels``: the schema has those that the columns should have; ``stored``: its kinds were told, so that they
        say how a workbook has to store each column; ``sets``: the sets that the dictionary names, which are lists of
        levels again then; ``None`` where long sets have no names.

        Raises :class:`ReadError` when a kept column does not hold what its kind says.
        """
        if self.format and labels:
            others = label_problems(self.variables, self.rows, schema, self.format)
            return replace(self, beside=(*self.beside, *others)).in_full(schema, sets)
        if not self.texts:
            return self.in_full(schema, sets)
        rows, beside = (
            self.rows.copy(deep=False),
            [*self.beside, *(stored_otherwise(self.stored, schema) if stored else ())],
        )
        for column in schema.columns:
            if column.name in rows.columns and column.kind is Kind.DATE and column.variable.dates:
                rows[column.name], otherwise = _under_form(rows[column.name], column.variable.dates)
                beside += [otherwise] if otherwise else []
            if column.name in rows.columns and column.role is not Role.QUASI_IDENTIFYING:
                rows[column.name], otherwise = _kept_values(rows[column.name], column)
                beside += [otherwise] if otherwise else []
        return replace(self, rows=rows, beside=tuple(beside), texts=False).in_full(schema, sets)

    def in_full(self, schema: Schema, sets: SetNames | None) -> "ReleasedFile":
        """Return the same with sets that have a short name as lists of levels again: see :meth:`under`."""
        if sets is None:
            return self
        rows, problems = in_full(self.rows, schema, sets)
        return replace(self, rows=rows, beside=(*self.beside, *problems))


def stored_otherwise(stored: Mapping[str, str], schema: Schema) -> Iterator[str]:
    """Yield which columns of a workbook hold numbers as text, or text as numbers. ``stored``: as of
    :class:`ReleasedFile`."""
    for column in schema.columns:
        numbers = column.kind is Kind.NUMERIC and column.role is not Role.QUASI_IDENTIFYING
        if stored.get(column.name, "number" if numbers else "text") != ("number" if numbers else "text"):
            what = "numbers that are stored as text" if numbers else "text that is stored as a number"
            yield f"Column {column.name!r} has {what}."


def read_file(source: str | Path | bytes | BinaryIO, delimiter: str = ",", encoding: str = "utf-8") -> ReleasedFile:
    """Return what is in a released file: CSV, gzipped CSV, Parquet, Feather, SPSS, Stata, SAS transport, or a workbook
    of plain cells, told by its content.

    CSV and workbooks: every column comes back as the text that is in the file, nothing is guessed, and empty cells are
    NA. ``delimiter``, ``encoding``: of a CSV file from elsewhere.

    Raises :class:`ReadError` when the content is not a table, or one of a kind that no release is written as.
    """
    if isinstance(source, (str, Path)):
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            raise ReadError(f"The file cannot be opened: {error.strerror}.", remedy="Check its name.") from error
    else:
        data = source if isinstance(source, bytes) else source.read()
    import pyarrow as pa

    try:
        return _read(data, delimiter, encoding)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        reason = "it is not UTF-8 text"
        if not isinstance(error, UnicodeDecodeError):
            reason = (str(error).splitlines() or [""])[0][:200].rstrip(".")
        raise ReadError(
            f"This is not a release that can be read: {reason}.",
            remedy="Use the file as it was downloaded.",
        ) from error


def read_released(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return a released file as the reading of any table gives it; what is beside its rows are problems.

    It is a reader for :func:`anonymizer.reading.child.read_in_child`, so that a file of a stranger is read there.
    """
    file = read_file(data, options.delimiter or ",", options.encoding or "utf-8")
    rows = file.rows
    for label in rows.columns:
        if isinstance(rows[label].dtype, pd.DatetimeTZDtype):
            rows[label] = rows[label].dt.tz_convert("UTC").dt.tz_localize(None)
    notes = [] if file.texts else [Problem("info", TYPED)]
    notes += [Problem(STORED, how, name) for name, how in file.stored.items()]
    notes += [Problem(LABELS, json.dumps(one.to_dict()), name) for name, one in file.variables.items()]
    notes += [Problem(FORMAT, file.format)] if file.format else []
    notes += [Problem(UNJUDGED, file.unjudged)] if file.unjudged else []
    return Content(rows, options, [Problem(BESIDE, sentence) for sentence in file.beside] + notes)


def _read(data: bytes, delimiter: str, encoding: str) -> ReleasedFile:
    if data.startswith(WORKBOOKS):
        rows, sentences, stored, unjudged = _read_workbook(data)
        return ReleasedFile(rows, (*index_columns(rows.columns), *sentences), True, stored, unjudged=unjudged)
    if data[:4] in (b"PAR1", b"PARE"):
        from anonymizer.checking.parquet_file import parquet_rows

        table, beside, unjudged = parquet_rows(data)
        rows = table.to_pandas(strings_to_categorical=True, date_as_object=False, ignore_metadata=True)
        return ReleasedFile(rows, (*index_columns(rows.columns), *beside), False, unjudged=unjudged)
    kind = next((SIGNATURES[start] for start in SIGNATURES if data.startswith(start)), "csv")
    if kind in LABELLED:
        rows, others, variables = labelled_rows(data, kind)
        beside = (*index_columns(rows.columns), *others)
        return ReleasedFile(rows, beside, False, variables=variables, format=kind)
    if kind == "feather":
        rows = arrow_rows(data)
        other = "The file holds something beside its rows, or is not written as releases are."
        return ReleasedFile(
            rows, (*index_columns(rows.columns), *([] if arrow_bytes(rows) == data else [other])), False
        )
    packing: list[str] = []
    unjudged = ""
    if data[:2] == b"\x1f\x8b":
        data, packing, unjudged = _unpacked(data)
    data = decode(data, encoding)[0] if encoding != "utf-8" else data
    rows = _read_csv(data, delimiter)
    beside = (*packing, *index_columns(rows.columns), *_beside_lines(data, delimiter))
    return ReleasedFile(rows, beside, True, unjudged=unjudged)


def _read_workbook(data: bytes) -> tuple[pd.DataFrame, list[str], dict[str, str], str]:
    """Return what :func:`workbook_rows` does of a workbook that has nothing but plain cells and their labels, and why
    its bytes cannot be judged, "" where they can; refuse any other."""
    try:
        members, beside, unjudged = read_archive(data)
    except ReadError:
        refuse_workbook()
    return refuse_workbook() if beside else (*workbook_rows(members), unjudged)


def read_archive(data: bytes) -> tuple[dict[str, bytes], list[str], str]:
    """Return the members of a ZIP file in their order, what else is in it, a sentence each, and why that cannot be said
    of its bytes, "" where it can. Raises :class:`ReadError` when it cannot be read."""
    members: dict[str, bytes] = {}
    start, directory, beside, same = bytearray(), bytearray(), [], True
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > LARGEST_ARCHIVE:
                raise ReadError("The archive unfolds into too much.", remedy="Use the file as it was downloaded.")
            for info in infos:
                name = info.filename.encode()
                if info.filename in members:
                    beside.append(f"{short_text(info.filename)} is there twice.")
                at = len(start)
                fields = (
                    20, info.flag_bits & 0x800, zipfile.ZIP_DEFLATED, 0, 0x21, info.CRC, info.compress_size,
                    info.file_size, len(name), 0,
                )  # fmt: skip
                head = struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + name
                body = data[at + len(head) : at + len(head) + info.compress_size]
                start += head + body
                directory += struct.pack(
                    "<4s4B4H3L5H2L", b"PK\1\2", 20, 3, 20, 0, *fields[1:5], *fields[5:8], len(name), 0, 0, 0, 0,
                    0o100644 << 16, at,
                ) + name  # fmt: skip
                if info.extra or info.comment:
                    beside.append(f"Something is noted beside {short_text(info.filename)} in the archive.")
                content = _unfolded(body, info)
                if content is None:
                    beside.append(f"{short_text(info.filename)} is damaged, or not packed as Copse packs it.")
                same = same and (content is None or _packed(content) == body)
                members[info.filename] = content or b""
    except (zipfile.BadZipFile, zlib.error, struct.error, ValueError, NotImplementedError, EOFError) as error:
        raise ReadError("This archive is damaged or cut off.", remedy="Use the file as it was downloaded.") from error
    ending = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(infos), len(infos), len(directory), len(start), 0)
    if start + directory + ending != data:
        beside.append("Something stands between or behind the members of the archive, or is noted in it.")
    return members, beside, "" if same else packed_otherwise(data)


def _packed(content: bytes) -> bytes:
    """Return a content as it stands packed in the archive of a release."""
    pack = zlib.compressobj(PACKING, zlib.DEFLATED, -zlib.MAX_WBITS)
    return pack.compress(content) + pack.flush()


def packed_otherwise(data: bytes) -> str:
    """Return what is to be said of a file that another program, or another version of zlib, packed."""
    return (
        f"The file is not packed as zlib {zlib.ZLIB_RUNTIME_VERSION} packs it. Its content is checked; what its bytes "
        f"(SHA-256 {hashlib.sha256(data).hexdigest()}) may hold beside it cannot be said."
    )


def _unfolded(body: bytes, info: zipfile.ZipInfo) -> bytes | None:
    """Return the content of a member of an archive; ``None`` where it is not what the archive says."""
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpack.decompress(body, info.file_size + 1)
    except zlib.error:
        return None
    whole = unpack.eof and not unpack.unused_data and len(content) == info.file_size
    return content if whole and zlib.crc32(content) == info.CRC else None


def index_columns(columns: Iterable[object]) -> list[str]:
    """Return a sentence for each of the columns, by name, that looks like the index of a table."""
    names = [name for name in map(str, columns) if name.startswith(INDEX_NAME) or not name.strip()]
    return [f"Column {name!r} looks like the index of a table: it can say where a row came from." for name in names]


def _unpacked(data: bytes) -> tuple[bytes, list[str], str]:
    """Return the text of a gzip file, what else it holds, and why that cannot be said of its bytes, "" where it can."""
    unpack = zlib.decompressobj(wbits=31)
    text = unpack.decompress(data) + unpack.flush()
    if not unpack.eof:
        raise EOFError("it is cut off")
    again = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=again, compresslevel=PACKING, mtime=0) as packing:
        packing.write(text)
    if again.getvalue() == data:
        return text, [], ""
    beside = []
    if data[3]:
        beside.append("The packed file has a name, a comment or other notes in its header.")
    elif any(data[4:8]) or data[8] not in GZIP_LEVELS or data[9] not in GZIP_SYSTEMS:
        beside.append("The header of the packed file says when or where it was packed.")
    if unpack.unused_data:
        beside.append("The packed file goes on after its end: there is a second part.")
    return text, beside, packed_otherwise(data)


def _read_csv(data: bytes, delimiter: str) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.csv

    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    names = [kept_value(name) for name in next(csv.reader(text, delimiter=delimiter), [])]
    if not names or len(set(names)) != len(names):
        raise ReadError("The file has no header, or two columns of one name.", remedy="Check the first line.")
    table = pa.csv.read_csv(
        pa.BufferReader(data),
        read_options=pa.csv.ReadOptions(column_names=names, skip_rows=1, block_size=1 << 24),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa.csv.ConvertOptions(
            column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in names},
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    return cast(pd.DataFrame, table.unify_dictionaries().to_pandas())


def _beside_lines(data: bytes, delimiter: str) -> Iterator[str]:
    """Yield what is in a CSV file beside the cells: a mark at its start, a line that is written unlike the others."""
    if data.startswith(MARK):
        yield "The file begins with a byte-order mark."
    if b"\x00" in data:
        yield "The file has NUL characters."
    text = data.removeprefix(MARK).decode()
    furthest = 0
    for quoting, end, last in MANNERS:
        same = _lines_alike(text, delimiter, quoting, end, last)
        if same is None:
            return
        furthest = max(furthest, same)
    yield (
        f"Line {furthest + 1:,} of the file is not written as those above it are: quotation marks, blanks and ends of "
        "lines can carry marks."
    )


def _lines_alike(text: str, delimiter: str, quoting: str, end: str, last: bool) -> int | None:
    """Return how many lines are written in one manner; ``None``: all. The header may be quoted where others are not."""
    place = count = 0
    for number, fields in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)):
        count = number
        if not fields:
            return count
        for how in (quoting, "all") if not number else (quoting,):
            line = _line(fields, delimiter, how, end)
            if not last and place + len(line) > len(text):
                line = line.removesuffix(end)
            if text.startswith(line, place):
                place += len(line)
                break
        else:
            return count
    return None if place == len(text) and text.endswith(end) is last else count


def _line(fields: list[str], delimiter: str, quoting: str, end: str) -> str:
    """Return a line, its cells quoted where that is "needed", where they are "present" (not missing), or "all"."""
    if quoting == "needed":
        sink = io.StringIO()
        csv.writer(sink, delimiter=delimiter, lineterminator=end).writerow(fields)
        return sink.getvalue()
    every = quoting == "all" or len(fields) == 1
    if every or all(fields):
        if QUOTE in "".join(fields):
            fields = [field.replace(QUOTE, 2 * QUOTE) for field in fields]
        return QUOTE + f"{QUOTE}{delimiter}{QUOTE}".join(fields) + QUOTE + end
    return delimiter.join(f'"{field.replace(QUOTE, 2 * QUOTE)}"' if field else "" for field in fields) + end


def _plain_dates(levels: Iterable[str], form: str) -> tuple[list[str], str]:
    """Return texts with their dates in the order year-month-day, and the first that does not have them in a form, ""
    where all do."""
    import pyarrow as pa

    texts = pa.array(levels, pa.string())
    plain = read_dates(texts, form)
    pairs = zip(texts.to_pylist(), write_dates(plain, form).to_pylist(), strict=True)
    return plain.to_pylist(), next((one for one, other in pairs if one != other), "")


def _under_form(cells: "pd.Series[Any]", form: str) -> "tuple[pd.Series[Any], str]":
    """Return a column of text with its dates in the order year-month-day, and what is to be said of how they are
    written; "" for nothing."""
    plain, other = _plain_dates(cells.cat.categories, form)
    places, distinct = pd.factorize(np.array(plain, dtype=object))
    codes = np.append(places, -1)[cells.array.codes]
    otherwise = f"Column {cells.name!r} has {short_text(other)}, and its dates are written {form}." if other else ""
    return pd.Series(pd.Categorical.from_codes(codes, distinct), cells.index, name=cells.name), otherwise


def form_of_cells(cells: "pd.Series[Any]", role: Role) -> str:
    """Return the first form in which text has dates; "" where it has none, or has them in the order year-month-day."""
    if not isinstance(cells.dtype, pd.CategoricalDtype) or kind_of_cells(cells, role) is not Kind.CATEGORICAL:
        return ""
    levels = list(cells.cat.categories)
    for form in FORMS:
        plain, other = _plain_dates(levels, form)
        if plain != levels and not other and kind_of_cells(pd.Series(plain, dtype=object), role) is Kind.DATE:
            return form
    return ""


def _kept_values(cells: "pd.Series[Any]", column: Column) -> "tuple[pd.Series[Any], str]":
    """Return a kept column as values, and what is to be said of how they are written; "" for nothing."""
    otherwise = ""
    levels = cells.cat.categories
    codes = cells.array.codes
    if column.kind is Kind.CATEGORICAL:
        values: Any = pd.Series([kept_value(text) for text in levels], dtype="str")
        pairs = [(text, kept_text(value)) for value, text in zip(values, levels, strict=True)]
        other = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if other is not None:
            text, ours = map(short_text, other)
            otherwise = f"Column {column.name!r} has {text}, which a release writes as {ours}."
    else:
        try:
            numbers, restore = numbers_of(pd.Series(levels, dtype=object), column)
        except AnonymizerError as error:
            raise ReadError(
                error.problem,
                in_full=error.in_full,
                column=column.name,
                row=error.row,
                value=error.value,
                remedy=error.remedy,
            ) from error
        values = pd.Series(restore(numbers))
        if len(np.unique(numbers)) < len(levels):
            otherwise = f"Column {column.name!r} has a value that is written in two ways."
        elif not _alike(list(levels)):
            otherwise = f"Column {column.name!r} has values with different numbers of digits behind the point."
    return cast("pd.Series[Any]", values.reindex(codes).set_axis(cells.index).rename(column.name)), otherwise


def _alike(texts: list[str]) -> bool:
    """Return whether numbers or dates are all written plainly, or all with as many digits behind a point."""
    if not all(is_number(text) or is_date(text) for text in texts):
        return False
    return all(map(is_plain, texts)) or len({len(text.partition(".")[2]) for text in texts}) == 1


def kind_of_cells(column: "pd.Series[Any]", role: Role = Role.QUASI_IDENTIFYING) -> Kind:
    """Return the kind that released cells speak of: numbers or dates when every cell holds one or, in a column that is
    quasi-identifying, an interval of them."""
    if column.dtype.kind in "iuf":
        return Kind.NUMERIC
    if column.dtype.kind == "M":
        return Kind.DATE
    texts = [str(text) for text in pd.unique(column.dropna())]
    for kind in (Kind.NUMERIC, Kind.DATE):
        try:
            cells = [parse_cell(text, kind) for text in texts]
        except CellError:
            continue
        if role is not Role.QUASI_IDENTIFYING and not all(cell.is_single for cell in cells):
            return Kind.CATEGORICAL
        ends = [cell.ends for cell in cells if not cell.withheld]
        are_dates = [pair is not None and "-" in pair[0][1:] and "e" not in pair[0].lower() for pair in ends]
        if ends and None not in ends and all(is_date is (kind is Kind.DATE) for is_date in are_dates):
            return kind
    return Kind.CATEGORICAL
