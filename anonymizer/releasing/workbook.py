"""Write a release as a workbook: plain cells, and a sheet of labels where its columns have such."""

from collections.abc import Iterator, Sequence

from anonymizer.cells import is_number, kept_text
from anonymizer.checking.workbook_file import SECOND, SHEET, SHEET_END, SHEET_START, book_parts, label_text, sheet_text
from anonymizer.labelled.variable import LABEL_HEAD, Variable
from anonymizer.releasing.files import archive

SHEET_ROWS, SHEET_COLUMNS, SHEET_TEXT = (1 << 20) - 1, 1 << 14, 32_767
"""Records, columns and letters of a cell that a sheet of a workbook has room for."""
EMPTY = "<c/>"


def workbook_bytes(
    names: Sequence[str], columns: Sequence[Sequence[str]], labels: Sequence[tuple[str, str, str, str]]
) -> bytes:
    """Return a workbook of columns of cells as :func:`sheet_cell` gives them, and of their ``labels``."""
    sheets = {SHEET: _sheet([sheet_cell(kept_text(name)) for name in names], zip(*columns, strict=True))}
    if labels:
        rows = ([sheet_cell(label_text(text)) if text else EMPTY for text in row] for row in labels)
        sheets[SECOND] = _sheet(list(map(sheet_cell, LABEL_HEAD)), iter(rows))
    return archive({name: text.encode() for name, text in (book_parts(bool(labels)) | sheets).items()})


def label_rows(name: str, variable: Variable, texts: set[str]) -> list[tuple[str, str, str, str]]:
    """Return the rows of a column in the sheet of labels: its own, and those of its codes that some cell has.
    ``texts``: its cells."""
    rows = [(name, *entry) for entry in variable.entries(texts)]
    return [row for row in rows if all(len(label_text(text)) <= SHEET_TEXT for text in row)]


def sheet_cell(text: str, as_number: bool = False) -> str:
    """Return a cell as it stands in a sheet: a number, or text, which is never a formula."""
    if as_number and is_number(text):
        return f"<c><v>{text}</v></c>"
    return f'<c t="inlineStr"><is><t>{sheet_text(text)}</t></is></c>'


def _sheet(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    body = (f"<row>{''.join(row)}</row>\n" for row in rows)
    return "".join([SHEET_START, f"<row>{''.join(head)}</row>\n", *body, SHEET_END])
