"""Fifty columns are released in a few clicks, and words typed into the table mean what they say."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.reading.samples import visits
from anonymizer.releasing.release import read_release
from anonymizer.reporting.packet import check_packet
from anonymizer.schema import Role
from tests.browser.steps import columns_known, download, drop, known_text, open_page, settle, step
from tests.reporting.test_packet import members_of

pytestmark = pytest.mark.browser

MOST_CLICKS = 15
MOST_PAGES = 4
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


def test_fifty_columns__to_a_download_in_fifteen_clicks_and_four_pages(
    app_server: str, page: Page, tmp_path: Path
) -> None:
    table = fifty()
    assert len(table.columns) == 50
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    drop(page, table.to_csv(index=False).encode(), "clinic.csv")
    clicks: list[str] = []
    pages: set[str] = {urlsplit(page.url).path}
    page.on("framenavigated", lambda frame: pages.add(urlsplit(frame.url).path))
    click(clicks, page.get_by_role("button", name="Next: give roles"))
    settle(page)
    before = columns_known(page)

    def role_for(label: str, role: str) -> None:
        box = page.get_by_role("combobox", name=re.compile(label)).first
        box.scroll_into_view_if_needed()
        page.wait_for_timeout(300)  # a list closes when the page scrolls
        click(clicks, box)
        click(clicks, page.get_by_role("option", name=re.compile(rf"^\S+ {role}$")))
        settle(page)

    def choose(*names: str) -> None:
        for name in names:
            click(clicks, page.get_by_test_id("stButtonGroup").get_by_role("button", name=name, exact=True))
            settle(page)

    role_for("Role of drug", "Insensitive")
    choose("zone", "turn")
    role_for("Role of 2 chosen", "Sensitive")
    choose("shift")
    role_for("Role of 1 chosen", "Insensitive")
    expect(page.get_by_text(known_text(before - 3)).first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("heading", name="You changed 27 of 50 columns")).to_be_visible(timeout=30_000)
    click(clicks, page.get_by_role("button", name="Next: grow the tree"))
    expect(page.locator(".stage svg g.node").first).to_be_visible(timeout=120_000)
    settle(page)
    click(clicks, page.get_by_role("button", name="Next: check and release"))
    expect(page.get_by_text(re.compile("^This release is 10-anonymous"))).to_be_visible(timeout=120_000)
    settle(page)
    give_reason(page, clicks)
    click(clicks, page.get_by_role("button", name="Make the packet"))
    with page.expect_download(timeout=120_000) as waiting:
        click(clicks, page.get_by_role("button", name="Download the packet"))
    packet = Path(waiting.value.path()).read_bytes()
    assert check_packet(packet).passed
    assert len(read_release(members_of(packet)["data/release.csv"])) == len(table)
    assert len(clicks) <= MOST_CLICKS
    assert len(pages) <= MOST_PAGES, pages

    step(page, "Roles").click()
    settle(page)
    page.get_by_label("Your reason for drug").fill("the hospital lists them")
    page.keyboard.press("Tab")
    settle(page)

    page.set_viewport_size({"width": 1440, "height": 2600})  # the whole grid is in view
    page.get_by_text("As a table").click()
    settle(page)
    undo = page.get_by_role("button", name=re.compile("^Undo"))
    type_role(page, list(table.columns).index("region"), "Identifying")
    expect(undo).to_have_text(re.compile("region back to quasi"), timeout=30_000)
    type_role(page, list(table.columns).index("drug_01"), "Sensitive")
    expect(undo).to_have_text(re.compile("drug_01 back to insens"), timeout=30_000)
    expect(page.get_by_text(known_text(before - 4)).first).to_be_visible()
    page.get_by_text("As a table").click()
    expect(page.get_by_role("heading", name="You changed 27 of 50 columns")).to_be_visible(timeout=30_000)


def give_reason(page: Page, clicks: list[str]) -> None:
    """A reason, typed where the release would be taken away: whoever knows all drugs of a person finds the row."""
    expect(page.get_by_text("One thing stands in the way").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("button", name="Make the packet")).to_be_disabled()
    click(clicks, page.get_by_role("button", name="Give a reason…").first)
    settle(page)
    page.get_by_label("Why may it leave all the same?").fill("the hospital lists them")
    page.keyboard.press("Enter")
    settle(page)


def type_role(page: Page, row: int, typed: str) -> None:
    """A role typed into a cell of the table, by the keyboard alone once its first row is clicked."""
    settle(page)
    grid = page.get_by_test_id("stDataFrame").first
    grid.scroll_into_view_if_needed()
    grid.click(position={"x": 240, "y": 52})
    page.keyboard.press("Control+ArrowUp")  # the grid may be scrolled
    for _ in range(row):
        page.keyboard.press("ArrowDown")
    page.wait_for_timeout(300)  # the grid scrolls
    page.keyboard.press("Enter")
    page.keyboard.type(typed, delay=30)
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    settle(page)


def test_hierarchy__is_dropped_and_its_words_are_in_the_release(app_server: str, page: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    jobs = {
        "nurse": "care",
        "doctor": "care",
        "cook": "house",
        "porter": "house",
        "clerk": "office",
        "lawyer": "office",
    }
    table = pd.DataFrame({
        "age": rng.integers(20, 60, 200), "job": rng.choice(list(jobs), 200),
        "diagnosis": rng.choice(["a", "b", "c"], 200),
    })  # fmt: skip
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    drop(page, table.to_csv(index=False).encode(), "ward.csv")
    page.get_by_role("button", name="Next: give roles").click()
    expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible()
    settle(page)
    page.get_by_text("Order of levels and public domains").click()
    settle(page)
    column = page.get_by_role("combobox", name="Column").last
    column.click()
    if column.get_attribute("aria-expanded") != "true":  # the panel was still unfolding, and the click went astray
        column.press("ArrowDown")
    page.get_by_role("option", name="job", exact=True).click()
    expect(page.get_by_role("textbox", name="Levels, one a line")).to_be_visible(timeout=60_000)
    settle(page)
    rows = "".join(f"{job};{group};*\n" for job, group in jobs.items())
    page.get_by_test_id("stFileUploader").locator("input[type=file]").last.set_input_files(
        {"name": "jobs.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    )
    expect(page.get_by_text("Public hierarchy", exact=True)).to_be_visible(timeout=30_000)
    expect(page.get_by_role("button", name="Take the hierarchy off")).to_be_visible()
    settle(page)
    step(page, "Release").click()
    settle(page)
    expect(page.get_by_role("heading", name="Take it away")).to_be_visible(timeout=120_000)
    path = download(page, "CSV", tmp_path)
    cells = set(read_release(path)["job"])
    assert cells <= {*jobs, *jobs.values(), "*"}
    assert cells & set(jobs.values())
