"""Hold a codebook against a table: what it says of roles, kinds, domains and labels, and where the two contradict."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from anonymizer.cells import kept_text, kept_value
from anonymizer.cuts import Cuts
from anonymizer.errors import EncodeError, SchemaError
from anonymizer.labelled.description import Description
from anonymizer.plan.carry_over import Change
from anonymizer.schema import LEFT_OUT, ONCE, Column, Kind, Role, Schema
from anonymizer.values import numbers_of, plural, value_text

MOST_NAMED = 5
SAYS_SO = "The codebook says so."
"""The reason of a role that a codebook gives."""

Word = TypeVar("Word", Role, Kind)


def with_codebook(
    schema: Schema, codebook: Sequence[Description], table: pd.DataFrame, roles_of: Collection[str] | None = None
) -> tuple[Schema, tuple[Change, ...]]:
    r"""Return the schema as a codebook describes it, and a sentence for each thing in which it contradicts the table.

    Domains of a codebook are public: they count as declared, but for those that it says were read from a table. What
    contradicts the table is not taken over, and what was in the schema stays. ``roles_of``: columns that may get a role
    of it; ``None``: all.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> codebook = an.read_codebook(b"name,label\nage,Age in years\n")
    >>> described, contradictions = an.with_codebook(schema, codebook, table)
    >>> described["age"].variable.label
    'Age in years'
    """
    columns = {column.name: column for column in schema.columns}
    changes: list[Change] = []
    owners: dict[Role, str] = {}
    described = set()
    for one in codebook:
        name = one.name if one.name in columns else kept_value(one.name)
        if name not in columns:
            changes.append(Change("not there", f"The table has no column {one.name!r}, which the codebook describes."))
            continue
        described.add(name)
        column = replace(columns[name], variable=_labelled(columns[name], one))
        if roles_of is None or name in roles_of:
            column = _with_role(column, one, owners, changes)
        columns[name] = _with_domain(column, one, table[name], changes)
    if silent := [name for name in columns if name not in described]:
        changes.append(Change("not described", f"The codebook says nothing of {_named(silent)}."))
    for role, name in owners.items():  # what was only suggested gives way
        for other in [c for c in columns.values() if c.role is role and c.name != name]:
            columns[other.name] = replace(other, role=Role.IDENTIFYING, reason="", own_reason="")
    whole = tuple(columns[column.name] for column in schema.columns)
    sensitive = [column.name for column in whole if column.role is Role.SENSITIVE]
    return Schema(whole, schema.target if schema.target in sensitive else None), tuple(changes)


def _labelled(column: Column, one: Description) -> Any:
    """Return what is known of a column's words."""
    return replace(column.variable, label=one.label) if one.label else column.variable


def _with_role(column: Column, one: Description, owners: dict[Role, str], changes: list[Change]) -> Column:
    """Return the column in the role that the codebook gives it; ``owners``: who has the roles of one column each."""
    role = _word(one.role, Role, column, changes, f"it stays {column.role}")
    if role is None or (role is column.role and column.reason):  # suggested just so
        return column
    if role in ONCE and role in owners:
        what = (
            f"The codebook calls both {owners[role]!r} and {column.name!r} the {role}; the second stays {column.role}."
        )
        changes.append(Change("role", what))
        return column
    if role in ONCE:
        owners[role] = column.name
    return replace(column, role=role, reason="", own_reason=SAYS_SO)


def _word(
    text: str, words: Callable[[str], Word] | type[Word], column: Column, changes: list[Change], stays: str
) -> Word | None:
    """Return a role or a kind by its name; ``None``, said, for a name that is none."""
    if not text:
        return None
    try:
        return words(text)
    except ValueError:
        what = "role" if words is Role else "kind"
        names = ", ".join(words)  # type: ignore[arg-type]
        sentence = f"The {what} {text[:40]!r} of column {column.name!r} is none of {names}; {stays}."
        changes.append(Change(what, sentence))
        return None


def _with_domain(column: Column, one: Description, values: "pd.Series[Any]", changes: list[Change]) -> Column:
    """Return the column with the kind and the domain of the codebook, as far as the values of the table are in it."""
    kind = _word(one.kind, Kind, column, changes, f"it stays {column.kind}") or column.kind
    domain: dict[str, Any] = (
        {} if kind is column.kind else {"domain": None, "ordered": False, "grid": None, "groups": None, "cuts": Cuts()}
    )
    fresh = replace(column, kind=kind, **domain)
    if kind is not Kind.CATEGORICAL:
        try:
            numbers = numbers_of(values, fresh)[0]
        except EncodeError:
            sentence = (
                f"The codebook calls column {column.name!r} {kind}, which its values are not; it stays {column.kind}."
            )
            changes.append(Change("kind", sentence))
            return column
        _missing(one, values, changes)
        return _with_ends(fresh, one, numbers, changes)
    here = {value_text(value) for value in values.dropna().unique()}
    levels, meanings = _levels(one, here)
    if one.ends and not levels:
        changes.append(Change("domain", f"The codebook gives {column.name!r} two ends, but it is {kind}."))
    if not levels or column.role in LEFT_OUT:
        return fresh
    if outside := sorted(here - set(levels)):
        sentence = f"Column {column.name!r} holds {plural(len(outside), 'level')} that the codebook does not list."
        sentence += " Its levels are not taken over."
        changes.append(Change("domain", sentence, f"Not listed: {_named(outside)}."))
        return fresh
    if len(set(levels)) < len(levels):
        changes.append(Change("domain", f"The codebook lists a level of {column.name!r} twice; none is taken over."))
        return fresh
    words = replace(fresh.variable, meanings=meanings)
    ordered = one.ordered or (fresh.ordered and fresh.domain is not None)
    return replace(fresh, domain=levels, ordered=ordered, suggested=one.from_data, variable=words, groups=None)


def _levels(one: Description, here: set[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the levels as the table has them, and what they mean where it has codes. ``here``: its values."""
    pairs = [(_as_here(value, here), meaning) for value, meaning in one.levels]
    codes, labels = tuple(value for value, _ in pairs), tuple(meaning or value for value, meaning in pairs)
    if not here <= set(codes) and here <= set(labels):  # a table that is shown by its labels already
        return labels, ()
    return codes, tuple((value, meaning) for value, meaning in pairs if meaning)


def _as_here(value: str, here: set[str]) -> str:
    """Return a level of a codebook as the table has it: a quoted one, as releases have such, without its quotes."""
    bare = kept_value(value)
    return bare if value not in here and kept_text(bare) == value else value


def _with_ends(column: Column, one: Description, numbers: Any, changes: list[Change]) -> Column:
    """Return a column of numbers or dates with the ends of the codebook, where all of its values lie between."""
    if not one.ends or column.role in LEFT_OUT:
        return column
    try:
        wide = replace(column, domain=one.ends, suggested=one.from_data)
    except SchemaError as error:
        changes.append(Change("domain", f"{error.problem} It is not taken over."))
        return column
    low, high = numbers_of(pd.Series(list(wide.domain or ())), wide)[0]
    present = numbers[~np.isnan(numbers)]
    outside = int(((present < low) | (present > high)).sum())
    if outside:
        sentence = f"{outside:,} values of column {column.name!r} lie outside {one.ends[0]} to {one.ends[1]}"
        changes.append(Change("domain", f"{sentence}, the range of the codebook, which is not taken over."))
        return column
    return wide


def _missing(one: Description, values: "pd.Series[Any]", changes: list[Change]) -> None:
    """Note the values of numbers that mean missing in the codebook, which are numbers in the table."""
    marks = set(one.missing)
    here = sorted(marks & {value_text(value) for value in values.dropna().unique()}) if marks else []
    if here:
        sentence = f"In column {one.name!r} the codebook calls {_named(here)} missing, where the table has numbers."
        changes.append(Change("missing", f"{sentence} Have the file read with these as missing."))


def _named(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(repr(name[:40]) for name in names[:MOST_NAMED]) + more
