"""The examples of the help are run, each as it is typed."""

import shlex
from pathlib import Path

import pytest

from anonymizer.cli.commands import COMMANDS, commands
from anonymizer.cli.examples import EXAMPLES
from anonymizer.cli.main import main
from anonymizer.reading.samples import hospital
from tests.cli.test_main import Capture

UNTRIED = {
    "app": "it serves until it is stopped",
    "compile": "it takes minutes",
    "completion": "it has tests of its own",
}
LINES = [(name, example.line) for name, examples in EXAMPLES.items() if name not in UNTRIED for example in examples]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the examples stand in."""
    folder = tmp_path_factory.mktemp("examples")
    hospital(400, 6).to_csv(folder / "people.csv", index=False)
    (folder / "last").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        roles = ["--keep", "postcode", "-i", "name,email,postcode"][2:]
        assert main(["init", "people.csv", "-k", "5", *roles, "-o", "copse.toml"]) == 0
        assert main(["init", "people.csv", "-k", "10", *roles, "-o", "last/copse.toml"]) == 0
        first = shlex.split(EXAMPLES["anonymize"][0].line)[1:]
        assert main(first) == 0
        assert main([*first[:-4], "-k", "15", "-o", "second.csv"]) == 0
    return folder


def test_every_command__has_examples() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert [name for name, examples in EXAMPLES.items() if len(examples) != 3] == ["key", "compile"]
    own = [one.line for examples in EXAMPLES.values() for one in examples]
    assert len(own) == len(set(own))
    assert [line for name, line in LINES if not line.startswith(f"copse {name}")] == []
    assert max(map(len, own)) <= 180


@pytest.mark.sweep(6)
@pytest.mark.parametrize("line", [line for _, line in LINES])
def test_example__runs(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COPSE_KEY_PASSWORD", "a long password of a test")
    words = shlex.split(line.partition(" > ")[0])[1:]
    for before in (line for name, line in LINES if name == words[0] and name in ("ledger", "key")):
        if before.split()[2] == "new" and not list(folder.glob(f"{before.split()[3]}*")):
            assert main(before.split()[1:]) == 0
    if words[1:2] == ["new"]:
        return
    for name in ("new.toml",):
        Path(name).unlink(missing_ok=True)
    status = main(words)
    output = capsys.readouterr()
    assert status in (0, 1), output.err
    assert output.out or "-o" in words


def test_help__ends_with_the_examples(capsys: Capture) -> None:
    for name, examples in EXAMPLES.items():
        own = next(action for action in commands(name)._actions if isinstance(action.choices, dict)).choices[name]
        assert [one.line for one in examples if f"  {one.line}\n" not in own.format_help()] == []
