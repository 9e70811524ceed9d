"""How a tree parts the cells that earlier releases leave: sums on its nodes, to explain and not to steer.

The records of a cell stand in preorder of their leaves. A node holds k of them when it holds some k neighbours, that
is when it is at or above their lowest common ancestor; neighbouring runs of k in one node have k + 1 neighbours there.
So the cells with k records in a node are the sum, over its branch, of a one at the ancestor of every k neighbours and
of minus one at that of every k + 1. The sums cost O(n log n).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError

Numbers = NDArray[np.integer[Any]]


def small_cells(parent: Numbers, size: Numbers, leaf: Numbers, cell: Numbers, k: int) -> NDArray[np.int64]:
    """Return (m,) how many earlier cells have 1 to k - 1 records in each node of a tree in preorder.

    ``parent``, ``size`` (m,): of the nodes, as of :class:`anonymizer.growing.tree.Tree`; ``leaf``, ``cell`` (n,): of
    each record. Raises :class:`ParameterError` for a k below 1.
    """
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", value=k, remedy="Ten is a common choice.")
    order = np.lexsort((leaf, cell))
    leaf, cell = np.asarray(leaf, np.int64)[order], np.asarray(cell)[order]
    ancestors = Ancestors(np.asarray(parent, np.int64), np.asarray(size, np.int64))
    marks = sum(sign * marks_at(ancestors, leaf, cell, run) for sign, run in ((1, 1), (-1, 2), (-1, k), (1, k + 1)))
    total = np.concatenate([[0], np.cumsum(marks)])
    nodes = np.arange(len(ancestors.size))
    return np.asarray(total[nodes + ancestors.size] - total[nodes])


def marks_at(ancestors: "Ancestors", leaf: NDArray[np.int64], cell: Numbers, run: int) -> NDArray[np.int64]:
    """Return (m,) how many runs of so many neighbours of a cell have each node as their lowest common ancestor.
    ``leaf``, ``cell`` (n,): sorted by cell, then leaf."""
    first = np.arange(max(0, len(leaf) - run + 1))
    first = first[cell[first] == cell[first + run - 1]]
    nodes = ancestors.lowest(leaf[first], leaf[first + run - 1])
    return np.bincount(nodes, minlength=len(ancestors.size)).astype(np.int64)


class Ancestors:
    """The ancestors of nodes of a tree in preorder, 1, 2, 4 … steps above each; the root is above itself."""

    def __init__(self, parent: NDArray[np.int64], size: NDArray[np.int64]) -> None:
        self.size = size
        steps = [np.maximum(parent, 0)]
        while (steps[-1] > 0).any():
            steps.append(steps[-1][steps[-1]])
        self.steps = tuple(steps)

    def lowest(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (q,) the lowest node at or above both of two nodes, the first of which does not stand behind."""
        node = first.copy()
        for above in reversed(self.steps):
            higher = above[node]
            node = np.where(higher + self.size[higher] <= last, higher, node)
        return np.asarray(np.where(node + self.size[node] <= last, self.steps[0][node], node))
