"""Releases that are read from and written into DuckDB and PostgreSQL, with a ledger."""

import json
from pathlib import Path

import duckdb
import pytest

from anonymizer.cli.main import main
from anonymizer.ledger.ledger import Ledger
from tests.cli.test_ledger import PEOPLE, RUN, reason_for
from tests.databases.cluster import Cluster

BASE = "registry"


def in_duckdb(folder: Path) -> str:
    """The address of a DuckDB file that holds the people."""
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("these", PEOPLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM these")
    return "duckdb:///people.duckdb?table="


def in_postgresql(cluster: Cluster) -> str:
    """The address of a database of a real server that holds the people."""
    cluster.run(f"CREATE DATABASE {BASE}")
    cluster.run(
        "CREATE TABLE people (age int, sex text, postcode text, diagnosis text, patient text)",
        *(
            f"INSERT INTO people VALUES ({row.age}, '{row.sex}', '{row.postcode}', '{row.diagnosis}', '{row.patient}')"
            for row in PEOPLE.itertuples()
        ),
        base=BASE,
    )
    return cluster.url("table=", base=BASE)


@pytest.fixture(params=["duckdb", pytest.param("postgresql", marks=pytest.mark.programs)])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the people are, without the name of the table; beside it a new ledger."""
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", "new", "register"]) == 0
    return in_duckdb(tmp_path) if request.param == "duckdb" else in_postgresql(request.getfixturevalue("postgresql"))


def test_two_releases__are_entered_and_counted_together(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = address.partition(":")[0]
    run = ["anonymize", address + "people", *RUN[2:], "--k", "10", "--to", "the university"]
    assert main([*run, "--out", address + "first", "--report", "y1.json"]) == 0
    entry = Ledger.open("register").entries[1]
    assert entry["release"]["name"] == f"{kind}:first"
    assert json.loads(Path("y1.json").read_text("utf-8"))["provenance"]["ledger"]["hash"] == entry["hash"]
    assert main(["ledger", "check", "register", address + "first", "y1.json"]) == 0
    assert f"{kind}:first is what entry 2 says was released to the university." in capsys.readouterr().out

    narrow = [word.replace("age,sex,postcode", "age,postcode") for word in run] + ["--identifying", "sex"]
    assert main([*narrow, "--out", address + "second", "--report", "y2.json"]) == 1
    assert reason_for("y2.json")
    assert len(Ledger.open("register").entries) == 2
    assert main([*narrow, "--keep-earlier", "--out", address + "second"]) == 0
    assert [one["release"]["name"] for one in Ledger.open("register").entries[1:]] == [
        f"{kind}:first",
        f"{kind}:second",
    ]
