"""The frontier: what every setting would risk and lose, before any of them is chosen.

For groupings that are cuts of one tree everything follows from hulls and sums, so every k is answered at once:
:meth:`anonymizer.flow.Flow.points`. Other methods must look at records, or grow a tree of their own:
:func:`record_frontier`, for a few k and in the background.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.evidence import class_spread
from anonymizer.errors import Cancelled, ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.recipe import PACKS
from anonymizer.groups.refine import refine
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import EncodedTable
from anonymizer.measuring.points import Point, Scores
from anonymizer.measuring.utility import gcp, majorities, node_ncp
from anonymizer.releasing.generalize import GENERALIZERS, INTERVALS, TAKES_LONG
from anonymizer.settings import method_text

FEW_KS = (5, 10, 20, 50)
"""The k of :func:`record_frontier`."""


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
        *(
            Method("regions" if generalizer in PACKS else "least", generalizer)
            for generalizer in GENERALIZERS
            if generalizer not in left_out
        ),
        *(Method(papers, generalizer) for generalizer in ("refine", "pack")),
        *(Method(grouping) for grouping in MONDRIAN if grouping not in unfit),
        *(Method("least", "uniform", weight) for weight in BLENDS),
    )


def record_frontier(
    flow: Flow,
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


def _point(flow: Flow, method: Method) -> Point:
    """Return the point of one setting."""
    k = flow.settings.k
    if method.generalizer == "uniform":
        scores, cut = Scores.of(flow.tree, flow.risk, flow.encoded, flow.node_ncp), flow.pruning.cut()
    elif method.generalizer == "refine":
        pruning = refine(flow.pruning, replace(flow.coarse, people=flow.reached.people), flow.limits, leaf=flow.leaf)
        tree, cut = pruning.tree, pruning.cut()
        losses = node_ncp(tree, flow.coarse.encodings)
        scores = Scores.of(tree, annotate(tree, flow.encoded), flow.encoded, losses)
    else:
        return released_point(flow, method)
    point = scores.point(cut, method.grouping, method.generalizer, k)
    return replace(point, criterion=method.settings.get("criterion"), weight=method.weight)


def released_point(flow: Flow, method: Method | None = None) -> Point:
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
