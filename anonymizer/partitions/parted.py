"""A table in pieces that was opened once: every column in codes, and what a reader has to know of it. It comes from
files on the server, or from the bytes of one file, such as an upload, in the process of its own that reads these.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anonymizer.checking.linkage import LinkageRisk, classes_of, risk_of_classes, singled_out
from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.labelled.variable import Variable
from anonymizer.partitions.pieces import PartitionedTable, Piece, open_table
from anonymizer.partitions.places import File, MemoryFile, files_of, is_delimited
from anonymizer.partitions.values import CodedColumn, Codes, code_columns
from anonymizer.reading.delimited import BLOCK, first_record, repair_names
from anonymizer.reading.facts import ColumnFacts, column_facts
from anonymizer.reading.files import PREVIEW, READERS, Reading, delimited_text
from anonymizer.reading.options import Content, Extent, Problem, Question, ReadOptions, one_each
from anonymizer.reading.parquet import column_values, is_text
from anonymizer.reading.parse import (
    MOST_HEADS,
    Manner,
    TextColumn,
    header_problems,
    type_column,
    with_decimal,
)
from anonymizer.reading.remarks import constant_problem, marks_problem
from anonymizer.reading.stream import Text

LARGE = 30_000_000
"""Records times columns from which the bytes of a file are read in pieces: docs/decisions/partitions.md."""


@dataclass(frozen=True, eq=False)
class PartedTable:
    """n records whose columns are in codes, each read once; ``source``: its pieces;
    ``digest``: see :func:`anonymizer.partitions.pieces.digest_of`."""

    source: PartitionedTable
    columns: Mapping[str, CodedColumn]
    digest: str

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def first(self, most: int) -> pd.DataFrame:
        """Return the first records, at most so many."""
        rows = slice(0, most)
        return pd.DataFrame({name: column.take(rows) for name, column in self.columns.items()})

    @cached_property
    def facts(self) -> tuple[ColumnFacts, ...]:
        """What :func:`anonymizer.reading.facts.profile` says of the whole table."""
        return tuple(column_facts(name, one.values, one.counts) for name, one in self.columns.items())

    def linkage_risk(self, names: Sequence[str], person: NDArray[np.int32] | None = None) -> LinkageRisk:
        """Return the linking risk of the table for an attacker who knows these columns. ``person``: as in
        :func:`anonymizer.checking.linkage.linkage_risk`."""
        return risk_of_classes(classes_of(map(self._key, names), len(self)), person)

    def singling_out(self, names: Sequence[str]) -> dict[str, int]:
        """Return what :func:`anonymizer.checking.linkage.singling_out` says of the whole table."""
        return singled_out({name: self._key(name) for name in names}, len(self))

    def _key(self, name: str) -> tuple[NDArray[np.integer[Any]], int]:
        """Return the codes of a column, the same of values that mean the same, and a bound of them."""
        column = self.columns[name]
        same, distinct = pd.factorize(column.values, use_na_sentinel=False)
        if len(distinct) == len(column.values):
            return column.codes, len(distinct)
        return same.astype(np.min_scalar_type(len(distinct)))[column.codes], len(distinct)


@dataclass(frozen=True, eq=False)
class PartedReading:
    """A table in pieces and how it was read: see :class:`anonymizer.reading.files.Reading`, whose fields these are.
    ``sha256``: see :func:`anonymizer.partitions.pieces.digest_of`; ``size``: the bytes of all files."""

    table: PartedTable
    options: ReadOptions
    sha256: str
    size: int
    name: str
    format: str
    problems: tuple[Problem, ...] = ()
    sheets: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=dict)
    in_pieces = True

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.table)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def values(self) -> "Mapping[str, pd.Series[Any]]":
        """The distinct values of each column, by name."""
        return {name: column.values for name, column in self.table.columns.items()}

    def counts(self, name: str) -> NDArray[np.int64]:
        """Return how many records have each of :attr:`values`."""
        return self.table.columns[name].counts

    @cached_property
    def preview(self) -> pd.DataFrame:
        """The first records, at most :data:`PREVIEW`."""
        return self.table.first(PREVIEW)


def read_pieces(
    path: Path,
    name: str,
    within: Path,
    options: ReadOptions | None = None,
    progress: Progress = no_progress,
    stopped: Callable[[], None] = lambda: None,
) -> PartedReading:
    """Return the table in a file or a folder inside the folder ``within``, every record read once. ``name``: what to
    call it; ``stopped``: see :func:`anonymizer.partitions.values.code_columns`.

    Raises :class:`ReadError`, without where the files are, for one that cannot be read, that a link leads to outside,
    or that changed meanwhile.
    """
    try:
        files = [file for file in files_of(path) if isinstance(file, Path)]
        outside = [file.name for file in files if not file.resolve().is_relative_to(within.resolve())]
        if outside:
            raise ReadError(
                f"{outside[0]} leads out of the folder that this server allows.", remedy="Choose another one."
            )
        progress(0.0, "Looking at the files")
        table, passed = open_table(path, options=options), dict[File, str]()
        columns = code_columns(
            table, table.names, options, lambda share, what: progress(0.8 * share, what), stopped, passed=passed
        )
        progress(0.8, "Taking the digest of the files")
        digest = table.digest(passed, stopped)
    except ReadError as error:
        problem = error.problem.replace(repr(str(path)), repr(name)).replace(str(path), name)
        raise ReadError(problem, column=error.column, remedy=error.remedy) from None
    except OSError:
        raise ReadError(f"{name} changed while it was read.", remedy="Choose it again.") from None
    if not set(table.files) <= set(files):
        raise ReadError(f"{name} changed while it was read.", remedy="Choose it again.")
    opened = PartedTable(replace(table, source=name), columns, digest)
    kind = "csv" if all(map(is_delimited, files)) else "parquet"
    used = replace(options or ReadOptions(), delimiter=table.delimiter or None)
    size = sum(stamp[0] for stamp in table.stamps.values())
    return PartedReading(opened, used, digest, size, name, kind, table.left_out)


# The bytes of one file, such as an upload: read in a process of its own, and its codes sent from there.

Stop = Callable[[Extent], None]


def read_parquet_bytes(data: bytes, name: str, options: ReadOptions, stop: Stop, progress: Progress | None) -> Content:
    """Return the table of a Parquet file; in pieces when it is large. See :data:`LARGE_READERS`."""
    metadata = pq.ParquetFile(pa.BufferReader(data)).metadata
    rows, width = metadata.num_rows, metadata.num_columns
    if rows * width >= LARGE:
        groups = (metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        stop(Extent(rows, width, rows * width, max(groups)))
        with suppress(ReadError):  # what cannot be read in pieces is read whole, which says more of what is wrong
            table = open_table(MemoryFile(name, data), options=options)
            remarks = Remarks(options)
            remarks.problems += repair_names(list(table.labels.values()))[1] + list(table.left_out)
            return remarks.content(table, options, progress)
    return READERS["parquet"](data, name, options, stop, progress)


def read_text_bytes(data: bytes, name: str, options: ReadOptions, stop: Stop, progress: Progress | None) -> Content:
    """Return the table of delimited text; in pieces when it is large. See :data:`LARGE_READERS`."""
    if len(data) >= LARGE:  # a cell takes a byte at least
        content, used, problems, questions = delimited_text(data, name, options)
        text = Text.of(content)
        names = first_record(text, str(used.delimiter))
        if text.lines * len(names) >= LARGE and not text.quotes % 2:
            stop(Extent(text.lines, len(names), text.lines * len(names), text.size))
            remarks = Remarks(used, problems, questions)
            with suppress(ReadError):
                file = MemoryFile(name, content.lstrip(b"\r\n"), delimited=True)
                table = open_table(file, options=replace(used, encoding=None))
                return remarks.content(table, used, progress, names, text.size)
    return READERS["csv"](data, name, options, stop, progress)


LARGE_READERS = {"parquet": read_parquet_bytes, "csv": read_text_bytes}
"""Readers for :func:`anonymizer.reading.child.read_in_child` that read a large table in pieces: then the frame of the
reading holds codes, and :func:`parted` makes a table in pieces of it."""


class Remarks:
    """What is to be said of the columns of a table in pieces: what the reading of the whole says of them."""

    def __init__(
        self, options: ReadOptions, problems: Sequence[Problem] = (), questions: Sequence[Question] = ()
    ) -> None:
        self.options, self.problems, self.questions = options, list(problems), list(questions)
        self.of_columns: list[Problem] = []
        self.manner: Manner | None = None
        self.heads: list[TextColumn] = []

    def look(self, name: str, distinct: pa.Array, codes: Codes, manner: Manner | None) -> None:
        """Note what is to be said of a column: see :data:`anonymizer.partitions.values.Look`."""
        if manner is None:
            self.of_columns += column_values(name, _whole_column(distinct, codes), self.options)[1]
            return
        texts = distinct.cast(pa.large_string())
        if len(self.heads) < MOST_HEADS:
            self.heads.append(TextColumn(texts.slice(0, 1000), None))
        typed = type_column(name, TextColumn(texts, codes.astype(np.int32)), manner)
        self.manner = manner
        self.of_columns += typed.problems
        self.questions += [typed.question] if typed.question else []

    def content(
        self,
        table: PartitionedTable,
        options: ReadOptions,
        progress: Progress | None,
        header: list[str] | None = None,
        size: int = 0,
    ) -> Content:
        """Return the table in codes. ``header``: the first record of text, of so many bytes, ``size``."""
        show, blocks = progress or no_progress, 0

        def stopped() -> None:
            nonlocal blocks
            blocks += 1
            if size:
                show(min(0.8, blocks * BLOCK / size), "Reading rows")

        columns = code_columns(table, table.names, self.options, show, stopped, self.look)
        if header is not None and options.header:
            self.problems += header_problems(header, self.heads) + repair_names(header)[1]
        if self.manner is not None:
            options = with_decimal(options, self.manner, self.questions)
        for name, column in columns.items():
            alike = len(column.codes) > 1 and column.values.nunique(dropna=False) == 1 and column.values.notna().all()
            records_of = np.bincount(column.codes, minlength=len(column.values))
            self.of_columns += constant_problem(name) if alike else marks_problem(name, column.values, records_of)
        frame = pd.DataFrame({name: column.codes for name, column in columns.items()}, copy=False)
        distinct = {name: column.values for name, column in columns.items()}
        return Content(
            frame, options, self.problems + self.of_columns, questions=one_each(self.questions), distinct=distinct
        )


def _whole_column(distinct: pa.Array, codes: Codes) -> pa.ChunkedArray:
    """Return a column of which the distinct values are known, and the place of each record's; missing comes last."""
    missing = codes == len(distinct)
    places = pa.array(codes.astype(np.int32), mask=missing if missing.any() else None)
    if is_text(distinct.type):
        return pa.chunked_array([pa.DictionaryArray.from_arrays(places, distinct)])
    return pa.chunked_array([distinct.take(places)])


def parted(reading: Reading) -> Reading | PartedReading:
    """Return the table in pieces of a reading in codes; any other reading is returned as it is."""
    if reading.distinct is None:
        return reading
    columns = {}
    for name, values in reading.distinct.items():
        codes = reading.frame.pop(name).to_numpy()
        codes.flags.writeable = False
        columns[name] = CodedColumn(name, values, codes)
    piece = Piece(MemoryFile(reading.name, b""), (), len(codes))  # its bytes are not needed any more
    table = PartedTable(PartitionedTable(reading.name, (piece,), {}, {}), columns, reading.sha256)
    return PartedReading(
        table, reading.options, reading.sha256, reading.size, reading.name, reading.format, reading.problems,
        questions=reading.questions,
    )  # fmt: skip
