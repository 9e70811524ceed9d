"""Text to values: what becomes a number, a date or missing, and what is said of it."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from anonymizer.reading.files import DEFAULT_MISSING, read_table
from tests.reading.texts import notes, read


def test_read__types_and_what_was_used() -> None:
    data = b"age,height,town,seen\n30,1.5,Bonn,2024-01-02\n,2,Bonn,2024-12-31\n41,1e2,Ulm,\n52,.5,Ulm,2023-02-28\n"
    reading = read_table(data, name="people.csv")
    frame = reading.frame
    assert list(frame.columns) == ["age", "height", "town", "seen"]
    assert frame["age"].dtype == np.float64
    assert frame["age"].isna().tolist() == [False, True, False, False]
    assert frame["height"].tolist() == [1.5, 2.0, 100.0, 0.5]
    assert frame["town"].tolist() == ["Bonn", "Bonn", "Ulm", "Ulm"]
    assert frame["seen"].dtype == "datetime64[us]"
    assert frame["seen"][3] == pd.Timestamp("2023-02-28")
    assert frame["seen"].isna().sum() == 1
    used = reading.options
    assert (used.delimiter, used.encoding, used.decimal, used.header) == (",", "utf-8", ".", True)
    assert (reading.name, reading.format, reading.size) == ("people.csv", "csv", len(data))
    assert reading.sha256 == hashlib.sha256(data).hexdigest()


def test_read__zip_codes_and_long_numbers_stay_text() -> None:
    reading = read("zip,account,plain\n02139,1234567890123456,10\n10115,9999999999999999,20\n")
    assert reading.frame["zip"].tolist() == ["02139", "10115"]
    assert reading.frame["account"].tolist() == ["1234567890123456", "9999999999999999"]
    assert reading.frame["plain"].dtype == np.int64
    assert "begin with zeros" in notes(reading)
    assert "more than 15 digits" in notes(reading)


@pytest.mark.parametrize("text", ["1", "-1", "0", "999999999999999"])
def test_read__integers(text: str) -> None:
    frame = read(f"a,b\n{text},x\n").frame
    assert frame["a"].dtype == np.int64
    assert frame["a"][0] == int(text)


@pytest.mark.parametrize("text", ["+49", "1_000", "0x1A", "007", "1 000", "١٢", "true", "1.2.3", "--5", "1e", "e5"])
def test_read__what_only_looks_like_a_number_stays_text(text: str) -> None:
    assert read(f"a,b\n{text},1\n{text},2\n").frame["a"].tolist() == [text, text]


def test_read__decimal_comma() -> None:
    reading = read("a;b\n1,5;7\n2,25;8\n")
    assert (reading.options.delimiter, reading.options.decimal) == (";", ",")
    assert reading.frame["a"].tolist() == [1.5, 2.25]
    corrected = read("a;b\n1,5;7\n2,25;8\n", decimal=".")
    assert corrected.frame["a"].tolist() == ["1,5", "2,25"]


def test_read__commas_between_thousands_are_reported_not_guessed() -> None:
    reading = read('a,b\n"1,234",1\n"22,500",2\n')
    assert reading.frame["a"].tolist() == ["1,234", "22,500"]
    assert "is that 1234 or 1.234?" in notes(reading, "warning")
    assert reading.options.decimal is None


def test_read__missing_marks_are_counted_and_can_be_kept() -> None:
    text = "grade,n\nNA,1\nA,2\nA,?\nNA,4\nB,\n"
    reading = read(text)
    assert reading.frame["grade"].isna().tolist() == [True, False, False, True, False]
    assert reading.frame["n"].isna().sum() == 2
    assert "'NA' (2)" in notes(reading, "warning")
    assert "blank (1), '?' (1)" in notes(reading, "info")
    as_text = read(text, keep=("NA",))
    assert as_text.frame["grade"].tolist() == ["NA", "A", "A", "NA", "B"]
    assert as_text.frame["n"].isna().sum() == 2
    assert as_text.options.keep == ("NA",)


def test_read__missing_marks_can_be_changed() -> None:
    frame = read("a,b\n1,?\n-9,x\n", missing=("-9",)).frame
    assert frame["a"].isna().tolist() == [False, True]
    assert frame["b"].tolist() == ["?", "x"]


@pytest.mark.parametrize("mark", [mark for mark in DEFAULT_MISSING if mark])
def test_read__every_default_mark(mark: str) -> None:
    assert read(f"a,b\n1,x\n{mark},y\n").frame["a"].isna().tolist() == [False, True]


def test_read__mixed_column_says_which_values_and_where() -> None:
    text = "a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(40)) + "12 years,1\n41,2\nunknown,0\n"
    reading = read(text)
    assert reading.frame["a"][40] == "12 years"
    warning = next(problem for problem in reading.problems if problem.level == "warning")
    assert (warning.column, warning.row) == ("a", 40)
    assert "'12 years' (row 41), 'unknown' (row 43)" in warning.text


def test_read__infinite_numbers_are_reported() -> None:
    reading = read("a,b\n1,x\ninf,y\n1e999,z\n")
    assert np.isinf(reading.frame["a"]).tolist() == [False, True, True]
    warning = next(problem for problem in reading.problems if problem.level == "warning")
    assert warning.row == 1


@pytest.mark.parametrize(
    ("values", "expected", "words"),
    [
        (["13/02/2020", "01/02/2020"], "2020-02-01", "day first"),
        (["02/13/2020", "01/02/2020"], "2020-01-02", "month first"),
        (["1.2.2020", "3.4.2021"], "2021-04-03", "day first"),
        (["2020/2/1", "2020/12/11"], "2020-12-11", ""),
        (["2020-02-01T10:30:00", "2020-02-02 00:00"], "2020-02-02", ""),
        (["2020-02-01T10:30:00+02:00", "2020-02-01T23:00:00-02:00"], "2020-02-01 23:00", "clock"),
    ],
)
def test_read__dates(values: list[str], expected: str, words: str) -> None:
    reading = read("d,n\n" + "".join(f"{value},1\n" for value in values))
    assert reading.frame["d"][1] == pd.Timestamp(expected)
    assert words in notes(reading)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1/2/2020", "3/4/2020"], "nothing shows"),
        (["13/2/2020", "2/13/2020"], "only be day first and others"),
        (["2023-02-30", "2023-01-01"], "'2023-02-30' is none"),
        (["1/2/20", "3/4/21"], "two-digit years"),
    ],
)
def test_read__doubtful_dates_stay_text(values: list[str], words: str) -> None:
    reading = read("d,n\n" + "".join(f"{value},1\n" for value in values))
    assert reading.frame["d"].tolist() == values
    assert words in notes(reading, "warning")


def test_read__booleans_stay_text() -> None:
    assert read("a,b\ntrue,1\nfalse,2\n").frame["a"].tolist() == ["true", "false"]


def test_read__blanks_around_values_go() -> None:
    reading = read("a, b\n1, x\n2, ?\n 3,x \n")
    assert reading.frame.columns.tolist() == ["a", "b"]
    assert reading.frame["a"].tolist() == [1, 2, 3]
    assert reading.frame["b"].tolist()[::2] == ["x", "x"]
    assert reading.frame["b"].isna()[1]
    assert "Blanks around" in notes(reading)


def test_read__constant_column_is_reported() -> None:
    assert "'b' has the same value" in notes(read("a,b\n1,x\n2,x\n"))
