"""What commands share: their options, and the table, schema and settings that options describe."""

import argparse
import csv
import getpass
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from anonymizer.checking.verify import Verification
from anonymizer.cli.typed import ONCE_OPTIONS, READING, say, typed_limits, with_typed
from anonymizer.cuts import Cuts
from anonymizer.databases.address import PASSWORD, Address, address_from, is_address
from anonymizer.databases.read import read_database
from anonymizer.errors import ParameterError, ReadError, SchemaError
from anonymizer.hierarchy import MOST_BYTES, Hierarchy
from anonymizer.json_value import MAX_BYTES
from anonymizer.labelled.variable import Variable
from anonymizer.partitions.places import is_files_address
from anonymizer.population.sample import Population
from anonymizer.provenance.claim import Claim
from anonymizer.provenance.report import schema_from
from anonymizer.reading.child import read_codebook_in_child, read_in_child
from anonymizer.reading.files import USED, Reader, Reading, ReadOptions
from anonymizer.reading.options import DEFAULT_MISSING, Allowance, memory_of_computer, operator_allowance
from anonymizer.reading.profile import columns_without_role, with_natural_orders, with_variable
from anonymizer.reading.samples import SAMPLE_PREFIX, sample_reading
from anonymizer.schema import UNCHANGED, Kind, Role, Schema, csv_names
from anonymizer.settings import SETTINGS, SHORT, Settings, names_of, setting_names
from anonymizer.treatments import TREATMENTS
from anonymizer.whatif.described import with_codebook

Answer = TypeVar("Answer")

TYPES: dict[str, type] = {"count": int, "number": float, "text": str}
"""What an option of each kind of setting is read as."""

OWN_MEMORY, OWN_SECONDS = 4 << 30, 60.0
"""Bytes, where the computer has twice as much, and seconds of work that any file may take that is read here."""


def add_roles(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the columns are."""
    parser.add_argument("--quasi-identifying", type=names, default=[], metavar="A,B", help="what an attacker may know")
    parser.add_argument("--sensitive", type=names, default=[], metavar="S", help="what must not be learnt")
    parser.add_argument("--identifying", type=names, default=[], metavar="N", help="columns to drop")
    parser.add_argument("--person", metavar="P", help="the column whose equal values are one person; it is dropped")
    parser.add_argument(
        "--same-ids", action="store_true", help="ids of persons that differ in case, blanks, signs, zeros or form only "
        "are one person's",
    )  # fmt: skip
    parser.add_argument(
        "--nobody", action="append", default=[], metavar="TEXT", help="an id that stands for nobody; repeatable"
    )
    parser.add_argument(
        "--harmless", action="append", default=[], metavar="COLUMN=LEVEL", help="a level of a sensitive column of "
        "which nobody learns anything, so that l does not count it; repeatable",
    )  # fmt: skip
    parser.add_argument("--sampling-weight", metavar="W", help="how many people a row stands for; it is dropped")
    parser.add_argument("--household", metavar="H", help="the column whose equal values live together; it is dropped")
    parser.add_argument("--stratum", metavar="T", help="the column whose equal values were drawn at one rate; dropped")
    parser.add_argument(
        "--kinds", type=pairs, default={}, metavar="A=KIND", help="numeric, categorical or date, where it is not plain"
    )
    parser.add_argument("--schema", metavar="JSON", help="take all of this from a saved schema or a report instead")


def add_cuts(parser: argparse.ArgumentParser) -> None:
    """Add the options that cut columns in public, before anything is grown; each can be repeated."""
    for option, values, help_text in (
        ("--bands", "0,18,65", "say a column only in these bands: the first value of each, the last is open"),
        ("--top", "80", "say this value of a column and all above it as so much or more"),
        ("--bottom", "20", "say this value of a column and all below it as so much or less"),
        ("--round", "5", "say every number of a column as the nearest multiple of this, halves as the one above"),
        ("--hierarchy", "FILE.csv", "say a column only in the groups of this hierarchy, in ARX's CSV form"),
    ):
        parser.add_argument(option, action="append", default=[], metavar=f"COLUMN={values}", help=help_text)
    ways = ", ".join(name + ":N" * (way.least is not None) for name, way in TREATMENTS.items())
    treat = f"treat a column that is released without a box, by one of {ways}; can be repeated"
    parser.add_argument("--treat", action="append", default=[], metavar="COLUMN=month", help=treat)


def with_values(schema: Schema, options: argparse.Namespace) -> Schema:
    """Return the schema with what the options say of the values of columns: who is one person or nobody, and what is
    harmless. Raises :class:`SchemaError` where no column has such values."""
    for text in getattr(options, "harmless", []):
        name, _, level = text.partition("=")
        if schema[name].role is not Role.SENSITIVE or schema[name].kind is not Kind.CATEGORICAL:
            remedy = "Write it as --harmless disease=none, of a sensitive column of levels."
            raise SchemaError(f"Column {name!r} has no sensitive levels.", column=name, remedy=remedy)
        schema = schema.with_column(name, harmless=(*schema[name].harmless, level))
    alike, nobody = getattr(options, "same_ids", False), tuple(getattr(options, "nobody", ()))
    if not alike and not nobody:
        return schema
    if schema.person is None:
        raise SchemaError(
            "--same-ids and --nobody speak of the column that says whose a row is, and none does.",
            remedy="Name it with --person, or leave these out.",
        )
    column = schema[schema.person]
    return schema.with_column(
        column.name, alike=column.alike or alike, nobody=tuple(dict.fromkeys((*column.nobody, *nobody)))
    )


def with_cuts(schema: Schema, options: argparse.Namespace, whose: str = "") -> Schema:
    """Return the schema with the public cuts of the options; cuts that it has already give way, and it is said.

    ``whose`` the schema is, in a word. Raises :class:`SchemaError` for an unknown column, or cuts that it cannot have.
    """
    before = schema
    for text in getattr(options, "hierarchy", []):
        name, _, file = text.rpartition("=")
        schema = schema.with_column(name, cuts=Cuts(hierarchy=read_hierarchy(file)), domain=None)
    for option, part in (("bands", "bands"), ("bottom", "bottom"), ("top", "top"), ("round", "rounding")):
        for text in getattr(options, option, []):
            name, _, values = text.rpartition("=")
            try:
                numbers = tuple(float(part) for part in values.split(","))
            except ValueError:
                numbers = ()
            if not numbers or (option != "bands" and len(numbers) > 1):
                remedy = f"Write it as --{option} age=…, in numbers."
                raise SchemaError(f"--{option} {text} cannot be read.", value=text, remedy=remedy)
            cuts = schema[name].cuts.but(**{part: numbers if option == "bands" else numbers[0]})
            schema = schema.with_column(name, cuts=cuts)
    for text in getattr(options, "importance", []):
        name, _, number = text.rpartition("=")
        if schema[name].role is not Role.QUASI_IDENTIFYING:
            remedy = "Write it as --importance age=2, of a quasi-identifying column."
            raise SchemaError(f"Column {name!r} has no importance where groups are made.", column=name, remedy=remedy)
        schema = schema.with_column(name, importance=number)
    for text in getattr(options, "treat", []):
        name, _, treat = text.rpartition("=")
        if schema[name].role not in UNCHANGED:
            remedy = "Make it sensitive or insensitive, or leave --treat out."
            raise SchemaError(f"Column {name!r} is {schema[name].role}: it is not treated.", column=name, remedy=remedy)
        schema = schema.with_column(name, treat=treat)
    for old, new in zip(before.columns, schema.columns, strict=True):
        if whose and old.cuts and new.cuts != old.cuts:
            say(f"Column {new.name!r} has the public cuts that were typed instead of the {whose}'s.")
        if whose and old.treat and new.treat != old.treat:
            say(f"Column {new.name!r} is treated as was typed instead of as in the {whose}.")
    return schema


def read_hierarchy(path: str) -> Hierarchy:
    """Return the hierarchy in a file of ARX's form. Raises :class:`ReadError` for a file that cannot be opened, and
    :class:`SchemaError` for one that holds none."""
    try:
        with open(path, "rb") as file:
            return Hierarchy.from_csv(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise ReadError(f"The hierarchy {path!r} cannot be opened.", remedy="Give the path of a CSV file.") from error


def add_codebook(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a codebook."""
    parser.add_argument(
        "--codebook", metavar="FILE", help="take roles, kinds, public domains and labels that no option says from a "
        "DDI-Codebook, a Frictionless schema, or a CSV of name,label,role,kind,domain",
    )  # fmt: skip


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
            number = share if setting.most == 1 else TYPES[setting.kind]
            parser.add_argument(option, default=setting.default, type=number, help=help_text)


def add_population(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is known of the population."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--population", metavar="FILE", help="a row a person, or numbers in a column count")
    group.add_argument("--fraction", type=float, metavar="F", help="share of the population in the table, such as 0.05")


def population_from(options: argparse.Namespace, *, wildcard: bool = False) -> Population:
    """Return what the options say of the population."""
    people = None if options.population is None else read_apart(options.population).frame
    return Population(options.fraction, people, wildcard)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that the options describe. Raises :class:`ParameterError` for one that is out of range."""
    names = [name for name in setting_names(*Settings.parts) if hasattr(options, name)]
    return Settings(**{name: getattr(options, name) for name in names})


def limits_of(options: argparse.Namespace, claim: Claim | None) -> tuple[dict[str, Any], list[str]]:
    """Return the limits that a release is held to, with the share of records that may be left out: those of its report,
    but for what was typed, and a sentence on each of these that is another; without a report all are the options'."""
    settings = settings_of(options)
    plain = {**settings.limits.required, "suppression": settings.suppression}
    return typed_limits(options, plain, None if claim is None else claim.held_to)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the input (or the original) is read."""
    parser.add_argument("--delimiter", help="what stands between the columns of delimited text")
    parser.add_argument("--encoding", help="of delimited text, such as utf-8 or cp1252")
    parser.add_argument("--decimal", choices=[".", ","], help="the decimal mark of numbers")
    parser.add_argument("--sheet", help="of a spreadsheet")
    parser.add_argument("--skip", type=int, metavar="N", help="lines, or rows of a sheet, above the names of columns")
    parser.add_argument("--no-header", dest="header", action="store_false", help="the first line is a row")
    parser.add_argument("--missing", action="append", metavar="TEXT", help="a text that means missing; repeatable")
    parser.add_argument(
        "--no-missing", dest="missing", action="store_const", const=[], help="every text is a real value, blanks too"
    )
    parser.add_argument(
        "--not-missing", action="append", default=[], metavar="TEXT", help="a text that is a real value; repeatable"
    )
    parser.add_argument(
        "--dates", metavar="FORM", help="day or month, for what comes first, or a form such as DD.MM.YY or 19YY-MM-DD"
    )
    parser.add_argument("--as-text", action="append", default=[], metavar="COLUMN", help="codes that look like numbers")
    parser.add_argument(
        "--as-numbers", action="append", default=[], metavar="COLUMN", help="numbers that look like codes, such as 12e4"
    )


def share(text: str) -> float:
    """Return a number, such as 0.02, which may be said in per cent as well: 2%."""
    return float(text.removesuffix("%").strip()) / 100 if text.endswith("%") else float(text)


def names(text: str) -> list[str]:
    """Return column names separated by commas; one that holds a comma stands in double quotes, as in a CSV file.

    Raises :class:`argparse.ArgumentTypeError` for quotes that are not closed.
    """
    try:
        fields = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(f'expected names such as a,"b, c", not {text!r}') from None
    return [name.strip() for name in fields if name.strip()]


def pairs(text: str) -> dict[str, str]:
    """Return ``a=kind,b=kind`` as a dictionary."""
    kinds = dict(part.rpartition("=")[::2] for part in names(text))
    unknown = [kind for kind in kinds.values() if kind not in list(Kind)]
    if unknown or "" in kinds:
        raise argparse.ArgumentTypeError(f"expected column=numeric, =categorical or =date, not {text!r}")
    return kinds


def take_addresses(options: argparse.Namespace) -> None:
    """Make addresses of databases of the options that may be such, before anything can show what was typed.

    Raises :class:`ReadError` for one that cannot be read, and :class:`ParameterError` where none may stand.
    """
    for option, value in vars(options).items():
        if not is_address(value) or option == "scheduler":
            continue
        if (option, options.command) != ("input", "anonymize") or not is_files_address(value):
            if option not in ("input", "original") and (option, options.command) != ("out", "anonymize"):
                called = "The input" if option == "input" else f"--{option.replace('_', '-')}"
                raise ParameterError(f"{called} cannot be a database here.", remedy="Name a file.")
            setattr(options, option, address_from(value))


def ask_password(address: Address, read: Callable[[Address], Answer]) -> Answer:
    """Return what ``read`` makes of an address; when the server asks for a password, and somebody can be asked, with
    the one that is typed."""
    try:
        return read(address)
    except ReadError as error:
        if error.value != PASSWORD or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
    return read(address.but(password=getpass.getpass(f"Password for {address.place}: ")))


def reading_of(path: str | Address, options: argparse.Namespace, way: ReadOptions | None = None) -> Reading:
    """Return the table in a file or a database, read as the options say, or in a ``way`` from elsewhere; or a sample.

    Raises :class:`ReadError` for what can be read in two ways, with the options that say which.
    """
    if isinstance(path, str) and path.startswith(SAMPLE_PREFIX):
        refuse_unused(options, "sample")
        return sample_reading(path.removeprefix(SAMPLE_PREFIX))
    if isinstance(path, Address):
        refuse_unused(options, "database")
        return ask_password(path, lambda address: read_database(address, options=way or read_options(options)))
    reading = read_apart(path, options=way or read_options(options))
    refuse_unused(options, reading.format)
    for question in reading.questions:
        answers = " or ".join(answer.words for answer in question.answers)
        raise ReadError(question.text, column=question.column, remedy=f"Say which: {answers}.")
    return reading


def refuse_unused(options: argparse.Namespace, format: str) -> None:
    """Raise :class:`ParameterError` where an option of reading was typed that says nothing of a file of this format, a
    key of :data:`anonymizer.reading.files.USED`."""
    unused = sorted(name for name, part in READING.items() if name in options.typed and part not in USED[format])
    if unused:
        what = {"sample": "a sample", "database": "a database", "csv": "delimited text"}.get(format, f"a {format} file")
        name = "no-header" if unused[0] == "header" else unused[0].replace("_", "-")
        raise ParameterError(f"--{name} says nothing of {what}.", remedy="Leave it out.")


def read_apart(source: str | bytes, *, options: ReadOptions | None = None, reader: Reader | None = None) -> Reading:
    """Return the table in a file, read in a copy of this process; see :func:`anonymizer.reading.child.read_in_child`.

    ``source``: a path, or the bytes. What comes through a pipe is taken here, for it comes once.
    """
    name = None
    if isinstance(source, str):
        path = Path(source)
        name = path.name
        if path.exists() and not path.is_file() and not path.is_dir():
            source = path.read_bytes()
    return read_in_child(source, name=name, options=options, reader=reader, allowance=own_allowance(), fork=True)


def first_bytes(path: str, most: int = MAX_BYTES + 1) -> bytes:
    """Return the first bytes of a file: all of it, or enough to see that it is too large."""
    with Path(path).open("rb") as file:
        return file.read(most)


def own_allowance() -> Allowance:
    """Return what the reading of a file may take where nobody else is served: what the operator set, or more than a
    server gives."""
    least = min(OWN_MEMORY, memory_of_computer() // 2)
    return replace(operator_allowance(), least_memory=least, least_seconds=OWN_SECONDS)


def read_options(options: argparse.Namespace) -> ReadOptions:
    """Return how a table is read, as the options say."""
    return ReadOptions(
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
        skip=options.skip,
    )


def schema_of(
    table: pd.DataFrame,
    options: argparse.Namespace,
    variables: Mapping[str, Variable] | None = None,
    whole: bool = True,
) -> Schema:
    """Return the schema that the options describe. ``variables``: what the file says of its columns; ``whole``: the
    table is all that is to be released, so that its levels can be put in their natural order."""
    if options.schema and getattr(options, "codebook", None):
        raise ParameterError("A schema and a codebook both give roles.", remedy="Use either --codebook or --schema.")
    if options.schema:
        schema = with_cuts(with_typed(schema_from(options.schema), options, "schema"), options, "schema")
        return with_values(schema, options)
    schema = Schema.of(
        table,
        quasi_identifying=options.quasi_identifying,
        sensitive=options.sensitive,
        identifying=options.identifying,
        person=options.person,
        weight=options.sampling_weight,
        household=options.household,
        stratum=options.stratum,
        target=getattr(options, "target", None),
        kinds=options.kinds,
    )
    columns = tuple(with_variable(column, (variables or {}).get(column.name)) for column in schema.columns)
    schema = described(Schema(columns, schema.target), table, options)
    if not schema.quasi_identifying:
        raise SchemaError(
            "No column is quasi-identifying.",
            remedy="Name some: --quasi-identifying age,sex (or give a --schema or a --codebook).",
        )
    schema = with_values(with_cuts(schema, options), options)
    return with_natural_orders(schema, table) if whole else schema


def described(schema: Schema, table: pd.DataFrame, options: argparse.Namespace) -> Schema:
    """Return the schema as the codebook of the options has it, but for roles and kinds of the options themselves.

    Prints to standard error what contradicts the table.
    """
    if not getattr(options, "codebook", None):
        return schema
    try:
        codebook = read_codebook_in_child(first_bytes(options.codebook), fork=True)
    except OSError as error:
        raise ReadError(f"The codebook cannot be opened: {error.strerror}.", remedy="Check its name.") from error
    once = [role for option, role in ONCE_OPTIONS.items() if getattr(options, option, None) is not None]
    own = [
        replace(one, kind="" if one.name in options.kinds else one.kind, role="" if one.role in once else one.role)
        for one in codebook
    ]
    open_ = [name for name in schema.insensitive if name not in getattr(options, "keep", ())]
    schema, changes = with_codebook(schema, own, table, open_)
    for change in changes:
        print(f"{change.what:<14}{change.sentence}", file=sys.stderr)
    target = getattr(options, "target", None)
    return schema.with_target(target) if target in schema.sensitive else schema


def require_roles(table: pd.DataFrame, schema: Schema, keep: Sequence[str], command: str = "anonymize") -> None:
    """Raise :class:`SchemaError` when a column would leave as it is, or has left so, that nobody mentioned and that
    looks as if it told people apart. ``keep``: columns that are to leave so; ``command``: that is run."""
    if looks := columns_without_role(table, schema, keep):
        reasons = "; ".join([*looks.values()][:5])
        more = f"; and {len(looks) - 5:,} more" if len(looks) > 5 else ""
        raise SchemaError(
            f"{len(looks):,} columns have no role and would be released unchanged: {reasons}{more}."
            if command == "anonymize"
            else f"Nobody said what these columns of the release are: {reasons}{more}.",
            column=next(iter(looks)),
            remedy=f"Give them roles, or keep them as they are: --keep {shlex.quote(csv_names(looks))}.",
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
    """A bar on standard error, when that is a terminal; ``lines``: otherwise a line for each step."""

    def __init__(self, *, lines: bool = False) -> None:
        self.on_terminal, self.lines = sys.stderr.isatty(), lines

    def __call__(self, share: float, what: str) -> None:
        """Show how far it is."""
        if self.on_terminal:
            done = round(30 * share)
            room = max(0, shutil.get_terminal_size().columns - 34)
            label = f"{what[:room]:<{room}}"
            print(f"\r[{'#' * done}{'.' * (30 - done)}] {label}", end="", file=sys.stderr, flush=True)
        elif self.lines:
            print(f"{share:4.0%} {what}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.on_terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True)


def print_checks(verification: Verification) -> None:
    """Print every check in a sentence, then what the release is."""
    marks = {True: "ok    ", False: "FAILED", None: "      "}
    for check in verification.checks:
        print(f"{marks[check.passed]}  {check.sentence}")
    print()
    print(verification.describe())
