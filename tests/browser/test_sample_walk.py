"""A survey in the browser: its weight is suggested, a limit on people steers the release, and a register is counted."""

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import drop, open_page, settle, step
from ui.limits import TITLE

pytestmark = pytest.mark.browser

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {"age": RNG.integers(18, 80, 4_000), "sex": RNG.choice(["f", "m"], 4_000), "town": RNG.choice(list("ABCD"), 4_000)}
)
SURVEY = PEOPLE.head(400).assign(
    income=RNG.choice(["low", "middle", "high"], 400), finalwgt=RNG.choice([5.0, 10.0, 15.0], 400)
)


def test_a_survey__its_weight_steers_the_release_and_a_register_is_counted(page: Page, app_server: str) -> None:
    open_page(page, app_server)
    drop(page, SURVEY.to_csv(index=False).encode(), "survey.csv")
    page.get_by_role("button", name="Next: give roles").click(timeout=60_000)
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    step(page, "What if").click()
    page.get_by_test_id("stButtonGroup").get_by_text("As a sample").click(timeout=60_000)
    settle(page)
    expect(page.get_by_text("Known of the population: the sampling weights of the rows").first).to_be_visible()
    page.get_by_text(TITLE, exact=True).first.click()
    settle(page)
    expect(page.get_by_text("the sampling weights in finalwgt").first).to_be_visible()
    field = page.get_by_label("Risk of a record", exact=True)
    field.fill("0.005")
    field.press("Enter")
    settle(page)
    page.get_by_text("I have a file of the population").click()
    settle(page)
    drop(page, PEOPLE.to_csv(index=False).encode(), "register.csv")
    expect(page.get_by_text("Known of the population: a table of the population").first).to_be_visible(timeout=60_000)
    settle(page)
    field = page.get_by_label("k-map: people of the population", exact=True)
    field.fill("300")
    field.press("Enter")
    settle(page)
    expect(page.get_by_text("your table of it").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    step(page, "Release").click()
    settle(page)
    expect(page.get_by_text("people of the population fit the cells of every row").first).to_be_attached(timeout=60_000)
