"""The files of a release packet that follow from its tables and its report: description, script, README, manifest.

Whoever makes a packet and whoever checks one call the same :func:`following`, so a file that holds anything else is
found.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from textwrap import wrap

import numpy as np
import pandas as pd

from anonymizer.cells import kept_value
from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.set_names import SetNames
from anonymizer.checking.verify import Verification
from anonymizer.digests import digest
from anonymizer.json_value import JsonValue
from anonymizer.labelled.variable import Variable
from anonymizer.provenance.again import SHORT_PATH, python_lines
from anonymizer.provenance.claim import Claim
from anonymizer.provenance.report import ADD_UP, ledger_figures, recipient_json
from anonymizer.provenance.signature import statement_text
from anonymizer.releasing.one_way import Made
from anonymizer.releasing.one_way_file import BOXES, ONE_WAY, files_of, tables_in
from anonymizer.releasing.release import ORDERS, Release
from anonymizer.releasing.set_names import said_of
from anonymizer.releasing.workbook import EMPTY, label_rows, sheet_cell, workbook_bytes
from anonymizer.reporting.catalogue import MEDIA_TYPES, Entry, codebook, data_package, dcat, dictionary_document
from anonymizer.reporting.described import Described
from anonymizer.reporting.html import to_html
from anonymizer.schema import Kind
from anonymizer.version import VERSION

LAYOUT = 4
"""Version of a packet's layout."""
MANIFEST, SIGNATURE, REPORT, PROJECT = "manifest.json", "manifest.dsse.json", "report.json", "project.json"
PAGE = "verify.html"
"""The page that verifies a packet."""
PLAIN = ("csv", "parquet", "xlsx")
"""What every packet has the table as; one that came with words of its columns has it in the other formats, too."""
TABLES = {format: f"data/release.{format}" for format in (*PLAIN, "feather", "sav", "dta", "xpt")}
READERS = ("read_boxes.py", "read_boxes.R")
"""The programs that read boxes, for a recipient; those that are run here are made of the same formulas."""
MEMBERS = {
    "README.txt": "what is in here, and how to check it",
    **{path: f"the table as {path.rpartition('.')[2]}" for path in TABLES.values()},
    ONE_WAY: "one-way tables with noise, in cells of at least k people: read boxes by them",
    BOXES: "what every cell of the table leaves open among the values of the one-way tables",
    READERS[0]: "a program in Python that reads boxes by the one-way tables",
    READERS[1]: "the same in R",
    "datapackage.json": "the data dictionary as a Frictionless Data Package with its Table Schema",
    "dcat.jsonld": "the entry for a data catalogue, DCAT",
    "ddi-codebook.xml": "the data dictionary as DDI-Codebook 2.5",
    "dictionary.html": "the data dictionary in plain words",
    "repeat.py": "the script that makes a release like it from the original",
    "report.html": "the report, with pictures",
    REPORT: "the report for machines: roles, limits, digests of the table",
    "report.pdf": "the report to print and to sign",
    PAGE: "a page that checks all of it, in a browser, without a network",
}
"""Everything that a packet for the recipient may hold beside its manifest, and what it is."""
REQUIRED = frozenset(MEMBERS) - frozenset(TABLES.values()) | {TABLES["csv"]}
"""What every packet holds."""
INTERNAL = {
    "approvals.html": "the reasons that were given, and lines to sign",
    PROJECT: "the project: every decision, to be opened with next year's table",
}
"""What only the internal packet holds."""


SIGNED = (
    "The signature says that the holder of the key made this packet. Get the key from its holder by another way than "
    "this packet, and compare its eight groups of four."
)

READ_SO = (
    "Read boxes by the one-way tables, not evenly: a box is wide because somebody rare is in it. Columns that have no "
    "table are read evenly, as one would not help. "
    f"{READERS[0]} and {READERS[1]} give the shares of every box. Counts of {ONE_WAY} stand for their whole cell "
    "and have noise; weights are shares of the values in a cell."
)

FIELDS = {
    "": (
        "software", "passed", "what_it_is", "method", "notes", "override", "gate", "verification", "worst_groups",
        "linking_risk", "isolation", "utility", "provenance", "plan", "described",
    ),
    "provenance": (
        "input", "output_sha256", "schema", "schema_sha256", "parameters", "command", "python", "versions", "time",
        "row_order", "ledger",
    ),
}  # fmt: skip
"""The fields of the steward's report in a packet, by where they stand."""
MORE_FIELDS = ("layout", "sets", "sets_sha256", "keeps")
"""Fields that it has beside these: a layout, but in packets of before; and others where sets have short names or
groups keep earlier releases."""


def formats_of(variables: Iterable[Variable]) -> tuple[str, ...]:
    """Return the formats in which the table of a packet stands where it fits into them. ``variables``: what a file
    says of its columns."""
    return tuple(TABLES) if any(variable != Variable(dates=variable.dates) for variable in variables) else PLAIN


def following(
    document: JsonValue, claim: Claim, described: Described, release: Release, verification: Verification,
    tables: Mapping[str, bytes], audience: str, one_way: bytes,
) -> dict[str, bytes]:  # fmt: skip
    """Return the files that follow, by path, the README not among them.

    ``document``: the report, which ``claim`` and ``described`` were read from; ``release``: the table as the CSV has
    it; ``verification``: of it; ``one_way``: the file of its one-way tables, of which the weights are computed again.
    Raises :class:`ReadError` for one-way tables that do not fit, and :class:`CellError` for a level in none of them.
    """
    media = {path: MEDIA_TYPES[format] for format, path in TABLES.items()}
    what, time = described.what(verification, claim.suppression), document.field("provenance").field("time").time()
    entry = Entry(release, tables, media, what, time, described.statement)
    texts = {
        "datapackage.json": data_package(entry),
        "dcat.jsonld": dcat(entry),
        "dictionary.html": to_html(dictionary_document(entry)),
        "repeat.py": f"{_script(document, claim, audience)}\n",
    }
    made = Made(*(claim.settings.get(name, "") for name in Made._fields))._replace(k=int(claim.limits["k"]))
    classes = look_alikes(release.frame(), [column.name for column in release.generalized])
    about = release, claim.schema, classes, tables_in(one_way, claim.schema, made, release.n_records), made
    boxes = dict(zip((ONE_WAY, BOXES), files_of(*about), strict=True)) | readers()
    return {path: text.encode() for path, text in texts.items()} | {"ddi-codebook.xml": codebook(entry)} | boxes


def readers() -> dict[str, bytes]:
    """Return the programs that read boxes, by path."""
    folder = files("anonymizer.reporting") / "readers"
    return dict(zip(READERS, ((folder / name).read_bytes() for name in ("read_boxes.py.txt", READERS[1])), strict=True))


def _script(document: JsonValue, claim: Claim, audience: str) -> str:
    """Return the script that repeats the run; that of the recipient names no file, nor how it was read, nor why it may
    leave."""
    if audience != "internal":
        return python_lines(SHORT_PATH, claim.schema, claim.settings, {}, {}, REPORT)
    source = document.field("provenance").field("input")
    findings = document.field("gate").field("findings").items()
    reasons = {
        finding.field("key").text(): finding.field("reason").text()
        for finding in findings
        if not finding.field("reason").absent
    }
    read_with = {name: value.value for name, value in source.field("read_with").fields().items()}
    keeps = document.field("provenance").field("keeps")
    options = [] if keeps.absent else [(one.texts(2)[0], one.texts(2)[1]) for one in keeps.items()]
    name = source.field("name").text()
    return python_lines(name, claim.schema, claim.settings, read_with, reasons, REPORT, options)


def recipient_again(document: JsonValue, claim: Claim, described: Described) -> str:
    """Return the recipient's report made again of what was read from one. Raises :class:`ReadError` for what does not
    fit."""
    override = document.field("override")
    return recipient_json(
        passed=not described.failed, rows=claim.rows, left_out=claim.left_out or 0,
        override="" if override.absent else override.text(), commitment=claim.commitment,
        output={format: claim.outputs[format] for format in TABLES if format in claim.outputs}, schema=claim.schema,
        parameters=claim.settings, time=document.field("provenance").field("time").time(),
        row_order=ORDERS.get(claim.order, ""), ledger=claim.ledger, described=described.to_dict(),
        sets=claim.sets or {},
    )  # fmt: skip


def book_again(rows: pd.DataFrame, release: Release) -> bytes:
    """Return the workbook of a table. ``rows``: its cells as in a CSV file; ``release``: the same as a release."""
    columns, labels = [], []
    for column in release.columns:
        cells = rows[column.name]
        as_number = column.kind is Kind.NUMERIC and not column.generalized
        texts = list(cells.cat.categories)
        ways = np.array([*(sheet_cell(text, as_number) for text in texts), EMPTY], dtype=object)
        columns.append(list(ways[cells.array.codes]))
        labels += label_rows(column.name, column.variable, set(map(kept_value, texts)))
    return workbook_bytes([column.name for column in release.columns], columns, labels)


def read_me(paths: Iterable[str], audience: str, formats: Sequence[str], sets: SetNames, key_id: str = "") -> str:
    """Return the text that says what is in a packet. ``paths``: its other files; ``formats``: those in which the table
    is there, or does not fit; ``sets``: those that have short names; ``key_id``: of the key that signs it."""
    names = sorted({*paths, "README.txt"})
    whom = "For the recipient." if audience == "external" else "Internal: keep it with the original."
    lines = [f"A release packet, made by Copse {VERSION}. {whom}", ""]
    lines += [f"{name:<22}{(MEMBERS | INTERNAL)[name]}" for name in names]
    missing = [format for format in formats if TABLES[format] not in names]
    lines += [f"{'':<22}(the table does not fit into a file of the kind {format})" for format in missing]
    lines += [f"{MANIFEST:<22}size and SHA-256 of every file"]
    lines += [f"{SIGNATURE:<22}the signature, by key {key_id}"] if key_id else []
    lines += ["", *wrap(READ_SO, 100)]
    lines += ["", f"To check it in a browser, without a network: open {PAGE} and choose this packet."]
    lines += ["Whoever forges a packet can forge its page, too: copse verify --page FILE.html writes another."]
    lines += [f"To check all of it: copse verify PACKET.zip{' --key KEY' if key_id else ''}"]
    lines += [*wrap(SIGNED, 100)] if key_id else []
    lines += ["", *wrap(said_of(sets), 100)] if sets else []
    lines += [""]
    lines += [*wrap(ADD_UP, 100), ""]
    return "\n".join(lines)


def statement_of(members: Mapping[str, bytes], claim: Claim, verification: Verification, time: str) -> bytes:
    """Return what is signed of a packet. ``members``: all its files beside the signature; ``verification``: what the
    checker says of the table alone."""
    columns = [claim.schema[name] for name in claim.schema.released]
    predicate = {
        "software": {"name": "Copse", "version": VERSION},
        "time": time,
        "columns": [{"name": one.name, "role": str(one.role), "kind": str(one.kind)} for one in columns],
        "limits": claim.held_to,
        "rows": claim.rows,
        "passed": verification.passed,
        "checks": [
            {name: getattr(check, name) for name in ("name", "required", "achieved", "passed")}
            for check in verification.checks
        ],
        "ledger": ledger_figures(claim.ledger),
    }
    return statement_text({path: digest(content) for path, content in members.items()}, predicate)


def manifest_text(members: Mapping[str, bytes], audience: str, time: str) -> str:
    """Return the manifest of a packet of these files, in their order."""
    described = {
        "copse_packet": LAYOUT,
        "software": {"name": "Copse", "version": VERSION},
        "audience": audience,
        "time": time,
        "members": [
            {"path": path, "what": (MEMBERS | INTERNAL)[path], "bytes": len(content), "sha256": digest(content)}
            for path, content in members.items()
        ],
    }
    return json.dumps(described, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
