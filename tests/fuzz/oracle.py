"""What a cell may become, worked out anew from its text or value: equal, or missing, or text that is asked about.

Nothing here is shared with the reader: texts are read as decimals and dates in the plainest way.
"""

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from anonymizer.reading.files import Reading
from tests.fuzz.workbooks import Fault

MARKS = {"", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", "-", "--", "."}


def numbers(text: str) -> dict[str, Decimal]:
    """The number that a text is, for each decimal mark under which it is one."""
    readings = {}
    for mark, other in ((".", ","), (",", ".")):
        whole, _, rest = text.lstrip("-").partition(mark)
        grouped = re.fullmatch(rf"[1-9]\d{{0,2}}(\{other}\d{{3}})+", whole)
        if other in rest or (other in whole and not grouped):
            continue
        plain = (whole.replace(other, "") if grouped else whole) + ("." + rest if rest else "")
        if re.fullmatch(r"\d+(\.\d+)?([eE][+-]?\d{1,3})?|\.\d+([eE][+-]?\d{1,3})?", plain):
            readings[mark] = Decimal(("-" if text.startswith("-") else "") + plain)
    return readings


def days(text: str) -> dict[str, date]:
    """The day that a text is, by what comes first."""
    if match := re.match(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
        return {"year": date(*map(int, match.groups()))}
    readings = {}
    if match := re.match(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})", text):
        first, second, year = map(int, match.groups())
        for order, day, month in (("day", first, second), ("month", second, first)):
            if month <= 12:
                readings[order] = date(year, month, day)
    return readings


def fault_of_texts(reading: Reading, columns: list[list[str]]) -> str:
    """What is wrong with the table that was read from these texts; "" when nothing is."""
    if reading.frame.shape != (len(columns[0]), len(columns)):
        return f"shape {reading.frame.shape} instead of {(len(columns[0]), len(columns))}"
    whole_file = {mark for texts in columns for mark in _marks_of([text.strip() for text in texts])}
    return next(
        filter(None, (_fault_of_column(reading, at, texts, whole_file) for at, texts in enumerate(columns))), ""
    )


def _fault_of_column(reading: Reading, place: int, texts: list[str], whole_file: set[str]) -> str:
    name, notes = reading.frame.columns[place], notes_of(reading, place)
    stripped = [text.strip() for text in texts]
    proof = [text for text in stripped if text not in MARKS]
    firsts: dict[Any, str] = {}
    for text, value in zip(stripped, reading.frame.iloc[:, place].tolist(), strict=True):
        fault = _fault_of_text(text, value, proof, reading, notes, whole_file)
        if not fault and isinstance(value, int | float) and value == value and firsts.setdefault(value, text) != text:
            fault = "" if "one number" in notes or "infinite" in notes else f"{firsts[value]!r} and {text!r} merge"
        if fault:
            return f"column {name!r}: {fault}"
    return ""


def notes_of(reading: Reading, place: int) -> str:
    """What was said of a column."""
    return " ".join(problem.text for problem in reading.problems if problem.column == reading.frame.columns[place])


def fault_of_grid(reading: Reading, grid: list[list[Any]]) -> str:
    """What is wrong with the table that was read from the cells of a sheet, the first row its names.

    Columns without any value may be there or not.
    """
    records = grid[1:]
    columns = [list(column) for column in zip(*records, strict=True) if not all(map(_is_missing, column))]
    places = [at for at in range(reading.frame.shape[1]) if not reading.frame.iloc[:, at].isna().all()]
    if (len(reading.frame), len(places)) != (len(records), len(columns)):
        return f"{len(reading.frame)} rows, {len(places)} columns instead of {len(records)}, {len(columns)}"
    for place, cells in zip(places, columns, strict=True):
        present = [cell for cell in cells if cell is not None and not isinstance(cell, Fault)]
        read = reading.frame.iloc[:, place].tolist()
        fault = ""
        if all(type(cell) is float for cell in present):
            fault = next(
                (f"{c!r} became {v!r}" for c, v in zip(cells, read, strict=True) if not _same_number(c, v)), ""
            )
        elif all(isinstance(cell, datetime) for cell in present):
            fault = next((f"{c} became {v}" for c, v in zip(cells, read, strict=True) if not _same_moment(c, v)), "")
        else:
            fault = _fault_of_column(reading, place, [_text_of(cell) for cell in cells], set())
        if any(isinstance(cell, Fault) for cell in cells) and "taken as missing" not in notes_of(reading, place):
            fault = fault or "an error is missing without a note"
        if fault:
            return f"column {place} of {cells}: {fault}"
    return ""


def _is_missing(cell: Any) -> bool:
    return cell is None or isinstance(cell, Fault) or (isinstance(cell, str) and cell.strip() in MARKS)


def _same_number(cell: Any, value: Any) -> bool:
    return value != value if _is_missing(cell) else value == cell


def _text_of(cell: Any) -> str:
    """The text that a cell of a sheet is in a column of texts."""
    if cell is None or isinstance(cell, Fault):
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == datetime.min.time() else cell.isoformat()
    return str(cell)


def _same_moment(cell: Any, value: Any) -> bool:
    if _is_missing(cell):
        return value is None or value != value
    return value == cell if isinstance(value, pd.Timestamp) else value == _text_of(cell)


def _marks_of(texts: list[str]) -> set[str]:
    """The decimal marks that some of the texts can only have; none where a text is no number."""
    proof = [numbers(text) for text in texts if text not in MARKS]
    return {mark for number in proof if len(number) == 1 for mark in number} if all(proof) else set()


def _fault_of_text(text: str, value: Any, proof: list[str], reading: Reading, notes: str, whole_file: set[str]) -> str:
    if value is None or value is pd.NaT or value != value:
        return "" if text in MARKS and "missing" in notes else f"{text!r} is missing without a note"
    if isinstance(value, str):
        return "" if value.strip() == text else f"{text!r} became {value!r}"
    if isinstance(value, pd.Timestamp):
        read = days(text)
        if len(set(read.values())) > 1 and not re.match(r"\d+\.", text):
            orders = {order for other in proof if len(days(other)) == 1 for order in days(other)}
            read = {order: day for order, day in read.items() if order in orders}
        return "" if value.date() in read.values() else f"{text!r} became {value}"
    if math.isinf(value):
        return "" if "infinite" in notes else f"{text!r} is infinite"
    if re.fullmatch(r"\d+[eE]\d{1,2}", text) and not any(re.search(r"[.,]|[eE][+-]", other) for other in proof):
        return f"{text!r} became {value} unasked"
    read = numbers(text)
    if len(set(read.values())) > 1:
        marks = _marks_of(proof) or (whole_file if len(whole_file) == 1 else set())
        if not marks and reading.options.delimiter == ",":
            marks = {"."}
        read = {mark: number for mark, number in read.items() if mark in marks}
    if any(float(number) == value for number in read.values()):
        exact = any(number == Decimal(repr(value)) for number in read.values())
        return "" if exact or "rounded" in notes else f"{text!r} was rounded to {value!r} without a note"
    return f"{text!r} became {value!r}"


def fault_of_values(reading: Reading, columns: dict[str, list[Any]], zones: dict[str, str]) -> str:
    """What is wrong with a table that was read from these values; ``zones``: of the columns that have one."""
    if reading.frame.shape != (len(next(iter(columns.values()))), len(columns)):
        return f"shape {reading.frame.shape}"
    for place, (name, values) in enumerate(columns.items()):
        for value, read in zip(values, reading.frame.iloc[:, place].tolist(), strict=True):
            if not _same(value, read, zones.get(name)):
                return f"column {name!r}: {value!r} became {read!r}"
    return ""


def _same(value: Any, read: Any, zone: str | None) -> bool:
    if read is None or read is pd.NaT or read != read:
        return value is None or value != value or (isinstance(value, str) and value.strip() in MARKS)
    if isinstance(value, bool):
        return read == str(value).lower()
    if isinstance(value, int | Decimal):
        return Decimal(value) == Decimal(read if isinstance(read, str) else repr(read))
    if isinstance(value, datetime):
        local = value.astimezone(ZoneInfo(zone)).replace(tzinfo=None) if zone else value
        return isinstance(read, pd.Timestamp) and read.to_pydatetime() == local
    if isinstance(value, date):
        return isinstance(read, pd.Timestamp) and read.date() == value
    if isinstance(value, str):
        return bool(read.strip() == value.strip())
    return isinstance(value, float) and read == value
