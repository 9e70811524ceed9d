"""Names kept by mistake: they do not leave until a reason is typed, and the report keeps it."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from anonymizer.reading.samples import hospital
from anonymizer.releasing.release import read_release
from tests.browser.steps import columns_known, download, drop, give_role, number, open_page, settle, step

pytestmark = pytest.mark.browser

WHY = "the Zqwxcanary board has agreed"
TABLE = hospital(300, 3)[["name", "age", "sex", "diagnosis"]]


def test_names_kept_by_mistake__leave_for_a_typed_reason_only(page: Page, app_server: str, tmp_path: Path) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    open_page(page, app_server)
    drop(page, TABLE.to_csv(index=False).encode(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    settle(page)
    step(page, "Roles").click()
    quasi = columns_known(page)
    give_role(page, "name", "Insensitive", quasi)

    step(page, "Release").click()
    settle(page)
    expect(page.get_by_role("button", name="Make the packet")).to_be_disabled()
    page.get_by_role("link", name="See all that was looked for").click()
    expect(page.get_by_role("heading", name="Two things stand in the way")).to_be_visible()
    expect(page.get_by_text("“name” is released unchanged, and its values look like names of people.")).to_be_visible()
    assert number(page, "Ready to leave?").last.inner_text() == "2 open"
    expect(page.get_by_role("button", name="Release (2 open)")).to_be_disabled()
    for left in (1, 0):
        settle(page)
        page.get_by_role("button", name="Give a reason…").first.click()
        field = page.get_by_label("Why may it leave all the same?")
        field.fill("so")
        field.press("Enter")
        expect(page.get_by_text("At least 3 words.")).to_be_visible()
        field.fill(WHY)
        field.press("Enter")
        expect(page.get_by_text(f"Your reason: {WHY}")).to_have_count(2 - left)
    expect(page.get_by_role("heading", name="Nothing stands in the way: 2 reasons given")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Release", exact=False).last.click()
    expect(page.get_by_role("heading", name="Check and download")).to_be_visible()
    settle(page)
    assert list(read_release(download(page, "CSV", tmp_path)).columns) == list(TABLE.columns)
    internal = json.loads(download(page, "Report (JSON)", tmp_path).read_text("utf-8"))
    assert [finding["reason"] for finding in internal["gate"]["findings"]].count(WHY) == 2
    assert WHY not in download(page, "For the recipient (JSON)", tmp_path).read_text("utf-8")
    assert not [address for address in addresses if "Zqwxcanary" in address]

    step(page, "Ready to leave?").click()
    page.get_by_role("button", name="Take it back").first.click()
    expect(page.get_by_role("heading", name="One thing stands in the way")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Leave it out").first.click()
    expect(page.get_by_role("heading", name="Nothing stands in the way", exact=True)).to_be_visible()
