"""Where records live while a tree grows: sums and histograms of them, and sending them down a split.

:class:`RecordSource` is all that growing asks for, so records may live in this process or elsewhere: a node's
histograms are sums, and sums from several places add up.
"""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.target import ClassTarget, entropy, gini, moments_of_all, moments_of_nodes, sse
from anonymizer.growing.tree import Persons, Tree
from anonymizer.values import BLOCK

WORKERS = 2
"""Threads that read records at the same time."""
THREADS = "records"
"""How the names of these threads begin."""

SMALL = 4096
"""Nodes with fewer records are never divided from histograms."""


class Node(NamedTuple):
    """A node that is being grown: its depth, number of records, sum, and which columns still vary in it."""

    key: int
    depth: int
    n: int
    sums: NDArray[Any]
    active: NDArray[np.uint8]


class Split(NamedTuple):
    """How a node is divided: ordered columns by the two codes beside the cut, others by the codes that go left.

    ``code_left`` = -1 for a categorical split, whose ``side`` (b,) is 1 for the codes that go left, 0 for those that
    go right and 2 for those that are not in the node.
    """

    feature: int
    code_left: int
    code_right: int
    side: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Branch:
    """A grown piece of tree in preorder, before thresholds and hulls are known; ``parent`` is local, -1 at its root.

    ``first``, ``last`` (m,): where each node's records lie in the source's order.
    """

    parent: NDArray[np.int32]
    feature: NDArray[np.int32]
    code_left: NDArray[np.int32]
    code_right: NDArray[np.int32]
    listed_start: NDArray[np.int64]
    listed: NDArray[np.uint16]
    listed_left: NDArray[np.uint8]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    sums: NDArray[Any]


class Growth(NamedTuple):
    """The rules of growing: see :func:`anonymizer.growing.grow.grow`. ``criterion`` is a kernel's number."""

    criterion: int
    min_leaf: int
    max_depth: int
    exhaustive_max: int
    tolerance: float
    table: NDArray[np.float64]


class Sums(NamedTuple):
    """Sums of all nodes, see :class:`anonymizer.growing.tree.Tree`: ``classes`` (m, c), ``moments``, ``others``;
    ``persons``: counted so, ``None`` when every record is a person."""

    classes: NDArray[np.int64]
    moments: NDArray[np.float64]
    others: tuple[NDArray[np.int64], ...]
    persons: Persons | None


class Division(NamedTuple):
    """A node that is sent down a split, and the children that it becomes."""

    node: Node
    split: Split
    left: Node
    right: Node


Histograms = list[NDArray[Any] | None]
"""Of each column of a node the sums of its records by code, (b · s,) flat; ``None`` of a column that is not active."""


class NodeSource(Protocol):
    """What is asked of the nodes of a grown tree."""

    def sums(self, branch: Branch) -> Sums:
        """Return what every node's records contribute, whatever guided the growing."""

    def hulls(self, branch: Branch) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """Return low, high, levels and has_missing (m, p) of every node, see :class:`anonymizer.growing.tree.Tree`."""


class BranchSource(NodeSource, Protocol):
    """What growing needs of the records, wherever they are, beside the best splits of large nodes."""

    @property
    def enough(self) -> int:
        """Records below which a node is finished in one go rather than divided from its histograms."""

    def root(self) -> Node:
        """Return the node that holds every record."""

    def impurity(self, criterion: str) -> float:
        """Return what the criterion measures of all records together: the most that splits can gain."""

    def finish(self, nodes: list[Node], growth: Growth) -> list[Branch]:
        """Return the branches of these nodes, grown to their end."""


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

        list(in_threads(pack, range(p)))
        self.order = np.arange(n, dtype=np.uint32)
        self.first = np.empty(0, dtype=np.int64)
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
        middle = start + kernels.mark_sides(row, start, end, self.stride, split.code_left, split.side, goes_left)
        pairs_room = min(middle - start, end - middle) + 1
        from_left, from_right = np.empty(pairs_room, dtype=np.int64), np.empty(pairs_room, dtype=np.int64)
        pairs = kernels.pairs_to_swap(goes_left, start, middle - start, from_left, from_right)

        def move(row: NDArray[Any]) -> None:
            kernels.swap(row, from_left, from_right, pairs)

        list(in_threads(move, [*(self.packed[j] for j in np.flatnonzero(left.active)), self.order]))
        kernels.swap_rows(self.responses, from_left, from_right, pairs)
        self.runs |= {left.key: (start, middle), right.key: (middle, end)}

    def finish(self, nodes: list[Node], growth: Growth) -> list[Branch]:
        """See :class:`RecordSource`."""
        from anonymizer import kernels

        columns = kernels.Columns(
            self.packed, self.order, self.responses, self.n_codes, self.by_order, self.heights, self.stride
        )

        def branch(position: int) -> Branch:
            node = nodes[position]
            hist = np.zeros(int(self.n_codes.max()) * len(node.sums), dtype=self.cell_type)
            return Branch(
                *kernels.grow_branch(columns, *self.runs[node.key], node.sums, node.active, node.depth, growth, hist)
            )

        largest_first = sorted(range(len(nodes)), key=lambda position: -nodes[position].n)
        branches = dict(zip(largest_first, in_threads(branch, largest_first), strict=True))
        return [branches[position] for position in range(len(nodes))]

    def sums(self, branch: Branch) -> Sums:
        """See :class:`RecordSource`."""
        from anonymizer import kernels

        self.first = branch.first
        m, runs = len(branch.parent), (branch.parent, branch.feature, branch.first, branch.last, self.order)

        def count(target: ClassTarget) -> NDArray[np.int64]:
            counts = np.zeros((m, target.n_classes), dtype=np.int64)
            kernels.count_classes(*runs, target.codes, counts)
            return counts

        target = self.encoded.target
        if self.moves_values:  # they stand in the order of the leaves already
            moments = moments_of(branch, self.responses, None)
        else:
            moments = moments_of(
                branch, None if self.encoded.numeric is None else self.encoded.numeric.values, self.order
            )
        classes = count(target) if self.by_numbers else branch.sums
        others = tuple(in_threads(count, self.encoded.others))
        return Sums(classes, moments, others, persons_of_nodes(self.encoded, branch, self.order))

    def hulls(self, branch: Branch) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """See :class:`RecordSource`."""
        from anonymizer import kernels

        m, p = len(branch.parent), len(self.packed)
        low, high, levels = (np.zeros((p, m), dtype=np.int32) for _ in range(3))
        missing = np.zeros((p, m), dtype=np.bool_)

        def column(j: int) -> None:
            encoding = self.encodings[j]
            kernels.column_hull(
                self.packed[j], self.stride, branch.first, branch.last, branch.feature,
                encoding.n_codes - 1 if encoding.missing else -1, not encoding.is_interval, encoding.n_codes,
                low[j], high[j], levels[j], missing[j],
            )  # fmt: skip

        list(in_threads(column, range(p)))
        return low.T, high.T, levels.T, missing.T


def persons_of_nodes(encoded: EncodedTable, branch: Branch, order: NDArray[np.uint32]) -> Persons | None:
    """Return the different persons of every node of a branch, or of several under no root; ``None`` when every record
    is a person. ``order`` (n,): the records as they stand in its leaves."""
    from anonymizer import kernels

    if encoded.person is None:
        return None
    size, depth = (np.full(len(branch.parent) + 1, at, dtype=np.int32) for at in (1, 0))
    kernels.sizes_and_depths(np.append(np.int32(-1), branch.parent + np.int32(1)), size, depth)
    runs = (branch.parent, size[1:].copy(), branch.feature, branch.first, branch.last, order)

    def count(column: tuple[NDArray[np.int32], NDArray[Any], int]) -> NDArray[np.int64]:
        ids, classes, n_classes = column
        counts = np.zeros((len(branch.parent), n_classes), dtype=np.int64)
        latest = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int32)
        kernels.count_distinct(*runs, ids, classes, latest, counts)
        return counts

    of_values = zip(encoded.person_values, (encoded.target, *encoded.others), strict=True)
    columns = [(encoded.person, np.zeros(encoded.n_records, np.uint8), 1)]
    columns += [(ids, target.codes, target.n_classes) for ids, target in of_values]
    n, sums, *others = in_threads(count, columns)
    return Persons(n[:, 0].copy(), sums, tuple(others))


def leaf_in_order(tree: Tree, first: NDArray[np.int64], order: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the leaf of the grown tree that each record reaches, (n,), as growing has left them: in ``order`` (n,),
    where the records of each node stand one after the other from its ``first`` (m,) place on."""
    leaves = np.flatnonzero(tree.is_leaf)
    leaves = leaves[np.argsort(first[leaves], kind="stable")].astype(np.int32)
    leaf = np.empty(len(order), dtype=np.int32)
    leaf[order] = np.repeat(leaves, tree.n[leaves])
    return leaf


def moments_of(
    branch: Branch, values: NDArray[np.float64] | None, order: NDArray[np.uint32] | None
) -> NDArray[np.float64]:
    """Return the sums of 1, y and yyᵀ of every node: see :func:`anonymizer.growing.target.moments_of_nodes`."""
    from anonymizer import kernels

    if values is None:
        return (branch.last - branch.first).astype(np.float64)[:, None]
    size, depth = (np.full(len(branch.parent), at, dtype=np.int32) for at in (1, 0))
    kernels.sizes_and_depths(branch.parent, size, depth)
    return moments_of_nodes(values, order, branch.first, branch.last, size)


def heights_of(encodings: Sequence[Encoding]) -> NDArray[np.int16]:
    """Return the heights of the codes of p columns in their public hierarchies, (p, b): -1 for a column that has none,
    and b = 0 where no column has one."""
    some = [encoding.heights for encoding in encodings if encoding.heights is not None]
    heights = np.full((len(encodings), max(map(len, some), default=0)), -1, np.int16)
    for row, encoding in zip(heights, encodings, strict=True):
        if encoding.heights is not None:
            row[: len(encoding.heights)] = encoding.heights
    return heights


def in_threads(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
    """Return the results of ``work`` on each item, in order; compiled kernels run side by side. Work that is itself
    done by one of the threads is done there: were it to wait for the others, all of them could wait."""
    items = list(items)
    if len(items) < 2 or threading.current_thread().name.startswith(THREADS):
        return [work(item) for item in items]
    return list(workers().map(work, items))


@cache
def workers() -> ThreadPoolExecutor:
    """Return the threads that read records, for the whole process: making them anew costs more than a small node's
    records."""
    return ThreadPoolExecutor(WORKERS, thread_name_prefix=THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers.cache_clear)  # the threads are the parent's, and nobody's here


def descend(tree: Tree, encoded: EncodedTable) -> NDArray[np.int32]:
    """Return the leaf of the grown tree that each record reaches, (n,) node ids.

    Works for any records in the same encoding, so also for records that the tree was not grown on.
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
