"""Rows sorted by whole numbers: by counting, sixteen bits at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[NDArray[np.integer[Any]], int]
"""Something that rows are sorted by: a whole number from 0 for each (n,), and what they are all below."""

_WIDEST, _DIGIT = 1 << 62, 16


def sorted_rows(keys: Sequence[Key], n: int) -> NDArray[np.int64]:
    """Return the n rows sorted by the first key, where that is equal by the second, and so on; where all are equal, as
    they stand."""
    wide: list[Key] = []
    for ranks, bound in keys:
        if wide and wide[-1][1] * bound < _WIDEST:
            wide[-1] = wide[-1][0].astype(np.int64) * bound + ranks, wide[-1][1] * bound
        else:
            wide.append((ranks, bound))
    rows: NDArray[np.int64] | None = None
    for ranks, bound in reversed(wide):
        for shift in range(0, (bound - 1).bit_length(), _DIGIT):
            digit = (ranks >> shift).astype(np.uint16)  # the lowest 16 bits of it
            by_digit = np.argsort(digit if rows is None else np.take(digit, rows), kind="stable")  # by counting
            rows = by_digit if rows is None else np.take(rows, by_digit)
    return np.arange(n) if rows is None else rows
