"""The dashboard on a folder in pieces, in Chromium: from the Data page to a released folder, with the server's memory.

    python run.py bench folder --rows 4500000 20000000

Adult is read from ``../shared/data``, made larger by resampling, and written as Parquet files of a million records. The
income is sensitive, all else may be known; k = 10, uniform groups. What a step takes ends when the page is settled; of
the slider of k it is from mouse-up to the last change of the page. Memory is that of the server's process.
"""

import argparse
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks._mouse import WATCH, chromium, drag, idle, serve
from benchmarks.flow import ADULT
from benchmarks.scale import write_pieces

PERIOD = 0.1
"""Seconds between two looks at the memory."""
PATIENCE = 900_000
"""Milliseconds after which a step has failed."""
GIB = 1 << 30


class Watch:
    """The memory and the processor time of a server, step by step."""

    def __init__(self, process: int) -> None:
        self.process, self.high = psutil.Process(process), 0
        self.stopped = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        with suppress(psutil.NoSuchProcess):
            while not self.stopped.wait(PERIOD):
                self.high = max(self.high, self.process.memory_info().rss)

    def used(self) -> float:
        """Return the seconds of processors that the server used until now."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print what a step takes."""
        self.high, began, used = self.process.memory_info().rss, time.perf_counter(), self.used()
        yield
        clock = time.perf_counter() - began
        print(f"  {name:<28}{clock:>8.1f} s {self.used() - used:>8.1f} CPU s {self.high / GIB:>8.2f} GiB", flush=True)


def go(page: Any, title: str) -> None:
    """Go to a page by the line of steps."""
    page.get_by_test_id("stTopNavLink").filter(has_text=title).click()


def run(rows: int, moves: int) -> None:
    """Walk from the Data page to the released folder, and print every figure."""
    with tempfile.TemporaryDirectory() as folder:
        data, releases = Path(folder) / "data", Path(folder) / "releases"
        data.mkdir()
        releases.mkdir()
        write_pieces(rows, data / "adult")
        variables = {"COPSE_DATA_FOLDER": str(data), "COPSE_RELEASE_FOLDER": str(releases)}
        with serve(variables) as served, chromium() as page:
            page.set_default_timeout(PATIENCE)
            page.goto(served.address)
            watch = Watch(served.process)
            walk(page, watch, rows, moves)
            watch.stopped.set()


def walk(page: Any, watch: Watch, rows: int, moves: int) -> None:
    """Do the steps."""
    print(f"\n{rows:,} rows in pieces", flush=True)
    box = page.get_by_role("combobox", name=re.compile("Or a file on the server")).first
    box.wait_for()
    idle(page)
    box.click()
    page.get_by_role("option", name="adult/ (all of its files)").click()
    idle(page)
    with watch.step("open, facts, suggested roles"):
        page.get_by_role("button", name="Read it").click()
        page.get_by_role("button", name="Next: give roles").wait_for()
        idle(page)
    with watch.step("Roles, risk before"):
        page.get_by_role("button", name="Next: give roles").click()
        page.get_by_text("Risk before anything is done").wait_for()
        page.get_by_role("button", name="Next: grow the tree").wait_for()
        idle(page)
    with watch.step("Roles, all others known"):
        page.get_by_role("button", name="Make the rest quasi-identifiers").click()
        page.wait_for_timeout(1000)
        idle(page)
    with watch.step("Tree, grown and drawn"):
        go(page, "Tree")
        page.get_by_text(re.compile(r"groups after")).first.wait_for()
        idle(page)
    with watch.step("What if"):
        page.get_by_test_id("stTopNavSection").filter(has_text="Explore").click()
        page.get_by_test_id("stTopNavDropdownLink").filter(has_text="What if").click()
        page.get_by_role("slider").first.wait_for()
        idle(page)
    with watch.step(f"{moves} moves of k"):
        page.evaluate(WATCH)
        times = sorted(drag(page, step) for step in range(moves))
    print(
        f"  k, mouse-up to settled page: median {statistics.median(times):.0f} ms, most {times[-1]:.0f} ms", flush=True
    )
    with watch.step("Release, page"):
        go(page, "Release")
        field = page.get_by_label("Name of the release", exact=True)
        field.wait_for()
        idle(page)
    field.fill("adult")
    with watch.step("write and check the folder"):
        page.get_by_role("button", name="Write and check the release").click()
        page.get_by_text("is written and checked").wait_for()
        idle(page)
    print(f"  machine load {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores", flush=True)


def main(arguments: list[str]) -> int:
    """Parse the options and measure."""
    parser = argparse.ArgumentParser(prog="bench folder", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[4_500_000])
    parser.add_argument("--moves", type=int, default=10)
    options = parser.parse_args(arguments)
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    for rows in options.rows:
        run(rows, options.moves)
    return 0
