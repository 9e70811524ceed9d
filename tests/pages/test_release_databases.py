"""A release in a new table of a listed database, on the Release page: written, refused in a sentence, stopped."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.databases import write
from anonymizer.databases.write import write_release
from anonymizer.errors import ParameterError
from tests.databases.cluster import Cluster
from tests.pages.test_release import open_page, plain_text, session
from tests.waiting import PATIENCE
from ui.release.databases import JOB
from ui.server.listed import READ, databases, databases_to_write

CANARY = "Zqwx-writing-canary"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of SQLite that the operator lists for new tables, with a table of its own."""
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (age INTEGER)")
    monkeypatch.setenv(READ, f"sqlite:///{path}?write=new")
    return path


def ask(app: AppTest, table: str, user: str = "", password: str = "") -> AppTest:
    """Fill in the form, write, and wait."""
    field(app, "Name of the new table").set_value(table)
    if user or password:
        field(app, "Account").set_value(user)
        field(app, "Password").set_value(password)
    app.button(key="into write").click().run()
    job = app.session_state["workspace"].jobs.get(JOB)
    if job is not None:
        assert job.done.wait(PATIENCE)
        app.run()
    assert not app.exception
    return app


def field(app: AppTest, label: str) -> Any:
    return next(one for one in app.text_input if one.label == label)


def tables_of(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        return sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master"))


def test_form__is_there_where_the_operator_says_so_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ, f"sqlite:///{tmp_path}/a.db; sqlite:///{tmp_path}/b.db?write=new")
    assert list(databases(READ)) == ["a.db (SQLite)", "b.db (SQLite)"]
    assert list(databases_to_write(READ)) == ["b.db (SQLite)"]
    assert databases_to_write(READ)["b.db (SQLite)"].options == {}
    with pytest.raises(ParameterError, match="says write=, and not new"):
        databases_to_write(READ, {READ: f"sqlite:///{tmp_path}/a.db?write=yes"})
    monkeypatch.setenv(READ, f"sqlite:///{tmp_path}/a.db")
    assert not any(one.label == "Name of the new table" for one in open_page(session()).text_input)


def test_release__becomes_a_new_table_that_reads_back_the_same(file: Path) -> None:
    ws = session()
    app = ask(open_page(ws), "released")
    assert "The table released in the database at" in plain_text(app)
    assert f"is new and has {ws.flow.release.n_records} rows" in plain_text(app)
    assert tables_of(file) == ["people", "released"]
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT * FROM released").fetchall()
    frame = ws.flow.release.frame().astype(str)
    assert sorted(tuple(map(str, row)) for row in rows) == sorted(frame.itertuples(index=False, name=None))
    report = next(one for one in app.get("download_button") if one.proto.label == "Report of this table (JSON)")
    assert not report.proto.disabled
    app.button(key="into another").click().run()
    ask(app, "people")
    assert "There is a table 'people' in the database" in plain_text(app)
    assert "nothing was changed" in plain_text(app)
    ask(app, "")
    assert "not said what the new table is called" in plain_text(app)
    ask(app, "again")
    assert tables_of(file) == ["again", "people", "released"]


def test_release__that_may_not_leave_is_not_offered(file: Path) -> None:
    app = open_page(session(k=4, generalizer="tiered"))
    assert "Nothing can be written as long as the release may not leave." in plain_text(app)
    assert not any(one.label == "Name of the new table" for one in app.text_input)


def test_writing__is_stopped_and_leaves_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    check = write.check_back

    def slow(*arguments: Any) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        check(*arguments)

    monkeypatch.setattr(write, "check_back", slow)
    ws = session()
    app = open_page(ws)
    field(app, "Name of the new table").set_value("released")
    app.button(key="into write").click().run()
    assert begun.wait(PATIENCE)
    app.run()
    app.button(key=f"cancel {JOB}").click().run()
    go_on.set()
    assert ws.jobs[JOB].done.wait(PATIENCE)
    app.run()
    assert "Stopped. The database is as it was." in plain_text(app)
    assert tables_of(file) == ["people"]


@pytest.fixture
def server(postgresql: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A server with an account that may make tables, listed for new tables."""
    for name in ("PGPASSFILE", "PGSERVICEFILE"):  # put back afterwards: opening a listed database takes them away
        monkeypatch.setenv(name, "/dev/null")
    postgresql.run("CREATE DATABASE leaving", f"CREATE ROLE writer LOGIN PASSWORD '{CANARY}'")
    postgresql.run("CREATE SCHEMA open AUTHORIZATION writer", "CREATE TABLE open.people (age int)", base="leaving")
    address = f"postgresql:///leaving?host={postgresql.folder}&port={postgresql.port}&write=new"
    monkeypatch.setenv(READ, address)
    yield postgresql
    postgresql.run("DROP DATABASE leaving WITH (FORCE)", "DROP ROLE writer")


def test_postgresql__takes_the_password_for_one_writing(server: Cluster) -> None:
    ws = session()
    app = ask(open_page(ws), "open.released", "writer", CANARY + "-wrong")
    assert "did not let you in as 'writer'" in plain_text(app)
    assert field(app, "Password").value == ""
    ask(app, "open.people", "writer", CANARY)
    assert "There is a table 'open.people'" in plain_text(app)
    ask(app, "open.released", "writer", CANARY)
    assert "The table open.released in the database at" in plain_text(app)
    assert server.run("SELECT count(*) FROM open.released", base="leaving") == [(ws.flow.release.n_records,)]
    assert server.run("SELECT count(*) FROM open.people", base="leaving") == [(0,)]
    assert CANARY not in repr(ws.jobs[JOB]) + repr(ws.jobs[JOB].key[1].password) + repr(app.session_state)


def test_writing__says_how_far_it_is(tmp_path: Path) -> None:
    ws, path = session(), tmp_path / "a.db"
    sqlite3.connect(path).close()
    address = databases(READ, {READ: f"sqlite:///{path}"})["a.db (SQLite)"].but(table=("", "released"))
    path.touch()
    words: list[tuple[float, str]] = []
    flow = ws.flow
    how = flow.schema, flow.verification, flow.settings.limits.required
    write_release(flow.release, address, *how, progress=lambda share, what: words.append((share, what)))
    assert [share for share, _ in words] == sorted(share for share, _ in words)
    assert words[-1][1] == "Ending the transaction"
