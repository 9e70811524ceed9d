"""What-if in the browser: dragged quickly, the page ends with the figures of the last k, and with no others."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from anonymizer.checking.linkage import linkage_risk
from anonymizer.pipeline import anonymize
from anonymizer.reading.files import read_table
from anonymizer.releasing.generalize import GUARANTEES
from anonymizer.settings import SETTINGS
from anonymizer.whatif.project import from_json
from tests.browser.steps import choose, download, drop, number, open_page, see_frames, settle, step
from tests.sweeps import SWEEPS
from ui.controls import count, share

pytestmark = pytest.mark.browser

PLACES = (0.3, 0.05, 0.5, 0.12, 0.25, 0.02, 0.16, 0.08)
"""Where the thumb is dragged, as shares of the slider's length, one right after another."""


def drag(page: Page, places: tuple[float, ...], pause: int) -> None:
    """The thumb of k pulled from place to place, let go at each, with so many milliseconds between."""
    track = page.get_by_test_id("stSlider").first.bounding_box()
    assert track is not None
    for place in places:
        box = page.get_by_role("slider").first.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        for part in (0.3, 0.7, 1.0):
            page.mouse.move(x + (track["x"] + place * track["width"] - x) * part, y)
        page.mouse.up()
        page.wait_for_timeout(pause)


@pytest.mark.sweep(0)
@pytest.mark.parametrize("table", ["contraceptive", "adult_complete"])
def test_drag_quickly__the_last_k_is_what_is_shown(
    app_server: str, page: Page, data: Callable[[str], Path], tmp_path: Path, table: str
) -> None:
    content = gzip.decompress(data(f"{table}.csv.gz").read_bytes())
    file = tmp_path / f"{table}.csv"
    file.write_bytes(content)
    open_page(page, app_server)
    drop(page, content, file.name)
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    step(page, "What if").click()
    expect(page.get_by_text("This release is").first).to_be_visible()
    choose(page, SETTINGS["generalizer"].title, GUARANTEES["uniform"].title)  # draws nothing, so it can be recomputed
    settle(page)

    for pause in (0, 60, 300) if SWEEPS else (0,):
        drag(page, PLACES, pause)
        settle(page)
        see_frames(page, 90)  # a slider says its place a moment after it was let go
        settle(page)
        k = int(page.get_by_test_id("stSliderThumbValue").first.inner_text())
        project = downloaded_project(page, tmp_path)
        assert project.parameters["k"] == k
        result = anonymize(read_table(file).frame, project.schema, generalizer="uniform", k=k)
        risk = linkage_risk(result.release.frame(), project.schema.quasi_identifying)
        for label, value in {
            "Groups": count(risk.groups),
            "Smallest group": count(risk.smallest),
            "Highest risk": share(risk.highest),
            "Detail lost (GCP)": share(result.utility.gcp),
        }.items():
            assert number(page, label).first.inner_text() == value, (k, label)
        expect(page.get_by_text(f"This release is {k}-anonymous")).to_be_visible()
        expect(page.get_by_text(f"(smallest class: {count(risk.smallest)} rows)")).to_be_visible()
        loss = max(result.utility.ncp_by_column.items(), key=lambda item: item[1])
        expect(page.get_by_text(f"{loss[0]} lost most detail ({loss[1]:.1%})")).to_be_visible()


def downloaded_project(page: Page, folder: Path):  # type: ignore[no-untyped-def]
    """The project as the page saves it; then back to the first view."""
    page.get_by_role("radio", name="History and project").or_(
        page.get_by_test_id("stButtonGroup").get_by_text("History and project")
    ).first.click()
    settle(page)
    saved = download(page, "Save the project", folder)
    page.get_by_test_id("stButtonGroup").get_by_text("At a glance").click()
    settle(page)
    text = saved.read_text("utf-8")
    assert "records" in json.loads(text)["table"]
    return from_json(text)
