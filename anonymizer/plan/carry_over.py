"""The next table: decisions on a table of other people, and how that table is not the one they were made on.

Levels and ranges are compared where they were declared; what was read from the other table is read from this one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.errors import EncodeError
from anonymizer.json_value import JsonValue
from anonymizer.schema import ONCE, Column, Kind, Role, Schema
from anonymizer.settings import NAMES
from anonymizer.values import numbers_of, plural, share, value_text

FIGURES = {
    "records": "Rows",
    **{name: NAMES["measure"][name] for name in ("groups", "smallest")},
    "unique_before": "Unique before, share of rows",
    **{name: NAMES["measure"][name] for name in ("risk", "posterior", "gcp")},
}
"""What is compared of a release, then and now."""
ALIKE = 0.6
"""How alike two names are, 0 to 1, of which one may be the other renamed."""
MOST_NAMED = 5
FEWEST_POINTS = 0.05
"""The change of the share of missing cells that is worth a word."""


@dataclass(frozen=True)
class Profile:
    """What a project keeps of last time: ``figures`` by name, some of :data:`FIGURES`; of each column that leaves, how
    many different ``values`` it had and what share was ``missing``, in whole per cent."""

    figures: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {"figures": dict(self.figures), "values": dict(self.values), "missing": dict(self.missing)}

    @classmethod
    def from_value(cls, value: JsonValue) -> "Profile | None":
        """Return the profile in a JSON value, ``None`` where there is none; raises :class:`ReadError` for others."""
        if value.absent:
            return None
        return cls(
            {name: item.number(0) for name, item in value.field("figures").fields(tuple(FIGURES)).items()},
            {name: item.whole() for name, item in value.field("values").fields().items()},
            {name: item.number(0, 1) for name, item in value.field("missing").fields().items()},
        )


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was: ``what`` it is of, a word or two, and a ``sentence`` on it; ``values`` of the
    table that it is about, for whoever has that before them."""

    what: str
    sentence: str
    values: str = ""

    @property
    def in_full(self) -> str:
        """The sentence, and the values."""
        return f"{self.sentence} {self.values}".rstrip()


def carry_over(
    schema: Schema,
    last: Profile | None,
    table: pd.DataFrame,
    suggested: Schema,
    where: Callable[[str], str] = lambda name: "",
) -> tuple[Schema, tuple[Change, ...]]:
    """Return the schema for a new table, decided as in an old one, and how the table is not the old one.

    ``suggested``: the schema that is suggested for the new table; columns without a decision get their role from it.
    ``where``: where a column was decided on, for a sentence on one that is gone.
    A kind or a declared domain that no longer holds is given up, and it is said.
    """
    old = {column.name: column for column in schema.columns}
    added = [column for column in suggested.columns if column.name not in old]
    names = {column.name for column in suggested.columns}
    gone = [column for column in schema.columns if column.name not in names]
    renamed = _renamed(gone, added)
    once = {column.role for column in schema.columns if column.role in ONCE}
    columns, changes = [], []
    for new in suggested.columns:
        if new.name in renamed:
            was = renamed[new.name]
            columns.append(replace(new, role=was.role, own_reason=was.own_reason))
            changes.append(
                Change(
                    "renamed?",
                    f"{new.name!r} looks like {was.name!r} under another name: its role, {was.role}, was taken over.",
                )
            )
        elif new.name not in old:
            role = Role.IDENTIFYING if new.role in once else new.role
            columns.append(replace(new, role=role))
            changes.append(Change("new column", f"{new.name!r} is new; its role is suggested: {role}."))
        else:
            column, more = _column(old[new.name], new, table[new.name], last)
            columns.append(column)
            changes += more
    takers = {was.name for was in renamed.values()}
    changes += [
        Change("column gone", f"{was.name!r}, which was {was.role}, is no longer there{where(was.name)}.")
        for was in gone
        if was.name not in takers
    ]
    sensitive = [column.name for column in columns if column.role is Role.SENSITIVE]
    target = next((new for new, was in renamed.items() if was.name == schema.target), schema.target)
    if target not in sensitive and schema.target is not None:
        changes.append(
            Change("target", f"The target {schema.target!r} is no longer there; another one takes its place.")
        )
    return Schema(tuple(columns), target if target in sensitive else None), tuple(changes)


def _renamed(gone: list[Column], added: list[Column]) -> dict[str, Column]:
    """Return by the name of a new column the one that is gone and that it looks like, each once."""
    pairs = [
        (SequenceMatcher(None, was.name.casefold(), new.name.casefold()).ratio(), was, new)
        for was in gone
        for new in added
        if was.kind is new.kind
    ]
    renamed: dict[str, Column] = {}
    for ratio, was, new in sorted(pairs, key=lambda pair: -pair[0]):
        if ratio >= ALIKE and new.name not in renamed and was not in renamed.values():
            renamed[new.name] = was
    return renamed


def _column(was: Column, new: Column, values: "pd.Series[Any]", last: Profile | None) -> tuple[Column, list[Change]]:
    """Return a column as it was decided, as far as that still holds, and what changed in it."""
    changes = []
    try:
        numbers = None if was.kind is Kind.CATEGORICAL else numbers_of(values, was)[0]
    except EncodeError:
        changes.append(
            Change("kind", f"{was.name!r} was {was.kind}, which its values no longer are; it is {new.kind} now.")
        )
        return replace(new, role=was.role, own_reason=was.own_reason), changes
    declared = was.declared and was.domain != new.domain
    if declared and numbers is None:
        changes += _levels(was, values)
    elif declared and numbers is not None:
        changes += _range(was, numbers, values)
    elif was.kind is Kind.CATEGORICAL and last is not None:
        before, now = last.values.get(was.name), int(values.nunique())
        if before is not None and before != now:
            changes.append(Change("levels", f"{was.name!r} has {now:,} different values; it had {before:,}."))
    lost = any(change.what in ("new levels", "range") for change in changes)
    if last is not None and was.name in last.missing:
        part, part_before = float(values.isna().mean()), last.missing[was.name]
        if abs(part - part_before) >= FEWEST_POINTS:
            changes.append(Change("missing", f"{share(part)} of {was.name!r} is missing; it was {share(part_before)}."))
    # The domain was read from the other table when nobody declared it, and does not hold when something is outside.
    keeps = declared and not lost
    column = was if keeps else replace(was, domain=None, ordered=False)
    if not keeps and was.kind is new.kind and not lost:
        column = replace(was, domain=new.domain, ordered=new.ordered, suggested=new.suggested)
    return column, changes


def _levels(was: Column, values: "pd.Series[Any]") -> list[Change]:
    """Return which levels are not those that were declared."""
    now = {value_text(value) for value in values.dropna().unique()}
    levels = [str(level) for level in was.domain or ()]
    fresh, gone = sorted(now - set(levels)), [level for level in levels if level not in now]
    changes = []
    if fresh:
        changes.append(
            Change(
                "new levels",
                f"{was.name!r} has {plural(len(fresh), 'level')} that nobody declared. Its public domain no longer "
                "holds; declare it again.",
                f"Not declared: {_named(fresh)}.",
            )
        )
    if gone:
        changes.append(Change("levels gone", f"Nobody has these declared levels of {was.name!r}: {_named(gone)}."))
    return changes


def _range(was: Column, numbers: Any, values: "pd.Series[Any]") -> list[Change]:
    """Return whether values lie outside of the range that was declared."""
    ends = numbers_of(pd.Series(list(was.domain or ())), was)[0]
    outside = int(np.sum((numbers < ends[0]) | (numbers > ends[1])))
    if not outside:
        return []
    declared = " to ".join(value_text(end) for end in was.domain or ())
    return [
        Change(
            "range",
            f"{outside:,} of {len(values):,} values of {was.name!r} lie outside of {declared}, which was declared. Its "
            "public domain no longer holds; declare it again.",
        )
    ]


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(repr(name) for name in names[:MOST_NAMED]) + more
