"""The how-tos keep their word: every command in them runs, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from anonymizer.cli.main import main
from tests.conftest import ROOT, run_python
from tests.test_docs import blocks

FOLDER = ROOT / "docs" / "howto"
NAMES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
OPEN = ("diff", "check")
"""Commands that end with 1 where they have something to say."""


def lines(name: str) -> list[list[str]]:
    """The commands of a how-to, word by word."""
    text = "".join(blocks(FOLDER / f"{name}.md", "bash"))
    return [shlex.split(line) for line in text.splitlines() if line.strip()]


def test_index__names_every_howto() -> None:
    assert set(re.findall(r"\]\((\w+)\.md\)", (FOLDER / "README.md").read_text("utf-8"))) == {*NAMES}
    assert len(NAMES) == 8


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", NAMES)
def test_howto__runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = lines(name)
    assert {words[0] for words in commands} <= {"copse", "python", "mkdir"}
    for words in commands:
        if words[0] == "copse":
            assert main(words[1:]) in ((0, 1) if words[1] in OPEN or "--check" in words else (0,)), words
        elif words[0] == "mkdir":
            Path(words[1]).mkdir()
        else:
            run_python(words[1:], tmp_path)
