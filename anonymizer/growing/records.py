"""Where records live while a tree grows: sums and histograms of them, and sending them down a split.

:class:`RecordSource` is all that growing asks for, so records may live in this process or elsewhere: a node's
histograms are sums, and sums from several places add up.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.subtree import Branch, Division, Node, Split, Subtree, count_of, subtree_of
from anonymizer.growing.target import bits_of, entropy, gini, moments_of_all, sse
from anonymizer.growing.threads import WORKERS, in_threads
from anonymizer.growing.tree import Tree
from anonymizer.values import BLOCK

if TYPE_CHECKING:
    from anonymizer.kernels import Columns

SMALL = 4096
"""Nodes with fewer records are never divided from histograms."""


class Growth(NamedTuple):
    """The rules of growing: see :func:`anonymizer.growing.grow.grow`. ``criterion`` is a kernel's number."""

    criterion: int
    min_leaf: int
    max_depth: int
    exhaustive_max: int
    tolerance: float
    table: NDArray[np.float64]


Histograms = list[NDArray[Any] | None]
"""Of each column of a node the sums of its records by code, (b · s,) flat; ``None`` of a column that is not active."""


class BranchSource(Protocol):
    """What growing needs of the records, wherever they are, beside the best splits of large nodes."""

    @property
    def enough(self) -> int:
        """Records below which a node is finished in one go rather than divided from its histograms."""

    def root(self) -> Node:
        """Return the node that holds every record."""

    def impurity(self, criterion: str) -> float:
        """Return what the criterion measures of all records together: the most that splits can gain."""

    def finish(self, nodes: list[Node], growth: Growth) -> list[Subtree]:
        """Return these nodes, from left to right, grown to their end."""


class RecordSource(BranchSource, Protocol):
    """Records with histograms. Nodes are known by their keys; everything adds up."""

    def divide(self, divisions: Sequence[Division], nodes: Sequence[Node]) -> list[Histograms]:
        """Send the records of some nodes down their splits, then return the histograms of these nodes: a wave."""


class InMemory:
    """Records of one :class:`EncodedTable`, packed by column and partitioned in place as the tree grows."""

    def __init__(self, encoded: EncodedTable, responses: NDArray[np.float64] | None = None) -> None:
        """Pack the records: code · classes + class. ``responses`` (n, r), centred: guide in place of the target, moved
        with the records."""
        n, p = encoded.n_records, len(encoded.encodings)
        self.encodings = encoded.encodings
        self.encoded = encoded
        self.by_numbers = responses is not None or encoded.by_numbers
        self.stride = 1 if self.by_numbers else encoded.target.n_classes
        self.n_codes = np.array([encoding.n_codes for encoding in encoded.encodings], dtype=np.int64)
        self.by_order = np.array([encoding.by_order for encoding in encoded.encodings], dtype=np.bool_)
        self.heights = heights_of(encoded.encodings)
        cells = int(self.n_codes.max()) * self.stride
        self.packed = np.empty((p, n), dtype=np.uint16 if cells <= 1 << 16 else np.uint32)
        classes = np.zeros(n, dtype=np.uint8) if self.by_numbers else encoded.target.codes

        def pack(j: int) -> None:
            row = self.packed[j]
            np.multiply(encoded.codes.columns[j], self.stride, out=row, dtype=row.dtype)
            if self.stride > 1:
                row += classes

        list(in_threads(pack, range(p), n))
        self.order = np.arange(n, dtype=np.uint32)
        self.runs: dict[int, tuple[int, int]] = {0: (0, n)}
        self.responses = np.empty((n, 0))
        self.moves_values = responses is None and encoded.by_numbers
        self.totals: NDArray[Any] = np.bincount(classes, minlength=self.stride).astype(np.int64)
        if responses is not None:
            self.responses = responses
        elif encoded.by_numbers and encoded.numeric is not None:
            self.responses = np.array(encoded.numeric.values)
        if self.by_numbers:
            self.totals = np.append(float(n), self.responses.sum(axis=0))
        self.cell_type = np.float64 if self.by_numbers else np.int32

    @property
    def enough(self) -> int:
        """See :class:`RecordSource`."""
        return max(SMALL, self.packed.shape[1] // (WORKERS + 1))

    def root(self) -> Node:
        """See :class:`RecordSource`."""
        p, n = self.packed.shape
        return Node(0, 0, n, self.totals, np.ones(p, dtype=np.uint8))

    def impurity(self, criterion: str) -> float:
        """See :class:`RecordSource`."""
        if self.moves_values:
            return float(sse(moments_of_all(self.responses))[0])
        if self.by_numbers:
            return float((self.responses**2).sum() - (self.totals[1:] ** 2).sum() / self.totals[0])
        return float(self.totals.sum() * {"entropy": entropy, "gini": gini}[criterion](self.totals))

    def divide(self, divisions: Sequence[Division], nodes: Sequence[Node]) -> list[Histograms]:
        """See :class:`RecordSource`."""
        for division in divisions:
            self._send(*division)
        return [self._histograms(node) for node in nodes]

    def _histograms(self, node: Node) -> Histograms:
        from anonymizer import kernels

        start, end = self.runs[node.key]

        def histogram(j: int) -> NDArray[Any]:
            hist = np.zeros(self.n_codes[j] * len(node.sums), dtype=self.cell_type)
            kernels.add_records(
                hist, self.packed[j], self.responses, start, end, self.stride, len(node.sums),
                kernels.SSE if self.by_numbers else kernels.ENTROPY,
            )  # fmt: skip
            return hist

        histograms: Histograms = [None] * len(self.packed)
        columns = [int(j) for j in np.flatnonzero(node.active)]
        for j, hist in zip(columns, in_threads(histogram, columns), strict=True):
            histograms[j] = hist
        return histograms

    def _send(self, node: Node, split: Split, left: Node, right: Node) -> None:
        from anonymizer import kernels

        start, end = self.runs[node.key]
        goes_left = np.empty(end - start, dtype=np.uint8)
        row = self.packed[split.feature]
        side = np.repeat(split.side, self.stride) if split.code_left < 0 else split.side
        middle = start + kernels.mark_sides(row, start, end, self.stride, split.code_left, side, goes_left)
        pairs_room = min(middle - start, end - middle) + 1
        from_left, from_right = np.empty(pairs_room, dtype=np.int64), np.empty(pairs_room, dtype=np.int64)
        pairs = kernels.pairs_to_swap(goes_left, start, middle - start, from_left, from_right)

        def move(row: NDArray[Any]) -> None:
            kernels.swap(row, from_left, from_right, pairs)

        list(in_threads(move, [*(self.packed[j] for j in np.flatnonzero(left.active)), self.order]))
        kernels.swap_rows(self.responses, from_left, from_right, pairs)
        self.runs |= {left.key: (start, middle), right.key: (middle, end)}

    def finish(self, nodes: list[Node], growth: Growth) -> list[Subtree]:
        """See :class:`RecordSource`."""
        from anonymizer import kernels

        columns = kernels.Columns(
            self.packed, self.order, self.responses, self.n_codes, self.by_order, self.heights, self.stride
        )

        def subtree(position: int) -> Subtree:
            node = nodes[position]
            return grow_subtree(columns, *self.runs[node.key], node, growth, self.encoded, self.encoded.n_records)

        largest_first = sorted(range(len(nodes)), key=lambda position: -nodes[position].n)
        subtrees = dict(zip(largest_first, in_threads(subtree, largest_first), strict=True))
        return [subtrees[position] for position in range(len(nodes))]


def grow_subtree(
    columns: "Columns", start: int, end: int, node: Node, growth: Growth, encoded: EncodedTable, n: int
) -> Subtree:
    """Return a node grown to its end, with what is known of the nodes below it.

    Its records are those of ``columns`` from ``start`` up to ``end``, and are put into the order of its leaves;
    ``encoded``: has their sensitive columns, by their number in ``columns.order``. ``n``: records of the whole table.
    """
    from anonymizer import kernels

    by_numbers = node.sums.dtype.kind == "f"
    hist = np.zeros(int(columns.n_codes.max()) * len(node.sums), dtype=np.float64 if by_numbers else np.int32)
    how = np.array(node.sums), np.array(node.active), node.depth, growth, hist
    if node.depth == growth.max_depth or node.n < 2 * growth.min_leaf:
        branch = Branch.of_leaf(start, end, node.sums)  # without loops, which may have to be compiled
    else:
        branch = Branch(*kernels.grow_branch(columns, start, end, *how))
    targets = (encoded.target, *encoded.others) if by_numbers else encoded.others
    counts = [count_of(branch, columns.order, target) for target in targets]
    if not by_numbers:
        counts.insert(0, branch.sums)
    numeric = encoded.numeric
    values = np.empty((node.n, 0)) if numeric is None else numeric.values[columns.order[start:end]]
    return subtree_of(branch, list(columns.packed), columns.stride, encoded.encodings, counts, values, bits_of(n))


def heights_of(encodings: Sequence[Encoding]) -> NDArray[np.int16]:
    """Return the heights of the codes of p columns in their public hierarchies, (p, b): -1 for a column that has none,
    and b = 0 where no column has one."""
    some = [encoding.heights for encoding in encodings if encoding.heights is not None]
    heights = np.full((len(encodings), max(map(len, some), default=0)), -1, np.int16)
    for row, encoding in zip(heights, encodings, strict=True):
        if encoding.heights is not None:
            row[: len(encoding.heights)] = encoding.heights
    return heights


def descend(tree: Tree, encoded: EncodedTable) -> NDArray[np.int32]:
    """Return the leaf of the grown tree that each record reaches, (n,) node ids.

    Works for any records in the same encoding, so also for records that the tree was not grown on.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> encoded = an.encode(table, schema)
    >>> tree = an.grow(encoded)
    >>> an.descend(tree, encoded).shape
    (300,)
    """
    from anonymizer import kernels

    n = encoded.n_records
    leaf = np.empty(n, dtype=np.int32)
    right = np.full(tree.n_nodes, -1, dtype=np.int32)
    inner = np.flatnonzero(tree.feature >= 0)
    right[inner] = inner + 1 + tree.size[inner + 1]
    step = min(BLOCK, -(-n // WORKERS)) if n > 50_000 else max(n, 1)

    def part(first: int) -> None:
        rows = slice(first, first + step)
        matrix = encoded.codes.matrix(rows)
        kernels.route(
            matrix, 0, len(matrix), tree.feature, right, tree.cut, tree.listed_start, tree.listed, tree.listed_left,
            leaf[rows],
        )  # fmt: skip

    list(in_threads(part, range(0, n, step)))
    return leaf
