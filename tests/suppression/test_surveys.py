"""Figures of a survey where some records are left out."""

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.measuring.boxed import values_after, values_before


@pytest.fixture(scope="module")
def flow() -> Flow:
    chance = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": np.append(chance.integers(20, 60, 297), [95, 96, 97]),
            "sex": chance.choice(["f", "m"], 300),
            "weight": chance.integers(1, 9, 300),
            "income": chance.choice(["low", "high"], 300),
        }
    )
    schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["income"], weight="weight")
    return Flow(table, schema).but(k=10, generalizer="uniform", suppression=0.05, suppression_weight=0.0, regression="age ~ sex")


def test_figures_after__are_of_the_rows_that_are_there(flow: Flow) -> None:
    assert 0 < flow.left_out <= 15
    before = values_before(flow.table, flow.schema["age"])
    after = values_after(flow.release, before)
    weights = flow.table["weight"].to_numpy(float)
    mean, total = flow.weighted.figures[0], flow.weighted.figures[1]
    assert (mean.what, total.what) == ("mean", "total")
    assert mean.before.value == pytest.approx(np.average(flow.table["age"], weights=weights))
    there = np.sort(flow.staying)
    middle = after.number[after.of_row]
    assert len(middle) == len(there) == 300 - flow.left_out
    assert mean.after.value == pytest.approx(np.average(middle, weights=weights[there]))
    assert total.after.value == pytest.approx(middle @ weights[there])


def test_columns_that_stay__lose_the_same_rows(flow: Flow) -> None:
    before = values_before(flow.table, flow.schema["income"])
    after = values_after(flow.release, before)
    assert after.of_row.tolist() == before.of_row[np.sort(flow.staying)].tolist()


def test_named_regression__is_of_the_rows_that_are_there(flow: Flow) -> None:
    regression = flow.weighted.regression
    assert regression is not None
    assert np.isfinite([term.after.value for term in regression.terms]).all()
