"""The atoms of one column, the smallest parts that a reading of boxes tells apart, and those that a cell leaves open.

Levels are atoms, and "missing" is one. Numbers and dates are divided into *pieces*: the cells of a public grid where
ends are public, otherwise what lies between the ends of cells, and those ends. A value that many have, a *heap* such as
40 hours a week, is an atom beside the rest of its piece. Inside an atom, all values are alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.errors import CellError
from anonymizer.releasing.grid import whole_unit
from anonymizer.releasing.raking import OpenCells
from anonymizer.schema import Kind

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Atoms:
    """a atoms of a column, "missing" the last of them where it can be.

    Of numbers and dates (microseconds since 1970) ``low``, ``high`` (v,): the ends of the v atoms that are values, in
    the order of their pieces, the rest of a piece before its heaps; ``piece`` (v,); ``start``, ``stop`` (p,): the ends
    of the pieces. ``levels``: of a column of levels. ``gap``: from a whole number or day to the next, else 0;
    ``dates``: whether they are.
    """

    levels: tuple[str, ...] = ()
    missing: bool = False
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))
    piece: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    start: Floats = field(default_factory=lambda: np.empty(0))
    stop: Floats = field(default_factory=lambda: np.empty(0))
    gap: float = 0.0
    dates: bool = False

    @property
    def values(self) -> int:
        """Number of atoms but "missing"."""
        return len(self.levels) or len(self.low)

    @property
    def count(self) -> int:
        """Number of atoms a."""
        return self.values + self.missing

    @property
    def lengths(self) -> Floats:
        """How much of an even reading each atom gets (a,): its whole numbers or days, or its length; levels and
        "missing" as one value. Heaps are no part of the rest of their piece."""
        if self.levels or not self.values:
            return np.ones(self.count)
        wide = np.where(self.low < self.high, self.high - self.low, 0.0)
        inside = wide[np.isfinite(wide)]
        wide[~np.isfinite(wide)] = inside.max(initial=self.gap or 1.0)
        own = wide / self.gap + 1 if self.gap else wide
        heaps = np.bincount(self.piece, minlength=len(self.start)) - 1
        own -= np.where(self.is_rest & (self.gap > 0), heaps[self.piece], 0)
        one = 1.0 if self.gap else float(wide.mean())
        own = np.append(own, [one] * self.missing)
        return own if own.sum() > 0 else np.ones(self.count)

    @property
    def is_rest(self) -> NDArray[np.bool_]:
        """Whether each atom of numbers is what is left of a piece that has heaps, or the whole of a piece (v,)."""
        return np.asarray((self.low == self.start[self.piece]) & (self.high == self.stop[self.piece]))

    @property
    def pieces(self) -> Integers:
        """The piece of each atom (a,); levels and "missing" are pieces."""
        if self.levels or not self.values:
            return np.arange(self.count)
        return np.append(self.piece, np.full(int(self.missing), len(self.start)))

    @property
    def without_heaps(self) -> "Atoms":
        """The same with whole pieces as atoms of numbers; itself where no piece has a heap."""
        if self.levels or len(self.low) == len(self.start):
            return self
        return replace(self, low=self.start, high=self.stop, piece=np.arange(len(self.start)))

    @property
    def finite(self) -> tuple[Floats, Floats]:
        """Both ends of each atom of numbers (v,); of one that is open, the end that it has."""
        return np.where(np.isfinite(self.low), self.low, self.high), np.where(
            np.isfinite(self.high), self.high, self.low
        )

    @property
    def middles(self) -> Floats:
        """The middle of each atom of numbers (v,)."""
        low, high = self.finite
        return low / 2 + high / 2

    def numbers(self, atom: Integers, places: Floats) -> Floats:
        """Return a number of each of some atoms (n,), NaN of "missing". ``places`` (n,): where in the atom, 0 to below
        1; all whole numbers or days of an atom take equal parts."""
        if not self.values:
            return np.full(len(atom), np.nan)
        own = np.minimum(atom, self.values - 1)
        low, high = (ends[own] for ends in self.finite)
        if self.gap:
            numbers = low + self.gap * np.floor(places * (np.round((high - low) / self.gap) + 1))
        else:
            numbers = low + places * (high - low)
        return np.where(atom < self.values, numbers, np.nan)

    def of_numbers(self, numbers: Floats) -> Integers:
        """Return the atom of each number (n,): a heap, or the rest of the piece that holds it."""
        piece = np.clip(np.searchsorted(self.start, numbers, "right") - 1, 0, len(self.start) - 1)
        before = np.maximum(piece - 1, 0)
        piece = np.where((self.start[before] == numbers) & (self.stop[before] == numbers), before, piece)
        first = np.searchsorted(self.piece, piece)
        heaps = np.flatnonzero(~self.is_rest)
        if not len(heaps):
            return first
        values = self.low[heaps]
        order = np.argsort(values, kind="stable")
        place = np.clip(np.searchsorted(values[order], numbers), 0, len(heaps) - 1)
        heap = heaps[order][place]
        return np.where((self.low[heap] == numbers) & (self.piece[heap] == piece), heap, first)

    def open(self, cells: Sequence[Cell], hull: bool) -> OpenCells:
        """Return which atoms each cell leaves open. ``hull``: whether every level and both ends of a cell, and
        "missing" where it is named, are somebody's. Raises :class:`CellError` for a level that is no atom."""
        place = {level: number for number, level in enumerate(self.levels)}
        members: list[Iterable[int]] = []
        sure: list[Iterable[int]] = []
        last = [self.values] if self.missing else []
        for cell in cells:
            or_missing = last if cell.missing else []
            if cell.withheld or cell.estimate:
                members.append([*range(self.values), *(last if cell.withheld else or_missing)])
                sure.append([] if cell.withheld or not hull else or_missing)
            elif cell.low is not None and cell.high is not None:
                first, stop = self._range(cell.low, cell.high)
                ends = self._ends(first, stop, single=not cell.missing and cell.is_single)
                members.append([*range(first, stop), *or_missing])
                sure.append([*ends, *or_missing] if hull else [])
            else:
                levels = [self._place(place, level) for level in cell.levels] + or_missing
                members.append(levels)
                sure.append(levels if hull else [])
        return OpenCells.of(self.count, [list(one) for one in members], [list(one) for one in sure])

    def _place(self, place: dict[str, int], level: str) -> int:
        if level not in place:
            raise CellError(f"{level!r} is no level of the column.", value=level, remedy="Use the table as it was.")
        return place[level]

    def _range(self, low: float, high: float) -> tuple[int, int]:
        """Return the first of the atoms between two ends, and the one after the last: a single value is its heap."""
        if low == high:
            own = int(self.of_numbers(np.array([low]))[0])
            if self.low[own] == low == self.high[own]:
                return own, own + 1
        first = int(np.searchsorted(self.start, low, "left"))
        stop = int(np.searchsorted(self.stop, high, "right"))
        if first >= stop:  # inside a piece
            first = int(np.clip(np.searchsorted(self.start, low, "right") - 1, 0, len(self.start) - 1))
            stop = max(first + 1, min(int(np.searchsorted(self.stop, high, "left")) + 1, len(self.start)))
        return int(np.searchsorted(self.piece, first)), int(np.searchsorted(self.piece, stop))

    def _ends(self, first: int, stop: int, single: bool) -> list[int]:
        """Return the atoms of a hull's two end pieces, where a piece is one atom."""
        if single:
            return [first] if stop == first + 1 else []
        pieces = np.bincount(self.piece[first:stop] - self.piece[first])
        return sorted({one for one, size in ((first, pieces[0]), (stop - 1, pieces[-1])) if size == 1})


def atoms_of_levels(levels: Sequence[str], missing: bool) -> Atoms:
    """Return the atoms of a column of levels."""
    return Atoms(tuple(levels), missing)


def atoms_of_pieces(start: Floats, stop: Floats, heaps: Floats, kind: Kind, missing: bool) -> Atoms:
    """Return the atoms of a column of numbers or dates, from the ends of its pieces (p,), ascending, and the values
    that are atoms beside the rest of their piece, ascending. A piece of a single number has no heaps."""
    touch = bool(np.any((start[1:] == stop[:-1]) & ((start[1:] < stop[1:]) | (start[:-1] < stop[:-1]))))
    ends = np.concatenate([start, stop])
    gap = 0.0 if touch or not len(start) else whole_unit(ends[np.isfinite(ends)], kind)
    plain = Atoms((), missing, start, stop, np.arange(len(start)), start, stop, gap, kind is Kind.DATE)
    if not len(start):
        return plain
    piece = plain.of_numbers(heaps)
    apart = start[piece] < stop[piece]
    heaps, piece = heaps[apart], piece[apart]
    low, high = np.concatenate([start, heaps]), np.concatenate([stop, heaps])
    pieces = np.concatenate([np.arange(len(start)), piece])
    order = np.lexsort((low, np.arange(len(low)) >= len(start), pieces))
    return replace(plain, low=low[order], high=high[order], piece=pieces[order])


def pieces_of_ends(low: Floats, high: Floats, gap: float, points: bool) -> tuple[Floats, Floats]:
    """Return the ends of the pieces between the ends of intervals (q,): no end lies inside a piece.

    ``gap``: 1 or a day where numbers or days are whole, 0 where pieces touch. ``points``: make every end a piece of its
    own, as somebody has that value.
    """
    if points:
        ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
        low, high = np.concatenate([low, ends]), np.concatenate([high, ends])
    single = low == high
    if gap:
        line = np.unique(np.concatenate([low, high + gap]))
        return line[:-1], line[1:] - gap
    line = np.unique(np.concatenate([low[~single], high[~single], low[single]]))
    alone = np.unique(low[single])
    start, stop = np.concatenate([line[:-1], alone]), np.concatenate([line[1:], alone])
    order = np.lexsort((stop, start))
    return start[order], stop[order]
