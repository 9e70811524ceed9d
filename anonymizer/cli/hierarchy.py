"""``copse hierarchy``: the groups of a column's values, in the form in which ARX reads them."""

import argparse
from typing import Any

from anonymizer.cli.options import (
    add_codebook,
    add_cuts,
    add_reading,
    add_roles,
    add_settings,
    reading_of,
    schema_of,
    settings_of,
)
from anonymizer.errors import SchemaError
from anonymizer.flow import Flow
from anonymizer.releasing.files import write_file
from anonymizer.releasing.hierarchies import cut_hierarchy, public_hierarchy


def add_hierarchy(subparsers: Any) -> None:
    """Add the command."""
    command = subparsers.add_parser("hierarchy", help="write the groups of a column as a hierarchy that ARX reads")
    command.add_argument("input", help="the table: csv, csv.gz, parquet or xlsx; or sample:NAME")
    add_roles(command)
    add_codebook(command)
    add_cuts(command)
    add_reading(command)
    command.add_argument("--column", required=True, help="the column whose values are grouped")
    command.add_argument("--of", choices=["cuts", "tree"], default="cuts", help="its public cuts, or the pruned tree")
    add_settings(command, "k", "grouping")
    command.add_argument("--out", required=True, metavar="CSV", help="where the hierarchy goes")
    command.set_defaults(run=run_hierarchy, reads=("input", "schema", "codebook"), writes=("out",))


def run_hierarchy(options: argparse.Namespace) -> int:
    """Write the hierarchy; return 0."""
    reading = reading_of(options.input, options)
    schema = schema_of(reading.frame, options, reading.variables)
    column = schema[options.column]
    if options.of == "tree":
        if column.name not in schema.quasi_identifying:
            what = f"{column.name!r} is not quasi-identifying, so no tree groups it."
            raise SchemaError(what, column=column.name, remedy="Choose a quasi-identifying column.")
        flow = Flow(reading.frame, schema, settings_of(options))
        hierarchy = cut_hierarchy(column, flow.pruning, flow.encoded.encodings)
    else:
        hierarchy = public_hierarchy(column)
    write_file(options.out, hierarchy.to_csv())
    groups = len(hierarchy.words)
    print(f"{len(hierarchy.values):,} values in {groups:,} groups of several. Written: {options.out}")
    return 0
