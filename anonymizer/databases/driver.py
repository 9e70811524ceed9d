"""What a kind of database has to bring: how it is opened, read in batches and written, and what its errors mean.

A database is only ever read in a transaction, or a connection, that cannot write. Identifiers are quoted by SQLAlchemy;
PostgreSQL, SQLite and DuckDB quote alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from anonymizer.databases.address import Address, need
from anonymizer.errors import ReadError
from anonymizer.reading.options import Problem

BATCH = 20_000
"""Rows that are fetched at once."""

REMEDY = "Leave the column out, or turn it into text in a query: CAST(… AS text)."


@dataclass(frozen=True)
class Rows:
    """What a statement gives: the ``names`` of the columns and ``batches`` of their values. ``decimals``: positions of
    columns of text that are decimal numbers. ``notes``: what was done with columns. ``dates``: the database has no type
    for dates, so columns of text that is all dates are such."""

    names: Sequence[str]
    batches: Iterator[pa.RecordBatch]
    decimals: frozenset[int] = frozenset()
    notes: list[Problem] = field(default_factory=list)
    dates: bool = False


class Driver(Protocol):
    """One kind of database. ``types``: how it calls text, whole numbers, numbers, moments and truth."""

    types: dict[str, str]

    def open(self, address: Address, *, writes: bool, memory: int) -> Any:
        """Return a connection, in a transaction that cannot write unless it ``writes``, and ``memory`` bytes."""

    def rows(self, connection: Any, statement: str) -> Rows:
        """Return the rows of one SELECT."""

    def execute(self, connection: Any, statement: str) -> None:
        """Run one statement of ours."""

    def insert(self, connection: Any, name: str, table: pa.Table) -> None:
        """Add rows to a table. ``name``: quoted."""

    def error(self, error: Exception, address: Address) -> ReadError | None:
        """Return what an exception of the driver means, in a sentence; ``None`` where it says nothing known."""


def quoted(*parts: str) -> str:
    """Return identifiers, quoted and joined by dots; none that is empty."""
    base = need("sqlalchemy.dialects.postgresql.base")
    preparer = base.PGDialect(paramstyle="named").identifier_preparer  # in others a % is written twice
    return ".".join(preparer.quote_identifier(part) for part in parts if part)


def as_text_note(name: str, kind: str) -> Problem:
    """Return the note on a column whose values are of a kind that is neither number, date nor text."""
    return Problem("info", f"Column {name!r} holds values of type {kind}, each as one text.", name)


def several_types(name: str) -> Problem:
    """Return the note on a column whose values are not of one type."""
    remedy = "Turn them into one type in a query, if it is a measure."
    return Problem("warning", f"Column {name!r} holds values of several types. They stay text.", name, remedy=remedy)


def refuse_type(name: str, kind: str) -> ReadError:
    """Return what is said of a column of a type that is not read."""
    problem = f"Column {name!r} holds values of type {kind}, which are neither numbers, dates nor text."
    return ReadError(problem, column=name, remedy=REMEDY)


def refuse_value(name: str, kind: str) -> ReadError:
    """Return what is said of a column with a value that its type has, and no table here."""
    return ReadError(
        f"Column {name!r} holds a value of type {kind} that cannot be read, such as infinity or a year before 1.",
        column=name, remedy=REMEDY,
    )  # fmt: skip


def no_table(address: Address) -> ReadError:
    """Return what is said of a table that is not there."""
    return ReadError(
        f"There is no table {address.what!r} in the database at {address.place}."
        if address.table[1] else f"A table that the query speaks of is not in the database at {address.place}.",
        remedy="Check its name and schema; upper and lower case are different.",
    )  # fmt: skip


def writes_refused(address: Address) -> ReadError:
    """Return what is said of a query that would change something."""
    return ReadError(
        f"The query on {address.place} would change the database, which is only read; nothing was changed.",
        remedy="Use one SELECT.",
    )


def not_one_select(address: Address) -> ReadError:
    """Return what is said of a query that is none, or several."""
    several = " or are several statements" if ";" in address.query else ""
    return ReadError(
        f"The words of the query on {address.place} are not one SELECT{several}.", remedy="Use one SELECT, alone."
    )


def exists(address: Address) -> ReadError:
    """Return what is said of a table that a release would be written into, and that is there already."""
    return ReadError(
        f"There is a table {address.what!r} in the database at {address.place} already; nothing was changed.",
        remedy="Give the release a name of its own.",
    )
