"""A map of people: the tree from above, where width is people and colour is risk in words.

Every node is a box below its parent's, as wide as its part of the records. The boxes stand where the grown tree puts
them, so nothing moves when k or a pruning step changes: what is merged is a thin line, and groups are outlined.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.rules import regions, step_text
from anonymizer.drawing.shades import class_ranks, risk_levels, risk_scores
from anonymizer.drawing.words import chance_text, class_name, mean_text, visible_text
from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import Tree

if TYPE_CHECKING:
    from anonymizer.groups.prune import Pruning
    from anonymizer.groups.risk import NodeRisk

NARROWEST = 1 / 1000
"""Part of the width below which a box is left out: it would be a hair's breadth."""
MOST_BOXES = 1500
MOST_LEVELS = 14
"""Levels of boxes, from the node that is looked at."""
WIDE = 1 / 25
"""Part of the width from which a box has room for its condition."""


@dataclass(frozen=True, eq=False)
class PeopleMap:
    """The q boxes of a map, parents first; every array is (q,). They stay as they are while k and pruning change.

    ``nodes``; ``parent``: place of the parent's box, -1 for the first; ``left``, ``width``: shares of the whole width;
    ``level`` from 0; ``size``: persons; ``leaf``: of the grown tree; ``folded``: its branch goes on below what is
    drawn. ``words``: what somebody learns who knows that a person belongs here; ``conditions``: the last split in
    words, "" where the box is narrow.
    """

    focus: int
    nodes: NDArray[np.int64]
    parent: NDArray[np.int64]
    left: NDArray[np.float64]
    width: NDArray[np.float64]
    level: NDArray[np.int64]
    size: NDArray[np.int64]
    leaf: NDArray[np.bool_]
    folded: NDArray[np.bool_]
    words: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    unit: str

    @cached_property
    def text(self) -> str:
        """The boxes as JSON, for a browser: positions in hundred thousandths."""
        columns = (
            self.nodes, self.parent, _places(self.left), _places(self.width), self.level, self.size,
            self.leaf.astype(int), self.folded.astype(int),
        )  # fmt: skip
        boxes = list(zip(*(column.tolist() for column in columns), strict=True))
        parts = {"boxes": boxes, "words": self.words, "conditions": self.conditions, "unit": self.unit}
        return json.dumps(parts, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class MapStates:
    """What becomes of the q boxes of a map while a tree is pruned; every array is (q,).

    ``shade``: risk level 1 to 6, or 0 to 3 for the rank of the largest class; ``merged``: the pruning step, from 1, at
    which the node became a group, 0 for never; ``gone``: the step at which a node above it did. ``left_out``: groups
    after all ``n_steps`` that are too narrow to be drawn.
    """

    shade: NDArray[np.int64]
    merged: NDArray[np.int64]
    gone: NDArray[np.int64]
    n_steps: int
    left_out: int

    def payload(self) -> dict[str, Any]:
        """Return the states as plain lists, for a browser."""
        columns = self.shade.tolist(), self.merged.tolist(), self.gone.tolist()
        return {"states": list(zip(*columns, strict=True)), "steps": self.n_steps}


def _places(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.rint(shares * 100_000), np.int64)


def people_map(
    tree: Tree, risk: "NodeRisk", encodings: tuple[Encoding, ...], labels: tuple[str | None, ...], focus: int = 0
) -> PeopleMap:
    """Return the map of a grown tree below the node ``focus``. ``labels``: the target's c classes.

    At most :data:`MOST_BOXES` boxes, the widest, of :data:`MOST_LEVELS` levels.
    """
    nodes = _boxes(tree, focus)
    parent = np.searchsorted(nodes, tree.parent[nodes])
    parent[0] = -1
    before = np.concatenate(([0], np.cumsum(np.where(tree.is_leaf, tree.n, 0))))[nodes]
    whole = max(int(tree.n[focus]), 1)
    width = tree.n[nodes] / whole
    leaf = tree.is_leaf[nodes]
    folded = ~leaf & ~np.isin(np.arange(len(nodes)), parent)
    region_of = regions(tree, encodings, (int(node) for node in nodes[width >= WIDE]))
    conditions = tuple(
        step_text(tree, encodings, int(node), brief=True, conditions=region_of[int(node)]) if part >= WIDE else ""
        for node, part in zip(nodes, width, strict=True)
    )
    return PeopleMap(
        focus, nodes.astype(np.int64), parent, (before - before[0]) / whole, width,
        (tree.depth[nodes] - tree.depth[focus]), tree.persons.n[nodes], leaf, folded,
        learnt(tree, risk, labels, nodes), conditions, tree.unit,
    )  # fmt: skip


def map_states(people: PeopleMap, pruning: "Pruning", risk: "NodeRisk", colour_by: str = "sure") -> MapStates:
    """Return what becomes of the boxes of a map with all pruning steps of its tree.

    ``colour_by``: a key of :data:`anonymizer.drawing.shades.COLOURS`.
    """
    tree, nodes = pruning.tree, people.nodes
    merged, gone = merge_steps(pruning)
    if colour_by == "classes":
        ranks = class_ranks(tree)
        shade = np.array([ranks[int(code)] for code in tree.sums[nodes].argmax(axis=1)], dtype=np.int64)
    else:
        shade = risk_levels(risk_scores(tree, risk, colour_by), colour_by, pruning.k)[nodes]
    cut = pruning.cut()
    inside = cut[(cut >= people.focus) & (cut < people.focus + tree.size[people.focus])]
    left_out = int(np.sum(~np.isin(inside, nodes)))
    return MapStates(shade, merged[nodes], gone[nodes], pruning.n_steps, left_out)


def learnt(
    tree: Tree, risk: "NodeRisk", labels: tuple[str | None, ...], nodes: NDArray[np.int64]
) -> tuple[tuple[str, str], ...]:
    """Return for each node what somebody learns who knows that a person belongs to it, as a chance and what of: ``1 in
    3``, ``Fracture``; of numbers the mean; how many look alike where nothing is sensitive."""
    if len(labels) > 1:
        counts, names = tree.sums[nodes], [class_name(label, 24) for label in labels]
        largest = counts.argmax(axis=1)
        chances = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
        return tuple((chance_text(chance), names[at]) for chance, at in zip(chances.tolist(), largest, strict=True))
    if risk.numeric is not None:
        numeric, name = risk.numeric, visible_text(risk.numeric.titles[0], 24)
        return tuple((f"mean {mean_text(numeric, int(node), 0)}", name) for node in nodes)
    return tuple((f"1 in {size:,}", "") for size in tree.persons.n[nodes].tolist())


def merge_steps(pruning: "Pruning") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each node (m,) the pruning step, from 1, at which it became a group, and at which a node above it
    did; 0 for never."""
    tree = pruning.tree
    merged = np.zeros(tree.n_nodes, dtype=np.int64)
    merged[pruning.steps] = np.arange(1, pruning.n_steps + 1)
    never = np.iinfo(np.int64).max
    at = np.where(merged > 0, merged, never)
    gone = np.full(tree.n_nodes, never)
    order = np.argsort(tree.depth, kind="stable")
    starts = np.searchsorted(tree.depth[order], np.arange(1, int(tree.depth.max()) + 2))
    for first, end in zip(starts, starts[1:], strict=False):
        nodes = order[first:end]
        above = tree.parent[nodes]
        gone[nodes] = np.minimum(gone[above], at[above])
    return merged, np.where(gone == never, 0, gone)


def _boxes(tree: Tree, focus: int) -> NDArray[np.int64]:
    """Return the nodes that are drawn, in preorder: the widest, not too deep, each with its parent."""
    branch = np.arange(focus, focus + int(tree.size[focus]))
    wide = tree.n[branch] >= tree.n[focus] * NARROWEST
    shallow = tree.depth[branch] - tree.depth[focus] < MOST_LEVELS
    nodes = branch[wide & shallow]
    if len(nodes) > MOST_BOXES:
        nodes = nodes[np.lexsort((tree.depth[nodes], -tree.n[nodes]))[:MOST_BOXES]]
    return np.sort(nodes)
