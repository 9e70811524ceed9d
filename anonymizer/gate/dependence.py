"""Which column follows from which: exactly, or nearly, by bins.

An unchanged column that follows from a generalized one, or that gives it away, undoes what generalizing it did: an
age group beside an age, a body mass beside a weight. The measure is a share of variance. Of numbers and dates it is
the variance of their ranks that the bins of the other column explain (the correlation ratio), so that outliers weigh
no more than others; of levels, that of their indicators (Goodman and Kruskal's tau). Both are corrected for the
number of bins, as an adjusted R² is: many small bins explain nothing by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError
from anonymizer.schema import Column, Kind
from anonymizer.values import numbers_of

BINS = 64
"""Bins of a column of numbers that has more different values than :data:`OWN_BIN` of its records."""
OWN_BIN = 0.1
"""Up to so many different values per record each has a bin of its own."""
LOOKED_AT = 50_000
"""Records that are looked at, spread evenly over the table."""
FUNCTIONAL = 0.95
"""From this share on a column is called a function of the other."""
NEAR = 0.6
"""From this share on it nearly is."""


@dataclass(frozen=True)
class Dependence:
    """How two columns depend on each other, 0 to 1 each.

    ``tells``: the share of what differs in ``other`` that is known to who knows ``column``; ``follows``: the share of
    what differs in ``column`` that is known to who knows ``other``. An age group tells nearly all of an age and follows
    from it entirely; a region tells little of a postcode and follows from it entirely.
    """

    column: str
    other: str
    tells: float
    follows: float

    @property
    def strength(self) -> float:
        """The larger of the two shares."""
        return max(self.tells, self.follows)

    @property
    def functional(self) -> bool:
        """True when one of the two is a function of the other, but for a few records."""
        return self.strength >= FUNCTIONAL


@dataclass(frozen=True, eq=False)
class Binned:
    """One column: ``bins`` (n,) from 0, missing in one of its own; ``n_bins``; ``rank`` (n,), of numbers and dates: the
    middle rank of the values, NaN for missing, and ``None`` of levels; ``is_telling``: it has values that repeat."""

    bins: NDArray[np.int64]
    n_bins: int
    rank: NDArray[np.float64] | None
    is_telling: bool


def dependences(
    table: pd.DataFrame, columns: Sequence[Column], others: Sequence[Column], least: float = NEAR
) -> tuple[Dependence, ...]:
    """Return how each of some columns depends on each of some others, where that is at least ``least`` (0 to 1): the
    strongest first.

    A column is not held against itself. At most :data:`LOOKED_AT` records are looked at, always the same ones.
    """
    if len(table) > LOOKED_AT:
        table = table.iloc[np.linspace(0, len(table) - 1, LOOKED_AT).astype(np.int64)]
    binned = {
        column.name: in_bins(table[column.name], column) for column in {c.name: c for c in (*columns, *others)}.values()
    }
    pairs = (
        Dependence(
            column.name,
            other.name,
            explained(binned[column.name], binned[other.name]),
            explained(binned[other.name], binned[column.name]),
        )
        for column, other in product(columns, others)
        if column.name != other.name
    )
    return tuple(sorted((pair for pair in pairs if pair.strength >= least), key=lambda pair: -pair.strength))


def in_bins(values: "pd.Series[Any]", column: Column) -> Binned:
    """Return a column in bins: levels one each; numbers and dates one each where they repeat much, else
    :data:`BINS` of about as many records."""
    n = len(values)
    if column.kind is not Kind.CATEGORICAL:
        try:
            numbers = np.asarray(numbers_of(values, column)[0], dtype=np.float64)
        except EncodeError:
            pass  # not numbers after all: the values are levels
        else:
            codes, distinct = pd.factorize(numbers)
            counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
            order = np.argsort(distinct)
            before = np.cumsum(counts[order]) - counts[order]
            middle = np.empty(len(distinct))
            middle[order] = before + (counts[order] - 1) / 2
            rank = np.where(codes >= 0, middle[codes], np.nan) if len(distinct) else np.full(n, np.nan)
            bins = codes
            if len(distinct) > max(BINS, OWN_BIN * n):
                bins = np.where(codes >= 0, np.nan_to_num(rank) * BINS // max(1, counts.sum()), -1)
            return Binned(*_dense(bins), rank, len(distinct) > 1)
    codes, distinct = pd.factorize(values.astype(object) if values.dtype == object else values)
    return Binned(*_dense(codes), None, 1 < len(distinct) <= n / 2)


def _dense(codes: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return codes from 0 without gaps (n,), -1 among them, and how many there are."""
    bins, distinct = pd.factorize(np.asarray(codes, dtype=np.int64))
    return bins.astype(np.int64), len(distinct)


def explained(by: Binned, of: Binned) -> float:
    """Return the share (0 to 1) of the variance of a column that the bins of another explain, corrected for their
    number; 0 where either never repeats, or has one value only."""
    if not (by.is_telling and of.is_telling):
        return 0.0
    if of.rank is None:
        pairs = np.unique(by.bins * of.n_bins + of.bins, return_counts=True)
        sizes = np.bincount(by.bins, minlength=by.n_bins)
        n, totals = len(by.bins), np.bincount(of.bins)
        between = float((pairs[1] ** 2 / sizes[pairs[0] // of.n_bins]).sum())
        whole, within = n - float((totals.astype(np.float64) ** 2).sum()) / n, n - between
        groups = by.n_bins
    else:
        present = ~np.isnan(of.rank)
        rank, bins = of.rank[present], by.bins[present]
        n = len(rank)
        sizes = np.bincount(bins, minlength=by.n_bins)
        away = rank - rank.mean()
        sums = np.bincount(bins, weights=away, minlength=by.n_bins)
        whole = float((away**2).sum())
        within = whole - float((sums**2 / np.maximum(sizes, 1)).sum())
        groups = int(np.count_nonzero(sizes))
    if whole <= 1e-9 * n or n <= groups:
        return 0.0
    return float(np.clip(1 - (within / (n - groups)) / (whole / (n - 1)), 0.0, 1.0))
