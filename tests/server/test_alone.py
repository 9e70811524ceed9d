"""A whole walk through the dashboard, with hostile names and in a network without a way out: names and values are text
everywhere, and nothing but this server is asked, or tried."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT, is_foreign
from tests.server.alone import canary

APART = ("unshare", "--net", "--map-root-user")
"""Runs a program in a network of its own."""
PAGES = re.compile(r"(http://127\.0\.0\.1|file://)")
"""How the addresses of our pages and files begin; what the browser asks on its own account has others."""
ATTEMPTS = """
import contextlib, json, socket, sys
from pathlib import Path
from typing import Any
from tests.server.alone import bring_up_loopback, packets_without_way
bring_up_loopback()
with contextlib.suppress(OSError):
    socket.create_connection(("192.0.2.1", 80), 1)
with contextlib.suppress(OSError):
    socket.getaddrinfo("copse.example", 80)
print(json.dumps(packets_without_way()))
"""


def can_be_apart() -> bool:
    """Whether a network without a way out can be made here."""
    if shutil.which(APART[0]) is None:
        return False
    return not subprocess.run([*APART, "true"], capture_output=True, check=False).returncode


@pytest.fixture
def apart() -> None:
    """Skip where no network of its own can be made."""
    if not can_be_apart():
        pytest.skip("no network without a way out can be made here (unshare --net)")


def run_apart(command: list[str], environment: dict[str, str] | None = None) -> str:
    """What a Python program prints that must succeed; in a network of its own where one can be made."""
    answer = subprocess.run(
        [*(APART if can_be_apart() else ()), sys.executable, *command], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-5000:]
    return answer.stdout


def test_attempts__are_seen(apart: None, tmp_path: Path) -> None:
    """The walk below proves something only if what it looks for would be there."""
    packets = run_apart(["-c", ATTEMPTS], canary(tmp_path))
    assert json.loads(packets) > 0
    tried = (tmp_path / "programs.txt").read_text("utf-8")
    assert "socket.connect (('192.0.2.1', 80),)" in tried
    assert "copse.example" in tried


START = """
import sys
from pathlib import Path
from tests.conftest import COMMAND, ROOT, serve
from tests.server.alone import bring_up_loopback, canary
bring_up_loopback()
folder = Path(sys.argv[1])
command = [*COMMAND, "--server.address", "0.0.0.0", "--i-know"]
with serve(command, ROOT, folder / "server.log", canary(folder), real=True):
    pass
"""


def test_start__asks_nobody_for_the_address_of_this_machine(apart: None, tmp_path: Path) -> None:
    """The framework would, where it is told to listen to all."""
    run_apart(["-c", START, str(tmp_path)])
    assert (tmp_path / "programs.txt").read_text("utf-8") == ""
    assert "URL" in (tmp_path / "server.log").read_text("utf-8")


def test_hostile_walk__is_shown_as_text_and_asks_nothing_but_this_server(tmp_path: Path, chromium: str) -> None:
    run_apart(["-m", "tests.server.alone", str(tmp_path), chromium])
    assert (tmp_path / "programs.txt").read_text("utf-8") == ""
    assert json.loads((tmp_path / "packets.json").read_text("utf-8")) == 0
    addresses = (tmp_path / "pages.txt").read_text("utf-8").splitlines()
    assert len(addresses) > 50
    assert list(filter(is_foreign, addresses)) == []
    hosts = hosts_for_pages(json.loads((tmp_path / "browser.json").read_text("utf-8")))
    assert hosts == {"127.0.0.1"}


def hosts_for_pages(log: dict[str, Any]) -> set[str | None]:
    """The hosts that the browser asked, reached or looked up for a page, and not on its own account, by its log."""
    hosts = set()
    for entry in log["events"]:
        details = entry.get("params", {})
        causes = {details.get("initiator"), details.get("network_anonymization_key")} - {None}
        address = details.get("url") or details.get("host") or ""
        if any(PAGES.match(cause) for cause in causes) and "://" in address:
            hosts.add(urlsplit(address).hostname)
    return hosts - {None}  # a file has none


def test_hosts_for_pages__are_those_that_a_page_asks_and_not_the_browser() -> None:
    events = [
        {"params": {"initiator": "http://127.0.0.1:8501", "url": "https://elsewhere.example/picture"}},
        {"params": {"network_anonymization_key": "http://127.0.0.1 same_site", "host": "https://looked-up.example"}},
        {"params": {"network_anonymization_key": "https://browser.example same_site", "host": "https://own.example"}},
        {"params": {"initiator": "not an origin", "url": "https://own.example/update"}},
        {},
    ]
    assert hosts_for_pages({"events": events}) == {"elsewhere.example", "looked-up.example"}
