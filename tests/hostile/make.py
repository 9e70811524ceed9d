"""Forty hostile files, built in memory: each is a name and bytes. Nothing here comes from a real person.

``TABLES`` must be readable, ``REFUSED`` must be refused, and ``EITHER`` may be one or the other.
"""

import gzip
import io
import random
import zipfile
from collections.abc import Sequence
from datetime import date
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

People = tuple[tuple[Any, ...], ...]

HEADER = ("age", "sex", "town", "illness")


def people(n: int = 24) -> People:
    """Plain records (age, sex, town, illness) that any hostile trait is added to."""
    chance = random.Random(n)
    return tuple(
        (chance.randint(20, 70), chance.choice("FM"), chance.choice(("Bonn", "Ulm", "Kiel")), chance.choice("abc"))
        for _ in range(n)
    )


def csv(rows: Sequence[Sequence[Any]], header: Sequence[str] = HEADER, delimiter: str = ",", end: str = "\n") -> str:
    """Delimited text with quotes where they are needed."""

    def field(value: Any) -> str:
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in f'{delimiter}"\r\n') else text

    return "".join(delimiter.join(map(field, row)) + end for row in (header, *rows))


def with_last(values: Sequence[Any], n: int = 24) -> People:
    """The people, with their town replaced by the given values in turn."""
    return tuple((*row[:2], values[i % len(values)], row[3]) for i, row in enumerate(people(n)))


def parquet(columns: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def xlsx(sheets: dict[str, Sequence[Sequence[Any]]]) -> bytes:
    """A small workbook; cells are text, numbers, booleans, dates or None."""
    office = "http://schemas.openxmlformats.org"
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        names = [f"sheet{i + 1}" for i in range(len(sheets))]
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        packed.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{office}/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>'
            + "".join(
                f'<Override PartName="/xl/worksheets/{name}.xml" ContentType="{kind}.worksheet+xml"/>' for name in names
            )
            + "</Types>",
        )
        relations = f"{office}/officeDocument/2006/relationships"
        package = f"{office}/package/2006/relationships"
        packed.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        main = f'xmlns="{office}/spreadsheetml/2006/main"'
        packed.writestr(
            "xl/workbook.xml",
            f'<workbook {main} xmlns:r="{relations}"><sheets>'
            + "".join(
                f'<sheet name="{escape(title)}" sheetId="{i + 1}" r:id="s{i + 1}"/>' for i, title in enumerate(sheets)
            )
            + "</sheets></workbook>",
        )
        packed.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}">'
            + "".join(
                f'<Relationship Id="s{i + 1}" Type="{relations}/worksheet" Target="worksheets/{name}.xml"/>'
                for i, name in enumerate(names)
            )
            + f'<Relationship Id="st" Type="{relations}/styles" Target="styles.xml"/></Relationships>',
        )
        packed.writestr(
            "xl/styles.xml",
            f'<styleSheet {main}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        )
        for name, rows in zip(names, sheets.values(), strict=True):
            body = "".join(
                f'<row r="{r}">' + "".join(_cell(value, r, c) for c, value in enumerate(row)) + "</row>"
                for r, row in enumerate(rows, 1)
            )
            packed.writestr(f"xl/worksheets/{name}.xml", f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>")
    return sink.getvalue()


def _cell(value: Any, row: int, column: int) -> str:
    place = f'r="{chr(65 + column)}{row}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {place} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        return f'<c {place} s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, (int, float)):
        return f"<c {place}><v>{value}</v></c>"
    return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def numbers(values: Sequence[Any]) -> str:
    """People whose age is replaced by the given texts in turn."""
    return csv([(values[i % len(values)], *row[1:]) for i, row in enumerate(people())])


BELL, NUL = "\x07", "\x00"
FORMULAS = ("=1+1", "+SUM(A1)", "-2+3", "@cmd", "=HYPERLINK(\"http://example.invalid\",\"x\")", "\tx")  # fmt: skip
MARKUP = ("<script>alert(1)</script>", "<b>bold</b>", "</td>&amp;", "$x^2$ ![a](b) `c` :red[d]")
DOT = ('"];n0[label="x', "a->b", "\\N\\n{|}", "<TABLE>")
RIGHT_TO_LEFT = ("שלום", "مرحبا", "\u202eabc\u202c", "\u200fx")
EMOJI = ("🚀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "é", "e\u0301")
GRAMMAR = ("*", "{a, b}", "[1, 2]", "missing", "a+b", "a:4", '"', "{", "]")

_text = csv(people())

TABLES: dict[str, tuple[str, bytes]] = {
    "plain": ("plain.csv", _text.encode()),
    "utf-8 with byte-order mark": ("bom.csv", b"\xef\xbb\xbf" + csv(with_last(("Köln", "Ulm"))).encode()),
    "utf-16": ("wide.csv", csv(with_last(("Köln", "Ulm"))).encode("utf-16")),
    "cp1252": ("western.csv", csv(with_last(("Köln", "Straße"))).encode("cp1252")),
    "carriage returns only": ("old.csv", csv(people(), end="\r").encode()),
    "tabs named csv": ("tabs.csv", csv(people(), delimiter="\t").encode()),
    "semicolons and decimal commas": ("de.csv", csv([(f"{r[0]},5", *r[1:]) for r in people()], delimiter=";").encode()),
    "nested quotes": ("quotes.csv", csv(with_last(('say ""hi""', 'a "b" c', '"', "x\ny"))).encode()),
    "one column": ("one.csv", ("town\n" + "Bonn\nUlm\n" * 10).encode()),
    "one row": ("single.csv", csv(people(1)).encode()),
    "all missing": ("missing.csv", csv([("", "?", "NA", "")] * 12).encode()),
    "a column without values": ("hole.csv", csv([(*r[:2], "", r[3]) for r in people()]).encode()),
    "infinities": ("infinite.csv", numbers(("inf", "-inf", "30", "40.5")).encode()),
    "1e308": ("large.csv", numbers(("1e308", "-1e308", "3.5", "1e-308")).encode()),
    "numbers beyond doubles": ("beyond.csv", numbers(("1e999", "9" * 400, "3")).encode()),
    "not a number": ("nan.csv", numbers(("nan", "NaN", "31", "45")).encode()),
    "one text among numbers": ("mixed.csv", numbers([*range(20, 40), "forty"]).encode()),
    "formula cells": ("formulas.csv", csv(with_last(FORMULAS)).encode()),
    "formula headers": ("headers.csv", csv(people(), ("=1+1", "+x", "@y", "-z")).encode()),
    "html in values": ("html.csv", csv(with_last(MARKUP)).encode()),
    "html in headers": ("html_headers.csv", csv(people(), MARKUP).encode()),
    "dot in values and headers": ("dot.csv", csv(with_last(DOT), ("age", 'a"]', "\\N{x|y}", "illness")).encode()),
    "the grammar of cells as values": ("grammar.csv", csv(with_last(GRAMMAR)).encode()),
    "duplicate headers": ("doubled.csv", csv(people(), ("x", "x", "x (2)", "x")).encode()),
    "empty headers": ("unnamed.csv", csv(people(), ("", " ", "town", "")).encode()),
    "emoji": ("emoji.csv", csv(with_last(EMOJI), ("age", "🚻", "🏙️", "🤒")).encode()),
    "right-to-left text": ("rtl.csv", csv(with_last(RIGHT_TO_LEFT), ("גיל", "جنس", "\u202etown", "illness")).encode()),
    "dates as text": ("dates.csv", csv(with_last(("1/2/2020", "3/4/2020", "31.12.99", "2020-02-30"))).encode()),
    "booleans": ("booleans.csv", csv(with_last(("true", "false", "TRUE", "")), HEADER).encode()),
    "huge field": ("huge.csv", csv(with_last(("x" * 3_000_000, "y"), 4)).encode()),
    "more quasi-identifiers than rows": (
        "wide_short.csv",
        csv([[i * j % 7 for j in range(80)] for i in range(1, 13)], [f"trait {j}" for j in range(80)]).encode(),
    ),
    "blank lines and blanks": (
        "blank.csv",
        ("\n\n" + csv(people()).replace(",", " , ").replace("\n", "\n\n")).encode(),
    ),
    "gzip in a text name": ("zipped.csv", gzip.compress(_text.encode())),
    "parquet named csv": ("really.csv", parquet({"age": [1, 2, None] * 5, "sex": ["F", "M", None] * 5})),
    "workbook": ("book.xlsx", xlsx({"1": [HEADER, *people()], "=cmd": [("x",), (1,)]})),
}

REFUSED: dict[str, tuple[str, bytes]] = {
    "empty": ("empty.csv", b""),
    "zero rows": ("names.csv", b"age,sex,town\n"),
    "binary": ("picture.csv", bytes(range(256)) * 20),
    "nul bytes": ("nul.csv", _text.replace("Bonn", f"Bo{NUL}nn").encode()),
    "control characters": ("bells.csv", _text.replace("n", BELL).encode()),
    "mixed encodings": ("mixed.csv", csv(with_last(("Köln",))).encode() + csv(with_last(("Köln",))).encode("cp1252")),
    "ten thousand columns": (
        "wide.csv",
        (",".join(f"c{i}" for i in range(10_000)) + "\n" + "1," * 9_999 + "1\n").encode(),
    ),
    "ragged": ("ragged.csv", (_text + "30,F\n31,M,Ulm,a,b\n").encode()),
    "a quote that is never closed": ("open.csv", _text.replace("Bonn", '"Bonn', 1).encode()),
    "truncated gzip": ("cut.csv.gz", gzip.compress(_text.encode())[:-20]),
    "truncated parquet": ("cut.parquet", parquet({"a": list(range(100))})[:-30]),
    "truncated workbook": ("cut.xlsx", xlsx({"1": [HEADER, *people()]})[:-200]),
    "nested parquet": ("nested.parquet", parquet({"a": [[1, 2], [3]]})),
    "zip of something else": ("bundle.xlsx", xlsx({"1": [("x",)]}).replace(b"[Content_Types]", b"[Contentless_]1")),
}

EITHER: dict[str, tuple[str, bytes]] = {
    "only delimiters": ("commas.csv", b",,,,\n" * 12),
    "a page instead of a table": ("page.csv", b"<!DOCTYPE html>\n<html><body>\n<p>Not, found</p>\n</body></html>\n"),
}

FILES = {**TABLES, **REFUSED, **EITHER}
