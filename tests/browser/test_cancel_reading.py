"""A file that takes long can be given up: the process that reads it is gone, and what was there before is still there.

The process that waits for files is halted, so that what it reads next takes as long as the test wants.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Alone
from tests.browser.steps import drop, number, open_page, settle, step
from tests.sweeps import SWEEPS
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

FIRST = b"age,income\n" + b"30,low\n40,high\n" * 10
SECOND = b"age,city\n" + b"30,Ulm\n40,Kiel\n" * 20


def readers(server: int) -> list[int]:
    """The processes of a server that read files or wait for one."""
    ids = [int(word) for path in Path(f"/proc/{server}/task").glob("*/children") for word in path.read_text().split()]
    return [one for one in ids if b"anonymizer.reading.child" in Path(f"/proc/{one}/cmdline").read_bytes()]


def is_there(process: int) -> bool:
    """Whether a process goes on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def assert_ends(process: int) -> None:
    wait_until(lambda: not is_there(process))


@contextmanager
def halted(alone: Alone, page: Page) -> Iterator[int]:
    """The process that gets the next file, halted; the page has a table already."""
    open_page(page, alone.address)
    drop(page, FIRST, "first.csv")
    expect(page.get_by_role("heading", name="first.csv")).to_be_visible()
    settle(page)
    page.get_by_text("Open another table").click()
    (waiting,) = readers(alone.process)
    os.kill(waiting, signal.SIGSTOP)
    drop(page, SECOND, "second.csv")
    expect(page.get_by_text("Reading second.csv (")).to_be_visible()
    expect(page.get_by_text("3 seconds")).to_be_visible()
    yield waiting
    if is_there(waiting):
        os.kill(waiting, signal.SIGKILL)


def cancel(page: Page, process: int) -> None:
    """Cancel ends the process and keeps the table."""
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The reading of second.csv was stopped.")).to_be_visible()
    assert_ends(process)
    expect(page.get_by_role("heading", name="first.csv")).to_be_visible()
    expect(number(page, "Rows")).to_have_text("20")
    settle(page)
    page.get_by_text("Open another table").click()
    drop(page, SECOND, "second.csv")
    expect(page.get_by_role("heading", name="second.csv")).to_be_visible()
    expect(number(page, "Rows")).to_have_text("40")
    expect(page.get_by_text("was stopped")).to_have_count(0)


@pytest.mark.sweep(0)
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the processes of a program cannot be listed here")
def test_reading__is_ended_by_cancel_by_another_page_and_by_closing(alone: Alone, page: Page) -> None:
    with halted(alone, page) as process:
        cancel(page, process)
    if SWEEPS:
        with halted(alone, page) as process:
            step(page, "Roles").click()
            expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible()
            assert_ends(process)
            step(page, "Data").click()
            expect(page.get_by_role("heading", name="first.csv")).to_be_visible()
    with halted(alone, page) as process:
        page.close()
        assert_ends(process)
