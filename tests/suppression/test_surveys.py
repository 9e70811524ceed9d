"""Figures of a survey where some records are left out."""

import numpy as np
import pytest

from anonymizer.flow import Flow
from anonymizer.measuring.boxed import values_after, values_before
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema


@pytest.fixture(scope="module")
def flow() -> Flow:
    table = hospital(400)[["age", "sex", "postcode", "diagnosis"]]
    table["weight"] = np.random.default_rng(3).integers(1, 9, 400)
    schema = Schema.of(table, quasi_identifying=["age", "sex", "postcode"], sensitive=["diagnosis"], weight="weight")
    choice = {"k": 5, "suppression": 0.05, "suppression_weight": 0.0, "generalizer": "uniform"}
    return Flow(table, schema).but(**choice, regression="age ~ sex")


def test_figures_after__are_of_the_rows_that_are_there(flow: Flow) -> None:
    assert 0 < flow.left_out <= 20
    before = values_before(flow.table, flow.schema["age"])
    after = values_after(flow.boxed, before, np.sort(flow.staying))
    weights = flow.table["weight"].to_numpy(float)
    mean, total = flow.weighted.figures[0], flow.weighted.figures[1]
    assert (mean.what, total.what) == ("mean", "total")
    assert mean.before.value == pytest.approx(np.average(flow.table["age"], weights=weights))
    there = np.sort(flow.staying)
    middle = after.number[after.of_row]
    assert len(middle) == len(there) == 400 - flow.left_out
    assert mean.after.value == pytest.approx(np.average(middle, weights=weights[there]))
    assert total.after.value == pytest.approx(middle @ weights[there])


def test_columns_that_stay__lose_the_same_rows(flow: Flow) -> None:
    before = values_before(flow.table, flow.schema["diagnosis"])
    after = values_after(flow.boxed, before, np.sort(flow.staying))
    assert after.of_row.tolist() == before.of_row[np.sort(flow.staying)].tolist()


def test_named_regression__is_of_the_rows_that_are_there(flow: Flow) -> None:
    regression = flow.weighted.regression
    assert regression is not None
    assert np.isfinite([term.after.value for term in regression.terms]).all()
