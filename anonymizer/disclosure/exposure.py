"""The exposure of people by a published tree: the figures of an adversary's estimate, under each assumption.

The steward knows the truth, so the figures say how near the estimate comes to it (Z10, section 5). Groups of people,
never single keys, are shown; the most exposed of them only to the steward.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import ConstraintCounts, GrowingRule, Knowledge, count_constraints
from anonymizer.disclosure.integer_posterior import IntegerPosterior, surest_posterior
from anonymizer.disclosure.maxent import Estimate, maximum_entropy
from anonymizer.disclosure.multiway import Floats, grow_multiway
from anonymizer.disclosure.outline import KeyedTree, Keys, distinct_rows, lay_keys
from anonymizer.errors import Cancelled, ParameterError, Progress

CONFIDENT = 0.9
"""Above this posterior a person counts as exposed, unless another confidence is set."""
ROUNDING = 1e-6
"""Posteriors within this of a bound do not exceed it: the solver is no more precise."""
COUNTED = 20_000
"""Most states of a branch where a bound is judged by counting whole people."""


@dataclass(frozen=True, eq=False)
class Figures:
    """The distance of an estimate from the truth.

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
        """Return the number of people whose highest posterior is at least this."""
        return int(self.counts[self.highest >= confidence - ROUNDING].sum())

    def count_exposed(self, confidence: float) -> int:
        """Return how many of them have the value that the adversary believes."""
        return int(self.right[self.highest >= confidence - ROUNDING].sum())

    def to_dict(self, confidence: float = CONFIDENT) -> dict[str, Any]:
        """Return totals, JSON-ready; nothing of a single key."""
        return {
            "mean_divergence": finite(self.mean_divergence),
            "highest_divergence": finite(float(self.divergence.max())),
            "highest_posterior": self.highest_posterior,
            "mean_highest_posterior": float(self.counts @ self.highest / self.counts.sum()),
            "confidence": confidence,
            "people_above": self.people_above(confidence),
            "people_above_and_right": self.count_exposed(confidence),
            "best_guess_accuracy": self.accuracy,
        }


@dataclass(frozen=True, eq=False)
class Exposure:
    """The gain of one kind of adversary: the knowledge, the estimate, its figures, the numbers of constraints.

    ``exact``: the posteriors counted in whole people, where they were, of whoever is surer, with the rule by which ties
    are labelled or without; the estimate understates those of few people.
    """

    knowledge: Knowledge
    estimate: Estimate
    figures: Figures
    constraints: ConstraintCounts
    exact: IntegerPosterior | None = None

    @property
    def highest(self) -> Floats:
        """(d,) the highest posterior of each key: counted where it was, else estimated."""
        if self.exact is None:
            return self.figures.highest
        return np.where(self.exact.exact, self.exact.posterior.max(axis=1), self.figures.highest)

    @property
    def highest_posterior(self) -> float:
        """The highest posterior of anybody: counted where it was, else estimated."""
        return float(self.highest.max())

    @property
    def judged_by(self) -> str:
        """What the highest posteriors are: counted in whole people, estimated, or of whom which."""
        counts = self.figures.counts
        people = 0 if self.exact is None else int(counts[self.exact.exact].sum())
        if people == counts.sum():
            return "counted in whole people"
        if not people:
            return "estimated by maximum entropy, which understates the risk of small groups"
        return f"counted in whole people for {people:,} of {int(counts.sum()):,} people, estimated for the others"

    def keeps(self, bound: float) -> bool:
        """Return whether nobody's posterior exceeds the bound, by what can be relied on."""
        is_counted = self.exact is not None and bool(self.exact.exact.all())
        return (is_counted or self.estimate.converged) and self.highest_posterior <= bound + ROUNDING

    def to_dict(self, confidence: float = CONFIDENT) -> dict[str, Any]:
        """Return totals only, JSON-ready."""
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
    """Return the figures of an estimate (d, c)."""
    return figures_of_counts(tree.keys.classes, posterior)


def figures_of_shares(codes: NDArray[np.unsignedinteger], classes: NDArray[np.integer], shares: Floats) -> Figures:
    """Return the same for anything published that gives every record class shares: ``codes`` (n, p), ``shares`` (n, c).

    Whoever holds a differentially private forest, for example, believes its shares. ``classes`` (n,): the truth.
    """
    c = shares.shape[1]
    distinct, key, _ = distinct_rows(codes)
    counts = np.bincount(key * c + classes, minlength=len(distinct) * c).reshape(-1, c)
    first = np.zeros(len(distinct), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return figures_of_counts(counts, shares[first])


def figures_of_counts(classes: NDArray[np.integer], posterior: Floats) -> Figures:
    """Return the figures of an estimate (d, c) beside the true class counts of each key (d, c)."""
    counts = classes.sum(axis=1)
    truth = classes / counts[:, None]
    possible = truth > 0
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(possible, posterior, 1.0))
    own = np.log(np.where(possible, truth, 1.0))
    divergence = np.maximum(np.where(possible, truth * (own - logs), 0.0).sum(axis=1), 0.0)
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
    tree: KeyedTree, knowledge: Knowledge, *, starts: int = 3, rng: np.random.Generator | None = None,
    progress: Progress | None = None, cancelled: Cancelled | None = None, exact: bool = False,
) -> Exposure:  # fmt: skip
    """Return what an adversary with this knowledge infers: see :func:`anonymizer.disclosure.maxent.maximum_entropy`.

    ``exact``: count whole people as well, where that is feasible, as a bound needs.
    """
    if tree.n_classes < 2:
        raise ParameterError("The sensitive column needs two values.", remedy="Choose another target.")
    estimate = maximum_entropy(tree, knowledge, starts=starts, rng=rng, progress=progress, cancelled=cancelled)
    counted = surest_posterior(tree, knowledge, limit=COUNTED, cancelled=cancelled) if exact else None
    figures = figures_of(tree, estimate.posterior)
    return Exposure(knowledge, estimate, figures, count_constraints(tree, knowledge), counted)


def assumptions(rule: GrowingRule | None) -> tuple[Knowledge, ...]:
    """Return every combination of what an adversary may know: error rates, class totals, the growing rule."""
    rules = (None,) if rule is None else (None, rule)
    return tuple(
        Knowledge(rates, totals, known_rule)
        for known_rule in rules
        for rates in (True, False)
        for totals in (False, True)
    )


def compare(
    tree: KeyedTree,
    rule: GrowingRule | None,
    *,
    starts: int = 3,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Exposure, ...]:
    """Return the figures under each assumption. ``rule``: also those of an adversary who knows how the tree was
    grown.
    """
    cases = assumptions(rule)
    exposures = []
    for number, knowledge in enumerate(cases):

        def part(share: float, what: str, number: int = number) -> None:
            """Report the progress of one case as a part of all."""
            if progress:
                progress((number + share) / len(cases), what)

        exposures.append(assess(tree, knowledge, starts=starts, progress=part, cancelled=cancelled))
    return tuple(exposures)


def highest_of_leaf(tree: KeyedTree, highest: Floats) -> Floats:
    """Return (m,) the highest posterior of anybody in each leaf; NaN for other nodes and leaves without a record."""
    highest_of = np.full(tree.outline.n_nodes, np.nan)
    leaves = tree.outline.leaves
    leaves = leaves[tree.last[leaves] > tree.first[leaves]]
    highest_of[leaves] = np.maximum.reduceat(highest, tree.first[leaves])
    return highest_of


def most_exposed(tree: KeyedTree, exposure: Exposure, number: int = 10) -> tuple[Group, ...]:
    """Return the groups with the highest posteriors, larger ones first among equals. Internal: they point at few
    people.
    """
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
    """Return (d, c) what an adversary infers who does not know how the tree was grown."""
    return maximum_entropy(tree, replace(knowledge, rule=None)).posterior


def figures_of_leaves(tree: KeyedTree, knowledge: Knowledge) -> Figures:
    """Return the figures of an adversary who does not know how the tree was grown; what internal nodes add starts
    there.
    """
    return figures_of(tree, leaf_posterior(tree, knowledge))


def finite(value: float) -> float | None:
    """Return a number for JSON; ``None`` for infinity."""
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class Trial:
    """One estimate of Z10's experiments on a tree of its own: ``measure`` and what an adversary knows; ``leaves``
    with a record; D_overall and the largest D_individual, nats; ``seconds`` of the estimate; ``converged``."""

    measure: str
    knowledge: Knowledge
    leaves: int
    mean_divergence: float
    highest_divergence: float
    seconds: float
    converged: bool


def trials(
    keys: Keys, fewest: int, depth: int | None, *, measures: Sequence[str] = ("gini", "entropy"), starts: int = 1,
    each: Callable[[Trial], None] | None = None, progress: Progress | None = None, cancelled: Cancelled | None = None,
) -> tuple[Trial, ...]:  # fmt: skip
    """Return what is told by trees that are grown by different measures, with and without error rates and how they were
    grown (Z10, Figures 3, 4, 6 and 9). ``each``: called with a trial as soon as it is there."""
    answers: list[Trial] = []
    for number, measure in enumerate(measures):
        tree = lay_keys(grow_multiway(keys, measure, fewest, depth), keys)
        rule = GrowingRule(measure)
        cases = (Knowledge(True), Knowledge(False), Knowledge(True, rule=rule), Knowledge(False, rule=rule))
        for place, knowledge in enumerate(cases):
            if cancelled is not None and cancelled():
                return tuple(answers)
            if progress is not None:
                progress((number + place / len(cases)) / len(measures), f"{measure}, {place + 1} of {len(cases)}")
            began = time.perf_counter()
            exposure = assess(tree, knowledge, starts=starts, cancelled=cancelled)
            seconds = time.perf_counter() - began
            figures, leaves = exposure.figures, int((tree.n[tree.outline.leaves] > 0).sum())
            highest = float(figures.divergence.max())
            converged = exposure.estimate.converged
            answers.append(Trial(measure, knowledge, leaves, figures.mean_divergence, highest, seconds, converged))
            if each is not None:
                each(answers[-1])
    return tuple(answers)


def differences(with_rule: Figures, without: Figures) -> Floats:
    """Return (d, 3) of each key D_individual without how the tree was grown less that with it, that with it, and that
    without; the largest difference first (Z10, Figure 7). Keys whose truth is ruled out are left out."""
    both = np.isfinite(with_rule.divergence) & np.isfinite(without.divergence)
    one, other = with_rule.divergence[both], without.divergence[both]
    order = np.argsort(one - other, kind="stable")
    return np.column_stack([other - one, one, other])[order]


def mean_of_top(gains: Floats) -> Floats:
    """Return (d,) the mean of the K largest differences, for K from 1 on (Z10, Figure 8)."""
    return np.asarray(np.cumsum(gains) / np.arange(1, len(gains) + 1))
