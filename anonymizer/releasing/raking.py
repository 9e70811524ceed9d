"""How many records of every box have each of the values that its cell leaves open: boxes read by one-way tables.

A box of n records leaves some *atoms* of a column open, the smallest parts that a reading tells apart. Of some it is
sure that a record has them, for boxes are hulls. Under weights w the count of an atom is a Poisson number of mean λ w,
at least 1 where the atom is sure; λ is such that the expected counts add up to n. *Raking* finds the weights with which
all boxes together give a one-way table; without a table, the *self-consistent* weights are those that the counts give
back. Read evenly, rare values get too much: a box is wide because somebody rare is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDS, ROUNDS_ALONE = 60, 40
"""Most rounds with a table, and without one."""
CLOSE = 1e-3
"""A table is met where so little of all records is too much or too little; a round is better than another by a
thousandth of that, so that the last digits do not decide."""
LEAST = 1e-9
"""The least weight of an atom beside the largest."""
STRIDE = 20.0
"""Most that a round multiplies or divides a weight by."""


@dataclass(frozen=True, eq=False)
class OpenCells:
    """What c cells of a column leave open among a atoms.

    ``cell``, ``atom``, ``sure`` (m,): the atoms of each cell, and whether at least one record of a box surely has it;
    pairs stand in the order of their cells.
    """

    count: int
    atoms: int
    cell: Integers
    atom: Integers
    sure: NDArray[np.bool_]

    @classmethod
    def of(cls, atoms: int, members: Sequence[Sequence[int]], sure: Sequence[Sequence[int]]) -> "OpenCells":
        """Return the same of the atoms of each cell, and of those of them that are sure."""
        cell = np.repeat(np.arange(len(members)), [len(one) for one in members])
        atom = np.fromiter((number for one in members for number in one), np.int64, len(cell))
        pairs = [number * atoms + one for number, ones in enumerate(sure) for one in ones]
        return cls(len(members), atoms, cell, atom, np.isin(cell * atoms + atom, pairs))


class Boxes:
    """Boxes of one column, equal ones together: q kinds of one of the ``cells`` and a number of records.

    ``cell``, ``n``, ``times`` (q,): the cell of a kind, its records, and how many boxes are of it; ``kind`` (boxes,):
    of each box. A box with more sure atoms than records is no hull, and nothing is sure of it.
    """

    def __init__(self, cells: OpenCells, cell: NDArray[np.integer[Any]], n: NDArray[np.integer[Any]]) -> None:
        pairs, self.kind, self.times = np.unique(
            np.column_stack([cell, n]).astype(np.int64), axis=0, return_inverse=True, return_counts=True
        )
        self.kind = self.kind.reshape(-1)
        self.cell, self.n = np.ascontiguousarray(pairs[:, 0]), pairs[:, 1].astype(np.float64)
        self.atoms, self.total = cells.atoms, float(self.n @ self.times)
        certain = np.bincount(cells.cell[cells.sure], minlength=cells.count)
        self._hull, self.cells = certain[self.cell] <= self.n, cells
        self._starts = np.searchsorted(cells.cell, np.arange(cells.count + 1))

    def _expected(self, weights: Floats, counts: Floats) -> Floats:
        """Return how many records of all boxes have each atom (a,); ``counts``: filled with those of each kind of box,
        kind after kind."""
        from anonymizer.releasing import raking_kernels

        there, cells = np.zeros(self.atoms), self.cells
        kinds = self.cell, self.n, self._hull, self.times
        raking_kernels.expected(self._starts, cells.atom, cells.sure, *kinds, weights, there, counts)
        return there

    def sums(self, weights: Floats) -> Floats:
        """Return how many records of all boxes have each atom (a,)."""
        return self._expected(weights, np.empty(0))

    def evenly(self, lengths: Floats) -> Floats:
        """Return how many records of all boxes have each atom (a,), when each box is shared out by their lengths."""
        cells = self.cells
        whole = np.bincount(cells.cell, lengths[cells.atom], cells.count)[self.cell]
        rate = np.divide(self.n, whole, out=np.zeros(len(whole)), where=whole > 0)
        of_cell = np.bincount(self.cell, rate * self.times, cells.count)
        return np.bincount(cells.atom, of_cell[cells.cell], self.atoms) * lengths

    def bounds(self, cell_of: Integers, count: int) -> tuple[Integers, Integers]:
        """Return the fewest and the most records of all boxes that each cell of a table can have (cells,). ``cell_of``
        (a,): the cell of each atom."""
        cells = self.cells
        pairs, of_pair = np.unique(cells.cell * count + cell_of[cells.atom], return_inverse=True)
        cell, place = np.divmod(pairs, count)  # each cell of the column, and each of the table that it leaves open
        sure = np.bincount(of_pair.reshape(-1), cells.sure, len(pairs))
        records = np.bincount(self.cell, self.n * self.times, cells.count)[cell]
        hulls = np.bincount(self.cell, self.times * self._hull, cells.count)[cell]
        others = np.bincount(cell, sure, cells.count)[cell] - sure
        alone = np.bincount(cell, minlength=cells.count)[cell] == 1
        least = np.where(alone, records, sure * hulls)
        most = np.where(alone, records, records - others * hulls)
        fewest, greatest = (np.bincount(place, some, count) for some in (least, most))
        return fewest.astype(np.int64), greatest.astype(np.int64)

    def shares(self, weights: Floats) -> Any:
        """Return how much of each kind of box has each atom: a sparse matrix (q, a), whose rows add up to 1."""
        from scipy.sparse import csr_matrix, diags

        many = np.diff(self._starts)[self.cell]
        ends = np.append(0, np.cumsum(many))
        pair = np.arange(ends[-1]) + np.repeat(self._starts[self.cell] - ends[:-1], many)
        counts = np.empty(len(pair))
        self._expected(weights, counts)
        spread = csr_matrix((counts, self.cells.atom[pair], ends), (len(self.cell), self.atoms))
        return csr_matrix(diags(1 / np.asarray(spread.sum(axis=1)).reshape(-1)) @ spread)


def self_consistent(boxes: Boxes, even: Floats, rounds: int = ROUNDS_ALONE, close: float = CLOSE) -> Floats:
    """Return the weights (a,) that boxes alone give back, adding up to 1, from the lengths of atoms, ``even`` (a,)."""
    weights = np.maximum(even / even.sum(), 1e-12)
    weights /= weights.sum()
    for _ in range(rounds):
        before, weights = weights, boxes.sums(weights) / boxes.total
        if np.abs(weights - before).sum() < close:
            break
    return np.asarray(weights)


def rake(
    boxes: Boxes, start: Floats, cell_of: Integers, counts: Floats, rounds: int = ROUNDS, close: float = CLOSE
) -> Floats:
    """Return the weights (a,) with which boxes come nearest to a one-way table.

    ``start`` (a,): weights of the atoms inside their cells; ``cell_of`` (a,): the cell of the table that holds each;
    ``counts`` (cells,): the table, which is scaled to the records of all boxes.
    """
    target = counts * (boxes.total / counts.sum())
    weights = scaled(start, cell_of, target)
    best, least = weights, np.inf
    for _ in range(rounds):
        there = np.bincount(cell_of, boxes.sums(weights), len(target))
        off = float(np.abs(target - there).sum())
        if off < least - close / 1_000 * boxes.total:
            best, least = weights, off
        if off < close * boxes.total:
            break
        ratio = np.divide(target, there, out=np.ones(len(target)), where=there > 0)
        weights = weights * np.clip(ratio, 1 / STRIDE, STRIDE)[cell_of]
        weights = np.maximum(weights / weights.max(), LEAST)
    return best


def scaled(start: Floats, cell_of: Integers, target: Floats) -> Floats:
    """Return weights (a,) that add up to a table (cells,) and have the proportions of others in each of its cells."""
    inside = np.bincount(cell_of, start, len(target))
    empty = inside[cell_of] <= 0
    own = np.where(empty, 1.0, start)
    weights: Floats = own * (target / np.bincount(cell_of, own, len(target)))[cell_of]
    return np.maximum(weights, LEAST)
