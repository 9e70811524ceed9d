"""Two private classifiers by others, built again from their papers and public code, to stand beside ours.

*PrivaTree* (Vos, Vos, Li, Erkin and Verwer, arXiv 2305.15394; code at tudelft-cda-lab/PrivaTree): one greedy tree under
pure ε. *Lumberjack* (Lebeda, Erb, Cebere and Bellet, arXiv 2605.22756; code at daviderb/Lumberjack): a forest of random
trees, split only where a noisy search finds enough records, under (ε, δ). Both know the public ends of numeric columns
and the public levels of the others. Noise is seeded: for rehearsals on public tables alone.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

Rows = NDArray[np.int64]
DEPTH = 4
"""Of PrivaTree's trees, as in its paper."""
BINS = 10
RIGHT_LEAVES = 0.99
"""The share of records that PrivaTree wants in leaves of the right label, and spends no more on."""
HEIGHT = 90
"""Of Lumberjack's trees before pruning, and the share of the budget that pruning takes: its code's settings."""
PRUNING = 0.7
FEW = 10
"""Records that never count as many, for speed: Lumberjack's counts are those above this, and so is its threshold."""


class Columns(NamedTuple):
    """``values``: (n, p) numbers, or codes of levels; ``ends``: of numbers; ``levels``: number of levels, else 0."""

    values: NDArray[np.float64]
    ends: NDArray[np.float64]
    levels: tuple[int, ...]


def noisy_best(score: NDArray[np.float64], scale: float, rng: np.random.Generator) -> int:
    """Return the place of the best score under exponential noise, which is the permute-and-flip mechanism."""
    return int(np.argmax(score + rng.exponential(scale, len(score))))


# PrivaTree


def binned(columns: Columns) -> tuple[NDArray[np.int64], list[int]]:
    """Return (n, p) bins, of even width between public ends or one for a level, and the number of each column's."""
    bins = columns.values.astype(np.int64)
    for j, levels in enumerate(columns.levels):
        if not levels:
            inner = np.linspace(*columns.ends[j], BINS + 1)[1:-1]
            bins[:, j] = np.searchsorted(inner, columns.values[:, j])
    return bins, [levels or BINS for levels in columns.levels]


def leaf_budget(epsilon: float, n: int, classes: int, depth: int = DEPTH) -> float:
    """Return what PrivaTree spends on labels: as much as labels need, at most half of everything.

    Permute-and-flip is worst where all classes but one are equally far behind: the expected error at ε = 1 is the
    largest 2 ln(1/p) (1 − (1 − (1 − p)^m) / (m p)) of any p.
    """

    def error(p: float) -> float:
        return -2 * math.log(1 / p) * (1 - (1 - (1 - p) ** classes) / (classes * p))

    worst = -minimize_scalar(error, bounds=(1e-9, 1), method="bounded").fun
    return min(epsilon / 2, worst * 2**depth / (n * (1 - RIGHT_LEAVES)))


def impurities(bins: NDArray[np.int64], classes: NDArray[np.int64], sizes: list[int], m: int) -> NDArray[np.float64]:
    """Return (all bins,) the Gini impurity that a cut after each bin of each column leaves, ½ where nobody is."""
    ginis = []
    for j, size in enumerate(sizes):
        counts = np.bincount(bins[:, j] * m + classes, minlength=size * m).reshape(size, m)
        left = counts.cumsum(axis=0).astype(float)
        sides = (left, left[-1] - left)
        weighted = sum(side.sum(axis=1) - (side**2).sum(axis=1) / np.maximum(side.sum(axis=1), 1) for side in sides)
        ginis.append(weighted / len(bins) if len(bins) else np.full(size, 0.5))
    return np.concatenate(ginis)


def privatree(
    bins: NDArray[np.int64],
    sizes: list[int],
    classes: NDArray[np.int64],
    parts: tuple[Rows, Rows],
    epsilon: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return (rows of the second part, m) the label, as shares of 0 and 1, that a tree grown from the first gives."""
    m = int(classes.max()) + 1
    for_leaf = leaf_budget(epsilon, len(parts[0]), m)
    for_node = (epsilon - for_leaf) / DEPTH  # nodes of one level share nobody
    answer = np.zeros((len(bins), m))
    places = [(j, cut) for j, size in enumerate(sizes) for cut in range(size)]
    stack = [(*parts, 0)]
    while stack:
        train, test, depth = stack.pop()
        if depth == DEPTH:
            counts = np.bincount(classes[train], minlength=m).astype(float)
            answer[test, noisy_best(counts, 1 / for_leaf, rng)] = 1
            continue
        # A half goes to the number of records, from which the sensitivity of the impurity follows.
        steps = rng.geometric(-math.expm1(-for_node / 2), 2)
        n = max(1, len(train) + int(steps[0] - steps[1]))
        sensitivity = 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2
        gini = impurities(bins[train], classes[train], sizes, m)
        column, cut = places[noisy_best(-gini, 2 * sensitivity / (for_node / 2), rng)]
        left, test_left = bins[train, column] <= cut, bins[test, column] <= cut
        stack += [(train[left], test[test_left], depth + 1), (train[~left], test[~test_left], depth + 1)]
    return answer[parts[1]]


# Lumberjack


@dataclass(eq=False)
class Node:
    """A region, the records to grow from and to predict in it; its split is drawn when somebody looks below."""

    train: Rows
    test: Rows
    ends: NDArray[np.float64]
    parent: "Node | None" = None
    children: "list[Node]" = field(default_factory=list)
    heavy: bool = False

    def split(self, columns: Columns, rng: np.random.Generator) -> "list[Node]":
        """Return the two children: of a random column, at a random place between its ends or at a random level."""
        if self.children:
            return self.children
        j = int(rng.integers(len(columns.levels)))
        both = np.array([self.ends, self.ends])
        if columns.levels[j]:
            level = rng.integers(columns.levels[j])
            sides = [columns.values[rows, j] != level for rows in (self.train, self.test)]
        else:
            both[0, j, 1] = both[1, j, 0] = cut = rng.uniform(*self.ends[j])
            sides = [columns.values[rows, j] <= cut for rows in (self.train, self.test)]
        rows = zip((self.train, self.test), sides, strict=True)
        (left, right), (test_left, test_right) = [(r[side], r[~side]) for r, side in rows]
        self.children = [Node(left, test_left, both[0], self), Node(right, test_right, both[1], self)]
        return self.children


@dataclass(frozen=True)
class Search:
    """The noisy search for the regions that hold enough records: marks all of them, none outside them."""

    columns: Columns
    sigma: float
    threshold: float
    rng: np.random.Generator

    def enough(self, node: Node) -> bool:
        """Return True when the records of a node above a few are noisily more than the threshold."""
        count = len(node.train) - FEW
        return count > 0 and count + self.rng.normal(0, self.sigma) > self.threshold

    def layer(self, node: Node, below: int) -> list[Node]:
        """Return the nodes so many levels below one that hold more than a few records."""
        nodes = [node]
        for _ in range(below):
            nodes = [child for n in nodes for child in n.split(self.columns, self.rng) if len(child.train) > FEW]
        return nodes

    def mark(self, root: Node, height: int) -> None:
        """Mark the heavy nodes among the first ``height`` levels of a subtree: the middle level first.

        Above a heavy node all are heavy; below one that is not, none is. So a record is asked about in only
        1 + ⌊log₂(height + 1)⌋ nodes.
        """
        if height <= 0:
            return
        middle = height // 2
        for node in self.layer(root, middle):
            if node.heavy or self.enough(node):
                for child in node.split(self.columns, self.rng) if height > 2 else ():
                    self.mark(child, height - middle - 1)
                up: Node | None = node
                while up is not None and not up.heavy:
                    up.heavy, up = True, up.parent
        if height > 1:
            self.mark(root, height // 2)


def lumberjack(
    columns: Columns,
    classes: NDArray[np.int64],
    parts: tuple[Rows, Rows],
    epsilon: float,
    delta: float,
    trees: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return (rows of the second part, m) the shares of the trees that vote for each class."""
    m = int(classes.max()) + 1
    questions = trees * (1 + int(math.log2(HEIGHT + 1)))
    sigma, threshold = sparse_noise(PRUNING * epsilon, PRUNING * delta, questions)
    rho = zcdp((1 - PRUNING) * epsilon, (1 - PRUNING) * delta) / trees
    votes = np.zeros((len(classes), m))
    for _ in range(trees):
        root = Node(*parts, columns.ends.astype(float))
        Search(columns, sigma, threshold, rng).mark(root, HEIGHT)
        stack = [root]
        while stack:
            node = stack.pop()
            if node.heavy:
                stack += node.split(columns, rng)
                continue
            counts = np.bincount(classes[node.train], minlength=m)
            votes[node.test, np.argmax(counts + rng.gumbel(0, 1 / math.sqrt(8 * rho), m))] += 1
    return votes[parts[1]] / trees


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the δ of Gaussian noise whose standard deviation is 1/μ of the sensitivity (Balle and Wang 2018)."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def sparse_noise(epsilon: float, delta: float, questions: int) -> tuple[float, float]:
    """Return standard deviation and threshold of counts of which only those above the threshold are seen.

    One record changes ``questions`` counts by 1; those that nobody else is in are not noised at all, so the chance
    that any of them passes is a part of δ. The exact δ is the greatest of three (Wilkins, Kifer, Zhang and Karrer
    2024, Theorem 5.4); the noise is the least for which it holds.
    """

    def exact(sigma: float, tau: float) -> float:
        below = norm.cdf(tau / sigma)
        worst = 1 - below**questions
        for alone in range(questions):  # counts of this record alone, beside those of others
            mu, lost = math.sqrt(questions - alone) / sigma, -alone * math.log(below)
            some = below**alone
            both = 1 - some + some * gaussian_delta(epsilon + lost, mu)
            worst = max(worst, both, gaussian_delta(epsilon - lost, mu))
        return float(worst)

    mu = brentq(lambda x: gaussian_delta(epsilon, x) - delta, 1e-6, 100)
    for factor in np.linspace(1, 2, 20):
        sigma = factor * math.sqrt(questions) / mu
        tau = sigma * float(norm.ppf((1 - delta) ** (1 / questions)))
        if exact(sigma, tau) <= delta * (1 + 1e-6):
            return sigma, tau + 1  # a count of one has to be lifted
    raise ValueError("No noise was found.")


def zcdp(epsilon: float, delta: float) -> float:
    """Return the largest ρ whose ρ-zCDP is (ε, δ)-private (Bun and Steinke 2016, Lemma 3.6)."""

    def excess(rho: float) -> float:
        t = (epsilon - rho) / (2 * rho)
        return 2 * math.exp(-t * t * rho) / (1 + t + math.sqrt((1 + t) ** 2 + 4 / (math.pi * rho))) - delta

    return float(brentq(excess, epsilon * 1e-6, epsilon))
