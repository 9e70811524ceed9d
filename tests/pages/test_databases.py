"""A table of a listed database on the Data page: read, refused in a sentence, and no password kept anywhere."""

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import ParameterError
from anonymizer.reading.options import ReadOptions
from anonymizer.whatif.project import to_json
from tests.databases.cluster import Cluster
from tests.pages import test_data
from tests.pages.test_data import SHELL, open_page, session_of
from tests.waiting import PATIENCE
from ui.controls import JOINER, plain
from ui.decisions.project_file import open_project, project_of
from ui.server.listed import READ, databases, require_listed
from ui.workspace import Workspace

STATES = ("_new_session_state", "_new_widget_state", "_old_state")
"""Where the framework holds what widgets and the session hold."""
CANARY = "Zqwx-secret-canary"
PEOPLE = [(20 + n % 40, "fm"[n % 2], "-" if n == 3 else f"A0{n % 5}") for n in range(60)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of SQLite with sixty people."""
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, icd TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
        connection.execute("CREATE TABLE nobody (age INTEGER)")
    return path


@pytest.fixture(scope="module")
def server(postgresql: Cluster) -> Iterator[Cluster]:
    """A server with the same people, and an account that may read them."""
    postgresql.run("CREATE DATABASE clinic", f"CREATE ROLE reader LOGIN PASSWORD '{CANARY}'")
    rows = ", ".join(f"({age}, '{sex}', '{icd}')" for age, sex, icd in PEOPLE)
    postgresql.run(
        "CREATE TABLE people (age int, sex text, icd text)", f"INSERT INTO people VALUES {rows}",
        "GRANT SELECT ON people TO reader", base="clinic",
    )  # fmt: skip
    yield postgresql
    postgresql.run("DROP DATABASE clinic WITH (FORCE)", "DROP ROLE reader")


def list_server(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ, f"postgresql:///clinic?host={server.folder}&port={server.port}")


def field(app: AppTest, kind: str, label: str) -> Any:
    """The field with this label."""
    return next(one for one in getattr(app, kind) if one.label == label)


def texts(app: AppTest) -> str:
    """Everything that is said on the page, as people see it."""
    return test_data.texts(app).replace("\\", "").replace(JOINER, "")


def ask(app: AppTest, table: str = "", *, query: str = "", user: str = "", password: str = "") -> AppTest:
    """Fill in the form, and read."""
    if query:
        next(one for one in app.button_group if one.key.startswith("db way")).set_value("query").run()
        field(app, "text_area", "Query").set_value(query)
    else:
        field(app, "text_input", "Name of the table").set_value(table)
    if user or password:
        field(app, "text_input", "Account").set_value(user)
        field(app, "text_input", "Password").set_value(password)
    next(button for button in app.button if button.key and button.key.startswith("db read")).click()
    return app.run()


def test_form__is_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(READ, raising=False)
    app = open_page()
    assert not any("database" in one.label for one in app.expander)
    assert not any(one.label == "Database" for one in app.selectbox)


def test_table__of_a_file_is_read_and_can_be_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ, f"sqlite:///{file}")
    app = open_page()
    assert not any(one.label == "Password" for one in app.text_input)
    ask(app)
    assert "It is not said what to read." in texts(app)
    ask(app, "people")
    assert not app.exception
    ws = session_of(app)
    assert ws.failure is None
    assert list(ws.table.columns) == ["age", "sex", "icd"]
    assert list(ws.table["age"]) == [age for age, *_ in PEOPLE]
    assert app.title[0].value == plain("sqlite:people")
    assert ws.table["icd"].isna().sum() == 1
    marks = next(box for box in app.multiselect if "missing" in box.label)
    marks.set_value([mark for mark in marks.value if mark != "-"])
    next(button for button in app.button if button.label == "Read again").click()
    app.run()
    assert not app.exception
    assert session_of(app).table["icd"].isna().sum() == 0


def test_query__is_read_and_one_that_writes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS n, range % 3 AS city FROM range(30)")
    monkeypatch.setenv(READ, f"duckdb:///{path}")
    app = open_page()
    ask(app, query="DROP TABLE people")
    assert not app.exception
    assert len(app.error) == 1
    assert "not one SELECT" in app.error[0].value
    assert field(app, "text_area", "Query").value == "DROP TABLE people", "what was typed is still there"
    ask(app, query="SELECT * FROM people WHERE city = 1;")
    assert not app.exception
    assert session_of(app).table.shape == (10, 2)


@pytest.mark.parametrize(
    ("words", "table"), [("has no rows", "nobody"), ("There is no table 'absent'", "absent"), ("dots or", 'a."b')]
)
def test_what_cannot_be_read__is_one_sentence(
    file: Path, words: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READ, f"sqlite:///{file}")
    app = ask(open_page(), table)
    assert not app.exception
    assert len([*app.error, *app.warning]) == 1
    assert words in texts(app)
    assert session_of(app).table is None


def test_password__is_kept_nowhere(
    server: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    list_server(server, monkeypatch)
    app = ask(open_page(), "people", user="reader", password=CANARY + "-wrong")
    assert not app.exception
    assert "did not let you in as" in app.error[0].value.replace("\\", "")
    assert field(app, "text_input", "Account").value == "reader"
    assert field(app, "text_input", "Password").value == ""
    ask(app, "people", user="reader", password=CANARY)
    assert not app.exception
    ws = session_of(app)
    assert len(ws.table) == 60
    app.button(key="next roles").click().run()
    state = repr({name: getattr(app._session_state._state, name) for name in STATES})
    assert "reader" in state
    assert CANARY not in state + caplog.text + texts(app) + str(app.query_params)
    assert ws.source.password == ""
    assert CANARY not in to_json(project_of(ws), ws.suggest())
    assert CANARY not in repr(deep(ws))


def deep(thing: Any, ids: set[int] | None = None) -> Any:
    """All texts that an object of ours leads to."""
    ids = set() if ids is None else ids
    if isinstance(thing, str):
        return [thing]
    if id(thing) in ids or isinstance(thing, bytes | int | float):
        return []
    ids.add(id(thing))
    if isinstance(thing, dict):
        parts = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = list(thing)
    elif type(thing).__module__.startswith(("anonymizer.", "ui.")):
        parts = list(getattr(thing, "__dict__", {}).values())
    else:
        return []
    return [text for part in parts for text in deep(part, ids)]


def test_reading_again__takes_the_password_again(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    list_server(server, monkeypatch)
    app = ask(open_page(), "public.people", user="reader", password=CANARY)
    for password, failure, missing in (("", "asks as 'reader' for a password", 1), (CANARY, "", 0)):
        marks = next(box for box in app.multiselect if "missing" in box.label)
        marks.set_value([mark for mark in marks.value if mark != "-"])
        field(app, "text_input", "Password of the database").set_value(password)
        next(button for button in app.button if button.label == "Read again").click()
        app.run()
        assert not app.exception
        ws = session_of(app)
        assert failure in (str(ws.failure) if ws.failure else "")
        assert ws.table["icd"].isna().sum() == missing


def test_project__that_reads_otherwise_asks_for_the_table_again(
    server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_server(server, monkeypatch)
    address = next(iter(databases(READ).values())).but(user="reader", password=CANARY, table=("", "people"))
    then, now = Workspace(), Workspace()
    assert then.bring(address, address.name, ReadOptions(keep=("-",)))
    project = to_json(project_of(then), then.suggest())
    assert now.bring(address, address.name)
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = now
    open_project(now, project)
    app.run()
    assert "takes its password" in texts(app)
    ask(app, "people", user="reader", password=CANARY)
    ws = session_of(app)
    assert ws.failure is None
    assert ws.table["icd"].isna().sum() == 0
    assert ws.decisions.awaited is None


def test_what_this_servers_account_knows__does_not_count(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    list_server(server, monkeypatch)
    monkeypatch.setenv("PGPASSWORD", CANARY)
    app = ask(open_page(), "people", user="reader")
    assert "for a password" in texts(app)
    assert "Type it beside the account" in texts(app)
    assert session_of(app).table is None
    ask(app, "people", user="", password=CANARY)
    field(app, "text_input", "Account").set_value("")
    next(button for button in app.button if button.key and button.key.startswith("db read")).click()
    app.run()
    assert "not said who asks" in texts(app)


def test_lists__are_checked_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "postgresql://db.example.org/clinic?sslmode=verify-full; sqlite:////a/b.db\nduckdb:////c/b.db;sqlite:////d/b.db"
    )
    listed = databases(READ, {READ: text})
    assert list(listed) == [
        "clinic at db.example.org (PostgreSQL)", "/a/b.db (SQLite)", "b.db (DuckDB)", "/d/b.db (SQLite)",
    ]  # fmt: skip
    assert not any(address.by_environment for address in listed.values())
    for wrong, words in {
        "postgresql://ana:secret@h/d": "holds a password",
        "postgresql://h/d?password=secret": "holds a password",
        "postgresql://h/d?table=people": "names a table",
        "postgresql://h": "which database",
        "sqlite:///b.db": "full path",
        "mysql://h/d": "kind 'mysql'",
        "people.csv": "kind ''",
    }.items():
        with pytest.raises(ParameterError, match=words) as caught:
            databases(READ, {READ: wrong})
        assert "secret" not in str(caught.value)
    monkeypatch.setenv(READ, "nonsense")
    with pytest.raises(ParameterError, match=READ):
        require_listed()
