"""A release in a new table: in one transaction, read back by the checker, never over another table."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import Cell
from anonymizer.checking.verify import Verification, verify
from anonymizer.cli.anonymize import ending_of, write_out
from anonymizer.cli.main import main
from anonymizer.databases.address import Address, address_from
from anonymizer.databases.driver import Driver
from anonymizer.databases.read import read_plain, request_of
from anonymizer.databases.sqlite import SQLite
from anonymizer.databases.write import require_place, rows_bytes, write_release
from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError, GuaranteeError, ParameterError, ReadError
from anonymizer.reading.files import read_table
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings
from tests.databases.cluster import Cluster

NAMES = ["plain", 'a"; drop table people; --', "![x](http://evil.example/a.png)", "名前 100% ü"]
LIMITS = {"k": 2}


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request: Any, tmp_path: Path) -> Any:
    """The address of a database with a table of two people, and what runs a statement there."""
    if request.param == "postgresql":
        server: Cluster = request.getfixturevalue("postgresql")
        server.run("DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public")
        run, address = server.run, server.url("table=public.people")
    else:
        module = sqlite3 if request.param == "sqlite" else duckdb
        path = tmp_path / "a.db"

        def run(statement: str) -> list[Any]:
            with module.connect(str(path)) as connection:
                return list(connection.execute(statement).fetchall())

        address = f"{request.param}:///{path}?table=people"
    run("CREATE TABLE people (a int)")
    run("INSERT INTO people VALUES (1), (2)") if request.param != "postgresql" else server.run(
        "INSERT INTO people VALUES (1), (2)"
    )
    return address_from(address), run


def release_of(name: str = "age") -> tuple[Release, Schema, Verification]:
    cells = (Cell.interval("10", "20", False), Cell.interval("20", "40", True))
    whole = {
        "note": (Kind.CATEGORICAL, pd.Series(["a", "", None, "tab\there 'x' \\N \"q\""], dtype="str")),
        "cost": (Kind.NUMERIC, pd.Series([0.1, np.nan, -1e300, 3.0])),
        "count": (Kind.NUMERIC, pd.Series([2**63 - 1, -1, 0, 5])),
        "day": (
            Kind.DATE,
            pd.Series(pd.to_datetime(["2024-02-29 10:00:00.123456", "2024-03-01", None, "1900-01-01"], format="mixed")),
        ),
    }
    age = ReleasedColumn(name, Role.QUASI_IDENTIFYING, Kind.NUMERIC, (), False, cells, np.array([0, 1, 0, 1], np.int8))
    others = [
        ReleasedColumn(title, Role.SENSITIVE, kind, (), True, values=values) for title, (kind, values) in whole.items()
    ]
    release = Release((age, *others), np.arange(4), "uniform")
    schema = Schema(tuple(Column(one.name, one.role, one.kind) for one in release.columns))
    return release, schema, verify(release.frame(), schema, **LIMITS)


def rows_at(address: Address) -> pd.DataFrame:
    return read_table(request_of(address, 1 << 30), name=address.name, reader=read_plain).frame


@pytest.mark.parametrize("name", NAMES)
def test_release__is_read_back_as_it_was_written(place: Any, name: str) -> None:
    address, run = place
    release, schema, verification = release_of(name)
    target = address.but(table=("", name))
    sha256 = write_release(release, target, schema, verification, LIMITS)
    rows = rows_at(target)
    assert digest(rows_bytes(rows)) == sha256
    assert sorted(rows["count"]) == sorted(release["count"].values)
    assert sorted(map(str, rows[name])) == sorted(map(str, release.frame()[name]))
    assert list(map(tuple, run("SELECT a FROM people ORDER BY a"))) == [(1,), (2,)]


def test_table__that_is_there_stays_as_it_is(place: Any) -> None:
    address, run = place
    release, schema, verification = release_of()
    with pytest.raises(AnonymizerError, match="There is a table '(public.)?people' in the database") as caught:
        write_release(release, address, schema, verification, LIMITS)
    assert "nothing was changed" in str(caught.value)
    assert list(map(tuple, run("SELECT a FROM people ORDER BY a"))) == [(1,), (2,)]


@pytest.mark.parametrize("fault", ["a row less", "a cell other", "a check fails"])
def test_table__that_reads_back_otherwise_is_taken_back(
    place: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = place
    release, schema, verification = release_of()
    from anonymizer.databases import read, write

    driver: type[Driver] = read.DRIVERS[address.kind]  # type: ignore[assignment]
    insert = driver.insert

    def damaged(self: Any, connection: Any, name: str, table: Any) -> None:
        insert(self, connection, name, table.slice(1) if fault == "a row less" else table)
        if fault == "a cell other":
            self.execute(connection, f"UPDATE {name} SET cost = 7 WHERE cost = 3")

    monkeypatch.setattr(driver, "insert", damaged)
    limits = {"k": 3} if fault == "a check fails" else LIMITS
    with pytest.raises(GuaranteeError, match="does not read back"):
        write_release(release, address.but(table=("", "released")), schema, verification, limits)
    with pytest.raises(AnonymizerError, match="There is no table 'released'"):
        rows_at(address.but(table=("", "released")))
    assert write.DRIVERS is read.DRIVERS


def test_release__that_may_not_leave_is_not_written(place: Any) -> None:
    address, _ = place
    release, schema, verification = release_of()
    barred = Release(release.columns, release.order, release.method, bars=("identifying name",))
    with pytest.raises(GuaranteeError, match="is not ready"):
        write_release(barred, address.but(table=("", "released")), schema, verification, LIMITS)
    with pytest.raises(AnonymizerError, match="There is no table 'released'"):
        rows_at(address.but(table=("", "released")))


def test_temporary_schema__is_refused_before_anything_is_done(place: Any) -> None:
    """Such a table goes with the connection that wrote it."""
    address, run = place
    release, schema, verification = release_of()
    for name in ("pg_temp", "PG_TEMP_3") if address.kind == "postgresql" else ("temp", "Temp"):
        target = address.but(table=(name, "released"))
        with pytest.raises(ParameterError, match="is gone when its connection ends"):
            require_place(target)
        with pytest.raises(ParameterError, match="is gone when its connection ends"):
            write_release(release, target, schema, verification, LIMITS)
    assert list(map(tuple, run("SELECT a FROM people ORDER BY a"))) == [(1,), (2,)]


def test_table__that_nobody_else_finds_afterwards_is_said(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = place
    release, schema, verification = release_of()
    from anonymizer.databases import read

    driver: type[Driver] = read.DRIVERS[address.kind]  # type: ignore[assignment]
    execute = driver.execute
    monkeypatch.setattr(
        driver, "execute",
        lambda self, connection, statement: execute(
            self, connection, "ROLLBACK" if statement == "COMMIT" else statement
        ),
    )  # fmt: skip
    with pytest.raises(AnonymizerError, match="There is no table 'released'"):
        write_release(release, address.but(table=("", "released")), schema, verification, LIMITS)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_new_file__is_made_where_that_is_asked_and_goes_with_a_failure(tmp_path: Path, kind: str) -> None:
    release, schema, verification = release_of()
    address = address_from(f"{kind}:///{tmp_path}/new.db?new=yes&table=released")
    require_place(address)
    with pytest.raises(GuaranteeError, match="does not read back"):
        write_release(release, address, schema, verification, {"k": 3})
    assert list(tmp_path.iterdir()) == []
    sha256 = write_release(release, address, schema, verification, LIMITS)
    assert digest(rows_bytes(rows_at(address))) == sha256
    with pytest.raises(ReadError, match="has no such option: mode"):
        address_from(f"{kind}:///{tmp_path}/new.db?mode=memory&table=released")
    with pytest.raises(ReadError, match="has no such option: new"):
        address_from(f"{kind}:///{tmp_path}/new.db?new=perhaps&table=released")


def test_database_that_is_not_there__is_said_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text("age,ill\n1,a\n")
    words = ["anonymize", str(tmp_path / "people.csv"), "--quasi-identifying", "no such column"]
    assert main([*words, "--out", f"sqlite:///{tmp_path}/none.db?table=x"]) == 2
    assert "To have it made, put new=yes before the table" in capsys.readouterr().err
    assert main([*words, "--out", f"sqlite:///{tmp_path}/x/none.db?new=yes&table=x"]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_sqlite__makes_no_file(tmp_path: Path) -> None:
    release, schema, verification = release_of()
    address = address_from(f"sqlite:///{tmp_path}/none.db?table=released")
    with pytest.raises(AnonymizerError, match="There is no database"):
        write_release(release, address, schema, verification, LIMITS)
    assert list(tmp_path.iterdir()) == []
    assert SQLite.types["moment"] == "TEXT"


def test_command__writes_and_verifies_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.db"
    sqlite3.connect(path).close()
    path.touch()
    text = f"sqlite:///{path}?table=released"
    release, schema, verification = release_of()
    flow: Any = SimpleNamespace(settings=Settings(k=2), population=None, schema=schema)
    noted: dict[str, str] = {}
    report: Any = SimpleNamespace(with_output=lambda sha256, override: noted.update(sha256))
    result: Any = SimpleNamespace(release=release, verification=verification, report=report)
    address = address_from(text)
    assert ending_of(address) == "database"
    write_out(SimpleNamespace(out=address), flow, result, None, "")  # type: ignore[arg-type]
    assert list(noted.values()) == [digest(rows_bytes(rows_at(address)))]
    words = ["verify", text, "--quasi-identifying", "age", "--sensitive", "note,cost,count,day", "--k"]
    assert main([*words, "2"]) == 0, capsys.readouterr()
    assert main([*words, "3"]) == 1
