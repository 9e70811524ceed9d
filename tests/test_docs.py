"""The documents keep their word: their examples run, their links lead somewhere, and they name what is there.

The examples of README.md run from an installed wheel, in ``test_install.py``.
"""

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from calendar import month_abbr, month_name
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest

import anonymizer
from anonymizer.cli.commands import COMMANDS
from anonymizer.cli.examples import EXAMPLES
from anonymizer.cli.main import main
from anonymizer.cli.operating import CHOICES
from docs import generate
from docs.site_pages import command_pages, in_folder, start_page
from tests.conftest import ROOT, absent, run_python
from ui.door.login import read_login

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
IDS = [document.relative_to(ROOT).as_posix() for document in DOCUMENTS]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
STALE = "not what the code says: python run.py docs writes it anew"
TWO_PAGES = 116
"""Lines of 120 characters, tables and drawing included."""
TEN_MINUTES = 2300
"""Words; figures and signs are not counted."""
BESIDE_ROOMS = {"README", "hall", "scale", "ui"}
"""What docs/decisions and docs/experiments have beside a file for a room of the package."""


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of a document in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[list[str]]:
    """The commands of a shell block, word by word; lines may go on behind a backslash."""
    return [words for line in block.replace("\\\n", " ").splitlines() if (words := shlex.split(line, comments=True))]


def test_extending__python_examples_run(tmp_path: Path) -> None:
    examples = blocks(ROOT / "docs" / "EXTENDING.md", "python")
    assert len(examples) >= 4
    (tmp_path / "example.py").write_text("\n".join(examples), "utf-8")
    assert set(re.findall(r"(?:from|import) (anonymizer[.\w]*)", "\n".join(examples))) == {
        "anonymizer",
        "anonymizer.extend",
    }
    assert "have the same diagnosis" in run_python(["example.py"], tmp_path)


def test_readme__opens_with_the_two_commands() -> None:
    (first, *_) = blocks(ROOT / "README.md", "bash")
    assert commands(first) == [["python", "run.py"], ["python", "run.py", "test"]]
    assert "Python 3.11" in (ROOT / "README.md").read_text("utf-8").partition("```")[0]


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_links_lead_to_files(document: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(document.read_text("utf-8"))]
    missing = [
        target
        for target in targets
        if target and not target.startswith(("http://", "https://")) and not (document.parent / target).exists()
    ]
    assert not missing


def test_site__is_built_without_a_dead_link_and_has_every_page(tmp_path: Path) -> None:
    if find_spec("mkdocs") is None:
        absent("site", "MkDocs is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    answer = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert {f"commands/{name}.html" for name in COMMANDS} <= pages
    howtos = {path.stem for path in (ROOT / "docs" / "howto").glob("*.md")} - {"README"}
    assert {f"howto/{name}.html" for name in howtos} <= pages
    assert {"index.html", "API.html", "GUARANTEES.html", "FAQ.html", "GLOSSARY.html"} <= pages
    assert not re.findall(r"<(?:script|link)[^>]+(?:src|href)=.https?://", (tmp_path / "index.html").read_text("utf-8"))


def test_pages_of_commands__have_examples_and_every_option() -> None:
    pages = command_pages()
    assert set(pages) == set(COMMANDS)
    for name, page in pages.items():
        assert all(one.line in page for one in EXAMPLES[name])
    assert "--spread-min" in pages["anonymize"]
    assert "--help-all\n" not in pages["anonymize"].partition("```text")[2][-40:]


def test_start_page__is_the_readme_with_links_of_the_site() -> None:
    assert "](GUARANTEES.md)" in start_page()
    assert "](docs/" not in start_page()
    assert in_folder(PurePosixPath("howto"), "../POPULATION.md") == "POPULATION.md"
    assert in_folder(PurePosixPath(), "../anonymizer/x.py") == "../anonymizer/x.py"


def test_links__every_document_can_be_reached_from_the_readme() -> None:
    """Those of a folder of their own through its index, ``README.md``."""
    targets = {target.partition("#")[0] for target in LINK.findall((ROOT / "README.md").read_text("utf-8"))}
    assert {name for name in IDS if re.fullmatch(r"docs/[^/]+\.md|docs/[^/]+/README\.md", name)} <= targets


def rooms(package: str) -> dict[str, set[str]]:
    """Return the modules of a package that are kept in version control, by room; those of no room under ``package``."""
    answer = subprocess.run(
        ["git", "ls-files", f"{package}/*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    files = map(Path, answer) if answer else (path.relative_to(ROOT) for path in ROOT.glob(f"{package}/**/*.py"))
    modules: dict[str, set[str]] = {}
    for file in files:
        if file.stem != "__init__":
            modules.setdefault(file.parent.name, set()).add(file.stem)
    return modules


def rows(package: str) -> dict[str, set[str]]:
    """Return what the table of a package in ARCHITECTURE.md names: modules by room, each named once."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition(f"## The rooms of `{package}`")[2].partition("\n## ")[0]
    named = [
        (room, re.findall(r"`(\w+)`", modules))
        for room, modules in re.findall(r"^\| `(\w+)/` \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE)
    ]
    assert len({room for room, _ in named}) == len(named)
    assert [room for room, modules in named if len(set(modules)) != len(modules)] == []
    return {room: set(modules) for room, modules in named}


@pytest.mark.parametrize("package", ["anonymizer", "ui"])
def test_architecture__table_is_the_folder_listing(package: str) -> None:
    assert rows(package) == rooms(package)


def test_architecture__rooms_stand_in_the_order_of_imports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    place = {room: -at for at, layer in enumerate(layers) for room in layer.split(" | ")}
    order = [place[room] for room in rows("anonymizer") if room != "anonymizer"]
    assert order == sorted(order)


def test_architecture__is_two_pages_at_most() -> None:
    lines = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    assert sum(max(1, -(-len(line) // 120)) for line in lines) <= TWO_PAGES


@pytest.mark.parametrize("folder", ["decisions", "experiments"])
def test_decisions_and_experiments__are_one_short_file_a_room(folder: str) -> None:
    files = {file.stem: file.read_text("utf-8") for file in (ROOT / "docs" / folder).iterdir()}
    assert len(files) > 5
    assert set(files) <= set(rooms("anonymizer")) - {"anonymizer"} | BESIDE_ROOMS
    assert {f"{name}.md" for name in files} - {"README.md"} <= set(LINK.findall(files["README"]))
    long = [name for name, text in files.items() if len(re.findall(r"[^\W\d_]{2,}", text)) > TEN_MINUTES]
    assert long == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_paths_in_documents_exist(document: Path) -> None:
    """Paths of our own files, as documents write them: `tests/papers/test_mart_cases.py`, `kernels/splits.py`."""
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|toml))`", document.read_text("utf-8"))
    absent = [name for name in named if not (ROOT / name).exists() and not (ROOT / "anonymizer" / name).exists()]
    assert not absent


def test_decisions__are_dated() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "docs" / "decisions").glob("*.md") if file.stem != "README"]
    headings = [heading for text in texts for heading in re.findall(r"^##+ (.*)$", text, re.MULTILINE)]
    assert len(headings) >= 70
    assert [heading for heading in headings if not re.match(r"20\d\d-\d\d-\d\d · \S", heading)] == []


def options_of(program: str, command: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The options that a command of the package or a benchmark has, as its help lists them."""
    run_it = main if program == "anonymizer" else importlib.import_module(f"benchmarks.{command}").main
    with pytest.raises(SystemExit):
        run_it([command, "--help-all"] if program == "anonymizer" else ["--help"])
    return set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "experiments").glob("*.md")), ids=lambda file: file.stem)
def test_experiments__commands_have_the_options_that_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = file.read_text("utf-8").replace("\\\n", " ")
    lines = re.findall(r"python (?:-m|run\.py) (anonymizer|bench)(?:marks\.)? ?(\w+)([^`\n]*)", text)
    assert lines or "python -m tests." in text or file.stem == "README"
    unknown = {
        (command, option)
        for program, command, rest in lines
        for option in set(re.findall(r"--[a-z-]+", rest)) - options_of(program, command, capsys)
    }
    assert not unknown


def test_papers__cites_in_full_whatever_the_code_names() -> None:
    """A name with a year, as in "Sweeney 2002" or "Hay et al. (2010)", has an entry with both in PAPERS.md."""
    cited = re.compile(r"([A-Z][a-zé]+)(?:, [A-Z][a-zé]+)*(?: and [A-Z]\w+| et al\.)? \(?((?:19|20)\d\d)\b")
    code = " ".join(file.read_text("utf-8") for file in ROOT.glob("anonymizer/**/*.py"))
    entries = re.split(r"\n(?=- |\|)", (ROOT / "docs" / "PAPERS.md").read_text("utf-8"))
    named = {(name, year) for name, year in cited.findall(code) if name not in (*month_name, *month_abbr)}
    assert len(named) > 15
    missing = [(name, year) for name, year in named if not any(name in text and year in text for text in entries)]
    assert missing == []


def test_screenshot__is_a_picture_of_a_fair_size() -> None:
    content = (ROOT / "docs" / "screenshot.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (1440, 900)
    assert 20_000 < len(content) < 400_000


def test_pages_made_from_the_code__are_up_to_date() -> None:
    assert generate.api() == (ROOT / "docs" / "API.md").read_text("utf-8"), STALE


def test_walk__runs_and_prints_what_it_shows() -> None:
    text = (ROOT / "docs" / "walk.ipynb").read_text("utf-8")
    notebook = json.loads(text)
    assert (notebook["nbformat"], len(text) < 20_000) == (4, True)
    assert generate.walked(notebook) == text, STALE


def test_operating__lists_every_option_and_variable_of_the_operator() -> None:
    text = (ROOT / "docs" / "OPERATING.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`([\w-]+)`)? ?\| (.+) \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(choice.variable, choice.option, choice.default, choice.words) for choice in CHOICES]
    used = {
        name
        for folder in ("anonymizer", "ui", "pages")
        for file in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bCOPSE_[A-Z_]+\b", file.read_text("utf-8"))
    }
    assert used == {choice.variable for choice in CHOICES if choice.variable.startswith("COPSE_")}


def test_operating__login_file_can_be_read(tmp_path: Path) -> None:
    (example,) = (block for block in blocks(ROOT / "docs" / "OPERATING.md", "toml") if "issuer" in block)
    (tmp_path / "login.toml").write_text(example, "utf-8")
    assert read_login(tmp_path / "login.toml", "s").operators == ("olga@example.org",)


def test_citation__is_of_this_version() -> None:
    assert f"\nversion: {anonymizer.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## [{anonymizer.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
