"""Tables in pieces from the terminal: a folder in, a folder out, and its check."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import anonymizer.cli.main as program
from anonymizer.partitions.folder import archive_of, read_manifest
from tests.partitions.tables import people, write_pieces

ROLES = ["--quasi-identifying", "age,income,born,job,town", "--sensitive", "diagnosis", "--identifying", "name"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = people(1500)
    table["name"] = [f"Person Number {number}" for number in range(len(table))]
    return write_pieces(tmp_path / "in", pa.Table.from_pandas(table, preserve_index=False), [600])


def run(*arguments: object) -> int:
    return program.main([str(argument) for argument in arguments])


def test_folder_in__folder_out_and_checked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    settings = ["--k", 5, "--grouping", "least", "--generalizer", "uniform", "--keep", "ward"]
    assert run("anonymize", folder, *ROLES, *settings, "--out", f"{out}/", "--report", report) == 0
    output = capsys.readouterr()
    assert "read in pieces" in output.err
    assert "This release is 5-anonymous" in output.out
    assert f"Written: {out}, 1 file; manifest" in output.out
    assert "Every released cell covers the original value" in output.out
    assert "Person Number" not in output.out + output.err + report.read_text()
    assert json.loads(report.read_text())["provenance"]["input"]["files"] == 2
    assert run("verify", out, "--k", 5, "--report", report) == 0
    assert "This is the folder that the report speaks of" in capsys.readouterr().out
    assert run("verify", out, "--k", 5) == 0
    assert run("verify", out, "--k", 5000) == 1
    archive = archive_of(out, read_manifest(out))
    assert archive is not None
    (tmp_path / "out.zip").write_bytes(archive.data)
    capsys.readouterr()
    assert run("verify", tmp_path / "out.zip", "--k", 5, "--report", report) == 0
    assert "This is the folder that the report speaks of" in capsys.readouterr().out
    assert run("verify", tmp_path / "out.zip", "--k", 5000) == 1
    (tmp_path / "out.zip").write_bytes(archive.data + b"Anna")
    assert run("verify", tmp_path / "out.zip", "--k", 5) == 2
    assert "out.zip is damaged, or holds something beside" in capsys.readouterr().err
    (out / "part-00000.parquet").write_bytes(b"")
    assert run("verify", out) == 2
    assert "part-00000.parquet is not the file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--out", "out.csv"], "released as a folder"),
        ([], "into a new folder"),
        (["--out", "out", "--check"], "--check takes one table in memory"),
        (["--out", "out", "--keep-earlier"], "--keep-earlier takes one table in memory"),
        (["--out", "out", "--generalizer", "tiered"], "'tiered' takes one table in memory"),
    ],
)
def test_what_pieces_cannot_do__is_one_line(
    folder: Path, more: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert run("anonymize", "in", "--engine", "local", *ROLES, "--keep", "ward", *more) == 2
    error = capsys.readouterr().err.strip()
    assert says in error
    assert len(error.splitlines()) == 1


def test_a_large_file__is_read_in_pieces_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from anonymizer.cli import engine

    table = people(600)
    table.to_parquet(tmp_path / "in.parquet", index=False)
    table.to_csv(tmp_path / "in.csv", index=False)
    roles = [*ROLES[:4], "--keep", "ward", "--grouping", "least", "--generalizer", "uniform"]
    monkeypatch.setattr(engine, "LARGE", 600)
    monkeypatch.setattr(engine, "LARGE_TEXT", 1)
    for number, (source, says) in enumerate(
        (
            (tmp_path / "in.parquet", "600 rows: the table is read in pieces (--engine local)"),
            (tmp_path / "in.csv", "0 MiB of text: the table is read in pieces (--engine local)"),
            (tmp_path / "*.csv", "Many files: the table is read in pieces (--engine local)"),
        )
    ):
        assert run("anonymize", source, *roles, "--out", tmp_path / f"out-{number}") == 0
        assert [line for line in capsys.readouterr().err.splitlines() if "--engine" in line][0].startswith(says)
    parts = [(tmp_path / f"out-{number}" / "part-00000.parquet").read_bytes() for number in range(3)]
    assert parts[1] == parts[2]
    assert run("anonymize", tmp_path / "in.parquet", *roles, "--out", tmp_path / "large.csv") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "--engine" in line]
    assert line.startswith("600 rows: the table is read as one, in memory (--engine memory). In pieces")
    monkeypatch.setattr(engine, "LARGE", 601)
    assert run("anonymize", tmp_path / "in.parquet", *roles, "--out", tmp_path / "one.csv") == 0
    assert "--engine" not in capsys.readouterr().err


def test_an_address_of_files__is_no_database(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roles = [*ROLES, "--keep", "ward", "--grouping", "least", "--generalizer", "uniform"]
    assert run("anonymize", folder.as_uri(), *roles, "--out", folder.parent / "out") == 0
    assert run("anonymize", "mysql://host/table", *roles, "--out", folder.parent / "other") == 2
    assert "'mysql' cannot be read" in capsys.readouterr().err
