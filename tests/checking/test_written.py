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
