"""``anonymize --project LAST.json``: last time's decisions on a new table, and how that is not last time's."""

import argparse
import sys
from dataclasses import dataclass

from anonymizer.cli.options import first_bytes, reading_of, settings_of
from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.schema import Schema
from anonymizer.settings import SETTINGS, Settings
from anonymizer.whatif.next_year import Change, Profile, carry_over, compare_figures, profile_of
from anonymizer.whatif.project import from_json


@dataclass(frozen=True)
class LastTime:
    """A project that was opened: its name and profile, and how the new table is not the old one."""

    table: str
    profile: Profile | None
    changes: tuple[Change, ...]


def open_project(options: argparse.Namespace) -> tuple[Reading, Schema, Settings, LastTime]:
    """Return the table, read and described as the project says, its settings, and what changed. Settings that are
    options, too, go before the project's."""
    if options.schema or options.codebook or options.quasi_identifying:
        raise ParameterError("Roles come from the project.", remedy="Leave the other options of roles out.")
    try:
        content = first_bytes(options.project)
    except OSError as error:
        raise ReadError(f"The project cannot be opened: {error.strerror}.", remedy="Check its name.") from error
    project = from_json(content)
    reading = reading_of(options.input, options, project.reading)
    suggested = suggest(reading.frame, reading.variables)
    schema, changes = carry_over(from_json(content, suggested).schema, project.last, reading.frame, suggested)
    schema.check(reading.frame)
    own = {name: value for name, value in dict(settings_of(options)).items() if value != SETTINGS[name].default}
    settings = Settings(**{**project.parameters, **own})
    return reading, schema, settings, LastTime(project.table_name, project.last, changes)


def print_changes(last: LastTime, as_json: bool) -> None:
    """Print how the table is not that of the project; beside JSON, to standard error."""
    out = sys.stderr if as_json else sys.stdout
    print(f"Decided as for {last.table or 'the table of the project'}. What changed:", file=out)
    for change in last.changes:
        print(f"{change.what:<14}{change.sentence}", file=out)
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
