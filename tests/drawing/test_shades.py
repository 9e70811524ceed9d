"""Colours, gauges and bars: they follow the numbers."""

import re

import numpy as np
import pytest

from anonymizer.drawing import shades
from anonymizer.drawing.dot import THEMES
from anonymizer.drawing.shades import COLOURS, colours_of, legend
from anonymizer.drawing.svg import svg
from tests.drawn_trees import draw_tree


def test_share_bar__cells_are_the_nearest_to_the_shares(class_tree) -> None:
    _, tree, _ = class_tree
    ranks = shades.class_ranks(tree)
    order = sorted(ranks, key=ranks.get)
    assert list(tree.sums[0][order]) == sorted(tree.sums[0], reverse=True)
    for counts in tree.sums:
        bar = shades.share_bar(counts, ranks)
        assert len(bar) == shades.BAR
        for code, count in enumerate(counts):
            assert abs(bar.count(shades.GLYPHS[ranks[code]]) - shades.BAR * count / counts.sum()) < 1


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour_by", COLOURS)
def test_legend__covers_every_node_and_says_what_it_covers(class_tree, number_tree, colour_by: str, theme: str) -> None:
    drawn_tree = number_tree if colour_by == "digression" else class_tree
    encoded, tree, risk = drawn_tree
    assert colour_by in colours_of(tree, risk)
    steps = legend(tree, risk, encoded.target.labels, colour_by, theme)
    source = draw_tree(drawn_tree, colour_by=colour_by, theme=theme, max_depth=100, max_nodes=10**6)
    assert svg(source)
    if colour_by == "classes":
        assert [shade.gauge for shade in steps] == list("█▓▒")
        return
    fills = re.findall(r'fillcolor="(#\w+)"', source)
    assert set(fills) <= {shade.colour for shade in steps}
    assert len({shade.text for shade in steps}) == len(steps)
    scores = shades.risk_scores(tree, risk, colour_by)
    levels = shades.risk_levels(scores)
    assert (np.diff(levels[np.argsort(scores, kind="stable")]) >= 0).all()
    assert levels.min() == 1
    assert levels.max() == 5


def test_risk_scores__low_tidi_few_records_and_much_error_are_risky(class_tree) -> None:
    _, tree, risk = class_tree
    levels = {name: shades.risk_levels(shades.risk_scores(tree, risk, name)) for name in ("tidi", "n", "sure")}
    assert levels["tidi"][risk.tidi.argmin()] == levels["n"][tree.n.argmin()] == 5
    assert levels["sure"][(risk.error / tree.n).argmin()] == levels["sure"].max()


def test_levels_of_sureness__are_fixed_odds_and_include_their_ends() -> None:
    scores = np.array([0.2, 0.5, 0.51, 2 / 3, 0.67, 0.8, 0.81, 0.9, 0.91, 0.99, 1.0])
    assert list(shades.risk_levels(scores, "sure")) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert list(shades.risk_levels(scores[::-1], "sure")) == [6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1], "whatever the root is"


def test_levels_of_size__are_multiples_of_k() -> None:
    sizes = -np.array([5000.0, 200, 199, 50, 49, 20, 19, 10, 9, 1])
    assert list(shades.risk_levels(sizes, "n", 10)) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize("scores", [np.ones(7), np.array([3.0])])
def test_levels__of_equal_scores_are_the_lowest(scores: np.ndarray) -> None:
    assert set(shades.risk_levels(scores)) == {1}
