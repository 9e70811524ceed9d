"""The loop of pruning: offending branches in a heap, the ratio's first one collapsed until none offends."""

import numpy as np

from anonymizer.loops import njit

POWERS = 10.0 ** np.arange(-290, 291)
"""Powers of ten from 10^-290 to 10^290."""


@njit
def ten_digits(x):
    """Return x at ten significant digits, so that values that are equal on paper compare equal."""
    if not np.isfinite(x):
        return x
    size = abs(x)
    if size < 1e-280:
        return 0.0
    place = min(int(np.floor(np.log10(size))), 290)
    return np.round(x * POWERS[290 + 9 - place]) / POWERS[290 + 9 - place]


@njit
def goes_before(a, b, first_key, second_key, root_last):
    """Return True where node a leaves the queue before node b: smaller keys, then the lower node; or the root last."""
    if root_last and (a == 0 or b == 0):
        return b == 0 and a != 0
    if first_key[a] != first_key[b]:
        return first_key[a] < first_key[b]
    if second_key[a] != second_key[b]:
        return second_key[a] < second_key[b]
    return a < b


@njit
def rise(queue, place, i, first_key, second_key, root_last):
    """Move the entry at i of a binary heap up to where it belongs; return its place."""
    t = queue[i]
    while i > 0:
        above = (i - 1) >> 1
        if not goes_before(t, queue[above], first_key, second_key, root_last):
            break
        queue[i] = queue[above]
        place[queue[i]] = i
        i = above
    queue[i] = t
    place[t] = i
    return i


@njit
def sink(queue, place, length, i, first_key, second_key, root_last):
    """Move the entry at i of a binary heap down to where it belongs."""
    t = queue[i]
    while True:
        child = 2 * i + 1
        if child >= length:
            break
        if child + 1 < length and goes_before(queue[child + 1], queue[child], first_key, second_key, root_last):
            child += 1
        if not goes_before(queue[child], t, first_key, second_key, root_last):
            break
        queue[i] = queue[child]
        place[queue[i]] = i
        i = child
    queue[i] = t
    place[t] = i


@njit
def keys(t, first, second, one, two, error_risk, first_key, second_key):
    """Write the keys of a branch, smaller ones first: see :func:`prune_by_ratio`."""
    above, below = first[t] - one[t], second[t] - two[t]
    if error_risk:
        first_key[t] = -ten_digits(above / below if below > 0 else np.inf)
        second_key[t] = -ten_digits(above)
    else:
        above, below = max(above, 0.0), max(-below, 0.0)
        first_key[t] = ten_digits(above / below if below > 0 else (np.inf if above > 0 else 0.0))
        second_key[t] = 0.0


@njit
def prune_by_ratio(parent, size, feature, n, first, second, error_risk, fails, offends):
    """Collapse offending branches, the one that the ratio puts first before the others, until none offends.

    A branch offends when one of its groups ``fails`` or when it ``offends`` by itself, both (m,). The ratio compares
    a branch's node with its groups. ``error_risk``: (first − least of the groups) / (second − sum over them), larger
    first, then the larger difference above the line, the root last. Otherwise (first − sum) / (sum of second −
    second), smaller first. Equal ones: the lower node first. The offending branches wait in a binary heap that knows
    where each of them is; only the ancestors of a collapsed node change, so only they are moved in it.
    """
    m = parent.shape[0]
    one, two, smallest = first.copy(), second.copy(), n.copy()
    failing = fails.astype(np.int64)
    first_key, second_key = np.empty(m), np.empty(m)
    queue, place = np.empty(m, np.int64), np.full(m, -1, np.int64)
    length = 0
    for t in range(m - 1, -1, -1):
        if feature[t] >= 0:
            sum_up(t, size, error_risk, one, two, smallest, failing)
    for t in range(m):
        if feature[t] >= 0 and (failing[t] > 0 or offends[t]):
            keys(t, first, second, one, two, error_risk, first_key, second_key)
            queue[length] = t
            rise(queue, place, length, first_key, second_key, error_risk)
            length += 1
    inside = np.zeros(m, np.uint8)
    steps = np.empty(m, np.int32)
    ratios = np.empty(m, np.float64)
    smallest_then = np.empty(m, np.int64)
    q = 0
    while length:
        t = queue[0]
        length -= 1
        if length:
            queue[0] = queue[length]
            sink(queue, place, length, 0, first_key, second_key, error_risk)
        place[t] = -1
        if inside[t] or not (failing[t] > 0 or offends[t]):
            continue
        steps[q], ratios[q], smallest_then[q] = t, -first_key[t] if error_risk else first_key[t], smallest[t]
        q += 1
        s = t
        while s < t + size[t]:
            if inside[s]:
                s += size[s]
            else:
                inside[s] = 1
                s += 1
        one[t], two[t], smallest[t], failing[t] = first[t], second[t], n[t], fails[t]
        above = parent[t]
        while above >= 0:
            sum_up(above, size, error_risk, one, two, smallest, failing)
            if failing[above] > 0 or offends[above]:
                keys(above, first, second, one, two, error_risk, first_key, second_key)
                if place[above] < 0:
                    queue[length] = above
                    place[above] = length
                    length += 1
                i = rise(queue, place, place[above], first_key, second_key, error_risk)
                sink(queue, place, length, i, first_key, second_key, error_risk)
            above = parent[above]
    return steps[:q].copy(), ratios[:q].copy(), smallest_then[:q].copy()


@njit
def sum_up(t, size, error_risk, one, two, smallest, failing):
    """Write the values of an inner node's branch, from those of its children's branches."""
    low, total, second, fewest, count = np.inf, 0.0, 0.0, np.iinfo(np.int64).max, 0
    child = t + 1
    while child < t + size[t]:
        low = min(low, one[child])
        total += one[child]
        second += two[child]
        fewest = min(fewest, smallest[child])
        count += failing[child]
        child += size[child]
    one[t], two[t], smallest[t], failing[t] = low if error_risk else total, second, fewest, count
