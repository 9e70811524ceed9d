"""PostgreSQL: a cursor on the server in a READ ONLY transaction; values come as the text that the server writes."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonymizer.databases.address import PASSWORD, Address, need
from anonymizer.databases.driver import (
    BATCH,
    Rows,
    as_text_note,
    exists,
    no_table,
    not_one_select,
    refuse_type,
    refuse_value,
    writes_refused,
)
from anonymizer.errors import ReadError

PATIENCE = 10
"""Seconds a server may take to answer for the first time."""

MOST_SECONDS = 3600
"""Seconds that one statement may take."""

CHECKS_CLIENTS = 140000
"""The first version that can notice in the middle of a statement that nobody waits for it any more."""

WHOLE, NUMBERS = {"int2", "int4", "int8", "oid"}, {"float4", "float8"}
TEXTS = {"text", "varchar", "bpchar", "name", '"char"', "char", "uuid"}
MOMENTS = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us")}
AS_TEXT = {
    "json", "jsonb", "jsonpath", "xml", "time", "timetz", "interval", "money", "inet", "cidr", "macaddr", "macaddr8",
    "bit", "varbit", "tsvector", "tsquery",
}  # fmt: skip
REFUSED = {"bytea", "record"}


class PostgreSQL:
    """The driver of PostgreSQL: psycopg."""

    types = {
        "text": "text", "whole": "bigint", "number": "double precision", "moment": "timestamp", "truth": "boolean",
    }  # fmt: skip

    def open(self, address: Address, *, writes: bool, memory: int) -> Any:
        """Return a connection, as :meth:`anonymizer.databases.driver.Driver.open` says."""
        psycopg = need("psycopg")
        if not address.by_environment:
            for name in [name for name in os.environ if name.startswith("PG")]:
                del os.environ[name]
            os.environ["PGPASSFILE"] = os.environ["PGSERVICEFILE"] = os.devnull
        words = dict(address.options)
        words |= {"dbname": address.database} if address.database else {}
        words |= {"user": address.user} if address.user else {}
        words |= {"password": address.password} if address.password else {}
        words |= {"host": address.host} if address.host else {}
        words |= {"port": str(address.port)} if address.port else {}
        words = {"connect_timeout": str(PATIENCE), "application_name": "copse"} | words
        connection = psycopg.connect(**words, client_encoding="utf8")
        if not writes:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        loader = need("psycopg.types.string").TextLoader
        for kind in psycopg.postgres.types:
            for oid in filter(None, (kind.oid, kind.array_oid)):
                connection.adapters.register_loader(oid, loader)
        self.zone = connection.execute("SHOW TimeZone").fetchone()[0]
        connection.execute(f"SET LOCAL statement_timeout = {1000 * MOST_SECONDS}")
        if connection.info.server_version >= CHECKS_CLIENTS:
            connection.execute("SET LOCAL client_connection_check_interval = 1000")
        connection.execute("SET LOCAL DateStyle = 'ISO, YMD'")
        connection.execute("SET LOCAL IntervalStyle = 'iso_8601'")
        connection.execute("SET LOCAL extra_float_digits = 3")
        connection.execute("SET LOCAL TimeZone = 'UTC'")
        return connection

    def rows(self, connection: Any, statement: str) -> Rows:
        """Return the rows of one SELECT."""
        cursor = connection.cursor(name="copse")
        cursor.itersize = BATCH
        cursor.execute(statement)
        names = [column.name for column in cursor.description]
        kinds = _kinds(connection, [column.type_code for column in cursor.description])
        for name, kind in zip(names, kinds, strict=True):
            if kind in REFUSED or kind.startswith("unknown "):
                raise refuse_type(name, kind.removeprefix("unknown "))
        notes = [
            as_text_note(name, kind)
            for name, kind in zip(names, kinds, strict=True)
            if kind in AS_TEXT or kind.endswith("[]")
        ]
        decimals = frozenset(place for place, kind in enumerate(kinds) if kind == "numeric")
        return Rows(names, self._batches(cursor, names, kinds), decimals, notes)

    def _batches(self, cursor: Any, names: list[str], kinds: list[str]) -> Iterator[pa.RecordBatch]:
        while rows := cursor.fetchmany(BATCH):
            columns = [
                self._column(list(texts), name, kind)
                for texts, name, kind in zip(zip(*rows, strict=True), names, kinds, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names)
        cursor.close()

    def _column(self, texts: list[str | None], name: str, kind: str) -> pa.Array:
        column = pa.array(texts, pa.string())
        try:
            if kind in WHOLE:
                return column.cast(pa.int64())
            if kind in NUMBERS:
                return column.cast(pa.float64())
            if kind == "bool":
                return pc.equal(column, "t")
            if kind == "timestamptz":
                return column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", self.zone))
            if kind in MOMENTS:
                return column.cast(MOMENTS[kind])
        except pa.ArrowInvalid:
            raise refuse_value(name, kind) from None
        return column if kind == "numeric" else column.dictionary_encode()

    def execute(self, connection: Any, statement: str) -> None:
        """Run one statement of ours."""
        connection.execute(statement)

    def insert(self, connection: Any, name: str, table: pa.Table) -> None:
        """Add rows to a table."""
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for batch in table.to_batches(BATCH):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)

    def error(self, error: Exception, address: Address) -> ReadError | None:
        """Return what an exception of psycopg means."""
        psycopg = need("psycopg")
        if not isinstance(error, psycopg.Error):
            return None
        state = error.sqlstate or ""
        if not state and isinstance(error, psycopg.OperationalError):
            return _not_connected(error, address)
        words = _first_words(error)
        match state:
            case "42P01" | "3F000":
                return no_table(address)
            case "42703":
                return ReadError(f"The database at {address.place} says: {words}.", remedy="Check names of columns.")
            case "42501":
                return ReadError(
                    f"The account may not do this in the database at {address.place}: {words}.",
                    remedy="Ask who runs the database for the right, or use another account.",
                )
            case "25006":
                return writes_refused(address)
            case "42P07" | "23505":
                return exists(address)
            case "57014":
                return ReadError(
                    f"The query on {address.place} took too long, or was cancelled.", remedy="Ask for less."
                )
        if state.startswith(("57P", "08")):
            return _dropped(address)
        if state.startswith(("42", "0A", "34")):
            remedy = "Use one SELECT, alone." if address.query else "Check the name of the table."
            several = not_one_select(address) if ";" in address.query else None
            return several or ReadError(f"The database at {address.place} says: {words}.", remedy=remedy)
        return ReadError(
            f"The database at {address.place} refused this (SQLSTATE {state}).", remedy="Check the table or the query."
        )


def _kinds(connection: Any, oids: list[int]) -> list[str]:
    """Return the names of types; those of arrays end in "[]", an enumeration is text."""
    registry = need("psycopg").postgres.types
    other = sorted({oid for oid in oids if registry.get(oid) is None})
    question = "SELECT oid, typname, typtype FROM pg_catalog.pg_type WHERE oid = ANY(%s)"
    named = {
        int(oid): "text" if kind == "e" else f"unknown {name}"
        for oid, name, kind in (connection.execute(question, [other]).fetchall() if other else ())
    }
    kinds = []
    for oid in oids:
        info = registry.get(oid)
        if info is None:
            kinds.append(named.get(oid, f"unknown {oid}"))
        elif info.array_oid == oid:
            kinds.append(f"{info.name}[]")
        elif info.name in {*WHOLE, *NUMBERS, *TEXTS, *MOMENTS, *AS_TEXT, *REFUSED, "bool", "numeric"}:
            kinds.append(info.name)
        else:
            kinds.append(f"unknown {info.name}")
    return kinds


def _first_words(error: Any) -> str:
    """Return the first line of what the server says of names, which somebody typed; never of values."""
    return (error.diag.message_primary or "it refused this").splitlines()[0][:200].rstrip(".")


def _dropped(address: Address) -> ReadError:
    return ReadError(
        f"The connection to the database at {address.place} ended in the middle; nothing was kept.", remedy="Try again."
    )


def _not_connected(error: Any, address: Address) -> ReadError:
    """Return what a failure without a state of the server means: it was not reached, did not let in, or went away."""
    account = f" as {address.user!r}" if address.user else ""
    text = str(error)
    if getattr(error.pgconn, "needs_password", False) or "no password supplied" in text:
        return ReadError(
            f"The database at {address.place} asks{account} for a password.", value=PASSWORD,
            remedy="Type it when asked, or give it in PGPASSWORD or ~/.pgpass.",
        )  # fmt: skip
    if re.search(r'database "[^"]*" does not exist', text):
        return ReadError(f"There is no database {address.database!r} at {address.place}.", remedy="Check its name.")
    if getattr(error.pgconn, "used_password", False) or re.search(r'authentication failed|role "[^"]*" does not', text):
        return ReadError(
            f"The server at {address.place} did not let you in{account}: the password or the account is wrong.",
            remedy="Check both.",
        )
    if re.search("server closed|terminat|lost|SSL (SYSCALL|error)", text) and "could not" not in text:
        return _dropped(address)
    return ReadError(
        f"No PostgreSQL server answers at {address.place}, or it refuses the connection.",
        remedy="Check host and port, and that it runs.",
    )
