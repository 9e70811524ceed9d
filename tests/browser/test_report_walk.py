"""From a dropped table to packets: attacks run on the page, files fetched, their numbers those of the release."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from anonymizer.attacks.attack import attack
from anonymizer.checking.linkage import linkage_risk
from anonymizer.growing.encode import encode
from anonymizer.reading.files import read_table
from anonymizer.reading.samples import hospital
from anonymizer.releasing.release import read_release
from anonymizer.reporting.packet import check_packet
from anonymizer.reporting.report import digest, schema_from
from tests.browser.steps import download, drop, number, open_page, settle, step
from tests.reporting.test_dossier import Reader
from tests.reporting.test_packet import members_of
from ui.controls import share

pytestmark = pytest.mark.browser


def take_packet(page: Page, folder: Path) -> dict[str, bytes]:
    """The members of the packet that is made and downloaded, once its bytes were checked."""
    page.get_by_role("button", name="Make the packet").click()
    expect(page.get_by_role("button", name="Download the packet")).to_be_visible()
    settle(page)
    path = download(page, "Download the packet", folder)
    assert check_packet(path.read_bytes()).passed
    return members_of(path.read_bytes())


def test_attacks_and_reports(page: Page, app_server: str, tmp_path: Path) -> None:
    content = hospital(400, 7).to_csv(index=False).encode()
    open_page(page, app_server)
    drop(page, content, "people.csv")
    page.get_by_role("button", name="Next: give roles").click()
    page.get_by_role("button", name="Accept suggestions").click()
    settle(page)
    step(page, "Release").click()
    settle(page)
    page.get_by_role("button", name="Run the attacks").click()
    expect(number(page, "Linkability")).to_be_visible()
    settle(page)
    page.get_by_text("What it says beside").click()
    page.get_by_label("Recipient").fill("University")
    page.get_by_label("Purpose").fill("Study of <stays>")  # and the packet at once, the field still in hand
    members = take_packet(page, tmp_path)
    released = tmp_path / "report.json"
    external = download(page, "External report (HTML)", tmp_path)
    assert download(page, "External report (PDF)", tmp_path).read_bytes().startswith(b"%PDF-")
    assert external.name == "release-external-report.html"
    assert external.read_bytes() == members["report.html"]
    assert download(page, "CSV", tmp_path).read_bytes() == members["data/release.csv"]
    released.write_bytes(members["report.json"])
    file = tmp_path / "release.csv"
    file.write_bytes(members["data/release.csv"])
    page.get_by_role("radio", name="For your own files").click()
    settle(page)
    take_packet(page, tmp_path)
    internal = download(page, "Internal report (HTML)", tmp_path)

    schema = schema_from(released)
    table = read_table(content, name="people.csv").frame
    frame = read_release(file, schema)
    criteria = attack(table, frame, schema, encode(table, schema)).outcomes
    # Singling out asks for the steps of public ends, which the file does not say.
    for title, criterion in zip(("Linkability", "Inference"), criteria[1:], strict=True):
        assert number(page, title).inner_text() == share(criterion.after)
    risk = linkage_risk(frame, schema.quasi_identifying)
    for path in (internal, external):
        read = Reader(path.read_text("utf-8"))
        assert read.figures["group.smallest"] == f"{risk.smallest:,}"
        assert read.figures["marketer.after"] == f"{risk.marketer:.4g}"
        assert read.figures["linkability.after"] == f"{criteria[1].after:.4f}"
        assert digest(file.read_bytes()) in read.text
        assert "Study of <stays>" in read.text
    # The file itself opens in the browser and asks nobody for anything.
    page.set_content(external.read_text("utf-8"))
    expect(page.get_by_role("heading", name="About this release")).to_be_visible()
