"""Downcoding: what the least loss says of cells beyond what is written in them.

A method that makes boxes as small as it can would have moved a record out of its group, where more than k records are,
into another one whose box holds it already and loses less. So none of the group's records lies in such a box. Where
that box covers the group's own in every column but one, the record's value in that column cannot be one of the other
box's: the cell is narrower than it is written. Cohen 2022 shows that such inferences can undo a minimal release; how
far they get here is counted, those that are wrong (the method is not quite minimal) too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.attackers import FITS_AT_ONCE, MOST_FEATURES, CellColumn
from anonymizer.attacks.outcome import Rate
from anonymizer.cells import parse_column_cell
from anonymizer.checking.linkage import LookAlikes
from anonymizer.errors import ParameterError, Progress
from anonymizer.growing.encode import Encoding
from anonymizer.measuring.utility import cell_ncp
from anonymizer.schema import Schema

Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Downcoding:
    """``right``, ``wrong``: cells of which the attacker rules out a part, rightly or not; of all cells (rows times
    quasi-identifying columns)."""

    right: Rate
    wrong: Rate


@dataclass(frozen=True, eq=False)
class _Column:
    """One column: its cells beside the people's values, and of each class (g,) the cell and what it loses (NCP)."""

    cells: CellColumn
    cell: Rows
    loss: Floats
    estimate: Flags

    @classmethod
    def of(
        cls, table: pd.DataFrame, released: pd.DataFrame, schema: Schema, encoding: Encoding, first: Rows
    ) -> "_Column":
        name = encoding.name
        cells = CellColumn.of(released[name], table[name], schema[name])
        if cells.levels is not None and cells.levels.size > MOST_FEATURES:
            raise ParameterError(
                f"{name!r} has too many different sets of levels to be compared.",
                column=name,
                remedy="Attack a sample of the rows, or make the column coarser.",
            )
        texts = released[name].iloc[np.unique(cells.of_row, return_index=True)[1]].astype(object)
        parsed = [parse_column_cell(None if pd.isna(text) else str(text), schema[name]) for text in texts]
        cell = cells.of_row[first]
        loss = np.array([cell_ncp(one, encoding) for one in parsed])
        return cls(cells, cell, loss[cell], np.array([one.estimate for one in parsed])[cell])

    def compare(self, groups: Rows) -> tuple[Flags, Flags]:
        """Return which classes' cells (g,) hold the cells of some groups (a,), and which overlap them: two (a, g)."""
        own, all_of = self.cell[groups], self.cell
        if self.cells.levels is not None:
            sets = self.cells.levels.astype(np.float32)
            common = (sets[own] @ sets.T)[:, all_of]
            return common == sets[own].sum(axis=1)[:, None], common > 0
        low, high, missing = self.cells.low, self.cells.high, self.cells.missing
        lows, highs = low[own][:, None], high[own][:, None]
        both = missing[own][:, None] & missing[all_of]
        inside = (lows > highs) | ((low[all_of] <= lows) & (highs <= high[all_of]))
        overlap = np.maximum(lows, low[all_of]) <= np.minimum(highs, high[all_of])
        plain = ~(self.estimate[groups][:, None] | self.estimate)
        return plain & inside & (both == missing[own][:, None]), plain & (overlap | both)


def downcode(
    table: pd.DataFrame,
    released: pd.DataFrame,
    schema: Schema,
    encodings: Sequence[Encoding],
    order: Rows,
    classes: LookAlikes,
    k: int,
    people: Rows | None = None,
    say: Progress | None = None,
) -> Downcoding:
    """Return how many cells an attacker narrows who supposes that the loss is the least that groups of ``k`` allow.

    ``table``: the original, n rows; ``released``: n rows of text cells; ``order`` (n,): the original row of each
    released row; ``people``: original rows whose cells are attacked, all by default.
    """
    class_of = np.empty(len(order), np.int64)
    class_of[order] = classes.class_of
    people = np.arange(len(order)) if people is None else people
    first = np.unique(classes.class_of, return_index=True)[1]
    columns = [_Column.of(table, released, schema, encoding, first) for encoding in encodings]
    loss = np.sum([column.loss for column in columns], axis=0)
    attacked = np.unique(class_of[people])
    attacked = attacked[classes.sizes[attacked] > k]
    members = people[np.argsort(class_of[people], kind="stable")]
    start = np.searchsorted(class_of[members], np.arange(len(classes.sizes) + 1))
    p, room = len(columns), max(1, FITS_AT_ONCE // len(first))
    right = wrong = 0
    for at in range(0, len(attacked), room):
        if say is not None:
            say(at / len(attacked), "Narrowing cells")
        groups = attacked[at : at + room]
        compared = [column.compare(groups) for column in columns]
        inside_in = np.sum([inside for inside, _ in compared], axis=0)
        better = (inside_in == p - 1) & (loss < loss[groups][:, None] - 1e-12)
        for column, (inside, overlap) in zip(columns, compared, strict=True):
            which, others = np.nonzero(better & ~inside & overlap)
            for place in np.unique(which):
                own = members[start[groups[place]] : start[groups[place] + 1]]
                boxes = np.unique(column.cell[others[which == place]])
                refuted = column.cells.admits(boxes, column.cells.value[own]).any(axis=0)
                wrong += int(refuted.sum())
                right += int((~refuted).sum())
    cells = len(people) * p
    return Downcoding(Rate(right, cells), Rate(wrong, cells))
