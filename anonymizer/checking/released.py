"""A released table as cells: the distinct cells of a column are read once and handed to whatever asks for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell, is_number, parse_column_cell
from anonymizer.errors import SchemaError
from anonymizer.schema import Schema
from anonymizer.values import look_up, value_text


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """One released column: its distinct ``cells``, how they are written (``texts``, ``None`` for nothing; () when they
    were not read), and the place among them of each row's (n,), ``index``."""

    cells: tuple[Cell, ...]
    index: NDArray[np.integer[Any]]
    texts: tuple[str | None, ...] = ()


def read_cells(released: pd.DataFrame, schema: Schema) -> dict[str, ColumnCells]:
    """Return the cells of each quasi-identifier.

    Raises :class:`SchemaError` when one is not in the release, and :class:`CellError` for a text that is no cell.
    """
    columns = {}
    for name in schema.quasi_identifying:
        require_column(released, name, "release")
        index, texts = texts_of(released[name])
        cells = tuple(parse_column_cell(text, schema[name]) for text in texts)
        columns[name] = ColumnCells(cells, index, tuple(texts))
    return columns


def is_plain(text: str) -> bool:
    """Return whether a number or date is written as :func:`anonymizer.values.value_text` writes it."""
    if not is_number(text):
        return value_text(np.datetime64(text, "us")) == text
    return text == value_text(float(text)) or (text.lstrip("-").isdecimal() and text == str(int(text)))


def require_column(table: pd.DataFrame, name: str, what: str) -> None:
    """Raise :class:`SchemaError` when a quasi-identifier is not in a table; ``what``: which table that is."""
    if name not in table.columns:
        raise SchemaError(
            f"The {what} has no column {name!r}, which is quasi-identifying.",
            column=name,
            remedy="Compare a release with the table it was made from, under the same schema.",
        )


def texts_of(values: "pd.Series[Any]") -> tuple[NDArray[np.signedinteger], list[str | None]]:
    """Return codes (n,) and the distinct texts of a column; ``None`` is missing, the last when there is any."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, distinct = values.array.codes, list(values.cat.categories)
    else:
        factorized, uniques = pd.factorize(values)
        codes, distinct = factorized.astype(np.min_scalar_type(-len(uniques) - 1)), list(uniques)
    rank: dict[str | None, int] = {}
    place = [rank.setdefault(value_text(value), len(rank)) for value in distinct]
    if codes.min(initial=0) < 0:
        rank[None] = len(rank)
    elif len(rank) == len(place):  # every value is written in its own way
        return codes, list(rank)
    lookup = np.array([*place, len(rank) - 1], dtype=np.min_scalar_type(-len(rank) - 1))
    return look_up(lookup, codes), list(rank)
