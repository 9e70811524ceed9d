"""What several releases of the same persons say together: how many persons are left in a group that they all share.

The *class* of a person in a release is its rows that are alike in all quasi-identifying cells; who is not in a release
is in the class of the absent. A *cell* is the persons whose classes are the same in all releases. Whoever joins the
releases row by row still finds everybody of a cell behind a row, and nobody finds fewer, so releases keep k together
when every cell has k persons. Each pair of three can keep it and all three not: the cells are of all at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.checking.linkage import classes_of
from anonymizer.checking.released import read_cells, texts_of
from anonymizer.schema import Schema

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


@dataclass(frozen=True, eq=False)
class ValueSets:
    """What the sets of sensitive values in the classes of n rows leave over several releases: ``common`` (n,) how many
    values all sets of a row have, ``fewest`` (n,) how many the smallest of them has, 0 of a row in no release, and
    ``unchanged`` (n,) whether all are the same set. ``sets``: the common ones, and the place among them of each row's
    (n,), ``of_row``."""

    common: NDArray[np.int64]
    fewest: NDArray[np.int64]
    unchanged: NDArray[np.bool_]
    sets: tuple[frozenset[int], ...]
    of_row: NDArray[np.int64]

    def below(self, l: int) -> int:  # noqa: E741 - the name of the limit
        """Return how many rows in any release have fewer than l values in common."""
        return int(((self.common < l) & (self.fewest > 0)).sum())

    @property
    def certain(self) -> int:
        """The number of rows to which the sets leave one value."""
        return int((self.common == 1).sum())

    @property
    def changed(self) -> int:
        """The number of rows whose sets are not the same in all releases that they are in."""
        return int((~self.unchanged).sum())

    def invariant(self, m: int) -> bool:
        """Return True when every set has m values and nobody's changes (m-invariance: Xiao and Tao 2007)."""
        return self.changed == 0 and not (self.fewest[self.fewest > 0] < m).any()


def value_sets(releases: Sequence[Classes], values: Sequence[NDArray[np.integer[Any]]]) -> ValueSets:
    """Return what sets of values leave over several releases. ``values``: of each release a number of each row's
    sensitive value (n,), -1 where it has none, which is in no set. Nothing is known of who is in no release; rows are
    not joined, as in cells: each value of a cell is in all sets of its classes."""
    number: dict[frozenset[int], int] = {}
    signature = np.full((len(releases), len(releases[0])), -1, np.int64)
    for own, classes, codes in zip(signature, releases, values, strict=True):
        there, width = np.asarray(classes) >= 0, int(np.max(codes, initial=0)) + 1
        keys = np.unique((np.asarray(classes, np.int64) * width + codes)[there & (np.asarray(codes) >= 0)])
        pairs = np.column_stack([keys // width, keys % width])
        of_class = np.full(int(np.max(classes, initial=-1)) + 1, number.setdefault(frozenset(), len(number)), np.int64)
        for one, some in zip(*groups_in(pairs), strict=True):
            of_class[one] = number.setdefault(frozenset(some.tolist()), len(number))
        own[there] = of_class[np.asarray(classes)[there]]
    sets, of_row = list(number), np.zeros(signature.shape[1], np.int64)
    for own in signature:
        of_row = pd.factorize(of_row * (len(sets) + 1) + own + 1)[0].astype(np.int64)
    first = np.unique(of_row, return_index=True)[1]
    over = [[sets[at] for at in column if at >= 0] for column in signature[:, first].T.tolist()]
    common = tuple(frozenset.intersection(*some) if some else frozenset() for some in over)
    return ValueSets(
        np.array([len(one) for one in common], np.int64)[of_row],
        np.array([min(map(len, some), default=0) for some in over], np.int64)[of_row],
        np.array([len({*some}) <= 1 for some in over], np.bool_)[of_row],
        common,
        of_row,
    )


def groups_in(pairs: NDArray[np.int64]) -> tuple[list[int], list[NDArray[np.int64]]]:
    """Return the distinct first numbers of sorted pairs (q, 2), and of each the second ones."""
    first, start = np.unique(pairs[:, 0], return_index=True)
    return first.tolist(), np.split(pairs[:, 1], start[1:]) if len(first) else []


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
    ``least`` and the ``most`` people who can be in it, all (c,). ``same_people``: everybody is in both."""

    first: Classes
    second: Classes
    least: Classes
    most: Classes
    same_people: bool = True

    def surely_below(self, k: int) -> int:
        """Return how many people are surely in a cell of fewer than k."""
        return int(self.least[self.most < k].sum())

    def verdict(self, k: int) -> str:
        """Return what the files prove: ``fails``, ``holds``, or ``the files cannot tell``."""
        fails = bool(((self.least > 0) & (self.most < k)).any())
        holds = bool((self.least >= k).all()) and (self.same_people or not len(self.least))
        return "fails" if fails else "holds" if holds else "the files cannot tell"


def bounds(
    first: ReleasedClasses, second: ReleasedClasses, same_people: bool = True, joins: "Joins | None" = None
) -> Bounds:
    """Return what two files prove of their cells, without the table. Rows can be one person's when their values in all
    columns that both release unchanged are equal, and their boxes meet. ``same_people``: everybody in one file is in
    the other; otherwise anybody may be in one alone, and only values that are unique in each join for sure. ``joins``:
    of :func:`joins_of`, where the caller has them."""
    joins = joins_of(first, second) if joins is None else joins
    surely = joins.surely(same_people)
    width = int(second.class_of.max(initial=-1)) + 1
    cell = joins.first.of_class[joins.i] * width + joins.second.of_class[joins.j]
    names, which = np.unique(cell, return_inverse=True)
    least, most = (np.bincount(which, some, len(names)).astype(np.int64) for some in (surely, joins.most))
    return Bounds(names // max(1, width), names % max(1, width), least, most, same_people)


class Entries(NamedTuple):
    """The rows of a file by unchanged values and class, in this order: of each entry the ``value``, the class and the
    number of ``rows``, all (e,)."""

    value: Classes
    of_class: Classes
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, file: ReleasedClasses) -> "Entries":
        """Return those of a file."""
        width = int(file.class_of.max(initial=-1)) + 1
        pairs, rows = np.unique(np.asarray(file.unchanged, np.int64) * width + file.class_of, return_counts=True)
        return cls(pairs // max(1, width), pairs % max(1, width), rows.astype(np.int64))


class Joins(NamedTuple):
    """The entries of two files, and the pairs of them whose rows can be one person's: places ``i`` in the first and
    ``j`` in the second, (q,)."""

    first: Entries
    second: Entries
    i: NDArray[np.int64]
    j: NDArray[np.int64]

    @property
    def most(self) -> NDArray[np.int64]:
        """(q,) the most people whose rows each pair joins."""
        return np.minimum(self.first.rows[self.i], self.second.rows[self.j])

    def surely(self, same_people: bool) -> NDArray[np.int64]:
        """Return (q,) the people whose rows each pair surely joins: those for whom no other pair has room."""
        first, second, i, j = self
        most = self.most
        if not same_people:
            n = max(int(first.value.max(initial=-1)), int(second.value.max(initial=-1))) + 1
            rows = [np.bincount(side.value, side.rows, n) for side in (first, second)]
            alone = (rows[0] == 1) & (rows[1] == 1)
            return np.where(alone[first.value[i]], most, 0)
        rest = [
            side.rows[at] - (np.bincount(at, most, len(side.rows)).astype(np.int64)[at] - most)
            for side, at in ((first, i), (second, j))
        ]
        return np.maximum(0, np.maximum(*rest))


FEW_PAIRS = 4096
"""Pairs of entries of one value that are laid out with those of other values."""
AT_ONCE = 1 << 22
"""Pairs that are looked at together."""
BINS = 32
"""Ranges of a column in which intervals are compared first, in blocks."""


def joins_of(first: ReleasedClasses, second: ReleasedClasses) -> Joins:
    """Return which entries of two files can be joined. Values that few entries have are laid out together; the others
    are looked at in blocks of packed bits, in which two cells may meet when they have a range in common."""
    one, other = Entries.of(first), Entries.of(second)
    columns = [
        (*cell_arrays(cells, others), of_one, of_other)
        for (cells, of_one), (others, of_other) in zip(first.columns, second.columns, strict=True)
    ]
    (value, starts, counts), (value2, starts2, counts2) = (
        np.unique(side.value, return_index=True, return_counts=True) for side in (one, other)
    )
    _, at, at2 = np.intersect1d(value, value2, assume_unique=True, return_indices=True)
    runs = np.column_stack([starts[at], counts[at], starts2[at2], counts2[at2]]).astype(np.int64)
    few = runs[:, 1] * runs[:, 3] <= FEW_PAIRS
    joined = [np.zeros((2, 0), np.int64)]
    some = runs[few]
    before = np.cumsum(some[:, 1] * some[:, 3]) // AT_ONCE
    for part in np.split(some, np.flatnonzero(np.diff(before)) + 1):
        joined.append(those_that_meet(one, other, columns, *laid_out(part)))
    for start, count, start2, count2 in runs[~few].tolist():
        block = np.arange(start, start + count), np.arange(start2, start2 + count2)
        joined += [those_that_meet(one, other, columns, *pairs) for pairs in in_block(one, other, columns, *block)]
    i, j = np.concatenate(joined, axis=1)
    return Joins(one, other, i, j)


def laid_out(runs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (q,) the places of every pair of entries; ``runs`` (v, 4): of each value where its entries begin in the
    first file and their number, and the same in the second."""
    start, count, start2, count2 = runs.T
    pairs = count * count2
    which = np.repeat(np.arange(len(runs)), pairs)
    place = np.arange(len(which)) - (np.cumsum(pairs) - pairs)[which]
    return start[which] + place // count2[which], start2[which] + place % count2[which]


def in_block(
    one: Entries, other: Entries, columns: "Columns", i: NDArray[np.int64], j: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the places (q,) of those pairs of entries of one value that have a range of every column in common."""
    packed = []
    for cells, others, of_one, of_other in columns:
        own, row = np.unique(cells.ranges[of_one[one.of_class[i]]], return_inverse=True)
        their, column = np.unique(others.ranges[of_other[other.of_class[j]]], return_inverse=True)
        packed.append((np.packbits(((own[:, None] & their) != 0)[:, column], axis=1), row))
    everything = np.packbits(np.ones(len(j), np.bool_))
    for rows in np.array_split(np.arange(len(i)), max(1, len(i) * len(j) // (8 * AT_ONCE))):
        bits = np.tile(everything, (len(rows), 1))
        for of_cell, row in packed:
            bits &= of_cell[row[rows]]
        place, byte = np.nonzero(bits)
        pair, bit = np.nonzero(np.unpackbits(bits[place, byte][:, None], axis=1))
        yield i[rows[place[pair]]], j[8 * byte[pair] + bit]


def those_that_meet(
    one: Entries, other: Entries, columns: "Columns", i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return (2, q) those pairs of entries whose boxes meet."""
    for cells, others, of_one, of_other in columns:
        meets = arrays_meet(cells, of_one[one.of_class[i]], others, of_other[other.of_class[j]])
        i, j = i[meets], j[meets]
    return np.stack([i, j])


class CellArrays(NamedTuple):
    """Distinct cells of a column: the ends of each, the ``levels`` as bits of words (w, c), whether it can be missing,
    and whether it can be ``anything``, all else (c,). ``ranges``: bits, of which cells that meet have one in common."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    levels: NDArray[np.uint64]
    missing: NDArray[np.bool_]
    anything: NDArray[np.bool_]
    ranges: NDArray[np.uint64]


Columns = Sequence[tuple[CellArrays, CellArrays, Classes, Classes]]
"""Of each column the distinct cells in two files, and the place among them of each class's."""


def cell_arrays(first: Sequence[Cell], second: Sequence[Cell]) -> tuple[CellArrays, CellArrays]:
    """Return the cells of a column in two files. Only levels that both name have a bit."""
    named = ({level for cell in cells for level in cell.levels} for cells in (first, second))
    place = {level: at for at, level in enumerate(set.intersection(*named))}
    ends = [np.array([ends_of(cell) for cell in cells], float).reshape(-1, 2) for cells in (first, second)]
    cuts = np.unique(np.concatenate(ends))
    cuts = cuts[np.isfinite(cuts)]
    cuts = cuts[np.linspace(0, len(cuts), BINS, endpoint=False).astype(np.int64)[1:]] if len(cuts) > BINS else cuts
    arrays = []
    for cells, (low, high) in zip((first, second), (one.T for one in ends), strict=True):
        levels, ranges = np.zeros((len(place) // 64 + 1, len(cells)), np.uint64), np.zeros(len(cells), np.uint64)
        for at, cell in enumerate(cells):
            for number in (place[level] for level in cell.levels if level in place):
                levels[number // 64, at] |= np.uint64(1 << number % 64)
                ranges[at] |= np.uint64(1 << BINS + 2 + number % (62 - BINS))
        missing = np.array([cell.missing for cell in cells], np.bool_)
        anything = np.array([cell.withheld or cell.estimate for cell in cells], np.bool_)
        from_bin, to_bin = (np.searchsorted(cuts, side, "right").astype(np.uint64) for side in (low, high))
        ranges |= np.where(low > high, np.uint64(0), (np.uint64(4) << to_bin) - (np.uint64(2) << from_bin)) | missing
        ranges[anything | (ranges == 0)] = ~np.uint64(0)
        arrays.append(CellArrays(low, high, levels, missing, anything, ranges))
    return arrays[0], arrays[1]


def ends_of(cell: Cell) -> tuple[float, float]:
    """Return the ends of a cell, reversed where it has none."""
    return (np.inf, -np.inf) if cell.low is None or cell.high is None else (cell.low, cell.high)


def arrays_meet(
    one: CellArrays, i: NDArray[np.integer[Any]], other: CellArrays, j: NDArray[np.integer[Any]]
) -> NDArray[np.bool_]:
    """Return which cells can hold one value, of the shape that places ``i`` and ``j`` have together."""
    meets = np.maximum(one.low[i], other.low[j]) <= np.minimum(one.high[i], other.high[j])
    meets |= one.missing[i] & other.missing[j]
    meets |= one.anything[i] | other.anything[j]
    for word, others in zip(one.levels, other.levels, strict=True):
        meets |= (word[i] & others[j]) != 0
    return np.asarray(meets)


def cells_meet(first: Sequence[Cell], second: Sequence[Cell]) -> NDArray[np.bool_]:
    """Return (c, d) which distinct cells of a column in two files can hold one value: withheld ones and estimates meet
    all, missing meets missing."""
    one, other = cell_arrays(first, second)
    return arrays_meet(one, np.arange(len(first))[:, None], other, np.arange(len(second)))


def classes_in_common(
    first: pd.DataFrame, second: pd.DataFrame, schemas: tuple[Schema, Schema]
) -> tuple[ReleasedClasses, ReleasedClasses]:
    """Return two released tables as :func:`bounds` takes them, each under its schema."""
    numbers = value_numbers((first, second), unchanged_in(schemas))
    boxes = [name for name in schemas[0].quasi_identifying if name in schemas[1].quasi_identifying]
    files = []
    for table, schema, number in zip((first, second), schemas, numbers, strict=True):
        cells = read_cells(table, schema)
        classes = classes_of([(one.index, len(one.cells)) for one in cells.values()], len(table))
        columns = tuple((cells[name].cells, cells[name].index[classes.first]) for name in boxes)
        files.append(ReleasedClasses(classes.class_of, columns, number))
    return files[0], files[1]


def unchanged_in(schemas: Sequence[Schema]) -> list[str]:
    """Return the columns that all of some releases have unchanged."""
    boxes = {name for schema in schemas for name in schema.quasi_identifying}
    return [name for name in schemas[0].released if all(name in s.released for s in schemas) and name not in boxes]


def value_numbers(tables: Sequence[pd.DataFrame], names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return for each table a number of each row's values in some columns, the same in all tables. Missing is equal to
    missing."""
    number = np.zeros(sum(map(len, tables)), np.int64)
    for name in names:
        place: dict[str | None, int] = {}
        codes = []
        for table in tables:
            index, texts = texts_of(table[name])
            codes.append(np.array([place.setdefault(text, len(place)) for text in texts], np.int64)[index])
        number = pd.factorize(number * max(1, len(place)) + np.concatenate(codes))[0].astype(np.int64)
    return np.split(number, np.cumsum([len(table) for table in tables])[:-1])
