"""Sweeps over the nodes of a tree in preorder, and sending records to their leaves."""

import numpy as np

from anonymizer.kernels.partition import longer
from anonymizer.loops import njit


@njit
def sizes_and_depths(parent, size, depth):
    """Write the nodes of each branch into ``size`` (ones before), each node's depth into ``depth`` (zeros before).
    A root has the parent -1, and there may be several."""
    for t in range(parent.shape[0]):
        if parent[t] >= 0:
            depth[t] = depth[parent[t]] + 1
    for t in range(parent.shape[0] - 1, -1, -1):
        if parent[t] >= 0:
            size[parent[t]] += size[t]


@njit
def add_up(parent, values):
    """Turn sums of leaves into sums of branches, (m, s), one backward sweep; inner nodes are zero before."""
    for t in range(parent.shape[0] - 1, 0, -1):
        if parent[t] < 0:
            continue
        for c in range(values.shape[1]):
            values[parent[t], c] += values[t, c]


@njit
def count_classes(parent, feature, firsts, lasts, order, codes, counts):
    """Count the records of each class in every node (m, c); ``counts`` is zero before."""
    for t in range(parent.shape[0]):
        if feature[t] < 0:
            for i in range(firsts[t], lasts[t]):
                counts[t, codes[order[i]]] += 1
    add_up(parent, counts)


@njit
def count_distinct(parent, size, feature, firsts, lasts, order, ids, codes, latest, counts):
    """Count the different ids of each class in every node (m, c); ``counts`` is zero before.

    Each leaf adds one for an id that it holds, and the lowest common ancestor of neighbouring leaves with the same id
    takes one away, so that every branch counts it once. ``size`` (m,): nodes of each branch; where records lie,
    ``firsts`` and ``lasts`` (m,), is known of leaves alone. ``ids`` (n,): of each record, always with the same class;
    -1 is none. ``latest`` (ids,): the last leaf that held it, -1 before.
    """
    for t in range(parent.shape[0]):
        if feature[t] < 0:
            for i in range(firsts[t], lasts[t]):
                number, c = ids[order[i]], codes[order[i]]
                if number < 0 or latest[number] == t:
                    continue
                counts[t, c] += 1
                above = latest[number]
                while above >= 0 and above + size[above] <= t:
                    above = parent[above]
                if above >= 0:
                    counts[above, c] -= 1
                latest[number] = t
    add_up(parent, counts)


@njit
def most_of_one(parent, size, feature, firsts, lasts, order, ids, rows, most):
    """Write the most records of one id in every node, ``most`` (m,).

    Counts of a node are those of its largest child, to which the records of the others are added, so that a record is
    counted at most log n times. Records, ids and nodes as in :func:`count_distinct`; ``rows`` (ids,) is zero before and
    after.
    """
    low, high = firsts.copy(), lasts.copy()
    heavy = np.full(parent.shape[0], -1, np.int64)
    for t in range(parent.shape[0] - 1, -1, -1):
        child = t + 1
        while feature[t] >= 0 and child < t + size[t]:
            if heavy[t] < 0 or high[child] - low[child] > high[heavy[t]] - low[heavy[t]]:
                heavy[t] = child
            low[t], high[t] = low[t + 1], high[child]
            child += size[child]
    for top in range(parent.shape[0]):
        if parent[top] >= 0 and heavy[parent[top]] == top:
            continue
        t = top
        while heavy[t] >= 0:
            t = heavy[t]
        largest, first, last = 0, low[t], low[t]
        while True:
            for start, end in ((low[t], first), (last, high[t])):
                for i in range(start, end):
                    if ids[order[i]] >= 0:
                        rows[ids[order[i]]] += 1
                        largest = max(largest, rows[ids[order[i]]])
            most[t], first, last = largest, low[t], high[t]
            if t == top:
                break
            t = parent[t]
        for i in range(first, last):
            if ids[order[i]] >= 0:
                rows[ids[order[i]]] = 0


@njit
def column_hull(row, stride, firsts, lasts, feature, missing_code, count_levels, n_codes, low, high, levels, missing):
    """Write the hulls of one column, nodes in preorder: leaves from their records, inner nodes from their children.

    ``missing_code`` is -1 when the column has none. Levels are counted through bitsets on a stack as deep as
    the tree. Writes into low, high, levels, missing (m,), and returns the bits of the first root: code c is bit c & 63
    of word c >> 6; none where levels are not counted.
    """
    m = feature.shape[0]
    words = (n_codes >> 6) + 1 if count_levels else 1
    stack = np.zeros((64, words), np.uint64)
    roots = np.zeros(64, np.int64)
    depth = 0
    for t in range(m - 1, -1, -1):
        if feature[t] < 0:
            if depth == roots.shape[0]:
                roots = longer(roots)
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
            roots[depth] = t
            depth += 1
        else:
            a, b = roots[depth - 1], roots[depth - 2]
            low[t], high[t] = min(low[a], low[b]), max(high[a], high[b])
            missing[t] = missing[a] or missing[b]
            if count_levels:
                for word in range(words):
                    stack[depth - 2, word] |= stack[depth - 1, word]
            roots[depth - 2] = t
            depth -= 1
        if count_levels:
            count = 0
            for word in range(words):
                bits = stack[depth - 1, word]
                while bits:
                    bits &= bits - np.uint64(1)
                    count += 1
            levels[t] = count
    return stack[depth - 1, : words if count_levels else 0].copy()


@njit
def route(codes, first, last, feature, right_child, cut, listed_start, listed, listed_left, leaf):
    """Write the leaf of each of the records first..last. ``cut`` is -1 at categorical splits."""
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


@njit
def region_bits(
    parent, feature, cut, threshold, listed_count, listed_left, interval, start_low, start_high, count,
    missing_share, big,
):  # fmt: skip
    """Write BIG of every node in preorder, Y19 (1): −Σ log2 of the path domain's share of each column.

    Interval columns: real length between thresholds, plus ``missing_share`` while missing is admitted. Other
    columns: number of levels the path allows; ordered levels: codes between cuts.
    """
    m, p = parent.shape[0], start_low.shape[0]
    low, high, levels, share = start_low.copy(), start_high.copy(), count.copy(), np.ones(p)
    admits = missing_share > 0.0
    previous = np.empty((m, 4))  # what entering node t replaced: low, high, levels, share of its parent's column
    previous_admits = np.empty(m, np.uint8)
    big[0] = 0.0
    open_node = 0
    for t in range(1, m):
        above = parent[t]
        while open_node != above:  # leave branches until the parent is open
            j = feature[parent[open_node]]
            low[j], high[j], levels[j], share[j] = (
                previous[open_node, 0], previous[open_node, 1], previous[open_node, 2], previous[open_node, 3],
            )  # fmt: skip
            admits[j] = previous_admits[open_node]
            open_node = parent[open_node]
        j = feature[above]
        previous[t, 0], previous[t, 1], previous[t, 2], previous[t, 3] = low[j], high[j], levels[j], share[j]
        previous_admits[t] = admits[j]
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
        big[t] = big[above] + np.log2(previous[t, 3]) - np.log2(share[j])
        open_node = t


@njit
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


@njit
def groups_below(parent, feature, collapsed, group):
    """Write group[t]: the topmost collapsed node or leaf at or above t, -1 where there is none."""
    for t in range(parent.shape[0]):
        above = group[parent[t]] if t > 0 else -1
        if above >= 0:
            group[t] = above
        elif feature[t] < 0 or collapsed[t]:
            group[t] = t
        else:
            group[t] = -1


@njit
def keep_splits(parent, size, feature, n, fails, keeps, smaller_child):
    """Write keeps[t], True where no child of t or of a split above it fails, and the records of t's smaller child."""
    for t in range(parent.shape[0]):
        keeps[t] = False
        if feature[t] < 0:
            continue
        smallest = n[t]
        good = t == 0 or keeps[parent[t]]
        child = t + 1
        while child < t + size[t]:
            smallest = min(smallest, n[child])
            good = good and not fails[child]
            child += size[child]
        smaller_child[t] = smallest
        keeps[t] = good
