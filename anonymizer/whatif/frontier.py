"""The frontier: what every setting would risk and lose, before any of them is chosen.

For groupings that are cuts of one tree everything follows from hulls and sums, so every k is answered at once:
:func:`tree_frontier`. Other methods must look at records, or grow a tree of their own: :func:`record_frontier`, for a
few k and in the background.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.evidence import class_spread
from anonymizer.errors import Cancelled, ParameterError, Progress
from anonymizer.groups.limits import margins
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.prune import CRITERIA, collapse, offenders
from anonymizer.groups.refine import refine
from anonymizer.groups.risk import NodeRisk, annotate
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.people import with_people
from anonymizer.growing.target import class_shares
from anonymizer.growing.tree import Tree
from anonymizer.measuring.utility import cut_error, cut_gcp, gcp, majorities, node_ncp
from anonymizer.releasing.generalize import GENERALIZERS, INTERVALS, TAKES_LONG
from anonymizer.releasing.grid import grids_at, on_grids
from anonymizer.settings import method_text

if TYPE_CHECKING:
    from anonymizer.flow import Flow

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
    """Return the smallest k whose groups keep the highest prosecutor risk, 1/k, at or below ``risk`` (0 to 1).

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
    ``weight`` where the setting grows a tree of its own, ``None``: as the tree at hand was grown; ``made``: the
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
    """Return the groupings that are cuts of any grown tree and fit its sensitive columns."""
    return tuple(name for name in CRITERIA if name != "error-digression" or risk.numeric is not None)


def tree_frontier(
    flow: "Flow", ks: Iterable[int] = EVERY_K, groupings: Sequence[str] | None = None
) -> tuple[Point, ...]:
    """Return uniform generalization in the cuts of a flow's tree, for every grouping and k that can be satisfied; by
    grouping, then k as given. No record is looked at, and limits beside k hold at every k. The flow's progress is
    called from several threads.

    ``groupings``: keys of :data:`anonymizer.groups.prune.CRITERIA`, all that fit by default.

    Raises :class:`ParameterError` for an unknown grouping, one that does not fit, or k below 1.
    """
    tree, risk, encoded, limits = with_people(flow.tree, flow.reached), flow.risk, flow.reached, flow.limits_beside_k
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
        flow.progress(number / len(settings), f"Making groups of {k:,}")
        pruning = collapse(tree, risk, grouping, k, fails | (tree.persons.n < k), offends)
        if not pruning.satisfied:
            return None
        losses = flow.node_ncp
        if flow.settings.public_k is not None:
            losses = node_ncp(tree, on_grids(encoded, grids_at(flow.ladders, k)).encodings)
        return _Scores.of(tree, risk, encoded, losses).point(pruning.cut(), grouping, "uniform", k)

    with ThreadPoolExecutor(THREADS) as pool:
        points = list(pool.map(point, range(len(settings))))
    return tuple(one for one in points if one is not None)


class Method(NamedTuple):
    """A way to make a release that must look at records: see :class:`Point` for the names."""

    grouping: str
    generalizer: str = "uniform"
    weight: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that make it, beside k and the limits."""
        settings: dict[str, Any] = {"grouping": self.grouping, "generalizer": self.generalizer}
        if self.weight is not None:
            settings |= {"criterion": "blend", "weight": self.weight, "min_leaf": 1, "max_depth": None}
        return settings


BLENDS = (0.0, 0.9)
"""The weights of the target in blended trees that :func:`record_frontier` tries, with at least k records a leaf."""


def fitting_methods(encoded: EncodedTable) -> tuple[Method, ...]:
    """Return what :func:`record_frontier` tries where it fits the target: every generalizer but uniform, refined
    and packed groups of the papers, the baselines, and blended trees."""
    unfit = {"infogain-mondrian"} if encoded.by_numbers else {"regression-mondrian"}
    if not encoded.target.name:
        unfit = {"infogain-mondrian", "regression-mondrian"}
    left_out = {"uniform", *TAKES_LONG} | ({"pack-persons"} if encoded.person is None else set())
    papers = "error-digression" if encoded.by_numbers else "error-risk"
    return (
        *(Method("least", generalizer) for generalizer in GENERALIZERS if generalizer not in left_out),
        *(Method(papers, generalizer) for generalizer in ("refine", "pack")),
        *(Method(grouping) for grouping in MONDRIAN if grouping not in unfit),
        *(Method("least", "uniform", weight) for weight in BLENDS),
    )


def record_frontier(
    flow: "Flow",
    ks: Sequence[int] = FEW_KS,
    methods: Sequence[Method] | None = None,
    *,
    each: Callable[[Point], None] | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Point, ...]:
    """Return methods that look at records, at a few k: by method, then k; without settings that cannot be satisfied.

    Prunings and tiers use the flow's tree, and its limits beside k hold at every k. ``methods``:
    :func:`fitting_methods` by default. ``each``: called with a point as soon as it is there. ``progress``: called with
    a share from 0 to 1 and what is being done; ``cancelled``: asked before each setting; when it says so, the points
    that are there are returned.

    Figures of groups are read from nodes where all of them are nodes, of others from the released cells. No setting
    leaves a record out.
    """
    methods = fitting_methods(flow.encoded) if methods is None else tuple(methods)
    points: list[Point] = []
    numbers = flow.settings.numbers if flow.settings.numbers in INTERVALS else "range"
    tries = [(method, k) for method in methods for k in ks if k <= flow.encoded.n_records]
    for number, (method, k) in enumerate(tries):
        if cancelled is not None and cancelled():
            break
        if progress is not None:
            progress(number / len(tries), f"{method_text(*method)}, k = {k:,}")
        setting = flow.but(k=k, writing="sets", numbers=numbers, suppression=0.0, **method.settings)
        if setting.pruning.satisfied:
            points.append(_point(setting, method))
            if each is not None:
                each(points[-1])
    return tuple(points)


def _point(flow: "Flow", method: Method) -> Point:
    """Return the point of one setting."""
    k = flow.settings.k
    if method.generalizer == "uniform":
        scores, cut = _Scores.of(flow.tree, flow.risk, flow.encoded, flow.node_ncp), flow.pruning.cut()
    elif method.generalizer == "refine":
        pruning = refine(flow.pruning, replace(flow.coarse, people=flow.reached.people), flow.limits, leaf=flow.leaf)
        tree, cut = pruning.tree, pruning.cut()
        losses = node_ncp(tree, flow.coarse.encodings)
        scores = _Scores.of(tree, annotate(tree, flow.encoded), flow.encoded, losses)
    else:
        return released_point(flow, method)
    point = scores.point(cut, method.grouping, method.generalizer, k)
    return replace(point, criterion=method.settings.get("criterion"), weight=method.weight)


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


def released_point(flow: "Flow", method: Method | None = None) -> Point:
    """Return the point of a release that is made and measured cell by cell; ``method``: that of its settings."""
    method = method or Method(flow.grouping, flow.settings.generalizer, flow.recipe.weight)
    release, frame, schema, encoded = flow.release, flow.released, flow.schema, flow.encoded
    target, classes = encoded.target.name, flow.look_alikes
    class_of, sizes = classes.class_of, classes.sizes
    spreads = [class_spread(frame[name], schema[name], class_of, sizes) for name in schema.sensitive]
    rsd = [float(spread.rsd.min()) for spread in spreads if spread is not None]
    most = majorities(frame[target], classes) if target else None
    return Point(
        grouping=method.grouping,
        generalizer=method.generalizer,
        k=flow.settings.k,
        groups=len(sizes),
        smallest=flow.after.smallest,
        risk=1 / flow.after.smallest,
        tidi=None,
        rsd=min(rsd) if rsd else None,
        posterior=None if most is None else float((most / sizes).max()),
        gcp=gcp(release, encoded.encodings),
        error=None if most is None else float(1 - most.sum() / len(frame)),
        unexplained=_unexplained(encoded, class_of, release.order),
        criterion=method.settings.get("criterion"),
        weight=method.weight,
        made=release.method,
    )


def _unexplained(encoded: EncodedTable, class_of: NDArray[np.int64], order: NDArray[np.int64]) -> float | None:
    """Return the squared error of the numeric sensitive columns around the means of classes, over that around the
    file's."""
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
    """Return the points that no other beats: none is at most as risky and loses less, or the reverse; by rising loss.

    ``loss``: "gcp", "error" or "unexplained"; ``risk``: "risk" or "posterior" (less is better), "tidi" or "rsd" (more
    is better). Points without one of the figures are left out. Of equal ones the first stays.
    """
    sign = -1.0 if risk in ("tidi", "rsd") else 1.0
    candidates = [point for point in points if getattr(point, loss) is not None and getattr(point, risk) is not None]
    best: list[Point] = []
    least = math.inf
    for point in sorted(candidates, key=lambda point: (getattr(point, loss), sign * getattr(point, risk))):
        if sign * getattr(point, risk) < least:
            best.append(point)
            least = sign * getattr(point, risk)
    return tuple(best)
