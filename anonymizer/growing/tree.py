"""The tree as a table: one row a node, in preorder, so a branch is a run of rows.

Node 0 is the root; the left child of node t is t + 1, its right child t + 1 + size[t + 1]; a branch B_t is
the rows t to t + size[t]. A pruned tree is the same tree and a cut: see :mod:`anonymizer.groups.prune`.
"""

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.encode import Encoding

NO_NODE = -1


@dataclass(frozen=True, eq=False)
class Persons:
    """Different persons of m nodes, sums like all others: ``n`` (m,); ``sums`` (m, c) and ``others``, one (m, c) each:
    those with each class of the target and of each further categorical sensitive column. Who has several values counts
    once for each. ``most`` (m,): the most records that one of them has; ``None`` where every record is a person."""

    n: NDArray[np.int64]
    sums: NDArray[np.int64]
    others: tuple[NDArray[np.int64], ...] = ()
    most: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """m nodes over p quasi-identifiers; s numbers in a node's sum. All arrays are read-only.

    Structure: ``parent`` (m,), -1 for the root; ``size`` (m,) nodes of the branch, itself included; ``depth`` (m,).

    Routes: ``feature`` (m,) the column that splits the node, -1 for a leaf. Ordered columns: codes below ``cut``
    (m,) go left; ``threshold`` (m,) is the same cut as a value (midpoint of the two neighbouring values in the
    node; +inf: everything but missing goes left). Categorical columns: the codes
    ``listed[listed_start[t]:listed_start[t + 1]]``, ascending, go left when ``listed_left[t]`` and right
    otherwise; all other codes go to the other side, the larger child's.

    Sums: ``n`` (m,) records; ``sums`` (m, c) records of each class of the target; ``moments`` (m, 1 + r + r(r+1)/2) of
    the numeric sensitive columns: records, Σy, and the lower triangle of Σyyᵀ row by row, y scaled and centred;
    ``others``: one (m, c) for each further categorical sensitive column. See :mod:`anonymizer.growing.target`.
    ``persons``: the same, counted in persons; where every record is a person these are the same arrays. ``people``
    (m,): of the population behind each node, where anything is known of it; ``counted``: inside its hull, one by one,
    and not estimated by weights. See :mod:`anonymizer.growing.people`.

    Hulls, the smallest box that holds the node's records: ``low``, ``high`` (m, p) lowest and highest code
    that is not "missing" (low > high when all are missing); ``levels`` (m, p) number of different codes,
    missing included, for columns counted by level, 0 otherwise; ``has_missing`` (m, p).

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> tree.n_nodes > 1, int(tree.n[0])
    (True, 300)
    """

    parent: NDArray[np.int32]
    size: NDArray[np.int32]
    depth: NDArray[np.int32]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    threshold: NDArray[np.float64]
    listed_start: NDArray[np.int64]
    listed: NDArray[np.unsignedinteger]
    listed_left: NDArray[np.bool_]
    n: NDArray[np.int64]
    sums: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    levels: NDArray[np.int32]
    has_missing: NDArray[np.bool_]
    moments: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 1)))
    others: tuple[NDArray[np.int64], ...] = ()
    people: NDArray[np.float64] | None = None
    counted: bool = False
    persons: Persons = field(kw_only=True)

    def __repr__(self) -> str:
        leaves = int(self.is_leaf.sum())
        return f"Tree of {self.n_nodes:,} nodes, {leaves:,} leaves, on {self.low.shape[1]:,} columns"

    def __post_init__(self) -> None:
        for part in (self, self.persons):
            for entry in fields(part):
                value = getattr(part, entry.name)
                for array in value if isinstance(value, tuple) else (value,):
                    if isinstance(array, np.ndarray):
                        array.flags.writeable = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes m."""
        return len(self.parent)

    @property
    def unit(self) -> str:
        """What k counts: "row" where every row is a person, else "person"."""
        return "row" if self.persons.n is self.n else "person"

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """(m,) True where the node has no children."""
        return self.feature < 0

    def children(self, node: int) -> tuple[int, ...]:
        """Return the children of a node, left first; empty for a leaf."""
        if self.feature[node] < 0:
            return ()
        left = node + 1
        return (left, left + int(self.size[left]))

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``, both included."""
        nodes = [node]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]

    def listed_codes(self, node: int) -> NDArray[np.unsignedinteger]:
        """Return the codes that a categorical split lists, ascending."""
        return self.listed[self.listed_start[node] : self.listed_start[node + 1]]


@dataclass(frozen=True)
class Condition:
    """What a node asks of one column: an interval (ends may be infinite) or a set of levels; missing or not.

    Numeric and date columns: ``above < value <= upto`` in the encoding's numbers. Other columns: ``codes``, the
    levels that the path allows, missing not included. ``missing``: whether a missing value is admitted.
    """

    column: int
    above: float
    upto: float
    codes: tuple[int, ...] | None
    missing: bool


def region(tree: Tree, encodings: tuple[Encoding, ...], node: int) -> tuple[Condition, ...]:
    """Return the path domain of a node: one condition for each column that the path has split, in path order."""
    allowed: dict[int, NDArray[np.bool_]] = {}
    ends: dict[int, tuple[float, float]] = {}
    path = tree.path(node)
    for above, below in zip(path, path[1:], strict=False):
        column = int(tree.feature[above])
        encoding = encodings[column]
        went_left = below == above + 1
        mask = allowed.setdefault(column, np.ones(encoding.n_codes, dtype=bool))
        mask &= goes_left(tree, encoding, above) == went_left
        low, high = ends.get(column, (-np.inf, np.inf))
        threshold = float(tree.threshold[above])
        if encoding.is_interval:
            ends[column] = (low, min(high, threshold)) if went_left else (max(low, threshold), high)
    conditions = []
    for column, mask in allowed.items():
        encoding = encodings[column]
        values = len(encoding.labels)
        missing = bool(encoding.missing and mask[-1])
        if encoding.is_interval:
            conditions.append(Condition(column, *ends[column], None, missing))
        else:
            codes = tuple(int(code) for code in np.flatnonzero(mask[:values]))
            conditions.append(Condition(column, -np.inf, np.inf, codes, missing))
    return tuple(conditions)


def goes_left(tree: Tree, encoding: Encoding, node: int) -> NDArray[np.bool_]:
    """Return (b,) True for each code of the node's column that goes left."""
    if encoding.by_order:
        return np.asarray(np.arange(encoding.n_codes) < tree.cut[node])
    sides = np.full(encoding.n_codes, not tree.listed_left[node])
    sides[tree.listed_codes(node)] = tree.listed_left[node]
    return sides
