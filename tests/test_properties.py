"""The lemmas and definitions, on small tables that hypothesis makes up; the fast versions against the slow ones."""

import importlib
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.groups.prune import prune
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.schema import Schema
from tests import naive
from tests.cases import describe
from tests.growing.test_grow import assert_same_tree
from tests.sweeps import few

records_module = importlib.import_module("anonymizer.growing.records")

few = settings(max_examples=few(60), deadline=None)


class Grown(NamedTuple):
    """A table, the rules by which its tree was grown, and the tree."""

    table: pd.DataFrame
    schema: Schema
    encoded: EncodedTable
    rules: dict[str, Any]
    tree: Tree
    risk: NodeRisk


@st.composite
def columns(draw: st.DrawFn, n: int) -> tuple[str, list[Any], tuple[Any, ...] | None, bool]:
    """Kind, values, declared domain (or none), and whether the levels are ordered."""
    missing = draw(st.sampled_from([0, 0, 4]))
    kind = draw(st.sampled_from(["whole numbers", "numbers", "dates", "levels", "levels", "ordered"]))
    if kind in ("levels", "ordered"):
        levels = "abcdefg"[: draw(st.integers(1, 7))]
        value = st.sampled_from([*levels] * 2 + [None] * bool(missing))
        domain = draw(st.sampled_from([None, tuple(levels), (*reversed(levels), "unseen")]))
        return "categorical", draw(st.lists(value, min_size=n, max_size=n)), domain, kind == "ordered"
    if kind == "dates":
        days = st.integers(0, 9).map(lambda day: pd.Timestamp("2020-02-25") + pd.Timedelta(days=day))
        values = st.lists(days | st.none() if missing else days, min_size=n, max_size=n)
        return "date", draw(values), None, False
    whole = st.integers(-3, draw(st.sampled_from([-3, 0, 6, 60])))
    number = whole if kind == "whole numbers" else whole.map(lambda value: value / 8)
    domain = draw(st.sampled_from([None, None, (-10, 100)]))
    return "numeric", draw(st.lists(number | st.none() if missing else number, min_size=n, max_size=n)), domain, False


@st.composite
def grown_trees(draw: st.DrawFn) -> Grown:
    n = draw(st.integers(1, 40))
    made = [draw(columns(n)) for _ in range(draw(st.integers(1, 4)))]
    c = draw(st.sampled_from([1, 2, 2, 3, 4, 20]))
    classes = draw(st.lists(st.sampled_from([f"k{i:02}" for i in range(c)]), min_size=n, max_size=n))
    table = pd.DataFrame({f"q{j}": pd.Series(values) for j, (_, values, _, _) in enumerate(made)})
    for j, (kind, values, _, _) in enumerate(made):
        if kind == "numeric":
            table[f"q{j}"] = pd.Series(values, dtype="float64")
        elif kind == "date":
            table[f"q{j}"] = pd.to_datetime(pd.Series(values))
        else:
            table[f"q{j}"] = pd.Series(values, dtype="object")
    table["class"] = classes
    schema = Schema.of(
        table,
        quasi_identifying=[f"q{j}" for j in range(len(made))],
        sensitive=["class"],
        kinds={f"q{j}": kind for j, (kind, _, _, _) in enumerate(made)},
        domains={f"q{j}": domain for j, (_, _, domain, _) in enumerate(made) if domain is not None},
        ordered=[f"q{j}" for j, (_, _, _, ordered) in enumerate(made) if ordered],
    )
    encoded = encode(table, schema)
    rules = {
        "criterion": draw(st.sampled_from(["entropy", "gini"])),
        "min_leaf": draw(st.integers(1, 5)),
        "max_depth": draw(st.sampled_from([None, None, 0, 1, 3])),
        "exhaustive_max": 8,
    }
    tree = grow(encoded, **rules)
    return Grown(table, schema, encoded, rules, tree, annotate(tree, encoded))


def slow_nodes(grown: Grown) -> list[dict[str, Any]]:
    target = grown.encoded.target
    attributes = naive.attributes_of(grown.table, grown.schema)
    return naive.grow(attributes, target.codes.tolist(), target.n_classes, **grown.rules)


# The fast versions against the slow ones.


@few
@given(grown_trees())
def test_grow_equals_the_naive_tree(grown: Grown) -> None:
    slow = [{key: value for key, value in node.items() if key != "gain"} for node in slow_nodes(grown)]
    assert describe(grown.tree, grown.encoded) == slow


@few
@given(grown_trees())
def test_measures_equal_the_naive_ones(grown: Grown) -> None:
    target, risk = grown.encoded.target, grown.risk
    attributes = naive.attributes_of(grown.table, grown.schema)
    nodes = describe(grown.tree, grown.encoded)
    measured = naive.measures(nodes, attributes, target.codes.tolist(), target.n_classes)
    for t, node in enumerate(nodes):
        expected = measured[t + 1]
        assert risk.n[t] == node["n"]
        assert [risk.big[t], risk.icr[t], risk.tidi[t]] == pytest.approx(
            [expected["BIG"], expected["ICR"], expected["R"]], abs=1e-9
        )
        assert risk.error[t] == expected["E"]
        if "omega" in expected:
            assert risk.branch_tidi[t] == pytest.approx(expected["RB"], abs=1e-9)
            assert risk.branch_error[t] == expected["EB"]
            assert risk.error_risk[t] == pytest.approx(expected["omega"], rel=1e-9, abs=1e-9)
        else:
            assert np.isnan(risk.error_risk[t])


@few
@given(grown_trees(), st.integers(1, 12))
def test_error_risk_equals_the_papers_loop(grown: Grown, k: int) -> None:
    nodes = describe(grown.tree, grown.encoded)
    measured = {
        t + 1: {"R": float(grown.risk.tidi[t]), "E": float(grown.risk.error[t])} for t in range(grown.tree.n_nodes)
    }
    log, leaves = naive.error_risk(nodes, measured, k)
    pruning = prune(grown.tree, grown.risk, "error-risk", k)
    assert [step + 1 for step in pruning.steps.tolist()] == [step["node"] for step in log]
    assert pruning.ratios.tolist() == pytest.approx([step["omega"] for step in log], rel=1e-9)
    assert pruning.smallest.tolist() == [step["minleaf"] for step in log]
    assert {node + 1 for node in pruning.cut().tolist()} == leaves


@few
@given(grown_trees(), st.integers(2, 12))
def test_least_is_the_largest_of_all_feasible_prunings(grown: Grown, k: int) -> None:
    nodes = describe(grown.tree, grown.encoded)
    if n_prunings(grown.tree) > 3000:
        return
    largest = naive.least(nodes, lambda node_id: bool(grown.tree.n[node_id - 1] >= k))
    assert {node + 1 for node in prune(grown.tree, grown.risk, "least", k).cut().tolist()} == largest


def n_prunings(tree: Tree) -> int:
    counts = [1] * tree.n_nodes
    for t in reversed(range(tree.n_nodes)):
        if tree.feature[t] >= 0:
            left, right = tree.children(t)
            counts[t] += counts[left] * counts[right]
    return counts[0]


@few
@given(grown_trees())
def test_hulls_equal_the_naive_ones(grown: Grown) -> None:
    tree, attributes = grown.tree, naive.attributes_of(grown.table, grown.schema)
    for t, node in enumerate(describe(tree, grown.encoded)):
        for j, attribute in enumerate(attributes):
            expected = naive.hull(attribute, node["records"])
            assert tree.has_missing[t, j] == expected.missing
            assert tree.levels[t, j] == expected.levels
            if expected.high < 0:
                assert tree.low[t, j] > tree.high[t, j]
            else:
                assert (tree.low[t, j], tree.high[t, j]) == (expected.low, expected.high)


# Growing.


@few
@given(grown_trees())
def test_a_tree_is_well_formed_and_child_sums_add_up(grown: Grown) -> None:
    tree = grown.tree
    counts = np.bincount(grown.encoded.target.codes, minlength=grown.encoded.target.n_classes)
    assert tree.sums[0].tolist() == counts.tolist()
    assert (tree.sums.sum(axis=1) == tree.n).all()
    assert tree.parent[0] == -1
    assert tree.depth[0] == 0
    assert tree.size[0] == tree.n_nodes
    assert (tree.n >= min(grown.rules["min_leaf"], tree.n[0])).all()
    if grown.rules["max_depth"] is not None:
        assert tree.depth.max() <= grown.rules["max_depth"]
    for t in np.flatnonzero(tree.feature >= 0):
        left, right = tree.children(t)
        assert tree.parent[left] == tree.parent[right] == t
        assert tree.depth[left] == tree.depth[right] == tree.depth[t] + 1
        assert tree.size[left] + tree.size[right] + 1 == tree.size[t]
        assert (tree.sums[left] + tree.sums[right] == tree.sums[t]).all()
        assert (grown.risk.n[[left, right]] >= grown.rules["min_leaf"]).all()
        assert grown.risk.error[left] + grown.risk.error[right] <= grown.risk.error[t]


@few
@given(grown_trees())
def test_every_record_reaches_the_one_leaf_whose_region_admits_it(grown: Grown) -> None:
    attributes = naive.attributes_of(grown.table, grown.schema)
    nodes = describe(grown.tree, grown.encoded)
    leaf = descend(grown.tree, grown.encoded)
    assert (grown.tree.feature[leaf] < 0).all()
    for record in range(len(grown.table)):
        assert naive.descend(nodes, attributes, record) == leaf[record] + 1
    counts = np.bincount(leaf, minlength=grown.tree.n_nodes)
    assert (counts[grown.tree.is_leaf] == grown.tree.n[grown.tree.is_leaf]).all()


@few
@given(grown_trees())
def test_childrens_path_domains_partition_the_parents(grown: Grown) -> None:
    # Y19, the lemma behind R(t): the shares of the children's path domains, 2^-BIG, add up to their parent's.
    volume = 2.0**-grown.risk.big
    nodes = describe(grown.tree, grown.encoded)
    assert volume.tolist() == pytest.approx(
        naive.region_shares(nodes, naive.attributes_of(grown.table, grown.schema)), rel=1e-9
    )
    for t in np.flatnonzero(grown.tree.feature >= 0):
        left, right = grown.tree.children(t)
        assert volume[left] + volume[right] == pytest.approx(volume[t], rel=1e-9)
        name = grown.encoded.names[grown.tree.feature[t]]
        if not grown.encoded.encodings[grown.tree.feature[t]].is_interval:
            below = nodes[left]["path_domain"][name] + nodes[right]["path_domain"][name]
            assert sorted(map(str, below)) == sorted(map(str, nodes[t]["path_domain"][name]))


@few
@given(grown_trees(), st.randoms(use_true_random=False))
def test_permuting_the_rows_changes_nothing_but_the_order(grown: Grown, random: Any) -> None:
    order = list(range(len(grown.table)))
    random.shuffle(order)
    encoded = encode(grown.table.iloc[order].reset_index(drop=True), grown.schema)
    tree = grow(encoded, **grown.rules)
    assert_same_tree(tree, grown.tree)
    assert (encoded.codes.matrix() == grown.encoded.codes.matrix()[order]).all()
    assert (descend(tree, encoded) == descend(grown.tree, grown.encoded)[order]).all()


@few
@given(grown_trees(), st.integers(1, 10), st.sampled_from([1, 2, 10_000]))
def test_growing_in_pieces_equals_growing_at_once(grown: Grown, small: int, workers: int) -> None:
    with mock.patch.object(records_module, "SMALL", small), mock.patch.object(records_module, "WORKERS", workers):
        assert_same_tree(grow(grown.encoded, **grown.rules), grown.tree)


# Pruning.


@few
@given(grown_trees(), st.integers(1, 15), st.sampled_from(["least", "error-risk"]))
def test_pruning_ends_with_nothing_offending_and_its_cut_covers_the_root(grown: Grown, k: int, criterion: str) -> None:
    tree = grown.tree
    pruning = prune(tree, grown.risk, criterion, k)
    assert pruning.satisfied == (tree.n[0] >= k)
    assert (tree.n[pruning.cut()] >= k).all() or pruning.cut().tolist() == [0]
    assert len(set(pruning.steps.tolist())) == pruning.n_steps
    assert (tree.feature[pruning.steps] >= 0).all()
    leaves = np.flatnonzero(tree.is_leaf)
    for after in range(pruning.n_steps + 1):
        cut, group = pruning.cut(after), pruning.group_of_node(after)
        assert tree.sums[cut].sum(axis=0).tolist() == tree.sums[0].tolist()
        assert (np.diff(cut) > 0).all()
        assert set(group[leaves].tolist()) == set(cut.tolist())
        assert (group[cut] == cut).all()
        covered = np.concatenate([np.arange(t, t + tree.size[t]) for t in cut])
        assert (group[covered] >= 0).all()
        assert (group >= 0).sum() == len(covered)
    assert (pruning.group_of_node(0)[leaves] == leaves).all()


@few
@given(grown_trees(), st.integers(1, 15))
def test_every_error_risk_result_is_a_pruning_of_least(grown: Grown, k: int) -> None:
    fine = prune(grown.tree, grown.risk, "least", k).group_of_node()
    coarse = prune(grown.tree, grown.risk, "error-risk", k).group_of_node()
    cut = np.flatnonzero(fine == np.arange(len(fine)))
    assert (coarse[cut] >= 0).all()
    assert (coarse[cut] <= cut).all()


@few
@given(grown_trees(), st.integers(1, 15))
def test_a_larger_k_only_merges(grown: Grown, k: int) -> None:
    cut = prune(grown.tree, grown.risk, "least", k).cut()
    assert (prune(grown.tree, grown.risk, "least", k + 1).group_of_node()[cut] >= 0).all()
