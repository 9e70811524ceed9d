"""The best split of one column from its histogram: cells of (code, sum), flat.

A small node holds few of the codes and classes, so its cells that are not empty are copied side by side first: what is
tried of a column costs what the node holds, whatever the table has.
"""

import numpy as np

from anonymizer.loops import njit

ENTROPY, GINI, SSE = 0, 1, 2


@njit(inline="always")
def x_log_x(x, table):
    """Return x · log2 x, from a table for small x."""
    if x < table.shape[0]:
        return table[int(x)]
    return x * np.log2(x)


@njit(makes_arrays=False)
def purity(sums, n, criterion, table):
    """Return what a split maximizes, added over its two sides; the gain is what it exceeds the parent's by.

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


@njit(makes_arrays=False)
def add_records(hist, row, responses, start, end, stride, width, criterion):
    """Add the records start..end of one packed column to a histogram of (code, sum) cells.

    Few responses are added without an inner loop, which takes longer than what it does.
    """
    if criterion == SSE:
        r = responses.shape[1]
        if r == 1:
            for i in range(start, end):
                cell = int(row[i]) * 2
                hist[cell] += 1
                hist[cell + 1] += responses[i, 0]
        elif r == 2:
            for i in range(start, end):
                cell = int(row[i]) * 3
                hist[cell] += 1
                hist[cell + 1] += responses[i, 0]
                hist[cell + 2] += responses[i, 1]
        elif r == 3:
            for i in range(start, end):
                cell = int(row[i]) * 4
                hist[cell] += 1
                hist[cell + 1] += responses[i, 0]
                hist[cell + 2] += responses[i, 1]
                hist[cell + 3] += responses[i, 2]
        else:
            for i in range(start, end):
                cell = int(row[i]) * width
                hist[cell] += 1
                for q in range(r):
                    hist[cell + 1 + q] += responses[i, q]
    else:
        for i in range(start, end):
            hist[row[i]] += 1


@njit(makes_arrays=False)
def add_side(goes_left, side, responses, start, sums):
    """Add the responses of the records from ``start`` on that go to one side, 1 left, 0 right, to ``sums`` (r,)."""
    for i in range(goes_left.shape[0]):
        if goes_left[i] == side:
            for q in range(sums.shape[0]):
                sums[q] += responses[start + i, q]


@njit(makes_arrays=False)
def present_codes(hist, row, start, end, n_codes, stride, width, criterion, bits, top, present):
    """Write the codes that occur among the records start..end, ascending, into ``present``; return how many.

    A wide column in a small node is read through a two-level bitmap of what is packed, so that it costs what it holds.
    """
    n_present = 0
    if end - start >= n_codes:
        for code in range(n_codes):
            cell = code * width
            here = hist[cell] > 0
            if criterion != SSE:
                for c in range(1, width):
                    here = here or hist[cell + c] > 0
            if here:
                present[n_present] = code
                n_present += 1
        return n_present
    for i in range(start, end):
        packed = int(row[i])
        bits[packed >> 6] |= np.uint64(1) << np.uint64(packed & 63)
        top[packed >> 12] |= np.uint64(1) << np.uint64((packed >> 6) & 63)
    for block in range((n_codes * stride >> 12) + 1):
        upper = top[block]
        top[block] = 0
        while upper:
            word = (block << 6) + trailing_zeros(upper)
            upper &= upper - np.uint64(1)
            lower = bits[word]
            bits[word] = 0
            while lower:
                code = ((word << 6) + trailing_zeros(lower)) // stride
                lower &= lower - np.uint64(1)
                if n_present == 0 or present[n_present - 1] != code:
                    present[n_present] = code
                    n_present += 1
    return n_present


@njit(inline="always")
def trailing_zeros(word):
    """Return the position of the lowest set bit of a word that is not zero (de Bruijn multiplication)."""
    lowest = word & (~word + np.uint64(1))
    return DE_BRUIJN[(lowest * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]


def _de_bruijn_table() -> np.ndarray:
    table = np.zeros(64, dtype=np.int64)
    for position in range(64):
        table[((1 << position) * 0x03F79D71B4CB0A89 % (1 << 64)) >> 58] = position
    return table


DE_BRUIJN = _de_bruijn_table()


@njit(makes_arrays=False)
def sums_there(total, criterion, there):
    """Write which sums of a node are of classes that it holds, or of numbers, into ``there``; return how many."""
    n_there = 0
    for c in range(total.shape[0]):
        if criterion == SSE or total[c] > 0:
            there[n_there] = c
            n_there += 1
    return n_there


@njit(makes_arrays=False)
def copy_cells(hist, width, present, n_present, there, cells):
    """Write the sums ``there`` of the present codes, one code after the other, into ``cells``."""
    n_there = there.shape[0]
    for position in range(n_present):
        cell, to = present[position] * width, position * n_there
        for c in range(n_there):
            cells[to + c] = hist[cell + there[c]]


@njit(makes_arrays=False)
def highest_between(heights, first, last):
    """Return the greatest of the heights of the codes after ``first`` up to ``last``."""
    highest = 0
    for code in range(first + 1, last + 1):
        highest = max(highest, heights[code])
    return highest


@njit(makes_arrays=False)
def best_cut(
    cells, order, n_present, total, n, min_leaf, criterion, table, left, right, tolerance, best, present, heights
):
    """Return the best cut of codes in an order: (score, position); the first ``position`` of them go left.

    ``order``: of each code its place in ``cells``. ``heights`` (b,): of a public hierarchy, how high the node is that
    holds a code and the one before it; no entry, or a first one below 0, for none. A cut then lies where the highest
    node of the ``present`` codes has its parts.

    Starts from the score ``best``; a position of 0 says that nothing beat it by more than ``tolerance``. With
    classes, a cut inside a run of codes that all hold one and the same class is passed over when both
    neighbouring cuts are allowed: the score is convex along the run, so one of them is at least as good.
    """
    where, width = 0, total.shape[0]
    for c in range(width):
        left[c], right[c] = 0, total[c]
    n_left = 0
    previous = 0
    run_class = -1
    in_hierarchy = heights.shape[0] > 0 and heights[0] >= 0
    highest = highest_between(heights, present[0], present[n_present - 1]) if in_hierarchy else 0
    for position in range(n_present):
        cell = order[position] * width
        if criterion == SSE:
            size = int(cells[cell])
            code_class = -2
        else:
            size = 0
            code_class = -2
            for c in range(width):
                count = cells[cell + c]
                if count > 0:
                    code_class = c if size == 0 else -2
                size += count
        allowed = position > 0 and n_left >= min_leaf and n - n_left >= min_leaf
        if allowed and in_hierarchy:
            allowed = highest_between(heights, present[position - 1], present[position]) == highest
        if allowed:
            inside = code_class >= 0 and code_class == run_class and not in_hierarchy
            if not (inside and n_left - previous >= min_leaf and n - n_left - size >= min_leaf):
                score = purity(left, n_left, criterion, table) + purity(right, n - n_left, criterion, table)
                if score > best + tolerance:
                    best = score
                    where = position
        for c in range(width):
            left[c] += cells[cell + c]
            right[c] -= cells[cell + c]
        n_left += size
        previous = size
        run_class = code_class
    return best, where


@njit
def first_component(points, weights):
    """Return the first principal axis (r,) of weighted, centred points (q, r), its first entry other than 0 positive.

    From whichever of the (r, r) scatter and the (q, q) products is smaller: a hundred responses cost what the few
    levels in the node cost.
    """
    q, r = points.shape
    axis = np.zeros(r)
    if q < r:
        products = np.zeros((q, q))
        for a in range(q):
            for b in range(a + 1):
                total = 0.0
                for c in range(r):
                    total += points[a, c] * points[b, c]
                products[a, b] = products[b, a] = total * np.sqrt(weights[a] * weights[b])
        mixture = np.linalg.eigh(products)[1][:, q - 1].copy()
        length = 0.0
        for c in range(r):
            for a in range(q):
                axis[c] += mixture[a] * np.sqrt(weights[a]) * points[a, c]
            length += axis[c] * axis[c]
        if length > 0.0:
            axis /= np.sqrt(length)
    else:
        scatter = np.zeros((r, r))
        for position in range(q):
            for a in range(r):
                for b in range(a + 1):
                    scatter[a, b] += weights[position] * points[position, a] * points[position, b]
        for a in range(r):
            for b in range(a):
                scatter[b, a] = scatter[a, b]
        axis[:] = np.linalg.eigh(scatter)[1][:, r - 1]
    for c in range(r):
        if abs(axis[c]) > 1e-9:
            if axis[c] < 0:
                axis *= -1.0
            break
    return axis


@njit
def class_order(cells, n_present, width, criterion, order):
    """Write the places of the present codes of a categorical column to ``order``, sorted by what they hold.

    Two classes or one response: by class share or mean (Breiman et al. 1984). Otherwise: by the first
    principal component of the codes' class shares or means, weighted by their records.
    """
    scores = np.empty(n_present)
    if criterion == SSE and width == 2:
        for position in range(n_present):
            cell = position * width
            scores[position] = cells[cell + 1] / cells[cell]
    elif criterion != SSE and width == 2:
        for position in range(n_present):
            cell = position * width
            scores[position] = cells[cell + 1] / (cells[cell] + cells[cell + 1])
    else:
        first = 1 if criterion == SSE else 0
        r = width - first
        means = np.empty((n_present, r))
        weights = np.empty(n_present)
        centre = np.zeros(r)
        for position in range(n_present):
            cell = position * width
            weight = 0.0
            if criterion == SSE:
                weight = cells[cell]
            else:
                for c in range(width):
                    weight += cells[cell + c]
            weights[position] = weight
            for c in range(r):
                means[position, c] = cells[cell + first + c] / weight
                centre[c] += cells[cell + first + c]
        centre /= weights.sum()
        for position in range(n_present):
            for c in range(r):
                means[position, c] -= centre[c]
        axis = first_component(means, weights)
        for position in range(n_present):
            score = 0.0
            for c in range(r):
                score += means[position, c] * axis[c]
            scores[position] = score
    ranks = np.argsort(scores, kind="mergesort")
    for position in range(n_present):
        order[position] = ranks[position]


@njit
def best_subset(cells, n_present, total, n, min_leaf, criterion, table, left, right, tolerance, best):
    """Return the best of all subsets of a few present codes: (score, mask of the codes that go left).

    Masks are tried in rising order and always hold the lowest present code; 0: nothing beat ``best``. A mask differs
    from the one before up to the lowest place that ``mask >> 1`` has: ``sums`` of the places from there on are enough.
    """
    where, width = 0, total.shape[0]
    sums = np.zeros((n_present + 1, width), total.dtype)
    for mask in range(1, (1 << n_present) - 1, 2):
        if mask > 1:
            place = 1 + trailing_zeros(np.uint64(mask >> 1))
            for c in range(width):
                sums[place, c] = sums[place + 1, c] + cells[place * width + c]
            for lower in range(1, place):
                sums[lower] = sums[place]
        n_left = 0
        for c in range(width):
            left[c] = cells[c] + sums[1, c]
            right[c] = total[c] - left[c]
            if criterion != SSE or c == 0:
                n_left += int(left[c])
        if n_left < min_leaf or n - n_left < min_leaf:
            continue
        score = purity(left, n_left, criterion, table) + purity(right, n - n_left, criterion, table)
        if score > best + tolerance:
            best = score
            where = mask
    return best, where


@njit(makes_arrays=False)
def best_split_of_column(
    cells, present, n_present, by_order, heights, total, n, multiple, min_leaf, criterion, exhaustive_max, table,
    left, right, order, side, tolerance, best,
):  # fmt: skip
    """Return the best split of one column: (score, last left code, first right code, True where it beats ``best``).

    ``cells``: of :func:`copy_cells`, with their ``total``; ``multiple``: whether the target has more than two sums.
    Ordered columns: the two codes on either side of the cut, which keeps to ``heights``: see :func:`best_cut`.
    Categorical columns: ``side[code]`` = 1 for the present codes that go left, and the codes are -1.
    """
    if by_order:
        for position in range(n_present):
            order[position] = position
    elif multiple and n_present <= exhaustive_max:
        best, mask = best_subset(cells, n_present, total, n, min_leaf, criterion, table, left, right, tolerance, best)
        if mask == 0:
            return best, -1, -1, False
        for position in range(n_present):
            side[present[position]] = mask >> position & 1
        return best, -1, -1, True
    else:
        class_order(cells, n_present, total.shape[0], criterion, order)
    best, where = best_cut(
        cells, order, n_present, total, n, min_leaf, criterion, table, left, right, tolerance, best, present,
        heights if by_order else heights[:0],
    )  # fmt: skip
    if where == 0:
        return best, -1, -1, False
    if by_order:
        return best, present[where - 1], present[where], True
    lowest_left = False
    for position in range(where):
        lowest_left = lowest_left or order[position] == 0
    for position in range(n_present):
        side[present[order[position]]] = (position < where) == lowest_left
    return best, -1, -1, True


@njit
def best_split_of_histogram(
    hist, total, n, by_order, heights, width, min_leaf, criterion, exhaustive_max, table, tolerance, best, side
):
    """Return :func:`best_split_of_column` from a full histogram, and how many codes are present.

    For nodes whose records are elsewhere.
    """
    n_codes = hist.shape[0] // width
    present, ordered, there = np.empty(n_codes, np.int64), np.empty(n_codes, np.int64), np.empty(width, np.int64)
    no_bits = np.zeros(1, np.uint64)
    n_present = present_codes(hist, hist, 0, n_codes, n_codes, 1, width, criterion, no_bits, no_bits, present)
    if n_present < 2:
        return best, -1, -1, False, n_present
    there = there[: sums_there(total, criterion, there)]
    cells = np.empty(n_present * there.shape[0], hist.dtype)
    copy_cells(hist, width, present, n_present, there, cells)
    left, right = np.zeros(there.shape[0], total.dtype), np.zeros(there.shape[0], total.dtype)
    best, code_left, code_right, beats = best_split_of_column(
        cells, present, n_present, by_order, heights, total[there], n, width > 2, min_leaf, criterion, exhaustive_max,
        table, left, right, ordered, side, tolerance, best,
    )  # fmt: skip
    return best, code_left, code_right, beats, n_present
