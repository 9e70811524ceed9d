"""From groups to the release of a table in pieces: cells are made of the distinct values in a box, not of records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import LookAlikes, classes_of
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.values import ROWS, CodedColumn, in_order
from anonymizer.releasing.boxes import Boxes, interval_cells, kept_column, level_cells
from anonymizer.releasing.grid import Grid, Ladder, PersonEnds, grids_at, ladder_of
from anonymizer.releasing.release import Release, ReleasedColumn, ranks_of
from anonymizer.releasing.row_order import sorted_rows
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Column, Kind
from anonymizer.values import distinct_numbers, levels_of, numbers_of, value_text

COUNTED = ("mean", "median", "weighted")
"""Ways to write a box that ask how many records have each value."""

WORD = 64
"""Codes of which a set fits into one word."""

DENSE = 4
"""Pairs are counted in a table while it has at most so many cells a record."""


def ladders_of_pieces(table: CodedTable, persons: Mapping[str, PersonEnds] | None = None) -> dict[str, Ladder]:
    """Return what :func:`anonymizer.releasing.grid.ladders_of` returns of the whole table, from how many records have
    each value. ``persons``: of how many each code is the lowest and the highest, where the records are elsewhere."""
    return {
        encoding.name: ladder_of(
            encoding,
            table.records(position),
            table.schema[encoding.name],
            table.ends_of_persons(position) if persons is None else persons.get(encoding.name),
        )
        for position, encoding in enumerate(table.encoded.encodings)
        if encoding.is_interval and encoding.hierarchy is None and len(encoding.labels)
    }


def grids_of_pieces(table: CodedTable, k: int, persons: Mapping[str, PersonEnds] | None = None) -> dict[str, Grid]:
    """Return what :func:`anonymizer.releasing.grid.grids_of` returns of the whole table; ``persons``: of
    :func:`ladders_of_pieces`."""
    return grids_at(ladders_of_pieces(table, persons), k)


@dataclass(frozen=True, eq=False)
class PartedRelease:
    """n released rows; the records of one part share their cells.

    ``columns``: in their order; a generalized one holds the cell of each part, a kept one its distinct values, of which
    ``codes`` (n,), by name, says which each record has. ``part`` (n,): of each record; ``order`` (n,): the record of
    each released row, a secret; both in 32 bits. ``sizes``: records of each part.
    """

    columns: tuple[ReleasedColumn, ...]
    codes: Mapping[str, NDArray[np.unsignedinteger]]
    part: NDArray[np.uint32]
    order: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    method: str
    writing: str
    numbers: str

    @property
    def n_records(self) -> int:
        """Number of rows n."""
        return len(self.order)

    def rows(self, start: int, end: int) -> Release:
        """Return some of the rows, as they stand."""
        order = self.order[start:end]
        part = self.part[order]
        columns = tuple(
            c.take(self.codes[c.name][order].astype(np.int64) if c.name in self.codes else part) for c in self.columns
        )
        return self._release(columns, order.astype(np.int64))

    def parts(self) -> Release:
        """Return one row for each part, in its generalized columns."""
        return self._release(tuple(c for c in self.columns if c.generalized), np.arange(len(self.sizes)))

    def dictionary(self) -> list[dict[str, Any]]:
        """Return the data dictionary: see :meth:`Release.dictionary`."""
        return self._release(self.columns, self.order[:0].astype(np.int64)).dictionary()

    def _release(self, columns: tuple[ReleasedColumn, ...], order: NDArray[np.int64]) -> Release:
        return Release(columns, order, self.method, self.writing, self.numbers)


def release_of_pieces(
    table: CodedTable, parts: Parts, writing: str, numbers: str, grids: Mapping[str, Grid]
) -> tuple[PartedRelease, LookAlikes]:
    """Return the release in which the records of one part share their cells, sorted by content, and the classes of its
    parts that are alike, with their records. See :func:`anonymizer.releasing.generalize.release_of`.

    ``parts`` share no record, and each has some.
    """
    part, sizes = parts.part.astype(np.uint32), np.bincount(parts.part, minlength=parts.n_parts)
    boxed = boxes_of_parts(table, parts, part, sizes, writing, numbers, grids)
    generalized = [boxed[name] for name in table.schema.released if name in boxed]
    alike = classes_of([(c.index, len(c.cells)) for c in generalized if c.index is not None], parts.n_parts)
    sizes_of_classes = np.bincount(alike.class_of, sizes, minlength=len(alike.sizes)).astype(np.int64)
    columns = tuple(
        boxed[name] if name in boxed else kept_of_pieces(table.columns[name], table.schema[name])
        for name in table.schema.released
    )
    of_records = {c.name: table.columns[c.name].codes for c in columns if not c.generalized}
    first = np.empty(len(alike.sizes), np.int64)
    first[alike.class_of[::-1]] = np.arange(parts.n_parts)[::-1]
    of_class = np.empty(len(first), np.int64)
    of_class[sorted_rows([ranks_of(column, first) for column in generalized], len(first))] = np.arange(len(first))
    others = [(ranks_of(c)[0], of_records[c.name]) for c in columns if not c.generalized]
    order = sorted_by([(of_class[alike.class_of], part), *others])
    release = PartedRelease(columns, of_records, part, order, sizes, parts.made.method, writing, numbers)
    return release, LookAlikes(alike.class_of, sizes_of_classes)


def boxes_of_parts(
    table: CodedTable,
    parts: Parts,
    part: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    writing: str,
    numbers: str,
    grids: Mapping[str, Grid],
) -> dict[str, ReleasedColumn]:
    """Return the generalized columns by name, the cell of each part in each. ``part`` (n,): of each record; ``sizes``:
    records of each."""
    by_part = sorted_by([(np.arange(parts.n_parts), part)])
    starts = np.cumsum(sizes) - sizes

    def box(position: int) -> ReleasedColumn:
        encoding, lookup = table.encoded.encodings[position], table.lookups[position]
        column, coded = table.schema[encoding.name], table.columns[encoding.name]
        if writing in COUNTED or numbers in COUNTED or (not encoding.is_interval and encoding.n_codes > WORD):
            of_part, value = pairs_in(parts.part, coded, parts.n_parts, True)
            box_of, n_boxes = None, parts.n_parts
        else:
            find = interval_boxes if encoding.is_interval else level_boxes
            box_of, of_part, value = find(coded, lookup, column, by_part, starts)
            n_boxes = int(box_of.max()) + 1
        of_boxes = boxed_column(table, position, of_part, value, n_boxes, writing, numbers, grids)
        return of_boxes if box_of is None else of_boxes.take(box_of)

    return {column.name: column for column in in_order(box, range(len(table.lookups)))}


def boxed_column(
    table: CodedTable,
    position: int,
    box: NDArray[np.int64],
    value: NDArray[np.int64],
    n_boxes: int,
    writing: str,
    numbers: str,
    grids: Mapping[str, Grid],
) -> ReleasedColumn:
    """Return the cell of each box in one quasi-identifier. ``box``, ``value``: pairs of a box and the place of a value
    that it is made of."""
    encoding = table.encoded.encodings[position]
    column, coded = table.schema[encoding.name], table.columns[encoding.name]
    empty = np.empty(0, np.int64)
    boxes = Boxes.of(Parts(box, n_boxes, empty, empty))
    codes = table.lookups[position][value]
    if encoding.is_interval:
        values, grid = pd.Series(coded.values.array.take(value)), grids.get(encoding.name)
        cells, index, domain = interval_cells(values, column, codes, encoding, boxes, numbers, grid)
    else:
        cells, index = level_cells(column, codes, encoding, boxes, writing)
        domain = tuple(value_text(level) for level in encoding.labels)
    index = index.astype(np.min_scalar_type(-len(cells) - 1))
    about = (encoding.name, column.role, column.kind, domain, encoding.missing)
    return ReleasedColumn(*about, cells, index, variable=column.variable, declared=column.declared)


def sorted_by(keys: Sequence[tuple[NDArray[np.integer[Any]], NDArray[np.unsignedinteger]]]) -> NDArray[np.uint32]:
    """Return n records sorted by the first key, where that is equal by the second, and so on; where all are equal, as
    they stand. A key: a rank from 0 of each code, and the code of each record (n,)."""
    wide: list[tuple[NDArray[Any], int]] = []
    for ranks, codes in keys:
        bound = int(ranks.max(initial=0)) + 1
        if wide and wide[-1][1] * bound < 1 << 32:
            key, most = wide[-1]
            key *= np.uint32(bound)
            key += ranks.astype(np.uint32)[codes]
            wide[-1] = key, most * bound
        else:
            wide.append((ranks.astype(np.uint32)[codes], bound))
    rows: NDArray[np.uint32] | None = None
    for key, bound in reversed(wide):
        for shift in range(0, max(1, (bound - 1).bit_length()), 16):
            digit = (key if rows is None else key[rows]) >> np.uint32(shift)
            by_digit = np.argsort(digit.astype(np.uint16), kind="stable")  # by counting, for numbers of 16 bits
            rows = by_digit.astype(np.uint32) if rows is None else rows[by_digit]
    assert rows is not None
    return rows


PartBoxes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""The box of each part (parts,), and pairs of a box and the place of a value that it is made of."""


def interval_boxes(
    coded: CodedColumn, lookup: NDArray[Any], column: Column, by_part: NDArray[np.uint32], starts: NDArray[np.int64]
) -> PartBoxes:
    """Return the distinct ranges of parts, of each its lowest, its highest and a missing value. ``by_part`` (n,):
    records, those of a part beside each other, each part from one of the ``starts``."""
    ranks, distinct = distinct_numbers(numbers_of(coded.values, column)[0])
    b = len(distinct)
    of_rank = np.zeros(b + 1, np.int64)
    of_rank[ranks] = np.arange(len(ranks))
    may_miss = bool((ranks == b).any())
    narrow = ranks.astype(np.min_scalar_type(b + 1))
    low, high, absent = (np.empty(len(starts), narrow.dtype) for _ in range(3))
    for parts, first, records in _runs(by_part, starts):
        own = narrow[coded.codes[records]]
        low[parts] = np.minimum.reduceat(own, first)
        high[parts] = np.maximum.reduceat(own, first)
        if may_miss:
            absent[parts] = high[parts] == b
            own = np.where(own == b, 0, own + narrow.dtype.type(1))
            high[parts] = np.maximum.reduceat(own, first)
    keys = low.astype(np.int64) * (b + 2) + high + (0 if may_miss else 1)
    keys = keys * 2 + (absent if may_miss else 0)
    boxes, box_of = np.unique(keys, return_inverse=True)
    pairs, missing = np.divmod(boxes, 2)
    lows, highs = np.divmod(pairs, b + 2)
    some = np.flatnonzero(lows < b)
    without = np.flatnonzero(missing)
    box = np.concatenate([some, some, without])
    value = np.concatenate([of_rank[lows[some]], of_rank[highs[some] - 1], np.full(len(without), of_rank[b])])
    return box_of.astype(np.int64), box, value


def level_boxes(
    coded: CodedColumn, lookup: NDArray[Any], column: Column, by_part: NDArray[np.uint32], starts: NDArray[np.int64]
) -> PartBoxes:
    """Return the distinct sets of levels of parts, of each its values; see :func:`interval_boxes`."""
    width = int(lookup.max()) + 1
    words = (np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32, np.uint64))
    word = next(word for word in words if word.itemsize * 8 >= width)
    bit = (np.uint64(1) << lookup.astype(np.uint64)).astype(word)
    sets = np.empty(len(starts), word)
    for parts, first, records in _runs(by_part, starts):
        sets[parts] = np.bitwise_or.reduceat(bit[coded.codes[records]], first)
    boxes, box_of = np.unique(sets, return_inverse=True)
    box, code = np.nonzero((boxes[:, None] >> np.arange(width).astype(word)) & word.type(1))
    of_code = np.zeros(width, np.int64)
    of_code[lookup] = np.arange(len(lookup))
    return box_of.astype(np.int64), box, of_code[code]


def _runs(
    by_part: NDArray[np.uint32], starts: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.uint32]]]:
    """Yield some parts at a time, about :data:`ROWS` records: where each begins among them, and their records."""
    place, n = 0, len(by_part)
    while place < len(starts):
        end = max(place + 1, int(np.searchsorted(starts, starts[place] + ROWS, side="right")) - 1)
        end = len(starts) if n - starts[place] <= ROWS else end
        last = n if end == len(starts) else int(starts[end])
        yield slice(place, end), starts[place:end] - starts[place], by_part[starts[place] : last]
        place = end


def pairs_in(
    part: NDArray[np.int64], column: CodedColumn, n_parts: int, counted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a part and a value in it: parts and places of values, by part. ``counted``: each as
    often as records have it."""
    d, n = len(column.values), len(part)
    if n_parts * d <= max(DENSE * n, 1 << 16):
        counts = np.zeros(n_parts * d, np.int64)
        for start in range(0, n, ROWS):
            rows = slice(start, start + ROWS)
            counts += np.bincount(part[rows] * d + column.codes[rows], minlength=n_parts * d)
        pairs = np.flatnonzero(counts)
        times = counts[pairs]
    else:
        pieces = [
            np.unique(part[start : start + ROWS] * d + column.codes[start : start + ROWS], return_counts=True)
            for start in range(0, n, ROWS)
        ]
        pairs, place = np.unique(np.concatenate([piece[0] for piece in pieces]), return_inverse=True)
        times = np.bincount(place, np.concatenate([piece[1] for piece in pieces])).astype(np.int64)
    if counted:
        pairs = np.repeat(pairs, times)
    return pairs // d, pairs % d


def kept_of_pieces(column: CodedColumn, about: Column) -> ReleasedColumn:
    """Return the distinct values of a column that leaves as it is; text by its levels."""
    n = int(column.counts.sum())
    if about.kind is not Kind.CATEGORICAL or not pd.api.types.is_string_dtype(column.values.dtype):
        return kept_column(column.values, about, n)
    codes, levels = levels_of(column.values, about)
    place = np.where(codes < len(levels), codes.astype(np.int64), -1).astype(np.min_scalar_type(-len(levels) - 1))
    return kept_column(pd.Series(pd.Categorical.from_codes(place, categories=list(levels)), name=column.name), about, n)
