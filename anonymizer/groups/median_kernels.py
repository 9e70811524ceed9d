"""The cut of records at the median of their widest column (LeFevre, DeWitt and Ramakrishnan 2006)."""

import numpy as np
from numba import njit

from anonymizer.groups.cut_kernels import rank_codes, varying
from anonymizer.groups.hull_kernels import TIE, range_loss


@njit(cache=True, nogil=True)
def median_cut(codes, start, end, least, scale, room):
    """Return the column and number of codes of the cut that leaves ``least`` records on both sides; -1, 0 without one.

    Widest column first (tie: the first): ranges by their share of the domain, levels by (levels present − 1) /
    (levels − 1). The lower median goes left, or, when that leaves too few, right; codes keep their order. The codes
    that go left stand in ``best`` of the room.
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
        left_codes = codes_left(room.tally, room.ranked[:d], end - start, least)
        room.best[:left_codes] = room.ranked[:left_codes]
        for x in range(d):
            room.tally[room.ranked[x]] = 0
        if left_codes > 0:
            return j, left_codes
    return -1, 0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def codes_left(tally, ranked, size, least):
    """Return the number of ranked codes that go left; 0 when no cut at the median leaves ``least`` on both sides."""
    left = 0
    for x in range(ranked.shape[0]):
        before = left
        left += tally[ranked[x]]
        if 2 * left >= size:  # ranked[x] is the lower median
            if min(left, size - left) >= least:
                return x + 1
            return x if min(before, size - before) >= least else 0
    return 0
