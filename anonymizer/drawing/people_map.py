"""A map of people: the tree from above, where width is people and colour is risk in words.

Every node is a box below its parent's, as wide as its part of the records. The boxes stand where the grown tree puts
them, so nothing moves when k or a pruning step changes: what is merged is hatched, and groups are outlined.
"""

from dataclasses import dataclass
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
    """The q boxes of a map, parents first; every array is (q,).

    ``nodes``; ``parent``: place of the parent's box, -1 for the first; ``left``, ``width``: shares of the whole width;
    ``level`` from 0; ``shade``: risk level 1 to 5, or 0 to 3 for the rank of the largest class; ``merged``: the pruning
    step, from 1, at which the node became a group, 0 for never; ``gone``: the step at which a node above it did.
    ``leaf``: of the grown tree; ``folded``: its branch goes on below what is drawn. ``words``: what somebody learns who
    knows that a person belongs here; ``conditions``: the last split in words, "" where the box is narrow.
    ``left_out``: groups after all steps that are too narrow to be drawn.
    """

    nodes: NDArray[np.int64]
    parent: NDArray[np.int64]
    left: NDArray[np.float64]
    width: NDArray[np.float64]
    level: NDArray[np.int64]
    shade: NDArray[np.int64]
    size: NDArray[np.int64]
    merged: NDArray[np.int64]
    gone: NDArray[np.int64]
    leaf: NDArray[np.bool_]
    folded: NDArray[np.bool_]
    words: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    unit: str
    n_steps: int
    left_out: int

    def is_group(self, after: int) -> NDArray[np.bool_]:
        """Return (q,) True for the groups after so many pruning steps."""
        was_merged = (self.merged > 0) & (self.merged <= after)
        return (self.leaf | was_merged) & ~((self.gone > 0) & (self.gone <= after))

    def payload(self) -> dict[str, Any]:
        """Return the map as plain lists, for a browser: positions to five digits."""
        columns = (
            self.nodes, self.parent, self.left.round(5), self.width.round(5), self.level, self.shade, self.size,
            self.merged, self.gone, self.leaf.astype(int), self.folded.astype(int),
        )  # fmt: skip
        return {
            "boxes": [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)],
            "words": [list(words) for words in self.words],
            "conditions": list(self.conditions),
            "unit": self.unit,
            "steps": self.n_steps,
        }


def people_map(
    pruning: "Pruning",
    risk: "NodeRisk",
    encodings: tuple[Encoding, ...],
    labels: tuple[str | None, ...],
    *,
    colour_by: str = "sure",
    focus: int = 0,
) -> PeopleMap:
    """Return the map of a tree with all its pruning steps, below the node ``focus``.

    ``labels``: the target's c classes; ``colour_by``: a key of :data:`anonymizer.drawing.shades.COLOURS`. At most
    :data:`MOST_BOXES` boxes, the widest, of :data:`MOST_LEVELS` levels.
    """
    tree = pruning.tree
    nodes = _boxes(tree, focus)
    place = {int(node): at for at, node in enumerate(nodes)}
    parent = np.searchsorted(nodes, tree.parent[nodes])
    parent[0] = -1
    before = np.concatenate(([0], np.cumsum(np.where(tree.is_leaf, tree.n, 0))))[nodes]
    whole = max(int(tree.n[focus]), 1)
    merged, gone = merge_steps(pruning)
    width = tree.n[nodes] / whole
    if colour_by == "classes":
        ranks = class_ranks(tree)
        shade = np.array([ranks[int(code)] for code in tree.sums[nodes].argmax(axis=1)], dtype=np.int64)
    else:
        shade = risk_levels(risk_scores(tree, risk, colour_by), colour_by, pruning.k)[nodes]
    leaf = tree.is_leaf[nodes]
    folded = ~leaf & ~np.isin(np.arange(len(nodes)), parent)
    region_of = regions(tree, encodings, (int(node) for node in nodes[width >= WIDE]))
    conditions = tuple(
        step_text(tree, encodings, int(node), brief=True, conditions=region_of[int(node)]) if part >= WIDE else ""
        for node, part in zip(nodes, width, strict=True)
    )
    cut = pruning.cut()
    inside = cut[(cut >= focus) & (cut < focus + tree.size[focus])]
    return PeopleMap(
        nodes.astype(np.int64), parent, (before - before[0]) / whole, width, (tree.depth[nodes] - tree.depth[focus]),
        shade, tree.persons.n[nodes], merged[nodes], gone[nodes], leaf, folded,
        tuple(learnt(tree, risk, labels, int(node)) for node in nodes), conditions,
        tree.unit, pruning.n_steps, sum(int(node) not in place for node in inside),
    )  # fmt: skip


def learnt(tree: Tree, risk: "NodeRisk", labels: tuple[str | None, ...], node: int) -> tuple[str, str]:
    """Return what somebody learns who knows that a person belongs to a node, as a chance and what of: ``1 in 3``,
    ``Fracture``; of numbers the mean; how many look alike where nothing is sensitive."""
    if len(labels) > 1:
        counts = tree.sums[node]
        largest = int(counts.argmax())
        return chance_text(counts[largest] / max(int(counts.sum()), 1)), class_name(labels[largest], 24)
    if risk.numeric is not None:
        return f"mean {mean_text(risk.numeric, node, 0)}", visible_text(risk.numeric.names[0], 24)
    return f"1 in {int(tree.persons.n[node]):,}", ""


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
