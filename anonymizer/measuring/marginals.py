"""What single columns, and correlations of two, lose: how far one-way tables are off, and the loss by ranks.

Boxes are raked to one-way tables or read evenly, in the bins of :mod:`anonymizer.measuring.two_way`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.measuring.bins import bins_of
from anonymizer.measuring.boxed import BoxedColumn, BoxedTable
from anonymizer.measuring.ranges import MOST_BINS, MOST_LEVELS
from anonymizer.measuring.utility import cell_ncp
from anonymizer.schema import Kind

Floats = NDArray[np.float64]

NOBODY = 0.5
"""Records that are added to every bin that somebody is in, before and after, so that a divergence is finite."""


LEAST = 1e-9
"""Fewer records than that are none."""


class Marginals(NamedTuple):
    """What is lost of single columns: means over the quasi-identifiers.

    ``hellinger``: the Hellinger distance of a column's one-way tables before and after, 0 to 1; ``divergence``: their
    Kullback-Leibler divergence, of the original from the release, in bits, with :data:`NOBODY` in every bin;
    ``ranks``: the loss where numbers and dates are measured by ranks, 0 to 1.
    """

    hellinger: float
    divergence: float
    ranks: float


def marginals(encoded: EncodedTable, boxed: BoxedTable, reading: str = "raked") -> Marginals:
    """Return what single columns lose when each record gets its box. A record that was left out is in no bin after, and
    loses all by ranks. ``reading``: of boxes, "raked" or "even"."""
    readings = boxed.readings if reading == "raked" else {}
    n, there = encoded.n_records, boxed.box >= 0
    boxes = np.bincount(boxed.box[there], minlength=boxed.n_boxes)
    rows = []
    for encoding, codes, column in zip(encoded.encodings, encoded.codes.columns, boxed.columns, strict=True):
        records = np.bincount(codes, minlength=encoding.n_codes).astype(np.int64)
        bins = bins_of(encoding, records, MOST_BINS, MOST_LEVELS)
        shares, of_box = column.shares(bins, readings.get(encoding.name))
        after = np.bincount(of_box, boxes, len(shares)) @ shares
        before = np.bincount(bins.of_code, records, bins.count)
        apart = np.sum((np.sqrt(before) - np.sqrt(after)) ** 2) + (n - after.sum())
        some = (before > 0) | (after > LEAST)
        p, q = (own[some] + NOBODY for own in (before, after))
        p, q = p / p.sum(), q / q.sum()
        ranks = np.array([rank_loss(cell, encoding, records) for cell in column.cells])[column.of_box]
        lost = (boxes @ ranks + n - boxes.sum()) / n
        rows.append((np.sqrt(max(apart, 0.0) / (2 * n)), np.sum(p * np.log2(p / q)), lost))
    distance, divergence, ranks_lost = np.mean(rows, axis=0)
    return Marginals(float(distance), float(divergence), float(ranks_lost))


def rank_loss(cell: Cell, encoding: Encoding, records: NDArray[np.int64]) -> float:
    """Return the NCP of a cell, Y19 (11), in which a number or date stands for its rank: the share of records below it,
    and half of those that have it. ``records`` (codes,): of each code."""
    loss = cell_ncp(cell, encoding)
    if not encoding.is_interval or cell.low is None or cell.high is None or cell.estimate or loss == 0:
        return loss
    values = len(encoding.labels)
    middles, below = (encoding.low + encoding.high)[:values] / 2, np.cumsum(np.append(0, records[:values]))

    def rank(number: float) -> float:
        """Return twice the rank."""
        return float(sum(below[np.searchsorted(middles, number, side)] for side in ("left", "right")))

    present = np.flatnonzero(records[:values])
    if not len(present):
        return loss
    whole = rank(middles[present[-1]]) - rank(middles[present[0]])
    w = encoding.missing_share if cell.missing else 0.0
    inside = np.clip((cell.low, cell.high), middles[present[0]], middles[present[-1]])
    return (1 - w) * ((rank(inside[1]) - rank(inside[0])) / whole if whole > 0 else 0.0) + w


def change_of_correlations(encoded: EncodedTable, boxed: BoxedTable) -> float:
    """Return the mean change of the correlations of two columns of numbers, of the records that are released: of pairs
    with a generalized column, where both vary before and after; NaN without any."""
    there = boxed.box >= 0
    pairs = [
        numbers_of_column(column, codes[there], boxed)
        for codes, column in zip(encoded.codes.columns, boxed.columns, strict=True)
        if column.encoding.kind is Kind.NUMERIC
    ]
    generalized = len(pairs)
    if encoded.numeric is not None:
        numbers = [name not in encoded.numeric.dates for name in encoded.numeric.names]
        sensitive = encoded.numeric.values[there][:, numbers].T.astype(np.float64)
        pairs += [((values, np.ones(len(values))),) * 2 for values in sensitive]
    changes = [
        np.diff([pearson((one[0], other[0]), one[1] * other[1]) for one, other in zip(first, second, strict=True)])[0]
        for place, first in enumerate(pairs[:generalized])
        for second in pairs[place + 1 :]
    ]
    finite = np.abs([change for change in changes if np.isfinite(change)])
    return float(finite.mean()) if len(finite) else float("nan")


Numbers = tuple[Floats, Floats]
"""The number of each record, and how much of it has one."""


def numbers_of_column(column: BoxedColumn, codes: NDArray[np.integer], boxed: BoxedTable) -> tuple[Numbers, Numbers]:
    """Return the numbers of the released records in a column, before and after. ``codes`` (n',): theirs."""
    encoding, box = column.encoding, boxed.box[boxed.box >= 0]
    exact = encoding.exact or encoding
    middles = np.append((exact.low + exact.high) / 2, 0.0)
    values = len(encoding.labels)
    number, present, of_box = column.numbers(boxed.readings.get(encoding.name))
    before = middles[np.minimum(codes, values)], (codes < values).astype(np.float64)
    return before, (number[of_box[box]], present[of_box[box]])


def pearson(numbers: Sequence[Floats], weights: Floats) -> float:
    """Return the correlation of two columns of numbers (n,), -1 to 1, weighed; NaN where one of them does not vary."""
    if not weights.sum() > 0:
        return float("nan")
    apart = [one - np.average(one, weights=weights) for one in numbers]
    squares = [float(weights @ one**2) for one in apart]
    least = [1e-24 * (np.abs(one).max() ** 2) * weights.sum() for one in numbers]
    if any(square <= tiny for square, tiny in zip(squares, least, strict=True)):
        return float("nan")
    return float(np.clip((weights * apart[0]) @ apart[1] / np.sqrt(squares[0] * squares[1]), -1, 1))
