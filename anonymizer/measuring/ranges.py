"""How far counts of ranges are off, such as how many people are 30 to 39 and live in the north.

Asked are :data:`QUESTIONS` counts over ranges of two or three quasi-identifiers, of a table always the same ones: a run
of bins of numbers or dates, a half of the bins of levels, as those of :mod:`anonymizer.measuring.two_way`. The error of
a count is relative; a count of fewer than a hundredth of the records is measured against that, so that rare
combinations do not decide.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.kinds import every_record
from anonymizer.checking.linkage import LookAlikes
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.threads import one_thread
from anonymizer.measuring.bins import Bins, bins_of
from anonymizer.measuring.boxed import BoxedTable

QUESTIONS = 400
LEAST = 0.01
"""Share of the records that an error is measured against at the least."""
MOST_BINS, MOST_LEVELS = 10, 12
_BLOCK = 1 << 13
"""Boxes that are spread at a time."""


class Ranges(NamedTuple):
    """The mean relative error of counts over ranges: of a release, and of its original's exact one-way tables
    ``alone``."""

    error: float
    alone: float


Question = tuple[tuple[int, NDArray[np.float64]], ...]
"""Two or three columns, and which bins of each are asked for (bins,), as ones and zeros."""


def range_counts(
    encoded: EncodedTable, boxed: BoxedTable, kinds: LookAlikes | None = None, reading: str = "raked"
) -> Ranges | None:
    """Return how far counts are off when each record gets its box; ``None`` with fewer than two columns. ``kinds``: of
    records that are equal in all of it, when they are known; ``reading``: of boxes, "raked" or "even"."""
    kinds = kinds or every_record(encoded.n_records)
    codes = [column[kinds.first] for column in encoded.codes.columns]
    if len(codes) < 2:
        return None
    bins = [
        bins_of(e, np.bincount(own, kinds.sizes, e.n_codes).astype(np.int64), MOST_BINS, MOST_LEVELS)
        for own, e in zip(codes, encoded.encodings, strict=True)
    ]
    before = [own.of_code[code] for own, code in zip(bins, codes, strict=True)]
    questions = list(questions_of(bins))
    released, n, alone = np.zeros(len(questions)), float(encoded.n_records), []
    true = np.empty(len(questions))
    with one_thread():
        for number, question in enumerate(questions):
            inside = [some[before[column]] for column, some in question]
            true[number] = np.prod(inside, axis=0) @ kinds.sizes
            alone.append(n * np.prod([own @ kinds.sizes / n for own in inside]))
        for spread, sizes in _boxes(boxed, bins, reading):
            for number, question in enumerate(questions):
                released[number] += sizes @ np.prod([spread[column] @ some for column, some in question], axis=0)
    against = np.maximum(true, LEAST * n)
    return Ranges(*(float(np.mean(np.abs(some - true) / against)) for some in (released, np.array(alone))))


def questions_of(bins: list[Bins]) -> Iterator[Question]:
    """Return what is asked of columns in these bins."""
    rng = np.random.default_rng(0)
    for _ in range(QUESTIONS):
        columns = rng.choice(len(bins), min(len(bins), int(rng.integers(2, 4))), replace=False)
        yield tuple((int(column), _some(bins[column], rng)) for column in columns)


def _some(bins: Bins, rng: np.random.Generator) -> NDArray[np.float64]:
    some = np.zeros(bins.count)
    if bins.edges is not None:
        first, last = np.sort(rng.integers(0, bins.count, 2))
        some[first : last + 1] = 1.0
    else:
        some[rng.permutation(bins.count)[: max(1, bins.count // 2)]] = 1.0
    return some


def _boxes(
    boxed: BoxedTable, bins: list[Bins], reading: str
) -> Iterator[tuple[list[NDArray[np.float64]], NDArray[np.float64]]]:
    """Return some boxes at a time: how much of each lies in each bin, by column, and its records."""
    readings = boxed.readings if reading == "raked" else {}
    shares = [column.shares(own, readings.get(column.encoding.name))
              for column, own in zip(boxed.columns, bins, strict=True)]  # fmt: skip
    sizes = np.bincount(boxed.box[boxed.box >= 0], minlength=boxed.n_boxes).astype(np.float64)
    for first in range(0, boxed.n_boxes, _BLOCK):
        some = slice(first, first + _BLOCK)
        yield [part[of_box[some]] for part, of_box in shares], sizes[some]
