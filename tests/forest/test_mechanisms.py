"""Noise, selection and the ledger: distributions against their formulas, budgets that cannot be overspent."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.errors import ParameterError
from anonymizer.forest import mechanisms
from anonymizer.forest.mechanisms import (
    GRID,
    Budget,
    BudgetError,
    Noise,
    RehearsalNoise,
    SecureNoise,
    WatchedNoise,
    on_grid,
    selection_shares,
)

RUNS = 4000
SURE = 4.5
"""Standard errors that a frequency may be off: about one false alarm in 150,000."""


@pytest.fixture(params=["secure", "rehearsal"])
def noise(request: pytest.FixtureRequest) -> Noise:
    return SecureNoise() if request.param == "secure" else RehearsalNoise(np.random.default_rng(5))


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Mechanisms are made anew for each test."""
    for mechanism in (mechanisms._laplace, mechanisms._gumbel, mechanisms._noisy_max):
        mechanism.cache_clear()


def close(frequency: float, expected: float, runs: int = RUNS) -> bool:
    return abs(frequency - expected) <= SURE * math.sqrt(max(expected * (1 - expected), 1e-4) / runs)


def test_only_repeatable_noise_is_a_rehearsal() -> None:
    assert not SecureNoise().rehearsal
    assert RehearsalNoise(np.random.default_rng(0)).rehearsal


def test_rehearsal__answers_follow_from_its_seed() -> None:
    noise, counts = RehearsalNoise(np.random.default_rng(5)), np.array([7, 9])
    assert noise.laplace(counts, 0.5).round(6).tolist() == [8.883247, 10.913609]
    assert noise.discrete_laplace(counts, 0.5).tolist() == [8, 9]
    assert [noise.exponential([0.1, 0.2, 0.3], 1.0, 0.5) for _ in range(8)] == [1, 0, 0, 2, 2, 0, 1, 2]
    assert [noise.noisy_max([3, 4, 5], 0.5, 1) for _ in range(8)] == [1, 0, 2, 2, 2, 1, 0, 1]


def test_secure_noise__never_touches_numpy_generators(monkeypatch: pytest.MonkeyPatch) -> None:
    secure, counts = SecureNoise(), np.array([3, 4])
    secure.laplace(counts, 0.7)  # what is drawn while OpenDP is imported is no noise
    monkeypatch.setattr(np.random, "default_rng", lambda *_: pytest.fail("numpy noise"))
    secure.laplace(counts, 0.5)
    secure.discrete_laplace(counts, 0.5)
    secure.exponential([0.0, 1.0], 1.0, 1.0)
    secure.noisy_max([0, 1], 1.0, 1)


def test_counts_with_noise__are_floats_of_counts(noise: Noise) -> None:
    for ask in (noise.laplace, noise.discrete_laplace):
        answer = ask(np.array([3, 4]), 0.5)
        assert (answer.dtype, answer.shape) == (np.float64, (2,))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ("laplace", (np.array([1, 2]), 0.3)), ("discrete_laplace", (np.array([3]), 0.4)),
        ("exponential", ([0.1, 0.2], 0.5, 2.0)), ("noisy_max", ([7, 8], 0.6, 3)),
    ],
)  # fmt: skip
def test_watched_noise__looks_and_then_asks_its_source_the_same(ask: str, words: tuple[object, ...]) -> None:
    calls: list[object] = []
    source = SimpleNamespace(rehearsal="as it is", **{ask: lambda *same: calls.append(same) or "answer"})
    watched = WatchedNoise(source, lambda: calls.append("looked"))
    assert watched.rehearsal == "as it is"
    assert getattr(watched, ask)(*words) == "answer"
    assert calls == ["looked", words]


def test_opendp__lets_in_what_is_not_proved_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import opendp.prelude

    features: list[str] = []
    monkeypatch.setattr(opendp.prelude, "enable_features", lambda *names: features.extend(names))
    assert mechanisms._opendp() is opendp.prelude
    assert features == ["contrib"]


def test_laplace__tail_follows_epsilon(noise: Noise) -> None:
    counts = np.full(RUNS, 7)
    off = noise.laplace(counts, 0.25) - 7
    for distance in (1.0, 4.0, 10.0):
        assert close(float((np.abs(off) > distance).mean()), math.exp(-0.25 * distance))
    assert close(float((off > 0).mean()), 0.5)


def test_discrete_laplace__is_whole_and_geometric(noise: Noise) -> None:
    off = noise.discrete_laplace(np.full(RUNS, 100), 0.5) - 100
    assert (off == np.round(off)).all()
    q = math.exp(-0.5)
    for value in range(-2, 3):
        assert close(float((off == value).mean()), (1 - q) / (1 + q) * q ** abs(value))


def test_exponential__chooses_with_its_probabilities(noise: Noise) -> None:
    scores = [-0.5, -0.1, -0.3]
    expected = selection_shares(scores, 2.0, 0.25)
    frequencies = np.bincount([noise.exponential(scores, 2.0, 0.25) for _ in range(RUNS)], minlength=3) / RUNS
    assert all(close(frequency, share) for frequency, share in zip(frequencies, expected, strict=True))


def test_noisy_max__two_scores(noise: Noise) -> None:
    """The larger of two wins unless the difference of two exponentials exceeds the gap: 1 − exp(−gap/scale)/2."""
    expected = 1 - math.exp(-0.5 * 3) / 2
    frequencies = np.mean([noise.noisy_max([10, 13], 0.5, 1) for _ in range(RUNS)])
    assert close(float(frequencies), expected)


def test_coins__come_up_with_their_share_each_and_anew(noise: Noise) -> None:
    coins = mechanisms.coins(noise, RUNS, 0.2)
    assert coins.dtype == bool
    assert close(float(coins.mean()), 0.2)
    assert close(float((coins[1:] & coins[:-1]).mean()), 0.04)
    assert (coins != mechanisms.coins(noise, RUNS, 0.2)).any()
    assert len(mechanisms.coins(noise, 0, 0.2)) == 0


def test_noisy_max__scores_beyond_32_bits(noise: Noise) -> None:
    assert noise.noisy_max([2**40, 2**41], 1.0, 2**20 + 1) == 1


def test_grid__rounding_is_paid_for() -> None:
    whole, step = on_grid([0.1, -67557.3], 2.0)
    assert whole == [round(0.1 * GRID), round(-67557.3 * GRID)]
    assert step == 2.0 * GRID + 2


@given(st.lists(st.floats(-1, 0), min_size=1, max_size=8), st.floats(0.01, 5), st.floats(0.01, 2))
def test_selection_shares__sum_to_one_and_follow_the_ratio(
    scores: list[float], epsilon: float, sensitivity: float
) -> None:
    shares = selection_shares(scores, epsilon, sensitivity)
    assert shares.sum() == pytest.approx(1)
    ratio = math.exp(epsilon * (scores[0] - scores[-1]) / (2 * sensitivity))
    assert shares[0] == pytest.approx(shares[-1] * ratio, rel=1e-9, abs=1e-300)


# The ledger.


def test_budget__sequence_adds_up_and_refuses_the_last_straw() -> None:
    budget = Budget(1.0)
    for _ in range(10):
        budget.spend(0.1, "ask")
    assert budget.spent == pytest.approx(1.0)
    with pytest.raises(BudgetError, match="^The query 'ask again' costs 1e-06, but only 0 of 1 is left."):
        budget.spend(1e-6, "ask again")


def test_budget__says_what_is_left_for_everybody_and_in_a_branch() -> None:
    budget = Budget(2.0, "run")
    budget.spend(0.25, "count")
    budget.branch().spend(0.5, "cut", 2)
    with pytest.raises(BudgetError, match="costs 1.5, but only 1.25 of 2 is left."):
        budget.spend(1.5, "more")
    with pytest.raises(BudgetError, match="costs 2, but only 1.75 of 2 is left."):
        budget.branch().spend(2.0, "more", 2)
    with pytest.raises(BudgetError, match="^tree would need 1.8, but only 1.75 is left."):
        budget.reserve(1.8, "tree")
    assert budget.spend(1.25, "to the end") == 1.25
    assert (budget.own, budget.path, budget.spent) == (1.5, 1.5, 2.0)


def test_ledger__names_every_query_in_the_order_of_parts_and_levels() -> None:
    budget = Budget(4.0)
    budget.spend(0.5, "whole")
    part = budget.reserve(1.5, "tree")
    part.spend(0.25, "a", 2)
    part.spend(0.125, "z", 1)
    part.spend(0.125, "b", 1)
    part.reserve(0.5, "leaf").spend(0.5, "inner", 3)
    for amount in (0.5, 0.75, 0.75):
        budget.branch().spend(amount, "branch", 2)
    ledger = budget.ledger()
    rows = [(e.part, e.level, e.purpose, e.epsilon, e.queries, e.composition) for e in ledger.entries]
    assert rows == [
        ("", 1, "whole", 0.5, 1, "sequential"), ("tree", 1, "z", 0.125, 1, "sequential"),
        ("tree", 1, "b", 0.125, 1, "sequential"),
        ("tree", 2, "a", 0.25, 1, "sequential"), ("tree: leaf", 3, "inner", 0.5, 1, "sequential"),
        ("", 2, "branch", 0.5, 1, "sequential"), ("", 2, "branch", 0.75, 2, "parallel"),
    ]  # fmt: skip
    assert ledger.dearest == (
        ("", 1, "whole", 0.5), ("tree", 2, "a", 0.25), ("tree", 1, "z", 0.125), ("tree", 1, "b", 0.125),
        ("tree: leaf", 3, "inner", 0.5), ("", 2, "branch", 0.75),
    )  # fmt: skip
    assert ledger.to_dict()["entries"][-1] == {
        "part": "", "level": 2, "purpose": "branch", "epsilon": 0.75, "queries": 2, "composition": "parallel"
    }  # fmt: skip
    assert ledger.to_dict()["dearest"][1] == {"part": "tree", "level": 2, "purpose": "a", "epsilon": 0.25}
    assert (ledger.to_dict()["budget"], ledger.spent) == (4.0, 2.25)
    lines = ledger.text().splitlines()
    assert lines[0] == f"part       level  query{' ' * 33}ε each   asked  composition"
    assert lines[2] == f"tree           1  z{' ' * 35}0.125000       1  sequential"
    assert lines[-1] == "spent 2.25 of 4"


def test_budget__branches_cost_the_dearest_only() -> None:
    budget = Budget(1.0)
    budget.spend(0.2, "count")
    first, second = budget.branch(), budget.branch()
    first.spend(0.5, "count", 2)
    second.spend(0.8, "count", 2)
    assert budget.spent == pytest.approx(1.0)
    with pytest.raises(BudgetError):
        second.spend(0.01, "count", 2)
    first.spend(0.2, "again", 2)
    with pytest.raises(BudgetError):
        budget.spend(0.01, "a query of everybody, after the branches")
    ledger = budget.ledger()
    assert ledger.spent == pytest.approx(1.0)
    assert [step[2] for step in ledger.dearest] == ["count", "count"]


def test_budget__parts_have_limits_of_their_own() -> None:
    budget = Budget(1.0)
    one = budget.reserve(0.5, "tree 1")
    with pytest.raises(BudgetError):
        one.spend(0.6, "count")
    one.spend(0.5, "count")
    budget.reserve(0.5, "tree 2").spend(0.5, "count")
    with pytest.raises(BudgetError):
        budget.reserve(0.1, "tree 3")
    assert budget.spent == pytest.approx(1.0)


@pytest.mark.parametrize("amount", [0.0, -1.0, math.nan, math.inf])
def test_budget__amounts_must_be_positive_numbers(amount: float) -> None:
    with pytest.raises(ParameterError):
        Budget(amount)
    with pytest.raises(ParameterError):
        Budget(1.0).spend(amount, "ask")


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30))
def test_ledger__adds_up_to_what_was_asked(amounts: list[float]) -> None:
    budget = Budget(100.0)
    for amount in amounts:
        budget.spend(amount, "ask")
    ledger = budget.ledger()
    assert ledger.spent == pytest.approx(math.fsum(amounts))
    assert math.fsum(entry.epsilon * entry.queries for entry in ledger.entries) == pytest.approx(ledger.spent)
    assert "spent" in ledger.text()
    assert ledger.to_dict()["spent"] == ledger.spent


class Dearer:
    """OpenDP with a mechanism whose own account is more than was asked for."""

    def __getattr__(self, name: str) -> "Dearer":
        return self

    def __call__(self, *_: object, **__: object) -> "Dearer":
        return self

    def map(self, _: object) -> float:
        return 1.01


@pytest.mark.parametrize("ask", [lambda n: n.laplace([1], 1.0), lambda n: n.discrete_laplace([1], 1.0),
                                 lambda n: n.noisy_max([1, 2], 1.0, 1)])  # fmt: skip
def test_opendp_s_own_account__is_looked_at_before_noise_is_drawn(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "_opendp", Dearer)
    with pytest.raises(BudgetError, match="^A mechanism for ε = 1 would cost 1.01"):
        ask(SecureNoise())
