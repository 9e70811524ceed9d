"""The check of a released folder, part by part: equal rows are put together with how many there are, and what is then
checked is every distinct row. Beside the original in codes, each row is held against its own record."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import parse_cell
from anonymizer.checking.candidates import AllowedCodes, OriginalColumn, allowed_codes, original_column
from anonymizer.checking.consistency import Consistency
from anonymizer.checking.linkage import look_alikes, sizes_of
from anonymizer.checking.released import texts_of
from anonymizer.checking.released_file import read_file
from anonymizer.checking.verify import Verification, verify
from anonymizer.errors import AnonymizerError, CellError, ParameterError, Progress, ReadError, no_progress
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.folder import Manifest, Part, beside_parts, part_bytes, read_manifest
from anonymizer.partitions.values import in_order
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Limits
from anonymizer.values import numbers_of

DENSE = 4
"""Pairs are found in a table while it has at most so many cells a row."""


@dataclass(frozen=True, eq=False)
class OriginalRows:
    """The table a folder was made from: its records in codes, and the record of each released row, ``order`` (n,), a
    secret of whoever made the folder."""

    table: CodedTable
    order: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PartRows:
    """The distinct rows of a part, and how many of each there are; what is ``beside`` them; columns in which a row does
    not contain its record's value, ``wrong``."""

    rows: pd.DataFrame
    counts: NDArray[np.int64]
    beside: tuple[str, ...]
    wrong: tuple[str, ...]


def verify_folder(
    folder: str | Path,
    schema: Schema,
    *,
    manifest: Manifest | None = None,
    original: OriginalRows | None = None,
    checked: Iterable[PartRows] | None = None,
    progress: Progress = no_progress,
    **limits: Any,
) -> Verification:
    """Check a released folder: what :func:`anonymizer.checking.verify.verify` says of all of its rows.

    ``limits``: what is required, ``k`` among them. ``original``: where whoever made the folder checks it; ``checked``:
    what others have found in each part, beside its records. Raises :class:`ReadError`, with its name, for a part that
    is not the one in the manifest or cannot be read.
    """
    folder = Path(folder)
    manifest = manifest or read_manifest(folder)
    required = Limits(**limits)
    starts = np.cumsum([0, *(part.rows for part in manifest.parts)])
    if original is not None and int(starts[-1]) != original.table.n_records:
        raise ParameterError("The folder does not have as many rows as the original.")
    before = None if original is None else _Before(original, schema)

    def check(number: int) -> PartRows:
        return _part_rows(folder, manifest.parts[number], schema, before, int(starts[number]))

    pieces: list[PartRows] = []
    beside = list(beside_parts(folder, manifest))
    for number, piece in enumerate(in_order(check, range(len(manifest.parts))) if checked is None else checked):
        progress(number / len(manifest.parts), f"Checking {manifest.parts[number].name}")
        if list(piece.rows.columns) != list(pieces[0].rows.columns if pieces else piece.rows.columns):
            raise ReadError(f"{manifest.parts[number].name} has other columns.", remedy="Bring it as it was written.")
        beside += [f"{manifest.parts[number].name}: {sentence}" for sentence in piece.beside]
        pieces.append(piece)
    rows, counts = _together(pieces)
    comparison = None
    if before is not None or checked is not None:
        wrong = sorted({name for piece in pieces for name in piece.wrong})
        reason = f"cells of {', '.join(wrong)} do not contain their record's value" if wrong else ""
        comparison = Consistency(not wrong, None, None, None, None, None, None, mismatch=reason, reason=reason)
    return verify(rows, schema, counts=counts, comparison=comparison, beside=beside, **required)


def _part_rows(folder: Path, part: Part, schema: Schema, before: "_Before | None", start: int) -> PartRows:
    content = part_bytes(folder, part)
    try:
        file = read_file(content).under(schema)
    except AnonymizerError:
        raise ReadError(f"{part.name} is no release that can be read.", remedy="Bring it as it was written.") from None
    rows = file.rows
    if len(rows) != part.rows:
        raise ReadError(f"{part.name} has {len(rows):,} rows; the manifest says {part.rows:,}.")
    wrong = () if before is None else before.wrong(rows, slice(start, start + len(rows)))
    return PartRows(*_distinct(rows, None), tuple(file.beside), wrong)


def _distinct(rows: pd.DataFrame, counts: NDArray[np.int64] | None) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the distinct rows, in the order in which they first come, text as such, and how many of each there are."""
    alike = look_alikes(rows, list(rows.columns))
    first = np.empty(len(alike.sizes), np.int64)
    first[alike.class_of[::-1]] = np.arange(len(rows))[::-1]
    by_place = np.argsort(first)
    some = rows.iloc[first[by_place]].reset_index(drop=True)
    texts = {name: "str" for name in some.columns if isinstance(some[name].dtype, pd.CategoricalDtype)}
    return some.astype(texts), sizes_of(alike, counts)[by_place]


def _together(pieces: list[PartRows]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    if len(pieces) == 1:
        return pieces[0].rows, pieces[0].counts
    rows = pd.concat([piece.rows for piece in pieces], ignore_index=True)
    return _distinct(rows, np.concatenate([piece.counts for piece in pieces]))


class _Before:
    """The distinct values of the original, by column, as released cells are held against them."""

    def __init__(self, original: OriginalRows, schema: Schema) -> None:
        self.original = original
        self.columns = [schema[name] for name in schema.released]
        self.boxed: dict[str, tuple[NDArray[np.int32], OriginalColumn]] = {
            column.name: original_column(original.table.columns[column.name].values, column)
            for column in self.columns
            if column.role is Role.QUASI_IDENTIFYING
        }

    def wrong(self, rows: pd.DataFrame, part: slice) -> tuple[str, ...]:
        """Return the columns in which some of these rows do not contain, or are not, the value of their record."""
        return tuple(column.name for column in self.columns if not self._contains(rows, column, part))

    def _contains(self, rows: pd.DataFrame, column: Column, part: slice) -> bool:
        if column.name not in rows.columns:
            return False
        coded = self.original.table.columns[column.name]
        index, texts = texts_of(rows[column.name])
        own = coded.codes[self.original.order[part]]
        value, cell = np.divmod(distinct_keys(own.astype(np.int64) * len(texts) + index, len(rows)), len(texts))
        if column.name not in self.boxed:
            return _equal(coded.values, pd.Series(texts, dtype=object), value, cell, column)
        codes, about = self.boxed[column.name]
        try:
            allowed = allowed_codes([parse_cell(text, column.kind) for text in texts], about)
        except CellError:
            return False
        return bool(_allows(allowed, cell, codes[value]).all())


def distinct_keys(keys: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the distinct ones of n whole numbers from 0."""
    bound = int(keys.max(initial=-1)) + 1
    if bound > max(DENSE * n, 1 << 16):
        return np.asarray(pd.unique(keys))
    present = np.zeros(bound, np.bool_)
    present[keys] = True
    return np.flatnonzero(present)


def _allows(allowed: AllowedCodes, cell: NDArray[np.int64], code: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether each cell allows the code beside it."""
    of_listed = np.repeat(np.arange(len(allowed.low)), np.diff(allowed.listed_starts))
    width = np.int64(allowed.n_codes)
    listed = np.isin(cell * width + code, of_listed * width + allowed.listed)
    return (allowed.low[cell] <= code) & (code <= allowed.high[cell]) | listed


def _equal(
    before: "pd.Series[Any]", after: "pd.Series[Any]", value: NDArray[np.int64], cell: NDArray[np.int64], column: Column
) -> bool:
    """Return whether the values before and after that stand beside each other are the same."""
    if column.kind is not Kind.CATEGORICAL:
        try:
            one, other = (numbers_of(values, column)[0].astype(np.float64) for values in (before, after))
        except AnonymizerError:
            pass  # not numbers after all: compared as text
        else:
            return bool(np.array_equal(one[value], other[cell], equal_nan=True))
    codes, texts = texts_of(before)
    return [texts[codes[place]] for place in value] == [after.iloc[place] for place in cell]
