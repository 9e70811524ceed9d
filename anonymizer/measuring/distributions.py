"""How a column is distributed before and after: what somebody sees who reads boxes by one-way tables, or evenly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.measuring.bins import Bins, bins_of, whole_step
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.schema import Kind
from anonymizer.values import value_text

Floats = NDArray[np.float64]

MOST_BINS = 40
MOST_LEVELS = 12


@dataclass(frozen=True, eq=False)
class Distribution:
    """One column in b bins, before and after; of records that were left out nothing is there after.

    ``edges`` (b + 1,): the bins of numbers and dates (microseconds since 1970), ``None`` for levels; ``labels`` (b,):
    each bin in words; ``before``, ``after`` (b,): records in each bin, those after are fractions. ``missing``: records
    without a value before and after, in no bin. ``title``: what it is called, its label with the name.
    """

    name: str
    kind: Kind
    edges: Floats | None
    labels: tuple[str, ...]
    before: Floats
    after: Floats
    missing: tuple[float, float]
    title: str = ""

    @property
    def moved(self) -> float:
        """Share of records that are in another bin after than before, or left out, at the least: the total variation
        distance."""
        total = float(self.before.sum() + self.missing[0])
        left_out = round(total - float(self.after.sum() + self.missing[1]))
        gap = np.abs(self.after - self.before).sum() + abs(self.missing[1] - self.missing[0]) + left_out
        return float(gap / 2 / total) if total else 0.0


def distributions(encoded: EncodedTable, boxed: BoxedTable) -> tuple[Distribution, ...]:
    """Return every generalized column before and after, the one that changed most first."""
    columns = (distribution(encoded, boxed, name) for name in encoded.names)
    return tuple(sorted(columns, key=lambda column: -column.moved))


def distribution(encoded: EncodedTable, boxed: BoxedTable, name: str) -> Distribution:
    """Return a generalized column of a release beside the encoded original, in the bins of
    :func:`anonymizer.measuring.bins.bins_of`: at most :data:`MOST_BINS`, or :data:`MOST_LEVELS` levels and the others.

    Raises :class:`ParameterError` when the column is not a generalized one.
    """
    if name not in encoded.names:
        raise ParameterError(f"Column {name!r} is not generalized.", column=name, remedy="Choose a quasi-identifier.")
    position = encoded.names.index(name)
    encoding = encoded.encodings[position]
    counts = np.bincount(encoded.codes.columns[position], minlength=encoding.n_codes)
    bins = bins_of(encoding, counts, MOST_BINS, MOST_LEVELS)
    shares, of_box = boxed.columns[position].shares(bins, boxed.readings.get(name))
    records = np.bincount(of_box[boxed.box[boxed.box >= 0]], minlength=len(shares))
    return _in_bins(bins, counts, records @ shares)


def distribution_of_counts(
    encoding: Encoding, counts: NDArray[np.integer], cells: Sequence[Cell], records: NDArray[np.integer]
) -> Distribution:
    """Return a column before and after, cells read evenly. ``counts`` (codes,): records of each code; ``records``: of
    each cell."""
    bins = bins_of(encoding, counts, MOST_BINS, MOST_LEVELS)
    return _in_bins(bins, counts, records @ bins.shares(cells))


def _in_bins(bins: Bins, counts: NDArray[np.integer], after: Floats) -> Distribution:
    encoding, name = bins.encoding, bins.encoding.name
    before: Floats = np.bincount(bins.of_code, counts, bins.count).astype(np.float64)
    labels = _interval_labels(bins, bins.edges) if bins.edges is not None else _level_labels(bins)
    missing = float(before[-1]), float(after[-1])
    return Distribution(
        name, encoding.kind, bins.edges, labels, before[:-1], after[:-1], missing, encoding.variable.full_name(name)
    )


def _interval_labels(bins: Bins, edges: Floats) -> tuple[str, ...]:
    encoding = bins.encoding
    step = whole_step(encoding)
    ends = np.minimum(edges[1:], encoding.domain[1] + step / 2) if step else edges[1:]
    return tuple(_bin_label(low, high, step, encoding.kind) for low, high in zip(edges[:-1], ends, strict=True))


def _level_labels(bins: Bins) -> tuple[str, ...]:
    members = [np.flatnonzero(bins.of_code == place) for place in range(bins.count - 1)]
    labels = bins.encoding.labels
    return tuple(value_text(labels[codes[0]]) if len(codes) == 1 else f"{len(codes):,} others" for codes in members)


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
