"""Every loop over records and every growing step, compiled.

Growing works on *packed* columns: row j of ``packed`` (p, n) holds, for each record, ``code * stride + class``, so
one read gives the cell of the histogram to add to (stride = number of classes; for numeric responses stride = 1
and the responses (r, n) travel beside the codes). A node's records are a contiguous run of every row:

    packed[j] = [ . . . | node's records | . . . ]        order = original row of each position
                        start           end

and a split partitions that run in place, left child first. A column with one value in a node is *settled*: all
records there have the same code, so it is neither read nor moved any more below.

Only plain arrays go in and out. Nothing here allocates per record inside a loop.
"""

from heapq import heappop, heappush

import numpy as np
from numba import njit

ENTROPY, GINI, SSE = 0, 1, 2

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


@njit(cache=True, nogil=True, inline="always")
def x_log_x(x, table):
    """x · log2 x, from a table for small x."""
    if x < table.shape[0]:
        return table[int(x)]
    return x * np.log2(x)


@njit(cache=True, nogil=True)
def purity(sums, n, criterion, table):
    """What a split maximizes, added over its two sides; the gain is what it exceeds the parent's by.

    Entropy: −n·H in bits. Gini: n − n·G. Numeric responses, ``sums`` = (n, Σy₁, …): Σ (Σy)² / n.
    """
    total = 0.0
    if criterion == ENTROPY:
        for c in range(sums.shape[0]):
            total += x_log_x(sums[c], table)
        return total - x_log_x(n, table)
    first = 1 if criterion == SSE else 0
    for c in range(first, sums.shape[0]):
        total += float(sums[c]) * float(sums[c])
    return total / n


@njit(cache=True, nogil=True)
def add_records(hist, row, responses, start, end, stride, width, criterion):
    """Add the records start..end of one packed column to a histogram of (code, sum) cells."""
    if criterion == SSE:
        r = responses.shape[0]
        for i in range(start, end):
            cell = int(row[i]) * width
            hist[cell] += 1
            for q in range(r):
                hist[cell + 1 + q] += responses[q, i]
    else:
        for i in range(start, end):
            hist[row[i]] += 1


@njit(cache=True, nogil=True)
def present_codes(hist, row, start, end, n_codes, stride, width, criterion, bits, top, present):
    """The codes that occur among the records start..end, ascending, into ``present``; returns how many.

    A wide column in a small node is read through a two-level bitmap, so that it costs what it holds.
    """
    found = 0
    if end - start >= n_codes:
        for code in range(n_codes):
            cell = code * width
            here = hist[cell] > 0
            if criterion != SSE:
                for c in range(1, width):
                    here = here or hist[cell + c] > 0
            if here:
                present[found] = code
                found += 1
        return found
    for i in range(start, end):
        code = int(row[i]) // stride
        bits[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
        top[code >> 12] |= np.uint64(1) << np.uint64((code >> 6) & 63)
    for block in range((n_codes >> 12) + 1):
        upper = top[block]
        top[block] = 0
        while upper:
            word = (block << 6) + trailing_zeros(upper)
            upper &= upper - np.uint64(1)
            lower = bits[word]
            bits[word] = 0
            while lower:
                present[found] = (word << 6) + trailing_zeros(lower)
                lower &= lower - np.uint64(1)
                found += 1
    return found


@njit(cache=True, nogil=True, inline="always")
def trailing_zeros(word):
    """Position of the lowest set bit of a word that is not zero (de Bruijn multiplication)."""
    lowest = word & (~word + np.uint64(1))
    return DE_BRUIJN[(lowest * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]


def _de_bruijn_table() -> np.ndarray:
    table = np.zeros(64, dtype=np.int64)
    for position in range(64):
        table[((1 << position) * 0x03F79D71B4CB0A89 % (1 << 64)) >> 58] = position
    return table


DE_BRUIJN = _de_bruijn_table()


@njit(cache=True, nogil=True)
def best_cut(hist, present, found, total, n, width, min_leaf, criterion, table, left, right, tolerance, best):
    """Best cut of an ordered column: (score, position); the first ``position`` present codes go left.

    Starts from the score ``best``; a position of 0 says that nothing beat it by more than ``tolerance``. With
    classes, a cut inside a run of codes that all hold one and the same class is passed over when both
    neighbouring cuts are allowed: the score is convex along the run, so one of them is at least as good.
    """
    where = 0
    left[:] = 0
    right[:] = total
    n_left = 0
    previous = 0
    run_class = -1
    for position in range(found):
        cell = present[position] * width
        if criterion == SSE:
            size = int(hist[cell])
            code_class = -2
        else:
            size = 0
            code_class = -2
            for c in range(width):
                count = hist[cell + c]
                if count > 0:
                    code_class = c if size == 0 else -2
                size += count
        if position > 0 and n_left >= min_leaf and n - n_left >= min_leaf:
            inside = code_class >= 0 and code_class == run_class
            if not (inside and n_left - previous >= min_leaf and n - n_left - size >= min_leaf):
                score = purity(left, n_left, criterion, table) + purity(right, n - n_left, criterion, table)
                if score > best + tolerance:
                    best = score
                    where = position
        for c in range(width):
            left[c] += hist[cell + c]
            right[c] -= hist[cell + c]
        n_left += size
        previous = size
        run_class = code_class
    return best, where


@njit(cache=True, nogil=True)
def class_order(hist, present, found, width, criterion, order):
    """Order the present codes for a categorical column; ``order`` receives them.

    Two classes or one response: by class share or mean (Breiman et al. 1984). Otherwise: by the first
    principal component of the codes' class shares or means, weighted by their records.
    """
    scores = np.empty(found)
    if criterion == SSE and width == 2:
        for position in range(found):
            cell = present[position] * width
            scores[position] = hist[cell + 1] / hist[cell]
    elif criterion != SSE and width == 2:
        for position in range(found):
            cell = present[position] * width
            scores[position] = hist[cell + 1] / (hist[cell] + hist[cell + 1])
    else:
        first = 1 if criterion == SSE else 0
        r = width - first
        means = np.empty((found, r))
        weights = np.empty(found)
        centre = np.zeros(r)
        for position in range(found):
            cell = present[position] * width
            weight = 0.0
            if criterion == SSE:
                weight = hist[cell]
            else:
                for c in range(width):
                    weight += hist[cell + c]
            weights[position] = weight
            for c in range(r):
                means[position, c] = hist[cell + first + c] / weight
                centre[c] += hist[cell + first + c]
        centre /= weights.sum()
        scatter = np.zeros((r, r))
        for position in range(found):
            for a in range(r):
                for b in range(a + 1):
                    scatter[a, b] += (
                        weights[position] * (means[position, a] - centre[a]) * (means[position, b] - centre[b])
                    )
        for a in range(r):
            for b in range(a):
                scatter[b, a] = scatter[a, b]
        vectors = np.linalg.eigh(scatter)[1]
        axis = vectors[:, r - 1]
        for position in range(found):
            score = 0.0
            for c in range(r):
                score += (means[position, c] - centre[c]) * axis[c]
            scores[position] = score
    ranks = np.argsort(scores, kind="mergesort")
    for position in range(found):
        order[position] = present[ranks[position]]


@njit(cache=True, nogil=True)
def best_subset(hist, present, found, total, n, width, min_leaf, criterion, table, left, right, tolerance, best):
    """Best of all subsets of at most a few present codes: (score, mask of the codes that go left).

    Masks are tried in rising order and always hold the lowest present code; 0: nothing beat ``best``.
    """
    where = 0
    for mask in range(1, (1 << found) - 1, 2):
        n_left = 0
        left[:] = 0
        for position in range(found):
            if mask >> position & 1:
                cell = present[position] * width
                for c in range(width):
                    left[c] += hist[cell + c]
        if criterion == SSE:
            n_left = int(left[0])
        else:
            for c in range(width):
                n_left += int(left[c])
        if n_left < min_leaf or n - n_left < min_leaf:
            continue
        for c in range(width):
            right[c] = total[c] - left[c]
        score = purity(left, n_left, criterion, table) + purity(right, n - n_left, criterion, table)
        if score > best + tolerance:
            best = score
            where = mask
    return best, where


@njit(cache=True, nogil=True)
def best_split_of_column(
    hist, present, found, by_order, total, n, width, min_leaf, criterion, exhaustive_max, table, left, right, order,
    side, tolerance, best,
):  # fmt: skip
    """Best split of one column, when it beats ``best``: (score, last left code, first right code, found one).

    Ordered columns: the two codes on either side of the cut. Categorical columns: ``side[code]`` = 1 for the
    present codes that go left, and the codes are -1.
    """
    if found < 2:
        return best, -1, -1, False
    if by_order:
        best, where = best_cut(
            hist, present, found, total, n, width, min_leaf, criterion, table, left, right, tolerance, best
        )
        if where == 0:
            return best, -1, -1, False
        return best, present[where - 1], present[where], True
    multiple = width > 2
    if multiple and found <= exhaustive_max:
        best, mask = best_subset(
            hist, present, found, total, n, width, min_leaf, criterion, table, left, right, tolerance, best
        )
        if mask == 0:
            return best, -1, -1, False
        for position in range(found):
            side[present[position]] = mask >> position & 1
        return best, -1, -1, True
    class_order(hist, present, found, width, criterion, order)
    best, where = best_cut(
        hist, order, found, total, n, width, min_leaf, criterion, table, left, right, tolerance, best
    )
    if where == 0:
        return best, -1, -1, False
    lowest_left = False
    for position in range(where):
        lowest_left = lowest_left or order[position] == present[0]
    for position in range(found):
        side[order[position]] = (position < where) == lowest_left
    return best, -1, -1, True


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
def best_split_of_histogram(
    hist, total, n, by_order, width, min_leaf, criterion, exhaustive_max, table, tolerance, best, side
):
    """:func:`best_split_of_column` from a full histogram, for nodes whose records are elsewhere.

    Also returns how many codes are present.
    """
    n_codes = hist.shape[0] // width
    present, ordered = np.empty(n_codes, np.int64), np.empty(n_codes, np.int64)
    no_bits = np.zeros(1, np.uint64)
    left, right = np.zeros(width, total.dtype), np.zeros(width, total.dtype)
    found = present_codes(hist, hist, 0, n_codes, n_codes, 1, width, criterion, no_bits, no_bits, present)
    best, code_left, code_right, better = best_split_of_column(
        hist, present, found, by_order, total, n, width, min_leaf, criterion, exhaustive_max, table, left, right,
        ordered, side, tolerance, best,
    )  # fmt: skip
    return best, code_left, code_right, better, found


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
            for q in range(width - 1):
                for i in range(n):
                    if goes_left[i]:
                        left[1 + q] += responses[q, s + i]
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
            for q in range(width - 1):
                swap(responses[q], from_left, from_right, pairs)

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


@njit(cache=True, nogil=True)
def sizes_and_depths(parent, size, depth):
    """Nodes of each branch into ``size`` (ones before), depth of each node into ``depth`` (zeros before)."""
    for t in range(1, parent.shape[0]):
        depth[t] = depth[parent[t]] + 1
    for t in range(parent.shape[0] - 1, 0, -1):
        size[parent[t]] += size[t]


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
                low[j] = max(low[j], min(threshold[above], start_high[j]))
            length = start_high[j] - start_low[j]
            part = (high[j] - low[j]) / length if length > 0.0 else 1.0
            if missing_share[j] > 0.0:
                part = (1.0 - missing_share[j]) * part
                if admits[j]:
                    part += missing_share[j]
            share[j] = part
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
def keep_splits(parent, size, feature, n, k, kept, smaller_child):
    """kept[t]: the split of t and all splits above it leave at least k records on every side."""
    for t in range(parent.shape[0]):
        kept[t] = False
        if feature[t] < 0:
            continue
        smallest = n[t]
        child = t + 1
        while child < t + size[t]:
            smallest = min(smallest, n[child])
            child += size[child]
        smaller_child[t] = smallest
        kept[t] = smallest >= k and (t == 0 or kept[parent[t]])


@njit(cache=True, nogil=True)
def ten_digits(x):
    """x at ten significant digits, so that values that are equal on paper compare equal."""
    if not np.isfinite(x):
        return x
    if abs(x) < 1e-280:
        return 0.0
    scale = 10.0 ** (9 - np.floor(np.log10(abs(x))))
    return np.round(x * scale) / scale


@njit(cache=True, nogil=True)
def prune_by_ratio(parent, size, feature, n, k, risk, error):
    """Error-risk pruning with a heap: collapse the offending branch with the largest ratio until none offends.

    A branch offends when its smallest group has fewer than k records. Its ratio is (risk − least risk of its
    groups) / (error − summed error of its groups), +inf for 0 below. Only the ancestors of a collapsed node
    change, so only they are entered again; entries that are out of date are skipped by their version.
    """
    m = parent.shape[0]
    least_risk, total_error, smallest = risk.copy(), error.copy(), n.copy()
    branch_sweep(parent, feature, least_risk, total_error, smallest)
    gone = np.zeros(m, np.uint8)
    version = np.zeros(m, np.int64)
    heap = [(np.int64(0), 0.0, 0.0, np.int64(0), np.int64(0))]
    heap.clear()
    for t in range(m):
        if feature[t] >= 0 and smallest[t] < k:
            enter(heap, t, risk, error, least_risk, total_error, version)
    steps = np.empty(m, np.int32)
    ratios = np.empty(m, np.float64)
    smallest_then = np.empty(m, np.int64)
    q = 0
    while len(heap):
        _, ratio, _, t, entered = heappop(heap)
        if gone[t] or entered != version[t] or smallest[t] >= k:
            continue
        steps[q], ratios[q], smallest_then[q] = t, -ratio, smallest[t]
        q += 1
        s = t
        while s < t + size[t]:
            if gone[s]:
                s += size[s]
            else:
                gone[s] = 1
                s += 1
        least_risk[t], total_error[t], smallest[t] = risk[t], error[t], n[t]
        above = parent[t]
        while above >= 0:
            child = above + 1
            low, total, fewest = np.inf, 0.0, n[above]
            while child < above + size[above]:
                low = min(low, least_risk[child])
                total += total_error[child]
                fewest = min(fewest, smallest[child])
                child += size[child]
            least_risk[above], total_error[above], smallest[above] = low, total, fewest
            version[above] += 1
            if fewest < k:
                enter(heap, above, risk, error, least_risk, total_error, version)
            above = parent[above]
    return steps[:q].copy(), ratios[:q].copy(), smallest_then[:q].copy()


@njit(cache=True, nogil=True)
def enter(heap, t, risk, error, least_risk, total_error, version):
    """Put a branch on the heap: the root last, then larger ratio, larger difference in risk, lower node first."""
    difference = risk[t] - least_risk[t]
    added = error[t] - total_error[t]
    ratio = difference / added if added > 0 else np.inf
    heappush(heap, (np.int64(t == 0), -ten_digits(ratio), -ten_digits(difference), np.int64(t), version[t]))
