"""The rows of a table as a ledger sees them: by keyed digests of their cells, piece by piece, and whose they are.

A table in memory, one in pieces and one on a cluster say the same of the same rows, for a digest follows from a cell
alone. Where no column says whose a row is, a record is the keyed digest of its quasi-identifying cells.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.ledger.chain import ReleaseEntry
from anonymizer.ledger.members import Members, Words, cell_words, distinct_rows, keyed_digests, person_digests
from anonymizer.schema import Schema

ROWS = 1 << 20
"""Rows of which the digests are made at a time."""


class LedgerRows(Protocol):
    """The n rows of a table under a schema. ``names``: of all its columns; ``person`` (n,): whose each row is, -1 for
    nobody's, ``None`` where no column says it."""

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""

    @property
    def names(self) -> Sequence[str]:
        """The names of all columns."""

    @property
    def person(self) -> NDArray[np.integer[Any]] | None:
        """Whose each row is (n,)."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def values(self, names: Collection[str]) -> pd.DataFrame:
        """Return the values of the rows in those of some columns that are here."""

    def prints(self, names: Sequence[str]) -> dict[str, str]:
        """Return by column the sum modulo 2⁶⁴ of the digests of its cells, hexadecimal: the same in any order of
        rows."""

    def records(self, names: Sequence[str]) -> Words:
        """Return the digest of each row (n,) by its values in some columns, in the order of their names; the same of
        equal ones."""

    def persons(self, alike: bool) -> Words:
        """Return the digest of each person (u,), in the order of their numbers. ``alike``: ids that differ in writing
        only are one person's."""


class Distinct(NamedTuple):
    """A column of n rows: distinct ``values`` (d,), and which of them each row has, ``codes`` (n,)."""

    values: "pd.Series[Any]"
    codes: NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows that are here: see :class:`LedgerRows`. ``column``: gives each of them by its name; ``key``: of the
    ledger."""

    schema: Schema
    names: tuple[str, ...]
    person: NDArray[np.integer[Any]] | None
    n: int
    column: Callable[[str], Distinct]
    key: bytes

    @classmethod
    def of(
        cls, table: pd.DataFrame, schema: Schema, person: NDArray[np.integer[Any]] | None, key: bytes
    ) -> "KeyedRows":
        """Return those of a table in memory. ``person``: as of :class:`LedgerRows`."""

        def column(name: str) -> Distinct:
            codes, values = pd.factorize(table[name], use_na_sentinel=False)
            return Distinct(pd.Series(values), codes)

        return cls(schema, tuple(map(str, table.columns)), person, len(table), column, key)

    def __len__(self) -> int:
        return self.n

    def values(self, names: Collection[str]) -> pd.DataFrame:
        """See :class:`LedgerRows`."""
        columns = {name: self.column(name) for name in self.names if name in names}
        series = {name: pd.Series(values.array.take(codes)) for name, (values, codes) in columns.items()}
        return pd.DataFrame(series, index=range(self.n), copy=False)

    def prints(self, names: Sequence[str]) -> dict[str, str]:
        """See :class:`LedgerRows`."""
        return {name: f"{self.total(name):016x}" for name in names}

    def total(self, name: str) -> int:
        """Return the sum modulo 2⁶⁴ of the digests of the cells of a column."""
        words, codes = self._words(name)
        counts = np.bincount(codes, minlength=len(words)).astype(np.uint64)
        return int((words * counts).sum(dtype=np.uint64))

    def records(self, names: Sequence[str]) -> Words:
        """See :class:`LedgerRows`."""
        columns = [self._words(name) for name in sorted(names)]
        digests = np.empty(self.n, np.uint64)
        for start in range(0, self.n, ROWS):
            rows = slice(start, start + ROWS)
            words = np.column_stack([of_column[codes[rows]] for of_column, codes in columns])
            which, first = distinct_rows(words)
            messages = (b"record:" + row.tobytes() for row in words[first].astype(">u8"))
            digests[rows] = keyed_digests(messages, self.key)[which]
        return digests

    def persons(self, alike: bool) -> Words:
        """See :class:`LedgerRows`."""
        assert self.person is not None
        assert self.schema.person is not None
        somebody = np.flatnonzero(self.person >= 0)
        first = somebody[np.unique(self.person[somebody], return_index=True)[1]]
        values, codes = self.column(self.schema.person)
        return person_digests(values.iloc[codes[first]].tolist(), self.key, alike)

    def _words(self, name: str) -> tuple[Words, NDArray[np.integer[Any]]]:
        """Return the digest of each value of a column (d,), and which of them each row has (n,)."""
        values, codes = self.column(name)
        return cell_words(values, name, self.key), codes


def own_persons(rows: LedgerRows) -> Words:
    """Return the digest of each person (u,), by the rule of the schema for ids; none where no column says whose a row
    is."""
    if rows.person is None or rows.schema.person is None:
        return np.empty(0, np.uint64)
    return rows.persons(rows.schema[rows.schema.person].alike)


def somebodys(rows: LedgerRows) -> NDArray[np.int64]:
    """Return the rows that are somebody's, ascending."""
    return np.arange(len(rows)) if rows.person is None else np.flatnonzero(rows.person >= 0)


def several_rows(rows: LedgerRows) -> Words | None:
    """Return the digest of each row that is somebody's (s,), by the person and the quasi-identifying columns; ``None``
    where nobody has several rows."""
    somebody = somebodys(rows)
    if rows.person is None or rows.schema.person is None or len(somebody) == int(rows.person.max(initial=-1)) + 1:
        return None
    return rows.records((rows.schema.person, *rows.schema.quasi_identifying))[somebody]


def rows_print(several: Words | None) -> str:
    """Return the sum modulo 2⁶⁴ of the digests of :func:`several_rows`, hexadecimal; "" where nobody has several."""
    return "" if several is None else f"{int(several.sum(dtype=np.uint64)):016x}"


def members_of_rows(rows: LedgerRows, class_of: NDArray[np.int64], several: Words | None) -> Members:
    """Return the members of a release of a table. ``class_of`` (n,): -1 of rows that were left out; ``several``: of
    :func:`several_rows`.

    Where a person has several rows there is a record for each, those of a person in the order of the rows' digests.
    """
    if rows.person is None:
        return Members.of(rows.records(rows.schema.quasi_identifying), class_of)
    somebody = somebodys(rows)
    own = own_persons(rows)[rows.person[somebody]]
    if several is None:
        return Members.of(own, class_of[somebody])
    order = np.lexsort((several, own))
    return Members(own[order], np.asarray(class_of[somebody], np.int32)[order])


def classes_of_records(rows: LedgerRows, entry: ReleaseEntry, members: Members) -> NDArray[np.int64] | None:
    """Return the class of each row (n,) in a release of records; ``None`` when this is not its table."""
    if len(rows) != len(members.digest) or not set(entry.quasi_identifying) <= set(rows.names):
        return None
    digests = rows.records(entry.quasi_identifying)
    order = np.argsort(digests, kind="stable")
    if not np.array_equal(digests[order], members.digest):
        return None
    class_of = np.empty(len(rows), np.int64)
    class_of[order] = members.class_of
    return class_of


def classes_of_rows(rows: LedgerRows, entry: ReleaseEntry, members: Members, own: Words) -> NDArray[np.int64] | None:
    """Return the class of each row (n,) in a release of the same table, in which persons have several rows; -1 of rows
    that are nobody's, were left out, or whose person was erased; ``None`` when this is another table. ``own`` (s,): the
    digest of the person of each row that is somebody's."""
    names, somebody = (str(entry.person), *entry.quasi_identifying), somebodys(rows)
    if not entry.rows or not set(names) <= set(rows.names):
        return None
    digests = rows.records(names)[somebody]
    here = members.classes(own)[1]
    if rows_print(digests) != entry.rows or int(here.sum()) != len(members.digest):
        return None
    class_of = np.full(len(rows), -1, np.int64)
    class_of[somebody[here][np.lexsort((digests[here], own[here]))]] = members.class_of
    return class_of
