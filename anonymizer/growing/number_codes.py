"""The codes of a column of numbers or dates, with public cuts or without."""

from collections import Counter
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError
from anonymizer.hierarchy import Hierarchy
from anonymizer.schema import Column, Kind
from anonymizer.values import distinct_numbers, numbers_of, plural, value_text

MOST_NAMED = 5
"""Values that are named where a hierarchy does not have them."""


def number_codes(
    numbers: NDArray[Any], column: Column, max_codes: int, records: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.integer], NDArray[Any], NDArray[np.float64], NDArray[np.float64], str]:
    """Return codes (n,), one value a code, lowest and highest value of each code, and a note when values share
    codes. ``records`` (n,): how many have each number; one, when not given."""
    codes, distinct = distinct_numbers(numbers)
    missing = bool(len(codes) and codes.max() == len(distinct))
    most = max_codes - missing
    if len(distinct) <= most:
        ends = distinct.astype(np.float64)
        return codes, distinct, ends, ends, ""
    counts = np.bincount(codes, records, minlength=len(distinct))[: len(distinct)].astype(np.int64)
    bins = np.minimum((np.cumsum(counts) - counts) * most // counts.sum(), most - 1)
    bins = np.unique(bins, return_inverse=True)[1]
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    last = np.append(first[1:], len(distinct)) - 1
    note = note_of_bins(column.name, len(distinct), len(first))
    lookup = np.append(bins, len(first))
    ends = distinct.astype(np.float64)
    return lookup[codes], distinct[first], ends[first], ends[last], note


def note_of_bins(name: str, distinct: int, codes: int) -> str:
    """Return the note that so many different values share fewer codes."""
    return (
        f"{name!r} has {distinct:,} different values; splits see them as {codes:,} classes of "
        "neighbours with about equally many rows. The released intervals are still exact."
    )


def cut_codes(
    numbers: NDArray[np.float64], column: Column, max_codes: int
) -> tuple[NDArray[np.integer], NDArray[Any], NDArray[np.float64], NDArray[np.float64], tuple[float, float]]:
    """Return codes (n,), one value a code, the lowest and the highest number of each code, and the domain of a column
    with public cuts: a code for each band or each value of a hierarchy, whether anybody has it or not; or of numbers no
    higher than the top code, and no lower than the bottom one.

    Raises :class:`EncodeError` for a number below the first band, or outside a declared domain.
    """
    present = numbers[~np.isnan(numbers)]
    if np.isinf(present).any():
        distinct_numbers(numbers)  # says in which row
    if column.cuts.hierarchy is not None:
        ends = column.cuts.hierarchy.numbers
        places = np.where(np.isnan(numbers), len(ends), np.searchsorted(ends, numbers)).astype(np.int64)
        return places, ends, ends, ends, (float(ends[0]), float(ends[-1]))
    if not column.cuts.bands:
        clipped = column.cuts.clip(numbers)
        codes, distinct, low, high, _ = number_codes(clipped, column, max_codes)
        domain = number_domain(column, low, high) if column.domain is None else cast(tuple[float, float], column.domain)
        inside = column.cuts.rounded(column.cuts.clip(np.array(domain)))
        if len(low) and not inside[0] <= low[0] <= high[-1] <= inside[1]:
            number_domain(column, low, high)
        return codes, distinct, low, high, (float(inside[0]), float(inside[1]))
    whole = bool(np.all(present % 1 == 0)) and all(start % 1 == 0 for start in column.cuts.bands)
    low, high = column.cuts.ends(1.0 if whole else 0.0)
    if len(present) and present.min() < low[0]:
        rest = f"below its first public band, which begins at {value_text(float(low[0]))}."
        raise EncodeError(
            f"Column {column.name!r} holds a value {rest}",
            in_full=f"Column {column.name!r} holds {value_text(float(present.min()))}, {rest}",
            column=column.name,
            value=float(present.min()),
            remedy="Let the first band begin lower, or correct the value.",
        )
    declared = () if column.domain is None else cast(tuple[float, float], column.domain)
    high[-1] = max(low[-1], *declared, float(present.max()) if len(present) and not declared else low[-1])
    codes = np.searchsorted(low, np.nan_to_num(numbers, nan=low[0]), side="right").astype(np.int64) - 1
    codes[np.isnan(numbers)] = len(low)
    return codes, low.copy(), low, high, (float(low[0]), float(high[-1]))


def number_domain(column: Column, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range against which widths are measured: the declared one, or that of the data."""
    extent = (float(low[0]), float(high[-1])) if len(low) else None
    if column.domain is None:
        domain = extent or (0.0, 0.0)
    elif column.kind is Kind.DATE:
        ends = [pd.Timestamp(end).as_unit("us").asm8.astype(np.int64) for end in column.domain]
        domain = (float(ends[0]), float(ends[1]))
    else:
        domain = cast(tuple[float, float], column.domain)
    if extent and not domain[0] <= extent[0] <= extent[1] <= domain[1]:
        outside = extent[0] if extent[0] < domain[0] else extent[1]
        rest = f"outside its declared range {value_text(domain[0])} to {value_text(domain[1])}."
        raise EncodeError(
            f"Column {column.name!r} holds a value {rest}",
            in_full=f"Column {column.name!r} holds {value_text(outside)}, {rest}",
            column=column.name,
            value=outside,
            remedy="Widen the range, or correct the value.",
        )
    if not np.isfinite(domain[1] - domain[0]):
        what = f"The values of column {column.name!r} lie too far apart to be measured"
        raise EncodeError(
            f"{what}.",
            in_full=f"{what} ({value_text(domain[0])} to {value_text(domain[1])}).",
            column=column.name,
            remedy="Correct the extreme value, treat it as missing, or make the column categorical.",
        )
    return domain


def require_values(values: "pd.Series[Any]", column: Column, hierarchy: Hierarchy) -> None:
    """Raise :class:`EncodeError` when a column holds values that its public hierarchy does not: how many. Which they
    are is told to whoever has the table."""
    rows: Counter[str] = Counter()
    if column.kind is Kind.CATEGORICAL:
        levels = set(hierarchy.values)
        for value, count in values.value_counts().items():
            if count and value_text(value) not in levels:
                rows[value_text(value)] += count
    else:
        numbers = pd.Series(numbers_of(values, column)[0].astype(np.float64)).value_counts()
        rows.update({value_text(value): n for value, n in numbers[~numbers.index.isin(hierarchy.numbers)].items()})
    if rows:
        what = "1 value" if len(rows) == 1 else f"{len(rows):,} different values"
        problem = (
            f"{what} of {column.name!r} {'is' if len(rows) == 1 else 'are'} not in its public hierarchy, which has "
            f"{len(hierarchy.values):,}."
        )
        named = ", ".join(f"{text!r} ({plural(n, 'row')})" for text, n in rows.most_common(MOST_NAMED))
        more = f" and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else ""
        raise EncodeError(
            problem,
            in_full=f"{problem} Not in it: {named}{more}.",
            column=column.name,
            remedy="Add a row for every value that the column may have, or correct the values.",
        )
