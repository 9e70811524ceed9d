"""Forgotten means gone: a table that was forgotten, or whose page was closed, is nowhere in the server any more."""

import os
import random
import signal
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Alone
from tests.browser.steps import download, drop, open_page, settle, step
from tests.browser.test_cancel_reading import readers
from tests.server import scan
from tests.waiting import PATIENCE, wait_until
from ui.navigation import SIDE_PAGES, STEPS
from ui.tree.choices import VIEWS

pytestmark = pytest.mark.browser

MARK = "Zqwxcanary"
PEOPLE = 20_000
TITLES = [title for members in (STEPS, *SIDE_PAGES.values()) for _, title, _ in members if title != "Data"]


def canaries() -> bytes:
    """A table of more than a mebibyte in which each record bears the mark."""
    rng = random.Random(1)
    rows = [
        ",".join(
            (
                f"{MARK}{n:06d} of the long and unusual name",
                str(rng.randint(18, 90)),
                rng.choice("fm"),
                rng.choice(("Ulm", "Bonn", "Kiel")),
                f"{MARK} {rng.choice(('low', 'high'))}",
            )
        )
        for n in range(PEOPLE)
    ]
    return "\n".join(["name,age,sex,city,income", *rows]).encode()


@pytest.fixture(autouse=True)
def readable(alone: Alone) -> None:
    """Skip where the memory of another program cannot be read."""
    if not Path("/proc/self/pagemap").exists() or not scan.may_read(alone.process):
        pytest.skip("the memory of another program cannot be read here")


def walk(page: Page, alone: Alone, folder: Path, pages: Sequence[str] = ()) -> list[str]:
    """Bring the table, see all of the flow, take the release away, look at more pages; the addresses of files that were
    served."""
    files: list[str] = []
    page.on("request", lambda fetch: files.append(fetch.url) if f"{alone.address}/media/" in fetch.url else None)
    open_page(page, alone.address)
    table = canaries()
    assert len(table) > 2**20
    drop(page, table, "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    settle(page)
    for title in ("Roles", "Tree", "Release"):
        step(page, title).click()
        settle(page)
    download(page, "CSV", folder)
    for title in pages:
        step(page, title).click()
        settle(page)
        for view in VIEWS.values() if title == "Tree" else ():
            page.get_by_role("radio", name=view).click()
            page.locator(".stage svg g.node").first.wait_for()
            settle(page)
    assert files
    return files


def assert_gone(alone: Alone) -> None:
    wait_until(lambda: scan.in_memory(alone.process, MARK) == 0, 0.5)
    assert scan.in_open_files(alone.process, MARK) == []
    assert scan.in_folder(alone.temporary, MARK) == []


def answers(address: str) -> int:
    """The status with which a file is served to somebody else."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_removed_or_closed__a_table_leaves_nothing(alone: Alone, page: Page, tmp_path: Path) -> None:
    files = walk(page, alone, tmp_path)
    assert scan.in_memory(alone.process, MARK) >= PEOPLE, "the scan has to see what is there"
    page.get_by_role("button", name="Remove table").click()
    expect(page.get_by_role("heading", name="Release a table about people, safely")).to_be_visible()
    assert_gone(alone)
    fetched = "async addresses => (await Promise.all(addresses.map(a => fetch(a)))).filter(a => a.ok).length"
    wait_until(lambda: page.evaluate(fetched, files) == 0)
    files = walk(page, alone, tmp_path, TITLES)
    assert {answers(address) for address in files} == {403}, "files are for the browser they were made for"
    page.close()
    assert_gone(alone)


@pytest.mark.sweep(0)
def test_another_table_and_a_stopped_reading__leave_nothing(alone: Alone, page: Page) -> None:
    open_page(page, alone.address)
    drop(page, canaries(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    page.get_by_text("Open another table").click()
    drop(page, b"age,income\n" + b"30,low\n40,high\n" * 10, "other.csv")
    expect(page.get_by_role("heading", name="other.csv")).to_be_visible()
    assert_gone(alone)
    settle(page)
    page.get_by_text("Open another table").click()
    settle(page)
    for waiting in readers(alone.process):
        os.kill(waiting, signal.SIGSTOP)
    drop(page, canaries(), "people.csv")
    expect(page.get_by_text("2 seconds")).to_be_visible()
    assert scan.in_memory(alone.process, MARK) >= PEOPLE, "the scan has to see what is there"
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The reading of people.csv was stopped.")).to_be_visible()
    assert_gone(alone)
