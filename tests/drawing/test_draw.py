"""Drawing a tree: folds hold what they say, every node its numbers."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anonymizer.drawing import shades
from anonymizer.drawing.draw import dot, excerpt
from anonymizer.drawing.groups import group_table
from anonymizer.drawing.rules import step_text
from anonymizer.drawing.shades import colours_of, legend
from anonymizer.drawing.svg import svg
from anonymizer.errors import ParameterError
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.schema import Schema
from anonymizer.values import number_text
from tests.drawn_trees import SVG, draw_tree, nodes_in, table


def test_excerpt__folds_below_the_depth(class_tree) -> None:
    _, tree, _ = class_tree
    for depth in (1, 2, 4, 100):
        part = excerpt(tree, max_depth=depth, max_nodes=10**6)
        expected = [t for t in range(tree.n_nodes) if tree.depth[t] <= depth]
        assert list(part.nodes) == expected
        assert part.folded == {t for t in expected if tree.depth[t] == depth and not tree.is_leaf[t]}


def test_excerpt__node_limit_keeps_the_top_and_whole_pairs(class_tree) -> None:
    _, tree, _ = class_tree
    for limit in (1, 2, 3, 8, 21):
        part = excerpt(tree, max_depth=100, max_nodes=limit)
        assert len(part.nodes) <= limit
        assert all(t == 0 or tree.parent[t] in part.nodes for t in part.nodes)
        opened = set(part.nodes) - part.folded
        assert all(set(tree.children(t)) <= set(part.nodes) for t in opened)
        deepest = max(tree.depth[t] for t in part.nodes)
        assert all(tree.depth[t] >= deepest - 1 for t in part.folded)


def test_excerpt__focus_shows_the_path_and_folds_beside_it(class_tree) -> None:
    _, tree, _ = class_tree
    focus = int(np.flatnonzero((tree.depth == 4) & ~tree.is_leaf)[-1])
    part = excerpt(tree, max_depth=2, focus=focus)
    path = tree.path(focus)
    assert set(path) <= set(part.nodes)
    below = {t for t in range(focus, focus + tree.size[focus]) if tree.depth[t] <= 6}
    beside = {child for t in path[:-1] for child in tree.children(t)}
    assert set(part.nodes) == {0} | below | beside
    assert {t for t in beside - set(path) if not tree.is_leaf[t]} <= part.folded


@pytest.mark.parametrize("below_cut", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_dot__folded_counts_are_those_of_the_cut(class_tree, below_cut: bool, depth: int) -> None:
    _, tree, risk = class_tree
    cut = prune(tree, risk, "least", 6).cut()
    drawing = nodes_in(svg(draw_tree(class_tree, cut=cut, below_cut=below_cut, max_depth=depth)))
    part = excerpt(tree, cut, below_cut=below_cut, max_depth=depth)
    assert set(drawing) == set(part.nodes)
    assert part.folded
    for node, text in drawing.items():
        branch = range(node, node + int(tree.size[node]))
        groups = sum(t in branch for t in cut)
        fold = re.search(r"▸ ([\d,]+) groups? of ([\d,]+) rows?", text)
        if node in part.folded and groups and node not in cut:
            assert (int(fold[1].replace(",", "")), int(fold[2].replace(",", ""))) == (groups, tree.n[node])
            assert groups == 1 or tree.n[[t for t in cut if t in branch]].sum() == tree.n[node]
        else:
            assert fold is None
        merged = re.search(r"▸ (\d+) merged leaves", text)
        assert (merged is not None) == (node in part.folded and fold is None)
        if merged:
            assert int(merged[1]) == sum(tree.is_leaf[t] for t in branch)


def test_dot__nodes_say_their_numbers(class_tree) -> None:
    encoded, tree, risk = class_tree
    drawing = nodes_in(svg(draw_tree(class_tree, max_depth=100, max_nodes=10**6, k=5)))
    assert set(drawing) == set(range(tree.n_nodes))
    for node, text in drawing.items():
        rule, counted, shares, bits, error = text.split("\n")
        assert rule == step_text(tree, encoded.encodings, node, brief=True)
        assert int(re.search(r"(\d+) rows?", counted)[1]) == tree.n[node]
        assert int(re.search(r"E (\d+)", error)[1]) == tree.n[node] - tree.sums[node].max()
        assert ("⚠" in counted) == (tree.is_leaf[node] and tree.n[node] < 5)
        assert len(shares.split()[0]) == shades.BAR
        assert shares.endswith(f" {tree.sums[node].max() / tree.n[node]:.0%}")
        big, icr, tidi = map(float, re.findall(r"[\d.]+", bits)[:3])
        assert (big, icr, tidi) == pytest.approx((risk.big[node], risk.icr[node], risk.tidi[node]), abs=0.00501)


def test_dot__what_pruning_removed_is_dashed_and_groups_are_doubled(figure1) -> None:
    case, risk = figure1
    encoded = case.encoded
    cut = prune(case.tree, risk, "error-risk", 3).cut()
    assert set(cut) == {case.ids[node] for node in (2, 6, 7)}
    source = dot(case.tree, risk, encoded.encodings, encoded.target.labels, cut=cut, below_cut=True, k=3)
    lines = {int(line.split()[0]): line for line in source.splitlines() if re.match(r"\t\d+ \[", line)}
    gone = {case.ids[node] for node in (4, 5, 8, 9)}
    assert {t for t, line in lines.items() if "dashed" in line} == gone
    assert {t for t, line in lines.items() if "peripheries=2" in line} == set(cut)
    assert {t for t, line in lines.items() if "⚠" in line} == {case.ids[4], case.ids[8]}
    pruned = svg(dot(case.tree, risk, encoded.encodings, encoded.target.labels, cut=cut, k=3))
    assert set(nodes_in(pruned)) == set(range(9)) - gone
    assert "R2" not in pruned
    assert "TIDI 3.32" in nodes_in(pruned)[case.ids[2]]  # printed: 3.322


def test_numbers__every_node_says_its_digression(number_tree) -> None:
    encoded, tree, risk = number_tree
    cut = prune(tree, risk, "error-digression", 20).cut()
    drawing = svg(draw_tree(number_tree, cut=cut, max_depth=100, k=20))
    on_nodes, numeric = nodes_in(drawing), risk.numeric
    assert set(cut) <= set(on_nodes)
    for node, text in on_nodes.items():
        assert f"Δ {number_text(numeric.digression[node])} · p {numeric.p_value[node]:.2g}" in text
        assert f"SSE {number_text(numeric.sse[node])}" in text
        assert not re.search(r"\bE ", text)
    titles = [element.text for element in ElementTree.fromstring(drawing).iter(f"{SVG}title")]
    for node, title in zip(on_nodes, titles, strict=True):
        assert f"RSD {numeric.rsd[node, 0]:.3f}" in title
        assert f"standard deviation {numeric.spread[node, 1]:.0%} of the table's" in title
    frame, _ = table()
    assert f"day: mean {frame['day'].mean().date()}" in titles[0]
    assert colours_of(tree, risk) == ["digression", "n", "tidi"]


def test_dot__a_tree_without_a_target_and_of_one_node() -> None:
    frame = pd.DataFrame({"age": [30, 40, 50]})
    encoded = encode(frame, Schema.of(frame, quasi_identifying=["age"]))
    tree = grow(encoded)
    risk = annotate(tree, encoded)
    text = nodes_in(svg(dot(tree, risk, encoded.encodings, encoded.target.labels, k=5)))
    assert list(text) == [0]
    assert text[0].startswith("all rows\n⚠ 3 rows, fewer than k = 5")
    assert len(legend(tree, risk, encoded.target.labels)) == 1
    assert "all rows" in group_table(tree, risk, encoded.encodings, encoded.target.labels, np.array([0])).rule[0]


def test_dot__wrong_choices_are_named(class_tree) -> None:
    for wrong in ({"theme": "red"}, {"colour_by": "mood"}, {"max_depth": 0}, {"max_nodes": 0}):
        with pytest.raises(ParameterError):
            draw_tree(class_tree, **wrong)


def test_arguments_are_not_changed(class_tree) -> None:
    encoded, tree, risk = class_tree
    before = {name: np.array(value) for name, value in vars(tree).items()}
    pruning = prune(tree, risk, "error-risk", 8)
    svg(draw_tree(class_tree, cut=pruning.cut(), below_cut=True))
    assert all(
        np.array_equal(vars(tree)[name], array, equal_nan=array.dtype.kind == "f") for name, array in before.items()
    )


def test_band__has_a_stripe_for_every_part_and_says_how_many(class_tree) -> None:
    encoded, tree, risk = class_tree
    cut = np.flatnonzero(tree.is_leaf)
    group = int(cut[0])
    sizes = {group: np.array([10, 30, 60]), int(cut[1]): np.array([5]), 0: np.array([1, 2])}
    source = dot(tree, risk, encoded.encodings, encoded.target.labels, cut=cut, max_depth=100, bands=sizes)
    bands = re.findall(r"^\tb(\d+) \[(.*)\]", source, re.MULTILINE)
    assert [int(node) for node, _ in bands] == [group], "whole groups and inner nodes have none"
    assert "3 groups of 10 to 60" in bands[0][1]
    widths = [float(width) for width in re.findall(r";([\d.]+)", bands[0][1])]
    assert widths == [0.1, 0.3]
    assert f"{group} -> b{group}" in source
    many = dot(tree, risk, encoded.encodings, encoded.target.labels, cut=cut, max_depth=100,
               bands={group: np.full(500, 10)})  # fmt: skip
    assert "500 groups of 10" in many
    assert len(svg(many)) < 1.2 * len(svg(source)) + 60_000


def test_below__marks_groups_with_the_number_of_people_and_says_it(class_tree) -> None:
    encoded, tree, risk = class_tree
    cut = np.flatnonzero(tree.is_leaf)
    below = {int(cut[0]): 3, int(cut[1]): 1, 0: 9}
    source = dot(
        tree, risk, encoded.encodings, encoded.target.labels, cut=cut, max_depth=100, k=7, below=below
    )  # fmt: skip
    assert re.findall(r"◌ (\d+) below k with earlier releases", source) == ["3", "1"], "inner nodes are not marked"
    assert "3 people of it are in groups of fewer than 7 that all releases share." in source
    assert "1 person of it is in a group of fewer than 7 that all releases share." in source
