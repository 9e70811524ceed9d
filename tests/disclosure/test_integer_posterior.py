"""Whole people: the posterior of all assignments, one by one."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.constraints import slacks as all_slacks
from anonymizer.disclosure.integer_posterior import integer_posterior
from anonymizer.disclosure.outline import KeyedTree
from tests.disclosure.trees import grow_tree


def assignments(tree: KeyedTree, knowledge: Knowledge) -> Iterator[np.ndarray]:
    """Every way to give classes to people that agrees with what is known, as class counts of the keys: by hand."""
    c = tree.n_classes
    owner = np.repeat(np.arange(tree.n_keys), tree.keys.counts)
    for classes in itertools.product(range(c), repeat=len(owner)):
        counts = np.zeros((tree.n_keys, c), dtype=int)
        np.add.at(counts, (owner, np.array(classes)), 1)
        if agrees(tree, knowledge, counts):
            yield counts


def agrees(tree: KeyedTree, knowledge: Knowledge, counts: np.ndarray) -> bool:
    for leaf in tree.outline.leaves:
        total = counts[tree.first[leaf] : tree.last[leaf]].sum(axis=0)
        if tree.n[leaf] and total.max() > total[tree.label[leaf]]:
            return False
        if knowledge.rates and total[tree.label[leaf]] != tree.correct[leaf]:
            return False
    if knowledge.totals and (counts.sum(axis=0) != tree.sums[0]).any():
        return False
    if knowledge.rule is None:
        return True
    posterior = counts / tree.keys.counts[:, None]
    return all(slack >= -1e-9 for _, slack in all_slacks(tree, knowledge.rule, posterior))


@pytest.mark.parametrize("rates", [True, False])
@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize(("splits", "measure"), [("multiway", "entropy"), ("multiway", "gini"), ("binary", "gini")])
def test_integer_posterior__is_that_of_all_assignments(rates: bool, totals: bool, splits: str, measure: str) -> None:
    for seed in (1, 2):
        tree, rule = grow_tree(seed, splits, measure, n=9, depth=2, least=1, classes=2)
        for growing_rule in (None, rule):
            knowledge = Knowledge(rates, totals, growing_rule)
            every = list(assignments(tree, knowledge))
            expected = np.mean(every, axis=0) / tree.keys.counts[:, None]
            answer = integer_posterior(tree, knowledge)
            assert answer.exact.all()
            assert answer.posterior == pytest.approx(expected, abs=1e-9)


def test_integer_posterior__says_where_it_cannot_count() -> None:
    tree, rule = grow_tree(3, "multiway", "entropy", n=300)
    answer = integer_posterior(tree, Knowledge(True, True, rule), limit=50)
    assert not answer.exact.any()
    assert np.isnan(answer.posterior).all()
