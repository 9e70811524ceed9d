"""Estimates from a sample of a population, their standard errors and intervals, and how far two intervals overlap.

A row counts as many people as its sampling weight says; without a weight column, one. Standard errors are by
linearization, as if households (rows, where no column says them) were drawn with replacement within strata; a stratum
with one household is compared with the mean of all. Intervals are Student's, of as many degrees as there are households
less strata.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.population.sample import WHOLE, reach_of
from anonymizer.schema import Role, Schema

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Sampling:
    """How n rows were drawn. ``weights`` (n,): people that each stands for; ``cluster`` (n,): what was drawn with it,
    from 0; ``stratum`` (clusters,): in which stratum each cluster is. ``words``: what of these is known. ``records``
    (n,): how many of one kind, each drawn by itself, a row stands for: one, but after :meth:`alike`."""

    weights: Floats
    cluster: Rows
    stratum: Rows
    words: str
    records: Rows

    def of(self, rows: NDArray[np.integer]) -> "Sampling":
        """Return how some of the rows were drawn; each stands for as many people as before."""
        there = np.zeros(len(self.stratum), dtype=np.bool_)
        there[self.cluster[rows]] = True
        cluster = (np.cumsum(there) - 1)[self.cluster[rows]]
        return Sampling(self.weights[rows], cluster, self.stratum[there], self.words, self.records[rows])

    @cached_property
    def freedom(self) -> int:
        """Degrees of freedom: clusters less strata, 1 at the least."""
        return max(1, int(self.clusters.sum()) - len(np.unique(self.stratum)))

    @property
    def clusters(self) -> Rows:
        """How many clusters each cluster stands for, (clusters,)."""
        return self.records if len(self.stratum) == len(self.records) else np.ones(len(self.stratum), dtype=np.int64)

    @cached_property
    def is_single(self) -> bool:
        """True when every row stands for itself alone."""
        return bool((self.records == 1).all())

    @cached_property
    def kinds(self) -> tuple[Rows, Rows]:
        """Which rows have the same weight and stratum: the kind of each row (n,), and a row of each kind."""
        kind = pd.factorize(self.weights)[0] * (int(self.stratum.max(initial=0)) + 1) + self.stratum[self.cluster]
        kind = pd.factorize(kind)[0].astype(np.int64)
        row = np.empty(int(kind.max(initial=-1)) + 1, dtype=np.int64)
        row[kind] = np.arange(len(kind))
        return kind, row

    def alike(self, cell: NDArray[np.integer], cells: int) -> tuple["Sampling", NDArray[np.integer]]:
        """Return how rows were drawn that have one of so many cells each, (n,), and the cell of each: rows of the same
        cell, weight and stratum are one, where that saves any and every row was drawn by itself."""
        if len(self.stratum) < len(self.weights):
            return self, cell
        kind, row = self.kinds
        if cells * len(row) >= len(cell):
            return self, cell
        key = cell if len(row) == 1 else kind * cells + cell
        weights = None if self.is_single else self.records
        records = np.bincount(key, weights, cells * len(row)).astype(np.int64)
        some = np.flatnonzero(records)
        of_kind = row[some // cells]
        stratum = self.stratum[self.cluster[of_kind]]
        return Sampling(self.weights[of_kind], np.arange(len(some)), stratum, self.words, records[some]), some % cells

    def covariance(self, parts: Floats) -> Floats:
        """Return the covariance (m, m) of the totals of m figures whose linear parts each row contributes, (n, m)."""
        clusters = self.clusters
        sizes = np.bincount(self.stratum, clusters)
        if clusters.sum() < 2:
            return np.full((parts.shape[1], parts.shape[1]), np.nan)
        sums = parts
        if len(self.stratum) < len(parts):
            sums = np.column_stack([np.bincount(self.cluster, part, len(self.stratum)) for part in parts.T])
        totals = np.column_stack([np.bincount(self.stratum, clusters * part) for part in sums.T])
        means = np.asarray(totals / np.maximum(sizes, 1)[:, None])
        means[sizes == 1] = np.average(sums, axis=0, weights=clusters)
        apart = sums - means[self.stratum]
        scale = np.divide(sizes, sizes - 1, out=np.ones(len(sizes)), where=sizes > 1)
        return np.asarray((apart.T * (scale[self.stratum] * clusters)) @ apart)


def sampling_of(table: pd.DataFrame, schema: Schema) -> Sampling:
    """Return how the rows of a table were drawn, by its columns of weights, strata and households. A row without a
    household is one of its own, rows without a stratum are a stratum together, and a household that is in several
    strata counts in each. Raises :class:`SchemaError` for weights that are not numbers above 0."""
    n = len(table)
    weight, household, stratum = (schema.only(role) for role in (Role.WEIGHT, Role.HOUSEHOLD, Role.STRATUM))
    weights = np.ones(n) if weight is None else reach_of(table, schema, WHOLE).weights
    cluster, layer = np.arange(n), np.zeros(n, dtype=np.int64)
    if stratum is not None:
        layer = pd.factorize(table[stratum], use_na_sentinel=False)[0].astype(np.int64)
    if household is not None:
        home = pd.factorize(table[household])[0].astype(np.int64)
        home = np.where(home < 0, int(home.max(initial=0)) + 1 + np.arange(n), home)
        cluster = pd.factorize(home * (int(layer.max(initial=0)) + 1) + layer)[0].astype(np.int64)
    of_cluster = np.zeros(int(cluster.max(initial=-1)) + 1, dtype=np.int64)
    of_cluster[cluster] = layer
    columns = [
        f"{what} {name!r}"
        for what, name in (("weights", weight), ("strata", stratum), ("households", household))
        if name is not None
    ]
    words = ", ".join(columns) or "no weights: every row is one person"
    return Sampling(weights, cluster, of_cluster, words, np.ones(n, dtype=np.int64))


@dataclass(frozen=True)
class Estimate:
    """A figure, its standard error, and the ends of its 95% interval; NaN where there is none."""

    value: float
    error: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {name: part if np.isfinite(part) else None for name, part in vars(self).items()}


def estimate(value: float, error: float, freedom: int) -> Estimate:
    """Return a figure with its interval, by Student's t."""
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return Estimate(float(value), float(error), float(value - reach), float(value + reach))


def overlap(first: Estimate, second: Estimate) -> float:
    """Return the overlap of two intervals, 0 to 1, Karr et al. 2006: what they share as a part of each, the mean of the
    two; an interval of one point is shared whole or not. NaN where either is not known."""
    ends = np.array([first.low, first.high, second.low, second.high])
    if not np.isfinite(ends).all():
        return float("nan")
    width = min(first.high, second.high) - max(first.low, second.low)
    if width < 0:
        return 0.0
    return sum(1.0 if one.high == one.low else width / (one.high - one.low) for one in (first, second)) / 2


@dataclass(frozen=True)
class Compared:
    """A figure before and after. ``what``: "mean", "total", "share" or "coefficient"; ``column``, ``level``: of what,
    the latter "" where it is none of a level."""

    what: str
    column: str
    level: str
    before: Estimate
    after: Estimate

    @property
    def overlap(self) -> float:
        """How far the intervals before and after overlap, 0 to 1; NaN where one of them is not known."""
        return overlap(self.before, self.after)

    @property
    def title(self) -> str:
        """What it is, in words."""
        of = f"{self.column} = {self.level}" if self.level else self.column
        return of if self.what == "coefficient" else f"{self.what.capitalize()} of {of}"

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "figure": self.what,
            "column": self.column,
            "level": self.level or None,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "interval_overlap": finite(self.overlap),
        }


def mean_of(number: Floats, present: Floats, sampling: Sampling) -> Estimate:
    """Return the weighted mean of numbers (n,), each of them present to a part (n,)."""
    w = sampling.weights * present
    people = float(w @ sampling.records)
    if not people > 0:
        return Estimate(*[float("nan")] * 4)
    mean = float((w * sampling.records) @ number) / people
    variance = sampling.covariance((w * (number - mean) / people)[:, None])[0, 0]
    return estimate(mean, np.sqrt(variance), sampling.freedom)


def total_of(number: Floats, present: Floats, sampling: Sampling) -> Estimate:
    """Return the weighted total of numbers (n,), each of them present to a part (n,)."""
    parts = sampling.weights * present * number
    return estimate(
        float(parts @ sampling.records), np.sqrt(sampling.covariance(parts[:, None])[0, 0]), sampling.freedom
    )


def finite(number: float) -> float | None:
    """Return a number, or ``None`` for NaN and infinity."""
    return float(number) if np.isfinite(number) else None
