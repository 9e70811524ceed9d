"""What commands share: their options, and the table, schema and settings that options describe."""

import argparse
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from anonymizer.errors import ReadError, SchemaError
from anonymizer.reading.files import Reading, ReadOptions, read_table
from anonymizer.reading.options import DEFAULT_MISSING
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLE_PREFIX, sample_reading
from anonymizer.reporting.report import schema_from
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import SETTINGS, SHORT, Settings, names_of, setting_names


def add_roles(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the columns are."""
    parser.add_argument("--quasi-identifying", type=names, default=[], metavar="A,B", help="what an attacker may know")
    parser.add_argument("--sensitive", type=names, default=[], metavar="S", help="what must not be learnt")
    parser.add_argument("--identifying", type=names, default=[], metavar="N", help="columns to drop")
    parser.add_argument("--person", metavar="P", help="the column whose equal values are one person; it is dropped")
    parser.add_argument(
        "--kinds", type=pairs, default={}, metavar="A=KIND", help="numeric, categorical or date, where it is not plain"
    )
    parser.add_argument("--schema", metavar="JSON", help="take all of this from a saved schema or a report instead")


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add an option for each of these settings, as :data:`anonymizer.settings.SETTINGS` has it."""
    for name in names:
        setting = SETTINGS[name]
        help_text = setting.text.replace("%", "%%") + (
            "" if setting.default is None else f" (default: {setting.default})"
        )
        option = f"--{name.replace('_', '-')}"
        if setting.kind == "name":
            parser.add_argument(
                option, default=setting.default, choices=(*names_of(name), *SHORT.get(name, ())), help=help_text
            )
        else:
            parser.add_argument(
                option, default=setting.default, type=int if setting.kind == "count" else float, help=help_text
            )


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that the options describe. Raises :class:`ParameterError` for one that is out of range."""
    names = [name for name in setting_names(*Settings.parts) if hasattr(options, name)]
    return Settings(**{name: getattr(options, name) for name in names})


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the input (or the original) is read."""
    parser.add_argument("--delimiter")
    parser.add_argument("--encoding")
    parser.add_argument("--decimal", choices=[".", ","])
    parser.add_argument("--sheet", help="of a spreadsheet")
    parser.add_argument("--no-header", dest="header", action="store_false", help="the first line is a record")
    parser.add_argument("--missing", action="append", metavar="TEXT", help="a text that means missing; repeatable")
    parser.add_argument(
        "--no-missing", dest="missing", action="store_const", const=[], help="every text is a real value, blanks too"
    )
    parser.add_argument(
        "--not-missing", action="append", default=[], metavar="TEXT", help="a text that is a real value; repeatable"
    )
    parser.add_argument("--dates", choices=["day", "month"], help="what comes first where a date does not show it")
    parser.add_argument("--as-text", action="append", default=[], metavar="COLUMN", help="codes that look like numbers")
    parser.add_argument(
        "--as-numbers", action="append", default=[], metavar="COLUMN", help="numbers that look like codes, such as 12e4"
    )


def names(text: str) -> list[str]:
    """Return column names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def pairs(text: str) -> dict[str, str]:
    """Return ``a=kind,b=kind`` as a dictionary."""
    kinds = dict(part.rpartition("=")[::2] for part in names(text))
    unknown = [kind for kind in kinds.values() if kind not in list(Kind)]
    if unknown or "" in kinds:
        raise argparse.ArgumentTypeError(f"expected column=numeric, =categorical or =date, not {text!r}")
    return kinds


def reading_of(path: str, options: argparse.Namespace, way: ReadOptions | None = None) -> Reading:
    """Return the table in a file, read as the options say, or in a ``way`` from elsewhere; or a built-in sample.

    Raises :class:`ReadError` for what can be read in two ways, with the options that say which.
    """
    if path.startswith(SAMPLE_PREFIX):
        return sample_reading(path.removeprefix(SAMPLE_PREFIX))
    read_options = ReadOptions(
        delimiter=options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        missing=tuple(options.missing) if options.missing is not None else DEFAULT_MISSING,
        keep=tuple(options.not_missing),
        sheet=options.sheet,
        header=options.header,
        dates=options.dates,
        as_text=tuple(options.as_text),
        as_numbers=tuple(options.as_numbers),
    )
    reading = read_table(Path(path), options=way or read_options)
    for question in reading.questions:
        answers = " or ".join(answer.words for answer in question.answers)
        raise ReadError(question.text, column=question.column, remedy=f"Say which: {answers}.")
    return reading


def schema_of(table: pd.DataFrame, options: argparse.Namespace) -> Schema:
    """Return the schema that the options describe."""
    if options.schema:
        return schema_from(options.schema)
    if not options.quasi_identifying:
        raise SchemaError(
            "No column is quasi-identifying.", remedy="Name some: --quasi-identifying age,sex (or give a --schema)."
        )
    return Schema.of(
        table,
        quasi_identifying=options.quasi_identifying,
        sensitive=options.sensitive,
        identifying=options.identifying,
        person=options.person,
        target=getattr(options, "target", None),
        kinds=options.kinds,
    )


def require_roles(table: pd.DataFrame, schema: Schema, keep: Sequence[str]) -> None:
    """Raise :class:`SchemaError` when a column would leave as it is that nobody mentioned and that looks as if it told
    people apart. ``keep``: columns that are to leave so."""
    for name in keep:
        if name not in schema.insensitive:
            raise SchemaError(
                f"Column {name!r} cannot be kept as it is: it has another role, or is not in the table.",
                column=name,
                remedy="Name it once.",
            )
    suggested = suggest(table)
    silent = [suggested[name] for name in schema.insensitive if name not in keep]
    open_ = [column for column in silent if column.role not in (Role.INSENSITIVE, Role.SENSITIVE)]
    if open_:
        reasons = "; ".join(f"{column.name!r} looks {column.role} ({column.reason})" for column in open_[:5])
        more = f"; and {len(open_) - 5:,} more" if len(open_) > 5 else ""
        raise SchemaError(
            f"Nobody said what to do with {len(open_):,} columns, which would leave as they are: {reasons}{more}.",
            column=open_[0].name,
            remedy="Give them roles, or keep them as they are: --keep "
            f"{shlex.quote(','.join(column.name for column in open_))}.",
        )


def escape_unwritable() -> None:
    """Have letters that standard output cannot write in its encoding be written as escapes, such as ``\\u20ac``."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Print a value as JSON: in UTF-8, or, where standard output has another encoding, in ASCII, which suits all."""
    is_utf8 = re.sub(r"[-_]", "", sys.stdout.encoding or "").lower() == "utf8"
    print(json.dumps(value, ensure_ascii=not is_utf8, indent=2, allow_nan=False))


def close_output() -> None:
    """Let what is still to be printed go nowhere: whoever read standard output does not any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class ProgressBar:
    """A bar on standard error, when that is a terminal."""

    def __init__(self) -> None:
        self.on_terminal = sys.stderr.isatty()

    def __call__(self, share: float, what: str) -> None:
        """Show how far it is."""
        if self.on_terminal:
            done = round(30 * share)
            room = max(0, shutil.get_terminal_size().columns - 34)
            label = f"{what[:room]:<{room}}"
            print(f"\r[{'#' * done}{'.' * (30 - done)}] {label}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.on_terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)
