"""What every answer tells the browser."""

import re
import urllib.request

from tests.waiting import PATIENCE
from ui.server.headers import HEADERS, policy, script_hashes


def sources(text: str) -> dict[str, list[str]]:
    """A policy as its directives."""
    return {name: allowed for name, *allowed in (part.split() for part in text.split(";"))}


def test_policy__names_no_other_server() -> None:
    allowed = {source for directive in sources(policy("")).values() for source in directive}
    assert allowed == {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:"}


def test_policy__runs_no_script_that_is_written_into_a_page() -> None:
    directives = sources(policy("<p>no script</p>"))
    assert directives["script-src"] == ["'self'", "blob:"]
    assert directives["default-src"] == ["'self'"]
    assert directives["frame-ancestors"] == directives["object-src"] == ["'none'"]


def test_script_hashes__one_for_each_script_in_the_document() -> None:
    """The first is the worked example of the W3C's Content Security Policy Level 2."""
    document = "<script>alert('Hello, world.');</script><script src='x.js'></script><script>\n1\n</script>"
    hashes = script_hashes(document)
    assert len(hashes) == 2
    assert hashes[0] == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"


def test_every_answer__has_the_headers(app_server: str) -> None:
    for path in ("/", "/_stcore/health", "/_stcore/host-config", "/roles", "/favicon.png"):
        with urllib.request.urlopen(f"{app_server}{path}", timeout=PATIENCE) as answer:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
            assert re.search("'sha256-", answer.headers["Content-Security-Policy"]), "the page's own script"
