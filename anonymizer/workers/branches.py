"""Branches as workers give them back: without the nodes that no group can be, cut off where they grew; and cuts below
the groups of a tree.

Pruning by ``least`` keeps a split when both of its sides pass and every split above it is kept. A side of fewer than k
records fails whatever else is asked for, so such a split goes, and with it all below it: that is known in the branch
alone, and the groups are the same. The other prunings ask which branch goes first by figures of all that is below,
so what is cut off here would change the order in which they go: they get whole branches.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.refine import places_of_pieces
from anonymizer.growing.grow import sizes_and_depths
from anonymizer.growing.records import Branch, Growth, Node, Sums
from anonymizer.growing.target import bits_of, moments_of_steps
from anonymizer.growing.tree import Persons, Tree
from anonymizer.workers import nodes as of_nodes
from anonymizer.workers.nodes import Bundle, Grown
from anonymizer.workers.questions import Failure, guarded
from anonymizer.workers.shares import Coding

LOCAL = ("least",)
"""Groupings that keep or take back a split by what is in it and above it alone."""


@guarded
def finish(coding: Coding, nodes: Sequence[Node], growth: Growth, k: int, takes: list[Bundle]) -> Any:
    """Return the branches of some nodes, grown to their end, without what k takes back."""
    grown: Any = of_nodes.finish(coding, nodes, growth, takes)
    return grown if isinstance(grown, Failure) or not k else [shorten(some, k) for some in grown]


def shorten(grown: Grown, k: int) -> Grown:
    """Return a branch in which a split with a side of fewer than k records is a leaf; ``places``: the number of each
    node in the whole branch, and how many that has."""
    branch = grown.branch
    n, m = branch.last - branch.first, len(branch.parent)
    size, _ = sizes_and_depths(branch.parent)
    inner = np.flatnonzero(branch.feature >= 0)
    left = inner + 1
    ends = inner[np.minimum(n[left], n[inner] - n[left]) < k]
    below = np.zeros(m + 1, np.int64)
    np.add.at(below, ends + 1, 1)
    np.add.at(below, ends + size[ends], -1)
    stays = np.flatnonzero(np.cumsum(below)[:m] == 0)
    number = np.full(m, -1, np.int32)
    number[stays] = np.arange(len(stays))
    is_end = np.zeros(m, np.bool_)
    is_end[ends] = True

    def leaf(array: NDArray[Any], value: int) -> NDArray[Any]:
        return np.where(is_end, value, array)[stays].astype(array.dtype)

    lengths = np.diff(np.append(branch.listed_start, len(branch.listed)))
    lengths[is_end | (number < 0)] = 0
    listed = np.repeat(~is_end & (number >= 0), np.diff(np.append(branch.listed_start, len(branch.listed))))
    parent = np.where(branch.parent[stays] < 0, -1, number[branch.parent[stays]]).astype(np.int32)
    cut = Branch(
        parent, leaf(branch.feature, -1), leaf(branch.code_left, -1), leaf(branch.code_right, -1),
        (np.cumsum(lengths) - lengths)[stays].astype(np.int64), branch.listed[listed], leaf(branch.listed_left, 0),
        branch.first[stays], branch.last[stays], branch.sums[stays],
    )  # fmt: skip
    low, high, levels = (of[:, stays] for of in (grown.low, grown.high, grown.levels))
    others = tuple(counts[stays] for counts in grown.others)
    places = np.append(stays, m).astype(np.int32)
    return Grown(cut, others, grown.steps[stays], low, high, levels, grown.missing[:, stays], grown.present, places)


def numbers_of(pieces: Sequence[Grown | None]) -> NDArray[np.int64]:
    """Return the number that each node has in the tree of whole branches. ``pieces``: as they stand in the tree,
    ``None`` for a node that was divided."""
    start, numbers = 0, []
    for piece in pieces:
        if piece is None or not len(piece.places):  # whole
            places = np.arange(2 if piece is None else len(piece.branch.parent) + 1)
        else:
            places = piece.places.astype(np.int64)
        numbers.append(start + places[:-1])
        start += int(places[-1])
    return np.concatenate(numbers)


class Cuts:
    """What is known of the nodes of a tree with all cuts: above its groups from the tree, below from the workers that
    cut them."""

    def __init__(self, tree: Tree, group: NDArray[np.int32], grown: Sequence[Grown]) -> None:
        self.tree, self.grown = tree, grown
        branches = [some.branch for some in grown]
        nodes, records, listed = (
            np.cumsum([0, *lengths])[:-1]
            for lengths in zip(*((len(b.parent), int(b.last.max()), len(b.listed)) for b in branches), strict=True)
        )
        moved = [
            replace(
                b, parent=np.where(b.parent < 0, -1, b.parent + nodes[at]).astype(np.int32),
                first=b.first + records[at], last=b.last + records[at], listed_start=b.listed_start + listed[at],
            )
            for at, b in enumerate(branches)
        ]  # fmt: skip
        self.below = Branch(*(np.concatenate([getattr(b, f.name) for b in moved]) for f in fields(Branch)))
        self.above = np.flatnonzero(group < 0)
        _, *self.places = places_of_pieces(tree, group, self.below.parent)

    def sums(self, branch: Branch) -> Sums:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        of_tree = (self.tree.sums, *self.tree.others)
        classes, *others = (
            self._merge(sums, [some.others[at] for some in self.grown]) for at, sums in enumerate(of_tree)
        )
        bits = bits_of(int(self.tree.n[0]))
        moments = self._merge(self.tree.moments, [moments_of_steps(some.steps, bits) for some in self.grown])
        return Sums(classes, moments, tuple(others), self._persons())

    def _persons(self) -> Persons | None:
        pieces = [some.persons for some in self.grown if some.persons is not None]
        if len(pieces) < len(self.grown):
            return None
        above = self.tree.persons
        n = self._merge(above.n[:, None], [some.n[:, None] for some in pieces])[:, 0].copy()
        others = zip(above.others, *(some.others for some in pieces), strict=True)
        sums = self._merge(above.sums, [some.sums for some in pieces])
        return Persons(n, sums, tuple(self._merge(of_tree, below) for of_tree, *below in others))

    def hulls(self, branch: Branch) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        low, high, levels, missing = (
            self._merge(getattr(self.tree, of_tree), [getattr(some, name).T for some in self.grown])
            for of_tree, name in zip(
                ("low", "high", "levels", "has_missing"), ("low", "high", "levels", "missing"), strict=True
            )
        )
        return low, high, levels, missing

    def _merge(self, of_tree: NDArray[Any], of_pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
        above, below = self.places
        whole = np.empty((len(above) + len(below), of_tree.shape[1]), of_tree.dtype)
        whole[above], whole[below] = of_tree[self.above], np.concatenate(of_pieces)
        return whole
