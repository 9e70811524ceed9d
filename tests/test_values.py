"""Figures as people read them: the one place where a number becomes text."""

import math

import pytest

from anonymizer.values import number_text, plural, share


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.03123, "0.0312"),
        (12.5, "12.5"),
        (38, "38"),
        (999.6, "1,000"),
        (1234.4, "1,234"),
        (12_345, "12,300"),
        (770_773, "771,000"),
        (999_999.9, "1 million"),
        (770_773_810_084, "771 billion"),
        (-4.2e13, "-42 trillion"),
        (7.7e17, "7.7 × 10¹⁷"),
        (1.234e-5, "1.23 × 10⁻⁵"),
        (math.nan, "–"),
    ],
)
def test_number_text__has_the_digits_that_matter(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize("exponent", range(-9, 19))
@pytest.mark.parametrize("digits", [2, 3, 4])
def test_number_text__is_near_the_number_and_short(exponent: int, digits: int) -> None:
    for lead in (1.0, 2.3456, 5.5555, 9.9999):
        value = lead * 10.0**exponent
        text = number_text(value, digits)
        number, _, unit = text.replace(",", "").partition(" ")
        size = {"": 1.0, "million": 1e6, "billion": 1e9, "trillion": 1e12}.get(unit)
        if size is None:
            power = unit.removeprefix("× 10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
            size = 10.0 ** int(power)
        assert float(number) * size == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
        assert len(text) <= 15


def test_share__rounds_nothing_away() -> None:
    assert [share(part) for part in (0, 0.0001, 0.125, 0.5, 0.99999, 1)] == [
        "0 %", "< 0.1 %", "12.5 %", "50 %", "> 99.9 %", "100 %"
    ]  # fmt: skip


def test_plural__counts() -> None:
    assert (plural(1, "record"), plural(1200, "record"), plural(2, "leaf", "leaves")) == (
        "1 record", "1,200 records", "2 leaves"
    )  # fmt: skip
