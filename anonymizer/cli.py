"""The same flow from a terminal: ``python -m anonymizer anonymize`` and ``verify``.

Exit status: 0 when all is well, 1 when a check fails, 2 with one line on bad input. Tables go to standard output,
progress and errors to standard error; ``--json`` prints one JSON object instead of a table.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from anonymizer.cli_disclosure import add_disclosure
from anonymizer.cli_experiment import add_evaluate
from anonymizer.cli_forest import add_forest
from anonymizer.cli_reports import add_reports, asked_for, write_reports
from anonymizer.errors import AnonymizerError, ParameterError, SchemaError
from anonymizer.generalize import GENERALIZERS, NUMBERS, WRITINGS
from anonymizer.grouping import GROUPINGS
from anonymizer.grow import CRITERIA
from anonymizer.limits import TESTS, Limits
from anonymizer.parse import DEFAULT_MISSING
from anonymizer.pipeline import Result, anonymize
from anonymizer.read import Reading, ReadOptions, read_table
from anonymizer.release import FORMATS, kind_of_cells, read_release
from anonymizer.report import digest, schema_from
from anonymizer.samples import SAMPLE_PREFIX, sample_reading
from anonymizer.schema import Column, Kind, Role, Schema, kind_of
from anonymizer.verify import Verification, verify

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = commands()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except AnonymizerError as error:
        print(f"anonymizer: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        print(f"anonymizer: {error.filename or 'a file'}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("anonymizer: stopped; nothing more was written.", file=sys.stderr)
        return 130


class OneLine(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (try --help)\n")


def commands() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = OneLine(prog="anonymizer", description="Release personal data safely.")
    subparsers = parser.add_subparsers(dest="command", required=True, parser_class=OneLine)

    make = subparsers.add_parser("anonymize", help="from a table to a checked release and its report")
    make.add_argument("input", help="csv, csv.gz, parquet or xlsx; or sample:NAME")
    add_roles(make)
    add_reading(make)
    make.add_argument("--target", help="the sensitive column that guides the tree (default: the first)")
    make.add_argument("--grouping", default="least", choices=list(GROUPINGS))
    make.add_argument("--generalizer", default="uniform", choices=[*GENERALIZERS, "concatenate"])
    make.add_argument("--refine", action="store_true", help="cut large groups further at medians")
    make.add_argument("--writing", default="sets", choices=list(WRITINGS), help="how levels are written")
    make.add_argument("--numbers", default="range", choices=list(NUMBERS), help="how numbers are written")
    make.add_argument("--criterion", choices=list(CRITERIA), help="default: sse for a numeric target, else entropy")
    make.add_argument("--min-leaf", type=int, default=2, help="fewest records of a leaf of the grown tree")
    make.add_argument("--max-depth", type=int, help="longest path of the grown tree (default: no limit)")
    make.add_argument("--weight", type=float, default=0.5, help="of the target in a blend, 0 to 1 (default: 0.5)")
    add_limits(make)
    make.add_argument("--significance", type=float, help="α of the covariance test (numeric sensitive columns)")
    make.add_argument("--tested", default="inner", choices=list(TESTS), help="where α is tested (default: inner)")
    make.add_argument("--out", help="where the release goes: .csv, .csv.gz or .parquet")
    make.add_argument("--report", help="where the JSON report goes")
    make.add_argument("--override", default="", help="why a release that fails a check is written all the same")
    make.add_argument("--json", action="store_true", help="print the report as JSON")
    add_reports(make)
    make.set_defaults(run=run_anonymize)

    check = subparsers.add_parser("verify", help="check a release, from the file alone or beside the original")
    check.add_argument("input", help="the released csv, csv.gz or parquet file")
    add_roles(check)
    add_reading(check)
    check.add_argument("--original", help="the table it was made from: checks cells and linking as well")
    add_limits(check)
    check.add_argument("--json", action="store_true", help="print the checks as JSON")
    check.set_defaults(run=run_verify)
    add_forest(subparsers, add_reading, reading_of, names, pairs)
    add_disclosure(subparsers, add_reading, reading_of, names, pairs)
    add_evaluate(subparsers, add_roles, add_reading, reading_of, schema_of, names, Progress)
    return parser


def add_roles(parser: argparse.ArgumentParser) -> None:
    """The options that say what the columns are."""
    parser.add_argument("--quasi-identifying", type=names, default=[], metavar="A,B", help="what an attacker may know")
    parser.add_argument("--sensitive", type=names, default=[], metavar="S", help="what must not be learnt")
    parser.add_argument("--identifying", type=names, default=[], metavar="N", help="columns to drop")
    parser.add_argument(
        "--kinds", type=pairs, default={}, metavar="A=KIND", help="numeric, categorical or date, where it is not plain"
    )
    parser.add_argument("--schema", metavar="JSON", help="take all of this from a saved schema or a report instead")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """What every group must satisfy; k aside, limits are off unless given."""
    parser.add_argument("--k", type=int, default=10, help="fewest look-alike records (default: 10)")
    parser.add_argument("--l", type=float, help="fewest different values of a sensitive column")
    parser.add_argument("--entropy-l", type=float, help="fewest effective values, exp(entropy), of a sensitive column")
    parser.add_argument("--t", type=float, help="greatest distance of a sensitive distribution from the whole table's")
    parser.add_argument("--rsd-min", type=float, help="least share of a numeric column's squared error to be left")
    parser.add_argument("--spread-min", type=float, help="least share of a numeric column's standard deviation")


def limits_of(chosen: argparse.Namespace) -> dict[str, Any]:
    """The limits that were given, by name; checked as :class:`Limits` checks them."""
    names = [field.name for field in fields(Limits) if hasattr(chosen, field.name)]
    return {name: getattr(Limits(**{name: getattr(chosen, name) for name in names}), name) for name in names}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options that say how the input (or the original) is read."""
    parser.add_argument("--delimiter")
    parser.add_argument("--encoding")
    parser.add_argument("--decimal", choices=[".", ","])
    parser.add_argument("--sheet", help="of a spreadsheet")
    parser.add_argument("--no-header", dest="header", action="store_false", help="the first line is a record")
    parser.add_argument("--missing", action="append", metavar="TEXT", help="a text that means missing; repeatable")
    parser.add_argument(
        "--no-missing", dest="missing", action="store_const", const=[], help="every text is a real value, blanks too"
    )
    parser.add_argument("--keep", action="append", default=[], metavar="TEXT", help="a text that is a real value")


def names(text: str) -> list[str]:
    """Column names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def pairs(text: str) -> dict[str, str]:
    """``a=kind,b=kind`` as a dictionary."""
    found = dict(part.rpartition("=")[::2] for part in names(text))
    unknown = [kind for kind in found.values() if kind not in list(Kind)]
    if unknown or "" in found:
        raise argparse.ArgumentTypeError(f"expected column=numeric, =categorical or =date, not {text!r}")
    return found


def reading_of(path: str, chosen: argparse.Namespace) -> Reading:
    """The table in a file, read as the options say, or a built-in sample."""
    if path.startswith(SAMPLE_PREFIX):
        return sample_reading(path.removeprefix(SAMPLE_PREFIX))
    options = ReadOptions(
        delimiter=chosen.delimiter,
        encoding=chosen.encoding,
        decimal=chosen.decimal,
        missing=tuple(chosen.missing) if chosen.missing is not None else DEFAULT_MISSING,
        keep=tuple(chosen.keep),
        sheet=chosen.sheet,
        header=chosen.header,
    )
    return read_table(Path(path), options=options)


def schema_of(table: pd.DataFrame, chosen: argparse.Namespace) -> Schema:
    """The schema that the options describe."""
    if chosen.schema:
        return schema_from(chosen.schema)
    if not chosen.quasi_identifying:
        raise SchemaError(
            "No column is quasi-identifying.", remedy="Name some: --quasi-identifying age,sex (or give a --schema)."
        )
    return Schema.of(
        table,
        quasi_identifying=chosen.quasi_identifying,
        sensitive=chosen.sensitive,
        identifying=chosen.identifying,
        target=getattr(chosen, "target", None),
        kinds=chosen.kinds,
    )


def run_anonymize(chosen: argparse.Namespace) -> int:
    """``anonymize``: writes the release and the report; 1 when a required check fails."""
    ending = None if chosen.out is None else next((f for f in FORMATS if chosen.out.lower().endswith("." + f)), "")
    if ending == "":
        raise ParameterError(
            f"{chosen.out} has no ending that can be written.", remedy="Use .csv, .csv.gz or .parquet."
        )
    asked = asked_for(chosen)
    show = Progress(5)
    show(0.0, "Reading the table")
    reading = reading_of(chosen.input, chosen)
    schema = schema_of(reading.frame, chosen)
    result = anonymize(
        reading.frame,
        schema,
        grouping=chosen.grouping,
        generalizer=chosen.generalizer,
        criterion=chosen.criterion,
        min_leaf=chosen.min_leaf,
        max_depth=chosen.max_depth,
        weight=chosen.weight,
        writing=chosen.writing,
        numbers=chosen.numbers,
        refine=chosen.refine,
        **limits_of(chosen),
        reading=reading,
        progress=show,
    )
    show.end()
    passed = result.verification.passed
    report = result.report
    written, released = False, passed or bool(chosen.override.strip())
    if chosen.out and released:
        content = result.release.to_bytes(ending or "csv")
        report = report.released({ending or "csv": digest(content)}, "" if passed else chosen.override.strip())
        Path(chosen.out).write_bytes(content)
        written = True
    if asked and released:
        told = report if written else report.released({}, "" if passed else chosen.override.strip())
        write_reports(asked, chosen, reading, result, told, show)
        show.end()
    if chosen.report:
        Path(chosen.report).write_text(report.to_json(), "utf-8")
    if chosen.json:
        print(report.to_json(), end="")
    else:
        print_result(result)
        if written or (asked and released):
            print("Written: " + ", ".join([chosen.out] * written + [str(path) for path in asked.values()]))
        elif chosen.out or asked:
            print('Not written, because a check failed. To write it all the same: --override "the reason".')
    return 0 if passed else 1


def run_verify(chosen: argparse.Namespace) -> int:
    """``verify``: prints every check; 1 when a required one fails."""
    limits = limits_of(chosen)
    plain = read_release(chosen.input)
    original = reading_of(chosen.original, chosen).frame if chosen.original else None
    schema = released_schema(plain, original, chosen)
    released = read_release(chosen.input, schema)
    if original is not None:
        original = original[[column.name for column in schema.columns if column.name in original.columns]]
    verification = verify(released, schema, original=original, **limits)
    if chosen.json:
        print(json.dumps(verification.to_dict(), ensure_ascii=False, indent=2))
    else:
        print_checks(verification)
    return 0 if verification.passed else 1


def released_schema(released: pd.DataFrame, original: pd.DataFrame | None, chosen: argparse.Namespace) -> Schema:
    """The schema of a released file: kinds from its cells, or from the original where a column was kept."""
    if chosen.schema:
        schema = schema_from(chosen.schema)
        needed = (c for c in schema.columns if c.name in released.columns or c.role is Role.QUASI_IDENTIFYING)
        return Schema(tuple(needed))
    given = schema_of(released, chosen)
    columns = []
    for column in given.columns:
        if column.name in chosen.kinds:
            kind = column.kind
        elif column.role is Role.QUASI_IDENTIFYING:
            kind = kind_of_cells(released[column.name])
        elif original is not None and column.name in original.columns:
            kind = kind_of(original[column.name])
        else:
            kind = kind_of_cells(released[column.name])
        columns.append(Column(column.name, column.role, kind))
    return Schema(tuple(columns), given.target)


class Progress:
    """A bar on standard error, when that is a terminal."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.shown = sys.stderr.isatty()

    def __call__(self, share: float, what: str) -> None:
        """Show how far it is."""
        if self.shown:
            done = round(30 * share)
            room = max(0, shutil.get_terminal_size().columns - 34)
            said = f"{what[:room]:<{room}}"
            print(f"\r[{'#' * done}{'.' * (30 - done)}] {said}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)


def print_result(result: Result) -> None:
    """The run as a short table, then its checks."""
    after, before, measured = result.report.after, result.report.before, result.utility
    rows: list[tuple[str, Any, Any]] = [
        ("", "before", "after"),
        ("records", f"{before.records:,}", f"{after.records:,}"),
        ("groups of look-alikes", f"{before.groups:,}", f"{after.groups:,}"),
        ("unique records", f"{before.unique:,}", f"{after.unique:,}"),
        ("smallest group", f"{before.smallest:,}", f"{after.smallest:,}"),
        ("highest linking risk", f"{before.highest:.3f}", f"{after.highest:.3f}"),
        ("loss (GCP, 0 to 1)", "0", f"{measured.gcp:.3f}"),
        ("outside majority class", "", "" if measured.error is None else f"{measured.error:.3f}"),
    ]
    for label, first, second in rows:
        print(f"{label:<24}{first:>12}{second:>12}")
    print()
    print_checks(result.verification)


def print_checks(verification: Verification) -> None:
    """Every check in a sentence, then what the release is."""
    marks = {True: "ok    ", False: "FAILED", None: "      "}
    for check in verification.checks:
        print(f"{marks[check.passed]}  {check.sentence}")
    print()
    print(verification.describe())
