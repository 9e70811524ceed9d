"""Slow twins of reading boxes by one-way tables: one box at a time, by bisection, as a recipient would write it."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from anonymizer.cells import Cell
from anonymizer.flow import Flow
from anonymizer.growing.encode import Encoding
from anonymizer.measuring.bins import bins_of
from anonymizer.releasing.one_way import BoxReading
from anonymizer.schema import Kind
from tests.naive_measures import NaiveBins

Part = tuple[float, float, float] | str | None
"""What may be said of somebody: from a number to another in steps of 1, of a day or none; a level; or missing."""
Box = tuple[int, list[int], list[int]]
"""Its records, the atoms that it leaves open, and those of them that somebody surely has."""


def expected(n: int, weights: Sequence[float], certain: Sequence[bool]) -> list[float]:
    """The expected records of each atom of a box under weights."""
    if sum(certain) > n:
        certain = [False] * len(weights)
    total = sum(weights)
    shares = [weight / total for weight in weights] if total else [1 / len(weights)] * len(weights)

    def counts(rate: float) -> list[float]:
        return [
            rate * w if not sure else 1.0 if rate * w < 1e-12 else rate * w / -math.expm1(-rate * w)
            for w, sure in zip(shares, certain, strict=True)
        ]

    low, high = 0.0, float(n)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(counts(middle)) > n else (middle, high)
    return [count * n / sum(counts(high)) for count in counts(high)]


def all_expected(boxes: Sequence[Box], weights: Sequence[float]) -> list[list[float]]:
    return [
        expected(n, [weights[one] for one in members], [one in sure for one in members]) for n, members, sure in boxes
    ]


def sums(boxes: Sequence[Box], weights: Sequence[float]) -> list[float]:
    there = [0.0] * len(weights)
    for (_, members, _), counts in zip(boxes, all_expected(boxes, weights), strict=True):
        for atom, count in zip(members, counts, strict=True):
            there[atom] += count
    return there


def self_consistent(boxes: Sequence[Box], even: Sequence[float], rounds: int = 40, close: float = 1e-3) -> list[float]:
    """The weights that boxes give back."""
    weights = [one / sum(even) for one in even]
    n = sum(box[0] for box in boxes)
    for _ in range(rounds):
        before, weights = weights, [one / n for one in sums(boxes, weights)]
        if sum(abs(a - b) for a, b in zip(before, weights, strict=True)) < close:
            break
    return weights


def rake(boxes: Sequence[Box], start: Sequence[float], cells: Sequence[Sequence[int]], counts: Sequence[float],
         rounds: int = 60, close: float = 1e-3) -> list[float]:  # fmt: skip
    """The weights with which boxes come nearest to a table of these cells."""
    n = sum(box[0] for box in boxes)
    counts = [count * n / sum(counts) for count in counts]
    weights = [0.0] * len(start)
    for cell, count in zip(cells, counts, strict=True):
        inside = sum(start[atom] for atom in cell)
        for atom in cell:
            weights[atom] = max(count * (start[atom] / inside if inside else 1 / len(cell)), 1e-9)
    best, least = weights, math.inf
    for _ in range(rounds):
        there = sums(boxes, weights)
        in_cells = [sum(there[atom] for atom in cell) for cell in cells]
        off = sum(abs(count - now) for count, now in zip(counts, in_cells, strict=True))
        if off < least - 1e-6 * n:
            best, least = weights, off
        if off < close * n:
            break
        weights = list(weights)
        for cell, count, now in zip(cells, counts, in_cells, strict=True):
            for atom in cell:
                weights[atom] *= min(20.0, max(1 / 20, count / now)) if now else 1.0
        weights = [max(weight / max(weights), 1e-9) for weight in weights]
    return best


def parts_of(flow: Flow, name: str) -> list[list[tuple[Part, float]]]:
    """What the box of each record that is there says of a column, with its share: the records as the table has them."""
    column, reading = flow.release[name], flow.boxed.readings.get(name)
    encoding = flow.encoded.encodings[flow.encoded.names.index(name)]
    cell_of, box_of = dict(zip(flow.release.order, column.index, strict=True)), {}
    if reading is not None:
        box_of = dict(zip(flow.release.order, flow.look_alikes.class_of, strict=True))
    memory: dict[tuple[int, int], list[tuple[Part, float]]] = {}
    parts = []
    for record in sorted(cell_of):
        kind = -1 if reading is None else int(reading.boxes.kind[box_of[record]])
        key = int(cell_of[record]), kind
        if key not in memory:
            memory[key] = _parts(column.cells[key[0]], encoding, reading, kind)
        parts.append(memory[key])
    return parts


def _parts(cell: Cell, encoding: Encoding, reading: BoxReading | None, kind: int) -> list[tuple[Part, float]]:
    if reading is None and not encoding.is_interval:
        levels = [encoding.text(code) for code in range(encoding.n_codes)]
        members = levels if cell.withheld else [*cell.levels, *[None] * cell.missing]
        weights = dict(zip(members, cell.counts or [1] * len(members), strict=True))
        return [(one, weights.get(one, 0) / sum(weights.values())) for one in levels]
    if reading is None:
        if cell.low is None:
            return [(None, 1.0)]
        return [((cell.low, cell.high, 0.0), 1 - cell.missing / 2), (None, cell.missing / 2)]
    atoms, shares = reading.atoms, reading.shares[kind].toarray()[0]
    if atoms.levels:
        return [(level, shares[place]) for place, level in enumerate([*atoms.levels, *[None] * atoms.missing])]
    parts: list[tuple[Part, float]] = []
    for place in range(len(atoms.low)):
        ends = [end for end in (atoms.low[place], atoms.high[place]) if math.isfinite(end)]
        parts.append(((ends[0], ends[-1], atoms.gap), shares[place]))
    if cell.estimate:
        parts = [((cell.low, cell.low, 0.0), sum(share for _, share in parts))]
    return parts + [(None, shares[-1])] * atoms.missing


def middle(part: Part) -> float | str | None:
    return (part[0] + part[1]) / 2 if isinstance(part, tuple) else part


def expanded(flow: Flow, name: str) -> pd.DataFrame:
    """A row for each level that a record may have, one for its mean number and one for missing, with the share."""
    rows = []
    for record, parts in zip(sorted(flow.release.order), parts_of(flow, name), strict=True):
        numbers = [(middle(part), share) for part, share in parts if isinstance(part, tuple)]
        present = sum(share for _, share in numbers)
        if present:
            rows.append((record, sum(number * share for number, share in numbers) / present, present))
        rows += [(record, part, share) for part, share in parts if not isinstance(part, tuple) and share]
    return pd.DataFrame(rows, columns=["row", name, "share"])


def values_of(flow: Flow, name: str, rng: np.random.Generator) -> list[float | str | None]:
    """A value of each record that is there, as the measures draw it."""
    parts, encoding = parts_of(flow, name), flow.encoded.encodings[flow.encoded.names.index(name)]
    which = rng.random(len(parts))
    places = rng.random(len(parts)) if encoding.is_interval else which
    values: list[float | str | None] = []
    for own, at, place in zip(parts, which, places, strict=True):
        total, below = sum(share for _, share in own), 0.0
        for part, share in own:  # noqa: B007
            below += share
            if below > at * total:
                break
        if isinstance(part, tuple):
            low, high, step = part
            if step:
                values.append(low + step * math.floor(place * (round((high - low) / step) + 1)))
            else:
                low, high = (min(max(end, encoding.domain[0]), encoding.domain[1]) for end in (low, high))
                values.append(low + place * (high - low))
        else:
            values.append(part)
    return values


def raked_mean(flow: Flow) -> float:
    """The mean distance of two-way tables of boxes that are read as the flow's readings say, one row at a time."""
    names = [*flow.schema.quasi_identifying, *flow.schema.sensitive]
    quasi = list(flow.schema.quasi_identifying)
    shares, before = {}, {}
    for position, name in enumerate(quasi):
        encoding, codes = flow.encoded.encodings[position], flow.encoded.codes.columns[position]
        bins = bins_of(encoding, np.bincount(codes, minlength=encoding.n_codes), 10, 12)
        before[name] = np.eye(bins.count)[bins.of_code[codes]]
        reading = flow.boxed.readings.get(name)
        if reading is None:
            column = flow.release[name]
            shares[name] = bins.shares(column.cells)[column.index]
        else:
            own = reading.boxes.shares(reading.weights).toarray() @ bins.of_atoms(reading.atoms)
            shares[name] = own[reading.boxes.kind[flow.look_alikes.class_of]]
    for name in names[len(quasi) :]:
        column = flow.schema[name]
        numeric = column.kind is not Kind.CATEGORICAL
        bins = NaiveBins(flow.table[name], column.kind, column.domain, whole=False if numeric else None)
        places = [bins.of(value) for value in flow.table[name]]
        before[name] = np.array([[float(place == other) for other in sorted(set(places), key=str)] for place in places])
        shares[name] = before[name][flow.release.order]
    distances = []
    for number, first in enumerate(quasi):
        for second in names[number + 1 :]:
            off = shares[first].T @ shares[second] - before[first].T @ before[second]
            distances.append((np.abs(off).sum() + flow.left_out) / 2 / len(flow.table))
    return float(np.mean(distances))
