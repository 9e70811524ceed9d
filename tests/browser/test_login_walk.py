"""People sign in and out in a real browser, with a real provider."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import drop, listen, open_page, settle, step
from tests.browser.test_forgotten import MARK, PEOPLE, canaries
from tests.door.signing_in import Guarded
from tests.server import scan
from tests.waiting import wait_until

pytestmark = pytest.mark.browser


BACKUPS = """async () => {
    const answered = request => new Promise((done, fail) => {
        request.onsuccess = () => done(request.result);
        request.onerror = request.onblocked = event => fail(new Error(event.type));
    });
    const base = await answered(indexedDB.open("copse", 1));
    const count = await answered(base.transaction("visits").objectStore("visits").count());
    base.close();
    return count;
}"""
"""How many visits' decisions the browser keeps."""


def enter(page: Page, guarded: Guarded, person: str) -> None:
    """Sign in as a person."""
    listen(page)
    page.goto(guarded.address)
    expect(page.get_by_text("Sign in first: ")).to_be_visible()
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("link", name=person, exact=True).click()


def bring_canaries(page: Page) -> None:
    drop(page, canaries(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    settle(page)


@pytest.mark.sweep(0)
def test_person_on_the_list__signs_in_works_and_signs_out(guarded: Guarded, page: Page) -> None:
    """Another page of the same browser is emptied too, and can ask for nothing more. The decisions that the browser
    keeps go: whoever signs in next would be offered them, with the names of files."""
    enter(page, guarded, "ana")
    expect(step(page, "Data")).to_be_visible()
    expect(page.get_by_text(re.compile("Ana@.?Example.org"))).to_be_visible()
    bring_canaries(page)
    other = page.context.new_page()
    open_page(other, guarded.address)
    bring_canaries(other)
    can_scan = Path("/proc/self/pagemap").exists() and scan.may_read(guarded.process)
    assert not can_scan or scan.in_memory(guarded.process, MARK) >= 2 * PEOPLE, "the scan has to see what is there"
    step(page, "Roles").click()
    expect(page.get_by_text("Decisions kept in this browser")).to_be_visible()
    assert page.evaluate(BACKUPS) >= 1
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Sign in first: ")).to_be_visible()
    assert page.evaluate(BACKUPS) == 0
    assert guarded.provider.signed_out
    assert not [cookie for cookie in page.context.cookies() if cookie["name"].startswith("_streamlit_user")]
    if can_scan:
        wait_until(lambda: scan.in_memory(guarded.process, MARK) == 0, 0.5)
    expect(other.get_by_text("Sign in first: ")).to_be_visible()
