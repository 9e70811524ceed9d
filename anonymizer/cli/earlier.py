"""``anonymize --earlier REPORT.json``: other releases of the same table, made again to count both together."""

import argparse
from pathlib import Path

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.cli.options import read_apart, reading_of
from anonymizer.cli.project import project_bytes
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, LastRelease, OtherPeople, Uncounted
from anonymizer.ledger.ledger import Ledger
from anonymizer.reading.profile import suggest
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json, made_again, release_of_last_time

LAST_TIME = ("last_table", "last_project", "last_release")
"""The options that name files of last time."""


def add_earlier(parser: argparse.ArgumentParser) -> None:
    """Add the option that names reports of earlier releases."""
    parser.add_argument(
        "--earlier", action="append", default=[], metavar="REPORT.json",
        help="the report of another release of this table; both are counted together; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--keep-earlier", action=argparse.BooleanOptionalAction, default=False,
        help="make groups that keep the releases of --earlier, --ledger or --last-table: everybody stays in a group of "
        "k people that all share",
    )  # fmt: skip
    parser.add_argument(
        "--last-table", metavar="FILE", help="with a project: last time's table, to count both releases"
    )
    parser.add_argument(
        "--last-project", metavar="FILE", help="the project that last time's release was made with (default: --project)"
    )
    parser.add_argument(
        "--last-release", metavar="FILE", help="with a project: last time's release, to see what both files prove alone"
    )


def earlier_of(options: argparse.Namespace, flow: Flow) -> tuple[Earlier | OtherPeople, ...]:
    """Return the releases that are counted with that of a flow: those that some reports speak of, made again from its
    table, and last time's, where a project is used. Raises :class:`ReadError` for a file that cannot be read, and
    :class:`ParameterError` where a release cannot be made again."""
    if options.keep_earlier and not (options.earlier or options.ledger or options.last_table):
        raise ParameterError(
            "No earlier release is named that could be kept.",
            remedy="Name its report, a ledger, or last time's table; or --no-keep-earlier.",
        )
    again: tuple[Earlier, ...] = ()
    for path in options.earlier:
        again = (*again, made_again(path, flow, again))
    last = options.last_project or options.project
    if options.last_project and not (options.last_table or options.last_release):
        raise ParameterError("--last-project speaks of last time's table.", remedy="Name it with --last-table.")
    if not last:
        if options.last_table or options.last_release:
            raise ParameterError(
                "Last time's table and release are those of a project.", remedy="Name it with --last-project."
            )
        return again
    content = project_bytes(last)
    project = from_json(content)
    if options.last_table:
        reading = reading_of(options.last_table, options, project.reading)
        project = from_json(content, suggest(reading.frame, reading.variables))
        return (*again, release_of_last_time(project, reading, Path(last).name))
    if options.last_release:
        file = ReleasedFile.of_reading(read_apart(options.last_release, reader=read_released)).under(project.schema)
        limits = Settings(**project.parameters).limits
        return (*again, LastRelease(file.rows, project.schema, limits.k, Promise.of(project.schema, limits)))
    elsewhere = project.last is None or again or (options.ledger and Ledger.open(options.ledger).read().releases)
    return again if elsewhere else (Uncounted(),)
