"""Public grids: cells of numbers and dates, in whose ends the ends of boxes are written; and public groups of levels.

An end is somebody's value only where values lie on the grid themselves.

A grid divides a column's numbers into cells. A box is written from the lower end of the cell of its lowest value to the
upper end of the cell of its highest, whoever is in it. Which cells there are follows from a step and its origin, and
from bounds beyond which fewer than k records lie: there the outermost cells are joined (top and bottom coding).

A declared step is used from end to end, and the outermost cells end where a coarser step does. A proposed one fits the
middle nine tenths of the records; beyond them cells double until k persons are in each, and the last one ends a step
beyond the data. Values that 2k persons or more have, each of them, are cells themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from anonymizer.cuts import DATE_STEPS
from anonymizer.errors import SchemaError
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.schema import Column, Kind, Schema
from anonymizer.values import EXACT, count_codes, value_text

Floats = NDArray[np.float64]

FEWEST_STEPS = 20
"""A step that is proposed divides the middle of the records into at least so many."""
EDGE = 0.05
"""Share of the records below their middle, and above it."""
FAR = 1_000
"""Steps beyond the middle, from where on only every second, fourth, eighth … begins a cell."""
MOST_CELLS = 100_000
"""Most cells of a declared step."""
FEWEST_GROUPED = 4
"""Fewer levels are one public group, unless groups were declared."""
COARSER = {"day": "month", "week": "month", "month": "year", "quarter": "year", "year": "decade"}
"""Where joined outermost cells of dates end; those of numbers end at ten steps."""
BANDS = "band"
"""The step of a grid whose cells are public bands."""
VALUES = "value"
"""The step of a grid whose cells are the values that occur."""
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
SECOND, DAY = 1_000_000, 86_400_000_000
"""Microseconds."""
CALENDAR = tuple(float(np.datetime64(end, "us").astype(np.int64)) for end in ("0001-01-01", "10000-01-01"))
"""From the first moment that can be written on, to before the second."""


@dataclass(frozen=True, eq=False)
class Grid:
    """c cells: their lowest and highest numbers ``low`` and ``high`` (c,), ascending; dates as microseconds since 1970.

    Cells of whole numbers and of whole days end before the next begins, others where it begins; those of a column
    whose values are all multiples of the step are single numbers. ``step``: what they are multiples of, as a steward
    would say it. ``coded``: whether the lowest, and the highest, cell were joined of several because few records lie
    there. ``even``: the first and the last of the cells that are a step wide each; ``None`` where all but these are.
    """

    low: Floats
    high: Floats
    step: float | str
    kind: Kind
    coded: tuple[bool, bool] = (False, False)
    even: tuple[int, int] | None = None

    def cells(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the cell that each number lies in."""
        cells = np.searchsorted(self.low, numbers, side="right").astype(np.int64) - 1
        if self.low[0] == -np.inf:  # a bottom code is in the open cell, also where the next one begins at it
            cells[numbers <= self.high[0]] = 0
        return cells

    def closed(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return ends (q,) of which an open one is a number of the outermost cell; where both are open, they stay."""
        up, down = np.isposinf(high) & np.isfinite(low), np.isneginf(low) & np.isfinite(high)
        return np.where(down, self.high[0], low), np.where(up, self.low[-1], high)

    def low_text(self, cell: int) -> str:
        """Return the lower end of a cell as it is written; "" where it is open."""
        return end_text(self.low[cell], self.kind)

    def high_text(self, cell: int) -> str:
        """Return the upper end of a cell as it is written; "" where it is open."""
        return end_text(self.high[cell], self.kind)

    @property
    def domain(self) -> tuple[str, str]:
        """The lowest and the highest end that is written."""
        return self.low_text(0) or self.high_text(0), self.high_text(-1) or self.low_text(-1)

    def describe(self) -> str:
        """Return where the cells end in words."""
        if self.step == BANDS:
            return f"public bands, which begin at {', '.join(self.low_text(cell) for cell in range(len(self.low)))}"
        if self.step == VALUES:
            return "the values themselves, each of which 2k people or more have"
        words = f"whole {self.step}s" if isinstance(self.step, str) else f"steps of {value_text(self.step)}"
        if self.even is not None:
            first, last = self.even
            words += f" from {self.low_text(first)} to {self.high_text(last)}, wider beyond"
        if self.coded[0] or self.low[0] == -np.inf:
            words += f", up to {self.high_text(0)} as one"
        if self.coded[1] or self.high[-1] == np.inf:
            words += f", from {self.low_text(-1)} on as one"
        return words


def end_text(end: float, kind: Kind) -> str:
    """Return an end as it is written, "" where it is infinite. ``end``: of dates, in microseconds since 1970."""
    if np.isinf(end):
        return ""
    return value_text(np.datetime64(int(end), "us") if kind is Kind.DATE else float(end))


def grids_of(encoded: EncodedTable, schema: Schema, k: int) -> dict[str, Grid]:
    """Return the grid of each quasi-identifying column of numbers or dates that has any value.

    ``k``: fewest persons of an outermost cell. Raises :class:`SchemaError` for a declared step that divides a column
    into more than :data:`MOST_CELLS`.
    """
    return grids_at(ladders_of(encoded, schema), k)


def ladders_of(encoded: EncodedTable, schema: Schema) -> "dict[str, Ladder]":
    """Return what :func:`grids_of` joins into grids of any k, by column. Raises what that does."""
    ladders = {}
    for encoding, codes in zip(encoded.encodings, encoded.codes.columns, strict=True):
        if encoding.is_interval and encoding.hierarchy is None:
            records = count_codes(codes, len(encoding.labels))
            persons = None if encoded.person is None else ends_of_persons(codes, encoded.person, len(encoding.labels))
            if records.any():
                ladders[encoding.name] = ladder_of(encoding, records, schema[encoding.name], persons)
    return ladders


def grids_at(ladders: "Mapping[str, Ladder]", k: int) -> dict[str, Grid]:
    """Return grids whose outermost cells hold at least k persons."""
    return {name: ladder.grid(k) for name, ladder in ladders.items()}


def public_parts(
    encoded: EncodedTable, schema: Schema, k: int | None, writing: str
) -> dict[str, "Grid | dict[str, int]"]:
    """Return what the ends and levels of boxes stand for where they are public, by column: the steps of a grid, or
    the number of the public group of each level. ``k``: of the grids, ``None`` where ends are values unless cut."""
    grids = grids_of(encoded, schema, 1 if k is None else k)
    parts: dict[str, Grid | dict[str, int]] = {
        name: grid for name, grid in grids.items() if k is not None or schema[name].cuts
    }
    for encoding in encoded.encodings if writing == "groups" else ():
        if not encoding.is_interval:
            groups = groups_of_levels(encoding, schema[encoding.name]).tolist()
            parts[encoding.name] = dict(zip(map(value_text, encoding.labels), groups, strict=True))
    for encoding in encoded.encodings:
        if encoding.hierarchy is not None and not encoding.is_interval:
            parts[encoding.name] = dict(zip(encoding.hierarchy.values, encoding.hierarchy.parents, strict=True))
    return parts


def coarsen(encoded: EncodedTable, schema: Schema, k: int | None) -> EncodedTable:
    """Return the same records on the grids of k; without a k, where ends are values, as they are."""
    return encoded if k is None else on_grids(encoded, grids_of(encoded, schema, k))


def on_grids(encoded: EncodedTable, grids: Mapping[str, Grid]) -> EncodedTable:
    """Return the same records, in codes that reach from end to end of their cells, as far as the domain goes.

    What a hull of such codes loses is what its box loses as it is written. A single code that shares a cell with others
    is as wide as the cell.
    """
    return replace(encoded, encodings=tuple(_on_grid(e, grids.get(e.name)) for e in encoded.encodings))


def _on_grid(encoding: Encoding, grid: Grid | None) -> Encoding:
    if grid is None or encoding.point or encoding.hierarchy is not None:  # as wide as they are written
        return encoding
    last = len(grid.low) - 1  # values of other records of the same encoding can lie beyond
    first, final = (np.clip(grid.cells(ends), 0, last) for ends in (encoding.low, encoding.high))
    low, high = (np.clip(ends, *encoding.domain) for ends in (grid.low[first], grid.high[final]))
    ranks = encoding.ranks
    if ranks is not None:  # of the lowest and of the highest value in the same cell: both ascend
        ranks = np.stack([
            ranks[0, np.searchsorted(first, first)], ranks[1, np.searchsorted(final, final, side="right") - 1]
        ])  # fmt: skip
    return replace(encoding, low=low, high=high, ranks=ranks, exact=encoding.exact or encoding)


@dataclass(frozen=True, eq=False)
class Ladder:
    """The cells of a column from step to step, none joined yet, with what joining them takes.

    ``low``, ``high`` (c,): see :class:`Grid`; ``below``, ``above`` (c,): persons in each cell or beyond; ``outer``:
    where joined outermost cells end; ``domain``: the declared one, which no cell leaves; ``open``: whether the lowest
    and the highest cell are open, by public cuts; ``fixed``: no cells are joined, for a steward said them all.

    Of a proposed step, ``middle``: the first and the last cell that stay as they are unless they are outermost;
    ``values``: those that occur, and how many persons have the rarest of them, at least.
    """

    low: Floats
    high: Floats
    step: float | str
    kind: Kind
    below: NDArray[Any]
    above: NDArray[Any]
    outer: tuple[float, float]
    domain: tuple[float, float] | None
    open: tuple[bool, bool] = (False, False)
    fixed: bool = False
    middle: tuple[int, int] | None = None
    values: tuple[Floats, int] | None = None

    def grid(self, k: int) -> Grid:
        """Return the grid whose outermost cells hold at least k persons, and so do those beyond the middle."""
        if self.step == BANDS:
            return Grid(self.low.copy(), np.append(self.high[:-1], np.inf), self.step, self.kind)
        if self.values is not None and self.values[1] >= 2 * k:
            return Grid(self.values[0], self.values[0].copy(), VALUES, self.kind)
        starts, coded = self._starts(0 if self.fixed else k)
        ends = np.append(starts[1:] - 1, len(self.low) - 1)
        low, high, even = self.low[starts], self.high[ends], None
        if self.middle is None:
            low[0], high[-1] = self.outer[0] if coded[0] else low[0], self.outer[1] if coded[1] else high[-1]
        else:
            runs = np.split(np.arange(len(starts)), np.flatnonzero(starts[:-1] < ends[:-1]) + 1)
            longest = max(runs, key=len)
            longest = longest[starts[longest] == ends[longest]]
            if 0 < len(longest) < len(starts) - sum(coded):
                even = int(longest[0]), int(longest[-1])
        if self.domain is not None:
            low, high = np.clip(low, *self.domain), np.clip(high, *self.domain)
        low[0], high[-1] = -np.inf if self.open[0] else low[0], np.inf if self.open[1] else high[-1]
        return Grid(low, high, self.step, self.kind, coded, even)

    def _starts(self, k: int) -> tuple[NDArray[np.int64], tuple[bool, bool]]:
        """Return which cells begin a cell of the grid of k, and whether the two outermost of these are joined."""
        c = len(self.low)
        first, last = int(np.sum(self.below < k)), int(np.sum(self.above >= k)) - 1
        if first >= last:
            return np.zeros(1, np.int64), (c > 1, c > 1)
        low, high = self.middle or (first + 1, last - 1)
        low, high = min(max(first + 1, low), last), max(min(last - 1, high), first)
        upper = double(self.above[0] - self.above, high + 1, last, k)
        lower = double(self.below[-1] - self.below[::-1], c - low, c - 1 - first, k)
        starts = np.unique([0, *(c - border for border in lower), *range(low, high + 1), *upper])
        return starts, (first > 0, last < c - 1)


def ladder_of(
    encoding: Encoding,
    records: NDArray[np.int64],
    column: Column,
    persons: "PersonEnds | None" = None,
) -> Ladder:
    """Return the cells of one column. ``records`` (b,): how many have each code that is a value; ``persons``: what
    :func:`ends_of_persons` says, where records are not persons."""
    if column.cuts.bands:
        nobody = np.zeros(len(encoding.low), np.int64)
        ends = encoding.domain
        return Ladder(encoding.low, encoding.high, BANDS, column.kind, nobody, nobody, ends, None, (False, True))
    if column.cuts.rounding is not None:
        return rounded_ladder(encoding, column)
    present = np.flatnonzero(records)
    lowest, highest = encoding.low[present], encoding.high[present]
    ends = encoding.domain if column.domain is not None else (float(lowest[0]), float(highest[-1]))
    exact = np.array_equal(lowest, highest)  # codes of several values hold some that are not known here
    whole = whole_unit(lowest, column.kind) if exact else 0.0
    step, origin = column.grid or (None, 0.0)
    middle = middle_of(lowest, highest, records[present])
    if step is None:
        step = proposed_step(*middle, column.kind, whole)
    line = lines(*ends, step, origin, column, None if column.grid else middle)
    gap = whole if whole and bool(np.all(line % whole == 0)) else 0.0
    if exact and bool(np.isin(lowest, line).all()):
        low = high = line[(line >= ends[0]) & (line <= ends[1])]
    else:
        low, high = line[:-1], line[1:] - gap
    if column.kind is Kind.DATE:
        low, high = np.maximum(low, CALENDAR[0]), np.minimum(high, CALENDAR[1] - (gap or SECOND))
    low, high, opens = cut_cells(low, high, gap, column)
    cell = np.maximum(np.searchsorted(low, encoding.low, side="right") - 1, 0)
    of_codes = persons or (records, records)
    beyond = tails(cell, *of_codes, len(low))
    domain = None if column.domain is None else ends
    if column.grid:
        around = lines(*ends, COARSER[step] if isinstance(step, str) else 10 * step, origin, column)
        outer = float(around[0]), float(around[-1] - gap)
        return Ladder(low, high, step, column.kind, *beyond, outer, domain, opens)
    rarest = int(np.maximum(*of_codes)[present].min())
    return Ladder(
        low, high, step, column.kind, *beyond, ends, domain, opens,
        middle=(int(np.sum(low <= middle[0])) - 1, int(np.sum(low <= middle[1])) - 1),
        values=(lowest, rarest) if exact and not column.cuts and domain is None else None,
    )  # fmt: skip


def middle_of(low: Floats, high: Floats, records: NDArray[np.int64]) -> tuple[float, float]:
    """Return the ends of the middle of some records, without :data:`EDGE` of them on each side; where one value is all
    of it, also those of the others' middle. ``low``, ``high`` (b,): of each code; ``records`` (b,): who have it."""
    share = np.cumsum(records) / records.sum()
    first, last = np.searchsorted(share, (EDGE, 1 - EDGE))
    if first == last and len(records) > 1:
        others = np.delete(np.arange(len(records)), first)
        ends = middle_of(low[others], high[others], records[others])
        return min(float(low[first]), ends[0]), max(float(high[first]), ends[1])
    return float(low[first]), float(high[last])


def rounded_ladder(encoding: Encoding, column: Column) -> Ladder:
    """Return the cells of a column that is rounded: a number each."""
    step = cast(float, column.cuts.rounding)
    ends = encoding.domain[0] + encoding.point / 2, encoding.domain[1] - encoding.point / 2
    line = column.cuts.rounded(lines(*ends, step, 0.0, column))
    line = line[(line >= ends[0]) & (line <= ends[1])]
    nobody, codes = np.zeros(len(line), np.int64), column.cuts.codes
    opens = codes[0] > -np.inf, codes[1] < np.inf
    return Ladder(line, line.copy(), step, column.kind, nobody, nobody, ends, None, opens, fixed=True)


def cut_cells(low: Floats, high: Floats, gap: float, column: Column) -> tuple[Floats, Floats, tuple[bool, bool]]:
    """Return cells between the bottom and the top code of a column, each code a cell of its own, and whether the lowest
    and the highest one are open. ``gap``: 1 where cells do not touch."""
    bottom, top = column.cuts.bottom, column.cuts.top
    if top is not None:
        low, high = np.append(low[low < top], top), np.append(np.minimum(high[low < top], top - gap), top)
    if bottom is not None:
        above = high > bottom
        low, high = np.append(bottom, np.maximum(low[above], bottom + gap)), np.append(bottom, high[above])
    return low, high, (bottom is not None, top is not None)


def groups_of_levels(encoding: Encoding, column: Column) -> NDArray[np.int64]:
    """Return the public group of each level of a categorical column, (b,): as declared, each other level its own group.

    Without a declaration b levels make runs of ⌈√b⌉ that follow each other, in the order of the domain; fewer than four
    make one group.
    """
    b = len(encoding.labels)
    if column.groups is None:
        return np.arange(b) // (max(b, 1) if b < FEWEST_GROUPED else int(np.ceil(np.sqrt(b))))
    group_of = {level: number for number, group in enumerate(column.groups) for level in group}
    return np.array([group_of.get(str(level), len(group_of) + code) for code, level in enumerate(encoding.labels)])


PersonEnds = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Of how many persons each code (b,) is the lowest, and of how many the highest."""


def tails(
    cell: NDArray[np.int64], lowest: NDArray[np.int64], highest: NDArray[np.int64], c: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many have a value in each cell or a lower one, and in each or a higher one, (c,) both. ``cell`` (b,):
    of each code that is a value; ``lowest``, ``highest`` (b,): of how many each code is the lowest and the highest."""
    below, above = (np.bincount(cell, counts, minlength=c).astype(np.int64) for counts in (lowest, highest))
    return np.cumsum(below), np.cumsum(above[::-1])[::-1]


def ends_of_persons(codes: NDArray[Any], person: NDArray[Any], b: int) -> PersonEnds:
    """Return of how many persons each code that is a value (b,) is the lowest, and the highest, of all their records.
    ``codes`` (n,): of the records; ``person`` (n,): whose each is, -1 for nobody's."""
    of_somebody = (person >= 0) & (codes < b)
    whose, own = person[of_somebody], codes[of_somebody].astype(np.int64)
    lowest, highest = np.full(int(whose.max(initial=-1)) + 1, b), np.full(int(whose.max(initial=-1)) + 1, -1)
    np.minimum.at(lowest, whose, own)
    np.maximum.at(highest, whose, own)
    has_value = highest >= 0
    return np.bincount(lowest[has_value], minlength=b), np.bincount(highest[has_value], minlength=b)


def double(before: NDArray[Any], begin: int, end: int, k: int) -> list[int]:
    """Return where cells begin that are joined of some from ``begin`` on to the ``end``, and where what is beyond them
    does: each is as wide as the one before it, or so often twice as wide that k persons are in it. ``before`` (c,): how
    many are in cells before each. Cells of fewer that are left at the end belong to what is beyond."""
    starts, width = [begin], 1
    while starts[-1] < end:
        start = starts[-1]
        while start + width < end and before[start + width] - before[start] < k:
            width *= 2
        stop = min(start + width, end)
        if before[stop] - before[start] < k:
            break
        starts.append(stop)
    return starts


def whole_unit(numbers: Floats, kind: Kind) -> float:
    """Return 1 for whole numbers, a day for dates without a time, 0 for what can take any value."""
    unit = float(DAY) if kind is Kind.DATE else 1.0
    return unit if bool(np.all((numbers % unit == 0) & (np.abs(numbers) < EXACT * unit))) else 0.0


def proposed_step(low: float, high: float, kind: Kind, whole: float) -> float | str:
    """Return the largest of 1, 2, 5 × 10^j, or of day to year, that divides low to high into at least
    :data:`FEWEST_STEPS`; 1 or a day where the column's whole numbers or days are fewer."""
    if kind is Kind.DATE:
        days = (high - low) / DAY
        fitting = [name for name, length in DATE_STEPS.items() if days / length >= FEWEST_STEPS]
        return fitting[-1] if fitting else "day"
    width = (high - low) / FEWEST_STEPS
    if width <= 0:
        return 1.0
    exponent = int(np.floor(np.log10(width)))
    steps = [float(f"{digit}e{power}") for power in (exponent - 1, exponent, exponent + 1) for digit in (1, 2, 5)]
    return max(max(step for step in steps if step <= width * (1 + 1e-12)), whole)


def lines(
    low: float, high: float, step: float | str, origin: float, column: Column, middle: tuple[float, float] | None = None
) -> Floats:
    """Return the multiples of a step from an origin, from the last at or below ``low`` to the first above ``high``.

    ``middle``: of a step that is proposed, so that there are few far from it: see :data:`FAR`. Raises
    :class:`SchemaError` for a declared step that makes too many.
    """
    if isinstance(step, str):
        return date_lines(low, high, step, column, middle)
    first, last = np.floor((low - origin) / step), np.floor((high - origin) / step) + 1
    # A quotient can be off by rounding, so one more on each side, and those that are needed of them.
    inside = None if middle is None else [np.floor((end - origin) / step) for end in middle]
    line = origin + multiples(first - 1, last + 1, inside, column, step) * step
    if step % 1 or origin % 1:
        line = np.round(line, 10 - int(np.floor(np.log10(step))))
    return np.unique(line[np.searchsorted(line, low, "right") - 1 : np.searchsorted(line, high, "right") + 1])


def date_lines(low: float, high: float, step: str, column: Column, middle: tuple[float, float] | None = None) -> Floats:
    """Return the first moments of days, weeks (Mondays), months, quarters, years or decades around ``low`` to
    ``high``; see :func:`lines`."""
    size, shift, unit = (MONTHS[step], 0, "M") if step in MONTHS else (7, 3, "D") if step == "week" else (1, 0, "D")

    def number(moment: float) -> int:  # 1970 began on a Thursday
        return int((np.datetime64(int(moment), "us").astype(f"datetime64[{unit}]").astype(np.int64) + shift) // size)

    inside = None if middle is None else [number(end) for end in middle]
    whole = multiples(number(low), number(high) + 1, inside, column, step).astype(np.int64)
    return (whole * size - shift).astype(f"datetime64[{unit}]").astype("datetime64[us]").astype(np.int64).astype(float)


def multiples(
    first: float, last: float, middle: Sequence[float] | None, column: Column, step: float | str
) -> NDArray[np.float64]:
    """Return whole numbers from ``first`` to ``last``, both of them among these: all of them, or from :data:`FAR`
    beyond a ``middle`` on only those at twice the distance of the one before."""
    if middle is None:
        if not last - first < MOST_CELLS:
            raise too_fine(column, step)
        return np.arange(first, last + 1)
    low, high = max(middle[0] - FAR, first), min(middle[1] + FAR, last)
    far = FAR * 2.0 ** np.arange(1, 1024 - 10)
    below, above = middle[0] - far, middle[1] + far
    return np.unique(np.concatenate([
        [first], below[below > first], np.arange(low, high + 1), above[above < last], [last],
    ]))  # fmt: skip


def too_fine(column: Column, step: float | str) -> SchemaError:
    """Return the error of a declared step that divides a column too finely."""
    return SchemaError(
        f"The step {step} divides column {column.name!r} into more than {MOST_CELLS:,} cells.",
        column=column.name,
        value=step,
        remedy="Declare a larger step.",
    )
