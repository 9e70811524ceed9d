"""Write a release as a workbook: plain cells, and a sheet of labels where its columns have such."""

import html
import re
from collections.abc import Iterator, Sequence

from anonymizer.cells import is_number, kept_text
from anonymizer.labelled.variable import LABEL_HEAD, LABEL_SHEET, Variable
from anonymizer.releasing.files import archive

SHEET_ROWS, SHEET_COLUMNS, SHEET_TEXT = (1 << 20) - 1, 1 << 14, 32_767
"""Records, columns and letters of a cell that a sheet of a workbook has room for."""
EMPTY = "<c/>"
ROWS, LABELS = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
"""The parts of a workbook that are its sheets."""
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/"
_MAIN = f"{_OFFICE}spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_LINKS = f'{_XML}<Relationships xmlns="{_OFFICE}package/2006/relationships">'
_SHEET_LINK = f"{_OFFICE}officeDocument/2006/relationships/worksheet"
_START = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'
_END = "</sheetData></worksheet>"


def workbook_bytes(
    names: Sequence[str], columns: Sequence[Sequence[str]], labels: Sequence[tuple[str, str, str, str]]
) -> bytes:
    """Return a workbook of columns of cells as :func:`sheet_cell` gives them, and of their ``labels``."""
    sheets = {ROWS: _sheet([sheet_cell(kept_text(name)) for name in names], zip(*columns, strict=True))}
    if labels:
        rows = ([sheet_cell(_label_text(text)) if text else EMPTY for text in row] for row in labels)
        sheets[LABELS] = _sheet(list(map(sheet_cell, LABEL_HEAD)), iter(rows))
    return archive({name: text.encode() for name, text in (_book_parts(bool(labels)) | sheets).items()})


def label_rows(name: str, variable: Variable, texts: set[str]) -> list[tuple[str, str, str, str]]:
    """Return the rows of a column in the sheet of labels: its own, and those of its codes that some cell has.
    ``texts``: its cells."""
    rows = [(name, *entry) for entry in variable.entries(texts)]
    return [row for row in rows if all(len(_label_text(text)) <= SHEET_TEXT for text in row)]


def sheet_cell(text: str, as_number: bool = False) -> str:
    """Return a cell as it stands in a sheet: a number, or text, which is never a formula."""
    if as_number and is_number(text):
        return f"<c><v>{text}</v></c>"
    return f'<c t="inlineStr"><is><t>{_sheet_text(text)}</t></is></c>'


def _sheet(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    body = (f"<row>{''.join(row)}</row>\n" for row in rows)
    return "".join([_START, f"<row>{''.join(head)}</row>\n", *body, _END])


def _book_parts(labels: bool) -> dict[str, str]:
    """Return all parts of a workbook but its sheets: of one, or of two with that of the ``labels``."""
    sheets = {ROWS: "release"} | ({LABELS: LABEL_SHEET} if labels else {})
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


def _label_text(text: str) -> str:
    """Return a text as it stands in the sheet of labels, one way: a number bare, all else as CSV has it."""
    return text if is_number(text) else kept_text(text)


def _sheet_text(text: str) -> str:
    """Return a text as it stands in a cell of a sheet, one way: control characters by their number, all else plain."""
    numbered = re.sub(
        r"_(?=x[0-9A-Fa-f]{4}[_\x00-\x1f\x7f-\x9f\ufffe\uffff])|[\x00-\x1f\x7f-\x9f\ufffe\uffff]", _numbered, text
    )
    return html.escape(numbered, quote=False)


def _numbered(letter: "re.Match[str]") -> str:
    return f"_x{ord(letter[0]):04X}_"
