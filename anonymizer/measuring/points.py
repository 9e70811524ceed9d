"""What every k would risk and lose, in the cuts of one tree: from hulls and sums alone, so all are answered at once."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import CRITERIA, collapse, offenders
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.target import class_shares
from anonymizer.growing.tree import Tree
from anonymizer.measuring.utility import cut_error, cut_gcp
from anonymizer.settings import Limits, method_text

Floats = NDArray[np.float64]

EVERY_K = tuple(range(2, 201))
"""The k of :func:`tree_points`."""

THREADS = 2
"""Threads of :func:`tree_points`; pruning leaves the interpreter's lock alone."""


@dataclass(frozen=True)
class Point:
    """What one setting risks and loses.

    ``grouping``, ``generalizer``, ``k``: as :func:`anonymizer.pipeline.anonymize` takes them; ``criterion`` and
    ``weight``: what guided the tree, ``None``: as the tree at hand was grown; ``made``: the
    generalizer that ran, where that is known.

    ``groups``: classes of records that share their cells, ``smallest`` in persons; ``risk``: highest prosecutor risk, 1
    / smallest, 0 to 1 (an upper bound for cuts of a tree: two groups may get the same cells, and then hide each
    other's records). ``tidi``: the least of a group, bits, Y19 (5), ``None`` where groups are no nodes of a tree;
    ``rsd``: the least of a group in any numeric sensitive column, L09 (10), 0 to 1; ``posterior``: the highest share
    of one value of a categorical target in a group, 0 to 1: how sure of it who finds a person's group can be, P(x|q)
    of Z10.

    Loss: ``gcp``, Y19 (12), 0 to 1. ``error``: share of records outside the majority class of their group, Y19 (8), of
    a categorical target; ``unexplained``: of numeric ones, the squared error around the means of the groups as a share
    of that around the file's, Σ e(t) / e(root), L09. Both are counted on the records themselves, so finer groups look
    better than they would predict. ``None`` where there is no such column.
    """

    grouping: str
    generalizer: str
    k: int
    groups: int
    smallest: int
    risk: float
    tidi: float | None
    rsd: float | None
    posterior: float | None
    gcp: float
    error: float | None
    unexplained: float | None
    criterion: str | None = None
    weight: float | None = None
    made: str = ""

    @property
    def method(self) -> str:
        """The setting without its k, in words: what ran, where that is not what was asked for."""
        return method_text(self.grouping, self.made or self.generalizer, self.weight)

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings that :func:`anonymizer.pipeline.anonymize` has to be told to make it; without what is as it
        was."""
        settings = {"grouping": self.grouping, "generalizer": self.generalizer, "k": self.k}
        own = {"criterion": self.criterion, "weight": self.weight}
        return settings | {name: value for name, value in own.items() if value is not None}


def cut_groupings(risk: NodeRisk) -> tuple[str, ...]:
    """Return the groupings that are cuts of any grown tree and fit its sensitive columns; regions are none, as they are
    there for groups to be packed in."""
    unfit = ("regions",) if risk.numeric is not None else ("regions", "error-digression")
    return tuple(name for name in CRITERIA if name not in unfit)


def tree_points(
    tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits, losses: Callable[[int], Floats],
    ks: Iterable[int] = EVERY_K, groupings: Sequence[str] | None = None, criterion: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Point, ...]:  # fmt: skip
    """Return uniform generalization in the cuts of a tree, for every grouping and k that can be satisfied; by grouping,
    then k as given. No record is looked at, and ``limits`` beside k hold at every k. ``tree``: with the people of its
    nodes; ``losses``: of a k, the NCP of each column (m, p); ``progress`` is called from several threads.

    ``groupings``: keys of :data:`anonymizer.groups.prune.CRITERIA`, all that fit by default. ``criterion``: what guided
    the tree, where that is to be said with each.

    Raises :class:`ParameterError` for an unknown grouping, one that does not fit, or k below 1.
    """
    groupings = cut_groupings(risk) if groupings is None else tuple(groupings)
    fitting = cut_groupings(risk)
    for grouping in groupings:
        if grouping not in fitting:
            raise ParameterError(
                f"{grouping!r} is no cut of this tree.", value=grouping, remedy=f"Choose among {', '.join(fitting)}."
            )
    ks = tuple(ks)
    if any(k < 1 for k in ks):
        raise ParameterError("k must be at least 1.", remedy="Choose how many must look alike.")
    fails = ~np.logical_and.reduce([margin.passes for margin in margins(tree, risk, encoded, limits)])
    offends = offenders(tree, risk, limits)

    settings = [(grouping, k) for grouping in groupings for k in ks]

    def point(number: int) -> Point | None:
        grouping, k = settings[number]
        progress(number / len(settings), f"Making groups of {k:,}")
        pruning = collapse(tree, risk, grouping, k, fails | (tree.persons.n < k), offends)
        if not pruning.satisfied:
            return None
        one = Scores.of(tree, risk, encoded, losses(k)).point(pruning.cut(), grouping, "uniform", k)
        return replace(one, criterion=criterion)

    with ThreadPoolExecutor(THREADS) as pool:
        points = list(pool.map(point, range(len(settings))))
    return tuple(one for one in points if one is not None)


@dataclass(frozen=True, eq=False)
class Scores:
    """What a cut of a tree risks and loses: the figures of its nodes, (m,), and the NCP of each column (m, p)."""

    tree: Tree
    tidi: Floats
    rsd: Floats | None
    sse: Floats | None
    losses: Floats
    by_class: bool

    @classmethod
    def of(cls, tree: Tree, risk: NodeRisk, encoded: EncodedTable, losses: Floats) -> "Scores":
        """Return them of a tree whose losses are there."""
        numeric = risk.numeric
        return cls(
            tree,
            risk.tidi,
            None if numeric is None else numeric.rsd.min(axis=1),
            None if numeric is None else numeric.sse,
            losses,
            bool(encoded.target.name),
        )

    def point(self, cut: NDArray[np.int32], grouping: str, generalizer: str, k: int) -> Point:
        """Return the point of a cut."""
        smallest, shares = int(self.tree.persons.n[cut].min()), class_shares(self.tree.persons.sums[cut])
        whole = 0.0 if self.sse is None else float(self.sse[0])
        return Point(
            grouping=grouping,
            generalizer=generalizer,
            k=k,
            groups=len(cut),
            smallest=smallest,
            risk=1 / max(1, smallest),
            tidi=float(self.tidi[cut].min()),
            rsd=None if self.rsd is None else float(self.rsd[cut].min()),
            posterior=float(shares.max()) if self.by_class else None,
            gcp=cut_gcp(self.tree, self.losses, cut),
            error=cut_error(self.tree, cut) if self.by_class else None,
            unexplained=float(self.sse[cut].sum()) / whole if self.sse is not None and whole > 0 else None,
        )
