"""From a released table back to weighted records that a regression can take.

L14 proposes it for concatenated releases: a person who is ``unskilled:4+technical:1`` counts as 0.8 of an unskilled and
0.2 of a technical one.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell, parse_column_cell
from anonymizer.errors import ParameterError
from anonymizer.schema import Column, Kind, Schema

MAX_ROWS = 20_000_000
"""Most weighted records that are made."""


def expand(
    released: pd.DataFrame, schema: Schema, *, columns: Sequence[str] | None = None, weight: str = "weight"
) -> pd.DataFrame:
    """Return one row for each combination of the levels that a released row leaves open, with the share that it counts.

    ``columns``: the quasi-identifiers to expand, all by default; the others stay text. ``weight``: the name of the
    new column. The weights of a released row add up to 1, so weighted totals are numbers of people.

    A weighted concatenation divides by its counts. A set or an unweighted concatenation says nothing about shares, so
    its members share equally, "missing" being one of them. Withheld: the levels that the schema declares, equally, or
    missing where it declares none. A number is itself, an interval its middle, one that is open its end, a mean or
    median that number; dates alike.

    >>> table = pd.DataFrame({"job": ["unskilled:4+technical:1"], "age": ["[30, 40]"], "income": [52.0]})
    >>> schema = Schema.of(
    ...     table, quasi_identifying=["job", "age"], sensitive=["income"], kinds={"age": "numeric"}
    ... )
    >>> expand(table, schema)
             job   age  income  weight
    0  unskilled  35.0    52.0     0.8
    1  technical  35.0    52.0     0.2

    Raises :class:`ParameterError` for an unknown column, a name that is taken, or more than :data:`MAX_ROWS` rows, and
    :class:`CellError` for a cell that cannot be read.
    """
    names = list(schema.quasi_identifying if columns is None else columns)
    unknown = [name for name in names if name not in schema.quasi_identifying or name not in released.columns]
    if unknown:
        raise ParameterError(
            f"{unknown[0]!r} is not a quasi-identifying column of the release.",
            column=unknown[0],
            remedy="Choose among: " + ", ".join(schema.quasi_identifying) + ".",
        )
    if weight in released.columns:
        raise ParameterError(f"The release already has a column {weight!r}.", remedy="Name the weights differently.")
    options = [_options(released[name], schema, name) for name in names]
    rows = np.ones(len(released))
    for index, starts, _, _ in options:
        rows *= np.diff(starts)[index]
    if rows.sum() > MAX_ROWS:
        raise ParameterError(
            f"These cells leave {rows.sum():,.0f} combinations open, more than {MAX_ROWS:,}.",
            remedy="Expand fewer columns.",
        )
    row, share = np.arange(len(released)), np.ones(len(released))
    choices: list[NDArray[Any]] = []
    for index, starts, _, shares in options:
        cell = index[row]
        count = np.diff(starts)[cell]
        first = np.repeat(starts[cell] - (np.cumsum(count) - count), count)
        option = first + np.arange(len(first))
        row, share = np.repeat(row, count), np.repeat(share, count) * shares[option]
        choices = [np.repeat(before, count) for before in choices] + [option]
    expansion = released.take(row).reset_index(drop=True)
    for name, (_, _, values, _), option in zip(names, options, choices, strict=True):
        expansion[name] = values.take(option).reset_index(drop=True)
    return expansion.assign(**{weight: share})


def _options(
    column: "pd.Series[Any]", schema: Schema, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], "pd.Series[Any]", NDArray[np.float64]]:
    """Return the distinct cell of each row, where each cell's options start, all options, and their shares."""
    kind = schema[name].kind
    index, texts = pd.factorize(column.astype(object), use_na_sentinel=False)
    cells = [parse_column_cell(None if pd.isna(text) else str(text), schema[name]) for text in texts]
    options = [possible(cell, schema[name]) for cell in cells]
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in options])]).astype(np.int64)
    flat = [value for values, _ in options for value in values]
    shares = np.array([share for _, shares in options for share in shares])
    if kind is Kind.NUMERIC:
        return index, starts, pd.Series(flat, dtype=np.float64), shares
    if kind is Kind.DATE:
        moments = [np.datetime64("NaT") if value is None else np.datetime64(round(value), "us") for value in flat]
        return index, starts, pd.Series(np.array(moments, dtype="datetime64[us]")), shares
    return index, starts, pd.Series(flat, dtype="str"), shares


def middle_of(cell: Cell) -> float:
    """Return the middle of a cell of numbers or dates; of one that is open, the end that it has."""
    assert cell.low is not None
    assert cell.high is not None
    ends = [end for end in (cell.low, cell.high) if math.isfinite(end)]
    return ends[0] / 2 + ends[-1] / 2


def possible(cell: Cell, column: Column) -> tuple[list[Any], list[float]]:
    """Return the values that a cell leaves open, ``None`` for missing, and the share of each; shares add up to 1."""
    if cell.withheld:
        values: list[Any] = list(column.domain) if column.domain and column.kind is Kind.CATEGORICAL else [None]
    elif cell.low is not None and cell.high is not None:
        values = [middle_of(cell)] + [None] * cell.missing
    else:
        values = [*cell.levels] + [None] * cell.missing
    counts = cell.counts or (1,) * len(values)
    return values, [count / sum(counts) for count in counts]
