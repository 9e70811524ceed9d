"""Read a table or a query of a database, in a process of its own and a transaction that cannot write.

The address goes to that process through a pipe, never as a word of a command line. Its memory, time, rows and columns
are limited as for a file; the drivers are native code, and one that dies, or a server that sends nonsense, ends that
process only.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from anonymizer.databases.address import Address, address_from
from anonymizer.databases.driver import Driver, Rows, quoted, several_types
from anonymizer.databases.duck import DuckDB
from anonymizer.databases.postgresql import PostgreSQL
from anonymizer.databases.sqlite import SQLite
from anonymizer.errors import Progress, ReadError, no_progress
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import Reader, Reading
from anonymizer.reading.options import (
    Allowance,
    Content,
    Extent,
    Problem,
    ReadOptions,
    memory_of_computer,
    operator_allowance,
    refuse_too_wide,
)
from anonymizer.reading.parquet import EXACT, arrow_bytes, arrow_content

DRIVERS: dict[str, Callable[[], Driver]] = {"postgresql": PostgreSQL, "sqlite": SQLite, "duckdb": DuckDB}
"""What reads and writes each kind of database."""

SECONDS = 600.0
"""Processor time that a table may take, where the operator says nothing: its size is known only afterwards."""

_DATE = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?)?$"


def read_database(
    address: str | Address,
    *,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    allowance: Allowance | None = None,
) -> Reading:
    """Return a table of a database, or what a query gives, as the reading of a file is returned.

    ``address``: such as ``postgresql://user@host/database?table=schema.name``, ``sqlite:///FILE?query=SELECT …``. A
    password may stand in it, or, for PostgreSQL, in ``PGPASSWORD`` or ``.pgpass``; it is kept nowhere. Numbers of many
    digits stay text, times of a zone are those of its clocks. ``sha256``: of the rows, for there is no file.
    ``allowance``: what reading may take; ``None``: what the operator set.

    Raises :class:`ReadError` when no table can be had, and :class:`CancelledError` when ``cancelled`` says so.

    >>> import anonymizer as an
    >>> import sqlite3
    >>> from tempfile import mkdtemp
    >>> path = f"{mkdtemp()}/people.sqlite"
    >>> with sqlite3.connect(path) as database:
    ...     rows = an.SAMPLES["hospital"].load().to_sql("people", database, index=False)
    >>> an.read_database(f"sqlite:///{path}?table=people").n_records
    2000
    """
    where = address_from(address) if isinstance(address, str) else address
    reading = _read(where, read_content, options, progress, cancelled, allowance)
    rows = arrow_bytes(reading.frame)
    return replace(reading, format=where.kind, sha256=hashlib.sha256(rows).hexdigest(), size=len(rows))


def read_rows(address: Address) -> pd.DataFrame:
    """Return the rows of a table as they stand in the database: for the checker, who guesses nothing.

    Raises :class:`ReadError` when they cannot be had.
    """
    return _read(address, read_plain, None, None, lambda: False, None).frame


def _read(
    address: Address,
    reader: Reader,
    options: ReadOptions | None,
    progress: Progress | None,
    cancelled: Callable[[], bool],
    allowance: Allowance | None,
) -> Reading:
    allowance = operator_allowance() if allowance is None else allowance
    memory = allowance.memory or memory_of_computer() // 2
    allowance = replace(allowance, memory=memory, seconds=allowance.seconds or SECONDS)
    return read_in_child(
        request_of(address, memory), name=address.name, options=options, progress=progress, cancelled=cancelled,
        allowance=allowance, reader=reader,
    )  # fmt: skip


def request_of(address: Address, memory: int) -> bytes:
    """Return what the child is asked: the address, password and all, what the account's environment says of databases,
    and how many bytes it may use."""
    own = {name: text for name, text in os.environ.items() if name.startswith("PG")} if address.by_environment else {}
    return json.dumps({**asdict(address), "memory": memory, "environment": own}).encode()


# What runs in the child.


def read_content(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table that a request asks for: a reader for :func:`anonymizer.reading.child.read_in_child`."""
    rows, table = _fetch(data, name, stop, progress)
    columns, problems = list(table.columns), list(rows.notes)
    for place, label in enumerate(table.column_names if rows.dates else ()):
        if label not in options.as_text and (moments := _moments(columns[place])) is not None:
            columns[place] = moments
            problems.append(Problem("info", f"Column {label!r} is text, and holds dates only: they are dates.", label))
    content = arrow_content(pa.table(columns, names=table.column_names), options, None, rows.decimals)
    return replace(content, problems=problems + content.problems)


def read_plain(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """Return the table that a request asks for, as it stands: a reader, too."""
    return Content(plain_frame(_fetch(data, name, stop, progress)[1]), options, [])


def plain_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame: text as categories."""
    frame: pd.DataFrame = table.to_pandas(strings_to_categorical=True, date_as_object=False, ignore_metadata=True)
    return frame


def _fetch(data: bytes, name: str, stop: Callable[[Extent], None], progress: Progress | None) -> tuple[Rows, pa.Table]:
    request = json.loads(data)
    memory = request.pop("memory")
    os.environ.update(request.pop("environment"))
    address = Address(**{**request, "table": tuple(request["table"])})
    driver = DRIVERS[address.kind]()
    connection = None
    try:
        connection = driver.open(address, writes=False, memory=memory)
        expected = 0
        if address.table[1]:
            count = driver.rows(connection, f"SELECT count(*) AS n FROM {quoted(*address.table)}")
            expected = sum(int(batch.column(0)[0].as_py()) for batch in count.batches)
        rows = driver.rows(connection, address.query or f"SELECT * FROM {quoted(*address.table)}")
        refuse_too_wide(len(rows.names), name)
        stop(Extent(expected, len(rows.names), expected * len(rows.names), 0))
        return rows, gather(rows, name, stop, progress or no_progress, expected)
    except (ReadError, MemoryError):
        raise
    except Exception as error:
        raise_as_sentence(error, driver, address)
    finally:
        if connection is not None:
            connection.close()


def raise_as_sentence(error: Exception, driver: Driver, address: Address) -> NoReturn:
    """Raise what an exception of a driver means, in one sentence that repeats nothing of values or passwords."""
    raise driver.error(error, address) or ReadError(
        f"The database at {address.place} cannot be used ({type(error).__name__}).",
        remedy="Check the address, the table or the query.",
    ) from None


def gather(rows: Rows, name: str, stop: Callable[[Extent], None], progress: Progress, expected: int = 0) -> pa.Table:
    """Return all rows as one Arrow table. ``expected``: how many there should be, 0 when that is not known.

    Raises :class:`ReadError` for none, and what ``stop`` raises for too many.
    """
    columns: list[list[pa.Array]] = [[] for _ in rows.names]
    fetched = held_bytes = 0
    for batch in rows.batches:
        fetched, held_bytes = fetched + batch.num_rows, held_bytes + batch.nbytes
        stop(Extent(fetched, len(columns), fetched * len(columns), held_bytes))
        for chunks, column in zip(columns, batch.columns, strict=True):
            chunks.append(column)
        progress(min(0.9, 0.9 * fetched / expected) if expected else 0.0, f"{fetched:,} rows")
    if not fetched:
        raise ReadError(f"{name} has no rows.", remedy="Use a table, or a query, with at least one row.")
    return pa.table(
        [_unified(chunks, label, rows.notes) for chunks, label in zip(columns, rows.names, strict=True)],
        names=list(rows.names),
    )


def _unified(chunks: list[pa.Array], name: str, notes: list[Problem]) -> pa.ChunkedArray:
    """Return the chunks of a column as one of one type: numbers where all are, exactly, else text."""
    kinds = {chunk.type for chunk in chunks if not pa.types.is_null(chunk.type)}
    if len(kinds) > 1:
        ends = [_largest(chunk) for chunk in chunks if pa.types.is_integer(chunk.type)]
        exact = kinds == {pa.int64(), pa.float64()} and max(ends) <= EXACT
        kind: Any = pa.float64() if exact else pa.string()
        if not exact:
            notes += [] if (note := several_types(name)) in notes else [note]
            chunks = [
                pa.array([value if value is None else str(value) for value in chunk.to_pylist()], kind)
                for chunk in chunks
            ]
    else:
        kind = next(iter(kinds), pa.null())
    return pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)


def _largest(chunk: pa.Array) -> int:
    ends = pc.min_max(chunk).as_py()
    return max(abs(int(ends["min"] or 0)), abs(int(ends["max"] or 0)))


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of text as moments, where every text is one, written alike; ``None`` elsewhere."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_string(kind):
        return None
    texts = column.cast(pa.string())
    lengths = pc.min_max(pc.utf8_length(texts.drop_null())).as_py()
    one_form = lengths["min"] is not None and (lengths["min"] > 10) == (lengths["max"] > 10)
    if not one_form or not pc.all(pc.match_substring_regex(texts, _DATE)).as_py():
        return None
    try:
        return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
