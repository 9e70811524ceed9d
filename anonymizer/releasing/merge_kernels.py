"""Groups that lack something that limits ask join others until they have it.

Groups are numbered along a line, and so region by region; see :mod:`anonymizer.releasing.polish_kernels` for what is
counted of them. A merged group has the number of the one that looked for a partner.
"""

import numpy as np

from anonymizer.groups.hull_kernels import TIE, levels_loss, range_loss
from anonymizer.loops import njit
from anonymizer.releasing.limit_kernels import add_records, begin_group, shortfall, tally_for
from anonymizer.releasing.polish_kernels import WORD


@njit
def ones(word):
    """Return how many of the 64 bits of a word are set, added up in pairs, fours and bytes."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit
def union_loss(members, a, b, scale, most):
    """Return what each record loses when groups a and b are one; above ``most``: any more than that."""
    total = 0.0
    for j in range(members.low.shape[1]):
        if total > most:
            break
        if scale.interval[j]:
            low, high = min(members.low[a, j], members.low[b, j]), max(members.high[a, j], members.high[b, j])
            total += range_loss(scale, j, low, high, members.levels[a, j] > 0 or members.levels[b, j] > 0)
        else:
            levels = 0
            for word in range(members.word[j], members.word[j] + (scale.n_codes[j] + WORD - 1) // WORD):
                levels += ones(members.bits[a, word] | members.bits[b, word])
            total += levels_loss(scale, j, levels)
    return total


@njit
def absorb(members, a, b, scale):
    """Let all records of group b join group a."""
    members.loss[a] = union_loss(members, a, b, scale, np.inf)
    for j in range(members.low.shape[1]):
        members.low[a, j] = min(members.low[a, j], members.low[b, j])
        members.high[a, j] = max(members.high[a, j], members.high[b, j])
        members.levels[a, j] = max(members.levels[a, j], members.levels[b, j])
    members.bits[a] |= members.bits[b]
    members.classes[a] += members.classes[b]
    members.numbers[a] += members.numbers[b]
    i = members.first[b]
    while members.next_[i] >= 0:
        members.group[i] = a
        i = members.next_[i]
    members.group[i], members.next_[i] = a, members.first[a]
    members.first[a], members.first[b] = members.first[b], -1
    members.size[a] += members.size[b]
    members.size[b] = 0


@njit
def lack_of(members, a, b, k, wants, tally):
    """Return how far off group a is, together with group b (-1: alone), from k records and all else that is wanted."""
    n, groups = members.size[a], (a, b)
    if b >= 0:
        n += members.size[b]
    begin_group(tally)
    for g in groups:
        if g < 0:
            continue
        if wants.pairs.shape[1] == 0:
            for c in range(tally.classes.shape[0]):
                tally.classes[c] += members.classes[g, c]
            for c in range(tally.numbers.shape[0]):
                tally.numbers[c] += members.numbers[g, c]
            continue
        i = members.first[g]
        while i >= 0:
            add_records(wants, i, i + 1, tally)
            i = members.next_[i]
    lack = shortfall(wants, tally.classes, tally.numbers, n, tally.most[0], False)
    if n < k:
        lack += 1.0 - n / k
    return lack


@njit
def lacks(members, k, wants):
    """Return how far off each group is from k records and all else that is wanted (g,), 0 where it has it."""
    tally, lack = tally_for(wants), np.empty(members.size.shape[0])
    for a in range(lack.shape[0]):
        lack[a] = lack_of(members, a, -1, k, wants, tally)
    return lack


@njit
def partner(members, there, at, first, last, reach, lack, k, wants, scale, rule, tally):
    """Return the group that the one at ``at`` joins best, -1 without one, and whether less is lacking then; see
    :func:`merge`. Groups are looked at from near to far; the first wins a tie. ``there``: all that there are, those of
    the region from ``first`` to ``last``."""
    a, to, level, best = there[at], -1, 3, np.inf
    every = max(1, (last - first) // reach)
    steps = reach + (last - first) // every + 1
    for step in range(steps):
        place = at + (step // 2 + 1 if step % 2 == 0 else -(step // 2 + 1))
        if step >= reach:
            place = first + (at - first) % every + (step - reach) * every
            if abs(place - at) <= reach // 2:
                continue
        if place < first or place >= last:
            continue
        b = there[place]
        n = members.size[a] + members.size[b]
        before = members.size[a] * members.loss[a] + members.size[b] * members.loss[b]
        need = lack[a] if rule == 2 else members.size[a] * lack[a] + members.size[b] * lack[b]
        most = np.inf
        if level == 0:
            most = best
        elif level == 1 and rule != 1:
            most = best * need
        added = n * union_loss(members, a, b, scale, (before + most) / n + TIE) - before
        if added > most + TIE * n:
            continue
        after = lack_of(members, a, b, k, wants, tally)
        less = need - (after if rule == 2 else n * after)
        its, value = 2, added
        if rule == 1 and after == 0.0:
            its = 0
        elif less > TIE:
            its, value = 1, (added + TIE * n) / less
        if its < level or (its == level and value < best * (1.0 - TIE)):
            to, level, best = b, its, value
    return to, level < 2


@njit
def merge(members, region, k, wants, scale, rule, reach):
    """Let groups that lack something join others of their region until no group does, or one is left.

    Groups look for a partner in turn, the smallest first, then along the line. They look at the ``reach`` nearest on
    the line and at as many that are evenly spread, and where none of these helps, at twice as many. The best partner
    loses least more for what is lacking less: by all records of both groups (``rule`` 0), the same, but before them any
    with which nothing is lacking (1), or by the group that looks alone (2).

    ``region`` (g,): that of each group, ascending. The groups of records are those of ``members`` afterwards.
    """
    tally, lack = tally_for(wants), lacks(members, k, wants)
    there, left = np.arange(region.shape[0]), region.shape[0]
    for a in np.argsort(members.size, kind="mergesort"):
        near = reach
        while members.size[a] > 0 and lack[a] > 0.0:
            first = np.searchsorted(there[:left], np.searchsorted(region, region[a]))
            last = np.searchsorted(there[:left], np.searchsorted(region, region[a] + 1))
            at = np.searchsorted(there[:left], a)
            b, helps = partner(members, there, at, first, last, near, lack, k, wants, scale, rule, tally)
            if not helps and near < last - first:
                near *= 2
            elif b >= 0:
                absorb(members, a, b, scale)
                left -= 1
                for place in range(np.searchsorted(there[: left + 1], b), left):
                    there[place] = there[place + 1]
                lack[a] = lack_of(members, a, -1, k, wants, tally)
            else:
                break
