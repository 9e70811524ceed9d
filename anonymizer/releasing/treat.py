"""Columns that are released without a box, treated: see :mod:`anonymizer.treatments`."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.growing.encode import persons_of
from anonymizer.schema import Column, Kind, Schema
from anonymizer.treatments import TREATMENTS, About, parts_of
from anonymizer.values import numbers_of, value_text


def treated_table(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return the table in which columns are treated as the schema says; the same one where none is.

    Raises :class:`EncodeError` for numbers and dates that are none.
    """
    columns = [column for column in schema.columns if column.treat and column.name in table]
    if not columns:
        return table
    person = persons_of(table, schema)[0]
    return table.assign(**{column.name: treated(table[column.name], column, person) for column in columns})


def treated(
    values: "pd.Series[Any]", column: Column, person: NDArray[np.integer[Any]] | None = None
) -> "pd.Series[Any]":
    """Return the values of a column, treated (n,); missing stays missing. ``person`` (n,): whose each record is."""
    name, number = parts_of(column.treat)
    if column.kind is Kind.CATEGORICAL:
        codes, distinct = pd.factorize(values.map(value_text, na_action="ignore").astype(object))
        plain = np.asarray(distinct, dtype=object)
    else:
        numbers, restore = numbers_of(values, column)
        codes, distinct = pd.factorize(numbers)
        plain = np.asarray(restore(np.asarray(distinct)))
    about = About(number, persons_with(codes, len(plain), person), column.cuts.hierarchy)
    cells = pd.Series(TREATMENTS[name].apply(plain, about))
    return pd.Series(cells.reindex(codes).array, index=values.index, name=values.name)


def persons_with(
    codes: NDArray[np.integer[Any]], distinct: int, person: NDArray[np.integer[Any]] | None
) -> NDArray[np.int64]:
    """Return how many persons have each value (d,); a record of nobody's is a person of its own."""
    pairs = pd.DataFrame({"value": codes, "person": np.arange(len(codes)) if person is None else person})
    once = pairs[(pairs["value"] >= 0) & ((pairs["person"] < 0) | ~pairs.duplicated())]
    return np.bincount(once["value"], minlength=distinct).astype(np.int64)
