"""What two released files alone prove of promised limits besides k, on the cells that they leave together.

Rows are joined as for k (:func:`anonymizer.checking.together.bounds`): of each value of a cell so many people are there
at least, and so many at most. A cell has no more different values than can be there, and no fewer than surely are;
its entropy is at most that of equally frequent ones. Where least and most agree for all values the cell is known, and
is judged as a class; of the other limits of other cells the files say nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import (
    LEAST,
    OF_ROWS,
    CellLimit,
    Promise,
    column_figures,
    columns_of,
    keeps,
    owed_on,
    strictest,
)
from anonymizer.checking.evidence import class_histograms
from anonymizer.checking.together import Joins, ReleasedClasses, unchanged_in
from anonymizer.schema import Column, Kind, Schema

OF_VALUES = ("l", "entropy_l")
"""Limits that the number of different values bounds."""
OF_WHOLE = ("t", "rsd_min", "spread_min")
"""Limits that compare with the whole table, which files of different people do not show."""


class Pairs(NamedTuple):
    """The cells (c,) of two files, and the joins (q,) in them: the cell of each, ``which``, how many people it
    ``surely`` has and has at ``most``, and its ``value``, a place among the distinct values of the first file (v,), of
    which each is in so many of its ``rows``, one of them at the place ``first``."""

    which: NDArray[np.int64]
    surely: NDArray[np.int64]
    most: NDArray[np.int64]
    value: NDArray[np.int64]
    first: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, file: ReleasedClasses, joins: Joins, same_people: bool) -> "Pairs":
        """Return those of the joins of a ``file`` with another one."""
        one, other, i, j = joins
        width = int(other.of_class.max(initial=-1)) + 1
        which = np.unique(one.of_class[i] * width + other.of_class[j], return_inverse=True)[1]
        numbers, first, rows = np.unique(file.unchanged, return_index=True, return_counts=True)
        value = np.searchsorted(numbers, one.value[i])
        return cls(which, joins.surely(same_people), joins.most, value, first, rows.astype(np.int64))

    def people(self, of_pair: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of a number of each join over the cells (c,)."""
        return np.bincount(self.which, of_pair, int(self.which.max(initial=-1)) + 1).astype(np.int64)


def limits_of_pair(
    table: pd.DataFrame, schemas: tuple[Schema, Schema], pairs: Pairs, same_people: bool, promises: Sequence[Promise]
) -> tuple[CellLimit, ...]:
    """Return what two files prove of every promised limit. ``table``: the rows of the first; ``same_people``: both hold
    the same."""
    answers, unchanged = list[CellLimit](), unchanged_in(schemas)
    for name, column in columns_of(promises).items():
        owed = owed_on(promises, name)
        if owed and name in unchanged:
            answers += column_bounds(table[name], column, pairs, same_people, owed)
        else:
            answers += [CellLimit(limit, name, one, None, 0, None, "cannot tell") for limit, one in owed.items()]
    required = strictest(OF_ROWS, promises)
    if required is not None:
        least, most = pairs.people(pairs.surely), pairs.people(pairs.most)
        are_rows = all(schema.person is None for schema in schemas)
        good = keeps(1 / np.maximum(least, 1), OF_ROWS, required) & (least > 0) & are_rows
        fails = (least > 0) & ~keeps(1 / most, OF_ROWS, required)
        answers.append(answer_of(OF_ROWS, "", required, (least, 1 / most), fails, good, same_people))
    return tuple(answers)


def column_bounds(
    values: "pd.Series[Any]", column: Column, pairs: Pairs, same_people: bool, owed: dict[str, float]
) -> Iterator[CellLimit]:
    """Yield what the files prove of the limits on one column. ``values``: of the rows of the first file."""
    least, most = pairs.people(pairs.surely), pairs.people(pairs.most)
    distinct = values.iloc[pairs.first]
    of_pair, sure = distinct.iloc[pairs.value], pairs.surely > 0
    can_be = telling(of_pair, column, pairs.which, pairs.most, len(most))
    must_be = telling(of_pair[sure], column, pairs.which[sure], pairs.surely[sure], len(most))
    exact, own_limits = least == most, [limit for limit in owed if same_people or limit not in OF_WHOLE]
    figures = figures_where_known(distinct, column, pairs, exact, own_limits)
    nothing = np.zeros(len(most), np.bool_)
    for limit, required in owed.items():
        if limit in ("rsd_min", "spread_min") and column.kind is Kind.CATEGORICAL:
            continue
        bound = can_be.astype(np.float64) if limit in OF_VALUES else np.full(len(most), np.nan)
        fails = (must_be > 0) & ~keeps(bound, limit, required) if limit in OF_VALUES else nothing
        good = can_be == 0 if limit in OF_VALUES else nothing
        good = good | keeps(must_be.astype(np.float64), limit, required) if limit == "l" else good
        if limit in figures:
            own = keeps(figures[limit], limit, required)
            bound = np.where(exact, figures[limit], bound)
            fails, good = fails | (exact & (least > 0) & ~own), good | (exact & own)
        yield answer_of(limit, column.name, required, (least, bound), fails, good, same_people)


def answer_of(
    limit: str, column: str, required: float, cells: tuple[NDArray[np.int64], NDArray[np.float64]],
    fails: NDArray[np.bool_], good: NDArray[np.bool_], same_people: bool,
) -> CellLimit:  # fmt: skip
    """Return what comes of a limit. ``cells``: of each the least people in it, and a figure; which of them ``fails``
    and which is ``good`` for sure, (c,) each."""
    least, figures = cells
    worst = None
    if fails.any():
        worst = float(figures[fails].min() if LEAST[limit] else figures[fails].max())
    verdict = "fails" if fails.any() else "holds" if good.all() and same_people else "cannot tell"
    return CellLimit(limit, column, required, worst, int(least[fails].sum()), None, verdict, exact=False)


def telling(
    values: "pd.Series[Any]", column: Column, which: NDArray[np.int64], counts: NDArray[np.int64], n_cells: int
) -> NDArray[np.int64]:
    """Return how many different values each cell has of which somebody learns something (n_cells,). ``values``,
    ``which``, ``counts`` (q,): values in cells, and how often each is there."""
    if not len(which):
        return np.zeros(n_cells, np.int64)
    sizes = np.bincount(which, counts, n_cells).astype(np.int64)
    histograms = class_histograms(values, column, which, sizes, counts=counts)
    return np.bincount(histograms.group[histograms.tells[histograms.value]], minlength=n_cells).astype(np.int64)


def figures_where_known(
    distinct: "pd.Series[Any]", column: Column, pairs: Pairs, exact: NDArray[np.bool_], limits: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Return the figures of the cells of which all values are known, NaN of the others (c,). ``distinct``: the distinct
    values of the first file (v,). All else in it is one group more, so that the whole table is there."""
    inside = exact[pairs.which]
    rest = pairs.rows - np.bincount(pairs.value[inside], pairs.most[inside], len(pairs.rows)).astype(np.int64)
    left = np.flatnonzero(rest > 0)
    place = np.append(pairs.value[inside], left)
    counts = np.append(pairs.most[inside], rest[left])
    numbers, class_of = np.unique(np.append(pairs.which[inside], np.full(len(left), len(exact))), return_inverse=True)
    sizes = np.bincount(class_of, counts).astype(np.int64)
    of_each = column_figures(distinct.iloc[place], column, (class_of, sizes, None, counts), limits)
    answer = {}
    for limit, figures in of_each.items():
        answer[limit] = np.full(len(exact) + 1, np.nan)
        answer[limit][numbers] = figures
    return {limit: figures[:-1] for limit, figures in answer.items()}
