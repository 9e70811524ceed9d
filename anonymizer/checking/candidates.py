"""Which people can be behind which released rows: the edges of the consistency graph.

Values and cells become codes, equal records and equal rows are collapsed into counts, and the pairs that fit are
found by sets of bits, 64 people at a time. The limits below keep memory and time in bounds; what is beyond them is
reported, never guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.alike import persons_of_values
from anonymizer.cells import Cell, kept_value
from anonymizer.checking.linkage import LookAlikes, classes_of, columns_of, look_alikes, rows_wide, side_by_side
from anonymizer.checking.released import ColumnCells, read_cells, require_column, texts_of
from anonymizer.checking.treated import as_treated
from anonymizer.errors import AnonymizerError, ParameterError, SchemaError
from anonymizer.schema import UNCHANGED, Column, Kind, Schema
from anonymizer.values import EXACT, exact_numbers, numbers_of, ranks_of, value_text

MAX_EDGES = 60_000_000
"""Most edges between distinct records and distinct boxes that are kept (4 bytes each)."""

MAX_PAIRS = 400_000_000_000
"""Most pairs of a distinct record and a distinct box that are looked at (64 at a time)."""

BITS_BYTES = 1 << 28

ROWS = 1 << 17
"""Rows that are compared with their records at a time."""


@dataclass(frozen=True, eq=False)
class OriginalColumn:
    """What the codes of an original column stand for: ``numbers`` (ascending) or ``position``, the code of each level;
    missing is the code ``missing``, the last of ``n_codes``."""

    numbers: NDArray[np.float64]
    position: dict[str, int]
    missing: int
    n_codes: int


@dataclass(frozen=True, eq=False)
class Original:
    """A table that releases are compared with, in codes, prepared once: see :func:`prepare`.

    ``table`` (n rows), ``schema``: as given. ``codes`` (n,): of the p quasi-identifiers, as of :func:`side_by_side`,
    whose meaning is in ``columns``. ``numbers``: of each kept column of numbers its distinct values, ascending, and the
    place of each record's among them (n,), missing last. ``person`` (n,): whose each record is, -1 for nobody's;
    ``None`` when every record is a person or the table does not tell.
    """

    table: pd.DataFrame
    schema: Schema
    codes: NDArray[np.void]
    columns: tuple[OriginalColumn, ...]
    numbers: dict[str, tuple[NDArray[np.float64], NDArray[np.integer]]]
    person: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def types(self) -> LookAlikes:
        """The records that are equal in all quasi-identifiers, for whoever looks at all who fit a row."""
        bounds = [column.n_codes for column in self.columns]
        return classes_of(zip(columns_of(self.codes), bounds, strict=True), len(self))


def prepare(original: pd.DataFrame, schema: Schema) -> Original:
    """Return the original as comparisons need it, so that many releases of one table are compared faster.

    It is made from the table alone and does not depend on any release. Raises :class:`SchemaError` when a
    quasi-identifier is not in the table, and :class:`EncodeError` for a value that does not fit its column's kind.
    """
    original = as_treated(original, schema)
    names = schema.quasi_identifying
    for name in names:
        require_column(original, name, "original")
    columns, narrow = [], []
    for name in names:
        codes_of_column, column_of_codes = original_column(original[name], schema[name])
        columns.append(column_of_codes)
        narrow.append(codes_of_column.astype(np.min_scalar_type(column_of_codes.n_codes)))
        del codes_of_column
    codes = side_by_side(narrow)
    kept_numbers = {}
    for column in schema.columns:
        if column.role in UNCHANGED and column.name in original.columns and column.kind is not Kind.CATEGORICAL:
            try:
                places, distinct = ranks_of(original[column.name], column)
            except AnonymizerError:
                continue  # not numbers after all: compared as text
            kept_numbers[column.name] = (distinct, places)
    person = None
    if schema.person is not None and schema.person in original.columns:
        person = persons_of_values(original[schema.person], schema[schema.person])
    return Original(original, schema, codes, tuple(columns), kept_numbers, person)


def original_of(original: pd.DataFrame | Original, schema: Schema) -> Original:
    """Return a table as comparisons need it, unless it is so already. Raises what :func:`prepare` raises, and
    :class:`ParameterError` when it was prepared under another schema."""
    if not isinstance(original, Original):
        return prepare(original, schema)
    if original.schema is not schema and original.schema != schema:
        raise ParameterError("The original was prepared under another schema.", remedy="Prepare it under this one.")
    return original


@dataclass(frozen=True, eq=False)
class Sides:
    """Both tables in codes. ``codes`` (n,) of the records, as of :func:`side_by_side`, ``equal``: what returns equal
    ones; ``index``: of each column, the distinct cell of each row (n',), ``classes`` of equal rows; ``cells``: of each
    column, the codes that each distinct cell allows."""

    codes: NDArray[np.void]
    equal: Callable[[], LookAlikes]
    index: tuple[NDArray[np.integer[Any]], ...]
    classes: LookAlikes
    cells: tuple["AllowedCodes", ...]

    @property
    def types(self) -> LookAlikes:
        """The records that are equal."""
        return self.equal()

    def with_column(self, codes: NDArray[np.int32], index: NDArray[np.int32], n_codes: int) -> "Sides":
        """Return both tables with one more column, in which every row allows just its own code, below ``n_codes``."""
        each = np.arange(n_codes, dtype=np.int32)
        cells = AllowedCodes(n_codes, each, each, np.zeros(n_codes + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
        types = look_alikes(pd.DataFrame({"type": self.types.class_of, "code": codes}), ("type", "code"))
        return Sides(
            side_by_side([*columns_of(self.codes), codes]),
            lambda: types,
            (*self.index, index),
            look_alikes(pd.DataFrame({"class": self.classes.class_of, "code": index}), ("class", "code")),
            (*self.cells, cells),
        )

    def misfits(self, order: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows (n',) do not contain the values of the record that ``order`` (n',) names for them."""
        from anonymizer.checking import consistency_kernels as kernels

        wrong = np.zeros(len(order), dtype=np.bool_)
        flat = self.codes.view(np.uint8).reshape(len(self.codes), -1)
        for start in range(0, len(order), ROWS):  # the codes of so many records are taken out at a time
            rows = slice(start, start + ROWS)
            records = np.take(flat, order[rows], axis=0).reshape(-1).view(self.codes.dtype)
            for codes, index, cells in zip(columns_of(records), self.index, self.cells, strict=True):
                allowed = cells.n_codes, cells.low, cells.high, cells.listed_starts, cells.listed
                kernels.misfits(codes.astype(np.int32), index[rows].astype(np.int32), *allowed, wrong[rows])
        return wrong


@dataclass(frozen=True, eq=False)
class AllowedCodes:
    """Distinct cells of a column: cell q allows the codes ``low[q]`` to ``high[q]`` and those listed for it."""

    n_codes: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    listed_starts: NDArray[np.int64]
    listed: NDArray[np.int32]


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
    """Return the pairs of equal records and equal rows that fit."""
    type_of, type_sizes, example_types = sides.types.class_of, sides.types.sizes, _examples(sides.types)
    class_of, class_sizes, example_classes = sides.classes.class_of, sides.classes.sizes, _examples(sides.classes)
    vertices = (type_of, type_sizes, class_of, class_sizes)
    if len(type_sizes) * len(class_sizes) > max_pairs:
        reason = (
            f"comparing {len(type_sizes):,} distinct people with {len(class_sizes):,} distinct rows is more than this "
            "check does"
        )
        return Graph(*vertices, None, None, None, None, reason)
    codes = rows_wide(sides.codes, example_types)
    index = np.column_stack([column[example_classes] for column in sides.index]).astype(np.int32)
    widths = [
        cells.n_codes if not np.any((np.diff(cells.listed_starts) > 0) & (cells.low <= cells.high)) else 0
        for cells in sides.cells
    ]
    leading = int(np.argmax(widths))
    by_code = np.argsort(codes[:, leading], kind="stable")
    type_rank = np.empty(len(by_code), dtype=np.int64)
    type_rank[by_code] = np.arange(len(by_code))
    vertices = (type_rank[type_of], type_sizes[by_code], class_of, class_sizes)
    return _join(codes[by_code], index, sides.cells, leading, vertices, max_edges)


def _runs(
    codes: NDArray[np.int32], index: NDArray[np.int32], lead: AllowedCodes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the run of types of each class begins and ends, and whether its cell of the leading column is a
    range. ``codes``: of that column, ascending; ``index``: the cell of each class."""
    first = np.zeros(len(index), dtype=np.int64)
    last = np.full(len(index), len(codes), dtype=np.int64)
    runs = (lead.low <= lead.high) & (np.diff(lead.listed_starts) == 0)  # one that allows missing as well is no run
    ranged = runs[index]
    first[ranged] = np.searchsorted(codes, lead.low[index[ranged]], side="left")
    last[ranged] = np.searchsorted(codes, lead.high[index[ranged]], side="right")
    return first, last, ranged


def _join(
    codes: NDArray[np.int32],
    index: NDArray[np.int32],
    columns: Sequence[AllowedCodes],
    leading: int,
    vertices: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    max_edges: int,
) -> Graph:
    """Return the edges, by sets of bits: a box holds the types that all of its cells hold.

    Types are sorted by the ``leading`` column, so that a cell of that column that is a range cuts out one run of them.
    """
    from anonymizer.checking import consistency_kernels as kernels

    _, type_sizes, _, class_sizes = vertices
    n_types, n_classes = len(codes), len(index)
    first, last, ranged = _runs(codes[:, leading], index[:, leading], columns[leading])
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
        count = kernels.meet(
            bits, rows, first, ends, start, type_sizes, class_sizes, degree, records, rows_per_type, most - total
        )
        total += count
        if count < 0:
            reason = f"people and rows fit together in more than {most:,} ways"
            return Graph(*vertices, None, None, None, None, reason)
    if total > max_edges:
        reason = f"people and rows fit together in {total:,} ways, more than the {max_edges:,} that this check keeps"
        return Graph(*vertices, records, rows_per_type, None, None, reason)
    starts = np.concatenate([[0], np.cumsum(degree)])
    types = np.empty(total, dtype=np.int32)
    place = starts[:-1].copy()
    for start in blocks:
        if len(blocks) > 1:
            fill(start)
        kernels.join(bits, rows, first, np.minimum(last, start + words * 64), start, place, types)
    return Graph(*vertices, records, rows_per_type, starts, types)


def _examples(classes: LookAlikes) -> NDArray[np.int64]:
    """Return one member of each class."""
    example = np.empty(len(classes.sizes), dtype=np.int64)
    example[classes.class_of] = np.arange(len(classes.class_of))
    return example


def sides_of(
    released: pd.DataFrame,
    original: Original,
    classes: LookAlikes | None = None,
    cells: Mapping[str, ColumnCells] | None = None,
) -> Sides:
    """Return both tables' quasi-identifiers in codes. ``classes``: of equal released rows, and ``cells``: of each
    column, when the caller has them."""
    names = original.schema.quasi_identifying
    if not names:
        raise SchemaError("No column is quasi-identifying.", remedy="Mark the columns that an attacker could know.")
    cells = cells or read_cells(released, original.schema)
    index = tuple(cells[name].index for name in names)
    allowed = [allowed_codes(cells[name].cells, column) for name, column in zip(names, original.columns, strict=True)]
    alike = classes or look_alikes(released, names)
    return Sides(original.codes, lambda: original.types, index, alike, tuple(allowed))


def original_column(original: "pd.Series[Any]", column: Column) -> tuple[NDArray[np.integer[Any]], OriginalColumn]:
    """Return codes (n,) of the original values, and what they stand for."""
    if column.kind is Kind.CATEGORICAL:
        codes, levels = texts_of(original)
        position = {level: code for code, level in enumerate(levels) if level is not None}
        missing = len(levels)
        if None in levels:
            codes = np.where(codes == levels.index(None), np.int32(missing), codes)
        return codes, OriginalColumn(np.empty(0), position, missing, missing + 1)
    places, numbers = ranks_of(original, column)
    return places, OriginalColumn(numbers, {}, len(numbers), len(numbers) + 1)


def _place(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of every number among ``numbers``, which are ascending and hold it; NaN comes last."""
    return np.where(np.isnan(values), len(numbers), np.searchsorted(numbers, values)).astype(np.int64)


def allowed_codes(cells: Sequence[Cell], column: OriginalColumn) -> AllowedCodes:
    """Return cells as codes: withheld allows all, an interval its run, a set its levels, a mean or median every number;
    missing only where it is named."""
    numbers, position, missing = column.numbers, column.position, column.missing
    low, high = np.ones(len(cells), dtype=np.int32), np.zeros(len(cells), dtype=np.int32)
    if len(numbers):
        between = [q for q, cell in enumerate(cells) if cell.low is not None and cell.high is not None]
        ends = np.array([(cells[q].low, cells[q].high) for q in between], dtype=np.float64).reshape(-1, 2)
        low[between] = np.searchsorted(numbers, ends[:, 0], side="left")
        high[between] = np.searchsorted(numbers, ends[:, 1], side="right") - 1
    listed_starts = np.zeros(len(cells) + 1, dtype=np.int64)
    listed: list[int] = []
    for q, cell in enumerate(cells):
        if cell.withheld:
            low[q], high[q] = 0, column.n_codes - 1
        else:
            if cell.estimate:
                low[q], high[q] = 0, len(numbers) - 1
            if not len(numbers):
                listed.extend(position[level] for level in cell.levels if level in position)
            if cell.missing:
                listed.append(missing)
        listed_starts[q + 1] = len(listed)
    return AllowedCodes(column.n_codes, low, high, listed_starts, np.array(listed, dtype=np.int32))


KeptColumn = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Codes of a kept column after (n',) and before (n,): equal codes are equal values."""


def kept_columns(released: pd.DataFrame, original: Original) -> tuple[KeptColumn, ...]:
    """Return the columns that both tables keep, in codes."""
    return tuple(
        _kept_codes(released[column.name], original, column)
        for column in original.schema.columns
        if column.role in UNCHANGED and column.name in released.columns and column.name in original.table.columns
    )


def as_one(columns: Sequence[KeptColumn]) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return one column for all: its codes before (n,) and after (n',), and their number. Equal means equal in all."""
    both = pd.DataFrame({str(place): np.concatenate(codes) for place, codes in enumerate(columns)})
    classes = look_alikes(both, list(both.columns))
    codes, rows = classes.class_of.astype(np.int32), len(columns[0][0])
    return codes[rows:], codes[:rows], len(classes.sizes)


def _kept_codes(released: "pd.Series[Any]", original: Original, column: Column) -> KeptColumn:
    """Return a column's codes after and before. Missing agrees with missing only; a released value that no record has
    gets a code that no record has."""
    if column.name in original.numbers:
        numbers, before = original.numbers[column.name]
        try:
            after = numbers_of(released, column)[0].astype(np.float64)
        except AnonymizerError:
            pass
        else:
            if len(numbers) and max(-numbers[0], numbers[-1]) >= EXACT:
                return _exact_codes(released, original.table[column.name], column)
            place = _place(after, numbers)
            exists = np.isnan(after)
            if len(numbers):
                exists |= numbers[np.minimum(place, len(numbers) - 1)] == after
            return np.where(exists, place, len(numbers) + 1), before
    before_codes, texts = texts_of(original.table[column.name])
    rank = {text: code for code, text in enumerate(texts)}
    index, texts_after = texts_of(released)
    lookup = np.array(
        [
            rank[text] if text in rank else rank.get(kept_value(text or ""), len(rank) + place)
            for place, text in enumerate(texts_after)
        ],
        dtype=np.int32,
    )
    return lookup[index] if len(texts_after) else index, before_codes


def _exact_codes(released: "pd.Series[Any]", original: "pd.Series[Any]", column: Column) -> KeptColumn:
    """Return what :func:`_kept_codes` does of numbers that floats do not tell apart."""
    rank: dict[object, int] = {}
    codes = []
    for values in (original, released):
        place, distinct = pd.factorize(values, use_na_sentinel=False)
        keys = value_keys(pd.Series(distinct), column)
        codes.append(np.array([rank.setdefault(key, len(rank)) for key in keys], dtype=np.int64)[place])
    return codes[1], codes[0]


def value_keys(values: "pd.Series[Any]", column: Column, as_text: bool = False) -> list[object]:
    """Return what stands for each value of a kept column (n,): equal only where values are the same, to the last digit;
    ``None`` for missing. ``as_text``: of numbers, too. Raises :class:`EncodeError` for numbers and dates that are
    none."""
    if column.kind is not Kind.CATEGORICAL and not as_text:
        return list(exact_numbers(values, column))
    return [None if absent else value_text(value) for value, absent in zip(values, values.isna(), strict=True)]
