"""What the parts of a workbook say before its cells are read: how far a sheet reaches, and which cells hold no value.

A reader of spreadsheets gives blanks for errors, for formulas that nobody computed and for merged cells, and allocates
the whole rectangle from A1 to the last cell. So the sheet's XML is looked through first, in pieces.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.parsers import expat

from anonymizer.errors import ReadError
from anonymizer.reading.options import Extent

PIECE = 1 << 20
"""Bytes that are unpacked at once."""

CELL = 24
"""Bytes that the reader of spreadsheets allocates for each cell of the rectangle, filled or not."""

FILLED = 32
"""Bytes that a filled cell takes beside that, at least."""

LARGEST_INDEX = 16 << 20
"""Bytes of the largest list of sheets that is read."""

LONGEST_ROW = 64 << 20
"""Bytes of a row after which it is looked at in parts."""

MOST_NAMED = 20_000
"""Cells without a value whose places are kept."""

_REFERENCE = re.compile(rb" r=[\"']([A-Z]{0,3})([0-9]{1,7})[\"']")
_AT = rb"\br=[\"']([A-Z]{1,3}[0-9]{1,7})[\"'][^>]*"
_FORMULA = rb"<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)"
_ERROR = re.compile(
    rb"<(?:\w+:)?c\s(?=[^>]*\bt=[\"']e[\"'])[^>]*?" + _AT + rb">(?:\s*" + _FORMULA + rb")?\s*<(?:\w+:)?v>([^<]*)<"
)
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s(?![^>]*\bt=[\"']str[\"'])[^>]*?" + _AT + rb">\s*" + _FORMULA
    + rb"\s*(?:<(?:\w+:)?v\s*/>\s*|<(?:\w+:)?v>\s*</(?:\w+:)?v>\s*)?</(?:\w+:)?c>"
)  # fmt: skip
_TAG = re.compile(rb"<(/?)(?:\w+:)?(table-row|covered-table-cell|table-cell)(?=[\s>/])([^>]*)>")
_REPEATED = re.compile(rb"number-(?:columns|rows)-repeated=[\"']([0-9]{1,9})[\"']")


@dataclass(frozen=True)
class Marks:
    """Cells of a sheet that show something, but hold no value.

    ``errors``: each (row, column, its text), from 0; ``uncomputed``: formulas, each (row, column).
    """

    errors: tuple[tuple[int, int, str], ...] = ()
    uncomputed: tuple[tuple[int, int], ...] = ()


def examine(data: bytes, name: str, sheet: str | None, stop: Callable[[Extent], None]) -> Marks | None:
    """Return what the XML of a sheet says, the first one by default; ``None`` where there is none (.xls, .xlsb).

    ``stop``: called with the extent as far as it is known, so that it can raise before the rest is unpacked. Of
    OpenDocument it is that of all sheets together, for they are read at once.
    Raises :class:`ReadError` for an archive that is no workbook.
    """
    if data[:2] != b"PK":
        return None
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = set(packed.namelist())
        if not parts & {"[Content_Types].xml", "content.xml", "mimetype"}:
            raise ReadError(f"{name} is a ZIP archive, not a table.", remedy="Unpack it, and bring the table itself.")
        if "content.xml" in parts:
            return _examine_ods(_well_formed(_pieces(packed, "content.xml"), name), stop)
        if "xl/workbook.xml" not in parts:
            return None
        sheets = _parts_of_sheets(packed)
        part = sheets.get(next(iter(sheets), "") if sheet is None else sheet, "")
        return _examine_xlsx(_pieces(packed, part), stop) if part in parts else None


def _pieces(packed: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    with packed.open(part) as unpacked:
        while piece := unpacked.read(PIECE):
            yield piece


def _well_formed(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the pieces, each when it was parsed: of torn XML the reader of spreadsheets looks for the end for ever."""
    parser = expat.ParserCreate()
    try:
        for piece in pieces:
            parser.Parse(piece, False)
            yield piece
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ReadError(f"{name} is damaged or cut off: {error}.", remedy="Save it again, or as CSV.") from error


def _parts_of_sheets(packed: zipfile.ZipFile) -> dict[str, str]:
    """Return the part of each worksheet, by the name of the sheet."""
    relations = {
        relation.get("Id"): posixpath.normpath(posixpath.join("xl", relation.get("Target", ""))).lstrip("/")
        if not relation.get("Target", "").startswith("/")
        else relation.get("Target", "").lstrip("/")
        for relation in _index(packed, "xl/_rels/workbook.xml.rels").iter()
        if relation.get("Id")
    }
    sheets = {}
    for element in _index(packed, "xl/workbook.xml").iter():
        if element.tag.rpartition("}")[2] == "sheet":
            marks = [value for key, value in element.attrib.items() if key.endswith("}id")]
            sheets[element.get("name", "")] = relations.get(marks[0], "") if marks else ""
    return sheets


def _index(packed: zipfile.ZipFile, part: str) -> ElementTree.Element:
    with packed.open(part) as unpacked:
        text = unpacked.read(LARGEST_INDEX)
    return ElementTree.fromstring(text)


def _examine_xlsx(pieces: Iterator[bytes], stop: Callable[[Extent], None]) -> Marks:
    rows = columns = cells = 0
    errors: list[tuple[int, int, str]] = []
    uncomputed: list[tuple[int, int]] = []
    for text in _whole(pieces, b"row>"):
        for row in text.split(b"row>")[:-1]:
            here = row.count(b"</c>") + row.count(b":c>")  # with a prefix, as some programs write them
            last = _REFERENCE.match(row, row.rfind(b" r=")) if b" r=" in row else None
            if not here and last is None:  # what stands before the first row, or between two
                continue
            rows = max(rows + 1, int(last[2]) if last else 0)
            columns = max(columns, here, column_number(last[1]) if last else 0)
            cells += here
        if b'"e"' in text or b"'e'" in text:
            errors += [(*place(at.decode()), words.decode("utf-8", "replace")) for at, words in _ERROR.findall(text)]
        formulas = text.count(b"<f>") + text.count(b"<f ") + text.count(b":f>") + text.count(b":f ")
        if formulas > text.count(b"</f><v>") + text.count(b"/><v>") - text.count(b"<v></v>"):
            uncomputed += [place(at.decode()) for at in _UNCOMPUTED.findall(text)]
        del errors[MOST_NAMED:], uncomputed[MOST_NAMED:]
        stop(_extent(rows, columns, cells))
    return Marks(tuple(errors), tuple(uncomputed))


def _whole(pieces: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Yield the pieces, cut behind the last ``end`` in each, so that no element is torn."""
    rest = b""
    for piece in pieces:
        text = rest + piece
        cut = text.rfind(end) + len(end)
        if cut < len(end) and len(text) < LONGEST_ROW:
            rest = text
            continue
        cut = cut if cut >= len(end) else len(text)
        yield text[:cut]
        rest = text[cut:]
    yield rest


def _examine_ods(pieces: Iterator[bytes], stop: Callable[[Extent], None]) -> Marks:
    rows = columns = cells = 0
    row = width = filled = 0
    repeat = 1
    for text in _whole(pieces, b">"):
        for closing, tag, attributes in _TAG.findall(text):
            if tag == b"table-row" and not closing:
                width, filled, repeat = 0, 0, _times(attributes)
            if tag == b"table-row" and (closing or attributes.endswith(b"/")):
                row += repeat
                if filled:
                    rows, columns, cells = row, max(columns, filled), cells + filled * repeat
            elif tag != b"table-row" and not closing:
                width += _times(attributes)
                if b"value-type=" in attributes or not attributes.endswith(b"/"):
                    filled = width
        stop(_extent(rows, columns, cells))
    return Marks()


def _times(attributes: bytes) -> int:
    repeated = _REPEATED.search(attributes)
    return int(repeated[1]) if repeated else 1


def _extent(rows: int, columns: int, cells: int) -> Extent:
    return Extent(rows, columns, cells, rows * columns * CELL + cells * FILLED)


def column_number(letters: bytes) -> int:
    """Return the number of a column (from 1) by its letters: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def column_letters(column: int) -> str:
    """Return the letters of a column by its position (from 0)."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def place(reference: str) -> tuple[int, int]:
    """Return row and column (from 0) of a cell such as B7."""
    letters = reference.rstrip("0123456789")
    return int(reference[len(letters) :]) - 1, column_number(letters.encode()) - 1
