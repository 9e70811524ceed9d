"""The slider of k in Chromium, on the What-if or the Tree page: from mouse-up to the settled page."""

import base64
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import psutil

from anonymizer.releasing.generalize import guarantee_of
from anonymizer.settings import SETTINGS
from run import BROWSERS, ROOT

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
QUIET = 700
"""Milliseconds without a change after which the page counts as settled."""

SHARES = (0.1, 0.15, 0.12, 0.25, 0.08, 0.05, 0.18, 0.4, 0.3, 0.06)
"""Where on the slider the thumb is dragged, one after another."""

DROP = """([zone, encoded, name]) => {
    const bytes = Uint8Array.from(atob(encoded), letter => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    for (const kind of ['dragenter', 'dragover', 'drop'])
        zone.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
WATCH = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    window.copse = {last: 0, up: 0};
    const watch = place => new MutationObserver(() => window.copse.last = performance.now()).observe(
        place, {childList: true, characterData: true, attributes: true, subtree: true});
    watch(main);
    for (const element of main.querySelectorAll('*')) if (element.shadowRoot) watch(element.shadowRoot);
    for (const kind of ['mouseup', 'pointerup'])
        window.addEventListener(kind, () => window.copse.up = performance.now(), true);
}"""
SETTLED = f"""() => {{
    const running = document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'notRunning';
    const now = performance.now();
    return !running && now - Math.max(window.copse.last, window.copse.up) > {QUIET};
}}"""


class Served(NamedTuple):
    """A dashboard that runs: its address, and the id of its process."""

    address: str
    process: int


@contextmanager
def serve(variables: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Serve a dashboard as `python run.py` does, with some more variables of its environment, and yield where."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "anonymizer", "app", "--server.port", str(port)]
    command += ["--server.headless", "true"]
    environment = {**os.environ, **(variables or {})}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **silent) as server:
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield Served(f"http://127.0.0.1:{port}", server.pid)
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Any]:
    """Open Chromium and yield its page."""
    from playwright.sync_api import sync_playwright

    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(180_000)
        yield page
        browser.close()


def measure(table: Path, moves: int, generalizer: str, title: str) -> list[float]:
    """Return the milliseconds from mouse-up until nothing on the page changes any more, one entry a move of k.

    ``title``: of the page, What if or Tree.
    """
    with serve() as served, chromium() as page:
        what_if(page, served.address, table, guarantee_of(generalizer).title)
        if title == "Tree":
            page.get_by_test_id("stTopNavLink").filter(has_text=title).click()
            page.locator(".stage svg g.node").first.wait_for()
            idle(page)
        page.evaluate(WATCH)
        return [drag(page, step) for step in range(moves)]


def what_if(page: Any, address: str, table: Path, generalizer: str) -> None:
    """Open the What-if page with the table, all columns but the suggested sensitive ones as suggested, and choose how
    records are made to look alike: ``generalizer`` is a title of the box."""
    content = table.read_bytes()
    page.goto(address)
    zone = page.get_by_test_id("stFileUploaderDropzone").first
    zone.wait_for()
    page.evaluate(DROP, [zone.element_handle(), base64.b64encode(content).decode(), table.name])
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    idle(page)
    page.get_by_role("button", name="Make the rest quasi-identifiers").click()
    idle(page)
    page.get_by_test_id("stTopNavSection").filter(has_text="Explore").click()
    page.get_by_test_id("stTopNavDropdownLink").filter(has_text="What if").click()
    page.get_by_text("This release is").first.wait_for()
    idle(page)
    page.get_by_role("combobox", name=SETTINGS["generalizer"].title).first.click()
    page.get_by_role("option", name=generalizer, exact=True).click()
    idle(page)


def idle(page: Any) -> None:
    """Wait until no script runs."""
    page.wait_for_timeout(500)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(1000)


def drag(page: Any, step: int) -> float:
    """Drag the thumb of k somewhere else; milliseconds from mouse-up to the last change of the page."""
    thumb = page.get_by_role("slider").first
    box, track = thumb.bounding_box(), page.get_by_test_id("stSlider").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    to = track["x"] + track["width"] * SHARES[step % len(SHARES)]
    page.mouse.move(x, y)
    page.mouse.down()
    for part in range(1, 7):
        page.mouse.move(x + (to - x) * part / 6, y)
    page.mouse.up()
    page.wait_for_function(SETTLED, polling=50)
    return float(page.evaluate("() => window.copse.last - window.copse.up"))


def run(table: pd.DataFrame, moves: int, generalizer: str, title: str) -> None:
    """Measure a table and print median and 95th percentile, with the load of the machine meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        table.to_csv(path, index=False)
        times = sorted(measure(path, moves, generalizer, title))
    high = times[round(0.95 * (len(times) - 1))]
    print(
        f"{len(table):,} rows, {title}, {generalizer}, {moves} moves of k, mouse-up to settled page: median "
        f"{statistics.median(times):.0f} ms, 95th percentile {high:.0f} ms, most {times[-1]:.0f} ms; machine load "
        f"{psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores",
        flush=True,
    )
