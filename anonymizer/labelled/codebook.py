"""Read a codebook, which describes a table that comes without words: DDI-Codebook, Frictionless, or CSV.

What it says is taken as it stands: :mod:`anonymizer.whatif.described` holds it against the table.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace

from anonymizer.errors import ReadError
from anonymizer.json_value import MAX_BYTES, JsonValue, parse
from anonymizer.labelled.ddi import read_ddi
from anonymizer.labelled.description import MOST_COLUMNS, REMEDY, Description
from anonymizer.labelled.variable import LONGEST_LABEL, MOST_LEVELS

FIELDS = ("name", "label", "role", "kind", "domain", "from")
"""The columns of a codebook in CSV; only the first has to be there. ``from``: "data" for a domain that was read from a
table."""
KINDS = {
    "integer": "numeric", "number": "numeric", "year": "numeric", "date": "date", "datetime": "date",
    "boolean": "categorical",
}  # fmt: skip
"""The types of a Table Schema that say how values are compared; text may hold anything."""


def is_codebook(data: bytes) -> bool:
    """Return True for what may be a codebook, and no project file: any text but JSON, or JSON that speaks of fields."""
    is_json = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    return not is_json or (b'"fields"' in data and b'"copse_project"' not in data)


def read_codebook(data: bytes) -> tuple[Description, ...]:
    r"""Return what a codebook says of each column: DDI-Codebook, Frictionless, or CSV, told apart by the first letter.

    Raises :class:`ReadError` for anything else, and for XML with a document type: nothing in it is looked up elsewhere.

    >>> import anonymizer as an
    >>> an.read_codebook(b"name,label,kind\nage,Age in years,numeric\n")[0].name
    'age'
    """
    if len(data) > MAX_BYTES:
        raise ReadError(f"The codebook is larger than {MAX_BYTES >> 20} MiB.", remedy=REMEDY)
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    read = read_ddi if start == b"<" or wide else _frictionless if start in (b"{", b"[") else _table
    columns = tuple(read(data))
    names = [column.name for column in columns]
    if not names:
        raise ReadError("The codebook describes no column.", remedy=REMEDY)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ReadError(
            f"The codebook describes column {twice!r} twice.", column=twice, remedy="Leave one of them out."
        )
    return columns


def _table(data: bytes) -> Iterator[Description]:
    """Yield the columns of a codebook in CSV. Levels stand with ``|`` between them, each ``value`` or ``value=what it
    means``; ends as ``0..120``; a backslash takes the next letter as it is."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadError("The codebook is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ReadError(f"The codebook cannot be read as CSV: {error}.", remedy=REMEDY) from error
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    if "name" not in head or set(head) - set(FIELDS) or len(set(head)) < len(head):
        raise ReadError(f"This is no codebook: its first line is not {', '.join(FIELDS)}.", remedy=REMEDY)
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(head):
            what = f"Line {number} of the codebook has {len(row)} cells, and its first line {len(head)}."
            raise ReadError(what, row=number, remedy="Quote cells that hold the mark between cells.")
        cells = dict(zip(head, row, strict=True))
        if not cells["name"].strip():
            raise ReadError(f"Line {number} of the codebook names no column.", row=number, remedy="Name it.")
        kind = cells.get("kind", "").strip().lower()
        ends, levels = _domain(cells.get("domain", "").strip(), kind)
        yield Description(
            cells["name"], " ".join(cells.get("label", "").split()), cells.get("role", "").strip().lower(),
            "categorical" if kind == "ordered" else kind, levels, ends, kind == "ordered",
            from_data=cells.get("from", "").strip().lower() == "data",
        )  # fmt: skip


def _domain(text: str, kind: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the two ends, or the levels with what they mean, of a domain as CSV has it."""
    at = text.find("..", 1)
    if kind not in ("categorical", "ordered") and 0 < at < len(text) - 2 and not set("|=\\") & set(text):
        return (text[:at].strip(), text[at + 2 :].strip()), ()
    levels = []
    for part in re.findall(r"(?:\\.|[^|\\])+", text, re.DOTALL):
        value, _, meaning = re.sub(r"\\(.)|=", lambda m: m[1] or "\0", part, flags=re.DOTALL).partition("\0")
        levels.append((value.strip(), meaning.replace("\0", "=").strip()))
    return (), tuple(level for level in levels if level[0])


def _frictionless(data: bytes) -> Iterator[Description]:
    """Yield the columns of a Table Schema, or of the one table of a Data Package that has such."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadError("The codebook is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    schema = parse(text, "codebook", REMEDY)
    if not schema.field("resources").absent:
        resources = [one.field("schema") for one in schema.field("resources").items(1000)]
        schemas = [one for one in resources if not one.absent]
        if len(schemas) != 1:
            schema.field("resources").refuse(f"it describes {len(schemas)} tables, where one was expected")
        schema = schemas[0]
        if isinstance(schema.value, str):
            schema.refuse("it stands elsewhere, and nothing is fetched")
    missing = [] if (marks := schema.field("missingValues")).absent else marks.items(1000)
    absent = tuple(filter(None, (_pair(mark)[0] for mark in missing)))
    for entry in schema.field("fields").items(MOST_COLUMNS):
        yield replace(_field(entry), missing=absent)


def _field(entry: JsonValue) -> Description:
    """Return what a field of a Table Schema says."""

    def text(name: str, of: JsonValue = entry) -> str:
        value = of.field(name)
        return "" if value.absent else " ".join(value.text(LONGEST_LABEL).split())

    name = entry.field("name").text(fewest=1)
    limits = entry.field("constraints")
    limits = entry if limits.absent else limits
    categories = entry.field("categories") if not entry.field("categories").absent else limits.field("enum")
    levels = () if categories.absent else tuple(map(_pair, categories.items(MOST_LEVELS)))
    ends = tuple(_pair(limits.field(end))[0] for end in ("minimum", "maximum") if not limits.field(end).absent)
    own, label = text("kind"), text("title")
    order = entry.field("categoriesOrdered")
    return Description(
        name, "" if label == name else label, text("role"),
        own or ("categorical" if levels else KINDS.get(text("type"), "")), levels, ends if len(ends) == 2 else (),
        not order.absent and order.flag(), from_data=text("domainFrom") == "data",
    )  # fmt: skip


def _pair(value: JsonValue) -> tuple[str, str]:
    """Return a value, as text, and what it means: of a number, a truth, a text, or an object of value and label."""
    if isinstance(value.value, dict):
        label = value.field("label")
        return _pair(value.field("value"))[0], "" if label.absent else label.text(LONGEST_LABEL)
    if isinstance(value.value, bool):
        return str(value.value).lower(), ""
    if isinstance(value.value, int | float):
        number = value.number()
        return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number), ""
    return value.text(LONGEST_LABEL), ""
