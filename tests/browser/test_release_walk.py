"""The main walk: drop a table, give roles, release, download; the command line agrees with the page."""

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from anonymizer.checking.linkage import linkage_risk
from anonymizer.reading.files import read_table
from anonymizer.reading.profile import suggest
from anonymizer.releasing.release import read_release
from anonymizer.schema import Role
from tests.browser.steps import download, drop, give_role, known_text, number, open_page, settle, step
from tests.conftest import ROOT
from ui.controls import ROLE_NAMES

pytestmark = pytest.mark.browser

K = 10
TABLES = {
    "contraceptive": "contraceptive_method",
    "adult_complete": "income",
    "adult": "income",
}
"""Each table and its sensitive column."""


def roles(page: Page, table: pd.DataFrame, sensitive: str) -> None:
    """Accept the suggestions, make one column sensitive and all others quasi-identifying."""
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    suggested = suggest(table)
    left = len(suggested.quasi_identifying)
    for column in suggested.columns:
        role = Role.SENSITIVE if column.name == sensitive else Role.QUASI_IDENTIFYING
        settled_by_button = column.role is Role.INSENSITIVE and role is Role.QUASI_IDENTIFYING
        if column.role is role or settled_by_button:
            continue
        left += (role is Role.QUASI_IDENTIFYING) - (column.role is Role.QUASI_IDENTIFYING)
        give_role(page, column.name, ROLE_NAMES[role], left)
    settle(page)
    page.get_by_role("button", name="Make the rest quasi-identifiers").click()
    expect(page.get_by_text(known_text(len(table.columns) - 1)).first).to_be_visible()


def figure(page: Page, label: str) -> str:
    """A figure of the strip."""
    return str(number(page, label).last.inner_text())


@pytest.mark.sweep(0)
@pytest.mark.parametrize("table", TABLES)
def test_drop__roles__release__download__verify(
    app_server: str, page: Page, data: Callable[[str], Path], tmp_path: Path, table: str
) -> None:
    content = gzip.decompress(data(f"{table}.csv.gz").read_bytes())
    original = tmp_path / f"{table}.csv"
    original.write_bytes(content)
    frame = read_table(original).frame
    sensitive = TABLES[table]
    quasi = [name for name in frame.columns if name != sensitive]

    open_page(page, app_server)
    drop(page, content, original.name)
    expect(page.get_by_role("heading", name=original.name)).to_be_visible()
    roles(page, frame, sensitive)
    settle(page)
    step(page, "Release").click()
    expect(page.get_by_role("heading", name="Ready to hand over")).to_be_visible()
    expect(page.get_by_text(f"This release is {K}-anonymous")).to_be_visible()

    released = download(page, "CSV", tmp_path)
    report = download(page, "Report (JSON)", tmp_path)
    risk = linkage_risk(read_release(released), quasi)
    assert figure(page, "Rows") == f"{risk.records:,}" == f"{len(frame):,}"
    assert figure(page, "Groups") == f"{risk.groups:,}"
    assert figure(page, "Smallest group") == f"{risk.smallest:,}"

    plain = verify_file(released, original, "--quasi-identifying", ",".join(quasi), "--sensitive", sensitive)
    assert plain["passed"]
    assert plain["k_anonymous"]
    assert plain["rows"] == risk.records
    assert figures_of(plain)["k-anonymity"] == risk.smallest

    document = json.loads(report.read_text("utf-8"))
    again = figures_of(verify_file(released, original, "--schema", str(report)))
    assert again.pop("file") == 0, "beside its rows the file holds nothing"
    assert {name: pytest.approx(value) for name, value in figures_of(document["verification"]).items()} == again
    assert document["linking_risk"]["after"]["groups"] == risk.groups
    assert document["provenance"]["output_sha256"]["csv"] == sha256(released)


def verify_file(released: Path, original: Path, *roles: str) -> dict[str, Any]:
    """What the command line finds in the downloaded file, beside the original."""
    command = [sys.executable, "-m", "anonymizer", "verify", str(released), "--original", str(original)]
    command += [*roles, "--k", str(K), "--json"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr + answer.stdout[-2000:]
    checks: dict[str, Any] = json.loads(answer.stdout)
    return checks


def figures_of(verification: dict[str, Any]) -> dict[str, float | None]:
    """The figure of each check by its name."""
    return {check["name"]: check["achieved"] for check in verification["checks"]}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
