"""SQLite and DuckDB: read without loss, never written to, nothing else reached; and the command line over them."""

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.cli import main as program
from anonymizer.databases.address import address_from
from anonymizer.databases.driver import quoted
from anonymizer.databases.read import read_database
from anonymizer.errors import ReadError
from anonymizer.reading.child import _take, prepare
from tests.databases.here import read_here

HOSTILE = ['a"; drop table people; --', "![x](http://evil.example/a.png)", "名前 ü 🌳", "100% o'clock", "<b>x</b>"]


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    path = tmp_path / "peo ple?#.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE people (id INTEGER, gaps INTEGER, wide INTEGER, size REAL, day TEXT, mixed, t TEXT)"
        )
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(2**63 - 1, 1, 2**53 + 1, 0.1, "2024-02-29", 7, "a"), (2, None, None, 2, "2024-03-01", "x", None)],
        )
        connection.execute("CREATE TABLE empty (a)")
        connection.execute("CREATE TABLE bytes (a)")
        connection.execute("INSERT INTO bytes VALUES (x'00ff')")
    return path


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 12345678901234567890::HUGEINT AS huge, 9007199254740993::BIGINT AS wide,"
            " uuid() AS id, '{}'::JSON AS doc, [1,2] AS parts, TIME '10:00' AS hour, 1.10::DECIMAL(20,3) AS price,"
            " DATE '2024-02-29' AS day, true AS yes, 'a'::ENUM('a','b') AS mood, 'x' AS t"
        )
        connection.execute("INSERT INTO people (t) VALUES (NULL)")
        connection.execute("CREATE TABLE bytes AS SELECT 'x'::BLOB AS a")
        connection.execute("CREATE TABLE empty (a INT)")
    return path


def url(path: Path, after: str) -> str:
    kind = "duckdb" if path.suffix == ".duckdb" else "sqlite"
    name = str(path).replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    return f"{kind}:///{name}?{after}"


def test_a_path__is_meant_from_where_the_caller_is(duck: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The child that waits for a table may have begun in another folder."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    waiting = _take()
    waiting.kill()
    waiting.wait()
    prepare()
    monkeypatch.chdir(tmp_path)
    assert len(read_database(address_from(f"duckdb:///{duck.name}?table=people")).frame) == 2
    (tmp_path / "people.csv").write_text("age\n4\n5\n", "utf-8")
    assert an.read_table(Path("people.csv")).frame["age"].tolist() == [4, 5]
    monkeypatch.chdir(elsewhere)
    elsewhere.rmdir()
    assert len(an.read_table(b"age\n4\n5\n", name="people.csv").frame) == 2, "a folder that is gone is not needed"


def test_sqlite__comes_without_loss(lite: Path) -> None:
    reading = read_here(url(lite, "table=people"))
    first, second = (reading.frame.iloc[place] for place in (0, 1))
    assert (first["id"], second["id"]) == (2**63 - 1, 2)
    assert first["gaps"] == 1.0
    assert pd.isna(second["gaps"])
    assert str(first["wide"]) == "9007199254740993"
    assert list(reading.frame["size"]) == [0.1, 2.0]
    assert first["day"] == pd.Timestamp("2024-02-29")
    assert list(map(str, reading.frame["mixed"])) == ["7", "x"]
    assert pd.isna(second["t"])
    notes = " ".join(problem.text for problem in reading.problems)
    assert "Column 'mixed' holds values of several types. They stay text." in notes
    assert "Column 'day' is text, and holds dates only: they are dates." in notes


def test_duckdb__comes_without_loss(duck: Path) -> None:
    reading = read_here(url(duck, "table=main.people"))
    first, second = (reading.frame.iloc[place] for place in (0, 1))
    assert str(first["huge"]) == "12345678901234567890"
    assert str(first["wide"]) == "9007199254740993"
    assert (first["price"], first["day"]) == (1.1, pd.Timestamp("2024-02-29"))
    texts = {"doc": "{}", "parts": "[1, 2]", "hour": "10:00:00", "yes": "true", "mood": "a", "t": "x"}
    for name, text in texts.items():
        assert str(first[name]) == text
        assert pd.isna(second[name])
    assert len(str(first["id"])) == 36


def test_batches__of_other_types_agree(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (number, text)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)",
            [(n if n < 25_000 else n + 0.5, n if n < 25_000 else "late") for n in range(50_000)],
        )
    frame = read_here(url(path, "table=t")).frame
    assert frame["number"].sum() == sum(range(50_000)) + 12_500
    assert (str(frame["text"].iloc[0]), str(frame["text"].iloc[-1])) == ("0", "late")


REFUSALS = {
    "table=nothing": "There is no table 'nothing'",
    "table=empty": "has no rows",
    "table=bytes": "Column 'a' holds values of type BLOB",
    "query=SELECT agee FROM people": "agee",
    "query=SELECT 1; DROP TABLE people": "several statements",
    "query=DROP TABLE people": "",
    "query=DELETE FROM people": "",
    "query=SELECT 1) AS q; DROP TABLE people; --": "several statements",
    "query=ATTACH '{folder}/other.db' AS other": "",
    "query=COPY people TO '{folder}/other.csv'": "",
    "query=PRAGMA journal_mode=WAL": "",
    "query=VACUUM INTO '{folder}/other.db'": "",
    "query=SELEC": "not one SELECT",
}


@pytest.mark.parametrize("words", REFUSALS, ids=range(len(REFUSALS)))
@pytest.mark.parametrize("kind", ["lite", "duck"])
def test_refusals__are_one_sentence_and_change_nothing(kind: str, words: str, request: Any, tmp_path: Path) -> None:
    path = request.getfixturevalue(kind)
    before, names = path.read_bytes(), sorted(tmp_path.iterdir())
    with pytest.raises(ReadError) as caught:
        read_here(url(path, words.replace("{folder}", str(tmp_path))))
    assert REFUSALS[words] in str(caught.value)
    assert caught.value.remedy
    assert caught.value.__cause__ is None
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, names)


def test_duckdb__reaches_no_other_file(duck: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\ncanary-7714\n")
    for words in (f"SELECT * FROM read_csv('{tmp_path}/secret.csv')", f"SELECT * FROM '{tmp_path}/secret.csv'"):
        with pytest.raises(ReadError) as caught:
            read_here(url(duck, f"query={words}"))
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize("kind", ["lite", "duck"])
def test_files__that_are_none_are_refused(kind: str, request: Any, tmp_path: Path) -> None:
    path = request.getfixturevalue(kind)
    other = tmp_path / f"other{path.suffix}"
    with pytest.raises(ReadError, match="There is no database"):
        read_here(url(other, "table=t"))
    assert not other.exists()
    other.write_bytes(b"no database at all" * 100)
    with pytest.raises(ReadError, match="no database|no SQLite database"):
        read_here(url(other, "table=t"))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["lite", "duck"])
def test_names__are_data(kind: str, name: str, request: Any) -> None:
    path = request.getfixturevalue(kind)
    with (sqlite3 if kind == "lite" else duckdb).connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {quoted(name)} ({quoted(name)} INT)")
        connection.execute(f"INSERT INTO {quoted(name)} VALUES (7)")
    address = address_from(url(path, "table=t")).but(table=("", name))
    assert list(read_here(address).frame[name]) == [7]
    assert len(read_here(url(path, "table=people")).frame) == 2


def test_process_of_its_own__gives_the_same_table(lite: Path) -> None:
    here, reading = read_here(url(lite, "table=people")), read_database(url(lite, "table=people"))
    pd.testing.assert_frame_equal(here.frame, reading.frame)
    assert (reading.format, reading.name) == ("sqlite", "sqlite:people")


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.db"
    with sqlite3.connect(path) as connection:
        an.SAMPLES["hospital"].load().head(300).to_sql("admissions", connection, index=False)
    return path


ROLES = ["--identifying", "name,email", "--quasi-identifying", "age,sex", "--sensitive", "diagnosis", "--k", "5"]
ROLES += ["--keep", "postcode,marital_status,occupation,admission_date"]


def test_command__reads_a_database(hospital: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "out.csv", tmp_path / "report.json"
    reasons = ["--override", "a test"]
    words = [
        "anonymize",
        url(hospital, "table=admissions"),
        *ROLES,
        *reasons,
        "--out",
        str(out),
        "--report",
        str(report),
    ]
    assert program.main(words) in (0, 1), capsys.readouterr().err
    assert '"sqlite:admissions"' in report.read_text()
    assert str(hospital) not in report.read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["anonymize", "postgresql://u:canary-71@127.0.0.1:1/x?table=t"],
        ["anonymize", "postgresql://u:canary-71@a@127.0.0.1:1/x?table=t"],
        ["anonymize", "postgresql://u:canary-71@127.0.0.1:1/x", "--out", "postgresql://u:canary-71@127.0.0.1:1/x"],
        ["anonymize", "a.csv", "postgresql://u:canary-71@h/x?table=t"],
        ["anonymize", "a.csv", "--k", "postgresql://u:canary-71@h/x?table=t"],
        ["anonymize", "a.csv", "--report", "postgresql://u:canary-71@h/x?table=t"],
        ["risk", "a.csv", "--population", "postgresql://u:canary-71@h/x?table=t"],
        ["evaluate", "mysql://u:canary-71@h/x?table=t"],
    ],
)
def test_command__shows_no_password(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status: Any
    try:
        status = program.main(words)
    except SystemExit as end:
        status = end.code
    output = capsys.readouterr()
    assert status == 2, output
    assert len(output.err.strip().splitlines()) == 1
    assert "canary" not in output.err + output.out
