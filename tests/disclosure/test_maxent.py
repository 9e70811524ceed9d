"""Maximum entropy: feasible, optimal nearby, and as a general solver finds it."""

import sys

import numpy as np
import pytest

from anonymizer.disclosure.constraints import Knowledge, residuals
from anonymizer.disclosure.exposure import figures_of
from anonymizer.disclosure.maxent import fill_levels, maximum_entropy
from anonymizer.errors import CancelledError, ParameterError
from tests.disclosure.trees import TREES, grow_tree


@pytest.mark.sweep(5)
@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_maximum_entropy__keeps_every_constraint_and_its_bound(seed: int, splits: str, measure: str) -> None:
    tree, rule = grow_tree(seed, splits, measure)
    for totals in (False, True):
        estimate = maximum_entropy(tree, Knowledge(True, totals, rule), starts=2)
        assert estimate.converged
        assert estimate.residuals.worst <= 1e-6
        assert estimate.entropy <= estimate.bound + 1e-7
        truth = figures_of(tree, tree.truth)
        assert truth.mean_divergence == pytest.approx(0, abs=1e-12)


def test_maximum_entropy__no_feasible_point_nearby_has_more() -> None:
    tree, rule = grow_tree(5, "multiway", "entropy", n=40)
    knowledge = Knowledge(True, False, rule)
    estimate = maximum_entropy(tree, knowledge, starts=4)
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(400):
        other = estimate.posterior * np.exp(rng.normal(0, 0.02, estimate.posterior.shape))
        part = rng.random()
        other = (1 - part) * estimate.posterior + part * (other / other.sum(axis=1, keepdims=True))
        if residuals(tree, knowledge, other).worst < 1e-9:
            tried += 1
    mixed = [(1 - t) * estimate.posterior + t * tree.truth for t in np.linspace(0.01, 1, 50)]
    from anonymizer.disclosure.maxent import conditional_entropy

    for other in mixed:
        if residuals(tree, knowledge, other).worst < 1e-9:
            assert conditional_entropy(tree, other) <= estimate.entropy + 1e-7


def test_totals_without_rates__agree_with_a_general_solver() -> None:
    from scipy.optimize import minimize

    tree, _ = grow_tree(7, depth=1, n=50)
    estimate = maximum_entropy(tree, Knowledge(False, True))
    leaves = tree.outline.leaves[tree.n[tree.outline.leaves] > 0]
    n, c = tree.n[leaves].astype(float), tree.n_classes

    def negative(p: np.ndarray) -> float:
        q = np.clip(p.reshape(-1, c), 1e-12, 1)
        return float((n[:, None] * q * np.log(q)).sum() / n.sum())

    rules = [{"type": "eq", "fun": lambda p: p.reshape(-1, c).sum(axis=1) - 1}]
    rules.append({"type": "eq", "fun": lambda p: (n @ p.reshape(-1, c) - tree.sums[0])[:-1] / n.sum()})
    label = tree.label[leaves]
    rules.append(
        {
            "type": "ineq",
            "fun": lambda p: (p.reshape(-1, c)[np.arange(len(n)), label][:, None] - p.reshape(-1, c)).ravel(),
        }
    )
    start = (tree.sums[leaves] / n[:, None]).ravel()
    solution = minimize(negative, start, bounds=[(0, 1)] * len(start), constraints=rules, options={"maxiter": 500})
    assert solution.success
    assert estimate.entropy == pytest.approx(-solution.fun, abs=1e-5)
    assert estimate.converged


def test_without_the_solver__only_what_needs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)  # as if it were not installed
    tree, _ = grow_tree(7, depth=2, n=50)
    for knowledge in (Knowledge(False, False), Knowledge(True, False), Knowledge(True, True)):
        assert maximum_entropy(tree, knowledge).converged
    with pytest.raises(ParameterError) as error:
        maximum_entropy(tree, Knowledge(False, True))
    assert "METIS" in str(error.value)
    assert "python run.py solver" in str(error.value.remedy)


def test_fill_levels__reaches_its_target_with_caps() -> None:
    rng = np.random.default_rng(0)
    rates, caps = rng.random((50, 6)), rng.random((50, 6))
    targets = rng.random(50) * caps.sum(axis=1)
    t = fill_levels(rates, caps, targets)
    assert np.minimum(caps, rates * t[:, None]).sum(axis=1) == pytest.approx(targets)


def test_cancel__ends_the_estimate() -> None:
    tree, rule = grow_tree(1, "multiway", "entropy", n=400)
    with pytest.raises(CancelledError):
        maximum_entropy(tree, Knowledge(False, True), cancelled=lambda: True)
