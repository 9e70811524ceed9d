"""The data dictionary of a release for everybody who keeps one: plain words, Frictionless Data Package with its Table
Schema, DDI-Codebook 2.5, DCAT as JSON-LD.

All of it is made of the release itself, the digests of its files and what the steward wrote for the reports.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from anonymizer.cells import is_number, kept_text
from anonymizer.digests import digest
from anonymizer.labelled.dates import pattern_of, read_dates
from anonymizer.releasing.release import Release, ReleasedColumn, written_texts
from anonymizer.reporting.document import Document, Section, Table
from anonymizer.reporting.findings import Statement
from anonymizer.reporting.pictures import printable
from anonymizer.schema import Kind, Role
from anonymizer.values import plural
from anonymizer.version import VERSION

MEDIA_TYPES = {
    "csv": "text/csv",
    "csv.gz": "application/gzip",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "feather": "application/vnd.apache.arrow.file",
    **dict.fromkeys(("sav", "dta", "xpt"), "application/octet-stream"),
}
MOST_NAMED = 50
"""Levels of a column that the dictionary names."""
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DDI = "ddi:codebook:2_5"
CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
ROLES = {
    Role.QUASI_IDENTIFYING: "made coarser: others could know it of a person",
    Role.SENSITIVE: "released without a box: what others must not learn of a person",
    Role.INSENSITIVE: "released without a box",
}


@dataclass(frozen=True)
class Entry:
    """What a catalogue is told of a release. ``files``: the content by path, ``media``: its media type by path; the
    first is the CSV. ``what``: what the release is, in the checker's words; ``time``: when it was made."""

    release: Release
    files: Mapping[str, bytes]
    media: Mapping[str, str]
    what: str
    time: str
    statement: Statement

    @property
    def title(self) -> str:
        """What the table is called: by its shape, as its own name may say whose people it holds."""
        return f"Anonymized table of {plural(self.release.n_records, 'row')}"

    @property
    def about(self) -> str:
        """What the table is, and what for."""
        purpose = f" Purpose: {self.statement.purpose}" if self.statement.purpose else ""
        return f"{self.what}{purpose}"


def dictionary_document(entry: Entry) -> Document:
    """Return the data dictionary in plain words: of each column what became of it, how its cells are written, and its
    values."""
    described = zip(entry.release.columns, entry.release.dictionary(), strict=True)
    rows = tuple(
        (column.variable.full_name(column.name), f"It is {ROLES[column.role]}.", about["cells"], _values(column, about))
        for column, about in described
    )
    table = Table(("Column", "In the release", "Cells", "Values"), rows)
    return Document("What the columns are", entry.title, "external", (Section("", (table,)),), entry.what)


def _values(column: ReleasedColumn, about: Mapping[str, Any]) -> str:
    """Return the domain of a column in words."""
    parts = []
    if "lowest" in about:
        ends = f"From {about['lowest']} to {about['highest']}"
        parts.append(f"{ends}{'' if column.declared else ', as in the table it was made from'}.")
    if "levels" in about:
        levels, number = about["levels"], about["number_of_levels"]
        more = f", and {number - MOST_NAMED:,} more" if number > MOST_NAMED else ""
        which = "" if column.declared else " that occur in the table it was made from"
        named = ", ".join(map(column.variable.level_text, levels[:MOST_NAMED]))
        parts.append(f"{number:,} levels{which}: {named}{more}.")
    parts += _sets(column)
    return " ".join(parts)


def _sets(column: ReleasedColumn) -> list[str]:
    """Return what each set that has a short name holds, a sentence each."""
    number, listed = len(column.domain), column.variable.level_text
    return [
        f"{name}: {len(levels):,} of {number:,} levels: {', '.join(map(listed, levels))}."
        for name, levels in column.names.items()
    ]


def data_package(entry: Entry) -> str:
    """Return a Frictionless Data Package (datapackage.json): each file, and the Table Schema of the CSV."""
    resources = []
    for number, (path, content) in enumerate(entry.files.items()):
        format = path.rpartition(".")[2]
        resource: dict[str, Any] = {
            "name": f"release-{format}", "path": path, "format": format, "mediatype": entry.media[path],
            "bytes": len(content), "hash": f"sha256:{digest(content)}",
        }  # fmt: skip
        if not number:
            resource |= {
                "profile": "tabular-data-resource",
                "encoding": "utf-8",
                "schema": {"fields": list(map(_field, entry.release.columns)), "missingValues": [""]},
            }
        resources.append(resource)
    described = {
        "profile": "data-package", "name": "release", "title": entry.title, "description": entry.about,
        "created": entry.time, "resources": resources,
    }  # fmt: skip
    return _json(described)


def _field(column: ReleasedColumn) -> dict[str, Any]:
    """Return a column as a field of a Table Schema, with no constraint that the file itself does not keep."""
    texts = written_texts(column)
    field: dict[str, Any] = {
        "name": kept_text(column.name),
        "type": "string",
        "title": column.variable.label or column.name,
    }
    field |= {"description": ROLES[column.role], "role": column.role.value, "kind": column.kind.value}
    constraints: dict[str, Any] = {"required": not column.may_miss}
    if not column.generalized and column.kind is Kind.NUMERIC and all(map(is_number, texts)):
        field["type"] = "number"
        low, high = (float(end) for end in column.domain) if len(column.domain) == 2 else (None, None)
        if low is not None and high is not None and all(low <= float(text) <= high for text in texts):
            constraints |= {"minimum": low, "maximum": high}
    elif not column.generalized and column.kind is Kind.DATE and all(map(DAY.fullmatch, _plain_dates(column))):
        field["type"] = "date"
        field |= {"format": pattern_of(column.variable.dates)} if column.variable.dates else {}
    elif not column.generalized and column.kind is Kind.CATEGORICAL and len(column.domain) <= 1000:
        levels = [kept_text(level) for level in column.domain]
        if set(texts) <= set(levels):
            constraints["enum"] = levels
            meanings = dict(column.variable.meanings)
            if meanings:
                words = [meanings.get(level, level) for level in column.domain]
                field["categories"] = [{"value": at, "label": word} for at, word in zip(levels, words, strict=True)]
    if column.names:
        field["sets"] = {name: list(levels) for name, levels in column.names.items()}
    if len(constraints) > 1:
        field["domainFrom"] = column.domain_from
    return field | {"constraints": constraints}


def _plain_dates(column: ReleasedColumn) -> list[str]:
    """Return the distinct cells of a column of dates in the order year-month-day."""
    return list(read_dates(pa.array(written_texts(column), pa.string()), column.variable.dates).to_pylist())


def codebook(entry: Entry) -> bytes:
    """Return a DDI-Codebook 2.5: the study in a few words, the CSV file, and every column."""
    root = ElementTree.Element(f"{{{DDI}}}codeBook", {"version": "2.5"})
    document = _add(root, "docDscr")
    _citation(document, f"Codebook: {entry.title}", entry)
    study = _add(root, "stdyDscr")
    _citation(study, entry.title, entry)
    _add(_add(study, "stdyInfo"), "abstract", entry.about)
    _add(_add(_add(study, "dataAccs"), "useStmt"), "confDec", entry.what)
    path, rows, columns = next(iter(entry.files)), entry.release.n_records, entry.release.columns
    file = _add(_add(root, "fileDscr", ID="F1"), "fileTxt")
    _add(file, "fileName", path)
    shape = _add(file, "dimensns")
    _add(shape, "caseQnty", str(rows))
    _add(shape, "varQnty", str(len(columns)))
    _add(file, "fileType", "text/csv", charset="UTF-8")
    data = _add(root, "dataDscr")
    for number, (column, described) in enumerate(zip(columns, entry.release.dictionary(), strict=True)):
        _variable(data, number + 1, column, described)
    ElementTree.register_namespace("", DDI)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _citation(parent: ElementTree.Element, title: str, entry: Entry) -> None:
    citation = _add(parent, "citation")
    _add(_add(citation, "titlStmt"), "titl", title)
    if entry.statement.prepared_by:
        _add(_add(citation, "rspStmt"), "AuthEnty", entry.statement.prepared_by)
    produced = _add(citation, "prodStmt")
    _add(produced, "prodDate", entry.time[:10], date=entry.time[:10])
    _add(produced, "software", "Copse", version=VERSION)


def _variable(data: ElementTree.Element, number: int, column: ReleasedColumn, described: Mapping[str, Any]) -> None:
    """Add a column to the data description, its parts in the order of the standard."""
    as_number = not column.generalized and column.kind is Kind.NUMERIC
    variable = _add(
        data, "var", ID=f"V{number}", name=printable(column.name), files="F1",
        intrvl="contin" if as_number else "discrete",
    )  # fmt: skip
    _add(variable, "labl", column.variable.label or column.name)
    if as_number and len(column.domain) == 2:
        _add(_add(variable, "valrng"), "range", min=column.domain[0], max=column.domain[1])
    _add(variable, "txt", f"It is {ROLES[column.role]}. {described['cells']}")
    meanings = dict(column.variable.meanings)
    if not column.generalized:
        for level in described.get("levels", ()):
            category = _add(variable, "catgry")
            _add(category, "catValu", kept_text(level))
            _add(category, "labl", meanings.get(level, level))
    _add(variable, "varFormat", type="numeric" if as_number else "character", schema="other")
    for type, text in (("role", column.role.value), ("kind", column.kind.value), ("domain", column.domain_from)):
        _add(variable, "notes", text, type=type)
    for sentence in _sets(column):
        _add(variable, "notes", sentence, type="set")


def _add(parent: ElementTree.Element, tag: str, text: str = "", /, **attributes: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, f"{{{DDI}}}{tag}", attributes)
    child.text = printable(text) or None
    return child


def dcat(entry: Entry) -> str:
    """Return a DCAT dataset as JSON-LD, with a distribution for each file."""
    distributions = [
        {
            "@type": "dcat:Distribution",
            "dct:title": path,
            "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{entry.media[path]}"},
            "dcat:byteSize": {"@value": str(len(content)), "@type": "xsd:nonNegativeInteger"},
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
                "spdx:checksumValue": {"@value": digest(content), "@type": "xsd:hexBinary"},
            },
        }
        for path, content in entry.files.items()
    ]
    described: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "dcat:Dataset",
        "dct:title": entry.title,
        "dct:description": entry.about,
        "dct:issued": {"@value": entry.time, "@type": "xsd:dateTime"},
        "dct:identifier": digest(next(iter(entry.files.values()))),
        "dcat:distribution": distributions,
    }
    if entry.statement.prepared_by:
        described["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": entry.statement.prepared_by}
    return _json(described)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
