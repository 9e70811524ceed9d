"""Weighted figures before and after: by hand, against a slow twin that expands the release, and their overlaps."""

import json
import math
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from anonymizer.errors import SchemaError
from anonymizer.flow import Flow
from anonymizer.measuring.weighted import MOST_LEVELS
from anonymizer.population.estimates import Estimate, mean_of, overlap, sampling_of, total_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.naive_margins import expanded
from tests.naive_measures import slow_figures
from tests.sweeps import few


def survey(seed: int = 0, n: int = 60) -> pd.DataFrame:
    """People in households in two regions, with weights, some ages and jobs missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "region": rng.choice(["north", "south"], n),
        "home": rng.integers(0, n // 2, n),
        "weight": rng.choice([1.0, 2.5, 4.0], n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        "job": rng.choice(["clerk", "nurse", "smith", None], n, p=[0.4, 0.3, 0.2, 0.1]),
        "income": rng.integers(10, 90, n) * 1.0,
    })  # fmt: skip
    return table


def schema_of(table: pd.DataFrame, **design: str) -> Schema:
    return Schema.of(
        table,
        identifying=[name for name in ("region", "home", "weight") if name not in design.values()],
        quasi_identifying=["age", "job"],
        sensitive=["income"],
        domains={"job": ["clerk", "nurse", "smith"]},
        **design,
    )


DESIGNS = (
    {},
    {"weight": "weight"},
    {"weight": "weight", "stratum": "region"},
    {"weight": "weight", "household": "home"},
    {"weight": "weight", "stratum": "region", "household": "home"},
    {"household": "home"},
)


@settings(max_examples=few(15))
@given(st.integers(0, 10**6), st.sampled_from(DESIGNS), st.sampled_from(["pack", "uniform", "tiered", "refine"]))
def test_figures__are_those_of_the_expanded_release(seed: int, design: dict[str, str], generalizer: str) -> None:
    table = survey(seed, 50)
    schema = schema_of(table, **design)
    counts = "sets" if generalizer == "tiered" else "weighted"
    flow = Flow(table, schema, Settings(k=4, generalizer=generalizer, writing=counts))
    for one in flow.weighted.figures:
        before = table.assign(row=table.index)
        after = expanded(flow, one.column)
        level = one.level or None
        for people, shares, answer in (
            (before, pd.Series(1.0, before.index), one.before),
            (after, after["share"], one.after),
        ):
            expected = slow_figures(people, shares, one.column, level, table, design)[one.what]
            np.testing.assert_allclose(tuple(vars(answer).values()), expected, rtol=1e-8, atol=1e-9)


def test_means_and_totals__by_hand() -> None:
    """Three people of weights 1, 1 and 2 with ages 20, 40, 50: mean 40, total 160."""
    table = pd.DataFrame({"age": [20, 40, 50], "w": [1, 1, 2], "ill": list("xyx")})
    flow = Flow(table, Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], weight="w"), Settings(k=1))
    mean, total = flow.weighted.figures
    assert (mean.title, mean.before.value, total.before.value) == ("Mean of age", 40.0, 160.0)
    # Linear parts of the mean: (20 − 40) / 4, 0, 2 (50 − 40) / 4; their mean is 0, so 3/2 (25 + 0 + 25).
    assert mean.before.error == pytest.approx(math.sqrt(1.5 * 50))
    # Of the total: 20, 40, 100, around 53.33.
    assert total.before.error == pytest.approx(math.sqrt(1.5 * sum((x - 160 / 3) ** 2 for x in (20, 40, 100))))
    assert mean.before.high - mean.before.value == pytest.approx(student.ppf(0.975, 2) * mean.before.error)


def test_mean__without_a_design_has_the_usual_standard_error() -> None:
    table = survey(3, 80)
    figures = {one.title: one for one in Flow(table, schema_of(table), Settings(k=4)).weighted.figures}
    clerk = figures["Share of job = clerk"].before
    share = (table["job"] == "clerk").mean()
    assert (clerk.value, clerk.error) == pytest.approx((share, math.sqrt(share * (1 - share) / (len(table) - 1))))
    assert figures["Total of job = missing"].before.value == table["job"].isna().sum()
    assert figures["Mean of age"].before.value == pytest.approx(table["age"].mean())


@settings(max_examples=few(25))
@given(st.integers(0, 10**6), st.sampled_from([{}, {"weight": "weight"}, {"weight": "weight", "stratum": "region"}]))
def test_rows_that_are_alike__count_together(seed: int, design: dict[str, str]) -> None:
    table = survey(seed, 200)
    sampling = sampling_of(table, schema_of(table, **design))
    number = np.random.default_rng(seed).normal(size=7)
    cell = np.random.default_rng(seed).integers(0, 7, 200)
    merged, cells = sampling.alike(cell, 7)
    assert len(cells) < 60
    assert merged.records.sum() == 200
    assert merged.freedom == sampling.freedom
    for get in (mean_of, total_of):
        apart = get(number[cell], (cell > 2) * 0.5, sampling)
        together = get(number[cells], (cells > 2) * 0.5, merged)
        assert astuple(together) == pytest.approx(astuple(apart), rel=1e-9)


def test_rows_of_households__are_not_put_together() -> None:
    table = survey(0, 200)
    sampling = sampling_of(table, schema_of(table, household="home"))
    cell = np.zeros(200, dtype=np.int64)
    assert sampling.alike(cell, 1) == (sampling, cell)


def test_a_level_that_is_withheld__is_any_of_the_column_in_equal_parts() -> None:
    table = pd.DataFrame({"sex": list("aaab"), "ill": list("xyxy")})
    flow = Flow(table, Schema.of(table, quasi_identifying=["sex"], sensitive=["ill"]), Settings(k=4))
    assert flow.released["sex"].tolist() == ["*"] * 4
    shares = {one.level: (one.before.value, one.after.value) for one in flow.weighted.figures if one.what == "share"}
    assert shares == {"a": (0.75, 0.5), "b": (0.25, 0.5)}


def test_a_stratum_with_one_household__is_compared_with_the_mean_of_all() -> None:
    table = pd.DataFrame({"age": [10.0, 20.0, 60.0], "s": list("aab"), "ill": list("xyx")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"], stratum="s")
    total = Flow(table, schema, Settings(k=1)).weighted.figures[1].before
    assert total.error == pytest.approx(math.sqrt(2 * (25 + 25) + (60 - 30) ** 2))
    assert sampling_of(table, schema).freedom == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0, 4), (0, 4), 1.0),
        ((0, 4), (2, 6), 0.5),
        ((0, 4), (1, 2), (1 / 4 + 1) / 2),
        ((0, 4), (5, 6), 0.0),
        ((0, 4), (4, 6), 0.0),
        ((1, 1), (1, 1), 1.0),
        ((1, 1), (0, 4), 0.5),
        ((1, 1), (2, 3), 0.0),
    ],
)
def test_overlap__by_hand(first: tuple[float, float], second: tuple[float, float], expected: float) -> None:
    one, other = (Estimate(sum(ends) / 2, 1.0, *ends) for ends in (first, second))
    assert overlap(one, other) == overlap(other, one) == pytest.approx(expected)
    assert math.isnan(overlap(one, Estimate(math.nan, math.nan, math.nan, math.nan)))


def test_correlations__are_those_of_the_expanded_release() -> None:
    table = survey(5, 200).dropna(subset=["age"]).reset_index(drop=True)
    schema = schema_of(table, weight="weight")
    flow = Flow(table, schema, Settings(k=8))
    (one,) = flow.weighted.correlations
    after = expanded(flow, "age")
    after = table[["weight", "income"]].iloc[after["row"]].reset_index(drop=True).join(after)
    for people, weights, answer in (
        (table, table["weight"], one.before),
        (after, after["weight"] * after["share"], one.after),
    ):
        rows = people["age"].notna().to_numpy()
        matrix = np.cov(people["age"][rows], people["income"][rows], aweights=weights[rows])
        assert answer == pytest.approx(matrix[0, 1] / math.sqrt(matrix[0, 0] * matrix[1, 1]))
    assert flow.weighted.farthest == one


def test_two_way_tables__have_the_weights_as_if_each_row_stood_there_as_often() -> None:
    table = survey(7, 60).assign(weight=lambda rows: np.where(rows["income"] > 50, 3.0, 1.0))
    schema = schema_of(table, weight="weight")
    flow = Flow(table, schema, Settings(k=4, generalizer="uniform"))
    tables = flow.weighted.tables
    often = np.repeat(np.arange(len(table)), table["weight"].astype(int))
    from anonymizer.measuring.bins import bins_of
    from anonymizer.measuring.boxed import BoxedTable
    from anonymizer.measuring.two_way import two_way

    again = two_way(flow.encoded, BoxedTable.of_records(flow.encoded), table["weight"].to_numpy())
    assert again.mean == pytest.approx(0, abs=1e-12)
    assert again.mean_hellinger == pytest.approx(0, abs=1e-6)
    # One pair by hand: age in its bins, as its boxes are read, against the income as it is.
    encoding, column = flow.encoded.encodings[0], flow.boxed.columns[0]
    codes = flow.encoded.codes.columns[0]
    bins = bins_of(encoding, np.bincount(codes, minlength=encoding.n_codes), 10, 12)
    shares, of_box = column.shares(bins, flow.boxed.readings.get("age"))
    tenth = np.minimum(((table["income"] - table["income"].min()) / np.ptp(table["income"]) * 10).astype(int), 9)
    before, after = np.zeros((bins.count, 10)), np.zeros((bins.count, 10))
    for row in often:
        before[bins.of_code[codes[row]], tenth[row]] += 1
        after[:, tenth[row]] += shares[of_box[flow.boxed.box[row]]]
    p, q = before / len(often), after / len(often)
    place = tables.names.index("income")
    assert tables.distances[0, place] == pytest.approx(np.abs(p - q).sum() / 2)
    assert tables.hellinger[0, place] == pytest.approx(math.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2))
    assert flow.two_way.distances[0, place] != pytest.approx(tables.distances[0, place])


def test_a_column_that_leaves_as_it_is__has_no_figures_and_a_rare_level_none() -> None:
    table = pd.DataFrame({"city": [f"c{i}" for i in range(30)] * 4, "ill": list("xy") * 60})
    flow = Flow(table, Schema.of(table, quasi_identifying=["city"], sensitive=["ill"]), Settings(k=4))
    levels = {one.level for one in flow.weighted.figures}
    assert {one.column for one in flow.weighted.figures} == {"city"}
    assert len(levels - {"missing"}) == MOST_LEVELS


def test_to_dict__is_json_and_names_the_design() -> None:
    table = survey()
    flow = Flow(table, schema_of(table, weight="weight", stratum="region"), Settings(k=4))
    described = json.loads(json.dumps(flow.weighted.to_dict(), allow_nan=False))
    assert described["sampling"] == "weights 'weight', strata 'region'"
    assert described["regression"] is None
    overlaps = [one["interval_overlap"] for one in described["figures"] if one["figure"] != "total"]
    assert described["mean_interval_overlap"] == pytest.approx(np.mean(overlaps))
    assert flow.report.to_dict()["utility"]["weighted"] == flow.weighted.to_dict()
    worst = flow.weighted.worst
    assert worst is not None
    assert worst.overlap == pytest.approx(min(overlaps))


def test_weights_that_are_none__are_refused() -> None:
    table = survey().assign(weight=lambda rows: rows["weight"] - 1)
    with pytest.raises(SchemaError, match="no sampling weight above 0"):
        _ = Flow(table, schema_of(table, weight="weight"), Settings(k=4)).weighted
