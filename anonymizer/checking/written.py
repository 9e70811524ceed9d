"""Whether cells are written as was said: on the declared grid, in the way that levels and numbers are written."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, parse_column_cell
from anonymizer.checking.released import texts_of
from anonymizer.errors import CellError
from anonymizer.json_value import short_text
from anonymizer.schema import Column, Kind, Schema
from anonymizer.values import value_text

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
DAY = 86_400_000_000
"""Microseconds."""
ESTIMATES = ("mean", "median")
SETS = ("sets", "groups")


def written_otherwise(rows: pd.DataFrame, schema: Schema, settings: Mapping[str, Any]) -> list[str]:
    """Return how cells of quasi-identifiers are not written as was said, a sentence for each column.

    ``settings``: those of the run, by name, as far as they are known: "numbers", "writing". Cells that cannot be read
    are passed over: the check of cells names them.
    """
    sentences = []
    for name in (name for name in schema.quasi_identifying if name in rows.columns):
        column, cells = schema[name], {}
        for text in texts_of(rows[name])[1]:
            with suppress(CellError):
                cells[text] = parse_column_cell(text, column)
        levels = set(map(str, column.domain or ())) or {level for cell in cells.values() for level in cell.levels}
        for text, cell in cells.items():
            if problem := _problem(cell, column, levels, settings):
                sentences.append(f"Cells of column {name!r} are not as was said: {short_text(text)} {problem}.")
                break
    return sentences


def _problem(cell: Cell, column: Column, levels: set[str], settings: Mapping[str, Any]) -> str:
    """Return what is wrong with how a cell is written; "" where nothing is. ``levels``: those that the column has."""
    numbers, writing = settings.get("numbers"), settings.get("writing")
    if cell.estimate and numbers is not None and numbers not in ESTIMATES:
        return f"is a mean or median, and numbers are written as {numbers}"
    several = len(cell.levels) + cell.missing > 1 and column.cuts.hierarchy is None
    way = ("weighted",) if cell.counts else ("concatenate",) if cell.joined else SETS if several else ()
    if way and writing is not None and column.kind is Kind.CATEGORICAL and writing not in way:
        return f"is not how levels are written as {writing}"
    if writing == "groups" and several and column.groups is not None:
        inside = set(cell.levels)
        if any(inside & set(group) and (set(group) & levels) - inside for group in column.groups):
            return "is not made of whole public groups"
    on_grid = numbers in (None, "public") and column.grid is not None and not column.cuts and cell.ends is not None
    return "does not end where the declared grid does" if on_grid and not _on_grid(cell, column) else ""


def _on_grid(cell: Cell, column: Column) -> bool:
    """Return whether an interval begins where a cell of the declared grid does, or ends one before the next begins; or
    where the domain ends."""
    assert cell.low is not None
    assert cell.high is not None
    unit = float(DAY) if column.kind is Kind.DATE else 1.0
    texts = [value_text(pd.Timestamp(end) if column.kind is Kind.DATE else end) for end in column.domain or ()]
    domain = [parse_column_cell(text, column).low for text in texts]
    low = cell.low in domain or _on_line(cell.low, column)
    return low and (cell.high in domain or _on_line(cell.high, column) or _on_line(cell.high + unit, column))


def _on_line(end: float, column: Column) -> bool:
    """Return whether a number is a multiple of the step from the origin, or a moment the first of a day, week, month,
    quarter, year or decade."""
    assert column.grid is not None
    if not np.isfinite(end):
        return False
    step, origin = column.grid
    if not isinstance(step, str):
        nearest = origin + np.round((end - origin) / step) * step
        return bool(abs(nearest - end) <= 1e-9 * max(1.0, abs(end), step))
    day, rest = divmod(int(end), DAY)
    moment = np.datetime64(day, "D")
    month = moment.astype("datetime64[M]")
    if rest or step == "day":
        return not rest
    of_month = bool(month.astype("datetime64[D]") == moment)
    if step == "week":  # outermost cells end with a month
        return of_month or (day + 3) % 7 == 0
    return of_month and int(month.astype(np.int64)) % MONTHS[step] == 0
