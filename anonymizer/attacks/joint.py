"""What several releases of the same people tell together: who has few candidates, and to whom one value is left.

Four ways to look. *Cells*: whoever joins the releases row by row finds everybody of a cell behind a row, and nobody
finds fewer. *Joining*: rows that no other row can be one person's with are joined for sure. *Sets*: without joining a
row, a person's value is in the set of values of each group of the person. *Counting*: whoever knows everybody's groups
also counts how often each value is in each, and rules out values for which no room is left. Beside the table cells and
sets are exact. Counting looks at one cell or group at a time, so it never rules out what could be, and all ways at once
could rule out more. From files alone every figure is a lower bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.outcome import Rate
from anonymizer.checking.several import (
    UNKNOWN,
    Proof,
    beside_table,
    class_in_table,
    classes_in,
    equally_often,
    files_alone,
    unique_in_all,
)
from anonymizer.checking.together import (
    Classes,
    bounds,
    cells_of,
    classes_in_common,
    joins_of,
    together,
    unchanged_in,
    value_numbers,
)
from anonymizer.errors import ParameterError
from anonymizer.schema import Kind, Schema

MOST_FIGURES = 1 << 23
"""Pairs of a cell and a value up to which values are counted."""
ROUNDS = 1_000
"""After so many rounds counting ends, and rules out no more."""


@dataclass(frozen=True)
class ValueLeft:
    """To how many people one value of a ``column`` is left: by the groups of one release, the most of any (``alone``);
    by the ``sets`` of all; and when values are ``counted``, too, ``None`` where there are too many of them."""

    column: str
    alone: int
    sets: int
    counting: int | None

    @property
    def sentence(self) -> str:
        """The same in words."""
        counts = "" if self.counting is None else f", and counting leaves one for {self.counting:,}"
        return (
            f"The groups of all releases together leave one possible {self.column} for {people_text(self.sets)}"
            f"{counts}; a single release leaves one for {self.alone:,}."
        )


@dataclass(frozen=True)
class OverReleases:
    """What so many ``releases`` tell together of ``persons`` people, ``None`` where the files may hold different ones:
    how many are left with fewer than ``k`` candidates (``below``), how many with none but themselves (``alone``), and
    the fewest candidates of anybody. ``joined``: the rows that are joined for sure, ``None`` where no file is at hand;
    ``values``: one a sensitive column. ``steps``: people by candidates, in the steps of :func:`step_names`, of the
    release of the fewest and of all together. ``exact``: counted beside the table; otherwise at least so many."""

    k: int
    releases: int
    persons: int | None
    below: int
    alone: int
    fewest: int | None
    joined: Rate | None
    values: tuple[ValueLeft, ...]
    steps: tuple[tuple[int, ...], tuple[int, ...]]
    exact: bool

    @property
    def title(self) -> str:
        """What all of them are called."""
        return "Both releases" if self.releases == 2 else f"All {self.releases} releases"

    @property
    def headline(self) -> str:
        """The finding, in one sentence."""
        of = "" if self.persons is None else f" of {self.persons:,}"
        if not self.below:
            if not self.exact:
                return "The files alone leave nobody with fewer candidates for sure."
            return f"{self.title} together leave everybody at least {self.fewest:,} candidates."
        many = self.below != 1
        at_least = "" if self.exact else "at least "
        who = f"{at_least}{self.below:,}{of} {'people' if many or of else 'person'}"
        return f"{self.title} together leave {who} fewer than {self.k:,} candidates."

    @property
    def names(self) -> tuple[str, ...]:
        """What the steps of candidates are called."""
        return step_names(self.k)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every figure, in words."""
        at_least = "" if self.exact else "At least "
        lines = [f"{at_least}{people_text(self.alone)} {'is' if self.alone == 1 else 'are'} left alone: no other fits."]
        if self.joined is not None:
            rows = f"{self.joined.right:,.0f} of {self.joined.tries:,} rows ({self.joined.text})"
            lines.append(f"{rows} can be joined for sure, by unchanged values and cells.")
        return (*lines, *(one.sentence for one in self.values))


def people_text(number: int) -> str:
    """Return a number of people, in words."""
    return "1 person" if number == 1 else f"{number:,} people"


def step_names(k: int) -> tuple[str, ...]:
    """Return what the steps of candidates are called: one, a few, fewer than k, k and more."""
    few = [f"2 to {k - 1:,}"] if k > 2 else []
    return ("1", *few, f"{k:,} to {2 * k - 1:,}", f"{2 * k:,} and more")


def by_steps(sizes: NDArray[np.int64], people: NDArray[np.int64], k: int) -> tuple[int, ...]:
    """Return how many people have each number of candidates, in steps. ``sizes``, ``people`` (c,): of each group."""
    ends = [2, *([k] if k > 2 else []), 2 * k]
    return tuple(np.bincount(np.searchsorted(ends, sizes, "right"), people, len(ends) + 1).astype(int).tolist())


def attack_releases(
    tables: Sequence[pd.DataFrame],
    schemas: Sequence[Schema],
    k: int,
    original: pd.DataFrame | None = None,
    person: Classes | None = None,
) -> OverReleases:
    """Return what released tables tell together. ``schemas``: of each; ``k``: candidates that everybody should have;
    ``original``: the table (n rows) that all were made from; ``person`` (n,): whose each of its rows is, -1 for
    nobody's, where rows are not persons. It is counted beside the table where that tells the class of every row; where
    it tells those of some, they count among people with few candidates.

    Raises :class:`ParameterError` for fewer than two releases, and what reading cells raises."""
    if len(tables) < 2:
        raise ParameterError(
            "Only one release is named.", remedy="Name two or more; anonymize --attack attacks the one that it makes."
        )
    if original is not None:
        of_rows = [class_in_table(original, table, own, None) for table, own in zip(tables, schemas, strict=True)]
        if all((classes != UNKNOWN).all() for classes in of_rows):
            names = [name for name in original.columns if all(name in table for table in tables)]
            joined = joined_rows(tables, schemas)
            return attack_beside_table(of_rows, original[names], schemas[0], k, person, joined)
        proof = beside_table(of_rows, tables, schemas, files_alone(tables, schemas, k), person)
        return attack_files(tables, schemas, k, proof)
    return attack_files(tables, schemas, k, files_alone(tables, schemas, k))


def attack_beside_table(
    releases: Sequence[Classes],
    values: pd.DataFrame,
    schema: Schema,
    k: int,
    person: Classes | None = None,
    joined: Rate | None = None,
) -> OverReleases:
    """Return what releases of one table of n rows tell together, exactly. ``releases``: of each the class of each row
    (n,), -1 of those left out; ``values``: the table, with its columns as released; ``person`` (n,): whose each row is,
    -1 for nobody's, where rows are not persons; ``joined``: of its files, where they are at hand."""
    both = together(releases, k, person)
    cell, sizes = cells_of(releases, person)
    parts = [cells_of([classes], person) for classes in releases]
    fewest = min(parts, key=lambda part: tuple(int(part[1][part[1] < step].sum()) for step in (k, 2 * k)))[1]
    of_cell = np.full((int(cell.max(initial=-1)) + 1, len(releases)), -1, np.int64)
    of_cell[cell[cell >= 0]] = np.stack(releases, axis=1)[cell >= 0]
    rows = np.bincount(cell[cell >= 0], minlength=len(of_cell))
    who = np.arange(len(cell)) if person is None else np.asarray(person, np.int64)
    somebody = (cell >= 0) & (who >= 0)
    left = []
    for name in categorical(schema, [str(column) for column in values.columns]):
        codes, distinct = pd.factorize(values[name].astype(object).map(str, na_action="ignore"))
        counts = [counts_of(classes, codes, len(distinct)) for classes in releases]
        certain = values_left(of_cell, rows, rows, counts, True)
        left.append(value_left(name, certain, lambda one: len(np.unique(who[somebody & np.append(one, False)[cell]]))))
    steps = by_steps(fewest, fewest, k), by_steps(sizes, sizes, k)
    return OverReleases(
        k, len(releases), both.persons, both.below, both.alone, both.smallest, joined, tuple(left), steps, True
    )  # fmt: skip


def attack_files(tables: Sequence[pd.DataFrame], schemas: Sequence[Schema], k: int, proof: Proof) -> OverReleases:
    """Return what released files tell together by themselves, at least. ``proof``: what they prove of k. Of more
    than two files each two are looked at, and the figures are those of the two that tell most."""
    answers = []
    for first, second, _ in proof.pairs:
        two = (tables[first], tables[second]), (schemas[first], schemas[second])
        answers.append(attack_pair(*two, k))
    worst = max(answers, key=lambda one: one.below)
    left = []
    for name in dict.fromkeys(column.column for one in answers for column in one.values):
        own = [column for one in answers for column in one.values if column.column == name]
        counts = [one.counting for one in own if one.counting is not None]
        left.append(ValueLeft(name, max(o.alone for o in own), max(o.sets for o in own), max(counts, default=None)))
    joined = joined_rows(tables, schemas)
    return OverReleases(
        k, len(tables), proof.persons, proof.below, worst.alone, None, joined, tuple(left), worst.steps, False
    )  # fmt: skip


def attack_pair(tables: tuple[pd.DataFrame, pd.DataFrame], schemas: tuple[Schema, Schema], k: int) -> OverReleases:
    """Return what two files tell together, at least. People of a cell are counted who surely are in it."""
    files = classes_in_common(*tables, schemas)
    joins, same_people = joins_of(*files), equally_often(*files)
    both = bounds(*files, same_people, joins)
    of_cell = np.stack([both.first, both.second], axis=1).astype(np.int64)
    least, most = both.least.astype(np.int64), both.most.astype(np.int64)
    left = []
    for name in categorical(schemas[0], unchanged_in(schemas)):
        codes = value_numbers([table[[name]] for table in tables], [name])
        missing = [np.where(table[name].isna(), -1, own) for table, own in zip(tables, codes, strict=True)]
        n_values = 1 + max(int(own.max(initial=-1)) for own in codes)
        counts = [counts_of(file.class_of, own, n_values) for file, own in zip(files, missing, strict=True)]
        certain = values_left(of_cell, least, most, counts, same_people)
        left.append(value_left(name, certain, lambda one: int(least[one].sum())))
    sizes = [np.bincount(file.class_of) for file in files]
    fewest = min(sizes, key=lambda one: int(one[one < k].sum()))
    steps = by_steps(fewest, fewest, k), by_steps(most, least, k)
    alone = int(least[most == 1].sum())
    return OverReleases(k, 2, None, both.surely_below(k), alone, None, None, tuple(left), steps, False)


Certain = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_] | None]
"""To which cells one value is left: by one release, by sets, and by counting."""


def value_left(name: str, certain: Certain, people: Callable[[NDArray[np.bool_]], int]) -> ValueLeft:
    """Return to how many people one value of a column is left. ``people``: how many some cells (c,) have."""
    alone, sets, counting = certain
    return ValueLeft(name, people(alone), people(sets), None if counting is None else people(counting))


def categorical(schema: Schema, names: Sequence[str]) -> list[str]:
    """Return the categorical sensitive columns among some names."""
    return [name for name in schema.sensitive if name in names and schema[name].kind is Kind.CATEGORICAL]


def joined_rows(tables: Sequence[pd.DataFrame], schemas: Sequence[Schema]) -> Rate:
    """Return how many rows are joined for sure: of two files those that no other row can be one person's with, by boxes
    and unchanged values; of more those whose unchanged values are unique in all."""
    rows = min(map(len, tables))
    if len(tables) == 2:
        files = classes_in_common(tables[0], tables[1], (schemas[0], schemas[1]))
        return Rate(int(joins_of(*files).surely(equally_often(*files)).sum()), rows)
    if not unchanged_in(schemas):
        return Rate(0, rows)
    classes = [classes_in(table, own) for table, own in zip(tables, schemas, strict=True)]
    return Rate(len(unique_in_all(tables, schemas, classes)[0]), rows)


# What values are left.


def counts_of(class_of: Classes, codes: NDArray[np.integer[Any]], n_values: int) -> NDArray[np.int64]:
    """Return how often each value is in each class of a release (g, n_values + 1), in the last place the missing ones.
    ``class_of``, ``codes`` (n,): of each row, -1 of those that are left out, or have no value."""
    there = np.asarray(class_of) >= 0
    own = np.where(np.asarray(codes) < 0, n_values, codes)[there].astype(np.int64)
    width = n_values + 1
    n_classes = int(np.max(class_of, initial=-1)) + 1
    keys = np.asarray(class_of, np.int64)[there] * width + own
    return np.asarray(np.bincount(keys, minlength=n_classes * width).reshape(n_classes, width), np.int64)


def values_left(
    of_cell: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    counts: Sequence[NDArray[np.int64]],
    same_people: bool,
) -> Certain:
    """Return to which cells (c,) one value is left, which is none that is missing: by the groups of the release that
    leaves it to most people, by the sets of all, and by counting. ``of_cell`` (c, s): the class of each cell in each
    release, -1 of the absent; ``least``, ``most`` (c,): rows of each; ``counts``: of releases, by :func:`counts_of`.
    ``same_people``: everybody of a class is in one of the cells."""
    ways = [np.ones((len(of_cell), counts[0].shape[1]), np.bool_) for _ in counts]
    for way, own, classes in zip(ways, counts, of_cell.T, strict=True):
        way[classes >= 0] = own[classes[classes >= 0]] > 0
    alone = max((one_value(way) for way in ways), key=lambda one: int(least[one].sum()))
    sets = np.logical_and.reduce(ways)
    if sets.size > MOST_FIGURES:
        return alone, one_value(sets), None
    return alone, one_value(sets), one_value(room_for(of_cell, least, most, counts, same_people) > 0)


def one_value(possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which cells (c,) have one possible value, which is none that is missing. ``possible`` (c, v): the last are
    missing."""
    return np.asarray((possible.sum(axis=1) == 1) & ~possible[:, -1])


def room_for(
    of_cell: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    counts: Sequence[NDArray[np.int64]],
    same_people: bool,
) -> NDArray[np.int64]:
    """Return how many people of each cell can have each value at most (c, v), as far as it follows from counting one
    cell or one class at a time, again and again until nothing changes. Arguments: as of :func:`values_left`."""
    high = np.repeat(most[:, None], counts[0].shape[1], axis=1)
    low = np.zeros_like(high)
    for own, classes in zip(counts, of_cell.T, strict=True):
        there = classes >= 0
        high[there] = np.minimum(high[there], own[classes[there]])
    for _ in range(ROUNDS):
        before = int(high.sum()) - int(low.sum())
        low = np.maximum(low, least[:, None] - (high.sum(axis=1, keepdims=True) - high))
        high = np.minimum(high, most[:, None] - (low.sum(axis=1, keepdims=True) - low))
        for own, classes in zip(counts, of_cell.T, strict=True):
            there = np.flatnonzero(classes >= 0)
            at = classes[there]
            if same_people:
                low[there] = np.maximum(low[there], own[at] - (summed(high[there], at, len(own))[at] - high[there]))
            high[there] = np.minimum(high[there], own[at] - (summed(low[there], at, len(own))[at] - low[there]))
        if int(high.sum()) - int(low.sum()) >= before:
            break
    return np.asarray(high)


def summed(figures: NDArray[np.int64], at: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the sums (n, v) of figures (q, v) by their places (q,)."""
    sums = np.zeros((n, figures.shape[1]), np.int64)
    np.add.at(sums, at, figures)
    return sums
