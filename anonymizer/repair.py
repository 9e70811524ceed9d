"""Making a tree fit to publish: take back questions until nobody's posterior exceeds a bound (Z10's future work).

With error rates alone the answer is the best there is. An offending leaf can only be cured by making its parent a
leaf, and the largest share of a union never exceeds those of its parts; so every step is forced, in whatever order,
and what is left is the largest tree, with the least error, that keeps the bound. Totals and internal constraints
join leaves; then the branch that adds the least error goes first and the estimate is made anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.constraints import Knowledge
from anonymizer.disclosure import ROUNDING, Exposure, assess, highest_of_leaf
from anonymizer.errors import ParameterError
from anonymizer.maxent import Cancelled, Progress
from anonymizer.outline import KeyedTree, collapsed, keyed

AT_ONCE = 8
"""With more offending branches than this, the half that adds the least error goes in one round."""


@dataclass(frozen=True, eq=False)
class Repair:
    """One way to keep a bound: what is published then, the tree, how exposed people are, and what it costs.

    ``kept`` (m',): the node of the original tree that each node of ``tree`` was. ``accuracy``: share of records with
    the label of their leaf; ``accuracy_before``: before. ``possible``: whether the bound is kept.
    """

    how: str
    tree: KeyedTree
    kept: tuple[int, ...]
    exposure: Exposure
    bound: float
    possible: bool
    steps: int
    accuracy: float
    accuracy_before: float

    @property
    def knowledge(self) -> Knowledge:
        """What the adversary knows of the repaired tree."""
        return self.exposure.knowledge


def repairs(
    tree: KeyedTree,
    knowledge: Knowledge,
    bound: float,
    *,
    starts: int = 1,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Repair, ...]:
    """The ways to keep ``bound``, those that cost no accuracy first: withhold figures, or prune.

    Withholding: error rates, then class totals as well, as far as they are published; it is listed where it alone
    suffices. Pruning is always listed. Raises :class:`ParameterError` unless the bound is above 1/c and at most 1.
    """
    if not 1 / tree.n_classes < bound <= 1:
        raise ParameterError(
            f"The bound must be above 1/{tree.n_classes}, which is a blind guess, and at most 1.",
            value=bound,
            remedy="Choose another bound.",
        )
    found = []
    now = assess(tree, knowledge, starts=starts, progress=progress, cancelled=cancelled)
    kept = tuple(range(tree.outline.n_nodes))
    accuracy = accuracy_of(tree)
    if keeps(now, bound):
        return (Repair("as it is", tree, kept, now, bound, True, 0, accuracy, accuracy),)
    for how, less in withheld(knowledge):
        exposure = assess(tree, less, starts=starts, progress=progress, cancelled=cancelled)
        if keeps(exposure, bound):
            found.append(Repair(how, tree, kept, exposure, bound, True, 0, accuracy, accuracy))
            break
    found.append(pruned_to(tree, knowledge, bound, starts=starts, progress=progress, cancelled=cancelled))
    return tuple(found)


def withheld(knowledge: Knowledge) -> Iterator[tuple[str, Knowledge]]:
    """What could be kept back, the smaller sacrifice first."""
    if knowledge.rates:
        yield "withhold the error rates", replace(knowledge, rates=False)
    if knowledge.totals:
        yield "withhold the class totals", replace(knowledge, totals=False)
        if knowledge.rates:
            yield "withhold error rates and class totals", replace(knowledge, rates=False, totals=False)


def pruned_to(
    tree: KeyedTree,
    knowledge: Knowledge,
    bound: float,
    *,
    starts: int = 1,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Repair:
    """Prune bottom-up, the least added error first, until nobody exceeds the bound or the root is left."""
    before = accuracy_of(tree)
    now, kept = tree, np.arange(tree.outline.n_nodes)
    if knowledge.rates:  # what a leaf says by itself is forced; it needs no solver
        now, kept = prune_while(now, kept, lambda held: held.correct / np.maximum(held.n, 1) > bound + ROUNDING)
    exposure = assess(now, knowledge, starts=starts, progress=progress, cancelled=cancelled)
    while not keeps(exposure, bound) and now.outline.n_nodes > 1:
        offending = highest_of_leaf(now, exposure.figures.highest) > bound + ROUNDING
        nodes = cheapest(now, offending)
        now, kept = without(now, kept, nodes[:1] if len(nodes) <= AT_ONCE else nodes[: len(nodes) // 2])
        if knowledge.rates:
            now, kept = prune_while(now, kept, lambda held: held.correct / np.maximum(held.n, 1) > bound + ROUNDING)
        exposure = assess(now, knowledge, starts=starts, progress=progress, cancelled=cancelled)
    steps = int((tree.outline.feature[kept] >= 0).sum() - (now.outline.feature >= 0).sum())
    return Repair(
        "prune",
        now,
        tuple(int(node) for node in kept),
        exposure,
        bound,
        keeps(exposure, bound),
        steps,
        accuracy_of(now),
        before,
    )


def prune_while(
    tree: KeyedTree, kept: NDArray[Any], offends: Callable[[KeyedTree], NDArray[Any]]
) -> tuple[KeyedTree, NDArray[Any]]:
    """Make the parents of offending leaves leaves, until none offends or only the root is left."""
    while tree.outline.n_nodes > 1:
        nodes = cheapest(tree, offends(tree))
        if not len(nodes):
            break
        tree, kept = without(tree, kept, nodes)
    return tree, kept


def cheapest(tree: KeyedTree, offending: NDArray[Any]) -> NDArray[Any]:
    """The parents of offending leaves with records, those first whose branch adds the least error."""
    leaves = tree.outline.leaves
    guilty = leaves[offending[leaves] & (tree.n[leaves] > 0)]
    parents = np.unique(tree.outline.parent[guilty])
    parents = parents[parents >= 0]
    held = leaves[tree.n[leaves] > 0]
    wrong = np.zeros(tree.n_keys + 1, dtype=np.int64)
    wrong[tree.first[held] + 1] = tree.error[held]
    errors = np.cumsum(wrong)
    added = tree.error[parents] - (errors[tree.last[parents]] - errors[tree.first[parents]])
    return np.asarray(parents[np.argsort(added, kind="stable")])


def without(tree: KeyedTree, kept: NDArray[Any], nodes: NDArray[Any]) -> tuple[KeyedTree, NDArray[Any]]:
    """The tree in which these nodes are leaves."""
    outline, left = collapsed(tree.outline, nodes)
    return keyed(outline, tree.keys), kept[left]


def keeps(exposure: Exposure, bound: float) -> bool:
    """Whether nobody's posterior exceeds the bound, by an estimate that can be relied on."""
    return exposure.estimate.converged and exposure.figures.highest_posterior <= bound + ROUNDING


def accuracy_of(tree: KeyedTree) -> float:
    """Share of records that have the label of their leaf."""
    leaves = tree.outline.leaves
    return float(1 - tree.error[leaves].sum() / tree.n_records)
