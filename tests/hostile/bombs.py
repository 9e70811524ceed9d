"""Small files that unfold into gigabytes, built in memory: each is a name and bytes."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.make import xlsx


def with_part(workbook: bytes, part: str, text: bytes) -> bytes:
    """The workbook with one of its parts replaced or added."""
    sink = io.BytesIO()
    packing = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}
    with zipfile.ZipFile(io.BytesIO(workbook)) as source, zipfile.ZipFile(sink, "w", **packing) as packed:
        for name in source.namelist():
            if name != part:
                packed.writestr(name, source.read(name))
        packed.writestr(part, text)
    return sink.getvalue()


def sheet(rows: bytes) -> bytes:
    """A workbook whose one sheet has these rows, in XML."""
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    xml = b"<worksheet " + main + b"><sheetData>" + rows + b"</sheetData></worksheet>"
    return with_part(xlsx({"S": [("x",)]}), "xl/worksheets/sheet1.xml", xml)


def far_corner() -> bytes:
    """Two cells, A1 and the very last one."""
    return sheet(b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def stray_cell() -> bytes:
    """24 records of two columns, and one more value in the last row."""
    rows = [
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
    ]
    rows += [b'<row r="%d"><c r="A%d"><v>%d</v></c><c r="B%d"><v>7</v></c></row>' % (r, r, r, r) for r in range(2, 26)]
    return sheet(b"".join(rows) + b'<row r="1048576"><c r="A1048576"><v>3</v></c></row>')


def many_cells() -> bytes:
    """Twenty million numbers."""
    row = b"<row>" + b"<c><v>1</v></c>" * 240 + b"</row>"
    return sheet(row * 84_000)


def long_text_everywhere() -> bytes:
    """One text of 30,000 letters, in 150,000 cells: the native reader keeps a copy for each."""
    cells = b"".join(b"<row>" + b'<c t="s"><v>0</v></c>' * 150 + b"</row>" for _ in range(1000))
    book = sheet(cells)
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    strings = b"<sst " + main + b' count="1" uniqueCount="1"><si><t>' + b"x" * 30_000 + b"</t></si></sst>"
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        relations = packed.read("xl/_rels/workbook.xml.rels")
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    shared = b'<Relationship Id="ss" Type="%s" Target="sharedStrings.xml"/></Relationships>' % kind
    book = with_part(book, "xl/_rels/workbook.xml.rels", relations.replace(b"</Relationships>", shared))
    return with_part(book, "xl/sharedStrings.xml", strings)


def repeated_cells() -> bytes:
    """An OpenDocument sheet of one cell, said to be repeated in all columns and rows."""
    spaces = b" ".join(
        b'xmlns:%s="urn:oasis:names:tc:opendocument:xmlns:%s:1.0"' % (short, short)
        for short in (b"office", b"table", b"text")
    )
    content = (
        b'<office:document-content %s office:version="1.2"><office:body><office:spreadsheet>'
        b'<table:table table:name="S">'
        b'<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
        b'table:number-columns-repeated="16384" '
        b'office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row>'
        b"</table:table></office:spreadsheet></office:body></office:document-content>" % spaces
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", b"application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("content.xml", content)
    return sink.getvalue()


def honest_gzip() -> bytes:
    """Three gigabytes of records, in one member whose length stands at its end."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(b"12,34\n" * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    head = b"\x1f\x8b\x08" + bytes(7)
    return head + block * 500 + b"\x03\x00" + struct.pack("<II", 0, 500 * 6_000_000)


def hidden_gzip() -> bytes:
    """Three gigabytes of records in five hundred small members."""
    return gzip.compress(b"12,34\n" * 1_000_000) * 500


def constant_parquet() -> bytes:
    """A hundred and forty million times the same number."""
    sink = io.BytesIO()
    table = pa.table({"a": np.ones(20_000_000, dtype=np.int64)})
    with pq.ParquetWriter(sink, table.schema, use_dictionary=False, column_encoding="DELTA_BINARY_PACKED") as writer:
        for _ in range(7):
            writer.write_table(table, row_group_size=20_000_000)
    return sink.getvalue()


def plain_text_parquet() -> bytes:
    """1,200 texts of a million letters each, packed."""
    sink = io.BytesIO()
    texts = pa.array([f"{i}" + "x" * 1_000_000 for i in range(100)])
    table = pa.table({"a": texts})
    with pq.ParquetWriter(sink, table.schema, use_dictionary=False, compression="lz4") as writer:
        for _ in range(12):
            writer.write_table(table)
    return sink.getvalue()


def repeated_text_parquet() -> bytes:
    """Two texts of a million letters, ten thousand times."""
    sink = io.BytesIO()
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 5_000, pa.int32()), pa.array(["x" * 1_000_000, "y" * 1_000_000])
    )
    pq.write_table(pa.table({"a": texts, "b": range(10_000)}), sink, dictionary_pagesize_limit=4_000_000)
    return sink.getvalue()


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "far corner": ("corner.xlsx", far_corner),
    "many cells": ("many.xlsx", many_cells),
    "long text everywhere": ("texts.xlsx", long_text_everywhere),
    "repeated cells": ("repeated.ods", repeated_cells),
    "honest gzip": ("honest.csv.gz", honest_gzip),
    "hidden gzip": ("hidden.csv.gz", hidden_gzip),
    "constant parquet": ("constant.parquet", constant_parquet),
    "plain text parquet": ("plain.parquet", plain_text_parquet),
}

READ: dict[str, tuple[str, Callable[[], bytes], tuple[int, int]]] = {
    "stray cell": ("stray.xlsx", stray_cell, (25, 2)),
    "repeated text parquet": ("repeated.parquet", repeated_text_parquet, (10_000, 2)),
}
"""Files that only a careless reader unfolds, and the shape of their tables."""
