"""What commands print: on a pipe in any encoding, and on one that nobody reads to its end."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anonymizer.cli.commands import commands
from anonymizer.cli.main import PIPE_CLOSED
from tests.conftest import ROOT

AGE, TOWN, ILL = "âge 🎂", "Straße €", "Ž disease"
ROWS = f"{AGE},{TOWN},{ILL}\n" + "".join(
    f"{20 + n % 9},{('Köln 🏙', 'Łódź')[n % 2]},{('naïve', 'ok €', 'ok €')[n % 3]}\n" for n in range(60)
)
ROLES = ["--quasi-identifying", f"{AGE},{TOWN}", "--sensitive", ILL]
PLAN = f"""layout = 1
release = {{input = "people.csv"}}
limits = {{k = 3}}
[columns]
"{AGE}" = {{role = "quasi-identifying"}}
"{TOWN}" = {{role = "quasi-identifying"}}
"{ILL}" = {{role = "sensitive"}}
"""
COMMANDS = {
    "anonymize": ["anonymize", "people.csv", *ROLES, "--k", "3"],
    "verify": ["verify", "people.csv", *ROLES, "--k", "1"],
    "attack": ["attack", "people.csv", "people.csv", *ROLES, "--k", "1"],
    "forest": ["forest", "people.csv", "--target", ILL],
    "audit": ["audit", "--mode", "strict", "--runs", "200", "--seed", "1", "--classes", "2"],
    "disclosure": ["disclosure", "people.csv", *ROLES[:2], "--target", ILL, "--max-depth", "2"],
    "risk": ["risk", "people.csv", *ROLES[:2], "--fraction", "0.5"],
    "release": ["release", "plan.toml"],
    "check": ["check", "plan.toml"],
    "diff": ["diff", "plan.toml", "plan.toml"],
    "evaluate": ["evaluate", "people.csv", *ROLES, "--k", "3", "--folds", "2", "--groupings", "least"],
}  # fmt: skip
"""Each command that prints JSON when it is told to, on a table whose names no small encoding has."""
ENCODINGS: dict[str, dict[str, str]] = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "utf-8": {"PYTHONIOENCODING": "utf-8"},
    "C": {"LC_ALL": "C"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text(ROWS, "utf-8")
    (folder / "plan.toml").write_text(PLAN, "utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    """Surroundings in which nothing but the changes speaks of encodings."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONUTF8", "PYTHONIOENCODING")}
    return {**plain, "PYTHONPATH": str(ROOT), **changes}


def copse(folder: Path, words: list[str], **changes: str) -> subprocess.CompletedProcess[bytes]:
    """A command run to its end, with its output in a pipe."""
    command = [sys.executable, "-m", "anonymizer", *words]
    return subprocess.run(command, cwd=folder, env=environment(**changes), capture_output=True, check=False)


def texts_in(value: Any) -> str:
    """All texts of a JSON value, after one another."""
    if isinstance(value, dict):
        return "".join(key + texts_in(inner) for key, inner in value.items())
    return "".join(map(texts_in, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def test_all_commands_that_print_json__are_tried() -> None:
    choices = next(action.choices for action in commands()._actions if isinstance(action.choices, dict))
    assert {name for name, parser in choices.items() if "--json" in parser._option_string_actions} == set(COMMANDS)


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    ("name", "encoding"),
    [*((name, "ascii") for name in COMMANDS), *(("anonymize", one) for one in ENCODINGS if one != "ascii")],
)
def test_json__is_valid_in_every_encoding(folder: Path, name: str, encoding: str) -> None:
    answer = copse(folder, [*COMMANDS[name], "--json"], **ENCODINGS[encoding])
    assert answer.returncode == 0, answer.stderr
    assert b"Traceback" not in answer.stderr
    value = json.loads(answer.stdout.decode("utf-8" if encoding in ("utf-8", "C") else "ascii"))
    if name == "anonymize":
        assert AGE in texts_in(value)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_text__is_printed_in_ascii_too(folder: Path, name: str) -> None:
    answer = copse(folder, COMMANDS[name], PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.decode("ascii")
    help_text = copse(folder, [name, "--help"], PYTHONIOENCODING="ascii")
    assert (help_text.returncode, help_text.stderr) == (0, b"")


def test_error__names_what_it_cannot_write(folder: Path) -> None:
    answer = copse(folder, ["verify", "people.csv", "--quasi-identifying", "🎈"], PYTHONIOENCODING="ascii")
    assert answer.returncode == 2
    assert len(answer.stderr.decode("ascii").splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes that break differ elsewhere")
@pytest.mark.sweep(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_closed_pipe__ends_quietly(folder: Path, name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        answer = subprocess.run(
            [sys.executable, "-m", "anonymizer", *COMMANDS[name], "--json"],
            cwd=folder, env=environment(), stdout=pipe, stderr=subprocess.PIPE, check=False
        )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (PIPE_CLOSED, b"")
