"""The growing of private trees: the algorithms behind each mode of a forest.

Depths count from 1 at the root; a tree of depth δ asks no more than δ nodes on a path. All randomness comes from a
:class:`~anonymizer.forest.mechanisms.Noise`, all ε from a :class:`~anonymizer.forest.mechanisms.Budget`, and a node is
divided by every public value of an attribute. What a mode may look at, and what for, is all in this file.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Progress, no_progress
from anonymizer.forest.domains import CodedTable
from anonymizer.forest.mechanisms import Budget, Noise, WatchedNoise
from anonymizer.forest.model import Trees
from anonymizer.forest.nodes import NoisyNode, make_consistent, positive_shares, prune_tree

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

COUNT = "count the classes"
RECOUNT = "count the classes again"
SIZE = "count the rows"
CHOOSE = "choose the attribute"

GROWTH = 1.6
"""``strict``: how much more budget each level gets than the one above."""
WORTH = 8.0
"""``strict``: fewest records per value, times the ε left below, for which a split is worth its noise."""
SCORE_BITS = 20
"""``strict``: scores are whole numbers of 2^-20 records."""


@dataclass(frozen=True, eq=False)
class Part:
    """The records of one node. Private: nothing here may leave but through a mechanism.

    ``class_counts`` (c,): how many of each class.
    """

    table: CodedTable
    rows: NDArray[np.int32]
    class_counts: Counts

    @classmethod
    def whole(cls, table: CodedTable) -> "Part":
        """Return all records of a table."""
        rows = np.arange(table.n_records, dtype=np.int32)
        return cls(table, rows, np.bincount(table.classes, minlength=table.n_classes))

    @cached_property
    def counts(self) -> Counts:
        """(p, largest number of values, c): records with each value of each attribute and each class."""
        from anonymizer.forest.kernels import count_values

        width = int(self.table.n_levels.max())
        counts: Counts = count_values(self.table.codes, self.table.classes, self.rows, width, self.table.n_classes)
        return counts

    def split(self, attribute: int) -> list["Part"]:
        """Return the records with each public value of an attribute."""
        from anonymizer.forest.kernels import divide

        counts = self.counts[attribute, : self.table.n_levels[attribute]]
        sizes = counts.sum(axis=1)
        ordered = divide(self.table.codes, self.rows, attribute, sizes)
        ends = np.cumsum(sizes)
        return [
            Part(self.table, ordered[end - size : end], own) for end, size, own in zip(ends, sizes, counts, strict=True)
        ]


# Scores of attributes.


def gini_sensitivity(n: float) -> float:
    """Return Δ(G) of F15 (11) at n records: 1 − (n/(n+1))² − (1/(n+1))². Right for adding a record to n of them."""
    return 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2


def weighted_gini(part: Part, candidates: Sequence[int]) -> Floats:
    """Return the Gini index of F15 (4) times the number of records, for each candidate: 0 is best, −n worst.

    Adding or removing one record changes it by less than 2: its global sensitivity.
    """
    counts = part.counts[np.asarray(candidates, dtype=np.int64)].astype(np.float64)
    squares, sizes = (counts**2).sum(axis=2), counts.sum(axis=2)
    shares = np.divide(squares, sizes, out=np.zeros_like(squares), where=sizes > 0)
    return np.asarray(shares.sum(axis=1) - len(part.rows))


def normalized_gini(part: Part, candidates: Sequence[int]) -> Floats:
    """Return the Gini index of F15 (4) for each candidate, 0 to −1; 0 where there are no records."""
    return weighted_gini(part, candidates) / max(len(part.rows), 1)


def lengths(part: Part, candidates: Sequence[int]) -> list[int]:
    """Return Σ over values of the Euclidean length of their class counts, in whole 2^-20 records, rounded down each.

    Adding a record lengthens one vector by at most 1 and shortens none: monotone, sensitivity 2^20 + 1.
    """
    squares = (part.counts**2).sum(axis=2)
    return [sum(math.isqrt(int(square) << 2 * SCORE_BITS) for square in squares[a]) for a in candidates]


# The modes.


@dataclass(frozen=True)
class Plan:
    """The settings of trees. ``min_size``: fewest noisy records of a node that is split (not in ``strict``).

    ``n_trees``: τ. ``pruning``: the rule, for modes that prune. ``roots``: attributes that other trees have at their
    root. ``progress`` is called before every question; what it raises ends the work.
    """

    max_depth: int
    min_size: float = 100.0
    n_trees: int = 1
    pruning: str | None = None
    roots: frozenset[int] = frozenset()
    progress: Progress = no_progress

    def candidates(self, left: Sequence[int], depth: int) -> list[int]:
        """Return the attributes that a node may be split on."""
        return [a for a in left if depth > 1 or a not in self.roots]


Grow = Callable[[Part, Budget, Noise, Plan], NoisyNode]


def grow_trees(
    table: CodedTable, budget: Budget, noise: Noise, plan: Plan, *, grow: Grow, prunes: bool = False
) -> Trees:
    """Return trees that share what is left of a budget equally, each with another attribute at its root."""
    each, root = (budget.limit - budget.spent) / plan.n_trees, Part.whole(table)
    trees: list[NoisyNode] = []
    for number in range(1, plan.n_trees + 1):
        look = partial(plan.progress, (number - 1) / plan.n_trees, f"Growing tree {number} of {plan.n_trees}")
        tree = grow(root, budget.reserve(each, f"tree {number}"), WatchedNoise(noise, look), plan)
        if tree.attribute is not None:
            plan = replace(plan, roots=plan.roots | {tree.attribute})
        trees.append(tree)
    rule = plan.pruning if prunes else None
    if rule is not None:
        trees = [prune_tree(tree, rule) for tree in trees]
    return Trees(tuple(trees), plan.max_depth, rule)


def paper(root: Part, budget: Budget, noise: Noise, plan: Plan) -> NoisyNode:
    """Return a tree by F15, Algorithm 1. **Not differentially private**: the noise of a choice follows the *noisy*
    number of records.
    """
    epsilon = budget.limit / (2 * plan.max_depth - 1)

    def choose(part: Part, candidates: list[int], size: float) -> int:
        return noise.exponential(normalized_gini(part, candidates).tolist(), epsilon, gini_sensitivity(size))

    return _with_counts(root, budget, noise, plan, epsilon, choose)


def paper_strict(root: Part, budget: Budget, noise: Noise, plan: Plan) -> NoisyNode:
    """Return a tree by Algorithm 1 with the count-weighted Gini index and its global sensitivity of 2: private at the
    same accuracy.
    """
    epsilon = budget.limit / (2 * plan.max_depth - 1)

    def choose(part: Part, candidates: list[int], size: float) -> int:
        return noise.exponential(weighted_gini(part, candidates).tolist(), epsilon, 2.0)

    return _with_counts(root, budget, noise, plan, epsilon, choose)


Choose = Callable[[Part, list[int], float], int]


def _with_counts(root: Part, budget: Budget, noise: Noise, plan: Plan, epsilon: float, choose: Choose) -> NoisyNode:
    """Return the tree of F15, BuildTree: Q1 at every node, Q2 where one is split; line 16 with ``d < δ``, as (9)
    pays.
    """

    def build(part: Part, account: Budget, left: list[int], depth: int) -> NoisyNode:
        answers = noise.laplace(part.class_counts, account.spend(epsilon, COUNT, depth))
        size = float(answers.sum())
        candidates = plan.candidates(left, depth)
        pure = size > 0 and bool((answers / size >= 1).any())
        attribute: int | None = None
        children: tuple[NoisyNode, ...] = ()
        if depth < plan.max_depth and size > 0 and size >= plan.min_size and not pure and candidates:
            account.spend(epsilon, CHOOSE, depth)
            attribute = candidates[choose(part, candidates, size)]
            below = [a for a in left if a != attribute]
            children = tuple(build(child, account.branch(), below, depth + 1) for child in part.split(attribute))
        return NoisyNode(size, account.path, answers, answers, positive_shares(answers), 0.0, attribute, children)

    return build(root, budget, list(range(len(root.table.n_levels))), 1)


def diffpid3(root: Part, budget: Budget, noise: Noise, plan: Plan, *, weighted: bool) -> NoisyNode:
    """Return a tree of private ID3: a noisy size at every node, class counts at the leaves only, ε = β / (2δ).

    ``weighted``: the count-weighted Gini index with sensitivity 2 (its authors'), else the normalized one with 0.5 (as
    F15 reads it).
    """
    epsilon = budget.limit / (2 * plan.max_depth)
    score, sensitivity = (weighted_gini, 2.0) if weighted else (normalized_gini, 0.5)

    def build(part: Part, account: Budget, left: list[int], depth: int) -> NoisyNode:
        everybody = np.array([part.class_counts.sum()])
        size = float(noise.laplace(everybody, account.spend(epsilon, SIZE, depth))[0])
        candidates = plan.candidates(left, depth)
        if depth < plan.max_depth and size > 0 and size >= plan.min_size and candidates:
            account.spend(epsilon, CHOOSE, depth)
            attribute = candidates[noise.exponential(score(part, candidates).tolist(), epsilon, sensitivity)]
            below = [a for a in left if a != attribute]
            children = tuple(build(child, account.branch(), below, depth + 1) for child in part.split(attribute))
            return NoisyNode(size, account.path, attribute=attribute, children=children)
        answers = noise.laplace(part.class_counts, account.spend(epsilon, COUNT, depth))
        return NoisyNode(size, account.path, answers, answers, positive_shares(answers))

    return build(root, budget, list(range(len(root.table.n_levels))), 1)


@dataclass(frozen=True)
class Shares:
    """``strict``: ε of each level (from 0): ``counts`` for class counts, ``choices`` for the choice of an attribute."""

    counts: tuple[float, ...]
    choices: tuple[float, ...]

    @classmethod
    def of(cls, budget: float, levels: int) -> "Shares":
        """Return half for counts, half for choices, each level 1.6 times the one above; one level: all for its
        counts.
        """
        if levels == 1:
            return cls((budget,), ())
        weights = [GROWTH**level for level in range(levels)]
        counts = tuple(budget / 2 * w / math.fsum(weights) for w in weights)
        choices = tuple(budget / 2 * w / math.fsum(weights[:-1]) for w in weights[:-1])
        return cls(counts, choices)

    def below(self, level: int) -> float:
        """Return the ε that the levels under this one will spend."""
        return math.fsum(self.counts[level + 1 :]) + math.fsum(self.choices[level + 1 :])


def strict(root: Part, budget: Budget, noise: Noise, plan: Plan) -> NoisyNode:
    """Return a tree of the recommended mode: whole-number mechanisms, unequal levels, no split that noise would drown.

    Every record pays exactly the tree's budget on its own path: a node that stops spends what its path has left on
    a second count. Then counts are made consistent over the whole tree, which costs nothing.
    """
    n_levels = root.table.n_levels
    shares = Shares.of(budget.limit, min(plan.max_depth, len(n_levels) + 1))

    def build(part: Part, account: Budget, left: list[int], level: int, most: float) -> NoisyNode:
        cost = account.spend(shares.counts[level], COUNT, level + 1)
        answers, variance = noise.discrete_laplace(part.class_counts, cost), 2 / cost**2
        most = min(most, float(answers.sum()))
        candidates = plan.candidates(left, level + 1)
        below = shares.below(level)
        may_split = level < len(shares.choices) and bool(candidates)
        if may_split and most / float(np.median(n_levels[candidates])) * below >= WORTH:
            cost = account.spend(shares.choices[level], CHOOSE, level + 1)
            scores = [
                length - round(int(n_levels[a]) / below * 2**SCORE_BITS)
                for a, length in zip(candidates, lengths(part, candidates), strict=True)
            ]
            attribute = candidates[noise.noisy_max(scores, cost, 2**SCORE_BITS + 1)]
            rest = [a for a in left if a != attribute]
            children = tuple(build(child, account.branch(), rest, level + 1, most) for child in part.split(attribute))
            size = float(answers.sum())
            return NoisyNode(size, account.path, answers, variance=variance, attribute=attribute, children=children)
        unspent = math.fsum([*shares.counts[level + 1 :], *shares.choices[level:]])
        if unspent > 0:
            account.spend(unspent, RECOUNT, level + 1)
            again, variance_again = noise.discrete_laplace(part.class_counts, unspent), 2 / unspent**2
            weight = variance_again / (variance + variance_again)
            answers, variance = weight * answers + (1 - weight) * again, weight * variance
        return NoisyNode(float(answers.sum()), account.path, answers, variance=variance)

    return make_consistent(build(root, budget, list(range(len(n_levels))), 0, math.inf))
