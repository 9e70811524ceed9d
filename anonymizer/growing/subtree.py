"""Pieces of a tree, wherever they grew: each brings what its records add up to, its hulls, and which levels its columns
have, so what stands above them is arithmetic.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.target import ClassTarget, steps_of_nodes
from anonymizer.growing.threads import in_threads
from anonymizer.growing.tree import Persons


class Node(NamedTuple):
    """A node that is being grown: its depth, number of records, sum, and which columns still vary in it."""

    key: int
    depth: int
    n: int
    sums: NDArray[Any]
    active: NDArray[np.uint8]


class Split(NamedTuple):
    """How a node is divided: ordered columns by the two codes beside the cut, others by the codes that go left.

    ``code_left`` = -1 for a categorical split, whose ``side`` (b,) is 1 for the codes that go left, 0 for those that
    go right and 2 for those that are not in the node.
    """

    feature: int
    code_left: int
    code_right: int
    side: NDArray[np.uint8]


class Division(NamedTuple):
    """A node that is sent down a split, and the children that it becomes."""

    node: Node
    split: Split
    left: Node
    right: Node


Divisions = Mapping[int, Division]
"""By the key of a node that was divided from its histograms: how. A child's key is above its parent's."""


@dataclass(frozen=True, eq=False)
class Branch:
    """The splits of m nodes in preorder; ``parent`` is local, -1 at a root.

    ``first``, ``last`` (m,): where each node's records lie among those that it grew with, leaf after leaf; ``sums``
    (m, s): what guided the growing.
    """

    parent: NDArray[np.int32]
    feature: NDArray[np.int32]
    code_left: NDArray[np.int32]
    code_right: NDArray[np.int32]
    listed_start: NDArray[np.int64]
    listed: NDArray[np.uint16]
    listed_left: NDArray[np.uint8]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    sums: NDArray[Any]

    @classmethod
    def of_leaf(cls, first: int, last: int, sums: NDArray[Any]) -> "Branch":
        """Return the branch of one node that is not divided."""
        parent, feature, code_left, code_right = np.full((4, 1), -1, np.int32)
        start, listed, listed_left = np.zeros(1, np.int64), np.empty(0, np.uint16), np.zeros(1, np.uint8)
        run, sums = np.array([[first], [last]]), np.array(sums)[None]
        return cls(parent, feature, code_left, code_right, start, listed, listed_left, run[0], run[1], sums)


class Hulls(NamedTuple):
    """The smallest boxes that hold the records of m nodes, (m, p) each: see :class:`anonymizer.growing.tree.Tree`."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    levels: NDArray[np.int32]
    missing: NDArray[np.bool_]

    def at(self, nodes: NDArray[np.int64]) -> "Hulls":
        """Return the hulls of some of the nodes."""
        return Hulls(self.low[nodes], self.high[nodes], self.levels[nodes], self.missing[nodes])


@dataclass(frozen=True, eq=False)
class Subtree:
    """A piece of tree, and what is known of its m nodes without its records.

    ``counts``: (m, c) of the target, then of each further categorical sensitive column; ``steps`` (m, ·): sums of
    numbers before any is rounded, see :func:`anonymizer.growing.target.steps_of_nodes`; ``hulls``; ``sets``: of each
    column that is counted by level the codes of all its records, as bits, and of any other column nothing.

    ``number`` (m,): of each node in the tree before anything was cut off, which had ``whole`` nodes. ``persons``:
    different ones do not add up, so they are counted apart, where that is asked.
    """

    branch: Branch
    counts: tuple[NDArray[np.int64], ...]
    steps: NDArray[np.int64]
    hulls: Hulls
    sets: tuple[NDArray[np.uint64], ...]
    number: NDArray[np.int64]
    whole: int
    persons: Persons | None = None

    @property
    def n(self) -> NDArray[np.int64]:
        """Records of each node, (m,)."""
        return self.branch.last - self.branch.first


def subtree_of(
    branch: Branch,
    rows: Sequence[NDArray[Any]],
    stride: int,
    encodings: Sequence[Encoding],
    counts: Sequence[NDArray[np.int64]],
    values: NDArray[np.float64],
    bits: int,
) -> Subtree:
    """Return a branch with what is known of its nodes.

    ``rows`` (p,): of each column code · ``stride`` of the records that it grew with, in its order; ``counts``: of all
    its nodes; ``values`` (n, r): the numbers of its own records, in its order, as whole steps of 2^-``bits``.
    """
    hulls, sets = hulls_of(branch, rows, stride, encodings)
    start, m = branch.first[:1], len(branch.parent)
    ends = branch.first - start, branch.last - start
    steps = steps_of_nodes(values, None, *ends, sizes_and_depths(branch.parent)[0], bits)
    return Subtree(branch, tuple(counts), steps, hulls, sets, np.arange(m), m)


def hulls_of(
    branch: Branch, rows: Sequence[NDArray[Any]], stride: int, encodings: Sequence[Encoding]
) -> tuple[Hulls, tuple[NDArray[np.uint64], ...]]:
    """Return the hulls of the nodes of a branch, and which levels its records have: see :func:`subtree_of`."""
    from anonymizer import kernels

    m, p = len(branch.parent), len(encodings)
    low, high, levels = (np.zeros((p, m), dtype=np.int32) for _ in range(3))
    missing = np.zeros((p, m), dtype=np.bool_)

    def column(j: int) -> NDArray[np.uint64]:
        encoding = encodings[j]
        bits: NDArray[np.uint64] = kernels.column_hull(
            rows[j], stride, branch.first, branch.last, branch.feature,
            encoding.n_codes - 1 if encoding.missing else -1, not encoding.is_interval, encoding.n_codes,
            low[j], high[j], levels[j], missing[j],
        )  # fmt: skip
        return bits

    sets = tuple(in_threads(column, range(p), int(branch.last[0] - branch.first[0])))
    return Hulls(low.T, high.T, levels.T, missing.T), sets


def shortened(branch: Branch, ends: NDArray[np.int64]) -> tuple[Branch, NDArray[np.int64]]:
    """Return a branch without what is below some of its nodes, and the number that each node had there. ``ends``: the
    nodes, which may be below each other."""
    m = len(branch.parent)
    size, _ = sizes_and_depths(branch.parent)
    below = np.zeros(m + 1, np.int64)
    np.add.at(below, ends + 1, 1)
    np.add.at(below, ends + size[ends], -1)
    stays = np.flatnonzero(np.cumsum(below)[:m] == 0)
    place = np.full(m, -1, np.int32)
    place[stays] = np.arange(len(stays))
    is_end = np.zeros(m, np.bool_)
    is_end[ends] = True
    lengths = np.diff(np.append(branch.listed_start, len(branch.listed)))
    listed = np.repeat(~is_end & (place >= 0), lengths)
    lengths[is_end | (place < 0)] = 0
    columns = {name: getattr(branch, name) for name in ("feature", "code_left", "code_right", "listed_left")}
    return replace(
        branch,
        parent=np.where(branch.parent[stays] < 0, -1, place[branch.parent[stays]]).astype(np.int32),
        listed_start=(np.cumsum(lengths) - lengths)[stays].astype(np.int64),
        listed=branch.listed[listed],
        first=branch.first[stays],
        last=branch.last[stays],
        sums=branch.sums[stays],
        **{
            name: np.where(is_end, 0 if name == "listed_left" else -1, values)[stays].astype(values.dtype)
            for name, values in columns.items()
        },
    ), stays


def count_of(branch: Branch, order: NDArray[np.uint32], target: ClassTarget) -> NDArray[np.int64]:
    """Return how many records of each class every node has, (m, c). ``order``: the records as they lie in the branch,
    whose classes the target has."""
    from anonymizer import kernels

    counts = np.zeros((len(branch.parent), target.n_classes), dtype=np.int64)
    kernels.count_classes(branch.parent, branch.feature, branch.first, branch.last, order, target.codes, counts)
    return counts


def join_subtrees(root: Node, divisions: Divisions, subtrees: Mapping[int, Subtree]) -> Subtree:
    """Return the divided nodes and the grown pieces of all others, by their keys, as one, in preorder."""
    pieces = dict(subtrees)
    for key in sorted(divisions, reverse=True):  # children before their parents
        division = divisions[key]
        pieces[key] = parent_of(division, pieces[division.left.key], pieces[division.right.key])
    places = list(preorder(root, divisions))
    ordered = [pieces[node.key] for node, _ in places]
    row = side_by_side(ordered)
    starts = np.cumsum([0, *(len(piece.n) for piece in ordered)])
    row.branch.parent[starts[1:-1]] = [starts[above] for _, above in places[1:]]
    return replace(row, sets=ordered[0].sets)


def side_by_side(pieces: Sequence[Subtree]) -> Subtree:
    """Return pieces of tree, and their records, one after the other, with all their roots; without their sets."""
    parts = [piece.branch for piece in pieces]
    nodes, listed, records, whole = (
        np.cumsum([0, *sizes])[:-1]
        for sizes in (
            [len(part.parent) for part in parts],
            [len(part.listed) for part in parts],
            [int(piece.n[piece.branch.feature < 0].sum()) for piece in pieces],
            [piece.whole for piece in pieces],
        )
    )
    moved = []
    for at, part in enumerate(parts):
        parent = np.where(part.parent < 0, -1, part.parent + nodes[at]).astype(np.int32)
        shift, start = records[at] - part.first[0], part.listed_start + listed[at]
        moved.append(replace(part, parent=parent, listed_start=start, first=part.first + shift, last=part.last + shift))
    persons = [piece.persons for piece in pieces if piece.persons is not None]
    return Subtree(
        Branch(*(np.concatenate([getattr(part, field.name) for part in moved]) for field in fields(Branch))),
        tuple(map(np.concatenate, zip(*(piece.counts for piece in pieces), strict=True))),
        np.concatenate([piece.steps for piece in pieces]),
        Hulls(*map(np.concatenate, zip(*(piece.hulls for piece in pieces), strict=True))),
        (),
        np.concatenate([piece.number + start for piece, start in zip(pieces, whole, strict=True)]),
        sum(piece.whole for piece in pieces),
        Persons(
            np.concatenate([some.n for some in persons]),
            np.concatenate([some.sums for some in persons]),
            tuple(map(np.concatenate, zip(*(some.others for some in persons), strict=True))),
            np.concatenate([some.most for some in persons if some.most is not None]),
        )
        if len(persons) == len(pieces)
        else None,
    )


def parent_of(division: Division, left: Subtree, right: Subtree) -> Subtree:
    """Return a divided node alone, from what is known of its children."""
    node, split, *children = division
    smaller_left = children[0].n < children[1].n
    listed = np.flatnonzero(split.side == smaller_left) if split.code_left < 0 else np.empty(0)
    branch = Branch(
        parent=np.full(1, -1, dtype=np.int32),
        feature=np.array([split.feature], dtype=np.int32),
        code_left=np.array([split.code_left], dtype=np.int32),
        code_right=np.array([split.code_right], dtype=np.int32),
        listed_start=np.zeros(1, dtype=np.int64),
        listed=listed.astype(np.uint16),
        listed_left=np.array([smaller_left and split.code_left < 0], dtype=np.uint8),
        first=np.zeros(1, dtype=np.int64),
        last=np.array([node.n], dtype=np.int64),
        sums=node.sums[None, :],
    )
    a, b = left.hulls, right.hulls
    sets = tuple(one | other for one, other in zip(left.sets, right.sets, strict=True))
    hulls = Hulls(
        np.minimum(a.low[:1], b.low[:1]),
        np.maximum(a.high[:1], b.high[:1]),
        np.array([[np.bitwise_count(bits).sum() for bits in sets]], dtype=np.int32),
        a.missing[:1] | b.missing[:1],
    )
    counts = tuple(one[:1] + other[:1] for one, other in zip(left.counts, right.counts, strict=True))
    return Subtree(branch, counts, left.steps[:1] + right.steps[:1], hulls, sets, np.zeros(1, np.int64), 1)


def preorder(root: Node, divisions: Divisions) -> Iterator[tuple[Node, int]]:
    """Yield every node, the left child before the right one, and the place of its parent among them, -1 of the root."""
    stack, place = [(root, -1)], 0
    while stack:
        node, above = stack.pop()
        yield node, above
        if node.key in divisions:
            division = divisions[node.key]
            stack += [(division.right, place), (division.left, place)]
        place += 1


def persons_of_nodes(encoded: EncodedTable, branch: Branch, order: NDArray[np.uint32]) -> Persons | None:
    """Return the different persons of every node of a branch; ``None`` when every record is a person. ``order`` (n,):
    the records as they lie in the branch."""
    from anonymizer import kernels

    if encoded.person is None:
        return None
    size, _ = sizes_and_depths(branch.parent)
    runs = (branch.parent, size, branch.feature, branch.first, branch.last, order)

    def count(column: tuple[NDArray[np.int32], NDArray[Any], int]) -> NDArray[np.int64]:
        ids, classes, n_classes = column
        counts = np.zeros((len(branch.parent), n_classes), dtype=np.int64)
        latest = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int32)
        kernels.count_distinct(*runs, ids, classes, latest, counts)
        return counts

    of_values = zip(encoded.person_values, (encoded.target, *encoded.others), strict=True)
    columns = [(encoded.person, np.zeros(encoded.n_records, np.uint8), 1)]
    columns += [(ids, target.codes, target.n_classes) for ids, target in of_values]
    n, sums, *others = in_threads(count, columns, len(order))
    most, rows = np.zeros(len(size), np.int64), np.zeros(int(encoded.person.max(initial=-1)) + 1, np.int64)
    kernels.most_of_one(*runs, encoded.person, rows, most)
    return Persons(n[:, 0].copy(), sums, tuple(others), most)


def sizes_and_depths(parent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes below each node, itself included, and its depth. ``parent`` (m,): in preorder, -1 at a root, of
    which there may be several."""
    from anonymizer import kernels

    size, depth = np.ones(len(parent), dtype=np.int32), np.zeros(len(parent), dtype=np.int32)
    kernels.sizes_and_depths(parent, size, depth)
    return size, depth
