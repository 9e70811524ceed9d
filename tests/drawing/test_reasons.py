"""Why records were merged: sentences hold true numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest

from anonymizer.drawing.reasons import explain_leaf
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import prune
from anonymizer.settings import Limits
from anonymizer.values import number_text


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_explain_leaf__numbers_are_those_of_the_tree(class_tree, criterion: str) -> None:
    encoded, tree, risk = class_tree
    pruning = prune(tree, risk, criterion, 8)
    cut = pruning.cut()
    kinds = set()
    for node in range(tree.n_nodes):
        sentence = explain_leaf(tree, risk, pruning, encoded.encodings, node)
        assert sentence.count(". ") == 0
        assert sentence.endswith(".")
        assert f" {tree.n[node]:,} row" in sentence
        branch = np.arange(node, node + tree.size[node])
        leaves = branch[tree.is_leaf[branch]]
        if node not in cut and not any(t in cut for t in tree.path(node)):
            inside = np.intersect1d(branch, cut)
            assert f"divided into {len(inside)} groups" in sentence
            assert f"smallest of {tree.n[inside].min()} row" in sentence
            kinds.add("divided")
        elif node in cut and len(leaves) > 1:
            apart = (tree.n[leaves] - tree.sums[leaves].max(axis=1)).sum()
            errors = int(tree.n[node] - tree.sums[node].max() - apart)
            harder = risk.tidi[node] - risk.tidi[leaves].min()
            assert f"merging the {len(leaves)} leaves" in sentence
            assert (
                (f"cost {errors} more misclassified" in sentence) if errors else ("cost no further error" in sentence)
            )
            assert (f"{harder:.2f} bits harder" in sentence) if harder >= 0.005 else ("as it was" in sentence)
            few = re.search(r"(?:left a group of|\) had) (\d+)", sentence)
            assert int(few[1]) < 8
            assert int(few[1]) == smallest_before(pruning, node)
            assert "fewer than k = 8" in sentence
            kinds.add("merged")
        elif node in cut:
            assert "not merged" in sentence
            kinds.add("leaf")
        else:
            assert "merged into a larger group" in sentence
            kinds.add("inside")
    assert kinds >= {"divided", "merged", "inside"}


def smallest_before(pruning, node: int) -> int:
    """Records of the smallest group in the branch just before it was collapsed, by replaying the steps."""
    tree = pruning.tree
    ends = set(np.flatnonzero(tree.is_leaf))
    for step in pruning.steps:
        branch = {t for t in ends if step <= t < step + tree.size[step]}
        if step == node:
            return int(min(tree.n[t] for t in branch))
        ends = (ends - branch) | {int(step)}
    raise AssertionError(node)


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_explain_leaf__holds_at_every_step(class_tree, criterion: str) -> None:
    encoded, tree, risk = class_tree
    pruning = prune(tree, risk, criterion, 8)
    for after in range(0, pruning.n_steps + 1, 5):
        for node in pruning.cut(after):
            sentence = explain_leaf(tree, risk, pruning, encoded.encodings, int(node), after)
            if tree.is_leaf[node]:
                assert ("not merged" in sentence) == (tree.n[node] >= 8)
                assert ("later step" in sentence) == (tree.n[node] < 8)
            else:
                assert "were merged because" in sentence
                few = re.search(r"group of (\d+), fewer than k = 8|had (\d+) rows?, fewer than k = 8", sentence)
                assert int(few[1] or few[2]) < 8


def test_explain_leaf__figure_1(figure1) -> None:
    case, risk = figure1
    encodings = case.encoded.encodings
    pruning = prune(case.tree, risk, "error-risk", 3)
    sentence = explain_leaf(case.tree, risk, pruning, encodings, case.ids[6])
    assert sentence.startswith("These 5 rows were merged because the split on Age ≤ 65 left a group of 2, fewer than k")
    assert "0.445 bits for each row of error" in sentence  # printed ω6
    assert "cost 2 more misclassified rows" in sentence  # E6 − EB6
    assert f"{4.322 - 3.432:.2f} bits harder" in sentence  # printed R6, RB6
    least = explain_leaf(case.tree, risk, prune(case.tree, risk, "least", 3), encodings, case.ids[6])
    assert "ω" not in least
    assert "error-risk" not in least
    untouched = explain_leaf(case.tree, risk, pruning, encodings, case.ids[7])
    assert untouched == "These 4 rows were not merged: they are a leaf of the grown tree, and at least k = 3."


def test_explain_leaf__numbers_alone_have_no_classes_and_other_limits_are_named(figure1) -> None:
    case, risk = figure1
    pruning = replace(prune(case.tree, risk, "least", 3), k=2)  # as if another limit than k had merged these
    sentence = explain_leaf(case.tree, risk, pruning, case.encoded.encodings, case.ids[6])
    assert "other limits" in sentence
    assert "fewer than" not in sentence
    one_class = replace(case.tree, sums=case.tree.n[:, None].copy())
    sentence = explain_leaf(one_class, risk, prune(one_class, risk, "least", 3), case.encoded.encodings, case.ids[6])
    assert "misclassified" not in sentence
    assert "error" not in sentence
    assert "0.89 bits harder" in sentence


def test_explain_leaf__digression_and_limits_by_their_numbers(number_tree) -> None:
    encoded, tree, risk = number_tree
    leaves = tree.is_leaf
    limits = Limits(k=10, rsd_min=0.3)
    pruning = prune(tree, risk, "error-digression", limits=limits, encoded=encoded)
    all_margins, kinds = margins(tree, risk, encoded, limits), set()
    for node in map(int, pruning.cut()):
        sentence = explain_leaf(tree, risk, pruning, encoded.encodings, node, limits=all_margins)
        if leaves[node]:
            assert "not merged" in sentence
            continue
        branch = np.arange(node, node + tree.size[node])
        branch = branch[leaves[branch]]
        moved = risk.numeric.digression
        assert f"from {number_text(moved[branch].sum())} to {number_text(moved[node])}" in sentence
        added = risk.numeric.sse[node] - risk.numeric.sse[branch].sum()
        assert f"squared error by {number_text(added)}" in sentence
        assert "misclassified" not in sentence
        few = re.search(r"(?:left a group of|\) had) (\d+)", sentence)
        short = re.search(r"RSD of (income|day) is ([\d.e-]+), and at least 0.3 is required", sentence)
        assert few or short
        assert int(few[1]) < 10 if few else float(short[2]) < 0.3
        kinds.add("few" if few else "short")
    assert kinds == {"few", "short"}
    pairs = Limits(k=2, rsd_min=0.3)
    pruning = prune(tree, risk, "error-digression", limits=pairs, encoded=encoded)
    all_margins = margins(tree, risk, encoded, pairs)
    start = [t for t in np.flatnonzero(leaves) if tree.n[t] >= 2 and risk.numeric.rsd[t].min() < 0.3]
    sentence = explain_leaf(tree, risk, pruning, encoded.encodings, int(start[0]), 0, limits=all_margins)
    assert "is required; a later step" in sentence


def test_explain_leaf__a_branch_that_its_own_test_offends(number_tree) -> None:
    encoded, tree, risk = number_tree
    pruning = prune(tree, risk, "error-digression", limits=Limits(k=1, significance=0.3), encoded=encoded)
    merged = [int(t) for t in pruning.cut() if not tree.is_leaf[t]]
    assert merged
    for node in merged:
        p_value = risk.numeric.p_value[node]
        assert p_value < 0.3
        sentence = explain_leaf(tree, risk, pruning, encoded.encodings, node, significance=0.3)
        assert f"unlike the whole table's (p = {p_value:.3g}, below α = 0.3)" in sentence
