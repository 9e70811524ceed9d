"""Cutting groups of records into pieces, again and again."""

import numpy as np

from anonymizer.groups.cut_kernels import first_codes, part_records, rank_codes, room_for, unmark
from anonymizer.groups.hull_kernels import hull_cut
from anonymizer.groups.median_kernels import median_cut
from anonymizer.kernels.partition import longer
from anonymizer.loops import njit


@njit
def cut_groups(codes, order, who, starts, ends, scale, least, by_median, sample):
    """Cut every group until no cut leaves ``least`` persons on both sides: where hulls lose least, or at medians.

    ``codes`` (p, n) and ``order`` (n,) are put into the order of the pieces; a group lies at ``starts`` to ``ends``.
    ``who``: whose each record is, -1 for nobody's, in the order of the table; of no length when records are persons.
    ``sample``: pieces of at least twice so many records are cut where so many, evenly taken, are cut best; 0: none.
    Returns the pieces in preorder, group after group: parent (local to all pieces, -1 at a group's root), feature,
    code_left, code_right, listed_start, listed, listed_left, first, last: see
    :class:`anonymizer.growing.records.Branch`.
    """
    n = codes.shape[1]
    few = np.empty((codes.shape[0], sample), codes.dtype)
    room = room_for((ends - starts).max(), scale, who.max() + 1 if who.shape[0] else 0)
    most = 2 * (n // least) + 2 * starts.shape[0] + 2
    parent, feature = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    code_left, code_right = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    listed_start, listed_left = np.zeros(most, np.int64), np.zeros(most, np.uint8)
    first, last = np.zeros(most, np.int64), np.zeros(most, np.int64)
    listed = np.empty(1024, np.uint16)
    waiting = np.empty((most, 3), np.int64)
    m, n_listed = 0, 0
    for g in range(starts.shape[0]):
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = starts[g], ends[g], -1
        depth = 1
        while depth > 0:
            depth -= 1
            start, end, above = waiting[depth]
            t = m
            m += 1
            parent[t], first[t], last[t], listed_start[t] = above, start, end, n_listed
            j, left_codes, step = -1, 0, (end - start) // sample if sample > 0 else 0
            here = who[order[start:end]] if who.shape[0] else who[:0].copy()
            if end - start >= 2 * least and by_median:
                j, left_codes = median_cut(codes, here, start, end, least, scale, room)
            elif end - start >= 2 * least:
                if step >= 2:
                    some = here[: sample * step : step].copy()
                    for a in range(codes.shape[0]):
                        few[a] = codes[a, start : start + sample * step : step]
                    j, left_codes = hull_cut(few, some, 0, sample, least, scale, room)
                if j < 0:
                    j, left_codes = hull_cut(codes, here, start, end, least, scale, room)
            if j < 0:
                continue
            highest = first_codes(scale, j, left_codes, room)
            # Of unordered levels, the lowest one present goes left.
            swapped = highest < 0 and room.side[codes[j, start:end].min()] == 0
            middle = start + part_records(codes, order, start, end, j, highest, swapped, room)
            unmark(left_codes, room)
            feature[t] = j
            if scale.by_order[j]:
                code_left[t], code_right[t] = highest, codes[j, middle:end].min()
            else:
                listed_left[t] = middle - start < end - middle
                smaller = codes[j, start:middle] if listed_left[t] else codes[j, middle:end]
                d = rank_codes(smaller, True, room.tally, room.ranked)
                while n_listed + d > listed.shape[0]:
                    listed = longer(listed)
                for x in range(d):
                    listed[n_listed] = room.ranked[x]
                    n_listed += 1
                    room.tally[room.ranked[x]] = 0
            waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = middle, end, t
            waiting[depth + 1, 0], waiting[depth + 1, 1], waiting[depth + 1, 2] = start, middle, t
            depth += 2
    return (
        parent[:m].copy(), feature[:m].copy(), code_left[:m].copy(), code_right[:m].copy(), listed_start[:m].copy(),
        listed[:n_listed].copy(), listed_left[:m].copy(), first[:m].copy(), last[:m].copy(),
    )  # fmt: skip
