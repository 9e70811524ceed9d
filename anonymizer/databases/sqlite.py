"""SQLite: a file opened for reading, where nothing but SELECT is authorized; every value has a type of its own."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from anonymizer.databases.address import Address
from anonymizer.databases.driver import (
    BATCH,
    Rows,
    exists,
    no_table,
    not_one_select,
    refuse_type,
    several_types,
    writes_refused,
)
from anonymizer.errors import ReadError
from anonymizer.reading.options import Problem
from anonymizer.reading.parquet import EXACT

ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""What a query may do."""

BUSY = 10
"""Seconds to wait for somebody who writes."""


class SQLite:
    """The driver of SQLite: the one that Python brings."""

    types = {"text": "TEXT", "whole": "INTEGER", "number": "REAL", "moment": "TEXT", "truth": "INTEGER"}

    def open(self, address: Address, *, writes: bool, memory: int) -> Any:
        """Return a connection, as :meth:`anonymizer.databases.driver.Driver.open` says."""
        path = quote(str(Path(address.database).absolute()))
        mode = "rwc" if writes and address.new else "rw" if writes else "ro"
        connection = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY)
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        if not writes:
            connection.set_authorizer(lambda what, *_: sqlite3.SQLITE_OK if what in ALLOWED else sqlite3.SQLITE_DENY)
        return connection

    def rows(self, connection: Any, statement: str) -> Rows:
        """Return the rows of one SELECT."""
        cursor = connection.execute(statement)
        if cursor.description is None:
            raise sqlite3.ProgrammingError("no rows")
        names = [column[0] for column in cursor.description]
        notes: list[Problem] = []
        return Rows(names, self._batches(cursor, names, notes), notes=notes, dates=True)

    def _batches(self, cursor: Any, names: list[str], notes: list[Problem]) -> Iterator[pa.RecordBatch]:
        while rows := cursor.fetchmany(BATCH):
            columns = [
                _column(list(values), name, notes) for values, name in zip(zip(*rows, strict=True), names, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names)

    def execute(self, connection: Any, statement: str) -> None:
        """Run one statement of ours."""
        connection.execute(statement)

    def insert(self, connection: Any, name: str, table: pa.Table) -> None:
        """Add rows to a table; moments as text, as SQLite has them."""
        marks = ", ".join("?" * table.num_columns)
        for batch in table.to_batches(BATCH):
            columns = [
                (moment_texts(column) if pa.types.is_timestamp(column.type) else column).to_pylist()
                for column in batch.columns
            ]
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*columns, strict=True))

    def error(self, error: Exception, address: Address) -> ReadError | None:
        """Return what an exception of sqlite3 means."""
        if not isinstance(error, sqlite3.Error | sqlite3.Warning):
            return None
        text, code = str(error), getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_CANTOPEN or "unable to open" in text:
            return ReadError(
                f"There is no database {address.database!r} that can be opened.", remedy="Check its path and rights."
            )
        if code == sqlite3.SQLITE_AUTH or code & 255 == sqlite3.SQLITE_READONLY or "not authorized" in text:
            return writes_refused(address)
        if "no such table" in text:
            return no_table(address)
        if "already exists" in text:
            return exists(address)
        if "no such column" in text:
            return ReadError(f"The database {address.place} says: {text[:200]}.", remedy="Check names of columns.")
        if code & 255 in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ReadError(f"Somebody else writes to {address.place}.", remedy="Try again when they are done.")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return ReadError(f"{address.place} is no SQLite database, or is damaged.", remedy="Use another file.")
        if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) or "syntax error" in text:
            return not_one_select(address)
        return ReadError(f"The database {address.place} cannot be read.", remedy="Check the table or the query.")


def moment_texts(column: Any) -> Any:
    """Return moments as text: a day where all of them are at midnight."""
    days = column.cast(pa.date32(), safe=False)
    same = pc.all(pc.equal(days.cast(column.type), column)).as_py()
    return days.cast(pa.string()) if same is not False else column.cast(pa.string())


def _column(values: list[Any], name: str, notes: list[Problem]) -> pa.Array:
    """Return the values of a batch: whole numbers, numbers, or text where they are of several types."""
    kinds = {type(value) for value in values} - {type(None)}
    if bytes in kinds:
        raise refuse_type(name, "BLOB")
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {int}:
        return pa.array(values, pa.int64())
    present = [value for value in values if value is not None]
    if kinds == {float} or (kinds == {int, float} and all(abs(value) <= EXACT for value in present)):
        return pa.array(values, pa.float64())
    if kinds != {str} and (note := several_types(name)) not in notes:
        notes.append(note)
    texts = [None if value is None else value if isinstance(value, str) else repr(value) for value in values]
    return pa.array(texts, pa.string()).dictionary_encode()
