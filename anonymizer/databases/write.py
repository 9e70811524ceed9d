"""Write a release into a new table of a database, read it back, and keep it only when the checker finds it in order.

All of that is one transaction: a table that is there already, or that comes in between, a connection that ends, a check
that fails leave the database as it was.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from anonymizer.checking.released_file import ReleasedFile, read_file
from anonymizer.checking.set_names import SetNames
from anonymizer.checking.verify import Verification, verify
from anonymizer.databases.address import Address
from anonymizer.databases.driver import BATCH, Driver, quoted
from anonymizer.databases.read import DRIVERS, gather, plain_frame, raise_as_sentence
from anonymizer.errors import AnonymizerError, GuaranteeError, ParameterError, Progress, no_progress
from anonymizer.reading.options import MIB, Extent
from anonymizer.reading.parquet import arrow_bytes
from anonymizer.releasing.release import Release
from anonymizer.schema import Schema

LONGEST_NAME = 63
"""Bytes of the longest name that PostgreSQL takes whole."""

MEMORY = 1024 * MIB


def write_release(
    release: Release, address: Address, schema: Schema, verification: Verification, limits: Mapping[str, Any],
    progress: Progress = no_progress, before: Callable[[str], object] | None = None,
) -> str:  # fmt: skip
    """Write a release into a new table, and return the digest of its rows: of :func:`rows_bytes`.

    Generalized cells and texts become text, whole numbers, numbers and moments columns of their type. ``verification``:
    that of the release. ``schema``, ``limits``: what the checker holds the table against when it is read back, before
    anybody else can see it. ``progress``: called with a share from 0 to 1 and what is being done; an exception that it
    raises ends the work. ``before``: called with the digest before the transaction is committed; so is what it raises.

    Raises :class:`GuaranteeError` when something stands in the way of the release, or the table read back is another
    or fails a check that the release passed; :class:`ReadError` or :class:`ParameterError` when it cannot be written.
    The database is as it was then, unless the table was committed and a second connection does not find it whole.
    """
    require_place(address)
    table = pa.ipc.open_file(pa.BufferReader(release.to_bytes("feather"))).read_all()
    long = [name for name in (*address.table, *table.column_names) if len(name.encode()) > LONGEST_NAME]
    if long and address.kind == "postgresql":
        raise ParameterError(
            f"The name {long[0]!r} is longer than {LONGEST_NAME} bytes.", remedy="Give it a shorter name."
        )
    driver = DRIVERS[address.kind]()
    connection, committed = None, False
    is_new = address.kind != "postgresql" and not Path(address.database).exists()
    try:
        connection = driver.open(address, writes=True, memory=MEMORY)
        name = quoted(*address.table)
        driver.execute(connection, statement_of(name, table, driver))
        for start in range(0, len(table), BATCH):
            progress(0.4 * start / len(table), f"{start:,} of {len(table):,} rows are written")
            driver.insert(connection, name, table.slice(start, BATCH))
        rows = driver.rows(connection, f"SELECT * FROM {name}")

        def stop(extent: Extent) -> None:
            progress(min(0.7, 0.4 + 0.3 * extent.rows / len(table)), f"{extent.rows:,} rows are read back")

        back = gather(rows, address.name, stop, no_progress)
        progress(0.7, "Checking the rows that were read back")
        check_back(back, table, verification, schema, limits, {c.name: c.names for c in release.columns if c.names})
        progress(0.95, "Ending the transaction")
        sha256 = hashlib.sha256(rows_bytes(plain_frame(back))).hexdigest()
        if before is not None:
            before(sha256)
        driver.execute(connection, "COMMIT")
        committed = True
        connection.close()
        connection = None
        look_up(driver, address, len(table))
    except AnonymizerError:
        raise
    except Exception as error:
        raise_as_sentence(error, driver, address)
    finally:
        if connection is not None:
            with suppress(Exception):  # what is not committed goes with the connection
                driver.execute(connection, "ROLLBACK")
            connection.close()
        if is_new and not committed:
            Path(address.database).unlink(missing_ok=True)
    return sha256


def require_place(address: Address) -> None:
    """Raise :class:`ParameterError` where no table of a release can be made: before the work is done for which it would
    be made."""
    file, schema = Path(address.database), address.table[0].casefold()
    if not address.table[1]:
        raise ParameterError(
            "A release goes into a table, not into a query.", remedy="End the address with ?table=NAME."
        )
    if schema.startswith("pg_temp") if address.kind == "postgresql" else schema == "temp":
        raise ParameterError(
            f"A table in the schema {address.table[0]!r} is gone when its connection ends.",
            remedy="Name another schema, or none.",
        )
    if address.kind == "postgresql" or file.is_file():
        return
    if not file.parent.is_dir():
        raise ParameterError(f"There is no folder {str(file.parent)!r}.", remedy="Make it, or write to another one.")
    if not address.new:
        raise ParameterError(
            f"There is no database {address.database!r}.",
            remedy="Check its path. To have it made, put new=yes before the table: ?new=yes&table=NAME.",
        )


def look_up(driver: Driver, address: Address, rows: int) -> None:
    """Raise :class:`GuaranteeError` unless somebody else, with a connection of their own, finds the table with so many
    rows."""
    connection = driver.open(address, writes=False, memory=MEMORY)
    try:
        counted = driver.rows(connection, f"SELECT count(*) AS n FROM {quoted(*address.table)}")
        counts = [int(value) for batch in counted.batches for value in batch.column(0).to_pylist()]
    finally:
        connection.close()
    if counts != [rows]:
        raise GuaranteeError(
            f"After the transaction, the table does not have the {rows:,} rows that were written.",
            remedy="Look at what the database does with new tables, or write a file.",
        )


def statement_of(name: str, table: pa.Table, driver: Driver) -> str:
    """Return the CREATE TABLE for an Arrow table. ``name``: quoted."""
    columns = ", ".join(f"{quoted(field.name)} {driver.types[_type_of(field)]}" for field in table.schema)
    return f"CREATE TABLE {name} ({columns})"


def check_back(
    back: pa.Table, table: pa.Table, before: Verification, schema: Schema, limits: Mapping[str, Any],
    sets: SetNames | None = None,
) -> None:  # fmt: skip
    """Raise :class:`GuaranteeError` unless the table that was read back has the rows that were written, and passes the
    checks that they pass. ``sets``: those that have short names."""
    same = back.column_names == table.column_names and len(back) == len(table)
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        columns = [back.column(place).cast(field.type) for place, field in enumerate(table.schema)] if same else []
        same = same and _sorted(pa.table(columns, names=table.column_names)).equals(_sorted(table))
        rows = file_of(plain_frame(pa.table(columns, names=table.column_names))) if same else None
        if rows is not None:
            rows = rows.under(schema, sets=sets or None)
            after = verify(rows.rows, schema, beside=rows.beside, **limits)
            if {check.name for check in after.failed} <= {check.name for check in before.failed}:
                return
    raise GuaranteeError(
        "The table that was written does not read back as the release; it was taken back, and nothing is left of it.",
        remedy="Write a file instead.",
    )


def rows_bytes(frame: pd.DataFrame) -> bytes:
    """Return the rows of a table as a file, sorted by their cells, for the rows of a database have no order."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return arrow_bytes(plain_frame(_sorted(table)))


def file_of(frame: pd.DataFrame) -> ReleasedFile:
    """Return the rows of a table in a database as the checker has those of a file."""
    return read_file(rows_bytes(frame))


def _sorted(table: pa.Table) -> pa.Table:
    plain = pa.table(
        [
            column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for column in table.combine_chunks().columns
        ],
        names=table.column_names,
    )
    return plain.sort_by([(name, "ascending") for name in plain.column_names]).combine_chunks()


def _type_of(field: Any) -> str:
    """Return which of a driver's types a column of a release has; raises :class:`ParameterError` for none."""
    kind = field.type
    if pa.types.is_string(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return "whole"
    if pa.types.is_floating(kind):
        return "number"
    if pa.types.is_timestamp(kind):
        return "moment"
    raise ParameterError(
        f"Column {field.name!r} cannot be written into a database.", column=field.name, remedy="Write a file."
    )
