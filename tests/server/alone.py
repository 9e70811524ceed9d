"""``python -m tests.server.alone FOLDER CHROMIUM``: the whole walk in a browser, in a network that has no way out.

It brings its loopback up, so it is started in a network of its own (``unshare --net``). Into the folder it writes
what the programs of the dashboard tried to reach or to look up (``programs.txt``), what pages asked for
(``pages.txt``), what the browser did (``browser.json``) and how many packets found no way (``packets.json``).
"""

import fcntl
import json
import os
import re
import socket
import struct
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.steps import download, drop, make_packet, number, open_page, settle, step
from tests.conftest import COMMAND, LAUNCH, ROOT, patient, serve
from tests.sweeps import SWEEPS
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
TABLE = "age,city,ill\n" + "".join(f"{20 + n % 40},{'UB'[n % 2]},{'no' if n % 3 else 'yes'}\n" for n in range(200))


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


def walk(page: Page, address: str, folder: Path) -> None:
    """A sample, its roles, its tree, the slider, what if, a comparison, the release, the files, and forgotten."""
    open_page(page, address)
    page.locator(".st-key-sample-hospital button").first.click()
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    page.get_by_role("button", name="Next: grow the tree").click()
    page.locator(".stage svg g.node").first.wait_for()
    settle(page)
    before = page.get_by_test_id("stSliderThumbValue").first.inner_text()
    page.get_by_role("slider").first.press("ArrowRight")
    settle(page)
    assert page.get_by_test_id("stSliderThumbValue").first.inner_text() != before
    step(page, "What if").click()
    expect(page.get_by_text("This release is").first).to_be_visible()
    for view in ("Frontier", "Scenarios", "History and project", "At a glance"):
        page.get_by_test_id("stButtonGroup").get_by_text(view, exact=False).first.click()
        settle(page)
    step(page, "Evaluate").click()
    settle(page)
    if SWEEPS:
        page.get_by_role("slider", name="Folds").press("Home")
        settle(page)
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.get_by_role("heading", name="What each setting loses")).to_be_visible()
    for title in ("Forest", "Disclosure", "Release"):
        step(page, title).click()
        settle(page)
    page.get_by_role("tab", name="Attack it").click()
    page.get_by_role("button", name="Run the attacks").click()
    expect(number(page, "Linkability")).to_be_visible()
    settle(page)
    make_packet(page)
    labels = (
        "Download the packet",
        "CSV",
        "Parquet",
        "Report (JSON)",
        "External report (HTML)",
        "External report (PDF)",
    )
    files = {label: download(page, label, folder) for label in labels}
    assert all(path.stat().st_size for path in files.values())
    page.get_by_role("button", name="Remove table").click()
    expect(page.get_by_role("heading", name="Release a table about people, safely")).to_be_visible()
    drop(page, TABLE.encode(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    page.goto(files["External report (HTML)"].as_uri())
    expect(page.get_by_role("heading", name=re.compile(r"rows, released [0-9]+-anonymous"))).to_be_visible()


def main(folder: Path, chromium: str) -> None:
    bring_up_loopback()
    assert packets_without_way() == 0
    launch = [*LAUNCH, *SILENT, f"--log-net-log={folder / 'browser.json'}"]
    addresses: list[str] = []
    with (
        serve(COMMAND, ROOT, folder / "server.log", canary(folder), real=True) as dashboard,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=launch)
        context = patient(browser.new_context(accept_downloads=True, viewport={"width": 1400, "height": 1000}))
        expect.set_options(timeout=1000 * PATIENCE)
        context.on("request", lambda request: addresses.append(request.url))
        page = context.new_page()
        page.on("websocket", lambda channel: addresses.append(channel.url))
        try:
            walk(page, dashboard.address, folder)
        except BaseException:
            page.screenshot(path=folder / "failure.png", full_page=True)
            raise
        context.close()
        browser.close()
        (folder / "packets.json").write_text(json.dumps(packets_without_way()), "utf-8")
    (folder / "pages.txt").write_text("\n".join(addresses), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
