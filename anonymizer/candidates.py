"""Which people can be behind which released rows: the edges of the consistency graph.

Values and cells become codes, equal records and equal rows are collapsed into counts, and the pairs that fit are
found by sets of bits, 64 people at a time. The limits below keep memory and time in bounds; what is beyond them is
reported, never guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell, kept_value, parse_cell
from anonymizer.encode import numbers_of, value_text
from anonymizer.errors import SchemaError
from anonymizer.linkage import equivalence_classes
from anonymizer.schema import Column, Kind, Role, Schema

MAX_EDGES = 60_000_000
"""Most edges between distinct records and distinct boxes that are kept (4 bytes each)."""

MAX_PAIRS = 400_000_000_000
"""Most pairs of a distinct record and a distinct box that are looked at (64 at a time)."""

BITS_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Sides:
    """Both tables in codes. ``codes`` (n, columns) of the records; ``index`` (n', columns): the distinct cell of each
    row; ``cells``: of each column, the codes that each distinct cell allows."""

    codes: NDArray[np.int32]
    index: NDArray[np.int32]
    cells: tuple["AllowedCodes", ...]

    def beside(self, codes: NDArray[np.int32], index: NDArray[np.int32], cells: "AllowedCodes") -> "Sides":
        """The same with one more column."""
        return Sides(np.column_stack([self.codes, codes]), np.column_stack([self.index, index]), (*self.cells, cells))


@dataclass(frozen=True, eq=False)
class AllowedCodes:
    """Distinct cells of a column: cell q allows the codes ``low[q]`` to ``high[q]`` and those listed for it."""

    n_codes: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    listed_starts: NDArray[np.int64]
    listed: NDArray[np.int32]

    def allow(self, cells: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each cell allows the code beside it."""
        inside = (self.low[cells] <= codes) & (codes <= self.high[cells])
        owner = np.repeat(np.arange(len(self.low), dtype=np.int64), np.diff(self.listed_starts))
        pairs = owner * self.n_codes + self.listed
        return inside | np.isin(cells.astype(np.int64) * self.n_codes + codes, pairs)


@dataclass(frozen=True, eq=False)
class Graph:
    """Types of equal records, classes of equal rows, and the edges between them (``None``: too many to keep)."""

    type_of: NDArray[np.int64]
    type_sizes: NDArray[np.int64]
    class_of: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    records_per_class: NDArray[np.int64] | None
    rows_per_type: NDArray[np.int64] | None
    starts: NDArray[np.int64] | None
    types: NDArray[np.int32] | None
    reason: str = ""


def graph_of(sides: Sides, max_edges: int, max_pairs: int) -> Graph:
    """Collapse equal records and equal rows, and find the pairs that fit."""
    type_of, type_sizes, example_types = _collapse(sides.codes)
    class_of, class_sizes, example_classes = _collapse(sides.index)
    collapsed = (type_of, type_sizes, class_of, class_sizes)
    if len(type_sizes) * len(class_sizes) > max_pairs:
        reason = (
            f"comparing {len(type_sizes):,} distinct people with {len(class_sizes):,} distinct rows is more than this "
            "check does"
        )
        return Graph(*collapsed, None, None, None, None, reason)
    codes = sides.codes[example_types]
    index = sides.index[example_classes]
    spread = [
        cells.n_codes if not np.any((np.diff(cells.listed_starts) > 0) & (cells.low <= cells.high)) else 0
        for cells in sides.cells
    ]
    leading = int(np.argmax(spread))
    by_code = np.argsort(codes[:, leading], kind="stable")
    type_rank = np.empty(len(by_code), dtype=np.int64)
    type_rank[by_code] = np.arange(len(by_code))
    collapsed = (type_rank[type_of], type_sizes[by_code], class_of, class_sizes)
    return _join(codes[by_code], index, sides.cells, leading, collapsed, max_edges)


def _join(
    codes: NDArray[np.int32],
    index: NDArray[np.int32],
    columns: Sequence[AllowedCodes],
    leading: int,
    collapsed: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    max_edges: int,
) -> Graph:
    """The edges, by sets of bits: a box holds the types that all of its cells hold.

    Types are sorted by the ``leading`` column, so that a cell of that column cuts out one run of them.
    """
    from anonymizer import consistency_kernels as kernels

    _, type_sizes, _, class_sizes = collapsed
    n_types, n_classes = len(codes), len(index)
    first = np.zeros(n_classes, dtype=np.int64)
    last = np.full(n_classes, n_types, dtype=np.int64)
    lead = columns[leading]
    ranged = lead.low[index[:, leading]] <= lead.high[index[:, leading]]
    sorted_codes = codes[:, leading]
    first[ranged] = np.searchsorted(sorted_codes, lead.low[index[ranged, leading]], side="left")
    last[ranged] = np.searchsorted(sorted_codes, lead.high[index[ranged, leading]], side="right")
    use = [c for c in range(len(columns)) if c != leading or not ranged.all()]
    share = [np.mean((columns[c].high - columns[c].low + 1) / columns[c].n_codes) for c in use]
    use = [use[i] for i in np.argsort(share, kind="stable")]
    offsets = np.concatenate([[0], np.cumsum([len(columns[c].low) for c in use])]).astype(np.int64)
    rows = np.ascontiguousarray(index[:, use] + offsets[:-1], dtype=np.int64)
    widest = max([columns[c].n_codes + 1 for c in use], default=1)
    words = max(1, min(-(-n_types // 64), BITS_BYTES // 8 // max(1, int(offsets[-1]), 2 * widest)))
    bits = np.empty((int(offsets[-1]), words), dtype=np.uint64) if use else np.empty((1, words), dtype=np.uint64)

    def fill(start: int) -> None:
        for c, begin, end in zip(use, offsets[:-1], offsets[1:], strict=True):
            column = columns[c]
            block = np.ascontiguousarray(codes[start : start + words * 64, c])
            kernels.cell_bits(
                block, column.n_codes, column.low, column.high, column.listed_starts, column.listed, bits[begin:end]
            )

    degree = np.zeros(n_classes, dtype=np.int64)
    records = np.zeros(n_classes, dtype=np.int64)
    rows_per_type = np.zeros(n_types, dtype=np.int64)
    total, most = 0, 40 * max_edges
    blocks = range(0, n_types, words * 64)
    for start in blocks:
        fill(start)
        ends = np.minimum(last, start + words * 64)
        found = kernels.meet(
            bits, rows, first, ends, start, type_sizes, class_sizes, degree, records, rows_per_type, most - total
        )
        total += found
        if found < 0:
            reason = f"people and rows fit together in more than {most:,} ways"
            return Graph(*collapsed, None, None, None, None, reason)
    if total > max_edges:
        reason = f"people and rows fit together in {total:,} ways, more than the {max_edges:,} that this check keeps"
        return Graph(*collapsed, records, rows_per_type, None, None, reason)
    starts = np.concatenate([[0], np.cumsum(degree)])
    types = np.empty(total, dtype=np.int32)
    place = starts[:-1].copy()
    for start in blocks:
        if len(blocks) > 1:
            fill(start)
        kernels.join(bits, rows, first, np.minimum(last, start + words * 64), start, place, types)
    return Graph(*collapsed, records, rows_per_type, starts, types)


def _collapse(matrix: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The group of every row (n,), the groups' sizes, and one row of each."""
    frame = pd.DataFrame(matrix)
    group_of, count = equivalence_classes(frame, list(frame.columns))
    example = np.empty(count, dtype=np.int64)
    example[group_of] = np.arange(len(matrix))
    return group_of, np.bincount(group_of, minlength=count).astype(np.int64), example


def sides_of(released: pd.DataFrame, original: pd.DataFrame, schema: Schema) -> Sides:
    """Both tables' quasi-identifiers in codes."""
    parts = []
    for name in schema.quasi_identifying:
        for table, what in ((released, "release"), (original, "original")):
            if name not in table.columns:
                raise SchemaError(
                    f"The {what} has no column {name!r}, which is quasi-identifying.",
                    column=name,
                    remedy="Compare a release with the table it was made from, under the same schema.",
                )
        parts.append(_column(released[name], original[name], schema[name]))
    if not parts:
        raise SchemaError("No column is quasi-identifying.", remedy="Mark the columns that an attacker could know.")
    codes, index, cells = zip(*parts, strict=True)
    return Sides(np.column_stack(codes), np.column_stack(index), cells)


def _column(
    released: "pd.Series[Any]", original: "pd.Series[Any]", column: Column
) -> tuple[NDArray[np.int32], NDArray[np.int32], AllowedCodes]:
    """Codes (n,) of the original values, the distinct cell of each row (n',), and what each cell allows."""
    index, texts = texts_of(released)
    cells = [parse_cell(text, column.kind) for text in texts]
    codes: NDArray[np.int32]
    if column.kind is Kind.CATEGORICAL:
        codes, levels = texts_of(original)
        position = {level: code for code, level in enumerate(levels) if level is not None}
        missing, n_codes = len(levels), len(levels) + 1
        if None in levels:
            codes = np.where(codes == levels.index(None), missing, codes).astype(np.int32)
        numbers: NDArray[np.float64] = np.empty(0)
    else:
        found = np.asarray(numbers_of(original, column)[0], dtype=np.float64)
        numbers = np.unique(found[~np.isnan(found)])
        position, missing, n_codes = {}, len(numbers), len(numbers) + 1
        codes = np.where(np.isnan(found), missing, np.searchsorted(numbers, found)).astype(np.int32)
    return codes, index, _allowed(cells, position, numbers, missing, n_codes)


def _allowed(
    cells: Sequence[Cell], position: dict[str, int], numbers: NDArray[np.float64], missing: int, n_codes: int
) -> AllowedCodes:
    """Cells as codes: withheld allows all, an interval its run, a set its levels, a mean or median every number;
    missing only where it is named."""
    low, high = np.ones(len(cells), dtype=np.int32), np.zeros(len(cells), dtype=np.int32)
    listed: list[list[int]] = []
    for q, cell in enumerate(cells):
        extra: list[int] = []
        if cell.withheld:
            low[q], high[q] = 0, n_codes - 1
        else:
            if cell.estimate:
                low[q], high[q] = 0, len(numbers) - 1
            elif cell.low is not None and cell.high is not None and len(numbers):
                low[q] = np.searchsorted(numbers, cell.low, side="left")
                high[q] = np.searchsorted(numbers, cell.high, side="right") - 1
            if not len(numbers):
                extra = [position[level] for level in cell.levels if level in position]
            if cell.missing:
                extra.append(missing)
        listed.append(extra)
    listed_starts = np.concatenate([[0], np.cumsum([len(extra) for extra in listed])]).astype(np.int64)
    flat = np.array([code for extra in listed for code in extra], dtype=np.int32)
    return AllowedCodes(n_codes, low, high, listed_starts, flat)


def texts_of(values: "pd.Series[Any]") -> tuple[NDArray[np.int32], list[str | None]]:
    """Codes (n,) and the distinct texts of a column; ``None`` is missing, the last when there is any."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, distinct = values.cat.codes.to_numpy().astype(np.int32), list(values.cat.categories)
    else:
        factorized, uniques = pd.factorize(values)
        codes, distinct = factorized.astype(np.int32), list(uniques)
    texts: list[str | None] = [value_text(value) for value in distinct]
    rank: dict[str | None, int] = {}
    lookup = np.array([rank.setdefault(text, len(rank)) for text in texts] + [len(rank)], dtype=np.int32)
    if (codes < 0).any():
        rank[None] = len(rank)
    return lookup[codes], list(rank)


def kept_of(
    released: pd.DataFrame, original: pd.DataFrame, schema: Schema
) -> tuple[NDArray[np.int32], NDArray[np.int32], AllowedCodes] | None:
    """The kept columns as one more column: equal codes mean equal values in all of them. ``None``: no such column."""
    names = [
        column.name
        for column in schema.columns
        if column.role in (Role.SENSITIVE, Role.INSENSITIVE)
        and column.name in released.columns
        and column.name in original.columns
    ]
    if not names:
        return None
    both = pd.DataFrame({name: _kept_codes(released[name], original[name], schema[name]) for name in names})
    joined, count = equivalence_classes(both, names)
    codes = joined.astype(np.int32)
    each = np.arange(count, dtype=np.int32)
    cells = AllowedCodes(count, each, each, np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    return codes[len(released) :], codes[: len(released)], cells


def _kept_codes(released: "pd.Series[Any]", original: "pd.Series[Any]", column: Column) -> NDArray[Any]:
    """Released and then original values of a kept column as codes (n' + n,); missing agrees with missing only."""
    if column.kind is not Kind.CATEGORICAL:
        try:
            after, before = numbers_of(released, column)[0], numbers_of(original, column)[0]
        except ValueError:
            pass
        else:
            together = np.concatenate([after, before]).astype(np.float64)
            return np.asarray(pd.factorize(together, use_na_sentinel=False)[0])
    before_codes, texts = texts_of(original)
    rank = {text: code for code, text in enumerate(texts)}
    index, found = texts_of(released)
    lookup = np.array(
        [
            rank[text] if text in rank else rank.get(kept_value(text or ""), len(rank) + place)
            for place, text in enumerate(found)
        ],
        dtype=np.int64,
    )
    after_codes = lookup[index] if len(found) else index.astype(np.int64)
    return np.concatenate([after_codes, before_codes.astype(np.int64)])
