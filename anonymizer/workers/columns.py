"""Histograms that never come to the client: they are summed on workers, which answer with the best split of each node.

Shares count; sums are added in groups of a few, level by level, and one worker has the histograms of a wave's nodes in
some columns until their children have theirs. All of it are answers that are made of answers, so what is lost with a
worker is counted again. Columns are asked in their order, for which gains are ties depends on the best so far.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anonymizer.growing.records import Growth, Histograms
from anonymizer.growing.subtree import Division, Node
from anonymizer.growing.waves import Best, Family, Orders, better, histograms_of
from anonymizer.partitions.records import wide
from anonymizer.workers.cluster import MOST
from anonymizer.workers.nodes import count
from anonymizer.workers.questions import guarded
from anonymizer.workers.records import NOTHING, Records, bare

AT_ONCE = 256 << 20
"""Bytes of histograms that a worker is sent at a time, where that is more than two workers' own."""


class Rules(NamedTuple):
    """What is the same for all nodes."""

    growth: Growth
    orders: Orders


@guarded
def rules(growth: Growth, orders: Orders) -> Rules:
    """Return the rules, for questions to name them instead of having them."""
    return Rules(growth, orders)


@guarded
def total(parts: list[list[Histograms]], narrow: bool) -> list[Histograms]:
    """Return the sums of some workers' histograms, node by node. ``narrow``: they have room for them."""
    return added(parts, narrow)


@guarded
def whole(
    before: dict[int, Histograms], families: Sequence[Family], parts: list[list[Histograms]]
) -> dict[int, Histograms]:
    """Return the histograms of the nodes of some families by their keys. ``before``: of their parents; ``parts``: what
    was counted, from all workers."""
    return histograms_of(families, before, added(parts, False))


def added(parts: list[list[Histograms]], narrow: bool) -> list[Histograms]:
    """Return what :func:`total` does."""
    if narrow:
        sums = [[None if cells is None else cells.copy() for cells in of_node] for of_node in parts[0]]
    else:
        sums = [[None if cells is None else np.array(wide(cells)) for cells in of_node] for of_node in parts[0]]
    for part in parts[1:]:
        for histograms, of_node in zip(sums, part, strict=True):
            for histogram, cells in zip(histograms, of_node, strict=True):
                if histogram is not None:
                    histogram += cells
    return sums


@guarded
def choose(
    how: Rules, histograms: dict[int, Histograms], nodes: Sequence[Node], before: list[Best] | None
) -> list[Best]:
    """Return the best split of each node from some columns, and from those ``before`` them."""
    growth = how.growth._replace(table=np.array(how.growth.table))
    orders = how.orders[0], np.array(how.orders[1])
    answers = []
    for at, node in enumerate(nodes):
        own = node._replace(sums=np.array(node.sums), active=np.array(node.active))
        cells = [None if of is None or of.flags.writeable else of.copy() for of in histograms[node.key]]
        cells = [of if mine is None else mine for of, mine in zip(histograms[node.key], cells, strict=True)]
        best = better(own, None if before is None else before[at], cells, orders, growth)
        if best.split is not None and best.split.code_left >= 0:
            best = best._replace(split=best.split._replace(side=NOTHING))
        answers.append(best)
    return answers


class Columns:
    """The best splits of nodes whose records are on workers, from histograms that stay there."""

    def __init__(self, source: Records, growth: Growth, orders: Orders) -> None:
        self.source, self.cluster = source, source.table.cluster
        self.rules = self.cluster.ask("rules", rules, growth, orders)
        cell = 8 if source.table.here.table.encoded.by_numbers else 4
        self.bytes = [e.n_codes * len(source.root().sums) * cell for e in source.table.here.encodings]
        most = source.table.n_records / max(1, source.enough)  # large nodes of one wave, at most
        self.batches = batches_of(self.bytes, AT_ONCE / 2 / most)
        self.whole: list[Any] = [{} for _ in self.batches]

    def best(self, divisions: Sequence[Division], families: Sequence[Family]) -> list[Best]:
        """See :class:`anonymizer.growing.waves.Splitter`."""
        self.source.send(divisions)
        if not families:
            return []
        nodes = [node for family in families for node in family.nodes]
        keys = [
            Family(family.parent, bare(family.counted), tuple(bare(node) for node in family.nodes))
            for family in families
        ]
        narrow = max(family.counted.n for family in families) < 1 << 31
        best = None
        for at, batch in enumerate(self.batches):
            counted = [within(family.counted, batch) for family in families]
            parts = self.source.table.ask("count", count, self.source.route, counted)
            most = most_at_once(len(counted) * sum(self.bytes[batch]))
            while len(parts) > most:
                parts = [
                    self.cluster.ask("total", total, parts[start : start + most], narrow)
                    for start in range(0, len(parts), most)
                ]
            self.whole[at] = self.cluster.ask("whole", whole, self.whole[at], keys, parts)
            best = self.cluster.ask("choose", choose, self.rules, self.whole[at], nodes, best)
        answers: list[Best] = self.cluster.answer(best)
        return answers


def most_at_once(size: float) -> int:
    """Return how many workers' histograms of this size are added at a time."""
    return int(min(MOST, max(2, AT_ONCE // max(1, size))))


def within(node: Node, batch: slice) -> Node:
    """Return a node of which only some columns are counted."""
    active = np.zeros_like(node.active)
    active[batch] = node.active[batch]
    return node._replace(active=active)


def batches_of(sizes: Sequence[int], most: float) -> list[slice]:
    """Return the columns in runs of at most so many bytes, or of one column."""
    starts, room = [0], most
    for at, size in enumerate(sizes):
        if size > room and at > starts[-1]:
            starts.append(at)
            room = most
        room -= size
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True)]
