"""``copse hierarchy``: the groups of a column's values, in the form in which ARX reads them."""

import argparse

from anonymizer.cli.inputs import reading_of, schema_of, settings_of
from anonymizer.commands import hierarchy
from anonymizer.releasing.files import write_file


def run_hierarchy(options: argparse.Namespace) -> int:
    """Write the hierarchy; return 0."""
    reading = reading_of(options.input, options)
    schema = schema_of(reading.frame, options, reading.variables)
    groups_of = hierarchy(reading.frame, schema, options.column, options.of, **settings_of(options))
    write_file(options.out, groups_of.to_csv())
    groups = len(groups_of.words)
    print(f"{len(groups_of.values):,} values in {groups:,} groups of several. Written: {options.out}")
    return 0
