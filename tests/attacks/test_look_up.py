"""What somebody who knows a few values learns, against plain loops over rows."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.attacks.look_up import MISSING_TEXT, Matches, look_up, person
from anonymizer.cells import number_of, parse_cell
from anonymizer.cuts import Cuts
from anonymizer.errors import ParameterError
from anonymizer.pipeline import anonymize
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Kind, Schema
from anonymizer.values import numbers_of, value_text


def people(n: int = 300, seed: int = 3) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    born = pd.Series(pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 60, n)),
            "born": born.where(rng.random(n) > 0.1),
            "city": pd.Series(rng.choice(["a", "b, c", "missing", "="], n)).where(rng.random(n) > 0.1),
            "ill": pd.Series(rng.choice(["flu", "cold"], n)).where(rng.random(n) > 0.05),
            "pay": np.where(rng.random(n) < 0.05, np.nan, rng.integers(1, 6, n) * 100.5),
        }
    )
    return table, Schema.of(table, quasi_identifying=["age", "born", "city"], sensitive=["ill", "pay"])


def slow_rows(frame: pd.DataFrame, schema: Schema, values: dict[str, str | None], released: bool) -> list[int]:
    rows = []
    for row in range(len(frame)):
        fits = True
        for name, value in values.items():
            cell_text = frame[name].iloc[row]
            interval = schema[name].kind is not Kind.CATEGORICAL
            if released:
                cell = parse_cell(None if pd.isna(cell_text) else str(cell_text), schema[name].kind)
                fits &= cell.admits(value, number_of(value) if value is not None and interval else None)
            elif value is None or pd.isna(cell_text):
                fits &= value is None and bool(pd.isna(cell_text))
            else:
                fits &= number_of(value_text(cell_text)) == number_of(value) if interval else cell_text == value
        rows += [row] * fits
    return rows


def check(matches: Matches, frame: pd.DataFrame, schema: Schema, rows: list[int]) -> None:
    assert matches.rows == len(rows)
    assert matches.of == len(frame)
    assert matches.chance == (1 / len(rows) if rows else 0)
    part = frame.iloc[rows]
    combinations = {tuple("" if pd.isna(cell) else str(cell) for cell in row)
                    for row in part[list(schema.quasi_identifying)].itertuples(index=False)}  # fmt: skip
    assert matches.classes == len(combinations)
    for column in matches.sensitive:
        here, overall = (
            side[column.column].map(value_text, na_action="ignore").astype(object).fillna(MISSING_TEXT)
            for side in (part, frame)
        )
        assert column.distinct == here.nunique()
        assert (column.certain is None) == (here.nunique() > 1)
        for value, share, everywhere in column.values:
            assert share == pytest.approx((here == value).mean())
            assert everywhere == pytest.approx((overall == value).mean())
        assert column.values[0][1] == pytest.approx(here.value_counts(normalize=True).max())
        if column.kind is Kind.NUMERIC:
            for ends, side in ((column.here, part), (column.everywhere, frame)):
                numbers = numbers_of(side[column.column], schema[column.column])[0]
                if np.isnan(numbers).all():
                    assert ends is None
                else:
                    assert ends == (np.nanmin(numbers), np.nanmedian(numbers), np.nanmax(numbers))


@pytest.mark.sweep(1)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_look_up__is_a_loop_over_rows(generalizer: str) -> None:
    table, schema = people()
    released = anonymize(table, schema, generalizer=generalizer, k=5).release.frame()
    names = list(schema.quasi_identifying)
    for row in range(0, 300, 23):
        everything = person(table, schema, row)
        for values in (everything, {names[row % 3]: everything[names[row % 3]]}, {}):
            check(
                look_up(table, schema, values, released=False), table, schema, slow_rows(table, schema, values, False)
            )
            after = look_up(released, schema, values)
            check(after, released, schema, slow_rows(released, schema, values, True))
            # The person is in the table, so they fit a row of it and at least k rows of the release.
            assert look_up(table, schema, values, released=False).rows >= 1
            assert after.rows >= 5


def test_look_up__of_somebody_made_up() -> None:
    table, schema = people()
    released = anonymize(table, schema, k=5).release.frame()
    matches = look_up(released, schema, {"age": "999"})
    assert (matches.rows, matches.classes, matches.chance, matches.sensitive) == (0, 0, 0.0, ())
    assert matches.sentences() == ("Nobody in the table fits these values.",)


def test_sentences__say_what_is_certain() -> None:
    table = pd.DataFrame({"age": [30, 30, 40, 40], "ill": ["flu", "flu", "flu", "cold"]})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    text = " ".join(look_up(table, schema, {"age": "30"}, released=False).sentences())
    assert "2 of 4 rows remain, in 1 group" in text
    assert "All of them have ill = flu" in text
    text = " ".join(look_up(table, schema, {"age": " 40 "}, released=False).sentences())
    assert "ill is cold for 50% of them (25% of everybody)" in text


def test_look_up__refuses_what_cannot_be_known() -> None:
    table, schema = people()
    for values in ({"ill": "flu"}, {"nothing": "1"}, {"age": "old"}, {"born": "long ago"}):
        with pytest.raises(ParameterError):
            look_up(table, schema, values, released=False)
    for row in (-1, 300):
        with pytest.raises(ParameterError):
            person(table, schema, row)


def test_rounded_column__finds_whoever_has_the_number() -> None:
    table = pd.DataFrame({"age": [31, 33, 34, 47], "ill": list("xyxy")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"]).with_column("age", cuts=Cuts(rounding=10))
    released = table.assign(age=["30", "30", "30", "50"])
    assert look_up(released, schema, {"age": "33"}).rows == 3
    assert look_up(released, schema, {"age": "47"}).rows == 1
