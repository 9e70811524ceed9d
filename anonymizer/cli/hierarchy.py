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
from anonymizer.commands import hierarchy
from anonymizer.releasing.files import write_file


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
    groups_of = hierarchy(reading.frame, schema, options.column, options.of, **settings_of(options))
    write_file(options.out, groups_of.to_csv())
    groups = len(groups_of.words)
    print(f"{len(groups_of.values):,} values in {groups:,} groups of several. Written: {options.out}")
    return 0
