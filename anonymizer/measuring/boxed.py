"""A table whose records are in boxes: what is measured of a release, and of the training records of a fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.measuring.predict import cell_of, features_of
from anonymizer.measuring.utility import cell_ncp
from anonymizer.releasing.release import Release

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

    def losses(self) -> Floats:
        """Return the NCP of the column in each box, (boxes,)."""
        return np.asarray(np.array([cell_ncp(cell, self.encoding) for cell in self.cells])[self.of_box])


@dataclass(frozen=True, eq=False)
class BoxedTable:
    """n records in boxes. ``box`` (n,): the box of each record, -1 of one that was left out; ``columns``: the p
    quasi-identifiers."""

    box: Rows
    columns: tuple[BoxedColumn, ...]

    @classmethod
    def of_release(cls, encoded: EncodedTable, release: Release, classes: NDArray[np.integer]) -> "BoxedTable":
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
        return cls(box, tuple(columns))

    @classmethod
    def of_records(cls, encoded: EncodedTable) -> "BoxedTable":
        """Return every distinct record in a box of its own."""
        distinct, box = np.unique(encoded.codes, axis=0, return_inverse=True)
        columns = (
            BoxedColumn(encoding, [cell_of(code, encoding) for code in range(encoding.n_codes)], distinct[:, position])
            for position, encoding in enumerate(encoded.encodings)
        )
        return cls(box.reshape(-1).astype(np.int64), tuple(columns))

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
