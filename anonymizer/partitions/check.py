"""The check of a released folder, part by part and group of rows by group: equal rows are put together with how many
there are, in codes, and what is then checked is every distinct row. Beside the original, each row is held against its
own record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anonymizer.cells import parse_column_cell
from anonymizer.checking.candidates import OriginalColumn, allowed_codes, original_column, value_keys
from anonymizer.checking.consistency import Consistency
from anonymizer.checking.linkage import classes_of, sizes_of
from anonymizer.checking.parquet_file import ParquetRows
from anonymizer.checking.rare_forms import rare_forms
from anonymizer.checking.released_file import index_columns
from anonymizer.checking.set_names import SetNames, as_list, in_full
from anonymizer.checking.verify import Verification, verify
from anonymizer.errors import AnonymizerError, CellError, ParameterError, Progress, ReadError, no_progress
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.folder import (
    Archive,
    Manifest,
    Part,
    beside_parts,
    dictionary_schema,
    dictionary_sets,
    part_of,
    read_manifest,
    released_place,
)
from anonymizer.partitions.pieces import refuse_too_many
from anonymizer.partitions.values import in_order
from anonymizer.provenance.claim import Claim, claim_from
from anonymizer.reporting.against import other_than_said
from anonymizer.schema import Column, Role, Schema
from anonymizer.settings import Limits
from anonymizer.values import value_text

DENSE = 4
"""Pairs are found in a table while it has at most so many cells a row."""

MERGE = 1 << 20
"""Distinct rows are put together again whenever so many came, and as many as there were."""


@dataclass(frozen=True, eq=False)
class OriginalRows:
    """The table a folder was made from: its records in codes, and the record of each released row, ``order`` (n,), a
    secret of whoever made the folder."""

    table: CodedTable
    order: NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Some rows of a part: of each column its distinct values, and ``codes`` (u,) of the u distinct rows, of which
    there are ``counts`` (u,); one more than the values is missing. ``whose`` (u,): a number of the person of each, from
    1, 0 for nobody's; then equal rows of two persons are two rows. ``None`` where that is not known."""

    values: dict[str, pa.Array]
    codes: list[NDArray[Any]]
    counts: NDArray[np.int64]
    whose: NDArray[np.uint32] | None = None

    @classmethod
    def of(
        cls, values: dict[str, pa.Array], codes: list[NDArray[Any]], whose: NDArray[np.uint32] | None = None
    ) -> "GroupRows":
        """Return the distinct ones of rows; those that follow each other first, for rows stand as their cells sort."""
        bounds = [len(distinct) + 1 for distinct in values.values()]
        keys = codes
        if whose is not None:
            bounds, keys = [*bounds, int(whose.max(initial=0)) + 1], [*codes, whose]
        n = len(codes[0])
        other = np.zeros(n, np.bool_)
        other[:1] = True
        for column in keys:
            other[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(other)
        counts = np.diff(np.append(first, n)).astype(np.int64)
        rows, counts = _distinct_rows([column[first] for column in keys], bounds, counts)
        return cls(values, rows[: len(codes)], counts, None if whose is None else rows[-1])


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a part, group by group; what is ``beside`` them; columns in which a row does not contain its record's
    value, ``wrong``; why what is beside them cannot be said, ``unjudged``, "" where it can."""

    groups: tuple[GroupRows, ...]
    beside: tuple[str, ...]
    wrong: frozenset[str]
    unjudged: str


def verify_folder(
    folder: str | Path | Archive,
    schema: Schema,
    *,
    manifest: Manifest | None = None,
    original: OriginalRows | None = None,
    checked: Iterable[PartRows] | None = None,
    progress: Progress = no_progress,
    **limits: Any,
) -> Verification:
    """Check a released folder, or its ZIP file: what :func:`anonymizer.checking.verify.verify` says of all of its rows.

    ``limits``: what is required, ``k`` among them. ``original``: where whoever made the folder checks it; ``checked``:
    what others saw in each part, each row beside its record. Raises :class:`ReadError`, with its name, for a part that
    is not the one in the manifest or cannot be read.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> table.to_csv(folder / "people.csv", index=False)
    >>> written = an.anonymize_files(folder / "people.csv", schema, folder / "released", k=10)
    >>> an.verify_folder(folder / "released", schema, k=10).passed
    True
    """
    folder = released_place(folder)
    manifest = manifest or read_manifest(folder)
    required = Limits(**limits)
    starts = np.cumsum([0, *(part.rows for part in manifest.parts)])
    if original is not None and int(starts[-1]) != original.table.n_records:
        raise ParameterError("The folder does not have as many rows as the original.")
    sets = sets_there(folder)
    before = None if original is None else _Before(original, schema, sets)

    def check(number: int) -> PartRows:
        return _part_rows(folder, manifest.parts[number], before, int(starts[number]))

    rows = DistinctRows()
    wrong: set[str] = set()
    unjudged = ""
    beside = [*beside_parts(folder, manifest), *other_roles_there(folder, schema)]
    for number, piece in enumerate(in_order(check, range(len(manifest.parts))) if checked is None else checked):
        name = manifest.parts[number].name
        progress(number / len(manifest.parts), f"Checking {name}")
        for group in piece.groups:
            if not rows.add(group):
                raise ReadError(f"{name} has other columns.", remedy="Use it as it was written.")
        beside += [f"{name}: {sentence}" for sentence in piece.beside]
        wrong |= piece.wrong
        unjudged = unjudged or (f"{name}: {piece.unjudged}" if piece.unjudged else "")
    comparison = None
    if before is not None or checked is not None:
        reason = f"cells of {', '.join(sorted(wrong))} do not contain their row's value" if wrong else ""
        comparison = Consistency(not wrong, None, None, None, None, None, None, mismatch=reason, reason=reason)
    frame, counts = rows.table()
    frame, problems = in_full(frame, schema, sets) if sets else (frame, [])
    beside += problems
    return verify(
        frame, schema, counts=counts, comparison=comparison, beside=beside, unjudged=unjudged, whose=rows.whose(),
        **required
    )  # fmt: skip


def archive_checks(data: bytes, words: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Return what is found in the ZIP file of a release, JSON-ready: work for a process of its own. ``words``: its
    ``name``, and its ``report``."""
    claim = claim_from(words["report"].encode())
    archive = Archive.of(data, words["name"])
    manifest = read_manifest(archive)
    verification = verify_folder(archive, claim.schema, manifest=manifest, progress=progress, **claim.limits)
    differences = claim.differences(manifest.sha256, manifest.rows, claim.schema)
    differences = differences or look_through(archive, manifest, claim.schema, claim)[0]
    return verification.to_dict() | {"differences": differences}


def sets_there(folder: Path | Archive) -> SetNames:
    """Return the sets that have short names by the dictionary of a folder; none where it cannot be read."""
    with suppress(ReadError):
        return dictionary_sets(folder) or {}
    return {}


def other_roles_there(folder: Path | Archive, schema: Schema) -> list[str]:
    """Return how the dictionary of a folder gives columns other roles or kinds than a schema, a sentence each."""
    own = {column.name: column for column in schema.columns}
    try:
        there = dictionary_schema(folder).columns
    except ReadError:
        return ["The dictionary cannot be read."]
    return [
        f"The dictionary says that column {column.name!r} is {word}, and it is {expected}."
        for column in there
        if column.name in own
        for word, expected in ((column.role, own[column.name].role), (column.kind, own[column.name].kind))
        if word is not expected
    ]


def look_through(
    folder: Path | Archive, manifest: Manifest, schema: Schema, claim: Claim | None
) -> tuple[tuple[str, ...], list[str]]:
    """Return how the rows of a folder are not ordered or written as its report says, a sentence each, and the rare
    forms among their values, by part. ``claim``: what the report says; ``None`` where there is none."""
    remarks: list[str] = []
    last: pd.DataFrame | None = None
    sets = sets_there(folder)
    for part in manifest.parts:
        with part_of(folder, part) as source, _readable(part):
            for table in ParquetRows(source).groups():
                rows = table.to_pandas(strings_to_categorical=True, date_as_object=False, ignore_metadata=True)
                rows = in_full(rows, schema, sets)[0] if sets else rows
                remarks += [f"{part.name}: {sentence}" for sentence in rare_forms(rows, schema)]
                together = rows if last is None else pd.concat([last, rows], ignore_index=True)
                if claim is not None and (others := other_than_said(together, claim)):
                    return tuple(f"{part.name}: {sentence}" for sentence in others), remarks
                last = rows.tail(1)
    return (), remarks


def _part_rows(folder: Path | Archive, part: Part, before: "_Before | None", start: int) -> PartRows:
    with part_of(folder, part) as source:
        return _rows_of(source, part, before, start)


def _rows_of(source: bytes | Path, part: Part, before: "_Before | None", start: int) -> PartRows:
    with _readable(part):
        file = ParquetRows(source)
        metadata = file.file.metadata
        largest = max(
            (metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)), default=0
        )
    refuse_too_many(part.name, len(file.data), metadata.num_rows, len(file.names), largest)
    groups, wrong, rows = [], set[str](), 0
    with _readable(part):
        for table in file.groups():
            values, codes = _coded(table)
            whose, own = None, slice(start + rows, start + rows + len(table))
            if before is not None and rows + len(table) <= part.rows:
                wrong |= before.wrong(values, codes, own)
                whose = before.whose(own)
            rows += len(table)
            groups += [GroupRows.of(values, codes, whose)] if len(table) else []
        beside = (*index_columns(file.names), *file.beside())
    if rows != part.rows:
        raise ReadError(f"{part.name} has {rows:,} rows; the manifest says {part.rows:,}.")
    return PartRows(tuple(groups), beside, frozenset(wrong), file.unjudged)


@contextmanager
def _readable(part: Part) -> Iterator[None]:
    """Turn whatever a file that is no release makes its reader raise into one :class:`ReadError`."""
    try:
        yield
    except MemoryError:
        raise
    except (AnonymizerError, pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise ReadError(f"{part.name} is no release that can be read.", remedy="Use it as it was written.") from None


def _coded(table: pa.Table) -> tuple[dict[str, pa.Array], list[NDArray[Any]]]:
    """Return the distinct values of each column, and the place of each row's among them (n,); missing comes last."""
    values, codes = {}, []
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        distinct = encoded.dictionary
        place = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
        values[name] = distinct
        codes.append(place.astype(np.min_scalar_type(len(distinct))))
    return values, codes


def _distinct_rows(
    codes: Sequence[NDArray[Any]], bounds: Sequence[int], counts: NDArray[np.int64]
) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Return the distinct rows, in the order in which they first come, and how many of each there are."""
    alike = classes_of(list(zip(codes, bounds, strict=True)), len(counts))
    if len(alike.sizes) == len(counts):
        return list(codes), counts
    first = np.empty(len(alike.sizes), np.int64)
    first[alike.class_of[::-1]] = np.arange(len(counts))[::-1]
    by_place = np.argsort(first)
    return [column[first[by_place]] for column in codes], sizes_of(alike, counts)[by_place]


class DistinctRows:
    """The distinct rows of many groups of rows, in codes of 8, 16 or 32 bits: their columns' values are kept once."""

    def __init__(self) -> None:
        self.types: dict[str, pa.DataType] = {}
        self.places: dict[str, dict[Any, int]] = {}
        self.pieces: list[tuple[list[NDArray[Any]], NDArray[np.int64]]] = []
        self.waiting, self.persons = 0, 0

    def add(self, group: GroupRows) -> bool:
        """Add some rows; return False, and add nothing, when they have other columns."""
        types = {name: _kind(values.type) for name, values in group.values.items()}
        self.types = self.types or types
        if list(types.items()) != list(self.types.items()):
            return False
        if group.whose is not None:
            self.persons = max(self.persons, int(group.whose.max(initial=0)) + 1)
        columns = []
        for (name, values), codes in zip(group.values.items(), group.codes, strict=True):
            places = self.places.setdefault(name, {None: 0})
            lookup = np.array([places.setdefault(v, len(places)) for v in [*values.to_pylist(), None]])
            columns.append(lookup.astype(np.min_scalar_type(int(lookup.max())))[codes])
        if group.whose is not None:
            columns.append(group.whose)
        self.pieces.append((columns, group.counts))
        self.waiting += len(group.counts)
        if self.waiting > MERGE + len(self.pieces[0][1]):
            self._merge()
        return True

    def _merge(self) -> None:
        bounds = [len(self.places[name]) for name in self.types] + [self.persons] * bool(self.persons)
        columns = [np.concatenate([piece[0][at] for piece in self.pieces]) for at in range(len(bounds))]
        counts = np.concatenate([piece[1] for piece in self.pieces])
        self.pieces.clear()
        self.pieces.append(_distinct_rows(columns, bounds, counts))
        self.waiting = 0

    def table(self) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows as a table, text as categories, and how many of each there are."""
        if len(self.pieces) != 1:
            self._merge()
        codes, counts = self.pieces[0]
        columns = {}
        for (name, kind), column in zip(self.types.items(), codes, strict=False):
            values = list(self.places[name])[1:]
            if pa.types.is_string(kind):
                place = column.astype(np.min_scalar_type(-len(values) - 1)) - 1
                columns[name] = pd.Series(pd.Categorical.from_codes(place, pd.Index(values, dtype="str")))
            else:
                cells = pa.array([None, *values], kind).take(pa.array(column))
                columns[name] = cells.to_pandas(date_as_object=False)
        return pd.DataFrame(columns), counts

    def whose(self) -> NDArray[np.int64] | None:
        """Return whose each of the distinct rows is, -1 for nobody's; ``None`` where that is not known. To be called
        after :meth:`table`."""
        return self.pieces[0][0][-1].astype(np.int64) - 1 if self.persons else None


def _kind(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_null(kind) else kind


class _Before:
    """The distinct values of the original, by column, as released cells are held against them."""

    def __init__(self, original: OriginalRows, schema: Schema, sets: SetNames | None = None) -> None:
        self.original = original
        self.columns: dict[str, _BoxedValues | _KeptValues] = {}
        for name in schema.released:
            column, values = schema[name], original.table.columns[name].values
            boxed = column.role is Role.QUASI_IDENTIFYING
            self.columns[name] = (
                _BoxedValues(values, column, (sets or {}).get(name, {})) if boxed else _KeptValues(values, column)
            )

    def wrong(self, values: dict[str, pa.Array], codes: list[NDArray[Any]], rows: slice) -> set[str]:
        """Return the columns in which some of these rows do not contain, or are not, the value of their record."""
        records = self.original.order[rows]
        after = {name: (values[name], codes[at]) for at, name in enumerate(values)}
        return {
            name
            for name, column in self.columns.items()
            if name not in after or not column.contain(*after[name], self.original.table.columns[name].codes[records])
        }

    def whose(self, rows: slice) -> NDArray[np.uint32] | None:
        """Return whose each of these rows is, from 1, 0 for nobody's; ``None`` where every record is a person."""
        person = self.original.table.encoded.person
        return None if person is None else (person[self.original.order[rows]] + 1).astype(np.uint32)


class _BoxedValues:
    """Distinct values of a quasi-identifier, and what each cell that came says of them. ``sets``: its sets that have
    short names."""

    def __init__(self, values: "pd.Series[Any]", column: Column, sets: Mapping[str, Sequence[str]]) -> None:
        self.column, self.sets = column, sets
        self.codes, self.about = original_column(values, column)
        self.allowed: dict[str | None, tuple[int, int, tuple[int, ...]]] = {}

    def contain(self, cells: pa.Array, index: NDArray[Any], own: NDArray[Any]) -> bool:
        """Return whether each cell (n,) contains the value beside it, ``own`` (n,)."""
        texts = [*(None if cell is None else value_text(cell) for cell in cells.to_pylist()), None]
        new = [text for text in texts if text not in self.allowed]
        lists = (as_list(text, self.sets, self.column) for text in new)
        try:
            cells_ = [parse_column_cell(text, self.column) for text in lists]
            self.allowed.update(zip(new, _allowed(cells_, self.about), strict=True))
        except CellError:
            return False
        limits = [self.allowed[text] for text in texts]
        low, high = (np.array([limit[end] for limit in limits], np.int32) for end in (0, 1))
        code = self.codes[own]
        outside = np.flatnonzero((code < low[index]) | (code > high[index]))
        if not len(outside):
            return True
        width = self.about.n_codes
        pairs = distinct_keys(index[outside].astype(np.int64) * width + code[outside], len(index))
        listed = [cell * width + one for cell, limit in enumerate(limits) for one in limit[2]]
        return bool(np.isin(pairs, np.array(listed, np.int64)).all())


def _allowed(cells: Sequence[Any], about: OriginalColumn) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield of each cell the lowest and highest code that it allows, and those that it lists."""
    allowed = allowed_codes(cells, about)
    ends = zip(allowed.low.tolist(), allowed.high.tolist(), strict=True)
    for at, (low, high) in enumerate(ends):
        yield low, high, tuple(allowed.listed[allowed.listed_starts[at] : allowed.listed_starts[at + 1]].tolist())


class _KeptValues:
    """Distinct values of a column that leaves as it is: the same to the last digit."""

    def __init__(self, values: "pd.Series[Any]", column: Column) -> None:
        self.column, self.as_text = column, False
        try:
            keys = value_keys(values, column)
        except AnonymizerError:  # not numbers after all: compared as text
            self.as_text = True
            keys = value_keys(values, column, as_text=True)
        self.place: dict[object, int] = {}
        self.codes = np.array([self.place.setdefault(key, len(self.place)) for key in keys], np.int64)

    def contain(self, values: pa.Array, index: NDArray[Any], own: NDArray[Any]) -> bool:
        """Return whether each value (n,) is the one beside it, ``own`` (n,)."""
        try:
            keys = value_keys(values.to_pandas(date_as_object=False), self.column, self.as_text)
        except AnonymizerError:
            return False
        codes = np.array([self.place.get(key, -1) for key in [*keys, None]], np.int64)
        return bool(np.array_equal(codes[index], self.codes[own]))


def distinct_keys(keys: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the distinct ones of some whole numbers from 0. ``n``: what a table of them may be large beside."""
    bound = int(keys.max(initial=-1)) + 1
    if bound > max(DENSE * n, 1 << 16):
        return np.asarray(pd.unique(keys))
    present = np.zeros(bound, np.bool_)
    present[keys] = True
    return np.flatnonzero(present)
