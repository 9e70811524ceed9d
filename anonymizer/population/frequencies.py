"""How often each key occurs: in the table, and, by weights or a second table, in the population.

A key is the values of the quasi-identifiers of one record, as whole numbers: (n, m), -1 where a value is missing.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import SchemaError

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

WIDEST = 1 << 62
"""Combined keys stay below this, so that they fit a signed 64-bit integer."""


def codes_of(frame: pd.DataFrame, columns: Sequence[str], other: pd.DataFrame | None = None) -> tuple[Codes, Codes]:
    """Return the keys of the records of ``frame`` (n, m) and of ``other`` (N, m) in the same numbers; -1 is missing.

    Values of the two tables are one where they are written the same way. Raises :class:`SchemaError` for a column that
    is not in both.
    """
    tables = [frame] if other is None else [frame, other]
    for table in tables:
        if absent := [name for name in columns if name not in table.columns]:
            raise SchemaError(f"There is no column {absent[0]!r} in the table.", column=absent[0])
    length = sum(map(len, tables))
    codes = np.empty((length, len(columns)), np.int64)
    for j, name in enumerate(columns):
        if other is None:
            codes[:, j] = pd.factorize(frame[name])[0]
        else:
            same = frame[name].dtype == other[name].dtype
            parts = [table[name] if same else texts(table[name]) for table in tables]
            codes[:, j] = pd.factorize(pd.concat(parts, ignore_index=True))[0]
    return codes[: len(frame)], codes[len(frame) :]


def texts(values: "pd.Series[object]") -> "pd.Series[object]":
    """Return values as text, whole numbers without a point, so that 34, 34.0 and "34" are one; missing stays."""
    numbers = pd.to_numeric(values, errors="coerce") if pd.api.types.is_numeric_dtype(values.dtype) else None
    text = values.astype("string").str.strip()
    if numbers is not None:
        whole = numbers.notna() & (numbers % 1 == 0) & (numbers.abs() < 1 << 53)
        text = text.mask(whole, numbers.where(whole).astype("Int64").astype("string"))
    return text.astype(object).where(text.notna(), None)


def combine(codes: Codes) -> Codes:
    """Return one number a row (n,), equal exactly where all columns of ``codes`` (n, m), from -1 up, are equal."""
    key, bound = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        size = int(column.max(initial=-1)) + 2
        if bound * size >= WIDEST:
            key, distinct = pd.factorize(key)
            bound = len(distinct)
        key, bound = key * size + column + 1, bound * size
    return key


def class_sizes(codes: Codes) -> NDArray[np.int64]:
    """Return the number of records with each distinct key (u,), in no order; missing agrees with missing."""
    return np.bincount(pd.factorize(combine(codes))[0]).astype(np.int64)


def frequencies(
    codes: Codes, others: Codes | None = None, weights: Floats | None = None, *, wildcard: float | None = None
) -> Floats:
    """Return how many of ``others`` agree with each key of ``codes``: (n,), by weights where there are any.

    ``others`` (N, m): the table itself when nothing is said. ``weights`` (N,): how many each of them counts for.
    ``wildcard``: ``None``: a missing value is a value of its own; else it agrees with every value, and an agreement
    counts 1 where the other key misses nothing or is the same, and this share (0 to 1) where it misses something. Two
    keys agree when they agree wherever both are present, so that a frequency is a figure of one record and not the size
    of a class (Capobianchi, Polettini and Lucarelli 2001; a record that misses everything is no exception here).
    """
    others = codes if others is None else others
    weights = np.ones(len(others)) if weights is None else np.asarray(weights, float)
    if wildcard is None or not len(codes) or not len(others):
        return look_up(codes, others, weights)
    counts = np.zeros(len(codes))
    mine, theirs = codes < 0, others < 0
    for lacks, here in patterns(mine):
        for others_lack, there in patterns(theirs):
            share = 1.0 if not others_lack.any() or (lacks == others_lack).all() else wildcard
            if share:
                both = ~(lacks | others_lack)
                counts[here] += share * look_up(codes[here][:, both], others[there][:, both], weights[there])
    return counts


def patterns(missing: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Return each pattern of missing values that occurs (m,), and the records that have it."""
    of_record, first = pd.factorize(combine(missing.astype(np.int64)))
    records = [np.flatnonzero(of_record == number) for number in range(len(first))]
    return [(missing[rows[0]], rows) for rows in records]


def look_up(codes: Codes, others: Codes, weights: Floats) -> Floats:
    """Return the weight of those of ``others`` (N, m) that equal each row of ``codes`` (n, m): (n,)."""
    keys = combine(np.concatenate([codes, others]))
    number, distinct = pd.factorize(keys)
    total = np.bincount(number[len(codes) :], weights=weights, minlength=len(distinct))
    return np.asarray(total[number[: len(codes)]], float)
