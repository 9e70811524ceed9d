"""A tree as an adversary has it who knows everyone's quasi-identifiers: its questions, and the keys of each node.

An :class:`Outline` is the bare tree: which column each node asks and where each code goes. It serves binary trees
(cuts and subsets) and multiway ones (a child a level) alike. A :class:`KeyedTree` has laid the distinct keys of a
table into it, so that the keys of a node are a run. Records are not needed for that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.tree import Tree, goes_left

NOWHERE = -1
"""The side of a code that no child admits."""


@dataclass(frozen=True, eq=False)
class Outline:
    """m nodes in preorder. All arrays are read-only.

    ``parent`` (m,), -1 for the root; ``feature`` (m,) the column that a node asks, -1 for a leaf; ``children``: each
    node's, in the order of their sides. ``cut`` (m,): codes below it go to the first child, all others to the second;
    -1 where ``sides`` says it instead: ``sides[t]`` (b,) the side of each code, :data:`NOWHERE` where none admits it.
    ``threshold`` (m,): a cut of numbers or dates as a value, NaN elsewhere.
    """

    parent: NDArray[np.int32]
    feature: NDArray[np.int32]
    children: tuple[tuple[int, ...], ...]
    cut: NDArray[np.int32]
    threshold: NDArray[np.float64]
    sides: tuple[NDArray[np.int32] | None, ...]

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def n_nodes(self) -> int:
        """Number of nodes m."""
        return len(self.parent)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The leaves, in preorder."""
        return np.flatnonzero(self.feature < 0)

    def side_of(self, node: int, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the side of each of these codes of the node's column."""
        sides = self.sides[node]
        if sides is None:
            return np.asarray(codes >= self.cut[node], dtype=np.int64)
        return np.asarray(sides[codes], dtype=np.int64)

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``, both included."""
        return [*self.above(node), node]

    def above(self, node: int) -> list[int]:
        """Return the nodes above a node, from the root down."""
        above = []
        while self.parent[node] >= 0:
            node = int(self.parent[node])
            above.append(node)
        return above[::-1]


@dataclass(frozen=True, eq=False)
class Keys:
    """The d distinct combinations of quasi-identifiers of a table, ascending, with their records and classes.

    ``codes`` (d, p); ``counts`` (d,) records of each; ``classes`` (d, c) how many of them have each class of the
    target, which an adversary does not know. ``alone``: of each column which codes one person has, and of the target
    which classes, last; empty where that is not known.
    """

    codes: NDArray[np.unsignedinteger]
    counts: NDArray[np.int64]
    classes: NDArray[np.int64]
    encodings: tuple[Encoding, ...]
    labels: tuple[str | None, ...]
    target: str
    alone: tuple[NDArray[np.bool_], ...] = ()

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class KeyedTree:
    """An outline and the distinct keys of a table, ordered so that the keys of node t are ``first[t]:last[t]``.

    ``keys``: in that order. ``n`` (m,) records; ``sums`` (m, c) records of each class, known to the steward only;
    ``label`` (m,) the largest class of a node, the first of several; ``leaf_of_key`` (d,) the node that is its leaf.
    """

    outline: Outline
    keys: Keys
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    n: NDArray[np.int64]
    sums: NDArray[np.int64]
    label: NDArray[np.int64]
    leaf_of_key: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def n_keys(self) -> int:
        """Number of distinct keys d."""
        return len(self.keys.counts)

    @property
    def n_classes(self) -> int:
        """Number of classes c, those without a record included."""
        return len(self.keys.labels)

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return int(self.n[0])

    @property
    def correct(self) -> NDArray[np.int64]:
        """(m,) records of a node that have its label."""
        return np.asarray(self.sums[np.arange(len(self.label)), self.label])

    @property
    def error(self) -> NDArray[np.int64]:
        """(m,) records of a node outside its label."""
        return np.asarray(self.n - self.correct)

    @property
    def truth(self) -> NDArray[np.float64]:
        """(d, c) the true class shares P(x|q) of each key."""
        return np.asarray(self.keys.classes / self.keys.counts[:, None])


def freeze(value: object) -> None:
    """Make the arrays of a dataclass read-only."""
    for field in fields(value):  # type: ignore[arg-type]
        part = getattr(value, field.name)
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False


def keys_of(encoded: EncodedTable) -> Keys:
    """Return the distinct keys of a table with their class counts. Raises :class:`ParameterError` without two
    classes.
    """
    if encoded.by_numbers or encoded.target.n_classes < 2:
        raise ParameterError(
            "What a tree tells is worked out for a categorical sensitive column with at least two values.",
            remedy="Choose such a column as the target.",
        )
    c = encoded.target.n_classes
    codes, inverse, counts = distinct_rows(encoded.codes.matrix())
    cells = inverse.astype(np.int64) * c + encoded.target.codes
    classes = np.bincount(cells, minlength=len(codes) * c).reshape(len(codes), c)
    columns = [(encoded.codes.columns[j], encoding.n_codes) for j, encoding in enumerate(encoded.encodings)]
    alone = tuple(of_one_person(values, n, encoded.person) for values, n in [*columns, (encoded.target.codes, c)])
    return Keys(codes, counts, classes, encoded.encodings, encoded.target.labels, encoded.target.name, alone)


def of_one_person(
    values: NDArray[np.unsignedinteger], n_codes: int, person: NDArray[np.int32] | None
) -> NDArray[np.bool_]:
    """Return which codes one person has, (b,). ``values`` (n,): the code of each record; ``person`` (n,): whose it is,
    -1 for nobody's; ``None``: each record is a person."""
    if person is None:
        return np.asarray(np.bincount(values, minlength=n_codes) == 1)
    pairs = np.unique(np.column_stack([values.astype(np.int64), person]), axis=0)
    return np.asarray(np.bincount(pairs[:, 0], minlength=n_codes) == 1)


def distinct_rows(
    codes: NDArray[np.unsignedinteger],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows (d, p) in ascending order, the row of each record among them (n,), and their counts
    (d,).
    """
    group = np.zeros(len(codes), dtype=np.int64)
    for column in range(codes.shape[1]):
        pairs = group * (int(codes[:, column].max(initial=0)) + 1) + codes[:, column]
        group = np.unique(pairs, return_inverse=True)[1]
    counts = np.bincount(group)
    where = np.empty(len(counts), dtype=np.int64)
    where[group] = np.arange(len(group))
    return codes[where], group, counts.astype(np.int64)


def outline_of(tree: Tree, encodings: tuple[Encoding, ...], cut: Iterable[int] | None = None) -> Outline:
    """Return the outline of a grown tree, or of what pruning left of it: ``cut`` names the nodes that are groups."""
    ends = set() if cut is None else {int(node) for node in cut}
    rows: list[Row] = []

    def visit(node: int, parent: int) -> int:
        """Add the row of a node and return its place."""
        here = len(rows)
        if node in ends or tree.feature[node] < 0:
            rows.append(Row(parent))
            return here
        encoding = encodings[int(tree.feature[node])]
        by_cut = encoding.by_order
        sides = None if by_cut else np.where(goes_left(tree, encoding, node), 0, 1).astype(np.int32)
        threshold = float(tree.threshold[node]) if encoding.is_interval else np.nan
        rows.append(Row(parent, int(tree.feature[node]), int(tree.cut[node]) if by_cut else -1, threshold, sides))
        return here

    stack = [(0, -1)]
    while stack:
        node, parent = stack.pop()
        here = visit(node, parent)
        if rows[here].feature >= 0:
            left, right = tree.children(node)
            stack += [(right, here), (left, here)]
    return outline_from(rows)


def leaves_of(outline: Outline, codes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    """Return which leaf each record is in (n,), numbered from 0 in preorder; -1 where a node has no branch for it.
    ``codes`` (n, p): of the records."""
    leaf = np.full(len(codes), -1, np.int64)
    number = {int(node): place for place, node in enumerate(outline.leaves)}
    waiting = [(0, np.arange(len(codes)))]
    while waiting:
        node, rows = waiting.pop()
        if node in number:
            leaf[rows] = number[node]
            continue
        side = outline.side_of(node, codes[rows, outline.feature[node]])
        waiting += [(child, rows[side == place]) for place, child in enumerate(outline.children[node])]
    return leaf


@dataclass(frozen=True, eq=False)
class Row:
    """One node on its way into an :class:`Outline`; by default a leaf."""

    parent: int
    feature: int = -1
    cut: int = -1
    threshold: float = np.nan
    sides: NDArray[np.int32] | None = None


def outline_from(rows: list[Row]) -> Outline:
    """Return an outline from its nodes in preorder; the children of a node stand in the order of its sides."""
    children: list[list[int]] = [[] for _ in rows]
    for node, row in enumerate(rows):
        if row.parent >= 0:
            children[row.parent].append(node)
    return Outline(
        parent=np.array([row.parent for row in rows], dtype=np.int32),
        feature=np.array([row.feature for row in rows], dtype=np.int32),
        children=tuple(map(tuple, children)),
        cut=np.array([row.cut for row in rows], dtype=np.int32),
        threshold=np.array([row.threshold for row in rows], dtype=np.float64),
        sides=tuple(row.sides for row in rows),
    )


def truncate(outline: Outline, nodes: Iterable[int]) -> tuple[Outline, NDArray[np.int64]]:
    """Return the outline in which these nodes are leaves, and the old node of each of its nodes."""
    ends = {int(node) for node in nodes}
    rows: list[Row] = []
    origin: list[int] = []
    stack = [(0, -1)]
    while stack:
        node, parent = stack.pop()
        here = len(rows)
        origin.append(node)
        if node in ends or outline.feature[node] < 0:
            rows.append(Row(parent))
            continue
        rows.append(
            Row(
                parent,
                int(outline.feature[node]),
                int(outline.cut[node]),
                float(outline.threshold[node]),
                outline.sides[node],
            )
        )
        stack += [(child, here) for child in reversed(outline.children[node])]
    return outline_from(rows), np.array(origin, dtype=np.int64)


def lay_keys(outline: Outline, keys: Keys) -> KeyedTree:
    """Return the tree with the keys laid into it. Raises :class:`ParameterError` when a key fits no child of a node."""
    m, order = outline.n_nodes, np.arange(len(keys.counts))
    first, last = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    last[0] = len(order)
    for node in range(m):
        column = int(outline.feature[node])
        if column < 0:
            continue
        run = order[first[node] : last[node]]
        side = outline.side_of(node, keys.codes[run, column])
        if len(side) and side.min() < 0:
            encoding = keys.encodings[column]
            value = encoding.text(int(keys.codes[run[np.argmin(side)], column]))
            raise ParameterError(
                f"The tree has no branch for a value of {encoding.name!r}.",
                in_full=f"The tree has no branch for {encoding.name!r} = {'missing' if value is None else value!r}.",
                column=encoding.name,
                value=value,
                remedy="Use the table that the tree was grown on.",
            )
        order[first[node] : last[node]] = run[np.argsort(side, kind="stable")]
        ends = first[node] + np.cumsum(np.bincount(side, minlength=len(outline.children[node])))
        for child, start, end in zip(outline.children[node], [first[node], *ends], ends, strict=False):
            first[child], last[child] = start, end
    placed = replace(keys, codes=keys.codes[order], counts=keys.counts[order], classes=keys.classes[order])
    before = np.zeros((len(order) + 1, len(keys.labels)), dtype=np.int64)
    np.cumsum(placed.classes, axis=0, out=before[1:])
    sums = before[last] - before[first]
    leaves = outline.leaves
    leaf_of_key = np.repeat(leaves, (last - first)[leaves])
    return KeyedTree(outline, placed, first, last, sums.sum(axis=1), sums, sums.argmax(axis=1), leaf_of_key)
