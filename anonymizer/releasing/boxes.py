"""Boxes of records, and the cells that say what a box holds: ranges, means, sets, concatenations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import compress
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell, hierarchy_cell, in_bands, number_of
from anonymizer.errors import EncodeError
from anonymizer.growing.encode import Encoding
from anonymizer.hierarchy import Hierarchy
from anonymizer.releasing.grid import Grid, groups_of_levels
from anonymizer.releasing.release import ReleasedColumn
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Column, Kind
from anonymizer.values import distinct_numbers, levels_of, look_up, numbers_of, present_codes, value_text

Integers = NDArray[np.int64]

MOST_CELLS = 50_000
"""Cells of a column that are remembered at most."""


@dataclass(eq=False)
class Memory:
    """What one column's next release has in common with its last: cells by the codes they hold, or the
    ``column`` itself, where it leaves as it is, in the order of the table."""

    cells: dict[Any, Cell] = field(default_factory=dict)
    column: ReleasedColumn | None = None

    def cell(self, key: Any, make: Callable[[], Cell]) -> Cell:
        """Return the cell that was made under a key, or else make it."""
        cell = self.cells.get(key)
        if cell is None:
            if len(self.cells) >= MOST_CELLS:
                self.cells.clear()
            self.cells[key] = cell = make()
        return cell


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

    def in_order(self, sequence: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the records (n,) box by box, boxes and the records of each in the order in which they come in
        ``sequence`` (n,); the boxes that have any, in this order; and how many records each of those has."""
        place, present = pd.factorize(self.of_record[sequence])
        place = place.astype(np.min_scalar_type(len(present)))  # few bits are sorted by counting
        return sequence[np.argsort(place, kind="stable")], present, np.bincount(place, minlength=len(present))

    def arguments(self) -> tuple[Integers, Integers, Integers, Integers, Integers]:
        """Return the arrays that say which boxes hold a record, as the kernels of hulls take them."""
        part = np.ascontiguousarray(self.parts.part)
        return part, self.parts.shared_record, self.parts.shared_part, self.pair_box, self.box_part


def interval_cells(
    values: "pd.Series[Any]",
    column: Column,
    codes: NDArray[Any],
    encoding: Encoding,
    boxes: Boxes,
    numbers: str,
    grid: Grid | None = None,
    memory: Memory | None = None,
) -> tuple[tuple[Cell, ...], NDArray[np.int64], tuple[str, ...]]:
    """Return the distinct cells of a numeric or date column, the cell of every box, and the domain as text.

    ``numbers``: "public" (from end to end of the ``grid``), "range", "mean" or "median". A box with one value says that
    value unless its ends are public; those of a column with public cuts always are. The domain as text is the declared
    one, that of the grid, or of the ranges. ``memory``: of the same column, table and ``numbers``.
    """
    from anonymizer.releasing import tier_kernels

    labels, exact = encoding.labels, encoding.low
    if np.any(encoding.low < encoding.high):
        numbers_of_rows, restore = numbers_of(values, column)
        codes, distinct = distinct_numbers(numbers_of_rows)
        labels, exact = restore(distinct), distinct.astype(np.float64)
    b = len(labels)
    low, high, absent = np.empty(boxes.n, np.int64), np.empty(boxes.n, np.int64), np.zeros(boxes.n, np.bool_)
    tier_kernels.ranges(codes.astype(np.uint32), *boxes.arguments(), b, low, high, absent)
    if column.domain is not None:
        domain = tuple(_domain_text(end, column.kind) for end in column.domain)
    elif grid is not None and (numbers != "range" or column.cuts):
        domain = grid.domain
    else:
        domain = (value_text(labels[0]), value_text(labels[-1])) if b else ()
    if grid is not None and (numbers == "public" or column.cuts):
        cell = grid.cells(exact)
        low, high = np.append(cell, len(grid.low))[low], np.append(cell, -1)[high]
        ends = (grid.low, grid.low_text), (grid.high, grid.high_text)
        return *distinct_cells(*_ranges(*ends, low, high, absent, memory or Memory())), domain
    if encoding.hierarchy is not None:
        some = low <= high
        low[some], high[some] = encoding.hierarchy.cover(low[some], high[some])
    ends_of_codes = np.arange(b), lambda code: value_text(labels[code])
    ranges, index = _ranges(ends_of_codes, ends_of_codes, low, high, absent, memory or Memory())
    if numbers in ("range", "public") or encoding.hierarchy is not None:
        return ranges, index, domain
    wide = np.flatnonzero(low < high)
    estimates = centres(exact, codes, boxes, numbers)[wide]
    keys, which = np.unique(np.column_stack([estimates, absent[wide]]), axis=0, return_inverse=True)
    candidates = ranges + tuple(
        Cell.estimated(_estimate_text(number, labels, column.kind), bool(missing)) for number, missing in keys
    )
    index[wide] = len(ranges) + which.reshape(-1)
    return *distinct_cells(candidates, index), domain


def distinct_cells(
    candidates: tuple[Cell, ...], index: NDArray[np.int64]
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return every cell that is used once, and which each box has: cells can be equal after rounding, withheld from one
    open end to the other with a missing value or without, or be nobody's now."""
    place: dict[Cell, int] = {}
    present, index = np.unique(index, return_inverse=True)
    number_of_cell = np.array([place.setdefault(candidates[cell], len(place)) for cell in present], np.int64)
    return tuple(place), number_of_cell[index]


End = tuple[NDArray[Any], Callable[[int], str]]
"""What stands for the end of each code (b,) in a memory, and its text."""


def _ranges(
    lowest: End,
    highest: End,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    absent: NDArray[np.bool_],
    memory: Memory,
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return the distinct cells of boxes, and the cell of every box: from the lowest to the highest code of each."""
    (low_end, low_text), (high_end, high_text) = lowest, highest
    b, number = len(low_end), cache(number_of)
    keys, index = np.unique((low * (b + 1) + high + 1) * 2 + absent, return_inverse=True)
    pairs, missing = np.divmod(keys, 2)
    lows, highs = np.divmod(pairs, b + 1)
    highs -= 1
    some = lows <= highs
    ends = np.zeros((2, len(keys)), low_end.dtype)
    ends[0, some], ends[1, some] = low_end[lows[some]], high_end[highs[some]]

    def cell(low: int, high: int, or_missing: bool, *between: Any) -> Cell:
        if high < low:
            return Cell.MISSING
        key = (*between, or_missing)
        return memory.cell(key, lambda: Cell.reaching(low_text(low), high_text(high), or_missing, number))

    columns = lows, highs, missing.astype(bool), *ends
    return tuple(map(cell, *(column.tolist() for column in columns))), index


def centres(exact: NDArray[np.float64], codes: NDArray[Any], boxes: Boxes, numbers: str) -> NDArray[np.float64]:
    """Return the mean or median of the values in each box; NaN where all are missing. ``exact``: each code's value."""
    present = codes < len(exact)
    box = boxes.parts.part[present]
    count = np.bincount(box, minlength=boxes.n)
    origin = exact[0] if len(exact) else 0.0
    own = codes[present]
    by_value = np.argsort(own, kind="stable")  # so that sums do not depend on the order of the records
    box, apart = box[by_value], exact[own[by_value]] - origin
    centre = np.full(boxes.n, np.nan)
    some = count > 0
    if numbers == "mean":  # of whole numbers the sums are exact
        centre[some] = (np.bincount(box, apart, minlength=boxes.n)[some] + origin * count[some]) / count[some]
        return centre
    ascending = apart[np.argsort(box, kind="stable")]
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
    column: Column,
    codes: NDArray[Any],
    encoding: Encoding,
    boxes: Boxes,
    writing: str,
    memory: Memory | None = None,
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return the distinct cells of a categorical column, and the cell of every box.

    A public hierarchy has its own words, however levels are written. ``writing``: "sets" (all codes of the domain:
    withheld; a run of bands in their own notation), "groups" (what is more than one level is written as all levels of
    the public groups it is in), "concatenate" or "weighted". ``memory``: of the same column, table and ``writing``.
    """
    if writing == "weighted" and encoding.hierarchy is None:
        return _count_levels(codes, encoding, boxes)
    from anonymizer.releasing import tier_kernels

    b, values, memory = encoding.n_codes, len(encoding.labels), memory or Memory()
    bits = np.zeros((boxes.n, (b + 63) // 64), dtype="<u8")
    tier_kernels.level_sets(codes.astype(np.uint32), *boxes.arguments(), bits)
    sets, index = _distinct(bits)
    present = np.unpackbits(sets.view(np.uint8), axis=1, count=b, bitorder="little").astype(bool)
    if encoding.hierarchy is not None:
        return _hierarchy_cells(present, index, encoding)
    if writing == "groups":
        group = groups_of_levels(encoding, column)
        several = present.sum(axis=1) > 1
        has = present[several, :values] @ (group[:, None] == np.arange(group.max(initial=0) + 1))
        present[several, :values] = has[:, group]
        present, place = np.unique(present, axis=0, return_inverse=True)
        index = place.reshape(-1)[index]
    labels = list(encoding.labels)

    def cell(key: bytes) -> Cell:
        levels, missing = tuple(compress(labels, key)), b > values and key[values] > 0
        if writing == "concatenate":
            return Cell.concatenation(levels, missing)
        if len(levels) + missing == b >= 2:
            return Cell.WITHHELD
        plain = Cell.of_levels(levels, missing)
        return plain if column.bands is None else in_bands(plain, column.bands)

    keys = (row.tobytes() for row in present)
    return tuple(memory.cell(key, partial(cell, key)) for key in keys), index


def _hierarchy_cells(
    present: NDArray[np.bool_], index: NDArray[np.int64], encoding: Encoding
) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """Return for sets of codes (s, b) the words of the smallest nodes that hold them, each once; ``index``: the set of
    each box."""
    hierarchy, values = cast(Hierarchy, encoding.hierarchy), len(encoding.labels)
    some = np.asarray(present[:, :values].any(axis=1))
    missing = np.asarray(present[:, values:].any(axis=1))
    low, high = present[:, :values].argmax(axis=1), values - 1 - present[:, :values][:, ::-1].argmax(axis=1)
    first, last = hierarchy.cover(low, high)
    cells = tuple(
        hierarchy_cell(hierarchy, int(first[at]), int(last[at]), bool(missing[at])) if some[at] else Cell.MISSING
        for at in range(len(present))
    )
    return distinct_cells(cells, index)


def _distinct(bits: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct rows of words (n, w), and which of them each row is, (n,)."""
    if bits.shape[1] == 1:
        words, index = np.unique(bits[:, 0], return_inverse=True)
        return words[:, None], index
    words, index = np.unique(bits, axis=0, return_inverse=True)
    return words, index.reshape(-1)


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


def kept_column(values: "pd.Series[Any]", column: Column, records: int | None = None) -> ReleasedColumn:
    """Return a column that leaves as it is, in the order of the table, with nothing of its past: no index, no
    attributes, no categories that do not occur or that stand in the order of their first appearance. ``records``: how
    many have the values, where these are the distinct ones."""
    may_miss = bool(values.isna().any())
    if column.kind is not Kind.CATEGORICAL:
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = pd.Series(np.asarray(values))
        series = pd.Series(values.array.copy(), name=column.name)
        if pd.api.types.is_float_dtype(series.dtype):
            series = series + 0.0  # -0.0 and 0.0 are one value
        domain = _kept_range(values, column)
    else:
        codes, levels = levels_of(values, column)
        domain = tuple(levels) if len(levels) <= max(20, (records or len(values)) // 10) else ()
        if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype == object:
            present = present_codes(codes, len(levels))
            place = np.full(len(levels) + 1, -1, np.min_scalar_type(-len(levels) - 1))
            place[present] = np.arange(len(present))
            categories = pd.Index([levels[code] for code in present], dtype="str")
            series = pd.Series(pd.Categorical.from_codes(look_up(place, codes), categories), name=column.name)
        else:
            series = pd.Series(values.array.copy(), name=column.name)
    return ReleasedColumn(
        column.name, column.role, column.kind, domain, may_miss, values=series, variable=column.variable,
        declared=column.declared and column.kind is Kind.CATEGORICAL, treat=column.treat,
    )  # fmt: skip


def _kept_range(values: "pd.Series[Any]", column: Column) -> tuple[str, ...]:
    """Return the lowest and highest value as text; nothing for a kept column that does not hold what its kind says."""
    try:
        numbers, restore = numbers_of(values, column)
    except EncodeError:
        return ()
    present = numbers[~np.isnan(numbers)]
    return tuple(value_text(end) for end in restore(np.array([present.min(), present.max()]))) if len(present) else ()
