"""The cut of records that makes the hulls of both sides lose least.

Numbers, dates and ordered levels are cut in their own order, other levels by falling frequency among the records that
are cut (tie: the lower code). Of all cuts of all columns the best has the least n_L · loss(L) + n_R · loss(R); tie: the
first column, then the fewest codes. Equal records are never parted.
"""

import numpy as np

from anonymizer.groups.cut_kernels import rank_codes, until, varying
from anonymizer.loops import njit

TIE = 1e-9
"""Losses per record that are this close are equal."""


@njit
def range_loss(scale, j, low, high, absent):
    """Return the loss of codes ``low`` to ``high`` of interval column j; ``absent``: or missing. 0 when all are."""
    if high < 0:
        return 0.0
    first = scale.offset[j]
    width = scale.high[first + high] - scale.low[first + low]
    if absent:
        width = (1.0 - scale.missing_share[j]) * width + scale.missing_share[j]
    return scale.weight[j] * width


@njit
def levels_loss(scale, j, levels):
    """Return the loss of so many levels of column j."""
    return scale.weight[j] * levels / scale.n_codes[j] if levels > 1 else 0.0


@njit
def widen_range(scale, a, column, sorted_, backward, gain):
    """Add to ``gain`` (s,) by how much the range of interval column a loses more with each record in turn."""
    low, high, absent, loss = scale.n_codes[a], np.int64(-1), False, 0.0
    missing, size = scale.missing_code[a], column.shape[0]
    for step in range(size):
        x = size - 1 - step if backward else step
        code = np.int64(column[sorted_[x]])
        if low <= code <= high:
            continue
        if code != missing:
            low, high = min(low, code), max(high, code)
        elif absent:
            continue
        else:
            absent = True
        wider = range_loss(scale, a, low, high, absent)
        gain[x] += wider - loss
        loss = wider


@njit
def widen_levels(scale, a, column, sorted_, backward, stamps, stamp, gain):
    """Add to ``gain`` (s,) by how much the levels of column a lose more with each record in turn."""
    levels, loss, size = 0, 0.0, column.shape[0]
    for step in range(size):
        x = size - 1 - step if backward else step
        code = column[sorted_[x]]
        if stamps[code] == stamp:
            continue
        stamps[code] = stamp
        levels += 1
        wider = levels_loss(scale, a, levels)
        gain[x] += wider - loss
        loss = wider


@njit
def widen_sides(codes, start, end, columns, scale, room):
    """Fill ``left`` and ``right`` of the room for records in the order of ``sorted_``."""
    sorted_ = room.sorted_[: end - start]
    for b in range(columns.shape[0]):
        a = columns[b]
        column = codes[a, start:end]
        for backward, gain in ((False, room.left), (True, room.right)):
            if scale.interval[a]:
                widen_range(scale, a, column, sorted_, backward, gain)
            else:
                room.stamp[0] += 1
                widen_levels(scale, a, column, sorted_, backward, room.stamps, room.stamp[0], gain)


@njit
def hull_cut(codes, who, start, end, least, scale, room):
    """Return the column and number of codes of the best cut with ``least`` persons on both sides; -1, 0 without one.

    ``who``: whose each record is, see :func:`anonymizer.groups.cut_kernels.until`. The codes that go left stand in
    ``best`` of the room.
    """
    size = end - start
    columns = room.columns[: varying(codes, start, end, room.columns)]
    tally, ranked, left, right = room.tally, room.ranked, room.left, room.right
    cut_column, left_codes, lowest = -1, 0, np.inf
    for b in range(columns.shape[0]):
        j = columns[b]
        column = codes[j, start:end]
        d = rank_codes(column, scale.by_order[j], tally, ranked)
        at, possible = 0, False
        for x in range(d):
            records = tally[ranked[x]]
            tally[ranked[x]] = at
            at += records
            possible |= min(at, size - at) >= least
        if possible:
            for i in range(size):
                room.sorted_[tally[column[i]]] = i
                tally[column[i]] += 1
            widen_sides(codes, start, end, columns, scale, room)
            fewest = until(who, room.sorted_[:size], least, False, room)
            most = size - until(who, room.sorted_[:size], least, True, room)
            loss_left, loss_right, x = 0.0, right[:size].sum(), 0
            for y in range(d - 1):
                while x < tally[ranked[y]]:
                    loss_left += left[x]
                    loss_right -= right[x]
                    x += 1
                if fewest <= x <= most:
                    loss = x * loss_left + (size - x) * loss_right
                    if loss < lowest - TIE * size:
                        lowest, cut_column, left_codes = loss, j, y + 1
            left[:size] = 0.0
            right[:size] = 0.0
            if cut_column == j:
                room.best[:left_codes] = ranked[:left_codes]
        for x in range(d):
            tally[ranked[x]] = 0
    return cut_column, left_codes
