"""A released workbook, as the checker reads it: one sheet of plain cells, and one of labels where columns have such.

This is the only form in which a release is a workbook; what else one can hold (hidden columns, comments, names,
properties, formulas) is refused.
"""

import html
import re
from collections.abc import Mapping
from typing import NoReturn

import pandas as pd

from anonymizer.cells import is_number, kept_text, kept_value
from anonymizer.errors import ReadError
from anonymizer.labelled.variable import LABEL_HEAD, LABEL_KINDS, LABEL_SHEET, label_order

SHEET, SECOND = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
"""The sheet of the rows, and that of the labels."""
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/"
_MAIN = f"{_OFFICE}spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_LINKS = f'{_XML}<Relationships xmlns="{_OFFICE}package/2006/relationships">'
_SHEET_LINK = f"{_OFFICE}officeDocument/2006/relationships/worksheet"
SHEET_START = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'
SHEET_END = "</sheetData></worksheet>"
_ROW = re.compile(r"<row>((?:<c/>|<c><v>[^<>&]+</v></c>|<c t=\"inlineStr\"><is><t>[^<>]+</t></is></c>)+)</row>\n")
_CELL = re.compile(r"<c/>|<c><v>([^<>&]+)</v></c>|<c t=\"inlineStr\"><is><t>([^<>]+)</t></is></c>")
_HIDDEN_LETTER = re.compile(r"_x([0-9A-F]{4})_")


def book_parts(labels: bool) -> dict[str, str]:
    """Return all parts of a workbook but its sheets: of one, or of two with that of the ``labels``."""
    sheets = {SHEET: "release"} | ({SECOND: LABEL_SHEET} if labels else {})
    types = "".join(f'<Override PartName="/{part}" ContentType="{_TYPE}.worksheet+xml"/>' for part in sheets)
    numbered = list(enumerate(sheets.items(), 1))
    links = "".join(
        f'<Relationship Id="r{at}" Type="{_SHEET_LINK}" Target="{part.removeprefix("xl/")}"/>'
        for at, (part, _) in numbered
    )
    names = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, (_, name) in numbered)
    return {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_OFFICE}package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        f'PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'{_LINKS}<Relationship Id="r1" Type="{_OFFICE}officeDocument/2006/relationships/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f"{_LINKS}{links}</Relationships>",
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" '
        f'xmlns:r="{_OFFICE}officeDocument/2006/relationships"><sheets>{names}</sheets></workbook>',
    }


def workbook_rows(members: Mapping[str, bytes]) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Return the rows of a workbook by its parts, what is in its sheet of labels that no row needs, a sentence each,
    and how the filled cells of each column are stored: "number", "text" or "both".

    Raises :class:`ReadError` for a workbook of another form.
    """
    sheets = {name: members[name].decode("utf-8", "replace") for name in (SHEET, SECOND) if name in members}
    parts = {name: content.decode("utf-8", "replace") for name, content in members.items() if name not in sheets}
    if SHEET not in sheets or parts != book_parts(SECOND in sheets):
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
    if not (sheet.startswith(SHEET_START) and sheet.endswith(SHEET_END)):
        refuse_workbook()
    rows: list[list[str | None]] = []
    place, end = len(SHEET_START), len(sheet) - len(SHEET_END)
    while place < end:
        row = _ROW.match(sheet, place, end)
        if row is None:
            refuse_workbook()
        cells = _CELL.findall(row[1])
        if not rows:
            stored += [set() for _ in cells]
        else:
            for ways, (number, text) in zip(stored, cells, strict=False):
                if number or text:
                    ways.add("number" if number else "text")
        rows.append([_cell_text(number, text) for number, text in cells])
        place = row.end()
    if not rows or len({len(row) for row in rows}) != 1:
        refuse_workbook()
    return rows


def _beside_labels(rows: list[list[str | None]], frame: pd.DataFrame) -> list[str]:
    """Return what a sheet of labels holds beside one label of each column and of each of its codes, in their order."""
    head, *entries = [[None if text is None else kept_value(text) for text in row] for row in rows]
    spelled = all(text is None or label_text(kept_value(text)) == text for row in rows for text in row)
    if tuple(head) != LABEL_HEAD or not entries or not spelled:
        return ["The sheet of labels is not written as releases are."]
    sentences, before = [], None
    places = {name: at for at, name in enumerate(frame.columns)}
    cells = {name: {kept_value(text) for text in frame[name].cat.categories} for name in frame.columns}
    for name, kind, code, label in entries:
        if name not in places or kind not in LABEL_KINDS or not label or (kind == LABEL_KINDS[0]) != (code is None):
            return ["The sheet of labels is not written as releases are."]
        order = (places[name], label_order(kind, code or ""))
        if before is not None and order <= before:
            return ["The sheet of labels is not in the order in which releases have it."]
        before = order
        if code is not None and not {code, label} & cells[name]:
            sentences.append(f"Column {name!r} has labels of codes that no row has.")
    return list(dict.fromkeys(sentences))


def label_text(text: str) -> str:
    """Return a text as it stands in the sheet of labels, one way: a number bare, all else as CSV has it."""
    return text if is_number(text) else kept_text(text)


def _cell_text(number: str, text: str) -> str | None:
    """Return what a cell of a sheet says, ``None`` where it is empty."""
    if number:
        return number if is_number(number) else refuse_workbook()
    if not text:
        return None
    letters = _HIDDEN_LETTER.sub(lambda code: chr(int(code[1], 16)), html.unescape(text))
    return letters if sheet_text(letters) == text else refuse_workbook()


def sheet_text(text: str) -> str:
    """Return a text as it stands in a cell of a sheet, one way: control characters by their number, all else plain."""
    numbered = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x1f\x7f-\x9f\ufffe\uffff]", _numbered, text)
    return html.escape(numbered, quote=False)


def _numbered(letter: "re.Match[str]") -> str:
    return f"_x{ord(letter[0]):04X}_"


def refuse_workbook() -> NoReturn:
    """Raise the :class:`ReadError` of a workbook of another form."""
    raise ReadError(
        "This workbook is not one of plain cells in a single sheet, and their labels, as releases are written: sheets, "
        "columns, comments, names and properties can be hidden in it.",
        remedy="Bring the file as it was downloaded, not as a spreadsheet program saved it.",
    )
