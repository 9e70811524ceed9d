"""How far two-way tables change: the share of people that a table of any two columns shows in another cell, and the
Hellinger distance of the two tables.

Boxes are raked to one-way tables (:mod:`anonymizer.releasing.raking`), or their cells are read evenly
(:mod:`anonymizer.measuring.bins`), each column of a box by itself, as somebody does who has only the release. Numbers
and dates stand in ten bins of equal width, of levels the twelve most frequent stand alone, and "missing" is one more
value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.kinds import every_record
from anonymizer.checking.linkage import LookAlikes, classes_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.threads import one_thread
from anonymizer.measuring.bins import bins_of
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.marginals import Marginals, marginals
from anonymizer.measuring.ranges import MOST_BINS, MOST_LEVELS, Ranges, range_counts

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_BLOCK = 1 << 13
"""Boxes that are spread at a time."""


@dataclass(frozen=True, eq=False)
class TwoWay:
    """How far the two-way tables of a release are from those of the original.

    ``names``: the p columns, the q generalized ones first, then the sensitive ones. ``distances`` (q, p): the total
    variation distance between the tables of two columns, 0 to 1: the share of people who are in another cell, at the
    least. ``hellinger`` (q, p): the Hellinger distance of the two, 0 to 1. ``alone`` (q, p): the total variation
    distance of the product of the two exact one-way tables, which is what these tell alone. NaN on the diagonals and
    below them, so that every pair stands once. ``spread``: gives the same of boxes that are read evenly, ``count`` how
    far counts of ranges are off, and ``single`` what single columns lose, where that is wanted beside it.
    """

    names: tuple[str, ...]
    distances: Floats
    hellinger: Floats
    alone: Floats
    spread: "Callable[[], TwoWay] | None" = field(default=None, repr=False)
    count: Callable[[], Ranges | None] | None = field(default=None, repr=False)
    single: Callable[[], Marginals] | None = field(default=None, repr=False)

    @cached_property
    def marginals(self) -> Marginals | None:
        """What single columns lose, worked out when it is first asked for; ``None`` where it is not wanted."""
        return None if self.single is None else self.single()

    @cached_property
    def ranges(self) -> Ranges | None:
        """How far counts of ranges are off, worked out when it is first asked for; ``None`` where it is not wanted, and
        where there is one column."""
        return None if self.count is None else self.count()

    @cached_property
    def even(self) -> "TwoWay | None":
        """The same of boxes that are read evenly, worked out when it is first asked for; ``None`` where it is not
        wanted."""
        return None if self.spread is None else self.spread()

    @property
    def mean(self) -> float | None:
        """The mean over all pairs of columns of which at least one is generalized; ``None`` where there is no pair."""
        pairs = self.distances[np.isfinite(self.distances)]
        return float(pairs.mean()) if len(pairs) else None

    @property
    def mean_alone(self) -> float | None:
        """The mean distance that exact one-way tables alone would have; ``None`` where there is no pair."""
        pairs = self.alone[np.isfinite(self.alone)]
        return float(pairs.mean()) if len(pairs) else None

    @property
    def is_worth_it(self) -> bool:
        """Return True when the tables of the release are nearer than exact one-way tables alone, or there are none."""
        return self.mean is None or self.mean_alone is None or self.mean < self.mean_alone

    @property
    def mean_hellinger(self) -> float | None:
        """The mean Hellinger distance over the same pairs; ``None`` where there is no pair."""
        pairs = self.hellinger[np.isfinite(self.hellinger)]
        return float(pairs.mean()) if len(pairs) else None

    @property
    def worst(self) -> tuple[str, str, float] | None:
        """The two columns whose table changes most, and by how much; ``None`` where there is no pair."""
        if self.mean is None:
            return None
        row, column = np.unravel_index(np.nanargmax(self.distances), self.distances.shape)
        return self.names[row], self.names[column], float(self.distances[row, column])

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        worst = self.worst
        return {
            "rows_in_another_cell": self.mean,
            "read_evenly": self.even and self.even.mean,
            "one_way_tables_alone": self.mean_alone,
            "hellinger_distance": self.mean_hellinger,
            "range_counts": self.ranges
            and {
                "mean_relative_error": self.ranges.error,
                "read_evenly": self.even and self.even.ranges and self.even.ranges.error,
                "one_way_tables_alone": self.ranges.alone,
            },
            "single_columns": self.marginals
            and {
                "hellinger_distance": self.marginals.hellinger,
                "kullback_leibler_bits": self.marginals.divergence,
                "rank_loss": self.marginals.ranks,
            },
            "most": worst and {"columns": list(worst[:2]), "rows_in_another_cell": worst[2]},
        }


def two_way(
    encoded: EncodedTable, boxed: BoxedTable, weights: Floats | None = None, kinds: LookAlikes | None = None,
    reading: str = "raked",
) -> TwoWay:  # fmt: skip
    """Return how far two-way tables change when each of n records gets its box; sensitive columns stay as they are. A
    record that was left out is in another cell of every table. ``weights`` (n,): how many people each record stands
    for; one, when not given. ``kinds``: of records that are equal in all of it, when they are known. ``reading``: of
    boxes, "raked" or "even"; without one-way tables they are read evenly.

    A table of the release is a sum over boxes: their records, or how many of them are in a cell of the other column,
    times the shares of the box in each bin. All tables together are one product of matrices.
    """
    kinds = kinds or every_record(encoded.n_records)
    first_of_kind, of_kind = kinds.first, kinds.class_of
    heavy = kinds.sizes if weights is None else np.bincount(of_kind, weights, len(kinds.sizes))
    q, box = len(boxed.columns), boxed.box[first_of_kind]
    readings = boxed.readings if reading == "raked" else {}
    before, sizes, shares = [], [], []
    for position, column in enumerate(boxed.columns):
        encoding = column.encoding
        codes = encoded.codes.columns[position][first_of_kind]
        records = np.bincount(codes, kinds.sizes, encoding.n_codes).astype(np.int64)
        bins = bins_of(encoding, records, MOST_BINS, MOST_LEVELS)
        before.append(bins.of_code[codes])
        sizes.append(bins.count)
        shares.append(column.shares(bins, readings.get(encoding.name)))
    sensitive = _bins_of_sensitive(encoded, kinds)
    before += sensitive.values()
    sizes += [int(bins.max()) + 1 for bins in sensitive.values()]
    with one_thread():
        after = _tables_after(boxed, box, shares, before[q:], sizes[q:], heavy.astype(np.float64))
    alike = classes_of(zip(before, sizes, strict=True), len(box))  # in every bin, so once in every table
    people_alike = np.bincount(alike.class_of, heavy, len(alike.sizes))
    before = [bins[alike.first] for bins in before]
    starts, people, left_out = np.cumsum([0, *sizes]), heavy.sum(), heavy[box < 0].sum()
    distances, hellinger, apart = (np.full((q, len(sizes)), np.nan) for _ in range(3))
    for first in range(q):
        for second in range(first + 1, len(sizes)):
            shape = sizes[first], sizes[second]
            pairs = before[first] * shape[1] + before[second]
            table = np.bincount(pairs, people_alike, minlength=shape[0] * shape[1]).reshape(shape)
            released = after[starts[first] : starts[first + 1], starts[second] : starts[second + 1]]
            distances[first, second] = (np.abs(released - table).sum() + left_out) / (2 * people)
            alone = np.outer(table.sum(axis=1), table.sum(axis=0)) / people
            apart[first, second] = np.abs(alone - table).sum() / (2 * people)
            roots = np.sqrt(released) - np.sqrt(table)
            hellinger[first, second] = np.sqrt(((roots**2).sum() + left_out) / (2 * people))
    return TwoWay((*encoded.names, *sensitive), distances, hellinger, apart)


def two_way_beside_even(encoded: EncodedTable, boxed: BoxedTable, kinds: LookAlikes) -> TwoWay:
    """Return what :func:`two_way` does, and beside it the same of boxes that are read evenly, counts of ranges, and
    single columns, later."""

    def of(reading: str) -> TwoWay:
        count = partial(range_counts, encoded, boxed, kinds, reading)
        single = partial(marginals, encoded, boxed, reading)
        return replace(two_way(encoded, boxed, None, kinds, reading), count=count, single=single)

    return replace(of("raked"), spread=partial(of, "even"))


def _tables_after(
    boxed: BoxedTable, box_of: Rows, shares: Sequence[tuple[Floats, NDArray[np.integer]]], others: Sequence[Rows],
    sizes: Sequence[int], weights: Floats,
) -> Floats:  # fmt: skip
    """Return the tables of the generalized columns (all of their bins) against all columns, in people.

    ``box_of``, ``weights``: the box of each kind of records, and how many people it is; ``shares``: how much of boxes
    lies in each bin of a column, and the row of each box in that; ``others``, ``sizes``: the bin of each kind in the
    columns that stay as they are, and how many bins these have.
    """
    order = np.argsort(box_of, kind="stable")
    ends = np.searchsorted(box_of[order], np.arange(boxed.n_boxes + 1))
    width = sum(part.shape[1] for part, _ in shares)
    tables = np.zeros((width, width + sum(sizes)))
    for first in range(0, boxed.n_boxes, _BLOCK):
        some = slice(first, first + _BLOCK)
        spread = np.concatenate([part[of_box[some]] for part, of_box in shares], axis=1)
        kinds = order[ends[first] : ends[first + len(spread)]]
        box, heavy = box_of[kinds] - first, weights[kinds]
        counts = [
            np.bincount(box * size + bins[kinds], heavy, minlength=len(spread) * size).reshape(-1, size)
            for bins, size in zip(others, sizes, strict=True)
        ]
        n = np.bincount(box, heavy, minlength=len(spread))[:, None]
        tables += spread.T @ np.concatenate([spread * n, *counts], axis=1)
    return tables


def _bins_of_sensitive(encoded: EncodedTable, kinds: LookAlikes) -> dict[str, Rows]:
    """Return the bin of each kind of records in each sensitive column."""
    first = kinds.first
    bins: dict[str, Rows] = {}
    for classes in (encoded.target, *encoded.others):
        if classes.name:
            codes = classes.codes[first]
            frequent = np.argsort(-np.bincount(codes, kinds.sizes), kind="stable")
            bins[classes.name] = np.minimum(np.argsort(frequent), MOST_LEVELS)[codes]
    if encoded.numeric is not None:
        tenths = MOST_BINS * (encoded.numeric.values[first] + encoded.numeric.centre)
        whole_steps = np.round(tenths, 7)  # a value lies up to half a step of 2^-27 beside its own place, or less
        places = np.minimum(whole_steps.astype(np.int64), MOST_BINS - 1)
        bins |= dict(zip(encoded.numeric.names, places.T, strict=True))
    return bins
