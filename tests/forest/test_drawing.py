"""Pictures of a forest: trees, ledger."""

import math

import pytest

from anonymizer.forest.drawing import ledger_figure, preorder, tree_dot
from anonymizer.forest.nodes import walk
from tests.forest.samples import rehearse


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_drawing__nodes_edges_and_the_warning(theme: str) -> None:
    forest = rehearse("paper", 20.0, n_trees=2)
    order = preorder(forest, 1)
    source = tree_dot(forest, order, max_depth=10, theme=theme)
    assert order.n_nodes == sum(1 for _ in walk(forest.trees[1])) > 3
    assert source.count(" -> ") == order.n_nodes - 1
    assert "NOT differentially private" in source
    assert order.path(order.n_nodes - 1)[0] == 0
    folded = tree_dot(forest, order, max_depth=1)
    assert folded.count(" -> ") == 0
    assert "folded" in folded


def test_ledger_figure__pieces_add_up_to_the_budget() -> None:
    forest = rehearse("strict", 0.7, n_trees=2)
    figure = ledger_figure(forest.ledger)
    assert math.fsum(float(bar.x[0]) for bar in figure.data) == pytest.approx(0.7)
    assert "0.7" in figure.layout.title.text
