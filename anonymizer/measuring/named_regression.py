"""A regression that the steward names, such as ``income ~ age + sex``, on the original and on its release.

The target is a number (linear regression, by weighted least squares) or a level against all others (logistic
regression, by weighted maximum likelihood): of two levels the rarer one, of more the one that is named, as in
``job=clerk ~ age``. A number is a term in its own unit; levels are one term each but the most frequent one, and those
with too few rows count together, as in :mod:`anonymizer.measuring.coefficients`. Rows without a number that is needed
are left out, by the part of the cell that is missing.

Of a release a regression sees a value of each row that is drawn from its box, as in
:mod:`anonymizer.measuring.coefficients`. Standard errors are by linearization for the sampling design of the rows
(Binder 1983), so weights, strata and households count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.growing.encode import Encoding, encode_column
from anonymizer.growing.threads import one_thread
from anonymizer.measuring.boxed import BoxedTable, Values, values_after, values_before
from anonymizer.measuring.coefficients import DRAWS, FEWEST, Design, Term, independent, linear, logistic, terms_of_codes
from anonymizer.population.estimates import Compared, Estimate, Floats, Rows, Sampling, estimate
from anonymizer.schema import Kind, Schema

EXAMPLE = "income ~ age + sex"
QUOTE = "`"
"""Stands around a column whose name holds ``+``, ``~`` or ``=``."""


@dataclass(frozen=True)
class Formula:
    """What is regressed: the ``target``, of levels the one (``level``) against all others, ``None`` where it is not
    said; and the ``predictors``."""

    target: str
    level: str | None
    predictors: tuple[str, ...]


def formula_from(text: str, names: Sequence[str]) -> Formula:
    """Return what a text such as ``income ~ age + sex`` names. ``names``: the columns that can be named.

    Raises :class:`ParameterError` for another form, an unknown column, or one that is named twice.
    """
    sides = _split(text, "~")
    if len(sides) != 2 or not all(sides):
        raise ParameterError(
            f"The regression {text[:80]!r} has no target and predictors.", value=text, remedy=f"Write it as {EXAMPLE}."
        )
    target, level = _bare(sides[0]), None
    if target not in names and len(parts := _split(sides[0], "=")) > 1:
        target, level = _bare(parts[0]), _bare("=".join(parts[1:]))
    predictors = tuple(_bare(part) for part in _split(sides[1], "+"))
    for place, name in enumerate((target, *predictors)):
        if name not in names:
            raise ParameterError(
                f"The regression names {name[:80]!r}, which is no column of numbers or levels that leaves.",
                column=name,
                remedy=f"Choose among: {', '.join(names)}; write {QUOTE}a+b{QUOTE} for a name with a sign in it.",
            )
        if name in (target, *predictors)[:place]:
            raise ParameterError(f"The regression names {name!r} twice.", column=name, remedy="Name it once.")
    return Formula(target, level, predictors)


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that stand outside quotes."""
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == QUOTE
        if letter == sign and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _bare(name: str) -> str:
    name = name.strip()
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == QUOTE else name


@dataclass(frozen=True)
class NamedRegression:
    """A regression before and after. ``formula``: as the steward wrote it; ``target``: what is regressed, in words;
    ``is_logistic``: odds of a level, not a number. ``terms``: each coefficient before and after, the constant first;
    NaN after where the release cannot estimate it."""

    formula: str
    target: str
    is_logistic: bool
    terms: tuple[Compared, ...]

    @property
    def model(self) -> str:
        """The name of what is fitted, in words."""
        return f"{'logistic' if self.is_logistic else 'linear'} regression"

    @property
    def overlaps(self) -> tuple[float, ...]:
        """The overlap of each coefficient but the constant, 0 to 1; 0 where the release cannot estimate it."""
        return tuple(float(np.nan_to_num(term.overlap)) for term in self.terms[1:])

    @property
    def mean_overlap(self) -> float:
        """The mean overlap of the coefficients but the constant, 0 to 1."""
        return float(np.mean(self.overlaps))

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "formula": self.formula,
            "model": self.model,
            "target": self.target,
            "mean_interval_overlap": self.mean_overlap,
            "coefficients": [term.to_dict() for term in self.terms],
        }


def regressable(schema: Schema) -> tuple[str, ...]:
    """Return the columns that a regression can name: numbers and levels that leave."""
    return tuple(name for name in schema.released if schema[name].kind is not Kind.DATE)


def named_regression(
    text: str, table: pd.DataFrame, schema: Schema, boxed: BoxedTable, sampling: Sampling
) -> NamedRegression:
    """Return a regression on the original and on its release. Raises :class:`ParameterError` for a text that names
    none, and for one that cannot be estimated on the original."""
    formula = formula_from(text, regressable(schema))
    target = values_before(table, schema[formula.target])
    level, words = None, formula.target
    if not target.is_number:
        level = _level_of(formula, target)
        words = f"{formula.target} = {target.levels[level]}"
    elif formula.level is not None:
        raise ParameterError(
            f"{formula.target!r} has numbers, so no level of it can be named.",
            column=formula.target,
            remedy=f"Write it as {formula.target} ~ {formula.predictors[0]}.",
        )
    response = None if level is None else target.shares[target.of_row, level]
    columns = [_Predictor.of(table, schema, name, response) for name in formula.predictors]
    before = _fit(target, level, [one.before for one in columns], columns, sampling, None)
    if before is None:
        raise ParameterError(
            f"The regression {text[:80]!r} cannot be estimated on the original.",
            value=text,
            remedy=f"Name predictors that vary, with at least {FEWEST} rows for each term and for the target.",
        )
    records, draws = np.flatnonzero(boxed.box >= 0), np.random.default_rng(DRAWS)
    read = [values_after(boxed, one.before, records, draws) for one in columns]
    later = sampling.of(records)
    after = _fit(values_after(boxed, target, records, draws), level, read, columns, later, before.places)
    names = [("(constant)", ""), *(name for one in columns for name in one.names)]
    nothing = Estimate(*[float("nan")] * 4)
    second = {} if after is None else after.estimates
    terms = (
        Compared("coefficient", *names[place], first, second.get(place, nothing))
        for place, first in before.estimates.items()
    )
    return NamedRegression(text, words, level is not None, tuple(terms))


def _level_of(formula: Formula, target: Values) -> int:
    """Return which level of the target is regressed against all others."""
    rows = np.bincount(target.of_row, minlength=len(target.levels) + 1)[:-1]
    if formula.level is not None and formula.level in target.levels:
        return target.levels.index(formula.level)
    there = np.flatnonzero(rows)
    if formula.level is None and len(there) == 2:
        return int(there[np.argmin(rows[there])])
    names = ", ".join(target.levels[place] for place in np.argsort(-rows, kind="stable")[:10])
    raise ParameterError(
        f"{formula.target!r} has {len(there):,} levels, so one of them has to be named."
        if formula.level is None
        else f"{formula.target!r} has no level {formula.level[:80]!r}.",
        column=formula.target,
        remedy=f"Write {formula.target}=LEVEL ~ …, with one of: {names}.",
    )


@dataclass(frozen=True, eq=False)
class _Predictor:
    """A predictor: ``before``, what the original says; ``names`` (terms,): of its terms, column and level; ``term``
    (levels + 1,): of each level and of "missing", 0 for none; ``low``, ``width``: numbers are scaled by, and back."""

    before: Values
    names: tuple[tuple[str, str], ...]
    term: Rows
    low: float = 0.0
    width: float = 1.0

    @classmethod
    def of(cls, table: pd.DataFrame, schema: Schema, name: str, response: Floats | None) -> "_Predictor":
        before = values_before(table, schema[name])
        if before.is_number:
            numbers = before.number[before.present > 0]
            low, width = (numbers.min(), np.ptp(numbers)) if len(numbers) else (0.0, 0.0)
            return cls(before, ((name, ""),), np.empty(0, np.int64), float(low), float(width) or 1.0)
        codes, encoding, _ = encode_column(table[name], schema[name])
        of_code = terms_of_codes(encoding, codes, response)
        term = np.append(of_code[: len(before.levels)], of_code[-1] if encoding.missing else 0)
        return cls(before, _names(name, encoding, term), term)

    def read(self, values: Values) -> Term:
        """Return the terms of what cells say of the column."""
        if values.is_number:
            return Term(((values.number - self.low) / self.width)[:, None], values.of_row)
        terms = np.zeros((len(values.shares), len(self.names)))
        for place, term in enumerate(self.term.tolist()):
            if term:
                terms[:, term - 1] += values.shares[:, place]
        return Term(terms, values.of_row)


def _names(name: str, encoding: Encoding, term: Rows) -> tuple[tuple[str, str], ...]:
    """Return the column and the level of each term of a column of levels."""
    words = []
    for number in range(1, int(term.max(initial=0)) + 1):
        places = np.flatnonzero(term == number)
        text = encoding.text(int(places[0])) or "missing"
        words.append((name, text if len(places) == 1 else f"{len(places):,} others"))
    return tuple(words)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The coefficients that could be estimated, by their ``places`` among all terms."""

    places: Rows
    estimates: dict[int, Estimate]


def _fit(
    target: Values, level: int | None, read: Sequence[Values], columns: Sequence[_Predictor], sampling: Sampling,
    places: Rows | None,
) -> _Fitted | None:  # fmt: skip
    """Return the coefficients of some rows in the columns' own units; of all terms that do not follow from others, or
    of those of ``places``. ``None`` where there is no estimate."""
    present = np.ones(len(sampling.weights))
    for values in (target, *read):
        if values.is_number:
            present *= values.present[values.of_row]
    weights = sampling.weights * present
    response = (target.number if level is None else target.shares[:, level])[target.of_row]
    rows = np.flatnonzero(weights)
    terms = [one.read(values) for one, values in zip(columns, read, strict=True)]
    if not len(rows) or (level is not None and not 0 < response[rows].mean() < 1):
        return None
    # Weights of mean 1, so that what counts as converged does not depend on their size.
    design = Design([Term(term.values, term.of_row[rows]) for term in terms], weights[rows] / weights[rows].mean())
    with one_thread():
        gram = design.gram()
        places = np.arange(len(gram)) if places is None else places
        places = places[independent(gram[np.ix_(places, places)])]
        if len(rows) < FEWEST * len(places) or len(places) < 2:
            return None
        model = linear if level is None else logistic
        solution, _ = model(design, places, response[rows], np.zeros(len(places)))
        if np.isnan(solution).any():
            return None
        parts = _parts(design, places, response[rows], solution, level is not None)
    back = _back(columns, len(gram))[np.ix_(places, places)]
    whole = np.zeros((len(weights), len(places)))
    whole[rows] = parts @ back.T
    freedom = max(1, sampling.freedom - len(places) + 1)
    errors = np.sqrt(np.diag(sampling.covariance(whole)))
    pairs = zip(places.tolist(), back @ solution, errors, strict=True)
    return _Fitted(places, {place: estimate(value, error, freedom) for place, value, error in pairs})


def _parts(design: Design, places: Rows, response: Floats, solution: Floats, is_logistic: bool) -> Floats:
    """Return what each row contributes to the linearized coefficients, (rows, m)."""
    from scipy.special import expit

    information = np.zeros((len(places), len(places)))
    parts = np.empty((len(response), len(places)))
    for some, x in design.blocks():
        terms, weights = x[:, places], design.weights[some]
        guess = terms @ solution
        guess, slope = (expit(guess), expit(guess) * expit(-guess)) if is_logistic else (guess, np.ones(len(guess)))
        information += (terms.T * (weights * slope)) @ terms
        parts[some] = terms * (weights * (response[some] - guess))[:, None]
    return np.asarray(parts @ np.linalg.inv(information))


def _back(columns: Sequence[_Predictor], count: int) -> NDArray[np.float64]:
    """Return the matrix that makes coefficients of scaled terms those of terms in their own units, (terms, terms)."""
    back = np.eye(count)
    place = 1
    for one in columns:
        if one.before.is_number:
            back[place, place] = 1 / one.width
            back[0, place] = -one.low / one.width
        place += len(one.names)
    return back
