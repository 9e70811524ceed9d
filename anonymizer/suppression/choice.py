"""Who is left out: at most a share of the records, those whose boxes the others pay most for.

The tree, its cut and the parts are there; records are left out of parts in some rounds, and parts are made again after
each. A round stays only when all in all less is lost. Quasi-identifiers alone decide which records of a group go, so
that being left out says no more of a sensitive value than the groups do, which are guided by them; as in pruning,
limits on sensitive values decide about groups: one that would break a limit leaves nobody out.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.groups.hulls import scale_of
from anonymizer.groups.limits import as_k, margins
from anonymizer.groups.refine import with_cuts
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import EncodedTable, rows_of
from anonymizer.growing.people import with_people
from anonymizer.growing.tree import Tree
from anonymizer.releasing.generalize import LEAVES_OUT, PrunedTree, divide, in_sequence
from anonymizer.settings import Limits, name_of
from anonymizer.suppression.gains import Gains, gains_of

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDS = 8
"""A round leaves out about one in so many of all that may be."""
MOST_ROUNDS = 40
SMALLER = 4
"""A round that saved nothing is tried again with one in so many of its records."""
TRIES = 3
"""Rounds in a row that save nothing before it is enough."""
SCORED_BY = {"polish": "pack"}
"""What makes the parts of the rounds in place of a generalizer that takes long."""


def allowed(records: int, share: float) -> int:
    """Return how many of so many records may be left out."""
    return math.floor(share * records + 1e-9)


def require_possible(encoded: EncodedTable, method: str) -> None:
    """Raise :class:`ParameterError` where no record can be left out: of a generalizer that is not one of
    :data:`anonymizer.releasing.generalize.LEAVES_OUT`, and where records are not persons."""
    if method not in LEAVES_OUT:
        raise ParameterError(
            f"{name_of('generalizer', method)} leaves no row out.",
            value=method,
            remedy=f"Choose one of: {', '.join(LEAVES_OUT)}; or a suppression of 0.",
        )
    if encoded.person is not None:
        raise ParameterError("Rows are only left out where every row is a person.", remedy="Choose a suppression of 0.")


def staying_rows(
    encoded: EncodedTable,
    pruning: PrunedTree,
    method: str,
    k: int,
    share: float,
    weight: float = 1.0,
    *,
    leaf: NDArray[np.int32],
    limits: Limits | None = None,
    rng: np.random.Generator | None = None,
    memory: dict[str, Any] | None = None,
    progress: Progress = no_progress,
    sequence: Numbers | None = None,
) -> Numbers:
    """Return the records that stay (n',), ascending: all but at most a ``share`` of the n.

    ``weight``: what a record that is left out counts, as a share of all of its detail; never less than what a record
    loses on average before, so that the others always lose less on average. Every group of the tree keeps ``limits``,
    k among them. ``leaf`` (n,), ``memory``, ``rng``, ``progress``, ``sequence``: see
    :func:`anonymizer.releasing.generalize.divide`. Raises what :func:`require_possible` raises.
    """
    n, most = encoded.n_records, allowed(encoded.n_records, share)
    if not share:
        return np.arange(n)
    require_possible(encoded, method)
    limits = as_k(limits or Limits(k=k), encoded)
    limits = limits.but(k=max(k, limits.k))
    group, memory = np.asarray(pruning.group_of_node()), {} if memory is None else memory
    if sequence is not None:
        encoded, leaf, memory = in_sequence(encoded, leaf, memory, sequence)
    scale = scale_of(encoded.encodings)
    regions = Regions(pruning.tree, group, leaf, encoded, limits)
    stays = best = np.ones(n, np.bool_)
    price, least, step, failures = weight, math.inf, max(1, -(-most // ROUNDS)), 0
    for turn in range(MOST_ROUNDS):
        progress(min(1.0, (n - int(best.sum())) / max(most, 1)), "Seeing which rows to leave out")
        rows = np.flatnonzero(stays)
        of: dict[str, Any] = {"limits": limits, "leaf": leaf, "rng": rng, "memory": memory}
        parts = divide(encoded, pruning, SCORED_BY.get(method, method), k, **of, rows=rows)
        gains = gains_of(encoded.codes.matrix(rows), scale, parts.part, parts.n_parts)
        if turn == 0:
            price = max(weight, gains.total / n)
        cost = gains.total + price * (n - len(rows))
        if cost < least - 1e-9:
            best, least, scores, failures = stays, cost, (rows, gains, parts.part), 0
        else:
            step, failures = step // SMALLER, failures + 1
        room = min(step, most - (n - int(best.sum())))
        if room <= 0 or failures == TRIES:
            break
        stays = leave_out(best, regions, encoded, *scores, price, room)
        if stays.sum() == best.sum():
            break
    return np.flatnonzero(best) if sequence is None else np.sort(sequence[best])


@dataclass(eq=False)
class Regions:
    """The groups of a tree from which records are left out. ``closed`` (m,): those that leave nobody out."""

    tree: Tree
    group: NDArray[np.int32]
    leaf: NDArray[np.int32]
    encoded: EncodedTable
    limits: Limits
    closed: Flags = field(init=False)

    def __post_init__(self) -> None:
        self.of_record = self.group[self.leaf]
        self.closed = np.zeros(self.tree.n_nodes, np.bool_)

    def room(self, stays: Flags) -> Numbers:
        """Return how many records each group can spare (m,)."""
        spare = np.bincount(self.of_record[stays], minlength=self.tree.n_nodes) - self.limits.k
        return np.asarray(np.where(self.closed, 0, spare))

    def with_limits(self, stays: Flags) -> Flags:
        """Return who stays when groups that fail a limit beside k leave nobody out, from now on: everybody, where that
        does not help."""
        limits = as_k(self.limits, self.encoded)
        if not limits.beside_k:
            return stays
        while not stays.all():
            failing = failing_groups(self.tree, self.group, self.leaf, self.encoded, limits, np.flatnonzero(stays))
            back = np.isin(self.of_record, failing) & ~stays
            if not len(failing):
                break
            self.closed[failing] = True
            stays = stays | back if back.any() else np.ones_like(stays)
        return stays


def failing_groups(
    tree: Tree, group: NDArray[np.int32], leaf: NDArray[np.int32], encoded: EncodedTable, limits: Limits, rows: Numbers
) -> Numbers:
    """Return the groups of a tree that fail a limit when they hold some of the records alone, ``rows`` (n',)."""
    some = rows_of(encoded, rows)
    thin = with_people(with_cuts(tree, group, leaf[rows], some, len(leaf) + 1), some)
    of_limits = [margin.passes for margin in margins(thin, annotate(thin, some), some, limits)]
    passes = np.logical_and.reduce(of_limits)[thin.is_leaf]
    return np.asarray(np.flatnonzero(group == np.arange(tree.n_nodes))[~passes])


def leave_out(
    stays: Flags, regions: Regions, encoded: EncodedTable, rows: Numbers, gains: Gains, part: Numbers, price: float,
    room: int,
) -> Flags:  # fmt: skip
    """Return who stays (n,) of those who stayed: without at most ``room`` more, who save the others of their parts more
    than the ``price`` of leaving one out, those first who save most.

    ``rows`` (n',): of the records that stayed, ``gains``, ``part`` (n',): of these alone. Who hold an end or a level
    together leave together.
    """
    spare, after = regions.room(stays), stays.copy()
    gain = gains.saved + gains.loss[part] - price
    in_part = np.argsort(part, kind="stable")
    start = np.searchsorted(part[in_part], np.arange(len(gains.size) + 1))
    wanting = np.flatnonzero(gain > 0)
    for place in wanting[np.argsort(-gain[wanting], kind="stable")].tolist():
        if room <= 0:
            break
        if not after[rows[place]]:
            continue
        leaving, column = rows[[place]], gains.column[place]
        if column >= 0:
            others = rows[in_part[start[part[place]] : start[part[place] + 1]]]
            own = encoded.codes.columns[column]
            alike = own[others] == own[rows[place]]
            leaving = others[alike & after[others]]
        node = regions.of_record[leaving[0]]
        if len(leaving) <= min(room, spare[node]):
            after[leaving] = False
            spare[node], room = spare[node] - len(leaving), room - len(leaving)
    return regions.with_limits(after)
