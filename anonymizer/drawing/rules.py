"""The region of a node in words: one condition for each column on its path."""

from collections.abc import Iterable

import numpy as np

from anonymizer.drawing.words import visible_text
from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import Condition, Tree, goes_left, region
from anonymizer.schema import Kind
from anonymizer.values import value_text

BRIEF_SET = 30
"""Most characters of a set of levels in brief text, brackets and names not counted."""

Conditions = tuple[Condition, ...]
"""The region of a node: one condition for each column on its path."""


def regions(tree: Tree, encodings: tuple[Encoding, ...], nodes: Iterable[int]) -> dict[int, Conditions]:
    """Return :func:`anonymizer.growing.tree.region` of many nodes and all nodes above: each from its parent's."""
    region_of: dict[int, Conditions] = {0: ()}
    for node in nodes:
        path = []
        while node not in region_of:
            path.append(int(node))
            node = int(tree.parent[node])
        for below in reversed(path):
            region_of[below] = _child_region(tree, encodings, below, region_of[int(tree.parent[below])])
    return region_of


def _child_region(tree: Tree, encodings: tuple[Encoding, ...], node: int, above: Conditions) -> Conditions:
    """Return the conditions of a node, from those of its parent."""
    parent = int(tree.parent[node])
    column, left = int(tree.feature[parent]), node == parent + 1
    encoding, by_column = encodings[column], {condition.column: condition for condition in above}
    codes = None if encoding.is_interval else tuple(range(len(encoding.labels)))
    old = by_column.get(column, Condition(column, -np.inf, np.inf, codes, encoding.missing))
    if old.codes is None:
        threshold = float(tree.threshold[parent])
        low, high = (old.above, min(old.upto, threshold)) if left else (max(old.above, threshold), old.upto)
        by_column[column] = Condition(column, low, high, None, old.missing and not left)
    else:
        here = goes_left(tree, encoding, parent) == left
        both = tuple(code for code in old.codes if here[code])
        by_column[column] = Condition(column, -np.inf, np.inf, both, old.missing and bool(here[-1]))
    return tuple(by_column.values())


def rule_text(
    tree: Tree, encodings: tuple[Encoding, ...], node: int, *, brief: bool = False, conditions: Conditions | None = None
) -> str:
    """Return the region of a node in words: a condition for each column on its path; "all rows" for the root.

    ``conditions``: the node's own, where :func:`regions` has been asked already.
    """
    parts = region(tree, encodings, node) if conditions is None else conditions
    return " and ".join(condition_text(c, encodings[c.column], brief=brief) for c in parts) or "all rows"


def step_text(
    tree: Tree, encodings: tuple[Encoding, ...], node: int, *, brief: bool = False, conditions: Conditions | None = None
) -> str:
    """Return the condition of the last split on the way to a node, in words; "all rows" for the root."""
    parent = int(tree.parent[node])
    if parent < 0:
        return "all rows"
    column = int(tree.feature[parent])
    path = region(tree, encodings, node) if conditions is None else conditions
    here = next(condition for condition in path if condition.column == column)
    if here.codes is None:
        threshold, left = float(tree.threshold[parent]), node == parent + 1
        here = Condition(column, -np.inf if left else threshold, threshold if left else np.inf, None, here.missing)
    return condition_text(here, encodings[column], brief=brief)


def condition_text(condition: Condition, encoding: Encoding, *, brief: bool = False) -> str:
    """Return one condition in words: ``age 39 to 61``, ``score ≤ 3.2``, ``job in {A, B}``; ``brief`` shortens names and
    long sets."""
    name = column_text(encoding, brief=brief)
    if condition.codes is None:
        return _interval_text(name, condition, encoding)
    levels = [_level_text(encoding, code, brief) for code in condition.codes]
    every = len(encoding.labels)
    if not levels:
        return f"{name} missing"
    if len(levels) == every:
        return f"{name} missing or not" if condition.missing or not encoding.missing else f"{name} present"
    or_missing = " or missing" if condition.missing else ""
    if len(levels) == 1:
        return f"{name} = {levels[0]}{or_missing}"
    if encoding.hierarchy is not None:
        levels = [visible_text(word, 22 if brief else 0) for word in encoding.hierarchy.parts(condition.codes)]
        what = f"= {levels[0]}" if len(levels) == 1 else f"in {_set_text(levels, every, brief)}"
        return f"{name} {what}{or_missing}"
    if encoding.by_order:
        low, high = condition.codes[0], condition.codes[-1]
        if low == 0:
            return f"{name} up to {levels[-1]}{or_missing}"
        return f"{name} from {levels[0]}{'' if high == every - 1 else f' to {levels[-1]}'}{or_missing}"
    if len(levels) == every - 1 and not encoding.missing:
        (other,) = set(range(every)) - set(condition.codes)
        return f"{name} ≠ {_level_text(encoding, other, brief)}"
    return f"{name} in {_set_text(levels, every, brief)}{or_missing}"


def column_text(encoding: Encoding, *, brief: bool = False) -> str:
    """Return what a column is called: its label with the name in brackets; ``brief``: a label that is short, else the
    name and as much of the label as there is room for."""
    name, label = encoding.name, encoding.variable.label
    if not brief or not label:
        return visible_text(encoding.variable.full_name(name), 26 if brief else 0)
    return visible_text(label if len(label) <= 26 else f"{visible_text(name, 13)} {label}", 26)


def _level_text(encoding: Encoding, code: int, brief: bool) -> str:
    return visible_text(encoding.variable.level_text(str(encoding.text(code))), 22 if brief else 0)


def _set_text(levels: list[str], every: int, brief: bool) -> str:
    """Return a set of levels, in brief text only as many as fit in :data:`BRIEF_SET` characters."""
    if not brief or len(", ".join(levels)) <= BRIEF_SET:
        return "{" + ", ".join(levels) + "}"
    first = levels[:1]
    while len(", ".join([*first, levels[len(first)]])) <= BRIEF_SET - 10:
        first.append(levels[len(first)])
    return "{" + ", ".join(first) + f", … {len(levels)} of {every}" + "}"


def _interval_text(name: str, condition: Condition, encoding: Encoding) -> str:
    """Return a condition on a column of numbers or dates in words."""
    or_missing = " or missing" if condition.missing else ""
    above, upto = condition.above, condition.upto
    if above == np.inf:
        return f"{name} missing"
    if above == -np.inf and upto == np.inf:
        return f"{name} missing or not" if condition.missing else f"{name} present"
    if all(parts_whole_numbers(encoding, end) for end in (above, upto) if np.isfinite(end)):
        low, high = np.floor(above) + 1, np.floor(upto)
        return f"{name} {_whole_text(encoding, low, high)}{or_missing}"
    if above == -np.inf:
        return f"{name} ≤ {threshold_text(encoding, upto)}{or_missing}"
    if upto == np.inf:
        return f"{name} > {threshold_text(encoding, above)}{or_missing}"
    return f"{threshold_text(encoding, above)} < {name} ≤ {threshold_text(encoding, upto)}{or_missing}"


def _whole_text(encoding: Encoding, low: float, high: float) -> str:
    """Return a range of whole numbers, both ends included, in words; an infinite end is none."""
    if low == high or (low == -np.inf and high == encoding.low[0]):
        return f"= {value_text(high)}"
    if high == np.inf:
        return f"= {value_text(low)}" if low == encoding.high[-1] else f"≥ {value_text(low)}"
    return f"≤ {value_text(high)}" if low == -np.inf else f"{value_text(low)} to {value_text(high)}"


def parts_whole_numbers(encoding: Encoding, threshold: float) -> bool:
    """Return True when the values of a column on both sides of a threshold are whole numbers."""
    floor, ceiling = _neighbours(encoding, threshold)
    return encoding.kind is not Kind.DATE and floor.is_integer() and ceiling.is_integer()


def _neighbours(encoding: Encoding, threshold: float) -> tuple[float, float]:
    """Return the values of a column on both sides of a threshold, infinite where there is none."""
    cut = int(np.searchsorted(encoding.low, threshold, side="right"))
    floor = float(encoding.high[cut - 1]) if cut else -np.inf
    return floor, float(encoding.low[cut]) if cut < len(encoding.low) else np.inf


def threshold_text(encoding: Encoding, threshold: float) -> str:
    """Return a threshold as it is if that is short, else in the fewest digits that part the column's values alike."""
    floor, ceiling = _neighbours(encoding, threshold)
    if encoding.kind is Kind.DATE:
        stamp = np.datetime64(int(np.floor(threshold)), "us")
        day = stamp.astype("datetime64[D]").astype("datetime64[us]")
        return value_text(day if floor <= float(day.astype(np.int64)) else stamp)
    for digits in range(6, 17):
        rounded = float(f"{threshold:.{digits}g}")
        if floor <= rounded < ceiling:
            return value_text(rounded)
    return value_text(threshold)
