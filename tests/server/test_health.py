"""Health is that a tree can be grown."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.conftest import COMMAND, ROOT, serve
from tests.server.visitor import Visitor
from tests.waiting import PATIENCE, wait_until
from ui import warm
from ui.server import health
from ui.server.browsers import COOKIE
from ui.warm import WarmUp

MADE_UP = "numba.py"


async def framework(scope: Any, receive: Any, send: Any) -> None:
    """The framework's own answer."""
    await send(
        {"type": "http.response.start", "status": scope.get("status", 200), "headers": [(b"set-cookie", b"a=b")]}
    )
    await send({"type": "http.response.body", "body": b"ok of the framework"})


def answer_of(
    path: str = health.PATH, method: str = "GET", status: int = 200, cookie: str = ""
) -> tuple[int, str, dict[bytes, bytes]]:
    """Status, text and headers of the answer about health."""
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(dict(message))

    headers = [(b"cookie", cookie.encode())] if cookie else []
    scope = {"type": "http", "method": method, "path": path, "headers": headers, "status": status}
    asyncio.run(health.Health(framework)(scope, None, send))  # type: ignore[arg-type]
    return messages[0]["status"], messages[1]["body"].decode(), dict(messages[0]["headers"])


@pytest.fixture
def warm_up(monkeypatch: pytest.MonkeyPatch) -> WarmUp:
    """A warm-up that has begun."""
    beginning = WarmUp()
    monkeypatch.setattr(warm, "WARM_UP", beginning)
    monkeypatch.setattr(health, "WARM_UP", beginning)
    return beginning


def test_health__says_that_the_warm_up_goes_on(warm_up: WarmUp) -> None:
    status, words, headers = answer_of()
    assert status == 200
    assert "Warming up" in words
    assert headers[b"set-cookie"] == b"a=b", "the framework's cookie comes with it"
    warm_up.done = True
    assert answer_of()[:2] == (200, "ok")


def test_health__is_503_with_the_reason_when_the_warm_up_failed(
    warm_up: WarmUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("no file that can be executed")

    monkeypatch.setattr("ui.warm.load_loops", fail)
    monkeypatch.setattr(warm, "sweep", lambda: None)
    assert not warm.warmed_up()
    status, words, _ = answer_of()
    assert status == 503
    assert "No tree can be grown" in words
    assert "OSError: no file that can be executed" in words


def test_health__a_browser_is_let_in_to_read_the_reason(warm_up: WarmUp) -> None:
    warm_up.failure = "No tree can be grown."
    assert answer_of(cookie=f"{COOKIE}={'x' * 43}")[:2] == (200, "No tree can be grown.")
    assert answer_of(cookie=f"{COOKIE}=short")[0] == 503


def test_health__other_answers_are_the_framework_s(warm_up: WarmUp) -> None:
    warm_up.failure = "No tree can be grown."
    assert answer_of("/elsewhere")[:2] == (200, "ok of the framework")
    assert answer_of(method="OPTIONS")[:2] == (200, "ok of the framework")
    assert answer_of(status=503)[1] == "ok of the framework"


def unhealthy(address: str) -> list[requests.Response]:
    """What a server says that is not healthy; nothing while it is warming up."""
    answer = requests.get(address + health.PATH, timeout=PATIENCE)
    assert answer.status_code != 200 or "Warming up" in answer.text
    return [] if answer.status_code == 200 else [answer]


def test_server__whose_loops_cannot_be_loaded_is_not_healthy(tmp_path: Path) -> None:
    """A real server, with a compiler that does not load."""
    (tmp_path / MADE_UP).write_text("raise ImportError('the compiler is broken')\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with serve(COMMAND, ROOT, tmp_path / "log", environment, real=True) as dashboard:
        (answer,) = wait_until(lambda: unhealthy(dashboard.address))
        with Visitor(dashboard.address) as visitor:
            visitor.open()
            assert visitor.shows("the compiler is broken"), "its page is not dead"
    assert answer.status_code == 503
    assert "the compiler is broken" in answer.text
