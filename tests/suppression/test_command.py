"""Leaving records out from the command line, and checking what came of it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.reading.samples import hospital

ROLES = ["--quasi-identifying", "age,sex,postcode", "--sensitive", "diagnosis"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its release, and the report."""
    folder = tmp_path_factory.mktemp("suppression")
    hospital(300)[["age", "sex", "postcode", "diagnosis"]].to_csv(folder / "in.csv", index=False)
    options = ["--k", "5", "--grouping", "error-risk", "--generalizer", "uniform", "--suppression", "2%"]
    places = ["--out", str(folder / "out.csv"), "--report", str(folder / "report.json")]
    assert main(["anonymize", str(folder / "in.csv"), *ROLES, *options, *places]) == 0
    return folder


def test_report__says_how_many_were_left_out(files: Path) -> None:
    report = json.loads((files / "report.json").read_text("utf-8"))
    assert report["provenance"]["parameters"]["suppression"] == 0.02
    assert report["utility"]["records_left_out"] == 3
    assert len(pd.read_csv(files / "out.csv")) == 297


def test_verify__counts_them_beside_the_original(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = ["verify", str(files / "out.csv"), *ROLES, "--k", "5", "--original", str(files / "in.csv")]
    assert main([*check, "--suppression", "2%"]) == 0
    assert "3 of 300 rows (1%) were left out" in capsys.readouterr().out
    assert main([*check, "--report", str(files / "report.json")]) == 0
    assert main([*check, "--suppression", "0.005"]) == 1
    assert main(check) == 1


def test_verify__refuses_a_row_more_or_fewer(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (files / "out.csv").read_text("utf-8").splitlines(keepends=True)
    for place, rows in enumerate((lines[:-1], [*lines, lines[-1]])):
        tampered = files / f"tampered {place}.csv"
        tampered.write_text("".join(rows), "utf-8")
        beside = ["--original", str(files / "in.csv"), "--report", str(files / "report.json"), "--suppression", "5%"]
        assert main(["verify", str(tampered), "--k", "1", *beside]) == 1
        assert "The release says that 3 were." in capsys.readouterr().out


def test_pieces__are_refused_in_one_sentence(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv(files / "in.csv", dtype=str).to_parquet(files / "in.parquet")
    places = ["--out", str(files / "folder"), "--engine", "local", "--suppression", "2%"]
    assert main(["anonymize", str(files / "in.parquet"), *ROLES, *places]) == 2
    assert "Leaving rows out takes one table in memory" in capsys.readouterr().err
