"""Pruning: the same tree and a cut.

Splits are taken back, one branch after another, until every remaining group satisfies what was asked for. What is
kept is the order of these steps, so any moment between the grown tree and the result can be shown again.

A criterion says which branches offend and which of them goes first; the loop is the same for all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.risk import NodeRisk
from anonymizer.tree import Tree


@dataclass(frozen=True, eq=False)
class Pruning:
    """A tree and the branches that were collapsed into groups, in order.

    ``steps`` (q,): the node collapsed at each step. ``ratios`` (q,): what put it first (ω for ``error-risk``; NaN
    for ``least``, which needs no order: smaller nodes go first). ``smallest`` (q,): records of the smallest
    group inside the branch at that moment. ``satisfied``: whether every group of the result has k records.
    """

    tree: Tree
    criterion: str
    k: int
    steps: NDArray[np.int32]
    ratios: NDArray[np.float64]
    smallest: NDArray[np.int64]
    satisfied: bool

    @property
    def n_steps(self) -> int:
        """Number of steps q; after all of them the pruning is done."""
        return len(self.steps)

    def group_of_node(self, after: int | None = None) -> NDArray[np.int32]:
        """For each node (m,) the group that holds it after so many steps (all by default); -1 above the cut."""
        from anonymizer import kernels

        collapsed = np.zeros(self.tree.n_nodes, dtype=np.bool_)
        collapsed[self.steps[:after]] = True
        group = np.empty(self.tree.n_nodes, dtype=np.int32)
        kernels.groups_below(self.tree.parent, self.tree.feature, collapsed, group)
        return group

    def cut(self, after: int | None = None) -> NDArray[np.int32]:
        """The nodes that are groups after so many steps (all by default), in preorder."""
        group = self.group_of_node(after)
        return np.flatnonzero(group == np.arange(len(group))).astype(np.int32)


class Steps(NamedTuple):
    """What a criterion decides: nodes, ratios and smallest groups, each (q,)."""

    nodes: NDArray[np.int32]
    ratios: NDArray[np.float64]
    smallest: NDArray[np.int64]


def prune(tree: Tree, risk: NodeRisk, criterion: str = "least", k: int = 10) -> Pruning:
    """Collapse branches until every group has at least k records.

    ``least``: keep every split whose two sides both have k records, as long as the splits above it are kept: the
    largest tree that satisfies k, unique; every ``error-risk`` result is a pruning of it. ``error-risk`` (Y19,
    ERP): while some group has fewer than k records, collapse, of the branches that hold such a group, the one with
    the largest ω (10), updated after every step; ties: larger R(t) − R(B_t), then the lower node; the root only
    when nothing else is left. Ratios are compared at ten significant digits.

    When there are fewer than k records in all, everything is collapsed and ``satisfied`` is false.
    Raises :class:`ParameterError` for an unknown criterion or k below 1.
    """
    if criterion not in CRITERIA:
        raise ParameterError(
            f"There is no pruning criterion {criterion!r}.", remedy=f"Choose one of {', '.join(CRITERIA)}."
        )
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", remedy="Choose how many records a group must have.")
    steps = CRITERIA[criterion](tree, risk, k)
    for array in steps:
        array.flags.writeable = False
    return Pruning(tree, criterion, k, *steps, satisfied=bool(tree.n[0] >= k))


def least(tree: Tree, risk: NodeRisk, k: int) -> Steps:
    """The largest pruning that satisfies k; its steps go from small nodes to large ones."""
    from anonymizer import kernels

    kept, smaller_child = np.empty(tree.n_nodes, dtype=np.bool_), np.zeros(tree.n_nodes, dtype=np.int64)
    kernels.keep_splits(tree.parent, tree.size, tree.feature, tree.n, k, kept, smaller_child)
    undone = np.flatnonzero((tree.feature >= 0) & ~kept)
    nodes = undone[np.argsort(tree.n[undone], kind="stable")].astype(np.int32)
    return Steps(nodes, np.full(len(nodes), np.nan), smaller_child[nodes])


def error_risk(tree: Tree, risk: NodeRisk, k: int) -> Steps:
    """Error-risk pruning, Y19, with the root last."""
    from anonymizer import kernels

    return Steps(
        *kernels.prune_by_ratio(
            tree.parent, tree.size, tree.feature, tree.n, k, risk.tidi, risk.error.astype(np.float64)
        )
    )


CRITERIA: dict[str, Callable[[Tree, NodeRisk, int], Steps]] = {"least": least, "error-risk": error_risk}
"""Pruning criteria by name: (tree, risk, k) -> the steps in order."""
