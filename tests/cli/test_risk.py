"""The command ``risk``."""

import json
from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.population.sample import Population, sample_risk
from anonymizer.schema import Schema

ROLES = ["--quasi-identifying", "age,sex"]
TABLE = pd.DataFrame({"age": [30, 30, 31, 40], "sex": ["f", "f", "f", "m"], "w": [10, 10, 20, 4], "home": [1, 1, 2, 2]})
PEOPLE = pd.DataFrame({"age": [30, 31, 40], "sex": ["f", "f", "m"], "count": [7, 1, 5]})
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("table.csv", index=False)
    PEOPLE.to_csv("people.csv", index=False)


@pytest.mark.parametrize(
    ("options", "population"),
    [
        (["--fraction", "0.1"], Population(fraction=0.1)),
        (["--population", "people.csv"], Population(table=PEOPLE)),
        ([], Population()),
    ],
)
def test_risk__prints_the_figures_of_the_package(options: list[str], population: Population, capsys: Capture) -> None:
    assert main(["risk", "table.csv", *ROLES, *options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    schema = Schema.of(TABLE, quasi_identifying=["age", "sex"])
    expected = json.loads(json.dumps(sample_risk(TABLE, schema, population).to_dict()))
    assert {name: answer[name] for name in expected} == expected
    assert answer["riskiest"] == []
    assert answer["special_uniques"]["records"] == 2


def test_risk__by_weights_lists_rows_and_households_when_asked(capsys: Capture) -> None:
    design = ["--sampling-weight", "w", "--household", "home"]
    assert main(["risk", "table.csv", *ROLES, *design, "--riskiest", "2"]) == 0
    text = capsys.readouterr().out
    assert "sampling weights of the rows (44 people)" in text
    assert "average risk of households" in text
    assert [line.split()[0] for line in text.splitlines()[-2:]] == ["4", "3"]  # rows, counted from 1
    assert main(["risk", "table.csv", *ROLES]) == 0
    assert "alone by" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [["--fraction", "2"], ["--sampling-weight", "sex"], ["--population", "none.csv"], ["--riskiest", "-1"]],
)
def test_risk__refuses_in_one_line(options: list[str], capsys: Capture) -> None:
    assert main(["risk", "table.csv", *ROLES[:1], "age", *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_anonymize__leaves_the_columns_of_the_design_out(capsys: Capture) -> None:
    roles = ["--sampling-weight", "w", "--household", "home", "--sensitive", "sex", "--quasi-identifying", "age"]
    assert main(["anonymize", "table.csv", *roles, "--k", "2", "--out", "out.csv", "--report", "report.json"]) == 0
    assert list(pd.read_csv("out.csv").columns) == ["age", "sex"]
    capsys.readouterr()
    assert main(["verify", "out.csv", "--original", "table.csv", *roles, "--k", "2"]) == 0
    command = json.loads(Path("report.json").read_text("utf-8"))["provenance"]["command"]
    assert "--sampling-weight w --household home" in command


def test_limits_on_people__steer_a_release_and_verify_counts_them_again(capsys: Capture) -> None:
    rows = TABLE.loc[[0, 0, 1, 1, 2, 2, 3, 3] * 4].assign(ill=["a", "b"] * 16)
    rows.to_csv("rows.csv", index=False)
    PEOPLE.assign(count=[70, 30, 25]).to_csv("register.csv", index=False)
    roles = [*ROLES, "--sensitive", "ill", "--identifying", "w,home", "--k", "2"]
    limit = ["--k-map", "60", "--population", "register.csv"]
    assert main(["anonymize", "rows.csv", *roles, *limit, "--grouping", "least", "--out", "out.csv", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (check,) = (one for one in report["verification"]["checks"] if one["name"] == "k-map")
    assert (check["required"], check["passed"], report["provenance"]["parameters"]["k_map"]) == (60, True, 60)
    assert check["achieved"] >= 60
    released = ["verify", "out.csv", *ROLES, "--sensitive", "ill", "--k", "2"]
    assert main([*released, *limit]) == 0
    assert main([*released, "--k-map", "126", *limit[2:]]) == 1
