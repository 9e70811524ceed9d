"""The means of attackers on released cells: counting whom a description fits, looking people up, and models.

How often they are right is counted here; what is attacked, and what it means, stands in
:mod:`anonymizer.studies.attack`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.outcome import Inference, Rate
from anonymizer.cells import Cell, parse_column_cell
from anonymizer.checking.linkage import equivalence_classes
from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.measuring.predict import cell_of, classify, features_of, regress
from anonymizer.measuring.utility import mape
from anonymizer.releasing.grid import Grid
from anonymizer.schema import Column, Kind, Schema
from anonymizer.values import numbers_of, value_text

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NEAR = 0.1
"""A guessed number counts as right within this share of the column's standard deviation."""

MOST_FEATURES = 100_000_000
"""Most numbers that a model is shown."""

FITS_AT_ONCE = 4_000_000
"""People times classes of rows that are compared at a time."""


@dataclass(frozen=True, eq=False)
class ExactColumn:
    """One column as it was: the value of each person (n,)."""

    value: Rows

    @classmethod
    def of(cls, values: "pd.Series[Any]", column: Column) -> "ExactColumn":
        """Return the codes of a column's values."""
        return cls(pd.factorize(comparable(values, column), use_na_sentinel=False)[0].astype(np.int64))

    def people_in(self, row: int) -> NDArray[np.bool_]:
        """Return (n,) who has the value of this row."""
        return np.asarray(self.value == self.value[row])


@dataclass(frozen=True, eq=False)
class CellColumn:
    """One released column: the cell of each row, and which people each cell admits.

    ``of_row`` (n,); ``low``, ``high``, ``missing``: of each cell, for numbers and dates, whose values are ``value``
    (n,), NaN for missing. ``levels``: (cells, levels) which levels each cell admits, the code of each person's level
    being ``value``. Where ends and levels are public, ``grid`` and ``group`` (levels,) tell what they stand for.
    """

    of_row: Rows
    value: NDArray[Any]
    low: Floats
    high: Floats
    missing: NDArray[np.bool_]
    levels: NDArray[np.bool_] | None = None
    grid: Grid | None = None
    group: Rows | None = None

    @classmethod
    def of(
        cls, published: "pd.Series[Any]", original: "pd.Series[Any]", column: Column,
        public: Grid | Mapping[str, int] | None = None,
    ) -> "CellColumn":  # fmt: skip
        """Return the cells of a released column beside the people's values in the original. ``public``: what ends and
        levels stand for, see :func:`anonymizer.releasing.grid.public_parts`."""
        codes, texts = pd.factorize(published.astype(object), use_na_sentinel=False)
        cells = [parse_column_cell(None if pd.isna(text) else str(text), column) for text in texts]
        of_row = np.asarray(codes, dtype=np.int64)
        values = comparable(original, column)
        ends = np.array([ends_of(cell) for cell in cells], dtype=np.float64)
        missing = np.array([cell.missing or cell.withheld for cell in cells], dtype=bool)
        if column.kind is not Kind.CATEGORICAL:
            grid = public if isinstance(public, Grid) else None
            return cls(of_row, values, ends[:, 0], ends[:, 1], missing, grid=grid)
        person, distinct = pd.factorize(values, use_na_sentinel=False)
        absent = np.asarray(pd.isna(distinct), dtype=bool)
        place = {text: code for code, text in enumerate(distinct) if not absent[code]}
        levels = np.zeros((len(cells), len(distinct)), dtype=bool)
        for row, cell in zip(levels, cells, strict=True):
            row[[place[level] for level in cell.levels if level in place]] = True
            row |= absent & cell.missing | cell.withheld
        groups = public if isinstance(public, Mapping) else {}
        group = pd.factorize(np.array([str(groups.get(text, text)) for text in distinct], dtype=object))[0]
        value = np.asarray(person, dtype=np.int64)
        return cls(of_row, value, ends[:, 0], ends[:, 1], missing, levels, group=group.astype(np.int64))

    def people_in(self, row: int) -> NDArray[np.bool_]:
        """Return (n,) whom the cell of this row admits."""
        cell = self.of_row[row]
        if self.levels is not None:
            return np.asarray(self.levels[cell][self.value])
        inside = (self.value >= self.low[cell]) & (self.value <= self.high[cell])
        return np.asarray(inside | np.isnan(self.value) if self.missing[cell] else inside)

    def says_of(self, row: int, rng: np.random.Generator) -> NDArray[np.bool_] | None:
        """Return (n,) whom one end, or one level, of the cell of this row speaks of, drawn by ``rng``; ``None`` of a
        cell that shows no two of them."""
        cell = self.of_row[row]
        if self.levels is not None and self.group is not None:
            items = np.unique(self.group[self.levels[cell]])
            return np.asarray(self.group[self.value] == rng.choice(items)) if len(items) > 1 else None
        low, high = self.low[cell], self.high[cell]
        if self.grid is not None:
            low, high = self.grid.closed(np.array(low), np.array(high))
        items = np.unique([end for end in (low, high) if np.isfinite(end)])
        if len(items) and self.missing[cell]:
            items = np.append(items, np.nan)
        if len(items) < 2:
            return None
        end = rng.choice(items)
        if np.isnan(end):
            return np.asarray(np.isnan(self.value))
        if self.grid is None:
            return np.asarray(self.value == end)
        step = int(self.grid.cells(np.array([end]))[0])
        return np.asarray((self.value >= self.grid.low[step]) & (self.value <= self.grid.high[step]))

    def admits(self, cells: Rows, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values (v,) each of these cells (c,) admits, (c, v): as :meth:`anonymizer.cells.Cell.admits`."""
        if self.levels is not None:
            return np.asarray(self.levels[cells][:, values])
        inside = (values >= self.low[cells][:, None]) & (values <= self.high[cells][:, None])
        return np.asarray(inside | (np.isnan(values) & self.missing[cells][:, None]))


def ends_of(cell: Cell) -> tuple[float, float]:
    """Return the numbers that a cell admits, from and to; from infinity to its opposite: none."""
    if cell.withheld or cell.estimate:
        return -math.inf, math.inf
    return (math.inf, -math.inf) if cell.low is None or cell.high is None else (cell.low, cell.high)


def comparable(values: "pd.Series[Any]", column: Column) -> NDArray[Any]:
    """Return values as numbers, NaN for missing; levels as text, ``None`` for missing."""
    if column.kind is not Kind.CATEGORICAL:
        return np.asarray(numbers_of(values, column)[0], dtype=np.float64)
    codes, distinct = pd.factorize(values.astype(object), use_na_sentinel=False)
    texts = np.array([None if pd.isna(value) else value_text(value) for value in distinct], dtype=object)
    return np.asarray(texts[codes])


def count_matches(columns: Mapping[str, ExactColumn | CellColumn], row: int, subset: list[str]) -> int:
    """Return the number of people who satisfy the cells of a published row in some columns."""
    fits = columns[subset[0]].people_in(row)
    for name in subset[1:]:
        fits = fits & columns[name].people_in(row)
    return int(np.count_nonzero(fits))


def count_pointed_at(columns: Mapping[str, CellColumn], row: int, rng: np.random.Generator) -> int:
    """Return the number of people who fit all cells of a published row, and of whom one of its ends or levels speaks,
    which ``rng`` draws."""
    names = list(columns)
    words = (columns[names[place]].says_of(row, rng) for place in rng.permutation(len(names)))
    fits = next((people for people in words if people is not None), np.ones(1, np.bool_))
    for column in columns.values():
        fits = fits & column.people_in(row)
    return int(np.count_nonzero(fits))


class Lookup:
    """Some people, the look-alikes of each in the original, and the classes of released rows that fit each."""

    def __init__(
        self,
        table: pd.DataFrame,
        released: pd.DataFrame,
        names: list[str],
        cells: Mapping[str, CellColumn],
        people: Rows,
    ) -> None:
        self.people, self.cells = people, cells
        self.class_of_person, self.persons = equivalence_classes(table, names)
        self.class_of_row, groups = equivalence_classes(released, names)
        self.sizes = np.bincount(self.class_of_row, minlength=groups)
        self.first = np.unique(self.class_of_row, return_index=True)[1]

    def chunks(self) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        """Yield some people at a time: which of them, and which classes fit them (classes, people)."""
        room = max(1, FITS_AT_ONCE // len(self.sizes))
        for start in range(0, len(self.people), room):
            part = slice(start, start + room)
            fits: NDArray[np.bool_] = np.ones((len(self.sizes), len(self.people[part])), dtype=bool)
            for column in self.cells.values():
                fits &= column.admits(column.of_row[self.first], column.value[self.people[part]])
            yield part, fits

    def links(self) -> tuple[Rate, Rate]:
        """Return the expected number of people whose own row is picked from those that fit them, before and after."""
        own = np.bincount(self.class_of_person)[self.class_of_person[self.people]]
        right = 0.0
        for _, fits in self.chunks():
            rows = self.sizes @ fits
            right += float((1 / rows[rows > 0]).sum())
        return Rate(float((1 / own).sum()), len(self.people)), Rate(right, len(self.people))

    def most_frequent(self, codes_before: Rows, codes_after: Rows, values: int) -> tuple[Rows, Rows]:
        """Return each person's most frequent code (0 to values − 1) among the look-alikes, before and after."""
        before = _histogram(self.class_of_person, codes_before, self.persons, values)
        exact = before[self.class_of_person[self.people]].argmax(axis=1)
        after = np.empty(len(self.people), dtype=np.int64)
        histogram = _histogram(self.class_of_row, codes_after, len(self.sizes), values)
        for part, fits in self.chunks():
            after[part] = (fits.T.astype(np.float64) @ histogram).argmax(axis=1)
        return exact, after

    def mean(self, values_before: Floats, values_after: Floats) -> tuple[Floats, Floats]:
        """Return each person's mean value among the look-alikes, before and after; NaN counts nowhere."""
        sums, counts = _sums(self.class_of_person, values_before, self.persons)
        at = self.class_of_person[self.people]
        exact = np.divide(sums[at], counts[at], out=np.full(len(at), np.nan), where=counts[at] > 0)
        after = np.full(len(at), np.nan)
        sums, counts = _sums(self.class_of_row, values_after, len(self.sizes))
        for part, fits in self.chunks():
            total, number = sums @ fits, counts @ fits
            after[part] = np.divide(total, number, out=after[part].copy(), where=number > 0)
        return exact, after


def _histogram(group: Rows, code: Rows, groups: int, values: int) -> Floats:
    """Return (groups, values) records of each group with each code."""
    if groups * values > MOST_FEATURES:
        raise ParameterError(
            f"{values:,} different values in {groups:,} groups are too many to count.",
            remedy="Attack a sample of the rows.",
        )
    return np.bincount(group * values + code, minlength=groups * values).reshape(groups, values).astype(np.float64)


def _sums(group: Rows, values: Floats, groups: int) -> tuple[Floats, Floats]:
    """Return the sum of the values of each group and their number, missing ones left out."""
    present = ~np.isnan(values)
    sums = np.bincount(group[present], values[present], minlength=groups).astype(np.float64)
    return sums, np.bincount(group[present], minlength=groups).astype(np.float64)


class Learners:
    """The features of models: boxes of the release and the exact values of people."""

    def __init__(self, encoded: EncodedTable, released: pd.DataFrame, schema: Schema) -> None:
        self.box_of_row, boxes = equivalence_classes(released, schema.quasi_identifying)
        self.box_of_person, exact = _exact_boxes(encoded)
        width = sum(2 if encoding.is_interval else encoding.n_codes for encoding in encoded.encodings)
        if width * (boxes + len(exact)) > MOST_FEATURES:
            raise ParameterError(
                f"A model would see {width:,} features of {boxes + len(exact):,} boxes: too many.",
                remedy="Attack a sample of the rows, or make columns with very many levels coarser.",
            )
        first = released.iloc[np.unique(self.box_of_row, return_index=True)[1]]
        encodings = encoded.encodings
        self.published = np.concatenate([_features(first[e.name], schema[e.name], e) for e in encodings], axis=1)
        values = [np.array([features_of(cell_of(code, e), e) for code in range(e.n_codes)]) for e in encodings]
        self.own = np.concatenate([of_code[exact[:, j]] for j, of_code in enumerate(values)], axis=1)


def guess(
    original: "pd.Series[Any]",
    published: "pd.Series[Any]",
    column: Column,
    learners: Learners,
    lookup: Lookup,
) -> Inference:
    """Return how well models and look-alikes of the original and of the release guess a sensitive value of people."""
    by_kind = _guess_class if column.kind is Kind.CATEGORICAL else _guess_number
    return by_kind(original, published, column, learners, lookup)


def _guess_class(
    original: "pd.Series[Any]", published: "pd.Series[Any]", column: Column, learners: Learners, lookup: Lookup
) -> Inference:
    """Return how well a class is guessed."""
    people = lookup.people
    both = np.concatenate([comparable(original, column), comparable(published, column)])
    codes, distinct = pd.factorize(both, use_na_sentinel=False)
    truth, release = codes[: len(original)], codes[len(original) :]
    test = learners.own[learners.box_of_person[people]]
    guesses = (
        classify(learners.own, learners.box_of_person, truth, test),
        classify(learners.published, learners.box_of_row, release, test),
        *lookup.most_frequent(truth, release, len(distinct)),
        np.full(len(people), np.bincount(release).argmax()),
    )
    rates = [Rate(int((guess == truth[people]).sum()), len(people)) for guess in guesses]
    return Inference(column.name, (rates[0], rates[1]), (rates[2], rates[3]), rates[4])


def _guess_number(
    original: "pd.Series[Any]", published: "pd.Series[Any]", column: Column, learners: Learners, lookup: Lookup
) -> Inference:
    """Return how well a number is guessed."""
    people = lookup.people
    truth, release = comparable(original, column), comparable(published, column)
    has_value = ~np.isnan(truth[people])
    true = truth[people][has_value]
    present, offered = ~np.isnan(truth), ~np.isnan(release)
    if not len(true) or not offered.any():
        nothing = Rate(0, 0)
        return Inference(column.name, (nothing, nothing), (nothing, nothing), nothing)
    test = learners.own[learners.box_of_person[people]][has_value]
    by_model = (
        _stronger(learners.own, learners.box_of_person[present], truth[present], test, true),
        _stronger(learners.published, learners.box_of_row[offered], release[offered], test, true),
    )
    by_mean = [guess[has_value] for guess in lookup.mean(truth, release)]
    blind = np.full(len(true), release[offered].mean())
    near = NEAR * float(truth[present].std())
    rates = [Rate(int((np.abs(guess - true) <= near).sum()), len(true)) for guess in (*by_model, *by_mean, blind)]
    errors = None
    if column.kind is Kind.NUMERIC:
        before, after, without = (mape(true, guess)[0] for guess in (*by_model, blind))
        errors = before, after, without
    return Inference(column.name, (rates[0], rates[1]), (rates[2], rates[3]), rates[4], errors)


def _exact_boxes(encoded: EncodedTable) -> tuple[Rows, NDArray[Any]]:
    """Return which distinct record each person is (n,), and the distinct records in codes (d, p)."""
    distinct, index = np.unique(encoded.codes.matrix(), axis=0, return_inverse=True)
    return index.reshape(-1).astype(np.int64), distinct


def _features(values: "pd.Series[Any]", column: Column, encoding: Encoding) -> Floats:
    """Return the features of the cells of a column, (rows, features)."""
    codes, texts = pd.factorize(values.astype(object), use_na_sentinel=False)
    cells = [parse_column_cell(None if pd.isna(text) else str(text), column) for text in texts]
    return np.asarray(np.array([features_of(cell, encoding) for cell in cells])[codes])


def _stronger(features: Floats, box: Rows, values: Floats, test: Floats, truth: Floats) -> Floats:
    """Return the guesses of linear regression or of a regression tree, whichever is closer to the truth: the worse
    case.
    """
    linear, tree = regress(features, box, values[:, None], test)
    errors = [float(((guess[:, 0] - truth) ** 2).sum()) for guess in (linear, tree)]
    return np.asarray(linear[:, 0] if errors[0] < errors[1] else tree[:, 0])
