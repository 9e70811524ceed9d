"""The whole flow, in order, in one function: read this first.

    table + schema → encode → grow → annotate → prune → generalize → verify → report

Every step is a function of its own that can be called alone; :func:`anonymize` only calls them in turn.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.encode import EncodedTable, encode
from anonymizer.errors import GuaranteeError
from anonymizer.explain import worst_groups
from anonymizer.generalize import check_choices, generalize, settled_choices
from anonymizer.grouping import group, grow_by, recipe_of, recorded, settled
from anonymizer.limits import Limits, margins
from anonymizer.linkage import linkage_risk
from anonymizer.prune import Pruning
from anonymizer.read import Reading
from anonymizer.records import descend
from anonymizer.release import Release
from anonymizer.report import Report, report_of
from anonymizer.risk import NodeRisk, annotate
from anonymizer.schema import Schema
from anonymizer.tree import Tree
from anonymizer.utility import Utility, measure
from anonymizer.verify import Verification, verify

Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class Result:
    """Every stage of one run."""

    schema: Schema
    encoded: EncodedTable
    tree: Tree
    risk: NodeRisk
    pruning: Pruning
    release: Release
    verification: Verification
    utility: Utility
    report: Report


def anonymize(
    table: pd.DataFrame,
    schema: Schema,
    *,
    grouping: str = "least",
    generalizer: str = "uniform",
    k: int = 10,
    criterion: str | None = None,
    min_leaf: int = 2,
    max_depth: int | None = None,
    weight: float = 0.5,
    writing: str = "sets",
    numbers: str = "range",
    refine: bool = False,
    l: float | None = None,  # noqa: E741 - the field's name
    entropy_l: float | None = None,
    t: float | None = None,
    rsd_min: float | None = None,
    spread_min: float | None = None,
    significance: float | None = None,
    tested: str = "inner",
    against_original: bool = True,
    reading: Reading | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Result:
    """From a table to a verified release and its report.

    ``grouping``: one of :data:`anonymizer.grouping.GROUPINGS`. ``least``, ``error-risk`` (Y19) and
    ``error-digression`` (L14) take back splits of a grown tree; ``median-mondrian``, ``infogain-mondrian`` and
    ``regression-mondrian`` (LeFevre et al.) are the baselines. ``criterion``: of the grown tree, by default ``entropy``
    for a categorical target and ``sse`` for a numeric one, which all numeric sensitive columns then guide together;
    ``min_leaf``, ``max_depth``: see :func:`anonymizer.grow.grow`; ``blend`` uses ``weight`` and never grows groups
    below k. ``generalizer``, ``writing``, ``numbers``, ``refine``: see :func:`anonymizer.generalize.generalize`.
    ``k`` and the other limits on every group: see :class:`anonymizer.limits.Limits`; they steer pruning, that of the
    baselines too, and the checker requires them of the release again.
    ``against_original``: let the checker also compare with the table.
    ``reading``: how the table came in, for the report. ``rng``: for the row order; by default a fresh secret.
    ``progress``: called with a share from 0 to 1 and what is being done.

    Raises :class:`GuaranteeError` when the table has fewer than k records, and whatever its steps raise.
    """
    generalizer, writing = settled_choices(generalizer, writing, refine)
    check_choices(generalizer, writing, numbers)
    recipe = recipe_of(grouping, k, criterion=criterion, min_leaf=min_leaf, max_depth=max_depth, weight=weight)
    limits = Limits(k, l, entropy_l, t, rsd_min, spread_min, significance, tested)
    say = progress or (lambda share, what: None)
    say(0.0, "Encoding the table")
    encoded = encode(table, schema)
    if encoded.n_records < k:
        raise GuaranteeError(
            f"The table has {encoded.n_records:,} records, fewer than k = {k}: no group can have {k}.",
            remedy="Choose a smaller k or bring more records.",
        )
    say(0.1, "Growing the tree")
    recipe = settled(recipe, encoded)
    tree = grow_by(recipe, encoded)
    say(0.3, "Scoring its nodes")
    risk = annotate(tree, encoded)
    say(0.4, "Pruning it")
    pruning = group(tree, risk, encoded, grouping, limits)
    require_satisfied(pruning, risk, encoded, limits)
    say(0.5, "Generalizing the records")
    leaf = descend(tree, encoded)
    release = generalize(
        table,
        schema,
        encoded,
        pruning,
        method=generalizer,
        k=k,
        writing=writing,
        numbers=numbers,
        limits=limits,
        leaf=leaf,
        rng=rng,
    )
    say(0.6, "Checking the release")
    released = release.frame()
    original = table if against_original else None
    verification = verify(released, schema, original=original, order=release.order, **limits.required)
    say(0.9, "Measuring what is left")
    measured = measure(release, encoded.encodings, encoded.target.name or None)
    parameters: dict[str, Any] = {
        "grouping": grouping,
        "generalizer": generalizer,
        "criterion": criterion,
        "min_leaf": min_leaf,
        "max_depth": max_depth,
        "weight": weight,
        "writing": writing,
        "numbers": numbers,
        **asdict(limits),
    }
    report = report_of(
        schema,
        recorded(parameters, recipe),
        encoded,
        before=linkage_risk(table, schema.quasi_identifying),
        after=linkage_risk(released, schema.quasi_identifying),
        utility=measured,
        verification=verification,
        worst=worst_groups(tree, risk, encoded, pruning.cut()),
        reading=reading,
    )
    say(1.0, "Done")
    return Result(schema, encoded, tree, risk, pruning, release, verification, measured, report)


def require_satisfied(pruning: Pruning, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> None:
    """Raise :class:`GuaranteeError` when even the whole table as one group fails a limit: which, and how far off."""
    if pruning.satisfied:
        return
    failed = [margin for margin in margins(pruning.tree, risk, encoded, limits) if not margin.passes[0]]
    raise GuaranteeError(
        "Even the whole table as one group is not enough: " + "; ".join(margin.shortfall(0) for margin in failed) + ".",
        column=failed[0].column or None,
        remedy="Relax this limit.",
    )
