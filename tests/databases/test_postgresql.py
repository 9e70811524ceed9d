"""Tables of a real PostgreSQL server: every type, every refusal, and no password anywhere."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pandas as pd
import pytest

import anonymizer as an
from anonymizer.databases.address import address_from
from anonymizer.databases.driver import quoted
from anonymizer.databases.read import read_database
from anonymizer.errors import CancelledError, ReadError
from anonymizer.reading.options import Allowance
from tests.databases.cluster import Cluster
from tests.databases.here import read_here
from tests.waiting import wait_until

CANARY = "p@ss:w/rd?canary-8341%"
HOSTILE = ['a"; drop table people; --', "![x](http://evil.example/a.png)", "名前 ü 🌳", "100% o'clock", "<b>x</b>"]

TYPES = """
CREATE TABLE types (
  small smallint, whole bigint, gaps bigint, edge bigint, price numeric(10,2), long numeric(30,10), real8 float8,
  day date, clock timestamp, zoned timestamptz, yes boolean, words text, id uuid, doc jsonb, parts int[], hour time,
  span interval, mood mood, net inet, code char(5)
)"""
VALUES = """
INSERT INTO types VALUES
 (1, 9223372036854775807, 1, 9007199254740993, 1.10, 12345678901234567890.0000000001, 0.1, '2024-02-29',
  '2024-02-29 12:00:00.123456', '2024-07-01 00:30:00+02', true, 'a', '11111111-1111-1111-1111-111111111111', '{"a": 1}',
  '{1,2}', '10:00', '1 day', 'fine', '10.0.0.1', 'ab'),
 (2, -9223372036854775808, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL)"""


@pytest.fixture(scope="module")
def server(postgresql: Cluster) -> Iterator[Cluster]:
    postgresql.run(
        "CREATE DATABASE clinic",
        f"CREATE ROLE steward LOGIN PASSWORD '{CANARY}'",
        "CREATE ROLE nobody_else LOGIN PASSWORD 'x'",
    )
    postgresql.run(
        "CREATE TYPE mood AS ENUM ('fine', 'sad')",
        TYPES,
        VALUES,
        "CREATE TABLE people AS SELECT n AS id, 20 + n % 50 AS age, 'name' || n AS name FROM generate_series(1, 500) n",
        "CREATE TABLE empty (a int)",
        "CREATE TABLE bytes (a bytea)",
        "INSERT INTO bytes VALUES ('x')",
        "CREATE TABLE places (a point)",
        "INSERT INTO places VALUES ('(1,2)')",
        "CREATE TABLE forever (a date)",
        "INSERT INTO forever VALUES ('infinity')",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO steward",
        base="clinic",
    )
    yield postgresql
    postgresql.run("DROP DATABASE clinic WITH (FORCE)", "DROP ROLE steward", "DROP ROLE nobody_else")


def url(server: Cluster, after: str) -> str:
    return server.url(after, user="steward", password=CANARY, base="clinic")


def test_types__come_without_loss(server: Cluster) -> None:
    reading = read_here(url(server, "table=public.types"))
    first, second = (reading.frame.iloc[place] for place in (0, 1))
    assert (first["whole"], second["whole"]) == (2**63 - 1, -(2**63))
    assert first["gaps"] == 1.0
    assert pd.isna(second["gaps"])
    assert str(first["edge"]) == "9007199254740993"  # beside a null: text, for a float would be ...992
    assert (first["price"], first["real8"]) == (1.1, 0.1)
    assert str(first["long"]) == "12345678901234567890.0000000001"
    assert first["day"] == pd.Timestamp("2024-02-29")
    assert first["clock"] == pd.Timestamp("2024-02-29 12:00:00.123456")
    assert first["zoned"] == pd.Timestamp("2024-07-01 00:30:00")  # the clock of the server's zone
    texts = {"yes": "true", "words": "a", "id": "1" * 8, "doc": '{"a": 1}', "parts": "{1,2}", "hour": "10:00:00",
             "span": "P1D", "mood": "fine", "net": "10.0.0.1", "code": "ab"}  # fmt: skip
    for name, text in texts.items():
        assert str(first[name]).startswith(text), name
        assert pd.isna(second[name]), name
    notes = " ".join(problem.text for problem in reading.problems)
    assert "Europe/Berlin" in notes
    for name, kind in {"doc": "jsonb", "parts": "int4[]", "hour": "time", "span": "interval", "net": "inet"}.items():
        assert f"Column {name!r} holds values of type {kind}, each as one text." in notes


def test_batches__make_one_table_and_tell_how_far_they_are(server: Cluster) -> None:
    heard: list[str] = []
    words = "query=SELECT n, n % 7 AS week, 'x' || (n % 3) AS t FROM generate_series(1, 50000) n"
    reading = read_here(url(server, words), progress=lambda share, what: heard.append(what))
    assert list(reading.frame["n"]) == list(range(1, 50001))
    assert set(reading.frame["t"]) == {"x0", "x1", "x2"}
    assert reading.name == "postgresql:query"
    assert any(what.endswith("rows") for what in heard)


def test_reading_twice__has_the_same_digest(server: Cluster) -> None:
    one, two = (read_database(url(server, "table=people")) for _ in range(2))
    other = read_database(url(server, "query=SELECT * FROM people WHERE id < 500"))
    assert (one.format, one.name) == ("postgresql", "postgresql:people")
    assert one.sha256 == two.sha256 != other.sha256


@pytest.mark.parametrize("name", HOSTILE)
def test_names__are_data(server: Cluster, name: str) -> None:
    server.run(
        f"CREATE TABLE {quoted(name)} ({quoted(name)} int)", f"INSERT INTO {quoted(name)} VALUES (7)", base="clinic"
    )
    server.run(f"GRANT SELECT ON {quoted(name)} TO steward", base="clinic")
    address = address_from(url(server, "table=t")).but(table=("", name))
    try:
        assert list(read_here(address).frame[name]) == [7]
        assert server.run("SELECT count(*) FROM people", base="clinic") == [(500,)]
    finally:
        server.run(f"DROP TABLE {quoted(name)}", base="clinic")


REFUSALS = {
    "table=nothing": "There is no table 'nothing'",
    "table=nowhere.people": "There is no table 'nowhere.people'",
    "table=empty": "has no rows",
    "table=bytes": "Column 'a' holds values of type bytea",
    "table=places": "Column 'a' holds values of type point",
    "table=forever": "Column 'a' holds a value of type date that cannot be read",
    "table=a.b.c": "can be understood in more than one way",
    "query=SELECT agee FROM people": 'column "agee" does not exist',
    "query=SELECT 1; DROP TABLE people": "several statements",
    "query=SELECT 1; COMMIT; DROP TABLE people": "several statements",
    "query=DELETE FROM people": "syntax error",
    "query=WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone": "",
    "query=SELECT set_config('transaction_read_only', 'off', false)": "",
    "query=SELECT nextval('counter')": "would change the database",
    "query=SELECT 'secret-value-77'::int": "refused this (SQLSTATE 22P02)",
    "query=SELECT pg_terminate_backend(pg_backend_pid())": "ended in the middle",
    "query=SELECT * FROM pg_authid": "may not do this",
    "": "which table or which query",
    "table=people&query=SELECT 1": "one of them only",
}


@pytest.mark.parametrize("words", REFUSALS, ids=range(len(REFUSALS)))
def test_refusals__are_one_sentence_and_change_nothing(server: Cluster, words: str) -> None:
    server.run("CREATE SEQUENCE IF NOT EXISTS counter", "GRANT USAGE ON SEQUENCE counter TO steward", base="clinic")
    server.run("GRANT ALL ON people TO steward", base="clinic")
    with pytest.raises(ReadError) as caught:
        read_here(url(server, words))
    text = str(caught.value)
    assert REFUSALS[words] in text
    assert caught.value.remedy
    assert "\n" not in text
    assert "canary" not in text
    assert "secret-value" not in text
    assert caught.value.__cause__ is None
    assert server.run("SELECT count(*) FROM people", base="clinic") == [(500,)]


def test_accounts__that_may_not_are_told_so(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    cases = {
        server.url("table=people", user="steward", password="wrong-canary", base="clinic"): "did not let you in",
        server.url("table=people", user="stranger", password="wrong-canary", base="clinic"): "did not let you in",
        server.url("table=people", user="steward", password="", base="clinic"): "for a password",
        server.url("table=people", user="steward", password=CANARY, base="nowhere"): "There is no database 'nowhere'",
        server.url("table=people", user="nobody_else", password="x", base="clinic"): "may not do this",
        "postgresql://u:canary-1234@127.0.0.1:1/x?table=t": "No PostgreSQL server answers at 127.0.0.1:1",
        f"postgresql://u:canary-1234@/x?host={server.folder}/none&table=t": "No PostgreSQL server answers",
    }
    for address, sentence in cases.items():
        with pytest.raises(ReadError) as caught:
            read_here(address)
        assert sentence in str(caught.value)
        assert "canary" not in str(caught.value)


def test_password__is_taken_from_the_environment_unless_it_may_not(
    server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anonymizer.reading import child

    monkeypatch.setenv("PGPASSWORD", CANARY)
    while not child._waiting.empty():  # it has the environment from before
        child._take().kill()
    address = address_from(server.url("table=people", user="steward", password="", base="clinic"))
    try:
        assert len(read_database(address).frame) == 500
        with pytest.raises(ReadError, match="for a password"):
            read_database(address.but(by_environment=False))
    finally:
        monkeypatch.undo()
        while not child._waiting.empty():
            child._take().kill()


def test_functions__that_write_leave_nothing(server: Cluster) -> None:
    with suppress(ReadError):  # newer versions refuse it; older ones take it back, for nothing is ever committed
        read_here(url(server, "query=SELECT lo_create(0)::int AS made"))
    assert server.run("SELECT count(*) FROM pg_largeobject_metadata", base="clinic") == [(0,)]


SLOW = "query=SELECT n, pg_sleep(0.0005)::text FROM generate_series(1, 1000000) n"
BACKENDS = "FROM pg_stat_activity WHERE usename = 'steward' AND query LIKE 'FETCH%'"


def wait_for(server: Cluster, statement: str) -> None:
    """Return once a statement gives a row; fails when it gives none."""
    wait_until(lambda: server.run(statement))


def test_cancel__ends_the_query_on_the_server(server: Cluster) -> None:
    with pytest.raises(CancelledError):
        read_database(url(server, SLOW), cancelled=lambda: bool(server.run(f"SELECT 1 {BACKENDS}")))
    wait_for(server, f"SELECT 1 WHERE NOT EXISTS (SELECT 1 {BACKENDS})")


def test_connection__that_is_dropped_in_the_middle(server: Cluster) -> None:
    with ThreadPoolExecutor(1) as other:
        killed = other.submit(wait_for, server, f"SELECT pg_terminate_backend(pid) {BACKENDS}")
        with pytest.raises(ReadError, match="ended in the middle"):
            read_database(url(server, SLOW))
        killed.result()


def test_limits__hold(server: Cluster) -> None:
    with pytest.raises(ReadError, match="at most 1,000 cells are read"):
        read_here(url(server, "table=people"), allowance=Allowance(cells=1000))
    with pytest.raises(ReadError, match="at most 1,000 cells are read"):
        read_here(url(server, "query=SELECT * FROM people"), allowance=Allowance(cells=1000))


def test_address__shows_no_password(server: Cluster) -> None:
    address = address_from(url(server, "table=people"))
    assert address.password == CANARY
    assert "canary" not in f"{address!r} {address} {address.name} {address.place} {address.what}"


def test_release__of_a_table_in_a_database(server: Cluster) -> None:
    reading = an.read_database(url(server, "table=people"))
    assert list(reading.frame.columns) == ["id", "age", "name"]
    assert an.suggest(reading.frame)["name"].role is an.Role.IDENTIFYING
