"""What publishing a tree tells about people: the figures of an adversary's estimate, under each assumption.

The steward knows the truth, so the figures say how near the estimate comes to it (Z10, section 5). Groups of people,
never single keys, are shown; the most exposed of them only to the steward.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.constraints import Counts, Knowledge, Rule, count_constraints
from anonymizer.errors import ParameterError
from anonymizer.maxent import Cancelled, Estimate, Progress, maximum_entropy
from anonymizer.multiway import Floats
from anonymizer.outline import KeyedTree, distinct_rows

CONFIDENT = 0.9
"""Above this posterior a person counts as exposed, unless another confidence is chosen."""
ROUNDING = 1e-6
"""Posteriors within this of a bound do not exceed it: the solver is no more precise."""


@dataclass(frozen=True, eq=False)
class Figures:
    """How near an estimate comes to the truth.

    ``divergence`` (d,): D_individual of each key, KL to the estimate, nats; infinite where the estimate rules the truth
    out. ``mean_divergence``: D_overall, the mean over records. ``highest`` (d,) posterior of each key's likeliest class
    ``guess`` (d,), ties to the first. ``accuracy``: share of people whose true value is the best guess.
    """

    divergence: Floats
    mean_divergence: float
    highest: Floats
    guess: NDArray[np.int64]
    accuracy: float
    counts: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def highest_posterior(self) -> float:
        """The highest posterior of anybody."""
        return float(self.highest.max())

    def people_above(self, confidence: float) -> int:
        """How many people the adversary is at least this sure about."""
        return int(self.counts[self.highest >= confidence - ROUNDING].sum())

    def exposed(self, confidence: float) -> int:
        """How many of them have the value that the adversary believes."""
        return int(self.right[self.highest >= confidence - ROUNDING].sum())

    def to_dict(self, confidence: float = CONFIDENT) -> dict[str, Any]:
        """JSON-ready totals; nothing of a single key."""
        return {
            "mean_divergence": finite(self.mean_divergence),
            "highest_divergence": finite(float(self.divergence.max())),
            "highest_posterior": self.highest_posterior,
            "mean_highest_posterior": float(self.counts @ self.highest / self.counts.sum()),
            "confidence": confidence,
            "people_above": self.people_above(confidence),
            "people_above_and_right": self.exposed(confidence),
            "best_guess_accuracy": self.accuracy,
        }


@dataclass(frozen=True, eq=False)
class Exposure:
    """What one kind of adversary learns: what is known, the estimate, its figures, the numbers of constraints."""

    knowledge: Knowledge
    estimate: Estimate
    figures: Figures
    constraints: Counts

    def to_dict(self, confidence: float = CONFIDENT) -> dict[str, Any]:
        """JSON-ready; totals only."""
        estimate = self.estimate
        return {
            "knows": {
                "error_rates": self.knowledge.rates,
                "class_totals": self.knowledge.totals,
                "growing_rule": None if self.knowledge.rule is None else asdict(self.knowledge.rule),
            },
            **self.figures.to_dict(confidence),
            "entropy": estimate.entropy,
            "entropy_bound": estimate.bound,
            "method": estimate.method,
            "status": estimate.status,
            "converged": estimate.converged,
            "residuals": asdict(estimate.residuals),
            "variables": estimate.variables,
            "active": len(estimate.active),
            "rounds": estimate.rounds,
            "starts": [asdict(start) for start in estimate.starts],
            "spread": estimate.spread,
            "constraints": asdict(self.constraints),
            "seconds": estimate.seconds,
        }


@dataclass(frozen=True)
class Group:
    """One of the most exposed groups: keys of a leaf that share an estimate. For the steward only.

    ``node``: its leaf; ``records``: people in it; ``guess``: the class that the adversary believes, with ``posterior``;
    ``from_leaf``: what the leaf alone says; ``right``: how many of them have it.
    """

    node: int
    records: int
    guess: str | None
    posterior: float
    from_leaf: float
    right: int


def figures_of(tree: KeyedTree, posterior: Floats) -> Figures:
    """Compare an estimate (d, c) with the truth."""
    return compared_with(tree.keys.classes, posterior)


def figures_of_shares(codes: NDArray[np.unsignedinteger], classes: NDArray[np.integer], shares: Floats) -> Figures:
    """The same for anything published that gives every record class shares: ``codes`` (n, p), ``shares`` (n, c).

    Whoever holds a differentially private forest, for example, believes its shares. ``classes`` (n,): the truth.
    """
    c = shares.shape[1]
    distinct, key, _ = distinct_rows(codes)
    held = np.bincount(key * c + classes, minlength=len(distinct) * c).reshape(-1, c)
    first = np.zeros(len(distinct), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return compared_with(held, shares[first])


def compared_with(classes: NDArray[np.integer], posterior: Floats) -> Figures:
    """Compare an estimate (d, c) with the true class counts of each key (d, c)."""
    counts = classes.sum(axis=1)
    truth = classes / counts[:, None]
    known = truth > 0
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(known, posterior, 1.0))
    own = np.log(np.where(known, truth, 1.0))
    divergence = np.maximum(np.where(known, truth * (own - logs), 0.0).sum(axis=1), 0.0)
    guess = (posterior >= posterior.max(axis=1, keepdims=True) - ROUNDING).argmax(axis=1)
    right = classes[np.arange(len(classes)), guess]
    return Figures(
        divergence=divergence,
        mean_divergence=float(counts @ divergence / counts.sum()),
        highest=posterior.max(axis=1),
        guess=guess,
        accuracy=float(right.sum() / counts.sum()),
        counts=counts,
        right=right,
    )


def assess(
    tree: KeyedTree,
    knowledge: Knowledge,
    *,
    starts: int = 3,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Exposure:
    """What an adversary with this knowledge infers: see :func:`anonymizer.maxent.maximum_entropy`."""
    if tree.n_classes < 2:
        raise ParameterError("The sensitive column needs two values.", remedy="Choose another target.")
    estimate = maximum_entropy(tree, knowledge, starts=starts, rng=rng, progress=progress, cancelled=cancelled)
    return Exposure(knowledge, estimate, figures_of(tree, estimate.posterior), count_constraints(tree, knowledge))


def assumptions(rule: Rule | None) -> tuple[Knowledge, ...]:
    """Every combination of what an adversary may know: error rates, class totals, and the growing rule if given."""
    rules = (None,) if rule is None else (None, rule)
    return tuple(
        Knowledge(rates, totals, known) for known in rules for rates in (True, False) for totals in (False, True)
    )


def compare(
    tree: KeyedTree,
    rule: Rule | None,
    *,
    starts: int = 3,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Exposure, ...]:
    """The figures under each assumption. ``rule``: also those of an adversary who knows how the tree was grown."""
    cases = assumptions(rule)
    found = []
    for number, knowledge in enumerate(cases):

        def part(share: float, what: str, number: int = number) -> None:
            if progress:
                progress((number + share) / len(cases), what)

        found.append(assess(tree, knowledge, starts=starts, progress=part, cancelled=cancelled))
    return tuple(found)


def highest_of_leaf(tree: KeyedTree, highest: Floats) -> Floats:
    """(m,) the highest posterior of anybody in each leaf; NaN for other nodes and leaves without a record."""
    found = np.full(tree.outline.n_nodes, np.nan)
    leaves = tree.outline.leaves
    leaves = leaves[tree.last[leaves] > tree.first[leaves]]
    found[leaves] = np.maximum.reduceat(highest, tree.first[leaves])
    return found


def most_exposed(tree: KeyedTree, exposure: Exposure, number: int = 10) -> tuple[Group, ...]:
    """The groups with the highest posteriors, larger ones first among equals. Internal: they point at few people."""
    posterior, figures = exposure.estimate.posterior, exposure.figures
    rounded = np.round(posterior, 6)
    pairs = np.column_stack([tree.leaf_of_key, rounded])
    _, example, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    records = np.bincount(group, weights=figures.counts).astype(np.int64)
    right = np.bincount(group, weights=figures.right).astype(np.int64)
    order = np.lexsort((example, -records, -np.round(figures.highest[example], 6)))[:number]
    from_leaf = leaf_posterior(tree, exposure.knowledge)
    return tuple(
        Group(
            node=int(tree.leaf_of_key[example[g]]),
            records=int(records[g]),
            guess=tree.keys.labels[int(figures.guess[example[g]])],
            posterior=float(figures.highest[example[g]]),
            from_leaf=float(from_leaf[example[g]].max()),
            right=int(right[g]),
        )
        for g in order
    )


def leaf_posterior(tree: KeyedTree, knowledge: Knowledge) -> Floats:
    """(d, c) what an adversary infers who does not know how the tree was grown."""
    return maximum_entropy(tree, replace(knowledge, rule=None)).posterior


def leaves_alone(tree: KeyedTree, knowledge: Knowledge) -> Figures:
    """The figures of somebody who does not know how the tree was grown; what internal nodes add starts there."""
    return figures_of(tree, leaf_posterior(tree, knowledge))


def finite(value: float) -> float | None:
    """A number for JSON; ``None`` for infinity."""
    return value if np.isfinite(value) else None
