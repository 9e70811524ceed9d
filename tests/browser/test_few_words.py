"""Pages say little at first sight, and a table of fifty columns takes few clicks: counted in the browser, from dropping
a table to its packet."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.reporting.packet import check_packet
from tests.browser.steps import drop, open_page, settle
from tests.browser.test_roles_walk import fifty
from tests.pages.test_reading import words_of

pytestmark = pytest.mark.browser

MOST_WORDS = {"Data": 120, "Roles": 120, "Tree": 120, "Ready": 120, "Release": 150}
MOST_SENTENCES = 80
MOST_CLICKS = 12
MOST_REPAIRS = 6
TEXTS = """() => {
    const others = 'button, label, summary, table, nav, header, [data-testid=stMetric], [data-testid=stDataFrame], '
        + '.st-key-frame, .st-key-strip, [data-testid=stWidgetLabel], [data-testid=stButtonGroup], [role=tabpanel], '
        + '[role=tab], [data-testid=stFileUploaderDropzone], details:not([open])';
    const texts = [];
    for (const one of document.querySelectorAll('[data-testid=stMain] :is(h1, h2, h3, p, li)')) {
        const {width, height} = one.getBoundingClientRect();
        if (one.closest(others) || !width || !height) continue;
        const copy = one.cloneNode(true);
        copy.querySelectorAll('.stMarkdownBadge, [data-testid=stIconMaterial]').forEach(part => part.remove());
        texts.push(copy.textContent.trim());
    }
    return texts;
}"""
"""What is read at first sight: headlines and sentences, without labels, figures, tables, navigation, strip and tabs."""


def survey() -> pd.DataFrame:
    """A survey: a person a row, a weight, answers on scales."""
    rng = np.random.default_rng(11)
    n = 400
    columns = {
        "caseid": np.arange(n) + 1000, "weight": rng.uniform(0.5, 2, n).round(3),
        "region": rng.choice(["north", "south", "east", "west"], n), "age": rng.integers(18, 90, n),
        "sex": rng.choice(["female", "male"], n), "education": rng.choice(["low", "middle", "high"], n),
        "children": rng.integers(0, 5, n), "income": rng.integers(12, 90, n) * 1000,
        "party": rng.choice(["a", "b", "c"], n), "health": rng.choice(["good", "fair", "poor"], n),
    }  # fmt: skip
    columns |= {f"trust_{number}": rng.integers(1, 6, n) for number in range(1, 7)}
    return pd.DataFrame(columns)


def stops() -> pd.DataFrame:
    """A city's stops of drivers."""
    rng = np.random.default_rng(12)
    n = 400
    return pd.DataFrame(
        {
            "stop_date": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D"),
            "district": rng.choice([f"district {number}" for number in range(1, 9)], n),
            "driver_age": rng.integers(16, 85, n), "driver_race": rng.choice(["asian", "black", "white"], n),
            "driver_sex": rng.choice(["F", "M"], n), "violation": rng.choice(["speed", "light", "belt"], n),
            "search_conducted": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
            "outcome": rng.choice(["warning", "citation", "arrest"], n, p=[0.6, 0.3, 0.1]),
        }
    )  # fmt: skip


class Walk:
    """A walk that counts its clicks, and the words and sentences of each page."""

    def __init__(self, page: Page, table: pd.DataFrame) -> None:
        self.page, self.clicks = page, 0
        self.names = re.compile("|".join(map(re.escape, sorted(table.columns, key=len, reverse=True))))
        self.words: dict[str, int] = {}
        self.sentences: list[str] = []

    def click(self, name: str) -> None:
        self.page.get_by_role("button", name=name).first.click()
        self.clicks += 1
        settle(self.page)

    def look(self, name: str) -> None:
        settle(self.page)
        expect(self.page.get_by_role("button", name="Cancel")).to_have_count(0)  # nothing is being worked out
        settle(self.page)
        texts = [self.names.sub("", text) for text in self.page.evaluate(TEXTS)]
        self.words[name] = sum(len(words_of(text)) for text in texts)
        parts = [part for text in texts for part in re.split(r"(?<=[.!?])\s+", text)]
        self.sentences += [part for part in parts if part.endswith((".", "!", "?")) and len(words_of(part)) > 2]

    def repair(self) -> None:
        """Take the first repair of each open risk, or write a reason where there is none."""
        for _ in range(MOST_REPAIRS):
            risks = self.page.locator("[class*='st-key-finding-stops-']").filter(has_not_text="Your reason")
            if not risks.count():
                return
            ways = risks.first.locator("[class*='st-key-repair-'] button")
            if ways.count():
                ways.first.click()
            else:
                risks.first.get_by_role("button", name="Release it, with a reason").click()
                settle(self.page)
                field = self.page.get_by_label(re.compile("^Why release it"))
                field.fill("everybody in it agreed to that")
                field.press("Enter")
                self.clicks += 1
            self.clicks += 1
            settle(self.page)


@pytest.mark.sweep(0)
@pytest.mark.parametrize("make", [fifty, survey, stops])
def test_from_drop_to_packet__few_words_and_clicks(make, app_server: str, page: Page) -> None:
    table = make()
    walk = Walk(page, table)
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(page, app_server)
    drop(page, table.to_csv(index=False).encode(), "table.csv")
    expect(page.get_by_role("button", name="Next: give roles")).to_be_visible()
    walk.look("Data")
    walk.click("Next: give roles")
    walk.look("Roles")
    walk.click("Next: grow the tree")
    expect(page.get_by_role("button", name="Next: Ready")).to_be_enabled()
    walk.look("Tree")
    walk.click("Next: Ready")
    expect(page.get_by_role("heading", name="What it costs")).to_be_visible()
    walk.look("Ready")
    walk.repair()
    walk.click("Next: Release")
    expect(page.get_by_role("button", name="Make the packet")).to_be_enabled()
    walk.look("Release")
    walk.click("Make the packet")
    with page.expect_download() as waiting:
        walk.click("Download the packet")
    assert check_packet(Path(waiting.value.path()).read_bytes()).passed
    assert {name: n for name, n in walk.words.items() if n > MOST_WORDS[name]} == {}, walk.words
    assert len(walk.sentences) <= MOST_SENTENCES
    assert walk.clicks <= MOST_CLICKS
