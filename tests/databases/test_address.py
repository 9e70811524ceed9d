"""What an address says, and that nothing of a password is ever repeated."""

import builtins
import io
from typing import Any

import pytest

from anonymizer.cli.inputs import ask_password
from anonymizer.databases.address import (
    PASSWORD,
    Address,
    address_from,
    is_address,
    outline,
    redacted,
    table_from,
)
from anonymizer.errors import ReadError
from anonymizer.provenance.again import python_lines
from anonymizer.schema import Schema
from anonymizer.version import how_to_install


def test_address__is_taken_apart() -> None:
    address = address_from("postgresql://ana:p%40ss@db.example.org:6000/clinic?sslmode=require&table=public.people")
    assert (address.kind, address.user, address.password) == ("postgresql", "ana", "p@ss")
    assert (address.host, address.port, address.database) == ("db.example.org", 6000, "clinic")
    assert (address.table, address.options) == (("public", "people"), {"sslmode": "require"})
    assert (address.name, address.place) == ("postgresql:public.people", "db.example.org:6000")


def test_query__is_all_that_follows_and_a_plus_is_a_plus() -> None:
    address = address_from("sqlite:///a.db?query=SELECT a+1 AS b FROM t WHERE c='x&table=y' ; ")
    assert address.query == "SELECT a+1 AS b FROM t WHERE c='x&table=y'"
    assert address.table == ("", "")


@pytest.mark.parametrize(
    ("text", "schema", "name"),
    [
        ("people", "", "people"),
        ("public.people", "public", "people"),
        ('"a.b"."c ""d"""', "a.b", 'c "d"'),
        ('a"; drop table x; --', "", 'a"; drop table x; --'),
        ('"x.y"', "", "x.y"),
    ],
)
def test_table_names__are_schema_and_name(text: str, schema: str, name: str) -> None:
    assert table_from(text) == (schema, name)


CANARIES = [
    "postgresql://u:canary-71@ss@host/db?table=t",
    "postgresql://u:canary-71/x@ss:5432/x@host?table=t",
    "postgresql://u:x@ho st-canary-71/db?table=t",
    "postgresql://u:x@h:canary-71/db?table=t",
    "postgresql://u:canary-71@host/db",
    "postgresql://u:canary-71@host/db?table=a.b.c",
    "mysql://u:canary-71@host/db?table=t",
    "sqlite://u:canary-71@host/db?table=t",
    "postgresql:canary-71",
    "duckdb://?table=canary-71",
]


@pytest.mark.parametrize("text", CANARIES)
def test_refusals__repeat_nothing(text: str) -> None:
    assert is_address(text)
    with pytest.raises(ReadError) as caught:
        address_from(text)
    assert "canary" not in f"{caught.value} {caught.value.value} {caught.value.__cause__}"
    assert caught.value.remedy


def test_files__are_no_addresses() -> None:
    assert not any(map(is_address, ("people.csv", "sample:hospital", "C:\\people.csv", "folder/a:b.csv", None)))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("see postgresql://ana:canary-71@h/d?table=t now", "see postgresql://ana:…@h/d?table=t now"),
        ("postgresql://ana:ca@nary-71@h/d", "postgresql://ana:…@h/d"),
        ("postgresql://h/d?user=a&password=canary-71&table=t", "postgresql://h/d?user=a&password=…&table=t"),
        ("nothing: here@all", "nothing: here@all"),
    ],
)
def test_redacted__has_no_password(text: str, safe: str) -> None:
    assert redacted(text) == safe


def test_drivers__that_are_absent_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *more: Any) -> Any:
        if name.startswith("sqlalchemy"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr("importlib.import_module", lambda name: absent(name))
    with pytest.raises(ReadError, match=r"\(sqlalchemy\) is not installed") as caught:
        address_from("sqlite:///a.db?table=t")
    assert how_to_install("databases") in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("postgresql:public.people", "an.read_database('postgresql://USER@HOST/DATABASE?table=public.people').frame"),
        ("sqlite:query", "an.read_database('sqlite:///FILE?query=SELECT …').frame"),
    ],
)
def test_script__that_repeats_says_what_must_be_filled_in(name: str, line: str) -> None:
    script = python_lines(name, Schema(()), {}, {}, {})
    assert f"table = {line}" in script
    assert outline(name) in script


class Terminal(io.StringIO):
    """Standard input or error, where somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("somebody", [True, False])
def test_password__is_asked_for_once_where_somebody_sits(
    somebody: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[str] = []
    prompts: list[str] = []

    def read(address: Address) -> str:
        tried.append(address.password)
        if not address.password:
            raise ReadError("The database asks for a password.", value=PASSWORD)
        return "a table"

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return "secret"

    if somebody:
        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("sys.stderr", Terminal())
    else:
        monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("getpass.getpass", typed)
    address = address_from("postgresql://ana@db.example.org/clinic?table=people")
    if not somebody:
        with pytest.raises(ReadError, match="asks for a password"):
            ask_password(address, read)
        assert (tried, prompts) == ([""], [])
        return
    assert ask_password(address, read) == "a table"
    assert tried == ["", "secret"]
    assert prompts == ["Password for db.example.org: "]
    assert "secret" not in "".join(capsys.readouterr())
