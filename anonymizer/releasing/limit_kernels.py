"""What groups must have besides hulls that lose little: limits and persons, counted while groups are made."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.loops import njit


class Wants(NamedTuple):
    """What every group must have besides k records; NaN is off. Records stand as on the line.

    ``classes`` (g, n): the class of each record, those of g class columns numbered side by side; ``first`` (g + 1,):
    where each column begins; ``shares`` (c,): of the whole table; ``tells`` (c,): of which somebody learns something,
    as l counts; ``ordered`` (g,). ``numbers`` (n, 2r): y, then y²;
    ``variance`` (r,): of the whole table.
    ``pairs`` (g, n): a number for the person and class of each record, -1 for nobody's, so that a person counts once
    for a class; no records when every record is a person. ``persons``: those that a group must have; when that is more
    than 0, the last row of ``classes`` and ``pairs`` is no column, but one class for everybody.
    ``share_max``, ``l``, ``entropy_l``, ``t``, ``rsd_min``, ``spread_min``: see
    :class:`anonymizer.groups.limits.Limits`.
    """

    classes: NDArray[np.int32]
    first: NDArray[np.int64]
    shares: NDArray[np.float64]
    tells: NDArray[np.bool_]
    ordered: NDArray[np.bool_]
    numbers: NDArray[np.float64]
    variance: NDArray[np.float64]
    pairs: NDArray[np.int32]
    persons: int
    share_max: float
    l: float  # noqa: E741 - the field's name
    entropy_l: float
    t: float
    rsd_min: float
    spread_min: float


SLACK = 1e-9
"""A limit is kept when it is missed by this share of itself, or less."""
SINGULAR = 1e-12
"""Scaled numbers whose squares add up to no more all count as the mean."""


NOTHING = Wants(
    classes=np.zeros((0, 0), np.int32),
    first=np.zeros(1, np.int64),
    shares=np.zeros(0),
    tells=np.zeros(0, np.bool_),
    ordered=np.zeros(0, np.bool_),
    numbers=np.zeros((0, 0)),
    variance=np.zeros(0),
    pairs=np.zeros((0, 0), np.int32),
    persons=0,
    share_max=np.nan,
    l=np.nan,
    entropy_l=np.nan,
    t=np.nan,
    rsd_min=np.nan,
    spread_min=np.nan,
)
"""No limit but k."""


class Tally(NamedTuple):
    """What limits count of a group while records join it.

    ``classes`` (c,), ``numbers`` (2r,): its sums; ``met``, ``rows`` (pairs,): the last group that met a pair, and its
    records there; ``group``, ``most`` (1,): the number of this group, and the most records of one person in it.
    """

    classes: NDArray[np.int64]
    numbers: NDArray[np.float64]
    met: NDArray[np.int64]
    rows: NDArray[np.int64]
    group: NDArray[np.int64]
    most: NDArray[np.int64]


@njit
def tally_for(wants):
    """Return the tally of no group yet."""
    pairs = wants.pairs.max() + 1 if wants.pairs.size else 0
    return Tally(
        classes=np.zeros(wants.first[-1] + 1, np.int64),
        numbers=np.zeros(wants.numbers.shape[1]),
        met=np.zeros(pairs, np.int64),
        rows=np.zeros(pairs, np.int64),
        group=np.zeros(1, np.int64),
        most=np.zeros(1, np.int64),
    )


@njit
def begin_group(tally):
    """Make a tally that of another group, without records."""
    tally.group[0] += 1
    tally.most[0] = 0
    tally.classes[:], tally.numbers[:] = 0, 0.0


@njit
def add_records(wants, start, end, tally):
    """Add what limits count of records ``start`` to ``end`` of the line to the tally of a group."""
    last = wants.classes.shape[0] - 1
    for i in range(start, end):
        for g in range(last + 1):
            if wants.pairs.shape[1] > 0:
                pair = wants.pairs[g, i]
                if pair < 0:
                    continue
                again = tally.met[pair] == tally.group[0]
                if g == last:
                    tally.rows[pair] = tally.rows[pair] + 1 if again else 1
                    tally.most[0] = max(tally.most[0], tally.rows[pair])
                if again:
                    continue
                tally.met[pair] = tally.group[0]
            tally.classes[wants.classes[g, i]] += 1
        for b in range(tally.numbers.shape[0]):
            tally.numbers[b] += wants.numbers[i, b]


@njit
def enough(wants, classes, numbers, n, most):
    """Return True when a group of n records has all that is wanted but k; see :func:`shortfall`."""
    return shortfall(wants, classes, numbers, n, most, True) == 0.0


@njit
def shortfall(wants, classes, numbers, n, most, soon):
    """Return how far off a group of n records is from all that is wanted but k, 0 when it has it: what it lacks of each
    limit, a share of what is counted and as it is of distances and shares, added up.

    ``classes`` (c,): its records, or persons, of each class; ``numbers`` (2r,): its Σy, then its Σy²; ``most``: records
    of one person; ``soon``: that it is more than 0 is enough to know.
    """
    lack, columns = 0.0, wants.first.shape[0] - 1
    if max(most, 1) > wants.share_max * n * (1.0 + SLACK):
        lack += max(most, 1) / n - wants.share_max
    if wants.persons > 0 and classes[wants.first[columns]] < wants.persons:
        lack += 1.0 - classes[wants.first[columns]] / wants.persons
    for g in range(columns):
        if soon and lack > 0.0:
            break
        values, entropy, moved, running = 0, 0.0, 0.0, 0.0
        first, last = wants.first[g], wants.first[g + 1]
        total, telling = max(1, classes[first:last].sum()), (classes[first:last] * wants.tells[first:last]).sum()
        for c in range(first, last):
            if classes[c] > 0 and wants.tells[c]:
                values += 1
                entropy -= classes[c] / telling * np.log(classes[c] / telling)
            share = classes[c] / total
            apart = share - wants.shares[c]
            running += apart
            moved += abs(running) if wants.ordered[g] else abs(apart)
        # t-closeness: between ranks for ordered classes, all equally far apart otherwise.
        distance = moved / 2.0
        if wants.ordered[g]:
            distance = moved / (last - first - 1) if last - first > 1 else 0.0
        if values > 0 and values < wants.l * (1.0 - SLACK):
            lack += 1.0 - values / wants.l
        if values > 0 and np.exp(entropy) < wants.entropy_l * (1.0 - SLACK):
            lack += 1.0 - np.exp(entropy) / wants.entropy_l
        if distance > wants.t + SLACK:
            lack += distance - wants.t
    r = wants.variance.shape[0]
    for b in range(r):
        total, squares = numbers[b], numbers[r + b]
        own = max(0.0, squares - total * total / n)
        rsd = min(1.0, own / squares) if squares > SINGULAR else 1.0
        spread = np.sqrt(own / n / wants.variance[b]) if wants.variance[b] > 0.0 else 1.0
        if rsd < wants.rsd_min - SLACK:
            lack += wants.rsd_min - rsd
        if spread < wants.spread_min - SLACK:
            lack += wants.spread_min - spread
    return lack


@njit
def come(who, i, rows):
    """Return how many persons more there are when record ``i`` joins those whose ``rows`` (persons,) are counted."""
    if who.shape[0] == 0:
        return 1
    if who[i] < 0:
        return 0
    rows[who[i]] += 1
    return 1 if rows[who[i]] == 1 else 0


@njit
def go(who, start, end, rows):
    """Return how many persons fewer there are when records ``start`` to ``end`` go."""
    if who.shape[0] == 0:
        return end - start
    persons = 0
    for i in range(start, end):
        if who[i] >= 0:
            rows[who[i]] -= 1
            persons += rows[who[i]] == 0
    return persons
