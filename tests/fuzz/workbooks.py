"""Workbooks of every kind of cell, changed in cells and structure, and what stands in them by a reader of its own.

The reader follows the standards (ECMA-376, OpenDocument 1.2) on the plain XML tree and shares nothing with Copse. What
they leave open, or forbid, raises :class:`Unclear`: such a file must only end well.
"""

import copy
import io
import random
import re
import zipfile
from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree as Tree

from tests.hostile.make import xlsx

Chance = random.Random
Grid = list[list[Any]]
"""Rows of cells: ``None`` for nothing, a number, text, ``bool``, ``datetime``, ``timedelta``, or :class:`Fault`."""

XML = "{http://www.w3.org/XML/1998/namespace}"
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SPACES = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "table", "text")}
OFFICE, TABLE, TEXT = (f"{{{SPACES[name]}}}" for name in ("office", "table", "text"))
DATES = {14, 22, 164, 165}
"""Numbers of formats that show a date; the last two are declared in the styles."""
TIMES = {46, 20}
FORMATS = (0, 2, 10, 14, 22, 164, 165, 166)
"""Of each style of the workbook: plain numbers, shares, dates, and one whose quoted text holds the letters of dates."""
WORDS = (
    "Ulm",
    "0012",
    "x & y",
    "12e4",
    "a,b",
    "Köln",
    "two\nlines",
    "1,234",
    "2021-03-04",
    "3.5",
    "NA",
    "_x0041_",
    "_x005F_x0041_",
    "a_x000D_\nb",
    "_x0007_",
)


class Unclear(Exception):
    """A file of which the standard does not say what stands in it."""


class Fault(str):
    """The error that a cell shows instead of a value."""


# Workbooks of Excel.


def xlsx_book(r: Chance) -> bytes:
    """A workbook of Excel with all kinds of cells, some of its XML changed so that it stays a workbook."""
    shared = [r.choice(WORDS) for _ in range(4)]
    sheet = Tree.Element(f"{MAIN}worksheet")
    data = Tree.SubElement(sheet, f"{MAIN}sheetData")
    width = r.randint(1, 4)
    kinds = [["blank"] * (r.random() < 0.3) + r.choices(list(XLSX_CELLS), k=r.choice((1, 1, 2))) for _ in range(width)]
    place = 1
    for row in range(r.randint(2, 9)):
        place += 1 + (r.random() < 0.05) * r.randint(1, 3)
        element = Tree.SubElement(data, f"{MAIN}row", {"r": str(place)} if r.random() < 0.9 else {})
        referred = r.random() < 0.9 and "r" in element.attrib
        for at in range(width):
            cell = XLSX_CELLS["shared" if row == 0 else r.choice(kinds[at])](r)
            if cell is None:
                if not referred:
                    Tree.SubElement(element, f"{MAIN}c")
                continue
            if referred:
                cell.set("r", f"{'ABCDEFG'[at]}{place}")
            element.append(cell)
    change_tree(r, data, ("r", "s", "t"))
    strings = Tree.Element(f"{MAIN}sst")
    for text in shared:
        strings.append(string_item(r, "si", text))
    plain, prefix = xlsx({"S": [["x"]]}), r.random() < 0.3
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain)) as source, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in source.namelist():
            content = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = xml(sheet, prefix)
            elif name == "xl/workbook.xml" and r.random() < 0.3:
                content = content.replace(b"<sheets>", b'<workbookPr date1904="1"/><sheets>')
            elif name == "xl/_rels/workbook.xml.rels":
                content = content.replace(
                    b"</Relationships>",
                    b'<Relationship Id="ss" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
                    b'sharedStrings" Target="sharedStrings.xml"/></Relationships>',
                )
            elif name == "xl/styles.xml":
                content = styles()
            packed.writestr(name, content)
        packed.writestr("xl/sharedStrings.xml", xml(strings, prefix))
    return sink.getvalue()


def xml(top: Tree.Element, prefix: bool) -> bytes:
    """A part of the workbook; with a prefix before every name, as some programs write it, or without."""
    text = Tree.tostring(top, "utf-8")
    return text if prefix else text.replace(b"xmlns:ns0=", b"xmlns=").replace(b"ns0:", b"")


def styles() -> bytes:
    """The styles of the workbook: one for each of :data:`FORMATS`."""
    return (
        f'<styleSheet xmlns="{MAIN[1:-1]}"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
        '<numFmt numFmtId="165" formatCode="[$-407]d/ mmm yy;@"/>'
        '<numFmt numFmtId="166" formatCode="0&quot; days&quot;;[Red]\\-0"/></numFmts><cellXfs>'
        + "".join(f'<xf numFmtId="{number}"/>' for number in FORMATS) + "</cellXfs></styleSheet>"
    ).encode()  # fmt: skip


def string_item(r: Chance, tag: str, text: str) -> Tree.Element:
    """A text of the workbook, at times in pieces, with phonetic hints that are no part of it."""
    item = Tree.Element(MAIN + tag)
    if r.random() < 0.3 and "_" not in text:
        for piece in (text[:2], text[2:]):
            part = Tree.SubElement(Tree.SubElement(item, f"{MAIN}r"), f"{MAIN}t", {f"{XML}space": "preserve"})
            part.text = piece
        Tree.SubElement(Tree.SubElement(item, f"{MAIN}rPh", {"sb": "0", "eb": "1"}), f"{MAIN}t").text = "hint"
    else:
        Tree.SubElement(item, f"{MAIN}t").text = text
    return item


def xlsx_cell(text: Any = None, formula: str = "", **marks: str) -> Tree.Element:
    """A cell of a sheet."""
    cell = Tree.Element(f"{MAIN}c", marks)
    if formula:
        Tree.SubElement(cell, f"{MAIN}f").text = formula
    if text is not None:
        Tree.SubElement(cell, f"{MAIN}v").text = str(text)
    return cell


def inline(r: Chance) -> Tree.Element:
    """A cell that holds its text itself."""
    cell = xlsx_cell(t="inlineStr")
    cell.append(string_item(r, "is", r.choice(WORDS)))
    return cell


XLSX_CELLS: dict[str, Any] = {
    "blank": lambda r: None,
    "styled": lambda r: xlsx_cell(s="2"),
    "whole": lambda r: xlsx_cell(r.choice((0, 1, -7, 10**10, 123456789012345, 2**60))),
    "point": lambda r: xlsx_cell(r.choice(("2.5", "1E-3", "-0.25", "1.0", "0.1", "1e5", "12345.678"))),
    "share": lambda r: xlsx_cell(r.choice(("0.25", "3")), s=r.choice(("1", "2", "7"))),
    "shared": lambda r: xlsx_cell(r.randrange(4), t="s"),
    "inline": inline,
    "formula": lambda r: xlsx_cell(r.choice(WORDS), "A1&B1", t="str"),
    "sum": lambda r: xlsx_cell(r.choice(("3", "2.5")), "1+2"),
    "bool": lambda r: xlsx_cell(r.randint(0, 1), t="b"),
    "fault": lambda r: xlsx_cell(r.choice(("#N/A", "#DIV/0!", "#REF!")), r.choice(("", "1/0")), t="e"),
    "day": lambda r: xlsx_cell(r.randint(61, 60000), s=r.choice("356")),
    "moment": lambda r: xlsx_cell(r.randint(61, 60000) + r.choice((0.5, 0.25, 0.125)), s="4"),
    "iso": lambda r: xlsx_cell(r.choice(("2021-03-04", "2021-03-04T05:06:07")), t="d"),
}


def read_xlsx(data: bytes) -> Grid:
    """What stands in the first sheet of a workbook, by ECMA-376."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: Tree.fromstring(packed.read(name)) for name in packed.namelist() if name.endswith(".xml")}
    strings = [item_text(item) for item in parts["xl/sharedStrings.xml"]]
    formats = [int(xf.get("numFmtId", "0")) for xf in parts["xl/styles.xml"].iter(f"{MAIN}xf")]
    settings = parts["xl/workbook.xml"].find(f"{MAIN}workbookPr")
    first = datetime(1904, 1, 1) if settings is not None and settings.get("date1904") == "1" else datetime(1899, 12, 30)
    cells: dict[tuple[int, int], Any] = {}
    row, last_row = 0, 0
    for line in parts["xl/worksheets/sheet1.xml"].iter(f"{MAIN}row"):
        row = int(line.get("r", row + 1))
        if row <= last_row:
            raise Unclear
        last_row, column, last_column = row, 0, 0
        for cell in line.findall(f"{MAIN}c"):
            letters, digits = re.fullmatch(r"([A-Z]*)(\d*)", cell.get("r", "")).groups()  # type: ignore[union-attr]
            column = ord(letters) - 64 if letters else column + 1
            if column <= last_column or (digits and int(digits) != row):
                raise Unclear
            last_column = column
            cells[row, column] = xlsx_value(cell, strings, formats, first)
    return grid_of(cells)


def item_text(item: Tree.Element) -> str:
    """The text of a string of the workbook: its pieces without phonetic hints; characters by their numbers."""
    pieces = [piece.text or "" for piece in (*item.findall(f"{MAIN}t"), *item.findall(f"{MAIN}r/{MAIN}t"))]
    return characters("".join(pieces))


def characters(text: str) -> str:
    """The text with the characters that stand in it by their numbers (ST_Xstring)."""
    return re.sub("_x([0-9A-F]{4})_", lambda match: chr(int(match[1], 16)), text)


def xlsx_value(cell: Tree.Element, strings: list[str], formats: list[int], first: datetime) -> Any:
    """What a cell holds."""
    kind = cell.get("t", "n")
    order = [part.tag.removeprefix(MAIN) for part in cell]
    if order not in ([], ["v"], ["f"], ["f", "v"], ["is"]) or ("is" in order) > (kind == "inlineStr"):
        raise Unclear
    if kind == "inlineStr":
        item = cell.find(f"{MAIN}is")
        return None if item is None else item_text(item)
    text = cell.findtext(f"{MAIN}v")
    if text is None or text == "":
        if kind not in ("n", "str"):
            raise Unclear
        return None
    if kind == "str":
        return characters(text)
    try:
        if kind == "s":
            return strings[int(text)]
        if kind == "b":
            return {"0": False, "1": True}[text]
        if kind == "d":
            return datetime.fromisoformat(text)
        number = float(text)
        shape = formats[int(cell.get("s", "0"))]
    except (ValueError, KeyError, IndexError):
        if kind == "e" and text.startswith("#"):
            return Fault(text)
        raise Unclear from None
    if kind != "n":
        raise Unclear
    if shape in DATES:
        if not 61 <= number < 2_000_000:  # before March 1900 programs count in two ways
            raise Unclear
        return first + timedelta(seconds=round(number * 86400))
    return number


# OpenDocument.


def ods_book(r: Chance) -> bytes:
    """A sheet of OpenDocument with all kinds of cells, some of its XML changed so that it stays one."""
    for short, space in SPACES.items():
        Tree.register_namespace(short, space)
    document = Tree.Element(f"{OFFICE}document-content", {f"{OFFICE}version": "1.2"})
    body = Tree.SubElement(Tree.SubElement(document, f"{OFFICE}body"), f"{OFFICE}spreadsheet")
    table = Tree.SubElement(body, f"{TABLE}table", {f"{TABLE}name": "S"})
    width = r.randint(1, 4)
    kinds = [r.choices(list(ODS_CELLS), k=1 + (r.random() < 0.3)) for _ in range(width)]
    for row in range(r.randint(2, 9)):
        element = Tree.SubElement(table, f"{TABLE}table-row")
        if row and r.random() < 0.15:
            element.set(f"{TABLE}number-rows-repeated", str(r.randint(1, 3)))
        if row and r.random() < 0.05:
            Tree.SubElement(element, f"{TABLE}table-cell", {f"{TABLE}number-columns-repeated": str(width)})
            continue
        for at in range(width):
            element.append(ods_cell("string", text=f"n{at}") if row == 0 else ODS_CELLS[r.choice(kinds[at])](r))
        if r.random() < 0.3:
            Tree.SubElement(element, f"{TABLE}table-cell", {f"{TABLE}number-columns-repeated": "1000"})
    change_tree(r, table, (f"{TABLE}number-columns-repeated", f"{OFFICE}value-type"))
    urn = SPACES["table"].removesuffix("table:1.0")
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        packed.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{urn}manifest:1.0"/>')
        packed.writestr("content.xml", Tree.tostring(document, "utf-8"))
    return sink.getvalue()


def ods_cell(kind: str, value: Any = None, text: str = "", formula: str = "") -> Tree.Element:
    """A cell of OpenDocument; ``value``: in its attribute."""
    attribute = {"float": "value", "percentage": "value", "currency": "value"}.get(kind, f"{kind}-value")
    marks = {f"{OFFICE}value-type": kind} | ({} if value is None else {f"{OFFICE}{attribute}": str(value)})
    if formula:
        marks[f"{TABLE}formula"] = formula
    cell = Tree.Element(f"{TABLE}table-cell", marks)
    for line in (text or str(value)).split("\n"):
        Tree.SubElement(cell, f"{TEXT}p").text = line
    return cell


def spanned(r: Chance) -> Tree.Element:
    """A text with parts of its own: spaces, a tab, a link, a remark that is no part of it."""
    cell = Tree.Element(f"{TABLE}table-cell", {f"{OFFICE}value-type": "string"})
    if r.random() < 0.5:
        remark = Tree.SubElement(cell, f"{OFFICE}annotation")
        Tree.SubElement(remark, f"{TEXT}p").text = "a remark"
    line = Tree.SubElement(cell, f"{TEXT}p")
    line.text = "before"
    for part, tag in (("s", "s"), ("span", "span"), ("a", "a")):
        if r.random() < 0.6:
            inner = Tree.SubElement(line, TEXT + tag, {f"{TEXT}c": "2"} if part == "s" and r.random() < 0.5 else {})
            inner.text = None if part == "s" else r.choice(WORDS).replace("\n", " ")
            inner.tail = r.choice(("after", "", "7"))
    return cell


ODS_CELLS: dict[str, Any] = {
    "blank": lambda r: Tree.Element(f"{TABLE}table-cell"),
    "covered": lambda r: Tree.Element(f"{TABLE}covered-table-cell"),
    "whole": lambda r: ods_cell("float", r.choice((0, 1, -7, 10**10)), r.choice(("", "1.00", "shown"))),
    "point": lambda r: ods_cell("float", r.choice(("2.5", "1E-3", "-0.25", "0.1")), formula=r.choice(("", "of:=1+2"))),
    "share": lambda r: ods_cell("percentage", "0.25", "25 %"),
    "money": lambda r: ods_cell("currency", "3.5", "3,50 €"),
    "text": lambda r: ods_cell("string", text=r.choice(WORDS)),
    "valued": lambda r: ods_cell("string", r.choice(WORDS), "shown", r.choice(("", 'of:=A1&""'))),
    "spanned": spanned,
    "bool": lambda r: ods_cell("boolean", r.choice(("true", "false")), "TRUE"),
    "day": lambda r: ods_cell("date", r.choice(("2021-03-04", "1999-12-31")), "4.3.21"),
    "moment": lambda r: ods_cell("date", "2021-03-04T05:06:07", "4.3.21 5:06"),
}


def read_ods(data: bytes) -> Grid:
    """What stands in the first sheet of a document, by OpenDocument 1.2."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        table = next(Tree.fromstring(packed.read("content.xml")).iter(f"{TABLE}table"))
    cells: dict[tuple[int, int], Any] = {}
    row = 0
    for line in table.findall(f"{TABLE}table-row"):
        for _ in range(int(line.get(f"{TABLE}number-rows-repeated", "1"))):
            row, column = row + 1, 0
            for cell in line:
                value = ods_value(cell)
                for _ in range(int(cell.get(f"{TABLE}number-columns-repeated", "1"))):
                    column += 1
                    if value is not None:
                        cells[row, column] = value
    return grid_of(cells)


def ods_value(cell: Tree.Element) -> Any:
    """What a cell holds."""
    kind = cell.get(f"{OFFICE}value-type")
    own = {"float": "value", "percentage": "value", "currency": "value"}.get(kind or "", f"{kind}-value")
    if any(name.startswith(OFFICE) and name.endswith("value") and name != OFFICE + own for name in cell.attrib):
        raise Unclear
    if kind is None:
        if len(cell) or cell.tag == f"{TABLE}covered-table-cell" and cell.attrib.get(f"{OFFICE}value"):
            raise Unclear
        return None
    try:
        if kind in ("float", "percentage", "currency"):
            return float(cell.attrib[f"{OFFICE}value"])
        if kind == "boolean":
            return {"true": True, "false": False}[cell.attrib[f"{OFFICE}boolean-value"]]
        if kind == "date":
            return datetime.fromisoformat(cell.attrib[f"{OFFICE}date-value"])
    except (KeyError, ValueError):
        raise Unclear from None
    if kind != "string":
        raise Unclear
    value = cell.get(f"{OFFICE}string-value")
    return "\n".join(map(line_text, cell.findall(f"{TEXT}p"))) if value is None else value


def line_text(line: Tree.Element) -> str:
    """The text of a paragraph with its spaces."""
    text = line.text or ""
    for part in line:
        if part.tag == f"{TEXT}s":
            text += " " * int(part.get(f"{TEXT}c", "1"))
        else:
            text += line_text(part)
        text += part.tail or ""
    return text


# Both.


def change_tree(r: Chance, top: Tree.Element, marks: tuple[str, ...]) -> None:
    """Leave out, double or exchange a few elements below ``top``, or change one of some attributes or a text."""
    if r.random() < 0.4:
        return
    for _ in range(r.randint(1, 3)):
        parents = [element for element in top.iter() if len(element)]
        if not parents:
            return
        parent = r.choice(parents)
        at = r.randrange(len(parent))
        child = parent[at]
        how = r.randrange(6)
        if how == 0:
            parent.remove(child)
        elif how == 1:
            parent.insert(at, copy.deepcopy(child))
        elif how == 2 and len(parent) > 1:
            other = r.randrange(len(parent))
            parent[at], parent[other] = parent[other], parent[at]
        elif how == 3 and set(marks) & set(child.attrib):
            del child.attrib[r.choice(sorted(set(marks) & set(child.attrib)))]
        elif how == 4 and set(marks) & set(child.attrib):
            mark = r.choice(sorted(set(marks) & set(child.attrib)))
            donors = [element.attrib[mark] for element in top.iter(child.tag) if mark in element.attrib]
            child.set(mark, r.choice(donors))
        elif how == 5 and child.text:
            child.text = r.choice([*WORDS, "7", "0.5", "1"])


def grid_of(cells: dict[tuple[int, int], Any]) -> Grid:
    """The rows that hold anything, from the first column on, all of one width."""
    present = {place: value for place, value in cells.items() if value is not None and value != ""}
    if not present:
        return []
    width = max(column for _, column in present)
    rows = sorted({row for (row, _), value in present.items() if not isinstance(value, Fault)})
    return [[present.get((row, column + 1)) for column in range(width)] for row in rows]
