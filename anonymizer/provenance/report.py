"""The report: what was done, what it guarantees, what the checker found, and how to do it again.

JSON-ready throughout. It holds names, parameters, counts and digests, never a record; it says in what order the rows of
a release stand, and not which is whose.
"""

import hashlib
import hmac
import json
import platform
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonymizer.attacks.isolation import Isolation
from anonymizer.checking.linkage import LinkageRisk
from anonymizer.checking.verify import Verification
from anonymizer.databases.address import is_address, outline
from anonymizer.digests import digest
from anonymizer.drawing.groups import WorstGroup
from anonymizer.gate.finding import Gate
from anonymizer.growing.encode import EncodedTable
from anonymizer.json_value import read_json
from anonymizer.labelled.variable import Variable
from anonymizer.measuring.coefficients import Agreement
from anonymizer.measuring.two_way import TwoWay
from anonymizer.measuring.utility import Utility
from anonymizer.measuring.weighted import Weighted
from anonymizer.provenance.again import SHORT_PATH, command_line, parameter_words, python_lines, reading_words
from anonymizer.reading.files import Reading, ReadOptions
from anonymizer.reading.options import DEFAULT_MISSING
from anonymizer.reading.samples import SAMPLE_PREFIX
from anonymizer.releasing.generalize import NUMBERS, WRITINGS, Guarantee, guarantee_of
from anonymizer.releasing.release import ORDERS
from anonymizer.releasing.tiers import Made
from anonymizer.schema import REASONS, Kind, Schema, kind_of
from anonymizer.settings import SETTINGS, name_of
from anonymizer.values import share
from anonymizer.version import VERSION

if TYPE_CHECKING:
    from anonymizer.plan.plan import Plan

PACKAGES = ("numpy", "pandas", "pyarrow", "numba", "scipy", "scikit-learn")

LAYOUT = 1
"""The layout of a report: another number when a program that reads it must be changed."""


@dataclass(frozen=True)
class Provenance:
    """Where a release came from: enough to recognise the input, repeat the run and recognise the output.

    Digests are SHA-256 in hexadecimal, of the bytes of the files; ``output`` maps a format to the digest of the file
    in that format. ``ledger``: the number and the hash of the release's entry in a ledger, where it is in one.
    ``input_commitment``: to the input's bytes, see :func:`commitment`, under ``input_key``, random for
    each run: who has no key learns nothing from it. ``read_with``: how the input was read, where that is not usual.
    ``keeps``: the earlier releases that the groups keep, as options name them.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.report.provenance.parameters["k"]
    10
    """

    input_name: str
    input_commitment: str
    input_key: str
    input_records: int
    read_with: Mapping[str, Any]
    schema: Schema
    parameters: Mapping[str, Any]
    command: str
    python: str
    versions: Mapping[str, str]
    time: str
    output: Mapping[str, str] = field(default_factory=dict)
    ledger: tuple[int, str] | None = None
    keeps: Sequence[tuple[str, str]] = ()

    @property
    def row_order(self) -> str:
        """The order in which the rows of the files stand, in words."""
        return ORDERS.get(self.parameters.get("order", ""), "")

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "input": {
                "name": self.input_name,
                "commitment": self.input_commitment,
                "key": self.input_key,
                "records": self.input_records,
                "read_with": dict(self.read_with),
            },
            "output_sha256": dict(self.output),
            "schema": json.loads(self.schema.to_json()),
            "schema_sha256": schema_digest(self.schema),
            "parameters": dict(self.parameters),
            "command": self.command,
            "python": self.python,
            "versions": dict(self.versions),
            "time": self.time,
            "row_order": self.row_order,
            "ledger": ledger_figures(self.ledger),
        } | ({"keeps": [list(option) for option in self.keeps]} if self.keeps else {})


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Everything a reviewer needs beside the released file.

    ``made``: how records were put together, which need not be as it was asked; ``writings``: what the ways in which
    levels and numbers are written promise, and what not, in words. ``two_way``, ``coefficients``: what two-way tables
    and a regression of the target lose; the latter is ``None`` where the original has none. ``weighted``: the figures
    of a survey before and after.
    ``isolation``: who is singled out by an end or a level of their box. ``worst``: the worst group of the pruned tree
    by each figure, digression among them, which cannot be recomputed from released cells. ``gate``: what stood in the
    way of leaving, and the steward's reasons. ``override``: why the release was let go although a check failed; empty
    when none did or it was not let go. ``held_out``: the share of people who were held out while groups were made
    of the others whose target is guessed right, and ``majority``: by the likeliest value of the table. ``sets``: the
    levels of each set that has a short name in the files, by column and name.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.report.after.smallest >= 10, "gate" in result.report.to_dict()
    (True, True)
    """

    provenance: Provenance
    made: Made
    writings: tuple[Guarantee, ...]
    notes: tuple[str, ...]
    before: LinkageRisk
    after: LinkageRisk
    utility: Utility
    two_way: TwoWay
    coefficients: Agreement | None
    weighted: Weighted
    verification: Verification
    isolation: Isolation
    worst: tuple[WorstGroup, ...]
    gate: Gate
    override: str = ""
    held_out: float | None = None
    majority: float | None = None
    sets: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    @property
    def guarantee(self) -> Guarantee:
        """What the generalizer that ran promises and what not, in words."""
        return guarantee_of(self.made.method)

    @property
    def guess_sentence(self) -> str:
        """How often the target of people who were held out is guessed wrong, beside others; "" where it has no
        classes."""
        if self.held_out is None or self.majority is None or self.utility.error is None:
            return ""
        return (
            f"Of people held out, the most frequent value of their group is wrong for {share(1 - self.held_out)}. The "
            f"most frequent value of the table is wrong for {share(1 - self.majority)}. Of the people in the release "
            f"it is wrong for {share(self.utility.error)}."
        )

    @property
    def plan(self) -> "Plan":
        """What was decided, as a plan that makes the run again."""
        from anonymizer.plan.plan import Plan, reading_keys

        run = self.provenance
        reports = [name for option, name in run.keeps if option == "--earlier"]
        ledger = next((name for option, name in run.keeps if option == "--ledger"), "")
        name = outline(run.input_name) if is_address(run.input_name) else run.input_name
        release = {"input": name} if name != SHORT_PATH else {}
        release |= {"ledger": ledger} if ledger else {}
        others = {"earlier": tuple(reports), "keep_earlier": True} if run.keeps else {}
        return Plan.of_decisions(
            run.schema,
            run.parameters,
            reading=reading_keys(run.read_with),
            release=release | others,
            answers={finding.name: finding.reason for finding in self.gate.findings if finding.reason},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready; the same order every time."""
        return {
            "layout": LAYOUT,
            "software": {"name": "Copse", "version": VERSION},
            "passed": self.verification.passed,
            "what_it_is": self.verification.describe(),
            "method": method_figures(self.made, self.provenance.parameters["generalizer"], self.writings),
            "notes": list(self.notes),
            "override": self.override or None,
            "gate": self.gate.to_dict(),
            "verification": self.verification.to_dict(),
            "worst_groups": worst_figures(self.worst),
            "linking_risk": {"before": risk_figures(self.before), "after": risk_figures(self.after)},
            "isolation": self.isolation.to_dict(),
            "utility": {
                **self.utility.to_dict(),
                "error_of_people_held_out": None if self.held_out is None else 1 - self.held_out,
                "error_of_the_majority": None if self.majority is None else 1 - self.majority,
                "two_way_tables": self.two_way.to_dict(),
                "coefficients": self.coefficients and self.coefficients.to_dict(),
                "weighted": self.weighted.to_dict(),
            },
            "provenance": self.provenance.to_dict(),
            "plan": self.plan.text,
        } | set_figures(self.sets)

    def with_output(self, output: Mapping[str, str], override: str = "") -> "Report":
        """Return the report of what left: the file's digest in each format, and the reason when a check had failed."""
        return replace(self, provenance=replace(self.provenance, output=dict(output)), override=override)

    def with_ledger(self, number: int, entry: str) -> "Report":
        """Return the report of what is in a ledger. ``number``, ``entry``: of its entry, and the hash of that."""
        return replace(self, provenance=replace(self.provenance, ledger=(number, entry)))

    @property
    def ledger_sentence(self) -> str:
        """Which entry of a ledger the release is, "" where it is in none."""
        return ledger_sentence(self.provenance.ledger)

    def to_json(self, described: Mapping[str, Any] | None = None) -> str:
        """Return the report as JSON text: for the steward. ``described``: what the other files of a packet say of the
        columns."""
        report = self.to_dict() | ({} if described is None else {"described": dict(described)})
        return json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    def to_recipient_json(self, described: Mapping[str, Any] | None = None) -> str:
        """Return what the recipient of a release needs to check it, as JSON text: which file, roles, settings; neither
        the key of the original's commitment, nor where figures are worst, nor how its file is called. ``described``:
        what the other files of a packet say of the columns."""
        run, checks = self.provenance, self.verification
        return recipient_json(
            passed=checks.passed, rows=checks.rows, left_out=checks.left_out, override=self.override,
            commitment=run.input_commitment, output=run.output, schema=run.schema, parameters=run.parameters,
            time=run.time, row_order=run.row_order, ledger=run.ledger, described=described, sets=self.sets,
        )  # fmt: skip


def recipient_json(
    *,
    passed: bool,
    rows: int,
    left_out: int,
    override: str,
    commitment: str,
    output: Mapping[str, str],
    schema: Schema,
    parameters: Mapping[str, Any],
    time: str,
    row_order: str,
    ledger: tuple[int, str] | None,
    described: Mapping[str, Any] | None,
    sets: Mapping[str, Mapping[str, Sequence[str]]],
) -> str:
    """Return the recipient's report as JSON text, made of the fields that it has and of no others: the same whether a
    release is at hand, or a report that is made again to be compared."""
    columns = json.loads(schema.to_json())
    columns["columns"] = [
        {name: value for name, value in column.items() if name not in (*REASONS, "variable")}
        for column in columns["columns"]
    ]
    report = {
        "software": {"name": "Copse", "version": VERSION},
        "verification": {"passed": passed, "rows": rows, "left_out": left_out},
        "override": override or None,
        "provenance": {
            "input": {"commitment": commitment},
            "output_sha256": dict(output),
            "schema": columns,
            "schema_sha256": schema_digest(schema),
            "parameters": dict(parameters),
            "time": time,
            "row_order": row_order,
            "ledger": ledger_figures(ledger),
        },
    }
    report |= set_figures(sets) | ({} if described is None else {"described": dict(described)})
    return json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def set_figures(sets: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """Return the levels of each set that has a short name, with their digest, JSON-ready; nothing where none has."""
    levels = {column: {name: list(own) for name, own in names.items()} for column, names in sets.items()}
    return {"sets": levels, "sets_sha256": sets_digest(levels)} if levels else {}


def sets_digest(sets: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Return the SHA-256 of the sets that have short names."""
    return digest(json.dumps(sets, ensure_ascii=False, sort_keys=True, allow_nan=False).encode())


def ledger_sentence(ledger: tuple[int, str] | None) -> str:
    """Return which entry of a ledger a release is, by its number and hash, in a sentence; "" where it is in none."""
    return (
        ""
        if ledger is None
        else f"This release is entry {ledger[0]:,} of the sender's ledger of releases, {ledger[1]}."
    )


def ledger_figures(ledger: tuple[int, str] | None) -> dict[str, Any] | None:
    """Return the number and the hash of an entry of a ledger, JSON-ready."""
    return None if ledger is None else {"number": ledger[0], "hash": ledger[1]}


def report_of(
    schema: Schema,
    parameters: Mapping[str, Any],
    encoded: EncodedTable,
    *,
    made: Made,
    held_out: float | None,
    before: LinkageRisk,
    after: LinkageRisk,
    utility: Utility,
    two_way: TwoWay,
    coefficients: Agreement | None,
    weighted: Weighted,
    verification: Verification,
    isolation: Isolation,
    worst: Sequence[WorstGroup],
    gate: Gate,
    reading: Reading | None = None,
    sets: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    keeps: Sequence[tuple[str, str]] = (),
) -> Report:
    """Return the report of a run, put together in one way wherever its figures were computed.

    ``parameters``: the settings of the run as they were used, by name. ``made``: how records were put
    together. ``worst``: the worst group of the pruned tree by each figure. ``gate``: with the reasons that were given.
    ``reading``: how the table came in; ``keeps``: as of :class:`Provenance`.
    """
    reasons = {finding.name: finding.reason for finding in gate.findings if finding.reason}
    return Report(
        provenance=provenance(schema, parameters, encoded.n_records, reading, reasons=reasons, keeps=keeps),
        made=made,
        held_out=held_out,
        majority=None if held_out is None else float(np.bincount(encoded.target.codes).max() / encoded.n_records),
        writings=(WRITINGS[parameters["writing"]], NUMBERS[parameters["numbers"]]),
        notes=encoded.notes,
        before=before,
        after=after,
        utility=utility,
        two_way=two_way,
        coefficients=coefficients,
        weighted=weighted,
        verification=verification,
        isolation=isolation,
        worst=tuple(worst),
        gate=gate,
        sets=sets or {},
    )


def method_figures(made: Made, choice: str, writings: Sequence[Guarantee]) -> dict[str, Any]:
    """Return what a generalizer and ways to write cells promise and what not, JSON-ready. ``choice``: the generalizer
    that was asked for, by its key."""
    guarantee = guarantee_of(made.method)
    return {
        "title": guarantee.title,
        "asked": name_of("generalizer", choice),
        "made": name_of("generalizer", made.method),
        "why_not_as_asked": made.why or None,
        "promises": guarantee.gives,
        "does_not_promise": guarantee.does_not,
        "k_anonymous_by_construction": guarantee.strict,
        "cells": [
            {"title": way.title, "promises": way.gives, "does_not_promise": way.does_not or None} for way in writings
        ],
    }


def worst_figures(worst: Sequence[WorstGroup]) -> list[dict[str, Any]]:
    """Return the worst group by each figure, JSON-ready."""
    return [{"figure": one.figure, "column": one.column or None, "node": one.node, "what": one.what} for one in worst]


def risk_figures(risk: LinkageRisk) -> dict[str, Any]:
    """Return the figures of a linking risk, JSON-ready."""
    return {
        "records": risk.records,
        "groups": risk.groups,
        "unique_records": risk.unique,
        "smallest_group": risk.smallest,
        "mean_group": risk.mean,
        "prosecutor_highest": risk.highest,
        "journalist_highest": risk.journalist,
        "marketer": risk.marketer,
    }


def provenance(
    schema: Schema,
    parameters: Mapping[str, Any],
    records: int,
    reading: Reading | None = None,
    natural: Mapping[str, Kind] | None = None,
    reasons: Mapping[str, str] | None = None,
    keeps: Sequence[tuple[str, str]] = (),
) -> Provenance:
    """Return the provenance of a run that starts now. ``reading``: how the table came in, when it came from a file.

    ``natural``: the kind each column has when nothing is said, so that the command repeats only what was said;
    ``reasons``: why the release may leave, by the key of what stands in the way; ``keeps``: as of
    :class:`Provenance`.
    """
    if reading is not None and natural is None:
        natural = {str(name): kind_of(reading.frame[name]) for name in reading.frame.columns}
    name = reading.name if reading else SHORT_PATH
    if reading is not None and reading.format == "sample":
        name = SAMPLE_PREFIX + name
    read_with, key = read_options(reading), secrets.token_hex(32)
    return Provenance(
        input_name=name,
        input_commitment=commitment(reading.sha256, key) if reading else "",
        input_key=key if reading else "",
        input_records=records,
        read_with=read_with,
        schema=schema,
        parameters=parameters,
        command=command_line(name, schema, parameters, read_with, natural or {}, reasons or {}, keeps),
        python=python_lines(name, schema, parameters, read_with, reasons or {}, keeps=keeps),
        keeps=keeps,
        versions={"python": platform.python_version(), **{package: version_of(package) for package in PACKAGES}},
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def read_options(reading: Reading | None) -> dict[str, Any]:
    """Return how the file was read, as far as it cannot be taken for granted: JSON-ready, by option name."""
    if reading is None or reading.format == "sample":
        return {}
    options, plain = reading.options, ReadOptions()
    delimited = reading.format == "csv"
    values: dict[str, Any] = {}
    for name in ("delimiter", "encoding", "decimal", "dates") if delimited else ("sheet", "decimal", "dates"):
        value = getattr(options, name)
        if value is not None:
            values[name] = value
    if set(options.missing) != set(DEFAULT_MISSING):
        values["missing"] = list(options.missing)
    for name in ("keep", "as_text", "as_numbers"):
        if getattr(options, name):
            values[name] = list(getattr(options, name))
    if options.header != plain.header:
        values["header"] = options.header
    if options.skip:
        values["skip"] = options.skip
    return values


def check_line(run: Provenance, released: str, report: str) -> str:
    """Return the command that checks a released file beside its original, by what the file ``report`` says of the
    columns."""
    required = {name: value for name, value in run.parameters.items() if SETTINGS[name].checked}
    words = ["python", "-m", "anonymizer", "verify", released, "--original", run.input_name, "--schema", report]
    words += [
        *reading_words(run.read_with),
        *parameter_words(required),
    ]
    return shlex.join(words)


ADD_UP = (
    "Two different releases of the same people tell more together than each alone: whoever puts them side by side can "
    "find smaller groups than either promises."
)
"""What every report says of a second release."""


def schema_from(path: str | Path) -> Schema:
    """Return the schema in a file: saved as a schema, or inside a report. Raises :class:`ReadError` for anything
    else."""
    document = read_json(path, "schema", "Give a schema or a report in JSON, as it was saved.")
    run = document.field("provenance")
    return Schema.from_value(document if run.absent else run.field("schema"))


def schema_digest(schema: Schema) -> str:
    """Return the SHA-256 of what a schema says of its columns: names, roles, kinds, domains; neither reasons nor what
    a file said of them, which the recipient does not get."""
    columns = [replace(column, variable=Variable()).to_dict() for column in schema.bare.columns]
    return digest(json.dumps(columns, ensure_ascii=False, sort_keys=True, allow_nan=False).encode())


def commitment(sha256: str, key: str) -> str:
    """Return HMAC-SHA256, hexadecimal, of a file's digest under a key (hexadecimal).

    The digest itself never leaves: who knows most of a table could try values for the rest until it fits.
    """
    return hmac.new(bytes.fromhex(key), sha256.encode(), hashlib.sha256).hexdigest()


@cache
def version_of(package: str) -> str:
    """Return the installed version of a package; "absent" when it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
