"""What is measured of a release, the slow way: person by person, from the text of the released cells."""

import itertools
import math
from collections import Counter, defaultdict
from datetime import datetime

import numpy as np
import pandas as pd
from scipy.stats import t as student

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

    def shares_of_parts(self, parts) -> dict[object, float]:
        """The share of each bin, of what may be said of somebody."""
        shares: Counter = Counter()
        heaps = [part[0] for part, _ in parts if isinstance(part, tuple) and part[0] == part[1]]
        for part, share in parts:
            if share and not isinstance(part, tuple):
                shares[self.of(part)] += share
            elif share:
                for place, own in self.spread_of(part, heaps).items():
                    shares[place] += share * own
        return shares

    def spread_of(self, part, heaps) -> dict[int, float]:
        """How much of an atom lies in each bin: of whole numbers each but the heaps in it."""
        unit = 86_400e6 if self.kind is Kind.DATE else 1
        low, high, step = (end / unit for end in part)
        low, high = max(low, self.domain[0]), min(high, self.domain[1])
        if step and self.whole:
            values = [low + step * place for place in range(round((high - low) / step) + 1)]
            inside = [at for at in values if low == high or at not in [heap / unit for heap in heaps]] or values
            places = [max(place for place in range(BINS) if self.edges[place] <= at or place == 0) for at in inside]
            return {place: count / len(inside) for place, count in Counter(places).items()}
        if low >= high:
            return {max(place for place in range(BINS) if self.edges[place] <= low or place == 0): 1.0}
        ends = [(max(low, self.edges[at]), min(high, self.edges[at + 1])) for at in range(BINS)]
        return {at: max(0.0, last - first) / (high - low) for at, (first, last) in enumerate(ends)}


def two_way_tables(
    table: pd.DataFrame, released: pd.DataFrame, schema: Schema, first: str, second: str, parts=None,
) -> tuple[Counter, Counter]:  # fmt: skip
    """One two-way table before and after, in records. ``released``: cells as text, in any order of the rows; ``parts``:
    what may be said of each row in some columns, with its share; others are read evenly."""
    before: Counter = Counter()
    after: Counter = Counter()
    bins = [bins_of_column(table, schema, name) for name in (first, second)]
    for values in table[[first, second]].itertuples(index=False):
        before[tuple(own.of(value) for own, value in zip(bins, values, strict=True))] += 1
    sides = [sides_of(own, released, schema, name, parts) for own, name in zip(bins, (first, second), strict=True)]
    for pair in zip(*sides, strict=True):
        for (one, share), (other, another) in itertools.product(*(side.items() for side in pair)):
            after[one, other] += share * another
    return before, after


def bins_of_column(table: pd.DataFrame, schema: Schema, name: str) -> NaiveBins:
    column = schema[name]
    numeric = name not in schema.quasi_identifying and column.kind is not Kind.CATEGORICAL
    return NaiveBins(table[name], column.kind, column.domain, whole=False if numeric else None)


def sides_of(
    bins: NaiveBins, released: pd.DataFrame, schema: Schema, name: str, parts=None
) -> list[dict[object, float]]:
    """How much of each released row lies in each bin."""
    if parts is not None and name in parts:
        return [bins.shares_of_parts(own) for own in parts[name]]
    if name not in schema.quasi_identifying:
        return [{bins.of(text): 1.0} for text in released[name]]
    texts = [None if pd.isna(text) else str(text) for text in released[name]]
    return [bins.shares(parse_cell(text, schema[name].kind)) for text in texts]


def two_way_distance(table: pd.DataFrame, released: pd.DataFrame, schema: Schema, first: str, second: str) -> float:
    """The total variation distance of one two-way table."""
    before, after = two_way_tables(table, released, schema, first, second)
    places = set(before) | set(after)
    return sum(abs(before[place] - after[place]) for place in places) / 2 / len(table)


def two_way_mean(table: pd.DataFrame, released: pd.DataFrame, schema: Schema) -> float:
    """The mean over all pairs of columns of which at least one is generalized."""
    quasi = list(schema.quasi_identifying)
    others = list(schema.sensitive)
    pairs = [*itertools.combinations(quasi, 2), *itertools.product(quasi, others)]
    return float(np.mean([two_way_distance(table, released, schema, *pair) for pair in pairs]))


def hellinger_distance(table: pd.DataFrame, released: pd.DataFrame, schema: Schema, first: str, second: str) -> float:
    """The Hellinger distance of one two-way table."""
    before, after = two_way_tables(table, released, schema, first, second)
    roots = [math.sqrt(before[place]) - math.sqrt(after[place]) for place in set(before) | set(after)]
    return math.sqrt(sum(root**2 for root in roots) / 2 / len(table))


def slow_estimate(rows: list[tuple[float, float, object, object]], value: float, freedom: int) -> tuple[float, ...]:
    """The figure with its error and interval, from rows of (linear part, ignored, stratum, cluster), by sums alone."""
    totals: dict[object, dict[object, float]] = defaultdict(lambda: defaultdict(float))
    for part, _, stratum, cluster in rows:
        totals[stratum][cluster] += part
    everything = [total for clusters in totals.values() for total in clusters.values()]
    variance = 0.0
    for clusters in totals.values():
        n = len(clusters)
        middle = sum(clusters.values()) / n if n > 1 else sum(everything) / len(everything)
        variance += (n / (n - 1) if n > 1 else 1) * sum((total - middle) ** 2 for total in clusters.values())
    error = math.sqrt(variance)
    reach = student.ppf(0.975, freedom) * error
    return value, error, value - reach, value + reach


def slow_figures(
    people: pd.DataFrame, shares: pd.Series, column: str, level: str | None, table: pd.DataFrame, design: dict[str, str]
) -> dict[str, tuple[float, ...]]:
    """Mean or share, and total, of people that are expanded: each has the row it came from, and a share of it."""
    weight = table[design["weight"]] if "weight" in design else pd.Series(1.0, table.index)
    stratum = table[design["stratum"]] if "stratum" in design else pd.Series("all", table.index)
    cluster = table[design["household"]] if "household" in design else pd.Series(table.index, table.index)
    freedom = len({(a, b) for a, b in zip(stratum, cluster, strict=True)}) - stratum.nunique()
    numbers, weights = defaultdict(float), defaultdict(float)
    for row, value, share in zip(people["row"], people[column], shares, strict=True):
        if level is None and not pd.isna(value):
            weights[row] += weight[row] * share
            numbers[row] += weight[row] * share * value
        if level is not None:
            weights[row] += weight[row] * share
            numbers[row] += weight[row] * share * ((pd.isna(value) and level == "missing") or value == level)
    everybody = sum(weights.values())
    mean = sum(numbers.values()) / everybody
    of = {row: (stratum[row], cluster[row]) for row in table.index}
    linear = [((numbers[row] - mean * weights[row]) / everybody, 0.0, *of[row]) for row in table.index]
    total = [(numbers[row], 0.0, *of[row]) for row in table.index]
    return {
        "mean" if level is None else "share": slow_estimate(linear, mean, freedom),
        "total": slow_estimate(total, sum(numbers.values()), freedom),
    }


def slow_overlap(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """How far two intervals, the last two of four numbers each, overlap."""
    (low, high), (least, most) = first[2:], second[2:]
    width = min(high, most) - max(low, least)
    parts = [1.0 if a == b else width / (b - a) for a, b in ((low, high), (least, most))]
    return 0.0 if width < 0 else sum(parts) / 2


def interval(figure: tuple[float, ...]) -> str:
    value, _, low, high = figure
    return f"{value:,.6g} ({low:,.6g} to {high:,.6g})"
