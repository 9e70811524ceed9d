"""The whole flow, in order, in one function: read this first.

    table + schema → encode → grow → annotate → prune → generalize → verify → report

Every step is a function of its own that can be called alone; :func:`anonymize` only calls them in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.encode import EncodedTable, encode
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.generalize import GENERALIZERS, generalize
from anonymizer.grow import grow
from anonymizer.linkage import linkage_risk
from anonymizer.prune import CRITERIA, Pruning, prune
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
    criterion: str = "entropy",
    min_leaf: int = 2,
    max_depth: int | None = None,
    l: float | None = None,  # noqa: E741 - the field's name
    t: float | None = None,
    against_original: bool = True,
    reading: Reading | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Result:
    """From a table to a verified release and its report.

    ``grouping``: how splits are taken back, ``least`` or ``error-risk`` (Y19). ``generalizer``: a key of
    :data:`anonymizer.generalize.GENERALIZERS`. ``k``: fewest look-alike records. ``criterion``, ``min_leaf``,
    ``max_depth``: see :func:`anonymizer.grow.grow`. ``l``, ``t``: required of every sensitive column when given;
    they are checked, not enforced. ``against_original``: let the checker also compare with the table.
    ``reading``: how the table came in, for the report. ``rng``: for the row order; by default a fresh secret.
    ``progress``: called with a share from 0 to 1 and what is being done.

    Raises :class:`GuaranteeError` when the table has fewer than k records, and whatever its steps raise.
    """
    check_choices(grouping, generalizer, k)
    say = progress or (lambda share, what: None)
    say(0.0, "Encoding the table")
    encoded = encode(table, schema)
    if encoded.n_records < k:
        raise GuaranteeError(
            f"The table has {encoded.n_records:,} records, fewer than k = {k}: no group can have {k}.",
            remedy="Choose a smaller k or bring more records.",
        )
    say(0.1, "Growing the tree")
    tree = grow(encoded, criterion, min_leaf, max_depth)
    say(0.3, "Scoring its nodes")
    risk = annotate(tree, encoded)
    say(0.4, "Pruning it")
    pruning = prune(tree, risk, grouping, k)
    say(0.5, "Generalizing the records")
    leaf = descend(tree, encoded)
    release = generalize(table, schema, encoded, pruning, method=generalizer, k=k, leaf=leaf, rng=rng)
    say(0.6, "Checking the release")
    released = release.frame()
    original = table if against_original else None
    verification = verify(released, schema, k=k, original=original, order=release.order, l=l, t=t)
    say(0.9, "Measuring what is left")
    measured = measure(release, encoded.encodings, schema.target)
    parameters: dict[str, Any] = {
        "k": k,
        "grouping": grouping,
        "generalizer": generalizer,
        "criterion": criterion,
        "min_leaf": min_leaf,
        "max_depth": max_depth,
        "l": l,
        "t": t,
    }
    report = report_of(
        schema,
        parameters,
        encoded,
        before=linkage_risk(table, schema.quasi_identifying),
        after=linkage_risk(released, schema.quasi_identifying),
        utility=measured,
        verification=verification,
        reading=reading,
    )
    say(1.0, "Done")
    return Result(schema, encoded, tree, risk, pruning, release, verification, measured, report)


def check_choices(grouping: str, generalizer: str, k: int) -> None:
    """Raise :class:`ParameterError` for names that do not exist and a k below 1."""
    for what, name, known in (("grouping", grouping, CRITERIA), ("generalizer", generalizer, GENERALIZERS)):
        if name not in known:
            raise ParameterError(f"There is no {what} {name!r}.", remedy=f"Choose one of {', '.join(known)}.")
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", remedy="Choose how many records must look alike.")
