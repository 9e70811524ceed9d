"""The slow, obvious twins of packing: lines of leaves by lists of rows, and every division of a line."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from anonymizer.growing.encode import EncodedTable
from anonymizer.settings import Limits
from tests.naive_refine import Rows, hull_cut, loss, persons

Leaves = list[Rows]


def slow_line(encoded: EncodedTable, rows: Rows, weight: Sequence[float], sample: int) -> Leaves:
    """The leaves of one region, whose rows stand in the secret order, as they follow each other on the line."""
    sides = hull_cut(encoded, rows, 0, weight, sample) if len(rows) > 1 else None
    if sides is None:
        return [rows]
    first, second = sides if rows[0] in sides[0] else reversed(sides)
    return slow_line(encoded, first, weight, sample) + slow_line(encoded, second, weight, sample)


def rows_of(leaves: Leaves) -> Rows:
    return [row for leaf in leaves for row in leaf]


def divisions(leaves: Leaves) -> Iterator[list[Leaves]]:
    """Every way to divide a line of leaves into runs."""
    if not leaves:
        yield []
    for end in range(1, len(leaves) + 1):
        for rest in divisions(leaves[end:]):
            yield [leaves[:end], *rest]


def loss_of(encoded: EncodedTable, groups: list[Rows], weight: Sequence[float]) -> float:
    return sum(len(group) * loss(encoded, group, weight) for group in groups)


def least_lost(encoded: EncodedTable, leaves: Leaves, k: int, weight: Sequence[float]) -> float:
    """The least that groups of k lose, found by trying every division."""
    possible = [[rows_of(group) for group in division] for division in divisions(leaves)]
    return min(
        loss_of(encoded, groups, weight)
        for groups in possible
        if len(groups) == 1 or min(persons(encoded, group) for group in groups) >= k
    )


def slow_groups(
    encoded: EncodedTable, leaves: Leaves, k: int, weight: Sequence[float], keeps: Callable[[Rows], bool] | None = None
) -> list[Rows]:
    """The groups that packing makes of one region: the first of the best ends, shorter groups before longer ones."""
    best: dict[int, tuple[float, list[Rows]]] = {0: (0.0, [])}
    for end in range(1, len(leaves) + 1):
        inside = [start for start in range(end) if persons(encoded, rows_of(leaves[start:end])) >= k]
        window = [start for start in inside if persons(encoded, rows_of(leaves[start : max(inside)])) < k]
        for start in reversed(window):
            take(encoded, leaves, start, end, best, weight, keeps)
        while keeps is not None and window and end not in best and window[0] > 0:
            start = window[0]
            size = len(rows_of(leaves[start:end]))
            least = size + max(1, size // 8)
            reached = [s for s in range(start) if len(rows_of(leaves[s:end])) >= least]
            window = [max(reached, default=0)]
            take(encoded, leaves, window[0], end, best, weight, keeps)
    return best[len(leaves)][1] if len(leaves) in best else [rows_of(leaves)]


def take(
    encoded: EncodedTable,
    leaves: Leaves,
    start: int,
    end: int,
    best: dict[int, tuple[float, list[Rows]]],
    weight: Sequence[float],
    keeps: Callable[[Rows], bool] | None,
) -> None:
    """Let the leaves between two ends be the last group when that is better than what is known."""
    group = rows_of(leaves[start:end])
    if start not in best or (keeps is not None and not keeps(group)):
        return
    now = best[start][0] + len(group) * loss(encoded, group, weight)
    if end not in best or now < best[end][0] - 1e-9:
        best[end] = (now, [*best[start][1], group])


def shares(encoded: EncodedTable, codes: np.ndarray, classes: np.ndarray, rows: Rows) -> list[float]:
    """The share of each class among some rows; whoever has several rows of a class counts once for it."""
    counts = [persons(encoded, [row for row in rows if codes[row] == c]) for c in classes]
    return [count / max(1, sum(counts)) for count in counts]


def keeps(encoded: EncodedTable, limits: Limits, rows: Rows) -> bool:
    """Whether some rows, as a group, have what every limit but k asks for."""
    return lack(encoded, limits, rows) == 0


def lack(encoded: EncodedTable, limits: Limits, rows: Rows) -> float:
    """How far off some rows, as a group, are from what every limit but k asks for, added up."""
    slack, total = 1e-9, 0.0
    whose = rows if encoded.person is None else [one for one in encoded.person[rows] if one >= 0]
    most = max(map(list(whose).count, whose), default=1)
    if most > (limits.share_max or 1) * len(rows) + slack:
        total += most / len(rows) - (limits.share_max or 1)
    if persons(encoded, rows) < limits.k and encoded.person is not None:
        total += 1 - persons(encoded, rows) / limits.k
    for column in (encoded.target, *encoded.others):
        if not column.name:
            continue
        classes = np.unique(column.codes)
        whole, own = (shares(encoded, column.codes, classes, some) for some in (list(range(encoded.n_records)), rows))
        apart = np.array(own) - np.array(whole)
        distance = np.abs(apart).sum() / 2
        if column.ordered and len(classes) > 1:
            distance = np.abs(np.cumsum(apart)).sum() / (len(classes) - 1)
        telling = [
            share for c, share in zip(classes, own, strict=True) if column.labels[c] not in (None, *column.harmless)
        ]
        telling = [share / sum(telling) for share in telling if share > 0]
        effective = np.exp(-sum(share * np.log(share) for share in telling))
        if telling and len(telling) < (limits.l or 0):
            total += 1 - len(telling) / limits.l
        if telling and effective < (limits.entropy_l or 0) - slack:
            total += 1 - effective / limits.entropy_l
        if distance > (1 if limits.t is None else limits.t) + slack:
            total += distance - limits.t
    for y in np.empty((0, 0)) if encoded.numeric is None else encoded.numeric.values.T:
        own = ((y[rows] - y[rows].mean()) ** 2).sum()
        rsd = own / (y[rows] ** 2).sum() if (y[rows] ** 2).sum() > 1e-12 else 1.0
        spread = y[rows].std() / y.std() if y.std() > 0 else 1.0
        if rsd < (limits.rsd_min or 0) - slack:
            total += limits.rsd_min - rsd
        if spread < (limits.spread_min or 0) - slack:
            total += limits.spread_min - spread
    return total


# Merging what lacks something.


def slow_merge(
    encoded: EncodedTable, groups: list[Rows], weight: Sequence[float], limits: Limits, rule: int, reach: int
) -> list[Rows]:
    """The groups of one region, in the order of its line, after each that lacked something has joined others."""

    def lacking(rows: Rows) -> float:
        return lack(encoded, limits, rows) + max(0.0, 1 - len(rows) / limits.k)

    there = dict(enumerate(groups))
    for a in sorted(there, key=lambda number: len(groups[number])):
        near = reach
        while a in there and lacking(there[a]) > 0:
            others = list(there)
            at, own = others.index(a), there[a]
            to, level, best = -1, 3, np.inf
            for place in looked_at(at, len(others), near):
                other = there[others[place]]
                n, added = len(own) + len(other), loss_of(encoded, [own + other], weight)
                added -= loss_of(encoded, [own, other], weight)
                after, need = lacking(own + other), len(own) * lacking(own) + len(other) * lacking(other)
                less = lacking(own) - after if rule == 2 else need - n * after
                its, value = (1, (added + 1e-9 * n) / less) if less > 1e-9 else (2, added)
                if rule == 1 and after == 0:
                    its, value = 0, added
                if its < level or (its == level and value < best * (1 - 1e-9)):
                    to, level, best = others[place], its, value
            if level >= 2 and near < len(others):
                near *= 2
            elif to < 0:
                break
            else:
                there[a] = own + there.pop(to)
    return list(there.values())


def looked_at(at: int, n: int, reach: int) -> list[int]:
    """The places of n that are looked at from one: near ones, from near to far, then others, evenly spread."""
    near = [at + sign * far for far in range(1, reach // 2 + 1) for sign in (1, -1)]
    every = max(1, n // reach)
    spread = [place for place in range(at % every, n, every) if abs(place - at) > reach // 2]
    return [place for place in (*near, *spread) if 0 <= place < n]
