"""Who is singled out by a box itself: an end or a level of it that exactly one record of the group holds.

The box `[29, 61]` says that somebody in the group is 29. When only one record there is, "the person of this group who
is 29" means that record and no other. Where rows are not persons, all records of a person are one holder. Where ends
are public, `[25, 64]` in steps of 5 says that somebody is 25 to 29, and that is counted: what a box says that somebody
has, and only one has. So it is with public groups of levels. The counts are exact: they are taken from the original and
the release side by side, and nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.attackers import ends_of
from anonymizer.attacks.outcome import Rate
from anonymizer.checking.candidates import Original, OriginalColumn, prepare
from anonymizer.checking.kinds import every_record
from anonymizer.checking.linkage import LookAlikes, columns_of, look_alikes
from anonymizer.checking.released import ColumnCells, read_cells
from anonymizer.releasing.grid import Grid
from anonymizer.schema import Kind, Schema

Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Isolation:
    """How many are singled out by an end or a level of their own box, which they alone in their group hold.

    ``records``; ``groups`` with such a record; ``by_column``: records that one column singles out. ``ends`` of
    intervals, and ``levels`` of sets (missing among them): those that exactly one record of the group holds, of all
    that boxes with more than one possible value show. ``by_person``: where rows are not persons, it is a person who
    holds something alone, and all records of it that do are singled out.
    """

    records: Rate
    groups: Rate
    ends: Rate
    levels: Rate
    by_column: Mapping[str, Rate] = field(default_factory=dict)
    by_person: bool = False

    @property
    def holder(self) -> str:
        """Who holds an end or a level, in a word."""
        return "person" if self.by_person else "row"

    @property
    def sentence(self) -> str:
        """The same in words."""
        who = "Their person alone in the group has" if self.by_person else "They alone in their group have"
        return (
            f"{self.records.text} of the rows are singled out by their own box. {who} what one of its ends or levels "
            f"says. {self.groups.text} of the groups have such a row."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the shares, 0 to 1, JSON-ready."""
        return {
            "records": self.records.share,
            "groups": self.groups.share,
            "ends_of_one_record": self.ends.share,
            "levels_of_one_record": self.levels.share,
            "records_by_column": {name: rate.share for name, rate in self.by_column.items()},
        }


def isolation(
    original: pd.DataFrame | Original,
    released: pd.DataFrame,
    schema: Schema,
    order: Rows,
    classes: LookAlikes | None = None,
    cells: Mapping[str, ColumnCells] | None = None,
    public: Mapping[str, Grid | Mapping[str, int]] | None = None,
    kinds: LookAlikes | None = None,
) -> Isolation:
    """Return who is singled out by an end or a level of their box.

    ``original``: n rows, or what :func:`anonymizer.checking.candidates.prepare` made of them; ``released``: n rows of
    text cells; ``order`` (n,): the original row of each released row; ``classes``: of rows that are alike, and
    ``cells``: of each quasi-identifier, when the caller has them. ``public``: what ends and levels stand for, of the
    columns where they are public: see :func:`anonymizer.releasing.grid.public_parts`. ``kinds``: of records that have
    the same values and are in the same class, when they are known.

    A mean or median shows no end. A withheld cell counts as the set of all levels, for a set of all of them is written
    so. An end is a value that is written, whether it is somebody's or was rounded; a public one stands for its step.
    """
    names = schema.quasi_identifying
    if not isinstance(original, Original):
        original = prepare(original, schema)
    classes = classes or look_alikes(released, names)
    cells = cells or read_cells(released, schema)
    person = None if original.person is None else persons_apart(original.person)
    kinds = kinds if kinds is not None and person is None else every_record(len(original))
    class_of = np.full(len(original), -1, dtype=np.int64)
    class_of[order] = classes.class_of
    there = np.flatnonzero(class_of[kinds.first] >= 0)  # who was left out is in no class
    rows = kinds.first[there]
    who = None if person is None else person[rows]
    people = People(class_of[rows], kinds.sizes[there], len(classes.sizes), who)
    row_of_class, n = classes.first, len(order)
    of_ends = of_levels = (0, 0)
    everybody: Flags = np.zeros(len(rows), dtype=np.bool_)
    by_column = {}
    for name, codes, column in zip(names, columns_of(original.codes), original.columns, strict=True):
        measure = alone_in_set if schema[name].kind is Kind.CATEGORICAL else alone_at_end
        cell = cells[name].index[row_of_class].astype(np.int64)
        alone, ends, levels = measure(cells[name], cell, codes[rows], column, people, (public or {}).get(name))
        by_column[name] = Rate(int(alone.sum()), n)
        everybody |= alone
        of_ends = of_ends[0] + ends[0], of_ends[1] + ends[1]
        of_levels = of_levels[0] + levels[0], of_levels[1] + levels[1]
    groups = Rate(len(np.unique(people.class_of[everybody])), people.groups)
    rates = Rate(int(everybody.sum()), n), groups, Rate(*of_ends), Rate(*of_levels)
    return Isolation(*rates, by_column, person is not None)


def persons_apart(person: Rows) -> Rows:
    """Return whose each record is (n,), those of nobody one of a person of its own."""
    return np.where(person >= 0, person, int(person.max(initial=-1)) + 1 + np.arange(len(person)))


class People(NamedTuple):
    """Kinds of people: the class of each kind (kinds,), below ``groups``, and how many ``records`` it has (kinds,).
    ``person`` (kinds,): whose its records are, where these are not persons."""

    class_of: Rows
    records: Rows
    groups: int
    person: Rows | None = None

    def holders(self, holds: Flags) -> NDArray[np.int64]:
        """Return how many hold something in each class, of which these kinds do (groups,)."""
        return self.different(self.class_of, self.groups, holds)

    def different(self, place: NDArray[np.integer[Any]], n: int, holds: Any = slice(None)) -> NDArray[np.int64]:
        """Return how many records, or persons where records are not these, are at each of n places (n,). ``place``:
        that of each kind (kinds,); ``holds``: which kinds count."""
        if self.person is None:
            return np.bincount(place[holds], self.records[holds], n).astype(np.int64)
        width = int(self.person.max(initial=0)) + 1
        pairs = np.unique(place[holds].astype(np.int64) * width + self.person[holds])
        return np.bincount(pairs // width, minlength=n).astype(np.int64)


Answer = tuple[Flags, tuple[int, int], tuple[int, int]]
"""Which kinds are of one record that holds something alone (kinds,); of how many ends, and of how many levels, there is
one holder, and of all."""


def alone_at_end(
    cells: ColumnCells,
    cell: NDArray[Any],
    codes: NDArray[Any],
    column: OriginalColumn,
    people: People,
    grid: Any = None,
) -> Answer:
    """Return who alone in their class holds an end of its interval, or is alone missing there; see :data:`Answer`.
    ``cell`` (groups,): that of each class; ``codes`` (kinds,): the value of each kind, as ``column`` says; ``grid``: in
    whose steps ends are public."""
    class_of = people.class_of
    ends = np.array([ends_of(one) for one in cells.cells])
    missing = np.array([one.missing or one.withheld for one in cells.cells])[cell]
    low, high = grid.closed(*ends[cell].T) if isinstance(grid, Grid) else ends[cell].T
    has_range = np.isfinite(low) & (low < high)
    alone = np.zeros(len(codes), dtype=np.bool_)
    single_ends = 0
    step = codes
    if isinstance(grid, Grid):
        step = np.append(grid.cells(column.numbers), -1)[codes]
    for end in (low, high):
        of_end = (
            np.where(np.isfinite(end), grid.cells(end), -2) if isinstance(grid, Grid) else code_of(column.numbers, end)
        )
        holds = step == of_end[class_of]
        holders = people.holders(holds)
        alone |= holds & (holders == 1)[class_of]
        single_ends += int(((holders == 1) & has_range).sum())
    holds = (codes == column.missing) & missing[class_of]
    holders = people.holders(holds)
    alone |= holds & (holders == 1)[class_of]
    beside = missing & (low <= high)
    return alone, (single_ends, 2 * int(has_range.sum())), (int(((holders == 1) & beside).sum()), int(beside.sum()))


def code_of(numbers: NDArray[np.float64], values: NDArray[np.float64]) -> Rows:
    """Return the place of each value among ``numbers``, which ascend; -1 where it is none of them."""
    place = np.searchsorted(numbers, values)
    return np.where(np.append(numbers, np.nan)[place] == values, place, -1)


def alone_in_set(
    cells: ColumnCells,
    cell: NDArray[Any],
    codes: NDArray[Any],
    column: OriginalColumn,
    people: People,
    groups: Any = None,
) -> Answer:
    """Return who alone in their class holds a level of its set; see :data:`Answer`. ``cell`` (groups,): that of each
    class; ``codes`` (kinds,): the level of each kind, as ``column`` says; ``groups``: the public group of each level,
    which a level stands for."""
    withheld = np.array([one.withheld for one in cells.cells])
    first: dict[Any, int] = {}  # of each public group the code of its first level stands for all of them
    position = {
        level: first.setdefault((groups or {}).get(level, level), code) for level, code in column.position.items()
    }
    stands_for = np.arange(column.n_codes)
    stands_for[list(column.position.values())] = list(position.values())
    codes = stands_for[codes]
    items = [
        {position.get(level, -1) for level in one.levels} | ({column.missing} if one.missing else set())
        for one in cells.cells
    ]
    levels = np.array([len(codes_of_set) for codes_of_set in items])
    size = np.where(withheld, len(np.unique(codes)), levels)[cell]
    in_sets = [place * column.n_codes + code for place, one in enumerate(items) for code in one if code >= 0]
    which, pairs = pd.factorize(people.class_of * column.n_codes + codes)
    group, level = np.divmod(pairs, column.n_codes)
    visible = withheld[cell[group]] | np.isin(cell[group] * column.n_codes + level, in_sets)
    single = (people.different(which, len(pairs)) == 1) & visible
    several = size > 1
    return single[which], (0, 0), (int((single & several[group]).sum()), int(size[several].sum()))
