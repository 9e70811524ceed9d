"""The distinct values of a column over all pieces, and which of them each record has.

Every piece says which values it holds; these are put together, and only then read as text, numbers or dates, with their
missing marks, by what reads a whole file. So a value means the same in whichever piece it stands, and each record is
read once and kept as a small number.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.partitions.pieces import PartitionedTable, Piece, reading, refuse_too_many
from anonymizer.partitions.places import File
from anonymizer.partitions.ranges import find_ranges, in_ranges
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.parquet import column_values
from anonymizer.reading.parse import Manner, TextColumn, manner_of, type_column

WORKERS = 2
"""Threads that read pieces at the same time."""

ROWS = 1 << 20
"""Records that are worked on at a time."""

MOST_TEXTS = 20_000
"""Texts of a column that does not leave in which the file's decimal mark is looked for."""

Codes = NDArray[np.unsignedinteger]

Look = Callable[[str, pa.Array, "Codes", Manner | None], None]
"""What looks at a whole column: its name, its d distinct values as they stand in the files, the place among them of
each record's (d: missing), and how texts become values."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One column of n records: its d distinct ``values``, and the place among them of each record's, ``codes`` (n,), in
    8, 16 or 32 bits. Several of the values can mean the same, such as two marks of missing ones."""

    name: str
    values: "pd.Series[Any]"
    codes: Codes

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each value, (d,)."""
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)

    def take(self, rows: NDArray[np.integer[Any]] | slice) -> "pd.Series[Any]":
        """Return the values of some records."""
        return pd.Series(self.values.array.take(self.codes[rows].astype(np.int64)), name=self.name)


@dataclass(frozen=True, eq=False)
class PieceValues:
    """The values of one column in some of a piece's records: d distinct ones in Arrow, and ``codes``, d is missing."""

    distinct: pa.Array
    codes: Codes

    @classmethod
    def of(cls, array: pa.Array, kind: pa.DataType) -> "PieceValues":
        """Return those of an array; a dictionary's values that no record has are left out."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        d = len(encoded.dictionary)
        codes = encoded.indices.cast(pa.int64()).fill_null(d).to_numpy(zero_copy_only=False)
        present = np.bincount(codes, minlength=d + 1)[:d] > 0
        place = np.append(np.cumsum(present) - 1, present.sum()).astype(np.min_scalar_type(int(present.sum())))
        distinct = encoded.dictionary.filter(pa.array(present))
        if pa.types.is_null(distinct.type):
            distinct = pa.nulls(0, kind)
        return cls(distinct.cast(kind), place[codes])


def code_columns(
    table: PartitionedTable,
    names: Sequence[str],
    options: ReadOptions | None = None,
    progress: Progress = no_progress,
    stopped: Callable[[], None] = lambda: None,
    look: Look = lambda *column: None,
    passed: dict[File, str] | None = None,
) -> dict[str, CodedColumn]:
    """Return some columns of a table in codes, every record read once. ``stopped``: called before each batch of records
    or block of text, from the threads that read; what it raises ends the work. ``look``: called with each column.
    ``passed``: gets the SHA-256 of each file of text, made while it is read, or while it is cut.

    Raises :class:`ReadError` for a piece that is damaged, and for values that are neither numbers, dates nor text.
    """
    options = options or ReadOptions()
    others: list[str] = []
    if table.delimiter:
        others = [name for name in table.names if name not in names]
    for name in names:  # a type that cannot be read is said before anything is
        column_values(name, pa.chunked_array([pa.array([], table.types[name])]), options)
    digests = {} if passed is None else passed
    table, of_ranges = in_ranges(table, lambda texts: in_order(lambda text: find_ranges(text, stopped), texts))
    digests |= of_ranges

    def read(piece: Piece) -> tuple[list[list[PieceValues]], list[pa.Array]]:
        parts, texts = [], [pa.array([], pa.string()) for _ in others]
        digest = sha256() if table.delimiter and piece.path not in of_ranges else None
        with reading(piece.path):
            for batch in table.batches(piece, [*names, *others], digest=digest):
                stopped()
                parts.append([PieceValues.of(batch.column(at), table.types[name]) for at, name in enumerate(names)])
                for at in range(len(others)):
                    texts[at] = first_texts(texts[at], batch.column(len(names) + at))
        if digest is not None:
            digests[piece.path] = digest.hexdigest()
        return parts, texts

    parts: list[list[PieceValues]] = []
    texts, rows = [pa.array([], pa.string()) for _ in others], 0
    for done, (batches, more) in enumerate(in_order(read, table.pieces)):
        progress(done / len(table.pieces), f"Reading {table.pieces[done].path.name}")
        parts += batches
        rows += sum(len(batch[0].codes) for batch in batches)
        refuse_too_many(table.pieces[done].path.name, 0, rows, len(table.names))
        texts = [first_texts(one, other) for one, other in zip(texts, more, strict=True)]
    if not parts:
        raise ReadError(f"{table.source} has no rows.", remedy="Use a table with at least one row.")
    manner = None
    if table.delimiter:
        of_names = [_whole([part[at].distinct for part in parts], pa.string()) for at in range(len(names))]
        manner = manner_of([column_of(array) for array in [*of_names, *texts]], options, table.delimiter)
    columns = {}
    for at, name in enumerate(names):
        columns[name] = one_column(name, table.types[name], [part[at] for part in parts], options, manner, look)
        for part in parts:
            part[at] = PieceValues(part[at].distinct[:0], part[at].codes[:0].copy())
    parts.clear()
    pa.default_memory_pool().release_unused()
    return columns


def _whole(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Return the distinct values of some arrays."""
    return pc.unique(pa.chunked_array(arrays, kind))


def first_texts(texts: pa.Array, more: pa.Array) -> pa.Array:
    """Return distinct texts, as many as say how a file writes its numbers."""
    return texts if len(texts) == MOST_TEXTS else _whole([texts, more], pa.string()).slice(0, MOST_TEXTS)


def column_of(distinct: pa.Array) -> TextColumn:
    """Return distinct texts as a column, each once."""
    return TextColumn(distinct.cast(pa.large_string()), np.arange(len(distinct), dtype=np.int32))


def first_rows(table: PartitionedTable, most: int, options: ReadOptions | None = None) -> pd.DataFrame:
    """Return the first records of a table, at most so many, with all columns: to see what they hold."""
    batches = (batch for piece in table.pieces if piece.rows for batch in table.batches(piece, table.names, most))
    batch = next(batches, None)
    if batch is None:
        raise ReadError(f"{table.source} has no rows.", remedy="Use a table with at least one row.")
    if table.delimiter:
        texts = {name: TextColumn.of([batch.column(name).dictionary_encode()]) for name in table.names}
        manner = manner_of(texts.values(), options or ReadOptions(), table.delimiter)
        typed = {name: type_column(name, column, manner).values for name, column in texts.items()}
        return pd.DataFrame(typed, copy=False).head(most)
    columns = {name: pa.chunked_array([batch.column(name).cast(table.types[name])]) for name in table.names}
    read = {name: column_values(name, column, options or ReadOptions())[0] for name, column in columns.items()}
    return pd.DataFrame(read, copy=False)


def one_column(
    name: str,
    kind: pa.DataType,
    parts: Sequence[PieceValues],
    options: ReadOptions,
    manner: Manner | None = None,
    look: Look = lambda *column: None,
) -> CodedColumn:
    """Return the column that the pieces are parts of. ``kind``: the type of all of its values; ``manner``: how texts
    become values, of delimited text."""
    distinct = _whole([part.distinct for part in parts], kind)
    missing = any(bool((part.codes == len(part.distinct)).any()) for part in parts)
    codes = codes_among(parts, distinct, missing)
    look(name, distinct, codes, manner)
    return CodedColumn(name, values_of(name, kind, distinct, missing, options, manner), codes)


def codes_among(parts: Sequence[PieceValues], distinct: pa.Array, missing: bool) -> Codes:
    """Return the place of each record's value among the d ``distinct`` ones, read-only; d where it is missing, as it is
    in some record of the column when ``missing``."""
    d = len(distinct)
    codes = np.empty(sum(len(part.codes) for part in parts), dtype=np.min_scalar_type(max(d + missing - 1, 0)))
    start = 0
    for part in parts:
        place = pc.index_in(part.distinct, value_set=distinct).to_numpy(zero_copy_only=False)
        end = start + len(part.codes)
        codes[start:end] = np.append(place, d if missing else 0).astype(codes.dtype)[part.codes]
        start = end
    codes.flags.writeable = False
    return codes


def values_of(
    name: str, kind: pa.DataType, distinct: pa.Array, missing: bool, options: ReadOptions, manner: Manner | None = None
) -> "pd.Series[Any]":
    """Return the distinct values of a column as they are read, a missing one last where some record has it."""
    if manner is not None:
        return pd.Series(type_column(name, column_of(distinct), manner).values, name=name)
    whole = pa.chunked_array([distinct, pa.nulls(int(missing), kind)], kind)
    return pd.Series(column_values(name, whole, options)[0], name=name)


def in_order(work: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
    """Yield the results of ``work`` on each item in order, a few of them at work at a time."""
    if len(items) < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="pieces") as threads:
        waiting = [threads.submit(work, item) for item in items[: 2 * WORKERS]]
        try:
            for position in range(len(items)):
                yield waiting[position].result()
                waiting[position] = None  # type: ignore[call-overload]
                if position + 2 * WORKERS < len(items):
                    waiting.append(threads.submit(work, items[position + 2 * WORKERS]))
        finally:
            for future in waiting:
                if future is not None:
                    future.cancel()
