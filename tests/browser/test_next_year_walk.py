"""Next year's file: last project, a table of other people, what changed, a checked packet, and *Verify* of it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from anonymizer.flow import Flow
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.release import read_release
from anonymizer.reporting.packet import check_packet
from anonymizer.whatif.next_year import profile_of
from anonymizer.whatif.project import Project, outward, to_json
from tests.browser.steps import drop, make_packet, open_page, settle, step
from tests.reporting.test_packet import members_of

pytestmark = pytest.mark.browser

MARK = "unclear"
"""The text that means "missing" in these files; only the steward knows."""


def test_project_and_next_years_table__to_a_checked_release(page: Page, app_server: str, tmp_path: Path) -> None:
    then, now = hospital(300, 1), hospital(240, 2)
    schema = suggest(then)
    flow = Flow(then, schema)
    project = Project(
        schema, dict(flow.settings.but(k=8)), table_name="stays 2026.csv", records=300,
        reading=ReadOptions(missing=("", MARK)), last=profile_of(flow),
    )  # fmt: skip
    file = tmp_path / "last.json"
    file.write_text(to_json(outward(project), schema))
    name = schema.quasi_identifying[-1]
    now[name] = now[name].astype(str).where(now.index % 10 != 0, MARK)
    now["ward"] = [f"ward {row % 3}" for row in range(len(now))]

    open_page(page, app_server)
    drop(page, now.to_csv(index=False).encode(), "stays 2027.csv")
    expect(page.get_by_role("heading", name="stays 2027.csv")).to_be_visible()
    settle(page)
    page.locator("input[type=file][accept*=json]").last.set_input_files(file)
    expect(page.get_by_role("heading", name="What changed since last time")).to_be_visible()
    expect(page.get_by_text("'ward' is new; its role is suggested")).to_be_visible()
    expect(page.get_by_text(f"10% of '{name}' is missing; it was 0%")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Compare groups and risk").press("Enter")
    expect(page.get_by_test_id("stDataFrame").filter(visible=True).first).to_be_visible()
    settle(page)
    step(page, "Release").click()
    expect(page.get_by_text("This release is 8-anonymous").first).to_be_visible()
    expect(page.get_by_text("this release and last time's leave together cannot be counted").first).to_be_visible()
    expect(page.get_by_role("button", name="Make the packet")).to_be_disabled()
    settle(page)
    page.get_by_role("button", name="Give a reason…").first.click()
    settle(page)
    page.get_by_label("Why may it leave all the same?").fill("nobody is in both tables")
    page.keyboard.press("Enter")
    settle(page)
    make_packet(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the packet").click()
    packet = Path(waiting.value.path()).read_bytes()
    check = check_packet(packet)
    assert check.passed
    assert check.claim is not None
    assert check.claim.limits["k"] == 8
    assert len(read_release(members_of(packet)["data/release.csv"])) == len(now)

    step(page, "Verify").click()
    settle(page)
    drop(page, packet, "release.zip")
    expect(page.get_by_text("is whole: every file is the one")).to_be_visible()
    expect(page.get_by_text("This release is 8-anonymous").first).to_be_visible()
