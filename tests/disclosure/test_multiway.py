"""Multiway trees: the best question at every node."""

import numpy as np

from anonymizer.disclosure.constraints import candidates_of, cost
from tests.disclosure.trees import grow_tree


def test_grow_multiway__asks_the_best_question_of_each_node() -> None:
    for seed in range(4):
        for measure in ("gini", "entropy", "gain-ratio"):
            tree, rule = grow_tree(seed, "multiway", measure, missing=True)
            for node in np.flatnonzero(tree.outline.feature >= 0):
                children = np.array(tree.outline.children[node])
                own = cost(tree.sums[children].astype(float), measure)
                run = slice(tree.first[node], tree.last[node])
                for candidate in candidates_of(tree, rule, int(node)):
                    side = candidate.group[tree.keys.codes[run, candidate.column]]
                    groups = np.array([tree.keys.classes[run][side == s].sum(axis=0) for s in np.unique(side)])
                    assert own <= cost(groups.astype(float), measure) + 1e-9
