"""What options describe: the table, its schema, the settings, and what a release is held to."""

import argparse
import getpass
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from anonymizer.cli.parser import Late
from anonymizer.cli.typed import ONCE_OPTIONS, READING, say, typed_limits, with_typed
from anonymizer.cuts import Cuts
from anonymizer.databases.address import PASSWORD, Address
from anonymizer.errors import ParameterError, ReadError, SchemaError
from anonymizer.hierarchy import MOST_BYTES, Hierarchy
from anonymizer.json_value import MAX_BYTES
from anonymizer.labelled.variable import Variable
from anonymizer.population.sample import Population
from anonymizer.provenance.report import schema_from
from anonymizer.reading.child import read_codebook_in_child, read_in_child
from anonymizer.reading.files import USED, Reader, Reading, ReadOptions
from anonymizer.reading.options import DEFAULT_MISSING, Allowance, memory_of_computer, operator_allowance
from anonymizer.reading.profile import columns_without_role, with_natural_orders, with_variable
from anonymizer.reading.samples import SAMPLE_PREFIX, sample_reading
from anonymizer.schema import UNCHANGED, Kind, Role, Schema, csv_names
from anonymizer.settings import Settings, setting_names
from anonymizer.values import plural

if TYPE_CHECKING:
    from anonymizer.provenance.claim import Claim

Answer = TypeVar("Answer")

read_database = Late("anonymizer.databases.read", "read_database")
with_codebook = Late("anonymizer.whatif.described", "with_codebook")


OWN_MEMORY, OWN_SECONDS = 4 << 30, 60.0
"""Bytes, where the computer has twice as much, and seconds of work that any file may take that is read here."""


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


def population_from(options: argparse.Namespace, *, wildcard: bool = False) -> Population:
    """Return what the options say of the population."""
    people = None if options.population is None else read_apart(options.population).frame
    return Population(options.fraction, people, wildcard)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that the options describe. Raises :class:`ParameterError` for one that is out of range."""
    names = [name for name in setting_names(*Settings.parts) if hasattr(options, name)]
    return Settings(**{name: getattr(options, name) for name in names})


def limits_of(options: argparse.Namespace, claim: "Claim | None") -> tuple[dict[str, Any], list[str]]:
    """Return the limits that a release is held to, with the share of records that may be left out: those of its report,
    but for what was typed, and a sentence on each of these that is another; without a report all are the options'."""
    settings = settings_of(options)
    plain = {**settings.limits.required, "suppression": settings.suppression}
    return typed_limits(options, plain, None if claim is None else claim.held_to)


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
        from_table: Reading = ask_password(
            path, lambda address: read_database(address, options=way or read_options(options))
        )
        return from_table
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
        have = plural(len(looks), "column has no role", "columns have no role")
        raise SchemaError(
            f"{have} and would be released unchanged: {reasons}{more}."
            if command == "anonymize"
            else f"Nobody said what these columns of the release are: {reasons}{more}.",
            column=next(iter(looks)),
            remedy=f"Give them roles, or keep them as they are: --keep {shlex.quote(csv_names(looks))}.",
        )
