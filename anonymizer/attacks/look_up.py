"""Looking a person up by some values: who remains, and what they have in common.

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

from anonymizer.cells import number_of, parse_column_cell
from anonymizer.checking.linkage import equivalence_classes
from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.schema import Column, Kind, Schema
from anonymizer.values import numbers_of, share, value_text

MOST_VALUES = 10
"""Most values of a sensitive column that are listed one by one."""

MISSING_TEXT = "(missing)"


@dataclass(frozen=True)
class SensitiveValues:
    """The values of one sensitive column in the rows that remain.

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


@dataclass(frozen=True)
class Matches:
    """The rows that fit some values of a person. ``rows``: that fit, of ``of`` in all; ``classes``: how many different
    combinations of quasi-identifying cells these rows have; ``values``: as text, ``None`` for missing.

    ``chance``: of pointing at the right row by picking one of those that remain, 1 / rows.
    """

    values: Mapping[str, str | None]
    rows: int
    of: int
    classes: int
    sensitive: tuple[SensitiveValues, ...]

    @property
    def chance(self) -> float:
        """1 / rows, 0 when none remains."""
        return 1 / self.rows if self.rows else 0.0

    def sentences(self) -> tuple[str, ...]:
        """Return the same in words."""
        if not self.rows:
            return ("Nobody in the table fits these values.",)
        who = "1 row remains" if self.rows == 1 else f"{self.rows:,} of {self.of:,} rows remain"
        boxes = "1 group" if self.classes == 1 else f"{self.classes:,} groups"
        sentences = [f"{who}, in {boxes}."]
        for column in self.sensitive:
            if column.certain is not None:
                sentences.append(f"All of them have {column.column} = {column.certain}: it is disclosed.")
            elif column.values:
                value, *shares = column.values[0]
                here, overall = map(share, shares)
                sentences.append(f"{column.column} is {value} for {here} of them ({overall} of everybody).")
        return tuple(sentences)


def person(table: pd.DataFrame, schema: Schema, row: int) -> dict[str, str | None]:
    """Return the quasi-identifying values of one record as text, to begin with; ``None`` for missing.

    Raises :class:`ParameterError` when there is no such row (0-based).
    """
    if not 0 <= row < len(table):
        raise ParameterError(f"There is no row {row + 1:,} in a table of {len(table):,}.", value=row)
    values = {name: table[name].iloc[row] for name in schema.quasi_identifying}
    return {name: None if pd.isna(value) else value_text(value) for name, value in values.items()}


def look_up(frame: pd.DataFrame, schema: Schema, values: Mapping[str, str | None], *, released: bool = True) -> Matches:
    """Return who remains in a table with these values of quasi-identifiers, and their sensitive values.

    ``frame``: a release (its cells are read as cells) or, with ``released`` false, an original table (its values must
    be equal). ``values``: text of each known value, dates as 2024-05-17, ``None`` for "missing". Without
    any, everybody remains.

    Raises :class:`ParameterError` for a column that is not quasi-identifying, or a value that cannot be one of it.
    """
    fits = np.ones(len(frame), dtype=bool)
    for name, value in values.items():
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
    sensitive = tuple(
        _sensitive_values(frame[name], rows, schema[name])
        for name in schema.sensitive
        if name in frame.columns and len(rows)
    )
    return Matches(dict(values), len(rows), len(frame), classes, sensitive)


def _number(value: str | None, column: Column) -> float | None:
    """Return a value as a number, where the column holds numbers or dates."""
    if value is None or column.kind is Kind.CATEGORICAL:
        return None
    try:
        return float(column.cuts.rounded(np.array(number_of(value.strip()))))
    except AnonymizerError as error:
        form = "a number" if column.kind is Kind.NUMERIC else "a date (2024-05-17)"
        raise ParameterError(
            f"{value!r} cannot be a value of {column.name!r}.",
            column=column.name,
            value=value,
            remedy=f"Write {form}.",
        ) from error


def _cells_admit(
    values: "pd.Series[Any]", column: Column, value: str | None, number: float | None
) -> NDArray[np.bool_]:
    """Return which released cells admit a value."""
    index, texts = pd.factorize(values, use_na_sentinel=False)
    admits = [parse_column_cell(None if pd.isna(text) else str(text), column).admits(value, number) for text in texts]
    return np.asarray(np.array(admits, dtype=bool)[index])


def _values_are(values: "pd.Series[Any]", column: Column, value: str | None, number: float | None) -> NDArray[np.bool_]:
    """Return which original values equal a value."""
    if value is None:
        return np.asarray(values.isna(), dtype=bool)
    if number is not None:
        return np.asarray(np.asarray(numbers_of(values, column)[0], dtype=np.float64) == number)
    index, distinct = pd.factorize(values, use_na_sentinel=False)
    equal = [not pd.isna(other) and value_text(other) == value for other in distinct]
    return np.asarray(np.array(equal, dtype=bool)[index])


def _sensitive_values(values: "pd.Series[Any]", rows: NDArray[np.int64], column: Column) -> SensitiveValues:
    """Return the values of a sensitive column in these rows."""
    index, distinct = pd.factorize(values, use_na_sentinel=False)
    overall = np.bincount(index, minlength=len(distinct)) / len(index)
    counts = np.bincount(index[rows], minlength=len(distinct))
    texts = [MISSING_TEXT if pd.isna(value) else value_text(value) for value in distinct]
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], texts[code]))
    listed = tuple((texts[code], float(counts[code] / len(rows)), float(overall[code])) for code in order[:MOST_VALUES])
    here = everywhere = None
    if column.kind is not Kind.CATEGORICAL:
        numbers = np.asarray(numbers_of(values, column)[0], dtype=np.float64)
        here, everywhere = _ends(numbers[rows]), _ends(numbers)
    certain = listed[0][0] if len(order) == 1 else None
    return SensitiveValues(column.name, column.kind, listed, len(order), certain, here, everywhere)


def _ends(numbers: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """Return the lowest, middle and highest number, ``None`` without any."""
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return None
    return float(present.min()), float(np.median(present)), float(present.max())
