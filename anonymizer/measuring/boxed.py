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
from anonymizer.releasing.expand import possible
from anonymizer.releasing.one_way import BoxReading, ByTables
from anonymizer.releasing.release import Release
from anonymizer.schema import Column, Kind
from anonymizer.values import numbers_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


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
        return np.asarray(reading.boxes.shares(reading.weights) @ bins.of_atoms(reading.atoms)), reading.boxes.kind

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


def records_of(release: Release) -> Rows:
    """Return the original rows of a release, ascending, without those that were left out."""
    there = np.zeros(int(release.order.max(initial=-1)) + 1, dtype=np.bool_)
    there[release.order] = True
    return np.flatnonzero(there)


def rows_of_records(release: Release) -> Rows:
    """Return the released row of each record, in the order of the records, without those that were left out."""
    row_of = np.full(int(release.order.max(initial=-1)) + 1, -1, dtype=np.int64)
    row_of[release.order] = np.arange(release.n_records)
    return row_of if len(row_of) == release.n_records else row_of[row_of >= 0]


def values_after(release: Release, before: Values, rows: Rows | None = None, records: Rows | None = None) -> Values:
    """Return what the released cells say of a column, in the order of the original rows, without those that were left
    out, as :func:`anonymizer.releasing.expand.expand` reads them beside the data dictionary: a withheld level is any of
    the column's, in equal parts. ``rows``: the released rows to be read, all when not given; ``records``: the rows of
    ``before`` that became these."""
    released = release[before.column.name]
    if released.index is None:
        return replace(before, of_row=before.of_row[records_of(release) if records is None else records])
    of_row = np.take(released.index, rows_of_records(release) if rows is None else rows)
    column = before.column if before.is_number else replace(before.column, domain=released.domain or None)
    options = [possible(cell, column) for cell in released.cells]
    if before.is_number:
        pairs = [[(v, share) for v, share in zip(*option, strict=True) if v is not None] for option in options]
        present = np.array([sum(share for _, share in pair) for pair in pairs])
        number = np.array([sum(v * share for v, share in pair) for pair in pairs])
        number = np.divide(number, present, out=np.zeros(len(pairs)), where=present > 0)
        return Values(before.column, of_row, number, present, before.shares)
    place = {level: number for number, level in enumerate(before.levels)}
    shares = np.zeros((len(options), len(before.levels) + 1))
    for row, option in enumerate(options):
        for level, share in zip(*option, strict=True):
            shares[row, len(place) if level is None else place[level]] += share
    return Values(before.column, of_row, before.number, before.present, shares, before.levels)
