"""Whole people: the posterior of all assignments, one by one."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.constraints import slacks as all_slacks
from anonymizer.disclosure.exposure import assess
from anonymizer.disclosure.integer_posterior import integer_posterior, labelled_by_order, surest_posterior
from anonymizer.disclosure.outline import KeyedTree
from tests.disclosure.trees import grow_tree


def assignments(tree: KeyedTree, knowledge: Knowledge, by_order: bool = False) -> Iterator[np.ndarray]:
    """Every way to give classes to people that agrees with what is known, as class counts of the keys: by hand."""
    c = tree.n_classes
    owner = np.repeat(np.arange(tree.n_keys), tree.keys.counts)
    for classes in itertools.product(range(c), repeat=len(owner)):
        counts = np.zeros((tree.n_keys, c), dtype=int)
        np.add.at(counts, (owner, np.array(classes)), 1)
        if agrees(tree, knowledge, counts, by_order):
            yield counts


def agrees(tree: KeyedTree, knowledge: Knowledge, counts: np.ndarray, by_order: bool) -> bool:
    for leaf in tree.outline.leaves:
        total = counts[tree.first[leaf] : tree.last[leaf]].sum(axis=0)
        if tree.n[leaf] and total.max() > total[tree.label[leaf]]:
            return False
        if by_order and tree.n[leaf] and total.argmax() != tree.label[leaf]:  # the first of several
            return False
        if knowledge.rates and total[tree.label[leaf]] != tree.correct[leaf]:
            return False
    if knowledge.totals and (counts.sum(axis=0) != tree.sums[0]).any():
        return False
    if knowledge.rule is None:
        return True
    posterior = counts / tree.keys.counts[:, None]
    return all(slack >= -1e-9 for _, slack in all_slacks(tree, knowledge.rule, posterior))


@pytest.mark.sweep(4)
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


@pytest.mark.sweep(2)
@pytest.mark.parametrize("rates", [True, False])
@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize(("classes", "n"), [(2, 9), (3, 7)])
def test_posterior_of_who_knows_how_ties_are_labelled__is_that_of_all_assignments(
    rates: bool, totals: bool, classes: int, n: int
) -> None:
    surer = 0
    for seed in range(8):
        tree, rule = grow_tree(seed, "binary", "gini", n=n, depth=2, least=1, classes=classes)
        for growing_rule in (None, rule) if seed < 2 else (None,):
            knowledge = Knowledge(rates, totals, growing_rule)
            every = {
                by_order: np.mean(list(assignments(tree, knowledge, by_order)), axis=0) / tree.keys.counts[:, None]
                for by_order in (True, False)
            }
            for by_order, expected in every.items():
                answer = integer_posterior(tree, knowledge, by_order=by_order)
                assert answer.exact.all()
                assert answer.posterior == pytest.approx(expected, abs=1e-9)
            surest = surest_posterior(tree, knowledge).posterior.max(axis=1)
            assert surest == pytest.approx(np.maximum(every[True].max(axis=1), every[False].max(axis=1)), abs=1e-9)
            surer += int((every[True].max(axis=1) > every[False].max(axis=1) + 1e-9).any())
            exposure = assess(tree, knowledge, exact=True)
            assert exposure.highest_posterior >= every[True].max() - 1e-9, "a bound holds for who knows the rule, too"
    assert surer or totals or rates, "the rule tells something"


def test_tree_labelled_by_another_rule__tells_nothing_of_the_order() -> None:
    for seed in range(20):
        tree, _ = grow_tree(seed, "binary", "gini", n=8, depth=1, least=1, classes=2)
        leaves = tree.outline.leaves
        ties = leaves[(tree.sums[leaves][:, 0] == tree.sums[leaves][:, 1]) & (tree.n[leaves] > 0)]
        if len(ties):
            break
    label = tree.label.copy()
    label[ties[0]] = 1
    other = replace(tree, label=label)
    assert labelled_by_order(tree)
    assert not labelled_by_order(other)
    plain = integer_posterior(other, Knowledge())
    assert surest_posterior(other, Knowledge()).posterior == pytest.approx(plain.posterior)


def test_integer_posterior__says_where_it_cannot_count() -> None:
    tree, rule = grow_tree(3, "multiway", "entropy", n=300)
    answer = integer_posterior(tree, Knowledge(True, True, rule), limit=50)
    assert not answer.exact.any()
    assert np.isnan(answer.posterior).all()
