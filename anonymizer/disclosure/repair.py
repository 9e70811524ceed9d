"""Making a tree fit to publish: take back questions until nobody's posterior exceeds a bound (Z10's future work).

With error rates alone the answer is the best there is. An offending leaf can only be cured by making its parent a
leaf, and the largest share of a union never exceeds those of its parts; so every step is forced, in whatever order,
and what is left is the largest tree, with the least error, that keeps the bound. Totals and internal constraints
join leaves; then the branch that adds the least error goes first and the estimate is made anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import ROUNDING, Exposure, assess, highest_of_leaf
from anonymizer.disclosure.outline import KeyedTree, lay_keys, truncate
from anonymizer.errors import Cancelled, ParameterError, Progress

AT_ONCE = 8
"""With more offending branches than this, the half that adds the least error goes in one round."""


COUNT = partial(assess, exact=True)
"""Assess a tree as a bound needs it: by whole people where these can be counted."""


@dataclass(frozen=True, eq=False)
class Repair:
    """One way to keep a bound: what is published then, the tree, how exposed people are, and what it costs.

    ``origin`` (m',): the node of the original tree that each node of ``tree`` was. ``accuracy``: share of records with
    the label of their leaf; ``accuracy_before``: before. ``possible``: ``True`` where the bound is kept.
    """

    how: str
    tree: KeyedTree
    origin: tuple[int, ...]
    exposure: Exposure
    bound: float
    possible: bool
    steps: int
    accuracy: float
    accuracy_before: float

    @property
    def knowledge(self) -> Knowledge:
        """The adversary's knowledge of the repaired tree."""
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
    """Return the ways to keep ``bound``, those that cost no accuracy first: withhold figures, or prune.

    Withholding: error rates, then class totals as well, as far as they are published; it is listed where it alone
    suffices. Pruning is always listed. Raises :class:`ParameterError` unless the bound is above 1/c and at most 1.
    """
    if not 1 / tree.n_classes < bound <= 1:
        raise ParameterError(
            f"The bound must be above 1/{tree.n_classes}, which is a blind guess, and at most 1.",
            value=bound,
            remedy="Choose another bound.",
        )
    look = partial(assess, starts=starts, progress=progress, cancelled=cancelled, exact=True)
    ways = []
    now = look(tree, knowledge)
    origin = tuple(range(tree.outline.n_nodes))
    accuracy = accuracy_of(tree)
    if now.keeps(bound):
        return (Repair("as it is", tree, origin, now, bound, True, 0, accuracy, accuracy),)
    for how, weaker in withholdings(knowledge):
        exposure = look(tree, weaker)
        if exposure.keeps(bound):
            ways.append(Repair(how, tree, origin, exposure, bound, True, 0, accuracy, accuracy))
            break
    return (*ways, prune_to(tree, knowledge, bound, look))


def withholdings(knowledge: Knowledge) -> Iterator[tuple[str, Knowledge]]:
    """Yield what could be kept back, the smaller sacrifice first."""
    if knowledge.rates:
        yield "withhold the error rates", replace(knowledge, rates=False)
    if knowledge.totals:
        yield "withhold the class totals", replace(knowledge, totals=False)
        if knowledge.rates:
            yield "withhold error rates and class totals", replace(knowledge, rates=False, totals=False)


def prune_to(
    tree: KeyedTree, knowledge: Knowledge, bound: float, look: Callable[[KeyedTree, Knowledge], Exposure] = COUNT
) -> Repair:
    """Return the tree pruned bottom-up, least added error first, until nobody exceeds the bound or the root is left.

    ``look``: assesses a tree.
    """
    before = accuracy_of(tree)
    now, origin = tree, np.arange(tree.outline.n_nodes)
    if knowledge.rates:  # what a leaf says by itself is forced; it needs no solver
        now, origin = prune_pure(now, origin, bound)
    exposure = look(now, knowledge)
    while not exposure.keeps(bound) and now.outline.n_nodes > 1:
        offending = highest_of_leaf(now, exposure.highest) > bound + ROUNDING
        nodes = cheapest(now, offending)
        now, origin = make_leaves(now, origin, nodes[:1] if len(nodes) <= AT_ONCE else nodes[: len(nodes) // 2])
        if knowledge.rates:
            now, origin = prune_pure(now, origin, bound)
        exposure = look(now, knowledge)
    steps = int((tree.outline.feature[origin] >= 0).sum() - (now.outline.feature >= 0).sum())
    return Repair(
        "prune",
        now,
        tuple(int(node) for node in origin),
        exposure,
        bound,
        exposure.keeps(bound),
        steps,
        accuracy_of(now),
        before,
    )


def prune_pure(tree: KeyedTree, origin: NDArray[Any], bound: float) -> tuple[KeyedTree, NDArray[Any]]:
    """Return the tree in which no leaf is purer than the bound, or only the root is left."""
    while tree.outline.n_nodes > 1:
        nodes = cheapest(tree, tree.correct / np.maximum(tree.n, 1) > bound + ROUNDING)
        if not len(nodes):
            break
        tree, origin = make_leaves(tree, origin, nodes)
    return tree, origin


def cheapest(tree: KeyedTree, offending: NDArray[Any]) -> NDArray[Any]:
    """Return the parents of offending leaves with records, those first whose branch adds the least error."""
    leaves = tree.outline.leaves
    guilty = leaves[offending[leaves] & (tree.n[leaves] > 0)]
    parents = np.unique(tree.outline.parent[guilty])
    parents = parents[parents >= 0]
    occupied = leaves[tree.n[leaves] > 0]
    wrong = np.zeros(tree.n_keys + 1, dtype=np.int64)
    wrong[tree.first[occupied] + 1] = tree.error[occupied]
    errors = np.cumsum(wrong)
    added = tree.error[parents] - (errors[tree.last[parents]] - errors[tree.first[parents]])
    return np.asarray(parents[np.argsort(added, kind="stable")])


def make_leaves(tree: KeyedTree, origin: NDArray[Any], nodes: NDArray[Any]) -> tuple[KeyedTree, NDArray[Any]]:
    """Return the tree in which these nodes are leaves."""
    outline, old = truncate(tree.outline, nodes)
    return lay_keys(outline, tree.keys), origin[old]


def accuracy_of(tree: KeyedTree) -> float:
    """Return the share of records that have the label of their leaf."""
    leaves = tree.outline.leaves
    return float(1 - tree.error[leaves].sum() / tree.n_records)
