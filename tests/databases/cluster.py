"""A PostgreSQL server for tests: its own data in a temporary folder, a Unix socket only, nothing kept."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.waiting import PATIENCE

ACCOUNT = "postgres"
PORT = 5432
SUPER_PASSWORD = "of-the-whole-cluster"


@dataclass(frozen=True)
class Cluster:
    """A server that runs: the folder of its socket, and its port, which is a part of the socket's name."""

    folder: str
    port: int

    def url(
        self, after: str = "", *, user: str = ACCOUNT, password: str = SUPER_PASSWORD, base: str = "postgres"
    ) -> str:
        """The address of a database, and what follows the question mark beside the socket."""
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{user}{secret}@/{base}?host={quote(self.folder)}&port={self.port}&{after}"

    def run(self, *statements: Any, base: str = "postgres") -> list[Any]:
        """Run statements as the owner, and return the rows of the last."""
        import psycopg

        rows: list[Any] = []
        with psycopg.connect(
            host=self.folder, port=self.port, user=ACCOUNT, password=SUPER_PASSWORD, dbname=base, autocommit=True
        ) as connection:
            for statement in statements:
                answer = connection.execute(statement)
                rows = answer.fetchall() if answer.description else []
        return rows


def find_programs() -> Path | None:
    """The folder of initdb and postgres, where Debian has them or on the PATH."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").is_file()), None)


@contextmanager
def cluster(programs: Path) -> Iterator[Cluster]:
    """Make a server, run it as long as the block lasts, and end it by its process id. PostgreSQL refuses to run as
    root, so it runs as another account there."""
    account = {"user": "postgres" if _is_account("postgres") else "nobody"} if _is_root() else {}
    folder = Path(tempfile.mkdtemp(prefix="copse-pg-"))
    data = folder / "data"
    secret = folder / "password"
    secret.write_text(SUPER_PASSWORD)
    if account:
        shutil.chown(folder, **account)
        shutil.chown(secret, **account)
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", ACCOUNT, "--pwfile", secret, "--auth=scram-sha-256", "--no-sync",
             "--encoding=UTF8", "--locale=C", "--no-instructions"],
            cwd=folder, capture_output=True, check=True, **account,
        )  # fmt: skip
        log = (folder / "log").open("wb")
        options = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "shared_buffers=16MB",
                   "TimeZone=Europe/Berlin"]  # fmt: skip
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *(word for option in options for word in ("-c", option))],
            cwd=folder, stdout=log, stderr=log, **account,
        )  # fmt: skip
        try:
            wait_until_ready(server, Cluster(str(folder), PORT))
            yield Cluster(str(folder), PORT)
        finally:
            server.send_signal(2)  # at once, without waiting for clients
            server.wait(PATIENCE)
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(server: "subprocess.Popen[bytes]", running: Cluster) -> None:
    """Return once the server answers; raises what it raises when it does not."""
    import psycopg

    until = time.monotonic() + PATIENCE
    while True:
        try:
            running.run("SELECT 1")
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.1)


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _is_account(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
