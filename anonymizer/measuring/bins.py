"""The bins of one column, and how much of a released cell, or of an atom of a reading, lies in each.

Read evenly, a cell that leaves several values open is shared out over them: an interval evenly along its length, a set
evenly over its levels, a concatenation with counts as they say. "Missing" counts as one more value, beside a set's
levels or the distinct values in an interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.growing.encode import Encoding
from anonymizer.releasing.atoms import Atoms
from anonymizer.schema import Kind

Floats = NDArray[np.float64]

_DAY = 86_400e6


@dataclass(frozen=True, eq=False)
class Bins:
    """b bins of one column, the last of them "missing".

    ``edges`` (b,): where the b − 1 bins of numbers and dates begin and end, dates in microseconds since 1970; ``None``
    for levels. ``of_code`` (codes,): the bin of each code.
    """

    encoding: Encoding
    edges: Floats | None
    of_code: NDArray[np.int64]
    count: int

    def shares(self, cells: Sequence[Cell]) -> Floats:
        """Return how much of each cell lies in each bin, (cells, b); rows add up to 1."""
        return _shares_of_sets(self, cells) if self.edges is None else _shares_of_intervals(self, self.edges, cells)

    def of_atoms(self, atoms: Atoms) -> Floats:
        """Return how much of each atom of the column lies in each bin, (a, b), evenly over it; rows add up to 1."""
        parts = np.zeros((atoms.count, self.count))
        if atoms.missing:
            parts[-1, -1] = 1.0
        if self.edges is None:
            place = {self.encoding.text(code): code for code in range(len(self.encoding.labels))}
            parts[np.arange(atoms.values), [self.of_code[place[level]] for level in atoms.levels]] = 1.0
            return parts
        half = atoms.gap / 2
        low, high = (np.clip(ends, *self.encoding.domain) for ends in (atoms.low, atoms.high))
        inside = spread(self.edges, low - half, high + half)
        rest, heaps = atoms.is_rest, ~atoms.is_rest
        if atoms.gap and heaps.any():  # the rest of a piece is without its heaps
            own = inside * ((high - low) / atoms.gap + 1)[:, None]
            apart = np.zeros((len(atoms.start), own.shape[1]))
            np.add.at(apart, atoms.piece[heaps], own[heaps])
            own[rest] = np.maximum(own[rest] - apart[atoms.piece[rest]], 0.0)
            whole = own.sum(axis=1)
            inside[whole > 1e-9] = (own / np.where(whole > 1e-9, whole, 1.0)[:, None])[whole > 1e-9]
        parts[: atoms.values, :-1] = inside
        return parts


def bins_of(encoding: Encoding, counts: NDArray[np.integer], most_bins: int, most_levels: int) -> Bins:
    """Return the bins of a column. ``counts`` (codes,): records of each code.

    Numbers and dates: at most ``most_bins`` bins of equal width over the domain; whole numbers and whole days are never
    divided. Levels: the ``most_levels`` most frequent, most frequent first, or in the domain's order when that is
    declared; the others share a bin.
    """
    n_values = len(encoding.labels)
    of_code = np.empty(encoding.n_codes, dtype=np.int64)
    if encoding.is_interval:
        edges = bin_edges(*encoding.domain, whole_step(encoding), most_bins)
        of_code[:n_values] = bins_of_points(edges, (encoding.low + encoding.high) / 2)
        of_code[n_values:] = len(edges) - 1
        return Bins(encoding, edges, of_code, len(edges))
    frequent = np.argsort(-counts[:n_values], kind="stable")
    top = np.sort(frequent[:most_levels]) if encoding.by_order else frequent[:most_levels]
    b = len(top) + (n_values > len(top)) + 1
    of_code[:n_values] = len(top)
    of_code[top] = np.arange(len(top))
    of_code[n_values:] = b - 1
    return Bins(encoding, None, of_code, b)


def whole_step(encoding: Encoding) -> float:
    """Return 1 for whole numbers, one day (in microseconds) for dates without a time, 0 for what can take any value."""
    unit = _DAY if encoding.kind is Kind.DATE else 1.0
    ends = np.concatenate([encoding.low, encoding.high, encoding.domain])
    return unit if bool(np.all(ends % unit == 0)) else 0.0


def bin_edges(low: float, high: float, step: float, most: int) -> Floats:
    """Return the edges (b + 1,) of at most ``most`` bins that hold low to high, each the same multiple of a step
    wide."""
    if step:
        values = round((high - low) / step) + 1
        width = step * -(-values // most)
        return low - step / 2 + width * np.arange(-(-values * step // width) + 1)
    if high <= low:
        middle = max(abs(low), 1.0) / 2
        return np.array([low - middle, low + middle])
    return np.linspace(low, high, most + 1)


def bins_of_points(edges: Floats, points: Floats) -> NDArray[np.int64]:
    """Return the bin that holds each point; the last one holds its upper edge, too."""
    return np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(edges) - 2)


def spread(edges: Floats, low: Floats, high: Floats) -> Floats:
    """Return how much of each run from low to high (q,), laid out evenly, falls into each bin, (q, b); all of a single
    point lies in the bin that holds it."""
    shares = np.zeros((len(low), len(edges) - 1))
    wide = high > low
    ends = np.clip(edges, low[wide, None], high[wide, None])
    shares[wide] = np.diff(ends, axis=1) / (high[wide] - low[wide])[:, None]
    points = np.flatnonzero(~wide)
    shares[points, bins_of_points(edges, low[points])] = 1.0
    return shares


def _shares_of_intervals(bins: Bins, edges: Floats, cells: Sequence[Cell]) -> Floats:
    encoding = bins.encoding
    whole = encoding.domain
    ends = [whole if cell.low is None or cell.high is None else (cell.low, cell.high) for cell in cells]
    low, high = np.clip(np.array(ends, dtype=np.float64).reshape(-1, 2), *whole).T
    numbers, half = (encoding.low + encoding.high) / 2, whole_step(encoding) / 2
    inside = np.maximum(1, np.searchsorted(numbers, high, "right") - np.searchsorted(numbers, low, "left"))
    missing = np.array([_missing_share(*pair, encoding) for pair in zip(cells, inside.tolist(), strict=True)])
    shares = spread(edges, low - half, high + half) * (1 - missing)[:, None]
    return np.column_stack([shares, missing])


def _missing_share(cell: Cell, others: int, encoding: Encoding) -> float:
    """Return the part of a cell that goes to "missing", which counts as one value beside ``others``."""
    if not (encoding.missing if cell.withheld else cell.missing):
        return 0.0
    return 1 / (1 + others) if cell.withheld or cell.ends is not None else 1.0


def _shares_of_sets(bins: Bins, cells: Sequence[Cell]) -> Floats:
    encoding = bins.encoding
    place = {encoding.text(code): code for code in range(encoding.n_codes)}
    shares = np.zeros((len(cells), bins.count))
    for number, cell in enumerate(cells):
        if cell.withheld:
            shares[number] = np.bincount(bins.of_code, minlength=bins.count) / encoding.n_codes
            continue
        members = [bins.of_code[place[level]] for level in (*cell.levels, *[None] * cell.missing)]
        shares[number] = np.bincount(members, cell.counts or None, bins.count)
        shares[number] /= shares[number].sum()
    return shares
