"""What is measured of a release, the slow way: person by person, from the text of the released cells."""

import itertools
from collections import Counter
from datetime import datetime

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, parse_cell
from anonymizer.schema import Kind, Schema

BINS, ALONE = 10, 12


def number(value) -> float:
    """A number, or a date in days."""
    if isinstance(value, (datetime, pd.Timestamp)):
        return (pd.Timestamp(value) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return float(value)


class NaiveBins:
    """The bins of a column of whole numbers, days, other numbers or levels."""

    def __init__(self, values: pd.Series, kind: Kind, domain=None, whole: bool | None = None) -> None:
        present = [value for value in values if not pd.isna(value)]
        self.may_miss = len(present) < len(values)
        self.interval = kind is not Kind.CATEGORICAL
        self.kind = kind
        self.even = whole is False
        if not self.interval:
            self.levels = list(domain) if domain is not None else sorted(map(str, set(present)))
            counts = Counter(map(str, present))
            often = sorted(self.levels, key=lambda level: (-counts[level], self.levels.index(level)))
            self.alone = often[:ALONE]
            return
        self.values = sorted({number(value) for value in present})
        low, high = (number(end) for end in domain) if domain is not None else (self.values[0], self.values[-1])
        self.domain = low, high
        ends = [*self.values, low, high]
        self.whole = all(float(end).is_integer() for end in ends) if whole is None else whole
        if self.whole:
            width = -(-(round(high - low) + 1) // BINS)
            self.edges = [low - 0.5 + width * place for place in range(BINS + 1)]
        else:
            self.edges = [low + (high - low) * place / BINS for place in range(BINS + 1)]

    def of(self, value) -> object:
        """The bin of one value."""
        if pd.isna(value):
            return "missing"
        if not self.interval:
            return str(value) if str(value) in self.alone else "others"
        at = number(value)
        if self.even:
            low, high = self.domain
            return min(int(round(BINS * (at - low) / (high - low), 9)), BINS - 1)
        place = max(place for place in range(BINS) if self.edges[place] <= at or place == 0)
        return place

    def shares(self, cell: Cell) -> dict[object, float]:
        """The share of a released cell in each bin."""
        shares: Counter = Counter()
        if not self.interval:
            if cell.withheld:
                members = [*self.levels] + [None] * self.may_miss
            else:
                members = [*cell.levels] + [None] * cell.missing
            weights = cell.counts or [1] * len(members)
            for member, weight in zip(members, weights, strict=True):
                shares[self.of(member)] += weight / sum(weights)
            return dict(shares)
        if cell.ends is None:
            return {"missing": 1.0}
        low, high = (end / (86_400e6 if self.kind is Kind.DATE else 1) for end in (cell.low, cell.high))
        low, high = max(low, self.domain[0]), min(high, self.domain[1])
        inside = sum(low <= value <= high for value in self.values)
        if cell.missing:
            shares["missing"] = 1 / (1 + max(1, inside))
        left = 1 - shares["missing"]
        first, last = (low - 0.5, high + 0.5) if self.whole else (low, high)
        if first == last:
            shares[max(place for place in range(BINS) if self.edges[place] <= first or place == 0)] += left
            return dict(shares)
        for place in range(BINS):
            overlap = min(last, self.edges[place + 1]) - max(first, self.edges[place])
            shares[place] += left * max(0.0, overlap) / (last - first)
        return dict(shares)


def two_way_distance(table: pd.DataFrame, released: pd.DataFrame, schema: Schema, first: str, second: str) -> float:
    """The total variation distance of one two-way table. ``released``: cells as text, in any order of the rows."""
    before: Counter = Counter()
    after: Counter = Counter()
    quasi = schema.quasi_identifying
    bins = {}
    for name in (first, second):
        column = schema[name]
        numeric = name not in quasi and column.kind is not Kind.CATEGORICAL
        bins[name] = NaiveBins(table[name], column.kind, column.domain, whole=False if numeric else None)
    for values in table[[first, second]].itertuples(index=False):
        before[tuple(bins[name].of(value) for name, value in zip((first, second), values, strict=True))] += 1
    for texts in released[[first, second]].itertuples(index=False):
        sides = []
        for name, text in zip((first, second), texts, strict=True):
            if name in quasi:
                cell = parse_cell(None if pd.isna(text) else str(text), schema[name].kind)
                sides.append(bins[name].shares(cell))
            else:
                sides.append({bins[name].of(text): 1.0})
        for (one, share), (other, another) in itertools.product(*(side.items() for side in sides)):
            after[one, other] += share * another
    places = set(before) | set(after)
    return sum(abs(before[place] - after[place]) for place in places) / 2 / len(table)


def two_way_mean(table: pd.DataFrame, released: pd.DataFrame, schema: Schema) -> float:
    """The mean over all pairs of columns of which at least one is generalized."""
    quasi = list(schema.quasi_identifying)
    others = list(schema.sensitive)
    pairs = [*itertools.combinations(quasi, 2), *itertools.product(quasi, others)]
    return float(np.mean([two_way_distance(table, released, schema, *pair) for pair in pairs]))
