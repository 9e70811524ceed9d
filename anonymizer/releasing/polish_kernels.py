"""Local search among groups: a record moves to another group of its region, or changes places with a record of it.

Codes stand record by record, (n, p), in the order of the line; groups are numbered along it, region after region.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.hull_kernels import levels_loss, range_loss
from anonymizer.loops import njit
from anonymizer.releasing.limit_kernels import enough

WORD = 64
"""Levels of a word of bits."""
LEAST = 1e-9
"""Loss of a record that a move must save."""


class Members(NamedTuple):
    """g groups of n records. ``group`` (n,); ``first`` (g,), ``next_`` (n,), ``previous`` (n,): the records of a group
    as a chain, -1 at both ends; ``size`` (g,).

    The hull of each group, and room for more of them: ``low``, ``high`` (rows, p) the ends of its codes, ``levels``
    (rows, p) their number or whether some are missing, ``bits`` (rows, words) which levels; ``word`` (p,): where a
    column's bits begin; ``loss`` (rows,).

    ``classes`` (g, c), ``numbers`` (g, 2r): what limits add up of a group.
    """

    group: NDArray[np.int64]
    first: NDArray[np.int64]
    next_: NDArray[np.int64]
    previous: NDArray[np.int64]
    size: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    levels: NDArray[np.int64]
    bits: NDArray[np.uint64]
    word: NDArray[np.int64]
    loss: NDArray[np.float64]
    classes: NDArray[np.int64]
    numbers: NDArray[np.float64]


@njit
def join(members, i, g):
    """Put record ``i`` at the beginning of the chain of group ``g``."""
    at = members.first[g]
    members.group[i], members.next_[i], members.previous[i] = g, at, -1
    if at >= 0:
        members.previous[at] = i
    members.first[g] = i
    members.size[g] += 1


@njit
def leave(members, i):
    """Take record ``i`` out of its chain."""
    before, after = members.previous[i], members.next_[i]
    if before >= 0:
        members.next_[before] = after
    else:
        members.first[members.group[i]] = after
    if after >= 0:
        members.previous[after] = before
    members.size[members.group[i]] -= 1


@njit
def counts_alone(members, pairs, i, g):
    """Return True when no other record of group ``g`` is of the person and class of record ``i``. ``pairs`` (n,): see
    :class:`anonymizer.releasing.limit_kernels.Wants`."""
    if pairs.shape[0] == 0:
        return True
    if pairs[i] < 0:
        return False
    other = members.first[g]
    while other >= 0:
        if other != i and pairs[other] == pairs[i]:
            return False
        other = members.next_[other]
    return True


@njit
def add_up(members, i, g, sign, wants, other):
    """Add what limits need of record ``i`` to group ``g``, or take it away (``sign`` -1); ``other``: the record that
    takes the opposite way, -1 for none."""
    for row in range(wants.classes.shape[0]):
        pairs = wants.pairs[row]
        if other >= 0 and pairs.shape[0] > 0 and pairs[other] == pairs[i]:
            continue
        if counts_alone(members, pairs, i, g):
            members.classes[g, wants.classes[row, i]] += sign
    for c in range(wants.numbers.shape[1]):
        members.numbers[g, c] += sign * wants.numbers[i, c]


@njit
def transfer(members, a, i, b, s, sign, wants):
    """Change the sums of two groups as if record ``i`` went from a to b, and ``s`` (-1: none) back; sign -1: undo."""
    add_up(members, i, a, -sign, wants, s)
    add_up(members, i, b, sign, wants, s)
    if s >= 0:
        add_up(members, s, b, -sign, wants, i)
        add_up(members, s, a, sign, wants, i)


@njit
def most_of_one(members, g, out, new, wants, rows):
    """Return the most records of one person in group ``g``, without record ``out`` (-1: of all) and with record ``new``
    (-1: none); 1 where nobody asks. ``rows`` (pairs,): zero before and after."""
    if np.isnan(wants.share_max) or wants.pairs.shape[1] == 0:
        return 1
    pairs, most = wants.pairs[wants.pairs.shape[0] - 1], 0
    for step in (1, 0):
        i = members.first[g]
        while i >= 0:
            if i != out and pairs[i] >= 0:
                rows[pairs[i]] = (rows[pairs[i]] + 1) * step
                most = max(most, rows[pairs[i]])
            i = members.next_[i]
        if new >= 0 and pairs[new] >= 0:
            rows[pairs[new]] = (rows[pairs[new]] + 1) * step
            most = max(most, rows[pairs[new]])
    return most


@njit
def allowed(members, a, i, b, s, wants, rows):
    """Return True when groups a and b keep their limits if record ``i`` goes from a to b, and ``s`` (-1: none) back.
    ``rows``: room for :func:`most_of_one`."""
    alone = s < 0
    transfer(members, a, i, b, s, 1, wants)
    own, its = most_of_one(members, a, i, s, wants, rows), most_of_one(members, b, s, i, wants, rows)
    both = enough(wants, members.classes[a], members.numbers[a], members.size[a] - alone, own) and enough(
        wants, members.classes[b], members.numbers[b], members.size[b] + alone, its
    )
    transfer(members, a, i, b, s, -1, wants)
    return both


@njit
def hull_of(codes, members, g, out, row, scale):
    """Write the hull of group ``g``, without record ``out`` (-1: of all), into a row; returns its loss."""
    total = 0.0
    members.bits[row] = 0
    for j in range(codes.shape[1]):
        low, high, levels = scale.n_codes[j], np.int64(-1), 0
        i = members.first[g]
        while i >= 0:
            if i != out:
                code = np.int64(codes[i, j])
                if not scale.interval[j]:
                    at, bit = members.word[j] + code // WORD, np.uint64(1) << np.uint64(code % WORD)
                    if not members.bits[row, at] & bit:
                        members.bits[row, at] |= bit
                        levels += 1
                elif code == scale.missing_code[j]:
                    levels = 1
                else:
                    low, high = min(low, code), max(high, code)
            i = members.next_[i]
        members.low[row, j], members.high[row, j], members.levels[row, j] = low, high, levels
        if scale.interval[j]:
            total += range_loss(scale, j, low, high, levels > 0)
        else:
            total += levels_loss(scale, j, levels)
    members.loss[row] = total
    return total


@njit
def loss_with(codes, members, row, i, n, scale, most):
    """Return the loss of the n records of a hull and of record ``i``, which joins them; above ``most``: any more."""
    total = (n + 1) * members.loss[row]
    for j in range(codes.shape[1]):
        if total >= most:
            return total
        code = np.int64(codes[i, j])
        low, high, levels = members.low[row, j], members.high[row, j], members.levels[row, j]
        if not scale.interval[j]:
            if not members.bits[row, members.word[j] + code // WORD] & (np.uint64(1) << np.uint64(code % WORD)):
                total += (n + 1) * (levels_loss(scale, j, levels + 1) - levels_loss(scale, j, levels))
        elif code == scale.missing_code[j]:
            if levels == 0:
                total += (n + 1) * (range_loss(scale, j, low, high, True) - range_loss(scale, j, low, high, False))
        elif not low <= code <= high:
            now = range_loss(scale, j, low, high, levels > 0)
            total += (n + 1) * (range_loss(scale, j, min(low, code), max(high, code), levels > 0) - now)
    return total


@njit
def exchange(codes, members, a, i, b, s, scale, wants):
    """Let record ``i`` go from group a to b, and ``s`` (-1: none) back."""
    transfer(members, a, i, b, s, 1, wants)
    leave(members, i)
    join(members, i, b)
    if s >= 0:
        leave(members, s)
        join(members, s, a)
    hull_of(codes, members, a, -1, a, scale)
    hull_of(codes, members, b, -1, b, scale)


@njit
def gather(codes, members, scale, wants):
    """Fill chains, hulls and sums from the group of each record."""
    members.first[:], members.size[:] = -1, 0
    for i in range(codes.shape[0] - 1, -1, -1):
        join(members, i, members.group[i])
        add_up(members, i, members.group[i], 1, wants, -1)
    for g in range(members.size.shape[0]):
        hull_of(codes, members, g, -1, g, scale)


@njit
def nearest(codes, members, i, first, last, scale, costs, places):
    """Fill ``places`` with the groups ``first`` to ``last`` that lose least more when record ``i`` joins, -1 for none,
    and ``costs`` with how much."""
    costs[:], places[:] = np.inf, -1
    for b in range(first, last):
        if b == members.group[i]:
            continue
        n, loss = members.size[b], members.loss[b]
        cost = loss_with(codes, members, b, i, n, scale, n * loss + costs[-1]) - n * loss
        at = costs.shape[0]
        while at > 0 and cost < costs[at - 1]:
            at -= 1
        if at < costs.shape[0]:
            for x in range(costs.shape[0] - 1, at, -1):
                costs[x], places[x] = costs[x - 1], places[x - 1]
            costs[at], places[at] = cost, b


@njit
def polish(codes, members, records, first, last, k, scale, wants, limited, partners, pairs, row, awake, moved):
    """Move records among the groups ``first`` to ``last``, as long as each move lowers their loss.

    Of each record, in turn, the ``partners`` groups are sought in which it costs least. It goes to the first when that
    saves something and its own group has more than k records, or changes places with the record of one of them with
    which most is saved. When ``limited``, both groups must be as ``wants`` says afterwards.

    ``records``: those to look at, unless their group is not ``awake`` (g,); groups that change are marked in ``moved``
    (g,). ``row`` and the one after it are room for hulls; ``pairs``: numbers of pairs, where shares of one person are
    limited.
    """
    rows = np.zeros(pairs, np.int64)
    costs, places = np.empty(partners), np.empty(partners, np.int64)
    for i in records:
        a = members.group[i]
        n, now = members.size[a], members.loss[a]
        if not awake[a] or now == 0.0:
            continue
        alone = (n - 1) * hull_of(codes, members, a, i, row, scale)
        nearest(codes, members, i, first, last, scale, costs, places)
        best, to, back = LEAST * n, -1, -1
        for x in range(partners):
            b = places[x]
            if b < 0:
                break
            saved = n * now - alone - costs[x]
            if n > k and saved > best and (not limited or allowed(members, a, i, b, -1, wants, rows)):
                best, to, back = saved, b, -1
            size, its = members.size[b], members.loss[b]
            s = members.first[b]
            while s >= 0:
                saved = n * now - loss_with(codes, members, row, s, n - 1, scale, np.inf)
                if saved + size * its > best:
                    hull_of(codes, members, b, s, row + 1, scale)
                    saved += size * its - loss_with(codes, members, row + 1, i, size - 1, scale, np.inf)
                    if saved > best and (not limited or allowed(members, a, i, b, s, wants, rows)):
                        best, to, back = saved, b, s
                s = members.next_[s]
        if to >= 0:
            exchange(codes, members, a, i, to, back, scale, wants)
            moved[a] = moved[to] = True
