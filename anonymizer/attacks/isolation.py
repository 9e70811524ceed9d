"""Who is singled out by a box itself: an end or a level of it that exactly one record of the group holds.

The box `[29, 61]` says that somebody in the group is 29. When only one record there is, "the person of this group who
is 29" means that record and no other. The counts are exact: they are taken from the original and the release side by
side, and nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.attackers import CellColumn, comparable
from anonymizer.attacks.outcome import Rate
from anonymizer.cells import parse_cell
from anonymizer.checking.linkage import LookAlikes, look_alikes
from anonymizer.schema import Column, Kind, Schema

Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Isolation:
    """How many are singled out by an end or a level of their own box, which they alone in their group hold.

    ``records``; ``groups`` with such a record; ``by_column``: records that one column singles out. ``ends`` of
    intervals, and ``levels`` of sets (missing among them): those that exactly one record of the group holds, of all
    that boxes with more than one possible value show.
    """

    records: Rate
    groups: Rate
    ends: Rate
    levels: Rate
    by_column: Mapping[str, Rate] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The same in words."""
        return (
            f"{self.records.share:.1%} of the records are singled out by their own box: they alone in their group hold "
            f"one of its ends or levels. {self.groups.share:.1%} of the groups have such a record."
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
    table: pd.DataFrame,
    released: pd.DataFrame,
    schema: Schema,
    order: Rows,
    classes: LookAlikes | None = None,
) -> Isolation:
    """Return who is singled out by an end or a level of their box. ``table``: the original, n rows; ``released``: n
    rows of text cells; ``order`` (n,): the original row of each released row; ``classes``: of rows that are alike.

    A mean or median shows no end. A withheld cell counts as the set of all levels, for a set of all of them is written
    so. An end is a value that is written, whether it is somebody's or was rounded.
    """
    names = schema.quasi_identifying
    classes = classes or look_alikes(released, names)
    groups, n = len(classes.sizes), len(order)
    of_ends = of_levels = (0, 0)
    everybody: Flags = np.zeros(n, dtype=np.bool_)
    by_column = {}
    for name in names:
        measure = alone_in_set if schema[name].kind is Kind.CATEGORICAL else alone_at_end
        alone, ends, levels = measure(released[name], table[name], schema[name], order, classes)
        by_column[name] = Rate(int(alone.sum()), n)
        everybody |= alone
        of_ends = of_ends[0] + ends[0], of_ends[1] + ends[1]
        of_levels = of_levels[0] + levels[0], of_levels[1] + levels[1]
    with_one = len(np.unique(classes.class_of[everybody]))
    return Isolation(Rate(int(everybody.sum()), n), Rate(with_one, groups), Rate(*of_ends), Rate(*of_levels), by_column)


Answer = tuple[Flags, tuple[int, int], tuple[int, int]]
"""Which rows hold something alone (n,); of how many ends, and of how many levels, there is one holder, and of all."""


def alone_at_end(
    released: "pd.Series[Any]", original: "pd.Series[Any]", column: Column, order: Rows, classes: LookAlikes
) -> Answer:
    """Return who alone in their class holds an end of its interval, or is alone missing there; see :data:`Answer`."""
    cells = CellColumn.of(released, original, column)
    values, class_of = cells.value[order], classes.class_of
    cell = cell_of_class(cells.of_row, classes)
    low, high, missing = cells.low[cell], cells.high[cell], cells.missing[cell]
    has_range = np.isfinite(low) & (low < high)
    alone = np.zeros(len(values), dtype=np.bool_)
    ends = 0
    for end in (low, high):
        holds = values == end[class_of]
        holders = np.bincount(class_of[holds], minlength=len(low))
        alone |= holds & (holders == 1)[class_of]
        ends += int(((holders == 1) & has_range).sum())
    holds = np.isnan(values) & missing[class_of]
    holders = np.bincount(class_of[holds], minlength=len(low))
    alone |= holds & (holders == 1)[class_of]
    beside = missing & (low <= high)
    return alone, (ends, 2 * int(has_range.sum())), (int(((holders == 1) & beside).sum()), int(beside.sum()))


def alone_in_set(
    released: "pd.Series[Any]", original: "pd.Series[Any]", column: Column, order: Rows, classes: LookAlikes
) -> Answer:
    """Return who alone in their class holds a level of its set; see :data:`Answer`."""
    people, levels = pd.factorize(comparable(original, column), use_na_sentinel=False)
    texts = [None if pd.isna(level) else level for level in levels]
    of_row, cells = pd.factorize(released.astype(object), use_na_sentinel=False)
    parsed = [parse_cell(None if pd.isna(cell) else str(cell), column.kind) for cell in cells]
    shows = [{*texts} if one.withheld else {*one.levels, *[None] * one.missing} for one in parsed]
    cell = cell_of_class(of_row, classes)
    size = np.array([len(one) for one in shows])[cell]
    pairs, which, holders = np.unique(
        classes.class_of * len(levels) + people[order], return_inverse=True, return_counts=True
    )
    group, level = np.divmod(pairs, len(levels))
    single = holders == 1
    single[single] = [texts[at] in shows[where] for at, where in zip(level[single], cell[group[single]], strict=True)]
    several = size > 1
    return single[which.reshape(-1)], (0, 0), (int((single & several[group]).sum()), int(size[several].sum()))


def cell_of_class(of_row: Rows, classes: LookAlikes) -> Rows:
    """Return the cell that the rows of each class have (groups,)."""
    cell = np.empty(len(classes.sizes), np.int64)
    cell[classes.class_of] = of_row
    return cell
