"""Dates in a form that somebody says: read exactly, with the century that is said, or left as they are."""

import pandas as pd
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading.files import read_table
from anonymizer.reading.options import ReadOptions


def read(texts: list[str], form: str) -> tuple["pd.Series", list[str]]:
    content = "born;n\n" + "".join(f"{text};{number}\n" for number, text in enumerate(texts))
    reading = read_table(content.encode(), options=ReadOptions(delimiter=";", dates=form))
    return reading.frame["born"], [problem.text for problem in reading.problems if problem.column == "born"]


@pytest.mark.parametrize(
    ("texts", "form", "expected"),
    [
        (["01.02.45", "28.12.29"], "DD.MM.YY", ["1945-02-01", "2029-12-28"]),
        (["01.02.45", "28.12.29"], "DD.MM.19YY", ["1945-02-01", "1929-12-28"]),
        (["01.02.45", "28.12.29"], "DD.MM.20YY", ["2045-02-01", "2029-12-28"]),
        (["45-2-1", "29-12-28"], "19YY-M-D", ["1945-02-01", "1929-12-28"]),
        (["1/2/2020", "3/4/2021"], "M/D/YYYY", ["2020-01-02", "2021-03-04"]),
        (["1/2/2020", "3/4/2021"], "D/M/YYYY", ["2020-02-01", "2021-04-03"]),
        (["14-Mar-56", "1-Okt-57"], "DD-MMM-19YY", ["1956-03-14", "1957-10-01"]),
        (["2020 31 12", "2020 1 2"], "YYYY D M", ["2020-12-31", "2020-02-01"]),
        (["03.04.20 7:05", "03.04.20 17:05"], "DD.MM.YY hh:mm", ["2020-04-03 07:05", "2020-04-03 17:05"]),
        (["03.04.20T17:05:09", "03.04.20T07:05:00"], "DD.MM.YYThh:mm:ss", ["2020-04-03 17:05:09", "2020-04-03 07:05"]),
    ],
)
def test_form_of_ones_own__is_read(texts: list[str], form: str, expected: list[str]) -> None:
    column, notes = read(texts, form)
    assert column.tolist() == [pd.Timestamp(text) for text in expected]
    assert any(f"were read as {form}." in note for note in notes)
    assert any("of the last century" in note for note in notes) == (
        "YY" in form.replace("YYYY", "").replace("19YY", "").replace("20YY", "")
    )


@pytest.mark.parametrize(
    ("texts", "form", "why"),
    [
        (["31.02.45", "01.02.45"], "DD.MM.YY", "is none"),
        (["01.02.45", "once"], "DD.MM.YY", ""),
        (["14-Foo-56", "15-Bar-57"], "DD-MMM-YY", ""),
    ],
)
def test_what_is_not_so__stays_text(texts: list[str], form: str, why: str) -> None:
    column, notes = read(texts, form)
    assert sorted(map(str, column)) == sorted(texts)
    assert not why or any(why in note for note in notes)


def test_columns_of_another_form__are_read_as_ever() -> None:
    content = b"born;seen\n01.02.45;2020-03-04\n02.02.45;2020-03-05\n"
    frame = read_table(content, options=ReadOptions(delimiter=";", dates="DD.MM.19YY")).frame
    assert frame["seen"].tolist() == [pd.Timestamp("2020-03-04"), pd.Timestamp("2020-03-05")]
    assert frame["born"].tolist() == [pd.Timestamp("1945-02-01"), pd.Timestamp("1945-02-02")]


@pytest.mark.parametrize(
    "form",
    [
        "",
        "DD.MM",
        "DD.MM.YY.YYYY",
        "dd.mm.yyyy",
        "DD.MM.18YY",
        "DD.MM.YY hh",
        "MM.MM.YY",
        "DD MM YY x",
        "hh:mm DD.MM.YY",
    ],
)
def test_what_is_no_form__is_refused_in_a_sentence(form: str) -> None:
    with pytest.raises(ReadError, match="is no form of dates"):
        ReadOptions(dates=form)
