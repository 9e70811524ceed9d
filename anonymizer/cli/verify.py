"""``copse verify``: a released file, folder, packet, or table of a database, checked from the terminal."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from anonymizer.cells import parse_cell
from anonymizer.checking.labels import labels_text
from anonymizer.checking.rare_forms import rare_forms
from anonymizer.checking.released_file import (
    ReleasedFile,
    form_of_cells,
    kind_of_cells,
    read_file,
    read_released,
    stored_otherwise,
)
from anonymizer.checking.verify import Verification, verify
from anonymizer.checking.written import written_otherwise
from anonymizer.cli.engine import run_apart
from anonymizer.cli.inputs import (
    ask_password,
    first_bytes,
    limits_of,
    population_from,
    read_apart,
    read_options,
    reading_of,
    require_roles,
    schema_of,
)
from anonymizer.cli.output import print_checks, print_json
from anonymizer.cli.packet import verify_packet
from anonymizer.cli.project import say_what_is_new
from anonymizer.cli.several import run_together
from anonymizer.cli.typed import ONCE_OPTIONS, READING, with_typed
from anonymizer.databases.address import Address
from anonymizer.databases.read import read_rows
from anonymizer.databases.write import rows_bytes
from anonymizer.digests import digest
from anonymizer.errors import CellError, ParameterError, SchemaError
from anonymizer.labelled.variable import Variable
from anonymizer.partitions.folder import is_archive
from anonymizer.provenance.claim import Claim, claim_from, roles_text, same_text, sets_from
from anonymizer.provenance.report import schema_digest, schema_from
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.parquet import parquet_bytes
from anonymizer.reading.patterns import meanings_of
from anonymizer.reading.profile import with_natural_orders
from anonymizer.releasing.files import write_file
from anonymizer.reporting.against import other_than_said
from anonymizer.reporting.packet import is_packet
from anonymizer.reporting.recipient_page import recipient_page
from anonymizer.schema import Column, Kind, Role, Schema, kind_of


def run_verify(options: argparse.Namespace) -> int:
    """Run ``verify``: print every check; return 1 when a required one fails."""
    if options.page or options.input is None:
        return write_page(options)
    if options.others:
        return run_together(options, released_schema)
    table = options.input if isinstance(options.input, Address) else None
    first = first_bytes(options.input, 100) if table is None and Path(options.input).is_file() else b""
    if options.clean_copy:
        require_place(options, first)
    if options.key and not is_packet(first):
        raise ParameterError("--key is of a packet, and the input is none.", remedy="Leave it out.")
    if table is None and (Path(options.input).is_dir() or is_archive(first)):
        return run_apart(options)
    if is_packet(first):
        return verify_packet(options, Path(options.input).read_bytes())
    claim = claim_from(options.report) if options.report else None
    limits, others = limits_of(options, claim)
    if table is None:
        released = read_apart(options.input, options=released_options(options), reader=read_released)
        file, content = ReleasedFile.of_reading(released), released.sha256
    else:
        rows = rows_bytes(ask_password(table, read_rows))
        file, content = read_file(rows), digest(rows)
    reading = reading_of(options.original, options) if options.original else None
    original = None if reading is None else reading.frame
    schema = released_schema(file.rows, original, options, claim)
    file, remarks = under_schema(file, schema, options, claim, original is not None)
    if original is not None:
        original = original[[column.name for column in schema.columns if column.name in original.columns]]
    verification = verify(
        file.rows, schema, original=original, beside=file.beside, unjudged=file.unjudged,
        population=population_from(options),
        left_out=claim.left_out if claim else None, **limits,
    )  # fmt: skip
    differences = () if claim is None else claim.differences(content, len(file.rows), schema)
    if claim is not None and not differences:
        differences = other_than_said(file.rows, claim, is_file=table is None)
    same, about = (None, "") if claim is None or reading is None else claim.original(reading.sha256)
    passed = verification.passed and not differences and same is not False
    if options.clean_copy and passed:
        write_file(options.clean_copy, parquet_bytes(file.rows))
        remarks = [*remarks, f"Written, the rows alone: {options.clean_copy}"]
    elif options.clean_copy:
        remarks = [*remarks, "No clean copy is written of a release that fails a check."]
    elif file.unjudged:
        remarks = [*remarks, "--clean-copy FILE writes the rows alone."]
    if options.json:
        described = verification.to_dict() | {
            "schema_sha256": schema_digest(schema),
            "passed": passed,
            "remarks": remarks,
        }
        if claim is not None:
            described |= {"is_the_reported_file": not differences, "differences": list(differences)}
            described |= {"is_the_reported_original": same, "limits_not_the_reported": others}
        print_json("verify", described)
    else:
        same_file = "" if claim is None else same_text("file", differences, others)
        print_found(verification, schema, (same_file, about, *remarks))
    return 0 if passed else 1


def write_page(options: argparse.Namespace) -> int:
    """Write the page that verifies releases in a browser, and return 0. Raises :class:`ParameterError` where no page is
    asked for, or an input, too, and for a file that is there already."""
    if not options.page:
        raise ParameterError("Nothing is named that could be verified.", remedy="Name a release, or a packet.")
    if options.input is not None:
        raise ParameterError("--page writes a page and verifies nothing.", remedy="Leave the input out, or the page.")
    if Path(options.page).exists():
        raise ParameterError(f"{options.page} is there already.", remedy="Give --page a name that is free.")
    write_file(options.page, recipient_page())
    print(f"Written: {options.page}. It needs a browser, and no network.")
    return 0


def require_place(options: argparse.Namespace, first: bytes) -> None:
    """Raise :class:`ParameterError` unless a clean copy can be written: of one file, to a name that is free."""
    if not first or is_archive(first) or is_packet(first):
        raise ParameterError("--clean-copy is of one released file, and the input is none.", remedy="Leave it out.")
    if Path(options.clean_copy).exists():
        raise ParameterError(f"{options.clean_copy} is there already.", remedy="Give --clean-copy a name that is free.")


def released_options(options: argparse.Namespace) -> ReadOptions:
    """Return how the released file is read: as releases are, or, where no original is named, which options of reading
    speak of then, as a file from elsewhere with another delimiter or encoding.

    Raises :class:`ParameterError` for other options of reading without an original.
    """
    if options.original:
        return ReadOptions()
    unused = sorted(options.typed.intersection(READING) - {"delimiter", "encoding"})
    if unused:
        name = "no-header" if unused[0] == "header" else unused[0].replace("_", "-")
        raise ParameterError(f"--{name} speaks of the original, and none is named.", remedy="Add --original.")
    return read_options(options)


def print_found(verification: Verification, schema: Schema, remarks: Sequence[str]) -> None:
    """Print every check, the roles, and what else is said."""
    print_checks(verification)
    print(roles_text(schema))
    for sentence in filter(None, remarks):
        print(sentence)


def under_schema(
    file: ReleasedFile, schema: Schema, options: argparse.Namespace, claim: Claim | None, beside_original: bool
) -> tuple[ReleasedFile, list[str]]:
    """Return a file read under a schema, and what is said of it that is no check, a sentence each: columns that nobody
    named, labels and kinds that only the file gives, and rare forms of values where no original is at hand. Raises
    :class:`SchemaError` for a column that nobody named and that looks as if it told people apart."""
    has_roles = bool(options.schema or options.decisions) or (claim is not None and not options.quasi_identifying)
    labels = has_roles and (
        any(one.variable != Variable() for one in schema.columns) or bool(claim and claim.knows_labels)
    )
    remarks = []
    if not has_roles and claim is None:
        require_roles(file.rows, schema, options.keep, "verify")
        unnamed = [name for name in schema.insensitive if name not in options.keep]
        remarks += [f"Nobody named {', '.join(unnamed)}: taken as insensitive. {NAME_THEM}"] if unnamed else []
        remarks += [] if beside_original else stored_otherwise(file.stored, schema)
    remarks += [] if labels else filter(None, [labels_text(file.variables)])
    sets = claim.sets if claim is not None else sets_from(options.schema) if options.schema else None
    file = file.under(schema, labels=labels, stored=has_roles or beside_original, sets=sets)
    remarks += [] if claim is not None else written_otherwise(file.rows, schema, {})
    return file, [*remarks, *([] if beside_original else rare_forms(file.rows, schema))]


NAME_THEM = "Name each with --quasi-identifying, --sensitive or --keep."


def released_schema(
    released: pd.DataFrame, original: pd.DataFrame | None, options: argparse.Namespace, claim: Claim | None
) -> Schema:
    """Return the schema of a released file: from a file, a plan, or of the options, with kinds from its cells, or from
    the original where a column was kept. A column that the original does not have, or that none of the options names
    and whose header speaks of people's names or numbers, is none that may be there."""
    if options.schema:
        say_what_is_new(options)
        return with_typed(schema_from(options.schema), options, "schema")
    if options.decisions:
        return planned_schema(released, original, options)
    if claim is not None and not options.quasi_identifying:
        return with_typed(claim.schema, options, "report")
    once = {name: role for option, role in ONCE_OPTIONS.items() if (name := getattr(options, option)) is not None}
    for name in once:
        if original is not None and name not in original.columns:
            raise SchemaError(
                f"There is no column {name!r} in the original.", column=name, remedy="Name one of its own."
            )
    roles = schema_of(released, argparse.Namespace(**{**vars(options), **dict.fromkeys(ONCE_OPTIONS)}), whole=False)
    named = {*options.quasi_identifying, *options.sensitive, *options.kinds, *options.keep}
    columns = []
    for column in roles.columns:
        role = column.role
        if original is not None and column.name not in original.columns:
            continue
        if column.name not in named and any(one.role is Role.IDENTIFYING for one in meanings_of(column.name)):
            role = Role.IDENTIFYING
        form = form_of_cells(released[column.name], role)
        if column.name in options.kinds:
            kind = column.kind
        elif form:
            kind = Kind.DATE
        elif role is not Role.QUASI_IDENTIFYING and original is not None:
            kind = kind_of(original[column.name])
        else:
            kind = kind_of_cells(released[column.name], role)
        columns.append(Column(column.name, role, kind, variable=Variable(dates=form)))
    columns = [column for column in columns if column.name not in once]
    columns += [Column(name, role, Kind.CATEGORICAL) for name, role in once.items()]
    schema = Schema(tuple(columns), roles.target)
    return with_natural_orders(schema, levels_of_cells(released, schema) if original is None else original)


def planned_schema(released: pd.DataFrame, original: pd.DataFrame | None, options: argparse.Namespace) -> Schema:
    """Return the schema of a released file that a plan gives, with kinds that it does not say from the cells."""
    plan = options.decisions.plan
    kinds = {
        name: Column(name, Role(own["role"]), kind_of_cells(released[name], Role(own["role"])))
        for name, own in plan.columns.items()
        if name in released.columns
    }
    schema = with_typed(plan.schema_alone(kinds), options, "plan")
    return with_natural_orders(schema, levels_of_cells(released, schema) if original is None else original)


def levels_of_cells(released: pd.DataFrame, schema: Schema) -> dict[str, "pd.Series[Any]"]:
    """Return the levels that the cells of each categorical quasi-identifier name; none where a cell cannot be read."""
    levels = {}
    for name in schema.quasi_identifying:
        if schema[name].kind is Kind.CATEGORICAL:
            with suppress(CellError):
                cells = [parse_cell(str(text), Kind.CATEGORICAL) for text in released[name].dropna().unique()]
                levels[name] = pd.Series([level for cell in cells for level in cell.levels], dtype="str")
    return levels
