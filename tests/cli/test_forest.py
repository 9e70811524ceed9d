"""The commands about private forests."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anonymizer.cli.main import main


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
    assert "were read from the records" in text
    assert "spent 1 of 1" in text
    assert "accuracy" in text


@pytest.mark.parametrize("options", [["--target", "nothing"], ["--target", "class", "--rules", "rules.exe"]])
def test_forest_command__bad_input(nursery: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forest", nursery, *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_audit_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--mode", "strict", "--runs", "200", "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["violated"] is False
