"""What published trees say of a value, beside releases of the same people.

A tree holds no rows, so nobody's rows are joined by it; but whoever knows everybody's quasi-identifying columns knows
each person's leaf. A file with error rates says of a leaf without an error that all its people have the label, and of
any other one that some have not: which values those are counts as told, too. These sets are intersected with those of
the classes that releases have everybody in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import Promise, people_in, strictest
from anonymizer.checking.together import Classes, value_sets
from anonymizer.gate.finding import Finding, Severity
from anonymizer.values import plural, value_text


@dataclass(frozen=True, eq=False)
class TreeLeaves:
    """A published tree on the n rows of a table: the ``target`` that it predicts; which of its leaves, ``number`` in
    all, each row is in, ``leaf`` (n,), -1 of rows that are in none; whether it has error ``rates``; and the value that
    a leaf without an error ``says`` all its people have, ``None`` for a missing one, by leaf. ``line``: of its entry, 0
    before there is one; ``elsewhere``: the leaves that have somebody who is not in the table."""

    target: str
    leaf: NDArray[np.int64]
    number: int
    rates: bool
    says: Mapping[int, str | None]
    line: int = 0
    elsewhere: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Remainder:
    """What releases and published trees leave of a ``column`` of so many ``persons`` together. ``below``: how many have
    fewer than ``required`` possible values, through what is looked at; ``certain``: how many one value, and how many
    had ``before``. ``is_promise``: some release promised the required number."""

    column: str
    persons: int
    required: int
    below: int
    certain: int
    before: int
    is_promise: bool = False


Side = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The class of each row in what was published (n,), -1 where that leaves all values, and a number of the value (n,)."""


def remainder_of(
    values: "pd.Series[Any]",
    unit: NDArray[np.int64],
    releases: Sequence[Classes],
    trees: Sequence[TreeLeaves],
    now: Classes | TreeLeaves,
    promises: Sequence[Promise] = (),
) -> Remainder:
    """Return what releases and trees leave of one column, which all ``trees`` predict. ``values`` (n,): of the column;
    ``unit`` (n,): whose each row is, -1 for nobody's; ``releases``: the class of each row in each, -1 where all values
    are possible; ``now``: what is looked at."""
    column = str(values.name)
    texts = values.astype(object).map(value_text, na_action="ignore")
    codes, levels = pd.factorize(texts, use_na_sentinel=False)
    code_of = {None if pd.isna(level) else str(level): code for code, level in enumerate(levels)}

    def side_of(one: Any) -> Side:
        if not isinstance(one, TreeLeaves):
            return np.asarray(one, np.int64), codes
        of_leaf = np.arange(one.number + 1) + len(code_of)
        of_leaf[[-1, *one.elsewhere]] = -1
        for leaf, value in one.says.items():
            of_leaf[leaf] = code_of.get(value, -1)
        label = of_leaf[np.where(one.leaf < one.number, one.leaf, -1)] if one.rates else np.full(len(codes), -1)
        return label, np.where(label < len(code_of), label, codes)

    own = side_of(now)
    before = [side_of(one) for one in (*releases, *trees)]
    left, alone, after = (possible(sides, len(code_of)) for sides in (before, [own], [*before, own]))
    required = strictest("l", promises, column)
    least = 2 if required is None else int(required)
    below = (after < least) & (after < left)
    if required is None:
        below &= after < alone
    who = np.asarray(unit, np.int64)
    anybody = np.ones(len(who), np.bool_)
    all_of_them, missing, *ones = (
        people_in((who >= 0) & rows, who) for rows in (anybody, below, after == 1, left == 1)
    )
    return Remainder(column, all_of_them, least, missing, ones[0], ones[1], required is not None)


def possible(sides: Sequence[Side], n_values: int) -> NDArray[np.int64]:
    """Return how many of ``n_values`` values everything published leaves of each row (n,): all where nothing is said,
    and where it contradicts itself, as when a value changed."""
    if not sides:
        return np.array([n_values], np.int64)
    common = value_sets([classes for classes, _ in sides], [codes for _, codes in sides]).common
    return np.where(common == 0, n_values, common)


def finding_of(remainder: Remainder, before: str, group: int, unknown: str = "") -> Finding:
    """Return the finding of what is left of a column. ``before``: what the others are called; ``group``: the people of
    the smallest group that all releases and leaves share; ``unknown``: a sentence on what is not counted."""
    shared = f"The fewest people who share their group in every release and their leaf in every tree are {group:,}."
    people = plural(remainder.certain, "person has", "people have")
    figures = (
        f"{people} one possible value of {remainder.column!r} in all, {remainder.before:,} before. {shared} {unknown}"
    )
    key = f"together: values of {remainder.column}: {remainder.below:,} of {remainder.persons:,} with {before}"
    if not remainder.below and remainder.certain > remainder.before:
        who = plural(remainder.certain - remainder.before, "more person has", "more people have")
        sentence = f"With {before}, {who} one possible value of {remainder.column!r}, which this says by itself."
        return Finding(key, Severity.LOOK, who.rpartition(" ")[0], sentence, figures.strip())
    if not remainder.below:
        sentence = f"With {before}, nobody is left fewer possible values of {remainder.column!r} than by each alone."
        severity = Severity.LOOK if unknown else Severity.FINE
        return Finding(key, severity, "Values hold", sentence, figures.strip())
    who = plural(remainder.below, "person", "people")
    few = "one possible value" if remainder.required == 2 else f"fewer than {remainder.required:,} possible values"
    alone = "and more were promised" if remainder.is_promise else "which neither does alone"
    sentence = f"With {before}, a tree and the groups leave {who} {few} of {remainder.column!r}, {alone}."
    return Finding(key, Severity.STOPS, who, sentence, f"{LEAF} {figures}".strip())


LEAF = "The values of each person's leaf are put beside those of the group, those of its errors as if they were told."
