"""Candidates of a pruning step: the paper's customers by hand, every step of small trees, and ties."""

import numpy as np
import pytest

from anonymizer.drawing.reasons import explain_step
from anonymizer.flow import Flow
from anonymizer.groups.candidates import candidates
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import prune
from anonymizer.reading.samples import SAMPLES
from anonymizer.settings import Limits, Settings
from tests import naive
from tests.drawn_trees import grown_tree, numbers_tree

OURS = {1: 0, 2: 1, 4: 2, 5: 3, 3: 4, 6: 5, 8: 6, 9: 7, 7: 8}
"""Nodes of Y19, Figure 1, as they are numbered there, and here."""


def test_customers__the_steps_for_k_3_by_hand() -> None:
    """Figure 1: the leaves are 4 and 5 below node 2, and 8, 9 and 7 below node 3; k = 3."""
    sample = SAMPLES["customers"]
    table = sample.load()
    flow = Flow(table, sample.schema(table), Settings(**sample.settings))
    pruning, risk = flow.pruning, flow.risk
    names = {ours: theirs for theirs, ours in OURS.items()}
    leaf = {theirs: (float(risk.tidi[ours]), int(risk.error[ours])) for theirs, ours in OURS.items()}
    groups = {1: (4, 5, 8, 9, 7), 2: (4, 5), 3: (8, 9, 7), 6: (8, 9)}
    for step in range(1, pruning.n_steps + 1):
        branches = candidates(pruning, risk, flow.encoded, flow.limits, step)
        by_hand = {}
        for branch, leaves in groups.items():
            if min(int(pruning.tree.n[OURS[group]]) for group in leaves) < 3:
                gain = leaf[branch][0] - min(leaf[group][0] for group in leaves)
                price = leaf[branch][1] - sum(leaf[group][1] for group in leaves)
                by_hand[branch] = gain / price if price else np.inf
        expected = sorted(by_hand, key=lambda branch: (branch == 1, -by_hand[branch]))
        assert [names[int(node)] for node in branches.nodes] == expected
        assert branches.ratios == pytest.approx([by_hand[branch] for branch in expected])
        assert branches.nodes[0] == pruning.steps[step - 1]
        gone = expected[0]
        inside = set(groups.pop(gone))
        groups = {
            branch: (*(group for group in leaves if group not in inside), gone) if inside <= set(leaves) else leaves
            for branch, leaves in groups.items()
        }
    assert pruning.n_steps == 2
    first = candidates(pruning, risk, flow.encoded, flow.limits, 1)
    printed = {6: 0.445, 3: 0.246, 2: 0.161, 1: 0.135}
    branches = {names[int(node)]: round(float(ratio), 3) for node, ratio in zip(first.nodes, first.ratios, strict=True)}
    assert branches == printed


@pytest.mark.parametrize("criterion", ["error-risk", "error-digression", "least", "regions"])
def test_candidates__the_first_is_the_step_and_figures_are_those_of_a_walk(criterion: str) -> None:
    encoded, tree, risk = numbers_tree() if criterion == "error-digression" else grown_tree()
    limits = Limits(k=9, significance=0.05) if criterion == "error-digression" else Limits(k=9)
    pruning = prune(tree, risk, criterion, limits=limits, encoded=encoded)
    fails = ~np.logical_and.reduce([m.passes for m in margins(tree, risk, encoded, limits)])
    children = {node: [int(child) for child in tree.children(node)] for node in range(tree.n_nodes)}
    assert pruning.n_steps > 3
    for step in sorted({1, 2, pruning.n_steps // 2, pruning.n_steps}):
        branches = candidates(pruning, risk, encoded, limits, step)
        assert branches.nodes[0] == pruning.steps[step - 1]
        assert branches.smallest[0] == pruning.smallest[step - 1] or criterion in ("least", "regions")
        done = {int(node) for node in pruning.steps[: step - 1]}
        expected = set()
        for node in naive.inner_nodes(children, 0, done):
            leaves = naive.leaves_below(children, node, done)
            offends = criterion == "error-digression" and risk.numeric.p_value[node] < 0.05
            if criterion in ("least", "regions"):
                if node in pruning.steps[step - 1 :]:
                    expected.add(node)
            elif offends or any(fails[leaf] for leaf in leaves):
                expected.add(node)
            if node not in expected:
                continue
            at = list(branches.nodes).index(node)
            assert branches.smallest[at] == min(tree.persons.n[leaf] for leaf in leaves)
            if criterion == "error-digression":
                price = risk.numeric.sse[node] - sum(risk.numeric.sse[leaf] for leaf in leaves)
                assert branches.price[at] == pytest.approx(max(price, 0), abs=1e-9)
            else:
                assert branches.gain[at] == pytest.approx(risk.tidi[node] - min(risk.tidi[leaf] for leaf in leaves))
                assert branches.price[at] == risk.error[node] - sum(risk.error[leaf] for leaf in leaves)
        assert set(branches.nodes.tolist()) == expected
        if not np.isnan(pruning.ratios[step - 1]):
            assert branches.ratios[0] == pytest.approx(pruning.ratios[step - 1], rel=1e-8)
        assert f"node {int(branches.nodes[0])}" in explain_step(pruning, branches, step)
