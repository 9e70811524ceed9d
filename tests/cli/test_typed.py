"""What was typed wins, whatever its value: over a project, a schema, a codebook and a report; and it is said."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from anonymizer.cli.commands import commands
from anonymizer.cli.main import main, parsed
from anonymizer.cli.typed import in_words
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.settings import RUN, SETTINGS, Settings, setting_names
from anonymizer.whatif.project import Project, to_json
from tests.cli.test_main import CHECKED, ROLES, TABLE, Capture, folder, make
from tests.cli.test_packet import members_of

__all__ = ["folder"]

REASONS = [word for word in ROLES if word.startswith("--reason")]
SCHEMA = suggest(TABLE).with_column("cost", role="sensitive")


def keep_project(path: str = "last.json", **settings: Any) -> None:
    """Write a project of the table here with these settings."""
    words = {"purpose": "Study of costs", "prepared_by": "C. D."}
    project = Project(SCHEMA, dict(Settings(**settings)), words=words, reading=ReadOptions(missing=("", "none")))
    Path(path).write_text(to_json(project), "utf-8")


def run(*more: str) -> dict[str, Any]:
    """The provenance of a run that a project decides, but for what is typed."""
    command = ["anonymize", "people.csv", "--project", "last.json", *REASONS, "--report", "report.json", *more]
    assert main(command) in (0, 1)
    return json.loads(Path("report.json").read_text("utf-8"))["provenance"]


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every command."""
    return next(action.choices for action in commands()._actions if isinstance(action.choices, dict))


@pytest.mark.parametrize("command", sorted(set(parsers()) - {"app"}))
def test_typed__is_what_stands_there_whatever_its_value(command: str) -> None:
    """Every option of every command, with the value that it has when nothing is said where that can be typed."""
    actions = parsers()[command]._actions
    needs = {a.dest: [a.option_strings[0]] if a.option_strings else [] for a in actions if a.required}
    choices = {a.dest: [*a.choices][0] for a in actions if a.choices}
    needs = {dest: [*words, choices.get(dest, "x")] if dest != "of" else words for dest, words in needs.items()}
    bare = [word for words in needs.values() for word in words]
    assert not parsed([command, *bare]).typed - set(needs) - {"command", "run", "reads", "writes"}
    for action in actions:
        if not action.option_strings or action.dest in ("help", "help_all"):
            continue
        usual = action.default if isinstance(action.default, str | int | float) else "1"
        value = [*action.choices][0] if action.choices else usual
        value = "a=numeric" if action.dest == "kinds" else value
        words = [] if action.nargs == 0 else [f"{value:g}" if isinstance(value, float) else str(value)]
        rest = [word for dest, words in needs.items() if dest != action.dest for word in words]
        options = parsed([command, *rest, "=".join([action.option_strings[0], *words])])
        assert action.dest in options.typed, action.option_strings


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("stated", "typed", "value"),
    [
        ({"k": 3}, ["--k", "10"], {"k": 10}),
        ({"generalizer": "uniform"}, ["--generalizer", "pack"], {"generalizer": "pack"}),
        ({"generalizer": "uniform"}, ["--polish"], {"generalizer": "polish"}),
        ({"suppression": 0.05, "k": 5}, ["--suppression", "0"], {"suppression": 0.0}),
        ({"min_leaf": 5}, ["--min-leaf", "2"], {"min_leaf": 2}),
        ({"l": 2}, ["--l", "1"], {"l": 1}),
    ],
)
def test_project__gives_way_to_what_is_typed(
    stated: dict[str, Any], typed: list[str], value: dict[str, Any], capsys: Capture
) -> None:
    keep_project(**stated)
    used = run(*typed)["parameters"]
    assert used | value == used
    ((name, new),) = value.items()
    assert f"--{name.replace('_', '-')} {in_words(new)} instead of the project's {in_words(stated[name])}." in (
        capsys.readouterr().err
    )


def test_project__decides_what_is_not_typed(capsys: Capture) -> None:
    keep_project(k=7, numbers="range", suppression=0.02)
    used = run("--generalizer", "pack")["parameters"]
    assert (used["k"], used["numbers"], used["suppression"]) == (7, "range", 0.02)
    assert "instead of" not in capsys.readouterr().err


def test_every_setting__has_an_option_that_wins() -> None:
    """No setting of a run is one that a project decides over the terminal."""
    options = {action.dest for action in parsers()["anonymize"]._actions}
    assert set(setting_names(*RUN)) <= options
    assert set(setting_names(*RUN)) <= set(SETTINGS)


def test_project__gives_way_to_roles_kinds_cuts_target_and_reading(capsys: Capture) -> None:
    keep_project()
    more = [
        "--sensitive", "occupation", "--identifying", "postcode", "--kinds", "age=categorical", "--target", "cost",
        "--bands", "cost=0,100", "--missing", "?",
    ]  # fmt: skip
    made = run(*more)
    columns = {column["name"]: column for column in made["schema"]["columns"]}
    assert (columns["occupation"]["role"], columns["postcode"]["role"]) == ("sensitive", "identifying")
    assert columns["age"]["kind"] == "categorical"
    assert columns["cost"]["cuts"]["bands"] == [0, 100]
    assert made["schema"]["target"] == "cost"
    assert made["input"]["read_with"]["missing"] == ["?"]
    text = capsys.readouterr().err
    for sentence in (
        "Column 'occupation' is sensitive instead of the project's",
        "Column 'postcode' is identifying instead of the project's quasi-identifying.",
        "Column 'age' is categorical instead of the project's numeric.",
        "--target cost instead of the project's diagnosis.",
        "--missing ? instead of the project's",
    ):
        assert sentence in text
    command = ["anonymize", "people.csv", "--project", "last.json"]
    assert main([*command, "--sensitive", "age", "--keep", "age"]) == 2
    assert main([*command, "--sensitive", "nobody"]) == 2
    text = capsys.readouterr().err
    assert "Column 'age' was given two roles" in text
    assert "no column 'nobody'" in text


def test_project__texts_for_reports_are_its_own_unless_typed(capsys: Capture) -> None:
    keep_project(k=5)
    words = ["--attack-seconds", "0.1", "--purpose", "", "--internal-packet", "own.zip"]
    run(*words)
    words = json.loads(members_of("own.zip")["project.json"])["words"]
    assert words == {"prepared_by": "C. D."}
    assert "--purpose as it was typed instead of the project's text." in capsys.readouterr().err


def test_schema__gives_way_to_what_is_typed(capsys: Capture) -> None:
    Path("schema.json").write_text(SCHEMA.to_json(), "utf-8")
    more = ["--schema", "schema.json", "--identifying", "occupation", "--kinds", "age=categorical", "--k", "5"]
    assert main(["anonymize", "people.csv", *more, "--report", "report.json"]) in (0, 1)
    columns = json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema"]["columns"]
    of = {column["name"]: column for column in columns}
    assert (of["occupation"]["role"], of["age"]["kind"]) == ("identifying", "categorical")
    assert "Column 'age' is categorical instead of the schema's numeric." in capsys.readouterr().err


def test_codebook__gives_way_to_the_person_and_the_columns_that_are_kept(capsys: Capture) -> None:
    lines = ["name,role", "email,person", "occupation,sensitive", "age,quasi-identifying"]
    Path("book.csv").write_text("\n".join(lines) + "\n", "utf-8")
    left = "occupation,sex,marital_status,admission_date,days_of_stay,cost"
    more = ["--codebook", "book.csv", "--person", "name", "--keep", left, "--identifying", "email"]
    more += ["--quasi-identifying", "postcode", "--sensitive", "diagnosis", "--k", "5", "--report", "report.json"]
    assert main(["anonymize", "people.csv", *more]) in (0, 1)
    columns = json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema"]["columns"]
    roles = {column["name"]: column["role"] for column in columns}
    assert [roles[name] for name in ("name", "email", "occupation", "age")] == [
        "person", "identifying", "insensitive", "quasi-identifying",
    ]  # fmt: skip


# A release that is held to its report.


@pytest.mark.parametrize("k", [3, 12])
def test_verify__holds_a_file_to_the_limits_of_its_report(k: int, capsys: Capture) -> None:
    assert main(["anonymize", "people.csv", *ROLES, "--k", str(k), "--l", "2", "--out", "out.csv", "--report",
                 "report.json"]) == 0  # fmt: skip
    capsys.readouterr()
    assert main(["verify", "out.csv", "--report", "report.json"]) == 0
    output = capsys.readouterr()
    assert f"This release is {k}-anonymous" in output.out
    assert "under its roles and limits" in output.out
    assert output.err == ""
    assert main(["verify", "out.csv", "--report", "report.json", "--json"]) == 0
    required = {check["name"]: check["required"] for check in json.loads(capsys.readouterr().out)["checks"]}
    assert required["k-anonymity"] == k


def test_verify__says_what_is_typed_in_place_of_the_reports_limits(capsys: Capture) -> None:
    assert make("--t", "0.9", "--l", "2", "--out", "out.csv", "--report", "report.json") == 0
    capsys.readouterr()
    for typed, sentence, status in (
        (["--k", "10"], "--k 10 instead of the report's 5, which is stricter.", None),
        (["--k", "2"], "--k 2 instead of the report's 5, which is looser.", 0),
        (["--t", "1"], "--t 1 instead of the report's 0.9, which is looser.", 0),
        (["--l", "9"], "--l 9 instead of the report's 2, which is stricter.", 1),
        (["--entropy-l", "9"], "--entropy-l 9 instead of the report's nothing, which is stricter.", 1),
    ):
        made = main(["verify", "out.csv", "--report", "report.json", *typed])
        output = capsys.readouterr()
        assert sentence in output.err
        assert sentence in output.out
        assert status in (None, made)
        main(["verify", "out.csv", "--report", "report.json", "--json", *typed])
        assert json.loads(capsys.readouterr().out)["limits_not_the_reported"] == [sentence]


def test_verify__says_roles_that_are_typed_in_place_of_the_reports(capsys: Capture) -> None:
    assert make("--out", "out.csv", "--report", "report.json") == 0
    capsys.readouterr()
    assert main(["verify", "out.csv", "--report", "report.json", "--sensitive", "occupation"]) == 1
    output = capsys.readouterr()
    assert "Column 'occupation' is sensitive instead of the report's insensitive." in output.err
    assert "These are not the roles that the report speaks of" in output.out


def test_verify__without_a_report_requires_what_is_usual(capsys: Capture) -> None:
    assert make("--out", "out.csv") == 0
    capsys.readouterr()
    main(["verify", "out.csv", *CHECKED, "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["k-anonymity"]["required"] == 10


def test_verify__of_a_packet_takes_limits_and_no_roles(capsys: Capture) -> None:
    assert make("--packet", "out.zip", "--attack-seconds", "0.1") == 0
    capsys.readouterr()
    assert main(["verify", "out.zip", "--k", "10"]) == 1
    assert "--k 10 instead of the report's 5, which is stricter." in capsys.readouterr().err
    assert main(["verify", "out.zip", "--k", "5"]) == 0
    assert main(["verify", "out.zip", "--sensitive", "age"]) == 2
    assert "Leave --sensitive out" in capsys.readouterr().err


def test_verify__of_a_folder_holds_it_to_its_report(tmp_path: Path, capsys: Capture) -> None:
    words = ["--engine", "local", "--out", "out", "--report", "report.json", "--k", "4"]
    assert main(["anonymize", "people.csv", *ROLES, *words]) == 0
    capsys.readouterr()
    assert main(["verify", "out", "--report", "report.json"]) == 0
    assert "4-anonymous" in capsys.readouterr().out
    assert main(["verify", "out", "--report", "report.json", "--k", "10"]) == 1
    output = capsys.readouterr()
    assert "--k 10 instead of the report's 4, which is stricter." in output.err
