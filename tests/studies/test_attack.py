"""Attacks: counted as plain loops over people and rows count them; what they find and what they cannot."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from anonymizer.attacks.attackers import NEAR, CellColumn, ExactColumn, Lookup, count_matches
from anonymizer.attacks.outcome import Inference, Rate
from anonymizer.cells import parse_cell
from anonymizer.errors import CancelledError, ParameterError
from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.grid import public_parts
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings
from anonymizer.studies.attack import Attacks, attack
from anonymizer.values import numbers_of, share, value_text
from tests.attacks.test_look_up import people
from tests.naive_attacks import values_of


def make_release(generalizer: str = "uniform", k: int = 5, **options) -> tuple[pd.DataFrame, Schema, pd.DataFrame]:
    table, schema = people()
    return table, schema, anonymize(table, schema, generalizer=generalizer, k=k, **options).release.frame()


def fits(table: pd.DataFrame, frame: pd.DataFrame, schema: Schema, names: list[str]) -> np.ndarray:
    """(rows, people) which released row admits which person, cell by cell."""
    fits_all = np.ones((len(frame), len(table)), dtype=bool)
    for name in names:
        kind = schema[name].kind
        cells = [parse_cell(None if pd.isna(text) else str(text), kind) for text in frame[name]]
        values = [None if pd.isna(value) else value_text(value) for value in table[name]]
        numbers = [None] * len(table) if kind is Kind.CATEGORICAL else numbers_of(table[name], schema[name])[0].tolist()
        people_of: dict = {}
        for row, cell in enumerate(cells):
            if cell not in people_of:
                people_of[cell] = [cell.admits(value, number) for value, number in zip(values, numbers, strict=True)]
            fits_all[row] &= people_of[cell]
    return fits_all


@pytest.mark.parametrize("right", [0, 1, 7, 50])
def test_interval__is_wilsons(right: int) -> None:
    interval = binomtest(right, 50).proportion_ci(0.95, "wilson")
    assert Rate(right, 50).interval == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert Rate(right, 50).share == right / 50
    assert Rate(0, 0).interval == (0.0, 1.0)


@pytest.mark.parametrize("options", [
    {"generalizer": "tiered"}, {"generalizer": "refine", "numbers": "mean"}, {"writing": "weighted"}, {"k": 150},
])  # fmt: skip
def test_cells__admit_whom_the_grammar_says(options: dict) -> None:
    table, schema, frame = make_release(**options)
    names = list(schema.quasi_identifying)
    columns = {name: CellColumn.of(frame[name], table[name], schema[name]) for name in names}
    for name in names:
        expected = fits(table, frame, schema, [name])
        column = columns[name]
        assert np.array_equal(column.admits(column.of_row, column.value), expected)
        assert all(np.array_equal(column.people_in(row), expected[row]) for row in range(0, 300, 7))
    expected = fits(table, frame, schema, names[:2])
    assert [count_matches(columns, row, names[:2]) for row in range(300)] == expected.sum(axis=1).tolist()


def test_exact_columns__are_equality() -> None:
    table, schema = people()
    for name in schema.quasi_identifying:
        column = ExactColumn.of(table[name], schema[name])
        for row in range(0, 300, 11):
            value = table[name].iloc[row]
            same = table[name].isna() if pd.isna(value) else table[name] == value
            assert np.array_equal(column.people_in(row), same)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_links_and_look_ups__are_loops_over_people(generalizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymizer.attacks.attackers.FITS_AT_ONCE", 1_000)
    table, schema, frame = make_release(generalizer)
    names = list(schema.quasi_identifying)
    columns = {name: CellColumn.of(frame[name], table[name], schema[name]) for name in names}
    who = np.arange(0, 300, 2)
    lookup = Lookup(table, frame, names, columns, who)
    after = fits(table, frame, schema, names)[:, who]
    key = table[names].astype(object).where(table[names].notna(), "?").apply(tuple, axis=1)
    alike = np.array([[key[row] == key[person] for person in who] for row in range(300)])
    before_rate, after_rate = lookup.links()
    for rate, matrix in ((before_rate, alike), (after_rate, after)):
        assert rate.tries == 150
        assert rate.right == pytest.approx((1 / matrix.sum(axis=0)).sum())
    codes = [pd.factorize(side["ill"], use_na_sentinel=False)[0] for side in (table, frame)]
    pay = [side["pay"].to_numpy() for side in (table, frame)]
    guesses, means = lookup.most_frequent(*codes, 3), lookup.mean(*pay)
    for moment, matrix in enumerate((alike, after)):
        for place in range(150):
            rows = matrix[:, place]
            assert guesses[moment][place] == np.bincount(codes[moment][rows], minlength=3).argmax()
            numbers = pay[moment][rows]
            numbers = numbers[~np.isnan(numbers)]
            assert means[moment][place] == pytest.approx(numbers.mean() if len(numbers) else np.nan, nan_ok=True)


def predictable(n: int = 600) -> tuple[pd.DataFrame, Schema]:
    """A class and a number that follow from the quasi-identifiers, and a coin that does not."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"x": rng.integers(0, 100, n), "c": rng.choice(list("ab"), n)})
    table["signal"] = np.where((table["x"] > 50) ^ (table["c"] == "a"), "yes", "no")
    table["coin"] = rng.choice(["heads", "tails"], n)
    table["pay"] = 10.0 * table["x"] + 1
    return table, Schema.of(table, quasi_identifying=["x", "c"], sensitive=["signal", "coin", "pay"])


def make_attacks(k: int = 10, **options) -> Attacks:
    table, schema = predictable()
    frame = anonymize(table, schema, k=k, **options).release.frame()
    return attack(table, frame, schema, encode(table, schema))


def test_inference__finds_what_can_be_guessed_and_no_more() -> None:
    signal, coin, pay = make_attacks().inferences
    assert (signal.column, coin.column, pay.column) == ("signal", "coin", "pay")
    assert signal.before.share == 1
    assert signal.after.share > 0.95
    assert 0.9 < signal.advantage < 1
    assert 0.4 < signal.blind.share < 0.6
    assert coin.after.share < 0.7
    assert coin.blind.share < 0.6
    assert pay.mape is not None
    assert pay.mape[0] < 0.2 < pay.mape[2]
    assert pay.before.share > 0.9 > pay.blind.share
    assert Inference("", (Rate(1, 4), Rate(0, 4)), (Rate(0, 4), Rate(2, 4)), Rate(1, 4)).advantage == pytest.approx(
        1 / 3
    )


def test_look_up_of_a_number__is_right_near_the_truth() -> None:
    table, schema = predictable()
    frame = anonymize(table, schema, k=10).release.frame()
    pay = attack(table, frame, schema, encode(table, schema)).inferences[2]
    matrix = fits(table, frame, schema, ["x", "c"])
    guess = np.array([frame["pay"][matrix[:, person]].mean() for person in range(600)])
    near = np.abs(guess - table["pay"]) <= NEAR * table["pay"].std(ddof=0)
    assert pay.look_up[1] == Rate(int(near.sum()), 600)
    blind = np.abs(table["pay"].mean() - table["pay"]) <= NEAR * table["pay"].std(ddof=0)
    assert pay.blind == Rate(int(blind.sum()), 600)


def test_criteria__before_and_after() -> None:
    table, schema, frame = make_release(k=5)
    outcome = attack(table, frame, schema, encode(table, schema), tries=200)
    single, link, inference = outcome.outcomes
    assert [criterion.name for criterion in outcome.outcomes] == ["singling out", "linkability", "inference"]
    assert single.before > 0.5
    assert single.after > 0.1  # no cells fit one person alone, but a box and its end do
    assert single.sentence.startswith("0% of 200 ")
    assert link.before > 0.9
    assert 0 < link.after <= 1 / 5
    assert f"{share(link.after)}" in link.sentence
    worst = max(outcome.inferences, key=lambda one: one.advantage)
    assert (inference.before, inference.after) == (worst.before.share, worst.after.share)
    assert worst.column in inference.sentence
    assert outcome["linkability"] is link
    assert outcome.inferences[0].look_up[1].tries == 300


@pytest.mark.sweep(2)
@pytest.mark.parametrize("settings", [{"numbers": "range"}, {}, {"writing": "groups"}, {"generalizer": "refine"}])
def test_singling_out__by_a_box_and_its_end_as_pandas_counts(settings: dict) -> None:
    """Of every row and every column of its box that shows several ends or levels: the share that mean one person."""
    table = hospital(300, 5)
    schema = suggest(table)
    flow = Flow(table, schema, Settings(**{"k": 6, **settings}), rng=np.random.default_rng(0))
    names = list(schema.quasi_identifying)
    public = public_parts(flow.encoded, schema, flow.settings.public_k, flow.settings.writing)
    values = {name: pd.Series([number for _, number in values_of(table, schema, name)]) for name in names}
    texts = {name: pd.Series([text for text, _ in values_of(table, schema, name)], dtype=object) for name in names}
    chances = []
    for _, row in flow.released[names].drop_duplicates().iterrows():
        cells = {name: parse_cell(None if pd.isna(row[name]) else str(row[name]), schema[name].kind) for name in names}
        inside = pd.Series(True, index=table.index)
        for name, cell in cells.items():
            inside &= pd.Series([cell.admits(t, n) for t, n in zip(texts[name], values[name], strict=True)])
        rows = (flow.released[names].astype(str) == row.astype(str)).all(axis=1).sum()
        shares = []
        for name, cell in cells.items():
            if cell.low is not None and cell.low < cell.high:
                grid = public.get(name)
                ends = [grid.cells(np.array([end]))[0] if grid else end for end in (cell.low, cell.high)]
                step = pd.Series(grid.cells(values[name].fillna(-1e18)), index=table.index) if grid else values[name]
                marks = [inside & (step == end) & values[name].notna() for end in ends]
                marks += [inside & texts[name].isna()] if cell.missing else []
            elif cell.low is None:
                group = texts[name].map(
                    lambda text, name=name: public.get(name, {}).get(text, text), na_action="ignore"
                )
                items = group[[cell.withheld or cell.admits(text, None) for text in texts[name]]]
                marks = [inside & ((group == one) if pd.notna(one) else group.isna()) for one in items.unique()]
            else:
                marks = []
            if len(marks) > 1:
                shares.append(np.mean([mark.sum() == 1 for mark in marks]))
        chances += [np.mean(shares) if shares else float(inside.sum() == 1)] * int(rows)
    expected = float(np.mean(chances))
    outcome = attack(table, flow.released, schema, flow.encoded, flow=flow, tries=3_000, seconds=0)["singling out"]
    spoken = float(re.findall(r"and ([\d.]+)% when", outcome.sentence)[0]) / 100
    assert spoken == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 3_000))
    assert outcome.after >= spoken - 0.0005 > 0.1


def test_released_as_it_is__everything_is_singled_out() -> None:
    table, schema = people()
    frame = anonymize(table, schema, k=1, min_leaf=1, criterion="blend", weight=0, numbers="range").release.frame()
    outcome = attack(table, frame, schema, encode(table, schema))
    assert outcome["singling out"].after >= outcome["singling out"].before - 0.1
    assert outcome["linkability"].after > 0.85


def test_attack__is_the_same_again_and_stops() -> None:
    table, schema, frame = make_release()
    encoded = encode(table, schema)
    first, second = (attack(table, frame, schema, encoded, tries=50) for _ in range(2))
    assert first == second
    assert attack(table, frame, schema, encoded, tries=50, rng=np.random.default_rng(9)) != first
    shares: list[float] = []
    with pytest.raises(CancelledError):
        attack(table, frame, schema, encoded, progress=lambda s, w: shares.append(s), cancelled=lambda: len(shares) > 2)
    assert shares == sorted(shares)
    assert len(shares) == 3
    with pytest.raises(ParameterError):
        attack(table, frame, schema, encoded, tries=0)


def test_attack__without_sensitive_columns_or_values() -> None:
    table, schema = people()
    bare = table.drop(columns=["ill", "pay"])
    plain = Schema(schema.columns[:3])
    frame = anonymize(bare, plain, k=5).release.frame()
    assert len(attack(bare, frame, plain, encode(bare, plain)).outcomes) == 2
    table["pay"] = np.nan
    frame = anonymize(table, schema, k=5).release.frame()
    pay = attack(table, frame, schema, encode(table, schema)).inferences[1]
    assert pay.after.tries == 0
    assert pay.advantage == 0
