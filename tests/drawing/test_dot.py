"""What every graph has: text that is shown as it is, and themes."""

from xml.etree import ElementTree

import numpy as np
import pytest

from anonymizer.drawing.dot import THEMES, digraph, label_text, tooltip_text
from anonymizer.drawing.svg import svg
from anonymizer.drawing.words import visible_text
from tests.drawn_trees import HOSTILE, SVG, nodes_in


@pytest.mark.parametrize("text", HOSTILE)
def test_text__graphviz_gives_back_the_very_text(text: str) -> None:
    label, graph = visible_text(text), digraph(THEMES["light"])
    graph.node("0", label_text(label, "second"), id="n0", tooltip=tooltip_text(label))
    drawing = svg(graph.source)
    assert nodes_in(drawing) == {0: f"{label}\nsecond"}
    assert [title.text for title in ElementTree.fromstring(drawing).iter(f"{SVG}title")] == [label]


@pytest.mark.parametrize("theme", THEMES)
def test_themes__text_is_readable_on_every_colour(theme: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    palette = THEMES[theme]
    names = ["page", *map(str, range(1, 6)), *(f"class{place}" for place in range(4))]
    grounds = [palette[name] for name in names]
    assert all(contrast(palette["ink"], ground) >= 4.5 for ground in grounds)
    assert contrast(palette["faint"], palette["page"]) >= 4.5
    assert contrast(palette["line"], palette["page"]) >= 3
    steps = [luminance(palette[str(level)]) for level in range(1, 6)]
    assert sorted(steps, reverse=theme == "light") == steps
