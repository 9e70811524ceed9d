"""The one-way tables of a release as a file, what every cell leaves open among their atoms as another, and back.

``one_way.csv`` has a row for each atom: its column, the cell of the table that holds it, what it is, the count of that
cell, and its weight inside the cell, which follows from the boxes. ``boxes.csv`` has a row for each cell of a column
and number of records of a box: how many boxes are so, and which atoms (the rows of the column in ``one_way.csv``, from
1) are open and which of these are sure. A recipient's program needs both and nothing else.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import kept_text, kept_value, number_of, parse_cell
from anonymizer.checking.linkage import LookAlikes
from anonymizer.errors import CellError, ReadError, SchemaError
from anonymizer.labelled.dates import write_dates
from anonymizer.releasing.atoms import Atoms, atoms_of_levels, atoms_of_pieces
from anonymizer.releasing.grid import whole_unit
from anonymizer.releasing.one_way import BoxReading, Made, OneWay, readings_of, scale_of_noise, texts_of
from anonymizer.releasing.raking import Boxes, OpenCells
from anonymizer.releasing.release import Release
from anonymizer.schema import Kind, Schema

ONE_WAY, BOXES = "one_way.csv", "boxes.csv"
FIELDS = ("column", "cell", "low", "high", "level", "missing", "count", "weight")
FIELDS_OF_BOXES = ("column", "text", "records", "boxes", "open", "sure")
MOST_COUNT, MOST_ROWS = 2**53, 1_000_000
FAR = 45
"""Scales of noise that are never passed: once in 10¹⁹ counts."""
REMEDY = "Use the packet as it was made."

Tables = Mapping[str, tuple[Atoms, OneWay | None]]


class OneWayFiles(NamedTuple):
    """The two files, ``one_way`` and ``boxes``.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> from io import BytesIO
    >>> from zipfile import ZipFile
    >>> packet = ZipFile(BytesIO(result.packet(seconds=0.1)))
    >>> tables = an.OneWayFiles(packet.read("one_way.csv"), packet.read("boxes.csv"))
    >>> rows = an.expand(result.table, result.schema, tables=tables)
    >>> round(rows["weight"].sum())
    300
    """

    one_way: bytes
    boxes: bytes

    def readings(self, schema: Schema) -> "dict[str, ReadingInFile]":
        """Return how boxes are read in each column that has a table. Raises :class:`ReadError` for what is none."""
        tables, boxes = _by_column(self.one_way, FIELDS), _by_column(self.boxes, FIELDS_OF_BOXES)
        try:
            return {name: _reading(rows, boxes[name], schema[name].kind) for name, rows in tables.items()}
        except (CellError, ValueError, IndexError, KeyError, SchemaError):
            _refuse("it does not belong to these columns and boxes")


class ReadingInFile(NamedTuple):
    """How the boxes of a column are read; ``kind_of``: the kind of a box by its cell, as text, and its records."""

    reading: BoxReading
    kind_of: dict[tuple[str, int], int]


def _reading(rows: Sequence[Sequence[str]], boxes: Sequence[Sequence[str]], kind: Kind) -> ReadingInFile:
    missing = rows[-1][4] == "1"
    values = rows[: len(rows) - missing]
    if kind is Kind.CATEGORICAL:
        atoms = atoms_of_levels([parse_cell(row[3], kind).levels[0] for row in values], missing)
    else:
        low, high = _ends(values)
        wide = low < high
        gap = 0.0 if np.isin(low[wide], high[wide]).any() else whole_unit(np.append(low, high), kind)
        atoms = Atoms((), missing, low, high, np.arange(len(low)), low, high, gap, kind is Kind.DATE)
    n, times = (np.array([int(row[place]) for row in boxes]) for place in (1, 2))
    cells = OpenCells.of(atoms.count, *([_places(row[place]) for row in boxes] for place in (3, 4)))
    each = np.repeat(np.arange(len(boxes)), times)
    own = Boxes(cells, each, n[each])
    kinds = own.kind[np.cumsum(times) - 1].tolist()
    cell_of = np.array([int(row[0]) - 1 for row in rows])
    counts = np.ones(cell_of.max() + 1, np.int64)
    counts[cell_of] = [int(row[5]) for row in rows]
    reading = BoxReading(atoms, own, np.array([float(row[6]) for row in rows]), OneWay(cell_of, counts))
    return ReadingInFile(reading, {(row[0], int(row[1])): kind for row, kind in zip(boxes, kinds, strict=True)})


def _places(runs: str) -> list[int]:
    """Return the atoms that :func:`_runs` writes."""
    ends = [run.split("-") for run in runs.split()]
    return [place for run in ends for place in range(int(run[0]) - 1, int(run[-1]))]


def _by_column(content: bytes, fields: tuple[str, ...]) -> dict[str, list[list[str]]]:
    """Return the rows of each column, without its name. Raises :class:`ReadError` for another file."""
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        _refuse(str(error))
    if not 1 <= len(rows) <= MOST_ROWS or tuple(rows[0]) != fields or any(len(row) != len(fields) for row in rows):
        _refuse("it does not have its columns")
    by_column: dict[str, list[list[str]]] = {}
    for row in rows[1:]:
        by_column.setdefault(kept_value(row[0]), []).append(row[1:])
    return by_column


def _ends(rows: Sequence[Sequence[str]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low = np.array([number_of(row[1]) if row[1] else -np.inf for row in rows])
    return low, np.array([number_of(row[2]) if row[2] else np.inf for row in rows])


def files_of(release: Release, schema: Schema, classes: LookAlikes, tables: Tables, made: Made) -> OneWayFiles:
    """Return the files of a release. ``classes``: of its look-alike rows; ``tables``: in the order of its columns."""
    with_tables = {name: table for name, table in tables.items() if table[1] is not None}
    readings = readings_of(release, schema, classes, with_tables, made)
    return OneWayFiles(one_way_file(readings), _boxes_text(release, readings, schema, made).encode())


def one_way_file(readings: Mapping[str, BoxReading]) -> bytes:
    """Return the file of the tables that readings are raked to."""
    rows: list[Sequence[object]] = []
    for name, reading in readings.items():
        if (table := reading.table) is not None:
            cells = zip(texts_of(reading.atoms), table.cell_of.tolist(), reading.start.tolist(), strict=True)
            rows += [
                (kept_text(name), cell + 1, *text, table.counts[cell], f"{weight:.6g}") for text, cell, weight in cells
            ]
    return _csv(FIELDS, rows).encode()


def _boxes_text(release: Release, readings: Mapping[str, BoxReading], schema: Schema, made: Made) -> str:
    import pyarrow as pa

    rows: list[Sequence[object]] = []
    for name, reading in readings.items():
        column, boxes = release[name], reading.boxes
        cells = boxes.cells
        form = column.variable.dates if column.kind is Kind.DATE else ""
        texts = write_dates(pa.array([cell.text() for cell in column.cells], pa.string()), form).to_pylist()
        ends = np.searchsorted(cells.cell, np.arange(cells.count + 1))
        parts = [slice(first, last) for first, last in pairwise(ends.tolist())]
        runs = [(_runs(cells.atom[part]), _runs(cells.atom[part][cells.sure[part]])) for part in parts]
        kinds = zip(boxes.cell.tolist(), boxes.n.astype(int).tolist(), boxes.times.tolist(), strict=True)
        rows += sorted((kept_text(name), texts[cell] or "", n, times, *runs[cell]) for cell, n, times in kinds)
    return _csv(FIELDS_OF_BOXES, rows)


def _runs(atoms: NDArray[np.int64]) -> str:
    """Return the places of atoms, from 1, as runs: "1-4 7"."""
    some = np.sort(atoms) + 1
    first = np.flatnonzero(np.diff(some, prepend=-1) != 1)
    last = np.append(first[1:] - 1, len(some) - 1) if len(some) else first
    pairs = zip(some[first].tolist(), some[last].tolist(), strict=True)
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in pairs)


def _csv(fields: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([fields, *rows])
    return file.getvalue()


def tables_in(
    content: bytes, schema: Schema, made: Made, n_records: int = MOST_COUNT
) -> dict[str, tuple[Atoms, OneWay | None]]:
    """Return the tables of a file ``one_way.csv``, by column; none of an empty file. ``n_records``: of the release, far
    above which no noise leads: a number that large could be anything. Raises :class:`ReadError` for what is none."""
    most = n_records + FAR * scale_of_noise(made.k, 1 if schema.person is None else n_records)
    by_column = _by_column(content, FIELDS) if content else {}
    tables: dict[str, tuple[Atoms, OneWay | None]] = {}
    for name, own in by_column.items():
        if name not in schema.quasi_identifying:
            _refuse("it speaks of a column that is not generalized")
        column = schema[name]
        points = made.numbers != "public" and not column.cuts
        cells = [_whole(row[0]) for row in own]
        counts: dict[int, int] = {}
        for cell, row in zip(cells, own, strict=True):
            if counts.setdefault(cell, _whole(row[5])) != _whole(row[5]):
                _refuse("a cell has two counts")
        if max(counts.values()) > most:
            _refuse("a count is far above the rows of the release")
        if sorted(counts) != list(range(1, len(counts) + 1)):
            _refuse("its cells are not numbered one after another")
        try:
            atoms = _atoms(own, column.kind, points)
        except (CellError, ValueError, IndexError):
            _refuse("its values cannot be read")
        if atoms.count != len({tuple(row[1:5]) for row in own}):
            _refuse("a value stands in it twice")
        table = OneWay(np.array(cells) - 1, np.array([counts[cell + 1] for cell in range(len(counts))]))
        tables[name] = atoms, table
    return tables


def _atoms(rows: Sequence[Sequence[str]], kind: Kind, points: bool) -> Atoms:
    missing = rows[-1][4] == "1"
    values = rows[: len(rows) - missing]
    if kind is Kind.CATEGORICAL:
        return atoms_of_levels([parse_cell(row[3], kind).levels[0] for row in values], missing)
    low, high = _ends(values)
    first, last = (np.maximum.accumulate(np.where(low < high, ends, -np.inf)) for ends in (low, high))
    touch = points and bool(np.any((low[1:] == high[:-1]) & (low[1:] < high[1:])))  # then every end is a piece
    inside = (low > first) & (high < last) if touch else (low >= first) & (high <= last)
    heap = (low == high) & inside
    start, stop = low[~heap], high[~heap]
    if not len(start) or np.any(np.diff(start) < 0) or np.any(np.diff(stop) < 0) or np.any(start > stop):
        _refuse("its numbers do not ascend")
    return atoms_of_pieces(start, stop, low[heap], kind, missing)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_COUNT):
        _refuse("a number is no whole number of 1 or more")
    return int(text)


def _refuse(reason: str) -> NoReturn:
    raise ReadError(f"{ONE_WAY} is not such a file: {reason}.", remedy=REMEDY)
