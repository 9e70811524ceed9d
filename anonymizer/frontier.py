"""The frontier: what every setting would risk and lose, before any of them is chosen.

For groupings that are cuts of one tree everything follows from hulls and sums, so every k is answered at once:
:func:`tree_frontier`. Other methods must look at records, or grow a tree of their own: :func:`record_frontier`, for a
few k and in the background.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.diversity import class_spread
from anonymizer.encode import EncodedTable
from anonymizer.errors import ParameterError
from anonymizer.generalize import generalize
from anonymizer.grouping import group, grow_by, recipe_of
from anonymizer.limits import Limits, margins
from anonymizer.linkage import look_alikes
from anonymizer.mondrian import MONDRIAN
from anonymizer.prune import CRITERIA, Pruning, collapse, offending
from anonymizer.records import descend
from anonymizer.refine import refine
from anonymizer.risk import NodeRisk, annotate
from anonymizer.schema import Schema
from anonymizer.tree import Tree
from anonymizer.utility import cut_error, cut_gcp, gcp, majorities, node_ncp

Floats = NDArray[np.float64]

EVERY_K = tuple(range(2, 201))
"""The k of :func:`tree_frontier`."""

FEW_KS = (5, 10, 20, 50)
"""The k of :func:`record_frontier`."""

THREADS = 2
"""Threads of :func:`tree_frontier`; pruning leaves the interpreter's lock alone."""


@dataclass(frozen=True)
class Policy:
    """A threshold on the highest prosecutor risk (0 to 1), in words, and where it comes from."""

    risk: float
    title: str
    source: str

    @property
    def k(self) -> int:
        """The smallest group that keeps it, in records."""
        return k_for(self.risk)


POLICIES: tuple[Policy, ...] = (
    Policy(
        0.2,
        "0.2: groups of 5",
        "The cell size of five of many statistical offices and health data custodians, for recipients bound by a "
        "contract (El Emam, Guide to the De-Identification of Personal Health Information, 2013).",
    ),
    Policy(
        0.1,
        "0.1: groups of 10",
        "One chance in ten: a common choice between a contract and publication (El Emam and Arbuckle, Anonymizing "
        "Health Data, 2013).",
    ),
    Policy(
        0.09,
        "0.09: groups of 12",
        "The European Medicines Agency (Policy 0070) and Health Canada (Public Release of Clinical Information) for "
        "publication. It stands for cells of at least 11, as the US Centers for Medicare & Medicaid Services ask; but "
        "1/11 is .0909, so taken literally 0.09 means groups of 12.",
    ),
    Policy(
        0.05,
        "0.05: groups of 20",
        "One chance in twenty: for publication of data that could hurt people most (El Emam, 2013).",
    ),
)
"""Thresholds that data stewards are asked to keep, from lenient to strict."""


def k_for(risk: float) -> int:
    """The smallest k whose groups keep the highest prosecutor risk, 1/k, at or below ``risk`` (0 to 1).

    Raises :class:`ParameterError` unless 0 < risk <= 1.
    """
    if not 0 < risk <= 1:
        raise ParameterError(
            f"A risk of {risk!r} cannot be kept.", value=risk, remedy="Choose a number above 0, at most 1."
        )
    return math.ceil(1 / risk - 1e-9)


@dataclass(frozen=True)
class Point:
    """What one setting risks and loses.

    ``grouping``, ``generalizer``, ``k``: as :func:`anonymizer.pipeline.anonymize` takes them; ``criterion`` and
    ``weight`` where the setting grows a tree of its own, ``None``: as the tree at hand was grown.

    ``groups``: classes of records that share their cells, ``smallest`` in records; ``risk``: highest prosecutor risk, 1
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

    @property
    def method(self) -> str:
        """The setting without its k, in words."""
        name = self.grouping if self.weight is None else f"blend {self.weight:g}"
        return name if self.generalizer == "uniform" else f"{name}, {self.generalizer}"

    @property
    def parameters(self) -> dict[str, Any]:
        """What :func:`anonymizer.pipeline.anonymize` has to be told to make it; without what is as it was."""
        chosen = {"grouping": self.grouping, "generalizer": self.generalizer, "k": self.k}
        own = {"criterion": self.criterion, "weight": self.weight}
        return chosen | {name: value for name, value in own.items() if value is not None}


def cut_groupings(risk: NodeRisk) -> tuple[str, ...]:
    """The groupings that are cuts of any grown tree and fit its sensitive columns."""
    return tuple(name for name in CRITERIA if name != "error-digression" or risk.numeric is not None)


def tree_frontier(
    tree: Tree,
    risk: NodeRisk,
    encoded: EncodedTable,
    ks: Iterable[int] = EVERY_K,
    groupings: Sequence[str] | None = None,
    *,
    limits: Limits | None = None,
    losses: Floats | None = None,
) -> tuple[Point, ...]:
    """Uniform generalization in the cuts of one tree, for every grouping and k that can be satisfied; by grouping, then
    k as given. No record is looked at.

    ``groupings``: keys of :data:`anonymizer.prune.CRITERIA`, all that fit by default. ``limits``: the others than k
    hold at every k. ``losses`` (m, p): :func:`anonymizer.utility.node_ncp`, computed when not given.

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
    asked = limits or Limits()
    fails = ~np.logical_and.reduce([margin.passes for margin in margins(tree, risk, encoded, replace(asked, k=1))])
    offends = offending(tree, risk, asked)
    scores = _Scores.of(tree, risk, encoded, node_ncp(tree, encoded.encodings) if losses is None else losses)

    def point(setting: tuple[str, int]) -> Point | None:
        grouping, k = setting
        pruning = collapse(tree, risk, grouping, k, fails | (tree.n < k), offends)
        return scores.point(pruning.cut(), grouping, "uniform", k) if pruning.satisfied else None

    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(point, [(grouping, k) for grouping in groupings for k in ks])
    return tuple(made for made in found if made is not None)


class Method(NamedTuple):
    """A way to make a release that must look at records: see :class:`Point` for the names."""

    grouping: str
    generalizer: str = "uniform"
    weight: float | None = None


METHODS = (
    Method("least", "refine"),
    Method("error-risk", "refine"),
    Method("least", "tiered"),
    Method("least", "tiered-strict"),
    Method("median-mondrian"),
    Method("infogain-mondrian"),
    Method("regression-mondrian"),
    *(Method("least", "uniform", weight) for weight in (0.0, 0.9)),
)
"""What :func:`record_frontier` tries. A weight: a blended tree of its own, with at least k records a leaf."""


def fitting_methods(encoded: EncodedTable) -> tuple[Method, ...]:
    """Those of :data:`METHODS` that fit the target."""
    unfit = {"infogain-mondrian"} if encoded.by_numbers else {"regression-mondrian"}
    if not encoded.target.name:
        unfit = {"infogain-mondrian", "regression-mondrian"}
    return tuple(method for method in METHODS if method.grouping not in unfit)


def record_frontier(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    tree: Tree,
    risk: NodeRisk,
    ks: Sequence[int] = FEW_KS,
    methods: Sequence[Method] | None = None,
    *,
    limits: Limits | None = None,
    progress: Callable[[float, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Point, ...]:
    """Methods that look at records, at a few k: by method, then k; settings that cannot be satisfied are left out.

    ``tree`` and its ``risk``: the grown tree that prunings and tiers use. ``methods``: :func:`fitting_methods` by
    default. ``limits``: the others than k hold at every k. ``progress``: called with a share from 0 to 1 and what is
    being done; ``cancelled``: asked before each setting; when it says so, what was found until then is returned.

    Figures of tiered releases are read from the released cells, all others from nodes.
    """
    methods = fitting_methods(encoded) if methods is None else tuple(methods)
    asked = limits or Limits()
    leaf = descend(tree, encoded)
    found: list[Point] = []
    settings = [(method, k) for method in methods for k in ks if k <= encoded.n_records]
    for number, (method, k) in enumerate(settings):
        if cancelled is not None and cancelled():
            break
        if progress is not None:
            progress(number / len(settings), f"{', '.join(method[:2])}, k = {k:,}")
        wanted = replace(asked, k=k)
        pruning = _pruning_of(method, tree, risk, encoded, wanted)
        if not pruning.satisfied:
            continue
        if method.generalizer in ("tiered", "tiered-strict"):
            found.append(_released_point(table, schema, encoded, pruning, method, k, leaf))
            continue
        if method.generalizer == "refine":
            pruning = refine(pruning, encoded, wanted, leaf=leaf)
        criterion = None if method.weight is None else "blend"
        whole = pruning.tree
        scores = _Scores.of(whole, annotate(whole, encoded), encoded, node_ncp(whole, encoded.encodings))
        made = scores.point(pruning.cut(), method.grouping, method.generalizer, k)
        found.append(replace(made, criterion=criterion, weight=method.weight))
    return tuple(found)


def _pruning_of(method: Method, tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Pruning:
    """The groups of a method before they are generalized."""
    if method.weight is not None or method.grouping in MONDRIAN:
        criterion, weight = (None, 0.5) if method.weight is None else ("blend", method.weight)
        tree = grow_by(recipe_of(method.grouping, limits.k, criterion=criterion, weight=weight), encoded)
        risk = annotate(tree, encoded)
    return group(tree, risk, encoded, method.grouping, limits)


@dataclass(frozen=True, eq=False)
class _Scores:
    """What a cut of a tree risks and loses: the figures of its nodes, (m,), and the NCP of each column (m, p)."""

    tree: Tree
    tidi: Floats
    rsd: Floats | None
    sse: Floats | None
    losses: Floats
    by_class: bool

    @classmethod
    def of(cls, tree: Tree, risk: NodeRisk, encoded: EncodedTable, losses: Floats) -> "_Scores":
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
        smallest = int(self.tree.n[cut].min())
        whole = 0.0 if self.sse is None else float(self.sse[0])
        return Point(
            grouping=grouping,
            generalizer=generalizer,
            k=k,
            groups=len(cut),
            smallest=smallest,
            risk=1 / smallest,
            tidi=float(self.tidi[cut].min()),
            rsd=None if self.rsd is None else float(self.rsd[cut].min()),
            posterior=float((self.tree.sums[cut].max(axis=1) / self.tree.n[cut]).max()) if self.by_class else None,
            gcp=cut_gcp(self.tree, self.losses, cut),
            error=cut_error(self.tree, cut) if self.by_class else None,
            unexplained=float(self.sse[cut].sum()) / whole if self.sse is not None and whole > 0 else None,
        )


def _released_point(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    pruning: Pruning,
    method: Method,
    k: int,
    leaf: NDArray[np.int32],
) -> Point:
    """The point of a release that is made and measured cell by cell."""
    release = generalize(table, schema, encoded, pruning, method.generalizer, k, leaf=leaf)
    frame, target = release.frame(), encoded.target.name
    classes = look_alikes(frame, list(schema.quasi_identifying))
    class_of, sizes = classes.class_of, classes.sizes
    spreads = [class_spread(frame[name], schema[name], class_of, sizes) for name in schema.sensitive]
    rsd = [float(spread.rsd.min()) for spread in spreads if spread is not None]
    most = majorities(frame, target, classes) if target else None
    return Point(
        grouping=method.grouping,
        generalizer=method.generalizer,
        k=k,
        groups=len(sizes),
        smallest=int(sizes.min()),
        risk=1 / int(sizes.min()),
        tidi=None,
        rsd=min(rsd) if rsd else None,
        posterior=None if most is None else float((most / sizes).max()),
        gcp=gcp(release, encoded.encodings),
        error=None if most is None else float(1 - most.sum() / len(frame)),
        unexplained=_unexplained(encoded, class_of, release.order),
    )


def _unexplained(encoded: EncodedTable, class_of: NDArray[np.int64], order: NDArray[np.int64]) -> float | None:
    """Squared error of the numeric sensitive columns around the means of classes, over that around the file's."""
    if encoded.numeric is None:
        return None
    values = encoded.numeric.values[order]
    count = np.bincount(class_of)
    own = whole = 0.0
    for column in values.T:
        apart = column - (np.bincount(class_of, column) / count)[class_of]
        own, whole = own + float(apart @ apart), whole + float(((column - column.mean()) ** 2).sum())
    return own / whole if whole > 0 else None


def best_points(points: Sequence[Point], loss: str = "gcp", risk: str = "risk") -> tuple[Point, ...]:
    """The points that no other beats: none is at most as risky and loses less, or the reverse; by rising loss.

    ``loss``: "gcp", "error" or "unexplained"; ``risk``: "risk" or "posterior" (less is better), "tidi" or "rsd" (more
    is better). Points without one of the figures are left out. Of equal ones the first stays.
    """
    sign = -1.0 if risk in ("tidi", "rsd") else 1.0
    known = [point for point in points if getattr(point, loss) is not None and getattr(point, risk) is not None]
    kept: list[Point] = []
    least = math.inf
    for point in sorted(known, key=lambda point: (getattr(point, loss), sign * getattr(point, risk))):
        if sign * getattr(point, risk) < least:
            kept.append(point)
            least = sign * getattr(point, risk)
    return tuple(kept)
