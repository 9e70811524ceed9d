"""A release packet: one ZIP with the table, its dictionary, reports with pictures, the script that repeats it,
approvals, and a manifest with the digest of every member.

A packet is checked from its bytes before anybody gets it, by the same :func:`check_packet` that checks one that came
from anywhere. The *external* packet is put together without anything internal, not cleaned of it afterwards.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.rare_forms import rare_forms
from anonymizer.checking.released_file import BESIDE, UNJUDGED, ReleasedFile, read_archive, read_file
from anonymizer.checking.verify import Verification, verify
from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError, CellError, GuaranteeError, Progress, ReadError, no_progress
from anonymizer.json_value import JsonValue, first_difference, parse, short_text
from anonymizer.provenance.claim import Claim, claim_in
from anonymizer.provenance.signature import Envelope, PublicKey, SigningKey
from anonymizer.reading.files import Reading
from anonymizer.reading.options import Content, Extent, Problem, ReadOptions
from anonymizer.releasing.files import archive, write_file
from anonymizer.releasing.one_way_file import ONE_WAY
from anonymizer.releasing.release import Release
from anonymizer.releasing.set_names import named
from anonymizer.reporting.against import other_than_said
from anonymizer.reporting.described import Described, release_from
from anonymizer.reporting.dossier import AUDIENCES, approvals_of, document_of
from anonymizer.reporting.findings import Findings, Statement
from anonymizer.reporting.html import to_html
from anonymizer.reporting.packet_files import (
    FIELDS,
    INTERNAL,
    LAYOUT,
    MANIFEST,
    MEMBERS,
    MORE_FIELDS,
    PAGE,
    PROJECT,
    REPORT,
    REQUIRED,
    SIGNATURE,
    TABLES,
    book_again,
    following,
    formats_of,
    manifest_text,
    read_me,
    recipient_again,
    statement_of,
)  # fmt: skip
from anonymizer.reporting.pdf import to_pdf
from anonymizer.reporting.recipient_page import recipient_page
from anonymizer.schema import Kind, Role, Schema
from anonymizer.values import numbers_of, value_text

MOST_MEMBERS = 1_000
REMEDY = "Use the packet as it was made."


def packet_of(
    release: Release,
    findings: Findings,
    statement: Statement,
    audience: str,
    *,
    override: str = "",
    project: str = "",
    key: SigningKey | None = None,
    progress: Progress = no_progress,
) -> bytes:
    """Return a packet for an audience, a key of :data:`anonymizer.reporting.dossier.AUDIENCES`; it has been checked.

    ``findings``: of the release; digests of the table are added. ``override``: why it may leave though a check failed;
    ``project``: the project file, for the internal packet alone; ``key``: signs it. Equal arguments make equal packets.

    Raises :class:`GuaranteeError` when something stands in the way of the release, or the packet does not hold what it
    should, and :class:`ParameterError` for an unknown audience.
    """
    tables = {}
    formats = formats_of(column.variable for column in release.columns)
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
    described = Described.of(release, report.verification, statement)
    text = (report.to_json if internal else report.to_recipient_json)(described.to_dict())
    progress(0.4, "Writing the report as PDF")
    members = tables | {"report.html": to_html(document).encode(), "report.pdf": to_pdf(document)}
    members[REPORT] = text.encode()
    if internal:
        members["approvals.html"] = to_html(approvals_of(findings, statement)).encode()
        members |= {PROJECT: project.encode()} if project else {}
    progress(0.6, "Describing the columns")
    about = _Report.of(members[REPORT])
    files: dict[bytes, ReleasedFile] = {}

    def read(content: bytes) -> ReleasedFile:
        if content not in files:
            files[content] = read_file(content)
        return files[content]

    read_back = about.release(read(tables[TABLES["csv"]]).under(about.schema, sets=about.claim.sets))
    one_way = release.one_way() if release.one_way is not None else b""
    members |= about.following(read_back, report.verification, tables, audience, one_way)
    members |= {PAGE: recipient_page()}
    key_id = key.public.id if key else ""
    members["README.txt"] = read_me(members, audience, formats, about.claim.sets or {}, key_id).encode()
    members = dict(sorted(members.items()))
    time = report.provenance.time
    first = {MANIFEST: manifest_text(members, audience, time).encode()}
    if key is not None:
        table = _verify(
            read(tables[TABLES["csv"]]).under(about.schema, labels=True, sets=about.claim.sets), about.claim, None, {}
        )
        first[SIGNATURE] = key.sign(statement_of(first | members, about.claim, table, time))
    progress(0.7, "Packing")
    packet = archive(first | members)
    progress(0.8, "Reading it back and checking it")
    _require_whole(packet, set(tables), report.verification.passed, key, read)
    progress(1.0, "Done")
    return packet


@dataclass(frozen=True, eq=False)
class _Report:
    """The report of a packet as it was read: ``document``, what it claims, and what it says of the columns. ``schema``:
    the claimed one, with the labels that columns have."""

    document: JsonValue
    claim: Claim
    described: Described
    schema: Schema

    @classmethod
    def of(cls, content: bytes) -> "_Report":
        """Return what a report says. Raises :class:`ReadError` for what is none."""
        document = parse(content, "report", REMEDY)
        claim, described = claim_in(document), Described.from_value(document.field("described"))
        schema, columns = claim.schema, document.field("described").field("columns")
        if sorted(described.variables) != sorted(schema.released):
            columns.refuse("they are not the columns that are released")
        columns.build(lambda: [schema[name] for name in described.variables])
        for name, variable in described.variables.items():
            schema = schema.with_column(name, variable=variable)
        return cls(document, claim, described, schema)

    def release(self, file: ReleasedFile) -> Release:
        """Return the release that a file of it is, read under the schema. Raises :class:`CellError` for what is no
        cell."""
        numbers, sets = (str(self.claim.settings.get(name, "")) for name in ("numbers", "sets"))
        return named(release_from(file.rows, self.schema, self.described.columns, numbers), sets)

    def following(
        self, release: Release, verification: Verification, tables: Mapping[str, bytes], audience: str, one_way: bytes
    ) -> dict[str, bytes]:
        """Return the other files that follow: see :func:`anonymizer.reporting.packet_files.following`."""
        return following(self.document, self.claim, self.described, release, verification, tables, audience, one_way)

    def differences(self, content: bytes, audience: str) -> list[str]:
        """Return how the file of the report is not written as Copse writes it. Most of the steward's follows from the
        original: of that, the fields are compared and no figures."""
        if audience == "internal":
            return [
                f"{REPORT}: {place or 'it'} does not have the fields that it should."
                for place, names in FIELDS.items()
                if {*(self.document.field(place) if place else self.document).fields()}.difference(MORE_FIELDS)
                != set(names)
            ]
        return _other_json(REPORT, content, recipient_again(self.document, self.claim, self.described).encode())


def _require_whole(
    packet: bytes, tables: set[str], passes: bool, key: SigningKey | None, read: Callable[[bytes], ReleasedFile]
) -> None:
    """Raise :class:`GuaranteeError` unless a packet holds these tables and nothing differs; ``passes``: and all checks
    of its table hold. ``key``: that signed it; ``read``: what reads a table."""
    check = check_packet(packet, key=key.public if key else None, read=read)
    if check.differences or set(check.tables) != tables:
        raise GuaranteeError(f"The packet is not in order: {' '.join(check.differences)}", remedy="Make it again.")
    if passes and not check.passed:
        raise GuaranteeError("The table in the packet fails a check that the release passed.", remedy="Make it again.")


def write_packet(path: str | Path, packet: bytes) -> None:
    """Write a packet whole, read it back from the disk and compare. Raises :class:`GuaranteeError` when it differs."""
    write_file(path, packet)
    if Path(path).is_file() and Path(path).read_bytes() != packet:
        raise GuaranteeError(f"{path} does not hold what was written.", remedy="Write it to another disk.")


@dataclass(frozen=True, eq=False)
class PacketCheck:
    """What came of checking a packet. ``differences``: how it is not what it says, a sentence each; ``tables``: the
    checker's findings of each table in it, by path; ``claim``: of its report, ``None`` where that cannot be read;
    ``more``: what else is to be said, a sentence each: that its bytes cannot be judged, and, where no original is at
    hand, rare forms among the values. ``signed_by``: the id of the key that the packet says it is signed by, "" for
    none; ``key``: the one that its signature was held to. ``rows`` of its table, ``None`` where they are not those that
    the report speaks of.

    >>> import anonymizer as an
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> path = Path(mkdtemp(), "packet.zip")
    >>> packet = result.packet(path, seconds=0.1)
    >>> an.verify(path, original=table).passed
    True
    """

    audience: str
    differences: tuple[str, ...]
    tables: Mapping[str, Verification]
    claim: Claim | None
    more: tuple[str, ...] = ()
    signed_by: str = ""
    key: PublicKey | None = None
    rows: pd.DataFrame | None = None

    @property
    def passed(self) -> bool:
        """True when the packet is whole and its tables keep what is required of them."""
        return not self.differences and bool(self.tables) and all(table.passed for table in self.tables.values())

    @property
    def sentence(self) -> str:
        """Whether the packet is whole, in one sentence."""
        if not self.differences:
            return (
                f"This packet ({self.audience}) is whole: every file is the one of its manifest, and those that follow "
                "from the table and the report were made again and are the same."
            )
        more = f" ({len(self.differences) - 1:,} more)" if len(self.differences) > 1 else ""
        return f"This packet is not as it was made: {self.differences[0]}{more}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the check of a whole packet did not look at, and what it cannot say, a sentence each."""
        unread = f"{', '.join(UNREAD[self.audience][:-1])} and {UNREAD[self.audience][-1]}"
        return (
            f"Not read: {unread}. Their bytes are those of the manifest, and what they say was not compared.",
            f"Not made again: the counts of {ONE_WAY}, which have noise.",
            self.signature,
            *self.more,
        )

    @property
    def signature(self) -> str:
        """What the signature of a packet that is whole says, in one sentence."""
        if not self.signed_by:
            return (
                "Nobody signed the manifest: it shows damage, and changes that do not fit, but not who made the packet."
            )
        if self.key is None:
            return f"It says that key {self.signed_by} signed it. Nobody checked that here: it takes the key."
        return f"The holder of key {self.key.groups} signed it."


UNREAD = {
    "external": ("report.html", "report.pdf"),
    "internal": (
        "report.html", "report.pdf", "approvals.html", "project.json", f"the figures of {REPORT} beside its limits",
    ),
}  # fmt: skip
"""What of a packet is not made again, by its audience."""


def is_packet(data: bytes) -> bool:
    """Return whether a file is meant to be a packet: a ZIP that begins with a manifest."""
    return data.startswith(b"PK\x03\x04") and data[30 : 30 + len(MANIFEST)] == MANIFEST.encode()


Unfold = Callable[[bytes], tuple[dict[str, bytes], list[str], str]]
"""What gives the members of an archive, what else is in it, and why that cannot be said."""


def read_members(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the members of a packet as the reading of any table gives it: a row each; what else is in it are problems.

    It is a reader for :func:`anonymizer.reading.child.read_in_child`, so that an archive of a stranger unfolds there;
    :func:`members_of` gives back what :func:`anonymizer.checking.released_file.read_archive` does.
    """
    members, beside, unjudged = read_archive(data)
    contents = [b64encode(content).decode() for content in members.values()]
    return Content(
        pd.DataFrame({"path": list(members), "content": contents}, dtype="str"), options,
        [Problem(BESIDE, sentence) for sentence in beside] + ([Problem(UNJUDGED, unjudged)] if unjudged else []),
    )  # fmt: skip


def members_of(reading: Reading) -> tuple[dict[str, bytes], list[str], str]:
    """Return what :func:`read_members` read in another process as
    :func:`anonymizer.checking.released_file.read_archive` does."""
    rows = zip(reading.frame["path"], reading.frame["content"], strict=True)
    beside, unjudged = ([one.text for one in reading.problems if one.level == level] for level in (BESIDE, UNJUDGED))
    return {str(path): b64decode(content) for path, content in rows}, beside, "".join(unjudged)


def project_in(content: bytes, unfold: Unfold = read_archive) -> bytes:
    """Return the project file: ``content``, or the one in it where that is a packet for the steward's own files.

    ``unfold``: what reads the archive. Raises :class:`ReadError` for a packet without a project.
    """
    if not is_packet(content):
        return content
    members, _, why = unfold(content)
    if PROJECT not in members:
        raise ReadError(
            f"This packet has no project. {why}".strip(),
            remedy="Use the packet that was made for your own files, or the project file.",
        )
    return members[PROJECT]


def check_packet(
    data: bytes,
    *,
    original: pd.DataFrame | None = None,
    unfold: Unfold = read_archive,
    read: Callable[[bytes], ReleasedFile] = read_file,
    key: PublicKey | None = None,
    **limits: Any,
) -> PacketCheck:
    """Return what comes of checking a packet: every member against the manifest, nothing beside it, every table against
    the report, each under its roles and limits by the checker, all with the same rows.

    ``original``: the table that it was made from; ``limits``: to require beyond the report's own; ``unfold``, ``read``:
    what reads the archive and each table in it; ``key``: that it has to be signed with. Raises :class:`ReadError` when
    it is no packet, or cannot be read at all.
    """
    members, sentences, unjudged = unfold(data)
    if MANIFEST not in members:
        raise ReadError("This is no release packet: it has no manifest.", remedy=REMEDY)
    in_order = list(members) == sorted(members, key=lambda path: (path != MANIFEST, path != SIGNATURE, path))
    content, envelope = members.pop(MANIFEST), members.pop(SIGNATURE, None)
    manifest = parse(content, "manifest", REMEDY)
    if manifest.field("copse_packet").whole(1) != LAYOUT:
        manifest.field("copse_packet").refuse(f"a packet of this version of Copse has {LAYOUT} there")
    audience = manifest.field("audience").one_of(AUDIENCES)
    sentences += _differences(members, manifest, MEMBERS | (INTERNAL if audience == "internal" else {}))
    if not in_order:
        sentences.append("The files do not stand in the order of their names.")
    seal = _Seal.of(envelope, key)
    sentences += seal.differences
    if not sentences:
        again = manifest_text(dict(sorted(members.items())), audience, manifest.field("time").time())
        sentences += _other_json(MANIFEST, content, again.encode())
    try:
        report = _Report.of(members.get(REPORT, b""))
        sentences += report.differences(members[REPORT], audience)
    except ReadError as error:
        return PacketCheck(audience, (*sentences, f"{REPORT}: {error.problem}"), {}, None)
    if report.document.field("provenance").field("time").value != manifest.field("time").value:
        sentences.append(f"{MANIFEST} does not have the time of the report.")
    tables, first = _tables(members, report, read, original, limits, sentences)
    if first is not None:
        more = original is not None or any(value is not None for value in limits.values())
        verification = _verify(first[1], report.claim, None, {}) if more else tables[TABLES["csv"]]
        sentences += _others_that_follow(members, report, first, verification, audience, seal.key_id, unfold)
        if seal.envelope is not None:
            time = manifest.field("time").time()
            expected = statement_of({MANIFEST: content, **members}, report.claim, verification, time)
            sentences += _other_json(SIGNATURE, seal.envelope.statement, expected)
    rare = () if original is not None or first is None else rare_forms(first[1].rows, report.schema)
    notes = (*([unjudged] if unjudged else []), *rare)
    rows = None if first is None else first[1].rows
    return PacketCheck(audience, tuple(dict.fromkeys(sentences)), tables, report.claim, notes, seal.key_id, key, rows)


@dataclass(frozen=True)
class _Seal:
    """The signature of a packet, ``None`` without one that can be read, and how it is not by the key that was asked
    for, a sentence each."""

    envelope: Envelope | None
    differences: tuple[str, ...]

    @property
    def key_id(self) -> str:
        """The id of the key that the packet says it is signed by, "" for none."""
        return "" if self.envelope is None else self.envelope.key_id

    @classmethod
    def of(cls, content: bytes | None, key: PublicKey | None) -> "_Seal":
        """Return what the file of a signature holds, ``None`` for no such file. ``key``: that it has to be by."""
        if content is None:
            return cls(None, () if key is None else (f"It is not signed: {SIGNATURE} is missing.",))
        try:
            envelope = Envelope.of(content)
        except ReadError as error:
            return cls(None, (f"{SIGNATURE}: {error.problem}",))
        if key is None or key.signed(envelope):
            return cls(envelope, ())
        return cls(envelope, (f"{SIGNATURE} is not signed with key {key.groups}, which was given.",))


def _tables(
    members: Mapping[str, bytes], report: _Report, read: Callable[[bytes], ReleasedFile],
    original: pd.DataFrame | None, limits: Mapping[str, Any], sentences: list[str],
) -> tuple[dict[str, Verification], tuple[ReleasedFile, ReleasedFile] | None]:  # fmt: skip
    """Return what the checker finds of each table, by path, and the first of them, as it stands and under the schema.
    ``sentences``: takes what is wrong with them."""
    claim, first = report.claim, None
    tables: dict[str, Verification] = {}
    whole: set[str] = set()
    for format, path in TABLES.items():
        if path not in members:
            continue
        if claim.outputs.get(format) != digest(members[path]):
            sentences.append(f"{path} is not the table that the report speaks of: its SHA-256 is another.")
        try:
            plain = read(members[path])
            file = plain.under(report.schema, labels=True, sets=claim.sets)
            same = first is None or _same_rows(first[1].rows, file.rows, claim.schema)
            other = None if first is None or not same else first[1]
            alike = other is not None and (other.beside, other.unjudged) == (file.beside, file.unjudged)
            tables[path] = next(iter(tables.values())) if alike else _verify(file, claim, original, limits)
        except AnonymizerError as error:
            sentences.append(f"{path}: {error.problem}")
            continue
        sentences += [f"{path}: {sentence}" for sentence in file.beside]
        if list(file.rows.columns) != list(report.described.variables):
            sentences.append(f"{path} does not have the columns that the report describes, in their order.")
        elif len(file.rows) != claim.rows or not same:
            sentences.append(f"{path} does not have the rows that it should.")
        else:
            whole.add(path)
            first = first or (plain, file)
    if set(claim.outputs) != {format for format, path in TABLES.items() if path in members}:
        sentences.append(f"{REPORT} speaks of other tables than those that are here.")
    return tables, first if TABLES["csv"] in whole else None


def _others_that_follow(
    members: Mapping[str, bytes], report: _Report, first: tuple[ReleasedFile, ReleasedFile],
    verification: Verification, audience: str, key_id: str, unfold: Unfold,
) -> list[str]:  # fmt: skip
    """Return how the files that follow from a packet's tables and report are not those that are made again. ``first``:
    the CSV, as it stands and under the schema; ``verification``: what the checker says of it; ``key_id``: who signed
    the packet."""
    plain, file = first
    try:
        release = report.release(file)
    except CellError as error:
        return [f"{TABLES['csv']}: {error.problem}"]
    sentences = [
        f"{REPORT}: {one}" for one in report.described.problems(release, report.schema, report.claim.left_out or 0)
    ]
    sentences += [f"{TABLES['csv']}: {one}" for one in other_than_said(file.rows, report.claim)]
    contents = {path: members[path] for path in TABLES.values() if path in members}
    try:
        again = report.following(release, verification, contents, audience, members.get(ONE_WAY, b""))
    except (CellError, ReadError) as error:
        return [*sentences, error.problem]
    formats = formats_of(report.described.variables.values())
    paths, sets = [path for path in members if path in MEMBERS | INTERNAL], report.claim.sets or {}
    again |= {"README.txt": read_me(paths, audience, formats, sets, key_id).encode(), PAGE: recipient_page()}
    for path, content in sorted(again.items()):
        if path in members and members[path] != content:
            sentences += (
                _other_json(path, members[path], content) if "json" in path else [_other(path, members, content)]
            )
    book = TABLES["xlsx"]
    if book in members:
        there, expected = unfold(members[book])[0], read_archive(book_again(plain.rows, release))[0]
        if others := [name for name in expected if there.get(name) != expected[name]]:
            sentences.append(f"{book} is not what the rows and labels make: its part {others[0]} is another.")
    return sentences


def _other(path: str, members: Mapping[str, bytes], expected: bytes) -> str:
    """Return the sentence on a text that is not the one that was made again: the line in which it differs first."""
    lines, others = members[path].split(b"\n"), expected.split(b"\n")
    pairs = zip_longest(lines, others)
    line = next((number for number, (one, other) in enumerate(pairs, 1) if one != other), 0)
    return f"{path} is not what follows from the table and the report: line {line:,} is another."


def _other_json(path: str, content: bytes, expected: bytes) -> list[str]:
    """Return the sentence on a file of JSON that is not the one that was made again; none where it is."""
    if content == expected:
        return []
    try:
        values = [parse(text, "file", REMEDY).value for text in (content, expected)]
    except ReadError:
        return [f"{path} is no JSON that can be read."]
    where = first_difference(*values) or "it is not written as Copse writes it"
    return [f"{path} is not what follows from the table and the report: {where}."]


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
    return sentences + [f"{path} is missing." for path in sorted(REQUIRED - set(members) - listed)]


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
        return bool(np.array_equal(_texts(first), _texts(second)))
    numbers = [np.asarray(numbers_of(one, column)[0], dtype=float) for one in (first, second)]
    return bool(np.array_equal(numbers[0], numbers[1], equal_nan=True))


def _texts(values: "pd.Series[Any]") -> NDArray[np.object_]:
    """Return the text of each value (n,), ``None`` for a missing one."""
    codes, distinct = pd.factorize(values)
    texts: NDArray[np.object_] = np.array([*map(value_text, distinct), None], dtype=object)[codes]
    return texts
