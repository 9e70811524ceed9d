"""The cut of records at the median of their widest column (LeFevre, DeWitt and Ramakrishnan 2006)."""

import numpy as np

from anonymizer.groups.cut_kernels import rank_codes, until, varying
from anonymizer.groups.hull_kernels import TIE, range_loss
from anonymizer.loops import njit


@njit
def median_cut(codes, who, start, end, least, scale, room):
    """Return the column and number of codes of the cut that leaves ``least`` persons on both sides; -1, 0 without one.

    Widest column first (tie: the first): ranges by their share of the domain, levels by (levels present − 1) /
    (levels − 1). The lower median goes left, or, when that leaves too few, right; codes keep their order. The codes
    that go left stand in ``best`` of the room. ``who``: whose each record is, see
    :func:`anonymizer.groups.cut_kernels.until`.
    """
    columns = room.columns[: varying(codes, start, end, room.columns)]
    spread = np.empty(columns.shape[0])
    for b in range(columns.shape[0]):
        spread[b] = spread_of(columns[b], codes[columns[b], start:end], scale, room)
    for _ in range(columns.shape[0]):
        widest = 0
        for b in range(1, columns.shape[0]):
            if spread[b] > spread[widest] + TIE:
                widest = b
        spread[widest] = -1.0
        j = columns[widest]
        d = rank_codes(codes[j, start:end], True, room.tally, room.ranked)
        left_codes = codes_left(codes[j, start:end], who, d, least, room)
        room.best[:left_codes] = room.ranked[:left_codes]
        for x in range(d):
            room.tally[room.ranked[x]] = 0
        if left_codes > 0:
            return j, left_codes
    return -1, 0


@njit
def spread_of(j, column, scale, room):
    """Return the share of the domain of column j that its codes take up."""
    if not scale.interval[j]:
        d = rank_codes(column, True, room.tally, room.ranked)
        for x in range(d):
            room.tally[room.ranked[x]] = 0
        return (d - 1) / (scale.n_codes[j] - 1)
    low, high, absent = scale.n_codes[j], np.int64(-1), False
    for i in range(column.shape[0]):
        if column[i] == scale.missing_code[j]:
            absent = True
        else:
            low, high = min(low, np.int64(column[i])), max(high, np.int64(column[i]))
    return range_loss(scale, j, low, high, absent)


@njit
def codes_left(column, who, d, least, room):
    """Return how many of the d ranked codes go left; 0 when no cut at the median leaves ``least`` on both sides.

    ``tally`` of the room counts the records of each code, and is used up.
    """
    size, at, median, before = column.shape[0], 0, 0, 0
    for x in range(d):
        code = room.ranked[x]
        records = room.tally[code]
        room.tally[code] = at
        if 2 * at < size:  # the lower median lies here, or further on
            median, before = x + 1, at
        at += records
    for i in range(size):
        room.sorted_[room.tally[column[i]]] = i
        room.tally[column[i]] += 1
    fewest = until(who, room.sorted_[:size], least, False, room)
    most = size - until(who, room.sorted_[:size], least, True, room)
    if fewest <= room.tally[room.ranked[median - 1]] <= most:
        return median
    return median - 1 if fewest <= before <= most else 0
