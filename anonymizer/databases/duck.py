"""DuckDB: a file opened for reading, by a program that may touch nothing else; values come as Arrow."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonymizer.databases.address import Address, need
from anonymizer.databases.driver import (
    BATCH,
    Rows,
    as_text_note,
    exists,
    no_table,
    not_one_select,
    quoted,
    refuse_type,
)
from anonymizer.databases.driver import writes_refused as refuse_writing
from anonymizer.errors import ReadError
from anonymizer.reading.options import MIB

PLAIN = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|VARCHAR|DATE|"
    r"TIMESTAMP(_S|_MS|_NS)?( WITH TIME ZONE)?|ENUM\(.*\)",
    re.DOTALL,
)
LONG, AS_TEXT = {"HUGEINT", "UHUGEINT", "BIGNUM", "VARINT"}, {"JSON", "TIME", "TIME WITH TIME ZONE", "INTERVAL", "BIT"}
NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION)\(.*\)", re.DOTALL)


class DuckDB:
    """The driver of DuckDB."""

    types = {"text": "VARCHAR", "whole": "BIGINT", "number": "DOUBLE", "moment": "TIMESTAMP", "truth": "BOOLEAN"}

    def open(self, address: Address, *, writes: bool, memory: int) -> Any:
        """Return a connection, as :meth:`anonymizer.databases.driver.Driver.open` says."""
        path = Path(address.database)
        if not path.is_file() and not (writes and address.new):
            raise ReadError(f"There is no database {address.database!r}.", remedy="Check its path.")
        config = {
            "enable_external_access": "false",
            "threads": "1",
            "memory_limit": f"{max(64, memory // MIB // 2)}MiB",
        }
        duckdb = need("duckdb")
        connection = duckdb.connect(str(path.absolute()), read_only=not writes, config=config)
        connection.execute("SET lock_configuration = true")
        connection.execute("BEGIN")
        return connection

    def rows(self, connection: Any, statement: str) -> Rows:
        """Return the rows of one SELECT."""
        statements = connection.extract_statements(statement)
        if len(statements) != 1 or statements[0].type != need("duckdb").StatementType.SELECT:
            raise _NotOneSelect
        described = connection.execute(f"DESCRIBE SELECT * FROM ({statement}\n) AS copse").fetchall()
        columns, notes, decimals = [], [], set()
        for place, (name, kind, *_) in enumerate(described):
            bare = quoted(name)
            if kind in LONG:
                decimals.add(place)
            elif kind in AS_TEXT or NESTED.fullmatch(kind):
                notes.append(as_text_note(name, kind))
            elif not PLAIN.fullmatch(kind) and kind not in ('"NULL"', "NULL", "UUID"):
                raise refuse_type(name, kind)
            columns.append(bare if PLAIN.fullmatch(kind) else f"CAST({bare} AS VARCHAR)")
        result = connection.sql(f"SELECT {', '.join(columns)} FROM ({statement}\n) AS copse")
        names = [name for name, *_ in described]
        return Rows(names, self._batches(result, names), frozenset(decimals), notes)

    def _batches(self, result: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in result.to_arrow_reader(BATCH):
            columns = [
                column.dictionary_encode() if pa.types.is_string(column.type) else column for column in batch.columns
            ]
            yield pa.RecordBatch.from_arrays(columns, names)

    def execute(self, connection: Any, statement: str) -> None:
        """Run one statement of ours."""
        connection.execute(statement)

    def insert(self, connection: Any, name: str, table: pa.Table) -> None:
        """Add rows to a table."""
        connection.register("copse rows", table)
        connection.execute(f'INSERT INTO {name} SELECT * FROM "copse rows"')
        connection.unregister("copse rows")

    def error(self, error: Exception, address: Address) -> ReadError | None:
        """Return what an exception of DuckDB means."""
        duckdb = need("duckdb")
        if isinstance(error, _NotOneSelect | duckdb.ParserException):
            return not_one_select(address)
        if not isinstance(error, duckdb.Error):
            return None
        text = str(error)
        if isinstance(error, duckdb.CatalogException):
            return exists(address) if "already exists" in text else no_table(address)
        if isinstance(error, duckdb.BinderException):
            words = text.splitlines()[0].partition(": ")[2][:200].rstrip(".")
            return ReadError(f"The database {address.place} says: {words}.", remedy="Check names of columns.")
        if isinstance(error, duckdb.PermissionException) and address.query:
            return ReadError(
                f"The query on {address.place} would read other files, which it may not.", remedy="Ask for its tables."
            )
        if "read-only" in text:
            return refuse_writing(address)
        if isinstance(error, duckdb.IOException | duckdb.PermissionException):
            return ReadError(
                f"{address.place} cannot be opened: it is no database of DuckDB, or somebody writes to it.",
                remedy="Check it, and close what has it open.",
            )
        return ReadError(f"The database {address.place} cannot be read.", remedy="Check the table or the query.")


class _NotOneSelect(Exception):
    """Words that are no SELECT, or several statements."""
