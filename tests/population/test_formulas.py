"""The formulas beside slow twins, and where tables are degenerate."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ParameterError, SchemaError
from anonymizer.population.attackers import Attackers, k_map, k_map_size
from anonymizer.population.frequencies import class_sizes, codes_of, combine, frequencies
from anonymizer.population.individual import fewest_alike, household_risk, individual_risk, threshold_of
from anonymizer.population.suda import largest_size, special_uniques
from anonymizer.population.uniques import Histogram, pitman, population_of, population_uniques


@st.composite
def key_tables(draw: st.DrawFn, columns: int = 5, records: int = 25) -> np.ndarray:
    """Keys of few values, missing ones among them."""
    m, n = draw(st.integers(1, columns)), draw(st.integers(1, records))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(-1 if draw(st.booleans()) else 0, draw(st.integers(1, 4)), (n, m))


def naive_uniques(codes: np.ndarray) -> dict[int, set[tuple[int, ...]]]:
    """The MSUs of each record, by the definition."""
    n, m = codes.shape
    subsets = [subset for size in range(1, m + 1) for subset in combinations(range(m), size)]

    def alone(i: int, subset: tuple[int, ...]) -> bool:
        if not subset:
            return n == 1
        mine = codes[i, list(subset)]
        return all((mine < 0).any() or (codes[j, list(subset)] != mine).any() for j in range(n) if j != i)

    return {
        i: {
            subset
            for subset in subsets
            if (codes[i, list(subset)] >= 0).all()
            and alone(i, subset)
            and not any(alone(i, part) for part in combinations(subset, len(subset) - 1))
        }
        for i in range(n)
    }


@given(key_tables())
def test_special_uniques__are_those_of_the_definition(codes: np.ndarray) -> None:
    uniques = special_uniques(codes)
    assert {i: set(uniques.of(i)) for i in range(len(codes))} == naive_uniques(codes)


def naive_frequency(codes: np.ndarray, others: np.ndarray, weights: np.ndarray, alpha: float) -> list[float]:
    def share(a: np.ndarray, b: np.ndarray) -> float:
        if any(x >= 0 and y >= 0 and x != y for x, y in zip(a, b, strict=True)):
            return 0.0
        return 1.0 if (b >= 0).all() or (a == b).all() or ((a < 0) == (b < 0)).all() else alpha

    return [sum(share(a, b) * w for b, w in zip(others, weights, strict=True)) for a in codes]


@given(key_tables(4), st.sampled_from([0.0, 0.5, 1.0]))
def test_frequencies__count_whoever_agrees(codes: np.ndarray, alpha: float) -> None:
    weights = np.arange(1.0, len(codes) + 1)
    expected = naive_frequency(codes, codes, weights, alpha)
    np.testing.assert_allclose(frequencies(codes, weights=weights, wildcard=alpha), expected)
    as_value = [(codes == row).all(axis=1) @ weights for row in codes]
    np.testing.assert_allclose(frequencies(codes, weights=weights), as_value)


def test_combine__does_not_mix_up_keys_of_many_wide_columns() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 60_000, (300, 12))
    codes[100:200] = codes[:100]
    assert len(set(combine(codes))) == 200
    assert sorted(class_sizes(codes)) == [1] * 100 + [2] * 100


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        ([34, 35], ["34", "35"]),
        ([34.0, np.nan], ["34", None]),
        ([1.5, 2.5], [" 1.5 ", "2.5"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_codes__are_one_where_two_tables_write_the_same(own: list, theirs: list) -> None:
    first, second = codes_of(pd.DataFrame({"x": own}), ["x"], pd.DataFrame({"x": theirs}))
    assert first.tolist() == second.tolist()


def test_codes__want_every_column_in_both_tables() -> None:
    with pytest.raises(SchemaError, match="'y'"):
        codes_of(pd.DataFrame({"x": [1], "y": [2]}), ["x", "y"], pd.DataFrame({"x": [1]}))


@pytest.mark.parametrize("f", [1, 2, 5, 20, 51, 400])
@pytest.mark.parametrize("p", [1e-6, 0.01, 0.5, 0.51, 0.99, 0.9999, 1.0])
def test_individual_risk__lies_between_its_bounds_and_is_the_integral(f: int, p: float) -> None:
    (risk,) = individual_risk(np.array([f]), np.array([f / p]))
    t, step = (np.arange(100_000) + 0.5) / 1e5, 1 / 1e5  # midpoints, in t = s² so that nothing is steep at 0
    exact = p * ((1 - t**2) ** (f - 1) / (1 - (1 - p) * t**2) * 2 * t).sum() * step
    if p > 1e-3:
        assert risk == pytest.approx(exact, rel=1e-6)
    assert p / f <= risk <= 1 / f + 1e-15


def test_individual_risk__of_the_whole_population_is_one_in_f() -> None:
    f = np.array([1.0, 2.0, 7.0])
    assert individual_risk(f, f).tolist() == [1, 1 / 2, 1 / 7]
    assert individual_risk(f, f / 2).tolist() == [1, 1 / 2, 1 / 7]  # weights below 1 are as if they were 1


@pytest.mark.parametrize("fraction", [0.001, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("largest", [1.0, 0.5, 0.2, 0.1, 0.05, 0.009])
def test_fewest_alike__are_enough_and_one_fewer_is_not(largest: float, fraction: float) -> None:
    k = fewest_alike(largest, fraction)
    risk = individual_risk(np.array([k, max(1, k - 1)]), np.array([k, max(1, k - 1)]) / fraction)
    assert risk[0] <= largest * (1 + 1e-9)
    assert k == 1 or risk[1] > largest
    assert fraction < 1 or k == int(np.ceil(1 / largest - 1e-9))


def test_household_risk__is_everybodys_and_unknown_households_are_their_own() -> None:
    risk = household_risk(np.array([0.5, 0.5, 0.1, 0.2, 1.0]), np.array([0, 0, -1, 1, 2]))
    np.testing.assert_allclose(risk, [0.75, 0.75, 0.1, 0.2, 1.0])
    np.testing.assert_allclose(household_risk(np.array([0.3]), np.array([-1])), [0.3])


def test_threshold__lowers_the_largest_risks_until_the_sum_fits() -> None:
    risk = np.array([0.5, 0.5, 0.1, 0.01])
    value = threshold_of(risk, 0.1)
    assert value is not None
    assert np.minimum(risk, value).sum() < 0.1 * len(risk)
    assert threshold_of(risk, 0.9) is None
    assert threshold_of(risk, 0.001) is None


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 2, 3], [1], [5], [1, 1, 2]])
def test_population_uniques__of_small_tables(sizes: list[int]) -> None:
    histogram = Histogram.of(np.array(sizes))
    uniques = population_uniques(histogram, population_of(histogram.n, 0.05))
    assert uniques.best.uniques is not None
    assert 0 <= uniques.best.uniques <= uniques.population
    if 1 not in sizes:
        assert uniques.best.uniques == 0
    if set(sizes) == {1} and len(sizes) > 1:
        assert pitman(histogram, 100).uniques is None
        assert uniques.best.model == "Zayatz"


def test_population_uniques__of_everybody_are_those_of_the_sample() -> None:
    assert population_uniques(Histogram.of(np.array([1, 1, 4])), 6).best.uniques == 2


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, float("nan")])
def test_fraction__is_above_0_and_at_most_1(fraction: float) -> None:
    with pytest.raises(ParameterError):
        population_of(10, fraction)


def test_attackers__of_a_sample_that_the_population_outnumbers() -> None:
    attackers = Attackers(np.array([1.0, 2.0, 2.0]), np.array([10.0, 4.0, 4.0]))
    assert attackers.prosecutor.highest == 1
    assert attackers.journalist.highest == 1 / 4
    assert attackers.marketer == pytest.approx((0.1 + 0.25 + 0.25) / 3)
    assert attackers.at_risk(0.25, journalist=True) == 0  # exactly so much is not above it
    assert k_map(attackers.population) == 4


def test_k_map_size__is_never_above_k() -> None:
    sizes = [k_map_size(k, 1000, 2000, 0.01)[0] for k in range(1, 12)]
    assert all(size <= k for k, size in enumerate(sizes, 1))
    assert sizes == sorted(sizes)


def test_sets_of_many_columns__are_no_more_than_can_be_tried() -> None:
    assert [largest_size(m) for m in (1, 3, 12, 16, 40, 200)] == [1, 3, 12, 4, 2, 2]
    assert special_uniques(np.random.default_rng(0).integers(0, 2, (50, 30))).largest < 30
