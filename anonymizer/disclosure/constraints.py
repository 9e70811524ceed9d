"""The constraints that a published tree gives an adversary (Z10, section 4), and how far an estimate breaks them.

An estimate P(x|q) is an array (d, c): a distribution over the c classes for each distinct key. The constraints:
QI (each row sums to 1), rate (the label's share of a leaf), label (no class of a leaf exceeds its label), SA (class
totals), internal (no candidate question of a node would have been better than the node's own).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.multiway import MEASURES, Floats, split_information, spread
from anonymizer.disclosure.outline import NOWHERE, KeyedTree
from anonymizer.errors import ParameterError

MOST_SUBSETS = 12
"""Most levels whose subsets are tried one by one."""


@dataclass(frozen=True)
class GrowingRule:
    """The rule by which a tree was grown, as far as an adversary knows it.

    ``measure``: ``gini``, ``entropy`` or ``gain-ratio``. ``splits``: ``multiway`` (a child a level, numbers by
    threshold; every column left is a candidate) or ``binary`` (subsets and cuts with at least ``min_leaf`` records on
    both sides; of more than ``exhaustive_max`` levels and more than two classes not every subset was tried, so that
    nothing follows for them).
    """

    measure: str = "entropy"
    splits: str = "multiway"
    min_leaf: int = 1
    exhaustive_max: int = 8

    def __post_init__(self) -> None:
        if self.measure not in MEASURES or self.splits not in ("multiway", "binary"):
            raise ParameterError(
                f"Nothing is known of trees grown by {self.measure!r} with {self.splits!r} splits.",
                remedy=f"Choose one of {', '.join(MEASURES)}, and multiway or binary.",
            )


@dataclass(frozen=True)
class Knowledge:
    """The knowledge of an adversary beside everybody's quasi-identifiers, the tree and the labels of its leaves.

    ``rates``: the error rate of each leaf; ``totals``: how many records of the table have each class; ``rule``: how
    the tree was grown, ``None`` when that is not known.
    """

    rates: bool = True
    totals: bool = False
    rule: GrowingRule | None = None

    def without_rule(self) -> "Knowledge":
        """Return the same without how the tree was grown."""
        return replace(self, rule=None)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A question that a node could have asked instead: ``group`` (b,) the side of each code of ``column``."""

    node: int
    column: int
    group: NDArray[np.int32]

    @property
    def name(self) -> tuple[int, int, bytes]:
        """The identity of a candidate."""
        return self.node, self.column, self.group.tobytes()


@dataclass(frozen=True)
class ConstraintCounts:
    """The number of constraints of each kind (Z10, section 5).

    ``internal``: one for each other column that a node could have asked; ``cuts``: for those among them that
    are divided in two, all the ways to do so together.
    """

    qi: int
    rate: int
    label: int
    sa: int
    internal: int
    cuts: int


@dataclass(frozen=True)
class Residuals:
    """The worst that an estimate breaks each kind of constraint by, in shares (internal: impurity a record)."""

    qi: float
    rate: float
    label: float
    sa: float
    internal: float

    @property
    def worst(self) -> float:
        """The largest of them."""
        return max(self.qi, self.rate, self.label, self.sa, self.internal)


def used_columns(tree: KeyedTree, node: int) -> set[int]:
    """Return the columns that a path has used up: those divided by level in a multiway tree."""
    outline = tree.outline
    return {int(outline.feature[above]) for above in outline.above(node) if outline.sides[above] is not None}


def rivals(tree: KeyedTree, rule: GrowingRule, node: int) -> list[int]:
    """Return the columns none of whose questions at this node can be better than the node's own."""
    encodings = tree.keys.encodings
    own = int(tree.outline.feature[node])
    if rule.splits == "multiway":
        used = used_columns(tree, node)
        return [j for j in range(len(encodings)) if j not in used and (encodings[j].is_interval or j != own)]
    columns = []
    run = slice(tree.first[node], tree.last[node])
    for j, encoding in enumerate(encodings):
        if not encoding.by_order:
            codes = tree.keys.codes[run, j]
            sizes: Floats = np.bincount(codes, weights=tree.keys.counts[run]).astype(np.float64)
            if not subsets_were_tried(sizes[sizes > 0], tree.n_classes, rule):
                continue
        columns.append(j)
    return columns


def subsets_were_tried(sizes: Floats, c: int, rule: GrowingRule) -> bool:
    """Return ``True`` where no subset of these levels was better: all were tried, or the order is exact.

    With two classes the best subset is among the prefixes by class share (Breiman); one that was ruled out by
    ``min_leaf`` spoils that, unless every level alone has as many records.
    """
    if len(sizes) > MOST_SUBSETS:
        return False
    if c == 2:
        return bool(sizes.min(initial=np.inf) >= rule.min_leaf)
    return len(sizes) <= rule.exhaustive_max


def count_constraints(tree: KeyedTree, knowledge: Knowledge) -> ConstraintCounts:
    """Return how many constraints the adversary can write down."""
    outline, rule = tree.outline, knowledge.rule
    leaves = outline.leaves
    n_leaves, c = int((tree.n[leaves] > 0).sum()), tree.n_classes
    internal = cuts = 0
    for node in np.flatnonzero(outline.feature >= 0):
        if rule is None:
            break
        run = slice(tree.first[node], tree.last[node])
        for column in rivals(tree, rule, int(node)):
            internal += int(column != outline.feature[node])
            encoding = tree.keys.encodings[column]
            values = len(np.unique(tree.keys.codes[run, column]))
            if encoding.is_interval or (rule.splits == "binary" and encoding.by_order):
                cuts += values - 1
            elif rule.splits == "binary":
                cuts += 2 ** (values - 1) - 1
    return ConstraintCounts(
        tree.n_keys,
        n_leaves if knowledge.rates else 0,
        n_leaves * (c - 1),
        c if knowledge.totals else 0,
        internal,
        cuts,
    )


def slacks(tree: KeyedTree, rule: GrowingRule, posterior: Floats) -> Iterator[tuple[Candidate, float]]:
    """Yield for each node and rival column the best candidate under an estimate, and how much worse it is, a record.

    Negative: better than the node's own question, which Z10 (3) forbids. Columns that cannot be
    divided at the node are left out; as questions of a multiway tree they count, and are never better.
    """
    outline, keys = tree.outline, tree.keys
    masses = posterior * keys.counts[:, None]
    before = np.zeros((len(masses) + 1, masses.shape[1]))
    np.cumsum(masses, axis=0, out=before[1:])
    for node in np.flatnonzero(outline.feature >= 0):
        run = slice(int(tree.first[node]), int(tree.last[node]))
        children = np.array(outline.children[node])
        groups = before[tree.last[children]] - before[tree.first[children]]
        own = cost(np.maximum(groups, 0.0), rule.measure)
        for column in rivals(tree, rule, int(node)):
            present, position = np.unique(keys.codes[run, column], return_inverse=True)
            by_level = rule.splits == "multiway" and not keys.encodings[column].is_interval
            if len(present) < 2 and (rule.measure == "gain-ratio" or not by_level):
                continue
            levels = np.zeros((len(present), masses.shape[1]))
            for x in range(masses.shape[1]):
                levels[:, x] = np.bincount(position, weights=masses[run, x], minlength=len(present))
            sizes: Floats = np.bincount(position, weights=keys.counts[run]).astype(np.float64)
            best = best_candidate(
                levels, sizes, rule, keys.encodings[column].is_interval, keys.encodings[column].by_order
            )
            if best is None:
                continue
            side, value = best
            group = np.full(keys.encodings[column].n_codes, NOWHERE, dtype=np.int32)
            group[present] = side
            yield Candidate(int(node), column, group), (value - own) / float(tree.n[node])


def candidates_of(tree: KeyedTree, rule: GrowingRule, node: int) -> Iterator[Candidate]:
    """Yield every candidate question of a node that cannot be better: by level, by cut, and by subset."""
    run = slice(int(tree.first[node]), int(tree.last[node]))
    for column in rivals(tree, rule, node):
        encoding = tree.keys.encodings[column]
        present, position = np.unique(tree.keys.codes[run, column], return_inverse=True)
        v = len(present)
        if v < 2:
            continue
        sizes = np.bincount(position, weights=tree.keys.counts[run])
        if rule.splits == "multiway" and not encoding.is_interval:
            sides = np.arange(v)[None, :]
        elif encoding.by_order:
            sides = (np.arange(v)[None, :] > np.arange(v - 1)[:, None]).astype(np.int64)
        else:
            sides = 1 - ((np.arange(1, 2 ** (v - 1))[:, None] >> np.arange(v)) & 1)
        if rule.splits == "binary":
            right = sides @ sizes
            sides = sides[np.minimum(right, sizes.sum() - right) >= rule.min_leaf]
        for side in sides:
            group = np.full(encoding.n_codes, NOWHERE, dtype=np.int32)
            group[present] = side
            yield Candidate(node, column, group)


def cost(groups: Floats, measure: str) -> float:
    """Return the cost of a question, n times; lower is better. ``groups`` (g, c) class masses.

    Expected impurity, Z10 (2), or, for the gain ratio, minus the gain over the split information.
    """
    if measure != "gain-ratio":
        return float(spread(groups, measure).sum())
    information = split_information(groups.sum(axis=1))
    gain = float(spread(groups.sum(axis=0), "entropy")) - float(spread(groups, "entropy").sum())
    return -gain / information if information > 0 else 0.0


def best_candidate(
    masses: Floats, sizes: Floats, rule: GrowingRule, is_interval: bool, by_order: bool
) -> tuple[NDArray[np.int64], float] | None:
    """Return the best way to divide the present codes of a column: the side of each, and its cost.

    ``masses`` (v, c), ``sizes`` (v,) records. ``None`` when no way has enough records on both sides.
    """
    v = len(masses)
    if rule.splits == "multiway" and not is_interval:
        return np.arange(v), cost(masses, rule.measure)
    if by_order or is_interval:
        left = np.tril(np.ones((v - 1, v), dtype=bool)) if v <= MOST_SUBSETS else None
        below = np.cumsum(masses, axis=0)[:-1]
        n_below = np.cumsum(sizes)[:-1]
    else:
        left = (np.arange(1, 2 ** (v - 1))[:, None] >> np.arange(v)) & 1 == 1
        below, n_below = left @ masses, left @ sizes
    total, n = masses.sum(axis=0), sizes.sum()
    above = np.maximum(total - below, 0.0)
    if rule.measure == "gain-ratio":
        gain = spread(total, "entropy") - spread(below, "entropy") - spread(above, "entropy")
        parts = np.stack([n_below, n - n_below], axis=1)
        values = -gain / np.array([split_information(part) for part in parts])
    else:
        values = spread(below, rule.measure) + spread(above, rule.measure)
    fewest = rule.min_leaf if rule.splits == "binary" else 1
    values[np.minimum(n_below, n - n_below) < fewest] = np.inf
    at = int(values.argmin())
    if values[at] == np.inf:
        return None
    side = np.arange(v) > at if left is None else ~left[at]
    return side.astype(np.int64), float(values[at])


def residuals(tree: KeyedTree, knowledge: Knowledge, posterior: Floats) -> Residuals:
    """Return the worst that an estimate breaks what the adversary knows by. All internal constraints are looked at."""
    leaves = tree.outline.leaves
    leaves = leaves[tree.n[leaves] > 0]
    masses = posterior * tree.keys.counts[:, None]
    shares = np.add.reduceat(masses, tree.first[leaves]) / tree.n[leaves][:, None]
    labels = tree.label[leaves]
    own = shares[np.arange(len(leaves)), labels]
    rate = np.abs(own - (tree.correct / np.maximum(tree.n, 1))[leaves]).max(initial=0.0) if knowledge.rates else 0.0
    totals = np.abs(masses.sum(axis=0) - tree.sums[0]).max() / tree.n_records if knowledge.totals else 0.0
    worst = min((slack for _, slack in slacks(tree, knowledge.rule, posterior)), default=0.0) if knowledge.rule else 0.0
    return Residuals(
        qi=float(max(np.abs(posterior.sum(axis=1) - 1).max(), -posterior.min(), 0.0)),
        rate=float(rate),
        label=float(max((shares - own[:, None]).max(initial=0.0), 0.0)),
        sa=float(totals),
        internal=float(max(-worst, 0.0)),
    )
