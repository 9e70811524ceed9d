"""One private tree: nodes that hold noisy answers only, and what can be worked out from them without the records.

Everything here is post-processing: it costs no budget.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError

Floats = NDArray[np.float64]

PULL = 4.0
"""The pull of class shares towards the parent's in ``strict``: the weight of 4 noise standard deviations."""


@dataclass(frozen=True, eq=False)
class NoisyNode:
    """A node with a child for every public value of its attribute, whether any record has it or not.

    ``answers`` (c,): class counts as the mechanism returned them; ``None`` where there was no such query. ``counts``
    (c,): the same, or the consistent estimate that replaces them. ``shares`` (c,): class shares, never negative,
    summing to 1. ``size``: number of records as far as the noise tells (may be negative). ``variance``: of each of
    ``answers``, 0 where it is not used. ``attribute``: place of the splitting attribute, ``None`` in a leaf. ``spent``:
    ε that a record of this node had paid when the node was finished.
    """

    size: float
    spent: float
    answers: Floats | None = None
    counts: Floats | None = None
    shares: Floats | None = None
    variance: float = 0.0
    attribute: int | None = None
    children: tuple["NoisyNode", ...] = ()

    @property
    def label(self) -> int | None:
        """The likeliest class (tie: the first), ``None`` where no class is known."""
        return None if self.shares is None else int(self.shares.argmax())

    @property
    def confidence(self) -> float:
        """Share of the likeliest class, 0 where none is known."""
        return 0.0 if self.shares is None else float(self.shares.max())


def walk(
    node: NoisyNode, path: tuple[tuple[int, int], ...] = ()
) -> Iterator[tuple[NoisyNode, tuple[tuple[int, int], ...]]]:
    """Yield every node in preorder with its path of (attribute, value)."""
    yield node, path
    for value, child in enumerate(node.children):
        yield from walk(child, (*path, (node.attribute or 0, value)))


def positive_shares(counts: Floats) -> Floats:
    """Return the shares of noisy counts: negative ones count as 0; where nothing is left, 1/c each."""
    positive = np.maximum(counts, 0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(len(counts), 1 / len(counts))


def gini(counts: Floats) -> float:
    """Return the Gini index of F15 (4) for noisy counts, taken as they are: −(1 − Σ p²), 0 for a total of 0."""
    total = counts.sum()
    return 0.0 if total == 0 else float(-(1 - ((counts / total) ** 2).sum()))


def line_42(parent: float, children: float) -> bool:
    """Return whether leaves go by F15, Algorithm 1, line 42: those that are worse than their parent."""
    return children < parent


def equation_27(parent: float, children: float) -> bool:
    """Return whether leaves go by F15 (27): those that are not better than their parent."""
    return parent >= children


PRUNING_RULES: dict[str, Callable[[float, float], bool]] = {"line-42": line_42, "equation-27": equation_27}


def prune_tree(node: NoisyNode, rule: str = "line-42") -> NoisyNode:
    """Return the tree without leaves whose mean Gini index is worse than their parent's, bottom-up (F15, section 3.2).

    Children are weighted by their noisy sizes over the sum of these; where that sum is not positive they say nothing
    and go.
    """
    if rule not in PRUNING_RULES:
        raise ParameterError(f"There is no pruning rule {rule!r}.", remedy=f"Choose one of {', '.join(PRUNING_RULES)}.")
    if not node.children:
        return node
    node = replace(node, children=tuple(prune_tree(child, rule) for child in node.children))
    if any(child.children for child in node.children) or node.answers is None:
        return node
    total = sum(child.size for child in node.children)
    if total > 0:
        weighted = [child.size / total * gini(_answers(child)) for child in node.children]
        if not PRUNING_RULES[rule](gini(node.answers), sum(weighted)):
            return node
    return replace(node, attribute=None, children=())


def make_consistent(root: NoisyNode) -> NoisyNode:
    """Return the tree with the weighted least-squares counts, which add up, and smoothed shares.

    Hay et al. (2010), for unequal variances and any number of children: a sweep up averages each node's own counts
    with the sum of its children's by inverse variance, a sweep down shares out what is left over by variance. Shares
    are then pulled to the parent's (the root's: to equal shares) by :data:`PULL` noise standard deviations.
    """
    best = _upwards(root)
    uniform = np.full(len(_answers(root)), 1 / len(_answers(root)))
    return _downwards(root, best, best.counts, uniform)


@dataclass(frozen=True, eq=False)
class _Best:
    """The best estimate of a node from itself and everything below it, and its variance."""

    counts: Floats
    variance: float
    children: tuple["_Best", ...]


def _upwards(node: NoisyNode) -> _Best:
    """Return the best estimate of a node and of all below it."""
    children = tuple(_upwards(child) for child in node.children)
    own, variance = _answers(node), node.variance
    if not children:
        return _Best(own, variance, ())
    below = np.sum([child.counts for child in children], axis=0)
    variance_below = sum(child.variance for child in children)
    weight = variance_below / (variance + variance_below)
    return _Best(weight * own + (1 - weight) * below, weight * variance, children)


def _downwards(node: NoisyNode, best: _Best, counts: Floats, parent_shares: Floats) -> NoisyNode:
    """Return a node with these counts, which its children then add up to."""
    pull = PULL * np.sqrt(best.variance)
    positive = np.maximum(counts, 0)
    total = positive.sum() + pull
    shares = (positive + pull * parent_shares) / total if total > 0 else parent_shares
    children: list[NoisyNode] = []
    if node.children:
        below = sum(child.variance for child in best.children)
        excess = counts - np.sum([child.counts for child in best.children], axis=0)
        for child, own in zip(node.children, best.children, strict=True):
            children.append(_downwards(child, own, own.counts + own.variance / below * excess, shares))
    return replace(node, counts=counts, shares=shares, size=float(counts.sum()), children=tuple(children))


def shares_of(node: NoisyNode, codes: NDArray[np.integer]) -> Floats:
    """Return (n, c) class shares of the leaf that each record reaches; ``codes`` (n, p)."""
    n_classes = next(len(each.shares) for each, _ in walk(node) if each.shares is not None)
    answer = np.empty((len(codes), n_classes))
    _fill(node, codes, np.arange(len(codes)), answer)
    return answer


def _fill(node: NoisyNode, codes: NDArray[np.integer], rows: NDArray[np.integer], answer: Floats) -> None:
    """Write the shares of the leaves below a node into the rows of ``answer``."""
    if not node.children or node.attribute is None:
        answer[rows] = node.shares
        return
    values = codes[rows, node.attribute]
    for value, child in enumerate(node.children):
        here = rows[values == value]
        if len(here):
            _fill(child, codes, here, answer)


def _answers(node: NoisyNode) -> Floats:
    """Return the noisy class counts of a node. Raises :class:`ParameterError` where there are none."""
    if node.answers is None:
        raise ParameterError("This tree holds class counts at its leaves only.")
    return node.answers
