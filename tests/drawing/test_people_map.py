"""The map of people: boxes where the grown tree puts them, and the step at which each was merged."""

import json

import numpy as np
import pandas as pd
import pytest

from anonymizer.drawing import people_map as module
from anonymizer.drawing.groups import group_table
from anonymizer.drawing.leaving import leaving
from anonymizer.drawing.people_map import learnt, map_states, merge_steps, people_map
from anonymizer.drawing.rules import step_text
from anonymizer.drawing.shades import risk_levels, risk_scores
from anonymizer.drawing.words import chance_text
from anonymizer.flow import Flow
from anonymizer.groups.limits import Limits, margins
from anonymizer.groups.prune import prune
from anonymizer.labelled.variable import Variable
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings


@pytest.fixture(params=["least", "error-risk"])
def case(class_tree, request):
    encoded, tree, risk = class_tree
    return encoded, prune(tree, risk, request.param, 12), risk


def test_boxes__stand_inside_their_parents_as_wide_as_their_records(case) -> None:
    encoded, pruning, risk = case
    tree = pruning.tree
    drawing = people_map(tree, risk, encoded.encodings, encoded.target.labels)
    assert drawing.nodes[0] == 0
    assert (drawing.left[0], drawing.width[0], drawing.parent[0]) == (0, 1, -1)
    np.testing.assert_allclose(drawing.width, tree.n[drawing.nodes] / tree.n[0])
    place = {node: at for at, node in enumerate(drawing.nodes)}
    for at, node in enumerate(drawing.nodes[1:], 1):
        above = drawing.parent[at]
        assert drawing.nodes[above] == tree.parent[node]
        assert drawing.level[at] == drawing.level[above] + 1
        first, second = tree.children(int(tree.parent[node]))
        before = tree.n[first] / tree.n[0] if node == second else 0
        assert drawing.left[at] == pytest.approx(drawing.left[above] + before)
        assert drawing.left[at] + drawing.width[at] <= drawing.left[above] + drawing.width[above] + 1e-12
    for at, node in enumerate(drawing.nodes):
        below = [child for child in tree.children(int(node)) if child in place]
        assert drawing.folded[at] == (not tree.is_leaf[node] and not below)


def test_groups__after_every_step_are_those_of_the_cut(case) -> None:
    encoded, pruning, risk = case
    drawing = people_map(pruning.tree, risk, encoded.encodings, encoded.target.labels)
    states = map_states(drawing, pruning, risk)
    assert pruning.n_steps > 3
    for after in range(pruning.n_steps + 1):
        cut = set(pruning.cut(after))
        merged = (states.merged > 0) & (states.merged <= after)
        is_group = (drawing.leaf | merged) & ~((states.gone > 0) & (states.gone <= after))
        np.testing.assert_array_equal(is_group, [node in cut for node in drawing.nodes])
    assert states.left_out == len(set(pruning.cut()) - set(drawing.nodes))


def test_merge_steps__against_every_node_above(case) -> None:
    _, pruning, _ = case
    tree, steps = pruning.tree, [int(node) for node in pruning.steps]
    merged, gone = merge_steps(pruning)
    for node in range(tree.n_nodes):
        assert merged[node] == (steps.index(node) + 1 if node in steps else 0)
        above = [steps.index(t) + 1 for t in tree.path(node)[:-1] if t in steps]
        assert gone[node] == min(above, default=0)


def test_shades_and_words__are_those_of_the_nodes(case) -> None:
    encoded, pruning, risk = case
    tree, labels = pruning.tree, encoded.target.labels
    drawing = people_map(tree, risk, encoded.encodings, labels)
    for colour in ("sure", "n", "tidi"):
        levels = risk_levels(risk_scores(tree, risk, colour), colour, pruning.k)
        np.testing.assert_array_equal(map_states(drawing, pruning, risk, colour).shade, levels[drawing.nodes])
    for at, node in enumerate(drawing.nodes):
        counts = tree.sums[node]
        assert drawing.words[at] == (chance_text(counts.max() / counts.sum()), labels[int(counts.argmax())])
        wide = drawing.width[at] >= module.WIDE
        assert drawing.conditions[at] == (step_text(tree, encoded.encodings, node, brief=True) if wide else "")
    by_class = map_states(drawing, pruning, risk, "classes")
    for at, node in enumerate(drawing.nodes):
        more = (tree.sums[0] > tree.sums[0][tree.sums[node].argmax()]).sum()
        assert by_class.shade[at] == min(more, 3)


def test_focus__is_the_whole_width(case) -> None:
    encoded, pruning, risk = case
    tree = pruning.tree
    focus = int(np.argmax(np.where(tree.depth == 2, tree.n, 0)))
    drawing = people_map(tree, risk, encoded.encodings, encoded.target.labels, focus=focus)
    assert drawing.nodes[0] == focus
    assert (drawing.left[0], drawing.width[0], drawing.level[0]) == (0, 1, 0)
    assert set(drawing.nodes) <= set(range(focus, focus + int(tree.size[focus])))


def test_limits__the_widest_are_drawn_with_all_above_them(case, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, pruning, risk = case
    monkeypatch.setattr(module, "MOST_BOXES", 9)
    tree = pruning.tree
    drawing = people_map(tree, risk, encoded.encodings, encoded.target.labels)
    assert len(drawing.nodes) == 9
    assert set(tree.parent[drawing.nodes[1:]]) <= set(drawing.nodes)
    rest = np.setdiff1d(np.arange(tree.n_nodes), drawing.nodes)
    assert tree.n[rest].max() <= tree.n[drawing.nodes].min()
    assert map_states(drawing, pruning, risk).left_out == sum(node not in drawing.nodes for node in pruning.cut())


def test_texts__are_json_and_say_the_same(case) -> None:
    encoded, pruning, risk = case
    drawing = people_map(pruning.tree, risk, encoded.encodings, encoded.target.labels)
    text, states = json.loads(drawing.text), map_states(drawing, pruning, risk)
    moves = json.loads(json.dumps(states.payload()))
    assert moves["steps"] == pruning.n_steps
    assert moves["states"] == np.column_stack([states.shade, states.merged, states.gone]).tolist()
    assert len(text["boxes"]) == len(text["words"]) == len(text["conditions"]) == len(drawing.nodes)
    assert [tuple(words) for words in text["words"]] == list(drawing.words)
    for row, at in zip(text["boxes"], range(len(drawing.nodes)), strict=True):
        assert row[:2] == [drawing.nodes[at], drawing.parent[at]]
        assert row[4:] == [drawing.level[at], drawing.size[at], drawing.leaf[at], drawing.folded[at]]


def test_numbers__have_their_mean(number_tree) -> None:
    encoded, tree, risk = number_tree
    ((chance, name),) = learnt(tree, risk, encoded.target.labels, np.array([0]))
    assert name == risk.numeric.names[0]
    assert chance.startswith("mean ")


def test_target__is_shown_by_its_label_and_what_its_codes_mean() -> None:
    table = pd.DataFrame({"age": np.arange(40) % 8, "v17": ["1", "2"] * 20, "x": np.arange(40.0)})
    columns = (
        Column("age", Role.QUASI_IDENTIFYING, Kind.NUMERIC),
        Column(
            "v17",
            Role.SENSITIVE,
            Kind.CATEGORICAL,
            variable=Variable("Outcome", meanings=(("1", "Died"), ("2", "Lived"))),
        ),
        Column("x", Role.SENSITIVE, Kind.NUMERIC, variable=Variable("Income")),
    )
    flow = Flow(table, Schema(columns, "v17"), Settings(k=4))
    target, pruning = flow.encoded.target, flow.pruning
    words = people_map(flow.tree, flow.risk, flow.encoded.encodings, target.texts).words
    assert target.title == "Outcome (v17)"
    assert {what for _, what in words} <= {"1 (Died)", "2 (Lived)"}
    leaves = leaving(pruning, flow.codes_there, flow.leaf[flow.staying], flow.class_of[flow.staying])
    assert all("(Died)" in text or "(Lived)" in text for *_, text in leaves.payload())
    margins_there = margins(flow.tree, flow.risk, flow.encoded, Limits(k=4, l=2, rsd_min=0.1))
    assert "l-diversity of Outcome (v17)" in " ".join(margin.shortfall(0) for margin in margins_there)
    assert "RSD of Income (x)" in " ".join(margin.shortfall(0) for margin in margins_there)
    assert "mean of Income (x)" in group_table(
        flow.tree, flow.risk, flow.encoded.encodings, target.texts, np.array([0])
    )
