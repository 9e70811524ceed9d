"""What every graph has, built with the package graphviz: themes, looks, and text that is shown as it is. A node's
element carries the id ``n<node>``, its edge ``e<node>``.
"""

from collections.abc import Mapping
from html import escape as entities
from typing import Any

THEMES: dict[str, dict[str, str]] = {
    "light": {
        "page": "#fbfcfa", "ink": "#1c1d21", "faint": "#5d626d", "line": "#7c828e", "alarm": "#b3261e",
        "1": "#e6f0e8", "2": "#f0e8c9", "3": "#f6d592", "4": "#eeb078", "5": "#e27f6c",
        "6": "#86203d", "deep": "#ffffff",
        "range1": "#e9e6f1", "range2": "#d2c5ea", "range3": "#b39bdb", "range4": "#9071c6", "range5": "#6a41a5",
        "range6": "#3c1c68",
        "class0": "#cfe3f7", "class1": "#fbdcb4", "class2": "#d5efd0", "class3": "#ead6f3", "class4": "#e3e3e3",
    },
    "dark": {
        "page": "#121915", "ink": "#f5f6f8", "faint": "#a7adb8", "line": "#8a909c", "alarm": "#ff9a8f",
        "1": "#1d2f27", "2": "#3b3d20", "3": "#5c4a17", "4": "#7c4d1c", "5": "#96413a",
        "6": "#ffb8b4", "deep": "#121915",
        "range1": "#2b2640", "range2": "#453a6a", "range3": "#645197", "range4": "#8a72c4", "range5": "#b49fe6",
        "range6": "#e2d6ff",
        "class0": "#1f4468", "class1": "#6b4514", "class2": "#24552b", "class3": "#553066", "class4": "#44474d",
    },
}  # fmt: skip
"""Colours by theme. Steps 1 to 6 run from low to high risk and also differ in lightness; text on all is readable, on
the last one in the colour "deep". Ranges 1 to 6 run from wide to narrow."""


LAYOUT_SIZE = 13.5
"""Points of text when a graph is laid out, by the letters of Arial. It is drawn at :data:`TEXT_SIZE`, since a browser
may have wider letters only, and no line may reach over an edge."""
TEXT_SIZE = 11.5


def digraph(palette: Mapping[str, str]) -> Any:
    """Return an empty ``graphviz.Digraph`` in the colours of one of :data:`THEMES`."""
    from graphviz import Digraph

    return Digraph(
        "tree",
        graph_attr={"bgcolor": palette["page"], "nodesep": "0.18", "ranksep": "0.42", "pad": "0.2"},
        node_attr={
            "shape": "box", "style": "filled,rounded", "fontname": "Arial", "fontsize": str(LAYOUT_SIZE),
            "color": palette["line"], "fontcolor": palette["ink"], "margin": "0.14,0.08",
        },
        edge_attr={"arrowhead": "none", "color": palette["line"]},
    )  # fmt: skip


def add_edge(graph: Any, parent: int, node: int, **looks: str) -> None:
    """Add the edge into a node to a graph; its class names the parent."""
    graph.edge(str(parent), str(node), id=f"e{node}", **{"class": f"p{parent}"}, **looks)


def label_text(*lines: str) -> str:
    """Return lines of text as a label of graphviz, which shows them exactly as they are."""
    from graphviz import escape

    return "\\n".join(escape(entities(line)) for line in lines)


def tooltip_text(text: str) -> str:
    """Return text as a tooltip of graphviz, which reads the escapes of a tooltip twice."""
    from graphviz import escape

    return str(escape(escape(entities(text))))
