"""Files made from a seed, whole or damaged, and what is wrong with how they are read."""

import csv
import io
import json
import random
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

from anonymizer.disclosure.publish import from_json as tree_from_json
from anonymizer.errors import AnonymizerError
from anonymizer.json_value import parse
from anonymizer.reading.files import Reading, ReadOptions, read_table
from anonymizer.reading.options import MIB, Allowance
from anonymizer.schema import Schema
from anonymizer.whatif.project import from_json as project_from_json
from anonymizer.whatif.project import to_json as project_to_json
from tests.fuzz.labels import CODEBOOKS, FILES, fault_of_codebook, fault_of_file
from tests.fuzz.oracle import fault_of_grid, fault_of_texts, fault_of_values
from tests.fuzz.trees import TREES
from tests.fuzz.workbooks import Grid, Unclear, ods_book, read_ods, read_xlsx, xlsx_book
from tests.hostile.make import xlsx
from tests.test_json_value import TREE

Chance = random.Random
ALLOWANCE = Allowance(memory=512 * MIB, cells=10_000_000)

POOLS: dict[str, Callable[[Chance], str]] = {
    "whole": lambda r: str(r.randint(-50, 5000)),
    "long": lambda r: str(r.choice((10**15, 12345678901234567, 2**60)) + r.randint(0, 3)),
    "zeros": lambda r: f"{r.randint(0, 999):05d}",
    "points": lambda r: f"{r.uniform(-9, 9999):.{r.choice((1, 2, 3))}f}",
    "commas": lambda r: f"{r.uniform(-9, 9999):.{r.choice((1, 2, 3))}f}".replace(".", ","),
    "thousands": lambda r: f"{r.randint(1000, 9_999_999):,}".replace(",", r.choice((".", ","))),
    "codes": lambda r: r.choice(("12e4", "120000", "3E2", "300", "1e5")),
    "floats": lambda r: repr(r.uniform(-1, 1) * 10 ** r.randint(-8, 20)),
    "digits": lambda r: f"0.{r.randrange(10**19, 10**20)}",
    "iso": lambda r: str(date(2020, 1, 1) + timedelta(r.randrange(2000))),
    "days": lambda r: (date(2020, 1, 1) + timedelta(r.randrange(2000))).strftime(r.choice(("%d/%m/%Y", "%d.%m.%Y"))),
    "early": lambda r: f"{r.randint(1, 12):02d}/{r.randint(1, 12):02d}/2021",
    "words": lambda r: r.choice(("Ulm", "Köln", 'a "b"', "x, y", "p;q", "line\nbreak", " blank ", "=1+1", "日本")),
    "missing": lambda r: r.choice(("", "NA", "?", "-", "7", "x")),
}


def texts(r: Chance) -> tuple[list[str], list[list[str]]]:
    """Names, and the texts of each column."""
    n, kinds = r.randint(1, 14), r.choices(list(POOLS), k=r.randint(2, 4))
    columns = []
    for kind in kinds:
        other = r.choice(list(POOLS)) if r.random() < 0.2 else kind
        columns.append([POOLS[other if r.random() < 0.2 else kind](r) for _ in range(n)])
    return [f"n{place}" for place in range(len(kinds))], columns


def damage(r: Chance, data: bytes) -> bytes:
    """The bytes with a few of them changed, left out, doubled, or cut off."""
    out = bytearray(data)
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(out) + 1)
        how = r.randrange(5)
        if how == 0 and at < len(out):
            out[at] ^= 1 << r.randrange(8)
        elif how == 1 and at < len(out):
            out[at] = r.randrange(256)
        elif how == 2:
            del out[at : at + r.randint(1, 8)]
        elif how == 3:
            out[at:at] = out[max(0, at - r.randint(1, 30)) : at]
        elif how == 4 and r.random() < 0.3:
            del out[at:]
    return bytes(out)


def unclear(error: AnonymizerError) -> str:
    """What is said of an error that is no clear sentence."""
    return f"unclear: {error}"


def attempt(data: bytes, name: str, options: ReadOptions | None = None) -> Reading | str:
    """The reading, or "" when the file is refused in one sentence; any other exception is the caller's to see."""
    try:
        return read_table(data, name=name, options=options, allowance=ALLOWANCE)
    except AnonymizerError as error:
        return "" if error.remedy and "\n" not in str(error) else unclear(error)


def csv_case(r: Chance) -> str:
    names, columns = texts(r)
    delimiter, end = r.choice(",;\t|"), r.choice(("\n", "\r\n"))
    sink = io.StringIO(newline="")
    quoting = r.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(sink, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(
        [names, *zip(*columns, strict=True)]
    )
    encoding = r.choice(("utf-8", "utf-8", "utf-16", "gb18030"))
    data = sink.getvalue().encode(encoding)
    if r.random() < 0.6:
        data = damage(r, data)
    reading = attempt(data, "t.csv", ReadOptions(delimiter=delimiter, encoding=encoding))
    if isinstance(reading, str):
        return reading
    text = data.decode(encoding).removeprefix("\ufeff")
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if any(len(row) != len(rows[0]) for row in rows):
        return "ragged rows were read"
    return fault_of_texts(reading, [list(column) for column in zip(*rows[1:], strict=True)])


def parquet_case(r: Chance) -> str:
    n = r.randint(1, 12)
    moments = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=r.randrange(10**8)) for _ in range(n)]
    makers: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
        "i": (pa.int64(), lambda at: r.choice((2**60, 5, -(2**53))) + at),
        "u": (pa.uint64(), lambda at: r.choice((2**63, 7)) + at),
        "d": (pa.decimal128(38, 6), lambda at: Decimal(r.randrange(10 ** r.choice((3, 20)))).scaleb(-6)),
        "f": (pa.float64(), lambda at: r.choice((0.1, 1e300, -2.5, float("nan"))) * (at + 1)),
        "b": (pa.bool_(), lambda at: r.random() < 0.5),
        "s": (pa.string(), lambda at: r.choice(("Ulm", "12e4", "0012", "", "NA", " x "))),
        "c": (pa.dictionary(pa.int32(), pa.string()), lambda at: r.choice(("p", "q"))),
        "z": (pa.timestamp("us", "Europe/Berlin"), lambda at: moments[at]),
        "t": (pa.date32(), lambda at: moments[at].date()),
    }
    kinds = r.sample(list(makers), r.randint(1, 5))
    columns = {k: [None if r.random() < 0.2 else makers[k][1](at) for at in range(n)] for k in kinds}
    sink = io.BytesIO()
    pq.write_table(
        pa.table({kind: pa.array(columns[kind], makers[kind][0]) for kind in kinds}), sink, write_page_checksum=True,
        compression=r.choice(("none", "snappy", "zstd", "gzip")), use_dictionary=r.random() < 0.5,
        data_page_version=r.choice(("1.0", "2.0")), row_group_size=r.choice((3, 100)),
    )  # fmt: skip
    whole = sink.getvalue()
    data = damage(r, whole) if r.random() < 0.6 else whole
    reading = attempt(data, "t.parquet")
    if isinstance(reading, str):
        return reading if data != whole else "a whole file was refused"
    if data != whole:  # the footer has no checksum: what it says is what counts
        try:
            table = pq.read_table(io.BytesIO(data))
        except (pa.ArrowException, OSError):
            return "a damaged file was read"
        columns = {str(place): column.to_pylist() for place, column in enumerate(table.columns)}
        zones = {str(at): getattr(kind, "tz", None) or "" for at, kind in enumerate(table.schema.types)}
        return fault_of_values(reading, columns, zones)
    return fault_of_values(reading, columns, {"z": "Europe/Berlin"})


def sheet_values(r: Chance) -> dict[str, list[Any]]:
    n = r.randint(1, 10)
    makers: dict[str, Callable[[], Any]] = {
        "n": lambda: r.choice((1, 2.5, -3, 1e10)),
        "s": lambda: r.choice(("Ulm", "0012", "x & y", "12e4", "a,b")),
        "m": lambda: r.choice((1, "one", 2.5)),
        "d": lambda: date(2020, 1, 1) + timedelta(r.randrange(2000)),
    }
    kinds = r.sample(list(makers), r.randint(1, 4))
    return {kind: [makers[kind]() for _ in range(n)] for kind in kinds}


def ods(columns: dict[str, list[Any]]) -> bytes:
    """An OpenDocument sheet of text, numbers and dates."""
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{short}="{urn}:{short}:1.0"' for short in ("office", "table", "text"))

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
        kind = ("date", "date-value") if isinstance(value, date) else ("float", "value")
        attributes = f'office:value-type="{kind[0]}" office:{kind[1]}="{value}"'
        return f"<table:table-cell {attributes}><text:p>{value}</text:p></table:table-cell>"

    rows = [list(columns), *zip(*columns.values(), strict=True)]
    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        packed.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0"/>')
        packed.writestr(
            "content.xml",
            f'<office:document-content {spaces} office:version="1.2"><office:body><office:spreadsheet>'
            f'<table:table table:name="S">{body}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    return sink.getvalue()


def sheet_case(r: Chance, name: str, part: str, write: Callable[[dict[str, list[Any]]], bytes]) -> str:
    """A workbook, whole, or damaged in its bytes or in the XML of its sheet; damaged ones must only end well."""
    columns = sheet_values(r)
    whole = write(columns)
    how = r.random()
    data = whole if how < 0.4 else damage(r, whole)
    if how > 0.6:
        sink = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(sink, "w") as packed:
            for inner in source.namelist():
                content = source.read(inner)
                packed.writestr(inner, damage(r, content) if inner == part else content)
        data = sink.getvalue()
    reading = attempt(data, name)
    if isinstance(reading, str):
        return "a whole file was refused" if how < 0.4 else reading
    if how >= 0.4:
        return ""
    texts = {key: [str(value) if _has_text(values) else value for value in values] for key, values in columns.items()}
    return fault_of_values(reading, texts, {})


def _has_text(values: list[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def xlsx_case(r: Chance) -> str:
    part = "xl/worksheets/sheet1.xml"
    return sheet_case(r, "t.xlsx", part, lambda c: xlsx({"S": [list(c), *zip(*c.values(), strict=True)]}))


def ods_case(r: Chance) -> str:
    return sheet_case(r, "t.ods", "content.xml", ods)


def cells_case(r: Chance, name: str, make: Callable[[Chance], bytes], read: Callable[[bytes], Grid]) -> str:
    """A workbook with cells of all kinds, as it stands in its XML."""
    data = make(r)
    try:
        grid = read(data)
    except Unclear:
        grid = []
    reading = attempt(data, name)
    return reading if isinstance(reading, str) else fault_of_grid(reading, grid) if grid else ""


ODD = (None, True, -1, 0, 2**53, 10**400, 1e999, 1.5, "", "x" * 300, "\x00", "\ud800", [], {}, [[]], "name")
COLUMNS = {"columns": [{"name": "age", "role": "quasi-identifying", "kind": "numeric", "domain": [0, 99]},
                       {"name": "ill", "role": "sensitive", "kind": "categorical", "domain": ["a", "b"]}],
           "target": "ill"}  # fmt: skip
PROJECT = {
    "copse_project": 1, "table": {"name": "t.csv", "sha256": "", "records": 3}, "schema": COLUMNS,
    "parameters": {"k": 5, "t": 0.5},
    "scenarios": [{"name": "one", "comment": "", "parameters": {"k": 2}, "figures": {}, "basis": ""}],
    "history": {"start": {"k": 5}, "position": 1, "entries": [
        {"time": "2026-01-31T12:00:00+00:00", "what": "k", "from": {"k": 5}, "to": {"k": 6}}]},
}  # fmt: skip
REPORT = {"provenance": {"schema": COLUMNS, "parameters": {"k": 3}}}


def change(r: Chance, value: Any) -> Any:
    """A copy with one of its parts replaced by something odd, left out, or doubled."""
    value = json.loads(json.dumps(value))
    at = value
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = r.choice(keys)
        inner = at[key]
        if isinstance(inner, dict | list) and inner and r.random() < 0.7:
            at = inner
            continue
        how = r.random()
        if how < 0.8:
            at[key] = r.choice(ODD)
        elif how < 0.9:
            del at[key]
        elif isinstance(at, dict):
            at["more"] = inner
        return value


def json_case(
    r: Chance,
    value: Any,
    read: Callable[[str], Any],
    again: Callable[[Any], str],
    part: Callable[[Any], Any] = lambda document: document,
) -> str:
    """A JSON document, changed: refused, or read so that it, or the part of it that counts, says the same."""
    document = change(r, value) if r.random() < 0.9 else value
    text = json.dumps(document)
    if r.random() < 0.3:
        text = damage(r, text.encode()).decode("utf-8", "replace")
    try:
        content = read(text)
    except AnonymizerError as error:
        if "\n" in str(error) or len(str(error)) > 2000:
            return unclear(error)
        return "" if document is not value or text != json.dumps(value) else "a whole file was refused"
    result, meant = json.loads(again(content)), part(json.loads(text))
    meant, result = _plain(meant), _plain(result)
    for key in part(value):
        if meant.get(key) != result.get(key):
            return f"{key}: {meant.get(key)!r} became {result.get(key)!r}"
    return ""


def _plain(value: Any) -> Any:
    """A value without what is the same said or left out; without a target, the first sensitive column is it."""
    if isinstance(value, dict):
        parts = {key: inner for key, inner in value.items() if key != "more"}
        if "columns" in parts and parts.get("target") is None:
            sensitive = (column["name"] for column in parts["columns"] if column.get("role") == "sensitive")
            parts["target"] = next(sensitive, None)
        return {
            key: _plain(inner)
            for key, inner in parts.items()
            if inner not in (None, False, "", "insensitive", "categorical")
        }
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def schema_case(r: Chance) -> str:
    return json_case(r, COLUMNS, Schema.from_json, lambda schema: schema.to_json())


def report_case(r: Chance) -> str:
    def read(text: str) -> Schema:
        return Schema.from_value(parse(text, "report", "Give another.").field("provenance").field("schema"))

    schema_in: Callable[[Any], Any] = lambda report: report["provenance"]["schema"]  # noqa: E731
    return json_case(r, REPORT, read, lambda schema: schema.to_json(), schema_in)


def project_case(r: Chance) -> str:
    return json_case(r, PROJECT, project_from_json, project_to_json)


def tree_case(r: Chance) -> str:
    return json_case(r, TREE, tree_from_json, lambda tree: json.dumps(tree))


KINDS: dict[str, Callable[[Chance], str]] = {
    "csv": csv_case, "parquet": parquet_case, "xlsx": xlsx_case, "ods": ods_case,
    "cells of xlsx": lambda r: cells_case(r, "t.xlsx", xlsx_book, read_xlsx),
    "cells of ods": lambda r: cells_case(r, "t.ods", ods_book, read_ods), "project": project_case,
    "schema": schema_case, "report": report_case, "tree": tree_case, **TREES,
    **{kind: lambda r, kind=kind: fault_of_file(r, kind, damage) for kind in FILES},
    **{kind: lambda r, kind=kind: fault_of_codebook(r, kind, damage) for kind in CODEBOOKS},
}  # fmt: skip
"""Each makes one case and says what is wrong with how it is read; "" when nothing is."""
