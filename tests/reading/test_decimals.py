"""Numbers written in two ways: read by what the column shows, kept whole, or asked."""

import math
import re

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.reading.decimals import NUMBER, readable
from anonymizer.reading.files import Reading, ReadOptions, read_table
from anonymizer.reading.options import Question


def read(text: str, options: ReadOptions | None = None) -> Reading:
    return read_table(text.encode(), options=options)


def question_of(reading: Reading) -> Question:
    assert len(reading.questions) == 1, reading.questions
    return reading.questions[0]


def notes(reading: Reading) -> str:
    return " ".join(problem.text for problem in reading.problems)


def test_point_beside_comma__is_asked_with_both_readings() -> None:
    text = "a;b\n1.234;2,5\n5.678;7,25\n"
    reading = read(text)
    assert reading.frame["a"].tolist() == ["1.234", "5.678"]
    assert reading.frame["b"].tolist() == [2.5, 7.25]
    point, comma = question_of(reading).answers
    assert (point.sample[0], comma.sample[0]) == (("1.234", "1.234"), ("1.234", "1,234"))
    assert (point.words, comma.words) == ("--decimal=.", "--decimal=,")
    answered = read(text, comma.apply(reading.options))
    assert answered.frame["a"].tolist() == [1234, 5678]
    assert not answered.questions
    assert "between thousands" in notes(answered)
    assert read(text, point.apply(reading.options)).frame["a"].tolist() == [1.234, 5.678]


@pytest.mark.parametrize("text", ["a;b\n1.234;x\n5.678;y\n", 'a,b\n"1,234",x\n"5,678",y\n', "a;b\n1,234;x\n5,678;y\n"])
def test_three_digits_behind_a_mark__are_asked(text: str) -> None:
    reading = read(text)
    assert question_of(reading).about == "decimal mark"
    assert reading.options.decimal is None
    assert set(map(type, reading.frame["a"])) == {str}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b\n1.234,5;x\n2,25;y\n", [1234.5, 2.25]),
        ("a;b\n1.234.567;x\n5;y\n", [1234567, 5]),
        ('a,b\n"1,234.5",x\n2.25,y\n', [1234.5, 2.25]),
        ("a,b\n1.234,x\n5.678,y\n", [1.234, 5.678]),
        ("a;b\n1.234;0.5\n5.678;0.25\n", [1.234, 5.678]),
    ],
)
def test_what_the_values_show__is_not_asked(text: str, values: list[float]) -> None:
    reading = read(text)
    assert reading.frame["a"].tolist() == values
    assert not reading.questions


def test_codes_with_an_e__are_asked() -> None:
    text = "code,n\n12e4,1\n120000,2\n12e4,3\n"
    reading = read(text)
    assert reading.frame["code"].tolist() == ["12e4", "120000", "12e4"]
    as_text, as_numbers = question_of(reading).answers
    assert (as_text.words, as_numbers.words) == ("--as-text=code", "--as-numbers=code")
    again = read(text, as_text.apply(reading.options))
    assert again.frame["code"].tolist() == ["12e4", "120000", "12e4"]
    assert not again.questions
    assert read(text, as_numbers.apply(reading.options)).frame["code"].tolist() == [120000.0] * 3


def test_two_texts_of_one_number__are_noted() -> None:
    reading = read("icd,n\n1.10,1\n1.1,2\n2.5,3\n")
    assert reading.frame["icd"].tolist() == [1.1, 1.1, 2.5]
    assert "'1.10' and '1.1' are one number" in notes(reading)
    assert read("icd,n\n1.10,1\n1.1,2\n", ReadOptions(as_text=("icd",))).frame["icd"].tolist() == ["1.10", "1.1"]
    assert "one number" not in notes(read("price,n\n1.10,1\n1.50,2\n"))


def test_seventeen_digits_beside_a_decimal__stay_text() -> None:
    reading = read("n,b\n12345678901234567,x\n12345678901234568,y\n1.5,z\n")
    assert reading.frame["n"].tolist() == ["12345678901234567", "12345678901234568", "1.5"]
    assert "more than 15 digits" in notes(reading)


def test_long_fractions__are_rounded_with_a_note() -> None:
    reading = read("n,b\n0.12345678901234567890,x\n1.5,y\n")
    assert math.isclose(reading.frame["n"][0], 0.12345678901234568)
    assert "were rounded" in notes(reading)
    assert "rounded" not in notes(read("n,b\n0.30000000000000004,x\n1.5,y\n"))


def test_infinities_beside_whole_numbers__are_numbers() -> None:
    assert np.isinf(read("n,b\n1,x\ninf,y\n").frame["n"]).tolist() == [False, True]


def test_dates__are_asked_with_both_readings() -> None:
    text = "d,e,n\n01/02/2024,3/4/2023,1\n03/04/2024,5/6/2023,2\n"
    reading = read(text)
    day, month = question_of(reading).answers
    assert (day.sample[0], month.sample[0]) == (("01/02/2024", "1 February 2024"), ("01/02/2024", "2 January 2024"))
    assert "1 more columns" in question_of(reading).text
    assert read(text, day.apply(reading.options)).frame["d"][0].month == 2
    assert read(text, month.apply(reading.options)).frame["d"][0].month == 1
    month_first = read("d,n\n13/02/2024,1\n01/03/2024,2\n", ReadOptions(dates="month"))
    assert month_first.frame["d"][1].month == 3


@pytest.mark.parametrize("digits", [298, 299, 300, 307, 308, 309])
@pytest.mark.parametrize("form", ["{}", "-{}", "{}.5", "0{}", "{}e5", "x{}"])
def test_readable__is_the_same_for_short_and_long_texts(digits: int, form: str) -> None:
    text = form.format("9" * digits)
    expected = re.match(NUMBER, text) is not None
    assert readable(pa.array([text, "1"]), ".").tolist() == [expected, True]
