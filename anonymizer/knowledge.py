"""What if somebody knew this about a person: who remains, and what would be learnt of them.

The attacker knows some quasi-identifying values of one person, who may be made up, and looks for the rows that they
fit: in the original or in a release. What all of these rows have in common is known from then on; the more one value
prevails among them, the safer a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import number_of, parse_cell
from anonymizer.encode import EncodedTable, numbers_of, value_text
from anonymizer.errors import AnonymizerError, GuaranteeError, ParameterError
from anonymizer.generalize import generalize
from anonymizer.grouping import group, grow_by, recipe_of
from anonymizer.limits import Limits
from anonymizer.linkage import equivalence_classes
from anonymizer.release import Release
from anonymizer.risk import annotate
from anonymizer.schema import Column, Kind, Schema

MOST_VALUES = 10
"""Most values of a sensitive column that are told one by one."""

MISSING_TEXT = "(missing)"


@dataclass(frozen=True)
class Learnt:
    """What the rows that remain say about one sensitive column.

    ``values``: the most frequent values among them, as text, with their share there and in the whole table (0 to 1),
    the most frequent first. ``certain``: the one value that all have, ``None`` when there are several. Of numbers and
    dates also the lowest, middle (median) and highest value of these rows and of the whole table, in the column's
    numbers (dates: microseconds since 1970), ``None`` where all are missing.
    """

    column: str
    kind: Kind
    values: tuple[tuple[str, float, float], ...]
    distinct: int
    certain: str | None
    here: tuple[float, float, float] | None
    everywhere: tuple[float, float, float] | None

    @property
    def guess(self) -> float:
        """How often guessing the most frequent value is right among these rows (0 to 1)."""
        return self.values[0][1] if self.values else 0.0

    @property
    def guess_blind(self) -> float:
        """How often the same guess is right in the whole table (0 to 1)."""
        return self.values[0][2] if self.values else 0.0


@dataclass(frozen=True)
class Knowledge:
    """Who remains when some values are known. ``rows``: that fit, of ``of`` in all; ``classes``: how many different
    combinations of quasi-identifying cells these rows have; ``known``: the values, as text, ``None`` for missing.

    ``chance``: of pointing at the right row by picking one of those that remain, 1 / rows; 0 when none remains.
    """

    known: Mapping[str, str | None]
    rows: int
    of: int
    classes: int
    learnt: tuple[Learnt, ...]

    @property
    def chance(self) -> float:
        return 1 / self.rows if self.rows else 0.0

    def sentences(self) -> tuple[str, ...]:
        """The same in words."""
        if not self.rows:
            return ("Nobody in the table fits these values.",)
        who = "1 person remains" if self.rows == 1 else f"{self.rows:,} of {self.of:,} people remain"
        boxes = "1 group" if self.classes == 1 else f"{self.classes:,} groups"
        said = [f"{who}, in {boxes} of look-alikes."]
        for learnt in self.learnt:
            if learnt.certain is not None:
                said.append(f"All of them have {learnt.column} = {learnt.certain}: it is disclosed.")
            elif learnt.values:
                value, share, overall = learnt.values[0]
                said.append(f"{learnt.column} is {value} for {share:.0%} of them ({overall:.0%} of everybody).")
        return tuple(said)


def person(table: pd.DataFrame, schema: Schema, row: int) -> dict[str, str | None]:
    """The quasi-identifying values of one record as text, to begin with; ``None`` for missing.

    Raises :class:`ParameterError` when there is no such row (0-based).
    """
    if not 0 <= row < len(table):
        raise ParameterError(f"There is no row {row + 1:,} in a table of {len(table):,}.", value=row)
    values = {name: table[name].iloc[row] for name in schema.quasi_identifying}
    return {name: None if pd.isna(value) else value_text(value) for name, value in values.items()}


def look_up(
    frame: pd.DataFrame, schema: Schema, known: Mapping[str, str | None], *, released: bool = True
) -> Knowledge:
    """Who remains in a table when these values of quasi-identifiers are known, and what is learnt of them.

    ``frame``: a release (its cells are read as cells) or, with ``released`` false, an original table (its values must
    be equal). ``known``: text of each known value, dates as 2024-05-17, ``None`` for "missing". When
    nothing is known, everybody remains.

    Raises :class:`ParameterError` for a column that is not quasi-identifying, or a value that cannot be one of it.
    """
    fits = np.ones(len(frame), dtype=bool)
    for name, value in known.items():
        if name not in schema.quasi_identifying or name not in frame.columns:
            raise ParameterError(
                f"{name!r} is not a quasi-identifying column of this table.",
                column=name,
                remedy="Choose among: " + ", ".join(schema.quasi_identifying) + ".",
            )
        number = _number(value, schema[name])
        admits = _cells_admit if released else _values_are
        fits &= admits(frame[name], schema[name], value, number)
    rows = np.flatnonzero(fits)
    classes = equivalence_classes(frame.iloc[rows], schema.quasi_identifying)[1] if len(rows) else 0
    learnt = tuple(
        _learnt(frame[name], rows, schema[name]) for name in schema.sensitive if name in frame.columns and len(rows)
    )
    return Knowledge(dict(known), len(rows), len(frame), classes, learnt)


def _number(value: str | None, column: Column) -> float | None:
    """A known value as a number, where the column holds numbers or dates."""
    if value is None or column.kind is Kind.CATEGORICAL:
        return None
    try:
        return number_of(value.strip())
    except AnonymizerError as error:
        wanted = "a number" if column.kind is Kind.NUMERIC else "a date (2024-05-17)"
        raise ParameterError(
            f"{value!r} cannot be a value of {column.name!r}.",
            column=column.name,
            value=value,
            remedy=f"Write {wanted}.",
        ) from error


def _cells_admit(
    values: "pd.Series[Any]", column: Column, value: str | None, number: float | None
) -> NDArray[np.bool_]:
    index, texts = pd.factorize(values, use_na_sentinel=False)
    admitted = [parse_cell(None if pd.isna(text) else str(text), column.kind).admits(value, number) for text in texts]
    return np.asarray(np.array(admitted, dtype=bool)[index])


def _values_are(values: "pd.Series[Any]", column: Column, value: str | None, number: float | None) -> NDArray[np.bool_]:
    if value is None:
        return np.asarray(values.isna(), dtype=bool)
    if number is not None:
        return np.asarray(np.asarray(numbers_of(values, column)[0], dtype=np.float64) == number)
    index, distinct = pd.factorize(values, use_na_sentinel=False)
    equal = [not pd.isna(other) and value_text(other) == value for other in distinct]
    return np.asarray(np.array(equal, dtype=bool)[index])


def _learnt(values: "pd.Series[Any]", rows: NDArray[np.int64], column: Column) -> Learnt:
    index, distinct = pd.factorize(values, use_na_sentinel=False)
    overall = np.bincount(index, minlength=len(distinct)) / len(index)
    counts = np.bincount(index[rows], minlength=len(distinct))
    texts = [MISSING_TEXT if pd.isna(value) else value_text(value) for value in distinct]
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], texts[code]))
    told = tuple((texts[code], float(counts[code] / len(rows)), float(overall[code])) for code in order[:MOST_VALUES])
    here = everywhere = None
    if column.kind is not Kind.CATEGORICAL:
        numbers = np.asarray(numbers_of(values, column)[0], dtype=np.float64)
        here, everywhere = _ends(numbers[rows]), _ends(numbers)
    certain = told[0][0] if len(order) == 1 else None
    return Learnt(column.name, column.kind, told, len(order), certain, here, everywhere)


def _ends(numbers: NDArray[np.float64]) -> tuple[float, float, float] | None:
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return None
    return float(present.min()), float(np.median(present)), float(present.max())


def release_for(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    parameters: Mapping[str, Any],
    rng: np.random.Generator | None = None,
) -> Release:
    """The release that a scenario would make, not yet checked: to look at, not to give away.

    ``parameters``: as :func:`anonymizer.pipeline.anonymize` takes them; others are ignored. Raises
    :class:`GuaranteeError` when they cannot be satisfied, and whatever its steps raise.
    """
    growth = {name: parameters[name] for name in ("criterion", "min_leaf", "max_depth", "weight") if name in parameters}
    limits = Limits(**{name: parameters[name] for name in Limits.__dataclass_fields__ if name in parameters})
    grouping = parameters.get("grouping", "least")
    tree = grow_by(recipe_of(grouping, limits.k, **growth), encoded)
    pruning = group(tree, annotate(tree, encoded), encoded, grouping, limits)
    if not pruning.satisfied:
        raise GuaranteeError("This scenario cannot be satisfied by this table.", remedy="Relax a limit, or lower k.")
    return generalize(
        table,
        schema,
        encoded,
        pruning,
        method=parameters.get("generalizer", "uniform"),
        k=limits.k,
        writing=parameters.get("writing", "sets"),
        numbers=parameters.get("numbers", "range"),
        limits=limits,
        rng=rng,
    )
