"""The check of single files, folders and tables: what no row needs is refused, and what nobody vouches for is said."""

import gzip
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.checking.released_file import read_archive
from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.labelled.read import read_labelled
from anonymizer.labelled.write import labelled_bytes, planned_table
from anonymizer.partitions.folder import DICTIONARY, MANIFEST, read_manifest
from anonymizer.releasing.files import archive
from anonymizer.releasing.release import read_release
from tests.cli.test_main import CHECKED, Capture, folder, make
from tests.labelled.test_read import sav, survey
from tests.partitions.tables import people, write_pieces

__all__ = ["folder"]

SHEET = "xl/worksheets/sheet1.xml"


def speaks_of(path: str, report: str = "report.json", **fields: Any) -> None:
    """Make a report speak of a file that was changed."""
    described = json.loads(Path(report).read_text("utf-8"))
    run = described["provenance"]
    run["output_sha256"] = {format: digest(Path(path).read_bytes()) for format in run["output_sha256"]}
    run.update(fields)
    Path(report).write_text(json.dumps(described), "utf-8")


def checked(path: str, *more: str) -> int:
    return main(["verify", path, "--report", "report.json", *more])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "xlsx"])
def test_rows__stand_in_the_order_of_the_report(ending: str, capsys: Capture) -> None:
    assert make("--out", f"out.{ending}", "--report", "report.json") == 0
    assert checked(f"out.{ending}") == 0
    schema = read_schema()
    rows = read_release(f"out.{ending}", schema if ending != "xlsx" else None)
    other = rows.iloc[[*range(1, len(rows)), 0]].reset_index(drop=True)
    Path(f"out.{ending}").write_bytes(rows_as(ending, other, Path(f"out.{ending}").read_bytes()))
    speaks_of(f"out.{ending}")
    capsys.readouterr()
    assert checked(f"out.{ending}") == 1
    assert "The rows do not stand in the order that the report says" in capsys.readouterr().out
    speaks_of(f"out.{ending}", row_order="Rows are shuffled from a secret key that is not released.")
    assert checked(f"out.{ending}") == 0


def read_schema() -> Any:
    from anonymizer.provenance.report import schema_from

    return schema_from("report.json")


def rows_as(ending: str, rows: pd.DataFrame, before: bytes) -> bytes:
    """A file of other rows, written as releases are; ``before``: the file as it was."""
    import io

    if ending.startswith("csv"):
        text = gzip.decompress(before) if ending == "csv.gz" else before
        head, first, *others = text.splitlines(keepends=True)
        content = b"".join([head, *others, first])
        return gzip.compress(content, mtime=0) if ending == "csv.gz" else content
    if ending == "xlsx":
        parts = read_archive(before)[0]
        head, first, rest = parts[SHEET].split(b"</row>\n", 2)
        body, end = rest.rsplit(b"</row>\n", 1)
        return archive(parts | {SHEET: b"</row>\n".join([head, body, first, end])})
    from anonymizer.reading.parquet import arrow_bytes, arrow_maker, parquet_writer

    if ending == "feather":
        return arrow_bytes(rows.apply(lambda c: c.cat.remove_unused_categories() if c.dtype == "category" else c))
    sink = io.BytesIO()
    table = pa.table({name: arrow_maker(rows[name])(slice(None)) for name in rows})
    with parquet_writer(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


GZIP: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a file name": (lambda d: d[:3] + b"\x08" + d[4:10] + b"Anna Berg\0" + d[10:], "a name, a comment or other notes"),
    "a comment": (lambda d: d[:3] + b"\x10" + d[4:10] + b"Anna Berg\0" + d[10:], "a name, a comment or other notes"),
    "an extra field": (
        lambda d: d[:3] + b"\x04" + d[4:10] + struct.pack("<H", 8) + b"AB\4\0Anna" + d[10:], "a name, a comment or"),
    "a mark of text": (lambda d: d[:3] + b"\x01" + d[4:], "a name, a comment or other notes"),
    "a time": (lambda d: d[:4] + b"Anna" + d[8:], "when or where it was packed"),
    "a system": (lambda d: d[:9] + b"\x07" + d[10:], "when or where it was packed"),
    "a level": (lambda d: d[:8] + b"\x07" + d[9:], "when or where it was packed"),
    "a second part": (lambda d: d + gzip.compress(b"Anna", mtime=0), "goes on after its end"),
    "bytes behind": (lambda d: d + b"Anna", "goes on after its end"),
}  # fmt: skip
"""What is hidden in a packed file, and what the check says."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("what", GZIP)
def test_free_bytes_of_a_packed_file__are_refused(what: str, capsys: Capture) -> None:
    assert make("--out", "out.csv.gz", "--report", "report.json") == 0
    assert checked("out.csv.gz") == 0
    hide, says = GZIP[what]
    Path("out.csv.gz").write_bytes(hide(Path("out.csv.gz").read_bytes()))
    speaks_of("out.csv.gz")
    capsys.readouterr()
    assert checked("out.csv.gz") == 1
    assert says in capsys.readouterr().out


def test_numbers_as_text_in_a_workbook__are_refused_or_said(capsys: Capture) -> None:
    assert make("--out", "out.xlsx", "--report", "report.json") == 0
    parts = read_archive(Path("out.xlsx").read_bytes())[0]
    sheet = re.sub(rb"<c><v>([^<]+)</v></c>(?=</row>)", rb'<c t="inlineStr"><is><t>\1</t></is></c>', parts[SHEET])
    assert sheet != parts[SHEET]
    Path("out.xlsx").write_bytes(archive(parts | {SHEET: sheet}))
    speaks_of("out.xlsx")
    capsys.readouterr()
    for more, status in ((["--report", "report.json"], 1), ([*CHECKED, "--original", "people.csv"], 1), (CHECKED, 0)):
        assert main(["verify", "out.xlsx", "--k", "5", *more]) == status
        assert "has numbers that are stored as text" in capsys.readouterr().out


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_labels_that_nobody_gave__are_refused_or_said(format: str, capsys: Capture, tmp_path: Path) -> None:
    table = survey(200).drop(columns="born")
    sav(tmp_path, table)
    roles = ["--quasi-identifying", "age,sex", "--sensitive", "income,answer,income_missing", "--keep", "city"]
    why = [f"--reason={key}=nobody of these lives" for key in ("follows: city", "unchanged: city")]
    files = ["--out", f"out.{format}", "--report", "report.json", "--external", "external.html"]
    assert main(["anonymize", "t.sav", *roles, "--k", "5", "--attack-seconds", "0.1", *why, *files]) == 0
    assert checked(f"out.{format}") == 0
    data = Path(f"out.{format}").read_bytes()
    for change, says in (
        ({"label": "Anna Berg"}, "Column 'answer' has another label than the report gives"),
        ({"levels": ()}, "Column 'answer' has other codes or labels of values than the report gives"),
    ):
        columns = []
        for column in read_labelled(data, format, "t", stop=lambda rows, width: None):
            values = column.values
            if isinstance(values, list):
                values = pd.Categorical(pa.chunked_array(values).cast(pa.large_string()).to_pandas().replace("", None))
            changed = change
            if "levels" in change:  # other codes for the same words
                levels = column.variable.levels
                changed = {
                    "levels": tuple((text, code if isinstance(code, str) else code + 50) for text, code in levels)
                }
            variable = replace(column.variable, **changed) if column.name == "answer" else column.variable
            columns.append(replace(column, variable=variable, values=values))
        Path(f"out.{format}").write_bytes(labelled_bytes(planned_table(columns, format), format))
        speaks_of(f"out.{format}")
        capsys.readouterr()
        assert checked(f"out.{format}") == 1
        assert says in capsys.readouterr().out
        if "label" in change:
            main(["verify", f"out.{format}", *roles, "--k", "5"])
            assert "nobody checked them: " in (printed := capsys.readouterr().out)
            assert "'answer' is called 'Anna Berg'" in printed


def test_cells_off_the_grid__are_refused_or_said(capsys: Capture) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({
        "age": rng.integers(20, 90, 80), "town": rng.choice(list("abcdefgh"), 80), "cost": rng.integers(1, 900, 80)
    })  # fmt: skip
    table.to_csv("t.csv", index=False)
    groups = [list("abcd"), list("efgh")]
    schema = {"columns": [
        {"name": "age", "role": "quasi-identifying", "kind": "numeric", "grid": [5, 0]},
        {"name": "town", "role": "quasi-identifying", "kind": "categorical", "groups": groups},
        {"name": "cost", "role": "sensitive", "kind": "numeric"},
    ]}  # fmt: skip
    Path("schema.json").write_text(json.dumps(schema))
    made = ["anonymize", "t.csv", "--schema", "schema.json", "--k", "5", "--out", "out.csv", "--report", "report.json"]
    assert main([*made, "--writing", "groups"]) == 0
    assert checked("out.csv") == 0
    text = Path("out.csv").read_text()
    cell = re.search(r"\[\d+[05], \d+\]", text)
    assert cell is not None
    low, high = json.loads(cell[0])
    assert "{a, b, c, d}" in text
    for old, new, says in (
        (cell[0], f"[{low}, {high - 1}]", "does not end where the declared grid does"),
        (cell[0], f"[{low + 1}, {high}]", "does not end where the declared grid does"),
        (cell[0], f"~{low}", "is a mean or median, and numbers are written as public"),
        ("{a, b, c, d}", "{a, b, c}", "is not made of whole public groups"),
        ("{a, b, c, d}", "a+b+c+d", "is not how levels are written as groups"),
    ):
        Path("out.csv").write_text(text.replace(old, new, 1))
        speaks_of("out.csv")
        capsys.readouterr()
        assert checked("out.csv", "--k", "1") == 1
        assert says in capsys.readouterr().out
    Path("out.csv").write_text(text.replace(cell[0], f"[{low}, {high - 1}]"))
    assert main(["verify", "out.csv", "--schema", "schema.json", "--k", "1"]) == 0
    assert "does not end where the declared grid does" in capsys.readouterr().out


def test_a_clean_copy__has_the_rows_alone_and_is_judged(capsys: Capture) -> None:
    assert make("--out", "out.parquet", "--report", "report.json") == 0
    table = pq.read_table("out.parquet").replace_schema_metadata(None)
    pq.write_table(table, "other.parquet", compression="snappy", store_schema=False)
    speaks_of("other.parquet")
    capsys.readouterr()
    assert checked("other.parquet") == 0
    assert "--clean-copy FILE writes the rows alone" in capsys.readouterr().out
    assert checked("other.parquet", "--clean-copy", "clean.parquet") == 0
    printed = capsys.readouterr().out
    assert "what its bytes" in printed
    assert digest(Path("other.parquet").read_bytes()) in printed
    assert "Written, the rows alone: clean.parquet" in printed
    assert Path("clean.parquet").read_bytes() == Path("out.parquet").read_bytes()
    Path("parts").mkdir()
    for copy, file, says in (
        ("clean.parquet", "other.parquet", "is there already"),
        ("new.parquet", "parts", "the input is none"),
    ):
        assert checked(file, "--clean-copy", copy) == 2
        assert says in capsys.readouterr().err
    assert checked("other.parquet", "--k", "500", "--clean-copy", "new.parquet") == 1
    assert "No clean copy is written" in capsys.readouterr().out
    assert not Path("new.parquet").exists()


@pytest.mark.parametrize("format", ["csv.gz", "xlsx"])
def test_what_another_program_packed__is_checked_and_has_a_clean_copy(capsys: Capture, format: str) -> None:
    assert make("--out", f"out.{format}", "--report", "report.json") == 0
    data = Path(f"out.{format}").read_bytes()
    if format == "xlsx":
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
            for name, content in read_archive(data)[0].items():
                part = zipfile.ZipInfo(name)
                part.compress_type, part.create_system, part.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
                book.writestr(part, content, compresslevel=1)
        other = sink.getvalue()
    else:
        other = gzip.compress(gzip.decompress(data), 1, mtime=0)
    Path(f"other.{format}").write_bytes(other)
    speaks_of(f"other.{format}")
    capsys.readouterr()
    assert checked(f"other.{format}", "--clean-copy", "clean.parquet") == 0
    printed = capsys.readouterr().out
    assert "cannot be said" in printed
    assert digest(other) in printed
    assert make("--out", "out.parquet") == 0
    assert Path("clean.parquet").read_bytes() == Path("out.parquet").read_bytes()


def test_a_column_that_nobody_named__is_refused_or_said(capsys: Capture) -> None:
    assert make("--out", "out.csv") == 0
    unnamed = CHECKED[:4]
    assert main(["verify", "out.csv", *unnamed, "--k", "5"]) == 2
    assert "--keep occupation" in (error := capsys.readouterr().err)
    assert "Nobody said what these columns of the release are: 'occupation' looks" in error
    assert main(["verify", "out.csv", *CHECKED, "--k", "5"]) == 0
    assert "Nobody named days_of_stay: taken as insensitive. Name each with" in capsys.readouterr().out
    assert main(["verify", "out.csv", *CHECKED[:4], "--keep", "occupation,days_of_stay", "--k", "5"]) == 0
    assert "Nobody named" not in capsys.readouterr().out
    with duckdb.connect("out.duckdb") as database:
        database.execute("CREATE TABLE released AS SELECT * FROM read_csv('out.csv', all_varchar=true)")
    where = "duckdb:///out.duckdb?table=released"
    assert main(["verify", where, *unnamed, "--k", "5"]) == 2
    assert "--keep occupation" in capsys.readouterr().err
    main(["verify", where, *CHECKED, "--k", "5"])
    assert "Nobody named days_of_stay" in capsys.readouterr().out


def test_rare_forms__are_listed_without_the_original(capsys: Capture) -> None:
    n = 200
    table = pd.DataFrame({
        "age": [20 + i // 20 for i in range(n)], "town": ["Berlin", "Paris"] * (n // 2),
        "note": ["calm"] * n, "cost": [f"{i}.5" for i in range(n)],
    })  # fmt: skip
    table.loc[3, "town"], table.loc[4, "note"], table.loc[5, "note"] = "B\u0435rlin", "ca\u200blm", "\u202ecalm"
    table.loc[6, "cost"] = "6.5000123"
    table.to_csv("t.csv", index=False)
    roles = ["--quasi-identifying", "age", "--sensitive", "note,cost", "--keep", "town"]
    main(["verify", "t.csv", *roles, "--k", "5"])
    printed = capsys.readouterr().out
    assert r"Column 'town' has 1 value with letters of two scripts in one word: 'B\u0435rlin'." in printed
    assert r"Column 'note' has 2 values with letters that nobody sees: " in printed
    assert r"'ca\u200blm'" in printed
    assert r"'\u202ecalm'" in printed
    assert "Column 'cost' has 1 value with more digits than the others: '6.5000123'." in printed
    main(["verify", "t.csv", *roles, "--k", "5", "--json"])
    assert len([one for one in json.loads(capsys.readouterr().out)["remarks"] if one.startswith("Column")]) == 3


def test_a_folder__is_not_believed_what_its_columns_are(tmp_path: Path, capsys: Capture) -> None:
    source = write_pieces(tmp_path / "in", pa.Table.from_pandas(people(1500), preserve_index=False), [600])
    roles = ["--quasi-identifying", "age,income,born,job,town", "--sensitive", "diagnosis"]
    settings = ["--k", "5", "--grouping", "least", "--generalizer", "uniform", "--keep", "ward"]
    assert main(["anonymize", str(source), *roles, *settings, "--out", "out/", "--report", "report.json"]) == 0
    capsys.readouterr()
    assert main(["verify", "out", "--k", "5"]) == 0
    assert "Only the folder's own dictionary says what these columns are: age, income" in capsys.readouterr().out
    named = [*roles, "--keep", "ward"]
    assert main(["verify", "out", "--k", "5", *named]) == 0
    assert "own dictionary" not in capsys.readouterr().out
    dictionary = json.loads(Path("out", DICTIONARY).read_text("utf-8"))
    for column in dictionary:
        column["role"] = "insensitive" if column["name"] == "age" else column["role"]
    Path("out", DICTIONARY).write_text(json.dumps(dictionary), "utf-8")
    manifest = json.loads(Path("out", MANIFEST).read_text("utf-8"))
    manifest["dictionary_sha256"] = digest(Path("out", DICTIONARY).read_bytes())
    Path("out", MANIFEST).write_text(json.dumps(manifest), "utf-8")
    report = json.loads(Path("report.json").read_text("utf-8"))
    report["provenance"]["output_sha256"] = {
        name: read_manifest("out").sha256 for name in report["provenance"]["output_sha256"]
    }
    Path("report.json").write_text(json.dumps(report), "utf-8")
    for more in (named, ["--report", "report.json"]):
        capsys.readouterr()
        assert main(["verify", "out", "--k", "5", *more]) == 1
        printed = capsys.readouterr().out
        assert "The dictionary says that column 'age' is insensitive, and it is quasi-identifying." in printed
        assert "quasi-identifying age (numeric)" in printed


def test_rows_of_a_folder__stand_in_the_order_of_the_report(tmp_path: Path, capsys: Capture) -> None:
    source = write_pieces(tmp_path / "in", pa.Table.from_pandas(people(1500), preserve_index=False), [600])
    roles = ["--quasi-identifying", "age,income,born,job,town", "--sensitive", "diagnosis", "--keep", "ward"]
    settings = ["--k", "5", "--grouping", "least", "--generalizer", "uniform"]
    assert main(["anonymize", str(source), *roles, *settings, "--out", "out/", "--report", "report.json"]) == 0
    assert main(["verify", "out", "--report", "report.json"]) == 0
    part = Path("out", "part-00000.parquet")
    rows = read_release(part)
    part.write_bytes(rows_as("parquet", rows.iloc[[*range(1, len(rows)), 0]].reset_index(drop=True), b""))
    manifest = json.loads(Path("out", MANIFEST).read_text("utf-8"))
    manifest["parts"][0]["sha256"] = digest(part.read_bytes())
    Path("out", MANIFEST).write_text(json.dumps(manifest), "utf-8")
    report = json.loads(Path("report.json").read_text("utf-8"))
    sha256 = read_manifest("out").sha256
    report["provenance"]["output_sha256"] = dict.fromkeys(report["provenance"]["output_sha256"], sha256)
    Path("report.json").write_text(json.dumps(report), "utf-8")
    capsys.readouterr()
    assert main(["verify", "out", "--report", "report.json"]) == 1
    assert "part-00000.parquet: The rows do not stand in the order that the report says" in capsys.readouterr().out


def two_releases() -> list[str]:
    """Two releases of the people of the folder, and the options of their roles."""
    roles = ["--quasi-identifying", "age,sex,postcode", "--sensitive", "diagnosis", "--k", "5"]
    others = ["--identifying", "name,email,occupation,marital_status,days_of_stay,cost,admission_date"]
    for name, grouping in (("one.csv", "least"), ("two.csv", "error-risk")):
        assert main(["anonymize", "people.csv", *roles, *others, "--grouping", grouping, "--out", name]) == 0
    return roles


def test_several_files__are_held_together(capsys: Capture) -> None:
    roles = two_releases()
    capsys.readouterr()
    assert main(["verify", "one.csv", "two.csv", *roles]) == 1
    alone = capsys.readouterr().out
    assert alone.startswith(("These two files alone prove it: at least ", "These two files alone cannot tell. "))
    assert "Taken as files of the same people" in alone
    assert main(["verify", "one.csv", "two.csv", *roles, "--original", "people.csv", "--json"]) == 1
    beside = json.loads(capsys.readouterr().out)
    assert (beside["verdict"], beside["persons"], beside["files"]) == ("fails", 300, 2)
    assert main(["verify", "one.csv", "one.csv", *roles, "--original", "people.csv"]) in (0, 1)
    assert main(["verify", "one.csv", "two.csv", "one.csv", *roles]) == 1
    assert "one.csv and two.csv: at least " in capsys.readouterr().out
    assert main(["verify", "one.csv", "two.csv", *roles, "--l", "5", "--original", "people.csv"]) == 1
    words = "people are in groups with fewer than 5 values of diagnosis"
    assert words in capsys.readouterr().out
    assert main(["verify", "one.csv", "two.csv", *roles, "--l", "5", "--risk-max", "0.5", "--json"]) == 1
    (limit,) = json.loads(capsys.readouterr().out)["limits"]
    assert (limit["limit"], limit["column"], limit["required"]) == ("l", "diagnosis", 5)
    Path("fewer.csv").write_bytes(b"".join(Path("two.csv").read_bytes().splitlines(keepends=True)[:-30]))
    assert main(["verify", "one.csv", "fewer.csv", *roles]) == 1
    assert "The files need not hold the same people" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["none.csv"], "none.csv is no file"),
        (["two.csv", "--report", "r.json"], "--report speaks of one file"),
        (["two.csv", "--sensitive", "diagnosis,colour"], "no column 'colour' in any file"),
    ],
)
def test_several_files__refuse_what_is_of_one(more: list[str], problem: str, capsys: Capture) -> None:
    roles = ["--quasi-identifying", "age", "--sensitive", "diagnosis"]
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("age,diagnosis\n" + '"[1, 9]",flu\n' * 20, "utf-8")
    assert main(["verify", "one.csv", "two.csv", *roles]) == 0
    Path("r.json").write_text("{}", "utf-8")
    assert main(["verify", "one.csv", more[0], *roles, *more[1:]]) == 2
    assert problem in capsys.readouterr().err


def test_attack__says_what_several_files_tell_together(capsys: Capture) -> None:
    roles = two_releases()
    capsys.readouterr()
    assert main(["attack", "one.csv", "two.csv", *roles]) == 0
    alone = capsys.readouterr().out
    assert "By the files alone: every figure is at least so large." in alone
    assert "rows (" in alone
    assert main(["attack", "one.csv", "two.csv", *roles, "--original", "people.csv", "--json"]) == 0
    beside = json.loads(capsys.readouterr().out)
    assert beside["headline"].startswith(("Both releases together leave", "The files alone"))
    assert (beside["releases"], beside["k"], beside["values"][0]["column"]) == (2, 5, "diagnosis")
    assert beside["below"] <= 300
    if beside["exact"]:
        assert sum(beside["steps"][1]) == 300
    assert main(["attack", "one.csv", *roles]) == 2
    assert "Only one release is named." in capsys.readouterr().err
    assert main(["attack", "one.csv", "none.csv", *roles]) == 2
    assert "none.csv is no file" in capsys.readouterr().err
