"""What is typed wins over a plan, a plan over a project, a project over what is usual: for every setting."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cli.inputs import settings_of
from anonymizer.cli.main import main, parsed
from anonymizer.cli.project import take_decisions
from anonymizer.plan.plan import Plan
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.settings import PARTS, SETTINGS, Settings, names_of, setting_names
from anonymizer.whatif.project import Project, to_json
from tests.cli.test_main import Capture
from tests.sweeps import few

TABLE = hospital(90, 6)
SCHEMA = suggest(TABLE)


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Values that a setting may have, the usual one often among them."""
    setting = SETTINGS[name]
    own: st.SearchStrategy[Any]
    if setting.kind == "name":
        own = st.sampled_from(names_of(name))
    elif setting.kind == "text":
        own = st.sampled_from(["cost ~ age", "cost ~ sex", "cost ~ age + sex"])
    elif setting.kind == "count":
        own = st.integers(max(int(setting.least), 1), 40)
    else:
        own = st.floats(setting.least, min(setting.most, 8.0)).filter(lambda value: setting.allows(name, value))
    return own if setting.default is None else st.just(setting.default) | own


def settings_for(*words: str) -> Settings:
    """The settings that a command uses."""
    options = parsed(["anonymize", "people.csv", *words])
    take_decisions(options)
    return settings_of(options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the plan and the project of one case after another."""
    return tmp_path_factory.mktemp("precedence")


@settings(max_examples=few(40))
@given(data=st.data())
@pytest.mark.made_up
@pytest.mark.parametrize("name", setting_names(*PARTS))
def test_every_setting__is_that_of_the_first_that_says_it(name: str, folder: Path, data: st.DataObject) -> None:
    """Typed, then the plan, then the project, then the usual; also where one of them says the usual value."""
    own, second, last = (data.draw(st.none() | values_of(name)) for _ in range(3))
    plan, project = folder / "copse.toml", folder / "last.json"
    Plan.of_decisions(SCHEMA, {} if second is None else {name: second}).write(plan)
    project.write_text(to_json(Project(SCHEMA, dict(Settings()) | ({} if last is None else {name: last}))), "utf-8")
    words = ["--plan", str(plan), "--project", str(project)]
    words += [] if own is None else [f"--{name.replace('_', '-')}={own}"]
    values = [own, second, Plan.read(plan).settings.get(name), last, SETTINGS[name].default]
    assert settings_for(*words)[name] == next((value for value in values if value is not None), None)


def test_plan_of_the_page__says_every_choice(tmp_path: Path) -> None:
    """A plan of all settings is beaten by no project, but where a limit is off."""
    plan, project = tmp_path / "copse.toml", tmp_path / "last.json"
    Plan.of_decisions(SCHEMA, dict(Settings())).write(plan)
    others = {"numbers": "mean", "order": "secret", "suppression": 0.2, "min_leaf": 7, "l": 2}
    project.write_text(to_json(Project(SCHEMA, dict(Settings(**others)))), "utf-8")
    assert settings_for("--plan", str(plan), "--project", str(project)) == Settings(
        l=2, **{name: Plan.read(plan).settings[name] for name in ("grouping", "criterion")}
    )


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
