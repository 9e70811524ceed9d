"""Values as codes and counts, and figures as people read them: the one place where a number becomes text."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer import values
from anonymizer.reading.facts import distinct_values
from anonymizer.schema import Column, Kind, Role
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
        "0%", "< 0.1%", "12.5%", "50%", "> 99.9%", "100%"
    ]  # fmt: skip


def test_plural__counts() -> None:
    assert (plural(1, "row"), plural(1200, "row"), plural(2, "leaf", "leaves")) == (
        "1 row", "1,200 rows", "2 leaves"
    )  # fmt: skip


WHOLE = st.one_of(
    st.lists(st.integers(-5, 300), max_size=60).map(lambda some: np.array(some, np.int64)),
    st.lists(st.integers(0, 255), max_size=60).map(lambda some: np.array(some, np.uint8)),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20).map(lambda some: np.array(some, np.int64)),
    st.lists(st.integers(0, 2**64 - 1), max_size=20).map(lambda some: np.array(some, np.uint64)),
    st.lists(st.sampled_from([np.nan, -1.5, 0.0, 2.0]), max_size=30).map(lambda some: np.array(some, np.float64)),
)


@given(WHOLE, st.sampled_from([2, 7, 1 << 16]))
def test_distinct_numbers__are_those_of_a_slow_twin_in_blocks_of_any_size(numbers, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "BLOCK", block)
        codes, distinct = values.distinct_numbers(numbers)
        counts, again = values.count_numbers(numbers)
    present = [number for number in numbers.tolist() if number == number]
    slow = sorted(set(present))
    assert distinct.tolist() == again.tolist() == slow
    assert counts.tolist() == [present.count(number) for number in slow]
    assert codes.tolist() == [slow.index(n) if n == n else len(slow) for n in numbers.tolist()]


@given(st.lists(st.integers(-1, 12), max_size=60), st.sampled_from([2, 7, 1 << 16]))
def test_codes__are_counted_and_looked_up_in_blocks_of_any_size(listed, block):
    codes, texts = np.array(listed, np.int8), np.arange(14) * 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "BLOCK", block)
        assert values.count_codes(codes, 9).tolist() == [listed.count(code) for code in range(9)]
        assert values.look_up(texts, codes).tolist() == [int(texts[code]) for code in listed]


@given(st.lists(st.integers(-1, 9), max_size=60), st.sampled_from([2, 7, 1 << 16]), st.booleans())
def test_codes_that_occur__are_all_there_and_keep_their_own_numbers(listed, block, missing):
    listed = listed if missing else [code for code in listed if code >= 0]
    codes, own = np.array(listed, np.int8), np.arange(10, dtype=np.uint16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "BLOCK", block)
        assert values.present_codes(codes, 9).tolist() == [code for code in range(9) if code in listed]
        numbers = values.look_up(own, codes)
    assert numbers.tolist() == [code if code >= 0 else 9 for code in listed]
    assert numbers.dtype == own.dtype


@given(WHOLE, st.data())
def test_counts_of_distinct_numbers__are_those_of_all(numbers, data):
    column = Column("x", Role.SENSITIVE, Kind.NUMERIC)
    distinct, counts = distinct_values(pd.Series(numbers))
    order = np.array(data.draw(st.permutations(range(len(distinct)))), np.int64)
    records, own = values.counts_of(pd.Series(distinct[order]), column, counts[order])
    present = [float(number) for number in numbers.tolist() if number == number]
    assert own.tolist() == sorted(set(present))
    assert records.tolist() == [present.count(number) for number in own.tolist()]
