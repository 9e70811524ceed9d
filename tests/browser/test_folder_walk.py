"""A folder on the server in the browser: opened in pieces, roles, tree, and the release a checked folder."""

import re

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import dictionary_schema
from tests.browser.conftest import Alone
from tests.browser.steps import choose, number, open_page, settle, step
from tests.partitions.tables import people, write_pieces

pytestmark = pytest.mark.browser

N = 20_000
CANARY = "Zqwx-canary-town"


def test_a_folder__is_opened_grown_and_released(alone: Alone, page: Page) -> None:
    frame = people(N, 3)
    frame.loc[5:25, "town"] = CANARY
    write_pieces(alone.data / "people", pa.Table.from_pandas(frame, preserve_index=False), [9000, 15_000])
    places, requests = (alone.data, alone.releases), list[str]()
    page.on("request", lambda fetch: requests.append(fetch.url))
    open_page(page, alone.address)
    choose(page, "Or a file on the server", "people/ (all of its files)")
    settle(page)
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_role("heading", name="people")).to_be_visible()
    expect(number(page, "Records")).to_have_text("20,000")
    step(page, "Roles").click()
    expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible()
    settle(page)
    step(page, "Tree").click()
    expect(page.get_by_text(re.compile(r"groups after \d"))).to_be_visible()
    expect(page.get_by_text("Smallest")).not_to_have_count(0)
    settle(page)
    step(page, "Release").click()
    field = page.get_by_label("Name of the release", exact=True)
    expect(field).to_be_visible()
    settle(page)
    field.fill("../outside")
    page.get_by_role("button", name="Write and check the release").click()
    expect(page.get_by_text("This cannot be the name of a release.")).to_be_visible()
    settle(page)
    field.fill("people 2026")
    page.get_by_role("button", name="Write and check the release").click()
    expect(page.get_by_text("is written and checked")).to_be_visible()
    settle(page)
    folder = places[1] / "people 2026"
    assert verify_folder(folder, dictionary_schema(folder), k=10).passed
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Manifest").click()
    assert fetched.value.path().read_bytes() == (folder / "manifest.json").read_bytes()
    text = page.content()
    assert not any(str(place) in text for place in places)
    assert not any(str(place) in address or CANARY in address for place in places for address in requests)
    assert [path.name for path in places[1].iterdir()] == ["people 2026"]
    log = alone.log.read_text("utf-8", "replace")
    assert not any(text in log for text in (CANARY, *map(str, places)))
