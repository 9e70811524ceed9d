"""Packets from the terminal: written whole, checked from their bytes, and refused once anything was changed."""

import json
import zipfile
from pathlib import Path

import pytest

from anonymizer.cli.main import main
from anonymizer.releasing.files import archive
from anonymizer.reporting.packet_files import INTERNAL, MANIFEST
from tests.cli.test_main import Capture, files, folder, make
from tests.reporting.test_packet import WITHOUT_WORDS

__all__ = ["folder"]

STATEMENT = ["--purpose", "Study of <costs>", "--approved-by", "C. D.", "--attack-seconds", "0.1"]


def members_of(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_packet__is_written_and_verified(capsys: Capture) -> None:
    assert make("--packet", "out.zip", "--internal-packet", "own.ZIP", *STATEMENT) == 0
    assert "Written: out.zip, own.ZIP" in capsys.readouterr().out
    assert set(members_of("out.zip")) == {MANIFEST, *WITHOUT_WORDS}
    assert set(members_of("own.ZIP")) == {MANIFEST, *WITHOUT_WORDS, *INTERNAL}
    outer = b"".join(members_of("out.zip").values())
    inner = b"".join(members_of("own.ZIP").values())
    assert b"people.csv" in inner
    assert b"people.csv" not in outer
    assert b"nobody in this table lives" in inner
    assert b"nobody in this table lives" not in outer
    for name in ("out.zip", "own.ZIP"):
        assert main(["verify", name, "--original", "people.csv"]) == 0
        assert "is whole" in capsys.readouterr().out
    assert main(["verify", "own.ZIP", "--original", "people.csv", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["is_the_reported_original"] is True
    assert described["tables"]["data/release.xlsx"]["passed"] is True
    assert main(["verify", "out.zip", "--k", "299"]) == 1
    assert "FAILED" in capsys.readouterr().out
    packet = members_of("out.zip")
    script = packet["repeat.py"].decode()
    assert 'open("report.json"' in script
    changes = {
        "missing": {name: text for name, text in packet.items() if name != "report.pdf"},
        "extra": packet | {"notes.txt": b"Anna Berg"},
        "swapped": packet | {"data/release.csv": packet["data/release.csv"].replace(b"Fracture", b"Asthma", 1)},
    }
    for change, members in changes.items():
        Path(f"{change}.zip").write_bytes(archive(members))
    content = bytearray(Path("out.zip").read_bytes())
    content[len(content) // 2] ^= 1
    Path("flipped.zip").write_bytes(content)
    for change in (*changes, "flipped"):
        assert main(["verify", f"{change}.zip"]) == 1
        printed = capsys.readouterr().out
        assert printed.count("\n") == 1
        assert printed.startswith("This packet is not as it was made: ")
    Path("cut.zip").write_bytes(Path("out.zip").read_bytes()[:-30])
    assert main(["verify", "cut.zip"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_packet__of_a_release_that_may_not_leave_is_not_written(capsys: Capture) -> None:
    assert make("--generalizer", "tiered", "--packet", "out.zip") == 1
    assert files() == set()
    assert "Not written" in capsys.readouterr().out
    assert make("--packet", "out.txt") == 2
    assert "Use .zip" in capsys.readouterr().err
    assert (
        make("--generalizer", "tiered", "--override", "goes to the board only", "--packet", "out.zip", *STATEMENT) == 0
    )
    capsys.readouterr()
    assert main(["verify", "out.zip"]) == 1
    assert "is whole" in (printed := capsys.readouterr().out)
    assert "FAILED" in printed


@pytest.mark.parametrize("name", ["people.csv", "x/out.zip"])
def test_packet__in_no_place_is_one_line(name: str, capsys: Capture) -> None:
    assert make("--packet", name) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("option", ["--packet", "--internal-packet", "--out", "--report", "--internal", "--external"])
def test_a_folder_that_is_not_there__is_said_before_anything_is_done(option: str, capsys: Capture) -> None:
    ending = "zip" if "packet" in option else "csv" if option == "--out" else "json"
    assert make(option, f"x/out.{ending}", "--quasi-identifying", "no such column") == 2
    assert "There is no folder 'x'. Make it, or write to another one." in capsys.readouterr().err
