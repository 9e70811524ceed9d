"""Values that whole groups of a release share, the most surprising first, and what a recipient learns by them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anonymizer.checking.linkage import LookAlikes, owned_in
from anonymizer.gate.finding import Finding, Severity, leave_out, share_text
from anonymizer.values import plural, value_text

ONE_VALUE = "one value: "
"""How the keys of these findings begin, before the column."""


class Shared(NamedTuple):
    """A value that everybody in some groups has: ``rows`` of these ``groups``, and its ``usual`` share of all rows, 0
    to 1. ``is_usual``: whether it is missing, or more frequent than all others, which tells little of anybody."""

    value: str
    rows: int
    groups: int
    usual: float
    is_usual: bool


def shared_values(column: "pd.Series[Any]", alike: LookAlikes) -> tuple[Shared, ...]:
    """Return the values that all rows of a group have, the rarest in the column first.

    ``column`` (n,): a sensitive column in the order of the released rows. Missing counts as a value of its own.
    """
    codes, values = pd.factorize(column, use_na_sentinel=False)
    counts = np.bincount(codes, minlength=len(values))
    n_classes = int(alike.class_of.max(initial=-1)) + 1
    least, most = np.full(n_classes, len(values)), np.full(n_classes, -1)
    np.minimum.at(least, alike.class_of, codes)
    np.maximum.at(most, alike.class_of, codes)
    single = least == most
    sizes = np.bincount(alike.class_of, minlength=n_classes)
    groups = np.bincount(least[single], minlength=len(values))
    rows = np.bincount(least[single], weights=sizes[single], minlength=len(values)).astype(int)
    missing = pd.isna(values)
    most_frequent = np.flatnonzero(~missing & (counts == counts[~missing].max(initial=-1)))
    usual = int(most_frequent[0]) if len(most_frequent) == 1 else -1
    order = sorted(np.flatnonzero(groups).tolist(), key=lambda place: (counts[place], value_text(values[place])))
    return tuple(
        Shared(
            "missing" if missing[place] else value_text(values[place]),
            int(rows[place]), int(groups[place]), float(counts[place] / len(codes)),
            bool(missing[place] or place == usual),
        )
        for place in order
    )  # fmt: skip


def values_in_classes(released: pd.DataFrame, alike: LookAlikes, name: str) -> tuple[int, int]:
    """Return how many values a column has in the released rows, and how many in the class that has fewest."""
    codes, distinct = pd.factorize(released[name])
    return len(distinct), int(owned_in(alike, codes).persons.min())


def of_unusual(name: str, values: Sequence[Shared], finding: Finding) -> Finding:
    """Return the finding that whole groups share one value of a column, as far as it is an unusual one."""
    unusual = [one for one in values if not one.is_usual]
    usual = sum(one.rows for one in values) - sum(one.rows for one in unusual)
    if not unusual:
        return Finding(
            finding.key, Severity.FINE, finding.figure, f"Whole groups share no unusual “{name}”.",
            f"{plural(usual, 'row')} of such groups have the most frequent value, or none.", (name,),
        )  # fmt: skip
    first = unusual[0]
    rows, groups = sum(one.rows for one in unusual), sum(one.groups for one in unusual)
    detail = (
        f"{name} is “{first.value}” for {plural(first.rows, 'row')} in {plural(first.groups, 'group')}, and for "
        f"{share_text(first.usual)} of all rows."
    )
    if len(unusual) > 1:
        detail += f" {plural(len(unusual) - 1, 'other value')} likewise."
    if usual:
        detail += f" {plural(usual, 'row')} that share the most frequent value, or none, are not counted."
    whole = "A whole group shares" if groups == 1 else f"{groups:,} whole groups share"
    return Finding(
        finding.key, finding.severity, plural(rows, "row"), f"{whole} an unusual “{name}”.", detail, (name,),
        (*finding.repairs[:1], leave_out(name)),
    )  # fmt: skip
