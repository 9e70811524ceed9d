"""Figures of a survey before and after: weighted means, totals, shares and correlations, and how far their 95%
intervals overlap.

How rows are weighed and how large standard errors are: :mod:`anonymizer.population.estimates`. Weights, strata and
households stay with the steward's rows; whoever gets the release has none of them.

A box contributes the mean of the numbers, and the shares of the levels, that it is read as: raked to one-way tables
(:mod:`anonymizer.releasing.raking`), or without any evenly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.kinds import every_record
from anonymizer.checking.linkage import LookAlikes, classes_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.measuring.boxed import BoxedTable, Values, values_after, values_before
from anonymizer.measuring.marginals import pearson
from anonymizer.measuring.named_regression import NamedRegression, named_regression
from anonymizer.measuring.two_way import TwoWay, two_way
from anonymizer.population.estimates import CONFIDENCE, Compared, Sampling, finite, mean_of, sampling_of, total_of
from anonymizer.schema import Kind, Role, Schema

Floats = NDArray[np.float64]

MOST_LEVELS = 12
"""Levels of a column whose shares are compared: those that most rows have."""


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns of numbers before and after, -1 to 1; NaN where one of them does not vary."""

    first: str
    second: str
    before: float
    after: float

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {"columns": [self.first, self.second], "before": finite(self.before), "after": finite(self.after)}


@dataclass(frozen=True, eq=False)
class Weighted:
    """The figures of a survey before and after. ``figures``: of the generalized columns of numbers and levels;
    ``correlations``: of columns of numbers, at least one of them generalized; ``tables``: the two-way tables, in
    weights; ``regression``: the one that the steward named, if any. ``sampling``: which columns say how
    rows were drawn.
    """

    sampling: str
    figures: tuple[Compared, ...]
    correlations: tuple[Correlation, ...]
    tables: TwoWay
    regression: NamedRegression | None = None

    @property
    def mean_overlap(self) -> float | None:
        """The mean overlap of means and shares, 0 to 1, without totals, which say the same once more; ``None`` where
        there is none."""
        pairs = [one.overlap for one in self.figures if one.what != "total" and np.isfinite(one.overlap)]
        return float(np.mean(pairs)) if pairs else None

    @property
    def worst(self) -> Compared | None:
        """The mean or share whose intervals overlap least; of equal ones, which moved most standard errors."""
        pairs = [one for one in self.figures if one.what != "total" and np.isfinite(one.overlap)]
        return min(pairs, key=lambda one: (one.overlap, -_moved(one)), default=None)

    @property
    def mean_change(self) -> float | None:
        """The mean of how much a correlation changes; ``None`` where there is none."""
        changes = [abs(one.after - one.before) for one in self.correlations if np.isfinite(one.after - one.before)]
        return float(np.mean(changes)) if changes else None

    @property
    def farthest(self) -> Correlation | None:
        """The correlation that changed most."""
        pairs = [one for one in self.correlations if np.isfinite(one.after - one.before)]
        return max(pairs, key=lambda one: abs(one.after - one.before), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "sampling": self.sampling,
            "confidence": CONFIDENCE,
            "mean_interval_overlap": self.mean_overlap,
            "figures": [one.to_dict() for one in self.figures],
            "mean_change_of_correlations": self.mean_change,
            "correlations": [one.to_dict() for one in self.correlations],
            "two_way_tables": self.tables.to_dict(),
            "regression": self.regression and self.regression.to_dict(),
        }


def _moved(one: Compared) -> float:
    return abs(one.after.value - one.before.value) / one.before.error if one.before.error > 0 else 0.0


def figures_of(before: Values, after: Values, sampling: Sampling, later: Sampling) -> Iterator[Compared]:
    """Return the figures of a column: of numbers the mean (Hájek) of those that have a value, and the total
    (Horvitz–Thompson); of each frequent level, and of "missing" where it occurs, the share and the total of people.
    ``later``: how the rows after were drawn, of whom some may be left out."""
    name = before.column.name
    both = [(one, *design.alike(one.of_row, one.cells)) for one, design in ((before, sampling), (after, later))]
    if before.is_number:
        for what, get in (("mean", mean_of), ("total", total_of)):
            pair = (get(one.number[cell], one.present[cell], design) for one, design, cell in both)
            yield Compared(what, name, "", *pair)
        return
    rows = np.bincount(before.of_row, sampling.records, len(before.levels) + 1)
    for place in sorted(np.argsort(-rows[:-1], kind="stable")[:MOST_LEVELS].tolist()) + [len(before.levels)]:
        parts = [(one.shares[cell, place], np.ones(len(cell)), design) for one, design, cell in both]
        if any(part.any() for part, _, _ in parts):
            level = before.levels[place] if place < len(before.levels) else "missing"
            for what, get in (("share", mean_of), ("total", total_of)):
                yield Compared(what, name, level, *(get(*part) for part in parts))


def correlation(first: Values, second: Values, sampling: Sampling) -> float:
    """Return the weighted correlation of two columns of numbers, of the rows that have both; NaN where one of them does
    not vary."""
    both = first.of_row.astype(np.int64) * second.cells + second.of_row
    design, cell = sampling.alike(both, first.cells * second.cells)
    of_row = cell // second.cells, cell % second.cells
    w = design.weights * design.records * first.present[of_row[0]] * second.present[of_row[1]]
    return pearson([one.number[cells] for one, cells in zip((first, second), of_row, strict=True)], w)


def correlations(
    columns: Sequence[tuple[Values, Values]], sampling: Sampling, later: Sampling
) -> tuple[Correlation, ...]:
    """Return the correlations of all columns of numbers that leave, before and after, at least one of each two
    generalized."""
    return tuple(
        Correlation(
            first[0].column.name,
            second[0].column.name,
            correlation(first[0], second[0], sampling),
            correlation(first[1], second[1], later),
        )
        for first, second in combinations([both for both in columns if both[0].is_number], 2)
        if Role.QUASI_IDENTIFYING in (first[0].column.role, second[0].column.role)
    )


def by_kind(sampling: Sampling, kinds: LookAlikes) -> tuple[NDArray[np.int64], Sampling]:
    """Return a row of each kind, and how these were drawn, each standing for its whole kind: rows of the same kind,
    weight and stratum are one where every row was drawn by itself; else each is one."""
    if len(sampling.stratum) < len(sampling.weights):
        return np.arange(len(sampling.weights)), sampling
    kind, rows = sampling.kinds
    both = classes_of([(kinds.class_of, len(kinds.sizes)), (kind, len(rows))], len(kind))
    first = both.first
    stratum = sampling.stratum[sampling.cluster[first]]
    return first, Sampling(sampling.weights[first], np.arange(len(first)), stratum, sampling.words, both.sizes)


def weighted(
    table: pd.DataFrame, schema: Schema, encoded: EncodedTable, boxed: BoxedTable, tables: TwoWay,
    regression: str | None = None, kinds: LookAlikes | None = None,
) -> Weighted:  # fmt: skip
    """Return the figures of a survey before and after. ``tables``: two-way tables of rows, which are those of people
    where no column has weights; ``regression``: the one that the steward names; ``kinds``: of records that are equal in
    their quasi-identifying values, their released rows and their numbers, when they are known. Raises what its
    functions raise: :class:`ParameterError` for a regression, and :class:`SchemaError` for weights that are not numbers
    above 0.
    """
    sampling = sampling_of(table, schema)
    if schema.only(Role.WEIGHT) is not None:
        tables = two_way(encoded, boxed, sampling.weights, kinds)
    first, design = by_kind(sampling, kinds or every_record(len(table)))
    there = np.flatnonzero(boxed.box[first] >= 0)
    later = design.of(there)
    columns, some = [], table[list(schema.released)].iloc[first]
    own = replace(boxed, box=boxed.box[first])
    for column in map(schema.__getitem__, schema.released):
        if column.kind is Kind.NUMERIC or (column.kind, column.role) == (Kind.CATEGORICAL, Role.QUASI_IDENTIFYING):
            before = values_before(some, column)
            columns.append((before, values_after(own, before, there)))
    boxes = [both for both in columns if both[0].column.role is Role.QUASI_IDENTIFYING]
    return Weighted(
        sampling.words,
        tuple(figure for before, after in boxes for figure in figures_of(before, after, design, later)),
        correlations(columns, design, later),
        tables,
        named_regression(regression, table, schema, boxed, sampling) if regression else None,
    )
