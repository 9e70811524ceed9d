"""The recipient's page as a file: nothing in it reaches a network, and its policy names what it runs."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from anonymizer.cli.main import main
from anonymizer.reporting.packet import check_packet
from anonymizer.reporting.packet_files import INTERNAL, MEMBERS, PAGE, REQUIRED, TABLES
from anonymizer.reporting.recipient_page import SCRIPTS, recipient_page
from anonymizer.version import VERSION
from tests.cli.test_main import Capture
from tests.reporting.test_packet import members_of, packet, with_manifest

FOLDER = Path(__file__).resolve().parents[2] / "anonymizer" / "reporting" / "recipient"
TEXT = recipient_page().decode()
REACHING = (
    "://", "fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import(", "src=", "href=", "@import",
    "url(", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "new Function", "localStorage",
    "sessionStorage", "indexedDB", "document.cookie", "Worker(", "<link", "<iframe", "<form", "onclick=", "onload=",
)  # fmt: skip
"""What would load, send or keep something, or run text."""


def source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_page__has_a_policy_of_its_own_script_and_style() -> None:
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', TEXT)
    script, style = (re.findall(f"<{tag}>(.*?)</{tag}>", TEXT, re.DOTALL) for tag in ("script", "style"))
    assert policy
    assert (len(script), len(style), TEXT.count("<script"), TEXT.count("<style")) == (1, 1, 1, 1)
    allowed = f"script-src {source(script[0])}; style-src {source(style[0])}; base-uri 'none'"
    assert policy[1] == f"default-src 'none'; {allowed}"
    assert TEXT.index("Content-Security-Policy") < TEXT.index("<style")


@pytest.mark.parametrize("word", REACHING)
def test_page__loads_sends_and_keeps_nothing(word: str) -> None:
    assert word not in TEXT


def test_page__is_made_of_the_files_of_its_folder() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.js" for name in SCRIPTS} | {"page.html", "page.css"}
    for path in FOLDER.glob("*.js"):
        text = path.read_text("utf-8")
        assert text in TEXT
        assert text.startswith("// ")
        assert text.count("\n") <= 600
        assert max(map(len, text.splitlines())) <= 120
    assert f"Copse {VERSION}" in TEXT


def test_packet__has_the_page_and_no_other() -> None:
    members = members_of(packet("external"))
    assert members[PAGE] == recipient_page()
    assert PAGE in members["README.txt"].decode()
    members[PAGE] = members[PAGE].replace(b"holds", b"held!", 1)
    assert any(PAGE in sentence for sentence in check_packet(with_manifest(members)).differences)


def test_every_packet__has_what_is_required() -> None:
    assert set(MEMBERS) - set(TABLES.values()) | {TABLES["csv"]} == REQUIRED
    assert not REQUIRED & set(INTERNAL)


def test_verify__writes_the_page_to_a_free_name(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "verify.html"
    assert main(["verify", "--page", str(path)]) == 0
    assert f"Written: {path}" in capsys.readouterr().out
    assert path.read_bytes() == recipient_page()
    assert main(["verify", "--page", str(path)]) == 2
    assert "is there already" in capsys.readouterr().err
    (tmp_path / "release.csv").write_text("a\n1\n", "utf-8")
    assert main(["verify", str(tmp_path / "release.csv"), "--page", str(tmp_path / "another.html")]) == 2
    assert "verifies nothing" in capsys.readouterr().err
    assert not (tmp_path / "another.html").exists()


def test_verify__of_nothing_is_one_line(capsys: Capture) -> None:
    assert main(["verify"]) == 2
    assert capsys.readouterr().err == "copse: Nothing is named that could be verified. Name a release, or a packet.\n"
