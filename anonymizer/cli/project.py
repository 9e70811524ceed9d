"""Decisions from a file: ``--plan copse.toml``, or last time's ``--project``; what was typed goes before both.

Both end in one plan, which says what no option does, and in the schema of the table that is here.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from anonymizer.cli.inputs import first_bytes, read_apart, with_cuts, with_values
from anonymizer.cli.typed import in_words, say, typed_values, with_typed
from anonymizer.databases.address import is_address
from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.partitions.places import is_remote
from anonymizer.plan.carry_over import Change, Profile
from anonymizer.plan.plan import Plan
from anonymizer.plan.sections import PATHS, REPORT
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLE_PREFIX
from anonymizer.reporting.packet import is_packet, members_of, project_in, read_members
from anonymizer.schema import Schema
from anonymizer.whatif.next_year import compare_figures, profile_of
from anonymizer.whatif.project import Project, from_json, plan_of

COUNTED = ("ledger", "to", "earlier", "keep_earlier", "engine")
"""What a plan says of a release wherever the table comes from; its files are those of its own table."""
INSTEAD = {
    "schema": "--schema takes roles only, and the next version has it no more. Use --plan: copse init writes a plan.",
    "project": "The next version has no --project. Use --plan: copse init --project FILE writes the plan of one.",
}
"""What is said of options that a plan takes the place of."""


@dataclass(frozen=True)
class Decisions:
    """What a plan, a project or both decide. ``whose`` they are, in a word; ``project``: last time's, where one is
    used."""

    plan: Plan
    whose: str
    project: Project | None = None

    @property
    def table(self) -> str:
        """What the roles were taken from."""
        if self.project is None:
            return self.plan.source.name if self.plan.source is not None else "the plan"
        return self.project.table_name or "the table of the project"

    @property
    def profile(self) -> Profile | None:
        """Counts of last time's table, where they are known."""
        return None if self.project is None else self.project.last


def take_decisions(options: argparse.Namespace) -> None:
    """Have ``options.decisions`` be those of the plan and the project that are named, ``None`` without one, and the
    options that were not typed what these say. Says what was typed in their place, and what goes before what.

    Raises :class:`ReadError` for what is no plan or project, and :class:`ParameterError` beside other roles.
    """
    options.decisions = None
    path, last = getattr(options, "plan", None), getattr(options, "project", None)
    if not path and not last:
        return
    for name in ("schema", "codebook", *(["report"] if options.command == "verify" else [])):
        if getattr(options, name, None):
            whose = "plan" if path else "project"
            raise ParameterError(f"Roles come from the {whose}.", remedy=f"Leave --{name} out, or --{whose}.")
    plan = Plan.read(path) if path else None
    project = from_json(project_bytes(last)) if last else None
    if project is not None:
        own = plan_of(project)
        fill(options, values_of(options, own, plan), "project")
        if plan is not None:
            say_what_wins(values_of(options, plan), values_of(options, own))
        plan = own if plan is None else plan.over(own)
    assert plan is not None
    if path:
        fill(options, values_of(options, plan), "plan")
    options.decisions = Decisions(plan, "plan" if path else "project", project)
    if path:
        options.reason = [*(f"{key}={text}" for key, text in plan.answers.items()), *getattr(options, "reason", ())]


def say_what_is_new(options: argparse.Namespace) -> None:
    """Say what takes the place of an option in use."""
    for name, sentence in INSTEAD.items():
        if getattr(options, name, None):
            say(sentence)


def say_what_wins(values: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Say which values of a plan go before those of a project."""
    for name, value in values.items():
        if name in others and value != others[name] and name not in PATHS:
            say(f"The plan's {name} {in_words(value)} instead of the project's {in_words(others[name])}.")


def values_of(options: argparse.Namespace, plan: Plan, other: Plan | None = None) -> dict[str, Any]:
    """Return what a plan says of the options of a command, by name; nothing that an ``other`` plan says. Where the
    table was typed, files of the plan's own table are passed over; where a release is checked alone, how its original
    is read."""
    values: dict[str, Any] = {**plan.settings, **plan.texts}
    values |= {name: value for name, value in plan.reading.items() if getattr(options, "original", True)}
    typed_input = "input" in options.typed and options.input is not None
    if options.command == "anonymize":
        release = {name: value for name, value in plan.release.items() if not typed_input or name in COUNTED}
        values |= {name: _from_folder(plan.folder, name, value) for name, value in release.items()}
    if not options.typed & {"population", "fraction"}:
        values |= {name: _from_folder(plan.folder, name, value) for name, value in plan.population.items()}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    before = () if other is None else values_of(options, other)
    return {name: value for name, value in values.items() if hasattr(options, name) and name not in before}


def _from_folder(folder: Path, name: str, value: Any) -> Any:
    """Return the path of a plan as one from here; addresses and samples as they are."""
    if isinstance(value, tuple):
        return tuple(_from_folder(folder, name, one) for one in value)
    if name not in PATHS or is_address(value) or is_remote(value) or value.startswith(SAMPLE_PREFIX):
        return value
    return str(folder / value)


def fill(options: argparse.Namespace, values: Mapping[str, Any], whose: str) -> None:
    """Give the options that were not typed these values, and say which of them were, and are others."""
    texts = {name: text for name, text in values.items() if name in REPORT}
    typed_values(options, {name: value for name, value in values.items() if name not in texts}, whose)
    for name, value in values.items():
        if name not in options.typed:
            setattr(options, name, value)
        elif name in texts and value != getattr(options, name):
            say(f"--{name.replace('_', '-')} as it was typed instead of the {whose}'s text.")
    for one, other in (("as_text", "as_numbers"), ("as_numbers", "as_text")):
        if one in options.typed and other in values and other not in options.typed:
            setattr(options, other, [name for name in values[other] if name not in getattr(options, one)])


def decided(options: argparse.Namespace, reading: Reading) -> tuple[Schema, tuple[Change, ...]]:
    """Return the schema of a table as it was decided, but for what was typed, and how the table is not the one that was
    decided on. A project's reasons speak of its own table, and are taken over for no other."""
    decisions: Decisions = options.decisions
    suggested = suggest(reading.frame, reading.variables)
    schema, changes = decisions.plan.take_over(reading.frame, reading.variables, decisions.profile, suggested)
    whose, project = decisions.whose, decisions.project
    schema = with_values(with_cuts(with_typed(schema, options, whose), options, whose), options)
    schema.check(reading.frame)
    if project is not None and project.reasons and not options.plan:
        if project.may_be_of(reading.sha256, reading.name) and project.records == reading.n_records:
            options.reason = [*(f"{key}={text}" for key, text in project.reasons.items()), *options.reason]
        else:
            say("The project's reasons speak of another table: they are not taken over.")
    return schema, changes


def decided_in_pieces(options: argparse.Namespace, rows: pd.DataFrame) -> Schema:
    """Return the schema of a table in pieces as it was decided. Levels and ends of its first ``rows`` are not those of
    all, so only those stay that are declared."""
    decisions: Decisions = options.decisions
    schema, changes = decisions.plan.take_over(rows)
    columns = (one if one.declared else replace(one, domain=None, ordered=False) for one in schema.columns)
    schema = with_typed(Schema(tuple(columns), schema.target), options, decisions.whose)
    print_changes(decisions, changes, True)
    return with_values(with_cuts(schema, options, decisions.whose), options)


def project_bytes(path: str) -> bytes:
    """Return a project file, or the one in a packet. Raises :class:`ReadError`."""
    try:
        content = first_bytes(path)
        if is_packet(content):
            content = Path(path).read_bytes()
    except OSError as error:
        raise ReadError(f"The project cannot be opened: {error.strerror}.", remedy="Check its name.") from error
    return project_in(content, lambda data: members_of(read_apart(data, reader=read_members)))


def print_changes(decisions: Decisions, changes: tuple[Change, ...], as_json: bool) -> None:
    """Print how the table is not the one that was decided on; beside JSON, to standard error."""
    if decisions.project is None and not changes:
        return
    out = sys.stderr if as_json else sys.stdout
    print(f"Roles taken from {decisions.table}. Differences:", file=out)
    for change in changes:
        print(f"{change.what:<14}{change.sentence if as_json else change.in_full}", file=out)
    if not changes:
        print("Nothing in columns, kinds, declared levels and ranges.", file=out)
    print(file=out)


def print_then_and_now(decisions: Decisions, flow: Flow) -> None:
    """Print the figures of last time's release beside those of this one, where a project keeps them."""
    if decisions.project is None:
        return
    if decisions.profile is None:
        print("The project keeps no figures of last time: it was saved before there was a release.")
    else:
        print(f"{'':<34}{'then':>12}{'now':>12}")
        for title, then, now in compare_figures(decisions.profile, profile_of(flow)):
            print(f"{title:<34}{then:>12}{now:>12}")
    print()
