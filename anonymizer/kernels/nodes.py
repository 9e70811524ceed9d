"""Sweeps over the nodes of a tree in preorder, and sending records to their leaves."""

import numpy as np
from numba import njit

from anonymizer.kernels.branch import longer


@njit(cache=True, nogil=True)
def sizes_and_depths(parent, size, depth):
    """Nodes of each branch into ``size`` (ones before), depth of each node into ``depth`` (zeros before)."""
    for t in range(1, parent.shape[0]):
        depth[t] = depth[parent[t]] + 1
    for t in range(parent.shape[0] - 1, 0, -1):
        size[parent[t]] += size[t]


@njit(cache=True, nogil=True)
def add_up(parent, values):
    """Turn sums of leaves into sums of branches, (m, s), one backward sweep; inner nodes are zero before."""
    for t in range(parent.shape[0] - 1, 0, -1):
        for c in range(values.shape[1]):
            values[parent[t], c] += values[t, c]


@njit(cache=True, nogil=True)
def count_classes(parent, feature, firsts, lasts, order, codes, counts):
    """Records of each class in every node (m, c); ``counts`` is zero before."""
    for t in range(parent.shape[0]):
        if feature[t] < 0:
            for i in range(firsts[t], lasts[t]):
                counts[t, codes[order[i]]] += 1
    add_up(parent, counts)


@njit(cache=True, nogil=True)
def add_moments(parent, feature, firsts, lasts, order, values, moments):
    """1, y and the lower triangle of yyᵀ of every record, summed in every node; ``moments`` is zero before."""
    r = values.shape[1]
    for t in range(parent.shape[0]):
        if feature[t] < 0:
            for i in range(firsts[t], lasts[t]):
                y = values[order[i]]
                moments[t, 0] += 1.0
                at = 1 + r
                for a in range(r):
                    moments[t, 1 + a] += y[a]
                    for b in range(a + 1):
                        moments[t, at] += y[a] * y[b]
                        at += 1
    add_up(parent, moments)


@njit(cache=True, nogil=True)
def column_hull(row, stride, firsts, lasts, feature, missing_code, count_levels, n_codes, low, high, levels, missing):
    """Hulls of one column for all nodes (preorder): leaves from their records, inner nodes from their children.

    ``missing_code`` is -1 when the column has none. Levels are counted through bitsets on a stack as deep as
    the tree. Writes into low, high, levels, missing (m,).
    """
    m = feature.shape[0]
    words = (n_codes >> 6) + 1 if count_levels else 1
    stack = np.zeros((64, words), np.uint64)
    held = np.zeros(64, np.int64)
    depth = 0
    for t in range(m - 1, -1, -1):
        if feature[t] < 0:
            if depth == held.shape[0]:
                held = longer(held)
                stack = longer(stack)
            smallest, largest, absent = n_codes, -1, False
            if count_levels:
                stack[depth, :] = 0
                for i in range(firsts[t], lasts[t]):
                    code = int(row[i]) // stride
                    stack[depth, code >> 6] |= np.uint64(1) << np.uint64(code & 63)
                    if code == missing_code:
                        absent = True
                    else:
                        smallest = min(smallest, code)
                        largest = max(largest, code)
            elif missing_code < 0:
                least, most = row[firsts[t]], row[firsts[t]]
                for i in range(firsts[t], lasts[t]):
                    least = min(least, row[i])
                    most = max(most, row[i])
                smallest, largest = int(least) // stride, int(most) // stride
            else:
                for i in range(firsts[t], lasts[t]):
                    code = int(row[i]) // stride
                    if code == missing_code:
                        absent = True
                    else:
                        smallest = min(smallest, code)
                        largest = max(largest, code)
            low[t], high[t], missing[t] = smallest, largest, absent
            held[depth] = t
            depth += 1
        else:
            a, b = held[depth - 1], held[depth - 2]
            low[t], high[t] = min(low[a], low[b]), max(high[a], high[b])
            missing[t] = missing[a] or missing[b]
            if count_levels:
                for word in range(words):
                    stack[depth - 2, word] |= stack[depth - 1, word]
            held[depth - 2] = t
            depth -= 1
        if count_levels:
            count = 0
            for word in range(words):
                bits = stack[depth - 1, word]
                while bits:
                    bits &= bits - np.uint64(1)
                    count += 1
            levels[t] = count


@njit(cache=True, nogil=True)
def route(codes, first, last, feature, right_child, cut, listed_start, listed, listed_left, leaf):
    """The leaf of each of the records first..last. ``cut`` is -1 at categorical splits."""
    for i in range(first, last):
        t = 0
        while feature[t] >= 0:
            code = codes[i, feature[t]]
            if cut[t] >= 0:
                left = code < cut[t]
            else:
                low, high = listed_start[t], listed_start[t + 1]
                end = high
                while low < high:
                    middle = (low + high) >> 1
                    if listed[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                left = (low < end and listed[low] == code) == listed_left[t]
            t = t + 1 if left else right_child[t]
        leaf[i] = t


LEAST_SHARE = 1e-300
"""Of a path domain that is too narrow for its length to be told from 0, so that BIG stays finite."""


@njit(cache=True, nogil=True)
def region_bits(
    parent, feature, cut, threshold, listed_count, listed_left, interval, start_low, start_high, count,
    missing_share, big,
):  # fmt: skip
    """BIG of every node in preorder, Y19 (1): −Σ log2 of the path domain's share of each column.

    Interval columns: real length between thresholds, plus ``missing_share`` while missing is admitted. Other
    columns: number of levels the path allows; ordered levels: codes between cuts.
    """
    m, p = parent.shape[0], start_low.shape[0]
    low, high, levels, share = start_low.copy(), start_high.copy(), count.copy(), np.ones(p)
    admits = missing_share > 0.0
    kept = np.empty((m, 4))  # what entering node t replaced: low, high, levels, share of its parent's column
    kept_admits = np.empty(m, np.uint8)
    big[0] = 0.0
    open_node = 0
    for t in range(1, m):
        above = parent[t]
        while open_node != above:  # leave branches until the parent is open
            j = feature[parent[open_node]]
            low[j], high[j], levels[j], share[j] = (
                kept[open_node, 0], kept[open_node, 1], kept[open_node, 2], kept[open_node, 3],
            )  # fmt: skip
            admits[j] = kept_admits[open_node]
            open_node = parent[open_node]
        j = feature[above]
        kept[t, 0], kept[t, 1], kept[t, 2], kept[t, 3] = low[j], high[j], levels[j], share[j]
        kept_admits[t] = admits[j]
        left = t == above + 1
        if interval[j]:
            if left:
                high[j] = min(high[j], threshold[above])
                admits[j] = False
            else:
                low[j] = max(low[j], threshold[above])
            length = start_high[j] - start_low[j]
            part = max(0.0, high[j] - low[j]) / length if length > 0.0 else (1.0 if low[j] <= high[j] else 0.0)
            if missing_share[j] > 0.0:
                part = (1.0 - missing_share[j]) * part
                if admits[j]:
                    part += missing_share[j]
            share[j] = max(part, LEAST_SHARE)
        elif cut[above] >= 0:
            if left:
                high[j] = min(high[j], float(cut[above]))
            else:
                low[j] = max(low[j], float(cut[above]))
            share[j] = (high[j] - low[j]) / count[j]
        else:
            listed = float(listed_count[above])
            levels[j] = listed if left == listed_left[above] else levels[j] - listed
            share[j] = levels[j] / count[j]
        big[t] = big[above] + np.log2(kept[t, 3]) - np.log2(share[j])
        open_node = t


@njit(cache=True, nogil=True)
def branch_sweep(parent, feature, tidi, error, smallest):
    """Turn node values into those of the branches, one backward sweep: minimum, sum over leaves, minimum."""
    for t in range(parent.shape[0]):
        if feature[t] >= 0:
            tidi[t], error[t], smallest[t] = np.inf, 0, np.iinfo(np.int64).max
    for t in range(parent.shape[0] - 1, 0, -1):
        above = parent[t]
        tidi[above] = min(tidi[above], tidi[t])
        error[above] += error[t]
        smallest[above] = min(smallest[above], smallest[t])


@njit(cache=True, nogil=True)
def groups_below(parent, feature, collapsed, group):
    """group[t]: the topmost collapsed node or leaf at or above t, -1 where there is none."""
    for t in range(parent.shape[0]):
        above = group[parent[t]] if t > 0 else -1
        if above >= 0:
            group[t] = above
        elif feature[t] < 0 or collapsed[t]:
            group[t] = t
        else:
            group[t] = -1


@njit(cache=True, nogil=True)
def keep_splits(parent, size, feature, n, fails, kept, smaller_child):
    """kept[t]: neither child of t fails, and the same is true of every split above it."""
    for t in range(parent.shape[0]):
        kept[t] = False
        if feature[t] < 0:
            continue
        smallest = n[t]
        good = t == 0 or kept[parent[t]]
        child = t + 1
        while child < t + size[t]:
            smallest = min(smallest, n[child])
            good = good and not fails[child]
            child += size[child]
        smaller_child[t] = smallest
        kept[t] = good


POWERS = 10.0 ** np.arange(-290, 291)
"""Powers of ten from 10^-290 to 10^290."""


@njit(cache=True, nogil=True)
def ten_digits(x):
    """x at ten significant digits, so that values that are equal on paper compare equal."""
    if not np.isfinite(x):
        return x
    size = abs(x)
    if size < 1e-280:
        return 0.0
    place = min(int(np.floor(np.log10(size))), 290)
    return np.round(x * POWERS[290 + 9 - place]) / POWERS[290 + 9 - place]


@njit(cache=True, nogil=True)
def goes_before(a, b, first_key, second_key, root_last):
    """Whether node a leaves the queue before node b: smaller keys, then the lower node; the root last if so asked."""
    if root_last and (a == 0 or b == 0):
        return b == 0 and a != 0
    if first_key[a] != first_key[b]:
        return first_key[a] < first_key[b]
    if second_key[a] != second_key[b]:
        return second_key[a] < second_key[b]
    return a < b


@njit(cache=True, nogil=True)
def rise(queue, place, i, first_key, second_key, root_last):
    """Move the entry at i of a binary heap up to where it belongs; returns its place."""
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def keys(t, first, second, one, two, error_risk, first_key, second_key):
    """The keys of a branch, smaller ones first: see :func:`prune_by_ratio`."""
    above, below = first[t] - one[t], second[t] - two[t]
    if error_risk:
        first_key[t] = -ten_digits(above / below if below > 0 else np.inf)
        second_key[t] = -ten_digits(above)
    else:
        above, below = max(above, 0.0), max(-below, 0.0)
        first_key[t] = ten_digits(above / below if below > 0 else (np.inf if above > 0 else 0.0))
        second_key[t] = 0.0


@njit(cache=True, nogil=True)
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
    gone = np.zeros(m, np.uint8)
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
        if gone[t] or not (failing[t] > 0 or offends[t]):
            continue
        steps[q], ratios[q], smallest_then[q] = t, -first_key[t] if error_risk else first_key[t], smallest[t]
        q += 1
        s = t
        while s < t + size[t]:
            if gone[s]:
                s += size[s]
            else:
                gone[s] = 1
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


@njit(cache=True, nogil=True)
def sum_up(t, size, error_risk, one, two, smallest, failing):
    """The values of an inner node's branch from those of its children's branches."""
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
