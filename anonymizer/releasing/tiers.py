"""Which records share a box: whole groups (uniform), or the leaves inside them, made large enough (tiered).

A generalizer answers with :class:`Parts`; :mod:`anonymizer.releasing.generalize` turns them into cells. Distances (all
of them squared) between a record and the centroid of a leaf: a number counts by its share of the range of the data, a
level by ½·|indicator − frequencies|². A missing number is as far from a present one as the two ends of the range are
from each other: with a share w of missing values in the leaf, a present value is (1 − w)·(x − mean)² + w away, a
missing one 1 − w. Distances are rounded to 12 decimals; the record with the lower original row wins a tie.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import GuaranteeError, ParameterError, Progress, no_progress
from anonymizer.groups.refine import refine_nodes
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.tree import Tree
from anonymizer.settings import Limits

SLACK = 1e-9
"""A share may miss its limit by so much of it."""


@dataclass(frozen=True, eq=False)
class Groups:
    """n records in the leaves of an unpruned tree and in groups of them.

    ``leaf`` (n,): each record's leaf; ``group`` (m,): the node of the pruned tree's leaf that is at or above each
    node, -1 above them. ``limits``: what groups must keep when they are divided. ``memory``: what
    generalizers keep, by name, for other groups of the same tree and the same records. ``progress``: what a
    generalizer that takes long calls as it goes on; what it raises ends the work. ``whole``, ``rows``: where some
    records were left out, all of them in their groups, and the places of the n there; ``None`` where nobody was.
    """

    tree: Tree
    encoded: EncodedTable
    leaf: NDArray[np.int32]
    group: NDArray[np.int32]
    limits: Limits | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    progress: Progress = no_progress
    whole: "Groups | None" = None
    rows: NDArray[np.int64] | None = None

    def of_rows(self, rows: NDArray[np.int64]) -> "Groups":
        """Return the groups of some of the records, ascending; the others are left out."""
        return replace(self, encoded=rows_of(self.encoded, rows), leaf=self.leaf[rows], whole=self, rows=rows)


class Made(NamedTuple):
    """How records were put together: the generalizer that ran, by its key, and ``why`` it is not the one that was asked
    for, in a sentence; "" where it is."""

    method: str
    why: str = ""


@dataclass(frozen=True, eq=False)
class Parts:
    """``part`` (n,): the part, from 0 to ``n_parts`` - 1, that each record belongs to. ``shared_record``,
    ``shared_part`` (q,): records that a further part shares.

    A part's box is the hull of the records that belong to it or that it shares; a record's box is the hull of the
    boxes of all its parts. ``tree`` and ``leaf`` (n,): a finer tree than the grown one that the parts were cut by, and
    each record's leaf in it, where there is one: it routes other records. ``made``: how; without a method, by the
    generalizer that was asked for.
    """

    part: NDArray[np.int64]
    n_parts: int
    shared_record: NDArray[np.int64]
    shared_part: NDArray[np.int64]
    tree: Tree | None = None
    leaf: NDArray[np.int32] | None = None
    made: Made = Made("")

    def take(self, rows: NDArray[np.int64]) -> "Parts":
        """Return the same parts of the same records (n,), which stand in another order."""
        place = np.empty_like(rows)
        place[rows] = np.arange(len(rows))
        leaf = None if self.leaf is None else self.leaf[rows]
        return replace(self, part=self.part[rows], shared_record=place[self.shared_record], leaf=leaf)


def uniform(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return the groups as parts: every record gets its group's hull (Y19, uniform generalization). ``k`` and
    ``rng`` play no part."""
    return disjoint(groups.group[groups.leaf], groups.tree.n_nodes)


def tiered(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return leaves of the unpruned tree, the small ones sharing their nearest neighbours (Y19, tiered generalization).

    A leaf with fewer than k persons climbs to its first ancestor with at least k, never above its group, and
    shares the nearest records there of as many other persons as it lacks.

    Raises :class:`GuaranteeError` when a group has fewer than k persons, and :class:`ParameterError` where the share of
    one person is limited.
    """
    from anonymizer.releasing import tier_kernels

    if groups.limits is not None and groups.limits.share_max is not None:
        raise ParameterError(
            "Tiered boxes share rows, so they keep no limit on the share of one person.",
            value=groups.limits.share_max,
            remedy="Leave the limit out, or choose pack, refine or tiered-strict.",
        )
    nodes = _Nodes.of(groups, k)
    small = nodes.small
    pairs = int((k - nodes.persons[small]).sum())
    record, leaf = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    tree = groups.tree
    tier_kernels.share(
        groups.encoded.codes.matrix(), nodes.who, nodes.rows, nodes.start, nodes.persons, tree.parent, tree.size, small,
        k, *nodes.scale, record, leaf,
    )  # fmt: skip
    parts = disjoint(groups.leaf, tree.n_nodes)
    number = np.cumsum(tree.is_leaf & (nodes.records > 0)) - 1
    return Parts(parts.part, parts.n_parts, record, number[leaf].astype(np.int64))


def tiered_strict(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return leaves of the unpruned tree, the small ones taking neighbours over instead of sharing them.

    Cells start as leaves. For the smallest cell below k (tie: lowest row), climb from its parent on: at the first
    ancestor where the other cells hold enough surplus above k together, take the surplus records nearest to the
    centroid of the leaf, one by one, skipping cells that are down to k; where they do not, but the ancestor's cells
    hold at least k together, merge all of them. Every cell ends with at least k records, inside its group. Where
    records are not persons, a group with a cell of fewer than k persons, or in which one owns more rows than the limits
    allow, is one cell.

    Raises :class:`GuaranteeError` when a group has fewer than k persons.
    """
    from anonymizer.releasing import tier_kernels

    limits = groups.limits or Limits(k=k)
    k = max(k, limits.k)
    nodes = _Nodes.of(groups, k)
    tree = groups.tree
    lowest_row = nodes.rows[np.minimum(nodes.start[nodes.small], len(nodes.rows) - 1)]
    small = nodes.small[np.lexsort((lowest_row, nodes.records[nodes.small]))]
    small = small[nodes.records[small] < k]
    cell = np.empty(len(nodes.rows), np.int64)
    tier_kernels.take_over(
        groups.encoded.codes.matrix(), nodes.rows, nodes.start, tree.parent, tree.size, small, groups.group[small], k,
        *nodes.scale, cell,
    )  # fmt: skip
    cell_of_record = np.empty_like(cell)
    cell_of_record[nodes.rows] = cell
    if groups.encoded.person is not None:
        group = groups.group[groups.leaf]
        owned = np.column_stack([cell_of_record, nodes.who])[nodes.who >= 0]
        pairs, rows = np.unique(owned, axis=0, return_counts=True)
        few = np.bincount(pairs[:, 0], minlength=tree.n_nodes) < k
        if limits.share_max is not None:
            records = np.bincount(cell_of_record, minlength=tree.n_nodes)
            few[pairs[rows > limits.share_max * records[pairs[:, 0]] * (1 + SLACK), 0]] = True
        whole = np.isin(group, group[few[cell_of_record]])
        cell_of_record[whole] = group[whole]
    return disjoint(cell_of_record, tree.n_nodes)


def refine_groups(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return the groups, those of at least 2k cut further: see :mod:`anonymizer.groups.refine`."""
    from anonymizer.growing.records import descend

    limits = groups.limits or Limits(k=k)
    tree, group = refine_nodes(groups.tree, groups.group, groups.leaf, groups.encoded, limits.but(k=max(k, limits.k)))
    leaf = descend(tree, groups.encoded)
    return replace(disjoint(group[leaf], tree.n_nodes), tree=tree, leaf=leaf)


def disjoint(node: NDArray[Any], n_nodes: int) -> Parts:
    """Return parts without shared records: the records of a node are a part. ``node`` (n,)."""
    used = np.zeros(n_nodes, dtype=bool)
    used[node] = True
    number = np.cumsum(used) - 1
    none = np.empty(0, np.int64)
    return Parts(number[node].astype(np.int64), int(used.sum()), none, none)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Records by node, and the scale of distances.

    ``rows`` (n,): records sorted by leaf, then row; ``start`` (m + 1,): where each node's records begin; ``records``,
    ``persons`` (m,): of the node; ``who`` (n,): whose each record is, -1 for nobody's; ``small``: leaves with records,
    but fewer than k persons. ``scale``: for each column where
    its codes start in a flat table, whether it is an interval, its code for missing, and the table: each code's
    value as a share of the data's range.
    """

    rows: NDArray[np.int64]
    start: NDArray[np.int64]
    records: NDArray[np.int64]
    persons: NDArray[np.int64]
    who: NDArray[np.int32]
    small: NDArray[np.int64]
    scale: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]

    @classmethod
    def of(cls, groups: Groups, k: int) -> "_Nodes":
        from anonymizer import kernels

        tree = groups.tree
        in_leaf = np.bincount(groups.leaf, minlength=tree.n_nodes)
        start = np.concatenate([[0], np.cumsum(in_leaf)]).astype(np.int64)
        rows = np.argsort(groups.leaf, kind="stable").astype(np.int64)
        last = start[np.arange(tree.n_nodes) + tree.size]
        person = groups.encoded.person
        who = np.arange(len(rows), dtype=np.int32) if person is None else person
        who.flags.writeable = False  # always: loops are compiled for arrays of one kind
        persons = np.zeros((tree.n_nodes, 1), np.int64)
        everybody, latest = np.zeros(len(rows), np.uint8), np.full(int(who.max(initial=-1)) + 1, -1, np.int32)
        runs = tree.parent, tree.size, tree.feature, start[:-1], last, rows
        kernels.count_distinct(*runs, who, everybody, latest, persons)
        count = persons[:, 0].copy()
        nodes = np.unique(groups.group[groups.leaf])
        short = nodes[count[nodes] < k]
        if len(short):
            raise GuaranteeError(
                f"{len(short):,} of {len(nodes):,} groups have fewer than k = {k:,} "
                f"{'rows' if person is None else 'persons'}; the smallest has {int(count[short].min()):,}.",
                remedy="Prune the tree to its end for this k, or lower k.",
            )
        return cls(
            rows=rows,
            start=start,
            records=last - start[:-1],
            persons=count,
            who=who,
            small=np.flatnonzero(tree.is_leaf & (in_leaf > 0) & (count < k)).astype(np.int64),
            scale=_scale(groups.encoded),
        )


def _scale(
    encoded: EncodedTable,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]:
    n_codes = [encoding.n_codes for encoding in encoded.encodings]
    offset = np.concatenate([[0], np.cumsum(n_codes)[:-1]]).astype(np.int64)
    scaled = np.zeros(sum(n_codes))
    for first, encoding in zip(offset, encoded.encodings, strict=True):
        values = len(encoding.labels)
        if encoding.is_interval and values and encoding.high[-1] > encoding.low[0]:
            width = encoding.high[-1] - encoding.low[0]
            # A code that several values share stands for the middle between its ends.
            middle = (encoding.low - encoding.low[0]) / width + (encoding.high - encoding.low) / width / 2
            scaled[first : first + values] = middle
    is_interval = np.array([encoding.is_interval for encoding in encoded.encodings])
    missing = np.array([len(encoding.labels) for encoding in encoded.encodings], np.int64)
    return offset, is_interval, missing, scaled
