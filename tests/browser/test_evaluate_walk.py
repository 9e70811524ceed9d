"""The Evaluate page: a comparison goes on while the page is left, its file agrees with the package, Cancel ends it."""

from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import as_table
from anonymizer.measuring.experiment import evaluate
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from tests.browser.steps import download, open_page, settle, step

pytestmark = pytest.mark.browser


@pytest.fixture
def evaluate_page(page: Page, app_server: str) -> Page:
    """The Evaluate page with the built-in hospital sample and suggested roles."""
    open_page(page, app_server)
    page.locator(".st-key-sample-hospital button").first.click()
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    step(page, "Evaluate").click()
    expect(page.get_by_role("heading", name="Which method suits this table?")).to_be_visible()
    settle(page)
    return page


def compare(page: Page, tmp_path: Path) -> None:
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    step(page, "Roles").click()
    settle(page)
    step(page, "Evaluate").click()
    expect(page.get_by_role("heading", name="What each setting loses")).to_be_visible()
    expect(page.get_by_role("button", name="Means (CSV)")).to_be_visible()
    settle(page)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    outcomes = pd.read_csv(download(page, "Means (CSV)", tmp_path))
    table = SAMPLES["hospital"].load()
    groupings = ["error-risk", "error-digression", "median-mondrian"]
    expected = as_table(
        evaluate(Flow(table, suggest(table)), folds=5, groupings=groupings, generalizers=["uniform", "pack"])
    )
    names = ["grouping", "generalizer", "k"]
    pd.testing.assert_frame_equal(
        outcomes.drop(columns="seconds").sort_values(names, ignore_index=True),
        expected.drop(columns="seconds").sort_values(names, ignore_index=True),
    )


def cancel(page: Page) -> None:
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Stopped before the first fold").or_(page.get_by_text("(stopped early)"))).to_be_visible()
    expect(page.get_by_role("button", name="Compare", exact=True)).to_be_visible()
    expect(page.locator("[data-answer=evaluation]")).to_be_focused()


def test_comparison__is_cancelled__left__found_again__downloaded(evaluate_page: Page, tmp_path: Path) -> None:
    cancel(evaluate_page)
    settle(evaluate_page)
    compare(evaluate_page, tmp_path)
