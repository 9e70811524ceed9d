"""Connections that say nothing, or half of what they want, by the thousand: the server answers all the same."""

import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import requests

from tests.conftest import COMMAND, ROOT, Served, serve
from tests.waiting import PATIENCE, wait_until
from ui import warm
from ui.server.heads import HEAD_SECONDS, Once

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of open files are of POSIX systems")

SOCKETS = 2_000


@pytest.fixture(scope="module")
def many() -> Iterator[None]:
    """Let this process have so many sockets open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < SOCKETS + 500:
        pytest.skip(f"this account may have {hard} files open, fewer than the test takes")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, SOCKETS + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A dashboard of its own that may have few files open unless it asks for more, and its log."""
    log = tmp_path_factory.mktemp("heads") / "server.log"
    limited = ["sh", "-c", 'ulimit -S -n 512; exec "$@"', "sh", *COMMAND]
    with serve(limited, ROOT, log) as server:
        yield server, log


def opened(address: str, count: int, text: bytes) -> list[socket.socket]:
    """So many connections that each sent this text; those that the server ended at once, too."""
    port = int(address.rpartition(":")[2])
    sockets = []
    for _ in range(count):
        sockets.append(line := socket.create_connection(("127.0.0.1", port), PATIENCE))
        with suppress(OSError):
            line.sendall(text)
    return sockets


def is_closed(line: socket.socket) -> bool:
    """Whether the server has ended a connection."""
    line.settimeout(0.01)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_half_open_connections__leave_the_server_answering(many: None, alone: tuple[Served, Path]) -> None:
    server, log = alone
    before = log.stat().st_size
    lines = opened(server.address, SOCKETS // 2, b"") + opened(
        server.address, SOCKETS // 2, b"GET / HTTP/1.1\r\nHost: "
    )
    try:
        start = time.monotonic()
        assert requests.get(f"{server.address}/_stcore/health", timeout=PATIENCE).status_code == 200
        assert time.monotonic() - start < HEAD_SECONDS, "it does not wait until they end"
        wait_until(lambda: all(map(is_closed, lines)), pause=0.5)
    finally:
        for line in lines:
            line.close()
    assert log.stat().st_size - before < 100_000
    assert requests.get(f"{server.address}/_stcore/health", timeout=PATIENCE).status_code == 200


def test_a_second_head_that_does_not_come__ends_the_connection(alone: tuple[Served, Path]) -> None:
    server, _ = alone
    with closing(opened(server.address, 1, b"GET /_stcore/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[0]) as line:
        line.settimeout(PATIENCE)
        assert line.recv(1000).startswith(b"HTTP/1.1 200")
        line.sendall(b"GET /_stcore/health HTTP/1.1\r\n")
        start = time.monotonic()
        while line.recv(1000):
            pass
        assert time.monotonic() - start > HEAD_SECONDS / 2


def test_a_fault_that_repeats__is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    logger = logging.Logger("asyncio-like")
    logger.addFilter(Once())
    logger.addHandler(caplog.handler)
    for _ in range(100):
        logger.error("socket.accept() out of system resource", exc_info=OSError(24, "Too many open files"))
    logger.error("something else")
    assert [record.getMessage() for record in caplog.records] == [
        "socket.accept() out of system resource",
        "something else",
    ]
    assert "Traceback" not in caplog.text


def test_a_warm_up_that_failed__is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def load() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise OSError(24, "Too many open files")

    monkeypatch.setattr(warm, "load", load)
    monkeypatch.setattr(warm, "WARM_UP", warm.WarmUp())
    monkeypatch.setattr(warm, "AGAIN_AFTER", 0.0)
    worker = threading.Thread(target=warm.begin, daemon=True)
    worker.start()
    worker.join(PATIENCE)
    assert (len(tries), warm.WARM_UP.health()) == (3, (200, "ok"))
