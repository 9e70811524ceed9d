"""A release: the table as it leaves, with its generalized cells, kept values and a data dictionary.

What must stay behind is not in the files: no identifying column, no row or group number, no order that says
where a row came from. :func:`read_release` gives back what :meth:`Release.write` wrote.
"""

import gzip
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.bands import bands_of
from anonymizer.cells import Cell, kept_text, kept_value
from anonymizer.checking.released_file import read_file
from anonymizer.checking.set_names import SetNames
from anonymizer.errors import EncodeError, GuaranteeError, ParameterError
from anonymizer.labelled.dates import write_dates
from anonymizer.labelled.read import LabelledColumn
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import FORMATS as LABELLED_FORMATS
from anonymizer.labelled.write import labelled_bytes, planned_table
from anonymizer.reading.parquet import ROW_GROUP, arrow_bytes, write_parquet
from anonymizer.releasing.files import write_hashed
from anonymizer.releasing.row_order import Key, sorted_rows
from anonymizer.releasing.workbook import (
    EMPTY,
    SHEET_COLUMNS,
    SHEET_ROWS,
    SHEET_TEXT,
    label_rows,
    sheet_cell,
    workbook_bytes,
)
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import offer
from anonymizer.treatments import note_of
from anonymizer.values import numbers_of, value_text

FORMATS = ("csv", "csv.gz", "parquet", "feather", "xlsx", *LABELLED_FORMATS)
"""What a release can be written as; also the file endings."""

LAST_ENDINGS = tuple(dict.fromkeys(format.rpartition(".")[2] for format in FORMATS))
"""What the names of such files end with."""
ENDINGS = f"{', '.join(f'.{format}' for format in FORMATS[:-1])} or .{FORMATS[-1]}"

ORDERS: dict[str, str] = {
    "content": "Rows are sorted by their own cells, so the place of a row says nothing that the rows do not.",
    "secret": "Rows are shuffled from a secret key that is not released.",
}
"""The orders in which the rows of a file may stand, and what each is."""

offer("order", ORDERS)

_BATCH = 1 << 17
_MOST_LISTED = 1000


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """One column of a release; its n entries are in the order of the release.

    Generalized: ``cells``, the distinct ones, and ``index`` (n,) which of them each row has, in as few bits as they
    need. Kept as it is: ``values`` (n,). ``domain``: as text, lowest and highest (numbers and dates) or the levels in
    their order; ``may_miss``: whether a value of the column can be missing. ``variable``: what the file that the table
    came from says of the column. ``declared``: the domain was, and not read from the data; ``treat``: what was done to
    its values.
    """

    name: str
    role: Role
    kind: Kind
    domain: tuple[str, ...]
    may_miss: bool
    cells: tuple[Cell, ...] = ()
    index: NDArray[np.integer[Any]] | None = None
    values: "pd.Series[Any] | None" = None
    variable: Variable = Variable()
    declared: bool = False
    treat: str = ""

    def __repr__(self) -> str:
        form = f"{len(self.cells):,} different cells" if self.generalized else "values as they are"
        return f"ReleasedColumn {self.name!r}: {self.role}, {self.kind}, {form}"

    @property
    def generalized(self) -> bool:
        """True when the column holds cells rather than values."""
        return self.index is not None

    @property
    def domain_from(self) -> str:
        """Where the domain comes from: "declared", or "data" where it was read from the table, and so is not public."""
        return "declared" if self.declared else "data"

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The levels of each set that is written by a short name, in the order of the names."""
        names = {cell.name: cell.levels for cell in self.cells if cell.name}
        return {name: names[name] for name in sorted(names, key=lambda name: (len(name), name))}

    def counts(self) -> NDArray[np.int64]:
        """Return how many rows have each of the distinct cells."""
        assert self.index is not None
        return np.bincount(self.index, minlength=len(self.cells)).astype(np.int64)

    def take(self, rows: NDArray[np.integer[Any]]) -> "ReleasedColumn":
        """Return the column of some of the rows, in their order."""
        if self.index is not None:
            return replace(self, index=np.take(self.index, rows))
        assert self.values is not None
        return replace(self, values=pd.Series(self.values.array.take(rows), name=self.name))

    def repeat(self, rows: NDArray[np.integer[Any]], times: NDArray[np.integer[Any]]) -> "ReleasedColumn":
        """Return a generalized column of some of the rows, each so many times, in their order."""
        assert self.index is not None
        return replace(self, index=np.repeat(self.index[rows], times))

    @cached_property
    def texts(self) -> tuple[Any, NDArray[np.integer[Any]]]:
        """The distinct texts of the column as an Arrow array, dates in the form of the text they came from, and the
        text of each row (n,), -1 for missing."""
        import pyarrow as pa

        form = self.variable.dates if self.kind is Kind.DATE else ""
        if self.index is not None:
            cells = self.series(shared=True)
            return write_dates(pa.array(cells.cat.categories, pa.string()), form), cells.array.codes
        codes, distinct = pd.factorize(self.series())
        texts = write_dates(pa.array(map(_kept_cell, distinct), pa.string()), form)
        return texts, codes.astype(np.min_scalar_type(-len(distinct) - 1))

    def series(self, shared: bool = False) -> "pd.Series[Any]":
        """Return the column as text cells (a categorical; missing is NA), or the kept values. ``shared``: with the
        ``index`` itself where that says the same; nobody may write into it then."""
        if self.index is None:
            assert self.values is not None
            return self.values
        texts = [cell.text() for cell in self.cells]
        place = np.cumsum([text is not None for text in texts]) - 1
        codes = np.where([text is None for text in texts], -1, place).astype(np.min_scalar_type(-len(texts) - 1))
        codes = codes[self.index] if texts and (None in texts or not shared) else self.index
        categories = pd.Index([text for text in texts if text is not None], dtype="str")
        return pd.Series(pd.Categorical.from_codes(codes, categories), name=self.name, copy=False)


@dataclass(frozen=True, eq=False)
class Release:
    """n released rows. ``method``: which generalizer made them, a key of ``GENERALIZERS``; ``writing``, ``numbers``:
    how their cells are written, keys of ``WRITINGS`` and ``NUMBERS``.

    ``order`` (n,): the original row of each released row. It is a secret for checks against the original inside
    this process; nothing here writes it. ``bars``: what stands in the way of its leaving, by key; no file is made as
    long as anything does. ``one_way``: makes the file of its one-way tables, of
    :mod:`anonymizer.releasing.one_way_file`, which packets have beside it; ``None`` without any.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "released.csv")
    >>> sha256 = result.release.write(path)
    >>> len(an.read_release(path))
    300
    """

    columns: tuple[ReleasedColumn, ...]
    order: NDArray[np.int64]
    method: str
    writing: str = "sets"
    numbers: str = "range"
    bars: tuple[str, ...] = ()
    one_way: Callable[[], bytes] | None = None

    def __repr__(self) -> str:
        bars = f", {len(self.bars):,} findings in the way" if self.bars else ""
        return f"Release of {self.n_records:,} rows, {len(self.columns):,} columns, by {self.method}{bars}"

    @property
    def n_records(self) -> int:
        """Number of rows n."""
        return len(self.order)

    @property
    def generalized(self) -> tuple[ReleasedColumn, ...]:
        """The columns that hold cells: the p quasi-identifiers."""
        return tuple(column for column in self.columns if column.generalized)

    def __getitem__(self, name: str) -> ReleasedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        raise ParameterError(f"The release has no column {name!r}.", column=name)

    def frame(self, shared: bool = False) -> pd.DataFrame:
        """Return the release as a table: text cells as categoricals, kept values as they were, missing as NA.
        ``shared``: without copies of what is held here already; nobody may write into it then."""
        columns = {column.name: column.series(shared) for column in self.columns}
        return pd.DataFrame(columns, index=range(self.n_records), copy=False)

    def take(self, rows: NDArray[np.int64]) -> "Release":
        """Return it with some of its rows, in their order."""
        return replace(self, columns=tuple(column.take(rows) for column in self.columns), order=self.order[rows])

    def by_content(self, class_of: NDArray[np.int64] | None = None) -> "Release":
        """Return it with its rows sorted by their own cells: first those of the quasi-identifiers, so that rows that
        look alike stand together, then the others. Where all cells of rows are the same, the rows are the same, so the
        order follows from what the rows hold and from nothing else.

        ``class_of`` (n,): the class of rows that are alike on the quasi-identifiers, from 0, when it is known.
        """
        others = [ranks_of(column) for column in self.columns if not column.generalized]
        if class_of is None or not len(class_of):
            return self.take(sorted_rows([*map(ranks_of, self.generalized), *others], self.n_records))
        first = np.empty(int(class_of.max()) + 1, np.int64)
        first[class_of[::-1]] = np.arange(len(class_of))[::-1]
        in_order = sorted_rows([ranks_of(column, first) for column in self.generalized], len(first))
        rank = np.empty(len(first), np.min_scalar_type(len(first)))
        rank[in_order] = np.arange(len(rank))
        rows = sorted_rows([(rank[class_of], len(rank)), *others], self.n_records)
        first, sizes = first[in_order], np.bincount(class_of)[in_order]
        columns = (c.repeat(first, sizes) if c.generalized else c.take(rows) for c in self.columns)
        return replace(self, columns=tuple(columns), order=self.order[rows])

    def dictionary(self) -> list[dict[str, Any]]:
        """Return the data dictionary, JSON-ready, one entry a column: name, role, kind, what a cell may be, and the
        domain."""
        return [_entry(column, self.numbers) for column in self.columns]

    @cached_property
    def formats(self) -> tuple[str, ...]:
        """Those of :data:`FORMATS` that it fits into: a sheet has room for so many rows, columns and letters, and a
        statistician's file for names and texts of some form."""
        fits = self.n_records <= SHEET_ROWS and len(self.columns) <= SHEET_COLUMNS
        sheet = fits and all(map(_fits_sheet, self.columns))
        fitting = {"xlsx": sheet} | {format: self._fits_labels(format) for format in LABELLED_FORMATS}
        return tuple(format for format in FORMATS if fitting.get(format, True))

    @cached_property
    def _labelled(self) -> list[LabelledColumn]:
        """The columns as a statistician's file knows them: levels, numbers, moments."""
        return [LabelledColumn(column.name, column.variable, _labelled_values(column)) for column in self.columns]

    def _plan(self, format: str) -> list[LabelledColumn]:
        """Return the columns as they stand in a file with labels. Raises :class:`ParameterError` if they cannot."""
        return planned_table(self._labelled, format, [column.name for column in self.generalized])

    def _fits_labels(self, format: str) -> bool:
        try:
            self._plan(format)
        except ParameterError:
            return False
        return True

    def to_bytes(self, format: str = "csv", group: int = ROW_GROUP) -> bytes:
        """Return the file's content; ``format`` is one of :data:`FORMATS`, anything else a :class:`ParameterError`.
        ``group``: rows of a group in Parquet. Raises :class:`GuaranteeError` as long as something stands in the way."""
        sink = io.BytesIO()
        self._write(sink, format, group)
        return sink.getvalue()

    def write(self, path: str | Path, before: Callable[[str], object] | None = None) -> str:
        """Write the file, whole or not at all, and return its SHA-256, hashed on the way; its ending, one of
        :data:`FORMATS`, says the format. ``before``: called with the SHA-256 before the file stands at its name.

        Raises :class:`ParameterError` for another ending, and :class:`GuaranteeError` as long as something stands in
        the way.
        """
        self._require_way()
        path = Path(path)
        format = next((ending for ending in FORMATS if path.name.lower().endswith("." + ending)), path.suffix)
        _check_format(format)
        return write_hashed(path, lambda sink: self._write(sink, format), before)

    def _require_way(self) -> None:
        """Raise :class:`GuaranteeError` when something stands in the way: what, and what to do."""
        if self.bars:
            first, more = self.bars[0], len(self.bars) - 1
            raise GuaranteeError(
                f"The release is not ready: {'; '.join(self.bars[:5])}{' …' if more > 4 else ''}.",
                remedy=f"Repair it, or release it with a reason: reasons={{{first!r}: '…'}}.",
            )

    def _write(self, sink: BinaryIO, format: str, group: int = ROW_GROUP) -> None:
        self._require_way()
        _check_format(format)
        if format == "parquet":
            _write_parquet(self, sink, group)
        elif format == "feather":
            sink.write(arrow_bytes(self.frame()))
        elif format == "xlsx":
            _write_workbook(self, sink)
        elif format in LABELLED_FORMATS:
            sink.write(labelled_bytes(self._plan(format), format))
        elif format == "csv.gz":
            # No file name and no time in the header: equal releases are equal files.
            with gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=6, mtime=0) as packed:
                _write_csv(self, cast(BinaryIO, packed))
        else:
            _write_csv(self, sink)


def ranks_of(column: ReleasedColumn, rows: NDArray[np.int64] | slice = slice(None)) -> Key:
    """Return the place of each cell among the distinct ones of its column: numbers and dates as such, an interval by
    its ends, all else by its text, missing last; so it follows from what a file says, whatever types the table had.
    ``rows``: those that are asked for."""
    if column.index is not None:
        keys = [_cell_key(cell) for cell in column.cells]
        place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        ranks = np.array([place[key] for key in keys], np.min_scalar_type(len(place)))
        return ranks[column.index[rows]], max(1, len(place))
    codes, distinct = pd.factorize(column.series().iloc[rows])
    present, places = np.unique(_kept_keys(column, distinct), return_inverse=True)
    rank = np.append(places, len(present)).astype(np.min_scalar_type(len(present)))
    return rank[codes], len(present) + 1


def _kept_keys(column: ReleasedColumn, distinct: Any) -> NDArray[Any]:
    """Return what distinct kept values are sorted by (d,): numbers and dates as such, all else by its text."""
    if column.kind is not Kind.CATEGORICAL:
        with suppress(EncodeError):  # what is of another kind than was said stands by its text
            return numbers_of(pd.Series(distinct), Column(column.name, column.role, column.kind))[0]
    return np.array(list(map(value_text, distinct)), dtype=object)


def _cell_key(cell: Cell) -> tuple[bool, bool, float, float, str]:
    text = cell.text()
    low, high = (cell.low, cell.high) if cell.low is not None and cell.high is not None else (0.0, 0.0)
    return text is None, cell.low is None, low, high, text or ""


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise ParameterError(
            f"A release cannot be written as {format or 'a file without an ending'!r}.",
            value=format,
            remedy=f"Use {ENDINGS}.",
        )


def _write_parquet(release: Release, sink: BinaryIO, group: int) -> None:
    columns = {column.name: column.series(shared=True) for column in release.columns}
    write_parquet(columns, release.n_records, sink, group)


def _write_csv(release: Release, sink: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.csv

    dictionaries = [column.texts for column in release.columns]
    schema = pa.schema([(kept_text(column.name), pa.string()) for column in release.columns])
    lone = len(release.columns) == 1  # it writes missing cells as "", for a line with nothing on it is no record
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for first in range(0, release.n_records, _BATCH):
            columns = []
            for texts, index in dictionaries:
                rows = index[first : first + _BATCH]
                part = texts.take(pa.array(rows, mask=rows < 0))
                columns.append(part.fill_null("") if lone else part)
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_workbook(release: Release, sink: BinaryIO) -> None:
    """Write a sheet of the rows, kept numbers as numbers, the other cells as the text that CSV has, and one of labels
    where columns have such."""
    if "xlsx" not in release.formats:
        raise ParameterError(
            "The release does not fit into a sheet of a workbook.", remedy="Write it as .csv, .csv.gz or .parquet."
        )
    labels = [
        row
        for column in release.columns
        for row in label_rows(column.name, column.variable, set(map(kept_value, written_texts(column))))
    ]
    names = [column.name for column in release.columns]
    sink.write(workbook_bytes(names, list(map(_sheet_cells, release.columns)), labels))


def _sheet_cells(column: ReleasedColumn) -> list[str]:
    """Return the n cells of a column as they stand in a sheet."""
    texts, index = column.texts
    as_number = column.index is None and column.kind is Kind.NUMERIC
    cells = np.array([*(sheet_cell(text, as_number) for text in texts.to_pylist()), EMPTY], dtype=object)
    return list(cells[index])


def _fits_sheet(column: ReleasedColumn) -> bool:
    return all(len(text) <= SHEET_TEXT for text in [kept_text(column.name), *written_texts(column)])


def _labelled_values(column: ReleasedColumn) -> Any:
    """Return the n values of a column: numbers, moments, or levels; cells in their order."""
    values = column.series()
    if column.index is not None:
        keys = {cell.text(): _cell_key(cell) for cell in column.cells}
        values = values.cat.remove_unused_categories()
        return values.cat.reorder_categories(sorted(values.cat.categories, key=lambda text: keys[text])).array
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iufM":
        return values.to_numpy()
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.rename_categories([value_text(level) for level in values.cat.categories]).array
    return pd.Categorical(values.astype(object).map(value_text, na_action="ignore"))


def written_texts(column: ReleasedColumn) -> list[str]:
    """Return the distinct cells of a column as CSV has them; none for missing."""
    return list(column.texts[0].to_pylist())


def _kept_cell(value: Any) -> str:
    plain = isinstance(value, (bool, int, float, np.number, np.bool_, np.datetime64, pd.Timestamp))
    return value_text(value) if plain else kept_text(str(value))


def _entry(column: ReleasedColumn, numbers: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name, "role": column.role.value, "kind": column.kind.value}
    entry |= {"label": column.variable.label} if column.variable.label else {}
    interval = column.kind is not Kind.CATEGORICAL
    if not column.generalized:
        form = note_of(column.treat) or "The value as it was."
    elif interval:
        one = "number" if column.kind is Kind.NUMERIC else "date"
        form = f"One {one}, or a closed interval [lowest, highest] that holds it."
        if numbers == "public":
            form += " It ends where cells of a public grid do, whoever is in it."
        if any("" in (cell.ends or ()) for cell in column.cells):
            form += " ≥ 80 stands for 80 or more, ≤ 20 for 20 or less, by public cuts."
        if any(cell.estimate for cell in column.cells):
            form = f"One {one}, the value itself; or ~ and the {numbers} of the row's group, not the value itself."
    elif any(cell.counts for cell in column.cells):
        form = "The levels of the row's group, one of which holds, each with how many of the group have it: a:4+b:1."
    elif any(cell.joined for cell in column.cells):
        form = "One level, or the levels a+b of the row's group, one of which holds."
    else:
        form = "One level, or a set {a, b} that holds it. * is any level of the domain."
        if words := [word for cell in column.cells for word in cell.words]:
            bands = bands_of(column.domain)
            form = "One level, or the group of a public hierarchy that holds it. * is any level of the domain."
            if bands is not None and (runs := [word for word in words if word in bands.words]):
                form = f"One level, a run of levels in their own notation, such as {runs[0]}, or a set {{a, b}} of "
                form += "either that holds it. * is any level of the domain."
    if column.names:
        form += f" {{{next(iter(column.names))}: … levels}} is one of the levels of that set, which are listed here."
    if column.may_miss:
        form += " An empty cell is a value that was missing in the original."
        if column.generalized:
            form += " A set with the bare word missing: the value may have been missing."
    if column.kind is Kind.DATE and column.variable.dates:
        form += f" In CSV files and workbooks a date is written {column.variable.dates}, as in the source."
    entry["cells"] = form
    if interval and column.domain:
        entry["lowest"], entry["highest"] = column.domain
    elif column.domain:
        entry["levels"] = list(column.domain[:_MOST_LISTED])
        entry["number_of_levels"] = len(column.domain)
    entry |= {"sets": {name: list(levels) for name, levels in column.names.items()}} if column.names else {}
    return entry | ({"domain_from": column.domain_from} if column.domain else {})


def read_release(
    source: str | Path | bytes | BinaryIO, schema: Schema | None = None, sets: SetNames | None = None
) -> pd.DataFrame:
    """Return a written release (CSV, gzipped CSV, Parquet or a workbook, told by its content) as a table.

    CSV: every column comes back as the text that is in the file, nothing is guessed, and empty cells are NA. With
    a ``schema`` the kept columns are values again: numbers, dates, and text without its protecting quotes; with
    ``sets``, those of the report, so are sets that have a short name. CSV
    keeps values, not number types: 3.0 is written as 3. Parquet keeps types. What else is in the file, and should not
    be, :func:`anonymizer.checking.released_file.read_file` says.

    Raises :class:`ReadError` when the content is not a table, or a kept column of the schema does not hold what its
    kind says.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "released.parquet")
    >>> sha256 = result.release.write(path)
    >>> list(an.read_release(path).columns)
    ['age', 'sex', 'diagnosis']
    """
    file = read_file(source)
    return file.rows if schema is None else file.under(schema, sets=sets).rows
