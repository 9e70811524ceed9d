"""Figures of an estimate, under each assumption."""

import itertools
import math

import numpy as np
import pytest

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import (
    assess,
    assumptions,
    figures_of,
    figures_of_leaves,
    figures_of_shares,
    most_exposed,
)
from anonymizer.disclosure.maxent import closed_form
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import keys_of, lay_keys
from anonymizer.growing.encode import encode
from anonymizer.schema import Schema
from tests.disclosure.trees import grow_tree, table_of


def test_figures__by_hand() -> None:
    tree, _ = grow_tree(1, n=30)
    posterior = closed_form(tree, True)
    figures = figures_of(tree, posterior)
    slow = [
        sum(t * math.log(t / p) for t, p in zip(truth, row, strict=True) if t > 0)
        for truth, row in zip(tree.truth, posterior, strict=True)
    ]
    assert figures.divergence == pytest.approx(np.maximum(slow, 0), abs=1e-12)
    assert figures.accuracy == pytest.approx(tree.correct[tree.outline.leaves].sum() / tree.n_records)
    assert figures.people_above(0) == tree.n_records


def test_figures__an_estimate_that_rules_the_truth_out_is_infinitely_far() -> None:
    tree, _ = grow_tree(1, n=30)
    wrong = np.zeros_like(tree.truth)
    wrong[np.arange(len(wrong)), (tree.truth.argmax(axis=1) + 1) % tree.n_classes] = 1.0
    assert figures_of(tree, wrong).mean_divergence == math.inf


def test_assumptions__more_knowledge_never_raises_entropy() -> None:
    tree, rule = grow_tree(4, "multiway", "gini")
    entropy_of = {k: assess(tree, k, starts=2).estimate.entropy for k in assumptions(rule)}
    assert len(entropy_of) == 8
    for few, many in itertools.product(entropy_of, repeat=2):
        if few.rates <= many.rates and few.totals <= many.totals and (few.rule is None or many.rule is not None):
            assert entropy_of[many] <= entropy_of[few] + 1e-5


def test_most_exposed__highest_first() -> None:
    tree, _ = grow_tree(2, n=100)
    groups = most_exposed(tree, assess(tree, Knowledge()))
    posteriors = [group.posterior for group in groups]
    assert posteriors == sorted(posteriors, reverse=True)
    assert groups[0].records <= tree.n[groups[0].node]


def test_figures_of_shares__are_those_of_the_keys() -> None:
    table = table_of(6, 80)
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"]))
    tree = lay_keys(grow_multiway(keys_of(encoded), "gini", 2, 2), keys_of(encoded))
    posterior = closed_form(tree, True)
    of_key = {tuple(row): share for row, share in zip(tree.keys.codes.tolist(), posterior, strict=True)}
    shares = np.array([of_key[tuple(row)] for row in encoded.codes.matrix().tolist()])
    by_record = figures_of_shares(encoded.codes.matrix(), encoded.target.codes, shares)
    by_key = figures_of(tree, posterior)
    assert by_record.mean_divergence == pytest.approx(by_key.mean_divergence)
    assert by_record.accuracy == pytest.approx(by_key.accuracy)
    assert by_record.people_above(0.7) == by_key.people_above(0.7)


def test_figures_of_leaves__ignore_how_the_tree_was_grown() -> None:
    tree, rule = grow_tree(2)
    assert (
        figures_of_leaves(tree, Knowledge(rule=rule)).mean_divergence
        == figures_of(tree, closed_form(tree, True)).mean_divergence
    )
