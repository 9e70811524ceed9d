"""An SPSS survey with weights and households, and its codebook: labels on every page, and a checked file of SPSS."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.labelled.read import read_labelled
from anonymizer.labelled.write import read_written
from tests.browser.steps import download, drop, open_page, settle, step

pytestmark = pytest.mark.browser

LABELS = {
    "v1": "Age in years", "v2": "Sex", "v3": "Marital status", "v4": "Long-standing illness <b>x</b>",
    "hh": "Number of the household", "w": "Design weight",
}  # fmt: skip
CODES: dict[str, dict[Any, str]] = {
    "v2": {1.0: "female", 2.0: "male"},
    "v3": {1.0: "single", 2.0: "married", 3.0: "widowed", 9.0: "refused"},
    "v4": {1.0: "asthma", 2.0: "none", 3.0: "diabetes"},
}
BOOK = (
    "name,role,kind,domain\nv1,quasi-identifying,numeric,0..120\nv2,quasi-identifying,,\nv3,quasi-identifying,,\n"
    "v4,sensitive,,\nhh,household,,\nw,weight,,\n"
)


def survey(folder: Path) -> Path:
    """A file as SPSS writes it."""
    import pyreadstat

    rng, n = np.random.default_rng(3), 400
    age = rng.integers(18, 90, n).astype(float)
    frame = pd.DataFrame(
        {
            "v1": age, "v2": rng.choice([1.0, 2.0], n),
            "v3": rng.choice([1.0, 2.0, 3.0, 9.0], n, p=[0.4, 0.4, 0.15, 0.05]),
            "v4": np.where(age > 60, rng.choice([1.0, 3.0], n), rng.choice([1.0, 2.0], n)),
            "hh": np.arange(n) // 2 + 1.0, "w": rng.uniform(50, 150, n).round(2),
        }
    )  # fmt: skip
    path = folder / "survey.sav"
    pyreadstat.write_sav(
        frame, path, column_labels=LABELS, variable_value_labels=CODES, missing_ranges={"v3": [9.0]},
        variable_measure={"v1": "scale", "v2": "nominal", "v3": "nominal", "v4": "nominal"},
    )  # fmt: skip
    return path


def test_survey__with_labels_from_drop_to_a_checked_file(page: Page, app_server: str, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    path, book = survey(tmp_path), tmp_path / "book.csv"
    book.write_text(BOOK, "utf-8")
    open_page(page, app_server)
    drop(page, path.read_bytes(), path.name)
    expect(page.get_by_role("heading", name=path.name)).to_be_visible()
    settle(page)
    page.locator("input[type=file][accept*=json]").last.set_input_files(book)
    expect(page.get_by_text("The codebook of 6 columns holds for this table")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Next: give roles").click()
    expect(page.get_by_text("Long-standing illness <b>x</b> (v4)").first).to_be_visible()
    settle(page)
    step(page, "Tree").click()
    stage = page.locator(".stage svg").first
    expect(stage).to_be_visible()
    settle(page)
    expect(stage.get_by_text(re.compile("Age in years")).first).to_be_attached()
    step(page, "Release").click()
    expect(page.get_by_text(re.compile("^This release is 10-anonymous"))).to_be_visible()
    settle(page)
    file = download(page, "SPSS", tmp_path).read_bytes()
    rows, beside = read_written(file, "sav")
    assert beside == ()
    assert list(rows.columns) == ["v1", "v2", "v3", "v4"]
    assert len(rows) == 400
    assert rows.groupby(["v1", "v2", "v3"], dropna=False, observed=True).size().min() >= 10
    columns = {column.name: column for column in read_labelled(file, "sav", "it", stop=lambda rows, width: None)}
    assert {name: column.variable.label for name, column in columns.items()} == {name: LABELS[name] for name in columns}
    assert dict(columns["v4"].variable.levels) == {text: code for code, text in CODES["v4"].items()}
