"""Whatever a producer hides in a file, or bends in its cells: the checker fails it, or refuses it, in one sentence."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from tests.checking.bad_files import ALONE, BESIDE, GOOD, ORIGINAL, SCHEMA, csv_of, packed, parquet

LIMITS = ["--k", "6", "--l", "2", "--t", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(SCHEMA.to_json(), "utf-8")
    ORIGINAL.to_csv("people.csv", index=False)
    return tmp_path


def verdict(data: bytes, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    """The exit status, and all that was said."""
    Path("released").write_bytes(data)
    status = main(["verify", "released", "--schema", "schema.json", *LIMITS, *more])
    said_all = capsys.readouterr()
    return status, said_all.out + said_all.err


def test_there_are_as_many_kinds_as_can_be_thought_of() -> None:
    assert len(ALONE) + len(BESIDE) >= 87
    assert len({words for _, words in ALONE.values()}) > 40


@pytest.mark.parametrize("beside", [(), ("--original", "people.csv")])
@pytest.mark.parametrize(
    "data",
    [csv_of(), csv_of().rstrip(b"\n"), csv_of().replace(b"\n", b"\r\n"), packed()(), parquet()(),
     parquet(write_statistics=True, store_schema=True)()],
)  # fmt: skip
def test_the_good_file_passes(data: bytes, beside: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, words = verdict(data, capsys, *beside)
    assert status == 0, words
    assert "6-anonymous" in words


@pytest.mark.sweep(10)
@pytest.mark.parametrize("name", ALONE)
def test_it_is_caught_in_the_file_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, expected = ALONE[name]
    data = change()
    assert data != csv_of()
    status, words = verdict(data, capsys)
    assert status in (1, 2), words
    assert re.search(expected if "|" in expected else re.escape(expected), words), words
    if status == 2:
        assert words.count("\n") == 1
    else:
        assert "FAILED" in words
    assert verdict(data, capsys, "--original", "people.csv")[0] in (1, 2)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", BESIDE)
def test_it_is_caught_beside_the_original(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, expected = BESIDE[name]
    status, words = verdict(change(), capsys, "--original", "people.csv")
    assert status == 1, words
    assert expected in words


def test_roles_of_ones_own_pass_no_header_that_speaks_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a schema, a column that nobody named is harmless only when its header does not say otherwise."""
    GOOD.assign(email="a@example.invalid").to_csv("more.csv", index=False)
    roles = ["--quasi-identifying", "age,sex,seen,job,ward", "--sensitive", "illness,pay", "--k", "6"]
    assert main(["verify", "more.csv", *roles]) == 1
    assert "identifying columns: email" in capsys.readouterr().out
    GOOD.assign(note="x").to_csv("more.csv", index=False)
    assert main(["verify", "more.csv", *roles]) == 0
    assert main(["verify", "more.csv", *roles, "--original", "people.csv"]) == 1
    assert "does not know: note" in capsys.readouterr().out


def test_a_report_binds_roles_and_file(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--quasi-identifying", "age,sex,seen", "--sensitive", "illness", "--identifying", "name"]
    made = ["--keep", "job,ward,pay", "--k", "3", "--out", "out.csv", "--report", "report.json"]
    made.append("--reason=unchanged: job, ward, pay=nobody in this table lives")
    assert main(["anonymize", "people.csv", *roles, *made]) == 0
    capsys.readouterr()
    stated = json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema_sha256"]
    assert main(["verify", "out.csv", "--report", "report.json", "--k", "3"]) == 0
    words = capsys.readouterr().out
    assert "quasi-identifying age (numeric), sex (categorical), seen (date)" in words
    assert stated in words
    fewer = ["--quasi-identifying", "sex", "--sensitive", "illness"]
    assert main(["verify", "out.csv", *fewer, "--k", "3"]) == 2
    assert "Nobody said what these columns of the release are: 'age' looks" in capsys.readouterr().err
    more = [*fewer, "--keep", "age,seen,job,ward,pay"]
    assert main(["verify", "out.csv", *more, "--k", "3"]) == 0
    assert stated not in capsys.readouterr().out
    assert main(["verify", "out.csv", *fewer, "--k", "3", "--report", "report.json"]) == 1
    assert "'age' was quasi-identifying, and is insensitive here" in capsys.readouterr().out
    Path("report.json").write_text(
        Path("report.json").read_text("utf-8").replace('"role": "quasi-identifying"', '"role": "insensitive"', 1),
        "utf-8",
    )
    assert main(["verify", "out.csv", "--report", "report.json", "--k", "3"]) == 2
    assert "not that of the roles that stand there" in capsys.readouterr().err


def test_limits_need_the_columns_they_speak_of(capsys: pytest.CaptureFixture[str]) -> None:
    GOOD.drop(columns=["illness", "pay"]).to_csv("less.csv", index=False)
    for limit in (["--l", "2"], ["--t", "0.5"], ["--entropy-l", "2"], ["--spread-min", "0.1"]):
        assert main(["verify", "less.csv", "--schema", "schema.json", "--k", "6", *limit]) == 1
        assert "lacks the sensitive values of illness, pay" in capsys.readouterr().out
        roles = ["--quasi-identifying", "age,sex,seen,job,ward"]
        assert main(["verify", "less.csv", *roles, "--k", "6", *limit]) == 1
        assert "No column is sensitive" in capsys.readouterr().out
    assert main(["verify", "less.csv", "--schema", "schema.json", "--k", "6"]) == 0


def test_the_tables_of_this_test_fit_each_other() -> None:
    assert len(GOOD) == len(ORIGINAL) == 24
    assert isinstance(GOOD, pd.DataFrame)
