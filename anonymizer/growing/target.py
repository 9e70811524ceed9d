"""What a record contributes to a node's sum, and what is read from the sum.

Contributions add up: the sum of a node is the sum of its children's. Everything here is arithmetic on such
sums, vectorised over nodes: arrays of shape (m, c) in, arrays of shape (m,) out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.labelled.variable import Variable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """A categorical sensitive column that guides the tree: a record contributes a one-hot class.

    ``labels``: the c classes in domain order, ``None`` for missing. ``codes`` (n,): each record's class.
    ``ordered``: True when the classes stand in a declared order. ``variable``: what its file says of it. Levels that
    differ in writing only are one class, by the name of the first: ``spellings`` are those of each class that has
    several. ``harmless``: labels that nobody learns anything from.
    """

    name: str
    labels: tuple[str | None, ...]
    codes: NDArray[np.unsignedinteger]
    ordered: bool = False
    variable: Variable = Variable()
    spellings: tuple[tuple[str, ...], ...] = ()
    harmless: tuple[str, ...] = ()

    @property
    def tells(self) -> NDArray[np.bool_]:
        """(c,) False for a class of which nobody learns anything: what is missing, or declared to be harmless."""
        return np.array([label is not None and label not in self.harmless for label in self.labels])

    @property
    def title(self) -> str:
        """What it is called where there is room: its label, and its name in brackets."""
        return self.variable.full_name(self.name)

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The c classes as they are shown: codes with what a codebook says that they mean."""
        return tuple(None if label is None else self.variable.level_text(label) for label in self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes c, those without a record included."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class NumericTarget:
    """The r numeric sensitive columns together: a record contributes 1, its values y and their products yyᵀ.

    ``values`` (n, r): scaled to [0, 1] over the whole file (L14; constant columns: 0), less ``centre``, their means, so
    that nothing cancels in sums; missing values are at the centre, 0. Scaled values and centres are whole numbers of
    steps of 2^-:func:`bits_of` (n), so that sums are exact and the order of records never shows. ``low``,
    ``width`` (r,): a value is ``low + width · (scaled)`` in the column's own unit (dates: µs since 1970). ``missing``
    (r,): how many were missing. ``dates``: which of ``names`` are dates. ``titles``: what they are called where there
    is room.
    """

    names: tuple[str, ...]
    titles: tuple[str, ...]
    values: Floats
    low: Floats
    width: Floats
    centre: Floats
    missing: NDArray[np.int64]
    dates: frozenset[str] = frozenset()

    @property
    def n_responses(self) -> int:
        """Number of numeric sensitive columns r."""
        return len(self.names)


def majority_error(sums: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return E(t), Y19 (8): records outside the node's majority class. ``sums`` (m, c) -> (m,) records."""
    return np.asarray(sums.sum(axis=-1) - sums.max(axis=-1), dtype=np.int64)


def entropy(sums: NDArray[np.integer]) -> Floats:
    """Return the Shannon entropy of the class shares, bits per record; 0 for an empty node. ``sums`` (m, c) -> (m,)."""
    shares = class_shares(sums)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.maximum(0.0, 0.0 - (shares * logs).sum(axis=-1)))


def gini(sums: NDArray[np.integer]) -> Floats:
    """Return the Gini impurity 1 − Σ share², per record; 0 for an empty node. ``sums`` (m, c) -> (m,)."""
    shares = class_shares(sums)
    return np.asarray(np.where(sums.sum(axis=-1) > 0, 1.0 - (shares**2).sum(axis=-1), 0.0))


def class_shares(sums: NDArray[np.integer]) -> Floats:
    """Return the share of each class in its node; zeros for an empty node. ``sums`` (m, c) -> (m, c)."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(sums, totals, out=np.zeros(sums.shape), where=totals > 0))


def bits_of(n: int) -> int:
    """Return b: floats hold every sum of n numbers from -1 to 1 that are whole numbers of steps of 2^-b."""
    return 52 - n.bit_length()


def on_steps(numbers: Floats, n: int) -> Floats:
    """Return numbers rounded to whole steps of 2^-:func:`bits_of` (n)."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(numbers, bits_of(n))), -bits_of(n)))


def moments_of_nodes(
    values: Floats,
    order: NDArray[np.integer] | None,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    size: NDArray[np.int32],
) -> Floats:
    """Return the sums of 1, y and yyᵀ of m nodes in preorder, (m, 1 + r + r(r+1)/2).

    ``values`` (n, r): those of a :class:`NumericTarget`; ``order`` (n,): the records, those of each leaf from ``first``
    up to ``last`` (m,); as they stand, when not given. ``size`` (m,): nodes of each branch. Numbers are added as whole
    numbers of steps, and products in three parts, from halves of their bits: all sums are exact, so what is rounded at
    last does not depend on the order of records.
    """
    bits = bits_of(len(values))
    return moments_of_steps(steps_of_nodes(values, order, first, last, size, bits), bits)


def steps_of_nodes(
    values: Floats,
    order: NDArray[np.integer] | None,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    size: NDArray[np.int32],
    bits: int,
) -> NDArray[np.int64]:
    """Return the sums of :func:`moments_of_nodes`, whose arguments these are, before any is rounded: (m, 1 + r +
    3 r(r+1)/2) whole numbers, which add up exactly where records are in several places. Values are whole numbers of
    steps of 2^-``bits``, those of all records; each product is in three parts, from halves of these bits."""
    r, node = values.shape[1], np.arange(len(size))
    whole = np.ldexp(values, bits).astype(np.int64)
    if order is not None:
        whole = whole[order]

    def total(steps: NDArray[np.int64]) -> NDArray[np.int64]:
        below = np.concatenate([[0], np.cumsum(steps)])
        of_leaves = np.where(size == 1, below[last] - below[first], 0)
        above = np.concatenate([[0], np.cumsum(of_leaves)])
        return np.asarray(above[node + size] - above[node])

    sums = [last - first, *(total(whole[:, j]) for j in range(r))]
    half = -(-bits // 2)
    high, low = whole >> half, whole & ((1 << half) - 1)
    for one, other in zip(*np.tril_indices(r), strict=True):
        sums.append(total(high[:, one] * high[:, other]))
        sums.append(total(high[:, one] * low[:, other] + low[:, one] * high[:, other]))
        sums.append(total(low[:, one] * low[:, other]))
    return np.column_stack(sums).astype(np.int64, copy=False)


def moments_of_steps(steps: NDArray[np.int64], bits: int) -> Floats:
    """Return the sums of 1, y and yyᵀ (m, 1 + r + r(r+1)/2) from whole numbers: see :func:`steps_of_nodes`."""
    r = int((np.sqrt(24 * steps.shape[1] + 1) - 5) / 6)  # of 1 + r + 3 r (r + 1) / 2 columns
    half = -(-bits // 2)
    sums = steps.astype(np.float64)
    highs, across, lows = (sums[:, 1 + r + part :: 3] for part in range(3))
    products = np.ldexp(highs, 2 * (half - bits)) + (np.ldexp(across, half - 2 * bits) + np.ldexp(lows, -2 * bits))
    return np.column_stack([sums[:, :1], np.ldexp(sums[:, 1 : 1 + r], -bits), products])


def moments_of_all(values: Floats) -> Floats:
    """Return the sums of 1, y and yyᵀ of all records as one node, (1, ·): see :func:`moments_of_nodes`."""
    return moments_of_nodes(values, None, np.zeros(1, np.int64), np.full(1, len(values)), np.ones(1, np.int32))


def sse_of_tallies(values: Sequence[Floats], counts: Sequence[NDArray[np.int64]], n: int) -> float:
    """Return the squared error of n records around their means, summed over columns: :func:`sse` of all records.
    ``values``, ``counts`` (d,): of each column, its distinct values on their steps, and how many records have each."""
    bits = bits_of(n)
    half, errors = -(-bits // 2), []
    for numbers, count in zip(values, counts, strict=True):
        whole = np.ldexp(numbers, bits).astype(np.int64)
        high, low = whole >> half, whole & ((1 << half) - 1)
        steps = [n, whole @ count, (high * high) @ count, (2 * high * low) @ count, (low * low) @ count]
        errors.append(float(sse(moments_of_steps(np.array([steps], np.int64), bits))[0]))
    return float(np.array([errors]).sum(axis=-1)[0])


def n_responses(moments: Floats) -> int:
    """Return r from the width 1 + r + r (r + 1) / 2 of sums of moments."""
    return int((np.sqrt(8 * moments.shape[-1] + 1) - 3) / 2)


def means(moments: Floats) -> Floats:
    """Return the mean response, centred, scaled; 0 for an empty node. ``moments`` (m, 1 + r + r(r+1)/2) -> (m, r)."""
    r, n = n_responses(moments), moments[:, :1]
    return np.asarray(np.divide(moments[:, 1 : 1 + r], n, out=np.zeros((len(moments), r)), where=n > 0))


def scatter(moments: Floats) -> Floats:
    """Return S(t), L09 (3): Σ (y − ȳ)(y − ȳ)ᵀ over the node's records. ``moments`` -> (m, r, r), symmetric."""
    r = n_responses(moments)
    products = np.zeros((len(moments), r, r))
    rows, columns = np.tril_indices(r)
    products[:, rows, columns] = products[:, columns, rows] = moments[:, 1 + r :]
    centred = means(moments)
    scatters = products - moments[:, :1, None] * centred[:, :, None] * centred[:, None, :]
    diagonal = np.arange(r)
    scatters[:, diagonal, diagonal] = np.maximum(0.0, scatters[:, diagonal, diagonal])
    return np.asarray(scatters)


def sse(moments: Floats) -> Floats:
    """Return e(t), L09: squared error around the node's mean, summed over responses. ``moments`` -> (m,)."""
    return np.asarray(np.trace(scatter(moments), axis1=1, axis2=2))
