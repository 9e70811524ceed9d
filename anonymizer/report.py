"""The report: what was done, what it guarantees, what the checker found, and how to do it again.

JSON-ready throughout. It holds names, parameters, counts and digests, never a record; the row order of a release
comes from a secret that is not kept, so it is not in here either.
"""

import hashlib
import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from anonymizer.encode import EncodedTable
from anonymizer.errors import ReadError
from anonymizer.explain import Worst
from anonymizer.generalize import GUARANTEES, NUMBERS, WRITINGS, Guarantee
from anonymizer.linkage import LinkageRisk
from anonymizer.parse import DEFAULT_MISSING
from anonymizer.read import Reading, ReadOptions
from anonymizer.samples import SAMPLE_PREFIX
from anonymizer.schema import Kind, Schema, kind_of
from anonymizer.utility import Utility
from anonymizer.verify import Verification
from anonymizer.version import VERSION

PACKAGES = ("numpy", "pandas", "pyarrow", "numba", "scipy", "scikit-learn")

PARAMETERS = (
    "k", "grouping", "generalizer", "writing", "numbers", "criterion", "min_leaf", "max_depth", "weight", "l",
    "entropy_l", "t", "rsd_min", "spread_min", "significance", "tested",
)  # fmt: skip
"""What a report records of the steward's choices beside the schema: what another run needs."""

CHECKED = ("k", "l", "entropy_l", "t", "rsd_min", "spread_min")
"""Those of the parameters that a checker can require of a released file."""

SHORT_PATH = "TABLE"
"""How an input that has no file name is called in commands."""


@dataclass(frozen=True)
class Provenance:
    """Where a release came from: enough to recognise the input, repeat the run and recognise the output.

    Digests are SHA-256 in hexadecimal, of the bytes of the files; ``output`` maps a format to the digest of
    the file in that format. ``read_with``: how the input was read, where that differs from the defaults.
    """

    input_name: str
    input_sha256: str
    input_records: int
    read_with: Mapping[str, Any]
    schema: Schema
    parameters: Mapping[str, Any]
    command: str
    python: str
    versions: Mapping[str, str]
    time: str
    output: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "input": {
                "name": self.input_name,
                "sha256": self.input_sha256,
                "records": self.input_records,
                "read_with": dict(self.read_with),
            },
            "output_sha256": dict(self.output),
            "schema": json.loads(self.schema.to_json()),
            "parameters": dict(self.parameters),
            "command": self.command,
            "python": self.python,
            "versions": dict(self.versions),
            "time": self.time,
            "row_order": "shuffled from a secret that was not kept",
        }


@dataclass(frozen=True, eq=False)
class Report:
    """Everything a reviewer needs beside the released file.

    ``guarantee``: what the generalizer promises and what not, in words; ``written``: the same of how levels and numbers
    are written. ``worst``: the worst group of the pruned tree by each figure, digression among them, which cannot be
    recomputed from released cells. ``override``: why the release was let go although a check failed; empty when none
    did or it was not let go.
    """

    provenance: Provenance
    guarantee: Guarantee
    written: tuple[Guarantee, ...]
    notes: tuple[str, ...]
    before: LinkageRisk
    after: LinkageRisk
    utility: Utility
    verification: Verification
    worst: tuple[Worst, ...]
    override: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the same order every time."""
        return {
            "software": {"name": "Copse", "version": VERSION},
            "passed": self.verification.passed,
            "what_it_is": self.verification.describe(),
            "method": {
                "title": self.guarantee.title,
                "promises": self.guarantee.gives,
                "does_not_promise": self.guarantee.does_not,
                "k_anonymous_by_construction": self.guarantee.strict,
                "cells": [
                    {"title": way.title, "promises": way.gives, "does_not_promise": way.does_not or None}
                    for way in self.written
                ],
            },
            "notes": list(self.notes),
            "override": self.override or None,
            "verification": self.verification.to_dict(),
            "worst_groups": [
                {"figure": worst.figure, "column": worst.column or None, "node": worst.node, "what": worst.what}
                for worst in self.worst
            ],
            "linking_risk": {"before": risk_figures(self.before), "after": risk_figures(self.after)},
            "utility": self.utility.to_dict(),
            "provenance": self.provenance.to_dict(),
        }

    def released(self, output: Mapping[str, str], override: str = "") -> "Report":
        """The report of what left: the digest of the file in each format, and the reason when a check had failed."""
        return replace(self, provenance=replace(self.provenance, output=dict(output)), override=override)

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def report_of(
    schema: Schema,
    parameters: Mapping[str, Any],
    encoded: EncodedTable,
    *,
    before: LinkageRisk,
    after: LinkageRisk,
    utility: Utility,
    verification: Verification,
    worst: Sequence[Worst],
    reading: Reading | None = None,
) -> Report:
    """The report of a run, put together in one way wherever its figures were computed.

    ``parameters``: all of :data:`PARAMETERS` by name; others are left out. ``worst``: the worst group of the pruned
    tree by each figure. ``reading``: how the table came in.
    Raises :class:`KeyError` when one of the parameters is not there.
    """
    chosen = {name: parameters[name] for name in PARAMETERS}
    return Report(
        provenance=provenance(schema, chosen, encoded.n_records, reading),
        guarantee=GUARANTEES[chosen["generalizer"]],
        written=(WRITINGS[chosen["writing"]], NUMBERS[chosen["numbers"]]),
        notes=encoded.notes,
        before=before,
        after=after,
        utility=utility,
        verification=verification,
        worst=tuple(worst),
    )


def risk_figures(risk: LinkageRisk) -> dict[str, Any]:
    """The figures of a linking risk, JSON-ready."""
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
) -> Provenance:
    """The provenance of a run that starts now. ``reading``: how the table came in, when it came from a file.

    ``natural``: the kind each column has when nothing is said, so that the command repeats only what was said.
    """
    if reading is not None and natural is None:
        natural = {str(name): kind_of(reading.frame[name]) for name in reading.frame.columns}
    name = reading.name if reading else SHORT_PATH
    if reading is not None and reading.format == "sample":
        name = SAMPLE_PREFIX + name
    used = read_options(reading)
    return Provenance(
        input_name=name,
        input_sha256=reading.sha256 if reading else "",
        input_records=records,
        read_with=used,
        schema=schema,
        parameters=parameters,
        command=command_line(name, schema, parameters, used, natural or {}),
        python=python_lines(name, schema, parameters, used),
        versions={"python": platform.python_version(), **{package: installed(package) for package in PACKAGES}},
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def read_options(reading: Reading | None) -> dict[str, Any]:
    """How the file was read, as far as it cannot be taken for granted: JSON-ready, by option name."""
    if reading is None or reading.format == "sample":
        return {}
    options, plain = reading.options, ReadOptions()
    delimited = reading.format == "csv"
    found: dict[str, Any] = {}
    for name in ("delimiter", "encoding", "decimal") if delimited else ("sheet",):
        value = getattr(options, name)
        if value is not None:
            found[name] = value
    if set(options.missing) != set(DEFAULT_MISSING):
        found["missing"] = list(options.missing)
    if options.keep:
        found["keep"] = list(options.keep)
    if options.header != plain.header:
        found["header"] = options.header
    return found


def command_line(
    name: str,
    schema: Schema,
    parameters: Mapping[str, Any],
    used: Mapping[str, Any],
    natural: Mapping[str, Kind],
) -> str:
    """The command that repeats the run. A schema with domains or ordered levels is taken from the report itself."""
    words = ["python", "-m", "anonymizer", "anonymize", name]
    if any(column.domain is not None or column.ordered or not sayable(column.name) for column in schema.columns):
        words += ["--schema", "REPORT.json"]
    else:
        for option, names in (
            ("--quasi-identifying", schema.quasi_identifying),
            ("--sensitive", schema.sensitive),
            ("--identifying", schema.identifying),
        ):
            if names:
                words += [option, ",".join(names)]
        said = [f"{c.name}={c.kind}" for c in schema.columns if natural.get(c.name, c.kind) is not c.kind]
        if said:
            words += ["--kinds", ",".join(said)]
        if schema.target and schema.target != schema.sensitive[0]:
            words += ["--target", schema.target]
    words += [*_reading_words(used), *_parameter_words(parameters, PARAMETERS)]
    words += ["--out", "RELEASE.csv", "--report", "REPORT-2.json"]
    return shlex.join(words)


def sayable(name: str) -> bool:
    """Whether a column's name can stand in a list of names on the command line."""
    return "," not in name and name == name.strip() and not name.startswith("-")


def check_line(made: Provenance, released: str, report: str) -> str:
    """The command that checks a released file beside its original, by what the file ``report`` says of the columns."""
    words = ["python", "-m", "anonymizer", "verify", released, "--original", made.input_name, "--schema", report]
    words += [*_reading_words(made.read_with), *_parameter_words(made.parameters, CHECKED)]
    return shlex.join(words)


def _reading_words(used: Mapping[str, Any]) -> list[str]:
    """How a file is read, as options."""
    words = []
    for option, value in used.items():
        if option == "header":
            words.append("--no-header")
        elif value == []:
            words.append(f"--no-{option}")
        else:
            words += [f"--{option}={item}" for item in (value if isinstance(value, list) else [value])]
    return words


def _parameter_words(parameters: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Those of the parameters that were chosen, as options."""
    chosen = [(name, parameters[name]) for name in names if parameters.get(name) is not None]
    return [word for name, value in chosen for word in (f"--{name.replace('_', '-')}", str(value))]


def python_lines(name: str, schema: Schema, parameters: Mapping[str, Any], used: Mapping[str, Any]) -> str:
    """The Python that repeats the run, with the schema as it is kept in the report."""
    options = ", ".join(
        f"{option}={tuple(value) if isinstance(value, list) else value!r}" for option, value in used.items()
    )
    table = f"an.read_table({name!r}, options=an.ReadOptions({options})).frame"
    if name.startswith(SAMPLE_PREFIX):
        table = f"an.SAMPLES[{name.removeprefix(SAMPLE_PREFIX)!r}].load()"
    given = ", ".join(f"{option}={value!r}" for option, value in parameters.items() if value is not None)
    return "\n".join(
        (
            "import json",
            "import anonymizer as an",
            "",
            'report = json.load(open("REPORT.json", encoding="utf-8"))',
            'schema = an.Schema.from_json(json.dumps(report["provenance"]["schema"]))',
            f"table = {table}",
            f"result = an.anonymize(table, schema, {given})",
            'result.release.write("RELEASE.csv")',
        )
    )


def schema_from(path: str | Path) -> Schema:
    """The schema in a file: saved as a schema, or inside a report."""
    try:
        text = Path(path).read_text("utf-8")
        found = json.loads(text)
    except (OSError, ValueError) as error:
        raise ReadError(
            f"{Path(path).name} cannot be read as a schema.", remedy="Give a schema or a report in JSON."
        ) from error
    made = found.get("provenance") if isinstance(found, dict) else None
    inside = made.get("schema") if isinstance(made, dict) else None
    return Schema.from_json(json.dumps(inside) if inside else text)


def digest(content: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def installed(package: str) -> str:
    """The installed version of a package; "absent" when it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
