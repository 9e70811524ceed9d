"""A private scorecard: points for every public value of every column, which add up to the odds of each class.

With p columns and R rounds there are Q = p R queries, all of all records, so they follow one another and each costs
ε / Q. Neighbouring tables differ by one record added or removed. Round 1 counts the classes in each value of a column:
a record is in one of these counts. Later rounds sum, in each value of a column, the residuals that the points so far
leave: they are worked out from earlier noisy answers only, and what one record adds to all the sums of a query is at
most 1 in absolute value (two classes), or 2 (more, whose residuals are those of shares that add up to 1).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.forest.domains import CodedTable
from anonymizer.forest.growth import Plan
from anonymizer.forest.mechanisms import Budget, Noise
from anonymizer.forest.model import Floats, Rule
from anonymizer.forest.nodes import NoisyNode, positive_shares

COUNT_VALUES = "count the classes in each value"
SUM_RESIDUALS = "sum the residuals in each value"

ROUNDS = 2
"""R: how often every column is asked."""
SPREAD = 1.0
"""τ: how large points usually are, in log-odds; what noise makes larger is shrunk."""
LARGEST = 2.0
"""Most points that one round gives a value."""
DAMPING = 0.5
"""Share of the step of round 1, in which the columns do not know of each other."""
GRID = 2**20
"""Residuals are whole numbers of 2^-20, rounded towards 0."""
SURE = 30.0
"""Log-odds beyond which a class is as good as certain."""


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Points of the classes: ``base`` (c,) of everybody, ``points`` (values, c) of each column.

    ``totals`` (c,) and ``counts`` (values, c) of each column: the noisy numbers of records behind them. Of two classes
    the one has the points of the other with the sign turned. ``spent``: ε that all of it cost.
    """

    base: Floats
    points: tuple[Floats, ...]
    totals: Floats
    counts: tuple[Floats, ...]
    spent: float

    @property
    def trees(self) -> tuple[NoisyNode, ...]:
        """No tree at all."""
        return ()

    @property
    def title(self) -> str:
        """The name of what it is, in a few words."""
        return f"a scorecard of {len(self.points)} column{'s' * (len(self.points) != 1)}"

    @property
    def reading(self) -> str:
        """The sentence that says how the rules are to be applied."""
        return (
            "Add up the points of all rules that hold, for each class; with s points in all, 1 / (1 + exp(-s)) speaks "
            "for the class against the others, and these figures are divided by their sum."
        )

    def shares(self, codes: NDArray[np.integer]) -> Floats:
        """Return (n, c) the share of each class, summing to 1; ``codes`` (n, p)."""
        scores = np.tile(self.base, (len(codes), 1))
        for column, points in enumerate(self.points):
            scores += points[codes[:, column]]
        return shares_of_scores(scores)

    @property
    def always(self) -> int | None:
        """The class that most speaks for whoever it is; ``None`` where people are told apart."""
        first = int(self.shares(np.zeros((1, len(self.points)), np.int64)).argmax())
        ahead = self.base[first] - self.base
        for points in self.points:
            ahead = ahead + (points[:, [first]] - points).min(axis=0)
        return first if bool((np.delete(ahead, first) > 0).all()) else None

    def rules(self) -> list[Rule]:
        """Return one rule for everybody and one for every value of every column, each with its points."""
        rules = [self._rule(0, 0, (), self.base, self.totals)]
        for column, (points, counts) in enumerate(zip(self.points, self.counts, strict=True)):
            rules += [
                self._rule(column + 1, value, ((column, value),), points[value], counts[value])
                for value in range(len(points))
            ]
        return rules

    def _rule(self, column: int, value: int, path: tuple[tuple[int, int], ...], points: Floats, counts: Floats) -> Rule:
        """Return the rule of one value: the class is that which most points speak for."""
        label = int(points.argmax())
        share = float(positive_shares(counts)[label])
        return Rule(column, value + 1, path, label, share, float(counts.sum()), counts, self.spent, True, points)

    def to_dict(self) -> dict[str, Any]:
        """Return how it was made, JSON-ready, without the rules."""
        return {"rounds": ROUNDS, "damping": DAMPING, "largest_step": LARGEST, "spread": SPREAD, "grid": 1 / GRID}


def shares_of_scores(scores: Floats) -> Floats:
    """Return (n, c) shares of the classes from their log-odds, one against the rest, divided by their sum."""
    odds = 1 / (1 + np.exp(-np.clip(scores, -SURE, SURE)))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def step(gradient: Floats, curvature: Floats, variance: Floats | float) -> Floats:
    """Return d = H G / (H² + v/τ²), at most :data:`LARGEST` either way; 0 where there is nothing to go by.

    ``gradient`` G: sums of residuals; ``curvature`` H: sums of q (1 − q); ``variance`` v of the noise in G.
    """
    below = curvature**2 + variance / SPREAD**2
    moves = np.divide(curvature * gradient, below, out=np.zeros_like(gradient), where=below > 0)
    return np.asarray(np.clip(moves, -LARGEST, LARGEST))


def score(table: CodedTable, budget: Budget, noise: Noise, plan: Plan) -> Scorecard:
    """Return a scorecard that spends all that is left of a budget, an equal part on each query.

    Columns of a later round are asked one after another, each with the points of those before it. ``plan`` is for
    trees.
    """
    each = (budget.limit - budget.spent) / len(table.n_levels)
    accounts = [budget.reserve(each, attribute.name) for attribute in table.domains.attributes]
    cost = each / ROUNDS
    counts = []
    for column, account in enumerate(accounts):
        account.spend(cost, COUNT_VALUES)
        counts.append(count_classes(table, column, cost, noise))
    totals = np.average([own.sum(axis=0) for own in counts], axis=0, weights=1 / table.n_levels)
    numbers = np.maximum(totals, 0) + 0.5
    shares = numbers / numbers.sum()
    base = np.log(numbers / np.maximum(numbers.sum() - numbers, 0.5))
    points = [DAMPING * first_step(own, shares, 2 / cost**2) for own in counts]
    scores = base + sum(own[table.codes[:, column]] for column, own in enumerate(points))
    for number in range(2, ROUNDS + 1):
        for column, account in enumerate(accounts):
            account.spend(cost, SUM_RESIDUALS, number)
            residuals, variance = sum_residuals(table, column, shares_of_scores(scores), cost, noise)
            more = step(residuals, curvatures(counts[column]), variance)
            points[column] = points[column] + more
            scores = scores + more[table.codes[:, column]]
    return Scorecard(base, tuple(points), totals, tuple(counts), budget.spent)


def count_classes(table: CodedTable, column: int, cost: float, noise: Noise) -> Floats:
    """Return (values, c) noisy records with each value of a column and each class; one record is in one of them."""
    shape = int(table.n_levels[column]), table.n_classes
    places = table.codes[:, column].astype(np.int64) * table.n_classes + table.classes
    counts = np.bincount(places, minlength=shape[0] * shape[1])
    return noise.discrete_laplace(counts, cost).reshape(shape)


def sum_residuals(table: CodedTable, column: int, shares: Floats, cost: float, noise: Noise) -> tuple[Floats, float]:
    """Return (values, c) noisy sums of the residuals y - q in each value of a column, and the variance of their noise.

    ``shares`` (n, c): q, from earlier noisy answers. One record adds at most 1 to the sums of one of two classes, whose
    residuals are opposite so that one is enough; of more classes at most 2, in absolute values together.
    """
    residuals = (np.arange(table.n_classes) == table.classes[:, None]) - shares
    first = 1 if table.n_classes == 2 else 0
    sensitivity = 2 - first
    whole = np.trunc(residuals[:, first:] * GRID).astype(np.int64)
    sums = np.zeros((int(table.n_levels[column]), whole.shape[1]), dtype=np.int64)
    np.add.at(sums, table.codes[:, column], whole)
    rate = cost / (sensitivity * GRID)
    answers = noise.discrete_laplace(sums.ravel(), rate).reshape(sums.shape) / GRID
    return np.column_stack([-answers, answers]) if first else answers, 2 / (rate * GRID) ** 2


def first_step(counts: Floats, shares: Floats, variance: float) -> Floats:
    """Return (values, c) the step from the shares of everybody, by noisy counts; ``variance`` of the noise in each."""
    sizes = counts.sum(axis=1, keepdims=True)
    noise = variance * ((1 - shares) ** 2 + (len(shares) - 1) * shares**2)
    return step(counts - sizes * shares, np.maximum(sizes, 0) * shares * (1 - shares), noise)


def curvatures(counts: Floats) -> Floats:
    """Return (values, c) the noisy number of records in each value times q (1 - q), q being the share of a class."""
    shares = np.array([positive_shares(own) for own in counts])
    return np.asarray(np.maximum(counts.sum(axis=1, keepdims=True), 0) * shares * (1 - shares))
