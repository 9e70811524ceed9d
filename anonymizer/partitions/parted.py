"""A table in pieces that was opened once: every column in codes, and what a reader has to know of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import LinkageRisk, classes_of, risk_of_classes, singled_out
from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.labelled.variable import Variable
from anonymizer.partitions.pieces import PartitionedTable, open_table
from anonymizer.partitions.places import files_of, is_delimited
from anonymizer.partitions.run import input_digest
from anonymizer.partitions.values import CodedColumn, code_columns
from anonymizer.reading.facts import ColumnFacts, column_facts
from anonymizer.reading.files import PREVIEW
from anonymizer.reading.options import Problem, Question, ReadOptions


@dataclass(frozen=True, eq=False)
class PartedTable:
    """n records whose columns are in codes, each read once; ``source``: its pieces;
    ``digest``: of the bytes of all files."""

    source: PartitionedTable
    columns: Mapping[str, CodedColumn]
    digest: str = ""

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
    ``sha256``: of the bytes of all files, in their order; ``size``: their number."""

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
    """Return the table in a file or a folder inside the folder ``within``, every piece read once. ``name``: what to
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
        before = _as_they_are(files)
        progress(0.0, "Looking at the files")
        table = open_table(path, options=options)
        columns = code_columns(table, table.names, options, lambda share, what: progress(0.8 * share, what), stopped)
        progress(0.8, "Taking the digest of the files")
        digest = input_digest(table)
    except ReadError as error:
        problem = error.problem.replace(repr(str(path)), repr(name)).replace(str(path), name)
        raise ReadError(problem, column=error.column, remedy=error.remedy) from None
    except OSError:
        raise ReadError(f"{name} changed while it was read.", remedy="Choose it again.") from None
    if _as_they_are(files) != before or set(table.files) != set(files):
        raise ReadError(f"{name} changed while it was read.", remedy="Choose it again.")
    opened = PartedTable(replace(table, source=name), columns, digest)
    kind = "csv" if all(map(is_delimited, files)) else "parquet"
    used = replace(options or ReadOptions(), delimiter=table.delimiter or None)
    size = sum(size for _, size, _ in before)
    return PartedReading(opened, used, digest, size, name, kind)


def _as_they_are(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return each file, its size, and when it was last changed."""
    return [(str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in files]
