"""A released workbook, as the checker reads it: one sheet of plain cells, and one of labels where columns have such.

This is the only form in which a release is a workbook; what else one can hold (hidden columns, comments, names,
properties, formulas) is refused.
"""

import hashlib
import html
import re
from collections.abc import Mapping
from typing import NoReturn

import pandas as pd

from anonymizer.cells import is_number, kept_text, kept_value
from anonymizer.errors import ReadError

SHEET, SECOND = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
"""The sheet of the rows, and that of the labels."""
PARTS = (
    "a25f4051861be752132e2a0f771c64745f0680d6daef77afa8c2f725f5266d62",
    "bdd1ad7cf1a0befb660691be780e179df2daef0dee5ae843f8abd5e37a6008ba",
)
"""The SHA-256 of all other parts: of a workbook of rows alone, and of one with labels."""
LABEL_HEAD, LABEL_KINDS = ("column", "what", "code", "label"), ("variable label", "value label", "missing value")
"""The first row of the sheet of labels, and what its rows tell, in their order."""
START = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
)
END = "</sheetData></worksheet>"
_ROW = re.compile(r"<row>((?:<c/>|<c><v>[^<>&]+</v></c>|<c t=\"inlineStr\"><is><t>[^<>]+</t></is></c>)+)</row>\n")
_CELL = re.compile(r"<c/>|<c><v>([^<>&]+)</v></c>|<c t=\"inlineStr\"><is><t>([^<>]+)</t></is></c>")
_TEXT = re.compile(
    r"(?:[^&<>_\x00-\x1f\x7f-\x9f\ufffe\uffff]++|&(?:amp|lt|gt);|_x(?:00[0189][0-9A-F]|007F|FFF[EF])_"
    r"|_x005F_(?=x[0-9A-Fa-f]{4}_)|_(?!x[0-9A-Fa-f]{4}_))++"
)
"""What stands in a cell of text, one way: control characters by their number, three letters as XML asks, all else
plain."""
_NUMBERED = re.compile(r"_x([0-9A-F]{4})_")


def workbook_rows(members: Mapping[str, bytes]) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Return the rows of a workbook by its parts, what is in its sheet of labels that no row needs, a sentence each,
    and how the filled cells of each column are stored: "number", "text" or "both".

    Raises :class:`ReadError` for a workbook of another form.
    """
    names = [name for name in (SHEET, SECOND) if name in members]
    others = (name.encode() + b"\0" + members[name] + b"\0" for name in sorted(members) if name not in names)
    try:
        sheets = {name: members[name].decode() for name in names}
    except UnicodeDecodeError:
        refuse_workbook()
    if SHEET not in sheets or hashlib.sha256(b"".join(others)).hexdigest() != PARTS[SECOND in sheets]:
        refuse_workbook()
    stored: list[set[str]] = []
    head, *rows = _rows(sheets[SHEET], stored)
    if len(set(head)) != len(head) or None in head:
        refuse_workbook()
    columns = {
        kept_value(str(name)): pd.Categorical(list(cells))
        for name, cells in zip(head, zip(*rows, strict=True) if rows else [()] * len(head), strict=True)
    }
    frame = pd.DataFrame(columns)
    ways = {name: "both" if len(way) > 1 else way.pop() for name, way in zip(columns, stored, strict=True) if way}
    return frame, _beside_labels(_rows(sheets[SECOND], []), frame) if SECOND in sheets else [], ways


def _rows(sheet: str, stored: list[set[str]]) -> list[list[str | None]]:
    """Return the rows of a sheet of plain cells, at least one, all of one width. ``stored``: takes how the cells of
    each column below the head are stored."""
    if not (sheet.startswith(START) and sheet.endswith(END)):
        refuse_workbook()
    rows: list[list[tuple[str, str]]] = []
    place, end = len(START), len(sheet) - len(END)
    while place < end:
        row = _ROW.match(sheet, place, end)
        if row is None:
            refuse_workbook()
        rows.append(_CELL.findall(row[1]))
        place = row.end()
    if not rows or len({len(row) for row in rows}) != 1:
        refuse_workbook()
    below = [set(column) for column in zip(*rows[1:], strict=True)] or [set() for _ in rows[0]]
    stored += [{"number" if number else "text" for number, text in cells if number or text} for cells in below]
    texts = {cell: _cell_text(*cell) for cell in {*rows[0]}.union(*below)}
    return [[texts[cell] for cell in row] for row in rows]


def _beside_labels(rows: list[list[str | None]], frame: pd.DataFrame) -> list[str]:
    """Return what a sheet of labels holds beside one label of each column and of each of its codes, in their order."""
    head, *entries = [[None if text is None else kept_value(text) for text in row] for row in rows]
    spelled = all(text is None or _label_text(kept_value(text)) == text for row in rows for text in row)
    if tuple(head) != LABEL_HEAD or not entries or not spelled:
        return ["The sheet of labels is not written as releases are."]
    sentences, before = [], None
    places = {name: at for at, name in enumerate(frame.columns)}
    cells = {name: {kept_value(text) for text in frame[name].cat.categories} for name in frame.columns}
    for name, kind, code, label in entries:
        if name not in places or kind not in LABEL_KINDS or not label or (kind == LABEL_KINDS[0]) != (code is None):
            return ["The sheet of labels is not written as releases are."]
        order = (places[name], LABEL_KINDS.index(kind), *_place_of(code or ""))
        if before is not None and order <= before:
            return ["The sheet of labels is not in the order in which releases have it."]
        before = order
        if code is not None and not {code, label} & cells[name]:
            sentences.append(f"Column {name!r} has labels of codes that no row has.")
    return list(dict.fromkeys(sentences))


def _place_of(code: str) -> tuple[float, str]:
    """Return what codes of a column stand in the order of: numbers by their size, texts behind them."""
    number = re.fullmatch(r"-?\d{1,300}(\.\d{1,20})?(e[+-]?\d{1,2})?", code)
    return float(code) if number else float("inf"), code


def _label_text(text: str) -> str:
    """Return how a text has to stand in the sheet of labels: a number bare, all else as CSV has it."""
    return text if is_number(text) else kept_text(text)


def _cell_text(number: str, text: str) -> str | None:
    """Return what a cell of a sheet says, ``None`` where it is empty."""
    if number:
        return number if is_number(number) else refuse_workbook()
    if not text:
        return None
    if not _TEXT.fullmatch(text):
        refuse_workbook()
    return _NUMBERED.sub(lambda code: chr(int(code[1], 16)), html.unescape(text))


def refuse_workbook() -> NoReturn:
    """Raise the :class:`ReadError` of a workbook of another form."""
    raise ReadError(
        "This workbook is not one of plain cells in a single sheet, and their labels, as releases are written: sheets, "
        "columns, comments, names and properties can be hidden in it.",
        remedy="Use the file as it was downloaded, not as a spreadsheet program saved it.",
    )
