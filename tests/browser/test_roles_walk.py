"""Fifty columns get other roles in a few clicks, and words typed into the table mean what they say."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.reading.samples import visits
from anonymizer.schema import Role
from tests.browser.steps import columns_known, drop, known_text, open_page, see_frames, settle

pytestmark = pytest.mark.browser

MOST_CLICKS = 8
WRONG = {f"drug_{number:02}": Role.INSENSITIVE for number in range(1, 25)} | {
    "zone": Role.SENSITIVE, "turn": Role.SENSITIVE, "shift": Role.INSENSITIVE,
}  # fmt: skip
"""Columns that the steward wants in another role than the suggested one."""


def fifty() -> pd.DataFrame:
    """Visits with many columns more."""
    rng = np.random.default_rng(7)
    table = visits(60)
    n = len(table)
    more: dict[str, Any] = {f"drug_{number:02}": rng.choice(["no", "yes"], n) for number in range(1, 25)}
    more |= {f"lab_{number}": rng.normal(100, 15, n).round(1) for number in range(1, 9)}
    more |= {"phone": [f"+49 30 {100_000 + i}" for i in range(n)], "email": [f"p{i}@example.org" for i in range(n)]}
    names = ("education", "employer", "region", "children", "zone", "turn", "shift", "language")
    more |= {name: rng.choice(["a1x", "b2y", "c3z"], n) for name in names}
    return table.assign(**more)


def click(clicks: list[str], target: Any) -> None:
    """One click, counted."""
    target.click()
    clicks.append(str(target))


@pytest.mark.sweep(0)
def test_fifty_columns__get_other_roles_in_a_few_clicks(app_server: str, page: Page) -> None:
    table = fifty()
    assert len(table.columns) == 50
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    drop(page, table.to_csv(index=False).encode(), "clinic.csv")
    clicks: list[str] = []
    click(clicks, page.get_by_role("button", name="Next: give roles"))
    settle(page)
    before = columns_known(page)

    def role_for(label: str, role: str) -> None:
        box = page.get_by_role("combobox", name=re.compile(label)).first
        box.scroll_into_view_if_needed()
        see_frames(page, 18)  # a list closes when the page scrolls
        click(clicks, box)
        click(clicks, page.get_by_role("option", name=re.compile(rf"· {role}$")))
        settle(page)

    def choose(*names: str) -> None:
        for name in names:
            click(clicks, page.get_by_test_id("stButtonGroup").get_by_role("button", name=re.compile(rf"^\w ?{name}$")))
            settle(page)

    def bar_role(role: str) -> None:
        click(clicks, page.locator(".st-key-roles-bar").get_by_role("radio", name=re.compile(f"{role}$")))
        settle(page)

    role_for("Role of drug", "Leave as is")
    choose("zone", "turn")
    bar_role("Sensitive")
    choose("shift")
    bar_role("Leave as is")
    expect(page.get_by_text(known_text(before - 3)).first).to_be_visible()
    expect(page.get_by_role("heading", name="You changed 27 of 50 columns")).to_be_visible()
    assert len(clicks) <= MOST_CLICKS
    page.get_by_label("Your reason for drug").fill("the hospital lists them")
    page.keyboard.press("Tab")
    settle(page)

    page.set_viewport_size({"width": 1440, "height": 2600})  # the whole grid is in view
    page.get_by_text("As a table").click()
    settle(page)
    undo = page.get_by_role("button", name=re.compile("^Undo"))
    type_role(page, list(table.columns).index("region"), "Identifying")
    expect(undo).to_have_text(re.compile("region back to quasi"))
    type_role(page, list(table.columns).index("drug_01"), "Sensitive")
    expect(undo).to_have_text(re.compile("drug_01 back to insens"))
    expect(page.get_by_text(known_text(before - 4)).first).to_be_visible()
    page.get_by_text("As a table").click()
    expect(page.get_by_role("heading", name="You changed 27 of 50 columns")).to_be_visible()


PLACES = """() => [...document.querySelectorAll('[class*=st-key-roles-card-], [class*=st-key-roles-card-] button')].map(
    one => { const {x, y, width, height} = one.getBoundingClientRect(); return [x, y, width, height]; })"""


@pytest.mark.sweep(0)
def test_selecting_columns__moves_nothing(app_server: str, page: Page) -> None:
    open_page(page, app_server)
    drop(page, fifty().to_csv(index=False).encode(), "clinic.csv")
    page.get_by_role("button", name="Next: give roles").click()
    chip = page.get_by_test_id("stButtonGroup").get_by_role("button", name=re.compile("employer$"))
    for width in (1440, 1024, 768):
        page.set_viewport_size({"width": width, "height": 900})
        chip.scroll_into_view_if_needed()
        settle(page)
        places = page.evaluate(PLACES)
        bar = page.locator(".st-key-roles-bar").bounding_box()
        chip.click()
        expect(page.locator(".st-key-roles-bar")).to_contain_text("1 column: employer")
        settle(page)
        assert page.evaluate(PLACES) == places, width
        assert page.locator(".st-key-roles-bar").bounding_box() == bar, width
        page.get_by_role("button", name="Clear").click()
        settle(page)
        assert page.evaluate(PLACES) == places, width


def type_role(page: Page, row: int, typed: str) -> None:
    """A role typed into a cell of the table, by the keyboard alone once its first row is clicked."""
    settle(page)
    grid = page.get_by_test_id("stDataFrame").first
    grid.scroll_into_view_if_needed()
    grid.click(position={"x": 240, "y": 52})
    page.keyboard.press("Control+ArrowUp")  # the grid may be scrolled
    for _ in range(row):
        page.keyboard.press("ArrowDown")
    see_frames(page, 18)  # the grid scrolls
    page.keyboard.press("Enter")
    page.keyboard.type(typed, delay=30)
    see_frames(page, 12)
    page.keyboard.press("Enter")
    settle(page)
