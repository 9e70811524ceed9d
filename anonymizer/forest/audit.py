"""Trying to refute a privacy claim: many runs on two neighbouring tables, and what their answers give away.

If a mode is ε-private, no event can be more than e^ε times likelier on one table than on the other. An audit looks for
the event that tells the tables apart best (in the first half of the runs), counts it in the second half, and gives a
lower bound on ε by Clopper and Pearson's exact limits. It can refute a claim; it cannot prove one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import grow_forest
from anonymizer.forest.growth import SCORE_BITS, Part, gini_sensitivity, lengths, normalized_gini, weighted_gini
from anonymizer.forest.mechanisms import Noise, RehearsalNoise, SecureNoise, selection_shares
from anonymizer.forest.nodes import NoisyNode


@dataclass(frozen=True)
class Finding:
    """The result of an audit. ``hits``: how often the event happened in ``runs`` counted runs on each table.

    ``lower_bound``: ε is at least this much, with probability ``confidence`` (may be negative: then it shows nothing).
    """

    mode: str
    epsilon: float
    pair: str
    n_classes: int
    n_trees: int
    lower_bound: float
    hits: tuple[int, int]
    runs: int
    confidence: float
    rehearsal: bool

    @property
    def violated(self) -> bool:
        """``True`` where the claim is refuted at this confidence."""
        return self.lower_bound > self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the finding, JSON-ready."""
        return {
            "mode": self.mode, "epsilon": self.epsilon, "lower_bound": self.lower_bound, "violated": self.violated,
            "hits": list(self.hits), "runs": self.runs, "confidence": self.confidence, "pair": self.pair,
            "classes": self.n_classes, "trees": self.n_trees, "rehearsal": self.rehearsal,
        }  # fmt: skip


def one_and_two(n_classes: int) -> tuple[CodedTable, CodedTable]:
    """Return one record, and the same with a second of another class that only half of the attributes set apart."""
    first, second = [0] * 6, [0, 0, 0, 1, 1, 1]
    return _table([first], [0], n_classes), _table([first, second], [0, 1], n_classes)


def many_and_one_more(n_classes: int) -> tuple[CodedTable, CodedTable]:
    """Return ninety-nine records of one class, and one more of another class."""
    same = [[0] * 6] * 99
    return _table(same, [0] * 99, n_classes), _table([*same, [0, 0, 0, 1, 1, 1]], [0] * 99 + [1], n_classes)


PAIRS: dict[str, Callable[[int], tuple[CodedTable, CodedTable]]] = {
    "one-and-two": one_and_two,
    "many-and-one-more": many_and_one_more,
}
"""Neighbouring tables that are hard on a mechanism, by name."""


def _table(codes: list[list[int]], classes: list[int], n_classes: int) -> CodedTable:
    """Return a table of attributes with two values each."""
    attributes = tuple(Attribute(f"a{place}", ("0", "1")) for place in range(len(codes[0])))
    target = Attribute("class", tuple(map(str, range(n_classes))))
    return CodedTable(Domains(attributes, target), np.array(codes, dtype=np.uint8), np.array(classes, dtype=np.uint16))


def audit(
    mode: str,
    epsilon: float,
    *,
    pair: str = "one-and-two",
    n_trees: int = 1,
    max_depth: int = 5,
    n_classes: int = 8,
    runs: int = 20_000,
    confidence: float = 0.999,
    seed: int | None = None,
) -> Finding:
    """Return a lower bound on the privacy loss of a mode that claims ``epsilon``, from ``runs`` forests on each table.

    The event is "the answers speak for one table by at least so much": a log-likelihood ratio, exact for the modes of
    F15, approximate for ``strict`` (any event gives a valid bound; a better one gives a larger bound). ``seed``: with
    one, repeatable noise; without, the noise of real releases.
    """
    if pair not in PAIRS or runs < 100 or n_classes < 2:
        raise ParameterError(
            "An audit needs a known pair of tables, at least 2 classes and 100 runs.",
            remedy=f"Pairs: {', '.join(PAIRS)}.",
        )
    tables = PAIRS[pair](n_classes)
    noise: Noise = SecureNoise() if seed is None else RehearsalNoise(np.random.default_rng(seed))
    wholes = [Part.whole(table) for table in tables]
    ratios = np.empty((2, runs))
    for side, table in enumerate(tables):
        for run in range(runs):
            forest = grow_forest(
                table, epsilon, mode=mode, n_trees=n_trees, max_depth=max_depth, pruning=None, noise=noise
            )
            roots: frozenset[int] = frozenset()
            total = 0.0
            for tree in forest.trees:
                total += _ratio(mode, tree, wholes[0], wholes[1], (epsilon / n_trees, max_depth), roots)
                roots |= {tree.attribute} if tree.attribute is not None else set()
            ratios[side, run] = total
    half = runs // 2
    towards, threshold = _best_event(ratios[:, :half], confidence)
    counts = (towards * ratios[:, half:] >= threshold).sum(axis=1)
    hits = (int(counts[0]), int(counts[1]))
    likely, unlikely = hits if towards > 0 else hits[::-1]
    bound = lower_bound(likely, unlikely, runs - half, confidence)
    return Finding(mode, epsilon, pair, n_classes, n_trees, bound, hits, runs - half, confidence, noise.rehearsal)


def lower_bound(likely: int, unlikely: int, runs: int, confidence: float) -> float:
    """Return the least ε: the log ratio of exact one-sided limits of two shares, each at half the remaining doubt."""
    from scipy.stats import beta

    doubt = (1 - confidence) / 2
    low = beta.ppf(doubt, likely, runs - likely + 1) if likely > 0 else 0.0
    high = beta.ppf(1 - doubt, unlikely + 1, runs - unlikely) if unlikely < runs else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _best_event(ratios: NDArray[np.float64], confidence: float) -> tuple[int, float]:
    """Return the direction and threshold of the largest bound in these runs."""
    best = (-math.inf, 1, 0.0)
    runs = ratios.shape[1]
    for towards in (1, -1):
        likely, unlikely = np.sort(towards * (ratios if towards > 0 else ratios[::-1]), axis=1)
        for threshold in np.unique(np.quantile(likely, np.linspace(0.0, 0.998, 60))):
            hits = [int(runs - np.searchsorted(side, threshold, side="left")) for side in (likely, unlikely)]
            bound = lower_bound(hits[0], hits[1], runs, confidence)
            if bound > best[0]:
                best = (bound, towards, float(threshold))
    return best[1], best[2]


def _ratio(
    mode: str, node: NoisyNode, first: Part, second: Part, budget: tuple[float, int], roots: frozenset[int],
    left: tuple[int, ...] | None = None,
) -> float:  # fmt: skip
    """Return the log-likelihood of a tree's answers on the first table, minus that on the second, where the two
    differ.
    """
    if np.array_equal(first.class_counts, second.class_counts) and len(first.rows) == len(second.rows):
        return 0.0  # neighbours that agree on the number of records here are the same here
    left = tuple(range(len(first.table.n_levels))) if left is None else left
    epsilon, depth = budget
    each = epsilon / (2 * depth) if mode.startswith("diffpid3") else epsilon / (2 * depth - 1)
    total = 0.0
    if mode.startswith("diffpid3"):
        total += each * (abs(node.size - len(second.rows)) - abs(node.size - len(first.rows)))
    if node.answers is not None:
        rate = math.sqrt(2 / node.variance) if node.variance else each
        distances = [np.abs(node.answers - part.class_counts).sum() for part in (first, second)]
        total += rate * float(distances[1] - distances[0])
    if node.attribute is None:
        return total
    candidates = [a for a in left if a not in roots]
    place = candidates.index(node.attribute)
    total += math.log(
        _chance(mode, first, candidates, node, each)[place] / _chance(mode, second, candidates, node, each)[place]
    )
    rest = tuple(a for a in left if a != node.attribute)
    parts = zip(node.children, first.split(node.attribute), second.split(node.attribute), strict=True)
    return total + sum(_ratio(mode, child, one, two, budget, frozenset(), rest) for child, one, two in parts)


def _chance(mode: str, part: Part, candidates: list[int], node: NoisyNode, each: float) -> NDArray[np.float64]:
    """Return the probability of each candidate to be selected (approximately, for ``strict``)."""
    if mode == "paper":
        return selection_shares(normalized_gini(part, candidates).tolist(), each, gini_sensitivity(node.size))
    if mode == "diffpid3":
        return selection_shares(normalized_gini(part, candidates).tolist(), each, 0.5)
    if mode == "strict":
        return selection_shares([length / 2**SCORE_BITS for length in lengths(part, candidates)], each, 0.5)
    return selection_shares(weighted_gini(part, candidates).tolist(), each, 2.0)
