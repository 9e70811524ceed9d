"""Who may ask the server."""

import http.client
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from tests.conftest import COMMAND, ROOT, serve
from tests.waiting import PATIENCE
from ui.server.origins import host_name, refusal

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
NAMES = ["localhost", "127.0.0.1", "*.example.org"]


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("localhost:8501", "http://localhost:8501", True),
        ("LocalHost:8501", "http://LocalHost:8501", True),
        ("copse.example.org", "https://copse.example.org", True),
        ("localhost:8501", "http://localhost:8502", False),
        ("localhost:8501", "http://localhost", False),
        ("localhost:8501", "http://127.0.0.1:8501", False),
        ("localhost:8501", "https://elsewhere.example", False),
        ("localhost:8501", "ftp://localhost:8501", False),
        ("localhost:8501", "null", False),
        ("localhost:8501", "", False),
        ("elsewhere.example", "http://elsewhere.example", False),
        ("localhost.elsewhere.example", "http://localhost.elsewhere.example", False),
        ("[", "http://[", False),
        ("", "", False),
    ],
)
def test_refusal__only_the_very_origin_under_a_name_allowed(host: str, origin: str, passes: bool) -> None:
    headers = Headers({"host": host, "origin": origin})
    assert (refusal(headers, NAMES, needs_origin=True) == "") is passes


def test_refusal__without_an_origin_only_where_none_is_needed() -> None:
    headers = Headers({"host": "localhost"})
    assert refusal(headers, NAMES, needs_origin=False) == ""
    assert refusal(headers, NAMES, needs_origin=True) != ""


def test_refusal__any_name_where_the_operator_allows_any() -> None:
    assert refusal(Headers({"host": "anything"}), [], needs_origin=False) == ""
    assert refusal(Headers({"host": "anything"}), ["*"], needs_origin=False) == ""


def test_host_name__without_port_and_in_small_letters() -> None:
    assert [host_name(host) for host in ("A.B:80", "[::1]:80", "x@b", "[")] == ["a.b", "::1", "b", ""]


class Counting(BaseHTTPRequestHandler):
    """A proxy that forwards nothing and notes what it was asked for."""

    paths: list[str] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_error(502)

    do_CONNECT = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[str]:
    """The address of a proxy through which the server would reach any other machine."""
    Counting.paths.clear()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listener.server_port}"
    listener.shutdown()
    listener.server_close()


def shake_hands(address: str, origin: str | None) -> int:
    """The status with which the server answers to a WebSocket that a page of this origin opens."""
    there = urlsplit(address)
    assert there.hostname is not None
    line = http.client.HTTPConnection(there.hostname, there.port, timeout=PATIENCE)
    line.request("GET", "/_stcore/stream", headers=HANDSHAKE | ({"Origin": origin} if origin else {}))
    status = line.getresponse().status
    line.close()
    return status


def test_foreign_page__is_refused_and_nobody_is_asked(proxy: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy)
    with serve(COMMAND, ROOT, log, {**os.environ, **proxies, "no_proxy": ""}, real=True) as running:
        assert shake_hands(running.address, running.address) == 101
        for origin in ("http://elsewhere.example", running.address.rpartition(":")[0] + ":1", "null", None):
            assert shake_hands(running.address, origin) == 403
    assert Counting.paths == []
