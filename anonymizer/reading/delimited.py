"""Delimited text: from UTF-8 to text columns. Delimiter and header are found, faults are located."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.csv as pacsv

from anonymizer.errors import Progress, ReadError
from anonymizer.reading.options import MAX_COLUMNS, Extent, Problem
from anonymizer.reading.parse import TextColumn

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are looked for, the likelier first."""

BLOCK = 1 << 23
"""Bytes of text that are parsed at once; a record must fit, or the file is tried once more in one piece."""

_CONTROL_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def find_delimiter(text: bytes, name: str = "") -> str:
    """Return the delimiter under which the first records are most alike; a comma for a single column."""
    records = _sample(text)
    best, best_score = ",", (0.0, 0, 0)
    for position, delimiter in enumerate(DELIMITERS):
        counts = [len(record) for record in csv.reader(records, delimiter=delimiter) if record]
        if not counts or counts[0] < 2:
            continue
        usual, often = Counter(counts).most_common(1)[0]
        alike = round(often / len(counts), 2) * (1.0 if counts[0] == usual else 0.5)
        named = name.lower().endswith(".tsv") and delimiter == "\t"
        score = (alike + (0.3 if named else 0.0), usual, -position)
        if usual > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def read_columns(
    text: bytes, delimiter: str, header: bool, stop: Callable[[Extent], None], progress: Progress | None = None
) -> tuple[list[str], list[TextColumn], list[Problem]]:
    """Return the names, the columns as text, and the problems of UTF-8 ``text``.

    ``stop``: called with the extent of the text, so that it can raise. Raises :class:`ReadError` for ragged records
    and open quotes (with the line), too many columns, no records.
    """
    first = first_record(text, delimiter)
    if len(first) > MAX_COLUMNS:
        raise ReadError(
            f"The table has {len(first):,} columns; at most {MAX_COLUMNS:,} can be handled.",
            remedy="Leave out columns that need not be released, or check the delimiter.",
        )
    rows = max(text.count(b"\n"), text.count(b"\r"))
    stop(Extent(rows, len(first), rows * len(first), len(text)))
    if text.count(b'"') % 2:
        _refuse_open_quote(text, delimiter)
    try:
        names, chunks = _parse(text, delimiter, header, len(first), min(BLOCK, len(text) + 1), progress)
    except pa.ArrowInvalid as error:
        fault = _find_ragged(text, delimiter, len(first))
        if fault is not None:
            raise fault from error
        if "straddl" not in str(error) or len(text) > 1 << 30:
            raise ReadError(
                "The file cannot be split into records.", remedy="Check its delimiter and its quotes."
            ) from error
        names, chunks = _parse(text, delimiter, header, len(first), len(text) + 1, progress)
    columns = []
    for position, pieces in enumerate(chunks):
        columns.append(TextColumn.of(pieces))
        chunks[position] = []
    if not columns or columns[0].n_records == 0:
        raise ReadError(
            "The file has column names but no records." if header else "The file has no records.",
            remedy="Bring a table with at least one record"
            + (", or say that the first line is a record too." if header else "."),
        )
    problems: list[Problem] = []
    if header:
        if _looks_like_record(names, columns):
            problems.append(
                Problem(
                    "warning",
                    "The first line looks like a record, not like column names.",
                    remedy="Say that the file has no header if that is so.",
                )
            )
        names, repaired = repair_names(names)
        problems += repaired
    return names, columns, problems


def repair_names(names: list[str]) -> tuple[list[str], list[Problem]]:
    """Return column names that are text, not empty and distinct, and a problem for each that had to be changed."""
    problems: list[Problem] = []
    repaired: list[str] = []
    others = {_CONTROL_TEXT.sub(" ", name).strip() for name in names}
    earlier: set[str] = set()
    for position, name in enumerate(names):
        new = " ".join(_CONTROL_TEXT.sub(" ", name).split())
        if len(new) > 200:
            new = new[:199] + "…"
            why = "has a name of more than 200 characters"
        elif not new:
            new, why = f"column {position + 1}", "has no name"
        elif new in earlier:
            why = f"has the same name as another: {new!r}"
        else:
            why = "has line breaks or control characters in its name" if _CONTROL_TEXT.search(name) else ""
        base, number = new, 2
        while new in earlier or (new != base and new in others):
            new, number = f"{base} ({number})", number + 1
        earlier.add(new)
        repaired.append(new)
        if why:
            text = f"Column number {position + 1} {why}; it is called {new!r} here."
            problems.append(Problem("warning", text, new, remedy="Give it a name of its own in the file."))
    return repaired, problems


def _parse(
    text: bytes, delimiter: str, header: bool, width: int, block: int, progress: Progress | None
) -> tuple[list[str], list[list[pa.Array]]]:
    """Return the names, and for each column its pieces: dictionary-encoded while values repeat, plain otherwise."""
    labels = [f"c{position}" for position in range(width)]
    reader = pacsv.open_csv(
        pa.BufferReader(text.lstrip(b"\r\n")),
        read_options=pacsv.ReadOptions(column_names=labels, block_size=max(block, 64)),
        parse_options=pacsv.ParseOptions(
            delimiter=delimiter, newlines_in_values=b'"' in text, ignore_empty_lines=width > 1
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={label: pa.string() for label in labels}, strings_can_be_null=False, check_utf8=False
        ),
    )
    names = [f"column {position + 1}" for position in range(width)]
    chunks: list[list[pa.Array]] = [[] for _ in labels]
    plain = [False] * width
    done = 0
    for batch in reader:
        if header and batch.num_rows:
            names = [batch.column(position)[0].as_py() for position in range(width)]
            batch, header = batch.slice(1), False
        if not batch.num_rows:
            continue
        for position in range(width):
            values = batch.column(position)
            encoded = None if plain[position] else values.dictionary_encode()
            plain[position] = encoded is None or 2 * len(encoded.dictionary) > len(values)
            if plain[position]:
                chunks[position].append(pa.concat_arrays([values]))
            else:
                chunks[position].append(encoded)
        done += batch.nbytes
        if progress is not None:
            progress(min(0.9, done / max(1, len(text))), "Reading records")
    return names, chunks


def _sample(text: bytes, size: int = 1 << 16) -> list[str]:
    """Return the first whole lines, as text; quoted line breaks stay inside their list of lines."""
    head = text[:size].decode("utf-8", "replace")
    lines = io.TextIOWrapper(io.BytesIO(head.encode("utf-8")), "utf-8", newline="").readlines()
    if len(text) > size and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip("\r\n")]


def _records(text: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line (from 1) and the fields of each record, slowly: only used to find the place of a fault."""
    lines = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    start = 1
    for record in reader:
        yield start, record
        start = reader.line_num + 1


def first_record(text: bytes, delimiter: str) -> list[str]:
    """Return the fields of the first record that has any. Raises :class:`ReadError` where there is none."""
    try:
        for _, record in _records(text, delimiter):
            if record:
                return record
    except csv.Error as error:
        raise ReadError(
            "The first record of the file cannot be read: it is very long or its quotes are not closed.",
            row=0,
            remedy="Check the file's first line.",
        ) from error
    raise ReadError("The file is empty.", remedy="Bring a table with column names and at least one record.")


def _refuse_open_quote(text: bytes, delimiter: str) -> None:
    """Raise :class:`ReadError` when a quoted field runs to the end of the file."""
    line = 1
    try:
        for start, _ in _records(text, delimiter):
            line = start
        lines = islice(io.TextIOWrapper(io.BytesIO(text), "utf-8", newline=""), line - 1, None)
        for _ in csv.reader(lines, delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        if "end of data" in str(error) or "limit" in str(error):
            raise ReadError(
                f"A quote that opens in the record of line {line:,} or soon after it is never closed.",
                row=line - 1,
                remedy='Close it, or write a quote inside a quoted field twice ("").',
            ) from error


def _find_ragged(text: bytes, delimiter: str, width: int) -> ReadError | None:
    """Return the error that names the first record with another number of fields, and how many such records there
    are."""
    first: tuple[int, int] | None = None
    wrong = 0
    try:
        for line, record in _records(text, delimiter):
            if len(record) != width and (record or width == 1):
                first = first or (line, len(record))
                wrong += 1
    except csv.Error:
        if first is None:
            return None
    if first is None:
        return None
    others = f" ({wrong - 1:,} more records like it)" if wrong > 1 else ""
    return ReadError(
        f"Line {first[0]:,} has {first[1]:,} fields where {width:,} were expected{others}.",
        row=first[0] - 1,
        remedy="Correct the line, put fields that hold the delimiter in quotes, or choose another delimiter.",
    )


def _looks_like_record(names: list[str], columns: list[TextColumn]) -> bool:
    """Return whether a name is a number, or most of the names are values of their own columns."""
    number = re.compile(r"^-?[0-9]+([.,][0-9]+)?$")
    numbers = sum(bool(number.match(name.strip())) for name in names)
    heads = [set(column.texts.slice(0, 1000).to_pylist()) for column in columns[:100]]
    own = sum(bool(name.strip()) and name in head for name, head in zip(names, heads, strict=False))
    years = sum(bool(re.match(r"^(19|20)[0-9]{2}$", name.strip())) for name in names)
    return numbers - years > 0 or own * 2 > len(heads)
