"""Bring records of JSON in: an array of objects, or JSON Lines, an object a line."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from anonymizer.errors import Progress, ReadError
from anonymizer.labelled.variable import Variable
from anonymizer.reading.decimals import LONGEST_INTEGER
from anonymizer.reading.delimited import decode, repair_names
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions, one_each, refuse_too_wide
from anonymizer.reading.parse import LIKENESS, Manner, TextColumn, Typed, infinity_problems, plain_text, type_column

REMEDY = "Use an array of objects, or an object a line, each with the columns as its names."


def read_json(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of records in JSON. A name that a record lacks is missing there.

    Numbers and truths are what they are; texts become dates where all have the form of one, and stay texts otherwise.
    A column with lists or objects in it is left out, with a note. Raises :class:`ReadError` for what are no records,
    with the line or the record.
    """
    text = decode(data, options.encoding)[0]
    columns: dict[str, list[Any]] = {}
    rows = 0
    for record in _records(text.decode("utf-8"), name):
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column += [None] * (rows - len(column))
            column.append(value)
        rows += 1
        if rows % 1000 == 0:
            stop(Extent(rows, len(columns), rows * len(columns), 8 * rows * len(columns)))
    refuse_too_wide(len(columns), name)
    if not rows or not columns:
        raise ReadError(f"{name} has no rows.", remedy="Use a table with at least one row.")
    names, problems = repair_names(list(columns))
    values: dict[str, Any] = {}
    variables: dict[str, Variable] = {}
    questions = []
    for position, (label, column) in enumerate(zip(names, list(columns.values()), strict=True)):
        column += [None] * (rows - len(column))
        if any(isinstance(value, list | dict) for value in column):
            text_of = f"Column {label!r} holds lists or objects. It was left out."
            problems.append(Problem("warning", text_of, label, remedy="Turn it into text or numbers in the file."))
            continue
        typed = _column(label, column, options)
        values[label] = typed.values
        problems += typed.problems
        questions += [typed.question] if typed.question else []
        variables |= {label: Variable(dates=typed.dates)} if typed.dates else {}
        if progress is not None:
            progress(position / len(names), f"Reading column {label}")
    if not values:
        raise ReadError(f"No column of {name} holds numbers, dates or text.", remedy=REMEDY)
    frame = pd.DataFrame(values, copy=False)
    return Content(frame, options, problems, questions=one_each(questions), variables=variables)


def is_json(data: bytes) -> bool:
    """Return whether the first bytes begin records of JSON, not a line of delimited text."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"[":
        return start[1:].lstrip()[:1] in (b"{", b"]")
    return start[:1] == b"{" and start[1:].lstrip()[:1] in (b'"', b"}")


def _records(text: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records. Raises :class:`ReadError` for what is none, with its line or its place."""
    if text.lstrip()[:1] == "[":
        records = _parse(text, name)
        for place, record in enumerate(records if isinstance(records, list) else [records]):
            yield _object(record, f"Row {place + 1:,}", place, name)
        return
    for line, part in enumerate(text.splitlines()):
        if part.strip():
            yield _object(_parse(part, name, line), f"Line {line + 1:,}", line, name)


def _parse(text: str, name: str, line: int = 0) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=float)
    except json.JSONDecodeError as error:
        where = f"Line {line + error.lineno:,}, character {error.colno:,}"
        raise ReadError(f"{where} of {name} is no JSON: {error.msg}.", row=line, remedy=REMEDY) from error
    except RecursionError:
        raise ReadError(f"{name} holds lists in lists, too deep for a table.", remedy=REMEDY) from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ReadError(f"A row has {key!r} twice.", column=key, remedy="Write each name once in a row.")
    return record


def _object(record: Any, place: str, row: int, name: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise ReadError(f"{place} of {name} is no object with names.", row=row, remedy=REMEDY)
    return record


def _column(name: str, values: list[Any], options: ReadOptions) -> Typed:
    """Return the values of a column: numbers where all are, truths as texts, and texts, or the dates that they are."""
    kinds = {type(value) for value in values} - {type(None)}
    whole = kinds == {int} and max(abs(value) for value in values if value is not None) < 10**LONGEST_INTEGER
    if kinds and kinds <= {int, float} and (whole or float in kinds) and name not in options.as_text:
        numbers = pd.Series(values, dtype="int64" if whole and None not in values else "float64").to_numpy()
        return Typed(numbers, infinity_problems(name, numbers))
    marks = ("", *options.marks)
    texts = pa.array([_text(value) for value in values], pa.large_string())
    encoded = texts.dictionary_encode()
    column = TextColumn.of([encoded]) if 2 * len(encoded.dictionary) <= len(texts) else TextColumn(texts, None)
    present = [value for value in set(texts.to_pylist()) if value not in marks]
    if kinds == {str} and present and LIKENESS["dates"](pa.array(present, pa.large_string())).all():
        return type_column(name, column, Manner(options))
    typed = plain_text(name, column, marks)
    if len(kinds) > 1:
        text = f"Column {name!r} holds values of several types. They stay text."
        typed.problems.append(Problem("warning", text, name, remedy="Write them in one type."))
    elif kinds & {int, float} and name not in options.as_text:
        text = f"Column {name!r} holds numbers of more than {LONGEST_INTEGER} digits. They stay text."
        typed.problems.append(Problem("info", text, name))
    return typed


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
