"""Repair: the largest tree that keeps a bound."""

import math

import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import assess
from anonymizer.disclosure.integer_posterior import integer_posterior
from anonymizer.disclosure.repair import prune_to, repairs
from anonymizer.errors import ParameterError
from tests.disclosure.trees import grow_tree


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bound", [0.5, 0.7, 0.9])
def test_repair__is_the_largest_tree_that_keeps_the_bound(seed: int, bound: float) -> None:
    tree, _ = grow_tree(seed, n=120, depth=4)
    repair = prune_to(tree, Knowledge(), bound)
    blind = tree.sums[0].max() / tree.n_records
    assert repair.possible == (blind <= bound)
    if not repair.possible:
        return
    outline = tree.outline

    def least_error(node: int) -> float:
        """The least error of a branch in which every leaf keeps the bound; infinite when there is none."""
        if not tree.n[node]:
            return 0.0
        own = tree.error[node] if tree.correct[node] <= bound * tree.n[node] else math.inf
        if outline.feature[node] < 0:
            return own
        return min(own, sum(least_error(child) for child in outline.children[node]))

    leaves = repair.tree.outline.leaves
    assert repair.tree.error[leaves].sum() == least_error(0)
    assert repair.exposure.figures.highest_posterior <= bound + 1e-6
    assert repair.accuracy == pytest.approx(1 - least_error(0) / tree.n_records)


def test_repair__with_the_growing_rule_keeps_the_bound_too() -> None:
    tree, rule = grow_tree(2, "multiway", "entropy", n=120)
    for way in repairs(tree, Knowledge(True, False, rule), 0.75):
        assert way.possible
        again = assess(way.tree, way.knowledge)
        assert again.figures.highest_posterior <= 0.75 + 1e-5


def test_repair__impossible_bound_is_refused() -> None:
    tree, _ = grow_tree(2)
    with pytest.raises(ParameterError, match="blind guess"):
        repairs(tree, Knowledge(), 0.3)


KNOWLEDGE = [(rates, totals, with_rule) for rates in (True, False) for totals in (True, False) for with_rule in (0, 1)]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("rates", "totals", "with_rule"), KNOWLEDGE)
def test_verdict__is_by_whole_people_where_they_can_be_counted(rates: bool, totals: bool, with_rule: int) -> None:
    """Maximum entropy says that a bound is kept where counting says that it is not; counting decides."""
    overruled = 0
    for seed in range(12):
        tree, rule = grow_tree(seed, n=14, classes=2)
        knowledge = Knowledge(rates, totals, rule if with_rule else None)
        counted = integer_posterior(tree, knowledge)
        exposure = assess(tree, knowledge, exact=True)
        assert exposure.judged_by == "counted in whole people"
        highest = float(counted.posterior.max())
        assert exposure.highest_posterior == pytest.approx(highest)
        assert exposure.keeps(0.8) == (highest <= 0.8 + 1e-6)
        overruled += exposure.figures.highest_posterior <= 0.8 < highest
        for way in repairs(tree, knowledge, 0.8):
            again = integer_posterior(way.tree, way.knowledge)
            assert way.possible == (float(again.posterior.max()) <= 0.8 + 1e-6)
    assert overruled or rates
