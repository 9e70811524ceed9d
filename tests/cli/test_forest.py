"""The commands about private forests."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.forest.forest import ONE_ROW


@pytest.fixture
def nursery(data: Any) -> str:
    return str(data("nursery.csv.gz"))


def test_forest_command__json(nursery: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(nursery, dtype=str, keep_default_na=False)
    codebook = tmp_path / "domains.json"
    codebook.write_text(json.dumps({name: sorted(set(table[name])) for name in table.columns}))
    out = tmp_path / "rules.json"
    status = main(
        ["forest", nursery, "--target", "class", "--epsilon", "0.5", "--domains", str(codebook), "--rules", str(out),
         "--folds", "3", "--json"]
    )  # fmt: skip
    answer = json.loads(capsys.readouterr().out)
    assert status == 0
    assert answer["spent"] == pytest.approx(0.5)
    assert answer["private"]
    assert answer["warnings"] == []
    assert answer["accuracy"] > 0.8
    assert "rehearsal" in answer["accuracy_note"]
    assert len(json.loads(out.read_text())["rules"]) == answer["rules"] > 10


def test_forest_command__text_warns_of_domains_and_of_the_printed_algorithm(
    nursery: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--target", "class", "--mode", "paper", "--trees", "2"]
    assert main(["forest", nursery, *options, "--hold-out", "0.3"]) == 0
    text = capsys.readouterr().out
    assert "NOT differentially private" in text
    assert "Read from the table" in text
    assert "spent 1 of 1" in text
    assert "accuracy" in text


@pytest.mark.parametrize("option", [["--trees", "2"], ["--max-depth", "3"], ["--min-size", "10"]])
def test_scorecard__takes_no_option_of_trees(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["forest", "sample:customers", "--target", "Decision", "--mode", "scorecard", *option]
    assert main(arguments) == 2
    assert "has no trees" in capsys.readouterr().err


def test_forest_command__gives_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 300, "b": ["p", "q", "r"] * 200, "t": ["u", "v"] * 300})
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "domains.json").write_text('{"a": ["x", "y"], "b": ["p", "q", "r"], "t": ["u", "v"]}')
    options = ["--target", "t", "--mode", "scorecard", "--epsilon", "8", "--domains", str(tmp_path / "domains.json")]
    out = tmp_path / "rules.json"
    assert main(["forest", str(tmp_path / "table.csv"), *options, "--rules", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["private"]
    assert answer["spent"] == pytest.approx(8)
    assert answer["model"] == "a scorecard of 2 columns"
    assert answer["rules"] == 1 + 2 + 3
    rules = json.loads(out.read_text())["rules"]
    assert {rule["class"] for rule in rules if {"column": "a", "value": "x"} in rule["if"]} == {"u"}
    assert main(["forest", str(tmp_path / "table.csv"), *options]) == 0
    assert "rules" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--target", "nothing"], ["--target", "class", "--rules", "rules.exe"]])
def test_forest_command__bad_input(nursery: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forest", nursery, *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_audit_command(capsys: pytest.CaptureFixture[str]) -> None:
    modes = ["--mode", "strict", "--mode", "scorecard"]
    assert main(["audit", *modes, "--runs", "100", "--seed", "1", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["modes"]
    assert [finding["mode"] for finding in findings] == ["strict", "scorecard"]
    assert [finding["violated"] for finding in findings] == [False] * 2
    assert all(finding["lower_bound"] <= finding["epsilon"] for finding in findings)


def test_forest_command__warns_where_a_person_has_several_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.DataFrame(
        {"patient_id": [f"P{number // 3:03}" for number in range(600)], "a": ["x", "y"] * 300, "t": ["u", "v"] * 300}
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "domains.json").write_text('{"a": ["x", "y"], "t": ["u", "v"]}')
    words = ["forest", str(tmp_path / "table.csv"), "--target", "t", "--domains", str(tmp_path / "domains.json")]
    for options in (["--person", "patient_id"], ["--columns", "a"], ["--identifying", "patient_id"]):
        assert main([*words, *options]) == 0
        assert f"WARNING: {ONE_ROW.format(person='patient_id')}" in capsys.readouterr().out
        assert main([*words, *options, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["warnings"] == [ONE_ROW.format(person="patient_id")]
    table.drop(columns="patient_id").to_csv(tmp_path / "table.csv", index=False)
    assert main(words) == 0
    assert "one person's here" not in capsys.readouterr().out
