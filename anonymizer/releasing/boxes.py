"""Boxes of records, and the cells that say what a box holds: ranges, means, sets, concatenations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.errors import EncodeError
from anonymizer.growing.encode import Encoding
from anonymizer.releasing.grid import Grid
from anonymizer.releasing.release import ReleasedColumn
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Column, Kind
from anonymizer.values import distinct_numbers, levels_of, numbers_of, value_text

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of parts first, then one for every record that some part shares.

    ``of_record`` (n,): the record's box; ``box_part``: the own part of each of the latter; the pairs (q,): a shared
    record, the part that shares it, the record's box.
    """

    n: int
    of_record: NDArray[np.int64]
    parts: Parts
    pair_box: NDArray[np.int64]
    box_part: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Parts) -> "Boxes":
        shared, which = np.unique(parts.shared_record, return_inverse=True)
        of_record = parts.part
        if len(shared):
            of_record = of_record.copy()
            of_record[shared] = parts.n_parts + np.arange(len(shared))
        return cls(parts.n_parts + len(shared), of_record, parts, parts.n_parts + which, parts.part[shared])

    def arguments(self) -> tuple[Integers, Integers, Integers, Integers, Integers]:
        """Return the arrays that say which boxes hold a record, as the kernels of hulls take them."""
        return self.parts.part, self.parts.shared_record, self.parts.shared_part, self.pair_box, self.box_part


def interval_cells(
    values: "pd.Series[Any]",
    column: Column,
    codes: NDArray[Any],
    encoding: Encoding,
    boxes: Boxes,
    numbers: str,
    grid: Grid | None = None,
) -> tuple[tuple[Cell, ...], NDArray[np.int64], tuple[str, ...]]:
    """Return the distinct cells of a numeric or date column, the cell of every box, and the domain as text.

    ``numbers``: "public" (from end to end of the ``grid``), "range", "mean" or "median". A box with one value says that
    value unless its ends are public. The domain as text is the declared one, that of the grid, or of the ranges.
    """
    from anonymizer.releasing import tier_kernels

    labels, exact = encoding.labels, encoding.low
    if np.any(encoding.low < encoding.high):
        numbers_of_rows, restore = numbers_of(values, column)
        codes, distinct = distinct_numbers(numbers_of_rows)
        labels, exact = restore(distinct), distinct.astype(np.float64)
    b = len(labels)
    low, high, absent = np.empty(boxes.n, np.int64), np.empty(boxes.n, np.int64), np.zeros(boxes.n, np.bool_)
    tier_kernels.ranges(codes.astype(np.int64), *boxes.arguments(), b, low, high, absent)
    if column.domain is not None:
        domain = tuple(_domain_text(end, column.kind) for end in column.domain)
    elif grid is not None and numbers != "range":
        domain = grid.domain
    else:
        domain = (value_text(labels[0]), value_text(labels[-1])) if b else ()
    if numbers == "public" and grid is not None:
        cell = grid.cells(exact)
        low, high = np.append(cell, len(grid.low))[low], np.append(cell, -1)[high]
        return (*_ranges(grid.low_text, grid.high_text, len(grid.low), low, high, absent), domain)
    text = cache(lambda code: value_text(labels[code]))
    ranges, index = _ranges(text, text, b, low, high, absent)
    if numbers in ("range", "public"):
        return ranges, index, domain
    wide = np.flatnonzero(low < high)
    estimates = centres(exact, codes, boxes, numbers)[wide]
    keys, which = np.unique(np.column_stack([estimates, absent[wide]]), axis=0, return_inverse=True)
    candidates = ranges + tuple(
        Cell.estimated(_estimate_text(number, labels, column.kind), bool(missing)) for number, missing in keys
    )
    index[wide] = len(ranges) + which.reshape(-1)
    # Equal after rounding, or a range that nobody has now: every cell that is used stands once.
    place: dict[Cell, int] = {}
    present, index = np.unique(index, return_inverse=True)
    number_of_cell = np.array([place.setdefault(candidates[cell], len(place)) for cell in present])
    return tuple(place), number_of_cell[index], domain


def _ranges(
    low_text: Callable[[int], str],
    high_text: Callable[[int], str],
    b: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    absent: NDArray[np.bool_],
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return the distinct cells of boxes, and the cell of every box. ``low_text``, ``high_text``: of b codes."""
    keys, index = np.unique((low * (b + 1) + high + 1) * 2 + absent, return_inverse=True)
    pairs, missing = np.divmod(keys, 2)
    lows, highs = np.divmod(pairs, b + 1)
    cells = tuple(
        Cell.MISSING if at_most < at_least else Cell.interval(low_text(at_least), high_text(at_most), bool(or_missing))
        for at_least, at_most, or_missing in zip(lows.tolist(), (highs - 1).tolist(), missing, strict=True)
    )
    return cells, index


def centres(exact: NDArray[np.float64], codes: NDArray[Any], boxes: Boxes, numbers: str) -> NDArray[np.float64]:
    """Return the mean or median of the values in each box; NaN where all are missing. ``exact``: each code's value."""
    present = codes < len(exact)
    box = boxes.parts.part[present]
    count = np.bincount(box, minlength=boxes.n)
    origin = exact[0] if len(exact) else 0.0
    apart = exact[codes[present]] - origin
    centre = np.full(boxes.n, np.nan)
    some = count > 0
    if numbers == "mean":
        centre[some] = np.bincount(box, apart, minlength=boxes.n)[some] / count[some]
    else:
        ascending = apart[np.lexsort((apart, box))]
        first = (np.cumsum(count) - count)[some]
        centre[some] = (ascending[first + (count[some] - 1) // 2] + ascending[first + count[some] // 2]) / 2
    return origin + centre


def _estimate_text(number: float, labels: NDArray[Any], kind: Kind) -> str:
    """Return at most 15 significant digits; dates to the day when all values are whole days, else to the second."""
    if kind is not Kind.DATE:
        return value_text(float(f"{number:.15g}"))
    whole_days = bool(np.all(labels == labels.astype("datetime64[D]")))
    unit = 86_400_000_000 if whole_days else 1_000_000
    return value_text(np.datetime64(round(number / unit) * unit, "us"))


def _domain_text(end: Any, kind: Kind) -> str:
    return value_text(pd.Timestamp(end) if kind is Kind.DATE else end)


def level_cells(
    codes: NDArray[Any], encoding: Encoding, boxes: Boxes, writing: str, group: NDArray[np.int64] | None = None
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return the distinct cells of a categorical column, and the cell of every box.

    ``writing``: "sets" (all codes of the domain: withheld), "groups", "concatenate" or "weighted". ``group`` (levels,):
    the public group of each, of "groups": what is more than one level is written as all levels of the groups it is in.
    """
    if writing == "weighted":
        return _count_levels(codes, encoding, boxes)
    from anonymizer.releasing import tier_kernels

    b, values = encoding.n_codes, len(encoding.labels)
    bits = np.zeros((boxes.n, (b + 63) // 64), dtype=np.uint64)
    tier_kernels.level_sets(codes.astype(np.int64), *boxes.arguments(), bits)
    if bits.shape[1] == 1:
        distinct, index = np.unique(bits[:, 0], return_inverse=True)
        distinct = distinct[:, None]
    else:
        distinct, index = np.unique(bits, axis=0, return_inverse=True)
    labels = list(encoding.labels)
    place: dict[Cell, int] = {}
    number_of_cell = np.empty(len(distinct), np.int64)
    for number, words in enumerate(distinct.astype("<u8")):
        present = np.unpackbits(words.view(np.uint8), bitorder="little")
        if writing == "groups" and group is not None and present.sum() > 1:
            present[:values] = np.isin(group, group[present[:values] > 0])
        levels = tuple(compress(labels, present.tobytes()))
        missing = bool(present[values]) if b > values else False
        if writing == "concatenate":
            cell = Cell.concatenation(levels, missing)
        else:
            cell = Cell.WITHHELD if len(levels) + missing == b >= 2 else Cell.of_levels(levels, missing)
        number_of_cell[number] = place.setdefault(cell, len(place))
    return tuple(place), number_of_cell[index.reshape(-1)]


def _count_levels(codes: NDArray[Any], encoding: Encoding, boxes: Boxes) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return concatenations with counts. Boxes with equal counts share a cell."""
    b, values = encoding.n_codes, len(encoding.labels)
    keys, counts = np.unique(boxes.parts.part * b + codes, return_counts=True)
    box, present = np.divmod(keys, b)
    starts = np.searchsorted(box, np.arange(boxes.n + 1))
    place: dict[Cell, int] = {}
    index = np.empty(boxes.n, dtype=np.int64)
    for number, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        levels_here = present[start:end]
        levels = tuple(encoding.labels[code] for code in levels_here if code < values)
        cell = Cell.concatenation(levels, bool(levels_here[-1] == values), tuple(counts[start:end].tolist()))
        index[number] = place.setdefault(cell, len(place))
    return tuple(place), index


def kept_column(values: "pd.Series[Any]", column: Column, order: NDArray[np.int64]) -> ReleasedColumn:
    """Return a column that leaves as it is, in the order of the release, with nothing of its past: no index, no
    attributes, no categories that do not occur or that stand in the order of their first appearance."""
    may_miss = bool(values.isna().any())
    if column.kind is not Kind.CATEGORICAL:
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = pd.Series(np.asarray(values))
        series = pd.Series(values.array.take(order), name=column.name)
        domain = _kept_range(values, column)
        return ReleasedColumn(column.name, column.role, column.kind, domain, may_miss, values=series)
    codes, levels = levels_of(values, column)
    domain = tuple(levels) if len(levels) <= max(20, len(order) // 10) else ()
    if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype == object:
        present = np.unique(codes[codes < len(levels)])
        place = np.full(len(levels) + 1, -1)
        place[present] = np.arange(len(present))
        categories = pd.Index([levels[code] for code in present], dtype="str")
        series = pd.Series(pd.Categorical.from_codes(place[codes[order]], categories), name=column.name)
    else:
        series = pd.Series(values.array.take(order), name=column.name)
    return ReleasedColumn(column.name, column.role, column.kind, domain, may_miss, values=series)


def _kept_range(values: "pd.Series[Any]", column: Column) -> tuple[str, ...]:
    """Return the lowest and highest value as text; nothing for a kept column that does not hold what its kind says."""
    try:
        numbers, restore = numbers_of(values, column)
    except EncodeError:
        return ()
    present = numbers[~np.isnan(numbers)]
    return tuple(value_text(end) for end in restore(np.array([present.min(), present.max()]))) if len(present) else ()
