"""Help, versions and slips answer before anything heavy is loaded, and say what is meant."""

import subprocess
import sys
from pathlib import Path

import pytest

import anonymizer.api  # noqa: F401  so that every room has offered its names
from anonymizer.abilities import ENGINES
from anonymizer.cli import commands, options
from anonymizer.cli.commands import COMMANDS
from anonymizer.cli.main import main
from anonymizer.cli.parser import Parser, complaint
from anonymizer.disclosure.exposure import CONFIDENT
from anonymizer.errors import did_you_mean
from anonymizer.plan.plan import NAME
from anonymizer.releasing.release import ENDINGS
from anonymizer.schema import Kind
from anonymizer.settings import NAMES, SETTINGS, names_of
from anonymizer.studies.attack import SECONDS
from anonymizer.treatments import TREATMENTS
from tests.cli.test_main import Capture, folder
from tests.conftest import ROOT

__all__ = ["folder"]

HEAVY = ("numpy", "pandas", "numba", "pyarrow", "scipy", "sklearn", "dask", "streamlit", "sqlalchemy", "cryptography",
         "plotly", "reportlab", "wasmtime", "tomlkit", "importlib.metadata")  # fmt: skip
SLIPS = {
    "--help": 0, "--version": 0, "nonsense": 2, "anonymize --help": 0, "anonymize --help-all": 0,
    "anonymize people.csv --nonsense": 2, "anonymize nowhere.csv --quasi-identifying age": 2,
    "verify nowhere.csv --json": 2, "verify --help-all": 0, "risk nowhere.csv": 2, "app --help": 0,
}  # fmt: skip
"""What is answered at once, and its exit status."""


def test_slips_and_help__load_nothing_heavy() -> None:
    probe = (
        "import sys\nfrom anonymizer.cli.main import main\n"
        f"for line, status in {SLIPS!r}.items():\n"
        "    try:\n        ended = main(line.split())\n"
        "    except SystemExit as error:\n        ended = error.code\n"
        "    assert ended == status, (line, ended)\n"
        f"    assert not (loaded := [name for name in {HEAVY!r} if name in sys.modules]), (line, loaded)\n"
    )
    answer = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-2000:]


def test_names_and_words_of_options__are_those_of_the_rooms() -> None:
    """What options say without loading a room is what the room says."""
    for name, setting in SETTINGS.items():
        if setting.kind == "name":
            assert set(NAMES[name]) == set(names_of(name)), name
    assert tuple(Kind) == options.KINDS
    assert tuple(ENGINES) == options.ENGINES
    assert ENDINGS == options.ENDINGS
    assert SECONDS == options.ATTACK_SECONDS
    assert NAME == commands.PLAN
    assert ", ".join(name + ":N" * (way.least is not None) for name, way in TREATMENTS.items()) == options.TREATMENTS
    assert (
        commands.commands("disclosure").parse_args(["disclosure", "a", "-q", "b", "--target", "c"]).confidence
        == CONFIDENT
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_basic_options__are_options(name: str) -> None:
    parser = commands.commands(name)
    own = parser._subparsers._group_actions[0].choices[name]
    assert {*COMMANDS[name].basic} <= {action.dest for action in own._actions}
    assert [action.dest for action in own._actions if action.dest == "help_all"]
    assert len(own.help_text().splitlines()) <= min(70, len(own.help_text(whole=True).splitlines()))


def test_app__shows_its_own_options_alone(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["app", "--help"])
    output = capsys.readouterr().out
    assert "--login" in output
    assert len(output.splitlines()) < 30


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("anonymise", "There is no command anonymise. Did you mean anonymize?"),
        ("verify a.csv --orginal b.csv", "Did you mean --original?"),
        ("anonymize a.csv --generalizer packs", "Did you mean pack?"),
        ("anonymize a.csv --quasi age", "There is no option or argument --quasi age."),
        ("audit --mode strickt", "Did you mean strict?"),
    ],
)
def test_slip__says_what_is_meant(line: str, says: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert says in capsys.readouterr().err


def test_column_that_is_mistyped__says_what_is_meant(folder: Path, capsys: Capture) -> None:
    assert main(["risk", "people.csv", "-q", "agee"]) == 2
    assert "There is no column 'agee' in the table. Did you mean age?" in capsys.readouterr().err


def test_did_you_mean__is_silent_where_nothing_is_near() -> None:
    assert did_you_mean("xyz", ["--k", "--out"]) == ""
    assert complaint("unrecognized arguments: xyz") == "There is no option or argument xyz."


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion__knows_commands_options_and_values(shell: str, capsys: Capture) -> None:
    pytest.importorskip("shtab", reason="shtab is not installed: lock and install anew")
    assert main(["completion", shell]) == 0
    program = capsys.readouterr().out
    assert [
        word for word in ("anonymize", "quasi-identifying", "pack-persons", "scorecard") if word not in program
    ] == []


def test_no_option__has_a_short_form_of_another() -> None:
    for name in COMMANDS:
        own = commands.commands(name)._subparsers._group_actions[0].choices[name]
        assert isinstance(own, Parser)
        for action in own._actions:
            short = [word for word in action.option_strings if not word.startswith("--")]
            long = [word for word in action.option_strings if word.startswith("--")]
            assert short in ([], ["-h"]) or {options.SHORT_FORMS[word] for word in long} == {*short}


def test_columns__are_said_in_several_ways() -> None:
    parse = commands.commands("anonymize").parse_args
    for line in (["-q", 'age,"town, district"'], ["-q", "age", "--quasi-identifying", '"town, district"']):
        assert parse(["anonymize", "a.csv", *line]).quasi_identifying == ["age", "town, district"]
    kinds = parse(["anonymize", "a.csv", "--kinds", "a=date", "--kinds", "b=numeric,c=date"]).kinds
    assert kinds == {"a": "date", "b": "numeric", "c": "date"}
    assert parse(["anonymize", "a.csv"]).kinds == {}
