"""A release writes dates as the table that it was made from, and they are read back as they were."""

import datetime
import io
import json
import zipfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings

from anonymizer.checking.released_file import form_of_cells, read_file
from anonymizer.cli.main import main
from anonymizer.errors import ReadError
from anonymizer.json_value import parse
from anonymizer.labelled.dates import FORMS, form_of, pattern_of, read_dates, write_dates
from anonymizer.labelled.variable import Variable
from anonymizer.reading.files import Reading, read_table
from anonymizer.releasing.workbook import sheet_cell, workbook_bytes
from anonymizer.schema import Role
from tests.sweeps import few

DAYS = st.dates(datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)).map(datetime.date.isoformat)
CELLS = st.one_of(
    st.none(), DAYS, st.sampled_from(["*", "missing", ""]), DAYS.map("~{}".format), DAYS.map("≥ {}".format),
    st.tuples(DAYS, DAYS).map(lambda ends: f"[{min(ends)}, {max(ends)}]"),
    DAYS.map(lambda day: "{" + day + ", missing}"),
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@given(cells=st.lists(CELLS, max_size=8))
@settings(max_examples=few(80))
def test_cells__are_written_in_every_form_and_read_back(form: str, cells: list[str | None]) -> None:
    plain = pa.array(cells, pa.string())
    assert read_dates(write_dates(plain, form), form).equals(plain)


@pytest.mark.sweep(10)
@pytest.mark.parametrize("form", FORMS)
@given(days=st.lists(st.dates(datetime.date(1000, 1, 1)), min_size=1, max_size=8))
@settings(max_examples=few(40))
def test_dates__have_the_form_that_python_gives_them(form: str, days: list[datetime.date]) -> None:
    plain = pa.array([day.isoformat() for day in days], pa.string())
    texts = write_dates(plain, form)
    assert [datetime.datetime.strptime(text, pattern_of(form)).date() for text in texts.to_pylist()] == days
    form_there = form_of(texts, plain)
    assert form_there is not None
    assert write_dates(plain, form_there).equals(texts)
    assert form_of(pa.array([*texts.to_pylist(), "1999-12-31 "]), pa.array([*plain.to_pylist(), "1999-12-31"])) is None


def people(n: int = 240) -> pd.DataFrame:
    """A table of text: dates in four forms, one of them of several."""
    rows = np.arange(n)
    born = pd.to_datetime("1950-01-01") + pd.to_timedelta(37 * rows % 9000, unit="D")
    first, second, third = (
        pd.to_datetime("2023-01-02") + pd.to_timedelta(rows // by % 6 * 5, unit="D") for by in (1, 6, 36)
    )
    return pd.DataFrame(
        {
            "born": born.strftime("%d.%m.%Y"),
            "seen": [f"{day.month}/{day.day}/{day.year}" for day in first],
            "left": second.strftime("%d-%b-%Y"),
            "paid": [f"{day:%d.%m.%Y}" if day.day % 2 else f"{day.day}.{day.month}.{day.year}" for day in third],
            "ill": ["flu", "cold", "gout"] * (n // 3),
        }
    )


def as_workbook(table: pd.DataFrame) -> bytes:
    return workbook_bytes(list(table), [[sheet_cell(text) for text in table[name]] for name in table], [])


SOURCES = {
    "csv": lambda table: table.to_csv(index=False).encode(),
    "json": lambda table: table.to_json(orient="records").encode(),
    "xlsx": as_workbook,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_form_in_a_source__is_found(kind: str) -> None:
    reading = read_table(io.BytesIO(SOURCES[kind](people())), name=f"people.{kind}")
    assert isinstance(reading, Reading)
    assert {name: one.dates for name, one in reading.variables.items()} == {
        "born": "DD.MM.YYYY", "seen": "M/D/YYYY", "left": "DD-MMM-YYYY"
    }  # fmt: skip
    assert [p.column for p in reading.problems if "in the order year-month-day" in p.text] == ["paid"]


ROLES = ["--quasi-identifying", "born,seen", "--sensitive", "ill,left", "--keep", "paid"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table, and its release: CSV, report and packet."""
    place = tmp_path_factory.mktemp("dates")
    people().to_csv(place / "in.csv", index=False)
    files = {"--out": "out.csv", "--report": "report.json", "--packet": "packet.zip"}
    words = [word for option, name in files.items() for word in (option, str(place / name))]
    how = ["--k", "5", "--grouping", "error-risk"]
    assert main(["anonymize", str(place / "in.csv"), *ROLES, *how, *words]) == 0
    return place


def verified(folder: Path, name: str = "out.csv") -> list[int]:
    """The statuses of the check of a file: with its report, and beside the original."""
    others = (["--report", str(folder / "report.json")], [*ROLES, "--k", "5", "--original", str(folder / "in.csv")])
    return [main(["verify", str(folder / name), *words]) for words in others]


def test_a_release__has_the_dates_of_its_source(folder: Path) -> None:
    rows, source = pd.read_csv(folder / "out.csv", dtype=str), people()
    assert rows["born"].str.fullmatch(r"\[\d\d\.\d\d\.\d{4}, \d\d\.\d\d\.\d{4}\]").all()
    assert rows["seen"].str.fullmatch(r"\[\d{1,2}/\d{1,2}/2023, \d{1,2}/\d{1,2}/2023\]|\d{1,2}/\d{1,2}/2023").all()
    assert sorted(rows["left"]) == sorted(source["left"])
    assert rows["paid"].str.fullmatch(r"2023-\d\d-\d\d").all()
    assert verified(folder) == [0, 0]
    assert main(["verify", str(folder / "packet.zip")]) == 0
    with zipfile.ZipFile(folder / "packet.zip") as packet:
        fields = json.loads(packet.read("datapackage.json"))["resources"][0]["schema"]["fields"]
        assert "a date is written DD.MM.YYYY, as in the source" in packet.read("dictionary.html").decode()
    assert {one["name"]: one.get("format") for one in fields} == {
        "born": None, "seen": None, "left": "%d-%b-%Y", "paid": None, "ill": None
    }  # fmt: skip
    text, date = (folder / "out.csv").read_text(), "02-Jan-2023"
    assert date in text
    for other in ("02-JAN-2023", "2023-01-02", "2-Jan-2023"):
        (folder / "changed.csv").write_text(text.replace(date, other, 1))
        assert 0 not in verified(folder, "changed.csv")


def test_cells_of_which_nothing_is_said__show_their_form() -> None:
    file = read_file(b'"born"\n"[01.02.2003, 04.05.2006]"\n"07.08.2009"\n')
    assert form_of_cells(file.rows["born"], Role.QUASI_IDENTIFYING) == "DD.MM.YYYY"
    file = read_file(b'"born"\n"[12/31/1999, 01/01/2000]"\n')
    assert form_of_cells(file.rows["born"], Role.QUASI_IDENTIFYING) == "MM/DD/YYYY"
    for text in (b"[2003-02-01, 2006-05-04]", b"a.b.c", b"1.2", b"[1, 2]"):
        assert form_of_cells(read_file(b'"born"\n"' + text + b'"\n').rows["born"], Role.QUASI_IDENTIFYING) == ""


def test_a_report_with_another_form__is_refused() -> None:
    with pytest.raises(ReadError, match="dates"):
        Variable.from_value(parse(json.dumps({"dates": "(a+)+$"}), "report", "Use it as it was."))
    assert Variable.from_value(parse('{"dates": "D/M/YYYY"}', "report", "")).dates == "D/M/YYYY"
