"""Records in pieces while a tree grows: histograms of every piece, added up, and small nodes finished whole.

Only whole numbers are added, or numbers in whole steps, so it does not show in how many pieces the records are, or in
what order they are added.
"""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Progress, no_progress
from anonymizer.groups.recipe import Recipe, grow_by, natural_criterion, with_criterion
from anonymizer.growing.encode import CodeColumns
from anonymizer.growing.grow import grow, grow_from, linear_algebra
from anonymizer.growing.records import (
    SMALL,
    WORKERS,
    Branch,
    Division,
    Growth,
    Histograms,
    InMemory,
    Node,
    Sums,
    heights_of,
    in_threads,
    leaf_in_order,
    moments_of,
    persons_of_nodes,
)
from anonymizer.growing.target import ClassTarget, entropy, gini, moments_of_all, sse
from anonymizer.growing.tree import Tree
from anonymizer.partitions.coded import CodedTable
from anonymizer.partitions.values import ROWS

LEVELS = signature(grow).parameters["exhaustive_max"].default
"""Levels of which every subset is tried."""


class InPieces:
    """Records of a :class:`CodedTable` as a source of growing, ``rows`` of them in each piece.

    A node below ``enough`` records is shipped: its records are taken out of every piece, in the order of the table,
    and grown to the end in one place. What is then known of them is their ``order``.
    """

    def __init__(
        self, table: CodedTable, rows: int = ROWS, enough: int | None = None, progress: Progress = no_progress
    ) -> None:
        n = table.n_records
        self.table = table
        self.progress = progress
        self.waves = 0
        self.encodings = table.encoded.encodings
        self.starts = list(range(0, n, rows))
        self.pieces = list(in_threads(lambda start: _piece(table, slice(start, start + rows)), self.starts))
        first = self.pieces[0]
        self.n_codes, self.by_order, self.stride = first.n_codes, first.by_order, first.stride
        self.order = np.empty(n, dtype=np.uint32)
        self.placed = 0
        self.first = np.empty(0, dtype=np.int64)
        self.least = max(SMALL, n // (4 * WORKERS)) if enough is None else enough

    @property
    def enough(self) -> int:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        return self.least

    def root(self) -> Node:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        roots = [piece.root() for piece in self.pieces]
        sums = np.sum([root.sums for root in roots], axis=0)
        return Node(0, 0, sum(root.n for root in roots), sums, roots[0].active)

    def impurity(self, criterion: str) -> float:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        if self.table.encoded.by_numbers and self.table.encoded.numeric is not None:
            return float(sse(moments_of_all(self.table.encoded.numeric.values))[0])
        totals = self.root().sums
        return float(totals.sum() * {"entropy": entropy, "gini": gini}[criterion](totals))

    def divide(self, divisions: Sequence[Division], nodes: Sequence[Node]) -> list[Histograms]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        self.waves += 1
        self.progress(min(0.5, 0.05 * self.waves), "Dividing large groups")
        first, *others = self.pieces
        whole = [list(map(wide, of_node)) for of_node in first.divide(divisions, nodes)]
        for piece in others:
            for histograms, part in zip(whole, piece.divide(divisions, nodes), strict=True):
                for histogram, cells in zip(histograms, part, strict=True):
                    if histogram is not None:
                        histogram += cells
        return whole

    def finish(self, nodes: list[Node], growth: Growth) -> list[Branch]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        places = {}
        for node in nodes:
            places[node.key] = self.placed
            self.placed += node.n
        largest_first = sorted(nodes, key=lambda node: -node.n)
        branches = in_threads(lambda node: self._branch(node, places[node.key], growth), largest_first)
        of_key = dict(zip([node.key for node in largest_first], branches, strict=True))
        for piece in self.pieces:
            piece.packed = piece.packed[:, :0].copy()  # a view would keep all of it
            piece.responses = piece.responses[:0].copy()
        return [of_key[node.key] for node in nodes]

    def _branch(self, node: Node, place: int, growth: Growth) -> Branch:
        from anonymizer import kernels

        self.progress(0.5 + 0.4 * place / max(1, len(self.order)), "Growing branches")
        runs = [piece.runs[node.key] for piece in self.pieces]
        packed = np.concatenate([p.packed[:, a:b] for p, (a, b) in zip(self.pieces, runs, strict=True)], axis=1)
        orders = [
            piece.order[a:b] + np.uint32(start)
            for piece, (a, b), start in zip(self.pieces, runs, self.starts, strict=True)
        ]
        order = np.concatenate(orders)
        responses = np.empty((node.n, 0))
        if self.table.encoded.by_numbers:
            responses = np.concatenate([p.responses[a:b] for p, (a, b) in zip(self.pieces, runs, strict=True)])
        how = self.n_codes, self.by_order, heights_of(self.encodings)
        columns = kernels.Columns(packed, order, responses, *how, self.stride)
        hist = np.zeros(int(self.n_codes.max()) * len(node.sums), dtype=self.pieces[0].cell_type)
        branch = Branch(*kernels.grow_branch(columns, 0, node.n, node.sums, node.active, node.depth, growth, hist))
        self.order[place : place + node.n] = order
        return replace(branch, first=branch.first + place, last=branch.last + place)

    def sums(self, branch: Branch) -> Sums:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        from anonymizer import kernels

        self.first = branch.first
        m, runs = len(branch.parent), (branch.parent, branch.feature, branch.first, branch.last, self.order)

        def count(target: ClassTarget) -> NDArray[np.int64]:
            counts = np.zeros((m, target.n_classes), dtype=np.int64)
            kernels.count_classes(*runs, target.codes, counts)
            return counts

        encoded = self.table.encoded
        classes = count(encoded.target) if encoded.by_numbers else branch.sums
        values = None if encoded.numeric is None else encoded.numeric.values
        moments = moments_of(branch, values, self.order)
        persons = persons_of_nodes(encoded, branch, self.order)
        return Sums(classes, moments, tuple(in_threads(count, encoded.others)), persons)

    def hulls(self, branch: Branch) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        from anonymizer import kernels

        m, p = len(branch.parent), len(self.encodings)
        low, high, levels = (np.zeros((p, m), dtype=np.int32) for _ in range(3))
        missing = np.zeros((p, m), dtype=np.bool_)

        def column(j: int) -> None:
            encoding = self.encodings[j]
            kernels.column_hull(
                self.table.codes(j, self.order).astype(np.uint16), 1, branch.first, branch.last, branch.feature,
                encoding.n_codes - 1 if encoding.missing else -1, not encoding.is_interval, encoding.n_codes,
                low[j], high[j], levels[j], missing[j],
            )  # fmt: skip

        list(in_threads(column, range(p)))
        return low.T, high.T, levels.T, missing.T

    def leaf(self, tree: Tree) -> NDArray[np.int32]:
        """Return the leaf of the grown tree that each record reaches, (n,), as growing has left them."""
        return leaf_in_order(tree, self.first, self.order)


def _piece(table: CodedTable, rows: slice) -> InMemory:
    """Return some records, packed; their codes are not kept a second time."""
    encoded = table.rows(rows)
    piece = InMemory(encoded)
    piece.encoded = replace(encoded, codes=CodeColumns(encoded.n_records))
    return piece


def wide(histogram: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return a histogram that has room for the sums of many pieces."""
    return None if histogram is None else histogram.astype(np.result_type(histogram.dtype, np.int64), copy=False)


def grow_pieces(
    table: CodedTable,
    recipe: Recipe,
    rows: int = ROWS,
    enough: int | None = None,
    progress: Progress = no_progress,
) -> tuple[Tree, NDArray[np.int32]]:
    """Return the tree that :func:`anonymizer.groups.recipe.grow_by` grows on the whole table, every array the same, and
    the leaf of each record, (n,).

    ``rows``: records of a piece; ``enough``: of a node that is grown in one place; ``progress``: called from several
    threads, and what it raises ends the work. Raises :class:`ParameterError` for a recipe that does not fit the target.
    Of median Mondrian and of a blend, the codes of all records are held as one table.
    """
    recipe = with_criterion(recipe, table.encoded)
    encoded, in_order = table.encoded, recipe.criterion == "in-order"
    criterion = natural_criterion(encoded) if in_order else str(recipe.criterion)
    fits = criterion in (("sse",) if encoded.by_numbers else ("entropy", "gini"))
    if not fits or (recipe.mondrian and not (encoded.by_numbers or encoded.target.name)):
        return grow_by(recipe, table.whole)
    source = InPieces(table, rows, enough, progress)
    rules = recipe.min_leaf, recipe.max_depth, LEVELS
    with linear_algebra().limit(limits=1, user_api="blas"):
        tree = grow_from(source, table.encoded.encodings, criterion, *rules, in_order=in_order)
    return tree, source.leaf(tree)
