"""From the sample to a downloaded release with the keyboard alone; whatever has its focus can be seen."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from anonymizer.releasing.release import read_release
from anonymizer.reporting.packet import check_packet
from tests.browser.steps import open_page, see_frames, settle
from tests.reporting.test_packet import members_of

pytestmark = pytest.mark.browser

FOCUS = """() => {
    let element = document.activeElement;
    while (element.shadowRoot && element.shadowRoot.activeElement) element = element.shadowRoot.activeElement;
    const rings = (node) => {
        const style = getComputedStyle(node);
        return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    };
    let ring = element.role === 'gridcell' && element.ariaSelected === 'true';  // the grid draws a ring around its cell
    for (let node = element, up = 0; node && up < 9; node = node.parentElement, up++) ring = ring || rings(node);
    const name = element.getAttribute('aria-label') || element.innerText || '';
    return { name, ring, place: element.dataset.testid || '', markup: element.outerHTML.slice(0, 200) };
}"""
MOST_TABS = 60


def tab_to(page: Page, name: str, most: int = MOST_TABS) -> dict[str, Any]:
    """The element of this name, reached by the tab key; all that are passed show that they have the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        see_frames(page, 3)
        focus: dict[str, Any] = page.evaluate(FOCUS)
        if focus["markup"].startswith(("<body", "<main")):
            continue
        assert focus["ring"], f"no focus is seen on {focus['markup']}"
        if name in focus["name"] and not focus["name"].startswith("Help for"):
            return focus
    pytest.fail(f"{name!r} was not reached by {most} tabs")


def follow(page: Page, name: str, heading: str) -> None:
    """A button or link taken with the keyboard, which leads to a page that begins with its focus."""
    tab_to(page, name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=heading).first).to_be_visible()
    settle(page)
    assert page.evaluate(FOCUS)["place"] == "stMain", "another page has the focus at its beginning"


def test_the_sample__is_released_by_the_keyboard_alone(app_server: str, page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    settle(page)
    tab_to(page, "Glossary")
    page.keyboard.press("Enter")
    expect(page.get_by_text("a column that an attacker may know of a person")).to_be_visible()
    page.keyboard.press("Escape")
    follow(page, "One-minute tour", "Hospital admissions")
    expect(page.get_by_text("1 of 5 · Data.")).to_be_visible()
    follow(page, "On to: Roles", "Who could know what?")
    expect(page.get_by_text("2 of 5 · Roles.")).to_be_visible()
    tab_to(page, "End the tour")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 5 · Roles.")).to_have_count(0)
    settle(page)
    tab_to(page, "Make the rest quasi-identifiers")
    page.keyboard.press("Space")
    settle(page)
    follow(page, "Next: grow the tree", "Tree")
    tab_to(page, "Group size, k")
    page.keyboard.press("ArrowRight")
    settle(page)
    follow(page, "Next: Ready", "Ready to release")
    follow(page, "Next: Release", "Ready to hand over")
    expect(page.get_by_text("This release is 11-anonymous").first).to_be_visible()
    tab_to(page, "Make the packet")
    page.keyboard.press("Enter")
    cancel, done = (page.get_by_role("button", name=name) for name in ("Cancel", "Download the packet"))
    expect(cancel.or_(done)).to_be_focused()  # a small packet is soon made
    expect(page.get_by_role("button", name="Download the packet")).to_be_focused()
    settle(page)
    focus = page.evaluate(FOCUS)
    assert focus["ring"], "the answer shows that it has the focus"
    assert "Download the packet" in focus["name"], "and keeps it"
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    packet = Path(waiting.value.path()).read_bytes()
    assert check_packet(packet).passed
    assert read_release(members_of(packet)["data/release.csv"])["age"].str.contains(",").any()
