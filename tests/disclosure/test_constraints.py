"""Constraints of a published tree, against all candidates one by one."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.disclosure.constraints import (
    Candidate,
    GrowingRule,
    Knowledge,
    candidates_of,
    cost,
    count_constraints,
    residuals,
)
from anonymizer.disclosure.constraints import slacks as all_slacks
from anonymizer.disclosure.maxent import closed_form
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import keys_of, lay_keys
from anonymizer.growing.encode import encode
from anonymizer.schema import Schema
from tests.disclosure.trees import TREES, grow_tree


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_truth__breaks_no_constraint(seed: int, splits: str, measure: str) -> None:
    tree, rule = grow_tree(seed, splits, measure, missing=True)
    assert residuals(tree, Knowledge(True, True, rule), tree.truth).worst < 1e-12


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_slacks__are_those_of_the_best_candidate(seed: int, splits: str, measure: str) -> None:
    tree, rule = grow_tree(seed, splits, measure)
    posterior = closed_form(tree, True)
    masses = posterior * tree.keys.counts[:, None]
    slack_of = {(c.node, c.column): slack for c, slack in all_slacks(tree, rule, posterior)}
    slow: dict[tuple[int, int], float] = {}
    for node in np.flatnonzero(tree.outline.feature >= 0):
        run = slice(tree.first[node], tree.last[node])
        groups = np.array([masses[tree.first[c] : tree.last[c]].sum(axis=0) for c in tree.outline.children[node]])
        own = cost(groups, measure)
        for candidate in candidates_of(tree, rule, int(node)):
            side = candidate.group[tree.keys.codes[run, candidate.column]]
            parts = np.array([masses[run][side == s].sum(axis=0) for s in np.unique(side)])
            slack = (cost(parts, measure) - own) / tree.n[node]
            place = int(node), candidate.column
            slow[place] = min(slow.get(place, np.inf), slack)
    assert slow
    for place, slack in slow.items():
        assert slack_of[place] == pytest.approx(slack, abs=1e-9)


def test_count_constraints__of_two_columns_by_hand() -> None:
    table = pd.DataFrame({"a": list("ppqq") * 3, "b": list("rsrs") * 3, "y": list("uuvw") * 3})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b"], sensitive=["y"]))
    keys = keys_of(encoded)
    tree = lay_keys(grow_multiway(keys, "gini"), keys)
    counts = count_constraints(tree, Knowledge(True, True, GrowingRule("gini")))
    leaves = int((tree.n[tree.outline.leaves] > 0).sum())
    # The root asks a or b and could have asked the other; below it one column is left, without a rival.
    assert (counts.qi, counts.rate, counts.label, counts.sa, counts.internal) == (4, leaves, 2 * leaves, 3, 1)


def test_candidate__names_tell_sides_apart() -> None:
    first, second = np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    assert Candidate(0, 0, first).name != Candidate(0, 0, second).name
