"""The first walk: drop a table, see how it was read, give roles, see the risk follow."""

import base64
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

CITIES = ("Ulm", "Bonn", "Kiel")
ROWS = [(f"Person {n}", 20 + n, CITIES[n % 3], f"{n},5", ("low", "high")[n % 2]) for n in range(30)]
TABLE = "\n".join(["name;age;city;dose;income", *(";".join(map(str, row)) for row in ROWS)]).encode()
DROP = """([target, encoded, name]) => {
    const bytes = Uint8Array.from(atob(encoded), letter => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    for (const kind of ['dragenter', 'dragover', 'drop'])
        target.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
ROW_HEIGHT = 35


def drop(page: Page, data: bytes, name: str) -> None:
    """A file dropped on the page by drag and drop."""
    zone = page.get_by_test_id("stFileUploaderDropzone").first
    zone.wait_for()
    page.evaluate(DROP, [zone.element_handle(), base64.b64encode(data).decode(), name])


def opened(page: Page, address: str, path: str = "") -> None:
    page.goto(f"{address}/{path}")
    expect(step(page, "Data")).to_be_visible(timeout=60_000)


def step(page: Page, title: str) -> Any:
    """The link to a step, in the line of steps."""
    return page.get_by_test_id("stTopNavLink").filter(has_text=title)


def number(page: Page, label: str) -> Any:
    """The value of a metric."""
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def choose_role(page: Page, row: int, typed: str) -> None:
    """A role chosen in the grid with the keyboard, as a person does: click the cell, open it, type, take it."""
    grid = page.get_by_test_id("stDataFrame").first
    grid.scroll_into_view_if_needed()
    grid.click(position={"x": 240, "y": ROW_HEIGHT * (row + 1) + ROW_HEIGHT // 2})
    page.keyboard.press("Enter")
    page.keyboard.type(typed)
    page.keyboard.press("Enter")


def test_drop_a_table__preview__roles__risk(app_server: str, page: Page) -> None:
    opened(page, app_server)
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
    expect(page.get_by_role("heading", name="What could an attacker know?")).to_be_visible()
    before = columns_known(page)
    choose_role(page, 1, "Insens")
    expect(page.get_by_text(known_text(before - 1))).to_be_visible()

    step(page, "Data").click()
    expect(page.get_by_role("heading", name="clinic.csv")).to_be_visible()
    step(page, "Roles").click()
    expect(page.get_by_text(known_text(before - 1))).to_be_visible()
    choose_role(page, 1, "Quasi")
    expect(page.get_by_text(known_text(before))).to_be_visible()


def test_drop_a_broken_file__one_message__the_table_stays(app_server: str, page: Page) -> None:
    opened(page, app_server)
    drop(page, TABLE, "clinic.csv")
    expect(page.get_by_role("heading", name="clinic.csv")).to_be_visible()
    page.get_by_text("Bring another table").click()
    drop(page, b"PK\x03\x04 this is no workbook", "broken.xlsx")
    expect(page.get_by_text("The table you had before is still here.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(number(page, "Records")).to_have_text("30")


def test_deep_link__has_the_frame_and_leads_to_the_data(app_server: str, page: Page) -> None:
    opened(page, app_server, "roles")
    expect(page.get_by_text("There is no table yet")).to_be_visible()
    page.get_by_role("link", name="Go to Data").click()
    expect(page.get_by_role("heading", name="Bring a table of people")).to_be_visible()


def known_text(columns: int) -> re.Pattern[str]:
    """The sentence that says how many columns an attacker is taken to know."""
    return re.compile(rf"the {columns} quasi-identifying column")


def columns_known(page: Page) -> int:
    """How many columns are quasi-identifying, as the page says."""
    sentence = page.get_by_text(re.compile(r"the \d+ quasi-identifying column")).first
    expect(sentence).to_be_visible()
    return int(re.search(r"the (\d+) quasi-identifying column", sentence.inner_text()).group(1))
