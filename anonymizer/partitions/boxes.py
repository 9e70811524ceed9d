"""From groups to the release of a table in pieces: cells are made of the distinct values in a box, not of records."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import LookAlikes, classes_of
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.values import ROWS, CodedColumn
from anonymizer.releasing.boxes import Boxes, interval_cells, kept_column, level_cells
from anonymizer.releasing.grid import Grid, grids_at, groups_of_levels, ladder_of
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Column, Kind, Role
from anonymizer.values import levels_of, value_text

COUNTED = ("mean", "median", "weighted")
"""Ways to write a box that ask how many records have each value."""

DENSE = 4
"""Pairs are counted in a table while it has at most so many cells a record."""


def grids_of_pieces(table: CodedTable, k: int) -> dict[str, Grid]:
    """Return what :func:`anonymizer.releasing.grid.grids_of` returns of the whole table."""
    ladders = {}
    for position, encoding in enumerate(table.encoded.encodings):
        if encoding.is_interval and len(encoding.labels):
            column = table.schema[encoding.name]
            ladders[encoding.name] = ladder_of(encoding, table.codes(position), None, column)
    return grids_at(ladders, k)


def release_of_pieces(
    table: CodedTable, parts: Parts, method: str, writing: str, numbers: str, grids: Mapping[str, Grid]
) -> tuple[Release, LookAlikes]:
    """Return the release in which the records of one part share their cells, sorted by content, and its classes of rows
    that are alike. See :func:`anonymizer.releasing.generalize.release_of`.

    ``parts`` share no record.
    """
    boxed: dict[str, ReleasedColumn] = {}
    of_parts = []
    for position, encoding in enumerate(table.encoded.encodings):
        coded = table.columns[encoding.name]
        part, value = pairs_in(parts.part, coded, parts.n_parts, writing in COUNTED or numbers in COUNTED)
        of_part = boxed_column(table, position, part, value, parts.n_parts, writing, numbers, grids)
        assert of_part.index is not None
        of_parts.append((of_part.index, len(of_part.cells)))
        boxed[encoding.name] = of_part.take(parts.part)
    alike = classes_of(of_parts, parts.n_parts)
    class_of = alike.class_of[parts.part]
    classes = LookAlikes(class_of, np.bincount(class_of, minlength=len(alike.sizes)).astype(np.int64))
    columns = tuple(
        boxed[name]
        if table.schema[name].role is Role.QUASI_IDENTIFYING
        else kept_of_pieces(table.columns[name], table.schema[name])
        for name in table.schema.released
    )
    release = Release(columns, np.arange(table.n_records), method, writing, numbers)
    return release.by_content(class_of), classes


def boxed_column(
    table: CodedTable,
    position: int,
    part: NDArray[np.int64],
    value: NDArray[np.int64],
    n_parts: int,
    writing: str,
    numbers: str,
    grids: Mapping[str, Grid],
) -> ReleasedColumn:
    """Return the cell of each part in one quasi-identifier. ``part``, ``value``: the pairs of :func:`pairs_in`."""
    encoding = table.encoded.encodings[position]
    column, values = table.schema[encoding.name], table.columns[encoding.name].values
    empty = np.empty(0, np.int64)
    boxes = Boxes.of(Parts(part, n_parts, empty, empty))
    codes = table.lookups[position][value]
    if encoding.is_interval:
        some, grid = pd.Series(values.array.take(value)), grids.get(encoding.name)
        cells, index, domain = interval_cells(some, column, codes, encoding, boxes, numbers, grid)
    else:
        cells, index = level_cells(codes, encoding, boxes, writing, groups_of_levels(encoding, column))
        domain = tuple(value_text(level) for level in encoding.labels)
    index = index.astype(np.min_scalar_type(-len(cells) - 1))
    about = (encoding.name, column.role, column.kind, domain, encoding.missing)
    return ReleasedColumn(*about, cells, index, variable=column.variable)


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
    """Return a column that leaves as it is; text by its levels."""
    if about.kind is not Kind.CATEGORICAL or not pd.api.types.is_string_dtype(column.values.dtype):
        return kept_column(column.take(slice(None)), about)
    codes, levels = levels_of(column.values, about)
    place = np.where(codes < len(levels), codes, -1).astype(np.min_scalar_type(-len(levels) - 1))
    series = pd.Series(pd.Categorical.from_codes(place[column.codes], categories=list(levels)), name=column.name)
    return kept_column(series, about)
