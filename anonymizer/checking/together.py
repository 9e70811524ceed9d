"""What several releases of the same persons say together: how many persons are left in a group that they all share.

The *class* of a person in a release is its rows that are alike in all quasi-identifying cells; who is not in a release
is in the class of the absent. A *cell* is the persons whose classes are the same in all releases. Whoever joins the
releases row by row still finds everybody of a cell behind a row, and nobody finds fewer, so releases keep k together
when every cell has k persons. Each pair of three can keep it and all three not: the cells are of all at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.checking.linkage import classes_of
from anonymizer.checking.released import read_cells
from anonymizer.schema import Schema
from anonymizer.values import value_text

Classes = NDArray[np.integer[Any]]
"""(n,) the class of each row in a release, from 0; -1 of those that are not in it."""


@dataclass(frozen=True)
class Together:
    """What some releases leave together: of so many ``persons`` those in a cell of fewer than ``k`` (``below``) and
    those ``alone`` in one; ``smallest``: the persons of the smallest cell, 0 where there is none."""

    k: int
    persons: int
    below: int
    alone: int
    smallest: int

    @property
    def holds(self) -> bool:
        """True when every cell has k persons."""
        return self.below == 0

    @property
    def sentence(self) -> str:
        """The same in words, without where the other release came from."""
        if self.holds:
            return f"everybody is still in a group of at least {self.smallest:,} people."
        people = "1 person is" if self.below == 1 else f"{self.below:,} of {self.persons:,} people are"
        alone = f", {self.alone:,} of them alone" if self.alone else ""
        return f"{people} in groups of fewer than {self.k:,}{alone}."


def together(releases: Sequence[Classes], k: int, person: Classes | None = None) -> Together:
    """Return what releases of the same n rows leave together. ``person`` (n,): whose each row is, -1 for nobody's,
    when rows are not persons; a cell of rows counts its different persons, and a person counts as below k, or alone,
    when one of the rows is."""
    cell, sizes = cells_of(releases, person)
    n = len(cell)
    who = np.arange(n) if person is None else np.asarray(person)
    somebody = (cell >= 0) & (who >= 0)
    of_row = sizes[cell[somebody]]

    def persons(rows: NDArray[np.bool_]) -> int:
        return int(rows.sum()) if person is None else len(np.unique(who[somebody][rows]))

    return Together(
        k, persons(np.ones(len(of_row), np.bool_)), persons(of_row < k), persons(of_row == 1),
        int(of_row.min(initial=n)) if len(of_row) else 0,
    )  # fmt: skip


def cells_of(releases: Sequence[Classes], person: Classes | None = None) -> tuple[Classes, NDArray[np.int64]]:
    """Return the cell of each row (n,), -1 of those that are in no release, and the persons of each cell (c,)."""
    cell, there = np.zeros(len(releases[0]), np.int64), np.zeros(len(releases[0]), np.bool_)
    for classes in releases:
        own = np.asarray(classes, np.int64)
        cell = pd.factorize(cell * (int(own.max(initial=-1)) + 2) + own + 1)[0].astype(np.int64)
        there |= own >= 0
    _, cell[there] = np.unique(cell[there], return_inverse=True)
    cell[~there] = -1
    n_cells = int(cell.max(initial=-1)) + 1
    if person is None:
        return cell, np.bincount(cell[there], minlength=n_cells)
    who = np.asarray(person, np.int64)
    rows, width = there & (who >= 0), int(who.max(initial=-1)) + 1
    return cell, np.bincount(np.unique(cell[rows] * width + who[rows]) // max(1, width), minlength=n_cells)


# From two released files alone.


@dataclass(frozen=True, eq=False)
class ReleasedClasses:
    """A released file of n rows: the class of each, ``class_of`` (n,), and of each column that it has in common with
    the other one the distinct cells, and the place among them of each class's (c,); ``unchanged`` (n,): a number of the
    values in all columns that both release unchanged, the same in both files."""

    class_of: Classes
    columns: tuple[tuple[tuple[Cell, ...], Classes], ...]
    unchanged: Classes


@dataclass(frozen=True, eq=False)
class Bounds:
    """The cells of two released files that can have anybody: of each the ``first`` and the ``second`` class, and the
    ``least`` and the ``most`` people who can be in it, all (c,)."""

    first: Classes
    second: Classes
    least: Classes
    most: Classes

    def surely_below(self, k: int) -> int:
        """Return how many people are surely in a cell of fewer than k."""
        return int(self.least[self.most < k].sum())

    def verdict(self, k: int) -> str:
        """Return what the files prove: ``fails``, ``holds``, or ``the files cannot tell``."""
        fails, holds = bool(((self.least > 0) & (self.most < k)).any()), bool((self.least >= k).all())
        return "fails" if fails else "holds" if holds else "the files cannot tell"


def bounds(first: ReleasedClasses, second: ReleasedClasses, same_people: bool = True) -> Bounds:
    """Return what two files prove of their cells, without the table. Rows can be one person's when their values in all
    columns that both release unchanged are equal, and their boxes meet. ``same_people``: everybody in one file is in
    the other; otherwise anybody may be in one alone, and only values that are unique in each join for sure."""
    meets = [
        (cells_meet(one, other), of_one, of_other)
        for (one, of_one), (other, of_other) in zip(first.columns, second.columns, strict=True)
    ]
    width = int(second.class_of.max(initial=-1)) + 1
    cells, least, most = [], [], []
    for (g, a), (h, b) in common_values(first, second):
        joins = np.ones((len(g), len(h)), np.bool_)
        for matrix, of_one, of_other in meets:
            joins &= matrix[np.ix_(of_one[g], of_other[h])]
        pairs = np.where(joins, np.minimum(a[:, None], b), 0)
        if same_people:
            elsewhere = pairs.sum(1, keepdims=True) - pairs, pairs.sum(0) - pairs
            surely = np.maximum(0, np.maximum(a[:, None] - elsewhere[0], b - elsewhere[1]))
        else:
            surely = pairs if a.sum() == b.sum() == 1 else np.zeros_like(pairs)
        cells.append((g[:, None] * width + h)[joins])
        least.append(surely[joins])
        most.append(pairs[joins])
    if not cells:
        return Bounds(*np.zeros((4, 0), np.int64))
    names, which = np.unique(np.concatenate(cells), return_inverse=True)
    sums = [np.bincount(which, np.concatenate(some), len(names)).astype(np.int64) for some in (least, most)]
    return Bounds(names // width, names % width, *sums)


Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Classes that have rows of some values, and how many."""


def common_values(first: ReleasedClasses, second: ReleasedClasses) -> Iterator[tuple[Counts, Counts]]:
    """Yield the classes of each file for every combination of values that both have."""
    of_files = []
    for file in (first, second):
        width = int(file.class_of.max(initial=-1)) + 1
        pairs, counts = np.unique(file.unchanged.astype(np.int64) * width + file.class_of, return_counts=True)
        values, start = np.unique(pairs // max(1, width), return_index=True)
        parts = zip(np.split(pairs % max(1, width), start[1:]), np.split(counts, start[1:]), strict=True)
        of_files.append(dict(zip(values.tolist(), parts, strict=True)))
    for value in of_files[0].keys() & of_files[1].keys():
        yield of_files[0][value], of_files[1][value]


def cells_meet(first: Sequence[Cell], second: Sequence[Cell]) -> NDArray[np.bool_]:
    """Return (c, d) which distinct cells of a column in two files can hold one value: withheld ones and estimates meet
    all, missing meets missing."""

    def flags(cells: Sequence[Cell], name: str) -> NDArray[np.bool_]:
        return np.array([getattr(cell, name) for cell in cells], np.bool_)

    def ends(cells: Sequence[Cell]) -> NDArray[np.float64]:
        none = (np.inf, -np.inf)
        return np.array([none if c.low is None or c.high is None else (c.low, c.high) for c in cells], float)

    levels = {level: place for place, level in enumerate({level for cell in first for level in cell.levels})}

    def members(cells: Sequence[Cell]) -> NDArray[np.float32]:
        matrix = np.zeros((len(cells), len(levels) + 1), np.float32)
        for row, cell in enumerate(cells):
            matrix[row, [levels[level] for level in cell.levels if level in levels]] = 1
        return matrix

    (low, high), (other_low, other_high) = ends(first).reshape(-1, 2).T, ends(second).reshape(-1, 2).T
    meets = np.maximum(low[:, None], other_low) <= np.minimum(high[:, None], other_high)
    meets |= members(first) @ members(second).T > 0
    meets |= flags(first, "missing")[:, None] & flags(second, "missing")
    for name in ("withheld", "estimate"):
        meets |= flags(first, name)[:, None] | flags(second, name)
    return meets


def classes_in_common(
    first: pd.DataFrame, second: pd.DataFrame, schemas: tuple[Schema, Schema]
) -> tuple[ReleasedClasses, ReleasedClasses]:
    """Return two released tables as :func:`bounds` takes them, each under its schema."""
    boxes = [name for name in schemas[0].quasi_identifying if name in schemas[1].quasi_identifying]
    unchanged = [
        name
        for name in schemas[0].released
        if name in schemas[1].released and not {name} & {*schemas[0].quasi_identifying, *schemas[1].quasi_identifying}
    ]
    values = pd.concat(
        [table[unchanged].astype(object).map(value_text, na_action="ignore") for table in (first, second)],
        ignore_index=True,
    )
    number = np.asarray(
        values.groupby(unchanged, dropna=False, sort=False).ngroup() if unchanged else np.zeros(len(values)), int
    )
    files = []
    for table, schema, part in zip((first, second), schemas, np.split(number, [len(first)]), strict=True):
        cells = read_cells(table, schema)
        classes = classes_of([(one.index, len(one.cells)) for one in cells.values()], len(table))
        representative = np.zeros(len(classes.sizes), np.int64)
        representative[classes.class_of] = np.arange(len(table))
        columns = tuple((cells[name].cells, cells[name].index[representative]) for name in boxes)
        files.append(ReleasedClasses(classes.class_of.astype(np.int64), columns, part))
    return files[0], files[1]
