"""Numeric sensitive columns: German credit by error-digression, digression on every leaf, a concatenated release."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import anonymizer as an
from anonymizer.checking.linkage import linkage_risk
from anonymizer.drawing.groups import worst_groups
from anonymizer.groups.recipe import grouping_words
from anonymizer.pipeline import Result
from anonymizer.reading.files import read_table
from anonymizer.releasing.generalize import GUARANTEES, WRITINGS
from anonymizer.releasing.release import read_release
from anonymizer.reporting.report import schema_from
from anonymizer.settings import SETTINGS
from anonymizer.values import number_text
from tests.browser.steps import choose, download, drop, give_role, known_text, number, open_page, settle, step
from tests.conftest import ROOT
from ui.controls import ROLE_NAMES
from ui.tree.choices import PARTS, VIEWS

pytestmark = pytest.mark.browser

K = 10
SENSITIVE = ["duration", "credit_amount", "installment_commitment"]


@pytest.fixture
def german(data: Callable[[str], Path], tmp_path: Path) -> Path:
    """The table as a plain file."""
    original = tmp_path / "german_credit.csv"
    original.write_bytes(gzip.decompress(data("german_credit.csv.gz").read_bytes()))
    return original


def test_german_credit__error_digression_concatenated(
    app_server: str, page: Page, german: Path, tmp_path: Path
) -> None:
    frame = read_table(german).frame
    quasi = [name for name in frame.columns if name not in SENSITIVE]
    schema = an.Schema.of(frame, quasi_identifying=quasi, sensitive=SENSITIVE)
    method = {"grouping": "error-digression", "generalizer": "uniform"}
    expected = an.anonymize(frame, schema, **method, k=K, writing="concatenate")

    open_page(page, app_server)
    drop(page, german.read_bytes(), german.name)
    expect(page.get_by_role("heading", name=german.name)).to_be_visible(timeout=60_000)
    give_roles(page, frame)
    step(page, "Release").click()
    choose(page, SETTINGS["generalizer"].title, GUARANTEES["uniform"].title)
    expect(page.get_by_text(f"This release is {K}-anonymous")).to_be_visible(timeout=120_000)
    step(page, "Tree").click()
    choose(page, "How groups are made", grouping_words("error-digression")[0])
    see_every_leaf(page, expected)

    step(page, "Release").click()
    expect(page.get_by_text(f"This release is {K}-anonymous")).to_be_visible(timeout=120_000)
    page.get_by_text("How cells are written").first.click()
    choose(page, "Categories", WRITINGS["concatenate"].title)
    expect(page.get_by_text(f"This release is {K}-anonymous")).to_be_visible(timeout=120_000)
    released = download(page, "CSV", tmp_path)
    report = download(page, "Report (JSON)", tmp_path)
    agrees(page, released, report, german, quasi, expected)


def give_roles(page: Page, frame: pd.DataFrame) -> None:
    """Three numbers sensitive, everything else quasi-identifying."""
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    suggested = an.suggest(frame)
    left = len(suggested.quasi_identifying)
    for column in suggested.columns:
        role = an.Role.SENSITIVE if column.name in SENSITIVE else an.Role.QUASI_IDENTIFYING
        if column.role is not role:
            left += 1 if role is an.Role.QUASI_IDENTIFYING else -(column.role is an.Role.QUASI_IDENTIFYING)
            give_role(page, column.name, ROLE_NAMES[role], left)
    expect(page.get_by_text(known_text(len(frame.columns) - len(SENSITIVE))).first).to_be_visible()
    settle(page)


def see_every_leaf(page: Page, expected: Result) -> None:
    """The drawing shows each group with its digression, and the page names the worst of each measure."""
    page.get_by_role("radio", name=VIEWS["tree"]).click()
    settle(page)
    page.get_by_role("button", name="Look", exact=True).click()
    choose(page, "Show", PARTS["pruned"])
    page.get_by_role("slider", name="Levels unfolded").press("End")
    settle(page)
    cut, numeric = expected.pruning.cut(), expected.risk.numeric
    assert numeric is not None
    expect(page.locator(".stage g.leaf")).to_have_count(len(cut), timeout=60_000)
    for node in cut:
        label = page.locator(f".stage #n{node}").text_content() or ""
        assert f"Δ {number_text(numeric.digression[node])}" in label
    for worst in worst_groups(expected.tree, expected.risk, expected.encoded, cut):
        expect(page.get_by_role("button", name=f"{worst.what} · group {worst.node:,}")).to_be_visible()
    assert number(page, "Groups").last.inner_text() == str(len(cut))


def agrees(page: Page, released: Path, report: Path, original: Path, quasi: list[str], expected: Result) -> None:
    """The command line, the page, the report and the package say the same of the downloaded file."""
    document = json.loads(report.read_text("utf-8"))
    frame = read_release(released)
    assert any("+" in str(cell) for name in quasi for cell in frame[name])
    schema = schema_from(report)
    assert [schema[name].role for name in SENSITIVE] == [an.Role.SENSITIVE] * 3
    assert schema.quasi_identifying == tuple(quasi)
    settings = {"grouping": "error-digression", "generalizer": "uniform", "k": K, "writing": "concatenate"}
    again = an.anonymize(read_table(original).frame, schema, **settings).release.frame()
    for name in quasi:
        assert sorted(map(str, frame[name])) == sorted(map(str, again[name]))
    np.testing.assert_array_equal(
        np.sort(frame["credit_amount"].astype(float)), np.sort(read_table(original).frame["credit_amount"])
    )
    command = [sys.executable, "-m", "anonymizer", "verify", str(released), "--original", str(original)]
    command += ["--schema", str(report), "--k", str(K), "--json"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stderr + answer.stdout[-2000:]
    checks: dict[str, Any] = json.loads(answer.stdout)
    assert checks["passed"]
    figures = {check["name"]: check["achieved"] for check in checks["checks"]}
    achieved = {check["name"]: check["achieved"] for check in document["verification"]["checks"]}
    assert figures.pop("file") == 0, "beside its rows the file holds nothing"
    assert figures == {name: pytest.approx(value) for name, value in achieved.items()}
    risk = linkage_risk(frame, quasi)
    assert number(page, "Groups").last.inner_text() == f"{risk.groups:,}"
    assert number(page, "Smallest group").last.inner_text() == f"{risk.smallest:,}" == f"{figures['k-anonymity']:.0f}"
    by_figure = {worst["figure"]: worst for worst in document["worst_groups"]}
    for worst in worst_groups(expected.tree, expected.risk, expected.encoded, expected.pruning.cut()):
        assert (by_figure[worst.figure]["node"], by_figure[worst.figure]["column"] or "") == (worst.node, worst.column)
