"""From groups to a release: every quasi-identifier of a record is replaced by a cell that also holds others' values.

A generalizer says which records share a box (:data:`GENERALIZERS`); what a box looks like as a cell is the same for
all of them. Nothing here trusts the outcome: :mod:`anonymizer.verify` recomputes every promise from the release.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.encode import EncodedTable, Encoding, distinct_numbers, levels_of, numbers_of, value_text
from anonymizer.errors import EncodeError, ParameterError
from anonymizer.release import Release, ReleasedColumn
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.tiers import Grouping, Parts, tiered, tiered_strict, uniform
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
    after: int | None = None,
    leaf: NDArray[np.int32] | None = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """The release of ``table`` (n rows) in the groups of a pruned tree.

    ``method``: a key of :data:`GENERALIZERS`; ``k``: what the tiered methods fill up to, in records. ``after``: the
    groups after that many pruning steps (all by default). ``leaf`` (n,): each record's leaf in the unpruned tree,
    found when not given. ``rng`` shuffles the rows; without it a fresh secret seed does, as every real release needs.

    Identifying columns are dropped. A column whose values share codes gets exact intervals all the same: they are
    read from ``table``.

    Raises :class:`ParameterError` for an unknown method, k below 1, or a table that is not the encoded one;
    :class:`GuaranteeError` when a tiered method meets a group with fewer than k records.
    """
    schema.check(table)
    make = GENERALIZERS.get(method)
    if make is None:
        raise ParameterError(
            f"There is no generalizer {method!r}.",
            value=method,
            remedy="Choose one of: " + ", ".join(GENERALIZERS) + ".",
        )
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
    grouping = Grouping(pruning.tree, encoded, leaf, np.asarray(pruning.group_of_node(after)))
    boxes = _Boxes.of(make(grouping, k))
    if rng is None:
        rng = np.random.Generator(np.random.PCG64DXSM(secrets.randbits(128)))
    order = rng.permutation(len(table))
    box = boxes.of_record[order]
    columns = []
    for name in schema.released:
        column = schema[name]
        if column.role is not Role.QUASI_IDENTIFYING:
            columns.append(_kept(table[name], column, order))
            continue
        position = encoded.names.index(name)
        encoding = encoded.encodings[position]
        if encoding.is_interval:
            cells, index, domain = _intervals(table[name], column, encoded.codes[:, position], encoding, boxes)
        else:
            cells, index = _sets(encoded.codes[:, position], encoding, boxes)
            domain = tuple(value_text(level) for level in encoding.labels)
        columns.append(
            ReleasedColumn(name, column.role, column.kind, domain, encoding.missing, cells, index.astype(np.int32)[box])
        )
    return Release(tuple(columns), order, method)


_Integers = NDArray[np.int64]
_FiveArrays = tuple[_Integers, _Integers, _Integers, _Integers, _Integers]


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes of parts first, then one for every record that some part shares.

    ``of_record`` (n,): the record's box; ``box_part``: the own part of each of the latter; the pairs (q,): a shared
    record, the part that shares it, the record's box.
    """

    n: int
    of_record: NDArray[np.int64]
    parts: Parts
    pair_box: NDArray[np.int64]
    box_part: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Parts) -> "_Boxes":
        shared, which = np.unique(parts.shared_record, return_inverse=True)
        of_record = parts.part
        if len(shared):
            of_record = of_record.copy()
            of_record[shared] = parts.n_parts + np.arange(len(shared))
        return cls(parts.n_parts + len(shared), of_record, parts, parts.n_parts + which, parts.part[shared])

    def arguments(self) -> "_FiveArrays":
        """The arrays that say which boxes hold a record, as the kernels of hulls take them."""
        return self.parts.part, self.parts.shared_record, self.parts.shared_part, self.pair_box, self.box_part


def _intervals(
    values: "pd.Series[Any]", column: Column, codes: NDArray[Any], encoding: Encoding, boxes: _Boxes
) -> tuple[tuple[Cell, ...], NDArray[np.int64], tuple[str, ...]]:
    """The distinct cells of a numeric or date column, the cell of every box, and the domain as text."""
    from anonymizer import tier_kernels

    labels = encoding.labels
    if np.any(encoding.low < encoding.high):
        numbers, restore = numbers_of(values, column)
        codes, distinct = distinct_numbers(numbers)
        labels = restore(distinct)
    b = len(labels)
    low, high, absent = np.empty(boxes.n, np.int64), np.empty(boxes.n, np.int64), np.zeros(boxes.n, np.bool_)
    tier_kernels.ranges(codes, *boxes.arguments(), b, low, high, absent)
    keys, index = np.unique((low * (b + 1) + high + 1) * 2 + absent, return_inverse=True)
    pairs, missing = np.divmod(keys, 2)
    lows, highs = np.divmod(pairs, b + 1)
    texts = {int(code): value_text(labels[code]) for code in np.union1d(lows, highs - 1) if 0 <= code < b}
    cells = tuple(
        Cell.MISSING if at_most < at_least else Cell.interval(texts[at_least], texts[at_most], bool(or_missing))
        for at_least, at_most, or_missing in zip(lows.tolist(), (highs - 1).tolist(), missing, strict=True)
    )
    if column.domain is not None:
        domain = tuple(_domain_text(end, column.kind) for end in column.domain)
    else:
        domain = (value_text(labels[0]), value_text(labels[-1])) if b else ()
    return cells, index, domain


def _domain_text(end: Any, kind: Kind) -> str:
    return value_text(pd.Timestamp(end) if kind is Kind.DATE else end)


def _sets(codes: NDArray[Any], encoding: Encoding, boxes: _Boxes) -> tuple[tuple[Cell, ...], NDArray[np.int64]]:
    """The distinct cells of a categorical column, and the cell of every box. All codes of the domain: withheld."""
    from anonymizer import tier_kernels

    b, values = encoding.n_codes, len(encoding.labels)
    bits = np.zeros((boxes.n, (b + 63) // 64), dtype=np.uint64)
    tier_kernels.level_sets(codes, *boxes.arguments(), bits)
    if bits.shape[1] == 1:
        distinct, index = np.unique(bits[:, 0], return_inverse=True)
        distinct = distinct[:, None]
    else:
        distinct, index = np.unique(bits, axis=0, return_inverse=True)
    cells = []
    for words in distinct:
        present = np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little"))
        levels = tuple(encoding.labels[code] for code in present if code < values)
        whole = len(present) == b >= 2
        cells.append(Cell.WITHHELD if whole else Cell.of_levels(levels, missing=bool(present[-1] == values)))
    return tuple(cells), index.reshape(-1)


def _kept(values: "pd.Series[Any]", column: Column, order: NDArray[np.int64]) -> ReleasedColumn:
    """A column that leaves as it is, in the order of the release, with nothing of its past: no index, no attributes,
    no categories that do not occur or that stand in the order of their first appearance."""
    may_miss = bool(values.isna().any())
    if column.kind is not Kind.CATEGORICAL:
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = pd.Series(np.asarray(values))
        kept = pd.Series(values.array.take(order), name=column.name)
        return ReleasedColumn(column.name, column.role, column.kind, _kept_range(values, column), may_miss, values=kept)
    codes, levels = levels_of(values, column)
    domain = tuple(levels) if len(levels) <= max(20, len(order) // 10) else ()
    if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype == object:
        used = np.unique(codes[codes < len(levels)])
        place = np.full(len(levels) + 1, -1)
        place[used] = np.arange(len(used))
        categories = pd.Index([levels[code] for code in used], dtype="str")
        kept = pd.Series(pd.Categorical.from_codes(place[codes[order]], categories), name=column.name)
    else:
        kept = pd.Series(values.array.take(order), name=column.name)
    return ReleasedColumn(column.name, column.role, column.kind, domain, may_miss, values=kept)


def _kept_range(values: "pd.Series[Any]", column: Column) -> tuple[str, ...]:
    """Lowest and highest value as text; nothing for a kept column that does not hold what its kind says."""
    try:
        numbers, restore = numbers_of(values, column)
    except EncodeError:
        return ()
    present = numbers[~np.isnan(numbers)]
    return tuple(value_text(end) for end in restore(np.array([present.min(), present.max()]))) if len(present) else ()


GENERALIZERS: dict[str, Callable[[Grouping, int], Parts]] = {
    "uniform": uniform,
    "tiered": tiered,
    "tiered-strict": tiered_strict,
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
}
"""For each key of :data:`GENERALIZERS` what it guarantees, said so that a steward can repeat it."""
