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

from anonymizer.attacks.attackers import CellColumn
from anonymizer.attacks.outcome import Rate
from anonymizer.checking.linkage import LookAlikes, look_alikes
from anonymizer.schema import Schema

Flags = NDArray[np.bool_]


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
    order: NDArray[np.int64],
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
        cells = CellColumn.of(released[name], table[name], schema[name])
        alone, ends, levels = (alone_in_set if cells.levels is not None else alone_at_end)(cells, order, classes)
        by_column[name] = Rate(int(alone.sum()), n)
        everybody |= alone
        of_ends = of_ends[0] + ends[0], of_ends[1] + ends[1]
        of_levels = of_levels[0] + levels[0], of_levels[1] + levels[1]
    with_one = len(np.unique(classes.class_of[everybody]))
    return Isolation(Rate(int(everybody.sum()), n), Rate(with_one, groups), Rate(*of_ends), Rate(*of_levels), by_column)


Answer = tuple[Flags, tuple[int, int], tuple[int, int]]
"""Which rows hold something alone (n,); of how many ends, and of how many levels, there is one holder, and of all."""


def alone_at_end(cells: CellColumn, order: NDArray[np.int64], classes: LookAlikes) -> Answer:
    """Return who alone in their class holds an end of its interval, or is alone missing there; see :data:`Answer`."""
    values, class_of = cells.value[order], classes.class_of
    cell_of_class = np.empty(len(classes.sizes), np.int64)
    cell_of_class[class_of] = cells.of_row
    low, high, missing = cells.low[cell_of_class], cells.high[cell_of_class], cells.missing[cell_of_class]
    range_there = np.isfinite(low) & (low < high)
    alone = np.zeros(len(values), dtype=np.bool_)
    ends = 0
    for end in (low, high):
        holds = values == end[class_of]
        holders = np.bincount(class_of[holds], minlength=len(low))
        alone |= holds & (holders == 1)[class_of]
        ends += int(((holders == 1) & range_there).sum())
    holds = np.isnan(values) & missing[class_of]
    holders = np.bincount(class_of[holds], minlength=len(low))
    alone |= holds & (holders == 1)[class_of]
    beside = missing & (low <= high)
    return alone, (ends, 2 * int(range_there.sum())), (int(((holders == 1) & beside).sum()), int(beside.sum()))


def alone_in_set(cells: CellColumn, order: NDArray[np.int64], classes: LookAlikes) -> Answer:
    """Return who alone in their class holds a level of its set; see :data:`Answer`."""
    assert cells.levels is not None
    values, class_of, width = cells.value[order], classes.class_of, cells.levels.shape[1]
    pairs, which, holders = np.unique(class_of * width + values, return_inverse=True, return_counts=True)
    cell_of_class = np.empty(len(classes.sizes), np.int64)
    cell_of_class[class_of] = cells.of_row
    shows = cells.levels[cell_of_class[pairs // width], pairs % width]
    single = (holders == 1) & shows
    size = cells.levels.sum(axis=1)[cell_of_class]
    several = size > 1
    levels = int((single & several[pairs // width]).sum()), int(size[several].sum())
    return single[which.reshape(-1)], (0, 0), levels
