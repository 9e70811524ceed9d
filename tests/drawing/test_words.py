"""Text from outside, and the figures on a node."""

import re

import pytest

from anonymizer.drawing.svg import svg
from anonymizer.drawing.words import CHANCES, chance_text, figures_text, visible_text
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
        symbols = set(re.findall(r"Δ|\b(?:E|p|SSE|BIG|ICR|TIDI)\b(?= [=\d.]| -)", text))
        assert symbols >= {"BIG", "ICR", "TIDI"}
        assert all(re.search(rf"(?<!\w){symbol}(?!\w)", explained) for symbol in symbols), (symbols, explained)
        assert ("E" in symbols) == ("E rows" in explained)
        assert ("Δ" in symbols) == ("Δ" in explained)


@pytest.mark.parametrize(
    ("part", "words"),
    [(1.0, "everybody"), (0.0, "nobody"), (0.999, "nearly everybody"), (0.5, "1 in 2"), (0.41, "2 in 5"),
     (0.083, "1 in 12"), (0.0004, "1 in 2,500"), (0.98, "99 in 100"), (0.96, "19 in 20"), (1 / 3, "1 in 3")],
)  # fmt: skip
def test_chance_text(part: float, words: str) -> None:
    assert chance_text(part) == words


def test_chance_text__is_never_far_off_and_never_says_certainty_too_early() -> None:
    for thousandth in range(1, 1000):
        part = thousandth / 1000
        words = chance_text(part)
        if words == "nearly everybody":
            assert part > 0.995
            continue
        few, many = (int(number.replace(",", "")) for number in words.split(" in "))
        assert abs(few / many - part) <= 0.051
        assert part >= 0.1 or abs(few / many - part) <= 0.1 * part
    assert len(CHANCES) == len(set(CHANCES))
