"""The walk of somebody who publishes a tree: Nursery, a bound, the repaired tree, assessed again from its file."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from anonymizer.disclosure.publish import from_json, knowledge_of
from anonymizer.reading.files import read_table
from tests.browser.steps import download, drop, number, open_page, settle, step
from tests.browser.test_release_walk import roles
from tests.conftest import ROOT

pytestmark = pytest.mark.browser

BOUND = 0.8


@pytest.mark.sweep(1)
@pytest.mark.parametrize("way", ["Prune", "Withhold"])
def test_nursery__bound__repair__download__assessed_again(
    app_server: str, page: Page, data: Callable[[str], Path], tmp_path: Path, way: str
) -> None:
    content = gzip.decompress(data("nursery.csv.gz").read_bytes())
    original = tmp_path / "nursery.csv"
    original.write_bytes(content)
    frame = read_table(original).frame
    quasi = [name for name in frame.columns if name != "class"]

    open_page(page, app_server)
    drop(page, content, original.name)
    expect(page.get_by_role("heading", name=original.name)).to_be_visible()
    roles(page, frame, "class")
    settle(page)
    step(page, "Disclosure").click()
    expect(page.get_by_role("heading", name="What would a published tree tell?")).to_be_visible()
    expect(number(page, "Highest posterior")).to_have_text("100%")
    settle(page)
    expect(page.get_by_role("slider", name="Highest posterior allowed")).to_have_value(str(BOUND))
    page.get_by_text(re.compile(f"^{way}")).first.click()
    fields = "questions, labels, error rates" if way == "Prune" else "questions, labels"
    expect(page.get_by_text(f"The files hold {fields}, and nothing else")).to_be_visible()
    settle(page)
    published = download(page, "Tree (JSON)", tmp_path)

    report = assess_file(original, quasi, published, BOUND)
    assert report["within_bound"]
    assert report["highest_posterior"] <= BOUND + 1e-6
    knowledge = knowledge_of(from_json(published.read_text("utf-8")))
    assert knowledge.rates == (way == "Prune")
    assert not knowledge.totals
    assert knowledge.rule is None
    assert "n" not in json.loads(published.read_text("utf-8"))["nodes"][0]


def assess_file(original: Path, quasi: list[str], published: Path, bound: float) -> dict[str, object]:
    """What the command line finds in the downloaded tree."""
    command = [sys.executable, "-m", "anonymizer", "disclosure", str(original), "--quasi-identifying", ",".join(quasi)]
    command += ["--target", "class", "--tree", str(published), "--bound", str(bound), "--json"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr + answer.stdout[-2000:]
    report: dict[str, object] = json.loads(answer.stdout)
    return report
