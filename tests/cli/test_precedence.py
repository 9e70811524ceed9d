"""What is typed wins over a plan, a plan over a project, a project over what is usual: for every setting."""

from pathlib import Path
from typing import Any

import pytest

from anonymizer.cli.inputs import settings_of
from anonymizer.cli.main import main, parsed
from anonymizer.cli.project import take_decisions
from anonymizer.plan.plan import Plan
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.settings import PARTS, SETTINGS, Settings, names_of, setting_names
from anonymizer.whatif.project import Project, to_json
from tests.cli.test_main import Capture

TABLE = hospital(90, 6)
SCHEMA = suggest(TABLE)


def three_values(name: str) -> list[Any]:
    """Three values that a setting may have, none of them the usual one where there are so many."""
    setting = SETTINGS[name]
    if setting.kind == "name":
        others = [value for value in names_of(name) if value != setting.default]
        return (others * 3)[:3]
    if setting.kind == "text":
        return ["cost ~ age", "cost ~ sex", "cost ~ age + sex"]
    if setting.kind == "count":
        return [max(int(setting.least), 3) + more for more in (0, 1, 2)]
    return [setting.least + (min(setting.most, 8.0) - setting.least) * part for part in (0.2, 0.35, 0.8)]


def settings_for(*words: str) -> Settings:
    """The settings that a command uses."""
    options = parsed(["anonymize", "people.csv", *words])
    take_decisions(options)
    return settings_of(options)


@pytest.mark.parametrize("name", setting_names(*PARTS))
def test_every_setting__is_that_of_the_first_that_says_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = three_values(name)
    Plan.of_decisions(SCHEMA, Settings()).but(settings={name: second}).write("copse.toml")
    Path("last.json").write_text(to_json(Project(SCHEMA, dict(Settings(**{name: third})))), "utf-8")
    option = f"--{name.replace('_', '-')}"
    both = ["--plan", "copse.toml", "--project", "last.json"]
    assert settings_for()[name] == SETTINGS[name].default
    assert settings_for("--project", "last.json")[name] == third
    assert settings_for("--plan", "copse.toml")[name] == second
    assert settings_for(*both)[name] == second
    assert settings_for(*both, option, str(first))[name] == first
    capsys.readouterr()


def test_packet_and_several_files__are_held_to_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE[["age", "sex", "diagnosis", "cost"]].to_csv("people.csv", index=False)
    roles = ["-q", "age,sex", "-s", "diagnosis,cost"]
    run = ["anonymize", "people.csv", *roles, "--attack-seconds", "0.1"]
    assert main([*run, "-k", "5", "-o", "first.csv", "--packet", "packet.zip"]) == 0
    assert main([*run, "-k", "9", "-o", "second.csv"]) == 0
    schema = suggest(TABLE[["age", "sex", "diagnosis", "cost"]])
    schema = schema.with_roles({"age": "quasi-identifying", "sex": "quasi-identifying", "diagnosis": "sensitive",
                                "cost": "sensitive"})  # fmt: skip
    Plan.of_decisions(schema, Settings(k=5)).write("copse.toml")
    Plan.of_decisions(schema, Settings(k=20)).write("strict.toml")
    Plan.of_decisions(schema.with_roles({"sex": "insensitive"}), Settings(k=5)).write("other.toml")
    capsys.readouterr()
    assert main(["verify", "packet.zip", "--plan", "copse.toml"]) == 0
    assert main(["verify", "packet.zip", "--plan", "strict.toml"]) == 1
    capsys.readouterr()
    assert main(["verify", "packet.zip", "--plan", "other.toml"]) == 1
    assert "Column 'sex' is quasi-identifying in the packet and insensitive in the plan." in capsys.readouterr().out
    by_plan = main(["verify", "first.csv", "second.csv", "--plan", "copse.toml", "--original", "people.csv"])
    answer = capsys.readouterr().out
    by_words = main(["verify", "first.csv", "second.csv", *roles, "-k", "5", "--original", "people.csv"])
    assert (by_plan, answer) == (by_words, capsys.readouterr().out)
