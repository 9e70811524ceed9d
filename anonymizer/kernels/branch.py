"""Growing a branch on packed columns, partitioned in place.

Row j of ``packed`` (p, n) holds, for each record, ``code * stride + class``, so one read gives the cell of the
histogram to add to (stride = number of classes; for numeric responses stride = 1 and the responses (n, r) travel
beside the codes). A node's records are a contiguous run of every row:

    packed[j] = [ . . . | node's records | . . . ]        order = original row of each position
                        start           end

and a split moves the records of that run that are on the wrong side, left child first. A column with one value in a
node is *settled*: all records there have the same code, so it is neither read nor moved any more below.
"""

import numpy as np
from numba import njit

from anonymizer.kernels.splits import (
    ENTROPY,
    GINI,
    SSE,
    add_records,
    add_side,
    best_split_of_column,
    present_codes,
    purity,
    trailing_zeros,
)

INITIAL_NODES = 64


@njit(cache=True, nogil=True)
def pack(codes, classes, stride, packed):
    """packed[j, i] = codes[i, j] * stride + classes[i], in blocks that stay in the cache."""
    n, p = codes.shape
    block = 4096
    for first in range(0, n, block):
        last = min(n, first + block)
        for j in range(p):
            for i in range(first, last):
                packed[j, i] = codes[i, j] * stride + classes[i]


@njit(cache=True, nogil=True)
def mark_sides(row, start, end, stride, code_left, side, goes_left):
    """goes_left[i] for the records start..end: codes up to ``code_left``, or the codes marked in ``side``."""
    if code_left >= 0:
        bound = (code_left + 1) * stride
        for i in range(start, end):
            goes_left[i - start] = row[i] < bound
    else:
        for i in range(start, end):
            goes_left[i - start] = side[int(row[i]) // stride]


@njit(cache=True, nogil=True)
def misplaced(goes_left, start, n_left, from_left, from_right):
    """Positions to swap so that the records that go left come first; returns how many pairs.

    ``from_left`` receives positions among the first ``n_left`` whose record goes right, ``from_right`` the others'.
    A split that cuts off a few records moves only those few.
    """
    pairs = 0
    for i in range(n_left):
        from_left[pairs] = start + i
        pairs += 1 - goes_left[i]
    others = 0
    for i in range(n_left, goes_left.shape[0]):
        from_right[others] = start + i
        others += goes_left[i]
    return pairs


@njit(cache=True, nogil=True)
def swap(row, from_left, from_right, pairs):
    """Exchange the values of a row at paired positions."""
    for i in range(pairs):
        a, b = from_left[i], from_right[i]
        row[a], row[b] = row[b], row[a]


@njit(cache=True, nogil=True)
def swap_rows(table, from_left, from_right, pairs):
    """Exchange the rows of a table at paired positions."""
    for i in range(pairs):
        a, b = from_left[i], from_right[i]
        for c in range(table.shape[1]):
            table[a, c], table[b, c] = table[b, c], table[a, c]


@njit(cache=True, nogil=True)
def longer(array):
    """The array with twice the room."""
    wider = np.empty((2 * array.shape[0],) + array.shape[1:], array.dtype)
    wider[: array.shape[0]] = array
    return wider


POOLED_CELLS = 4096
"""Columns with more cells than this always read their histogram anew."""

POOL_CELLS = 1 << 16
"""Most cells of all pooled columns together."""


@njit(cache=True, nogil=True)
def pooled_columns(n_codes, width):
    """Where each narrow column's histogram starts in a pool (-1: not pooled), and the size of a pool."""
    offsets = np.full(n_codes.shape[0], -1, np.int64)
    size = 0
    for j in range(n_codes.shape[0]):
        cells = n_codes[j] * width
        if cells <= POOLED_CELLS and size + cells <= POOL_CELLS:
            offsets[j] = size
            size += cells
    return offsets, size


@njit(cache=True, nogil=True)
def pooled_cells(active, offsets, n_codes, width):
    """Cells of the active pooled columns; with a width of 0: how many such columns there are."""
    total = 0
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            total += n_codes[j] * width if width else 1
    return total


@njit(cache=True, nogil=True)
def add_pool(pool, packed, responses, start, end, active, offsets, n_codes, stride, width, criterion):
    """The histograms of the records start..end for all active pooled columns, from zero."""
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            cells = pool[offsets[j] : offsets[j] + n_codes[j] * width]
            cells[:] = 0
            add_records(cells, packed[j], responses, start, end, stride, width, criterion)


@njit(cache=True, nogil=True)
def divide_pool(stack_pool, at, smaller_pool, small_left, active, offsets, n_codes, width):
    """Turn a node's pool at row ``at`` into its right child's there and its left child's at the next row.

    The larger child's histogram is the node's less the smaller child's: only the smaller one reads records.
    """
    right, left = stack_pool[at], stack_pool[at + 1]
    for j in range(active.shape[0]):
        if active[j] and offsets[j] >= 0:
            for cell in range(offsets[j], offsets[j] + n_codes[j] * width):
                small = smaller_pool[cell]
                large = right[cell] - small
                left[cell] = small if small_left else large
                right[cell] = large if small_left else small


@njit(cache=True, nogil=True)
def grow_branch(
    packed, order, responses, start, end, root_sums, root_active, root_depth,
    n_codes, by_order, stride, criterion, min_leaf, max_depth, exhaustive_max, table, tolerance, hist,
):  # fmt: skip
    """Grow the branch of the records start..end to its end, depth first; node 0 is its root.

    ``hist`` must be zero and hold the widest column's (codes, width) cells; it is left zero. Returns, for the
    nodes in preorder: parent, feature, last left code, first right code, start and the ``listed`` codes of each
    categorical split (those of the smaller child, ascending; ``listed_left``: they go left), records' run
    (first, last), and sums.
    """
    p = packed.shape[0]
    width = root_sums.shape[0]
    widest = 0
    for j in range(p):
        widest = max(widest, n_codes[j])
    present = np.empty(widest, np.int64)
    ordered = np.empty(widest, np.int64)
    bits = np.zeros((widest >> 6) + 1, np.uint64)
    top = np.zeros((widest >> 12) + 1, np.uint64)
    side = np.zeros(widest, np.uint8)
    best_side = np.zeros(widest, np.uint8)
    all_sides = np.empty(end - start, np.uint8)
    from_left = np.empty(end - start + 1, np.int64)
    from_right = np.empty(end - start + 1, np.int64)
    left = np.zeros(width, root_sums.dtype)
    right = np.zeros(width, root_sums.dtype)

    capacity = INITIAL_NODES
    parents = np.empty(capacity, np.int32)
    features = np.empty(capacity, np.int32)
    codes_left = np.empty(capacity, np.int32)
    codes_right = np.empty(capacity, np.int32)
    listed_starts = np.empty(capacity, np.int64)
    listed_lefts = np.empty(capacity, np.uint8)
    firsts = np.empty(capacity, np.int64)
    lasts = np.empty(capacity, np.int64)
    sums = np.empty((capacity, width), root_sums.dtype)
    listed = np.empty(256, np.uint16)
    n_listed = 0
    m = 0

    room = 64
    stack = np.empty((room, 4), np.int64)  # start, end, depth, parent
    stack_sums = np.empty((room, width), root_sums.dtype)
    stack_active = np.empty((room, p), np.uint8)
    stack_pooled = np.zeros(room, np.uint8)
    offsets, pool_size = pooled_columns(n_codes, width)
    stack_pool = np.zeros((room, pool_size), hist.dtype)
    smaller_pool = np.zeros(pool_size, hist.dtype)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = start, end, root_depth, -1
    stack_sums[0] = root_sums
    stack_active[0] = root_active
    waiting = 1
    total = np.empty(width, root_sums.dtype)
    active = np.empty(p, np.uint8)

    while waiting:
        waiting -= 1
        s, e, depth, parent = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3]
        total[:] = stack_sums[waiting]
        active[:] = stack_active[waiting]
        if m == capacity:
            capacity *= 2
            parents, features = longer(parents), longer(features)
            codes_left, codes_right = longer(codes_left), longer(codes_right)
            listed_starts, listed_lefts = longer(listed_starts), longer(listed_lefts)
            firsts, lasts, sums = longer(firsts), longer(lasts), longer(sums)
        t = m
        m += 1
        parents[t], features[t], codes_left[t], codes_right[t] = parent, -1, -1, -1
        listed_starts[t], listed_lefts[t] = n_listed, 0
        firsts[t], lasts[t] = s, e
        sums[t] = total
        n = e - s
        if n < 2 * min_leaf or (max_depth >= 0 and depth >= max_depth):
            continue
        base = purity(total, n, criterion, table)
        if criterion == ENTROPY and base > -tolerance:
            continue
        if criterion == GINI and n - base < tolerance:
            continue
        best = base
        feature, code_left, code_right = -1, -1, -1
        pool = stack_pool[waiting]
        pooled = stack_pooled[waiting] == 1
        if not pooled and n * pooled_cells(active, offsets, n_codes, 0) > pooled_cells(active, offsets, n_codes, width):
            add_pool(pool, packed, responses, s, e, active, offsets, n_codes, stride, width, criterion)
            pooled = True
        for j in range(p):
            if not active[j]:
                continue
            row = packed[j]
            if pooled and offsets[j] >= 0:
                cells = pool[offsets[j] : offsets[j] + n_codes[j] * width]
                found = present_codes(cells, row, 0, n_codes[j], n_codes[j], 1, width, criterion, bits, top, present)
            else:
                cells = hist
                add_records(hist, row, responses, s, e, stride, width, criterion)
                found = present_codes(hist, row, s, e, n_codes[j], stride, width, criterion, bits, top, present)
            if found == 1:
                active[j] = 0
            score, a, b, better = best_split_of_column(
                cells, present, found, by_order[j], total, n, width, min_leaf, criterion, exhaustive_max, table,
                left, right, ordered, side, tolerance, best,
            )  # fmt: skip
            if better:
                best, feature, code_left, code_right = score, j, a, b
                if a < 0:
                    for position in range(found):
                        best_side[present[position]] = side[present[position]]
            if not pooled or offsets[j] < 0:
                for position in range(found):
                    cell = present[position] * width
                    for c in range(width):
                        hist[cell + c] = 0
        if feature < 0:
            continue

        features[t], codes_left[t], codes_right[t] = feature, code_left, code_right
        row = packed[feature]
        goes_left = all_sides[:n]
        mark_sides(row, s, e, stride, code_left, best_side, goes_left)
        n_left = 0
        left[:] = 0
        for i in range(n):
            n_left += goes_left[i]
        if criterion == SSE:
            left[0] = n_left
            if 2 * n_left <= n:
                add_side(goes_left, 1, responses, s, left[1:])
            else:
                right[:] = 0
                add_side(goes_left, 0, responses, s, right[1:])
                left[1:] = total[1:] - right[1:]
        else:
            for i in range(n):
                left[int(row[s + i]) % stride] += goes_left[i]
        if code_left < 0:
            smaller_left = n_left < n - n_left
            for i in range(n):
                if goes_left[i] == smaller_left:
                    code = int(row[s + i]) // stride
                    bits[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
            listed_lefts[t] = smaller_left
            for word in range((n_codes[feature] >> 6) + 1):
                lower = bits[word]
                bits[word] = 0
                while lower:
                    if n_listed == listed.shape[0]:
                        listed = longer(listed)
                    listed[n_listed] = (word << 6) + trailing_zeros(lower)
                    lower &= lower - np.uint64(1)
                    n_listed += 1
        pairs = misplaced(goes_left, s, n_left, from_left, from_right)
        for j in range(p):
            if active[j]:
                swap(packed[j], from_left, from_right, pairs)
        swap(order, from_left, from_right, pairs)
        if criterion == SSE:
            swap_rows(responses, from_left, from_right, pairs)

        if waiting + 2 > room:
            room *= 2
            stack, stack_sums, stack_active = longer(stack), longer(stack_sums), longer(stack_active)
            stack_pool, stack_pooled = longer(stack_pool), longer(stack_pooled)
        larger = max(n_left, n - n_left)
        keep = (
            pooled
            and larger >= 2 * min_leaf
            and larger * pooled_cells(active, offsets, n_codes, 0) > pooled_cells(active, offsets, n_codes, width)
        )
        if keep:
            small_left = n_left < n - n_left
            a, b = (s, s + n_left) if small_left else (s + n_left, e)
            add_pool(smaller_pool, packed, responses, a, b, active, offsets, n_codes, stride, width, criterion)
            divide_pool(stack_pool, waiting, smaller_pool, small_left, active, offsets, n_codes, width)
        stack_pooled[waiting] = stack_pooled[waiting + 1] = keep
        stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3] = s + n_left, e, depth + 1, t
        stack_sums[waiting] = total - left
        stack_active[waiting] = active
        waiting += 1
        stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3] = s, s + n_left, depth + 1, t
        stack_sums[waiting] = left
        stack_active[waiting] = active
        waiting += 1

    return (
        parents[:m].copy(), features[:m].copy(), codes_left[:m].copy(), codes_right[:m].copy(),
        listed_starts[:m].copy(), listed[:n_listed].copy(), listed_lefts[:m].copy(),
        firsts[:m].copy(), lasts[:m].copy(), sums[:m].copy(),
    )  # fmt: skip
