"""Risk by a log-linear model of independent columns."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.population.frequencies import frequencies
from anonymizer.population.log_linear import independent_means, log_linear_risk
from anonymizer.population.sample import Population, sample_risk
from anonymizer.schema import Schema

CODES = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])


def test_means__are_products_of_shares() -> None:
    """Column one is 3/4 and 1/4, column two 1/2 and 1/2; of 4 records."""
    np.testing.assert_allclose(independent_means(CODES), [1.5, 1.5, 1.5, 0.5])


def test_risk__by_hand() -> None:
    """Half of the people are in the sample: as many others are expected as records, 1.5 and 0.5 of the unique ones."""
    risk = log_linear_risk(CODES, frequencies(CODES), np.full(4, 0.5))
    assert risk.alone == pytest.approx(np.exp(-1.5) + np.exp(-0.5))
    assert risk.right == pytest.approx((1 - np.exp(-1.5)) / 1.5 + (1 - np.exp(-0.5)) / 0.5)


def test_whole_population__is_certain() -> None:
    risk = log_linear_risk(CODES, frequencies(CODES), np.ones(4))
    assert (risk.alone, risk.right) == (2, 2)


def test_independent_population__is_estimated_about_right() -> None:
    """200,000 people of independent columns, of whom one in twenty is drawn."""
    chance = np.random.default_rng(7)
    people = np.column_stack([chance.zipf(1.6, 200_000).clip(max=60), chance.integers(0, 40, (200_000, 2)).T[0],
                              chance.geometric(0.15, 200_000)])  # fmt: skip
    sample = people[::20]
    f, there = frequencies(sample), frequencies(sample, people)
    risk = log_linear_risk(sample, f, np.full(len(sample), 0.05))
    assert risk.alone == pytest.approx(((f == 1) & (there == 1)).sum(), rel=0.1)
    assert risk.right == pytest.approx((1 / there[f == 1]).sum(), rel=0.05)


def test_table__has_the_figures_where_people_were_not_counted() -> None:
    table = pd.DataFrame(CODES, columns=["a", "b"]).astype(str)
    schema = Schema.of(table, quasi_identifying=["a", "b"])
    risk = sample_risk(table, schema, Population(0.5))
    assert risk.log_linear == log_linear_risk(CODES, frequencies(CODES), np.full(4, 0.5))
    assert risk.to_dict()["log_linear"]["alone"] == risk.log_linear.alone
    assert sample_risk(table, schema, Population(table=pd.concat([table, table]))).log_linear is None
