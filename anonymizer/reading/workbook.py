"""What the parts of a workbook say before its cells are read: how far a sheet reaches, and which cells hold no value.

A reader of spreadsheets gives blanks for errors, for formulas that nobody computed and for merged cells, and allocates
the whole rectangle from A1 to the last cell. So the sheet's XML is looked through first, in pieces.
"""

import html
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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

MOST_COLUMNS = 16_384
"""Columns that a sheet of a workbook has."""

MOST_NAMED = 20_000
"""Cells without a value whose places are kept."""

_REFERENCE = re.compile(rb" r=[\"']([A-Z]{0,3})([0-9]{1,7})[\"']")
_AT = rb"(?>[^<>]*?\br=[\"']([A-Z]{1,3}[0-9]{1,7})[\"'][^<>]*)"
_FORMULA = rb"<(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)"
_ERROR = re.compile(
    rb"<(?:\w+:)?c\s(?=[^<>]*\bt=[\"']e[\"'])" + _AT + rb">(?:\s*" + _FORMULA + rb")?\s*<(?:\w+:)?v>([^<]*)<"
)
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s(?![^<>]*\bt=[\"']str[\"'])" + _AT + rb">\s*" + _FORMULA
    + rb"\s*(?:<(?:\w+:)?v\s*/>\s*|<(?:\w+:)?v>\s*</(?:\w+:)?v>\s*)?</(?:\w+:)?c>"
)  # fmt: skip
_TAG = re.compile(rb"<(/?)(?:\w+:)?(table-row|covered-table-cell|table-cell|table-column|table)(?=[\s>/])([^>]*)>")
_NAME = re.compile(rb"\bname=(?:\"([^\"]*)\"|'([^']*)')")
_HIDDEN = re.compile(rb"visibility=[\"'](?:collapse|filter)[\"']")
_HIDDEN_ROW = re.compile(rb"<(?:\w+:)?row\s[^>]*\bhidden=[\"'](?:1|true)[\"']")
_HIDDEN_COLUMN = re.compile(rb"<(?:\w+:)?col\s(?=[^>]*\bhidden=[\"'](?:1|true)[\"'])[^>]*>")
_SPAN = re.compile(rb"\b(min|max)=[\"']([0-9]{1,5})[\"']")
_REPEATED = re.compile(rb"number-(?:columns|rows)-repeated=[\"']([0-9]{1,9})[\"']")


@dataclass(frozen=True)
class Marks:
    """Cells of a sheet that show something, but hold no value; and what the sheet does not show.

    ``errors``: each (row, column, its text), from 0; ``uncomputed``: formulas, each (row, column). ``hidden_rows``: how
    many rows are hidden; ``hidden_columns``: which columns, from 0.
    """

    errors: tuple[tuple[int, int, str], ...] = ()
    uncomputed: tuple[tuple[int, int], ...] = ()
    hidden_rows: int = 0
    hidden_columns: tuple[int, ...] = ()


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
            raise ReadError(f"{name} is a ZIP archive, not a table.", remedy="Unpack it, and open the table itself.")
        if "content.xml" in parts:
            of_sheets = _examine_ods(_well_formed(_pieces(packed, "content.xml"), name), stop)
            return of_sheets[sheet][1] if sheet in of_sheets else Marks()
        if "xl/workbook.xml" not in parts:
            return None
        sheets = _parts_of_sheets(packed)
        part = sheets.get(next(iter(sheets), "") if sheet is None else sheet, "")
        return _examine_xlsx(_pieces(packed, part), stop) if part in parts else None


def extents(data: bytes, name: str, sheets: Sequence[str]) -> dict[str, Extent]:
    """Return how far each of some sheets reaches, where the file says so; its XML is looked through once.

    Raises what :func:`examine` raises.
    """
    reach: dict[str, Extent] = {}
    if data[:2] != b"PK":
        return reach
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        if "content.xml" in packed.namelist():
            of_sheets = _examine_ods(_well_formed(_pieces(packed, "content.xml"), name), lambda extent: None)
            return {sheet: of_sheets[sheet][0] for sheet in sheets if sheet in of_sheets}
    for sheet in sheets:
        examine(data, name, sheet, partial(reach.__setitem__, sheet))
    return reach


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
    hidden_rows, hidden_columns = 0, set[int]()
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
        if b"hidden=" in text:
            hidden_rows += len(_HIDDEN_ROW.findall(text))
            for element in _HIDDEN_COLUMN.findall(text):
                span = {end: int(number) for end, number in _SPAN.findall(element)}
                hidden_columns.update(range(span.get(b"min", 1) - 1, min(span.get(b"max", 0), MOST_COLUMNS)))
        del errors[MOST_NAMED:], uncomputed[MOST_NAMED:]
        stop(_extent(rows, columns, cells))
    return Marks(tuple(errors), tuple(uncomputed), hidden_rows, tuple(sorted(hidden_columns)))


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


def _examine_ods(pieces: Iterator[bytes], stop: Callable[[Extent], None]) -> dict[str | None, tuple[Extent, Marks]]:
    """Return how far each sheet reaches and what is hidden there, by its name, and the first by ``None``, too.

    ``stop``: called with the extent of all together, for they are read at once.
    """
    of_sheets: dict[str | None, tuple[Extent, Marks]] = {}
    before, sheet, title = Extent(0, 0, 0, 0), _OdsSheet(), ""
    for text in _whole(pieces, b">"):
        for closing, tag, attributes in _TAG.findall(text):
            if tag != b"table":
                sheet.take(tag, bool(closing), attributes)
            elif closing:
                of_sheets.setdefault(None, (sheet.extent, sheet.marks))
                of_sheets.setdefault(title, (sheet.extent, sheet.marks))
            else:
                before, sheet = _both(before, sheet.extent), _OdsSheet()
                name = _NAME.search(attributes)
                title = html.unescape((name[1] or name[2] or b"").decode("utf-8", "replace")) if name else ""
        stop(_both(before, sheet.extent))
    return of_sheets


def _both(one: Extent, other: Extent) -> Extent:
    """Return the extent of two sheets that are read together."""
    rows, columns = max(one.rows, other.rows), max(one.columns, other.columns)
    return Extent(rows, columns, one.cells + other.cells, one.memory + other.memory)


class _OdsSheet:
    """What the elements of a sheet of OpenDocument say, one after the other."""

    def __init__(self) -> None:
        self.rows = self.columns = self.cells = 0
        self.row = self.width = self.filled = self.column = 0
        self.repeat, self.hidden = 1, False
        self.hidden_rows, self.hidden_columns = 0, list[int]()

    @property
    def extent(self) -> Extent:
        """How far it reaches."""
        return _extent(self.rows, self.columns, self.cells)

    @property
    def marks(self) -> Marks:
        """What it does not show."""
        columns = tuple(column for column in self.hidden_columns if column < self.columns)
        return Marks(hidden_rows=self.hidden_rows, hidden_columns=columns)

    def take(self, tag: bytes, closing: bool, attributes: bytes) -> None:
        """Take the next element."""
        if tag == b"table-column" and not closing:
            times = min(_times(attributes), MOST_COLUMNS)
            if _HIDDEN.search(attributes):
                self.hidden_columns += range(self.column, self.column + times)
            self.column += times
        elif tag == b"table-row":
            if not closing:
                self.width, self.filled, self.repeat = 0, 0, _times(attributes)
                self.hidden = bool(_HIDDEN.search(attributes))
            if closing or attributes.endswith(b"/"):
                self.row += self.repeat
                if self.filled:
                    self.rows, self.columns = self.row, max(self.columns, self.filled)
                    self.cells += self.filled * self.repeat
                    self.hidden_rows += self.repeat * self.hidden
        elif tag != b"table-column" and not closing:
            self.width += _times(attributes)
            if b"value-type=" in attributes or not attributes.endswith(b"/"):
                self.filled = self.width


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
