# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
"""The compiled loops of the consistency graph: who may be behind which released row.

Records with equal values are one *type* (a_i records), rows with equal cells one *class* (b_j rows). An edge joins
a class to every type whose values lie in all of its cells; edges are kept by class (``starts``, ``types``).
A *unit* is one record: the units of type i are ``first_unit[i]`` to ``first_unit[i + 1]``; ``match[u]`` is the
class that unit u is assigned to, or -1. Only plain arrays go in and out.
"""

import numpy as np

from anonymizer.loops import njit


@njit
def cell_bits(codes, n_codes, low, high, listed_starts, listed, bits):
    """Write bits[q, w]: which of the records of a block (one bit each) have a code that cell q allows.

    A cell allows the codes ``low[q]`` to ``high[q]`` and the listed ones. One table of "code below c" turns every
    run of codes into the difference of two of its rows.
    """
    n_words = bits.shape[1]
    below = np.zeros((n_codes + 1, n_words), dtype=np.uint64)
    one = np.uint64(1)
    for i in range(codes.shape[0]):
        below[codes[i] + 1, i >> 6] |= one << np.uint64(i & 63)
    for c in range(1, n_codes + 1):
        for w in range(n_words):
            below[c, w] |= below[c - 1, w]
    for q in range(low.shape[0]):
        if low[q] <= high[q]:
            for w in range(n_words):
                bits[q, w] = below[high[q] + 1, w] ^ below[low[q], w]
        else:
            bits[q, :] = 0
        for e in range(listed_starts[q], listed_starts[q + 1]):
            c = listed[e]
            for w in range(n_words):
                bits[q, w] |= below[c + 1, w] ^ below[c, w]


@njit
def bit_position(x):
    """Return the position of the single bit set in x."""
    position = 0
    if x & np.uint64(0xFFFFFFFF00000000):
        position += 32
    if x & np.uint64(0xFFFF0000FFFF0000):
        position += 16
    if x & np.uint64(0xFF00FF00FF00FF00):
        position += 8
    if x & np.uint64(0xF0F0F0F0F0F0F0F0):
        position += 4
    if x & np.uint64(0xCCCCCCCCCCCCCCCC):
        position += 2
    if x & np.uint64(0xAAAAAAAAAAAAAAAA):
        position += 1
    return position


@njit
def types_in_box(bits, box, first, last, start, fits):
    """Write the types of one block that lie in all cells of a box, ascending, into ``fits``; return how many.

    ``bits``: the cells' bits of every column; ``box`` (columns,): the rows of ``bits`` that make it up; ``first``,
    ``last``: the run of types (in the whole) outside which it holds nothing; ``start``: the block's first type.
    """
    one = np.uint64(1)
    count = 0
    begin, end = max(first - start, 0), min(last - start, bits.shape[1] * 64)
    if begin >= end:
        return 0
    for w in range(begin >> 6, ((end - 1) >> 6) + 1):
        x = within(w, begin, end)
        for s in range(box.shape[0]):
            x &= bits[box[s], w]
            if x == 0:
                break
        while x:
            lowest = x & (~x + one)
            fits[count] = start + w * 64 + bit_position(lowest)
            x ^= lowest
            count += 1
    return count


@njit
def meet(bits, rows, first, last, start, type_sizes, class_sizes, degree, records, rows_per_type, limit):
    """Count the edges of one block of types: how many types, records and rows meet. Return the number of edges.

    ``rows`` (classes, columns), ``first``, ``last`` (classes,): the boxes, see :func:`types_in_box`. Stops at more
    than ``limit`` edges, and returns -1.
    """
    total = 0
    fits = np.empty(bits.shape[1] * 64, np.int32)
    for j in range(rows.shape[0]):
        count = types_in_box(bits, rows[j], first[j], last[j], start, fits)
        for q in range(count):
            records[j] += type_sizes[fits[q]]
            rows_per_type[fits[q]] += class_sizes[j]
        degree[j] += count
        total += count
        if total > limit:
            return -1
    return total


@njit
def join(bits, rows, first, last, start, place, types):
    """Write the edges that :func:`meet` counted: ``types[place[j]...]``; ``place`` moves on."""
    fits = np.empty(bits.shape[1] * 64, np.int32)
    for j in range(rows.shape[0]):
        count = types_in_box(bits, rows[j], first[j], last[j], start, fits)
        types[place[j] : place[j] + count] = fits[:count]
        place[j] += count


@njit
def within(w, begin, end):
    """Return the bits of word w that lie from ``begin`` up to, not including, ``end``."""
    x = ~np.uint64(0)
    if w == begin >> 6:
        x &= ~np.uint64(0) << np.uint64(begin & 63)
    if w == (end - 1) >> 6:
        x &= ~np.uint64(0) >> np.uint64(63 - ((end - 1) & 63))
    return x


@njit
def misfits(codes, index, n_codes, low, high, listed_starts, listed, wrong):
    """Write wrong[r], True where the cell of row r, number ``index[r]``, does not allow the code of its record.

    ``codes``, ``index`` (rows,): of one column; ``low``, ``high`` and ``listed_starts`` are of its cells. What a cell
    lists is laid out where two rows of it follow each other.
    """
    lists = np.full(n_codes, -1, dtype=np.int32)  # the last cell that was laid out and lists each code
    last, laid = -1, -1
    for r in range(index.shape[0]):
        code, cell = codes[r], index[r]
        fits = low[cell] <= code and code <= high[cell]
        if not fits:
            if cell == last and cell != laid:
                laid = cell
                for e in range(listed_starts[cell], listed_starts[cell + 1]):
                    lists[listed[e]] = cell
            if cell == laid:
                fits = lists[code] == cell
            else:
                e = listed_starts[cell]
                while not fits and e < listed_starts[cell + 1]:
                    fits = listed[e] == code
                    e += 1
        if not fits:
            wrong[r] = True
        last = cell


@njit
def assign(starts, types, first_unit, free, match):
    """Write a largest assignment of records to rows (Hopcroft and Karp 1973, classes with room for several records).

    ``free`` (classes,): rows without a record, counted down; ``match`` (units,): starts with what is assigned
    already and is completed in place. Return how many rows stay without a record.
    """
    n_classes, n_types = starts.shape[0] - 1, first_unit.shape[0] - 1
    order = np.argsort(starts[1:] - starts[:-1])
    next_unit = first_unit[:-1].copy()
    for j in order:
        for e in range(starts[j], starts[j + 1]):
            if free[j] == 0:
                break
            i = types[e]
            while next_unit[i] < first_unit[i + 1] and free[j] > 0:
                u = next_unit[i]
                next_unit[i] += 1
                if match[u] == -1:
                    match[u] = j
                    free[j] -= 1
    class_level = np.empty(n_classes, dtype=np.int32)
    type_level = np.empty(n_types, dtype=np.int32)
    queue = np.empty(n_classes, dtype=np.int32)
    stack = np.empty(n_classes, dtype=np.int32)
    path = np.empty(n_classes, dtype=np.int64)
    next_edge = np.empty(n_classes, dtype=np.int64)
    while layers(starts, types, first_unit, free, match, class_level, type_level, queue):
        next_edge[:] = starts[:-1]
        next_unit[:] = first_unit[:-1]
        for root in range(n_classes):
            while free[root] > 0 and augment(
                root, starts, types, first_unit, match, class_level, type_level, next_edge, next_unit, stack, path
            ):
                free[root] -= 1
    return free.sum()


@njit
def layers(starts, types, first_unit, free, match, class_level, type_level, queue):
    """Write breadth-first levels from the classes with free rows; return True when an unassigned record can be
    reached."""
    class_level[:] = -1
    type_level[:] = -1
    head, tail = 0, 0
    for j in range(class_level.shape[0]):
        if free[j] > 0:
            class_level[j] = 0
            queue[tail] = j
            tail += 1
    reached = -1
    while head < tail:
        j = queue[head]
        head += 1
        level = class_level[j]
        if reached >= 0 and level > reached:
            break
        for e in range(starts[j], starts[j + 1]):
            i = types[e]
            if type_level[i] >= 0:
                continue
            type_level[i] = level
            for u in range(first_unit[i], first_unit[i + 1]):
                other = match[u]
                if other == -1:
                    reached = level
                elif class_level[other] == -1:
                    class_level[other] = level + 1
                    queue[tail] = other
                    tail += 1
    return reached >= 0


@njit
def augment(root, starts, types, first_unit, match, class_level, type_level, next_edge, next_unit, stack, path):
    """Assign one more record to class ``root`` along the levels, moving others on; return True when there was a way."""
    depth = 0
    stack[0] = root
    while depth >= 0:
        j = stack[depth]
        deeper = False
        while next_edge[j] < starts[j + 1] and not deeper:
            i = types[next_edge[j]]
            if type_level[i] == class_level[j]:
                while next_unit[i] < first_unit[i + 1]:
                    u = next_unit[i]
                    other = match[u]
                    if other == -1:
                        path[depth] = u
                        for d in range(depth, -1, -1):
                            match[path[d]] = stack[d]
                        return True
                    if class_level[other] == class_level[j] + 1:
                        path[depth] = u
                        depth += 1
                        stack[depth] = other
                        deeper = True
                        break
                    next_unit[i] += 1
            if not deeper:
                next_edge[j] += 1
        if not deeper:
            class_level[j] = -2
            depth -= 1
    return False


@njit
def components(starts, types, first_unit, match):
    """Return the strongly connected components (Tarjan 1972) of: class -> every type it can hold, type -> classes it is
    in.

    An edge can be part of a complete assignment exactly when its two ends share a component. Returns the
    component of every class and of every type, and their number.
    """
    n_classes, n_types = starts.shape[0] - 1, first_unit.shape[0] - 1
    n = n_classes + n_types
    number = np.full(n, -1, dtype=np.int32)
    lowest = np.empty(n, dtype=np.int32)
    component = np.full(n, -1, dtype=np.int32)
    place = np.empty(n, dtype=np.int64)
    calls = np.empty(n, dtype=np.int32)
    stack = np.empty(n, dtype=np.int32)
    n_stack, counter, n_components = 0, 0, 0
    for root in range(n):
        if number[root] != -1:
            continue
        depth = 0
        calls[0] = root
        number[root] = lowest[root] = counter
        counter += 1
        place[root] = starts[root] if root < n_classes else first_unit[root - n_classes]
        stack[n_stack] = root
        n_stack += 1
        while depth >= 0:
            v = calls[depth]
            end = starts[v + 1] if v < n_classes else first_unit[v - n_classes + 1]
            child = -1
            while place[v] < end:
                w = n_classes + types[place[v]] if v < n_classes else match[place[v]]
                place[v] += 1
                if w < 0:
                    continue
                if number[w] == -1:
                    child = w
                    break
                if component[w] == -1 and number[w] < lowest[v]:
                    lowest[v] = number[w]
            if child >= 0:
                number[child] = lowest[child] = counter
                counter += 1
                place[child] = starts[child] if child < n_classes else first_unit[child - n_classes]
                stack[n_stack] = child
                n_stack += 1
                depth += 1
                calls[depth] = child
                continue
            if lowest[v] == number[v]:
                while True:
                    n_stack -= 1
                    w = stack[n_stack]
                    component[w] = n_components
                    if w == v:
                        break
                n_components += 1
            depth -= 1
            if depth >= 0 and lowest[v] < lowest[calls[depth]]:
                lowest[calls[depth]] = lowest[v]
    return component[:n_classes], component[n_classes:], n_components


@njit
def keep_usable(starts, types, class_component, type_component, class_sizes, rows_per_type, edges):
    """Write per type the rows that it meets in its own component; per component its number of such edges."""
    for j in range(starts.shape[0] - 1):
        for e in range(starts[j], starts[j + 1]):
            i = types[e]
            if type_component[i] == class_component[j]:
                rows_per_type[i] += class_sizes[j]
                edges[class_component[j]] += 1
