"""Records on workers as a source of growing, and the route by which they go down a tree."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.records import SMALL, Growth
from anonymizer.growing.subtree import Division, Node, Subtree
from anonymizer.growing.target import entropy, gini, sse_of_tallies
from anonymizer.workers import nodes as of_nodes
from anonymizer.workers.branches import finish
from anonymizer.workers.questions import guarded
from anonymizer.workers.table import BINS, ClusterTable

NOTHING = np.empty(0, np.uint8)

Route = tuple[Division, ...]
"""Every division so far, in the order in which records go down them."""


def bare(node: Node) -> Node:
    """Return a node of which only its key and its columns are known."""
    return Node(node.key, 0, 0, NOTHING, node.active)


def lean(division: Division) -> Division:
    """Return a division with no more than what sends records down it."""
    node, split, left, right = division
    if split.code_left >= 0:
        split = split._replace(side=NOTHING)
    return Division(bare(node), split, bare(left), bare(right))


@guarded
def extend(before: Route, divisions: Sequence[Division]) -> Route:
    """Return the route with these divisions at its end."""
    return (*before, *divisions)


class Records:
    """Records on workers as a source of growing. A question is the share and every division so far, so whoever is asked
    can answer; a node below ``enough`` records is grown on one worker, which gets its records from the others."""

    def __init__(self, table: ClusterTable, enough: int | None = None, k: int = 0) -> None:
        self.table, self.cluster, self.k = table, table.cluster, k
        self.history: list[Division] = []
        self.route: Any = ()
        self.grown: dict[int, Subtree] = {}
        self.least = max(SMALL, table.n_records // (4 * len(table.shares))) if enough is None else enough

    @property
    def enough(self) -> int:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        return self.least

    def root(self) -> Node:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        encoded, columns = self.table.here.table.encoded, self.table.here.table.columns
        sums: NDArray[Any] = np.array([self.table.n_records], np.int64)
        if encoded.by_numbers:
            totals = [values @ counts for values, counts in self._tallies()]  # in steps, so exact
            sums = np.array([self.table.n_records, *totals], np.float64)
        elif self.table.schema.target is not None:
            counts = columns[self.table.schema.target].counts
            sums = np.zeros(encoded.target.n_classes, np.int64)
            np.add.at(sums, encoded.target.codes, counts)
        return Node(0, 0, self.table.n_records, sums, np.ones(len(encoded.encodings), dtype=np.uint8))

    def impurity(self, criterion: str) -> float:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        if self.table.here.table.encoded.by_numbers:
            values, counts = zip(*self._tallies(), strict=True)
            return sse_of_tallies(values, counts, self.table.n_records)
        totals = self.root().sums
        return float(totals.sum() * {"entropy": entropy, "gini": gini}[criterion](totals))

    def _tallies(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Yield of each numeric sensitive column its values on its scale, and how many records have each."""
        for name, values in self.table.here.scaled.items():
            yield values, self.table.here.table.columns[name].counts

    def send(self, divisions: Sequence[Division]) -> None:
        """Let records go down these splits, too, before anything else is asked. The route is an answer that workers
        have from each other, so a question only names it."""
        new = [lean(division) for division in divisions]
        self.history += new
        self.route = self.cluster.ask("route", extend, self.route, new) if new else self.route

    def finish(self, nodes: list[Node], growth: Growth) -> list[Subtree]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        most = self.table.n_records / (BINS * len(self.table.shares))
        bins, width = bins_of(nodes, most), len(self.table.shares)
        for start in range(0, len(bins), width):  # records of one bin a worker are on their way
            futures = []
            for some in bins[start : start + width]:
                keys = [node.key for node in some]
                bundles = self.table.ask("take", of_nodes.take, self.route, keys)
                futures.append(self.cluster.ask("finish", finish, self.table.coding, some, growth, self.k, bundles))
                del bundles
            for some, grown in zip(bins[start : start + width], self.cluster.answers(futures), strict=True):
                self.grown |= dict(zip([node.key for node in some], grown, strict=True))
        return [self.grown[node.key] for node in nodes]


def bins_of(nodes: Sequence[Node], most: float) -> list[list[Node]]:
    """Return the nodes in bins of at most so many records, or one node; the largest first."""
    bins: list[list[Node]] = []
    records: list[int] = []
    for node in sorted(nodes, key=lambda node: -node.n):
        place = next((at for at, n in enumerate(records) if n + node.n <= most), None)
        if place is None:
            bins.append([])
            records.append(0)
            place = len(bins) - 1
        bins[place].append(node)
        records[place] += node.n
    return bins
