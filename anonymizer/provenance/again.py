"""How a run is done again: the command, and the lines of Python, that repeat it."""

import shlex
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from anonymizer.databases.address import is_address, outline
from anonymizer.reading.samples import SAMPLE_PREFIX
from anonymizer.releasing.generalize import KEYED
from anonymizer.schema import Kind, Role, Schema, csv_names

SHORT_PATH = "TABLE"
"""How an input that has no file name is called in commands."""


def command_line(
    name: str,
    schema: Schema,
    parameters: Mapping[str, Any],
    read_with: Mapping[str, Any],
    natural: Mapping[str, Kind],
    reasons: Mapping[str, str],
    keeps: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the command that repeats the run. A schema with domains, ordered levels or reasons of the steward is taken
    from the report itself."""
    words = ["python", "-m", "anonymizer", "anonymize", name]
    declared = ("domain", "grid", "groups", "cuts", "ordered", "own_reason")
    if any(any(getattr(c, name) for name in declared) or not sayable(c.name) for c in schema.columns):
        words += ["--plan", "REPORT.json"]
    else:
        for option, names in (
            ("--quasi-identifying", schema.quasi_identifying),
            ("--sensitive", schema.sensitive),
            ("--identifying", schema.names(Role.IDENTIFYING)),
            ("--person", schema.names(Role.PERSON)),
            ("--sampling-weight", schema.names(Role.WEIGHT)),
            ("--household", schema.names(Role.HOUSEHOLD)),
            ("--stratum", schema.names(Role.STRATUM)),
            ("--keep", schema.insensitive),
        ):
            if names:
                words += [option, csv_names(names)]
        words += [f"--treat={c.name}={c.treat}" for c in schema.columns if c.treat]
        kinds = [f"{c.name}={c.kind}" for c in schema.columns if natural.get(c.name, c.kind) is not c.kind]
        if kinds:
            words += ["--kinds", csv_names(kinds)]
        if schema.target and schema.target != schema.sensitive[0]:
            words += ["--target", schema.target]
    words += [*reading_words(read_with), *parameter_words(parameters)]
    words += [f"--reason={key}={text}" for key, text in reasons.items()]
    words += [*chain(*keeps), "--keep-earlier"] if keeps else []
    words += ["--out", "RELEASE.csv", "--report", "REPORT-2.json"]
    return shlex.join(words)


def sayable(name: str) -> bool:
    """Return whether a column's name can stand in a list of names on the command line."""
    return name == " ".join(name.split()) and not name.startswith("-")


def reading_words(read_with: Mapping[str, Any]) -> list[str]:
    """Return the options that say how a file is read."""
    words = []
    for option, value in read_with.items():
        if option == "header":
            words.append("--no-header")
        elif value == []:
            words.append(f"--no-{option}")
        else:
            name = "not-missing" if option == "keep" else option.replace("_", "-")
            words += [f"--{name}={item}" for item in (value if isinstance(value, list) else [value])]
    return words


def parameter_words(parameters: Mapping[str, Any]) -> list[str]:
    """Return those of the parameters that are on, as options."""
    on = {name: value for name, value in parameters.items() if value is not None}
    return [word for name, value in on.items() for word in (f"--{name.replace('_', '-')}", str(value))]


WITHOUT_KEY = (
    "# With the key of packing that this release was made with, this makes the same release again. Without that key it",
    "# makes other groups: they must not be published beside these, for both together can single people out.",
)
"""What stands above a script that repeats a release whose groups follow from a key."""


def python_lines(
    name: str,
    schema: Schema,
    parameters: Mapping[str, Any],
    read_with: Mapping[str, Any],
    reasons: Mapping[str, str],
    report: str = "REPORT.json",
    keeps: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the Python that repeats the run, with the schema as it is kept in the report, a file of this name; where
    groups follow from a key, it says what comes without it. ``keeps``: as of :class:`Provenance`."""
    options = ", ".join(
        f"{option}={tuple(value) if isinstance(value, list) else value!r}" for option, value in read_with.items()
    )
    table = f"an.read_table({name!r}, options=an.ReadOptions({options})).frame"
    if name.startswith(SAMPLE_PREFIX):
        table = f"an.SAMPLES[{name.removeprefix(SAMPLE_PREFIX)!r}].load()"
    if is_address(name):
        table = f"an.read_database({outline(name)!r}).frame"
    settings = ", ".join(f"{option}={value!r}" for option, value in parameters.items() if value is not None)
    settings += f", reasons={dict(reasons)!r}" if reasons else ""
    settings += ", earlier=earlier, keep=True" if keeps else ""
    return "\n".join(
        (
            *(WITHOUT_KEY if {parameters.get("generalizer"), parameters.get("criterion")} & {*KEYED} else ()),
            "import json",
            "import anonymizer as an",
            "",
            f'report = json.load(open("{report}", encoding="utf-8"))',
            'schema = an.Schema.from_json(json.dumps(report["provenance"]["schema"]))',
            f"table = {table}",
            *earlier_lines(keeps),
            f"result = an.anonymize(table, schema, {settings})",
            'result.release.write("RELEASE.csv")',
        )
    )


def earlier_lines(keeps: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of Python that name the earlier releases that groups keep; none where they keep nothing.
    ``keeps``: as of :class:`Provenance`."""
    names = iter(keeps)
    words = {"--earlier": "{!r}", "--ledger": "an.Ledger.open({!r})", "--last-table": "an.last_release({!r}, {!r})"}
    texts = [
        words[option].format(name, *([next(names)[1]] if option == "--last-table" else []))
        for option, name in names
        if option in words
    ]
    return [f"earlier = [{', '.join(texts)}]"] if keeps else []
