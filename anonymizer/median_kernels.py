"""Cutting groups of records at medians, again and again."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cut_at_medians(
    codes, order, group_first, group_last, offset, n_codes, by_order, interval, missing_code, value_low, value_high,
    width, missing_share, k, by_frequency,
):  # fmt: skip
    """Cut every group until no cut leaves k records on both sides; the pieces in preorder, group after group.

    ``codes`` (n, p) and ``order`` (n,) are partitioned in place: a group lies at ``group_first`` to ``group_last``.
    The codes of column j stand at ``offset[j]`` in ``value_low`` and ``value_high``; ``width`` (p,): of the domains.
    Widest column first (tie: the first column). Interval: by the share of the domain. Others: ``by_frequency``:
    levels present / levels, else (levels present − 1) / (levels − 1).

    ``by_frequency``: the cut is the one nearest to half of the records, unordered levels standing by descending
    count; otherwise codes keep their order and the lower median goes left, or, when k forbids that, right.

    Returns parent (local to all pieces, -1 at a group's root), feature, code_left, code_right, listed_start, listed,
    listed_left, first, last: see :class:`anonymizer.records.Branch`.
    """
    n, p = codes.shape
    room = 2 * (n // k) + 2 * group_first.shape[0] + 2
    parent, feature = np.full(room, -1, np.int32), np.full(room, -1, np.int32)
    code_left, code_right = np.full(room, -1, np.int32), np.full(room, -1, np.int32)
    listed_start, listed_left = np.zeros(room, np.int64), np.zeros(room, np.uint8)
    first, last = np.zeros(room, np.int64), np.zeros(room, np.int64)
    active = np.ones((room, p), np.uint8)
    listed = np.empty(1024, np.uint16)
    most = n_codes.max()
    seen = np.full(value_low.shape[0], -1, np.int64)
    hist, touched, side = np.zeros(most, np.int64), np.empty(most, np.int64), np.zeros(most, np.uint8)
    low, high, present = np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p, np.int64)
    spread, columns = np.empty(p), np.empty(p, np.int64)
    waiting = np.empty((room, 3), np.int64)
    m, n_listed = 0, 0
    for g in range(group_first.shape[0]):
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = group_first[g], group_last[g], -1
        depth = 1
        while depth > 0:
            depth -= 1
            start, end, above = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
            t = m
            m += 1
            parent[t], first[t], last[t], listed_start[t] = above, start, end, n_listed
            if above >= 0:
                active[t] = active[above]
            size = end - start
            if size < 2 * k:
                continue
            q = 0
            for j in range(p):
                if active[t, j]:
                    columns[q], low[j], high[j], present[j] = j, most, -1, 0
                    q += 1
            measure(codes, start, end, columns[:q], interval, missing_code, offset, seen, t, low, high, present)
            for a in range(q):
                j = columns[a]
                spread[j] = share_of_domain(
                    j, low, high, present, interval, offset, value_low, value_high, width, missing_share, n_codes,
                    by_frequency,
                )  # fmt: skip
                # "present" counts levels, or for intervals whether missing occurs.
                varies = (low[j] < high[j] or (present[j] > 0 and high[j] >= 0)) if interval[j] else present[j] > 1
                active[t, j] = varies
            while True:
                j = -1
                for a in range(q):
                    c = columns[a]
                    if active[t, c] and spread[c] >= 0.0 and (j < 0 or spread[c] > spread[j]):
                        j = c
                if j < 0:
                    break
                spread[j] = -1.0
                found = 0
                for i in range(start, end):
                    code = codes[i, j]
                    if hist[code] == 0:
                        touched[found] = code
                        found += 1
                    hist[code] += 1
                touched[:found] = np.sort(touched[:found])
                ranked = touched[:found].copy()
                if by_frequency and not by_order[j]:
                    ranked = ranked[np.argsort(-hist[ranked], kind="mergesort")]
                taken, left = place_of_cut(hist, ranked, size, k, by_frequency)
                if taken > 0:
                    mark(ranked, taken, side)
                    if by_order[j]:
                        code_left[t], code_right[t] = ranked[taken - 1], ranked[taken]
                    else:
                        if side[touched[0]] == 0:  # the lowest code goes left
                            left = size - left
                            for a in range(found):
                                side[touched[a]] = 1 - side[touched[a]]
                        smaller_left = left < size - left
                        listed_left[t] = smaller_left
                        for a in range(found):
                            if side[touched[a]] == smaller_left:
                                if n_listed == listed.shape[0]:
                                    longer = np.empty(2 * n_listed, np.uint16)
                                    longer[:n_listed] = listed
                                    listed = longer
                                listed[n_listed] = touched[a]
                                n_listed += 1
                    feature[t] = j
                    divide(codes, order, start, end, j, side)
                    middle = start + left
                    waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = middle, end, t
                    waiting[depth + 1, 0], waiting[depth + 1, 1], waiting[depth + 1, 2] = start, middle, t
                    depth += 2
                for a in range(found):
                    hist[touched[a]] = 0
                if taken > 0:
                    break
    return (
        parent[:m].copy(), feature[:m].copy(), code_left[:m].copy(), code_right[:m].copy(), listed_start[:m].copy(),
        listed[:n_listed].copy(), listed_left[:m].copy(), first[:m].copy(), last[:m].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def measure(codes, start, end, columns, interval, missing_code, offset, seen, stamp, low, high, present):
    """Lowest and highest code of interval columns and whether missing occurs; number of levels of the others."""
    for i in range(start, end):
        for a in range(columns.shape[0]):
            j = columns[a]
            code = np.int64(codes[i, j])
            if not interval[j]:
                if seen[offset[j] + code] != stamp:
                    seen[offset[j] + code] = stamp
                    present[j] += 1
            elif code == missing_code[j]:
                present[j] = 1
            else:
                low[j] = min(low[j], code)
                high[j] = max(high[j], code)


@njit(cache=True, nogil=True)
def share_of_domain(
    j, low, high, present, interval, offset, value_low, value_high, width, missing_share, n_codes, by_frequency
):  # fmt: skip
    """How much of column j's domain a group takes up, 0 to 1."""
    if interval[j]:
        share = 0.0
        if low[j] < high[j] and width[j] > 0.0:
            share = (value_high[offset[j] + high[j]] - value_low[offset[j] + low[j]]) / width[j]
        if present[j] > 0 and high[j] >= 0:
            share = (1.0 - missing_share[j]) * share + missing_share[j]
        return share
    if present[j] < 2:
        return 0.0
    return present[j] / n_codes[j] if by_frequency else (present[j] - 1) / (n_codes[j] - 1)


@njit(cache=True, nogil=True)
def place_of_cut(hist, ranked, size, k, by_frequency):
    """How many of the ranked codes go left and how many records they have; 0, 0 when no cut leaves k on both sides."""
    taken, left, best, running = 0, 0, size + 1, 0
    for a in range(ranked.shape[0] - 1):
        before = running
        running += hist[ranked[a]]
        if by_frequency:
            if abs(2 * running - size) < best:
                best, taken, left = abs(2 * running - size), a + 1, running
        elif 2 * running >= size:  # ranked[a] is the lower median
            if min(running, size - running) >= k:
                return a + 1, running
            taken, left = a, before
            break
        else:
            taken, left = a + 1, running  # the lower median may be the last code: then it goes right
    if min(left, size - left) < k:
        return 0, 0
    return taken, left


@njit(cache=True, nogil=True)
def mark(ranked, taken, side):
    """1 for the first ``taken`` codes, 0 for the others."""
    for a in range(ranked.shape[0]):
        side[ranked[a]] = a < taken


@njit(cache=True, nogil=True)
def divide(codes, order, start, end, j, side):
    """Exchange rows until those whose code of column j goes left stand before the others."""
    i, last = start, end - 1
    while True:
        while i <= last and side[codes[i, j]]:
            i += 1
        while i <= last and not side[codes[last, j]]:
            last -= 1
        if i >= last:
            break
        for c in range(codes.shape[1]):
            codes[i, c], codes[last, c] = codes[last, c], codes[i, c]
        order[i], order[last] = order[last], order[i]
        i += 1
        last -= 1
