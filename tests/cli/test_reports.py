"""Reports for people from the terminal: of the file that was written, never of a release that fails unseen."""

import hashlib
import json
from pathlib import Path

import pytest

from anonymizer.checking.linkage import linkage_risk
from anonymizer.growing.encode import encode
from anonymizer.provenance.report import schema_from
from anonymizer.reading.files import read_table
from anonymizer.releasing.release import read_release
from anonymizer.studies.attack import ATTACKS, attack
from anonymizer.values import share
from tests.cli.test_main import Capture, files, folder, make
from tests.reporting.test_dossier import Reader

__all__ = ["folder"]

STATEMENT = [
    "--purpose",
    "Study of <costs>",
    "--recipient",
    "University",
    "--approved-by",
    "C. D.",
    "--approved-by",
    "E. F.",
]


def test_reports__are_of_the_file_that_was_written(capsys: Capture) -> None:
    options = ["--internal", "in.html", "--external", "ex.HTML", "--report", "report.json"]
    assert make("--out", "out.csv", *options, *STATEMENT) == 0
    assert "Written: out.csv, in.html, ex.HTML" in capsys.readouterr().out
    schema = schema_from("report.json")
    table, released = read_table("people.csv").frame, read_release("out.csv", schema)
    risk = linkage_risk(released, schema.quasi_identifying)
    criteria = attack(table, released, schema, encode(table, schema))
    for name in ("in.html", "ex.HTML"):
        page = Reader(Path(name).read_text("utf-8"))
        assert page.figures["groups"] == f"{risk.groups:,}"
        assert page.figures["prosecutor.after"] == share(risk.highest)
        assert page.figures["linkability.after"] == share(criteria["linkability"].after)
        assert hashlib.sha256(Path("out.csv").read_bytes()).hexdigest() in page.text
        assert all(text in page.text for text in STATEMENT[1::2])
    assert "people.csv" in Path("in.html").read_text("utf-8")
    assert "people.csv" not in Path("ex.HTML").read_text("utf-8")


def test_attack__says_what_each_achieves(capsys: Capture) -> None:
    assert make("--generalizer", "refine", "--report", "report.json") == 0
    quiet = capsys.readouterr().out
    shares = json.loads(Path("report.json").read_text("utf-8"))["isolation"]
    assert f"{shares['records']:.1%} of the rows are singled out by their own box" in quiet
    assert "Downcoding" not in quiet
    papers = ["--grouping", "error-risk", "--generalizer", "refine"]
    assert make(*papers, "--attack", "--attack-seconds", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ATTACKS:
        assert len([line for line in lines if line.startswith(f"{name.capitalize()}: ")]) == 1
    assert any("This method has no secret" in line for line in lines)
    assert make("--attack", "--attack-seconds", "-1") == 2
    assert "seconds" in capsys.readouterr().err


def test_pdf__by_its_ending(capsys: Capture) -> None:
    assert make("--external", "ex.pdf") == 0
    assert files() == {"ex.pdf"}
    assert Path("ex.pdf").read_bytes().startswith(b"%PDF-")
    assert "Written: ex.pdf" in capsys.readouterr().out


def test_a_failed_release__has_reports_for_a_reason_only(capsys: Capture) -> None:
    assert make("--generalizer", "tiered", "--internal", "in.html") == 1
    assert files() == set()
    assert "Not written, because a check failed" in capsys.readouterr().out
    assert make("--generalizer", "tiered", "--internal", "in.html", "--override", "the board agreed") == 0
    text = Path("in.html").read_text("utf-8")
    assert "fails required checks" in text
    assert "the board agreed" in text


@pytest.mark.parametrize("name", ["report.docx", "report"])
def test_another_ending__is_refused_before_anything_is_done(name: str, capsys: Capture) -> None:
    assert make("--internal", name, "--out", "out.csv") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert ".html, .pdf or .json" in message
    assert files() == set()
