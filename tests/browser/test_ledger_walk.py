"""Two years of a register with a ledger, in the browser: entered, killed, made again, kept, and verified offline."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.digests import digest
from anonymizer.ledger.ledger import Ledger
from anonymizer.reading.samples import hospital
from anonymizer.reporting.recipient_page import recipient_page
from tests.browser.steps import choose, download, drop, give_role, open_page, settle, step
from tests.browser.test_recipient_page import ask_page
from tests.conftest import COMMAND, ROOT, Served, free_port, serve

pytestmark = pytest.mark.browser

REPORT = "Report (JSON)"
PEOPLE = hospital(152, 6)[["age", "sex", "diagnosis"]].assign(patient=[f"p-{n:03}" for n in range(152)])
YEARS = (PEOPLE.head(140), PEOPLE)


class Office:
    """A dashboard with a folder of ledgers that can be killed and begun again at the same address."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack, self.port = folder, stack, free_port()
        self.begin()

    def begin(self) -> None:
        environment = {**os.environ, "COPSE_LEDGER_FOLDER": str(self.folder)}
        log = self.folder / "server.log"
        self.served: Served = self.stack.enter_context(serve(COMMAND, ROOT, log, environment, self.port))

    def kill(self) -> None:
        os.kill(self.served.process, signal.SIGKILL)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with ExitStack() as stack:
        yield Office(tmp_path, stack)


def press(page: Page, name: str) -> None:
    """A button, once the page is drawn: what is clicked before is lost."""
    settle(page)
    page.get_by_role("button", name=name, exact=True).click()


def open_year(page: Page, office: Office, table: pd.DataFrame, ledger: str = "") -> None:
    """A table with its roles and a ledger: a new one, or that which is there."""
    open_page(page, office.served.address)
    drop(page, table.to_csv(index=False).encode(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    settle(page)
    page.locator(".st-key-ledger summary").click()
    if ledger:
        choose(page, "Ledger", ledger)
    else:
        page.get_by_label("Or begin a new one").fill("register")
        press(page, "Begin")
    expect(page.get_by_text("Ledger of releases: register")).to_be_visible()


def release(page: Page) -> None:
    """The Release page, drawn."""
    step(page, "Release").click()
    expect(page.get_by_role("heading", name="Download")).to_be_visible()


def take_files(page: Page, folder: Path) -> dict[str, bytes]:
    """The released CSV and its report."""
    folder.mkdir()
    return {path.name: path.read_bytes() for path in (download(page, "CSV", folder), download(page, REPORT, folder))}


def test_two_years__of_one_ledger(page: Page, office: Office, tmp_path: Path) -> None:
    open_year(page, office, YEARS[0])
    press(page, "Next: give roles")
    press(page, "Accept suggestions")
    give_role(page, "patient", "Person", 2)
    release(page)
    press(page, "Write the entry")
    expect(page.get_by_text("Entry 2 of the ledger register")).to_be_visible()
    office.kill()  # between the entry and the download
    office.begin()
    open_year(page, office, YEARS[0], "register")
    press(page, "Take them up")
    expect(page.get_by_text("140 of 140 people recognised")).to_be_visible()
    release(page)
    expect(page.get_by_text("Entry 2 of the ledger register")).to_be_visible()
    first = take_files(page, tmp_path / "first")
    ledger = Ledger.open(tmp_path / "register")
    (entry,) = ledger.entries[1:]
    assert entry["release"]["sha256"] == digest(next(iter(first.values())))

    open_year(page, office, YEARS[1], "register")
    press(page, "Take them")
    expect(page.get_by_text("140 of 152 people recognised")).to_be_visible()
    step(page, "Ready").click()
    settle(page)
    press(page, "Keep the earlier groups")
    expect(page.get_by_text("Repaired: Keep the earlier groups.")).to_be_visible()
    settle(page)
    release(page)
    press(page, "Write the entry")
    expect(page.get_by_text("Entry 3 of the ledger register")).to_be_visible()
    second = take_files(page, tmp_path / "second")
    assert [one["kind"] for one in ledger.entries] == ["note", "release", "release"]

    page.context.set_offline(True)
    place = tmp_path / "verify.html"
    place.write_bytes(recipient_page())
    for files in (first, second):
        assert ask_page(page, place, files)["verdict"] == "holds"
    together = {
        f"{year}-{name}": content for year, files in enumerate((first, second)) for name, content in files.items()
    }
    answer = ask_page(page, place, together)
    assert (answer["kind"], answer["verdict"]) == ("together", "open")
