"""Ends of declared grids: the first moments of months, quarters, years, and of weeks, against a calendar."""

from datetime import date, timedelta

import pandas as pd
import pytest

from anonymizer.checking.written import written_otherwise
from anonymizer.schema import Schema

FIRST = {
    "day": lambda day: True,
    "week": lambda day: day.weekday() == 0 or day.day == 1,
    "month": lambda day: day.day == 1,
    "quarter": lambda day: day.day == 1 and day.month in (1, 4, 7, 10),
    "year": lambda day: (day.day, day.month) == (1, 1),
}
DAYS = [date(2019, 11, 25) + timedelta(days=number) for number in range(140)]


@pytest.mark.parametrize("step", FIRST)
def test_a_cell_of_dates__begins_where_the_grid_says(step: str) -> None:
    days = pd.DataFrame({"born": pd.to_datetime([day.isoformat() for day in DAYS])})
    schema = Schema.of(days, quasi_identifying=["born"])
    schema = schema.with_column("born", domain=("1990-01-01", "2039-12-31"), grid=(step, 0.0))
    off = []
    for day in DAYS:
        cell = f"[{day.isoformat()}, 2039-12-31]"
        if written_otherwise(pd.DataFrame({"born": [cell]}), schema, {"numbers": "public"}):
            off.append(day)
    assert off == [day for day in DAYS if not FIRST[step](day)]


def test_a_cell_of_numbers__begins_where_the_grid_does_and_ends_before_the_next() -> None:
    """A grid of fives from 2, in a domain from 0 to 31."""
    schema = Schema.of(pd.DataFrame({"age": range(32)}), quasi_identifying=["age"], kinds={"age": "numeric"})
    schema = schema.with_column("age", domain=(0, 31), grid=(5.0, 2.0))
    lines = {2, 7, 12, 17, 22, 27}
    for low in range(31):
        for high in range(low + 1, 32):
            fits = low in lines | {0} and (high in lines | {31} or high + 1 in lines)
            cells = pd.DataFrame({"age": [f"[{low}, {high}]"]})
            assert bool(written_otherwise(cells, schema, {"numbers": "public"})) != fits, (low, high)


def test_a_cell_of_dates__ends_a_day_before_the_next_begins() -> None:
    days = pd.DataFrame({"born": pd.to_datetime([day.isoformat() for day in DAYS])})
    schema = Schema.of(days, quasi_identifying=["born"])
    schema = schema.with_column("born", domain=("1990-01-01", "2039-12-31"), grid=("month", 0.0))
    for day in DAYS:
        cells = pd.DataFrame({"born": [f"[2019-11-01, {day.isoformat()}]"]})
        fits = 1 in (day.day, (day + timedelta(days=1)).day)
        assert bool(written_otherwise(cells, schema, {"numbers": "public"})) != fits, day


@pytest.mark.parametrize("text", ["≥ 5", "≤ 25", "{≥ 5, missing}"])
def test_an_open_end__is_on_no_grid(text: str) -> None:
    schema = Schema.of(pd.DataFrame({"age": range(32)}), quasi_identifying=["age"], kinds={"age": "numeric"})
    schema = schema.with_column("age", domain=(0, 31), grid=(5.0, 0.0))
    assert written_otherwise(pd.DataFrame({"age": [text]}), schema, {"numbers": "public"})
    schema = Schema.of(pd.DataFrame({"born": pd.to_datetime(["2020-01-01"])}), quasi_identifying=["born"])
    schema = schema.with_column("born", domain=("1990-01-01", "2039-12-31"), grid=("month", 0.0))
    dates = text.replace("25", "2020-01-31").replace("5", "2020-01-01")
    assert written_otherwise(pd.DataFrame({"born": [dates]}), schema, {"numbers": "public"})
