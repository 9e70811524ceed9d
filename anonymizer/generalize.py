"""From groups to a release: every quasi-identifier of a record is replaced by a cell that also speaks of others.

Two choices are free of each other: which records share a box (:data:`GENERALIZERS`), and how a box is written
(:data:`WRITINGS` for levels, :data:`NUMBERS` for numbers and dates). Nothing here trusts the outcome:
:mod:`anonymizer.verify` recomputes every promise from the release.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.boxes import Boxes, interval_cells, kept_column, level_cells
from anonymizer.encode import EncodedTable, value_text
from anonymizer.errors import ParameterError
from anonymizer.limits import Limits
from anonymizer.refine import median_groups
from anonymizer.release import Release, ReleasedColumn
from anonymizer.schema import Role, Schema
from anonymizer.tiers import Grouping, Parts, disjoint, tiered, tiered_strict, uniform
from anonymizer.tree import Tree


class PrunedTree(Protocol):
    """What generalizing asks of a :class:`anonymizer.prune.Pruning`."""

    @property
    def tree(self) -> Tree:
        """The unpruned tree, m nodes."""

    def group_of_node(self, after: int | None = None) -> NDArray[Any]:
        """(m,) the leaf of the pruned tree at or above each node, -1 above them."""


def generalize(
    table: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    pruning: PrunedTree,
    method: str = "uniform",
    k: int = 10,
    *,
    writing: str = "sets",
    numbers: str = "range",
    refine: bool = False,
    limits: Limits | None = None,
    after: int | None = None,
    leaf: NDArray[np.int32] | None = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """The release of ``table`` (n rows) in the groups of a pruned tree.

    ``method``: a key of :data:`GENERALIZERS`, or "concatenate", short for "uniform" written that way. ``k``: what the
    tiered methods fill up to and what refined groups keep, in records. ``writing``: a key of :data:`WRITINGS`;
    ``numbers``: a key of :data:`NUMBERS`. ``refine``: cut large groups further, as the method "refine" does of its own.
    ``limits``: what refined groups keep besides k.

    ``after``: the groups after that many pruning steps (all by default). ``leaf`` (n,): each record's leaf in the
    unpruned tree, found when not given. ``rng`` shuffles the rows; without it a fresh secret seed does, as every real
    release needs.

    Identifying columns are dropped. A column whose values share codes gets exact intervals all the same: they are
    read from ``table``.

    Raises :class:`ParameterError` for an unknown method or writing, one of groups with a method that shares records
    between them, k below 1, or a table that is not the encoded one; :class:`GuaranteeError` when a tiered method
    meets a group with fewer than k records.
    """
    schema.check(table)
    method, writing = settled_choices(method, writing, refine)
    check_choices(method, writing, numbers)
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", value=k, remedy="Ten is a common choice.")
    if len(table) != encoded.n_records or schema.quasi_identifying != encoded.names:
        raise ParameterError(
            f"The table ({len(table):,} rows) is not the one that was encoded ({encoded.n_records:,} rows of "
            f"{', '.join(encoded.names)}).",
            remedy="Encode this table with this schema first.",
        )
    if leaf is None:
        from anonymizer.records import descend

        leaf = descend(pruning.tree, encoded)
    grouping = Grouping(pruning.tree, encoded, leaf, np.asarray(pruning.group_of_node(after)), limits)
    boxes = Boxes.of(GENERALIZERS[method](grouping, k))
    if rng is None:
        rng = np.random.Generator(np.random.PCG64DXSM(secrets.randbits(128)))
    order = rng.permutation(len(table))
    box = boxes.of_record[order]
    columns = []
    for name in schema.released:
        column = schema[name]
        if column.role is not Role.QUASI_IDENTIFYING:
            columns.append(kept_column(table[name], column, order))
            continue
        position = encoded.names.index(name)
        encoding, codes = encoded.encodings[position], encoded.codes[:, position]
        if encoding.is_interval:
            cells, index, domain = interval_cells(table[name], column, codes, encoding, boxes, numbers)
        else:
            cells, index = level_cells(codes, encoding, boxes, writing)
            domain = tuple(value_text(level) for level in encoding.labels)
        columns.append(
            ReleasedColumn(name, column.role, column.kind, domain, encoding.missing, cells, index.astype(np.int32)[box])
        )
    return Release(tuple(columns), order, method, writing, numbers)


def settled_choices(method: str, writing: str, refine: bool) -> tuple[str, str]:
    """The method and the writing that abbreviations stand for: "concatenate", and ``refine`` beside a method.

    Raises :class:`ParameterError` for ``refine`` beside a tiered method, which has finer boxes of its own.
    """
    if method == "concatenate":
        method, writing = "uniform", "concatenate"
    if refine and method in ("tiered", "tiered-strict"):
        raise ParameterError(
            f"{method!r} makes finer boxes of its own and cannot be refined as well.",
            value=method,
            remedy="Choose one of the two.",
        )
    return "refine" if refine and method == "uniform" else method, writing


def check_choices(method: str, writing: str, numbers: str) -> None:
    """Raise :class:`ParameterError` unless the three exist and go together."""
    for chosen, known, what in (
        (method, GENERALIZERS, "generalizer"),
        (writing, WRITINGS, "way to write levels"),
        (numbers, NUMBERS, "way to write numbers"),
    ):
        if chosen not in known:
            raise ParameterError(
                f"There is no {what} {chosen!r}.", value=chosen, remedy="Choose one of: " + ", ".join(known) + "."
            )
    if method == "tiered" and (writing == "weighted" or numbers != "range"):
        raise ParameterError(
            f"{method!r} shares records between boxes, so counts, means and medians of a box would count people twice.",
            remedy="Write sets and ranges, or choose uniform, refine or tiered-strict.",
        )


def refined(grouping: Grouping, k: int) -> Parts:
    """The groups, those of at least 2k cut further at medians: see :mod:`anonymizer.refine`."""
    from anonymizer.records import descend

    limits = grouping.limits or Limits(k=k)
    tree, group = median_groups(
        grouping.tree, grouping.group, grouping.leaf, grouping.encoded, replace(limits, k=max(k, limits.k))
    )
    return disjoint(group[descend(tree, grouping.encoded)], tree.n_nodes)


GENERALIZERS: dict[str, Callable[[Grouping, int], Parts]] = {
    "uniform": uniform,
    "tiered": tiered,
    "tiered-strict": tiered_strict,
    "refine": refined,
}
"""Every way to generalize: which records share a box."""


@dataclass(frozen=True)
class Guarantee:
    """What a generalizer promises, in plain words, and what it does not. ``strict``: k-anonymous by construction
    when every group has at least k records."""

    title: str
    strict: bool
    gives: str
    does_not: str


GUARANTEES: dict[str, Guarantee] = {
    "uniform": Guarantee(
        "Uniform: one box for each group",
        True,
        "Everybody in a group gets the same cells, so every row looks like at least k − 1 others: the release is "
        "k-anonymous when every group has at least k records.",
        "It does not hide what a whole group has in common: when all of a group share a sensitive value, everybody "
        "in it is known to have it. The ends of an interval are values of real people.",
    ),
    "tiered": Guarantee(
        "Tiered: the finer leaves, sharing neighbours",
        False,
        "Every person matches at least k released rows, and every row matches at least k people, also when all rows "
        "are assigned at once: global (1,k)- and (k,k)-anonymity.",
        "It is not k-anonymous: rows can be alone with their cells. The chance that a link is right is not bounded by "
        "1/k and can come close to 1. Somebody who knows the method can find the shared records. Boxes are finer than "
        "the groups, so more of them hold a single sensitive value.",
    ),
    "tiered-strict": Guarantee(
        "Tiered, strict: the finer leaves, taking neighbours over",
        True,
        "The boxes are finer than the groups, and still every row looks like at least k − 1 others: the release is "
        "k-anonymous when every group has at least k records.",
        "A limit on sensitive values that the groups keep need not hold in these smaller boxes: check it on the "
        "release. The ends of an interval are values of real people.",
    ),
    "refine": Guarantee(
        "Refine: groups cut further at medians",
        True,
        "Groups of at least 2k are cut where their boxes are widest, and still every row looks like at least k − 1 "
        "others; limits on sensitive values that were asked for hold in every part. Boxes are much tighter.",
        "The cuts do not look at the target, so how well it can be predicted should be compared. It does not hide what "
        "a whole group has in common. The ends of an interval are values of real people.",
    ),
}
"""For each key of :data:`GENERALIZERS` what it guarantees, said so that a steward can repeat it."""


WRITINGS: dict[str, Guarantee] = {
    "sets": Guarantee(
        "Sets: {a, b}", True, "A cell lists the levels that occur in its box; all levels of the domain are a *.", ""
    ),
    "concatenate": Guarantee(
        "Concatenated: a+b",
        True,
        "A cell joins the levels that occur in its box, also when these are all (L14): it says the same as a set.",
        "",
    ),
    "weighted": Guarantee(
        "Concatenated with counts: a:4+b:1",
        True,
        "An analyst can give each level its share of the group: see expand(). Rows still look like the others of "
        "their group.",
        "Counts tell how frequent each level is within the group: where 9 of 10 share a level, it can be guessed of "
        "each of them; somebody who knows the others knows the last one.",
    ),
}
"""How the levels of a box are written, and what that gives away besides."""

NUMBERS: dict[str, Guarantee] = {
    "range": Guarantee(
        "Range: [29, 61]",
        True,
        "A cell is the smallest interval that holds the values of its box.",
        "Its ends are values of real people.",
    ),
    "mean": Guarantee(
        "Mean: ~41.5",
        True,
        "One number for the whole group, ready for a regression. Rows still look like the others of their group.",
        "It need not contain anybody's value, so the checker cannot compare it with the original, and it bounds "
        "nothing: its loss counts as 1. Somebody who knows all of a group but one can work out the last value.",
    ),
    "median": Guarantee(
        "Median: ~40",
        True,
        "One number for the whole group that a few extreme values do not move. Rows still look like the others of "
        "their group.",
        "It need not contain anybody's value, so the checker cannot compare it with the original, and it bounds "
        "nothing: its loss counts as 1. In a group of odd size it is the value of a real person.",
    ),
}
"""How the numbers and dates of a box are written, and what that gives away besides."""
