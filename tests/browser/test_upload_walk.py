"""A large upload in the browser: kept in pieces, its tree, its release as one file that the Verify page checks."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import dictionary_schema
from anonymizer.partitions.parted import LARGE
from tests.browser.steps import download, number, open_page, settle, step
from tests.conftest import COMMAND, ROOT, Served, serve

pytestmark = pytest.mark.browser

CANARY = "Zqwx-canary-town"
LEVELS = {
    "age": [*range(18, 90)], "town": [*(f"town {at:02}" for at in range(29)), CANARY], "sex": ["f", "m"],
    "job": ["clerk", "nurse", "driver", "teacher"], "children": [*range(6)], "diagnosis": ["flu", "cold", "none"],
}  # fmt: skip
N = LARGE // len(LEVELS) + 1


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file just large enough to be kept in pieces."""
    rng = np.random.default_rng(4)
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(levels), N, np.int32)), pa.array(levels))
        for name, levels in LEVELS.items()
    }
    columns["age"] = columns["age"].cast(pa.int64())
    columns["children"] = columns["children"].cast(pa.int64())
    path = tmp_path_factory.mktemp("upload") / "people.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard whose temporary files would be seen."""
    log, place = tmp_path_factory.mktemp("dashboard") / "server.log", tmp_path_factory.mktemp("temporary")
    with serve(COMMAND, ROOT, log, {**os.environ, "TMPDIR": str(place)}) as running:
        yield running
        assert not [path for path in place.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert CANARY not in log.read_text("utf-8", "replace")


def test_a_large_upload__is_released_as_one_file(dashboard: Served, table: Path, page: Page, tmp_path: Path) -> None:
    page.set_default_timeout(120_000)
    open_page(page, dashboard.address)
    page.get_by_test_id("stFileUploader").first.locator("input[type=file]").set_input_files(table)
    expect(page.get_by_text("kept in pieces")).to_be_visible(timeout=120_000)
    expect(number(page, "Records")).to_have_text(f"{N:,}")
    step(page, "Roles").click()
    expect(page.get_by_role("heading", name="Who could know what?")).to_be_visible(timeout=60_000)
    settle(page)
    step(page, "Tree").click()
    expect(page.get_by_text(re.compile(r"groups after \d"))).to_be_visible(timeout=120_000)
    settle(page)
    step(page, "Release").click()
    page.get_by_role("button", name="Make and check the release").click()
    expect(page.get_by_text("is made and checked")).to_be_visible(timeout=180_000)
    packed, report = (download(page, label, tmp_path) for label in ("Download as one file", "Report"))
    assert packed.name == "people-released.zip"
    assert verify_folder(packed, dictionary_schema(packed), k=10).passed
    step(page, "Verify").click()
    settle(page)
    uploader = page.get_by_test_id("stFileUploader")
    uploader.first.locator("input[type=file]").set_input_files(packed)
    expect(page.get_by_text("drop its report, too")).to_be_visible(timeout=60_000)
    settle(page)
    uploader.last.locator("input[type=file]").set_input_files(report)
    expect(page.get_by_text("This is the file that the report speaks of")).to_be_visible(timeout=120_000)
