"""Laying the records of regions in lines where neighbours are alike, and packing them into groups along these lines.

Codes stand column by column, (p, n), in the order of the line.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.cut_kernels import first_codes, part_records, room_for, unmark
from anonymizer.groups.hull_kernels import TIE, hull_cut, levels_loss, range_loss
from anonymizer.kernels.partition import longer
from anonymizer.loops import njit
from anonymizer.releasing.limit_kernels import add_records, begin_group, come, enough, go, tally_for


@njit
def lay(codes, order, starts, ends, whole, sample, scale, leaf_start):
    """Cut the records of each region again and again, by cuts of least loss, until pieces have ``whole`` records.

    A region lies at ``starts`` to ``ends``.

    Records that are equal in every column stay together. ``codes`` and ``order`` are put into the order of the line:
    of the two sides of a cut, the one that holds the first record comes first. A piece of at least twice ``sample``
    records is cut where so many of them, evenly taken, are cut best. ``leaf_start`` (n,): where the piece of each
    place begins.
    """
    p, depth = codes.shape[0], starts.shape[0]
    room, everybody = room_for((ends - starts).max(), scale, 0), np.empty(0, np.int32)
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
            j, left_codes = hull_cut(few, everybody, 0, sample, 1, scale, room)
        if j < 0:
            j, left_codes = hull_cut(codes, everybody, first, last, 1, scale, room)
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


@njit
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


@njit
def clear(scale, hull):
    """Make a hull that of no records."""
    low, high, count, loss = hull
    low[:], high[:], count[:], loss[:] = scale.n_codes, -1, 0, 0.0


class Window(NamedTuple):
    """Where the last group of a line may begin: up to s leaves, the hull from each to the end, in p columns.

    ``place`` (s,): of the leaf's first record; ``before`` (s,): the least that the records before it lose; ``loss``
    (s,): of the hull. Of each column (p, s), ``low`` and ``high``: the ends of its codes; ``levels``: their number, or
    whether some are missing. ``latest`` (codes of all columns,): the place of the latest leaf with each code.
    """

    place: NDArray[np.int64]
    before: NDArray[np.float64]
    loss: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    levels: NDArray[np.int32]
    latest: NDArray[np.int64]


@njit
def window_for(size, scale):
    """Return a window of ``size`` leaves."""
    p = scale.n_codes.shape[0]
    return Window(
        place=np.empty(size, np.int64),
        before=np.empty(size),
        loss=np.empty(size),
        low=np.empty((p, size), np.int32),
        high=np.empty((p, size), np.int32),
        levels=np.empty((p, size), np.int32),
        latest=np.full(scale.low.shape[0], -1),
    )


@njit
def begin(window, slot, place, before, scale):
    """Let a group begin at a leaf: a hull of no records."""
    window.place[slot], window.before[slot], window.loss[slot] = place, before, 0.0
    for j in range(scale.n_codes.shape[0]):
        window.low[j, slot], window.high[j, slot], window.levels[j, slot] = scale.n_codes[j], -1, 0


@njit
def shift(window, head, tail):
    """Move the leaves of a window to its beginning."""
    window.place[: tail - head] = window.place[head:tail]
    window.before[: tail - head] = window.before[head:tail]
    window.loss[: tail - head] = window.loss[head:tail]
    for j in range(window.low.shape[0]):
        window.low[j, : tail - head] = window.low[j, head:tail]
        window.high[j, : tail - head] = window.high[j, head:tail]
        window.levels[j, : tail - head] = window.levels[j, head:tail]


@njit
def wider(window, scale):
    """Return a window of twice as many leaves that begins with those of this one."""
    size = window.place.shape[0]
    larger = window_for(2 * size, scale)
    larger.place[:size], larger.before[:size], larger.loss[:size] = window.place, window.before, window.loss
    larger.low[:, :size], larger.high[:, :size] = window.low, window.high
    larger.levels[:, :size], larger.latest[:] = window.levels, window.latest
    return larger


@njit
def extend(codes, i, window, head, tail, scale):
    """Widen the hulls of a window by record ``i``.

    A hull from an earlier leaf holds those from later ones: the first that holds the record's code ends the work.
    """
    newest = window.place[tail - 1]
    for j in range(codes.shape[0]):
        code, at = np.int64(codes[j, i]), tail
        low, high, levels = window.low[j], window.high[j], window.levels[j]
        if not scale.interval[j]:
            latest = window.latest[scale.offset[j] + code]
            while at > head and window.place[at - 1] > latest:
                at -= 1
                window.loss[at] += levels_loss(scale, j, levels[at] + 1) - levels_loss(scale, j, levels[at])
                levels[at] += 1
            window.latest[scale.offset[j] + code] = newest
        elif code == scale.missing_code[j]:
            while at > head and levels[at - 1] == 0:
                at -= 1
                loss = range_loss(scale, j, low[at], high[at], False)
                levels[at] = 1
                window.loss[at] += range_loss(scale, j, low[at], high[at], True) - loss
        else:
            while at > head and not low[at - 1] <= code <= high[at - 1]:
                at -= 1
                loss = range_loss(scale, j, low[at], high[at], levels[at] > 0)
                low[at], high[at] = min(low[at], code), max(high[at], code)
                window.loss[at] += range_loss(scale, j, low[at], high[at], levels[at] > 0) - loss


@njit
def last_group(
    codes, leaf_start, start, e, lost, window, head, near, scale, wants, limited, tally, hull, stamps
):  # fmt: skip
    """Return the least that the records of a region up to e lose, and where the last of their groups then begins; see
    :func:`pack`. ``hull``, ``stamps``: room for :func:`widen`."""
    least, its_start, summed = np.inf, start, e
    begin_group(tally)
    for slot in range(near, head - 1, -1):
        b = window.place[slot]
        f = (e - b) * window.loss[slot] + window.before[slot]
        if f < least - TIE:
            if limited:
                add_records(wants, b, summed, tally)
                summed = b
                if not enough(wants, tally.classes, tally.numbers, e - b, tally.most[0]):
                    continue
            least, its_start = f, b
    b = window.place[head]
    while limited and least == np.inf and b > start and near >= head:
        b = leaf_start[max(start, b - max(1, (e - b) // 8))]
        before = lost[b - 1] if b > start else 0.0
        if before == np.inf:
            continue
        add_records(wants, b, summed, tally)
        summed = b
        if enough(wants, tally.classes, tally.numbers, e - b, tally.most[0]):
            clear(scale, hull)
            least = before + (e - b) * widen(codes, b, e, scale, hull, stamps, tally.group[0])
            its_start = b
    return least, its_start


@njit
def pack(codes, who, starts, ends, leaf_start, scale, k, wants, limited, lost, group_start):
    """Divide the line of each region into groups of whole leaves with k persons, so that their hulls lose least in all.

    f(e) = min over b of f(b) + (e − b) · loss(hull(b … e)): Hansen and Mukherjee 2003, with the loss of a hull as cost.
    b runs over starts of leaves: all that leave k persons, but for those where b … e could be cut in two groups of k.
    ``who`` (n,): whose each record is, -1 for nobody's; of no length when every record is a person. When ``limited``,
    groups must be as ``wants`` says: where no such b will do, longer groups are tried, an eighth longer each time,
    until one will. A region that cannot be divided is one group.

    ``lost`` (n,): f up to and with the last record of each leaf; ``group_start`` (n,): where the group that ends there
    begins.
    """
    p = codes.shape[0]
    hull = (np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p))
    stamps, tally = np.zeros(scale.low.shape[0], np.int64), tally_for(wants)
    persons = who.max() + 1 if who.shape[0] else 0
    rows_behind, rows_between = np.zeros(persons, np.int32), np.zeros(persons, np.int32)
    # Of records that are persons at most 2k leaves matter at a time; twice the room, so that they are seldom shifted.
    window = window_for(2 * min(2 * k + 1, (ends - starts).max() + 1), scale)
    for region in range(starts.shape[0]):
        start, end = starts[region], ends[region]
        # Leaves head to tail are in the window; those up to near leave k persons. Of the persons behind (from the
        # leaf after near on) and between (from head to near), those with records there are counted.
        head, near, tail, e = 0, -1, 0, start
        behind, between, behind_start, between_end = 0, 0, start, start
        while e < end:
            first = e
            if tail == window.place.shape[0]:
                if head < tail // 4:
                    window = wider(window, scale)
                else:
                    shift(window, head, tail)
                    head, near, tail = 0, near - head, tail - head
            begin(window, tail, first, lost[first - 1] if first > start else 0.0, scale)
            tail += 1
            e += 1
            while e < end and leaf_start[e] == first:
                e += 1
            for i in range(first, e):
                behind += come(who, i, rows_behind)
            while near + 1 < tail and behind >= k:
                near += 1
                after = window.place[near + 1] if near + 1 < tail else e
                behind -= go(who, behind_start, after, rows_behind)
                behind_start = after
                for i in range(between_end, window.place[near]):
                    between += come(who, i, rows_between)
                between_end = window.place[near]
            while near >= head and between >= k:
                between -= go(who, window.place[head], window.place[head + 1], rows_between)
                head += 1
            for i in range(first, e):
                extend(codes, i, window, head, tail, scale)
            lost[e - 1], group_start[e - 1] = last_group(
                codes, leaf_start, start, e, lost, window, head, near, scale, wants, limited, tally, hull, stamps
            )
        go(who, behind_start, end, rows_behind)
        go(who, window.place[head], between_end, rows_between)


@njit
def mark_groups(starts, ends, group_start, marks):
    """Mark the first record of each group of each region; ``marks`` (n,) is zero before."""
    for region in range(starts.shape[0]):
        e = ends[region]
        while e > starts[region]:
            e = group_start[e - 1]
            marks[e] = 1
