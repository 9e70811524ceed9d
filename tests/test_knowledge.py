"""What somebody who knows a few values learns, against plain loops over rows."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import number_of, parse_cell
from anonymizer.encode import encode, numbers_of, value_text
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.generalize import GENERALIZERS
from anonymizer.knowledge import MISSING_TEXT, Knowledge, look_up, person, release_for
from anonymizer.pipeline import anonymize
from anonymizer.schema import Kind, Schema


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


def slow_rows(frame: pd.DataFrame, schema: Schema, known: dict[str, str | None], released: bool) -> list[int]:
    rows = []
    for row in range(len(frame)):
        fits = True
        for name, value in known.items():
            found = frame[name].iloc[row]
            interval = schema[name].kind is not Kind.CATEGORICAL
            if released:
                cell = parse_cell(None if pd.isna(found) else str(found), schema[name].kind)
                fits &= cell.admits(value, number_of(value) if value is not None and interval else None)
            elif value is None or pd.isna(found):
                fits &= value is None and bool(pd.isna(found))
            else:
                fits &= number_of(value_text(found)) == number_of(value) if interval else found == value
        rows += [row] * fits
    return rows


def check(found: Knowledge, frame: pd.DataFrame, schema: Schema, rows: list[int]) -> None:
    assert found.rows == len(rows)
    assert found.of == len(frame)
    assert found.chance == (1 / len(rows) if rows else 0)
    part = frame.iloc[rows]
    combinations = {tuple("" if pd.isna(cell) else str(cell) for cell in row)
                    for row in part[list(schema.quasi_identifying)].itertuples(index=False)}  # fmt: skip
    assert found.classes == len(combinations)
    for learnt in found.learnt:
        here, overall = (
            side[learnt.column].map(value_text, na_action="ignore").astype(object).fillna(MISSING_TEXT)
            for side in (part, frame)
        )
        assert learnt.distinct == here.nunique()
        assert (learnt.certain is None) == (here.nunique() > 1)
        for value, share, everywhere in learnt.values:
            assert share == pytest.approx((here == value).mean())
            assert everywhere == pytest.approx((overall == value).mean())
        assert (learnt.guess, learnt.guess_blind) == learnt.values[0][1:]
        assert learnt.guess == pytest.approx(here.value_counts(normalize=True).max())
        if learnt.kind is Kind.NUMERIC:
            for told, side in ((learnt.here, part), (learnt.everywhere, frame)):
                numbers = numbers_of(side[learnt.column], schema[learnt.column])[0]
                if np.isnan(numbers).all():
                    assert told is None
                else:
                    assert told == (np.nanmin(numbers), np.nanmedian(numbers), np.nanmax(numbers))


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_look_up__is_a_loop_over_rows(generalizer: str) -> None:
    table, schema = people()
    released = anonymize(table, schema, generalizer=generalizer, k=5).release.frame()
    names = list(schema.quasi_identifying)
    for row in range(0, 300, 23):
        everything = person(table, schema, row)
        for known in (everything, {names[row % 3]: everything[names[row % 3]]}, {}):
            check(look_up(table, schema, known, released=False), table, schema, slow_rows(table, schema, known, False))
            after = look_up(released, schema, known)
            check(after, released, schema, slow_rows(released, schema, known, True))
            # The person is in the table, so they fit a row of it and at least k rows of the release.
            assert look_up(table, schema, known, released=False).rows >= 1
            assert after.rows >= 5


def test_look_up__of_somebody_made_up() -> None:
    table, schema = people()
    released = anonymize(table, schema, k=5).release.frame()
    found = look_up(released, schema, {"age": "999"})
    assert (found.rows, found.classes, found.chance, found.learnt) == (0, 0, 0.0, ())
    assert found.sentences() == ("Nobody in the table fits these values.",)


def test_sentences__say_what_is_certain() -> None:
    table = pd.DataFrame({"age": [30, 30, 40, 40], "ill": ["flu", "flu", "flu", "cold"]})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    said = " ".join(look_up(table, schema, {"age": "30"}, released=False).sentences())
    assert "2 of 4 people remain, in 1 group" in said
    assert "All of them have ill = flu" in said
    said = " ".join(look_up(table, schema, {"age": " 40 "}, released=False).sentences())
    assert "ill is cold for 50% of them (25% of everybody)" in said


def test_look_up__refuses_what_cannot_be_known() -> None:
    table, schema = people()
    for known in ({"ill": "flu"}, {"nothing": "1"}, {"age": "old"}, {"born": "long ago"}):
        with pytest.raises(ParameterError):
            look_up(table, schema, known, released=False)
    for row in (-1, 300):
        with pytest.raises(ParameterError):
            person(table, schema, row)


@pytest.mark.parametrize("parameters", [
    {"k": 8}, {"k": 6, "grouping": "median-mondrian"}, {"k": 6, "generalizer": "refine", "l": 2},
    {"k": 6, "criterion": "blend", "weight": 0.2, "prosecutor_limit": 10},
])  # fmt: skip
def test_release_for__is_the_release_of_the_flow(parameters: dict) -> None:
    table, schema = people()
    made = release_for(table, schema, encode(table, schema), parameters, np.random.default_rng(1)).frame()
    known = {name: value for name, value in parameters.items() if name != "prosecutor_limit"}
    expected = anonymize(table, schema, **known, rng=np.random.default_rng(1)).release.frame()
    pd.testing.assert_frame_equal(made, expected)


def test_release_for__says_what_cannot_be_satisfied() -> None:
    table, schema = people()
    with pytest.raises(GuaranteeError):
        release_for(table, schema, encode(table, schema), {"k": 5, "l": 9})
