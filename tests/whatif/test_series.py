"""Groups for life over made-up years, counted from the files alone, joined by a number that every row has."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.settings import Settings
from anonymizer.whatif.series import LEAVERS, Series, first_release, next_release
from tests.sweeps import few

QI = ["age", "area", "job"]


def people(rng: np.random.Generator, first: int, n: int) -> pd.DataFrame:
    """People with a number that is released, too, so that a test can join all files."""
    return pd.DataFrame({
        "who": [f"p{number}" for number in range(first, first + n)], "age": rng.integers(18, 90, n),
        "area": rng.choice(list("news"), n), "job": rng.choice(["a", "b", "c"], n),
        "ill": rng.choice(["flu", "gout", "asthma"], n), "number": np.arange(first, first + n),
    })  # fmt: skip


def register(seed: int, years: int, n: int = 60) -> list[pd.DataFrame]:
    """Tables of some years: people leave, come and change."""
    rng = np.random.default_rng(seed)
    tables = [people(rng, 0, n)]
    for _ in range(years - 1):
        last = tables[-1]
        stays = last[rng.random(len(last)) > rng.choice([0.02, 0.2])].copy()
        moved = rng.random(len(stays)) < 0.1
        stays.loc[moved, "age"] = rng.integers(18, 90, int(moved.sum()))
        stays.loc[rng.random(len(stays)) < 0.2, "ill"] = "gout"
        come = people(rng, max(int(table["number"].max()) for table in tables) + 1, int(rng.integers(0, 12)))
        table = pd.concat([stays, come], ignore_index=True)
        tables.append(table.sample(frac=1, random_state=int(rng.integers(100))).reset_index(drop=True))
    return tables


def schema_of(table: pd.DataFrame) -> an.Schema:
    return an.Schema.of(table, quasi_identifying=QI, sensitive=["ill"], person="who", target="ill")


def released_in(tables: list[pd.DataFrame], how: Settings, leavers: str) -> list[Series]:
    series = [first_release(tables[0], schema_of(tables[0]), how)]
    for table in tables[1:]:
        series.append(next_release(series[-1], table, how, leavers))
    return series


def boxes_of(series: Series) -> "pd.Series[Any]":
    """The written box of each released row, by the number of the person."""
    frame = series.released
    if not len(frame):
        return pd.Series([], index=pd.Index([], dtype=np.int64), dtype=object)
    return pd.Series(frame[QI].astype("str").agg("|".join, axis=1).to_numpy(), index=frame["number"])


def smallest_cell(series: list[Series]) -> int:
    joined = pd.concat([boxes_of(one).rename(number) for number, one in enumerate(series)], axis=1)
    return int(joined.groupby(list(joined.columns), dropna=False).size().min())


@given(st.integers(0, 10**6), st.sampled_from([*LEAVERS]), st.integers(2, 6), st.sampled_from([None, 2]))
@settings(max_examples=few(100, 10), deadline=None)
def test_five_years__leave_no_small_cell_and_change_no_box(seed: int, leavers: str, k: int, l: int | None) -> None:  # noqa: E741
    tables = register(seed, 5)
    series = released_in(tables, Settings(k=k, generalizer="pack", l=l), leavers)
    assert smallest_cell(series) >= k
    before: dict[int, str] = {}
    for table, one in zip(tables, series, strict=True):
        boxes = boxes_of(one)
        assert boxes.index.is_unique
        assert all(before.setdefault(number, box) == box for number, box in boxes.items())
        if not len(one.released):
            continue
        assert one.verification is not None
        assert one.verification.k_anonymous
        values = one.released.set_index("number")["ill"]
        now = table.set_index("number")["ill"].reindex(values.index)
        if l is None:
            assert (values[now.notna()] == now[now.notna()]).all()
        else:
            assert values.groupby(boxes).nunique().min() >= l
        year = one.year
        assert year.stayed + year.came + year.wait == len(table)
        if leavers == "cumulative":
            assert set(boxes.index) >= set(table["number"][table["number"].isin(before)])


def test_a_leaver__does_not_show_in_the_boxes() -> None:
    tables = register(3, 2)
    how = Settings(k=4, generalizer="pack")
    first = first_release(tables[0], schema_of(tables[0]), how)
    again = tables[1]["who"].isin(tables[0]["who"])
    without = tables[1].drop(index=tables[1].index[again][5]).reset_index(drop=True)
    both = [next_release(first, table, how) for table in (tables[1], without)]
    one, other = (series.released[QI].to_csv(index=False).encode() for series in both)
    assert one == other
    assert both[1].year.left == both[0].year.left + 1


def test_closing__leaves_the_others_of_a_class_out_for_ever() -> None:
    tables = register(5, 3)
    how = Settings(k=4, generalizer="pack")
    first = first_release(tables[0], schema_of(tables[0]), how)
    second = next_release(first, tables[1], how, "close")
    gone = set(first.persons) - set(tables[1]["who"])
    classes = {int(first.class_of[first.persons.get_loc(who)]) for who in gone}
    assert set(np.flatnonzero(second.closed)) == classes
    assert second.year.closed == len(classes) > 0
    numbers = {int(who[1:]) for who, own in zip(first.persons, first.class_of, strict=True) if int(own) in classes}
    third = next_release(second, tables[2], how, "close")
    assert not numbers & ({*second.released["number"]} | {*third.released["number"]})


def test_changes__that_would_break_l_wait_with_their_class() -> None:
    table = pd.DataFrame({
        "who": list("abcdef"), "age": [1, 2, 3, 60, 61, 62], "area": list("nnnsss"), "job": ["a"] * 6,
        "ill": ["flu", "gout", "gout", "flu", "gout", "gout"], "number": range(6),
    })  # fmt: skip
    how = Settings(k=3, generalizer="pack", l=2)
    first = first_release(table, schema_of(table), how)
    assert len(first.boxes) == 2
    changed = table.assign(ill=["gout", "gout", "gout", "gout", "flu", "gout"])
    second = next_release(first, changed, how)
    assert second.year.held_back == 1
    ill = second.released.set_index("number")["ill"].sort_index()
    assert ill.tolist() == ["flu", "gout", "gout", "gout", "flu", "gout"]


def test_new_people__wait_until_they_are_enough() -> None:
    rng = np.random.default_rng(0)
    table, how = people(rng, 0, 20), Settings(k=5, generalizer="pack")
    first = first_release(table, schema_of(table), how)
    few_more = pd.concat([table, people(rng, 20, 4)], ignore_index=True)
    second = next_release(first, few_more, how)
    assert (second.year.wait, second.year.came, len(second.released)) == (4, 0, 20)
    third = next_release(second, pd.concat([few_more, people(rng, 24, 1)], ignore_index=True), how)
    assert (third.year.wait, third.year.came, len(third.released)) == (0, 5, 25)
    only = next_release(first, few_more, how, "increments")
    assert len(only.released) == 0
    assert only.verification is None


def test_series__refuse_tables_whose_rows_are_not_persons() -> None:
    table = people(np.random.default_rng(0), 0, 12)
    schema, how = schema_of(table), Settings(k=3)
    with pytest.raises(ParameterError, match="cannot be recognised"):
        first_release(table, an.Schema.of(table, quasi_identifying=QI, sensitive=["ill"]), how)
    for who in (["x"] * 12, [None, *"abcdefghijk"]):
        with pytest.raises(ParameterError, match="one row of a person"):
            first_release(table.assign(who=who), schema, how)
    with pytest.raises(ParameterError, match="no way 'stay'"):
        next_release(first_release(table, schema, how), table, how, "stay")
    with pytest.raises(GuaranteeError):
        first_release(table, schema, Settings(k=20))
