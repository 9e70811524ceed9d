"""``anonymize --project LAST.json``: last time's decisions on a new table, and how that is not last time's."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from anonymizer.cli.options import first_bytes, read_apart, read_options, reading_of, with_cuts, with_values
from anonymizer.cli.typed import say, say_instead, typed_reading, typed_values, with_typed
from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.reporting.packet import is_packet, members_of, project_in, read_members
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.whatif.next_year import Change, Profile, carry_over, compare_figures, profile_of
from anonymizer.whatif.project import from_json

WORDS = ("purpose", "recipient", "basis", "prepared_by")
"""Texts for the reports that a project keeps and options say."""


@dataclass(frozen=True)
class LastTime:
    """A project that was opened: its name and profile, and how the new table is not the old one."""

    table: str
    profile: Profile | None
    changes: tuple[Change, ...]


def open_project(options: argparse.Namespace) -> tuple[Reading, Schema, Settings, LastTime]:
    """Return the table, read and described as the project says, its settings, and what changed. Whatever was typed goes
    before what the project says; texts for the reports that were not are taken into the options."""
    if options.schema or options.codebook:
        raise ParameterError(
            "Roles come from the project.", remedy="Leave --schema and --codebook out; other options may name columns."
        )
    content = project_bytes(options.project)
    project = from_json(content)
    own = read_options(options)
    way = own if project.reading is None else typed_reading(options, own, project.reading, "project")
    reading = reading_of(options.input, options, way)
    suggested = suggest(reading.frame, reading.variables)
    schema, changes = carry_over(from_json(content, suggested).schema, project.last, reading.frame, suggested)
    schema = with_values(with_cuts(with_typed(schema, options, "project"), options, "project"), options)
    schema.check(reading.frame)
    stated = {name: value for name, value in {**Settings(), **project.parameters}.items() if hasattr(options, name)}
    settings = Settings(**{**project.parameters, **typed_values(options, stated, "project")})
    if "keep_earlier" not in options.typed:
        options.keep_earlier = project.keep
    elif options.keep_earlier != project.keep:
        say_instead("keep-earlier", options.keep_earlier, project.keep, "project")
    options.reasons_before = project.reasons
    words = {name: text for name, text in project.words.items() if name in WORDS}
    for name, text in words.items():
        if name not in options.typed:
            setattr(options, name, text)
        elif text != getattr(options, name):
            say(f"--{name.replace('_', '-')} as it was typed instead of the project's text.")
    return reading, schema, settings, LastTime(project.table_name, project.last, changes)


def project_bytes(path: str) -> bytes:
    """Return a project file, or the one in a packet. Raises :class:`ReadError`."""
    try:
        content = first_bytes(path)
        if is_packet(content):
            content = Path(path).read_bytes()
    except OSError as error:
        raise ReadError(f"The project cannot be opened: {error.strerror}.", remedy="Check its name.") from error
    return project_in(content, lambda data: members_of(read_apart(data, reader=read_members)))


def print_changes(last: LastTime, as_json: bool) -> None:
    """Print how the table is not that of the project; beside JSON, to standard error."""
    out = sys.stderr if as_json else sys.stdout
    print(f"Roles taken from {last.table or 'the table of the project'}. Differences:", file=out)
    for change in last.changes:
        print(f"{change.what:<14}{change.sentence if as_json else change.in_full}", file=out)
    if not last.changes:
        print("Nothing in columns, kinds, declared levels and ranges.", file=out)
    print(file=out)


def print_then_and_now(last: LastTime, flow: Flow) -> None:
    """Print the figures of last time's release beside those of this one."""
    if last.profile is None:
        print("The project keeps no figures of last time: it was saved before there was a release.")
    else:
        print(f"{'':<34}{'then':>12}{'now':>12}")
        for title, then, now in compare_figures(last.profile, profile_of(flow)):
            print(f"{title:<34}{then:>12}{now:>12}")
    print()
