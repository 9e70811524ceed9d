"""``python -m tests.server.alone FOLDER CHROMIUM``: a walk with hostile names, in a network that has no way out.

It brings its loopback up where it is started in a network of its own (``unshare --net``). Into the folder it writes
what the programs of the dashboard tried to reach or to look up (``programs.txt``), what pages asked for
(``pages.txt``), what the browser did (``browser.json``) and how many packets found no way (``packets.json``).
"""

import fcntl
import json
import os
import socket
import struct
import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.browser.hostile_walk import explore
from tests.browser.test_strangers import listening
from tests.conftest import COMMAND, LAUNCH, ROOT, patient, serve
from tests.waiting import PATIENCE

WATCHER = """
import os
import re
import sys

sink = os.open(os.environ["COPSE_TRIED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
beginnings = ("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.getnameinfo", "socket.send")


def watch(event, arguments):
    if event.startswith(beginnings):
        reached = arguments[1:] if event.startswith(("socket.connect", "socket.send")) else arguments
        os.write(sink, f"{event} {reached!r}\\n".encode())


sys.addaudithook(watch)
"""
"""Runs before anything else in every Python that the dashboard starts."""

SILENT = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-features=AutofillServerCommunication")
"""Let the browser look nothing up, for its own services do; what is asked for stands in its log all the same."""


def bring_up_loopback() -> None:
    """Let programs of this network reach each other; no packet leaves it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))  # SIOCSIFFLAGS: up and running
    six = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if six.exists():
        six.write_text("1")  # the browser would try whether there is a way out


def canary(folder: Path) -> dict[str, str]:
    """The environment in which a Python, and each that it starts, writes what it tries to ``programs.txt``."""
    (folder / "sitecustomize.py").write_text(WATCHER, "utf-8")
    paths = os.pathsep.join((str(folder), str(ROOT)))
    return {**os.environ, "PYTHONPATH": paths, "COPSE_TRIED": str(folder / "programs.txt")}


def packets_without_way() -> int:
    """How many packets of this network were to go where no way leads."""
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:"))
    return int(values[names.index("OutNoRoutes")])


def main(folder: Path, chromium: str) -> None:
    is_apart = {name for _, name in socket.if_nameindex()} <= {"lo"}
    if is_apart:
        bring_up_loopback()
        assert packets_without_way() == 0
    launch = [*LAUNCH, *SILENT, f"--log-net-log={folder / 'browser.json'}"]
    addresses: list[str] = []
    forbidden: list[str] = []
    expect.set_options(timeout=1000 * PATIENCE)
    with (
        listening() as stranger,
        serve(COMMAND, ROOT, folder / "server.log", canary(folder), real=True) as dashboard,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=launch)
        context = patient(browser.new_context(accept_downloads=True, viewport={"width": 1400, "height": 1000}))
        context.on("request", lambda request: addresses.append(request.url))
        context.on("console", lambda line: forbidden.append(line.text) if "Content Security" in line.text else None)
        page = context.new_page()
        page.on("websocket", lambda channel: addresses.append(channel.url))
        try:
            explore(page, dashboard.address, stranger, folder)
        except BaseException:
            page.screenshot(path=folder / "failure.png", full_page=True)
            raise
        context.close()
        browser.close()
        (folder / "packets.json").write_text(json.dumps(packets_without_way() if is_apart else 0), "utf-8")
    (folder / "pages.txt").write_text("\n".join(addresses), "utf-8")
    assert forbidden == [], "the page tried what the policy forbids"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
