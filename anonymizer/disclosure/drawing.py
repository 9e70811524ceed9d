"""An assessed tree as DOT text, and a histogram of the posteriors of its people."""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.exposure import Exposure, Figures, highest_of_leaf
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.disclosure.pmml import Document
from anonymizer.drawing.dot import THEMES, add_edge, digraph, label_text, tooltip_text
from anonymizer.drawing.shades import LEVELS, gauge
from anonymizer.drawing.words import class_name, visible_text
from anonymizer.values import plural, value_text

BINS = 20


def exposure_dot(
    tree: KeyedTree, exposure: Exposure, document: Document, *, theme: str = "light", max_nodes: int = 150
) -> str:
    """Return the published tree as DOT text, each leaf coloured by the highest posterior of its people (5 equal steps).

    ``document``: its published form, which names the questions. The largest nodes are unfolded first, at most
    ``max_nodes``; a folded node shows the highest posterior below it. Numbers of people are for the steward only.
    """
    outline, palette = tree.outline, THEMES[theme]
    highest = highest_of_leaf(tree, exposure.figures.highest)
    below = np.array(highest)
    for node in range(outline.n_nodes - 1, 0, -1):
        parent = outline.parent[node]
        below[parent] = np.fmax(below[parent], below[node])
    unfolded: set[int] = set()
    frontier, n_nodes = [(-int(tree.n[0]), 0)], 1
    while frontier and n_nodes < max_nodes:
        _, node = heapq.heappop(frontier)
        if outline.feature[node] >= 0:
            unfolded.add(node)
            n_nodes += len(outline.children[node])
            for child in outline.children[node]:
                heapq.heappush(frontier, (-int(tree.n[child]), child))
    graph = digraph(palette)
    stack = [(0, "all rows")]
    while stack:
        node, condition = stack.pop()
        lines = [condition]
        level = 1
        if node in unfolded:
            lines.append(f"n = {int(tree.n[node]):,}")
        else:
            value = float(np.nan_to_num(below[node]))
            level = min(int(LEVELS * value), LEVELS - 1) + 1
            if outline.feature[node] >= 0:
                lines.append(f"▸ n = {int(tree.n[node]):,}, at most {value:.0%} sure")
            else:
                lines.append(class_name(tree.keys.labels[int(tree.label[node])], 18))
                lines.append(f"n = {int(tree.n[node]):,} · {value:.0%} sure {gauge(level)}")
        shape = "box" if node in unfolded or outline.feature[node] < 0 else "folder"
        graph.node(
            str(node), label_text(*lines), id=f"n{node}", tooltip=tooltip_text("; ".join(lines)), shape=shape,
            fillcolor=palette[str(level)], penwidth=f"{0.6 + 0.35 * level:.2f}",
        )  # fmt: skip
        if node:
            add_edge(graph, int(outline.parent[node]), node)
        if node in unfolded:
            question = document["nodes"][node]
            for child in reversed(question["children"]):
                stack.append((child["node"], brief(question["column"], child)))
    return str(graph.source)


def brief(column: str, child: dict[str, Any]) -> str:
    """Return the condition of a child, short enough for a node."""
    name = visible_text(column, 20)
    if "upto" in child:
        return f"{name} ≤ {value_text(child['upto'])}"
    if "above" in child:
        return f"{name} > {value_text(child['above'])}"
    values = [visible_text(value, 16) for value in child.get("values", [])]
    if not values:
        return f"{name} {'missing' if child.get('missing') else 'present'}"
    more = f", … {len(values)}" if len(values) > 2 else ""
    return f"{name} = {values[0]}" if len(values) == 1 else f"{name}: {', '.join(values[:2])}{more}"


def posterior_figure(figures: Figures, confidence: float) -> Any:
    """Return a histogram of people by their highest posterior, and of those whom the adversary guesses rightly."""
    import plotly.graph_objects as go

    edges = np.linspace(0, 1, BINS + 1)
    place = np.minimum((figures.highest * BINS + 1e-9).astype(int), BINS - 1)
    people = np.bincount(place, weights=figures.counts, minlength=BINS)
    right = np.bincount(place, weights=figures.right, minlength=BINS)
    middle = (edges[:-1] + edges[1:]) / 2
    figure = go.Figure()
    figure.add_bar(x=middle, y=right, name="believed rightly", marker_color="#b3541e", width=1 / BINS)
    figure.add_bar(x=middle, y=people - right, name="believed wrongly", marker_color="#8f9b93", width=1 / BINS)
    figure.add_vline(x=confidence, line_dash="dash", line_color="#8f9b93")
    above = figures.people_above(confidence)
    figure.update_layout(
        title={"text": f"{plural(above, 'person').replace('persons', 'people')} at {confidence:.0%} or more"},
        barmode="stack",
        height=300,
        margin={"l": 10, "r": 10, "t": 46, "b": 10},
        legend={"orientation": "h", "y": 1.12, "x": 1, "xanchor": "right"},
    )
    figure.update_xaxes(title_text="highest posterior", range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(title_text="people")
    return figure


def divergence_figure(figures: Figures) -> Any:
    """Return people by D_individual, the distance of what is believed of them from the truth; infinite ones apart."""
    import plotly.graph_objects as go

    finite = np.isfinite(figures.divergence)
    figure = go.Figure(
        go.Histogram(
            x=np.repeat(figures.divergence[finite], figures.counts[finite]), nbinsx=BINS, marker_color="#b3541e",
            hovertemplate="%{x}: %{y} people<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(height=260, margin={"l": 10, "r": 10, "t": 10, "b": 10}, bargap=0.05)
    figure.update_xaxes(title_text="D_individual, nats (0: the truth is believed)", rangemode="tozero")
    figure.update_yaxes(title_text="people")
    return figure


def top_figure(means: NDArray[np.float64]) -> Any:
    """Return the mean of the K largest differences of D_individual against K (Z10, Figure 8)."""
    import plotly.graph_objects as go

    ks = np.arange(1, len(means) + 1)
    figure = go.Figure(go.Scatter(x=ks, y=means, mode="lines", line={"color": "#b3541e", "width": 2.5}))
    figure.update_layout(height=260, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    figure.update_xaxes(title_text="K: so many keys, those that gain most", type="log", tickformat="~g")
    figure.update_yaxes(title_text="mean difference, nats", rangemode="tozero")
    return figure
