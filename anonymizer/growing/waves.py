"""Waves of growing: all nodes that are large enough are divided at once, each by its best split from histograms.

The histograms may be in this process, or wherever else a :class:`Splitter` has them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.records import BranchSource, Growth, Histograms, RecordSource
from anonymizer.growing.subtree import Division, Node, Split

KERNEL_CRITERIA = ("entropy", "gini", "sse")
"""The same by their number in the kernels."""

ABSENT = 2
"""The side of a level that a node does not hold."""

Orders = tuple[list[bool], NDArray[np.int16]]
"""Whether each of p columns is cut in its order, and by which public hierarchy: :func:`heights_of`."""


class Best(NamedTuple):
    """The best split of a node so far, from some of its columns: its ``score``, the columns that vary in the node, and
    records and sums of the left child; ``split`` is ``None`` when nothing gains."""

    score: float
    split: Split | None
    active: NDArray[np.uint8]
    n: int
    sums: NDArray[Any]


class Family(NamedTuple):
    """``nodes`` whose best splits are asked for: ``counted``, or its sibling, whose histograms are those of the
    ``parent``, a key, less those of ``counted``."""

    parent: int
    counted: Node
    nodes: tuple[Node, ...]


class Splitter(Protocol):
    """What chooses the best splits of nodes, wherever their histograms are."""

    def best(self, divisions: Sequence[Division], families: Sequence[Family]) -> list[Best]:
        """Send records down these splits, then return the best split of each node of the families, in their order."""


def divide_large(source: BranchSource, growth: Growth, splitter: Splitter) -> dict[int, Division]:
    """Return the divisions of large nodes by their keys, by the split that gains most.

    In waves: all nodes that are large enough are divided at once. Of two children the smaller one is counted, and the
    larger one's histograms are the parent's less those.
    """
    root = source.root()
    divisions: dict[int, Division] = {}

    def is_large(node: Node) -> bool:
        return node.n >= source.enough and node.depth != growth.max_depth

    now: list[Division] = []
    families = [Family(-1, root, (root,))] if is_large(root) else []
    while families or now:
        best = splitter.best(now, families)
        wave = [node for family in families for node in family.nodes]
        now, families = [], []
        for node, (_, split, active, n, sums) in zip(wave, best, strict=True):
            if split is None:
                continue
            left, right = children_of(node, active, n, sums, 1 + 2 * len(divisions))
            division = Division(node, split, left, right)
            now.append(division)
            divisions[node.key] = division
            smaller, larger = (left, right) if left.n < right.n else (right, left)
            if is_large(larger):
                families.append(Family(node.key, smaller, (smaller, larger) if is_large(smaller) else (larger,)))
    return divisions


class LocalSplitter:
    """The best splits of nodes whose histograms are in this process until their children have theirs."""

    def __init__(self, source: RecordSource, growth: Growth, orders: Orders) -> None:
        self.source, self.growth, self.orders = source, growth, orders
        self.whole: dict[int, Histograms] = {}

    def best(self, divisions: Sequence[Division], families: Sequence[Family]) -> list[Best]:
        """See :class:`Splitter`."""
        counted = self.source.divide(divisions, [family.counted for family in families])
        self.whole = histograms_of(families, self.whole, counted)
        nodes = [node for family in families for node in family.nodes]
        return [better(node, None, self.whole[node.key], self.orders, self.growth) for node in nodes]


def histograms_of(
    families: Sequence[Family], before: Mapping[int, Histograms], counted: Sequence[Histograms]
) -> dict[int, Histograms]:
    """Return the histograms of the nodes of some families by their keys. ``before``: of the parents; ``counted``: of
    the nodes that were counted."""
    return {
        node.key: cells if node.key == family.counted.key else subtract(before[family.parent], cells)
        for family, cells in zip(families, counted, strict=True)
        for node in family.nodes
    }


def division_of(
    node: Node, split: Split, active: NDArray[np.uint8], histograms: Histograms, criterion: int, key: int
) -> Division:
    """Return how a split divides a node, the sums of both children read from the histogram of its column.

    ``active``: the columns that vary in the children; ``key``: of the left child, whose sibling has the next.
    """
    n, sums = left_of(node, split, histograms[split.feature], criterion)
    return Division(node, split, *children_of(node, active, n, sums, key))


def left_of(node: Node, split: Split, histogram: NDArray[Any] | None, criterion: int) -> tuple[int, NDArray[Any]]:
    """Return records and sums of the left child, read from the histogram of the split's column."""
    assert histogram is not None
    cells = histogram.reshape(-1, len(node.sums))
    goes_left = np.arange(len(cells)) <= split.code_left if split.code_left >= 0 else split.side == 1
    sums = cells[goes_left].sum(axis=0, dtype=node.sums.dtype)
    return int(sums[0] if KERNEL_CRITERIA[criterion] == "sse" else sums.sum()), sums


def children_of(node: Node, active: NDArray[np.uint8], n: int, sums: NDArray[Any], key: int) -> tuple[Node, Node]:
    """Return both children of a node, the left one with so many records and these sums: see :func:`division_of`."""
    left = Node(key, node.depth + 1, n, sums, active)
    return left, Node(key + 1, node.depth + 1, node.n - n, node.sums - sums, active)


def choose_split(
    node: Node, histograms: Histograms, orders: Orders, growth: Growth
) -> tuple[Split, NDArray[np.uint8]] | None:
    """Return the best split of a node from its histograms and the columns that vary in it; ``None`` when nothing
    gains."""
    best = better(node, None, histograms, orders, growth)
    return None if best.split is None else (best.split, best.active)


def better(node: Node, before: Best | None, histograms: Histograms, orders: Orders, growth: Growth) -> Best:
    """Return the best split of a node from some of its columns, and ``before``, from the columns that stand before
    these: which gains are ties depends on the best so far, so columns are asked in their order."""
    from anonymizer import kernels

    best, split, active, n, sums = before or Best(
        kernels.purity(node.sums, node.n, growth.criterion, growth.table), None, node.active, 0, node.sums[:0]
    )
    active = active.copy()
    feature = -1 if split is None else split.feature
    for j, hist in enumerate(histograms):
        if hist is None:
            continue
        side = np.full(len(hist) // len(node.sums), ABSENT, dtype=np.uint8)
        best, code_left, code_right, beats, n_present = kernels.best_split_of_histogram(
            hist, node.sums, node.n, orders[0][j], orders[1][j], len(node.sums), growth.min_leaf,
            growth.criterion, growth.exhaustive_max, growth.table, growth.tolerance, best, side,
        )  # fmt: skip
        active[j] = n_present > 1
        if beats:
            split = Split(j, code_left, code_right, side)
    if split is not None and split.feature != feature:
        n, sums = left_of(node, split, histograms[split.feature], growth.criterion)
    return Best(best, split, active, n, sums)


def subtract(whole: Histograms, part: Histograms) -> Histograms:
    """Return the histograms of one child: the parent's less the other child's, which is the smaller one and read
    records."""
    return [None if b is None or a is None else a - b for a, b in zip(whole, part, strict=True)]
