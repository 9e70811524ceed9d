"""What each column of a table holds, counted exactly: of all records, or of distinct values and how many have each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anonymizer.alike import count_alike, nobodies
from anonymizer.errors import check_headers
from anonymizer.reading.parse import mostly
from anonymizer.reading.patterns import pattern_of, shape_of
from anonymizer.schema import Kind, kind_of
from anonymizer.values import count_codes, count_numbers

LOOKED_AT = 400
"""Different values of a column that are held against patterns, spread evenly; all counts are of all values."""

TOP = 5
"""Most frequent levels that are told."""


@dataclass(frozen=True)
class ColumnFacts:
    """What a column of n records holds.

    ``distinct``: different values; ``unique``: records whose value nobody else has; ``low``, ``high``: ends of
    numbers and dates as text; ``top``: the most frequent levels of a categorical column with their records;
    ``pattern``: what the values look like, in words; ``looked_at``: some of the different values of a categorical
    column as text, evenly spread, all of them where they are at most :data:`LOOKED_AT`. Of a column that says whose a
    row is, see :func:`with_ids`: ``persons``: values that differ in more than writing; ``nobody``: values that stand
    for nobody.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> age = an.profile(table)[0]
    >>> age.name, age.records, age.missing
    ('age', 300, 0)
    """

    name: str
    kind: Kind
    records: int
    missing: int
    distinct: int
    unique: int
    low: str | None = None
    high: str | None = None
    top: tuple[tuple[str, int], ...] = ()
    pattern: str = ""
    looked_at: tuple[str, ...] = ()
    persons: int | None = None
    nobody: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"ColumnFacts of {self.name!r}: {self.kind}, {self.records:,} rows, {self.missing:,} missing, "
            f"{self.distinct:,} different values"
        )

    @property
    def present(self) -> int:
        """Records that have a value."""
        return self.records - self.missing

    @property
    def distinct_share(self) -> float:
        """Different values per record that has one; 0 when none has."""
        return self.distinct / self.present if self.present else 0.0

    @property
    def summary(self) -> str:
        """Range or most frequent levels in a few words."""
        if not self.present:
            return "no value"
        if self.low is not None:
            return self.low if self.low == self.high else f"{self.low} to {self.high}"
        texts = ", ".join(text if len(text) <= 24 else text[:23] + "…" for text, _ in self.top)
        more = self.distinct - len(self.top)
        return texts + (f" and {more:,} more" if more else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as a row of a table that people read."""
        return {
            "Column": self.name,
            "Kind": self.kind.value,
            "Missing": self.missing,
            "Different values": self.distinct,
            "Unique rows": self.unique,
            "Range or most frequent": self.summary,
            "Looks like": self.pattern,
        }


Distinct = tuple[NDArray[Any], NDArray[np.int64]]
"""The different values of a column (d,), missing left out, and how many records have each, (d,)."""


def profile(table: pd.DataFrame, distinct: Mapping[str, Distinct] | None = None) -> tuple[ColumnFacts, ...]:
    """Return the facts about every column, in the table's order. All counts are exact. ``distinct``: the values of each
    column, where they are known.

    Raises :class:`SchemaError` when the column names are not distinct, non-empty text.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> [fact.name for fact in an.profile(table)]
    ['age', 'sex', 'diagnosis']
    """
    check_headers(table)
    of_column = distinct or {}
    return tuple(column_facts(str(name), table[name], distinct=of_column.get(str(name))) for name in table.columns)


def column_facts(
    name: str,
    values: "pd.Series[Any]",
    records_of: NDArray[np.int64] | None = None,
    distinct: Distinct | None = None,
) -> ColumnFacts:
    """Return the facts about one column. ``records_of`` (d,): how many records have each of d values, where these are
    its distinct ones and not those of every record. ``distinct``: what :func:`distinct_values` says, where it is
    known."""
    kind = kind_of(values)
    labels, counts = distinct or distinct_values(values, records_of)
    records = len(values) if records_of is None else int(records_of.sum())
    missing = int(records - counts.sum())
    low = high = None
    top: tuple[tuple[str, int], ...] = ()
    looked_at: tuple[str, ...] = ()
    if kind is Kind.CATEGORICAL:
        looked_at = tuple(str(labels[position]) for position in _spread(len(labels)))
        texts = [_text(labels[position]) for position in _spread(len(labels))]
        order = np.argsort(-counts, kind="stable")[:TOP]
        top = tuple((_text(labels[position]), int(counts[position])) for position in order)
        pattern = pattern_of(texts) or mostly(pa.array(texts, pa.large_string()))
        shape = "" if pattern else shape_of(texts)
        pattern = pattern or (f"codes like {shape}" if shape else "")
    else:
        pattern = ""
        if len(labels):
            low, high = _text(labels.min()), _text(labels.max())
        if kind is Kind.NUMERIC and values.dtype.kind in "iu":
            texts = [str(labels[position]) for position in _spread(len(labels))]
            pattern = pattern_of(texts) if len(texts) >= 10 else ""
            pattern = pattern if pattern == "payment card numbers" else ""
    return ColumnFacts(
        name=name,
        kind=kind,
        records=records,
        missing=missing,
        distinct=len(labels),
        unique=int((counts == 1).sum()),
        low=low,
        high=high,
        top=top,
        pattern=pattern,
        looked_at=looked_at,
    )


def with_ids(facts: ColumnFacts, labels: Iterable[Any], counts: NDArray[np.int64]) -> ColumnFacts:
    """Return the facts of a column that says whose a row is, from its different values, and how many records have each
    (d,)."""
    labels = list(labels)
    return replace(facts, persons=count_alike(labels), nobody=nobodies(labels, counts))


def distinct_values(values: "pd.Series[Any]", records_of: NDArray[np.int64] | None = None) -> Distinct:
    """Return the different values of a column, missing left out, and how many records have each. ``records_of``: as of
    :func:`column_facts`."""

    def count(codes: NDArray[Any], labels: int) -> NDArray[np.int64]:
        if records_of is None:
            return count_codes(codes, labels)
        there = codes >= 0
        counts = np.zeros(labels, np.int64)
        np.add.at(counts, codes[there], records_of[there])
        return counts

    if isinstance(values.dtype, pd.CategoricalDtype):
        counts = count(values.array.codes, len(values.cat.categories))
        used = np.flatnonzero(counts)
        return np.asarray(values.cat.categories, dtype=object)[used], counts[used]
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu" and records_of is None:
        counts, labels = count_numbers(values.to_numpy())
        return labels, counts
    try:
        codes, labels = pd.factorize(values)
    except TypeError:  # lists and the like cannot be compared: their text can
        codes, labels = pd.factorize(values.map(str, na_action="ignore"))
    labels, counts = np.asarray(labels), count(codes, len(labels))
    if records_of is not None and labels.dtype == object and 2 * len(labels) <= counts.sum():
        order = np.argsort(labels.astype(str), kind="stable")  # as the levels of a whole table stand
        return labels[order], counts[order]
    return labels, counts


def _spread(n: int) -> NDArray[np.int64]:
    """Return the positions of at most ``LOOKED_AT`` of n values, evenly spread."""
    return np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(np.int64)) if n else np.array([], dtype=np.int64)


def _text(value: Any) -> str:
    if isinstance(value, np.datetime64):
        stamp = pd.Timestamp(value)
        return str(stamp.date()) if stamp == stamp.normalize() else str(stamp)
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.15g}"
    return str(value)
