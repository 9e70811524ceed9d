"""Scores of nodes on numeric sensitive columns, against the definitions; L09's lemmas where they hold."""

from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from anonymizer.groups.digression import annotate_numbers, covariance_test, digression, error_digression_ratio, singular
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.schema import Schema
from tests.groups.test_refine import random_table
from tests.sweeps import few


def grow_case(seed: int, n: int, constant: bool = False):
    table, _ = random_table(seed, n)
    rng = np.random.default_rng(seed)
    table["stay"] = 3.0 if constant else rng.poisson(4, n) + table["cost"] / 50
    sensitive = ["cost", "stay"]
    schema = Schema.of(
        table, quasi_identifying=["age", "born", "city", "grade"], sensitive=sensitive, kinds={"grade": "categorical"}
    ).with_column("ill", role="insensitive")
    encoded = encode(table, schema)
    tree = grow(encoded, "sse", min_leaf=1)
    return table, encoded, tree, annotate_numbers(tree, encoded.numeric)


cases = st.tuples(st.integers(0, 10**6), st.integers(4, 60), st.sampled_from([False, False, False, True]))


@settings(max_examples=few(60))
@given(cases)
def test_every_score__is_what_its_definition_says(case):
    table, encoded, tree, risk = grow_case(*case)
    raw = table[["cost", "stay"]].to_numpy(dtype=float)
    span = np.ptp(raw, axis=0)
    y = np.divide(raw - raw.min(axis=0), span, out=np.zeros_like(raw), where=span > 0)
    leaf = descend(tree, encoded)
    whole = (y - y.mean(axis=0)).T @ (y - y.mean(axis=0))
    digressions, errors = {}, {}
    for t in range(tree.n_nodes):
        inside = (leaf >= t) & (leaf < t + tree.size[t])
        apart = y[inside] - y[inside].mean(axis=0)
        errors[t] = (apart**2).sum()
        digressions[t] = max(0.0, np.linalg.det(whole - apart.T @ apart))
        assert risk.sse[t] == pytest.approx(errors[t], abs=1e-9)
        assert risk.digression[t] == pytest.approx(digressions[t], abs=1e-9)
        np.testing.assert_allclose(risk.mean[t], raw[inside].mean(axis=0), rtol=1e-9)
        for column in range(2):
            around = ((y[inside, column] - y[:, column].mean()) ** 2).sum()
            rsd = (apart[:, column] ** 2).sum() / around if around > 1e-20 else 1.0
            assert risk.rsd[t, column] == pytest.approx(rsd, abs=1e-7)
            spread = y[inside, column].std() / y[:, column].std() if span[column] > 0 else 1.0
            assert risk.spread[t, column] == pytest.approx(spread, abs=1e-7)
    for t in range(tree.n_nodes):
        leaves = [s for s in range(t, t + tree.size[t]) if tree.feature[s] < 0]
        assert risk.branch_sse[t] == pytest.approx(sum(errors[s] for s in leaves), abs=1e-9)
        assert risk.branch_digression[t] == pytest.approx(sum(digressions[s] for s in leaves), abs=1e-9)
        if tree.feature[t] < 0:
            assert np.isnan(risk.error_digression[t])


@settings(max_examples=few(60))
@given(cases)
def test_lemma_1__a_part_digresses_at_least_as_much_as_the_whole(case):
    # L09, lemma 1, says "more"; at the root, in nodes that leave out fewer than r records, and under perfect
    # correlation both are 0, so what always holds is "not less". Lemma 2: the same for sums over leaves.
    _, _, tree, risk = grow_case(*case)
    assert risk.digression[0] == 0
    for t in range(1, tree.n_nodes):
        assert risk.digression[t] >= risk.digression[tree.parent[t]] - 1e-9
    inner = ~tree.is_leaf
    assert np.all(risk.branch_digression[inner] >= risk.digression[inner] - 1e-9)
    assert np.all(risk.branch_sse <= risk.sse + 1e-9)
    assert np.all((risk.rsd >= 0) & (risk.rsd <= 1))


def density(x: float, freedom: float) -> float:
    return np.exp((freedom / 2 - 1) * np.log(x) - x / 2 - freedom / 2 * np.log(2) - lgamma(freedom / 2))


@pytest.mark.parametrize("bartlett", [False, True])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_covariance_test__integrates_the_density_of_its_statistic(r, bartlett):
    rng = np.random.default_rng(r)
    y = rng.normal(size=(40, r)) @ rng.normal(size=(r, r))
    part = y[:12] * 0.6
    within = np.array([np.cov(rows.T, ddof=0).reshape(r, r) * len(rows) for rows in (y, part)])
    sigma, sigma_t = within[0] / 39, within[1] / 11
    statistic = 11 * (
        np.log(np.linalg.det(sigma)) - np.log(np.linalg.det(sigma_t)) + np.trace(sigma_t @ np.linalg.inv(sigma)) - r
    )
    if bartlett:
        statistic *= 1 - (2 * r + 1 - 2 / (r + 1)) / (6 * 11)
    expected = quad(density, statistic, np.inf, args=(r * (r + 1) / 2,))[0]
    values = covariance_test(within, np.array([40, 12]), bartlett)
    assert values == pytest.approx([1.0, expected], abs=1e-9)


def test_covariance_test__small_nodes_have_0_and_a_singular_file_turns_it_off():
    y = np.random.default_rng(0).normal(size=(20, 2))
    scatters = np.array([(rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) for rows in (y, y[:2], y[:1])])
    assert covariance_test(scatters, np.array([20, 2, 1])).tolist() == [1.0, 0.0, 0.0]
    twice = np.column_stack([y[:, 0], 2 * y[:, 0]])
    flat = (twice - twice.mean(axis=0)).T @ (twice - twice.mean(axis=0))
    assert singular(flat[None])[0]
    assert np.isnan(covariance_test(np.array([flat, flat]), np.array([20, 10]))).all()
    assert np.isnan(covariance_test(scatters[2:], np.array([1]))).all()


def test_digression__clamps_rounding_and_the_ratio_knows_its_limits():
    within = np.array([[[2.0, 1.0], [1.0, 3.0]], [[2.0, 1.0], [1.0, 3.0 - 1e-13]], [[0.5, 0.0], [0.0, 1.0]]])
    assert digression(within).tolist() == [0.0, 0.0, pytest.approx(1.5 * 2 - 1)]
    ratio = error_digression_ratio(np.array([0.0, 1.0, 1.0, -1e-18]), np.array([0.0, 0.0, 4.0, -1e-18]))
    assert ratio.tolist() == [0.0, np.inf, 0.25, 0.0]
