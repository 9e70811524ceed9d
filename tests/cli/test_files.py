"""Commands destroy no file: inputs stay what they are, and a release is the one that its report speaks of."""

import json
import os
import threading
from pathlib import Path

import pytest

from anonymizer.cli.inputs import read_apart
from anonymizer.cli.main import main
from anonymizer.errors import ReadError
from anonymizer.reading.options import MIB
from tests.conftest import run_python
from tests.waiting import PATIENCE

ROWS = "age,sex,pay\n" + "".join(f"{20 + n % 9},{'fm'[n % 2]},{['low', 'high'][n % 3 > 0]}\n" for n in range(60))
ROLES = ["--quasi-identifying", "age,sex", "--sensitive", "pay"]
BOMBS = """
import contextlib, io, json, os, resource
from pathlib import Path
from anonymizer.cli.main import main
from tests.hostile.bombs import REFUSED

for name in ("far corner", "long text everywhere", "repeated cells", "hidden gzip", "plain text parquet"):
    called, build = REFUSED[name]
    Path(called).write_bytes(build())
    for command in [["risk", called]] + [["verify", called, "--quasi-identifying", "a"]] * called.endswith("parquet"):
        words = io.StringIO()
        with contextlib.redirect_stderr(words):
            status = main(command)
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(json.dumps([called, status, words.getvalue(), children]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "link.csv").symlink_to("people.csv")
    (tmp_path / "linked").mkdir()
    os.link("people.csv", "linked/other.csv")
    return tmp_path


@pytest.mark.parametrize(
    "outputs",
    [
        ["--out", "people.csv"],
        ["--out", "link.csv"],
        ["--out", "linked/other.csv"],
        ["--out", "linked/../people.csv"],
        ["--report", "people.csv"],
        ["--out", "new.csv", "--report", "new.csv"],
        ["--out", "new.csv", "--internal", "a.html", "--external", "linked/../a.html"],
    ],
)
def test_two_names_of_one_file__are_refused(
    folder: Path, outputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["anonymize", "people.csv", *ROLES, "--k", "3", *outputs]) == 2
    assert "are one file" in capsys.readouterr().err
    assert (folder / "people.csv").read_text() == ROWS
    assert not (folder / "new.csv").exists()


def test_verify__tells_another_file_from_the_reported_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", "people.csv", *ROLES, "--k", "3", "--out", "out.csv", "--report", "report.json"]) == 0
    check = ["verify", "out.csv", "--schema", "report.json", "--k", "3", "--report", "report.json"]
    assert main(check) == 0
    assert "the file that the report speaks of" in capsys.readouterr().out
    lines = (folder / "out.csv").read_text().splitlines(keepends=True)
    half = [lines[0], *(line for line in lines[1:] if line.startswith(lines[1].partition(",")[0]))]
    (folder / "out.csv").write_text("".join(half))
    assert main(check) == 1
    output = capsys.readouterr().out
    assert "not the file" in output
    assert f"It has {len(half) - 1} rows; the report speaks of 60." in output
    assert main([*check, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["is_the_reported_file"] is False


@pytest.mark.parametrize("content", ["[" * 100_000, "[]", "{}", "7", "{", '{"provenance": 3}', "\udcff"])
def test_verify__a_report_that_is_none(folder: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main(["verify", "people.csv", *ROLES, "--k", "1", "--report", "bad.json"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_files_that_unfold__are_one_sentence_and_take_no_more_than_they_may(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPSE_READ_MEMORY", "600")
    answers = [json.loads(line) for line in run_python(["-c", BOMBS], folder, real=True).splitlines()]
    assert len(answers) == 6
    for called, status, words, memory in answers:
        assert status == 2, called
        assert words.startswith("copse: ")
        assert words.count("\n") == 1, words
        assert memory < 1100 * MIB, called


def test_a_file__is_read_in_another_process(folder: Path) -> None:
    reading = read_apart("people.csv")
    assert reading.frame.shape == (60, 3)
    assert reading.name == "people.csv"
    with pytest.raises(ReadError, match=r"absent.csv cannot be opened"):
        read_apart("absent.csv")
    with pytest.raises(ReadError, match="directory"):
        read_apart(".")


def test_a_pipe__is_read_once(folder: Path) -> None:
    os.mkfifo("pipe.csv")
    writer = threading.Thread(target=lambda: Path("pipe.csv").write_text(ROWS), daemon=True)
    writer.start()
    assert read_apart("pipe.csv").frame.shape == (60, 3)
    writer.join(PATIENCE)
