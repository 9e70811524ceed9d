"""What is said of the values of a column, however its file was read: one value in all records, marks of missing."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.reading.options import Problem

LEAST_OTHERS, LEAST_RECORDS, MOST_MARKS = 3, 3, 5
"""Other values that a column must have, records that must share a value far from them, and how many such values are
looked for at each end."""

STANDS_FOR_NONE = tuple(
    np.datetime64(day, "us")
    for day in (
        "0001-01-01", "1111-11-11", "1582-10-14", "1899-12-30", "1899-12-31", "1900-01-01", "1900-01-02", "1901-01-01",
        "1960-01-01", "1970-01-01", "2099-12-31", "2100-01-01", "2999-12-31", "3000-01-01", "9999-01-01", "9999-12-31",
    )
)  # fmt: skip
"""Days that programs write where none is known."""

MORE_OFTEN = 5
"""Times that such a day at an end of its column stands there more often than any other, so that it is doubted."""


def table_remarks(frame: pd.DataFrame) -> list[Problem]:
    """Return what is to be said of the values of each column of a table."""
    problems = []
    for name in map(str, frame.columns if len(frame) > 1 else ()):
        values = frame[name]
        first = values.iloc[0]
        same = len(values.cat.categories) == 1 if isinstance(values.dtype, pd.CategoricalDtype) else None
        if same is None:
            same = bool(values.iloc[-1] == first) and bool((values == first).all()) if pd.notna(first) else False
        constant = same and not values.isna().any()
        problems += constant_problem(name) if constant else marks_problem(name, values)
    return problems


def constant_problem(name: str) -> list[Problem]:
    """Return the problem of a column with one value in all records."""
    text = f"Column {name!r} has the same value in every row."
    return [Problem("info", text, name, remedy="It tells nobody apart; it may as well be left out.")]


def marks_problem(name: str, values: "pd.Series[Any]", records_of: NDArray[np.int64] | None = None) -> list[Problem]:
    """Return a problem where numbers or dates hold what may be marks of missing. ``records_of``: how many records have
    each of the values (d,), where these are the distinct ones; ``None``: one each."""
    if not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iufM":
        return []
    marks = far_values(values.to_numpy(), records_of)
    if not marks:
        return []
    values_text = " and ".join(f"{_text(mark)} ({count:,} rows)" for mark, count in marks)
    verb = "is" if len(marks) == 1 else "are"
    text = f"Column {name!r}: {values_text} {verb} far from all other values, or a usual mark. Does it mean missing?"
    remedy = "If so, list it among the texts that mean missing, or correct it in the file; else it stays a value."
    return [Problem("warning", text, name, remedy=remedy)]


def far_values(values: NDArray[Any], records_of: NDArray[np.int64] | None = None) -> list[tuple[Any, int]]:
    """Return the values that may be marks of missing, ascending, and how many records have each.

    They stand at an end of the column, several records share each, and their distance from the next value is larger
    than that between all the others; or they are days that programs write where none is known.
    """
    there = ~np.isnat(values) if values.dtype.kind == "M" else np.isfinite(values)
    values, weights = values[there], None if records_of is None else records_of[there]
    if len(values) < LEAST_OTHERS + 1 or not _shared_end(values, weights):
        return []
    labels, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights).astype(np.int64)
    low, high = 0, len(labels)
    while count := _far_end(labels[low:high], counts[low:high]):
        low, high = low + max(count, 0), high + min(count, 0)
    marks = [*range(low), *range(high, len(labels))]
    if labels.dtype.kind == "M" and not marks and len(labels) > LEAST_OTHERS:
        most = int(np.sort(counts)[-2])
        marks = [at for at in (0, len(labels) - 1) if labels[at] in STANDS_FOR_NONE and counts[at] >= MORE_OFTEN * most]
    return [(labels[at], int(counts[at])) for at in marks]


def _shared_end(values: NDArray[Any], weights: NDArray[np.int64] | None) -> bool:
    """Return whether enough records share the least or the largest value: most columns are done here."""
    for end in (values.min(), values.max()):
        same = values == end
        if int(same.sum() if weights is None else weights[same].sum()) >= LEAST_RECORDS:
            return True
    return False


def _far_end(labels: NDArray[Any], counts: NDArray[np.int64]) -> int:
    """Return how many values at the upper end (below 0) or the lower one (above 0) are far from all others; 0: none."""
    for count in range(1, min(MOST_MARKS, len(labels) - LEAST_OTHERS) + 1):
        if counts[-count:].min() >= LEAST_RECORDS and _apart(labels[-count - 1], labels[-count], labels[:-count]):
            return -count
        if counts[:count].min() >= LEAST_RECORDS and _apart(labels[count - 1], labels[count], labels[count:]):
            return count
    return 0


def _apart(low: Any, high: Any, others: NDArray[Any]) -> bool:
    """Return whether two neighbours are further apart than the ends of the others."""
    return bool(_distance(low, high) > _distance(others[0], others[-1]))


def _distance(low: Any, high: Any) -> Any:
    return high - low if isinstance(low, np.datetime64) else float(high) - float(low)


def _text(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    return f"{float(value):.15g}"
