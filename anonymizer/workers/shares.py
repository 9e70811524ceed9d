"""What a worker does with its share of a table: functions of (pieces, tree so far), with no state but a cache of that.

A worker that was never asked before reads the pieces again and sends their records down the same splits, so any worker
can answer any question twice, and the answer is the same. What goes wrong is an answer too: a step, a share and a kind
of error, and no value, since whatever a worker raises its log repeats, arguments and all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from threading import Lock, RLock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.errors import ReadError
from anonymizer.groups.refine import EVERYBODY
from anonymizer.growing.encode import CodeColumns, Encoding, scaled_numbers
from anonymizer.growing.grow import sizes_and_depths
from anonymizer.growing.records import Branch, Division, Growth, Histograms, InMemory, Node, heights_of
from anonymizer.growing.target import bits_of, steps_of_nodes
from anonymizer.growing.tree import Persons
from anonymizer.partitions.coded import CodedTable, code_values
from anonymizer.partitions.pieces import PartitionedTable, reading
from anonymizer.partitions.records import _piece
from anonymizer.partitions.values import (
    ROWS,
    CodedColumn,
    Codes,
    PieceValues,
    codes_among,
    column_of,
    few,
    values_of,
)
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.parse import Manner, manner_of
from anonymizer.schema import Kind, Schema
from anonymizer.workers.questions import Share, guarded

RUNS = 4
"""Runs of which a worker keeps something; one that was killed may have left some of it."""


@dataclass(frozen=True, eq=False)
class TalliedColumn(CodedColumn):
    """The distinct values of a column, each once, and how many records have them, ``tally`` (d,)."""

    tally: NDArray[np.int64]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each value, (d,)."""
        return self.tally


@dataclass(frozen=True, eq=False)
class Coding:
    """What codes mean, the same on every worker. ``table``: encodings and lookups, with the distinct values of each
    column where others have records; ``distinct``: these in Arrow; ``missing``: columns that some record misses;
    ``scaled``: of each numeric sensitive column, what each of its values is on its scale; ``rows``: of each share;
    ``manner``: how texts became values, of delimited text."""

    table: CodedTable
    distinct: Mapping[str, pa.Array]
    missing: Mapping[str, bool]
    scaled: Mapping[str, NDArray[np.float64]]
    rows: tuple[int, ...]
    manner: Manner | None = None

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """The encodings of the quasi-identifiers."""
        return self.table.encoded.encodings

    def records(self, codes: Mapping[str, Codes], rows: slice | NDArray[np.int64] = slice(None)) -> CodedTable:
        """Return some records, whose values are these, as a table in codes."""
        columns = {
            name: CodedColumn(name, self.table.columns[name].values, of_column[rows])
            for name, of_column in codes.items()
        }
        n = len(next(iter(columns.values())).codes)
        encoded, schema = self.table.encoded, self.table.schema
        others, numeric = [target.name for target in encoded.others], encoded.numeric
        guide = None if encoded.by_numbers else schema.target
        return CodedTable(schema, columns, self.table.lookups, replace(
            encoded,
            codes=CodeColumns(n),
            target=replace(
                encoded.target,
                codes=np.zeros(n, np.uint8) if guide is None
                else np.array(encoded.target.codes)[columns[guide].codes],
            ),
            numeric=None if numeric is None else replace(
                numeric, values=np.column_stack([self.scaled[name][columns[name].codes] for name in numeric.names])
            ),
            others=tuple(
                replace(other, codes=np.array(other.codes)[columns[name].codes])
                for name, other in zip(others, encoded.others, strict=True)
            ),
        ))  # fmt: skip


@dataclass(eq=False)
class Cache:
    """What a worker keeps of a share: its values, as they were read or in codes, and whose its records are; its records
    while a tree grows, and how far they went down it; and their order by class. A lock: two questions never move the
    same records at once."""

    lock: Any = field(default_factory=RLock)
    values: dict[str, PieceValues] | None = None
    codes: dict[str, Codes] | None = None
    whose: dict[str, PieceValues] | None = None
    who: NDArray[np.int32] | None = None
    chunks: list[InMemory] | None = None
    history: tuple[tuple[Any, ...], ...] = ()
    by_class: tuple[str, NDArray[np.uint32], NDArray[np.int64]] | None = None


_caches: dict[tuple[str, int], Cache] = {}
_lock = Lock()


def cache_of(share: Share) -> Cache:
    """Return what this process keeps of a share; of the runs that were asked for longest ago nothing is kept."""
    key = share.run, share.number
    with _lock:
        here = _caches[key] = _caches.pop(key) if key in _caches else Cache()  # now the last one
        runs = list(dict.fromkeys(run for run, _ in reversed(_caches)))
        for old in [key for key in _caches if key[0] in runs[RUNS:]]:
            del _caches[old]
        return here


def forget(run: str) -> None:
    """Drop what this process keeps of runs whose names begin so."""
    with _lock:
        for key in [key for key in _caches if key[0].startswith(run)]:
            del _caches[key]


# Values and codes.


def values_in(share: Share) -> tuple[dict[str, PieceValues], list[pa.Array]]:
    """Return the values of each column in a share that leaves or speaks of persons, every piece read once; and of
    delimited text, some texts of the columns that do not leave."""
    names = (*share.names, *share.whose)
    parts: dict[str, list[PieceValues]] = {name: [] for name in names}
    others = [name for name in share.table.names if share.table.delimiter and name not in share.names]
    texts = [pa.array([], pa.string()) for _ in others]
    for piece in share.table.pieces:
        with reading(piece.path):
            for batch in share.table.batches(piece, list(dict.fromkeys([*names, *others]))):
                for name in names:
                    parts[name].append(PieceValues.of(batch.column(name), share.table.types[name]))
                texts = [few(some, batch.column(name)) for some, name in zip(texts, others, strict=True)]
    values = {}
    for name in names:
        distinct = pc.unique(pa.chunked_array([part.distinct for part in parts[name]], share.table.types[name]))
        missing = any(bool((part.codes == len(part.distinct)).any()) for part in parts[name])
        values[name] = PieceValues(distinct, codes_among(parts.pop(name), distinct, missing))
    return values, texts


def load(share: Share) -> list[pa.Array]:
    """Read a share; return some texts of the columns that do not leave, of delimited text. To be called under the
    lock."""
    here = cache_of(share)
    values, texts = values_in(share)
    here.whose = {name: values.pop(name) for name in share.whose}
    here.values = None if here.codes else values
    return texts


class Tallies(NamedTuple):
    """The d distinct values of each column of a share, and how many records have each or miss it, (d + 1,); ``texts``:
    some of each column that does not leave, of delimited text; ``rows``: its records."""

    columns: Mapping[str, tuple[pa.Array, NDArray[np.int64]]]
    texts: tuple[pa.Array, ...]
    rows: int


@guarded
def read(share: Share) -> Tallies:
    """Return what a share holds."""
    here = cache_of(share)
    with here.lock:
        here.codes = None
        texts = load(share)
        assert here.values is not None
        columns = {
            name: (of_column.distinct, np.bincount(of_column.codes, minlength=len(of_column.distinct) + 1))
            for name, of_column in here.values.items()
        }
        return Tallies(columns, tuple(texts), len(next(iter(here.values.values())).codes))


@guarded
def merge(reads: list[Tallies], table: PartitionedTable, schema: Schema, options: ReadOptions) -> Coding:
    """Return the coding of a table whose shares hold this: that of the whole, see
    :func:`anonymizer.partitions.coded.code_table`."""
    rows, types = tuple(tallies.rows for tallies in reads), table.types
    if not any(rows):
        raise ReadError(f"{table.source} has no records.", remedy="Bring a table with at least one record.")
    distinct = {
        name: pc.unique(pa.chunked_array([tallies.columns[name][0] for tallies in reads], types[name]))
        for name in schema.released
    }
    manner = None
    if table.delimiter:
        texts = [reduce(few, of_column) for of_column in zip(*(tallies.texts for tallies in reads), strict=True)]
        manner = manner_of(map(column_of, [*distinct.values(), *texts]), options, table.delimiter)
    columns: dict[str, CodedColumn] = {}
    missing: dict[str, bool] = {}
    for name, whole in distinct.items():
        of_shares = [tallies.columns[name] for tallies in reads]
        missing[name] = any(counts[-1] > 0 for _, counts in of_shares)
        tally = np.zeros(len(whole) + 1, np.int64)
        for values, counts in of_shares:
            tally[pc.index_in(values, value_set=whole).to_numpy(zero_copy_only=False)] += counts[:-1]
            tally[-1] += counts[-1]
        read = values_of(name, types[name], whole, missing[name], options, manner)
        places = np.arange(len(read), dtype=np.min_scalar_type(max(len(read) - 1, 0)))
        columns[name] = TalliedColumn(name, read, places, tally[: len(read)])
    of_numbers = [name for name in schema.sensitive if schema[name].kind is not Kind.CATEGORICAL]
    hollow = {name: replace(columns[name], codes=np.empty(0, np.uint8)) for name in of_numbers}
    coded = replace(code_values({**columns, **hollow}, schema), columns=columns)
    scaled = {
        name: scaled_numbers(columns[name].values, schema[name], columns[name].counts).values for name in of_numbers
    }
    if schema.target is None or schema.by_numbers:
        target = replace(coded.encoded.target, codes=np.empty(0, np.uint8))
        coded = replace(coded, encoded=replace(coded.encoded, target=target))
    return Coding(coded, distinct, missing, scaled, rows, manner)


def codes_of(share: Share, coding: Coding) -> dict[str, Codes]:
    """Return the value of each record of a share, by its place among all; read again where this process never has."""
    here = cache_of(share)
    with here.lock:
        if here.codes is None:
            if here.values is None:
                load(share)
            values, here.values = here.values, None
            assert values is not None
            here.codes = {}
            for name in share.names:
                here.codes[name] = codes_among([values.pop(name)], coding.distinct[name], coding.missing[name])
        return here.codes


# Growing.


class Bundle(NamedTuple):
    """The records of some nodes in a share, node after node: packed (p, n), their classes in the other sensitive
    columns, their numbers (n, r), and how many each node has; ``who``: whose each is, where that is asked."""

    packed: NDArray[Any]
    others: tuple[NDArray[Any], ...]
    values: NDArray[np.float64]
    sizes: tuple[int, ...]
    who: NDArray[np.int32] = EVERYBODY


class Grown(NamedTuple):
    """A branch that was grown to its end: with the counts of the other sensitive columns, the sums of numbers before
    any is rounded, the hulls of its nodes, (p, m) each, the codes of each column that its records have, and where some
    of it was cut off its ``places``: see :mod:`anonymizer.workers.branches`; ``persons``: of its nodes, where that is
    asked."""

    branch: Branch
    others: tuple[NDArray[np.int64], ...]
    steps: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    levels: NDArray[np.int32]
    missing: NDArray[np.bool_]
    present: tuple[NDArray[np.uint16], ...]
    places: NDArray[np.int32] = np.empty(0, np.int32)
    persons: Persons | None = None


def chunks_of(share: Share, coding: Coding, history: Sequence[Division]) -> list[InMemory]:
    """Return the records of a share, in chunks, sent down these splits in their order; those that they went down
    already are not repeated. To be called under the lock."""
    here, keys = cache_of(share), tuple(map(_key, history))
    if here.chunks is None or here.history[: len(keys)] != keys[: len(here.history)]:
        codes = codes_of(share, coding)
        n = len(next(iter(codes.values())))
        here.chunks, here.history = [], ()
        for start in range(0, max(n, 1), ROWS):  # one chunk where there is no record
            records = coding.records(codes, slice(start, start + ROWS))
            chunk = _piece(records, slice(None))
            numeric = None if chunk.by_numbers else records.encoded.numeric
            chunk.encoded = replace(chunk.encoded, others=records.encoded.others, numeric=numeric)
            here.chunks.append(chunk)
    chunks, new = here.chunks, [_own(division) for division in history[len(here.history) :]]
    if new:
        here.chunks = None  # as long as some are on their way
        for chunk in chunks:
            chunk.divide(new, [])
        here.chunks, here.history = chunks, keys
    return chunks


def _key(division: Division) -> tuple[Any, ...]:
    """Return what two divisions have in common when they send the same records the same way."""
    split = division.split
    side = split.side.tobytes() if split.code_left < 0 else b""
    return division.node.key, division.left.key, split.feature, split.code_left, side


def _own(division: Division) -> Division:
    """Return a division whose arrays are this process's own, as loops are compiled for."""
    node, split, left, right = division
    left, right = (child._replace(active=np.array(child.active)) for child in (left, right))
    return Division(node, split._replace(side=np.array(split.side)), left, right)


@guarded
def count(share: Share, coding: Coding, history: Sequence[Division], nodes: Sequence[Node]) -> list[Histograms]:
    """Return the histograms of some nodes in a share, after these divisions."""
    here = cache_of(share)
    with here.lock:
        sums: list[Histograms] | None = None
        for chunk in chunks_of(share, coding, history):
            parts = chunk.divide([], nodes)
            if sums is None:
                sums = parts
                continue
            for whole, part in zip(sums, parts, strict=True):
                for histogram, cells in zip(whole, part, strict=True):
                    if histogram is not None:
                        histogram += cells
        assert sums is not None
        return sums


@guarded
def take(share: Share, coding: Coding, history: Sequence[Division], keys: Sequence[int]) -> Bundle:
    """Return the records of some nodes in a share, after these divisions."""
    here = cache_of(share)
    with here.lock:
        chunks = chunks_of(share, coding, history)
        runs = [(chunk, *chunk.runs[key]) for key in keys for chunk in chunks]
        packed = np.concatenate([chunk.packed[:, a:b] for chunk, a, b in runs], axis=1)
        others = tuple(
            np.concatenate([chunk.encoded.others[place].codes[chunk.order[a:b]] for chunk, a, b in runs])
            for place in range(len(coding.table.encoded.others))
        )
        values = np.concatenate([_numbers(*run) for run in runs])
        sizes = tuple(sum(chunk.runs[key][1] - chunk.runs[key][0] for chunk in chunks) for key in keys)
        return Bundle(packed, others, values, sizes)


def _numbers(chunk: InMemory, start: int, end: int) -> NDArray[np.float64]:
    """Return the numbers of some records of a chunk, (n, r)."""
    if chunk.by_numbers or chunk.encoded.numeric is None:
        return chunk.responses[start:end]
    return chunk.encoded.numeric.values[chunk.order[start:end]]


@guarded
def finish(coding: Coding, nodes: Sequence[Node], growth: Growth, takes: list[Bundle]) -> list[Grown]:
    """Return the branches of some nodes, whose records these are, grown to their end."""
    ends = [np.cumsum([0, *bundle.sizes]) for bundle in takes]
    grown = []
    for place, node in enumerate(nodes):
        slices = [slice(end[place], end[place + 1]) for end in ends]
        packed = np.concatenate([bundle.packed[:, rows] for bundle, rows in zip(takes, slices, strict=True)], axis=1)
        others = [
            np.concatenate([bundle.others[at][rows] for bundle, rows in zip(takes, slices, strict=True)])
            for at in range(len(coding.table.encoded.others))
        ]
        values = np.concatenate([bundle.values[rows] for bundle, rows in zip(takes, slices, strict=True)])
        grown.append(grow_node(coding, node, growth, packed, others, values))
    return grown


def grow_node(
    coding: Coding,
    node: Node,
    growth: Growth,
    packed: NDArray[Any],
    others: Sequence[NDArray[Any]],
    values: NDArray[np.float64],
) -> Grown:
    """Return the branch of one node, grown to its end."""
    from anonymizer import kernels

    encoded = coding.table.encoded
    n_codes = np.array([encoding.n_codes for encoding in coding.encodings], dtype=np.int64)
    by_order = np.array([encoding.by_order for encoding in coding.encodings], dtype=np.bool_)
    order, stride = np.arange(node.n, dtype=np.uint32), encoded.target.n_classes
    orders = n_codes, by_order, heights_of(coding.encodings)
    moved = encoded.by_numbers
    columns = kernels.Columns(packed, order, values if moved else np.empty((node.n, 0)), *orders, stride)
    hist = np.zeros(int(n_codes.max()) * len(node.sums), dtype=np.float64 if moved else np.int32)
    growth = growth._replace(table=np.array(growth.table))
    own = np.array(node.sums), np.array(node.active)
    branch = Branch(*kernels.grow_branch(columns, 0, node.n, *own, node.depth, growth, hist))
    counts = []
    for codes, target in zip(others, encoded.others, strict=True):
        counted = np.zeros((len(branch.parent), target.n_classes), dtype=np.int64)
        kernels.count_classes(branch.parent, branch.feature, branch.first, branch.last, order, codes, counted)
        counts.append(counted)
    low, high, levels, missing = hulls(coding.encodings, branch, list(packed), stride)
    present = tuple(np.flatnonzero(np.bincount(row // stride, minlength=1)).astype(np.uint16) for row in packed)
    ends = branch.first, branch.last, sizes_and_depths(branch.parent)[0]
    steps = steps_of_nodes(values, None if moved else order, *ends, bits_of(coding.table.n_records))
    return Grown(branch, tuple(counts), steps, low, high, levels, missing, present)


def hulls(
    encodings: Sequence[Encoding], branch: Branch, rows: Sequence[NDArray[Any]], stride: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return low, high, levels and missing (p, m) of the nodes of a branch, whose records are, by column, ``rows``."""
    from anonymizer import kernels

    m, p = len(branch.parent), len(encodings)
    low, high, levels = (np.zeros((p, m), dtype=np.int32) for _ in range(3))
    missing = np.zeros((p, m), dtype=np.bool_)
    for j, encoding in enumerate(encodings):
        kernels.column_hull(
            rows[j], stride, branch.first, branch.last, branch.feature,
            encoding.n_codes - 1 if encoding.missing else -1, not encoding.is_interval, encoding.n_codes,
            low[j], high[j], levels[j], missing[j],
        )  # fmt: skip
    return low, high, levels, missing
