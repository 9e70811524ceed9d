"""Addresses of tables in databases: ``postgresql://user@host/database?table=schema.name``, and what is said of them.

An address may hold a password. It is shown nowhere: an :class:`Address` is spoken of by its :attr:`~Address.name`,
which is that of the table, and what must show a text that somebody typed shows it :func:`redacted`.
"""

import importlib
import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from anonymizer.errors import ReadError
from anonymizer.version import how_to_install

KINDS = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "duckdb": "DuckDB"}
"""The kinds of databases, as addresses begin, and their names."""

PASSWORD = "password"
"""The value of the error of a server that asks for a password and got none."""

FORM = "postgresql://USER@HOST/DATABASE?table=SCHEMA.NAME"

_START = re.compile(r"(?i)([a-z][a-z0-9+]*):(?=//)")
_NAME = re.compile(rf"({'|'.join(KINDS)}):(?!//)")
_HOST = re.compile(r"[\w.:,%-]*")
_PART = r'"(?:[^"]|"")+"|[^."]+'
_DOTTED = re.compile(rf"(?:({_PART})\.)?({_PART})")


def is_address(text: object) -> bool:
    """Return whether a text is meant as the address of a database, or as the name of a table in one."""
    return isinstance(text, str) and bool(_START.match(text) or _NAME.match(text))


def outline(name: str) -> str:
    """Return the address that the name of a table stands for, with what must be filled in."""
    kind, _, what = name.partition(":")
    where = "USER@HOST/DATABASE" if kind == "postgresql" else "/FILE"
    return f"{kind}://{where}?{'query=SELECT …' if what == 'query' else f'table={what}'}"


def _without_password(word: re.Match[str]) -> str:
    """Return a word in which no password stands between an account and a place."""
    before, at, place = word[0].rpartition("@")
    return re.sub(r"(?i)\b([a-z][a-z0-9+]{0,40}://[^:/@?]*):.*", r"\1:…", before, count=1) + at + place


def redacted(text: str) -> str:
    """Return a text in which no address holds a password any more."""
    text = re.sub(r"\S+", _without_password, text)
    return re.sub(r"(?i)([?&](?:password|passwd|pwd|sslpassword)=)[^&\s]*", r"\1…", text)


@dataclass(frozen=True)
class Address:
    """One table or query of a database.

    ``database``: its name or its file. ``options``: what else the driver is to know. ``table``: (schema, name), the
    schema "" for the usual one; ``query``: one SELECT; one of the two is empty. ``by_environment``: passwords and
    defaults that the driver finds in the environment and in files of the account count. ``new``: a file that is not
    there is made when a release is written.
    """

    kind: str
    database: str
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: int | None = None
    options: dict[str, str] = field(default_factory=dict, repr=False)
    table: tuple[str, str] = ("", "")
    query: str = field(default="", repr=False)
    by_environment: bool = True
    new: bool = False

    @property
    def what(self) -> str:
        """The table, or that it is a query, in words."""
        return ".".join(filter(None, self.table)) or "query"

    @property
    def name(self) -> str:
        """What the table is called: by kind and table, with neither server nor account."""
        return f"{self.kind}:{self.what}"

    @property
    def place(self) -> str:
        """Where the database is, in words, without account."""
        if self.kind != "postgresql":
            return self.database
        return f"{self.host or 'this machine'}{f':{self.port}' if self.port else ''}"

    def but(self, **changes: Any) -> "Address":
        """Return it with something changed."""
        return replace(self, **changes)


def address_from(text: str, *, needs_table: bool = True) -> Address:
    """Return the address that a text is. ``needs_table``: whether it must name a table or a query.

    What follows ``query=`` is all of the query. Raises :class:`ReadError`, which repeats nothing of the text but the
    kind of database, when it is none.
    """
    if _NAME.match(text):
        raise ReadError(
            "This is the name of a table in a database, and does not say in which.",
            remedy=f"Write its whole address, such as {FORM}.",
        )
    start = _START.match(text)
    kind = start[1].lower().partition("+")[0] if start else ""
    kind = "postgresql" if kind == "postgres" else kind
    if kind not in KINDS:
        raise ReadError(
            f"Databases of the kind {kind!r} cannot be read.", value=kind,
            remedy=f"Use {', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}, or use the table as a file.",
        )  # fmt: skip
    before, _, after = text.partition("?")
    words = _words(after)
    table, query = words.pop("table", ""), words.pop("query", "").strip().rstrip(";").strip()
    new = words.pop("new", None) if kind != "postgresql" else None
    if new not in (None, "yes") or (kind != "postgresql" and words and needs_table):
        raise ReadError(
            f"The address of a file of {KINDS[kind]} has no such option: {next(iter(words), 'new')}.",
            remedy=f"Write {kind}:///FILE?table=NAME, for a file that is to be made {kind}:///FILE?new=yes&table=NAME.",
        )
    if needs_table and bool(table) == bool(query):
        raise ReadError(
            "The address must say which table or which query, and one of them only.",
            remedy=f"End it with ?table=NAME or ?query=SELECT…; for instance {FORM}.",
        )
    sqlalchemy = need("sqlalchemy")
    try:
        url = sqlalchemy.make_url(kind + before[before.index(":") :])
        port = url.port
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise _unreadable() from None
    on_server = kind == "postgresql"
    if on_server and (not _HOST.fullmatch(url.host or "") or "@" in (url.database or "") + (url.username or "")):
        raise _unreadable()
    if not on_server and (url.host or url.username or not url.database or url.database == ":memory:"):
        raise ReadError(
            f"The address does not name a file of {KINDS[kind]}.", remedy=f"Write {kind}:///FILE?table=NAME."
        )
    return Address(
        kind, url.database or "", url.username or "", str(url.password or ""), url.host or "", port, words,
        table_from(table) if table else ("", ""), query, new=bool(new),
    )  # fmt: skip


def table_from(text: str) -> tuple[str, str]:
    """Return schema ("" for the usual one) and name of a table: ``name``, ``schema.name``, each with what would be
    taken for something else in double quotes. Raises :class:`ReadError` where the dots can be understood in two ways.
    """
    if match := _DOTTED.fullmatch(text):
        return _plain_part(match[1] or ""), _plain_part(match[2])
    if "." not in text and text.strip():
        return "", text
    raise ReadError(
        "The name of the table has dots or quotation marks that can be understood in more than one way.",
        remedy='Put schema and name in double quotes, a quotation mark in them twice: "a.b"."c ""d""".',
    )


def need(module: str) -> Any:
    """Return a module that is installed for databases only. Raises :class:`ReadError` where it is not."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ReadError(
            f"What reads this kind of database ({module.partition('.')[0]}) is not installed.",
            remedy=how_to_install("databases"),
        ) from None


def _plain_part(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _words(text: str) -> dict[str, str]:
    """Return what stands behind the question mark; a plus is a plus, and a query may hold what separates others."""
    words = {}
    if query := re.search(r"(?s)(?:^|&)query=(.*)", text):
        words["query"], text = unquote(query[1]), text[: query.start()]
    for part in filter(None, text.split("&")):
        name, _, value = part.partition("=")
        words[unquote(name)] = unquote(value)
    return words


def _unreadable() -> ReadError:
    return ReadError(
        "The address of the database cannot be read.",
        remedy=f"Write {FORM}; in a name or a password @ is %40, / is %2F, ? is %3F and : is %3A.",
    )
