"""What every node of a tree tells an attacker, from its region and its sum alone."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.digression import NumericRisk, annotate_numbers
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.target import entropy, gini, majority_error
from anonymizer.growing.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeRisk:
    """One entry a node, (m,). Tags: Yang et al. 2019 (Y19).

    ``n``: records; ``persons``: the same where every record is a person. ``big``: bits an attacker gains about a
    person's quasi-identifiers by placing them in the node, BIG(t), (1): −Σ log2 of the path domain's shares; 0 at the
    root. ``icr``: bits that hide a person among the node's, ICR(t) = log2 of their number, (3). ``tidi``: their sum
    R(t), (5): how hard it is to single out a person there; low is risky. ``error``: records outside the majority
    class, E(t), (8). ``entropy``: of the classes, bits per record; ``gini``: impurity.

    Of the branch below each node, at the grown tree's leaves: ``branch_tidi`` R(B_t), the least of its leaves, (6);
    ``branch_error`` E(B_t), the sum, (9); ``smallest_leaf``, persons. ``error_risk``: ω_t, (10): risk bits removed
    per extra error when the branch is pruned, (R(t) − R(B_t)) / (E(t) − E(B_t)); +inf for a free
    pruning, NaN at leaves. ``numeric``: the figures of numeric sensitive columns, when there are any.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> risk = an.annotate(tree, encoded)
    >>> int(risk.n[0]), float(risk.big[0])
    (300, 0.0)
    """

    n: NDArray[np.int64]
    persons: NDArray[np.int64]
    big: Floats
    icr: Floats
    tidi: Floats
    error: NDArray[np.int64]
    entropy: Floats
    gini: Floats
    branch_tidi: Floats
    branch_error: NDArray[np.int64]
    smallest_leaf: NDArray[np.int64]
    error_risk: Floats
    numeric: NumericRisk | None = None

    def __repr__(self) -> str:
        return f"NodeRisk of {len(self.n):,} nodes"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


def annotate(tree: Tree, encoded: EncodedTable) -> NodeRisk:
    """Return the risk of every node. Only the encodings of ``encoded`` are read, never its records.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> risk = an.annotate(tree, encoded)
    >>> int(risk.n[0]), len(risk.n) == tree.n_nodes
    (300, True)
    """
    from anonymizer import kernels

    big = region_information(tree, encoded)
    persons = tree.persons.n
    icr = np.log2(np.maximum(persons, 1))
    tidi = big + icr
    error = majority_error(tree.sums)
    branch_tidi, branch_error, smallest_leaf = tidi.copy(), error.copy(), persons.copy()
    kernels.branch_sweep(tree.parent, tree.feature, branch_tidi, branch_error, smallest_leaf)
    return NodeRisk(
        n=tree.n,
        persons=persons,
        big=big,
        icr=icr,
        tidi=tidi,
        error=error,
        entropy=entropy(tree.sums),
        gini=gini(tree.sums),
        branch_tidi=branch_tidi,
        branch_error=branch_error,
        smallest_leaf=smallest_leaf,
        error_risk=np.where(tree.is_leaf, np.nan, error_risk_ratio(tidi - branch_tidi, error - branch_error)),
        numeric=None if encoded.numeric is None else annotate_numbers(tree, encoded.numeric),
    )


def region_information(tree: Tree, encoded: EncodedTable) -> Floats:
    """Return BIG of every node, bits, (m,): Y19 (1) on path domains; numeric columns by length, others by levels."""
    from anonymizer import kernels

    encodings = encoded.encodings
    interval = np.array([encoding.is_interval for encoding in encodings])
    low = np.array([encoding.domain[0] for encoding in encodings])
    high = np.array([encoding.domain[1] for encoding in encodings])
    count = np.array([float(encoding.n_codes) for encoding in encodings])
    share = np.array([encoding.missing_share for encoding in encodings])
    big = np.empty(tree.n_nodes)
    kernels.region_bits(
        tree.parent, tree.feature, tree.cut, tree.threshold, np.diff(tree.listed_start), tree.listed_left,
        interval, low, high, count, share, big,
    )  # fmt: skip
    return big


def error_risk_ratio(risk_removed: Floats, errors_added: NDArray[np.int64]) -> Floats:
    """Return ω, Y19 (10): bits per record; +inf where nothing is added. Shapes (m,)."""
    return np.asarray(
        np.divide(risk_removed, errors_added, out=np.full(len(risk_removed), np.inf), where=errors_added > 0)
    )
