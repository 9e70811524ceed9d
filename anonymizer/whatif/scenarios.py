"""Settings that a steward keeps to compare, and the history of every decision, which can be gone back through.

What was decided is a flat dictionary of *choices*: every parameter by its name, ``target``, and ``column NAME`` for the
role, kind and domain of each column. It holds no record of the table.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd

from anonymizer.errors import ParameterError
from anonymizer.json_value import JsonValue
from anonymizer.measuring.points import Point
from anonymizer.schema import Column, Schema

FIGURES = ("groups", "smallest", "risk", "tidi", "rsd", "posterior", "gcp", "error", "unexplained")
"""What is known of a scenario, as :class:`anonymizer.whatif.frontier.Point` defines it."""

COLUMN = "column "
"""How the choices of a column begin."""

MOST_COMPARED = 4

LONGEST_WHAT = 200
"""Most characters that say what was decided."""


@dataclass(frozen=True)
class Scenario:
    """A setting that was kept: its ``parameters`` by name, and its ``figures``, some of :data:`FIGURES` by name.

    ``basis``: which table and roles the figures are of, see :func:`basis_of`; "" when that is not known.
    """

    name: str
    parameters: Mapping[str, Any]
    figures: Mapping[str, float]
    comment: str = ""
    basis: str = ""

    def counted_on(self, basis: str) -> "Scenario":
        """Return the scenario as it is known of this table and these roles: figures of another basis are left out."""
        return self if self.basis == basis else replace(self, figures={})


def basis_of(schema: Schema, table: str) -> str:
    """Return the SHA-256, hexadecimal, of all that figures depend on beside the parameters; ``table``: a name of its
    content and of how it was read."""
    described = json.dumps([table, choices_of(schema.bare, {})], sort_keys=True, default=str)
    return hashlib.sha256(described.encode()).hexdigest()


def figures_of(point: Point) -> dict[str, float]:
    """Return what is known of a point, by name."""
    return {name: value for name in FIGURES if (value := getattr(point, name)) is not None}


def scenario_of(point: Point, name: str, parameters: Mapping[str, Any], comment: str = "", basis: str = "") -> Scenario:
    """Return a point as a scenario. ``parameters``: all that were chosen; those of the point come on top."""
    return Scenario(name, {**parameters, **point.parameters}, figures_of(point), comment, basis)


def side_by_side(scenarios: Sequence[Scenario]) -> pd.DataFrame:
    """Return two to four scenarios as columns; as rows the parameters in which they differ, then their figures.

    Raises :class:`ParameterError` for fewer or more, or two of one name.
    """
    names = [scenario.name for scenario in scenarios]
    if not 2 <= len(names) <= MOST_COMPARED or len(set(names)) != len(names):
        raise ParameterError(
            f"{len(names)} scenarios cannot be compared.", remedy=f"Choose 2 to {MOST_COMPARED} of different names."
        )
    parameters = list(dict.fromkeys(key for scenario in scenarios for key in scenario.parameters))
    differing = [key for key in parameters if len({repr(s.parameters.get(key)) for s in scenarios}) > 1]
    present = [name for name in FIGURES if any(name in scenario.figures for scenario in scenarios)]
    rows = {
        **{key: [scenario.parameters.get(key) for scenario in scenarios] for key in differing},
        **{name: [scenario.figures.get(name) for scenario in scenarios] for name in present},
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=names, dtype=object)


KEEP, ON = "keeping earlier groups", "on"
"""The choice that groups keep those of earlier releases, and what it is where they do."""


def choices_of(schema: Schema, parameters: Mapping[str, Any], keep: bool = False) -> dict[str, Any]:
    """Return all choices in one dictionary, JSON-ready. Reasons of suggestions are no choices. ``keep``: groups keep
    those of earlier releases."""
    columns = {COLUMN + column.name: replace(column, reason="").to_dict() for column in schema.columns}
    return {**parameters, "target": schema.target, **({KEEP: ON} if keep else {}), **columns}


def schema_from(choices: Mapping[str, Any], schema: Schema) -> Schema:
    """Return the schema with the columns and the target that the choices name; why a role was suggested stays with it.

    Raises :class:`anonymizer.errors.SchemaError` when they do not fit each other.
    """
    columns = []
    for column in schema.columns:
        described = choices.get(COLUMN + column.name, column.to_dict())
        other = Column.from_value(JsonValue(described, column.name, "history", ""))
        columns.append(replace(other, reason=column.reason) if other.role is column.role else other)
    return Schema(tuple(columns), choices.get("target", schema.target))


def parameters_from(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters among the choices."""
    return {key: value for key, value in choices.items() if key not in ("target", KEEP) and not key.startswith(COLUMN)}


def keep_from(choices: Mapping[str, Any]) -> bool:
    """Return whether groups keep those of earlier releases, by the choices."""
    return choices.get(KEEP) == ON


@dataclass(frozen=True)
class Entry:
    """One decision: ``time`` (UTC, ISO 8601), ``what`` in words, and the choices it changed, ``before`` and ``after``.

    Both hold the same keys; a choice that was not there is ``None``.
    """

    time: str
    what: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def changes(self) -> tuple[tuple[str, str, str], ...]:
        """Each change in words: what, from, to."""
        return tuple(
            (key.removeprefix(COLUMN), choice_text(self.before.get(key)), choice_text(self.after.get(key)))
            for key in self.after
        )


@dataclass(frozen=True)
class History:
    """Decisions in their order, of which the first ``position`` hold; the later ones were undone and can come back.

    ``start``: the choices before the first. Every method returns a new history.
    """

    start: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    position: int = 0

    @property
    def state(self) -> dict[str, Any]:
        """The choices that hold now."""
        state = dict(self.start)
        for entry in self.entries[: self.position]:
            state.update(entry.after)
        return state

    @property
    def can_undo(self) -> bool:
        """True when there is a decision to take back."""
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        """True when a decision was taken back and none was made since."""
        return self.position < len(self.entries)

    @property
    def last(self) -> Entry | None:
        """The decision that would be taken back."""
        return self.entries[self.position - 1] if self.can_undo else None

    @property
    def next(self) -> Entry | None:
        """The decision that would come back."""
        return self.entries[self.position] if self.can_redo else None

    def record(self, choices: Mapping[str, Any], what: str = "", time: datetime | None = None) -> "History":
        """Return the history in which these choices hold now: one more entry with all that changed, none when nothing
        did.

        What was undone is forgotten. ``what``: by default the names of what changed. ``time``: now when not given. The
        first record of an empty history is its start. A number that moves on soon after it moved, as a slider does, is
        still the decision before: one step to take back.
        """
        now = self.state
        if not self.entries and not self.start:
            return History(dict(choices))
        changed = [key for key in {**now, **choices} if now.get(key) != choices.get(key)]
        if not changed:
            return self
        moment = time or datetime.now(UTC)
        before = {key: now.get(key) for key in changed}
        after = {key: choices.get(key) for key in changed}
        entries = self.entries[: self.position]
        if self.last is not None and not self.can_redo and _moves_on(self.last, before, after, moment):
            before, entries = dict(self.last.before), entries[:-1]
        if before != after:
            stamp = moment.isoformat(timespec="seconds")
            entries = (*entries, Entry(stamp, (what or _names(changed))[:LONGEST_WHAT], before, after))
        return replace(self, entries=entries, position=len(entries))

    def at(self, position: int) -> "History":
        """Return the history as it was after so many decisions; nothing is forgotten.

        Raises :class:`ParameterError` for a moment that was not.
        """
        if not 0 <= position <= len(self.entries):
            raise ParameterError(
                f"There is no moment {position} in a history of {len(self.entries)} decisions.", value=position
            )
        return replace(self, position=position)

    def undo(self) -> "History":
        """Return the history without the last decision; the same when there is none."""
        return self.at(max(0, self.position - 1))

    def redo(self) -> "History":
        """Return the history with the decision that was taken back last; the same when there is none."""
        return self.at(min(len(self.entries), self.position + 1))


DRAG = timedelta(seconds=2)
"""Less than this passes between two moves of a slider that is dragged; moments are kept in whole seconds."""


def _moves_on(last: Entry, before: Mapping[str, Any], after: Mapping[str, Any], moment: datetime) -> bool:
    """Return True when a change is one more move of the setting that the last decision moved: a number, a moment
    ago."""
    if len(after) != 1 or set(after) != set(last.after) or moment - datetime.fromisoformat(last.time) >= DRAG:
        return False
    return all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (*last.before.values(), *before.values(), *after.values())
    )


def _names(keys: Sequence[str]) -> str:
    words = ", ".join(key.removeprefix(COLUMN) for key in keys[:4])
    return words + (f" and {len(keys) - 4:,} more" if len(keys) > 4 else "")


def words_back(entry: Entry | None, *, undone: bool) -> str:
    """Return what taking a decision back would do (``undone``), or doing it again: ``age back to insensitive (Roles)``.
    Nothing is taken back that is not named or counted."""
    if entry is None:
        return ""
    here, there = (entry.after, entry.before) if undone else (entry.before, entry.after)
    to = "back to" if undone else "to"
    columns = [key for key in there if key.startswith(COLUMN)]
    settings = [key for key in there if key not in columns]
    words = [f"{settings[0]} {to} {choice_text(there[settings[0]])}"] if len(settings) == 1 else []
    words += [f"{_names(settings)} {to} what they were" if undone else _names(settings)] if len(settings) > 1 else []
    if columns:
        differences = sorted({_difference(here.get(key), there.get(key)) for key in columns})
        names = columns[0].removeprefix(COLUMN) + (f" and {len(columns) - 1:,} more" if len(columns) > 1 else "")
        words.insert(0, f"{names} {to} {' or '.join(differences)} (Roles)")
    return ", ".join(words)


OTHER = {
    "own_reason": "another reason", "importance": "another importance", "treat": "another treatment",
    "harmless": "other harmless levels", "nobody": "other ids of nobody", "alike": "another way to compare ids",
}  # fmt: skip
"""What a column has that differs in one of these."""


def _difference(here: Any, there: Any) -> str:
    """Return in what a column is another one there."""
    if not (isinstance(here, Mapping) and isinstance(there, Mapping)):
        return "what it was"
    for part in ("role", "kind"):
        if here.get(part) != there.get(part):
            return str(there.get(part))
    others = [words for part, words in OTHER.items() if here.get(part) != there.get(part)]
    return others[0] if others else "another order or domain"


def choice_text(value: Any) -> str:
    """Return a choice in words; of a column its role, kind and the steward's reason."""
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        words = [str(value.get("role", "")), str(value.get("kind", ""))]
        if value.get("ordered"):
            words.append("in order")
        domain = value.get("domain")
        if domain is not None:
            words.append(f"{len(domain):,} levels" if value.get("kind") == "categorical" else f"domain {list(domain)}")
        if value.get("own_reason"):
            words.append(f"because: {value['own_reason']}")
        return ", ".join(words)
    return f"{value:g}" if isinstance(value, float) else str(value)
