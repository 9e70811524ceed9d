"""What a worker does with its share of a table: functions of (pieces, tree so far), with no state but a cache of that.

A worker that was never asked before reads the pieces again and sends their records down the same splits, so any worker
can answer any question twice, and the answer is the same. What goes wrong is an answer too: a step, a share and a kind
of error, and no value, since whatever a worker raises its log repeats, arguments and all.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from threading import Lock, RLock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.errors import ReadError
from anonymizer.growing.encode import DETAIL, CodeColumns, Encoding, scaled_numbers
from anonymizer.growing.records import InMemory
from anonymizer.partitions.coded import NO_BINS, Bins, CodedTable, code_values, without_values
from anonymizer.partitions.pieces import PartitionedTable, file_digest, reading, refuse_too_many
from anonymizer.partitions.places import File, Stamp
from anonymizer.partitions.ranges import LargeText, Ranges, find_ranges
from anonymizer.partitions.values import (
    CodedColumn,
    Codes,
    PieceValues,
    codes_among,
    column_of,
    first_texts,
    values_of,
)
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.parse import Manner, manner_of
from anonymizer.schema import Kind, Schema
from anonymizer.values import EXACT, numbers_of
from anonymizer.workers.questions import Share, guarded, require_seen

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
    ``manner``: how texts became values, of delimited text; ``bins``: of each column whose values stay with their
    shares, which here has the lowest value of each code and no other."""

    table: CodedTable
    distinct: Mapping[str, pa.Array]
    missing: Mapping[str, bool]
    scaled: Mapping[str, NDArray[np.float64]]
    rows: tuple[int, ...]
    manner: Manner | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """The encodings of the quasi-identifiers."""
        return self.table.encoded.encodings

    def with_values(self, distinct: Mapping[str, pa.Array]) -> "Coding":
        """Return the coding with other values of columns whose values stay with their shares: those in Arrow, a missing
        one last where some record has it."""
        table, columns, lookups = self.table, dict(self.table.columns), list(self.table.lookups)
        for name, values in distinct.items():
            read = values_of(name, values.type, values, self.missing[name], ReadOptions())
            columns[name] = CodedColumn(name, read, np.empty(0, np.uint8))
            numbers = numbers_of(read, table.schema[name])[0].astype(np.float64)
            codes = np.searchsorted(self.bins[name].cuts, numbers)
            at = table.encoded.names.index(name)
            codes[np.isnan(numbers)] = len(self.encodings[at].labels)
            lookups[at] = codes.astype(lookups[at].dtype)
        return replace(self, table=replace(table, columns=columns, lookups=tuple(lookups)))

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


class LocalNumbers(NamedTuple):
    """The different ``numbers`` (d,) of a column in a share, in their order; how many records are ``below`` each, and
    below none (d + 1,); how many have no number, and how many hold nothing in the file."""

    numbers: NDArray[np.float64]
    below: NDArray[np.int64]
    missing: int


@dataclass(eq=False)
class Cache:
    """What a worker keeps of a share: its values, as they were read or in codes, and whose its records are; the values
    that stay here, and the coding with them; its records while a tree grows, and how far they went down it; and their
    order by class. ``lock``: two questions never move the same records at once; ``users``: how many hold it or wait for
    it, for nothing is dropped under their hands; ``is_over``: it is to be dropped as soon as there are none."""

    lock: Any = field(default_factory=RLock)
    users: int = 0
    is_over: bool = False
    values: dict[str, PieceValues] | None = None
    codes: dict[str, Codes] | None = None
    own: dict[str, pa.Array] = field(default_factory=dict)
    numbers: dict[str, LocalNumbers] = field(default_factory=dict)
    coding: Coding | None = None
    whose: dict[str, PieceValues] | None = None
    who: NDArray[np.int32] | None = None
    chunks: list[InMemory] | None = None
    history: tuple[tuple[Any, ...], ...] = ()
    by_class: tuple[str, NDArray[np.uint32], NDArray[np.int64]] | None = None


_caches: dict[tuple[str, int], Cache] = {}
_lock = Lock()


@contextmanager
def cache_of(share: Share) -> Iterator[Cache]:
    """Yield what this process keeps of a share, which no other thread reads, makes or drops meanwhile; of the runs that
    were asked for longest ago nothing is kept."""
    key = share.run, share.number
    with _lock:
        here = _caches[key] = _caches.pop(key) if key in _caches else Cache()  # now the last one
        here.users += 1
        _drop()
    try:
        with here.lock:
            yield here
    finally:
        with _lock:
            here.users -= 1
            _drop()


def _drop() -> None:
    """Drop what nobody uses of runs that are over, or were asked for longest ago."""
    runs = list(dict.fromkeys(run for run, _ in reversed(_caches)))
    for key in [key for key, here in _caches.items() if here.users == 0 and (here.is_over or key[0] in runs[RUNS:])]:
        del _caches[key]


def forget(run: str) -> None:
    """Drop what this process keeps of runs whose names begin so; what is in use, once it is not."""
    with _lock:
        for (name, _), here in _caches.items():
            here.is_over |= name.startswith(run)
        _drop()


# Values and codes.


def values_in(share: Share) -> tuple[dict[str, PieceValues], list[pa.Array]]:
    """Return the values of each column in a share that leaves or speaks of persons, every piece read once; and of
    delimited text, some texts of the columns that do not leave."""
    names = (*share.names, *share.whose)
    parts: dict[str, list[PieceValues]] = {name: [] for name in names}
    others = [name for name in share.table.names if share.table.delimiter and name not in share.names]
    texts, rows = [pa.array([], pa.string()) for _ in others], 0
    for piece in share.table.pieces:
        require_seen(piece.path)
        with reading(piece.path):
            for batch in share.table.batches(piece, list(dict.fromkeys([*names, *others]))):
                for name in names:
                    parts[name].append(PieceValues.of(batch.column(name), share.table.types[name]))
                texts = [first_texts(some, batch.column(name)) for some, name in zip(texts, others, strict=True)]
                rows += batch.num_rows if share.table.delimiter else 0  # what Parquet says of itself was looked at
                refuse_too_many(piece.path.name, 0, rows, len(share.table.names))
    values = {}
    for name in names:
        distinct = pc.unique(pa.chunked_array([part.distinct for part in parts[name]], share.table.types[name]))
        missing = any(bool((part.codes == len(part.distinct)).any()) for part in parts[name])
        values[name] = PieceValues(distinct, codes_among(parts.pop(name), distinct, missing))
    return values, texts


def load(share: Share) -> list[pa.Array]:
    """Read a share; return some texts of the columns that do not leave, of delimited text."""
    with cache_of(share) as here:
        values, texts = values_in(share)
        here.whose = {name: values.pop(name) for name in share.whose}
        here.values = None if here.codes else values
        return texts


class Tallies(NamedTuple):
    """The d distinct values of each column of a share, and how many records have each or miss it, (d + 1,); ``texts``:
    some of each column that does not leave, of delimited text; ``rows``: its records; ``local``: columns of numbers
    that have more values than codes, so these stay; ``unfit``: columns of numbers that floats would not tell apart."""

    columns: Mapping[str, tuple[pa.Array, NDArray[np.int64]]]
    texts: tuple[pa.Array, ...]
    rows: int
    local: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()


@guarded
def read(share: Share, whole: Sequence[str] = ()) -> Tallies:
    """Return what a share holds. ``whole``: columns whose values do not stay, however many they are."""
    with cache_of(share) as here:
        here.codes = None
        texts = load(share)
        assert here.values is not None
        here.numbers, here.coding = {}, None
        numeric = [column.name for column in share.numeric]
        unfit = tuple(name for name in numeric if not fits_floats(here.values[name].distinct))
        many = [name for name in numeric if len(here.values[name].distinct) > share.most]
        local = tuple(name for name in many if name not in (*unfit, *whole))
        columns = {
            name: (of_column.distinct, tally(of_column)) for name, of_column in here.values.items() if name not in local
        }
        return Tallies(columns, tuple(texts), len(next(iter(here.values.values())).codes), local, unfit)


@guarded
def ranges_of(text: LargeText) -> Ranges:
    """Return the ranges of a file of text: see :func:`anonymizer.partitions.ranges.find_ranges`."""
    require_seen(text.piece.path)
    return find_ranges(text)


@guarded
def digests(share: Share, files: list[tuple[File, Stamp]]) -> dict[File, str]:
    """Return the digest of each of these files of a share; with each its stamp."""
    return {file: file_digest(file, stamp) for file, stamp in files}


def tally(column: PieceValues) -> NDArray[np.int64]:
    """Return how many records have each of the d values of a column, or miss it, (d + 1,)."""
    return np.bincount(column.codes, minlength=len(column.distinct) + 1).astype(np.int64)


def fits_floats(values: pa.Array) -> bool:
    """Return whether floats tell these numbers apart."""
    ends = pc.min_max(values).as_py()
    return pa.types.is_floating(values.type) or max(-(ends["min"] or 0), ends["max"] or 0) <= EXACT


def numbers_in(share: Share, name: str) -> LocalNumbers:
    """Return the numbers of a column that stay in a share; read again where this process never has."""
    with cache_of(share) as here:
        if name not in here.numbers:
            if here.values is None:
                here.codes = None
                load(share)
            assert here.values is not None
            column, (about,) = here.values[name], [column for column in share.numeric if column.name == name]
            with without_values(about):
                read = values_of(name, column.distinct.type, column.distinct, False, share.options)
                numbers = numbers_of(read, about)[0].astype(np.float64)
            order = np.argsort(numbers)[: int(np.count_nonzero(~np.isnan(numbers)))]
            below = np.append(0, np.cumsum(tally(column)[order]))
            numbers = numbers[order]
            here.numbers[name] = LocalNumbers(numbers, below, len(column.codes) - int(below[-1]))
        return here.numbers[name]


@guarded
def merge(
    reads: list[Tallies],
    table: PartitionedTable,
    schema: Schema,
    options: ReadOptions,
    bins: Mapping[str, Bins] = NO_BINS,
    cost: str = DETAIL,
) -> Coding:
    """Return the coding of a table whose shares hold this: that of the whole, see
    :func:`anonymizer.partitions.coded.code_table`. ``bins``: the codes of columns whose values stay; ``cost``: one of
    :data:`anonymizer.growing.encode.COSTS`."""
    rows, types = tuple(tallies.rows for tallies in reads), table.types
    if not any(rows):
        raise ReadError(f"{table.source} has no rows.", remedy="Use a table with at least one row.")
    distinct = {
        name: pc.unique(pa.chunked_array([tallies.columns[name][0] for tallies in reads], types[name]))
        for name in schema.released
        if name not in bins
    }
    manner = None
    if table.delimiter:
        texts = [
            reduce(first_texts, of_column) for of_column in zip(*(tallies.texts for tallies in reads), strict=True)
        ]
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
    for name, own in bins.items():
        lowest, missing[name] = pa.array(own.low).cast(types[name]), own.missing > 0
        read = values_of(name, types[name], lowest, missing[name], options)
        places = np.arange(len(read), dtype=np.min_scalar_type(max(len(read) - 1, 0)))
        columns[name] = TalliedColumn(name, read, places, np.append(own.records, own.missing)[: len(read)])
    columns = {name: columns[name] for name in schema.released}
    of_numbers = [name for name in schema.sensitive if schema[name].kind is not Kind.CATEGORICAL]
    hollow = {name: replace(columns[name], codes=np.empty(0, np.uint8)) for name in of_numbers}
    coded = replace(code_values({**columns, **hollow}, schema, bins, cost), columns=columns)
    scaled = {
        name: scaled_numbers(columns[name].values, schema[name], columns[name].counts).values for name in of_numbers
    }
    if schema.target is None or schema.by_numbers:
        target = replace(coded.encoded.target, codes=np.empty(0, np.uint8))
        coded = replace(coded, encoded=replace(coded.encoded, target=target))
    return Coding(coded, distinct, missing, scaled, rows, manner, bins)


def codes_of(share: Share, coding: Coding) -> dict[str, Codes]:
    """Return the value of each record of a share, by its place among all; read again where this process never has."""
    with cache_of(share) as here:
        if here.codes is None:
            if here.values is None:
                load(share)
            values, here.values = here.values, None
            assert values is not None
            codes: dict[str, Codes] = {}
            here.numbers, here.own = {}, {name: values[name].distinct for name in coding.bins}
            for name in share.names:
                distinct = here.own.get(name, coding.distinct.get(name))
                codes[name] = codes_among([values.pop(name)], distinct, coding.missing[name])
            here.codes = codes
        return here.codes


def coding_of(share: Share, coding: Coding) -> Coding:
    """Return the coding of the records of a share, with the values that stay in it."""
    if not coding.bins:
        return coding
    with cache_of(share) as here:
        codes_of(share, coding)
        if here.coding is None:
            here.coding = coding.with_values(here.own)
        return here.coding


def values_to_send(share: Share, coding: Coding, codes: Mapping[str, NDArray[Any]]) -> dict[str, PieceValues]:
    """Return the values of some records in columns whose values stay, to be sent: no other value goes with them.
    ``codes``: of these records."""
    with cache_of(share) as here:
        codes_of(share, coding)
        own = here.own
    columns = {}
    for name, of_column in codes.items():
        used = np.unique(of_column)
        used = used[used < len(own[name])]
        place = np.searchsorted(used, of_column).astype(np.min_scalar_type(len(used)))
        columns[name] = PieceValues(own[name].take(pa.array(used)), place)
    return columns


def values_together(coding: Coding, parts: Sequence[Mapping[str, PieceValues]]) -> dict[str, PieceValues]:
    """Return the values of records that shares sent, one share after the other."""
    columns = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        whole = pc.unique(pa.chunked_array([some.distinct for some in values]))
        columns[name] = PieceValues(whole, codes_among(values, whole, coding.missing[name]))
    return columns
