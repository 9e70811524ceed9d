"""No page asks another server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.browser.steps import open_page
from tests.conftest import patient

pytestmark = pytest.mark.browser


class Listener(BaseHTTPRequestHandler):
    """Another server on this machine, which notes what it is asked for."""

    paths: list[str] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening() -> Iterator[str]:
    """The address of a server that nothing may ask, for as long as the block lasts."""
    Listener.paths.clear()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listener.server_port}"
    listener.shutdown()
    listener.server_close()


@pytest.fixture
def stranger() -> Iterator[str]:
    """The address of a server that no page may ask."""
    with listening() as address:
        yield address


def test_policy__keeps_a_page_from_asking_another_server(app_server: str, browser: Any, stranger: str) -> None:
    """A picture, a script and a question, as a hole in a page would put them there."""
    page = patient(browser.new_page())
    open_page(page, app_server)
    refused = page.evaluate(
        """async address => {
            const refused = [];
            document.addEventListener('securitypolicyviolation', event => refused.push(event.effectiveDirective));
            document.body.append(Object.assign(new Image(), {src: address + '/picture'}));
            document.body.append(Object.assign(document.createElement('script'), {src: address + '/script.js'}));
            await fetch(address + '/question').catch(() => null);
            await new Promise(done => setTimeout(done, 500));
            return refused.sort();
        }""",
        stranger,
    )
    page.close()
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert Listener.paths == []
