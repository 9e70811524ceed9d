"""The first walk: drop a table, see how it was read, give roles, see the risk follow."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import columns_known, drop, give_role, known_text, number, open_page, settle, step

pytestmark = pytest.mark.browser

CITIES = ("Ulm", "Bonn", "Kiel")
ROWS = [(f"Person {n}", 20 + n, CITIES[n % 3], f"{n},5", ("low", "high")[n % 2]) for n in range(30)]
TABLE = "\n".join(["name;age;city;dose;income", *(";".join(map(str, row)) for row in ROWS)]).encode()


def drop_a_table(page: Page) -> None:
    expect(page.get_by_role("heading", name="Bring a table of people")).to_be_visible()
    drop(page, TABLE, "clinic.csv")
    expect(page.get_by_role("heading", name="clinic.csv")).to_be_visible()
    expect(number(page, "Records")).to_have_text("30")
    expect(number(page, "Columns")).to_have_text("5")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    page.get_by_role("tab", name="How it was read").click()
    expect(page.get_by_label("Fields are separated by")).to_have_value(re.compile("semicolon"))
    expect(page.get_by_label("Decimal mark")).to_have_value(re.compile("comma"))

    page.get_by_role("button", name="Next: give roles").click()
    expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible()
    before = columns_known(page)
    give_role(page, "age", "Insensitive", before - 1)

    step(page, "Data").click()
    expect(page.get_by_role("heading", name="clinic.csv")).to_be_visible()
    step(page, "Roles").click()
    expect(page.get_by_text(known_text(before - 1))).to_be_visible()
    give_role(page, "age", "Quasi-identifying", before)


def drop_a_broken_file(page: Page) -> None:
    step(page, "Data").click()
    settle(page)
    page.get_by_text("Bring another table").click()
    drop(page, b"PK\x03\x04 this is no workbook", "broken.xlsx")
    expect(page.get_by_text("The table you had before is still here.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(number(page, "Records")).to_have_text("30")


def bring_another(page: Page, app_server: str) -> None:
    """After the way in at the end of the page, the page starts at its top again, and the way in is closed."""
    scrolled = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    page.set_viewport_size({"width": 1366, "height": 768})
    open_page(page, app_server)
    page.locator(".st-key-sample-hospital button").first.click()
    expect(page.get_by_role("heading", name="Hospital admissions")).to_be_visible()
    settle(page)
    page.get_by_text("Bring another table").click()
    other = page.locator(".st-key-sample-customers button").first
    other.scroll_into_view_if_needed()
    other.click()
    expect(page.get_by_role("heading", name="Hospital admissions")).to_have_count(0)
    settle(page)
    assert page.evaluate(scrolled) == 0
    expect(other).not_to_be_visible()


def follow_a_deep_link(page: Page, app_server: str) -> None:
    open_page(page, app_server, "roles")
    expect(page.get_by_text("There is no table yet")).to_be_visible()
    page.get_by_role("link", name="Bring a table").click()
    expect(page.get_by_role("heading", name="Bring a table of people")).to_be_visible()


def test_tables__are_brought_refused_and_replaced(page: Page, app_server: str) -> None:
    follow_a_deep_link(page, app_server)
    drop_a_table(page)
    drop_a_broken_file(page)
    bring_another(page, app_server)
