"""Records in pieces while a tree grows: histograms of every piece, added up, and small nodes finished whole.

Only whole numbers are added, or numbers in whole steps, so it does not show in how many pieces the records are, or in
what order they are added.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Progress, no_progress
from anonymizer.groups.recipe import Grown, Recipe, grow_by, natural_criterion, with_criterion
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import CodeColumns
from anonymizer.growing.grow import grow, grow_from, tree_of_records
from anonymizer.growing.records import SMALL, Growth, Histograms, InMemory, grow_subtree, heights_of
from anonymizer.growing.subtree import Division, Node, Subtree
from anonymizer.growing.target import entropy, gini, moments_of_all, sse
from anonymizer.growing.threads import WORKERS, in_threads, one_thread
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

    def finish(self, nodes: list[Node], growth: Growth) -> list[Subtree]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        places = np.cumsum([0, *(node.n for node in nodes)])[:-1].tolist()
        largest_first = sorted(range(len(nodes)), key=lambda position: -nodes[position].n)
        grown = in_threads(lambda at: self._subtree(nodes[at], places[at], growth), largest_first)
        subtrees = dict(zip(largest_first, grown, strict=True))
        for piece in self.pieces:
            piece.packed = piece.packed[:, :0].copy()  # a view would keep all of it
            piece.responses = piece.responses[:0].copy()
        return [subtrees[position] for position in range(len(nodes))]

    def _subtree(self, node: Node, place: int, growth: Growth) -> Subtree:
        from anonymizer import kernels

        self.progress(0.5 + 0.4 * place / max(1, len(self.order)), "Growing branches")
        runs = [piece.runs[node.key] for piece in self.pieces]
        packed = np.concatenate([p.packed[:, a:b] for p, (a, b) in zip(self.pieces, runs, strict=True)], axis=1)
        orders = [
            piece.order[a:b] + np.uint32(start)
            for piece, (a, b), start in zip(self.pieces, runs, self.starts, strict=True)
        ]
        order, encoded = np.concatenate(orders), self.table.encoded
        responses = np.empty((node.n, 0))
        if encoded.by_numbers:
            responses = np.concatenate([p.responses[a:b] for p, (a, b) in zip(self.pieces, runs, strict=True)])
        how = self.n_codes, self.by_order, heights_of(self.encodings), self.stride
        columns = kernels.Columns(packed, order, responses, *how)
        subtree = grow_subtree(columns, 0, node.n, node, growth, encoded, encoded.n_records)
        self.order[place : place + node.n] = order
        return subtree


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
    secret: Callable[[], Secret] | None = None,
) -> Grown:
    """Return the tree that :func:`anonymizer.groups.recipe.grow_by` grows on the whole table, every array the same, and
    where the records are in it.

    ``rows``: records of a piece; ``enough``: of a node that is grown in one place; ``progress``: called from several
    threads, and what it raises ends the work. Raises :class:`ParameterError` for a recipe that does not fit the target.
    Of median Mondrian, of a blend and of a tree of detail, the codes of all records are held as one table.
    """
    recipe = with_criterion(recipe, table.encoded)
    encoded, in_order = table.encoded, recipe.criterion == "in-order"
    criterion = natural_criterion(encoded) if in_order else str(recipe.criterion)
    fits = criterion in (("sse",) if encoded.by_numbers else ("entropy", "gini"))
    if not fits or (recipe.mondrian and not (encoded.by_numbers or encoded.target.name)):
        progress(0.0, "Growing the tree")
        return grow_by(recipe, table.whole, secret)
    source = InPieces(table, rows, enough, progress)
    rules = recipe.min_leaf, recipe.max_depth, LEVELS
    with one_thread():
        subtree = grow_from(source, source.encodings, criterion, *rules, in_order=in_order)
    return Grown(*tree_of_records(subtree, table.encoded, source.order))
