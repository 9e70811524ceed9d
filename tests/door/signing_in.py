"""A dashboard that asks people to sign in, and somebody who does, without a browser."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.conftest import COMMAND, ROOT, Served, free_port, serve
from tests.door.provider import CLIENT, SECRET, Provider
from tests.waiting import PATIENCE

LOGIN = """
address = "ADDRESS"
issuer = "ISSUER"
client_id = "CLIENT"
people = ["ana@example.org", "ben@example.org", "olga@example.org", "subject:1004"]
operators = ["@example.org"]
"""


class Guarded(NamedTuple):
    """A dashboard with a login: its ``address``, its provider, its process, and the file with what it says."""

    address: str
    provider: Provider
    process: int
    log: Path


def login_file(folder: Path, address: str, issuer: str, text: str = LOGIN) -> Path:
    """The operator's file."""
    file = folder / "login.toml"
    values = {"ADDRESS": address, "ISSUER": issuer, "CLIENT": CLIENT}
    file.write_text(re.sub("|".join(values), lambda match: values[match[0]], text), "utf-8")
    file.chmod(0o600)
    return file


@contextmanager
def serve_guarded(
    folder: Path, provider: Provider, address: str = "", more: dict[str, str] | None = None
) -> Iterator[Guarded]:
    """Serve a dashboard with a login; ``address``: how browsers reach it, when that is not its own."""
    port = free_port()
    address = address or f"http://127.0.0.1:{port}"
    log = folder / "server.log"
    command = [*COMMAND, "--login", str(login_file(folder, address, provider.issuer))]
    environment = {**os.environ, "COPSE_CLIENT_SECRET": SECRET, **(more or {})}
    # Real: a copy does not overwrite the memory that it frees.
    with serve(command, ROOT, log, environment, port, real=True) as running:
        yield Guarded(address, provider, running.process, log)


def sign_in(
    dashboard: Guarded | Served, person: str, client: httpx.Client | None = None
) -> tuple[httpx.Client, httpx.Response]:
    """Somebody's client after signing in, and the last answer it got."""
    client = client or httpx.Client(follow_redirects=True, headers={"Accept": "text/html"}, timeout=PATIENCE)
    question = client.get(f"{dashboard.address}/sign-in")
    match = re.search(rf'href="([^"]*person={person})"', question.text)
    assert match, question.text
    return client, client.get(str(question.url.join(match[1])))
