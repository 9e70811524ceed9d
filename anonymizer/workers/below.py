"""A tree with cuts below its groups, which workers have made."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.refine import places_of_pieces
from anonymizer.growing.records import Branch, Sums
from anonymizer.growing.target import bits_of, moments_of_steps
from anonymizer.growing.tree import Persons, Tree
from anonymizer.workers.shares import Grown


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
