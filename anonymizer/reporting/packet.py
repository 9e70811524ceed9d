"""A release packet: one ZIP with the table, its dictionary, reports with pictures, the script that repeats it,
approvals, and a manifest with the digest of every member.

A packet is checked from its bytes before anybody gets it, by the same :func:`check_packet` that checks one that came
from anywhere. The *external* packet is put together without anything internal, not cleaned of it afterwards.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.checking.released_file import BESIDE, ReleasedFile, read_archive, read_file
from anonymizer.checking.verify import Verification, verify
from anonymizer.errors import AnonymizerError, GuaranteeError, Progress, ReadError, no_progress
from anonymizer.json_value import JsonValue, parse, short_text
from anonymizer.labelled.variable import Variable
from anonymizer.reading.files import Reading
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions
from anonymizer.releasing.files import archive, write_file
from anonymizer.releasing.release import ORDERS, Release
from anonymizer.reporting.catalogue import MEDIA_TYPES, codebook, data_package, dcat, dictionary_text
from anonymizer.reporting.claim import Claim, claim_from
from anonymizer.reporting.dossier import AUDIENCES, approvals_of, document_of
from anonymizer.reporting.findings import Findings, Statement
from anonymizer.reporting.html import to_html
from anonymizer.reporting.pdf import to_pdf
from anonymizer.reporting.remade import (
    LONGEST,
    SCRIPT,
    Facts,
    entry_again,
    is_by_content,
    libraries,
    recipient_text,
    release_again,
    report_text,
)
from anonymizer.reporting.report import ADD_UP, SHORT_PATH, digest, python_lines
from anonymizer.schema import Kind, Role, Schema
from anonymizer.values import numbers_of, value_text
from anonymizer.version import VERSION

LAYOUT = 1
"""Version of a packet's layout."""
MOST_MEMBERS = 1_000
MANIFEST, REPORT = "manifest.json", "report.json"
REMEDY = "Bring the packet as it was made."
PLAIN = ("csv", "parquet", "xlsx")
"""What every packet has the table as; one that came with words of its columns has it in the other formats, too."""
TABLES = {format: f"data/release.{format}" for format in (*PLAIN, "feather", "sav", "dta", "xpt")}
MEMBERS = {
    "README.txt": "what is in here, and how to check it",
    **{path: f"the table as {path.rpartition('.')[2]}" for path in TABLES.values()},
    "datapackage.json": "the data dictionary as a Frictionless Data Package with its Table Schema",
    "dcat.jsonld": "the entry for a data catalogue, DCAT",
    "ddi-codebook.xml": "the data dictionary as DDI-Codebook 2.5",
    "dictionary.md": "the data dictionary in plain words",
    "repeat.py": "the script that makes a release like it from the original",
    "report.html": "the report, with pictures",
    REPORT: "the report for machines: roles, limits, digests of the table",
    "report.pdf": "the report to print and to sign",
}
"""Everything that a packet for the recipient may hold beside its manifest, and what it is."""
INTERNAL = {
    "approvals.html": "the reasons that were given, and lines to sign",
    "project.json": "the project: every decision, to be opened with next year's table",
}
"""What only the internal packet holds."""


def packet_of(
    release: Release,
    findings: Findings,
    statement: Statement,
    audience: str,
    *,
    override: str = "",
    project: str = "",
    progress: Progress = no_progress,
) -> bytes:
    """Return a packet for an audience, a key of :data:`anonymizer.reporting.dossier.AUDIENCES`; it has been checked.

    ``findings``: of the release; digests of the table are added. ``override``: why it may leave though a check failed;
    ``project``: the project file, for the internal packet alone. Equal arguments make equal packets.

    Raises :class:`GuaranteeError` when something stands in the way of the release, or the packet does not hold what it
    should, and :class:`ParameterError` for an unknown audience.
    """
    tables = {}
    formats = packet_formats(release)
    for number, format in enumerate(formats):
        progress(0.3 * number / len(formats), f"Writing the table as {format}")
        if format in release.formats:
            tables[TABLES[format]] = release.to_bytes(format)
    outputs = {format: digest(tables[path]) for format, path in TABLES.items() if path in tables}
    report = findings.report.with_output(outputs, override)
    findings = replace(findings, report=report)
    internal = audience == "internal"
    progress(0.3, "Writing the report")
    document = document_of(findings, statement, audience)
    run = report.provenance
    reasons = {finding.key: finding.reason for finding in report.gate.findings if finding.reason}
    script = {"name": run.input_name if internal else SHORT_PATH, "parameters": dict(run.parameters)}
    script |= {"read_with": dict(run.read_with) if internal else {}, "reasons": reasons if internal else {}}
    progress(0.4, "Writing the report as PDF")
    pdf = to_pdf(document)
    progress(0.6, "Describing the columns")
    what = report.verification.describe() if internal or report.verification.passed else document.sections[0].blocks[0]
    facts = Facts.of(release, str(what), statement, script)
    described = json.loads(report.to_json() if internal else report.to_recipient_json())
    texts = {"report.html": to_html(document), REPORT: report_text(described | {"dictionary": facts.to_dict()})}
    if internal:
        texts["approvals.html"] = to_html(approvals_of(findings, statement))
        texts |= {"project.json": project} if project else {}
    members = tables | {"report.pdf": pdf} | {path: text.encode() for path, text in texts.items()}
    again = release_again(read_file(tables[TABLES["csv"]]).under(run.schema).rows, run.schema, facts)
    members |= _made_again(again, facts, members, audience, run.time)
    members = dict(sorted(members.items()))
    manifest = _manifest(members, audience, run.time)
    progress(0.7, "Packing")
    packet = archive({MANIFEST: manifest.encode(), **members})
    progress(0.8, "Reading it back and checking it")
    _require_whole(packet, set(tables), report.verification.passed)
    progress(1.0, "Done")
    return packet


def _made_again(
    release: Release, facts: Facts, members: Mapping[str, bytes], audience: str, time: str
) -> dict[str, bytes]:
    """Return the members of a packet that follow from its rows, its roles and the facts of its report."""
    tables = {path: members[path] for path in TABLES.values() if path in members}
    media = {path: MEDIA_TYPES[format] for format, path in TABLES.items()}
    entry = entry_again(release, facts, tables, media, time)
    name, parameters, read_with, reasons = (facts.script[part] for part in SCRIPT)
    again = {
        "datapackage.json": data_package(entry).encode(),
        "dcat.jsonld": dcat(entry).encode(),
        "ddi-codebook.xml": codebook(entry),
        "dictionary.md": dictionary_text(entry).encode(),
        "repeat.py": f"{python_lines(name, parameters, read_with, reasons, REPORT)}\n".encode(),
    }
    return again | {"README.txt": _read_me({*members, *again}, audience, packet_formats(release)).encode()}


def _require_whole(packet: bytes, tables: set[str], passes: bool) -> None:
    """Raise :class:`GuaranteeError` unless a packet holds these tables and nothing differs; ``passes``: and all checks
    of its table hold."""
    check = check_packet(packet)
    if check.differences or set(check.tables) != tables:
        raise GuaranteeError(f"The packet is not in order: {' '.join(check.differences)}", remedy="Make it again.")
    if passes and not check.passed:
        raise GuaranteeError("The table in the packet fails a check that the release passed.", remedy="Make it again.")


def write_packet(path: str | Path, packet: bytes) -> None:
    """Write a packet whole, read it back from the disk and compare. Raises :class:`GuaranteeError` when it differs."""
    write_file(path, packet)
    if Path(path).is_file() and Path(path).read_bytes() != packet:
        raise GuaranteeError(f"{path} does not hold what was written.", remedy="Write it to another disk.")


def packet_formats(release: Release) -> tuple[str, ...]:
    """Return the formats in which the table of a packet stands where it fits into them."""
    return tuple(TABLES) if any(column.variable != Variable() for column in release.columns) else PLAIN


def _read_me(members: Collection[str], audience: str, formats: Sequence[str]) -> str:
    names = sorted({*members, "README.txt"} & {*MEMBERS, *INTERNAL})
    whom = "For the recipient." if audience == "external" else "Internal: keep it with the original."
    lines = [f"A release packet, made by Copse {VERSION}. {whom}", ""]
    lines += [f"{name:<22}{(MEMBERS | INTERNAL)[name]}" for name in names]
    missing = [format for format in formats if TABLES[format] not in members]
    lines += [f"{'':<22}(the table does not fit into a file of the kind {format})" for format in missing]
    lines += [f"{MANIFEST:<22}size and SHA-256 of every file", "", "To check all of it: copse verify PACKET.zip", ""]
    lines += [*wrap(ADD_UP, 100), ""]
    return "\n".join(lines)


def _manifest(members: Mapping[str, bytes], audience: str, time: str, own: JsonValue | None = None) -> str:
    """Return the manifest of a packet, made with the libraries that are here, or that its ``own`` manifest names."""
    versions = libraries() if own is None else own.field("software").field("libraries").value
    described = {
        "copse_packet": LAYOUT,
        "software": {"name": "Copse", "version": VERSION, "libraries": versions},
        "audience": audience,
        "time": time,
        "members": [
            {"path": path, "what": (MEMBERS | INTERNAL)[path], "bytes": len(content), "sha256": digest(content)}
            for path, content in members.items()
        ],
    }
    return json.dumps(described, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


@dataclass(frozen=True, eq=False)
class PacketCheck:
    """What came of checking a packet. ``differences``: how it is not what it says, a sentence each; ``tables``: the
    checker's findings of each table in it, by path; ``claim``: of its report, ``None`` where that cannot be read."""

    audience: str
    differences: tuple[str, ...]
    tables: Mapping[str, Verification]
    claim: Claim | None

    @property
    def passed(self) -> bool:
        """True when the packet is whole and its tables keep what is required of them."""
        return not self.differences and bool(self.tables) and all(table.passed for table in self.tables.values())

    @property
    def sentence(self) -> str:
        """Whether the packet is whole, in one sentence."""
        if not self.differences:
            return (
                f"This packet ({self.audience}) is whole: every file is the one of its manifest and report, and what "
                "follows from its rows was made again and is the same. Not read: HTML, PDF and the project. Nobody "
                "signed the manifest, so it does not tell who made it."
            )
        more = f" ({len(self.differences) - 1:,} more)" if len(self.differences) > 1 else ""
        return f"This packet is not as it was made: {self.differences[0]}{more}"


def is_packet(data: bytes) -> bool:
    """Return whether a file is meant to be a packet: a ZIP that begins with a manifest."""
    return data.startswith(b"PK\x03\x04") and data[30 : 30 + len(MANIFEST)] == MANIFEST.encode()


Unfold = Callable[[bytes], tuple[dict[str, bytes], list[str]]]
"""What gives the members of an archive, and what else is in it."""


def read_members(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the members of a packet as the reading of any table gives it: a row each; what else is in it are problems.

    It is a reader for :func:`anonymizer.reading.child.read_in_child`, so that an archive of a stranger unfolds there;
    :func:`members_of` gives back what :func:`anonymizer.checking.released_file.read_archive` does.
    """
    members, beside = read_archive(data)
    contents = [b64encode(content).decode() for content in members.values()]
    return Content(
        pd.DataFrame({"path": list(members), "content": contents}, dtype="str"), options,
        [Problem(BESIDE, sentence) for sentence in beside],
    )  # fmt: skip


def members_of(reading: Reading) -> tuple[dict[str, bytes], list[str]]:
    """Return the members that :func:`read_members` read in another process, and what else is in the archive."""
    rows = zip(reading.frame["path"], reading.frame["content"], strict=True)
    beside = [problem.text for problem in reading.problems if problem.level == BESIDE]
    return {str(path): b64decode(content) for path, content in rows}, beside


def check_packet(
    data: bytes,
    *,
    original: pd.DataFrame | None = None,
    unfold: Unfold = read_archive,
    read: Callable[[bytes], ReleasedFile] = read_file,
    **limits: Any,
) -> PacketCheck:
    """Return what comes of checking a packet: every member against the manifest, nothing beside it, every table against
    the report, each under its roles and limits by the checker, all with the same rows.

    ``original``: the table that it was made from; ``limits``: to require beyond the report's own; ``unfold``, ``read``:
    what reads the archive and each table in it. Raises :class:`ReadError` when it is no packet, or cannot be read at
    all.
    """
    members, sentences = unfold(data)
    if MANIFEST not in members:
        raise ReadError("This is no release packet: it has no manifest.", remedy=REMEDY)
    text = members.pop(MANIFEST)
    manifest = parse(text, "manifest", REMEDY)
    manifest.field("copse_packet").whole(LAYOUT, LAYOUT)
    audience = manifest.field("audience").one_of(AUDIENCES)
    allowed = MEMBERS | (INTERNAL if audience == "internal" else {})
    sentences = [*sentences, *_differences(members, manifest, allowed)]
    claim, tables, files = None, {}, dict[str, ReleasedFile]()
    try:
        claim = claim_from(members.get(REPORT, b""))
    except ReadError as error:
        sentences.append(error.problem)
    for format, path in TABLES.items():
        if claim is None or path not in members:
            continue
        if claim.outputs.get(format) != digest(members[path]):
            sentences.append(f"{path} is not the table that the report speaks of: its SHA-256 is another.")
        try:
            file = read(members[path]).under(claim.schema)
            tables[path] = _verify(file, claim, original, limits)
            first = next(iter(files.values()), file)
            if len(file.rows) != claim.rows or not _same_rows(first.rows, file.rows, claim.schema):
                sentences.append(f"{path} does not have the rows that it should.")
            files[format] = file
        except AnonymizerError as error:
            sentences.append(f"{path}: {error.problem}")
    if claim is not None and set(claim.outputs) != {format for format, path in TABLES.items() if path in members}:
        sentences.append("The report speaks of other tables than those that are here.")
    if claim is not None and not sentences:
        sentences += _not_as_made(members, text, manifest, claim, files, audience)
    return PacketCheck(audience, tuple(sentences), tables, claim)


def _not_as_made(
    members: Mapping[str, bytes],
    manifest_text: bytes,
    manifest: JsonValue,
    claim: Claim,
    files: Mapping[str, ReleasedFile],
    audience: str,
) -> list[str]:
    """Return what in a packet does not follow from its rows, its roles and the facts of its report, a sentence each."""
    version = manifest.field("software").field("version").text()
    if version != VERSION:
        return [
            f"It was made by Copse {short_text(version)}, and this is {VERSION}, which cannot make it again to compare."
        ]
    try:
        report = parse(members[REPORT], "report", REMEDY)
        facts = Facts.from_value(report.field("dictionary"))
        time = report.field("provenance").field("time").time()
        releases = {format: release_again(file.rows, claim.schema, facts) for format, file in files.items()}
        again = _made_again(releases["csv"], facts, members, audience, time)
        if audience == "external":
            again[REPORT] = recipient_text(report.value, facts).encode()
        order = report.field("provenance").field("row_order").text(LONGEST)
    except (AnonymizerError, KeyError, TypeError, AttributeError, ValueError) as error:
        what = error.problem if isinstance(error, AnonymizerError) else f"its part {short_text(str(error))} is amiss."
        return [f"{REPORT} does not describe what is here: {what}"]
    sentences = [
        f"{path} is not what follows from the table and the report: something in it was changed or added."
        for path, content in again.items()
        if members[path] != content
    ]
    if _manifest(members, audience, time, manifest).encode() != manifest_text:
        sentences.append(f"{MANIFEST} is not written as it should be: something in it was changed or added.")
    if order == ORDERS["content"] and not is_by_content(releases["csv"]):
        sentences.append("The rows do not stand in the order that the report says: their places can tell something.")
    if manifest.field("software").field("libraries").value == libraries():
        sentences += [
            f"{TABLES[format]} has something beside its rows, or is not written as releases are."
            for format, release in releases.items()
            if release.to_bytes(format) != members[TABLES[format]]
        ]
    return sentences


def _differences(members: Mapping[str, bytes], manifest: JsonValue, allowed: Mapping[str, str]) -> list[str]:
    """Return how the members are not those of the manifest."""
    sentences, listed = [], set()
    for item in manifest.field("members").items(MOST_MEMBERS):
        path = item.field("path").text()
        size, sha256 = item.field("bytes").whole(), item.field("sha256").sha256()
        listed.add(path)
        if path not in members:
            sentences.append(f"{_name(path)} is missing.")
        elif len(members[path]) != size or digest(members[path]) != sha256:
            sentences.append(f"{_name(path)} is not what the manifest says: its SHA-256 is another.")
    sentences += [f"{_name(path)} has no place in such a packet." for path in members if path not in allowed]
    sentences += [f"{path} is not in the manifest." for path in members if path in allowed and path not in listed]
    required = set(MEMBERS) - set(TABLES.values()) | {TABLES["csv"]}
    return sentences + [f"{path} is missing." for path in sorted(required - set(members) - listed)]


def _name(path: str) -> str:
    """Return the name of a member in a sentence: as it is when it is one of ours, quoted and cut when it is not."""
    return path if path in MEMBERS | INTERNAL else short_text(path)


def _verify(file: ReleasedFile, claim: Claim, original: pd.DataFrame | None, limits: Mapping[str, Any]) -> Verification:
    schema = claim.schema
    if original is not None:
        original = original[[column.name for column in schema.columns if column.name in original.columns]]
    about: dict[str, Any] = {"suppression": claim.suppression, "left_out": claim.left_out}
    return verify(
        file.rows,
        schema,
        original=original,
        beside=file.beside,
        unjudged=file.unjudged,
        **{**claim.limits, **about, **limits},
    )


def _same_rows(first: pd.DataFrame, second: pd.DataFrame, schema: Schema) -> bool:
    """Return whether two tables of a release, as values, have the same rows in the same order."""
    if list(first.columns) != list(second.columns) or len(first) != len(second):
        return False
    return all(_same_values(first[name], second[name], schema, str(name)) for name in first.columns)


def _same_values(first: "pd.Series[Any]", second: "pd.Series[Any]", schema: Schema, name: str) -> bool:
    column = schema[name]
    if column.role is Role.QUASI_IDENTIFYING or column.kind is Kind.CATEGORICAL:
        texts = [one.astype(object).map(value_text, na_action="ignore") for one in (first, second)]
        return bool(((texts[0] == texts[1]) | (texts[0].isna() & texts[1].isna())).all())
    numbers = [np.asarray(numbers_of(one, column)[0], dtype=float) for one in (first, second)]
    return bool(np.array_equal(numbers[0], numbers[1], equal_nan=True))
