"""Growing a multiway tree on distinct keys, as ID3 and C4.5 do: the trees that Z10 publishes.

A categorical column gives a child to every level that the node holds, once on a path; numbers and dates are cut
in two at a midpoint, as often as it pays. Growing reads key counts, so a table with few distinct keys costs little.
"""

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.outline import NOWHERE, Keys, Outline, Row, outline_from
from anonymizer.errors import ParameterError

Floats = NDArray[np.float64]

MEASURES = ("gini", "entropy", "gain-ratio")
"""The measures that attribute selection minimizes (gini, entropy) or maximizes (gain ratio)."""

TOLERANCE = 1e-12


def spread(masses: Floats, measure: str) -> Floats:
    """Return n times the impurity of each group, in nats for entropy: n − Σm²/n, or n ln n − Σ m ln m. (…, c) ->
    (…,).
    """
    n = masses.sum(axis=-1)
    if measure == "gini":
        squares = (masses * masses).sum(axis=-1)
        return np.asarray(n - np.divide(squares, n, out=np.zeros_like(squares), where=n > 0))
    return np.asarray(x_log_x(n) - x_log_x(masses).sum(axis=-1))


def x_log_x(values: Floats) -> Floats:
    """Return x ln x, 0 where x is not positive."""
    values = np.asarray(values, dtype=np.float64)
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(values * logs)


def split_information(counts: Floats) -> float:
    """Return the entropy of the sizes of a split's groups, nats (C4.5)."""
    n = counts.sum()
    return float((x_log_x(n) - x_log_x(counts).sum()) / n) if n else 0.0


def grow_multiway(keys: Keys, measure: str = "entropy", min_split: int = 2, max_depth: int | None = None) -> Outline:
    """Return a tree grown on keys, the attribute of least expected impurity first (Z10, section 4.2); ties: the first
    column.

    A node is a leaf when it has fewer than ``min_split`` records, when it is pure, when no question gains more than
    1e-12 a record, or at ``max_depth``. So every column that is left was a candidate at every node that asks.
    Raises :class:`ParameterError` for an unknown measure or a number out of range.
    """
    if measure not in MEASURES:
        raise ParameterError(f"There is no measure {measure!r}.", remedy=f"Choose one of {', '.join(MEASURES)}.")
    if min_split < 1 or (max_depth is not None and max_depth < 0):
        raise ParameterError("min_split must be at least 1 and max_depth at least 0.", remedy="Correct the number.")
    rows: list[Row] = []
    everyone = np.arange(len(keys.counts))
    stack: list[tuple[NDArray[np.int64], int, int, frozenset[int]]] = [(everyone, -1, 0, frozenset())]
    while stack:
        run, parent, depth, used = stack.pop()
        here = len(rows)
        few = keys.counts[run].sum() < min_split
        row = None if depth == max_depth or few else best_question(keys, run, parent, measure, used)
        rows.append(row or Row(parent))
        if row is None:
            continue
        codes = keys.codes[run, row.feature]
        side = np.asarray(codes >= row.cut, dtype=np.int64) if row.sides is None else row.sides[codes]
        now_used = used if row.sides is None else used | {row.feature}
        for child in range(int(side.max()), -1, -1):
            stack.append((run[side == child], here, depth + 1, now_used))
    return outline_from(rows)


def best_question(keys: Keys, run: NDArray[np.int64], parent: int, measure: str, used: frozenset[int]) -> Row | None:
    """Return the best question of a node, ``None`` when none gains."""
    masses = keys.classes[run].astype(np.float64)
    total = masses.sum(axis=0)
    n, impurity = total.sum(), float(spread(total, "gini" if measure == "gini" else "entropy"))
    best, question = TOLERANCE * max(n, 1.0), None
    for column, encoding in enumerate(keys.encodings):
        if column in used:
            continue
        codes = keys.codes[run, column]
        present, position = np.unique(codes, return_inverse=True)
        if len(present) < 2:
            continue
        groups = np.zeros((len(present), masses.shape[1]))
        np.add.at(groups, position, masses)
        if encoding.is_interval:
            below = np.cumsum(groups, axis=0)[:-1]
            sizes = np.stack([below.sum(axis=1), n - below.sum(axis=1)])
            gains = impurity - spread(below, measure) - spread(total - below, measure)
            if measure == "gain-ratio":
                gains /= (x_log_x(n) - x_log_x(sizes).sum(axis=0)) / n
            at = int(gains.argmax())
            if gains[at] > best + TOLERANCE * n:
                best, question = float(gains[at]), cut_between(keys, parent, column, present[at], present[at + 1])
            continue
        sizes = groups.sum(axis=1)
        gain = impurity - float(spread(groups, measure).sum())
        if measure == "gain-ratio":
            gain /= split_information(sizes)
        if gain > best + TOLERANCE * n:
            sides = np.full(encoding.n_codes, NOWHERE, dtype=np.int32)
            sides[present] = np.arange(len(present))
            best, question = gain, Row(parent, column, sides=sides)
    return question


def cut_between(keys: Keys, parent: int, column: int, below: int, above: int) -> Row:
    """Return the question that parts two neighbouring codes of a column of numbers or dates, at their midpoint."""
    encoding = keys.encodings[column]
    if above >= len(encoding.labels):
        return Row(parent, column, len(encoding.labels), np.inf)
    middle = float(encoding.high[below] + (encoding.low[above] - encoding.high[below]) / 2)
    cut = int(np.clip(np.searchsorted(encoding.low, middle, side="right"), int(below) + 1, int(above)))
    return Row(parent, column, cut, middle)
