"""What a worker does when rows leave: which part each record of its share is in, what the parts hold, and the files.

A file is written, and read back and checked, by whichever worker is asked: it is told which classes of rows stand in it
and gets their records from all shares. Rows that are equal stand in the order of the table, so every worker writes the
same file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import Owned, classes_of
from anonymizer.checking.persons import pairs_of
from anonymizer.digests import digest
from anonymizer.groups.hulls import scale_of
from anonymizer.groups.refine import EVERYBODY
from anonymizer.growing.encode import CodeColumns, Encoding
from anonymizer.growing.subtree import Branch, Subtree, count_of, persons_of_nodes, subtree_of
from anonymizer.growing.target import bits_of
from anonymizer.growing.tree import Tree
from anonymizer.partitions.boxes import COUNTED, boxed_column, kept_of_pieces, pairs_in
from anonymizer.partitions.check import OriginalRows, PartRows, _Before, _part_rows
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.folder import GROUP, Part
from anonymizer.partitions.values import ROWS, CodedColumn, Codes, PieceValues
from anonymizer.releasing.files import write_file
from anonymizer.releasing.grid import Grid
from anonymizer.releasing.release import Release, ReleasedColumn, ranks_of
from anonymizer.releasing.row_order import Key, sorted_rows
from anonymizer.schema import Column, Role
from anonymizer.values import numbers_of
from anonymizer.workers.nodes import Bundle
from anonymizer.workers.persons import Batch, Numbering, compact, who_of
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import (
    Coding,
    cache_of,
    codes_of,
    coding_of,
    values_to_send,
    values_together,
)


class Routes(NamedTuple):
    """A pruned tree as records go down it; its leaves are the parts, ``part`` (m,) the number of each."""

    feature: NDArray[np.int32]
    right: NDArray[np.int32]
    cut: NDArray[np.int32]
    listed_start: NDArray[np.int64]
    listed: NDArray[np.uint16]
    listed_left: NDArray[np.bool_]
    part: NDArray[np.int32]

    @property
    def n_parts(self) -> int:
        """The number of leaves."""
        return int(self.part.max()) + 1

    @classmethod
    def of(cls, tree: Tree, group: NDArray[np.int32]) -> "Routes":
        """Return the routes to the groups of a tree. ``group`` (m,): at or above each node, -1 above them."""
        nodes = np.arange(tree.n_nodes)
        is_leaf = group == nodes
        stays = np.flatnonzero((group < 0) | is_leaf)
        number = np.full(tree.n_nodes, -1, np.int32)
        number[stays] = np.arange(len(stays))
        right = np.full(tree.n_nodes, -1, np.int32)
        inner = np.flatnonzero(tree.feature >= 0)
        right[inner] = number[inner + 1 + tree.size[inner + 1]]
        lengths = np.diff(tree.listed_start)
        listed = np.repeat(number >= 0, lengths)
        leaves = is_leaf[stays]
        return cls(
            np.where(leaves, -1, tree.feature[stays]).astype(np.int32),
            right[stays],
            tree.cut[stays],
            np.cumsum([0, *lengths[stays]]).astype(np.int64),
            tree.listed[listed],
            tree.listed_left[stays],
            np.where(leaves, np.cumsum(leaves) - 1, -1).astype(np.int32),
        )


@guarded
def broadcast(routes: Routes) -> Routes:
    """Return the routes, for questions to name them instead of having them."""
    return routes


@guarded
def parts_of(share: Share, coding: Coding, routes: Routes) -> NDArray[np.int32]:
    """Return the part that each record of a share is in; its records of growing are let go of."""
    from anonymizer import kernels

    with cache_of(share) as here:
        codes, coding = codes_of(share, coding), coding_of(share, coding)
        here.chunks = None
    n = len(next(iter(codes.values())))
    part = np.empty(n, np.int32)
    arrays = [np.array(array) for array in routes]
    for array in arrays:
        array.flags.writeable = False
    feature, _, cut, listed_start, listed, listed_left, of_leaf = arrays
    right = np.array(routes.right)
    for start in range(0, n, ROWS):
        matrix = coding.records(codes, slice(start, start + ROWS)).rows(slice(None)).codes.matrix()
        leaf = np.empty(len(matrix), np.int32)
        kernels.route(matrix, 0, len(matrix), feature, right, cut, listed_start, listed, listed_left, leaf)
        part[start : start + ROWS] = of_leaf[leaf]
    return part


@guarded
def members(
    share: Share, coding: Coding, part: NDArray[np.int32], low: int, high: int, numbering: Numbering | None
) -> Bundle:
    """Return the records of a share in the parts from ``low`` to below ``high``, part by part, each in the order of the
    table; the first of the ``others`` is the target."""
    rows = np.flatnonzero((part >= low) & (part < high))
    rows = rows[np.argsort(part[rows], kind="stable")]
    records = coding_of(share, coding).records(codes_of(share, coding), rows)
    encoded = records.encoded
    packed = np.ascontiguousarray(records.rows(slice(None)).codes.matrix().T)
    sizes = np.bincount(part[rows] - low, minlength=high - low)
    classes = (np.asarray(target.codes) for target in (encoded.target, *encoded.others))
    values = np.empty((len(rows), 0)) if encoded.numeric is None else encoded.numeric.values
    who = EVERYBODY if numbering is None else who_of(share, numbering)[rows]
    return Bundle(packed, tuple(classes), values, tuple(sizes.tolist()), who)


@guarded
def cut(
    coding: Coding, encodings: tuple[Encoding, ...], least: int, of_shares: list[Bundle], by_person: bool
) -> Subtree:
    """Return the pieces into which some groups are cut where their hulls lose least, ``least`` persons on both sides:
    see :func:`anonymizer.groups.refine.with_cuts`; the first of the ``others`` counts the target. ``encodings``: as
    the ends of cells will be written."""
    from anonymizer.groups import piece_kernels

    place = np.concatenate([np.repeat(np.arange(len(bundle.sizes)), bundle.sizes) for bundle in of_shares])
    by_part = np.argsort(place, kind="stable")
    codes = np.concatenate([bundle.packed for bundle in of_shares], axis=1).astype(np.uint16)[:, by_part]
    codes, order = np.ascontiguousarray(codes), np.arange(len(place), dtype=np.uint32)
    sizes = np.sum([bundle.sizes for bundle in of_shares], axis=0)
    ends = np.cumsum(sizes)
    scale = scale_of(encodings)
    who = compact(np.concatenate([bundle.who for bundle in of_shares])[by_part]) if by_person else EVERYBODY
    who.flags.writeable = False
    pieces = piece_kernels.cut_groups(codes, order, who, ends - sizes, ends, scale, least, False, 0)
    branch = Branch(*(*pieces, np.empty((len(pieces[0]), 0), np.int64)))
    counts, targets = [], []
    for at, target in enumerate((coding.table.encoded.target, *coding.table.encoded.others)):
        classes = np.concatenate([bundle.others[at] for bundle in of_shares])[by_part]
        targets.append(replace(target, codes=classes))
        counts.append(count_of(branch, order, targets[-1]))
    values = np.concatenate([bundle.values for bundle in of_shares])[by_part][order]
    subtree = subtree_of(branch, list(codes), 1, encodings, counts, values, bits_of(coding.table.n_records))
    if not by_person:
        return subtree
    target, *others = targets
    records = replace(coding.table.encoded, codes=CodeColumns(len(order)), numeric=None, person=who)
    persons = persons_of_nodes(replace(records, target=target, others=tuple(others)), branch, order)
    return replace(subtree, persons=persons)


class PartValues(NamedTuple):
    """How many records of a share each part has, said with the first quasi-identifier alone, and of some of these the
    pairs of a part and a value; ``values``: of the columns whose values stay, those of the pairs."""

    sizes: NDArray[np.int64]
    pairs: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    values: Mapping[str, PieceValues]


@guarded
def values_of_parts(
    share: Share, coding: Coding, part: NDArray[np.int32], names: Sequence[str], n_parts: int, writing: str,
    numbers: str,
) -> PartValues:  # fmt: skip
    """Return what the parts hold of a share in some columns: of numbers and dates the lowest, the highest and missing,
    where a cell says no more of them."""
    codes, wide, coding = codes_of(share, coding), part.astype(np.int64), coding_of(share, coding)
    counted = writing in COUNTED or numbers in COUNTED
    pairs = {}
    for encoding in coding.encodings:
        if encoding.name not in names:
            continue
        column = CodedColumn(encoding.name, coding.table.columns[encoding.name].values, codes[encoding.name])
        if encoding.is_interval and not counted:
            about = coding.table.schema[encoding.name]
            pairs[encoding.name] = ends_in(wide, column, n_parts, about)
        else:
            pairs[encoding.name] = pairs_in(wide, column, n_parts, counted)
    counts = coding.encodings[0].name in names
    sizes = np.bincount(wide, minlength=n_parts) if counts else np.empty(0)
    places = {name: place for name, (_, place) in pairs.items() if name in coding.bins}
    return PartValues(sizes.astype(np.int64), pairs, values_to_send(share, coding, places))


def ends_in(
    part: NDArray[np.int64], column: CodedColumn, n_parts: int, about: Column
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of the pairs of a part and a value those with its lowest and highest number, and with a missing one."""
    from anonymizer.releasing import tier_kernels

    numbers = numbers_of(column.values, about)[0]
    place = np.argsort(numbers, kind="stable")  # missing last
    d, rank = len(place), np.empty(len(place), np.int64)
    rank[place] = np.arange(d)
    absent_from = int(np.count_nonzero(~np.isnan(numbers)))
    rank = np.minimum(rank, absent_from).astype(np.uint32)
    low, high = np.full(n_parts, absent_from), np.full(n_parts, -1)
    absent, none = np.zeros(n_parts, np.bool_), np.empty(0, np.int64)
    for start in range(0, len(part), ROWS):
        rows = slice(start, start + ROWS)
        lowest, highest = np.empty(n_parts, np.int64), np.empty(n_parts, np.int64)
        of_rows = rank[column.codes[rows]], part[rows], none, none, none, none
        tier_kernels.ranges(*of_rows, absent_from, lowest, highest, absent)
        low, high = np.minimum(low, lowest), np.maximum(high, highest)
    some, parts = low <= high, np.arange(n_parts)
    listed_parts = [parts[some], parts[some], parts[absent]]
    values = [place[low[some]], place[high[some]], place[np.full(int(absent.sum()), absent_from)]] if d else [none] * 3
    return np.concatenate(listed_parts), np.concatenate(values)


@dataclass(frozen=True, eq=False)
class Boxed:
    """The cells of every part. ``columns``: the generalized ones, a row a part; ``sizes``: records of each part;
    ``rank``: the place of each part's class among all classes of rows, as they are sorted; ``class_sizes``: of each
    class in that order; ``unchanged``: of each other column the rank of each value, and a bound; ``name``: of nothing
    else in the run."""

    name: str
    columns: Mapping[str, ReleasedColumn]
    sizes: NDArray[np.int64]
    rank: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    unchanged: Mapping[str, Key]


class Cells(NamedTuple):
    """How many records each part has, said with the first quasi-identifier alone, and its cell in some of these."""

    sizes: NDArray[np.int64]
    columns: Mapping[str, ReleasedColumn]


@guarded
def cells(
    coding: Coding, of_shares: list[PartValues], names: Sequence[str], n_parts: int, grids: Mapping[str, Grid],
    writing: str, numbers: str,
) -> Cells:  # fmt: skip
    """Return the cell of every part in some columns, from what the shares have of it. ``grids``: of these columns."""
    values = values_together(coding, [share.values for share in of_shares])
    table = coding.with_values({name: some.distinct for name, some in values.items()}).table
    columns = {}
    for position, encoding in enumerate(coding.encodings):
        if encoding.name in names:
            pairs = [share.pairs[encoding.name] for share in of_shares]
            part, value = (np.concatenate(column).astype(np.int64) for column in zip(*pairs, strict=True))
            value = values[encoding.name].codes.astype(np.int64) if encoding.name in values else value
            columns[encoding.name] = boxed_column(table, position, part, value, n_parts, writing, numbers, grids)
    return Cells(np.sum([share.sizes for share in of_shares], axis=0), columns)


@guarded
def cells_of_parts(name: str, coding: Coding, batches: list[Cells], n_parts: int) -> Boxed:
    """Return the cells of every part in all columns, in runs of which they are in ``batches``."""
    table, sizes = coding.table, batches[0].sizes
    columns = {name: column for some in batches for name, column in some.columns.items()}
    of_parts = [(column.index, len(column.cells)) for column in columns.values() if column.index is not None]
    class_of = classes_of(of_parts, n_parts).class_of
    order = Release(tuple(columns.values()), np.arange(n_parts), "").by_content(class_of).order
    starts = np.append(True, np.diff(class_of[order]) != 0) if n_parts else np.empty(0, np.bool_)
    rank = np.empty(n_parts, np.int64)
    rank[order] = np.cumsum(starts) - 1
    unchanged = {
        name: ranks_of(kept_of_pieces(table.columns[name], table.schema[name]))
        for name in table.schema.released
        if table.schema[name].role is not Role.QUASI_IDENTIFYING
    }
    return Boxed(name, columns, sizes, rank, np.bincount(rank, sizes).astype(np.int64), unchanged)


@guarded
def of_classes(boxed: Boxed, batches: list[Batch]) -> Owned:
    """Return whose the rows of classes are, as far as they are of the persons of one batch."""
    rank = boxed.rank[np.concatenate([batch.part for batch in batches])]
    group, _, rows = pairs_of(rank, np.concatenate([batch.who for batch in batches]))
    return Owned.of(boxed.class_sizes, group, rows)


# Files.


class Span(NamedTuple):
    """The rows of one file: it holds the classes from ``low`` to below ``high``, less the first ``skip`` of their rows,
    and has so many ``rows``."""

    name: str
    low: int
    high: int
    skip: int
    rows: int


class Rows(NamedTuple):
    """Some records: their parts, their values in some columns, and whose they are, where that is asked; ``values``: in
    columns whose values stay with their shares."""

    part: NDArray[np.int32]
    codes: Mapping[str, Codes]
    values: Mapping[str, PieceValues]
    who: NDArray[np.int32] = EVERYBODY


def spans(class_sizes: NDArray[np.int64], rows: int) -> list[Span]:
    """Return the files of classes of these sizes, ``rows`` in each."""
    ends = np.cumsum(class_sizes)
    n, listed_parts = int(ends[-1]), []
    for start in range(0, n, rows):
        end = min(n, start + rows)
        low, high = int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, end, side="left")) + 1
        skip = start - (int(ends[low - 1]) if low else 0)
        listed_parts.append(Span(f"part-{start // rows:05}.parquet", low, high, skip, end - start))
    return listed_parts


@guarded
def rows_in(
    share: Share, coding: Coding, part: NDArray[np.int32], boxed: Boxed, span: Span, names: Sequence[str],
    numbering: Numbering | None,
) -> Rows:  # fmt: skip
    """Return the records of a share whose classes stand in a file, class by class, in the order of the table."""
    with cache_of(share) as here:
        if here.by_class is None or here.by_class[0] != boxed.name:
            rank = boxed.rank[part]
            order = sorted_rows([(rank, len(boxed.class_sizes))], len(part)).astype(np.uint32)
            ends = np.cumsum(np.bincount(rank, minlength=len(boxed.class_sizes)))
            here.by_class = boxed.name, order, np.append(0, ends)
        _, order, starts = here.by_class
    rows = order[starts[span.low] : starts[span.high]]
    return rows_of(share, coding, part, rows, names, numbering)


def rows_of(
    share: Share, coding: Coding, part: NDArray[np.int32], rows: NDArray[np.integer[Any]], names: Sequence[str],
    numbering: Numbering | None,
) -> Rows:  # fmt: skip
    """Return some records of a share. ``part``: of all of them, or of none; ``rows``: their numbers in the share."""
    codes = {name: codes[rows] for name, codes in codes_of(share, coding).items() if name in names}
    values = values_to_send(share, coding, {name: codes.pop(name) for name in coding.bins if name in names})
    who = EVERYBODY if numbering is None else who_of(share, numbering)[rows]
    return Rows(part[rows] if len(part) else part, codes, values, who)


@guarded
def merge_rows(coding: Coding, boxed: Boxed, span: Span, of_shares: list[Rows]) -> Rows:
    """Return the records of a file in the order of its rows."""
    part = np.concatenate([rows.part for rows in of_shares])
    codes = {name: np.concatenate([rows.codes[name] for rows in of_shares]) for name in of_shares[0].codes}
    keys: list[Key] = [(boxed.rank[part] - span.low, span.high - span.low)]
    keys += [(ranks[codes[name]], bound) for name, (ranks, bound) in boxed.unchanged.items()]
    rows = sorted_rows(keys, len(part))[span.skip : span.skip + span.rows]
    who = np.concatenate([some.who for some in of_shares])
    who = who[rows] if len(who) else who
    values = values_together(coding, [some.values for some in of_shares])
    values = {name: replace(some, codes=some.codes[rows]) for name, some in values.items()}
    return Rows(part[rows], {name: of_column[rows] for name, of_column in codes.items()}, values, who)


@guarded
def write(
    coding: Coding,
    boxed: Boxed,
    span: Span,
    rows: Rows,
    folder: str,
    method: str,
    writing: str,
    numbers: str,
) -> Part:
    """Write one file of a release, whose records are these; return its name, rows and digest."""
    columns = []
    for name in coding.table.schema.released:
        if name in boxed.columns:
            columns.append(boxed.columns[name].take(rows.part.astype(np.int64)))
        else:
            unchanged = kept_of_pieces(coding.table.columns[name], coding.table.schema[name])
            columns.append(unchanged.take(rows.codes[name].astype(np.int64)))
    content = Release(tuple(columns), np.arange(span.rows), method, writing, numbers).to_bytes("parquet", GROUP)
    write_file(Path(folder) / span.name, content)
    return Part(span.name, span.rows, digest(content))


@guarded
def check(coding: Coding, own: Rows, folder: str, part: Part, by_person: bool) -> PartRows:
    """Return what one file of a folder holds, read back, each of its rows held against its ``own`` record."""
    schema = coding.table.schema
    coding = coding.with_values({name: values.distinct for name, values in own.values.items()})
    codes = {**own.codes, **{name: values.codes for name, values in own.values.items()}}
    columns = {name: CodedColumn(name, coding.table.columns[name].values, of) for name, of in codes.items()}
    encoded = replace(coding.table.encoded, person=np.array(own.who) if by_person else None)
    table = CodedTable(schema, columns, coding.table.lookups, encoded)
    before = _Before(OriginalRows(table, np.arange(part.rows)), schema)
    return _part_rows(Path(folder), part, before, 0)


@guarded
def sample(share: Share, coding: Coding, rows: NDArray[np.int64], numbering: Numbering | None) -> Rows:
    """Return some records of a share, whatever part they are in. ``rows``: their numbers in the share."""
    return rows_of(share, coding, np.empty(0, np.int32), rows, share.names, numbering)


@guarded
def every(share: Share, coding: Coding, names: Sequence[str], numbering: Numbering | None) -> Rows:
    """Return all records of a share in some columns, whatever part they are in."""
    n = len(next(iter(codes_of(share, coding).values())))
    return rows_of(share, coding, np.empty(0, np.int32), np.arange(n), names, numbering)


def frame_of(coding: Coding, of_shares: Sequence[Rows]) -> pd.DataFrame:
    """Return the values of records that shares have given, in their order."""
    values = values_together(coding, [rows.values for rows in of_shares])
    table = coding.with_values({name: some.distinct for name, some in values.items()}).table
    frame = {}
    for name, column in table.columns.items():
        own = values[name].codes if name in values else np.concatenate([rows.codes[name] for rows in of_shares])
        frame[name] = CodedColumn(name, column.values, own).take(slice(None))
    return pd.DataFrame(frame)
