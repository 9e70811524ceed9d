"""Nothing that axe-core knows stands between a steward and a page: every page, both themes; light at two widths, and at
three in sweeps."""

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.steps import drop, open_page, see_frames, settle, step
from tests.conftest import patient
from tests.sweeps import SWEEPS
from ui.navigation import SIDE_PAGES, STEPS
from ui.tree.choices import VIEWS

pytestmark = pytest.mark.browser

TITLES = [title for members in (STEPS, *SIDE_PAGES.values()) for _, title, _ in members]
HEIGHT, WIDTHS = 900, (1440, 1024, 768)


def widths(place: int, theme: str) -> tuple[int, ...]:
    """The widths at which a page is looked at: in the dark theme, which is of colours alone, the first; in the light
    one another in turn as well, and all in sweeps."""
    if theme == "dark":
        return WIDTHS[:1]
    return WIDTHS if SWEEPS else (WIDTHS[0], WIDTHS[1 + place % 2])


COLOURS = ["color-contrast", "link-in-text-block"]
RULES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"runOnly": {"type": "rule", "values": COLOURS}},
    "narrow": {"rules": {name: {"enabled": False} for name in COLOURS}},
}
"""Of axe-core: all in the light theme; in the dark one those of colours, for nothing else changes with the theme; on
narrow windows all others."""


def faults(page: Page, theme: str = "light") -> list[str]:
    """What axe-core finds on the page as it stands, one line a node; rules of every impact. What fades in or out is
    looked at again: help stands beside a mouse that rests, a moment after it came there."""
    here = findings(page, theme)
    if here:
        see_frames(page, 60)
        here = findings(page, theme)
    return here


def findings(page: Page, theme: str) -> list[str]:
    page.wait_for_function("document.getAnimations().every(animation => animation.playState !== 'running')")
    answer: dict[str, Any] = Axe().run(page, options={"resultTypes": ["violations"], **RULES[theme]}).response
    assert answer["passes"], "it looked at something"
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:160]} ({node['failureSummary']})"
        for rule in answer["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.sweep(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page__axe_finds_nothing(app_server: str, browser: Any, theme: Any) -> None:
    context = browser.new_context(
        viewport={"width": WIDTHS[0], "height": HEIGHT}, color_scheme=theme, bypass_csp=True, reduced_motion="reduce"
    )
    page = patient(context).new_page()
    try:
        open_page(page, app_server)
        settle(page)
        assert faults(page, theme) == []
        page.get_by_role("button", name="Use").nth(1).hover()  # buttons have another colour then
        see_frames(page, 30)
        assert faults(page, theme) == []
        page.get_by_role("button", name="Use").first.click()
        settle(page)
        for place, title in enumerate(TITLES):
            page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
            step(page, title).click()
            settle(page)
            for width in widths(place, theme):
                page.set_viewport_size({"width": width, "height": HEIGHT})
                settle(page)
                rules = theme if width == WIDTHS[0] else "narrow"
                assert (title, width, faults(page, rules)) == (title, width, [])
                for _, of_step, _ in STEPS:
                    link = page.get_by_test_id("stTopNavLink").filter(has_text=of_step)
                    expect(link).to_be_in_viewport(ratio=1)
            if title == "Tree":
                states_of_the_tree(page, theme)
            if title == "Release":
                packet = packet_of_the_page(page, theme)
            if title == "Verify":
                drop(page, packet, "release.zip")
                expect(page.get_by_text("is whole: every file is the one")).to_be_visible()
                page.get_by_role("button", name="Glossary").click()
                page.get_by_test_id("stPopoverBody").locator("strong").first.wait_for()
                settle(page)
                assert faults(page, theme) == []
    finally:
        context.close()


def packet_of_the_page(page: Page, theme: str) -> bytes:
    """The packet, made by the keyboard, so that what has the focus is looked at as well."""
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    page.get_by_role("button", name="Make the packet").press("Enter")
    cancel, done = (page.get_by_role("button", name=name) for name in ("Cancel", "Download the packet"))
    expect(cancel.or_(done)).to_be_focused()  # a small packet is soon made
    if cancel.count():
        assert faults(page, theme) == []
    expect(done).to_be_focused()
    settle(page)
    assert faults(page, theme) == []
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the packet").click()
    return Path(waiting.value.path()).read_bytes()


def states_of_the_tree(page: Page, theme: str) -> None:
    """Every view of the Tree page with a picked group beside it, and what folds out."""
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    page.locator(".stage g.group[id]").first.click()
    page.get_by_role("heading", name="What somebody who knows this learns").wait_for()
    for view in VIEWS.values():
        page.get_by_role("radio", name=view).click()
        page.locator(".stage svg g.node").first.wait_for()
        settle(page)
        assert (view, faults(page, theme)) == (view, [])
    for number in range(page.get_by_test_id("stPopover").count()):
        page.get_by_test_id("stPopover").nth(number).locator("button").click()
        settle(page)
        assert (number, faults(page, theme)) == (number, [])
        page.keyboard.press("Escape")
        settle(page)


def test_axe__sees_a_fault(browser: Any) -> None:
    page = browser.new_page()
    try:
        page.set_content("<html lang=en><title>t</title><main><h1>Title</h1><img src=x></main></html>")
        assert any("image-alt" in fault for fault in faults(page))
    finally:
        page.close()
