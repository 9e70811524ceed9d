"""Quick hands: of clicks that follow each other at once, none is lost, and the page never ends."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import download, open_page, settle, step
from ui.release.packet import AUDIENCES

pytestmark = pytest.mark.browser
PAUSES = (0, 60, 200)
"""Milliseconds between two clicks."""


@pytest.fixture
def roles_page(page: Page, app_server: str) -> Page:
    """The Roles page with the built-in hospital sample."""
    open_page(page, app_server)
    page.locator(".st-key-sample-hospital button").first.click()
    page.get_by_role("button", name="Next: give roles").click()
    expect(page.get_by_role("button", name="Accept suggestions")).to_be_visible()
    settle(page)
    return page


@pytest.mark.sweep(0)
def test_a_choice_then_a_file(roles_page: Page, tmp_path: Path) -> None:
    """A page that is drawn again gives its files new addresses; a click in between must not ask for the old one."""
    page = roles_page
    step(page, "Release").click()
    page.get_by_text("Single files").click()
    settle(page)
    for turn, pause in enumerate(PAUSES):
        way = page.get_by_role("radio", name=(AUDIENCES["internal"], AUDIENCES["external"])[turn % 2])
        way.click()
        page.wait_for_timeout(pause)
        assert download(page, "CSV", tmp_path).stat().st_size > 0
        expect(way).to_be_checked()
        settle(page)


@pytest.mark.sweep(0)
def test_a_button_then_another_page(roles_page: Page) -> None:
    """Drawn a second time for the button, the page would come back in place of the one that was asked for."""
    page = roles_page
    for turn, pause in enumerate(2 * PAUSES):
        page.get_by_role("button", name=("Accept suggestions", "Make the rest quasi-identifiers")[turn % 2]).click()
        page.wait_for_timeout(pause)
        step(page, "Release").click()
        expect(page.get_by_role("heading", name="Ready to hand over")).to_be_visible()
        step(page, "Roles").click()
        expect(page.get_by_role("button", name="Accept suggestions")).to_be_visible()
        expect(page.get_by_text("Connection error")).to_have_count(0)
