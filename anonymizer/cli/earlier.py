"""``anonymize --earlier REPORT.json``: other releases of the same table, made again to count both together."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.cli.options import read_apart, reading_of
from anonymizer.cli.project import project_bytes
from anonymizer.digests import digest
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, LastRelease, OtherPeople, Uncounted
from anonymizer.json_value import read_json
from anonymizer.provenance.claim import claim_from
from anonymizer.releasing.release import FORMATS
from anonymizer.settings import RUN, Settings, setting_names
from anonymizer.whatif.project import from_json, setting_in


def add_earlier(parser: argparse.ArgumentParser) -> None:
    """Add the option that names reports of earlier releases."""
    parser.add_argument(
        "--earlier", action="append", default=[], metavar="REPORT.json",
        help="the report of another release of this table; both are counted together; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--keep-earlier", action="store_true",
        help="make groups that keep the releases of --earlier, --ledger or --last-table: everybody stays in a group of "
        "k people that all share",
    )  # fmt: skip
    parser.add_argument(
        "--last-table", metavar="FILE", help="with --project: last time's table, to count both releases"
    )
    parser.add_argument(
        "--last-release", metavar="FILE", help="with --project: last time's release, to see what both files prove alone"
    )


def earlier_of(options: argparse.Namespace, flow: Flow) -> tuple[Earlier | OtherPeople, ...]:
    """Return the releases that are counted with that of a flow: those that some reports speak of, made again from its
    table, and last time's, where a project is used. Raises :class:`ReadError` for a file that cannot be read, and
    :class:`ParameterError` where a release cannot be made again."""
    if options.keep_earlier and not (options.earlier or options.ledger or options.last_table):
        raise ParameterError(
            "No earlier release is named that could be kept.", remedy="Name its report, a ledger, or last time's table."
        )
    again: tuple[Earlier, ...] = ()
    for path in options.earlier:
        again = (*again, made_again(path, flow, again))
    if not options.project:
        if options.last_table or options.last_release:
            raise ParameterError(
                "Last time's table and release are those of a project.", remedy="Name it with --project."
            )
        return again
    project = from_json(project_bytes(options.project))
    if options.last_table:
        table = reading_of(options.last_table, options, project.reading).frame
        return (*again, Flow(table, project.schema, Settings(**project.parameters)).as_last)
    if options.last_release:
        file = ReleasedFile.of_reading(read_apart(options.last_release, reader=read_released)).under(project.schema)
        limits = Settings(**project.parameters).limits
        return (*again, LastRelease(file.rows, project.schema, limits.k, Promise.of(project.schema, limits)))
    return again if project.last is None else (*again, Uncounted())


def made_again(path: str, flow: Flow, before: tuple[Earlier, ...] = ()) -> Earlier:
    """Return the release that a report speaks of. ``before``: earlier ones, which it may keep."""
    claim, document = claim_from(path), read_json(path, "report", "Give the report of a release, as it was saved.")
    parameters = document.field("provenance").field("parameters").fields(setting_names(*RUN))
    settings = Settings(**{name: setting_in(name, value) for name, value in parameters.items() if not value.absent})
    outputs = {format: sha256 for format, sha256 in claim.outputs.items() if format in FORMATS}
    for others in ((), before) if before else ((),):
        how: dict[str, Any] = {"population": flow.population, "key": flow.key, "earlier": others, "keep": bool(others)}
        other = Flow(flow.table, claim.schema, settings, **how)
        leaving = replace(other.leaving, bars=())
        if any(digest(leaving.to_bytes(format)) == sha256 for format, sha256 in outputs.items()):
            promise = Promise.of(other.schema, other.limits)
            return Earlier(other.class_of, other.settings.k, promise, report=Path(path).name)
    raise ParameterError(
        f"The release that {Path(path).name} speaks of is not what this table and this key of packing make, so both "
        "cannot be counted together.",
        remedy="Give the table and the key that it was made with, and what it keeps before it.",
    )
