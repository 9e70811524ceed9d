"""What the privacy models look at: how the values of sensitive columns are spread over the classes of a release, and
all the rest; and what they answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import meaning
from anonymizer.checking.consistency import Consistency
from anonymizer.checking.released import texts_of
from anonymizer.checking.unchanged import Unchanged
from anonymizer.population.sample import SampleRisk
from anonymizer.schema import Column, Kind, Schema
from anonymizer.settings import Limits
from anonymizer.values import numbers_of, present_codes


@dataclass(frozen=True, eq=False)
class ClassHistograms:
    """How often each value of a sensitive column occurs in each class; only what occurs is held.

    ``group``, ``value``, ``count`` (d,): the pairs that occur, by class, then value; ``totals`` (v,): the whole
    table. Values are ranks, missing is the last; levels that differ in writing only are one. ``ordered``: True when the
    ranks carry an order. ``sizes`` (groups,). ``tells`` (v,): values of which somebody learns something, as l counts:
    none that is missing, or declared to be harmless. ``misses``: a value is missing.
    """

    column: str
    ordered: bool
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    totals: NDArray[np.int64]
    sizes: NDArray[np.int64]
    tells: NDArray[np.bool_]
    misses: bool = False

    @property
    def tells_anything(self) -> bool:
        """True when somebody has a value of which somebody learns something."""
        return bool((self.tells & (self.totals > 0)).any())

    def distinct(self) -> NDArray[np.int64]:
        """Return the number of different values in each class (groups,) of which somebody learns something; in a class
        that has none of them, as many as the table has."""
        telling = self.tells[self.value]
        values = np.bincount(self.group[telling], minlength=len(self.sizes)).astype(np.int64)
        every = np.count_nonzero(self.tells & (self.totals > 0))
        return np.asarray(np.where((values == 0) & (self.sizes > 0), every, values), np.int64)

    def effective(self) -> NDArray[np.float64]:
        """Return the exponential of the entropy of each class (groups,): so many equally frequent values are as unsure;
        of values as :meth:`distinct` counts them.

        Entropy l-diversity, Machanavajjhala et al. 2007.
        """
        telling = self.tells[self.value]
        group, count = self.group[telling], self.count[telling]
        logs = np.bincount(group, weights=count * np.log(count), minlength=len(self.sizes))
        rows = np.bincount(group, weights=count, minlength=len(self.sizes))
        values = np.maximum(np.exp(np.log(np.maximum(rows, 1)) - logs / np.maximum(rows, 1)), 1.0)
        return np.asarray(np.where(rows > 0, values, np.maximum(self.distinct(), 1)))

    def of_one_value(self) -> NDArray[np.int64]:
        """Return the classes in which all have one value, of which somebody learns something."""
        alone = np.bincount(self.group, minlength=len(self.sizes))[self.group] == 1
        return np.asarray(self.group[alone & self.tells[self.value]], np.int64)

    def distances(self) -> NDArray[np.float64]:
        """Return the earth mover's distance of each class's distribution to the whole table's (groups,), from 0 to 1.

        Li, Li and Venkatasubramanian 2007: the ordered distance between ranks where there is an order (numbers,
        dates, ordered levels), the equal distance otherwise.
        """
        return self._rank_distance() if self.ordered else self._equal()

    def _equal(self) -> NDArray[np.float64]:
        shares = self.count / self.sizes[self.group]
        overall = self.totals / max(1, self.totals.sum())
        common = np.bincount(self.group, weights=np.minimum(shares, overall[self.value]), minlength=len(self.sizes))
        return np.asarray(np.clip(1.0 - common, 0.0, 1.0))

    def _rank_distance(self) -> NDArray[np.float64]:
        """Return the sum over ranks of |cumulated share in the class - overall|, over (v - 1): constant runs in closed
        form."""
        v = len(self.totals)
        if v < 2:
            return np.zeros(len(self.sizes))
        overall = np.cumsum(self.totals) / max(1, self.totals.sum())
        area = np.concatenate([[0.0], np.cumsum(overall)])
        opens = np.flatnonzero(np.diff(self.group, prepend=-1))
        running = np.cumsum(self.count)
        before = np.repeat(running[opens] - self.count[opens], np.diff(np.append(opens, len(self.count))))
        share = (running - before) / self.sizes[self.group]
        last = np.append(self.value[1:], v - 1)
        last[np.append(opens[1:], len(self.count)) - 1] = v - 1
        crossing = np.clip(np.searchsorted(overall, share), self.value, last)
        runs = share * (2 * crossing - self.value - last) + area[self.value] + area[last] - 2 * area[crossing]
        sums = np.bincount(self.group, weights=runs, minlength=len(self.sizes))
        sums[self.group[opens]] += area[self.value[opens]]
        return np.asarray(np.clip(sums / (v - 1), 0.0, 1.0))


def class_histograms(
    values: "pd.Series[Any]",
    column: Column,
    class_of: NDArray[np.int64],
    sizes: NDArray[np.int64],
    person: NDArray[np.int64] | None = None,
    counts: NDArray[np.int64] | None = None,
) -> ClassHistograms:
    """Return the histograms of one sensitive column, from the class of every row (n,) and the classes' sizes.

    ``person`` (n,): whose each row is, -1 for nobody's; then persons are counted, once for each value of theirs.
    ``counts`` (n,): how many rows each stands for; one, when not given.
    """
    ranks, ordered, tells = _ranks(values, column)
    v = len(tells)
    totals = np.bincount(ranks, counts, minlength=v).astype(np.int64)
    if person is not None:
        pairs = pd.DataFrame({"class": class_of, "value": ranks, "person": person})
        everywhere = ~pairs.duplicated(["value", "person"]).to_numpy() & (person >= 0)
        totals = np.bincount(ranks[everywhere], minlength=v)
        once = ~pairs.duplicated().to_numpy() & (person >= 0)
        class_of, ranks, counts = class_of[once], ranks[once], None
        sizes = np.bincount(class_of, minlength=len(sizes)).astype(np.int64)
    keys = class_of * v + ranks
    if len(sizes) * v <= max(4 * len(keys), 1 << 16):
        dense = np.bincount(keys, counts, minlength=len(sizes) * v).astype(np.int64)
        pairs = np.flatnonzero(dense)
        count = dense[pairs]
    elif counts is None:
        pairs, count = np.unique(keys, return_counts=True)
    else:
        pairs, place = np.unique(keys, return_inverse=True)
        count = np.bincount(place, counts).astype(np.int64)
    return ClassHistograms(
        column.name, ordered, pairs // v, pairs % v, count, totals, sizes, tells, bool(values.isna().any())
    )


def _ranks(values: "pd.Series[Any]", column: Column) -> tuple[NDArray[np.integer[Any]], bool, NDArray[np.bool_]]:
    """Return the values as ranks (n,), without gaps, whether these carry an order, and of which of them somebody learns
    something. Missing is a value of its own, the last."""
    if column.kind is not Kind.CATEGORICAL:
        try:
            numbers = np.asarray(numbers_of(values, column)[0], dtype=np.float64)
        except ValueError:
            pass  # not numbers after all: the values are compared as text
        else:
            codes, distinct = pd.factorize(numbers, use_na_sentinel=False)
            rank = np.empty(len(distinct), dtype=np.int64)
            rank[np.argsort(distinct)] = np.arange(len(distinct))  # NaN sorts last
            return rank[codes], True, ~np.isnan(np.sort(distinct))
    first, texts = texts_of(values)
    present = present_codes(first, len(texts))
    levels = [texts[code] for code in present]
    domain = list(column.domain or ()) if column.ordered else []
    places = [len(domain) + (level is None) if level not in domain else domain.index(level) for level in levels]
    in_order = np.argsort(places, kind="stable")
    keys = [None if level is None else meaning(level) for level in levels]
    rank_of = {key: rank for rank, key in enumerate(dict.fromkeys(keys[place] for place in in_order))}
    of_text = np.zeros(len(texts), dtype=np.min_scalar_type(len(texts)))
    of_text[present] = [rank_of[key] for key in keys]
    harmless = {None, *map(meaning, column.harmless)}
    return of_text[first], bool(domain), np.array([key not in harmless for key in rank_of])


@dataclass(frozen=True, eq=False)
class ClassSpread:
    """How closely the classes pin down a numeric sensitive column, (groups,) each; missing values count as its mean.

    ``rsd``: Σ(y − ȳ_class)² / Σ(y − Ȳ)² over the class's rows, L09 (10): 0 when the class gives every value away, 1
    when its mean is no better than the table's; 0/0 = 1. ``spread``: its standard deviation over the table's.
    """

    column: str
    rsd: NDArray[np.float64]
    spread: NDArray[np.float64]


def class_spread(
    values: "pd.Series[Any]",
    column: Column,
    class_of: NDArray[np.int64],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64] | None = None,
) -> ClassSpread | None:
    """Return the spread of one numeric sensitive column; ``None`` when it is not numeric, or its values are not
    released. ``counts`` (n,): how many rows each stands for; one, when not given."""
    if column.kind is Kind.CATEGORICAL:
        return None
    try:
        numbers = np.asarray(numbers_of(values, column)[0], dtype=np.float64)
    except ValueError:
        return None
    present = ~np.isnan(numbers)
    if not present.any():
        return ClassSpread(column.name, np.ones(len(sizes)), np.ones(len(sizes)))
    scale = float(np.ptp(numbers[present])) or 1.0
    each = 1 if counts is None else counts
    mean = numbers[present].mean() if counts is None else np.average(numbers[present], weights=counts[present])
    away = np.where(present, (numbers - mean) / scale, 0.0)
    means = np.bincount(class_of, weights=away * each, minlength=len(sizes)) / sizes
    within = np.bincount(class_of, weights=(away - means[class_of]) ** 2 * each, minlength=len(sizes))
    around = np.bincount(class_of, weights=away**2 * each, minlength=len(sizes))
    whole = float(np.average(away**2, weights=counts))
    rsd = np.divide(within, around, out=np.ones(len(sizes)), where=around > 1e-12)
    spread = np.sqrt(within / sizes / whole) if whole > 0 else np.ones(len(sizes))
    return ClassSpread(column.name, np.minimum(rsd, 1.0), spread)


@dataclass(frozen=True)
class Check:
    """One figure of a release.

    ``required``: what was asked for, ``None`` when the figure is only reported; ``achieved``: what was found,
    ``None`` when it was not computed; ``passed``: ``None`` when nothing was asked for or nothing was computed (the
    sentence says why); ``worst``: where it is worst, by released cells or column; ``sentence``: the same in words.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.verification["k-anonymity"].passed
    True
    """

    name: str
    required: float | None
    achieved: float | None
    passed: bool | None
    worst: str
    sentence: str


@dataclass(frozen=True, eq=False)
class PersonCounts:
    """Persons of a release: n' rows in classes.

    ``in_class`` (classes,): different persons; at least so many when not ``exact``; ``None`` when it was not computed.
    ``of_row`` (n',): whose each row is, -1 for nobody's, where that is known, and ``largest``: the largest share of a
    class that is one person's. ``fitting`` (persons,): of each person, how many fit the boxes of all of that person's
    rows, that person among them; ``None`` when it was not computed. ``linking``: what the chance that a row is one
    person's is at most, for who knows everybody's quasi-identifiers (0 to 1); ``None`` when nothing is known of it.
    ``reason``: why something was not computed.
    """

    in_class: NDArray[np.int64] | None
    exact: bool
    of_row: NDArray[np.int64] | None
    largest: float | None
    fitting: NDArray[np.int64] | None
    reason: str = ""
    linking: float | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the models look at. ``required``: the limits, by name; ``class_of`` (n,): the class of each row; ``sizes``:
    rows of each class; ``histograms``: one a sensitive column; ``spreads``: one a numeric one; ``comparison``: the
    comparison with the original, when there is one; ``persons``: of whom the rows are, where that is not every row a
    person of its own and the original tells; ``sample``: the risk of the rows by what is known of the population,
    where that is asked for and could be told; ``counts`` (n,): how many rows each stands for, when not one;
    ``lacks``: people of the original who were left out; ``unchanged``: what unchanged columns
    find."""

    released: pd.DataFrame
    schema: Schema
    required: Limits
    class_of: NDArray[np.int64]
    sizes: NDArray[np.int64]
    histograms: tuple[ClassHistograms, ...]
    comparison: Consistency | None
    spreads: tuple[ClassSpread, ...] = ()
    persons: PersonCounts | None = None
    sample: SampleRisk | None = None
    counts: NDArray[np.int64] | None = None
    lacks: int = 0
    unchanged: tuple[Unchanged, ...] = ()

    @property
    def rows(self) -> int:
        """Number of released rows."""
        return int(self.sizes.sum())

    def where(self, group: int) -> str:
        """Return a class, by its cells."""
        return self.cells_of(int(np.argmax(self.class_of == group)))

    def cells_of(self, row: int) -> str:
        """Return the quasi-identifying cells of a released row, in words."""
        cells = self.released[list(self.schema.quasi_identifying)].iloc[row]
        return ", ".join(f"{name} {'(missing)' if pd.isna(cell) else cell}" for name, cell in cells.items())

    @property
    def smallest(self) -> int:
        """Rows in the smallest class."""
        return int(self.sizes.min())


def rows_text(count: float) -> str:
    """Return a number of rows, in words."""
    return "1 row" if count == 1 else f"{count:,.0f} rows"
