"""Audits: they refute what is false, and nothing that is proved."""

import math

import numpy as np
import pytest

from anonymizer.forest.audit import PAIRS, Recorder, audit, log_ratio, lower_bound
from anonymizer.forest.domains import CodedTable
from anonymizer.forest.forest import MODES, Mode, grow_forest
from anonymizer.forest.growth import Plan
from anonymizer.forest.mechanisms import Budget, Noise, RehearsalNoise
from anonymizer.forest.model import Model
from anonymizer.forest.scorecard import ROUNDS, score


def test_lower_bound__agrees_with_exact_limits() -> None:
    assert lower_bound(0, 0, 100, 0.95) == -math.inf
    assert lower_bound(100, 0, 100, 0.95) == pytest.approx(math.log(0.025 ** (1 / 100) / (1 - 0.025 ** (1 / 100))))
    assert lower_bound(50, 50, 100, 0.95) < 0


@pytest.mark.parametrize("pair", PAIRS)
def test_audit__pairs_are_neighbours(pair: str) -> None:
    fewer, more = PAIRS[pair](5)
    assert more.n_records == fewer.n_records + 1
    np.testing.assert_array_equal(more.codes[:-1], fewer.codes)


@pytest.mark.sweep(0)
def test_audit__refutes_the_printed_algorithm() -> None:
    finding = audit("paper", 0.1, n_classes=18, runs=6000, seed=0)
    assert finding.violated
    assert finding.lower_bound > 0.15


@pytest.mark.sweep(0)
@pytest.mark.parametrize("mode", [mode for mode in MODES if MODES[mode].private])
def test_audit__does_not_refute_what_is_proved(mode: str) -> None:
    """Points come from many queries, of which each tells little: fewer runs find something at a larger claim only."""
    claim, runs = (8.0, 300) if mode == "scorecard" else (3.0, 1500)
    assert not audit(mode, 0.1, n_classes=18, runs=runs, seed=0).violated
    near = audit(mode, claim, pair="many-and-one-more", n_classes=2, max_depth=2, runs=runs, seed=0)
    assert not near.violated
    assert near.lower_bound > 0.05, "an audit that finds nothing at a large ε proves nothing"


def test_audit__refutes_a_scorecard_whose_noise_is_that_of_a_single_query(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(table: CodedTable, budget: Budget, noise: Noise, plan: Plan) -> Model:
        """Every one of the Q queries is answered as if it had the whole budget."""
        return score(table, Budget(budget.limit * ROUNDS * len(table.n_levels)), noise, plan)

    monkeypatch.setitem(MODES, "careless", Mode("careless", True, "none", careless, trees=False))
    assert audit("careless", 1.0, n_classes=2, runs=150, seed=0).violated
    assert not audit("scorecard", 1.0, n_classes=2, runs=150, seed=0).violated


@pytest.mark.parametrize("mode", ["paper", "paper-strict", "diffpid3", "diffpid3-weighted", "strict", "scorecard"])
def test_log_ratio__of_equal_tables_is_nothing_and_turns_with_the_tables(mode: str) -> None:
    fewer, more = PAIRS["one-and-two"](3)

    def grow(table: CodedTable, noise: Noise) -> object:
        return grow_forest(table, 1.0, mode=mode, pruning=None, noise=noise)

    run = Recorder(RehearsalNoise(np.random.default_rng(0)))
    grow(more, run)
    assert log_ratio(grow, run, (more, more)) == 0
    assert log_ratio(grow, run, (fewer, more)) == -log_ratio(grow, run, (more, fewer)) != 0
