"""Branches as workers give them back: without the nodes that no group can be, cut off where they grew; and cuts below
the groups of a tree.

Pruning by ``least`` keeps a split when both of its sides pass and every split above it is kept. A side of fewer than k
records fails whatever else is asked for, so such a split goes, and with it all below it: that is known in the branch
alone, and the groups are the same. The other prunings ask which branch goes first by figures of all that is below,
so what is cut off here would change the order in which they go: they get whole branches.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.refine import join_pieces, places_of_pieces
from anonymizer.growing.encode import Encoding
from anonymizer.growing.grow import tree_of
from anonymizer.growing.records import Growth
from anonymizer.growing.subtree import Hulls, Node, Subtree, shortened, side_by_side
from anonymizer.growing.tree import Persons, Tree
from anonymizer.workers import nodes as of_nodes
from anonymizer.workers.nodes import Bundle
from anonymizer.workers.questions import Failure, guarded
from anonymizer.workers.shares import Coding

LOCAL = ("least",)
"""Groupings that keep or take back a split by what is in it and above it alone."""


@guarded
def finish(coding: Coding, nodes: Sequence[Node], growth: Growth, k: int, takes: list[Bundle]) -> Any:
    """Return the branches of some nodes, grown to their end, without what k takes back."""
    grown: Any = of_nodes.finish(coding, nodes, growth, takes)
    return grown if isinstance(grown, Failure) or not k else [shorten(some, k) for some in grown]


def shorten(grown: Subtree, k: int) -> Subtree:
    """Return a subtree in which a split with a side of fewer than k records is a leaf."""
    branch, n = grown.branch, grown.n
    inner = np.flatnonzero(branch.feature >= 0)
    left = inner + 1
    cut, stays = shortened(branch, inner[np.minimum(n[left], n[inner] - n[left]) < k])
    return replace(
        grown,
        branch=cut,
        counts=tuple(counts[stays] for counts in grown.counts),
        steps=grown.steps[stays],
        hulls=grown.hulls.at(stays),
        number=grown.number[stays],
    )


def with_pieces(tree: Tree, group: NDArray[np.int32], encodings: Sequence[Encoding], pieces: Sequence[Subtree]) -> Tree:
    """Return the tree with all cuts: above its groups from the tree, below from the pieces that workers have cut. The
    records of the groups lie one group after the other. ``group`` (m,): see :func:`anonymizer.groups.refine.refine`."""
    from anonymizer import kernels

    below, above = side_by_side(pieces), np.flatnonzero(group < 0)
    tops = np.flatnonzero(below.branch.parent < 0)
    ends = below.branch.first[tops], below.branch.last[tops]
    branch = join_pieces(tree, group, below.branch, *ends)
    _, of_above, of_below = places_of_pieces(tree, group, below.branch.parent)

    def merge(of_tree: NDArray[Any], of_pieces: NDArray[Any]) -> NDArray[Any]:
        whole = np.empty((len(of_above) + len(of_below), *of_tree.shape[1:]), of_tree.dtype)
        whole[of_above], whole[of_below] = of_tree[above], of_pieces
        return whole

    steps = np.zeros((len(branch.parent), below.steps.shape[1]), np.int64)
    steps[of_below[tops]] = below.steps[tops]
    parent = branch.parent.view()
    parent.flags.writeable = False  # always: loops are compiled for arrays of one kind
    kernels.add_up(parent, steps)
    steps[of_below] = below.steps
    persons, counted = below.persons, tree.persons
    if persons is not None:
        others = tuple(map(merge, counted.others, persons.others))
        assert counted.most is not None
        assert persons.most is not None
        of_all = merge(counted.n, persons.n), merge(counted.sums, persons.sums)
        persons = Persons(*of_all, others, merge(counted.most, persons.most))
    counts = tuple(map(merge, (tree.sums, *tree.others), below.counts))
    of_tree = Hulls(tree.low, tree.high, tree.levels, tree.has_missing)
    hulls = Hulls(*map(merge, of_tree, below.hulls))
    numbers = np.arange(len(branch.parent))
    subtree = Subtree(branch, counts, steps, hulls, (), numbers, len(numbers), persons)
    return tree_of(subtree, encodings, int(tree.n[0]))
