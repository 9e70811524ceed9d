"""Bring a sheet of a workbook in: the cells of .xlsx, .xls, .xlsb or .ods as columns."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.errors import Progress, ReadError, extras_by_name
from anonymizer.labelled.variable import LABEL_HEAD, LABEL_SHEET, Variable
from anonymizer.reading.delimited import MOST_LINES, above_problem, lines_above, repair_names
from anonymizer.reading.options import (
    MAX_COLUMNS,
    Answer,
    Content,
    Extent,
    Problem,
    Question,
    ReadOptions,
    one_each,
    refuse_too_wide,
)
from anonymizer.reading.parse import Manner, TextColumn, Typed, infinity_problems, type_column
from anonymizer.reading.workbook import Marks, column_letters, examine, extents

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

Outcome = TypeVar("Outcome")

CHECK_HIDDEN = "Take it out of the file if it does not belong to the table."

EXACT = 1e15
"""Numbers from here on are no longer exact in a spreadsheet."""

MOST_SHEETS = 8
"""Sheets that are offered when it must be asked which one is meant."""

LARGEST_PREVIEW = 16 << 20
"""Bytes that a sheet may take for its first row to be shown."""

MOST_MERGED = 20_000
"""Cells of a merged range that are looked at."""


def read_spreadsheet(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table of one sheet. ``stop``: called with its extent, so that it can raise.

    Rows without any value are left out. Raises :class:`ReadError` for a damaged file, an unknown sheet and a sheet
    without records.
    """
    with extras_by_name():
        from python_calamine import SheetVisibleEnum
    marks = _guard(lambda: examine(data, name, options.sheet, stop), name)
    book = _open(data, name)
    sheets = tuple(book.sheet_names)
    hidden = [one.name for one in book.sheets_metadata if one.visible != SheetVisibleEnum.Visible]
    visible = [sheet for sheet in sheets if sheet not in hidden] or sheets
    title = options.sheet if options.sheet is not None or not sheets else visible[0]
    if options.sheet is None and sheets and title != sheets[0]:
        marks = _guard(lambda: examine(data, name, title, stop), name)
    if title is None or title not in sheets:
        raise ReadError(f"{name} has no sheet {title!r}.", value=title, remedy=f"Its sheets are: {', '.join(sheets)}.")
    if progress is not None:
        progress(0.1, f"Reading the sheet {title}")
    sheet = _sheet(book, name, title)
    rows, places = _filled_rows(sheet)
    skip, problems = _rows_above(rows, places, options)
    rows, places = rows[skip:], places[skip:]
    width = max((len(row) for row in rows), default=0)
    refuse_too_wide(width, name)
    if len(rows) <= options.header:
        raise ReadError(
            f"The sheet {title!r} of {name} has no rows.",
            remedy="Choose another sheet." if len(sheets) > 1 else "Use a table with at least one row.",
        )
    header = [_cell_text(cell) for cell in rows[0]] if options.header else []
    header += [""] * (width - len(header))
    names, repaired = repair_names(header if options.header else [f"column {j + 1}" for j in range(width)])
    problems += (
        repaired
        + _row_problems(title, places)
        + _error_rows(title, places, marks)
        + _cell_problems(title, names, marks, sheet)
    )
    problems += _hidden_problems(title, hidden, names, marks)
    records = rows[1:] if options.header else rows
    questions = _sheet_question(book, data, name, options)
    values: dict[str, Any] = {}
    variables: dict[str, Variable] = {}
    for position, label in enumerate(names):
        column = [row[position] if position < len(row) else "" for row in records]
        column_values = _cell_values(label, column, options)
        values[label] = column_values.values
        problems += column_values.problems
        questions += [column_values.question] if column_values.question else []
        variables |= {label: Variable(dates=column_values.dates)} if column_values.dates else {}
        if progress is not None:
            progress(0.5 + 0.5 * position / width, f"Reading column {label}")
    used = replace(options, sheet=title, skip=places[0])
    return Content(pd.DataFrame(values, copy=False), used, problems, sheets, one_each(questions), variables)


def _open(data: bytes, name: str) -> "CalamineWorkbook":
    from python_calamine import CalamineWorkbook

    return _guard(lambda: CalamineWorkbook.from_filelike(io.BytesIO(data)), name)


def _sheet(book: "CalamineWorkbook", name: str, sheet: str) -> "CalamineSheet":
    return _guard(lambda: book.get_sheet_by_name(sheet), name)


def _guard(step: Callable[[], Outcome], name: str) -> Outcome:
    """Return what a step gives. A panic of the native reader is no Exception, but still a damaged file."""
    try:
        return step()
    except BaseException as error:
        if isinstance(error, (ReadError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)):
            raise
        raise ReadError(
            f"{name} is not a spreadsheet that can be read, or it is damaged or cut off.",
            remedy="Save it again as .xlsx, or as CSV.",
        ) from error


def _filled_rows(sheet: "CalamineSheet") -> tuple[list[list[Any]], list[int]]:
    """Return the rows that hold any value, and the position of each in the sheet."""
    rows, places = [], []
    for position, row in enumerate(sheet.iter_rows()):
        if any(cell != "" for cell in row):
            rows.append(row)
            places.append(position)
    return rows, places


def _rows_above(rows: list[list[Any]], places: list[int], options: ReadOptions) -> tuple[int, list[Problem]]:
    """Return how many filled rows stand above the names of the columns, and what is said of them."""
    if options.skip is None:
        above = lines_above([list(map(_cell_text, row)) for row in rows[:MOST_LINES]]) if options.header else 0
    else:
        above = int(np.searchsorted(places, options.skip))
    text = " ".join(_cell_text(cell) for row in rows[:above] for cell in row if cell != "")
    return above, above_problem(above, text, "row") if above else []


def _row_problems(sheet: str, places: list[int]) -> list[Problem]:
    """Return a problem when rows without any value were left out between others."""
    empty = np.diff(np.array(places))
    gaps = np.flatnonzero(empty > 1)
    if not len(gaps):
        return []
    left_out = int((empty - 1).sum())
    text = f"{left_out:,} rows of the sheet {sheet!r} hold nothing and were left out, the first of them row "
    text += f"{places[int(gaps[0])] + 2:,}; the last row with a value is row {places[-1] + 1:,}."
    return [Problem("warning", text, remedy="Check that what stands below an empty row belongs to the table.")]


def _error_rows(sheet: str, places: list[int], marks: Marks | None) -> list[Problem]:
    """Return a problem for rows in which errors stand and no value: they are left out like rows that hold nothing."""
    rows = sorted({row for row, _, _ in marks.errors if row > places[0]} - set(places)) if marks else []
    if not rows:
        return []
    many = f"{len(rows):,} rows" if len(rows) > 1 else "A row"
    verb = "hold" if len(rows) > 1 else "holds"
    text = f"{many} of the sheet {sheet!r} {verb} errors only and {'were' if len(rows) > 1 else 'was'} left out"
    text += f", the first of them row {rows[0] + 1:,}." if len(rows) > 1 else f": row {rows[0] + 1:,}."
    return [Problem("warning", text, remedy="Correct them in the file, or take them out.")]


def _cell_problems(sheet_name: str, names: list[str], marks: Marks | None, sheet: "CalamineSheet") -> list[Problem]:
    """Return the problems of cells that come back blank though the sheet shows something there."""
    kinds: list[tuple[str, str, list[tuple[int, int, str]]]] = []
    if marks is not None:
        errors = [(row, column, f" ({text})") for row, column, text in marks.errors]
        kinds.append(("an error instead of a value", "Correct it in the file.", errors))
        formulas = [(row, column, "") for row, column in marks.uncomputed]
        remedy = "Open the file in the program that it came from, save it there, and use it again."
        kinds.append(("a formula that was never computed", remedy, formulas))
    merged = [
        (row, column, f" (in {_at(*first)}:{_at(*last)})")
        for first, last in sheet.merged_cell_ranges or ()
        for row, column in _of_range(first, last)
    ]
    kinds.append(("a cell merged with one that holds the value", "Write the value into each cell.", merged))
    problems = []
    for what, remedy, cells in kinds:
        for column in sorted({column for _, column, _ in cells if column < len(names)}):
            here = sorted(cell for cell in cells if cell[1] == column)
            places = ", ".join(_at(row, column) + more for row, _, more in here[:3])
            places += ", …" if len(here) > 3 else ""
            text = f"Column {names[column]!r}: {len(here):,} taken as missing, each {what}: {places}."
            problems.append(Problem("warning", text, names[column], remedy=remedy))
    return problems


def _of_range(first: tuple[int, int], last: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the cells of a merged range but the first, as far as places are shown."""
    cells = []
    for row in range(first[0], min(last[0], first[0] + MOST_MERGED) + 1):
        cells += [(row, column) for column in range(first[1], min(last[1], first[1] + MAX_COLUMNS) + 1)]
    return cells[1 : MOST_MERGED + 1]


def _at(row: int, column: int) -> str:
    return f"{column_letters(column)}{row + 1}"


def _sheet_question(book: "CalamineWorkbook", data: bytes, name: str, options: ReadOptions) -> list[Question]:
    """Return the question which sheet is meant, when none was named and several that are shown hold something."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    titles = [
        sheet.name
        for sheet in book.sheets_metadata
        if sheet.typ == SheetTypeEnum.WorkSheet and sheet.visible == SheetVisibleEnum.Visible
    ]
    if options.sheet is not None or len(titles) < 2:
        return []
    reach = _guard(lambda: extents(data, name, titles[:MOST_SHEETS]), name)
    previews = {title: _preview(book, name, title, reach.get(title)) for title in titles[:MOST_SHEETS]}
    if titles[1:] == [LABEL_SHEET] and (about := previews[LABEL_SHEET]) and about[1] == ", ".join(LABEL_HEAD):
        return []  # a release has the labels of its columns there
    answers = tuple(Answer(title, (("sheet", title),), (sample,)) for title, sample in previews.items() if sample)
    if len(answers) < 2:
        return []
    return [Question("sheet", f"{name} has {len(titles)} sheets: which one holds the table?", answers)]


def _preview(book: "CalamineWorkbook", name: str, title: str, reach: Extent | None) -> tuple[str, str] | None:
    """Return the number of rows of a sheet and what stands in the first; nothing of its cells when it is large."""
    if reach is not None and reach.memory > LARGEST_PREVIEW:
        return f"{reach.rows:,} rows", "(too large to be shown here)"
    sheet = _sheet(book, name, title)
    rows, _ = _filled_rows(sheet)
    first = ", ".join(_cell_text(cell) for cell in rows[0][:6] if cell != "") if rows else ""
    return (f"{len(rows):,} rows", first[:200]) if rows else None


def _hidden_problems(title: str, hidden: list[str], names: list[str], marks: Marks | None) -> list[Problem]:
    """Return a problem for sheets, rows and columns that the workbook does not show."""
    problems = []
    others = [sheet for sheet in hidden if sheet != title]
    if title in hidden:
        problems.append(Problem("warning", f"The sheet {title!r} is hidden in the workbook.", remedy=CHECK_HIDDEN))
    if others:
        many = f"{len(others):,} hidden sheets were" if len(others) > 1 else "A hidden sheet was"
        text = f"{many} not read: {', '.join(map(repr, others[:5]))}{', …' if len(others) > 5 else ''}."
        problems.append(Problem("info", text, remedy="Name the sheet if it holds the table."))
    columns = [names[column] for column in marks.hidden_columns if column < len(names)] if marks else []
    if marks and marks.hidden_rows:
        rows = f"{marks.hidden_rows:,} rows" if marks.hidden_rows > 1 else "A row"
        verb, they = ("are", "they were") if marks.hidden_rows > 1 else ("is", "it was")
        text = f"{rows} of the sheet {title!r} {verb} hidden there; {they} read like the others."
        problems.append(Problem("warning", text, remedy=CHECK_HIDDEN))
    for column in columns:
        text = f"Column {column!r} is hidden in the sheet {title!r}; it was read like the others."
        problems.append(Problem("warning", text, column, remedy=CHECK_HIDDEN))
    return problems


def _cell_values(name: str, cells: list[Any], options: ReadOptions) -> Typed:
    present = [cell for cell in cells if cell != ""]
    if present and all(type(cell) in (int, float) for cell in present):
        numbers = np.array([np.nan if cell == "" else float(cell) for cell in cells])
        problems = infinity_problems(name, numbers) + _inexact(name, numbers)
        if len(present) == len(cells) and np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.floor(numbers)):
            return Typed(numbers.astype(np.int64), problems)
        if len(present) < len(cells):
            blank = len(cells) - len(present)
            text = f"Column {name!r}: {blank:,} of {len(cells):,} values were taken as missing: blank ({blank:,})."
            problems.append(Problem("info", text, name))
        return Typed(numbers, problems)
    texts = pa.array([_cell_text(cell) for cell in cells], pa.large_string())
    encoded = texts.dictionary_encode()
    repeats = 2 * len(encoded.dictionary) <= len(texts)
    return type_column(name, TextColumn.of([encoded]) if repeats else TextColumn(texts, None), Manner(options))


def _inexact(name: str, numbers: np.ndarray[Any, Any]) -> list[Problem]:
    rows = np.flatnonzero(np.abs(numbers) >= EXACT)
    if not len(rows) or np.isinf(numbers[rows]).all():
        return []
    text = f"Column {name!r} holds numbers of more than 15 digits, the first in row {rows[0] + 1:,}."
    remedy = "Spreadsheets keep 15 digits: if they are identifiers, save them as text."
    return [Problem("warning", text, name, int(rows[0]), remedy)]


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
