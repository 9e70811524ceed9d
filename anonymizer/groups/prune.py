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
from anonymizer.groups.limits import margins
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.tree import Tree
from anonymizer.settings import Limits

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pruning:
    """A tree and the branches that were collapsed into groups, in order.

    ``steps`` (q,): the node collapsed at each step. ``ratios`` (q,): what put it first (ω for ``error-risk``, q for
    ``error-digression``; NaN for ``least``, which needs no order: smaller nodes go first). ``smallest`` (q,): persons
    of the smallest group inside the branch at that moment. ``satisfied``: whether every group of the result passes.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> pruning = an.prune(tree, an.annotate(tree, encoded), k=10)
    >>> pruning.satisfied, len(pruning.steps) > 0
    (True, True)
    """

    tree: Tree
    criterion: str
    k: int
    steps: NDArray[np.int32]
    ratios: NDArray[np.float64]
    smallest: NDArray[np.int64]
    satisfied: bool

    def __repr__(self) -> str:
        verdict = "" if self.satisfied else ", not satisfied"
        return f"Pruning by {self.criterion} for k = {self.k:,}: {len(self.steps):,} steps{verdict}"

    @property
    def n_steps(self) -> int:
        """Number of steps q; after all of them the pruning is done."""
        return len(self.steps)

    def group_of_node(self, after: int | None = None) -> NDArray[np.int32]:
        """Return for each node (m,) the group that holds it after so many steps (all by default); -1 above the cut."""
        from anonymizer import kernels

        collapsed = np.zeros(self.tree.n_nodes, dtype=np.bool_)
        collapsed[self.steps[:after]] = True
        group = np.empty(self.tree.n_nodes, dtype=np.int32)
        kernels.groups_below(self.tree.parent, self.tree.feature, collapsed, group)
        return group

    def cut(self, after: int | None = None) -> NDArray[np.int32]:
        """Return the nodes that are groups after so many steps (all by default), in preorder."""
        group = self.group_of_node(after)
        return np.flatnonzero(group == np.arange(len(group))).astype(np.int32)


ROOM = 4
"""Regions have so many times k persons. On the five tables that it was chosen by, packed groups lose at most 0.5% more
than without the borders of regions: docs/experiments/releasing.md."""


class Steps(NamedTuple):
    """What a criterion decides: nodes, ratios and smallest groups, each (q,)."""

    nodes: NDArray[np.int32]
    ratios: NDArray[np.float64]
    smallest: NDArray[np.int64]


def prune(
    tree: Tree,
    risk: NodeRisk,
    criterion: str = "least",
    k: int = 10,
    *,
    limits: Limits | None = None,
    encoded: EncodedTable | None = None,
) -> Pruning:
    """Collapse branches until every group satisfies k and the other ``limits``, when some are given.

    ``least``: keep every split whose two sides both pass, as long as the splits above it are kept. With k alone this
    is the largest tree that satisfies it, unique. ``regions``: the same, of sides of :data:`ROOM` times k.
    ``error-risk`` (Y19, ERP): while some group fails, collapse, of
    the branches that hold such a group, the one with the largest ω (10), updated after every step; ties: larger
    R(t) − R(B_t), then the lower node; the root only when nothing else is left. ``error-digression`` (L09, EDP): while
    a branch holds a group that fails, or its own covariance test is significant, collapse of these the one with the
    smallest q (8), then the lower node. Ratios are compared at ten significant digits.

    ``limits`` (their k counts, then) need ``encoded``, for its encodings. When even the whole table fails,
    everything is collapsed and ``satisfied`` is false; :func:`anonymizer.groups.limits.margins` says by how much.
    Raises :class:`ParameterError` for an unknown criterion, k below 1, or ``error-digression`` without numeric
    sensitive columns.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> pruning = an.prune(tree, an.annotate(tree, encoded), "error-risk", k=10)
    >>> pruning.satisfied
    True
    """
    if criterion not in CRITERIA:
        raise ParameterError(
            f"There is no pruning criterion {criterion!r}.", remedy=f"Choose one of {', '.join(CRITERIA)}."
        )
    if criterion == "error-digression" and risk.numeric is None:
        raise ParameterError(
            "Error-digression pruning needs a numeric sensitive column.",
            remedy="Make one sensitive, or prune by least or error-risk.",
        )
    bounds = limits or Limits(k=k)
    flags = failing(tree, risk, criterion, bounds, None if limits is None else encoded)
    return collapse(tree, risk, criterion, bounds.k, *flags)


def failing(
    tree: Tree, risk: NodeRisk, criterion: str, limits: Limits, encoded: EncodedTable | None
) -> tuple[Flags, Flags]:
    """Return which nodes fail as groups, by k alone without ``encoded``, and which branches offend by themselves, both
    (m,)."""
    bounds = limits.but(k=fewest(criterion, limits.k, int(tree.persons.n[0])))
    if encoded is None:
        fails = tree.persons.n < bounds.k
    else:
        fails = ~np.logical_and.reduce([margin.passes for margin in margins(tree, risk, encoded, bounds)])
    return fails, offenders(tree, risk, bounds)


def fewest(criterion: str, k: int, persons: int) -> int:
    """Return how many of the persons of a table a criterion wants in each group: k, and more where groups will be made
    inside."""
    return max(k, min(ROOM * k, persons)) if criterion == "regions" else k


def offenders(tree: Tree, risk: NodeRisk, limits: Limits) -> Flags:
    """Return (m,) True for branches that offend by themselves: a significant covariance test, when it is on for inner
    nodes."""
    if limits.significance is None or limits.tested != "inner" or risk.numeric is None:
        return np.zeros(tree.n_nodes, dtype=np.bool_)
    return np.asarray((risk.numeric.p_in(limits.test_form) < limits.significance) & ~tree.is_leaf)


def collapse(tree: Tree, risk: NodeRisk, criterion: str, k: int, fails: Flags, offends: Flags) -> Pruning:
    """Return what :func:`prune` does when it is known which nodes fail as groups and which branches offend, both
    (m,)."""
    steps = CRITERIA[criterion](tree, risk, fails, offends)
    for array in steps:
        array.flags.writeable = False
    collapsed = len(steps.nodes) > 0 and steps.nodes[-1] == 0
    satisfied = not (fails[0] and (collapsed or tree.n_nodes == 1))
    return Pruning(tree, criterion, k, *steps, satisfied=satisfied)


def least(tree: Tree, risk: NodeRisk, fails: Flags, offends: Flags) -> Steps:
    """Return the largest pruning in which no group fails, from the top; its steps go from small nodes to large ones."""
    from anonymizer import kernels

    keeps, smaller_child = np.empty(tree.n_nodes, dtype=np.bool_), np.zeros(tree.n_nodes, dtype=np.int64)
    kernels.keep_splits(tree.parent, tree.size, tree.feature, tree.persons.n, fails, keeps, smaller_child)
    removals = np.flatnonzero((tree.feature >= 0) & ~keeps)
    nodes = removals[np.argsort(tree.n[removals], kind="stable")].astype(np.int32)
    return Steps(nodes, np.full(len(nodes), np.nan), smaller_child[nodes])


def error_risk(tree: Tree, risk: NodeRisk, fails: Flags, offends: Flags) -> Steps:
    """Return the steps of error-risk pruning, Y19, with the root last."""
    return by_ratio(tree, risk.tidi, risk.error.astype(np.float64), True, fails, np.zeros_like(offends))


def error_digression(tree: Tree, risk: NodeRisk, fails: Flags, offends: Flags) -> Steps:
    """Return the steps of error-digression pruning, L09 and L14."""
    assert risk.numeric is not None
    return by_ratio(tree, risk.numeric.sse, risk.numeric.digression, False, fails, offends)


def by_ratio(tree: Tree, first: Floats, second: Floats, risk_first: bool, fails: Flags, offends: Flags) -> Steps:
    """Return the steps of the loop that both papers share: :func:`anonymizer.groups.prune_kernels.prune_by_ratio`."""
    from anonymizer.groups.prune_kernels import prune_by_ratio

    return Steps(
        *prune_by_ratio(tree.parent, tree.size, tree.feature, tree.persons.n, first, second, risk_first, fails, offends)
    )


CRITERIA: dict[str, Callable[[Tree, NodeRisk, Flags, Flags], Steps]] = {
    "least": least,
    "regions": least,
    "error-risk": error_risk,
    "error-digression": error_digression,
}
"""Pruning criteria by name: (tree, risk, which nodes fail as groups, which branches offend by themselves) -> steps."""
