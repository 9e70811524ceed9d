"""``copse init``, ``release``, ``check``, ``verify --plan`` and ``diff``: one file decides, and what is typed wins."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anonymizer.cli.inputs import read_options, settings_of
from anonymizer.cli.main import main, parsed
from anonymizer.cli.project import take_decisions
from anonymizer.plan.plan import Plan
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.release import read_release
from anonymizer.schema import Role
from anonymizer.settings import Settings
from anonymizer.whatif.project import Project, to_json
from tests.cli.test_main import Capture

NAMES = ["name", "age", "sex", "occupation", "diagnosis", "cost"]
TABLE = hospital(90, 6)[NAMES]
SCHEMA = suggest(TABLE).with_roles({"occupation": Role.QUASI_IDENTIFYING})
PLACES = {"input": "people.csv", "out": "out.csv", "report": "report.json"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own with people.csv in it."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)


def write_plan(path: str = "copse.toml", **changes: Any) -> Plan:
    """Write a plan of the table here, and return it."""
    plan = Plan.of_decisions(SCHEMA, Settings(k=5), release=PLACES).but(**changes)
    Path(path).parent.mkdir(exist_ok=True)
    plan.write(path)
    return plan


def parameters() -> dict[str, Any]:
    return json.loads(Path("report.json").read_text("utf-8"))["provenance"]["parameters"]


# The commands.


def test_init__prints_a_plan_with_reasons_and_never_writes_over_a_file(capsys: Capture) -> None:
    assert main(["init", "people.csv", "--k", "7", "--sensitive", "sex", "--missing", "none"]) == 0
    text = capsys.readouterr().out
    described = tomllib.loads(text)
    assert described["limits"]["k"] == 7
    assert described["columns"]["sex"]["role"] == "sensitive"
    assert described["reading"]["missing"] == ["none"]
    assert described["release"]["input"] == "people.csv"
    reason = suggest(TABLE)["age"].reason
    assert re.search(rf'\[columns.age\]\nrole = "quasi-identifying" # {re.escape(reason)}', text)
    assert 'role = "sensitive" # Suggested: quasi-identifying. ' in text
    assert main(["init", "people.csv", "-o", "copse.toml"]) == 0
    before = Path("copse.toml").read_bytes()
    assert main(["init", "people.csv", "-o", "copse.toml"]) == 2
    assert Path("copse.toml").read_bytes() == before
    assert "is there already" in capsys.readouterr().err
    assert main(["init"]) == main(["init", "people.csv", "--project", "x.json"]) == main(["init", "none.csv"]) == 2
    assert capsys.readouterr().err.count("\n") == 3


def test_check_and_release__do_what_the_plan_says(capsys: Capture) -> None:
    write_plan()
    assert main(["check"]) == 0
    assert "Ready to release." in capsys.readouterr().out
    assert not Path("out.csv").exists()
    assert main(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert main(["release"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert "Written: out.csv" in output.out
    assert parameters()["k"] == 5
    assert read_release("out.csv").groupby(list(SCHEMA.quasi_identifying), dropna=False).size().min() >= 5
    report = json.loads(Path("report.json").read_text("utf-8"))
    again = Plan.read("report.json")
    assert report["plan"] == again.text
    assert again.columns == Plan.read("copse.toml").columns
    assert again.settings["k"] == 5
    Path("again").mkdir()
    assert main(["anonymize", "people.csv", "--plan", "report.json", "--out", "again/out.csv"]) == 0
    assert Path("again/out.csv").read_bytes() == Path("out.csv").read_bytes()


def test_check__is_1_where_something_stands_in_the_way_and_answers_are_in_the_plan(capsys: Capture) -> None:
    plan = write_plan()
    columns = {**plan.columns, "age": {"role": "insensitive", "kind": "numeric"}}
    write_plan(columns=columns)
    assert main(["check", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    keys = [one["key"] for one in findings if one["severity"] == "stands in the way"]
    assert keys
    assert main(["release"]) == 1
    assert not Path("out.csv").exists()
    write_plan(columns=columns, answers=dict.fromkeys(keys, "the ages are made up"))
    capsys.readouterr()
    assert main(["check"]) == 0
    assert "Reason: the ages are made up" in capsys.readouterr().out
    assert main(["release"]) == 0
    names = [one["name"] for one in findings if one["severity"] == "stands in the way"]
    assert Plan.read("report.json").answers == dict.fromkeys(names, "the ages are made up")


def test_release__of_another_folder_takes_its_paths_from_there(capsys: Capture) -> None:
    write_plan("sub/copse.toml", release=PLACES | {"input": "../people.csv"})
    assert main(["release", os.path.abspath("sub/copse.toml")]) == 0
    assert Path("sub/out.csv").is_file()
    assert Path("sub/report.json").is_file()
    Path("sub/out.csv").unlink()
    assert not Path("out.csv").exists()
    assert main(["anonymize", "people.csv", "--plan", "sub"]) == 0
    assert not Path("sub/out.csv").exists(), "with another table, the plan's own files are not written"
    assert main(["release", "sub", "--out", "mine.csv"]) == 0
    assert Path("mine.csv").is_file()
    capsys.readouterr()
    write_plan("sub/copse.toml", release={})
    assert main(["release", "sub"]) == 2
    assert "No table is named." in capsys.readouterr().err


def test_verify__holds_a_file_to_the_plan(capsys: Capture) -> None:
    write_plan()
    assert main(["release"]) == 0
    capsys.readouterr()
    assert main(["verify", "out.csv", "--plan", "."]) == 0
    assert "This release is 5-anonymous" in capsys.readouterr().out
    write_plan("strict/copse.toml", settings=dict(Settings(k=50).of("limit")))
    assert main(["verify", "out.csv", "--plan", "strict"]) == 1
    assert main(["verify", "out.csv", "--plan", "strict", "--k", "5"]) == 0
    assert "--k 5 instead of the plan's 50." in capsys.readouterr().err
    assert main(["verify", "out.csv", "--plan", ".", "--original", "people.csv"]) == 0
    columns = {name: {"role": own["role"]} for name, own in Plan.read(".").columns.items()}
    write_plan("bare/copse.toml", columns=columns)
    assert main(["verify", "out.csv", "--plan", "bare"]) == 0, "kinds that the plan does not say are those of the cells"
    capsys.readouterr()
    for more in (["--report", "report.json"], ["--schema", "report.json"]):
        assert main(["verify", "out.csv", "--plan", ".", *more]) == 2
    assert capsys.readouterr().err.count("\n") == 2
    assert main(["verify", "out.csv", "out.csv", "--plan", "."]) == 0


def test_folder__of_a_plan_is_released_and_verified(capsys: Capture) -> None:
    write_plan(release={"input": "people.csv", "out": "pieces", "engine": "local", "report": "report.json"})
    assert main(["release"]) == 0
    assert Plan.read("report.json").columns.keys() == Plan.read(".").columns.keys()
    assert main(["verify", "pieces", "--plan", "."]) == 0
    assert "5-anonymous" in capsys.readouterr().out


def test_diff__says_what_changed(capsys: Capture) -> None:
    plan = write_plan()
    write_plan("b.toml", settings={**plan.settings, "k": 20}, answers={"known: sex": "nobody knows it"})
    assert main(["diff", "copse.toml", "b.toml"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "k is 20; it was 5.", "'known:sex' is answered: nobody knows it",
    ]  # fmt: skip
    assert main(["diff", ".", "copse.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"layout": 1, "same": True, "differences": []}
    assert main(["diff", "copse.toml", "none.toml"]) == main(["diff", "people.csv", "copse.toml"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layout = 1\n[limits]\nkk = 3\n", "copse.toml, line 3, column 1: limits.kk: there is no such key here"),
        ("layout = 1\n[columns.age\n", "copse.toml, line 2, column 13"),
        ("a = " + "[" * 10_000, "more than 20"),
        ('layout = 1\n[columns."\\u0000\\n"]\nrole = 3\n', "line 3, column 1: columns.'\\x00\\n'.role: 3 is none of"),
    ],
)
def test_a_plan_that_is_none__is_one_line(text: str, words: str, capsys: Capture) -> None:
    Path("copse.toml").write_text(text, "utf-8")
    for command in (["release"], ["check"], ["verify", "people.csv", "--plan", "."], ["diff", ".", "."]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1


# A year later.


def test_release__a_year_later_says_what_is_new_and_goes_on(capsys: Capture) -> None:
    write_plan()
    hospital(95, 9)[NAMES].drop(columns="cost").assign(ward=7).to_csv("people.csv", index=False)
    assert main(["release"]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Roles taken from copse.toml. Differences:"
    assert any(line.startswith("new column") and "'ward' is new" in line for line in lines)
    assert any(line.startswith("column gone") and "copse.toml, line" in line for line in lines)
    pd.DataFrame({"ward": [1] * 20, "cost": range(20)}).to_csv("people.csv", index=False)
    assert main(["release"]) == 2, "no column is left that could be generalized"


# What is typed wins.


def test_what_is_typed__is_said_where_it_is_another(capsys: Capture) -> None:
    """The usual value as well."""
    write_plan(settings={"generalizer": "uniform"})
    Path("last.json").write_text(to_json(Project(SCHEMA, dict(Settings(generalizer="refine")))), "utf-8")
    cases = (["--plan", "."], "plan", "uniform"), (["--project", "last.json"], "project", "refine")
    for words, whose, other in cases:
        options = parsed(["anonymize", "people.csv", *words, "--generalizer", "pack"])
        take_decisions(options)
        assert settings_of(options).generalizer == "pack"
        assert f"--generalizer pack instead of the {whose}'s {other}." in capsys.readouterr().err


def test_plan__gives_way_in_reading_texts_places_and_population() -> None:
    write_plan(
        reading={"delimiter": ";", "as_text": ("age", "cost"), "header": False}, texts={"purpose": "a study"},
        release=PLACES | {"ledger": "register", "keep_earlier": True}, population={"fraction": 0.5},
    )  # fmt: skip
    options = parsed(["release", "--delimiter", ",", "--as-numbers", "age", "--no-keep-earlier", "--out", "mine.csv"])
    take_decisions(options)
    assert (options.input, options.out, options.ledger, options.keep_earlier) == (
        "people.csv",
        "mine.csv",
        "register",
        False,
    )
    own = read_options(options)
    assert (own.delimiter, own.as_text, own.as_numbers, own.header) == (",", ("cost",), ("age",), False)
    assert (options.purpose, options.fraction) == ("a study", 0.5)
    options = parsed(["release", "--population", "all.csv", "--purpose", "mine"])
    take_decisions(options)
    assert (options.purpose, options.population, options.fraction) == ("mine", "all.csv", None)


def test_plan__gives_way_to_roles_and_kinds(capsys: Capture) -> None:
    write_plan()
    assert main(["release", "--sensitive", "occupation", "--kinds", "age=categorical"]) in (0, 1)
    columns = {
        one["name"]: one
        for one in json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema"]["columns"]
    }
    assert (columns["occupation"]["role"], columns["age"]["kind"]) == ("sensitive", "categorical")
    assert "Column 'occupation' is sensitive instead of the plan's quasi-identifying." in capsys.readouterr().err


# A project.


def test_init__of_a_project_is_its_plan_and_the_project_is_on_the_way_out(capsys: Capture) -> None:
    words = {"purpose": "Study of costs", "approvers": "Ann"}
    project = Project(
        SCHEMA.with_column("age", domain=(0, 120)), dict(Settings(k=6)), words=words, table_name="people.csv",
        records=90, reasons={"known: sex": "nobody knows it"},
    )  # fmt: skip
    Path("last.json").write_text(to_json(project, suggest(TABLE)), "utf-8")
    assert main(["init", "--project", "last.json", "-o", "copse.toml"]) == 0
    plan = Plan.read(".")
    assert (plan.settings["k"], plan.columns["age"]["range"], plan.texts) == (
        6,
        (0, 120),
        {"purpose": "Study of costs"},
    )
    assert plan.answers == {"known: sex": "nobody knows it"}
    assert main(["init", "--project", "last.json", "--k", "9"]) == 2
    capsys.readouterr()
    assert main(["anonymize", "people.csv", "--project", "last.json", "--report", "report.json"]) == 0
    text = capsys.readouterr().err
    assert text.count("The next version has no --project. Use --plan: copse init --project FILE") == 1
    first = parameters()
    assert main(["release", "--report", "report.json"]) == 0
    assert parameters() == first
