"""The loops over records of generalization, compiled: hulls of parts, shared neighbours, taken-over neighbours.

Only plain arrays go in and out. ``rows`` lists the records sorted by leaf, so the records of node t are
``rows[start[t]:start[t + size[t]]]``. Codes (n, p) are row-major; what stands for column j's code c in a distance is at
``offset[j] + c`` of a flat table.
"""

from collections import namedtuple

import numpy as np

from anonymizer.loops import njit

NONE = -1
"""No place."""


@njit
def ranges(codes, part, pair_record, pair_part, pair_box, box_part, missing, low, high, absent):
    """Write the lowest and highest code of every box of one interval column; ``absent``: it also holds a missing value.

    The first boxes are the parts; box ``len(low) - len(box_part) + i`` is one record's: the hull of its own part
    ``box_part[i]`` and of every part that shares it. low > high where all values are missing.
    """
    low[:] = missing
    high[:] = -1
    for i in range(len(part)):
        c, g = codes[i], part[i]
        if c == missing:
            absent[g] = True
        else:
            low[g] = min(low[g], c)
            high[g] = max(high[g], c)
    for q in range(len(pair_record)):
        c, g = codes[pair_record[q]], pair_part[q]
        if c == missing:
            absent[g] = True
        else:
            low[g] = min(low[g], c)
            high[g] = max(high[g], c)
    first = len(low) - len(box_part)
    for i in range(len(box_part)):
        low[first + i], high[first + i] = low[box_part[i]], high[box_part[i]]
        absent[first + i] = absent[box_part[i]]
    for q in range(len(pair_record)):
        g, b = pair_part[q], pair_box[q]
        low[b] = min(low[b], low[g])
        high[b] = max(high[b], high[g])
        absent[b] |= absent[g]


@njit
def level_sets(codes, part, pair_record, pair_part, pair_box, box_part, bits):
    """Write the set of codes of every box of one categorical column, as bits (boxes, words); boxes as in ``ranges``."""
    one = np.uint64(1)
    for i in range(len(part)):
        c = codes[i]
        bits[part[i], c >> 6] |= one << np.uint64(c & 63)
    for q in range(len(pair_record)):
        c = codes[pair_record[q]]
        bits[pair_part[q], c >> 6] |= one << np.uint64(c & 63)
    first = len(bits) - len(box_part)
    for i in range(len(box_part)):
        bits[first + i] = bits[box_part[i]]
    for q in range(len(pair_record)):
        bits[pair_box[q]] |= bits[pair_part[q]]


@njit
def find_centre(codes, own, offset, is_interval, missing, scaled, counts, mean, absent, square):
    """Write the centroid of the records ``own``: counts of levels, mean and missing share of interval columns."""
    n = len(own)
    for j in range(codes.shape[1]):
        mean[j], absent[j], square[j] = 0.0, 0.0, 0.0
        present = 0
        for row in own:
            c = codes[row, j]
            if not is_interval[j]:
                counts[offset[j] + c] += 1
            elif c != missing[j]:
                mean[j] += scaled[offset[j] + c]
                present += 1
        if is_interval[j]:
            absent[j] = 1.0 - present / n
            if present:
                mean[j] /= present
        else:
            for row in own:  # every record of a level adds its count, so a level of count a adds a²
                square[j] += counts[offset[j] + codes[row, j]]
            square[j] /= n * n


@njit
def forget_centre(codes, own, offset, is_interval, counts):
    """Set the counts of :func:`find_centre` back to 0."""
    for j in range(codes.shape[1]):
        if not is_interval[j]:
            for row in own:
                counts[offset[j] + codes[row, j]] = 0


@njit
def distance(codes, row, n, offset, is_interval, missing, scaled, counts, mean, absent, square):
    """Return the squared distance of a record to the centroid of n records, rounded to 12 decimals."""
    total = 0.0
    for j in range(codes.shape[1]):
        c = codes[row, j]
        if not is_interval[j]:
            total += 0.5 * (square[j] + 1.0 - 2.0 * counts[offset[j] + c] / n)
        elif c == missing[j]:
            total += 1.0 - absent[j]
        else:
            apart = scaled[offset[j] + c] - mean[j]
            total += (1.0 - absent[j]) * apart * apart + absent[j]
    return np.rint(total * 1e12)


@njit
def share(
    codes, who, rows, start, count, parent, size, small, k, offset, is_interval, missing, scaled, pair_record, pair_leaf
):  # fmt: skip
    """Write (record, leaf) pairs: for every small leaf the nearest others of the first ancestor with k, until it has k.

    k and ``count`` (m,) are of persons: a record shares its nearest ones of persons that it does not meet yet. ``who``
    (n,): whose each record is, -1 for nobody's. Equally near: the lower row first.
    """
    p = codes.shape[1]
    counts = np.zeros(len(scaled), dtype=np.int64)
    mean, absent, square = np.empty(p), np.empty(p), np.empty(p)
    met = np.full(who.max() + 1, -1, np.int64)
    n_pairs = 0
    for leaf in small:
        own_first, own_last = start[leaf], start[leaf + 1]
        own = rows[own_first:own_last]
        need = k - count[leaf]
        t = parent[leaf]
        while count[t] < k:
            t = parent[t]
        first, last = start[t], start[t + size[t]]
        find_centre(codes, own, offset, is_interval, missing, scaled, counts, mean, absent, square)
        far = np.empty(last - first - len(own))
        others = np.empty(len(far), dtype=np.int64)
        i = 0
        for place in range(first, last):
            if place < own_first or place >= own_last:
                others[i] = rows[place]
                far[i] = distance(
                    codes, rows[place], len(own), offset, is_interval, missing, scaled, counts, mean, absent, square
                )
                i += 1
        forget_centre(codes, own, offset, is_interval, counts)
        for row in own:
            if who[row] >= 0:
                met[who[row]] = leaf
        by_row = np.argsort(others)
        nearest = by_row[np.argsort(far[by_row], kind="mergesort")]
        for i in nearest:
            person = who[others[i]]
            if need == 0:
                break
            if person >= 0 and met[person] != leaf:
                met[person] = leaf
                pair_record[n_pairs], pair_leaf[n_pairs] = others[i], leaf
                n_pairs += 1
                need -= 1


@njit
def sink(heap, i, length, far, rows):
    """Let entry i of a heap of candidates sink to its place: nearest first, ties by lower row."""
    while True:
        least = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < length:
                a, b = heap[child], heap[least]
                if far[a] < far[b] or (far[a] == far[b] and rows[a] < rows[b]):
                    least = child
        if least == i:
            return
        heap[i], heap[least] = heap[least], heap[i]
        i = least


Chains = namedtuple("Chains", "cell_of head after before size records surplus")
"""Cells as chains of places, and the sums of their branches; see :func:`take_over`.

``cell_of`` (n,): the node that names the cell of each place; ``after``, ``before`` (n,): its neighbours in the chain.
Per node (m,): ``head`` of its chain, ``size`` of its cell, and of all cells in its branch the ``records`` and their
``surplus`` above k."""


@njit
def take_over(codes, rows, start, parent, size, small, root, k, offset, is_interval, missing, scaled, cell_of):
    """Make every cell hold at least k records; ``cell_of`` (n,), by place in ``rows``: the node that names the cell.

    ``small``: leaves below k, smallest first, ties by lowest row; ``root``: the group's node of each of them.
    """
    p = codes.shape[1]
    cells = chains_of(start, parent, size, k, cell_of)
    counts = np.zeros(len(scaled), dtype=np.int64)
    mean, absent, square = np.empty(p), np.empty(p), np.empty(p)
    far = np.empty(len(rows))
    candidates = np.empty(len(rows), dtype=np.int64)
    for turn in range(len(small)):
        cell, top = small[turn], root[turn]
        if cells.size[cell] == 0:
            continue  # merged into another before its turn
        need = k - cells.size[cell]
        t = parent[cell]
        while cells.surplus[t] < need and cells.records[t] < k:
            t = parent[t]
        if cells.surplus[t] < need:
            merge_branch(cells, t, size)
            add_above(cells.surplus, t, top, parent, max(0, cells.size[t] - k) - cells.surplus[t])
            continue
        own = rows[start[cell] : start[cell + 1]]
        find_centre(codes, own, offset, is_interval, missing, scaled, counts, mean, absent, square)
        length = 0
        u = t
        while u < t + size[t]:
            if cells.size[u] > k:
                place = cells.head[u]
                while place != NONE:
                    candidates[length] = place
                    far[place] = distance(
                        codes, rows[place], len(own), offset, is_interval, missing, scaled, counts, mean, absent, square
                    )
                    length += 1
                    place = cells.after[place]
            u += size[u] if cells.size[u] else 1
        forget_centre(codes, own, offset, is_interval, counts)
        for i in range(length // 2 - 1, -1, -1):
            sink(candidates, i, length, far, rows)
        while need:
            place = candidates[0]
            length -= 1
            candidates[0] = candidates[length]
            sink(candidates, 0, length, far, rows)
            if cells.size[cell_of[place]] > k:
                take_place(cells, place, cell, t, parent)
                add_above(cells.surplus, t, top, parent, -1)
                need -= 1


@njit
def chains_of(start, parent, size, k, cell_of):
    """Return the cells of all leaves as :data:`Chains`, each of the run of places that reach it."""
    m, n = len(parent), len(cell_of)
    head = np.full(m, NONE, dtype=np.int64)
    after, before = np.arange(1, n + 1), np.arange(-1, n - 1)
    cell_size, count, surplus = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    for t in range(m - 1, -1, -1):
        count[t] = start[t + size[t]] - start[t]
        if size[t] == 1:
            cell_size[t] = count[t]
            surplus[t] = max(0, count[t] - k)
            if count[t]:
                head[t] = start[t]
                before[start[t]], after[start[t + 1] - 1] = NONE, NONE
                cell_of[start[t] : start[t + 1]] = t
        if parent[t] >= 0:
            surplus[parent[t]] += surplus[t]
    return Chains(cell_of, head, after, before, cell_size, count, surplus)


@njit
def take_place(cells, place, cell, t, parent):
    """Move a place from its cell to another below node t; sums above t stay as they are."""
    donor = cells.cell_of[place]
    after, before, head = cells.after, cells.before, cells.head
    if before[place] == NONE:
        head[donor] = after[place]
    else:
        after[before[place]] = after[place]
    if after[place] != NONE:
        before[after[place]] = before[place]
    before[head[cell]] = place
    before[place], after[place] = NONE, head[cell]
    head[cell] = place
    cells.cell_of[place] = cell
    cells.size[donor] -= 1
    cells.size[cell] += 1
    u = donor
    while u != t:
        cells.records[u] -= 1
        cells.surplus[u] -= 1
        u = parent[u]
    u = cell
    while u != t:
        cells.records[u] += 1
        u = parent[u]


@njit
def merge_branch(cells, t, size):
    """Put all places of the branch of node t into one cell of its own."""
    chain, total = NONE, 0
    u = t
    while u < t + size[t]:
        if cells.size[u]:
            place = cells.head[u]
            while place != NONE:
                following = cells.after[place]
                cells.before[place], cells.after[place] = NONE, chain
                if chain != NONE:
                    cells.before[chain] = place
                chain = place
                cells.cell_of[place] = t
                place = following
            total += cells.size[u]
            cells.size[u] = 0
            cells.head[u] = NONE
            u += size[u]
        else:
            u += 1
    cells.head[t], cells.size[t] = chain, total


@njit
def add_above(sums, t, top, parent, change):
    """Add to the sums of node t and all above it, as far as ``top``."""
    while True:
        sums[t] += change
        if t == top:
            break
        t = parent[t]
