"""``anonymize --earlier REPORT.json``: other releases of the same table, made again to count both together."""

import argparse
from pathlib import Path

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.cli.inputs import read_apart, reading_of
from anonymizer.cli.project import project_bytes
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, LastRelease, OtherPeople, Uncounted
from anonymizer.ledger.ledger import Ledger
from anonymizer.reading.profile import suggest
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json, made_again, release_of_last_time


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
