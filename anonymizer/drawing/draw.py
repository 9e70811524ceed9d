"""A tree as DOT text: every node with its rule, records, class shares and risk.

:func:`dot` makes the text, which :func:`anonymizer.drawing.svg.svg` has laid out. Text from outside is escaped.
"""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.dot import THEMES, add_edge, digraph, label_text, tooltip_text
from anonymizer.drawing.rules import Conditions, regions, rule_text, step_text
from anonymizer.drawing.shades import GLYPHS, LEVELS, class_ranks, gauge, most_of, risk_levels, risk_scores, share_bar
from anonymizer.drawing.words import branch_lines, class_name, number_lines
from anonymizer.errors import ParameterError
from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import Tree
from anonymizer.values import number_text, plural

if TYPE_CHECKING:
    from anonymizer.groups.risk import NodeRisk


MOST_STRIPES = 40
"""Stripes of the band below a group."""


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The part of a tree that is drawn: ``nodes`` in preorder, those of them that are ``folded``, where it ``ends``.

    ``ends`` (m,): the node is a leaf of what is drawn, in the excerpt or folded away.
    """

    nodes: tuple[int, ...]
    folded: frozenset[int]
    ends: NDArray[np.bool_]


def excerpt(
    tree: Tree,
    cut: NDArray[np.integer] | None = None,
    *,
    below_cut: bool = False,
    max_depth: int = 5,
    max_nodes: int = 400,
    focus: int | None = None,
) -> Excerpt:
    """Return the part to draw: down to ``max_depth`` below the root, and at most ``max_nodes`` nodes or a few more.

    With ``cut`` the pruned tree, or, with ``below_cut``, the grown tree down to its leaves. With ``focus`` the path
    to that node and, below it, ``max_depth`` levels; everything beside the path is folded. A folded node stands
    for its whole branch. When nodes are too many, the deepest and then the smallest are folded first.
    """
    if max_depth < 1 or max_nodes < 1:
        raise ParameterError("At least one level and one node must be drawn.", remedy="Raise max_depth or max_nodes.")
    ends = np.array(tree.is_leaf)
    if cut is not None and not below_cut:
        ends[np.asarray(cut)] = True
    start = 0 if focus is None else focus
    path = set(tree.path(start)[:-1])
    unfolded: set[int] = set()
    budget = max_nodes - 1
    frontier = [(False, 0, 0, 0)]
    while frontier:
        node = heapq.heappop(frontier)[-1]
        beside = not start <= node < start + tree.size[start]
        too_deep = tree.depth[node] - tree.depth[start] >= max_depth
        if ends[node] or (node not in path and (beside or too_deep or budget < 2)):
            continue
        unfolded.add(node)
        budget -= 2
        for child in tree.children(node):
            heapq.heappush(frontier, (child not in path, int(tree.depth[child]), -int(tree.n[child]), child))
    nodes = tuple(sorted({0} | {child for node in unfolded for child in tree.children(node)}))
    return Excerpt(nodes, frozenset(t for t in nodes if t not in unfolded and not ends[t]), ends)


def dot(
    tree: Tree,
    risk: "NodeRisk",
    encodings: tuple[Encoding, ...],
    labels: tuple[str | None, ...],
    *,
    cut: NDArray[np.integer] | None = None,
    below_cut: bool = False,
    max_depth: int = 5,
    max_nodes: int = 400,
    focus: int | None = None,
    colour_by: str = "tidi",
    theme: str = "light",
    k: int | None = None,
    bands: Mapping[int, NDArray[np.int64]] | None = None,
    below: Mapping[int, int] | None = None,
) -> str:
    """Return the tree as DOT text; ``labels``: the target's c classes, the other choices as in :func:`excerpt`.

    ``bands``: the records of the parts that a group is divided into, by node; two or more are a band below the group.
    ``below``: how many of its people are in groups of fewer than ``k`` together with earlier releases, by node.

    Each node says what its last split asks, its records, class shares, BIG, ICR, TIDI (bits) and E (records), and where
    a sensitive column is numeric its digression Δ, p-value and SSE. A group of the cut has a double border; what
    pruning removed is dashed; a folded branch is a folder with the number of groups in it; a group with fewer than
    ``k`` records is marked.
    Raises :class:`ParameterError` for an unknown ``colour_by`` or ``theme``.
    """
    if theme not in THEMES:
        raise ParameterError(f"There is no theme {theme!r}.", value=theme, remedy="Choose light or dark.")
    part = excerpt(tree, cut, below_cut=below_cut, max_depth=max_depth, max_nodes=max_nodes, focus=focus)
    palette = THEMES[theme]
    is_group = np.array(part.ends)
    removed = np.zeros(tree.n_nodes, dtype=bool)
    if cut is not None:
        is_group[:] = False
        is_group[np.asarray(cut)] = True
        for group in np.asarray(cut):
            removed[group + 1 : group + tree.size[group]] = True
    levels = None if colour_by == "classes" else risk_levels(risk_scores(tree, risk, colour_by), colour_by, k)
    region_of, ranks = regions(tree, encodings, part.nodes), class_ranks(tree)
    most = most_of(colour_by)
    style = _Style(
        tree, risk, encodings, labels, part, palette, k, ranks, levels, most, is_group, removed, region_of, below or {}
    )
    graph = digraph(palette)
    for node in part.nodes:
        graph.node(str(node), **style.node(node))
    for node in part.nodes[1:]:
        add_edge(graph, int(tree.parent[node]), node, **style.edge(node))
    for node in part.nodes:
        if is_group[node] and len((bands or {}).get(node, ())) > 1:
            add_band(graph, node, (bands or {})[node], palette)
    return str(graph.source)


TOGETHER = "◌"
"""The mark of a group whose people are in too small ones together with earlier releases."""


def below_text(people: int, k: int | None) -> str:
    """Return that so many people of a group are in too small ones together with earlier releases."""
    who = "1 person of it is in a group" if people == 1 else f"{people:,} people of it are in groups"
    return f"{who} of fewer than {'k' if k is None else f'{k:,}'} that all releases share."


def add_band(graph: Any, node: int, sizes: NDArray[np.int64], palette: Mapping[str, str]) -> None:
    """Add the band below a group to a graph: a stripe for each part, as wide as its records, and how many there are.
    ``sizes``: records of the parts; of more than :data:`MOST_STRIPES`, stripes are of equal width."""
    widths = sizes / sizes.sum() if len(sizes) <= MOST_STRIPES else np.full(MOST_STRIPES, 1 / MOST_STRIPES)
    stripes = [f"{palette['2' if place % 2 else '1']};{width:.4f}" for place, width in enumerate(widths)]
    stripes[-1] = stripes[-1].partition(";")[0]  # the last takes what rounding leaves
    text = f"{plural(len(sizes), 'group')} of {span_text(int(sizes.min()), int(sizes.max()))}"
    graph.node(
        f"b{node}", label_text(text), id=f"b{node}", shape="box", style="striped", fillcolor=":".join(stripes),
        fontsize="12", margin="0.1,0.03", height="0.24",
        tooltip=tooltip_text(f"Node {node} is divided into {text} rows that look alike"),
    )  # fmt: skip
    graph.edge(str(node), f"b{node}", style="dotted")


def span_text(least: int, most: int) -> str:
    """Return a range of counts in words: 10 to 19, or 10."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


@dataclass(frozen=True, eq=False)
class _Style:
    """The look of the nodes of one drawing; ``levels``, of at most ``most``, is ``None`` when class shares are the
    colours."""

    tree: Tree
    risk: "NodeRisk"
    encodings: tuple[Encoding, ...]
    labels: tuple[str | None, ...]
    excerpt: Excerpt
    palette: dict[str, str]
    k: int | None
    ranks: dict[int, int]
    levels: NDArray[np.int64] | None
    most: int
    is_group: NDArray[np.bool_]
    removed: NDArray[np.bool_]
    regions: dict[int, Conditions]
    below: Mapping[int, int]

    def node(self, node: int) -> dict[str, str]:
        """Return the attributes of a node."""
        tree, palette = self.tree, self.palette
        folded, removed, group = node in self.excerpt.folded, bool(self.removed[node]), bool(self.is_group[node])
        few = self.k is not None and bool(self.excerpt.ends[node] or group) and tree.persons.n[node] < self.k
        level = 1 if self.levels is None else int(self.levels[node])
        looks = {
            "id": f"n{node}",
            "label": label_text(*self.lines(node)),
            "tooltip": tooltip_text("; ".join(self.full_lines(node))),
            "class": " ".join(n for n, on in (("leaf", group), ("fold", folded), ("gone", removed)) if on),
            "fillcolor": palette[str(level)],
            "penwidth": f"{0.6 + 0.35 * level:.2f}",
        }
        if self.levels is None and not removed:
            looks |= {"style": "striped", "fillcolor": self.stripes(node)}
        if level > LEVELS:
            looks["fontcolor"] = palette["deep"]
        if removed:
            looks |= {"style": "dashed,rounded", "fontcolor": palette["faint"], "penwidth": "0.8"}
        if folded:
            looks |= {"shape": "folder", "style": "dashed" if removed else "filled"}
            looks["fillcolor"] = palette[str(level)]
        if group and not removed and not folded:
            looks["peripheries"] = "2"
        if few:
            looks |= {"color": palette["alarm"], "penwidth": "2.6"}
        return {name: value for name, value in looks.items() if value}

    def edge(self, node: int) -> dict[str, str]:
        """Return the attributes of the edge into a node: the wider, the more records."""
        width = 0.7 + 3.3 * math.sqrt(self.tree.n[node] / max(int(self.tree.n[0]), 1))
        return {"penwidth": f"{width:.2f}"} | ({"style": "dashed"} if self.removed[node] else {})

    def lines(self, node: int) -> list[str]:
        """Return the lines of text on a node: in plain words first, then the papers' figures."""
        tree, risk = self.tree, self.risk
        persons = int(tree.persons.n[node])
        few = self.k is not None and persons < self.k and (self.excerpt.ends[node] or self.is_group[node])
        records = "" if tree.unit == "row" else f", {plural(int(tree.n[node]), 'row')}"
        size = plural(persons, tree.unit) + records + (f", fewer than k = {self.k:,}" if few else "")
        mark = "" if self.levels is None else f"   {gauge(int(self.levels[node]), self.most)}"
        lines = [
            step_text(tree, self.encodings, node, brief=True, conditions=self.regions[node]),
            f"{'⚠ ' if few else ''}{size}{mark}",
        ]
        if node in self.below and self.is_group[node]:
            lines.append(f"{TOGETHER} {self.below[node]:,} below k with earlier releases")
        if len(self.labels) > 1:
            largest = int(tree.sums[node].argmax())
            part = tree.sums[node, largest] / max(int(tree.n[node]), 1)
            lines.append(f"{share_bar(tree.sums[node], self.ranks)}  {class_name(self.labels[largest], 18)} {part:.0%}")
        lines.append(f"BIG {risk.big[node]:.2f} + ICR {risk.icr[node]:.2f} = TIDI {risk.tidi[node]:.2f}")
        figures = [f"E {int(risk.error[node]):,}"] if len(self.labels) > 1 else []
        if risk.numeric is not None:
            numeric = risk.numeric
            p_value = "" if np.isnan(numeric.p_value[node]) else f" · p {numeric.p_value[node]:.2g}"
            figures.append(f"SSE {number_text(numeric.sse[node])}")
            lines.append(f"Δ {number_text(numeric.digression[node])}{p_value}")
        if figures:
            lines.append(" · ".join(figures))
        return [*lines, *([self.folded_text(node)] if node in self.excerpt.folded else [])]

    def folded_text(self, node: int) -> str:
        """Return what a folded branch holds: ▸ 12 groups of 345 records."""
        branch = slice(node, node + int(self.tree.size[node]))
        groups = int(self.is_group[branch].sum())
        if groups == 0 or self.is_group[node]:
            return f"▸ {int(self.tree.is_leaf[branch].sum()):,} merged leaves"
        return f"▸ {plural(groups, 'group')} of {plural(int(self.tree.n[node]), 'row')}"

    def full_lines(self, node: int) -> list[str]:
        """Return the lines of a node's tooltip: nothing shortened."""
        tree, risk = self.tree, self.risk
        pairs = zip(map(class_name, self.labels), tree.sums[node], strict=True)
        counts = ", ".join(f"{name} {int(count):,}" for name, count in pairs)
        return [
            f"Node {node}: {rule_text(tree, self.encodings, node, conditions=self.regions[node])}",
            plural(int(tree.n[node]), "row") + (f" ({counts})" if len(self.labels) > 1 else ""),
            *([] if tree.unit == "row" else [f"of {plural(int(tree.persons.n[node]), 'person')}"]),
            f"BIG {risk.big[node]:.3f} + ICR {risk.icr[node]:.3f} = TIDI {risk.tidi[node]:.3f} bits",
            *([f"E {int(risk.error[node]):,}"] if len(self.labels) > 1 else []),
            *branch_lines(risk, self.labels, node),
            *([] if risk.numeric is None else number_lines(risk.numeric, node)),
            *([below_text(self.below[node], self.k)] if node in self.below and self.is_group[node] else []),
        ]

    def stripes(self, node: int) -> str:
        """Return class shares as the stripes of a DOT fill."""
        merged = np.bincount(
            [self.ranks[code] for code in range(len(self.labels))], weights=self.tree.sums[node], minlength=len(GLYPHS)
        )
        parts = merged / max(merged.sum(), 1)
        wide = [(place, part) for place, part in enumerate(parts) if part >= 0.005]
        *first, last = wide or [(0, 1.0)]
        stripes = [f"{self.palette[f'class{place}']};{part:.4f}" for place, part in first]
        return ":".join([*stripes, self.palette[f"class{last[0]}"]])
