"""The forest walk: drop Nursery, bring its codebook, spend β = 1, take the rules away; the ledger equals β."""

import csv
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import download, drop, number, open_page, settle, step

pytestmark = pytest.mark.browser


def panel(page: Page, name: str) -> Locator:
    """The button that shows one part of the forest."""
    return page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True)


def test_nursery__budget_of_one__rules_downloaded__ledger_equals_the_budget(
    app_server: str, page: Page, data: Callable[[str], Path], tmp_path: Path
) -> None:
    path = data("nursery.csv.gz")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    codebook = {name: sorted(set(table[name])) for name in table.columns}
    open_page(page, app_server)
    drop(page, gzip.decompress(path.read_bytes()), "nursery.csv")
    expect(page.get_by_role("heading", name="nursery.csv")).to_be_visible()
    step(page, "Forest").click()
    expect(page.get_by_role("heading", name="Publish rules instead of a table")).to_be_visible()
    settle(page)
    target = page.get_by_test_id("stSelectbox").filter(has_text="What the forest predicts").locator("input")
    target.click()
    target.fill("class")
    page.get_by_role("option", name="class", exact=True).click()
    settle(page)
    expect(page.get_by_text("come from the records")).to_be_visible()
    expect(page.get_by_role("button", name="Spend β = 1 and grow")).to_have_count(0)
    page.get_by_text("Public values of every column").click()
    page.get_by_test_id("stFileUploader").first.locator("input[type=file]").set_input_files(
        {"name": "codebook.json", "mimeType": "application/json", "buffer": json.dumps(codebook).encode()}
    )
    expect(page.get_by_text("All values are public")).to_be_visible()
    page.get_by_role("button", name="Spend β = 1 and grow").click()
    expect(page.get_by_text("This forest may be published")).to_be_visible()
    settle(page)
    expect(number(page, "Spent")).to_have_text("1")
    expect(page.get_by_text("Spent on this table in this session: 1 of 3")).to_be_visible()

    expect(page.locator(".stage svg").first).to_be_visible()
    panel(page, "Rules").click()
    described = json.loads(download(page, "Rules (JSON)", tmp_path).read_text("utf-8"))
    assert described["private"]
    assert described["warnings"] == []
    assert described["mode"] == "strict"
    assert math.fsum(query["epsilon"] for query in described["ledger"]["dearest"]) == pytest.approx(1.0, rel=1e-9)
    assert described["spent"] == pytest.approx(1.0, rel=1e-9)
    rules = list(csv.DictReader(download(page, "Rules (CSV)", tmp_path).read_text("utf-8").splitlines()))
    assert len(rules) == len(described["rules"]) > 20
    assert {rule["class"] for rule in rules} <= set(codebook["class"])
    right = sum(json_rule["class"] == "not_recom" for json_rule in described["rules"])
    assert right > 0
    assert "if " in download(page, "Rules (text)", tmp_path).read_text("utf-8")

    panel(page, "Budget").click()
    expect(page.get_by_text("A record pays ε = 1 of the budget of 1")).to_be_visible()
    panel(page, "Picture").click()
    expect(page.locator(".stage svg").first).to_be_visible()
