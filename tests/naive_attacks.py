"""The slow, obvious twins of attacks: loops over groups, records and cells."""

from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, parse_cell
from anonymizer.flow import Flow
from anonymizer.measuring.utility import cell_ncp
from anonymizer.schema import Kind, Schema
from anonymizer.values import numbers_of, value_text

Value = tuple[str | None, float | None]
"""One value as text (``None``: missing) and, of numbers and dates, as a number."""


def values_of(table: pd.DataFrame, schema: Schema, name: str) -> list[Value]:
    texts = [None if pd.isna(value) else value_text(value) for value in table[name]]
    if schema[name].kind is Kind.CATEGORICAL:
        return [(text, None) for text in texts]
    return list(zip(texts, numbers_of(table[name], schema[name])[0].tolist(), strict=True))


def cell_of(text: object, kind: Kind) -> Cell:
    return parse_cell(None if pd.isna(text) else str(text), kind)


def groups_of(released: pd.DataFrame, names: tuple[str, ...]) -> list[list[int]]:
    """The rows that are alike."""
    groups: dict[tuple, list[int]] = {}
    for row in range(len(released)):
        key = tuple(None if pd.isna(released[name].iloc[row]) else str(released[name].iloc[row]) for name in names)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def shown_values(cell: Cell, values: list[Value], public: Any = None) -> tuple[list[list[bool]], list[list[bool]]]:
    """For each end, and for each level, that a cell shows: which values of the group it is, or are in the public step
    or group that it stands for."""
    ends: list[list[bool]] = []
    if cell.low is not None and not cell.estimate:
        ends = [[number == end for _, number in values] for end in (cell.low, cell.high)]
        if public is not None:
            steps = [max(np.flatnonzero(public.low <= end)) for end in (cell.low, cell.high)]
            inside = [(public.low[step], public.high[step]) for step in steps]
            ends = [[low <= number <= high for _, number in values] for low, high in inside]
    levels = [[text == level for text, _ in values] for level in cell.levels]
    if public is not None and cell.levels:
        items = sorted({public[level] for level in cell.levels})
        levels = [[text is not None and public[text] == group for text, _ in values] for group in items]
    if cell.missing:
        levels.append([text is None for text, _ in values])
    return ends, levels


@dataclass(frozen=True)
class SlowIsolation:
    """The original rows that are singled out, the groups with one, the records that each column singles out, and ends
    and levels that one record holds, of all."""

    people: set[int]
    groups: int
    by_column: dict[str, int]
    ends: tuple[int, int]
    levels: tuple[int, int]


def slow_isolation(
    table: pd.DataFrame, released: pd.DataFrame, schema: Schema, order: np.ndarray, public: dict[str, Any] | None = None
) -> SlowIsolation:
    """``public``: what ends and levels stand for, by column: a grid, or the group of each level."""
    names, n = schema.quasi_identifying, len(table)
    whose = table[schema.person] if schema.person else [None] * n
    who = [f"row {row}" if pd.isna(one) else one for row, one in enumerate(whose)]
    values = {name: values_of(table, schema, name) for name in names}
    people, groups, by_column, counts = set(), 0, dict.fromkeys(names, 0), [[0, 0], [0, 0]]
    for rows in groups_of(released, names):
        members = [int(order[row]) for row in rows]
        here = set()
        for name in names:
            cell = cell_of(released[name].iloc[rows[0]], schema[name].kind)
            if cell.withheld:
                texts = {text for text, _ in values[name]}
                cell = Cell.of_levels(tuple(sorted(text for text in texts if text is not None)), None in texts)
            marks = shown_values(cell, [values[name][person] for person in members], (public or {}).get(name))
            holders = [[[p for p, on in zip(members, mark, strict=True) if on] for mark in kind] for kind in marks]
            lone = {p for kind in holders for rows in kind if len({who[p] for p in rows}) == 1 for p in rows}
            by_column[name] += len(lone)
            here |= lone
            for count, kind in zip(counts, holders, strict=True):
                one = len(kind) == 1 if cell.levels else cell.is_single
                if not one and not (kind is holders[0] and cell.ends and cell.low == cell.high):
                    count[0] += sum(len({who[p] for p in rows}) == 1 for rows in kind)
                    count[1] += len(kind)
        people |= here
        groups += bool(here)
    return SlowIsolation(people, groups, by_column, (counts[0][0], counts[0][1]), (counts[1][0], counts[1][1]))


def slow_downcoding(
    table: pd.DataFrame, released: pd.DataFrame, schema: Schema, encodings: tuple, order: np.ndarray, k: int
) -> tuple[int, int]:
    """The cells that are narrowed rightly, and wrongly: every pair of groups, on all values that a column has."""
    names = schema.quasi_identifying
    values = {name: values_of(table, schema, name) for name in names}
    groups = groups_of(released, names)
    boxes = [[cell_of(released[name].iloc[rows[0]], schema[name].kind) for name in names] for rows in groups]
    loss = [sum(cell_ncp(cell, encoding) for cell, encoding in zip(box, encodings, strict=True)) for box in boxes]
    right = wrong = 0
    for rows, box, lost in zip(groups, boxes, loss, strict=True):
        if len(rows) <= k:
            continue
        for j, name in enumerate(names):
            ruled_out = [
                other[j]
                for other, less in zip(boxes, loss, strict=True)
                if less < lost - 1e-12
                and all(holds(other[i], box[i]) for i in range(len(names)) if i != j)
                and not holds(other[j], box[j])
                and overlap(other[j], box[j], values[name])
            ]
            for row in rows if ruled_out else ():
                text, number = values[name][order[row]]
                lies = any(cell.admits(text, number) for cell in ruled_out)
                wrong += lies
                right += not lies
    return right, wrong


def holds(outer: Cell, inner: Cell) -> bool:
    """Whether all that one cell leaves open another leaves open too."""
    if outer.estimate or inner.estimate:
        return False
    if inner.missing and not (outer.missing or outer.withheld):
        return False
    if inner.low is not None:
        return outer.low is not None and outer.low <= inner.low and inner.high <= outer.high
    return outer.withheld or (not inner.withheld and set(inner.levels) <= set(outer.levels))


def overlap(one: Cell, other: Cell, values: list[Value]) -> bool:
    """Whether two cells leave a value open that both could be."""
    if one.estimate or other.estimate:
        return False
    if one.low is not None and other.low is not None and max(one.low, other.low) <= min(one.high, other.high):
        return True
    return any(one.admits(*value) and other.admits(*value) for value in values)


def slow_certain(flow: Flow, person: int) -> bool:
    """Whether only the true record makes the published release, of all that its published cells admit."""
    table, names = flow.table, flow.schema.quasi_identifying
    place = int(np.flatnonzero(flow.release.order == person)[0])
    possible = []
    for name in names:
        cell = cell_of(flow.released[name].iloc[place], flow.schema[name].kind)
        values = dict(zip(table[name], values_of(table, flow.schema, name), strict=True))
        possible.append([value for value, words in values.items() if cell.admits(*words)])
    published = rows_of(flow.released)
    again = []
    for content in product(*possible):
        changed = table.copy()
        changed.loc[person, list(names)] = content
        changed = changed.astype(table.dtypes)
        if rows_of(Flow(changed, flow.schema, flow.settings, rng=np.random.default_rng(0)).released) == published:
            again.append(content)
    return again == [tuple(table.loc[person, list(names)])]


def rows_of(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    return sorted(tuple(str(cell) for cell in row) for row in frame.itertuples(index=False))


# Several releases of the same people.


def candidates_left(classes: list[list[int]]) -> list[int]:
    """How many people share all classes with each of some people; 0 for who is in no release (-1 in all)."""
    cells = list(zip(*classes, strict=True))
    return [sum(other == cell for other in cells) if set(cell) != {-1} else 0 for cell in cells]


def sets_left(classes: list[list[int]], values: list[str | None]) -> list[set[str | None]]:
    """The values that are in every group of each person."""
    everything = set(values) | {None}
    return [
        set.intersection(
            everything,
            *({v for v, g in zip(values, of, strict=True) if g == of[person]} for of in classes if of[person] >= 0),
        )
        for person in range(len(values))
    ]


def counting_left(classes: list[list[int]], values: list[str | None]) -> dict[tuple[int, ...], set[str | None]]:
    """The values that each cell has room for, when one cell or one group is counted at a time, over and over."""
    cells = [cell for cell in dict.fromkeys(zip(*classes, strict=True)) if set(cell) != {-1}]
    every = list(zip(*classes, strict=True))
    distinct = list(dict.fromkeys([*values, None]))
    size = {cell: every.count(cell) for cell in cells}
    groups = [(at, g) for at, of in enumerate(classes) for g in set(of) - {-1}]
    inside = {(at, g): [cell for cell in cells if cell[at] == g] for at, g in groups}
    count = {
        (at, g, v): sum(w == v and of == g for w, of in zip(values, classes[at], strict=True))
        for at, g in groups
        for v in distinct
    }
    high = {(c, v): min([size[c], *(count[at, c[at], v] for at in range(len(classes)) if c[at] >= 0)])
            for c in cells for v in distinct}  # fmt: skip
    low = dict.fromkeys(high, 0)
    while True:
        before = dict(high), dict(low)
        for c, v in high:
            rest = [w for w in distinct if w != v]
            low[c, v] = max(low[c, v], size[c] - sum(high[c, w] for w in rest))
            high[c, v] = min(high[c, v], size[c] - sum(low[c, w] for w in rest))
            for at in range(len(classes)):
                if c[at] >= 0:
                    others = [d for d in inside[at, c[at]] if d != c]
                    low[c, v] = max(low[c, v], count[at, c[at], v] - sum(high[d, v] for d in others))
                    high[c, v] = min(high[c, v], count[at, c[at], v] - sum(low[d, v] for d in others))
        if (high, low) == before:
            return {c: {v for v in distinct if high[c, v] > 0} for c in cells}


def ways_left(classes: list[list[int]], values: list[str | None]) -> list[set[str | None]]:
    """The values that each person has in any way to deal out the values that leaves every group what it holds."""
    ways: list[set[str | None]] = [set() for _ in values]
    contents = [
        sorted((g, str(v)) for g, v in zip(of, values, strict=True) if g >= 0) for of in classes
    ]  # fmt: skip
    for way in set(permutations(values)):
        if all(
            sorted((g, str(v)) for g, v in zip(of, way, strict=True) if g >= 0) == own
            for of, own in zip(classes, contents, strict=True)
        ):
            for person, value in enumerate(way):
                ways[person].add(value)
    return ways
