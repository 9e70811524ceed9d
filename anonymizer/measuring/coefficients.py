"""Whether a regression on the release says what it says on the original: how many coefficients lie in the original's
95% intervals.

The target is regressed on the quasi-identifiers, all at once. A number: linear regression by least squares, with the
usual standard errors and Student's t. Classes: logistic regression by maximum likelihood, with Wald's intervals, of one
of two classes, or of each of the :data:`MOST_CLASSES` most frequent ones against the rest. A number or date is one
term, as a share of its domain; "missing" is one more. Levels are one term each but the most frequent one; those with
fewer than :data:`FEWEST` people (of a class: in it or out of it), and all beyond :data:`MOST_LEVELS`, count together.

Of a release a regression sees a value of each row that is drawn from its box, by the shares that the box is read with;
middles and shares themselves are nobody's values, and coefficients of them are far off. The draws are the same each
time. Terms that follow from those before them are left out; a coefficient that the release cannot estimate does not
agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.linkage import LookAlikes, classes_of
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.threads import one_thread
from anonymizer.measuring.bins import Bins
from anonymizer.measuring.boxed import BoxedColumn, BoxedTable, pick
from anonymizer.measuring.predict import cell_of, features_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

CONFIDENCE = 0.95
DRAWS = 0
"""Seed of the values that are drawn from boxes."""
FEWEST = 10
"""People for a term of its own; also, for each term of a regression."""
MOST_CLASSES = 5
MOST_LEVELS = 12

_BLOCK = 1 << 14
_MOST_STEPS = 50
_LONGEST_STEP = 5.0


class Term(NamedTuple):
    """What one column contributes to a regression: its ``values`` (cells, terms), and which cell each row has."""

    values: Floats
    of_row: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Fit:
    """A regression of the original, of m terms, the constant first.

    ``response`` (n,); ``term_of_code``: for each quasi-identifier the term of each code, see :func:`terms_of_codes`;
    ``places`` (m,): where its terms stand among all; ``estimate``, ``low``, ``high`` (m,): the coefficients and the
    ends of their intervals; ``error`` (m,): their standard errors.
    """

    response: Floats
    term_of_code: tuple[Rows, ...]
    places: Rows
    estimate: Floats
    low: Floats
    high: Floats
    error: Floats


@dataclass(frozen=True, eq=False)
class Regression:
    """The regressions of the original on all quasi-identifiers: of a number, one; of classes (``logistic``), one each.
    ``target``: the column that is predicted."""

    target: str
    logistic: bool
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class Agreement:
    """Of how many ``coefficients`` of the original that of the release is ``inside`` its 95% interval; ``distance``:
    the median distance of the two in standard errors of the original, ``None`` where the release estimates none."""

    target: str
    logistic: bool
    coefficients: int
    inside: int
    distance: float | None = None

    @property
    def share(self) -> float:
        """The share that is inside, 0 to 1."""
        return self.inside / self.coefficients

    @property
    def model(self) -> str:
        """The name of what is fitted, in words."""
        return f"{'logistic' if self.logistic else 'linear'} regression"

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "model": self.model,
            "target": self.target,
            "coefficients": self.coefficients,
            "inside_interval_of_original": self.inside,
            "share": self.share,
            "median_distance_in_standard_errors": self.distance,
            "confidence": CONFIDENCE,
        }


def regression_of(encoded: EncodedTable, target: str | None) -> Regression | None:
    """Return the regressions of the target of a table; ``None`` without one, or where there are too few people."""
    keys = [(codes, e.n_codes) for codes, e in zip(encoded.codes.columns, encoded.encodings, strict=True)]
    alike = classes_of(keys, encoded.n_records)
    with one_thread():
        fits = tuple(
            fit for response in _responses(encoded, target) if (fit := _fit_of(encoded, alike, response)) is not None
        )
    return Regression(target, not encoded.by_numbers, fits) if fits and target is not None else None


def agreement(regression: Regression, boxed: BoxedTable) -> Agreement:
    """Return how many coefficients of the boxes lie in the intervals of the records that are in them."""
    there = boxed.box >= 0  # who was left out is in no regression of the release
    rows, distances, inside = draw(boxed, boxed.box[there]), [], []
    with one_thread():
        for fit in regression.fits:
            estimate = _estimate(fit, boxed, rows, there, regression.logistic)
            inside.append(((fit.low <= estimate) & (estimate <= fit.high))[1:])
            distances.append((np.abs(estimate - fit.estimate) / fit.error)[1:])
    off = np.concatenate(distances)
    distance = float(np.median(off[np.isfinite(off)])) if np.isfinite(off).any() else None
    return Agreement(regression.target, regression.logistic, len(off), int(np.concatenate(inside).sum()), distance)


def draw(boxed: BoxedTable, box: Rows) -> list[Rows | Floats]:
    """Return for each column what is drawn of each of n records: a code, or a number as a share of the domain and NaN
    for missing. ``box`` (n,): of each record."""
    draws = np.random.default_rng(DRAWS)
    columns: list[Rows | Floats] = []
    for column in boxed.columns:
        reading = boxed.readings.get(column.encoding.name)
        if column.encoding.is_interval:
            low, high = column.encoding.domain
            numbers = np.clip(column.draw_numbers(box, reading, draws), low, high)
            columns.append((numbers - low) / (high - low) if high > low else numbers - low)
        else:
            shares, of_box = column.levels(reading)
            columns.append(pick(shares, of_box[box], draws))
    return columns


def _estimate(
    fit: Fit, boxed: BoxedTable, rows: Sequence[Rows | Floats], there: NDArray[np.bool_], is_logistic: bool
) -> Floats:
    """Return the coefficients of a regression on rows that were drawn (m,), NaN where they say nothing of one."""
    terms = []
    for column, of_code, values in zip(boxed.columns, fit.term_of_code, rows, strict=True):
        count = int(of_code.max(initial=0)) + 1
        if column.encoding.is_interval:
            missing = np.isnan(values)
            both = np.column_stack([np.where(missing, 0.5, values), missing])
            terms.append(Term(both[:, :count], np.arange(len(values))))
        else:
            terms.append(Term(np.eye(count)[:, 1:], of_code[values]))
    design = Design(terms, np.ones(len(rows[0])))
    places = independent(design.gram()[np.ix_(fit.places, fit.places)])
    estimate = np.full(len(fit.places), np.nan)
    model = logistic if is_logistic else linear
    estimate[places] = model(design, fit.places[places], fit.response[there], fit.estimate[places])[0]
    return estimate


class Design:
    """The weighted rows of a regression: a constant, then the terms of every column; made some rows at a time. A row
    stands for records that are alike, and ``within`` is the squared error of their responses from its own."""

    def __init__(self, terms: Sequence[Term], weights: Floats, within: float = 0.0) -> None:
        self.terms, self.weights, self.within = terms, weights, within

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Return some rows at a time, and all of their terms (rows, terms)."""
        for first in range(0, len(self.weights), _BLOCK):
            some = slice(first, first + _BLOCK)
            constant = np.ones((len(self.weights[some]), 1))
            yield some, np.concatenate([constant, *(values[of_row[some]] for values, of_row in self.terms)], axis=1)

    def gram(self) -> Floats:
        """Return the products of all terms (terms, terms), added up over the rows by their weights."""
        return np.asarray(sum((x.T * self.weights[some]) @ x for some, x in self.blocks()))


def independent(gram: Floats) -> Rows:
    """Return the positions of the terms that do not follow from those before them. ``gram``: the products of all."""
    rest = gram.copy()
    places = []
    for place in range(len(gram)):
        left = rest[place, place]
        if left > 1e-9 * gram[place, place]:
            rest -= np.outer(rest[:, place], rest[place]) / left
            places.append(place)
    return np.array(places, dtype=np.int64)


def linear(design: Design, places: Rows, response: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of some terms by least squares, and the squares of their standard errors; ``start`` is
    not needed."""
    gram = design.gram()[np.ix_(places, places)]
    products = sum(x[:, places].T @ (design.weights[some] * response[some]) for some, x in design.blocks())
    estimate = np.linalg.solve(gram, np.asarray(products))
    squares = design.within + sum(
        float(design.weights[some] @ (response[some] - x[:, places] @ estimate) ** 2) for some, x in design.blocks()
    )
    freedom = max(design.weights.sum() - len(places), 1.0)
    return estimate, squares / freedom * np.diag(np.linalg.inv(gram))


def logistic(design: Design, places: Rows, response: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of some terms by maximum likelihood, and the squares of their standard errors (the
    inverse information); NaN where there is no maximum. ``response``: shares of a class, 0 to 1; ``start``: where
    Newton's method begins."""
    from scipy.special import expit

    estimate = start.copy()
    for _ in range(_MOST_STEPS):
        slope, information = np.zeros(len(places)), np.zeros((len(places), len(places)))
        for some, x in design.blocks():
            terms, weights = x[:, places], design.weights[some]
            share = expit(terms @ estimate)
            slope += terms.T @ (weights * (response[some] - share))
            information += (terms.T * (weights * share * (1 - share))) @ terms
        try:
            inverse = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            break
        step = inverse @ slope
        estimate += step / max(1.0, np.abs(step).max() / _LONGEST_STEP)
        if slope @ step < 1e-12 * design.weights.sum():
            return estimate, np.diag(inverse)
    nothing = np.full(len(places), np.nan)
    return nothing, nothing


def _responses(encoded: EncodedTable, target: str | None) -> Iterator[Floats]:
    """Return what is regressed: the target's numbers, or each class as ones and zeros."""
    if encoded.by_numbers and encoded.numeric is not None and target is not None:
        yield encoded.numeric.values[:, encoded.numeric.names.index(target)]
    elif encoded.target.name:
        records = np.bincount(encoded.target.codes)
        frequent = np.argsort(-records, kind="stable")[: np.count_nonzero(records)]
        for code in frequent[1:] if len(frequent) <= 2 else frequent[:MOST_CLASSES]:
            yield (encoded.target.codes == code).astype(np.float64)


def _fit_of(encoded: EncodedTable, alike: LookAlikes, response: Floats) -> Fit | None:
    """Return the regression of a response (n,) on what identifies; ``None`` where there are too few people. ``alike``:
    records with the same codes, which stand in one row of the regression."""
    n = len(response)
    few = not encoded.by_numbers and min(response.sum(), n - response.sum()) < FEWEST
    if few or np.ptp(response) == 0:
        return None
    first = alike.first
    sums = np.asarray(np.bincount(alike.class_of, response), dtype=np.float64)
    mean = sums / alike.sizes
    of_code, terms = [], []
    for position, encoding in enumerate(encoded.encodings):
        codes = encoded.codes.columns[position][first]
        cells = [cell_of(code, encoding) for code in range(encoding.n_codes)]
        of_code.append(terms_of_codes(encoding, codes, None if encoded.by_numbers else sums, alike.sizes))
        terms.append(_term(BoxedColumn(encoding, cells, codes), of_code[-1]))
    design = Design(terms, alike.sizes.astype(np.float64), float(((response - mean[alike.class_of]) ** 2).sum()))
    places = independent(design.gram())
    if len(places) < 2 or n < FEWEST * len(places):
        return None
    model: Callable[..., tuple[Floats, Floats]] = linear if encoded.by_numbers else logistic
    estimate, variance = model(design, places, mean, np.zeros(len(places)))
    if np.isnan(estimate).any():
        return None
    error = np.sqrt(variance)
    reach = _reach(n - len(places) if encoded.by_numbers else None) * error
    return Fit(response, tuple(of_code), places, estimate, estimate - reach, estimate + reach, error)


def terms_of_codes(
    encoding: Encoding, codes: NDArray[np.integer], response: Floats | None, records: Rows | None = None
) -> Rows:
    """Return the term of each code (codes,) of a column; of numbers 0, and 1 for "missing".

    Levels: 0 is the most frequent one; a level with too few people shares the last term with the others of its kind,
    and where all of them together are too few, term 0. ``response``: how many of each row are of a class; ``None`` for
    numbers. ``records``: how many each row stands for; one, when not given.
    """
    people = np.bincount(codes, records, encoding.n_codes).astype(np.int64)
    least = people
    if response is not None:
        of_class = np.bincount(codes, response, encoding.n_codes)
        least = np.minimum(of_class, people - of_class)
    if encoding.is_interval:
        return np.where(np.arange(encoding.n_codes) < len(encoding.labels), 0, least >= FEWEST).astype(np.int64)
    frequent = np.argsort(-people, kind="stable")
    alone = [code for code in frequent[1:] if least[code] >= FEWEST][: MOST_LEVELS - 1]
    term = np.zeros(encoding.n_codes, dtype=np.int64)
    term[alone] = np.arange(1, len(alone) + 1)
    others = np.setdiff1d(frequent[1:], alone)
    enough = people[others].sum() >= FEWEST
    if response is not None:
        in_class = of_class[others].sum()
        enough = min(in_class, people[others].sum() - in_class) >= FEWEST
    term[others] = (len(alone) + 1) * enough
    return term


def _term(column: BoxedColumn, of_code: Rows) -> Term:
    count = int(of_code.max(initial=0)) + 1
    if column.encoding.is_interval:
        features = np.array([features_of(cell, column.encoding) for cell in column.cells]).reshape(-1, 2)
        return Term(features[:, :count], column.of_box)
    return Term(Bins(column.encoding, None, of_code, count).shares(column.cells)[:, 1:], column.of_box)


def _reach(freedom: int | None) -> float:
    """Return how many standard errors an interval reaches to either side; ``freedom``: degrees of Student's t."""
    from scipy.special import ndtri, stdtrit

    tail = (1 + CONFIDENCE) / 2
    return float(ndtri(tail) if freedom is None else stdtrit(freedom, tail))
