"""The exact posterior of an adversary who knows that people are whole: class counts of keys are integers.

Every assignment of classes to people is equally likely beforehand; those that contradict the constraints are ruled
out. Maximum entropy is its limit for many people and understates risk for few (Z10, Example 1). Counted from the
leaves up: what a branch can be is a list of states, and states that look alike to every constraint further up are
merged with their weights. So the cost is that of distinct states, not of tables; where even that is too much, the
keys concerned have no exact posterior.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import Candidate, Knowledge, candidates_of
from anonymizer.disclosure.maxent import closed_form
from anonymizer.disclosure.multiway import Floats, spread, x_log_x
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.errors import Cancelled, CancelledError

LIMIT = 300_000
"""Most states of a branch, unless another limit is given."""
SAME = 1e-9
"""Impurities a record within this of each other are equal."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IntegerPosterior:
    """``posterior`` (d, c): the exact P(x|q) where ``exact`` (d,), NaN elsewhere. ``states``: the most at one time.

    ``constraints``: internal constraints that could rule something out, of those counted.
    """

    posterior: Floats
    exact: NDArray[np.bool_]
    states: int
    constraints: int


class TooManyError(Exception):
    """A branch has more states than the limit."""


def surest_posterior(
    tree: KeyedTree, knowledge: Knowledge, *, limit: int = LIMIT, cancelled: Cancelled | None = None
) -> IntegerPosterior:
    """Return, for each key, the exact posterior of the surer of two: who knows that the label of a leaf is the first of
    several largest classes, and who does not. A tree whose labels are others tells nothing of that rule."""
    plain = integer_posterior(tree, knowledge, limit=limit, cancelled=cancelled)
    if not labelled_by_order(tree):
        return plain
    ruled = integer_posterior(tree, knowledge, by_order=True, limit=limit, cancelled=cancelled)
    is_surer = ruled.posterior.max(axis=1) > plain.posterior.max(axis=1)
    return IntegerPosterior(
        np.where(is_surer[:, None], ruled.posterior, plain.posterior), plain.exact & ruled.exact,
        max(plain.states, ruled.states), plain.constraints,
    )  # fmt: skip


def labelled_by_order(tree: KeyedTree) -> bool:
    """Return whether the label of every leaf is the first of its largest classes, as a public rule may have it."""
    leaves = tree.outline.leaves
    return bool((tree.label[leaves] == tree.sums[leaves].argmax(axis=1)).all())


def integer_posterior(
    tree: KeyedTree, knowledge: Knowledge, *, by_order: bool = False, limit: int = LIMIT,
    cancelled: Cancelled | None = None,
) -> IntegerPosterior:  # fmt: skip
    """Return the exact integer posterior of every key for which counting stays within ``limit`` states.

    ``by_order``: it is known that the label of a leaf is the first of several largest classes, so that those before it
    have fewer people.

    Class totals join all leaves; with them, and with internal constraints far up, only small tables can be counted.
    Binary trees: every division of a column in two is a constraint of its own, so fewer can be counted.
    """
    counting = Counting(tree, knowledge, limit, cancelled or (lambda: False), by_order)
    return counting.run()


@dataclass(frozen=True, eq=False)
class States:
    """The states of a branch: ``view`` (s, w) what constraints above see, ``weight`` (s,) its probability beforehand,
    and ``mass`` (s, k · c) the expected class counts of its k keys in that state.
    """

    view: Integers
    weight: Floats
    mass: Floats


class Counting:
    """One count over a tree. Branches that no constraint above can see into are counted apart."""

    def __init__(
        self, tree: KeyedTree, knowledge: Knowledge, limit: int, cancelled: Cancelled, by_order: bool = False
    ) -> None:
        self.tree, self.knowledge, self.limit, self.cancelled = tree, knowledge, limit, cancelled
        self.by_order = by_order
        self.most = 0
        self.used = 0
        self.candidates: dict[int, list[Candidate]] = {}

    def run(self) -> IntegerPosterior:
        """Return what is counted from the top: whole where that is possible, else branch by branch below constraints
        given up.
        """
        tree = self.tree
        posterior = np.full((tree.n_keys, tree.n_classes), np.nan)
        base = closed_form(tree, self.knowledge.rates)
        if self.knowledge.rule is not None:
            for inner in np.flatnonzero(tree.outline.feature >= 0):
                if tree.n[inner]:
                    self.candidates[int(inner)] = self.doubtful_candidates(int(inner))
        self.used = sum(map(len, self.candidates.values()))
        joined = self.top_constrained()
        for node in joined:
            run = slice(int(tree.first[node]), int(tree.last[node]))
            try:
                states = self.count(node, ())
            except TooManyError:
                continue
            if self.knowledge.totals:
                fits = (states.view[:, : tree.n_classes] == tree.sums[0]).all(axis=1)
                states = States(states.view[fits], states.weight[fits], states.mass[fits])
            total = states.weight.sum()
            if not total > 0:
                continue
            mass = (states.weight @ states.mass / total).reshape(-1, tree.n_classes)
            posterior[run] = mass / tree.keys.counts[run, None]
        untouched = np.ones(tree.n_keys, dtype=bool)
        for node in joined:
            untouched[tree.first[node] : tree.last[node]] = False
        # A leaf alone: its people are interchangeable but for labels, so shares are those of the closed form.
        if self.knowledge.rates:
            posterior[untouched] = base[untouched]
        exact = ~np.isnan(posterior).any(axis=1)
        return IntegerPosterior(posterior, exact, self.most, self.used)

    def top_constrained(self) -> list[int]:
        """Return the branches to be counted together: highest nodes with a doubtful constraint; the root with totals.

        Without rates, every leaf is counted: its label alone says something of whole people. So it does where another
        class may be as large, and it is known which of several is the label.
        """
        tree = self.tree
        if self.knowledge.totals:
            return [0]
        tops: list[int] = []
        covered = -1
        for node in range(tree.outline.n_nodes):
            if tree.first[node] == tree.last[node] or (tops and tree.last[node] <= covered):
                continue
            may_tie = self.by_order and tree.error[node] >= tree.correct[node]
            leaf_counts = tree.outline.feature[node] < 0 and (not self.knowledge.rates or may_tie)
            if self.candidates.get(node) or leaf_counts:
                tops.append(node)
                covered = int(tree.last[node])
        return tops

    def doubtful_candidates(self, node: int) -> list[Candidate]:
        """Return the candidates of a node that some class table could make better than its own question.

        Left out: those whose groups are unions of children (never better, impurity is concave), and single groups.
        """
        tree, rule = self.tree, self.knowledge.rule
        assert rule is not None
        children = [child for child in tree.outline.children[node] if tree.n[child]]
        run = slice(int(tree.first[node]), int(tree.last[node]))
        if all(self.is_public(child) for child in children) and self.is_public(node):
            return []
        doubtful = []
        for candidate in candidates_of(tree, rule, node):
            side = candidate.group[tree.keys.codes[run, candidate.column]]
            if len(np.unique(side)) < 2:
                continue
            coarser = all(
                len(np.unique(candidate.group[tree.keys.codes[tree.first[c] : tree.last[c], candidate.column]])) == 1
                for c in children
            )
            if coarser and rule.measure != "gain-ratio":
                continue
            doubtful.append(candidate)
        return doubtful

    def is_public(self, node: int) -> bool:
        """Return whether all classes below a node are public: every leaf of it pure, with its rate."""
        tree = self.tree
        if not self.knowledge.rates:
            return False
        run = slice(int(tree.first[node]), int(tree.last[node]))
        return bool((tree.error[tree.leaf_of_key[run]] == 0).all())

    def count(self, node: int, above: Sequence[Candidate]) -> States:
        """Return the states of a branch, as the constraints of nodes above see them."""
        if self.cancelled():
            raise CancelledError("The count was stopped before it was done.", remedy="Start it again.")
        tree = self.tree
        if tree.outline.feature[node] < 0:
            return self.merge(self.leaf_states(node, above))
        own = self.candidates.get(node, [])
        watched = (*above, *own)
        children = [child for child in tree.outline.children[node] if tree.last[child] > tree.first[child]]
        states: States | None = None
        child_totals: list[Integers] = []
        c = tree.n_classes
        for child in children:
            part = self.count(child, watched)
            totals = part.view[:, :c]
            if states is None:
                states, child_totals = part, [totals]
                continue
            left, right = self.pairs(states, part)
            child_totals = [each[left] for each in child_totals] + [totals[right]]
            states = States(
                states.view[left] + part.view[right],
                states.weight[left] * part.weight[right],
                np.hstack([states.mass[left], part.mass[right]]),
            )
            if not own:  # nothing compares the children, so their totals need not be kept apart
                states = self.merge(states)
                child_totals = []
        assert states is not None
        if own:
            states = self.consistent(node, states, np.stack(child_totals, axis=1), own, above)
        return self.merge(self.narrow(states, above))

    def pairs(self, first: States, second: States) -> tuple[Integers, Integers]:
        """Return every state of one with every state of the other, as two index arrays."""
        size = len(first.weight) * len(second.weight)
        columns = first.mass.shape[1] + second.mass.shape[1] + first.view.shape[1]
        if size > self.limit or size * columns > 40 * self.limit:
            raise TooManyError
        self.most = max(self.most, size)
        left = np.repeat(np.arange(len(first.weight)), len(second.weight))
        return left, np.tile(np.arange(len(second.weight)), len(first.weight))

    def widths(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
        """Return each candidate and how many groups it has."""
        return [(candidate, int(candidate.group.max()) + 1) for candidate in candidates]

    def leaf_states(self, node: int, above: Sequence[Candidate]) -> States:
        """Return all class tables of a leaf's keys that agree with its label and rate; probabilities as of people."""
        tree, c = self.tree, self.tree.n_classes
        run = slice(int(tree.first[node]), int(tree.last[node]))
        sizes = tree.keys.counts[run]
        signature = self.signatures(node, above)
        kinds, kind_of_key = np.unique(signature, axis=0, return_inverse=True)
        kind_of_key = kind_of_key.ravel()
        people = np.bincount(kind_of_key, weights=sizes).astype(np.int64)
        tables, logs = self.tables(people, int(tree.label[node]), int(tree.correct[node]))
        widths = self.widths(above)
        view = np.zeros((len(tables), (1 + sum(width for _, width in widths)) * c), dtype=np.int64)
        view[:, :c] = tables.sum(axis=1)
        start = 1
        for position, (_, width) in enumerate(widths):
            for kind in range(len(kinds)):
                at = (start + int(kinds[kind, position])) * c
                view[:, at : at + c] += tables[:, kind]
            start += width
        share = tables[:, kind_of_key] / people[kind_of_key][None, :, None] * sizes[None, :, None]
        weight = np.exp(logs - logs.max()) if len(logs) else logs
        return States(view, weight / max(weight.sum(), 1e-300), share.reshape(len(tables), -1))

    def signatures(self, node: int, above: Sequence[Candidate]) -> Integers:
        """Return (k, a) the side of each of the node's keys in each candidate that watches."""
        tree = self.tree
        run = slice(int(tree.first[node]), int(tree.last[node]))
        columns = [candidate.group[tree.keys.codes[run, candidate.column]] for candidate in above]
        size = int(tree.last[node] - tree.first[node])
        return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((size, 0), dtype=np.int64)

    def tables(self, people: Integers, label: int, right: int) -> tuple[Integers, Floats]:
        """Return all tables (s, k, c) with these row sums whose column totals fit the leaf, and the logs of their
        weights.
        """
        from scipy.special import gammaln

        c, n = self.tree.n_classes, int(people.sum())
        if self.knowledge.rates and right == n:
            pure = np.zeros((1, len(people), c), dtype=np.int64)
            pure[0, :, label] = people
            return pure, np.zeros(1)
        rows = [compositions(int(size), c, self.limit) for size in people]
        tables, logs = np.zeros((1, 0, c), dtype=np.int64), np.zeros(1)
        for size, row in zip(people, rows, strict=True):
            if len(tables) * len(row) * (tables.shape[1] + 1) * c > 40 * self.limit:
                raise TooManyError
            left, after = np.repeat(np.arange(len(tables)), len(row)), np.tile(np.arange(len(row)), len(tables))
            logs = logs[left] + (gammaln(size + 1) - gammaln(row + 1).sum(axis=1))[after]
            tables = np.concatenate([tables[left], row[after][:, None, :]], axis=1)
            if self.knowledge.rates:
                fits = tables.sum(axis=1)[:, label] <= right
                tables, logs = tables[fits], logs[fits]
        totals = tables.sum(axis=1)
        fits = totals.max(axis=1) <= totals[:, label]
        if self.by_order:
            fits &= totals[:, :label].max(axis=1, initial=-1) < totals[:, label]
        if self.knowledge.rates:
            fits &= totals[:, label] == right
        self.most = max(self.most, len(tables))
        return tables[fits], logs[fits]

    def consistent(
        self, node: int, states: States, children: Integers, own: Sequence[Candidate], above: Sequence[Candidate]
    ) -> States:
        """Return the states in which no candidate of the node is better than its own question."""
        rule = self.knowledge.rule
        assert rule is not None
        c, n = self.tree.n_classes, float(self.tree.n[node])
        cost = costs(children.astype(np.float64), rule.measure)
        start = 1 + sum(width for _, width in self.widths(above))
        keep = np.ones(len(states.weight), dtype=bool)
        for _, width in self.widths(own):
            groups = states.view[:, start * c : (start + width) * c].reshape(len(states.view), width, c)
            keep &= cost <= costs(groups.astype(np.float64), rule.measure) + SAME * n
            start += width
        return States(states.view[keep], states.weight[keep], states.mass[keep])

    def narrow(self, states: States, above: Sequence[Candidate]) -> States:
        """Return the states as only the constraints above see them."""
        width = (1 + sum(width for _, width in self.widths(above))) * self.tree.n_classes
        return States(states.view[:, :width], states.weight, states.mass)

    def merge(self, states: States) -> States:
        """Return one state for those that look alike, its mass their weighted mean."""
        if not len(states.weight):
            return states
        view, place = np.unique(states.view, axis=0, return_inverse=True)
        place = place.ravel()
        weight: Floats = np.bincount(place, weights=states.weight, minlength=len(view)).astype(np.float64)
        mass = np.zeros((len(view), states.mass.shape[1]))
        np.add.at(mass, place, states.mass * states.weight[:, None])
        means = np.divide(mass, weight[:, None], out=np.zeros_like(mass), where=weight[:, None] > 0)
        return States(view, weight, means)


def costs(groups: Floats, measure: str) -> Floats:
    """Return :func:`anonymizer.disclosure.constraints.cost` for many states at once. (s, g, c) -> (s,)."""
    if measure != "gain-ratio":
        return np.asarray(spread(groups, measure).sum(axis=1))
    sizes = groups.sum(axis=2)
    n = sizes.sum(axis=1)
    information = (x_log_x(n) - x_log_x(sizes).sum(axis=1)) / n
    gain = spread(groups.sum(axis=1), "entropy") - spread(groups, "entropy").sum(axis=1)
    return np.asarray(np.divide(-gain, information, out=np.zeros_like(gain), where=information > 0))


def compositions(total: int, parts: int, limit: int) -> Integers:
    """Return all ways to share ``total`` people among ``parts`` classes, (s, parts). Raises when there are too many."""
    if math.comb(total + parts - 1, parts - 1) > limit:
        raise TooManyError
    counts = np.zeros((1, 0), dtype=np.int64)
    left = np.array([total], dtype=np.int64)
    for _ in range(parts - 1):
        repeats = left + 1
        rows = np.repeat(np.arange(len(left)), repeats)
        share = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        counts = np.column_stack([counts[rows], share])
        left = left[rows] - share
    return np.column_stack([counts, left])
