"""What single columns and correlations lose, against figures counted by hand; those of reports are counted from files.

See ``tests/reporting/test_figures.py``.
"""

import math

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import parse_cell
from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.marginals import change_of_correlations, marginals, pearson, rank_loss
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings


def flow_of(seed: int, **settings: object) -> Flow:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, 200).astype(float)
    table = pd.DataFrame({
        "age": np.where(rng.random(200) < 0.1, np.nan, age), "pay": np.round(rng.lognormal(3, 1, 200) + age),
        "town": rng.choice(list("abc"), 200), "cost": age * 2 + rng.normal(0, 20, 200),
    })  # fmt: skip
    schema = Schema.of(table, quasi_identifying=["age", "pay", "town"], sensitive=["cost"])
    return Flow(table, schema, Settings(k=5, **settings), rng=np.random.default_rng(0))


def test_records_as_they_are__lose_nothing() -> None:
    encoded = flow_of(1).encoded
    exact = BoxedTable.of_records(encoded)
    assert tuple(marginals(encoded, exact)) == pytest.approx((0, 0, 0), abs=1e-7)
    assert change_of_correlations(encoded, exact) == pytest.approx(0, abs=1e-7)


def test_rank_loss__is_the_share_of_records_between_the_ends() -> None:
    table = pd.DataFrame({"n": [0.0] * 8 + [10, 1000], "s": list("ab") * 5})
    (encoding,) = encode(table, Schema.of(table, quasi_identifying=["n"], sensitive=["s"])).encodings
    records = np.array([8, 1, 1])

    def lost(text: str) -> float:
        return rank_loss(parse_cell(text, Kind.NUMERIC), encoding, records)

    whole = 9.5 - 4
    assert [lost("0"), lost("[0, 1000]"), lost("[-5, 2000]")] == pytest.approx([0, 1, 1])
    assert lost("[0, 10]") == pytest.approx((8.5 - 4) / whole)
    assert lost("[10, 1000]") == pytest.approx(1 / whole)
    assert lost("[11, 999]") == 0
    assert lost("*") == 1


def test_one_value_in_all_rows__loses_nothing_by_ranks() -> None:
    table = pd.DataFrame({"n": [3.0] * 6, "m": range(6), "s": list("ab") * 3})
    schema = Schema.of(table, quasi_identifying=["n", "m"], sensitive=["s"])
    flow = Flow(table, schema, Settings(k=3, numbers="range"), rng=np.random.default_rng(0))
    assert flow.utility.ncp_by_column["n"] == 0
    assert marginals(flow.encoded, flow.boxed).ranks == pytest.approx(0.4 / 2)


def test_correlations__are_those_of_the_means_of_boxes() -> None:
    flow = flow_of(2, numbers="range")
    boxed, there = flow.boxed, flow.boxed.box >= 0
    table = flow.table[there]
    after = {}
    for column in boxed.columns[:2]:
        name = column.encoding.name
        number, present, row = column.numbers(boxed.readings.get(name))
        after[name] = number[row[boxed.box[there]]], present[row[boxed.box[there]]]
    cost, ones = table["cost"].to_numpy(), np.ones(len(table))
    changes = []
    for first, second in (("age", "pay"), ("age", "cost"), ("pay", "cost")):
        (x, p), (y, q) = after[first], after.get(second, (cost, ones))
        weighted = np.cov(x, y, aweights=p * q, ddof=0)
        changes.append(
            abs(weighted[0, 1] / math.sqrt(weighted[0, 0] * weighted[1, 1]) - table[first].corr(table[second]))
        )
    assert change_of_correlations(flow.encoded, boxed) == pytest.approx(np.mean(changes), abs=1e-6)


def test_rows_left_out__are_in_no_bin_and_lose_all_by_ranks() -> None:
    flow = flow_of(3, suppression=0.1)
    left_out = (flow.boxed.box < 0).mean()
    figures = marginals(flow.encoded, flow.boxed)
    assert left_out > 0
    assert figures.ranks >= left_out
    assert figures.hellinger >= 1 - math.sqrt(1 - left_out) - 1e-9


def test_what_does_not_vary__has_no_correlation() -> None:
    ones = np.ones(5)
    assert math.isnan(pearson((ones, np.arange(5.0)), ones))
    assert math.isnan(pearson((np.arange(5.0), np.arange(5.0)), ones * 0))
    assert pearson((np.arange(5.0), -np.arange(5.0)), ones) == -1
