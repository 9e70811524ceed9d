"""How a column is distributed before and after: what somebody sees who reads every released cell evenly.

A cell that leaves several values open is shared out over them: an interval evenly along its length, a set evenly
over its levels. "Missing" counts as one more value, beside a set's levels or the distinct values in an interval.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.schema import Kind
from anonymizer.values import value_text

Floats = NDArray[np.float64]

MOST_BINS = 40
MOST_LEVELS = 12
_DAY = 86_400e6


@dataclass(frozen=True, eq=False)
class Distribution:
    """One column in b bins, before and after.

    ``edges`` (b + 1,): the bins of numbers and dates (microseconds since 1970), ``None`` for levels; ``labels`` (b,):
    each bin in words; ``before``, ``after`` (b,): records in each bin, those after are fractions. ``missing``: records
    without a value before and after, in no bin.
    """

    name: str
    kind: Kind
    edges: Floats | None
    labels: tuple[str, ...]
    before: Floats
    after: Floats
    missing: tuple[float, float]

    @property
    def moved(self) -> float:
        """Share of records that are in another bin after than before, at the least: the total variation distance."""
        total = float(self.before.sum() + self.missing[0])
        gap = np.abs(self.after - self.before).sum() + abs(self.missing[1] - self.missing[0])
        return float(gap / 2 / total) if total else 0.0


def distribution(encoded: EncodedTable, release: Release, name: str) -> Distribution:
    """Return a generalized column of a release beside the encoded original.

    Numbers and dates: at most :data:`MOST_BINS` bins of equal width over the domain; whole numbers and whole days
    are never divided. Levels: the :data:`MOST_LEVELS` most frequent of the original, most frequent first, in the
    domain's order when that is declared; the others together.

    Raises :class:`ParameterError` when the column is not a generalized one of both.
    """
    column = release[name]
    if name not in encoded.names or column.index is None:
        raise ParameterError(f"Column {name!r} is not generalized.", column=name, remedy="Choose a quasi-identifier.")
    position = encoded.names.index(name)
    encoding = encoded.encodings[position]
    counts = np.bincount(encoded.codes[:, position], minlength=encoding.n_codes).astype(np.float64)
    return _in_intervals(encoding, counts, column) if encoding.is_interval else _in_levels(encoding, counts, column)


def _in_intervals(encoding: Encoding, counts: Floats, column: ReleasedColumn) -> Distribution:
    present = counts[: len(encoding.labels)]
    numbers = (encoding.low + encoding.high) / 2
    step = whole_step(encoding)
    edges = bin_edges(*encoding.domain, step)
    at = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    before = np.bincount(at, weights=present, minlength=len(edges) - 1).astype(np.float64)
    low, high = np.array(
        [encoding.domain if c.low is None or c.high is None else (c.low, c.high) for c in column.cells]
    ).T
    inside = np.searchsorted(numbers, high, "right") - np.searchsorted(numbers, low, "left")
    shares = np.array(
        [
            _missing_share(cell, column.may_miss, others)
            for cell, others in zip(column.cells, np.maximum(1, inside).tolist(), strict=True)
        ]
    )
    n = column.counts()
    missing, present_after = float(n @ shares), n * (1 - shares)
    after = spread(edges, low - step / 2, high + step / 2, present_after)
    absent = float(counts[len(encoding.labels) :].sum())
    ends = np.minimum(edges[1:], encoding.domain[1] + step / 2) if step else edges[1:]
    labels = tuple(_bin_label(low, high, step, encoding.kind) for low, high in zip(edges[:-1], ends, strict=True))
    return Distribution(encoding.name, encoding.kind, edges, labels, before, after, (absent, float(missing)))


def _in_levels(encoding: Encoding, counts: Floats, column: ReleasedColumn) -> Distribution:
    levels = [value_text(label) for label in encoding.labels]
    place = {level: code for code, level in enumerate(levels)}
    after = np.zeros(len(levels))
    missing = 0.0
    for cell, n in zip(column.cells, column.counts(), strict=True):
        codes = list(range(len(levels))) if cell.withheld else [place[level] for level in cell.levels]
        share = _missing_share(cell, column.may_miss, len(codes))
        missing += n * share
        if codes:
            after[codes] += n * (1 - share) / len(codes)
    before = counts[: len(levels)]
    frequent = np.argsort(-before, kind="stable")
    top, others = frequent[:MOST_LEVELS], frequent[MOST_LEVELS:]
    if encoding.by_order:
        top = np.sort(top)
    labels = [levels[code] for code in top]
    shown_before, shown_after = before[top], after[top]
    if len(others):
        labels.append(f"{len(others):,} others")
        shown_before = np.append(shown_before, before[others].sum())
        shown_after = np.append(shown_after, after[others].sum())
    absent = float(counts[len(levels) :].sum())
    return Distribution(
        encoding.name, encoding.kind, None, tuple(labels), shown_before, shown_after, (absent, float(missing))
    )


def _missing_share(cell: Cell, may_miss: bool, others: int) -> float:
    """Return the part of a cell that goes to "missing", which counts as one value beside ``others``."""
    if not (may_miss if cell.withheld else cell.missing):
        return 0.0
    nothing_else = not cell.withheld and cell.ends is None and not cell.levels
    return 1.0 if nothing_else else 1 / (1 + others)


def whole_step(encoding: Encoding) -> float:
    """Return 1 for whole numbers, one day (in microseconds) for dates without a time, 0 for what can take any value."""
    unit = _DAY if encoding.kind is Kind.DATE else 1.0
    ends = np.concatenate([encoding.low, encoding.high, encoding.domain])
    return unit if bool(np.all(ends % unit == 0)) else 0.0


def bin_edges(low: float, high: float, step: float) -> Floats:
    """Return the edges (b + 1,) of at most :data:`MOST_BINS` bins that hold low to high, each the same multiple of a
    step wide."""
    if step:
        values = round((high - low) / step) + 1
        width = step * -(-values // MOST_BINS)
        return low - step / 2 + width * np.arange(-(-values * step // width) + 1)
    if high <= low:
        middle = max(abs(low), 1.0) / 2
        return np.array([low - middle, low + middle])
    return np.linspace(low, high, MOST_BINS + 1)


def spread(edges: Floats, low: Floats, high: Floats, weights: Floats) -> Floats:
    """Return how much of some runs from low to high (q,) falls into each bin (b,), each run laid out evenly and
    weighing ``weights`` (q,); all of a single point lies in the bin that holds it."""
    wide = high > low
    ends = np.clip(edges[:, None], low[wide], high[wide])
    density = (np.diff(ends, axis=0) / (high[wide] - low[wide])) @ weights[wide]
    at = np.clip(np.searchsorted(edges, low[~wide], side="right") - 1, 0, len(edges) - 2)
    return np.asarray(density + np.bincount(at, weights=weights[~wide], minlength=len(edges) - 1))


def _bin_label(low: float, high: float, step: float, kind: Kind) -> str:
    first, last = low + step / 2, high - step / 2
    ends = (first,) if first == last else (first, last)
    return " to ".join(_number_text(end, kind, step) for end in ends)


def _number_text(number: float, kind: Kind, step: float) -> str:
    if kind is Kind.DATE:
        return str(np.datetime64(int(number), "us").astype("datetime64[D]" if step else "datetime64[m]")).replace(
            "T", " "
        )
    return f"{number:,.0f}" if step else f"{number:,.4g}"
