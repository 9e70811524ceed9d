"""The wheel: what is in it, and that it runs from an environment that does not see the project.

The environment is empty but for the wheel; what the wheel depends on is lent by the environment of the tests, so that
nothing is fetched.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import run
from anonymizer.cli.app import PACKAGE
from anonymizer.cli.warm import MARK
from anonymizer.version import NAME, VERSION
from tests.browser.steps import open_page
from tests.conftest import ROOT, serve
from tests.test_docs import blocks, commands
from tests.test_house_rules import list_files, text_of

STEM = f"{NAME.replace('-', '_')}-{VERSION}"
BINARIES = "Scripts" if os.name == "nt" else "bin"


def build(kind: str, project: Path, folder: Path) -> Path:
    """Build a ``wheel`` or an ``sdist`` of the project into an empty folder; returns its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


def contents(wheel: Path) -> set[str]:
    """The names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        return set(file.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the project as it is."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


class Installed:
    """An environment that holds the wheel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.binaries = folder / BINARIES
        self.site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
        hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
        others = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment = {
            **others, "PATH": f"{self.binaries}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "PYTHONUTF8": "1"
        }  # fmt: skip

    def program(self, name: str) -> str:
        """The path of a program of the environment."""
        path = shutil.which(name, path=str(self.binaries))
        assert path, f"{name} was not installed"
        return path

    def run(self, command: list[str], folder: Path) -> str:
        """What a program of the environment prints; it must succeed."""
        answer = subprocess.run(
            [self.program(command[0]), *command[1:]], cwd=folder, env=self.environment,
            capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr + answer.stdout
        return answer.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment of its own with the wheel in it.

    The loops that were compiled beside the project's sources are taken along, where there are any: the compiler keeps
    them by the text of their source, and compiling them all again takes a minute.
    """
    environment = Installed(tmp_path_factory.mktemp("environment"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment.folder)], check=True)
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (environment.site / "lent.pth").write_text("\n".join(sorted(lent)), "utf-8")
    into = ["--python", environment.program("python")]
    if run.uv():
        command = [*run.uv(), "pip", "install", *into, "--offline", "--no-deps", str(wheel)]
    else:
        command = [run.base_python(), "-m", "pip", *into, "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    for compiled in (*(ROOT / "anonymizer").rglob("__pycache__/*.nb[ci]"), PACKAGE / "__pycache__" / MARK):
        if not compiled.exists():
            continue
        copy = environment.site / compiled.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(compiled, copy)
    return environment


# What is in it.


def test_wheel__holds_the_package_the_dashboard_and_nothing_else(wheel: Path) -> None:
    places = {"anonymizer": "anonymizer", "ui": "copse/ui", "pages": "copse/pages"}
    files = {
        f"{place}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, place in places.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    files |= {"copse/app.py", "copse/.streamlit/config.toml", "copse/docs/GLOSSARY.md"}
    assert {"anonymizer/py.typed", "copse/ui/tree_view.js", "copse/ui/tree_view.css"} <= files
    about = {name for name in contents(wheel) if name.startswith(f"{STEM}.dist-info/")}
    assert contents(wheel) - about == files
    assert {name.rpartition("/")[2] for name in about if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_source_archive__gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as file:
        file.extractall(tmp_path, filter="data")
    assert contents(build("wheel", tmp_path / STEM, tmp_path / "again")) == contents(wheel)


# That it runs.


@pytest.mark.sweep(0)
def test_installed__two_ways_to_start_it_are_one(installed: Installed, tmp_path: Path) -> None:
    where = installed.run(["python", "-c", "import anonymizer; print(anonymizer.__file__)"], tmp_path)
    assert Path(where.strip()).is_relative_to(installed.site)
    assert installed.run(["copse", "--version"], tmp_path) == f"Copse {VERSION}\n"
    assert installed.run(["python", "-m", "anonymizer", "--help"], tmp_path) == installed.run(
        ["copse", "--help"], tmp_path
    )


@pytest.mark.sweep(0)
def test_installed__terminal_examples_of_the_readme_run(installed: Installed, tmp_path: Path) -> None:
    (example,) = [commands(block) for block in blocks(ROOT / "README.md", "bash") if "copse anonymize" in block]
    assert [command[0] for command in example] == ["python", "copse", "copse"]
    outputs = [installed.run(command, tmp_path) for command in example]
    assert [("This release is 10-anonymous" in text) for text in outputs] == [False, True, True]
    assert {file.name for file in tmp_path.iterdir()} == {"people.csv", "released.csv", "report.json"}


def test_installed__python_example_of_the_readme_runs(installed: Installed, tmp_path: Path) -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    (tmp_path / "example.py").write_text(example, "utf-8")
    assert "This release is 10-anonymous" in installed.run(["python", "example.py"], tmp_path)


@pytest.mark.browser
def test_installed__dashboard_opens_with_its_own_settings(installed: Installed, tmp_path: Path, page: Any) -> None:
    """The folder that it is started in has settings of Streamlit that would open it to others and change its look."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(
        '[server]\naddress = "0.0.0.0"\n[theme.light]\nbackgroundColor = "#ff0000"\n', "utf-8"
    )
    log = tmp_path / "server.log"
    with serve([installed.program("copse"), "app"], tmp_path, log, installed.environment) as dashboard:
        open_page(page, dashboard.address)
        colour = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
        assert page.evaluate(colour) == "rgb(251, 252, 250)"
        page.locator(".st-key-sample-hospital button").first.click()
        page.get_by_role("button", name="Next: give roles").click()
        page.get_by_role("button", name="Next: grow the tree").click()
        page.locator(".stage svg g.node").first.wait_for()
    assert re.findall(r"https?://[^:/\s]+", log.read_text("utf-8")) == ["http://127.0.0.1"]


INSTALLS = re.compile(
    r"\b(?:pipx? (?:install|run)|uvx|uv (?:pip install|add)|(?:conda|poetry|pdm) (?:install|add)) ([^\n`#;()]*)"
)
"""A command that installs, with what it names."""
OURS = re.compile(rf"(?:\.|{NAME}|\./\S+\.whl)(?:\[[\w,]+\]|\[\{{extra\}}\])?")


def others_named(text: str) -> list[str]:
    """What a text says to install that is neither ours nor a file of requirements, word by word."""
    words = [re.sub(r"[\"',]", "", word) for command in INSTALLS.findall(text) for word in command.split()]
    words = [re.sub(r"(?<=.)\.$", "", word) for word in words]
    names = [word for word in words if re.fullmatch(r"[\w.\[\],/-]+", word) and not word.startswith("-")]
    return [name for name in names if not OURS.fullmatch(name) and not name.endswith(".txt")]


def test_no_text__installs_what_is_not_ours() -> None:
    for offence in ("pip install copse", 'pip install "copse[dask]"', "uv pip install -U copse", "pipx run copse app"):
        assert others_named(offence), offence
    assert others_named("pip install anonymizer") == ["anonymizer"]
    for fine in ('pip install ".[dask]"', f'pip install "{NAME}[dask]"', "pip install .", "pip install -r x.txt"):
        assert not others_named(fine), fine
    texts = {name: text_of(name) or "" for name in list_files() if name != "tests/test_install.py"}
    assert "README.md" in texts
    assert {name: names for name, text in texts.items() if (names := others_named(text))} == {}


def test_names_of_the_distribution__are_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == NAME
    others = {name for extra in project["optional-dependencies"].values() for one in extra
              if (name := re.match(r"[\w-]+", one)[0]).startswith("copse")}  # fmt: skip
    assert others == {NAME}
