"""A page that stands there when the browser turns dark is dark all over, and light again afterwards."""

from base64 import b64decode
from typing import Any

import pytest

from tests.browser.steps import open_page, settle, step
from tests.conftest import patient

pytestmark = pytest.mark.browser

MEANS = """() => [['.st-key-strip', 'backgroundColor'], ['[data-testid="stCaptionContainer"]', 'color']].map(
    ([selector, what]) => {
        const place = document.querySelector(selector);
        const element = what === 'color' ? place : place.closest('[data-testid="stLayoutWrapper"]');
        return getComputedStyle(element)[what].match(/[0-9]+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0) / 3;
    })"""
"""The means of red, green and blue, from 0 to 255: of what is behind the strip, and of a caption's text."""


@pytest.mark.sweep(0)
def test_a_page__follows_the_browser_into_the_dark_and_back(app_server: str, browser: Any) -> None:
    from ui.shell import LOGO_COLOURS  # which draws a page

    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", bypass_csp=True)
    patient(context)
    page = context.new_page()
    try:
        open_page(page, app_server)
        settle(page)
        page.get_by_role("button", name="Use").first.click()
        settle(page)
        for title in ("Roles", "Tree", "What if"):
            step(page, title).click()
            settle(page)
        for theme, expected in (("dark", [True, True]), ("light", [False, False])):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(f"({MEANS})()[0] < 60 === {str(expected[0]).lower()}")
            settle(page)
            behind, text = page.evaluate(MEANS)
            assert [behind < 60, text > 140] == expected
            logo = page.get_by_test_id("stHeaderLogo").get_attribute("src")
            assert (LOGO_COLOURS["dark"].encode() in b64decode(logo.partition("base64,")[2])) == expected[0]
        page.emulate_media(color_scheme="dark")
        step(page, "Tree").click()
        node = page.locator(".stage svg g.node").first
        node.wait_for()
        settle(page)
        before = node.inner_html()
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"({MEANS})()[1] < 140")
        settle(page)
        assert node.inner_html() != before
    finally:
        context.close()
