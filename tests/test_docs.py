"""The documents keep their word: their examples run, their links lead somewhere, and they name what is there."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_python

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MOST_WORDS = 1300
"""Two pages, tables and drawing included."""


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of a document in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[list[str]]:
    """The commands of a shell block, word by word; lines may go on behind a backslash."""
    return [words for line in block.replace("\\\n", " ").splitlines() if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize(
    ("name", "least", "says"),
    [("README.md", 1, "This release is 10-anonymous"), ("docs/EXTENDING.md", 4, "have the same diagnosis")],
)
def test_python_examples_run(name: str, least: int, says: str, tmp_path: Path) -> None:
    found = blocks(ROOT / name, "python")
    assert len(found) >= least
    (tmp_path / "example.py").write_text("\n".join(found), "utf-8")
    assert says in run_python(["example.py"], tmp_path)


def test_readme__command_line_example_runs(tmp_path: Path) -> None:
    (example,) = [commands(block) for block in blocks(ROOT / "README.md", "bash") if "-m anonymizer" in block]
    assert {command[0] for command in example} == {".venv/bin/python"}
    said = [run_python(command[1:], tmp_path) for command in example]
    assert [("This release is 10-anonymous" in text) for text in said] == [False, True, True]
    assert {file.name for file in tmp_path.iterdir()} == {"people.csv", "released.csv", "report.json"}


def test_readme__opens_with_the_two_commands() -> None:
    (first, *_) = blocks(ROOT / "README.md", "bash")
    assert commands(first) == [["python", "run.py"], ["python", "run.py", "test"]]
    assert "Python 3.11" in (ROOT / "README.md").read_text("utf-8").partition("```")[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_to_files(document: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(document.read_text("utf-8"))]
    missing = [
        target
        for target in targets
        if target and not target.startswith(("http://", "https://")) and not (document.parent / target).exists()
    ]
    assert not missing


def test_links__every_document_can_be_reached_from_the_readme() -> None:
    targets = {target.partition("#")[0] for target in LINK.findall((ROOT / "README.md").read_text("utf-8"))}
    assert {f"docs/{document.name}" for document in DOCUMENTS if document.parent.name == "docs"} <= targets


def modules() -> set[str]:
    """The modules of the package that are kept in version control, without their folder."""
    listed = subprocess.run(
        ["git", "ls-files", "anonymizer/*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    files = map(Path, listed) if listed else (path.relative_to(ROOT) for path in ROOT.glob("anonymizer/**/*.py"))
    return {file.parent.name if file.name == "__init__.py" else file.stem for file in files} - {"anonymizer"}


def test_architecture__names_every_module_and_no_other() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition("## The modules")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section)) - {"anonymizer"}
    assert len(named) > 40
    assert not modules() - named, "modules that ARCHITECTURE.md does not name"
    absent = [
        name for name in named
        if not list(ROOT.glob(f"anonymizer/**/{name}.py")) and not (ROOT / "anonymizer" / name).is_dir()
    ]  # fmt: skip
    assert not absent, "named, but not there"


def test_architecture__is_two_pages_at_most() -> None:
    assert len((ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8").split()) <= MOST_WORDS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_paths_in_documents_exist(document: Path) -> None:
    """Paths of our own files, as documents write them: `tests/papers/test_mart_cases.py`, `kernels/splits.py`."""
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|toml))`", document.read_text("utf-8"))
    absent = [name for name in named if not (ROOT / name).exists() and not (ROOT / "anonymizer" / name).exists()]
    assert not absent


def test_decisions__are_dated() -> None:
    headings = re.findall(r"^### (.*)$", (ROOT / "docs" / "DECISIONS.md").read_text("utf-8"), re.MULTILINE)
    assert len(headings) >= 20
    assert [heading for heading in headings if not re.match(r"20\d\d-\d\d-\d\d · \S", heading)] == []


def test_screenshot__is_a_picture_of_a_fair_size() -> None:
    content = (ROOT / "docs" / "screenshot.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (1440, 900)
    assert 20_000 < len(content) < 400_000
