"""One-way tables that go with a release: how many records have each value, or one of a few, in cells of at least k.

Whoever reads boxes by them (:mod:`anonymizer.releasing.raking`) comes closer to the original than whoever reads boxes
evenly. Cells hold k persons, and the rows of four scales of noise, and every count has noise: the difference of two
geometric numbers (discrete Laplace) of scale b, by inversion of a keyed digest of the table's content, the column, the
cell and b. So one table has one set of tables however often it is released, and tables of different b say nothing
together that their counts do not. Rounding would be of the same use, and lets somebody who knows everybody else be
certain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hmac import digest
from math import ceil, exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import level_text, number_of
from anonymizer.checking.linkage import LookAlikes
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.releasing.atoms import Atoms, atoms_of_levels, atoms_of_pieces, pieces_of_ends
from anonymizer.releasing.grid import Grid, end_text, whole_unit
from anonymizer.releasing.raking import LEAST, Boxes, rake, scaled, self_consistent
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.schema import Column, Kind, Schema
from anonymizer.settings import Settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NO_HEAPS: Floats = np.empty(0)
MOST_PIECES = 1_000
"""Cells of a grid between which no box ends are one piece where a column has more."""
SHARED = ("tiered", "tiered-strict")
"""Generalizers whose boxes are no hulls of their records."""


@dataclass(frozen=True, eq=False)
class OneWay:
    """The one-way table of a column: ``cell_of`` (a,) the cell of each of its atoms, ``counts`` (cells,) with noise.
    ``records`` (a,): of each atom in the original, where a table is made: its counts may still be what boxes do not
    allow, and it may be of no use."""

    cell_of: Integers
    counts: Integers
    records: Floats | None = None


@dataclass(frozen=True, eq=False)
class BoxReading:
    """How the boxes of a column are read among its ``atoms``. ``table``: what boxes are raked to; ``start`` (a,): the
    weights without it, those inside a cell of it adding up to 1."""

    atoms: Atoms
    boxes: Boxes
    start: Floats
    table: OneWay

    @cached_property
    def weights(self) -> Floats:
        """The weights of the atoms (a,)."""
        return rake(self.boxes, self.start, self.table.cell_of, self.table.counts.astype(np.float64))

    @cached_property
    def shares(self) -> Any:
        """How much of each kind of box has each atom, in their order: a sparse matrix (kinds, a), whose rows add up to
        1."""
        shares = self.boxes.shares(self.weights)
        shares.sort_indices()
        return shares

    def draw(self, box: NDArray[np.integer], places: Floats) -> Integers:
        """Return an atom for each of n records, by the shares of its ``box`` (n,). ``places`` (n,): which, from 0 to
        below 1 of all atoms of the box, in their order."""
        shares, kind = self.shares, self.boxes.kind[box]
        ends = np.append(0.0, np.cumsum(shares.data))
        first, last = shares.indptr[:-1][kind], shares.indptr[1:][kind]
        at = ends[first] + places * (ends[last] - ends[first])
        entry = np.clip(np.searchsorted(ends, at, "right") - 1, first, last - 1)
        return np.asarray(shares.indices[entry], np.int64)


def scale_of_noise(k: int, most_rows: int = 1) -> float:
    """Return the scale b of the noise in records, for ``most_rows`` of a person."""
    return max(2.0, k / 4) * most_rows


def odds_of(k: int) -> float:
    """Return how much likelier one value of a person is than another at most, by the table of a column: e^(2/b), in
    hundredths, rounded up."""
    return ceil(100 * exp(2 / scale_of_noise(k))) / 100


def laplace_by_inversion(word: bytes, b: float) -> int:
    """Return the whole number of discrete Laplace noise of scale b that a word of 8 bytes stands for.

    P(x) is proportional to p^|x|, p = e^(−1/b): the quantile of the middle of the word's place among all words.
    """
    number, p = int.from_bytes(word, "big"), exp(-1 / b)
    tail = (min(number, 2**64 - 1 - number) + 0.5) / 2**64
    far = int(-b * log(tail * (1 + p))) if tail * (1 + p) < p else 0  # P(X ≤ −x) = p^x / (1 + p), and so above
    return -far if number < 2**63 else far


def with_noise(counts: Integers, labels: Sequence[str], column: str, b: float, seed: bytes) -> Integers:
    """Return counts (cells,) with the noise that belongs to each cell, 1 at the least. ``labels``: of the cells;
    ``seed``: of the key and the table's content."""
    texts = (f"one-way table\0{column}\0{b!r}\0{label}".encode() for label in labels)
    noise = [laplace_by_inversion(digest(seed, text, "sha256")[:8], b) for text in texts]
    return np.maximum(1, counts + np.array(noise, np.int64))


def cells_of_numbers(counts: Sequence[int], k: int, missing: int = 0) -> list[list[int]]:
    """Return the cells of a table of numbers, each its atoms: none holds fewer than k where that can be.

    An atom of k stands alone, runs of smaller ones are joined; while a cell is below k the smallest, the first of
    equals, joins its smaller neighbour, the lower of equals. "Missing", the atom after the last, is a cell of its own
    or joins the smallest; where nobody's value is missing it is in no cell.
    """
    cells: list[list[int]] = []
    for atom, count in enumerate(counts):
        if cells and count < k and counts[cells[-1][-1]] < k:
            cells[-1].append(atom)
        else:
            cells.append([atom])
    sums = [sum(counts[atom] for atom in cell) for cell in cells]
    while len(cells) > 1 and min(sums) < k:
        place = sums.index(min(sums))
        near = [one for one in (place - 1, place + 1) if 0 <= one < len(cells)]
        low = min(place, min(near, key=lambda one: (sums[one], one)))
        cells[low : low + 2], sums[low : low + 2] = [cells[low] + cells[low + 1]], [sums[low] + sums[low + 1]]
    if missing >= k or (missing and not cells):
        cells.append([len(counts)])
    elif missing:
        cells[sums.index(min(sums))].append(len(counts))
    return cells


def cells_of_levels(counts: Sequence[int], k: int) -> list[list[int]]:
    """Return the cells of a table of levels, each its atoms, the most frequent first: all below k share the last one,
    which takes the smallest other one while it is below k."""
    order = sorted(range(len(counts)), key=lambda level: -counts[level])
    alone = [level for level in order if counts[level] >= k]
    rest = [level for level in order if counts[level] < k]
    while rest and alone and sum(counts[level] for level in rest) < k:
        rest.append(alone.pop())
    return [[level] for level in alone] + ([sorted(rest)] if rest else [])


def with_rows(cells: Sequence[list[int]], rows: Floats, least: float, atoms: Atoms) -> list[list[int]]:
    """Return cells of at least so many rows, where noise would drown smaller ones: while there is one below, the
    smallest joins the smaller of its neighbours, or of levels the next smallest. ``rows`` (a,): of each atom."""
    cells = sorted((list(cell) for cell in cells), key=min)
    while len(cells) > 1:
        sums = [rows[cell].sum() for cell in cells]
        place = int(np.argmin(sums))
        if sums[place] >= least:
            break
        beside = [one for one in (place - 1, place + 1) if 0 <= one < len(cells)]
        near = [one for one in range(len(cells)) if one != place] if atoms.levels else beside
        other = min(near, key=lambda one: (sums[one], one))
        first, second = sorted((place, other))
        cells[first] = sorted(cells[first] + cells.pop(second))
    return cells


def is_hull(column: Column, generalizer: str, writing: str) -> bool:
    """Return whether both ends, every level and "missing" of each cell of a column are somebody's in the box."""
    public = column.cuts.hierarchy is not None or column.bands is not None or bool(column.cuts.bands)
    return generalizer not in SHARED and not public and (column.kind is not Kind.CATEGORICAL or writing != "groups")


def atoms_of_column(
    column: ReleasedColumn, levels: Sequence[str], missing: bool, gap: float, heaps: Floats = NO_HEAPS,
    grid: Grid | None = None,
) -> Atoms:  # fmt: skip
    """Return the atoms of a released column. ``levels``: all that it can have; ``missing``: whether a value can be;
    ``gap``: from a whole number or day to the next, else 0; ``heaps``: values that are atoms; ``grid``: whose cells are
    pieces, ``None`` where ends are values."""
    if column.kind is Kind.CATEGORICAL:
        return atoms_of_levels(levels, missing)
    pairs = [(cell.low, cell.high) for cell in column.cells if cell.ends is not None and not cell.estimate]
    low, high = np.array(pairs, np.float64).reshape(-1, 2).T
    if grid is not None:
        start, stop = _joined(grid, low, high, heaps) if len(grid.low) > MOST_PIECES else (grid.low, grid.high)
    else:
        domain = [number_of(text) for text in column.domain]
        start, stop = pieces_of_ends(np.append(low, domain[:1]), np.append(high, domain[-1:]), gap, points=True)
    return atoms_of_pieces(start, stop, heaps, column.kind, missing)


def _joined(grid: Grid, low: Floats, high: Floats, heaps: Floats) -> tuple[Floats, Floats]:
    """Return the ends of fewer pieces: the cells of a grid, joined where no box ends between them and no heap is."""
    begins, ends = np.isin(grid.low, low), np.isin(grid.high, high)
    apart = np.zeros(len(grid.low), np.bool_)
    apart[grid.cells(heaps)] = True
    first = np.append(True, begins[1:] | ends[:-1] | apart[1:] | apart[:-1])
    return grid.low[first], grid.high[np.append(np.flatnonzero(first)[1:] - 1, len(first) - 1)]


def heaps_of(encoding: Encoding, persons: Integers, k: int) -> Floats:
    """Return the numbers that k persons or more have, ascending. ``persons`` (b,): who have each code."""
    exact, values = encoding.exact or encoding, len(encoding.labels)
    many = (persons[:values] >= k) & (exact.low == exact.high)
    return np.asarray(exact.low[many], np.float64)


def persons_of_codes(codes: NDArray[np.integer], person: NDArray[np.integer] | None, n_codes: int) -> Integers:
    """Return how many persons have each code (b,), everybody once, at the lowest of their codes; nobody's records count
    for nobody."""
    if person is not None:
        whose, own = person[person >= 0], codes[person >= 0]
        lowest = np.full(int(whose.max(initial=-1)) + 1, n_codes)
        np.minimum.at(lowest, whose, own)
        codes = lowest[lowest < n_codes]
    return np.bincount(codes, minlength=n_codes).astype(np.int64)


def table_of(
    atoms: Atoms, atom_of: Integers, persons: Integers, records: Integers, name: str, k: int, b: float, seed: bytes
) -> OneWay:  # fmt: skip
    """Return the table of a column; one cell says nothing but how many records there are. ``atom_of`` (b,): the atom of
    each code; ``persons``, ``records`` (b,): who have it, and their records; ``b``: of the noise."""
    people = np.bincount(atom_of, persons, atoms.count).astype(np.int64).tolist()
    if atoms.levels:
        cells = cells_of_levels(people, k)
    else:
        cells = cells_of_numbers(people[: atoms.values], k, sum(people[atoms.values :]))
    rows = np.bincount(atom_of, records, atoms.count).astype(np.float64)
    cells = with_rows(cells, rows, 4 * b, atoms)
    if min(sum(people[atom] for atom in cell) for cell in cells) < k:
        cells = [list(range(atoms.count))]
    cell_of = np.zeros(atoms.count, np.int64)
    for number, cell in enumerate(cells := sorted(map(sorted, cells))):
        cell_of[cell] = number
    counts = np.bincount(cell_of[atom_of], records, len(cells)).astype(np.int64)
    texts = texts_of(atoms)
    return OneWay(cell_of, with_noise(counts, [_label(atoms, cell, texts) for cell in cells], name, b, seed), rows)


def _label(atoms: Atoms, cell: Sequence[int], texts: Sequence[Sequence[str]]) -> str:
    """Return what a cell of a table is called where its noise is: equal cells are called alike, whatever heaps are in
    them, and the rest of a piece says which heaps it is without. ``texts``: see :func:`texts_of`."""
    if atoms.levels:
        return "\0".join(text for atom in cell for text in texts[atom])
    numbers = [atom for atom in cell if atom < atoms.values]
    whole = {int(atoms.piece[atom]) for atom in numbers if atoms.is_rest[atom]}
    inside = [atom for atom in numbers if atoms.is_rest[atom] or int(atoms.piece[atom]) not in whole]
    without = np.setdiff1d(np.flatnonzero(np.isin(atoms.piece, list(whole))), numbers)
    parts = (" ".join(texts[atom][0] + ".." + texts[atom][1] for atom in some) for some in (inside, without.tolist()))
    return "\0".join([*parts, "missing" * (len(numbers) < len(cell))])


def texts_of(atoms: Atoms) -> list[tuple[str, str, str, str]]:
    """Return each atom as it is written: low, high, level, and "1" for missing."""
    kind = Kind.DATE if atoms.dates else Kind.NUMERIC
    texts = [("", "", level_text(level), "") for level in atoms.levels] or [
        (end_text(low, kind), end_text(high, kind), "", "") for low, high in zip(atoms.low, atoms.high, strict=True)
    ]
    return texts + [("", "", "", "1")] * atoms.missing


class Made(NamedTuple):
    """How a release was made, as far as boxes are read by it: its ``generalizer``, how levels and numbers are written
    (``writing``, ``numbers``), and k."""

    generalizer: str
    writing: str
    numbers: str
    k: int

    @classmethod
    def of(cls, settings: Settings) -> "Made":
        """Return the same of the settings of a run."""
        return cls(settings.generalizer, settings.writing, settings.numbers, settings.k)


def tables_of(
    release: Release, encoded: EncodedTable, schema: Schema, grids: Mapping[str, Grid], made: Made, seed: bytes
) -> dict[str, tuple[Atoms, OneWay | None]]:
    """Return the atoms and the table of each quasi-identifier. ``encoded``: the records that are released; ``grids``:
    on which numbers are written; ``seed``: of the key and the content of these records."""
    most_rows = 1 if encoded.person is None else int(np.bincount(encoded.person[encoded.person >= 0]).max(initial=1))
    b, answer = scale_of_noise(made.k, most_rows), {}
    for encoding, codes in zip(encoded.encodings, encoded.codes.columns, strict=True):
        column, values = release[encoding.name], len(encoding.labels)
        records = np.bincount(codes, minlength=encoding.n_codes).astype(np.int64)
        persons = persons_of_codes(codes, encoded.person, encoding.n_codes)
        missing = bool(records[values:].any())
        public = made.numbers == "public" or bool(schema[encoding.name].cuts)
        exact = encoding.exact or encoding
        if encoding.is_interval:
            gap = whole_unit(np.concatenate([exact.low, exact.high]), encoding.kind)
            grid = grids.get(encoding.name) if public and encoding.hierarchy is None else None
            atoms = atoms_of_column(column, (), missing, gap, heaps_of(encoding, persons, made.k), grid)
            atom_of = atoms.of_numbers((exact.low + exact.high) / 2)
        else:
            atoms = atoms_of_column(column, [str(encoding.text(code)) for code in range(values)], missing, 0.0)
            atom_of = np.arange(values)
        atom_of = np.append(atom_of, [atoms.count - 1] * (encoding.n_codes - values)).astype(np.int64)
        about = atoms, atom_of, persons, records, encoding.name, made.k, b, seed
        exact_counts = any(cell.counts for cell in column.cells)
        answer[encoding.name] = atoms, None if exact_counts else table_of(*about)
    return answer


@dataclass(frozen=True, eq=False)
class ByTables:
    """How boxes of a release are read by its one-way tables, worked out when it is first asked for; see
    :func:`tables_of` and :func:`readings_of`."""

    release: Release
    encoded: EncodedTable
    schema: Schema
    grids: Mapping[str, Grid]
    classes: LookAlikes
    made: Made
    seed: Callable[[], bytes]

    @cached_property
    def readings(self) -> dict[str, BoxReading]:
        """The readings of the quasi-identifiers that are not read evenly, by name."""
        about = self.release, self.encoded, self.schema, self.grids, self.made, self.seed()
        return readings_of(self.release, self.schema, self.classes, tables_of(*about), self.made)


def readings_of(
    release: Release, schema: Schema, classes: LookAlikes, tables: Mapping[str, tuple[Atoms, OneWay | None]], made: Made
) -> dict[str, BoxReading]:
    """Return how boxes are read in each quasi-identifier that is not read evenly. ``classes``: of look-alike rows, each
    of which is a box."""
    readings, first = {}, classes.first
    for name, (atoms, table) in tables.items():
        column = release[name]
        assert column.index is not None
        hull = is_hull(schema[name], made.generalizer, made.writing)
        if (reading := reading_of(column, atoms, column.index[first], classes.sizes, hull, table)) is not None:
            readings[name] = reading
    return readings


def reading_of(
    column: ReleasedColumn, atoms: Atoms, box_cell: NDArray[np.integer], n: Integers, hull: bool, table: OneWay | None
) -> BoxReading | None:
    """Return how the boxes of a column are read: raked to its table. ``None``: evenly, where it has none, or where
    cells say their counts. Where a table is made, what comes nearest to the original, in pieces: the table, one of a
    single cell, by which boxes are read by themselves, or none.

    ``box_cell``, ``n`` (boxes,): the cell of each box, and its records; ``hull``: see :func:`is_hull`.
    """
    if table is None or any(cell.counts for cell in column.cells):
        return None
    boxes = Boxes(atoms.open(column.cells, hull), box_cell, n)
    even = atoms.lengths
    start = start_of(atoms, column, box_cell, n, boxes) if hull else even / even.sum()
    records, table = table.records, within_bounds(table, boxes)
    reading = BoxReading(atoms, boxes, shares_inside(start, table), table)
    if records is None:
        return reading
    one_cell = OneWay(np.zeros(atoms.count, np.int64), n.sum(keepdims=True))
    alone = BoxReading(atoms, boxes, shares_inside(start, one_cell), one_cell)
    ways = None, reading, alone
    sums = boxes.evenly(even), boxes.sums(reading.weights), boxes.sums(alone.weights)
    return ways[int(np.argmin([np.abs(np.bincount(atoms.pieces, own - records)).sum() for own in sums]))]


def start_of(atoms: Atoms, column: ReleasedColumn, box_cell: NDArray[np.integer], n: Integers, boxes: Boxes) -> Floats:
    """Return the weights (a,) that boxes alone give back, adding up to 1. Those of numbers are found for whole pieces,
    as nobody surely has an end of a box whose piece has heaps, and then shared out in each as atoms give them back."""
    weights, pieces = self_consistent(boxes, atoms.lengths), atoms.without_heaps
    if pieces is atoms:
        return weights
    whole = self_consistent(Boxes(pieces.open(column.cells, True), box_cell, n), pieces.lengths)
    own = atoms.pieces
    weights = np.where(np.bincount(own, weights)[own] > 0, weights, atoms.lengths)
    return np.asarray(whole[own] * weights / np.maximum(np.bincount(own, weights), LEAST)[own])


def within_bounds(table: OneWay, boxes: Boxes) -> OneWay:
    """Return a table whose counts are moved to what boxes alone allow: at least the records that surely are in a cell,
    at most those that may be. Nothing but noisy counts and the release goes into it, so it tells nothing more."""
    least, most = boxes.bounds(table.cell_of, len(table.counts))
    return OneWay(table.cell_of, np.maximum(1, np.clip(table.counts, least, most)))


def shares_inside(start: Floats, table: OneWay) -> Floats:
    """Return the share of each atom in its cell of a table (a,), in six digits, as a file has it."""
    shares = scaled(start, table.cell_of, np.ones(len(table.counts)))
    return np.array([float(f"{share:.6g}") for share in shares])
