"""A table whose records are in boxes: what is measured of a release, and of the training records of a fold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.cuts import Cuts
from anonymizer.growing.encode import EncodedTable, Encoding, encode_column
from anonymizer.measuring.bins import Bins
from anonymizer.measuring.predict import cell_of, features_of
from anonymizer.measuring.utility import cell_ncp
from anonymizer.releasing.expand import middle_of
from anonymizer.releasing.one_way import BoxReading, ByTables
from anonymizer.releasing.release import Release
from anonymizer.schema import Column, Kind
from anonymizer.values import numbers_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def _ends(cell: Cell, encoding: Encoding) -> tuple[float, float]:
    """Return the ends of a cell of numbers within the domain; of one that says nothing, those of the domain."""
    low, high = encoding.domain
    if cell.low is None or cell.high is None:
        return low, high
    return min(max(cell.low, low), high), min(max(cell.high, low), high)


class BoxedColumn(NamedTuple):
    """A quasi-identifier: its distinct cells, and which of them each box has (boxes,)."""

    encoding: Encoding
    cells: Sequence[Cell]
    of_box: NDArray[np.integer]

    def features(self) -> Floats:
        """Return what a model sees of the column in each box, (boxes, d)."""
        return np.asarray(np.array([features_of(cell, self.encoding) for cell in self.cells])[self.of_box])

    def shares(self, bins: Bins, reading: BoxReading | None) -> tuple[Floats, NDArray[np.integer]]:
        """Return how much of boxes lies in each bin (rows, b), rows adding up to 1, and the row of each box (boxes,).
        ``reading``: of the boxes, ``None`` for evenly."""
        if reading is None:
            return bins.shares(self.cells), self.of_box
        return np.asarray(reading.shares @ bins.of_atoms(reading.atoms)), reading.boxes.kind

    def levels(self, reading: BoxReading | None) -> tuple[Floats, NDArray[np.integer]]:
        """Return the same of each code of a column of levels (rows, codes)."""
        n_codes = self.encoding.n_codes
        return self.shares(Bins(self.encoding, None, np.arange(n_codes), n_codes), reading)

    def numbers(self, reading: BoxReading | None) -> tuple[Floats, Floats, NDArray[np.integer]]:
        """Return the mean of the numbers that boxes say (rows,), how much of boxes has one (rows,), and the row of each
        box (boxes,). A cell that is a mean or median says that number, and one that is read evenly its middle."""
        plain = [(middle_of(cell), 1 - cell.missing / 2) if cell.low is not None else (0.0, 0.0) for cell in self.cells]
        number, present = np.array(plain).reshape(-1, 2).T
        if reading is None:
            return number, present, self.of_box
        atoms, boxes = reading.atoms, reading.boxes
        sums = reading.shares[:, : atoms.values] @ np.column_stack([atoms.middles, np.ones(atoms.values)])
        says_one = np.array([cell.estimate for cell in self.cells])[boxes.cell]
        means = np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)
        return np.where(says_one, number[boxes.cell], means), sums[:, 1], boxes.kind

    def draw_numbers(self, box: Rows, reading: BoxReading | None, draws: np.random.Generator) -> Floats:
        """Return a number or date of each of n records, NaN for missing, at random by what its ``box`` (n,) says."""
        which, places = draws.random(len(box)), draws.random(len(box))
        low, high = np.array([_ends(cell, self.encoding) for cell in self.cells]).reshape(-1, 2)[self.of_box[box]].T
        if reading is None:
            _, present, of_box = self.numbers(None)
            return np.where(which < present[of_box[box]], low + places * (high - low), np.nan)
        atom = reading.draw(box, which)
        numbers = reading.atoms.numbers(atom, places)
        says_one = np.array([cell.estimate for cell in self.cells])[self.of_box[box]]
        return np.where(says_one & ~np.isnan(numbers), low, numbers)

    def losses(self) -> Floats:
        """Return the NCP of the column in each box, (boxes,)."""
        return np.asarray(np.array([cell_ncp(cell, self.encoding) for cell in self.cells])[self.of_box])


@dataclass(frozen=True, eq=False)
class BoxedTable:
    """n records in boxes. ``box`` (n,): the box of each record, -1 of one that was left out; ``columns``: the p
    quasi-identifiers; ``by_tables``: how boxes are read by one-way tables, ``None`` without any."""

    box: Rows
    columns: tuple[BoxedColumn, ...]
    by_tables: ByTables | None = None

    @classmethod
    def of_release(
        cls, encoded: EncodedTable, release: Release, classes: NDArray[np.integer],
        by_tables: ByTables | None = None,
    ) -> "BoxedTable":  # fmt: skip
        """Return the records of a table in the boxes of its release. ``classes`` (n',): the class of look-alike rows
        of each released row."""
        box = np.full(encoded.n_records, -1, dtype=np.int64)
        box[release.order] = classes
        first = np.unique(classes, return_index=True)[1]
        columns = []
        for encoding in encoded.encodings:
            column = release[encoding.name]
            assert column.index is not None
            columns.append(BoxedColumn(encoding, column.cells, column.index[first]))
        return cls(box, tuple(columns), by_tables)

    @classmethod
    def of_records(cls, encoded: EncodedTable) -> "BoxedTable":
        """Return every distinct record in a box of its own."""
        distinct, box = np.unique(encoded.codes.matrix(), axis=0, return_inverse=True)
        columns = (
            BoxedColumn(encoding, [cell_of(code, encoding) for code in range(encoding.n_codes)], distinct[:, position])
            for position, encoding in enumerate(encoded.encodings)
        )
        return cls(box.reshape(-1).astype(np.int64), tuple(columns))

    @property
    def readings(self) -> dict[str, BoxReading]:
        """How boxes are read in each column that is not read evenly."""
        return {} if self.by_tables is None else self.by_tables.readings

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.encoding.name for column in self.columns]

    @property
    def n_boxes(self) -> int:
        """Number of boxes, those without a record included."""
        return len(self.columns[0].of_box)

    def features(self) -> Floats:
        """Return what a model sees of each box, (boxes, d)."""
        return np.concatenate([column.features() for column in self.columns], axis=1)

    def losses(self) -> Floats:
        """Return the NCP of each box in each column, (boxes, p)."""
        return np.column_stack([column.losses() for column in self.columns])


@dataclass(frozen=True, eq=False)
class Values:
    """What n rows say of a column. ``of_row`` (n,): which of c different cells each has. Numbers: ``number`` (c,), and
    ``present`` (c,), the part of the cell that has a value. Levels: ``shares`` (c, levels), of each of ``levels`` and,
    last, of "missing", whether it occurs or not."""

    column: Column
    of_row: NDArray[np.integer]
    number: Floats
    present: Floats
    shares: Floats
    levels: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """Number of different cells."""
        return len(self.number if self.is_number else self.shares)

    @property
    def is_number(self) -> bool:
        """True for a column of numbers, False for one of levels."""
        return self.column.kind is Kind.NUMERIC


def values_before(table: pd.DataFrame, column: Column) -> Values:
    """Return what the rows of a table say of a column of numbers or levels."""
    nothing = np.empty(0)
    if column.kind is Kind.NUMERIC:
        plain = replace(column, cuts=Cuts())  # what the table says, before anything is rounded
        of_row, number = pd.factorize(
            numbers_of(table[column.name], plain)[0].astype(np.float64), use_na_sentinel=False
        )
        present = np.isfinite(number).astype(np.float64)
        return Values(column, of_row, np.where(present > 0, number, 0.0), present, nothing)
    codes, encoding, _ = encode_column(table[column.name], column)
    levels = tuple(str(encoding.text(code)) for code in range(len(encoding.labels)))
    return Values(column, codes, nothing, nothing, np.eye(len(levels) + 1), levels)


def values_after(boxed: BoxedTable, before: Values, records: Rows, draws: np.random.Generator | None = None) -> Values:
    """Return what a release says of a column for some records (n',), none of which was left out. Sensitive and
    insensitive columns stay as they are; ``draws``: for values that are drawn from the boxes, instead of their
    expected numbers and shares."""
    position = boxed.names.index(before.column.name) if before.column.name in boxed.names else None
    if position is None:
        return replace(before, of_row=before.of_row[records])
    boxes, column = boxed.box[records], boxed.columns[position]
    reading = boxed.readings.get(before.column.name)
    if before.is_number:
        if draws is not None:
            number = column.draw_numbers(boxes, reading, draws)
            there = np.isfinite(number)
            own = np.where(there, number, 0.0), there.astype(np.float64)
            return Values(before.column, np.arange(len(records)), *own, before.shares)
        number, present, of_box = column.numbers(reading)
        return Values(before.column, of_box[boxes], number, present, before.shares)
    shares, of_box = column.levels(reading)
    place = {level: number for number, level in enumerate(before.levels)}
    moved = np.zeros((len(shares), len(place) + 1))
    for code in range(column.encoding.n_codes):
        text = column.encoding.text(code)
        moved[:, -1 if text is None else place[text]] += shares[:, code]
    of_row = of_box[boxes]
    if draws is not None:
        of_row, moved = pick(moved, of_row, draws), np.eye(len(place) + 1)
    return replace(before, of_row=of_row, shares=moved)


def pick(shares: Floats, row: NDArray[np.integer], draws: np.random.Generator) -> Rows:
    """Return a column of some ``shares`` (rows, c) for each of n records, by the shares of its ``row`` (n,)."""
    ends = np.cumsum(shares, axis=1).reshape(-1)
    c, row = shares.shape[1], row.astype(np.int64)  # narrow integers would run over
    ends += np.repeat(np.arange(len(shares)), c) * 2.0
    at = row * 2.0 + draws.random(len(row)) * (ends[row * c + c - 1] - row * 2.0)
    return np.asarray(np.minimum(np.searchsorted(ends, at, "right") - row * c, c - 1), np.int64)
