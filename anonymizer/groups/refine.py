"""Cutting groups further where their boxes lose least, so that every group still has what it must have.

A refined pruning is a tree again: the splits that were kept, and below each group its cuts. So it is scored,
drawn, cut, measured and released like any other, and it routes records that it was not made of.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.hulls import scale_of
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import Pruning
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import tree_of_records
from anonymizer.growing.people import with_people
from anonymizer.growing.records import descend
from anonymizer.growing.subtree import Branch, count_of, subtree_of
from anonymizer.growing.target import bits_of
from anonymizer.growing.threads import in_threads
from anonymizer.growing.tree import Tree
from anonymizer.settings import Limits

EVERYBODY = np.empty(0, np.int32)
"""Whose records are, for loops, when every record is a person."""
EVERYBODY.flags.writeable = False


def refine(
    pruning: Pruning,
    encoded: EncodedTable,
    limits: Limits | None = None,
    *,
    after: int | None = None,
    leaf: NDArray[np.int32] | None = None,
) -> Pruning:
    """Return the same groups, those of at least 2k cut further: a new tree and its groups.

    A group is cut where the boxes of its two sides lose least: of all cuts of all quasi-identifiers that leave k on
    both sides, the one with the least n_L · NCP(L) + n_R · NCP(R), summed over columns (tie: the first); numbers, dates
    and ordered levels in their order, other levels by descending count. Then, from the top, a cut is kept when both of
    its sides satisfy all of ``limits`` and the cuts above it are kept. The target does not guide these cuts, so its
    error should be watched.

    ``limits``: by default k of the pruning. ``after``: start from the groups after that many steps. ``leaf`` (n,):
    each record's leaf in the unpruned tree, found when not given.
    """
    limits = limits or Limits(k=pruning.k)
    leaf = descend(pruning.tree, encoded) if leaf is None else leaf
    group = pruning.group_of_node(after)
    tree, fails = tree_with_cuts(pruning.tree, group, leaf, encoded, limits)
    keeps, smaller_child = splits_to_keep(tree, fails)
    removals = np.flatnonzero((tree.feature >= 0) & ~keeps)
    steps = removals[np.argsort(tree.n[removals], kind="stable")].astype(np.int32)
    ratios = np.full(len(steps), np.nan)
    return replace(pruning, tree=tree, k=limits.k, steps=steps, ratios=ratios, smallest=smaller_child[steps])


def refine_nodes(
    tree: Tree, group: NDArray[np.int32], leaf: NDArray[np.int32], encoded: EncodedTable, limits: Limits
) -> tuple[Tree, NDArray[np.int32]]:
    """Return the refined tree, and for each of its nodes the group that holds it, -1 above them: see :func:`refine`."""
    refined, fails = tree_with_cuts(tree, group, leaf, encoded, limits)
    return refined, groups_that_keep(refined, fails)


def groups_that_keep(refined: Tree, fails: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return for each node of a tree with all cuts the group that holds it, -1 above them; ``fails`` (m,): no group."""
    from anonymizer import kernels

    keeps, _ = splits_to_keep(refined, fails)
    group_of_node = np.empty(refined.n_nodes, dtype=np.int32)
    kernels.groups_below(refined.parent, refined.feature, ~keeps, group_of_node)
    return group_of_node


def tree_with_cuts(
    tree: Tree, group: NDArray[np.int32], leaf: NDArray[np.int32], encoded: EncodedTable, limits: Limits
) -> tuple[Tree, NDArray[np.bool_]]:
    """Return the tree with all cuts, and which of its nodes cannot be groups; nodes of the old tree always can."""
    refined = with_people(with_cuts(tree, group, leaf, encoded, limits.k), encoded)
    return refined, failing(tree, group, refined, encoded, limits)


def failing(
    tree: Tree, group: NDArray[np.int32], refined: Tree, encoded: EncodedTable, limits: Limits
) -> NDArray[np.bool_]:
    """Return which nodes of a tree with all cuts cannot be groups, (m,); no record is asked for."""
    risk = annotate(refined, encoded)
    fails: NDArray[np.bool_] = ~np.logical_and.reduce(
        [margin.passes for margin in margins(refined, risk, encoded, limits)]
    )
    fails[origin_of(tree, group, refined) >= 0] = False
    return fails


def splits_to_keep(tree: Tree, fails: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which splits stay when no side may fail and those above must stay too, and the smaller child of each
    (m,)."""
    from anonymizer import kernels

    keeps, smaller_child = np.empty(tree.n_nodes, dtype=np.bool_), np.zeros(tree.n_nodes, dtype=np.int64)
    kernels.keep_splits(tree.parent, tree.size, tree.feature, tree.persons.n, fails, keeps, smaller_child)
    return keeps, smaller_child


def origin_of(old: Tree, group: NDArray[np.int32], new: Tree) -> NDArray[np.int32]:
    """Return for each node of the refined tree the node of the old one that it is, -1 for what cuts have added."""
    origin = np.full(new.n_nodes, -1, dtype=np.int32)
    stack = [(0, 0)]
    while stack:
        before, now = stack.pop()
        origin[now] = before
        if group[before] < 0:
            stack += zip(old.children(before), new.children(now), strict=True)
    return origin


def with_cuts(
    tree: Tree,
    group: NDArray[np.int32],
    leaf: NDArray[np.int32],
    encoded: EncodedTable,
    k: int,
    by_median: bool = False,
) -> Tree:
    """Return the tree above its groups, and below each of them cuts that leave k persons on both sides.

    ``group`` (m,): the group at or above each node, -1 above them; ``leaf`` (n,). ``by_median``: cuts at medians in
    place of those where hulls lose least: see :mod:`anonymizer.groups.median_kernels`, ``hull_kernels``.
    """
    from anonymizer.groups import piece_kernels

    groups = np.flatnonzero(group == np.arange(tree.n_nodes))
    number = np.full(tree.n_nodes, -1)
    number[groups] = np.arange(len(groups))
    place = number[group[leaf]]
    order = np.argsort(place, kind="stable").astype(np.uint32)
    ends = np.cumsum(np.bincount(place, minlength=len(groups)))
    starts = np.concatenate([[0], ends[:-1]])
    codes = encoded.codes.by_column(order)
    who = EVERYBODY if encoded.person is None else encoded.person
    pieces = piece_kernels.cut_groups(codes, order, who, starts, ends, scale_of(encoded.encodings), k, by_median, 0)
    below = Branch(*(*pieces, np.empty((len(pieces[0]), 0))))
    branch, numeric = join_pieces(tree, group, below, starts, ends), encoded.numeric
    targets = encoded.target, *encoded.others
    counts = list(in_threads(lambda target: count_of(branch, order, target), targets, len(order)))
    values = np.empty((len(order), 0)) if numeric is None else numeric.values[order]
    subtree = subtree_of(branch, list(codes), 1, encoded.encodings, counts, values, bits_of(encoded.n_records))
    return tree_of_records(subtree, encoded, order)[0]


def join_pieces(
    tree: Tree, group: NDArray[np.int32], below: Branch, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Branch:
    """Return the nodes above the groups and the pieces ``below`` them as one piece, in preorder; sums are still to be
    made.

    ``starts``, ``ends``: where the records of each group lie.
    """
    above = np.flatnonzero(group < 0)
    groups = np.flatnonzero(group == np.arange(tree.n_nodes))
    position, of_above, of_piece = places_of_pieces(tree, group, below.parent)

    def merge(from_above: NDArray[Any], from_below: NDArray[Any]) -> NDArray[Any]:
        values = np.empty(len(of_above) + len(of_piece), dtype=from_below.dtype)
        values[of_above], values[of_piece] = from_above, from_below
        return values

    parent = merge(np.where(above > 0, position[tree.parent[above]], -1), below.parent)
    inside = np.flatnonzero(below.parent >= 0)
    parent[of_piece[inside]] = of_piece[below.parent[inside]]
    tops = groups[groups > 0]
    parent[position[tops]] = position[tree.parent[tops]]

    left, right = codes_beside_cuts(tree, above)
    counts = np.diff(tree.listed_start)[above], np.diff(np.append(below.listed_start, len(below.listed)))
    listed_count = merge(*counts)
    listed_start = np.cumsum(listed_count) - listed_count
    listed = np.empty(int(listed_count.sum()), dtype=np.uint16)
    is_above = np.repeat(group < 0, np.diff(tree.listed_start))
    for of_new, count, codes in ((of_above, counts[0], tree.listed[is_above]), (of_piece, counts[1], below.listed)):
        listed[np.repeat(listed_start[of_new] - (np.cumsum(count) - count), count) + np.arange(len(codes))] = codes
    first_group = np.searchsorted(groups, above)
    last_group = np.searchsorted(groups, above + tree.size[above]) - 1
    return Branch(
        parent=parent,
        feature=merge(tree.feature[above], below.feature),
        code_left=merge(left, below.code_left),
        code_right=merge(right, below.code_right),
        listed_start=listed_start,
        listed=listed,
        listed_left=merge(tree.listed_left[above], below.listed_left),
        first=merge(starts[first_group], below.first),
        last=merge(ends[last_group], below.last),
        sums=np.empty((len(parent), 0), dtype=np.int64),
    )


def places_of_pieces(
    tree: Tree, group: NDArray[np.int32], parent: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where nodes stand in the tree with its cuts: those of the old tree (m,), of these the ones above the
    groups, and those of the pieces below, of which ``parent`` is -1 at each root."""
    above = np.flatnonzero(group < 0)
    groups = np.flatnonzero(group == np.arange(tree.n_nodes))
    roots = np.flatnonzero(parent < 0)
    sizes = np.diff(np.append(roots, len(parent)))
    # In the old preorder, a node above the groups takes one row, a group its piece, everything else none.
    rows = np.zeros(tree.n_nodes, dtype=np.int64)
    rows[above], rows[groups] = 1, sizes
    position = np.cumsum(rows) - rows
    of_piece = np.repeat(position[groups] - roots, sizes) + np.arange(len(parent))
    return position, position[above], of_piece


def codes_beside_cuts(tree: Tree, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the highest code on the left and the lowest on the right of each ordered split; -1 of any other split."""
    feature = tree.feature[nodes]
    left = nodes + 1
    right = left + tree.size[left]
    ordered = tree.cut[nodes] >= 0
    only_missing = tree.low[right, feature] > tree.high[right, feature]
    # A right side where everything is missing begins with the code for missing, which is above all of its values.
    lowest = np.where(only_missing, tree.cut[nodes], tree.low[right, feature])
    return np.where(ordered, tree.high[left, feature], -1), np.where(ordered, lowest, -1)
