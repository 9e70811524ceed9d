"""Pruning larger trees by the heap against the papers' loop; ties, limits and steps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError
from anonymizer.groups.prune import Pruning, prune
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import Tree
from anonymizer.schema import Schema
from tests import naive


def grow_case(n: int, seed: int, c: int = 3, min_leaf: int = 1) -> tuple[Tree, NodeRisk]:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "x": rng.integers(0, 40, n),
            "y": rng.integers(0, 40, n),
            "level": [f"v{code}" for code in rng.integers(0, 6, n)],
            "class": [f"k{code}" for code in rng.integers(0, c, n)],
        }
    )
    encoded = encode(table, Schema.of(table, quasi_identifying=["x", "y", "level"], sensitive=["class"]))
    tree = grow(encoded, min_leaf=min_leaf)
    return tree, annotate(tree, encoded)


def as_nodes(tree: Tree) -> list[dict]:
    """Nodes for the naive loop; their ids are ours."""
    return [
        {"id": t, "n": int(tree.n[t])} | ({"children": list(tree.children(t))} if tree.children(t) else {})
        for t in range(tree.n_nodes)
    ]


def check_against_naive(tree: Tree, risk: NodeRisk, k: int) -> Pruning:
    measured = {t: {"R": float(risk.tidi[t]), "E": float(risk.error[t])} for t in range(tree.n_nodes)}
    log, leaves = naive.error_risk(as_nodes(tree), measured, k)
    pruning = prune(tree, risk, "error-risk", k)
    assert pruning.steps.tolist() == [step["node"] for step in log]
    assert pruning.ratios.tolist() == pytest.approx([step["omega"] for step in log], rel=1e-9)
    assert pruning.smallest.tolist() == [step["minleaf"] for step in log]
    assert set(pruning.cut().tolist()) == leaves
    return pruning


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 5, 20, 1000])
def test_error_risk__the_heap_takes_the_loops_steps(seed: int, k: int) -> None:
    tree, risk = grow_case(120, seed, c=2 + seed % 3)
    assert tree.n_nodes > 40
    assert check_against_naive(tree, risk, k).n_steps > 0


def test_error_risk__equal_ratios_and_free_prunings_go_by_difference_then_lower_node() -> None:
    tree, risk = grow_case(100, 20)
    constant = replace(risk, error=np.zeros_like(risk.error))
    assert np.isinf(check_against_naive(tree, constant, 6).ratios).all()
    flat = replace(risk, tidi=np.ones_like(risk.tidi), error=np.zeros_like(risk.error))
    pruning = check_against_naive(tree, flat, 6)
    assert pruning.steps[0] == np.flatnonzero((risk.smallest_leaf < 6) & ~tree.is_leaf)[1]
    assert 0 not in pruning.steps[:-1]


def test_error_risk__values_that_differ_only_by_rounding_are_equal() -> None:
    tree, risk = grow_case(100, 21)
    rng = np.random.default_rng(0)
    steps = prune(tree, risk, "error-risk", 6).steps.tolist()
    for _ in range(5):
        shaken = replace(risk, tidi=risk.tidi * (1 + rng.uniform(-1, 1, tree.n_nodes) * 1e-15))
        assert prune(tree, shaken, "error-risk", 6).steps.tolist() == steps


def test_error_risk__a_long_chain() -> None:
    n = 400
    table = pd.DataFrame({"x": np.arange(n), "class": ["p", "q"] * (n // 2)})
    encoded = encode(table, Schema.of(table, quasi_identifying=["x"], sensitive=["class"]))
    tree = grow(encoded, min_leaf=1)
    assert tree.depth.max() > 150
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 5)
    assert (tree.n[pruning.cut()] >= 5).all()


@pytest.mark.parametrize("k", [1, 2, 7, 30, 200])
@pytest.mark.parametrize("seed", range(3))
def test_least__keeps_a_split_when_both_sides_have_k_records_all_the_way_up(seed: int, k: int) -> None:
    tree, risk = grow_case(300, 30 + seed)
    pruning = prune(tree, risk, "least", k)
    inner = {
        t
        for t in np.flatnonzero(~tree.is_leaf).tolist()
        if all(tree.n[child] >= k for above in tree.path(t) for child in tree.children(above))
    }
    cut = [t for t in range(tree.n_nodes) if t not in inner and (t == 0 or int(tree.parent[t]) in inner)]
    assert pruning.cut().tolist() == cut
    assert np.isnan(pruning.ratios).all()
    assert (np.diff(tree.n[pruning.steps]) >= 0).all()
    assert (pruning.smallest < k).sum() >= (1 if pruning.n_steps else 0)


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_limits__nothing_to_do_and_nothing_that_helps(criterion: str) -> None:
    tree, risk = grow_case(60, 40)
    untouched = prune(tree, risk, criterion, 1)
    assert untouched.n_steps == 0
    assert untouched.satisfied
    assert untouched.cut().tolist() == np.flatnonzero(tree.is_leaf).tolist()
    whole = prune(tree, risk, criterion, 60)
    assert whole.cut().tolist() == [0]
    assert whole.satisfied
    hopeless = prune(tree, risk, criterion, 61)
    assert hopeless.cut().tolist() == [0]
    assert hopeless.group_of_node().tolist() == [0] * tree.n_nodes
    assert not hopeless.satisfied
    assert (hopeless.k, hopeless.criterion, hopeless.tree) == (61, criterion, tree)


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_a_lone_root(criterion: str) -> None:
    table = pd.DataFrame({"x": [1, 1, 1], "class": ["p", "q", "p"]})
    encoded = encode(table, Schema.of(table, quasi_identifying=["x"], sensitive=["class"]))
    tree = grow(encoded)
    risk = annotate(tree, encoded)
    for k, satisfied in ((3, True), (4, False)):
        pruning = prune(tree, risk, criterion, k)
        assert pruning.cut().tolist() == [0]
        assert pruning.n_steps == 0
        assert pruning.satisfied == satisfied


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_steps__each_one_only_merges_groups(criterion: str) -> None:
    tree, risk = grow_case(150, 50)
    pruning = prune(tree, risk, criterion, 10)
    before = pruning.group_of_node(0)
    for after in range(1, pruning.n_steps + 1):
        group = pruning.group_of_node(after)
        step = int(pruning.steps[after - 1])
        changed = np.flatnonzero(group != before)
        assert ((changed >= step) & (changed < step + tree.size[step])).all()
        assert (group[changed] == step).all()
        assert group[step] == step
        before = group
    assert pruning.cut(pruning.n_steps).tolist() == pruning.cut().tolist()


def test_parameters_are_checked() -> None:
    tree, risk = grow_case(20, 60)
    with pytest.raises(ParameterError, match="median"):
        prune(tree, risk, "median", 5)
    for k in (0, -3):
        with pytest.raises(ParameterError, match="k cannot be"):
            prune(tree, risk, "least", k)


def test_results_are_read_only_and_arguments_stay_as_they_were() -> None:
    tree, risk = grow_case(80, 61)
    tidi = risk.tidi.copy()
    pruning = prune(tree, risk, "error-risk", 5)
    assert (risk.tidi == tidi).all()
    for array in (pruning.steps, pruning.ratios, pruning.smallest):
        assert not array.flags.writeable
