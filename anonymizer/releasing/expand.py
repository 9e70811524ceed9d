"""From a released table back to records that a regression can take, weighted or drawn.

L14 proposes it for concatenated releases: a person who is ``unskilled:4+technical:1`` counts as 0.8 of an unskilled and
0.2 of a technical one. Beside the one-way tables of its packet a release is read as :mod:`anonymizer.releasing.raking`
says; by itself evenly.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell, parse_column_cell
from anonymizer.errors import ParameterError
from anonymizer.releasing.one_way_file import BOXES, OneWayFiles, ReadingInFile
from anonymizer.schema import Column, Kind, Schema

MAX_ROWS = 20_000_000
"""Most weighted records that are made."""


def expand(
    released: pd.DataFrame, schema: Schema, *, columns: Sequence[str] | None = None, weight: str = "weight",
    tables: OneWayFiles | None = None, draws: int | None = None, rng: np.random.Generator | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return one row for each combination of the values that a released row leaves open, with the share that it counts.

    ``columns``: the quasi-identifiers to expand, all by default; the others stay text. ``weight``: the name of the
    new column. The weights of a released row add up to 1, so weighted totals are numbers of people. ``draws``: instead
    of all combinations, draw this many for each row, by their shares; ``rng``: by which they are drawn.

    A weighted concatenation divides by its counts. ``tables``: the files ``one_way.csv`` and ``boxes.csv`` of the
    packet, which say how the values of all other cells share; an atom of numbers counts as its middle, or what is drawn
    lies evenly in it. Without them, members of a set share equally, "missing" being one of them; a withheld cell is the
    levels that the schema declares, equally, or missing where it declares none; an interval counts as its middle, or as
    its end where it is open. A number is itself, a mean or median that number; dates alike.

    >>> import anonymizer as an, pandas as pd
    >>> table = pd.DataFrame({"job": ["unskilled:4+technical:1"], "age": ["[30, 40]"], "income": [52.0]})
    >>> roles = {"quasi_identifying": ["job", "age"], "sensitive": ["income"]}
    >>> schema = an.Schema.of(table, **roles, kinds={"age": "numeric"})
    >>> an.expand(table, schema)
             job   age  income  weight
    0  unskilled  35.0    52.0     0.8
    1  technical  35.0    52.0     0.2

    Raises :class:`ParameterError` for an unknown column, a name that is taken, tables of another release, or more than
    :data:`MAX_ROWS` rows, and :class:`CellError` for a cell that cannot be read.
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
    readings = {} if tables is None else tables.readings(schema)
    alike = released.groupby(list(schema.quasi_identifying), dropna=False, sort=False)
    sizes = alike[names[:1]].transform("size").to_numpy(np.int64) if readings and names else np.empty(0, np.int64)
    options = [
        _options_of_boxes(released[name], schema[name], sizes, readings[name])
        if name in readings
        else _options(released[name], schema[name])
        for name in names
    ]
    if draws is not None:
        if draws < 1:
            raise ParameterError(f"{draws:,} draws are none.", value=draws, remedy="Draw 1 or more.")
        row = np.repeat(np.arange(len(released)), draws)
        share, rng = np.full(len(row), 1 / draws), rng or np.random.default_rng()
        values = [one.draw(row, rng) for one in options]
    else:
        row, share, choices = _combinations(len(released), options)
        values = [one.middles[choice] for one, choice in zip(options, choices, strict=True)]
    expansion = released.take(row).reset_index(drop=True)
    for name, own in zip(names, values, strict=True):
        expansion[name] = _column(own, schema[name].kind)
    return expansion.assign(**{weight: share})


class Options(NamedTuple):
    """What the cells of a column leave open: ``kind`` (n,): of each row; ``starts`` (kinds + 1,): where the options of
    a kind start; ``shares``, ``middles`` (m,): of each option, a level, a number or missing; of numbers
    ``low``, ``high`` and the ``gap`` between whole ones."""

    kind: NDArray[np.integer]
    starts: NDArray[np.int64]
    shares: NDArray[np.float64]
    middles: NDArray[Any]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    gap: float = 0.0

    def draw(self, row: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return a value for each of some rows (n',)."""
        first, last = self.starts[self.kind[row]], self.starts[self.kind[row] + 1]
        ends = np.append(0.0, np.cumsum(self.shares))
        at = ends[first] + rng.random(len(row)) * (ends[last] - ends[first])
        option = np.clip(np.searchsorted(ends, at, "right") - 1, first, last - 1)
        if self.low is None or self.high is None:
            return np.asarray(self.middles[option])
        low, wide, places = self.low[option], (self.high - self.low)[option], rng.random(len(row))
        if self.gap:
            return np.asarray(low + self.gap * np.floor(places * (np.round(wide / self.gap) + 1)))
        return np.asarray(low + places * wide)


def _combinations(
    n: int, options: Sequence[Options]
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[NDArray[np.int64]]]:
    """Return the row of each combination, its share, and the option of each column in it."""
    rows = np.ones(n)
    for one in options:
        rows *= np.diff(one.starts)[one.kind]
    if rows.sum() > MAX_ROWS:
        raise ParameterError(
            f"These cells leave {rows.sum():,.0f} combinations open, more than {MAX_ROWS:,}.",
            remedy="Expand fewer columns, or draw some: draws=10.",
        )
    row, share = np.arange(n), np.ones(n)
    choices: list[NDArray[np.int64]] = []
    for one in options:
        kind = one.kind[row]
        count = np.diff(one.starts)[kind]
        first = np.repeat(one.starts[kind] - (np.cumsum(count) - count), count)
        option = first + np.arange(len(first))
        row, share = np.repeat(row, count), np.repeat(share, count) * one.shares[option]
        choices = [np.repeat(before, count) for before in choices] + [option]
    return row, share, choices


def _options(column: "pd.Series[Any]", variable: Column) -> Options:
    """Return what cells leave open, each kind of row a distinct cell, read evenly."""
    index, texts = pd.factorize(column.astype(object), use_na_sentinel=False)
    cells = [parse_column_cell(None if pd.isna(text) else str(text), variable) for text in texts]
    options = [possible(cell, variable) for cell in cells]
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in options])]).astype(np.int64)
    flat = np.array([value for values, _ in options for value in values], dtype=object)
    return Options(index, starts, np.array([share for _, shares in options for share in shares]), flat)


def _options_of_boxes(
    column: "pd.Series[Any]", variable: Column, sizes: NDArray[np.integer], file: ReadingInFile
) -> Options:
    """Return what boxes leave open, each kind of row a kind of box. ``sizes`` (n,): the records of each row's box."""
    texts = ["" if pd.isna(text) else str(text) for text in column]
    pairs = list(zip(texts, sizes.tolist(), strict=True))
    if unknown := next((pair for pair in pairs if pair not in file.kind_of), None):
        raise ParameterError(
            f"{BOXES} has no box of {unknown[1]:,} rows with such a cell in column {variable.name!r}.",
            column=variable.name,
            remedy="Use the table and the files of one packet.",
        )
    index, reading = np.array([file.kind_of[pair] for pair in pairs], np.int64), file.reading
    shares, atoms = reading.shares, reading.atoms
    if atoms.levels:
        return Options(index, shares.indptr, shares.data, np.array([*atoms.levels, None], object)[shares.indices])
    low, high = (np.append(ends, np.nan)[shares.indices] for ends in atoms.finite)
    for (text, _), kind in file.kind_of.items():
        if (cell := parse_column_cell(text or None, variable)).estimate and cell.low is not None:
            own = slice(*shares.indptr[kind : kind + 2])
            low[own] = high[own] = np.where(np.isnan(low[own]), np.nan, cell.low)
    return Options(index, shares.indptr, shares.data, low / 2 + high / 2, low, high, atoms.gap)


def _column(values: NDArray[Any], kind: Kind) -> "pd.Series[Any]":
    if kind is Kind.CATEGORICAL:
        return pd.Series(values, dtype="str")
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    if kind is Kind.NUMERIC:
        return pd.Series(numbers)
    moments = np.where(np.isnan(numbers), np.iinfo(np.int64).min, np.nan_to_num(numbers).round()).astype(np.int64)
    return pd.Series(moments.astype("datetime64[us]"))


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
