"""Numbers and dates as people write them: read where all are alike, and said where only nearly all are."""

from datetime import date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

from anonymizer.reading.days import like_days
from anonymizer.reading.profile import suggest
from anonymizer.schema import Role
from tests.reading.texts import notes, read

DAYS = [date(1950, 1, 1) + timedelta(97 * at) for at in range(390)]


def column(texts: list[str], name: str = "a", **options: object):
    """A reading of a tab-separated file with one column of these texts beside a number."""
    lines = "".join(f"{at}\t{text}\n" for at, text in enumerate(texts))
    return read(f"row\t{name}\n{lines}", **options)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["$ 1,200.00", "$5.10", "-$3.00", "$ 12"], [1200, 5.1, -3, 12]),
        (["1.200,50 €", "3,10 €", "4 €", "5,00 €"], [1200.5, 3.1, 4, 5]),
        (["EUR 5", "EUR 7.5"], [5, 7.5]),
        (["1'200.50", "3’400", "12.5", "7"], [1200.5, 3400, 12.5, 7]),
        (["1 200,50", "3\u00a0400,00", "2", "10"], [1200.5, 3400, 2, 10]),
        (["5 %", "6%", "12.5 %"], [5, 6, 12.5]),
        (["−5", "3", "4"], [-5, 3, 4]),
    ],
)
def test_numbers__with_a_unit_groups_or_a_true_minus_are_read_and_said(texts: list[str], values: list[float]) -> None:
    reading = column(texts)
    assert reading.frame["a"].tolist() == values
    assert "read without what stands around them" in notes(reading, "info")


@pytest.mark.parametrize(
    "texts",
    [
        ["$5", "5 €", "$6"], ["5 %", "5", "6 %"], ["123 456 789", "223 456 780"], ["030 123 4567", "0301 23 4567"],
        ["$5$", "$6$"], ["--5", "4"], ["1 2 3", "4 5 6"],
    ],
)  # fmt: skip
def test_numbers__with_several_units_or_of_accounts_stay_text(texts: list[str]) -> None:
    assert column(texts).frame["a"].tolist() == texts


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["14-Mar-1956", "1-Apr-1999"], ["1956-03-14", "1999-04-01"]),
        (["14MAR1956", "01APR1999"], ["1956-03-14", "1999-04-01"]),
        (["March 14, 1956", "May 2nd, 2001"], ["1956-03-14", "2001-05-02"]),
        (["1956-Mar-14", "1999-Apr-01"], ["1956-03-14", "1999-04-01"]),
        (["14. März 1956", "1. Mai 1999", "3. Okt 1980"], ["1956-03-14", "1999-05-01", "1980-10-03"]),
        (["14 août 1956", "1 févr. 1999"], ["1956-08-14", "1999-02-01"]),
        (["14 de enero de 1956", "1 de dic de 1999"], ["1956-01-14", "1999-12-01"]),
        (["19560314", "19991231", "20200229", "20010101"], ["1956-03-14", "1999-12-31", "2020-02-29", "2001-01-01"]),
    ],
)
def test_dates__with_named_months_or_as_whole_numbers_are_read_and_said(texts: list[str], values: list[str]) -> None:
    reading = column(texts)
    assert [str(value.date()) for value in reading.frame["a"]] == values
    assert notes(reading, "info")


@pytest.mark.parametrize(
    ("text", "hour"),
    [("1/13/2020 1:05 PM", 13), ("1/13/2020 12:05 AM", 0), ("1/13/2020, 12:05:00 p.m.", 12), ("1/13/2020 9:05", 9),
     ("2020-01-13T09:05", 9)],
)  # fmt: skip
def test_dates__have_the_hour_that_is_written(text: str, hour: int) -> None:
    assert column([text, text]).frame["a"][0].to_pydatetime() == datetime(2020, 1, 13, hour, 5)


@pytest.mark.parametrize("word", ["unknown", "n.k.", "99.99.9999", "31/02/1999x"])
def test_dates__with_a_word_among_them_are_said_with_their_share(word: str) -> None:
    reading = column([*map(str, DAYS), *[word] * 10], "birth_date")
    assert "Column 'birth_date' is 97.5% dates, but also holds text" in notes(reading, "warning")
    assert repr(word) in notes(reading, "warning")
    assert reading.frame["birth_date"].tolist() == [*map(str, DAYS), *[word] * 10]


def test_dates__with_a_word_among_them_are_suggested_as_dates_are() -> None:
    columns = {"enrolled": [*map(str, DAYS), "unknown"], "code": [f"{at:05d}x" for at in range(391)]}
    suggested = suggest(pd.DataFrame(columns))
    assert suggested["enrolled"].role is Role.QUASI_IDENTIFYING
    assert suggested["code"].role is Role.IDENTIFYING


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["2020-01-01", "1/13/2020", "3 March 1999"], "dates written in several ways"),
        (["$5", "5 €", "$6", "7 €"], "numbers written in several ways"),
        (["31/12/99", "30/11/98"], "dates with two-digit years"),
        (["14-Mar-56", "15-Apr-57"], "dates with two-digit years"),
        (["31121999", "01021998", "15032001", "28022004"], "days written as whole numbers"),
        (["19560314", "19570401", "99999999", *[f"195{at}0101" for at in range(10)]], "days written as whole numbers"),
        ([f"20{at:02d}{month:02d}" for at in range(10) for month in (1, 6, 12)], "months written as whole numbers"),
    ],
)
def test_dates_and_numbers__that_cannot_be_read_are_said(texts: list[str], words: str) -> None:
    assert words in notes(column(texts), "warning")


def test_whole_numbers__that_are_no_days_and_those_that_were_said_to_be_numbers_stay() -> None:
    assert column(["20240001", "20240002", "20240003", "20240004"]).frame["a"].dtype.kind == "i"
    assert (
        column(["19560314"] * 3 + ["19560315", "19560316", "19560317"], as_numbers=("a",)).frame["a"].dtype.kind == "i"
    )


@pytest.mark.parametrize(
    ("head", "row", "about"),
    [
        ("weight,ticked", '61.4,"{}"', "ticked"), ("age,ticked", '61,"{}"', "ticked"),
        ("weight;ticked", "61.4;{}", "ticked"),
    ],
)  # fmt: skip
def test_options_ticked__are_asked_and_can_be_either(head: str, row: str, about: str) -> None:
    ticked = ["1", "2", "1,2", "1,3", "2,3"] * 4
    text = head + "\n" + "".join(row.format(value) + "\n" for value in ticked)
    question = next(question for question in read(text).questions if question.column == about)
    options = read(text).options
    first, second = (read(text, **vars(answer.apply(options))) for answer in question.answers)
    assert first.frame[about].tolist() == [float(value.replace(",", ".")) for value in ticked]
    assert second.frame[about].tolist() == ticked
    assert about not in {one.column for one in (*first.questions, *second.questions)}


def test_decimal_commas__of_a_whole_file_are_not_asked() -> None:
    text = "weight;height\n" + "61,4;1,80\n70,25;1,7\n" * 5
    assert not read(text).questions


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        (["-99" if at % 10 == 0 else str(20 + at % 50) for at in range(300)], "-99 (30 rows)"),
        (["999" if at % 10 == 0 else f"{at % 37}.5" for at in range(300)], "999 (30 rows)"),
        ([["-98", "-99"][at % 2] if at % 10 == 0 or at % 11 == 0 else str(20 + at % 50) for at in range(300)], "-98"),
        (["9999-12-31" if at % 10 == 0 else str(DAYS[at]) for at in range(300)], "9999-12-31 (30 rows)"),
        (["1900-01-01" if at % 10 == 0 else str(DAYS[at]) for at in range(300)], "1900-01-01 (30 rows)"),
    ],
)
def test_marks_of_missing__among_numbers_and_dates_are_said(values: list[str], mark: str) -> None:
    assert mark in notes(column(values), "warning")


@pytest.mark.parametrize(
    "values",
    [
        [str(20 + at % 50) for at in range(300)], [str(at % 2 * 100) for at in range(300)],
        ["0"] * 200 + [str(at) for at in range(1, 101)], ["1000000", *[str(at) for at in range(99)]],
        [str(DAYS[at]) for at in range(300)],
    ],
)  # fmt: skip
def test_marks_of_missing__are_not_seen_where_none_are(values: list[str]) -> None:
    assert "mean missing" not in notes(column(values))


def test_a_month__is_a_word_and_no_other_sign_outside_ascii() -> None:
    months, others = ("août", "März", "sept", "fév."), ("№№№", "–––", "１２３", "٣٣٣", "日本月")
    texts = pa.array([f"3 {word} 1956" for word in (*months, *others)])
    assert like_days(texts).tolist() == [True] * len(months) + [False] * len(others)
