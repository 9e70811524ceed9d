"""Laying the records of regions in lines where neighbours are alike, and packing them into groups along these lines.

Codes stand column by column, (p, n), in the order of the line.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonymizer.groups.cut_kernels import first_codes, part_records, room_for, unmark
from anonymizer.groups.hull_kernels import TIE, hull_cut, levels_loss, range_loss
from anonymizer.kernels.partition import longer


class Wants(NamedTuple):
    """What every group must have besides k records; NaN is off.

    ``classes`` (n + 1, c): of each class, the records before each place of the line, class columns side by side;
    ``first`` (g + 1,): where each class column begins; ``shares`` (c,): of the whole table; ``ordered`` (g,).
    ``numbers`` (n + 1, 2r): Σy, then Σy² of the records before each place; ``variance`` (r,): of the whole table.
    ``l``, ``entropy_l``, ``t``, ``rsd_min``, ``spread_min``: see :class:`anonymizer.groups.limits.Limits`.
    """

    classes: NDArray[np.int64]
    first: NDArray[np.int64]
    shares: NDArray[np.float64]
    ordered: NDArray[np.bool_]
    numbers: NDArray[np.float64]
    variance: NDArray[np.float64]
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
    classes=np.zeros((1, 0), np.int64),
    first=np.zeros(1, np.int64),
    shares=np.zeros(0),
    ordered=np.zeros(0, np.bool_),
    numbers=np.zeros((1, 0)),
    variance=np.zeros(0),
    l=np.nan,
    entropy_l=np.nan,
    t=np.nan,
    rsd_min=np.nan,
    spread_min=np.nan,
)
"""No limit but k."""


@njit(cache=True, nogil=True)
def lay(codes, order, starts, ends, whole, sample, scale, leaf_start):
    """Cut the records of each region again and again, by cuts of least loss, until pieces have ``whole`` records.

    A region lies at ``starts`` to ``ends``.

    Records that are equal in every column stay together. ``codes`` and ``order`` are put into the order of the line:
    of the two sides of a cut, the one that holds the first record comes first. A piece of at least twice ``sample``
    records is cut where so many of them, evenly taken, are cut best. ``leaf_start`` (n,): where the piece of each
    place begins.
    """
    p, depth = codes.shape[0], starts.shape[0]
    room = room_for((ends - starts).max(), scale)
    few = np.empty((p, sample), codes.dtype)
    waiting = np.empty((depth + 64, 2), np.int64)
    for region in range(depth):
        waiting[region, 0], waiting[region, 1] = starts[region], ends[region]
    while depth > 0:
        depth -= 1
        first, last = waiting[depth]
        size = last - first
        leaf_start[first:last] = first
        if size <= whole:
            continue
        j, left_codes = -1, 0
        if size >= 2 * sample:
            step = size // sample
            for a in range(p):
                for x in range(sample):
                    few[a, x] = codes[a, first + x * step]
            j, left_codes = hull_cut(few, 0, sample, 1, scale, room)
        if j < 0:
            j, left_codes = hull_cut(codes, first, last, 1, scale, room)
        if j < 0:
            continue
        highest = first_codes(scale, j, left_codes, room)
        swapped = not (codes[j, first] <= highest or room.side[codes[j, first]] == 1)
        middle = first + part_records(codes, order, first, last, j, highest, swapped, room)
        unmark(left_codes, room)
        if depth + 2 > waiting.shape[0]:
            waiting = longer(waiting)
        # The smaller side is cut first, so that few wait.
        low, high = (0, 1) if middle - first > last - middle else (1, 0)
        waiting[depth + low, 0], waiting[depth + low, 1] = first, middle
        waiting[depth + high, 0], waiting[depth + high, 1] = middle, last
        depth += 2


@njit(cache=True, nogil=True)
def keeps(wants, start, end):
    """Return True when records ``start`` to ``end`` of the line, as a group, have all that is wanted but k."""
    n = end - start
    for g in range(wants.first.shape[0] - 1):
        values, entropy, moved, running = 0, 0.0, 0.0, 0.0
        first, last = wants.first[g], wants.first[g + 1]
        for c in range(first, last):
            share = (wants.classes[end, c] - wants.classes[start, c]) / n
            if share > 0.0:
                values += 1
                entropy -= share * np.log(share)
            apart = share - wants.shares[c]
            running += apart
            moved += abs(running) if wants.ordered[g] else abs(apart)
        # t-closeness: between ranks for ordered classes, all equally far apart otherwise.
        distance = moved / 2.0
        if wants.ordered[g]:
            distance = moved / (last - first - 1) if last - first > 1 else 0.0
        if (
            values < wants.l * (1.0 - SLACK)
            or np.exp(entropy) < wants.entropy_l * (1.0 - SLACK)
            or distance > wants.t + SLACK
        ):
            return False
    r = wants.variance.shape[0]
    for b in range(r):
        total = wants.numbers[end, b] - wants.numbers[start, b]
        squares = wants.numbers[end, r + b] - wants.numbers[start, r + b]
        own = max(0.0, squares - total * total / n)
        rsd = min(1.0, own / squares) if squares > SINGULAR else 1.0
        spread = np.sqrt(own / n / wants.variance[b]) if wants.variance[b] > 0.0 else 1.0
        if rsd < wants.rsd_min - SLACK or spread < wants.spread_min - SLACK:
            return False
    return True


@njit(cache=True, nogil=True)
def widen(codes, first, last, scale, hull, stamps, stamp):
    """Return by how much a hull loses more when records ``first`` to ``last`` join it.

    ``hull``: of each column (p,) the lowest code, the highest, the number of levels (or whether some are missing) and
    the loss. ``stamps`` (codes of all columns,): the last ``stamp`` under which a level joined a hull.
    """
    low, high, count, loss = hull
    more = 0.0
    for j in range(codes.shape[0]):
        for i in range(first, last):
            code = np.int64(codes[j, i])
            if scale.interval[j]:
                if low[j] <= code <= high[j]:
                    continue
                if code == scale.missing_code[j]:
                    count[j] = 1
                else:
                    low[j], high[j] = min(low[j], code), max(high[j], code)
                wider = range_loss(scale, j, low[j], high[j], count[j] > 0)
            else:
                at = scale.offset[j] + code
                if stamps[at] == stamp:
                    continue
                stamps[at] = stamp
                count[j] += 1
                wider = levels_loss(scale, j, count[j])
            more += wider - loss[j]
            loss[j] = wider
    return more


@njit(cache=True, nogil=True)
def clear(scale, hull):
    """Make a hull that of no records."""
    low, high, count, loss = hull
    low[:], high[:], count[:], loss[:] = scale.n_codes, -1, 0, 0.0


@njit(cache=True, nogil=True)
def pack(codes, starts, ends, leaf_start, scale, k, wants, limited, lost, group_start):
    """Divide the line of each region into groups of whole leaves with k records, so that their hulls lose least in all.

    f(e) = min over b of f(b) + (e − b) · loss(hull(b … e)): Hansen and Mukherjee 2003, with the loss of a hull as cost.
    b runs over starts of leaves: all that leave k records, but for those where b … e could be cut in two groups of k.
    When ``limited``, groups must be as ``wants`` says: where no such b will do, longer groups are tried, an eighth
    longer each time, until one will. A region that cannot be divided is one group.

    ``lost`` (n,): f up to and with each place; ``group_start`` (n,): where the group that ends there begins.
    """
    p = codes.shape[0]
    hull = (np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p))
    stamps, stamp = np.zeros(scale.low.shape[0], np.int64), 0
    for region in range(starts.shape[0]):
        start, end = starts[region], ends[region]
        for e in range(start + 1, end + 1):
            lost[e - 1], group_start[e - 1] = np.inf, start
            if e < end and leaf_start[e] != e:
                continue
            clear(scale, hull)
            stamp += 1
            loss, nearest, b = 0.0, -1, e
            while b > start and (nearest < 0 or nearest - leaf_start[b - 1] < k):
                loss += widen(codes, leaf_start[b - 1], b, scale, hull, stamps, stamp)
                b = leaf_start[b - 1]
                if e - b < k:
                    continue
                if nearest < 0:
                    nearest = b
                f = (e - b) * loss + (lost[b - 1] if b > start else 0.0)
                if f < lost[e - 1] - TIE and (not limited or keeps(wants, b, e)):
                    lost[e - 1], group_start[e - 1] = f, b
            while limited and lost[e - 1] == np.inf and b > start and e - b >= k:
                b = leaf_start[max(start, b - max(1, (e - b) // 8))]
                before = lost[b - 1] if b > start else 0.0
                if before < np.inf and keeps(wants, b, e):
                    clear(scale, hull)
                    stamp += 1
                    loss = widen(codes, b, e, scale, hull, stamps, stamp)
                    lost[e - 1], group_start[e - 1] = before + (e - b) * loss, b


@njit(cache=True, nogil=True)
def mark_groups(starts, ends, group_start, marks):
    """Mark the first record of each group of each region; ``marks`` (n,) is zero before."""
    for region in range(starts.shape[0]):
        e = ends[region]
        while e > starts[region]:
            e = group_start[e - 1]
            marks[e] = 1
