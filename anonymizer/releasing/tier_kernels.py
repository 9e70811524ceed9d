"""The loops over records of generalization, compiled: hulls of parts, shared neighbours, taken-over neighbours.

Only plain arrays go in and out. ``rows`` lists the records sorted by leaf, so the records of node t are
``rows[start[t]:start[t + size[t]]]``. Codes (n, p) are row-major; what stands for column j's code c in a distance is at
``offset[j] + c`` of a flat table.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def gather(box, start, order):
    """Write the records (n,) of each ``box`` in ``order`` (n,), from its ``start`` (boxes,) on, which moves to its
    end."""
    for record in range(len(box)):
        b = box[record]
        order[start[b]] = record
        start[b] += 1


@njit(cache=True, nogil=True)
def shuffle(order, sizes, draws):
    """Mix each run of ``order`` (n,), of ``sizes`` (runs,) that follow each other (Fisher and Yates). ``draws`` (n,):
    from 0 up to, not including, 1."""
    first = 0
    for size in sizes:
        for i in range(size - 1, 0, -1):
            j = min(int(draws[first + i] * (i + 1)), i)
            order[first + i], order[first + j] = order[first + j], order[first + i]
        first += size


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def forget_centre(codes, own, offset, is_interval, counts):
    """Set the counts of :func:`find_centre` back to 0."""
    for j in range(codes.shape[1]):
        if not is_interval[j]:
            for row in own:
                counts[offset[j] + codes[row, j]] = 0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def take_over(codes, rows, start, parent, size, small, root, k, offset, is_interval, missing, scaled, cell_of):
    """Make every cell hold at least k records; ``cell_of`` (n,), by place in ``rows``: the node that names the cell.

    ``small``: leaves below k, smallest first, ties by lowest row; ``root``: the group's node of each of them. A cell
    is a chain of places. Per node: ``count`` records and ``surplus`` above k of all cells in its branch.
    """
    m, n, p = len(parent), len(rows), codes.shape[1]
    none = -1
    head = np.full(m, none, dtype=np.int64)
    after, before = np.arange(1, n + 1), np.arange(-1, n - 1)
    cell_size, count, surplus = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    for t in range(m - 1, -1, -1):
        count[t] = start[t + size[t]] - start[t]
        if size[t] == 1:
            cell_size[t] = count[t]
            surplus[t] = max(0, count[t] - k)
            if count[t]:
                head[t] = start[t]
                before[start[t]], after[start[t + 1] - 1] = none, none
                cell_of[start[t] : start[t + 1]] = t
        if parent[t] >= 0:
            surplus[parent[t]] += surplus[t]
    counts = np.zeros(len(scaled), dtype=np.int64)
    mean, absent, square = np.empty(p), np.empty(p), np.empty(p)
    far = np.empty(n)
    candidates = np.empty(n, dtype=np.int64)
    for turn in range(len(small)):
        cell, top = small[turn], root[turn]
        if cell_size[cell] == 0:
            continue  # merged into another before its turn
        need = k - cell_size[cell]
        t = parent[cell]
        while surplus[t] < need and count[t] < k:
            t = parent[t]
        if surplus[t] >= need:
            own = rows[start[cell] : start[cell + 1]]
            find_centre(codes, own, offset, is_interval, missing, scaled, counts, mean, absent, square)
            length = 0
            u = t
            while u < t + size[t]:
                if cell_size[u] > k:
                    place = head[u]
                    while place != none:
                        candidates[length] = place
                        far[place] = distance(
                            codes, rows[place], len(own), offset, is_interval, missing, scaled, counts, mean, absent,
                            square,
                        )  # fmt: skip
                        length += 1
                        place = after[place]
                u += size[u] if cell_size[u] else 1
            forget_centre(codes, own, offset, is_interval, counts)
            for i in range(length // 2 - 1, -1, -1):
                sink(candidates, i, length, far, rows)
            while need:
                place = candidates[0]
                length -= 1
                candidates[0] = candidates[length]
                sink(candidates, 0, length, far, rows)
                donor = cell_of[place]
                if cell_size[donor] == k:
                    continue
                if before[place] == none:
                    head[donor] = after[place]
                else:
                    after[before[place]] = after[place]
                if after[place] != none:
                    before[after[place]] = before[place]
                before[head[cell]] = place
                before[place], after[place] = none, head[cell]
                head[cell] = place
                cell_of[place] = cell
                cell_size[donor] -= 1
                cell_size[cell] += 1
                need -= 1
                u = donor
                while u != t:
                    count[u] -= 1
                    surplus[u] -= 1
                    u = parent[u]
                u = cell
                while u != t:
                    count[u] += 1
                    u = parent[u]
                u = t
                while True:
                    surplus[u] -= 1
                    if u == top:
                        break
                    u = parent[u]
        else:
            chain, total = none, 0
            u = t
            while u < t + size[t]:
                if cell_size[u]:
                    place = head[u]
                    while place != none:
                        following = after[place]
                        before[place], after[place] = none, chain
                        if chain != none:
                            before[chain] = place
                        chain = place
                        cell_of[place] = t
                        place = following
                    total += cell_size[u]
                    cell_size[u] = 0
                    head[u] = none
                    u += size[u]
                else:
                    u += 1
            head[t], cell_size[t] = chain, total
            change = max(0, total - k) - surplus[t]
            u = t
            while True:
                surplus[u] += change
                if u == top:
                    break
                u = parent[u]
