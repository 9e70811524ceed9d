"""Text from outside, and the figures on a node."""

import re

from anonymizer.drawing.svg import svg
from anonymizer.drawing.words import figures_text, visible_text
from tests.drawn_trees import draw_tree, nodes_in


def test_visible_text__isolates_and_shows_what_cannot_be_seen() -> None:
    assert visible_text("a\tb\n\x00") == "a␉b␊␀"
    assert visible_text("\u202eabc") == "\ufffdabc"
    assert visible_text("שלום") == "\u2068שלום\u2069"
    assert visible_text("abcdefgh", 5) == "abcd…"
    assert visible_text("plain é 漢字") == "plain é 漢字"


def test_figures_text__explains_every_figure_on_a_node(class_tree, number_tree) -> None:
    for drawn_tree in (class_tree, number_tree):
        encoded, _, risk = drawn_tree
        explained = figures_text(risk, encoded.target.labels)
        text = nodes_in(svg(draw_tree(drawn_tree, max_depth=100)))[0]
        symbols = set(re.findall(r"Δ|\b(?:n|E|p|SSE|BIG|ICR|TIDI)\b(?= [=\d.]| -)", text))
        assert symbols >= {"n", "BIG", "ICR", "TIDI"}
        assert all(re.search(rf"(?<!\w){symbol}(?!\w)", explained) for symbol in symbols), (symbols, explained)
        assert ("E" in symbols) == (" E of them" in explained)
        assert ("Δ" in symbols) == ("Δ" in explained)
