"""Pictures of a private forest: trees as DOT, points as bars, its ledger, its accuracy against the budget."""

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymizer.drawing.charts import ORIGINAL, RELEASED, literal
from anonymizer.drawing.dot import THEMES, add_edge, digraph, label_text, tooltip_text
from anonymizer.forest.domains import Domains
from anonymizer.forest.forest import MODES, Forest
from anonymizer.forest.mechanisms import Ledger
from anonymizer.forest.model import condition_text
from anonymizer.forest.nodes import NoisyNode, walk
from anonymizer.forest.rehearsal import AccuracyCurve
from anonymizer.forest.scorecard import COUNT_VALUES, SUM_RESIDUALS, Scorecard

WIDEST = 30
QUERY_COLOURS = {
    "count the classes": "#3a9163",
    "count the classes again": "#8cc9a3",
    "count the rows": "#6d7f9e",
    "choose the attribute": "#d99a3d",
    COUNT_VALUES: "#3a9163",
    SUM_RESIDUALS: "#8cc9a3",
}


@dataclass(frozen=True, eq=False)
class Preorder:
    """One tree as a drawing takes it: its nodes in preorder, and the parent of each (-1 at the root)."""

    nodes: tuple[NoisyNode, ...]
    parents: tuple[int, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes m."""
        return len(self.nodes)

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``."""
        path = [node]
        while self.parents[path[-1]] >= 0:
            path.append(self.parents[path[-1]])
        return path[::-1]


def preorder(forest: Forest, tree: int) -> Preorder:
    """Return the nodes of one tree in preorder; ``tree`` counts from 0."""
    nodes, paths, parents = [], [], []
    at: dict[tuple[tuple[int, int], ...], int] = {}
    for place, (node, path) in enumerate(walk(forest.trees[tree])):
        at[path] = place
        nodes.append(node)
        paths.append(path)
        parents.append(at[path[:-1]] if path else -1)
    return Preorder(tuple(nodes), tuple(parents), tuple(paths))


def tree_dot(forest: Forest, order: Preorder, *, max_depth: int = 3, max_nodes: int = 400, theme: str = "light") -> str:
    """Return one tree as DOT text: each node with its last condition, class, confidence, noisy support and ε spent.

    ``max_depth``: levels drawn, the root being the first; deeper branches are folded.
    """
    palette, domains = THEMES[theme], forest.domains
    places = [place for place, path in enumerate(order.paths) if len(path) < max_depth]
    places = sorted(sorted(places, key=lambda place: len(order.paths[place]))[:max_nodes])
    inside = set(places)
    graph = digraph(palette)
    if forest.warnings:
        text = label_text(*textwrap.wrap(forest.warnings[0], 90))
        graph.node("warning", text, shape="plaintext", style="", fontcolor=palette["alarm"])
    for place in places:
        node, path = order.nodes[place], order.paths[place]
        lines = ["everybody"]
        if path:
            attribute = domains.attributes[path[-1][0]]
            lines = [shorter(condition_text(attribute.name, attribute.text(path[-1][1])))]
        if node.label is not None:
            lines.append(f"{shorter(domains.target.text(node.label))} · {node.confidence:.0%}")
        lines.append(f"about {node.size:,.0f} rows · ε {node.spent:.3g}")
        folded = bool(node.children) and not any(order.parents[child] == place for child in inside)
        if folded:
            lines.append("▸ folded")
        colour = palette[f"class{min(node.label or 0, 4)}"] if node.label is not None else palette["1"]
        graph.node(
            str(place), label_text(*lines), id=f"n{place}", fillcolor=colour, tooltip=tooltip_text(" · ".join(lines))
        )
    for place in places:
        if order.parents[place] in inside:
            add_edge(graph, order.parents[place], place)
    return str(graph.source)


def shorter(text: str) -> str:
    """Return a text that fits a node."""
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDEST else flat[: WIDEST - 1] + "…"


def widest_columns(card: Scorecard, label: int) -> list[int]:
    """Return the columns of a scorecard, those first whose points for a class differ most (ties in their order)."""
    return sorted(range(len(card.points)), key=lambda column: -float(np.ptp(card.points[column][:, label])))


def points_figure(domains: Domains, card: Scorecard, column: int, label: int) -> Any:
    """Return a figure of the points that each value of a column gives a class: a bar each, in the order of values."""
    import plotly.graph_objects as go

    attribute, points = domains.attributes[column], card.points[column][:, label]
    at = list(range(attribute.n_levels))
    names = [literal(shorter(attribute.text(code))) for code in at]
    supports = card.counts[column].sum(axis=1)
    figure = go.Figure(
        go.Bar(
            y=at, x=points, orientation="h", text=[f"{value:+.2f}" for value in points], textposition="auto",
            marker_color=[RELEASED if value >= 0 else ORIGINAL for value in points],
            customdata=[[name, f"{n:,.0f}"] for name, n in zip(names, supports, strict=True)],
            hovertemplate="%{customdata[0]}: %{x:+.3f} points, about %{customdata[1]} rows<extra></extra>",
        )
    )  # fmt: skip
    low, high = int(points.argmin()), int(points.argmax())
    figure.update_yaxes(tickvals=at, ticktext=names, autorange="reversed", automargin=True)
    figure.update_xaxes(title_text="points", zeroline=True)
    figure.update_layout(
        title={
            "text": f"{literal(shorter(attribute.name))}: {points[low]:+.2f} ({names[low]}) to "
            f"{points[high]:+.2f} ({names[high]})",
            "font": {"size": 13},
        },
        height=110 + 24 * len(at), margin={"l": 10, "r": 10, "t": 44, "b": 10},
    )  # fmt: skip
    return figure


def ledger_figure(ledger: Ledger) -> Any:
    """Return the dearest path as one bar: a piece for each query, side by side they are the budget spent."""
    import plotly.graph_objects as go

    figure = go.Figure()
    listed: set[str] = set()
    for part, level, purpose, epsilon in ledger.dearest:
        where = f"{literal(shorter(part))}, level {level}" if part else f"level {level}"
        figure.add_bar(
            x=[epsilon], y=["β"], orientation="h", name=purpose, legendgroup=purpose, showlegend=purpose not in listed,
            marker={"color": QUERY_COLOURS.get(purpose, "#8f9b93"), "line": {"color": "white", "width": 1}},
            hovertemplate=f"{where}: {purpose}<br>ε = {epsilon:.4g}<extra></extra>",
        )  # fmt: skip
        listed.add(purpose)
    figure.update_layout(
        barmode="stack", height=190, margin={"l": 10, "r": 10, "t": 50, "b": 10},
        title=f"A row pays ε = {ledger.spent:.4g} of the budget of {ledger.budget:.4g}",
        legend={"orientation": "h", "y": -0.35}, xaxis_title="ε", yaxis_visible=False,
    )  # fmt: skip
    return figure


def accuracy_figure(curve: AccuracyCurve, here: float | None = None) -> Any:
    """Return a figure of accuracy against the budget, with the models that keep no secret; ``here`` marks a budget."""
    import plotly.graph_objects as go

    figure = go.Figure()
    best = max(curve.modes, key=lambda mode: mode[1][-1])
    for mode, scores in curve.modes:
        dash = "solid" if MODES[mode].private else "dot"
        name = mode if MODES[mode].private else f"{mode} (NOT private)"
        figure.add_scatter(x=curve.budgets, y=scores, mode="lines+markers", name=name, line={"dash": dash})
    for name, value in (
        ("random forest, not private", curve.random_forest),
        ("tree, not private", curve.tree),
        ("majority class", curve.majority),
    ):
        figure.add_scatter(
            x=[curve.budgets[0], curve.budgets[-1]], y=[value, value], mode="lines", name=name,
            line={"dash": "dash", "width": 1.5},
        )  # fmt: skip
    if here is not None:
        figure.add_vline(x=here, line_dash="dot", line_color="#8f9b93")
        figure.add_annotation(  # on a logarithmic axis a place is the power of ten
            x=math.log10(here), y=1, yref="paper", yanchor="bottom", text=f"β = {here:g}", showarrow=False
        )
    ticks = [f"{beta:g}" for beta in curve.budgets]
    figure.update_layout(
        title=f"{best[0]} reaches {best[1][-1]:.1%} at β = {curve.budgets[-1]:g}; guessing gives {curve.majority:.1%}",
        xaxis={"type": "log", "title": "privacy budget β", "tickvals": curve.budgets, "ticktext": ticks},
        yaxis={"title": "accuracy", "tickformat": ".1~%"}, height=400, margin={"l": 10, "r": 10, "t": 50, "b": 10},
    )  # fmt: skip
    return figure
