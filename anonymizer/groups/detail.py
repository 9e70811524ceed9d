"""Trees of detail: cut where least is lost, and blind to whatever is sensitive.

Every node is cut where the hulls of its two sides lose least, until only equal records are left together: the first
cuts of packed groups, drawn as a tree. The leaves of all cuts, side by side, are a line on which neighbours are alike;
groups are packed along it (:mod:`anonymizer.releasing.pack`), inside the branches that a pruning keeps. The tree is
what is left of the cuts without those that part fewer records than a leaf must have.

The cuts follow from the secret of packing, by its weights of the columns and by the records that large pieces are cut
by; it also decides which side of a cut comes first on the line.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.refine import EVERYBODY
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import tree_of_records
from anonymizer.growing.subtree import Branch, count_of, shortened, sizes_and_depths, subtree_of
from anonymizer.growing.target import bits_of
from anonymizer.growing.threads import in_threads
from anonymizer.growing.tree import Tree

DETAIL = "detail"
"""What guides the splits of such a tree."""
MOST = 1_000_000
"""Records that are cut in one place; the tree of a larger table is guided by its target, where nothing else is said."""
SAMPLE = 1024
"""Pieces of at least twice as many records are cut by so many of them."""

Places = NDArray[np.int64]


class Order(NamedTuple):
    """n records along a line: ``order`` (n,) the record at each place, ``leaf_start`` (n,) where the leaf of each place
    begins, whose records are equal, and the secret ``weight`` of each column (p,)."""

    order: Places
    leaf_start: Places
    weight: NDArray[np.float64]

    def take(self, rows: Places) -> "Order":
        """Return the same line of the same records (n,), which stand in another order; those of a leaf in that one."""
        place = np.empty_like(rows)
        place[rows] = np.arange(len(rows))
        order = place[self.order]
        return self._replace(order=order[np.lexsort((order, self.leaf_start))])


def grow_detail(
    encoded: EncodedTable, secret: Secret, min_leaf: int = 2, max_depth: int | None = None, sample: int = SAMPLE
) -> tuple[Tree, NDArray[np.int32], Order]:
    """Return the tree of a table's detail, the leaf that each record reaches (n,), and the records along its line.

    ``min_leaf``, ``max_depth``: of the tree, as :func:`anonymizer.growing.grow.grow` takes them; the line is that of
    all cuts. ``sample``: see :data:`SAMPLE`.
    """
    n = encoded.n_records
    cuts, order, codes, line = cut_all(encoded, secret, sample)
    branch = shortened(cuts, ends_of(cuts, min_leaf, max_depth))[0]
    targets = encoded.target, *encoded.others
    counts = list(in_threads(lambda target: count_of(branch, order, target), targets, n))
    values = np.empty((n, 0)) if encoded.numeric is None else encoded.numeric.values[order]
    subtree = subtree_of(branch, list(codes), 1, encoded.encodings, counts, values, bits_of(n))
    return *tree_of_records(subtree, encoded, order), line


def cut_all(
    encoded: EncodedTable, secret: Secret, sample: int = SAMPLE
) -> tuple[Branch, NDArray[np.uint32], NDArray[np.uint16], Order]:
    """Return all cuts of a table, its records as they lie in them (n,), their codes (p, n), and the line they make."""
    from anonymizer.groups import piece_kernels

    n = encoded.n_records
    order = np.argsort(secret.numbers(encoded.codes.columns, n), kind="stable").astype(np.uint32)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    codes = encoded.codes.by_column(order)
    who = EVERYBODY if encoded.person is None else encoded.person
    whole = np.array([0]), np.array([n])
    pieces = piece_kernels.cut_groups(codes, order, who, *whole, secret.scale(encoded.encodings), 1, False, sample)
    cuts = Branch(*(*pieces, np.empty((len(pieces[0]), 0))))
    return cuts, order, codes, along(cuts, order, rank, secret)


def along(cuts: Branch, order: NDArray[np.uint32], rank: Places, secret: Secret) -> Order:
    """Return the line of all cuts: of the two sides of each, the one with the record of the lowest rank comes first.

    ``order`` (n,): the records as they lie in the branch; ``rank`` (n,): of each record.
    """
    n, sizes = len(order), cuts.last - cuts.first
    depth = sizes_and_depths(cuts.parent)[1]
    levels = np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])[1:]
    leaves = np.flatnonzero(cuts.feature < 0)
    lowest = np.full(len(sizes), n)
    lowest[leaves] = np.minimum.reduceat(rank[order], cuts.first[leaves])
    for nodes in levels[::-1]:
        np.minimum.at(lowest, cuts.parent[nodes], lowest[nodes])
    place = np.zeros(len(sizes), np.int64)
    for nodes in levels:
        above = cuts.parent[nodes]
        is_second = lowest[nodes] != lowest[above]
        place[nodes] = place[above] + np.where(is_second, sizes[above] - sizes[nodes], 0)
    leaf_start = np.sort(np.repeat(place[leaves], sizes[leaves]))
    moved = np.empty(n, np.int64)
    moved[np.repeat(place[leaves] - cuts.first[leaves], sizes[leaves]) + np.arange(n)] = order
    return Order(moved, leaf_start, secret.weight)


def ends_of(cuts: Branch, min_leaf: int, max_depth: int | None) -> Places:
    """Return the nodes of a branch that are not divided where both sides need so many records, down to a depth."""
    sizes, depth = cuts.last - cuts.first, sizes_and_depths(cuts.parent)[1]
    inner = np.flatnonzero(cuts.feature >= 0)
    left = inner + 1
    few = np.minimum(sizes[left], sizes[inner] - sizes[left]) < min_leaf
    return np.asarray(inner[few if max_depth is None else few | (depth[inner] >= max_depth)])
