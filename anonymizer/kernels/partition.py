"""Packed columns, and moving the records of a run so that those that go left come first.

Row j of ``packed`` (p, n) holds, for each record, ``code * stride + class``, so one read gives the cell of the
histogram to add to (stride = number of classes; for numeric responses stride = 1 and the responses (n, r) travel
beside the codes). A node's records are a contiguous run of every row:

    packed[j] = [ . . . | node's records | . . . ]        order = original row of each position
                        start           end

and a split moves the records of that run that are on the wrong side, left child first.
"""

import numpy as np

from anonymizer.loops import njit


@njit(makes_arrays=False)
def mark_sides(row, start, end, stride, code_left, side, goes_left):
    """Mark the records start..end that go left, and return how many: codes up to ``code_left``, or, where that is -1,
    whatever can be packed for which ``side`` is 1."""
    if code_left >= 0:
        bound = (code_left + 1) * stride
        for i in range(start, end):
            goes_left[i - start] = row[i] < bound
    else:
        for i in range(start, end):
            goes_left[i - start] = side[row[i]]
    n_left = 0
    for i in range(end - start):
        n_left += goes_left[i]
    return n_left


@njit(makes_arrays=False)
def pairs_to_swap(goes_left, start, n_left, from_left, from_right):
    """Write the positions to swap so that the records that go left come first; return how many pairs.

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


@njit(makes_arrays=False)
def swap(row, from_left, from_right, pairs):
    """Exchange the values of a row at paired positions."""
    for i in range(pairs):
        a, b = from_left[i], from_right[i]
        row[a], row[b] = row[b], row[a]


@njit(makes_arrays=False)
def swap_rows(table, from_left, from_right, pairs):
    """Exchange the rows of a table at paired positions."""
    for i in range(pairs):
        a, b = from_left[i], from_right[i]
        for c in range(table.shape[1]):
            table[a, c], table[b, c] = table[b, c], table[a, c]


@njit
def longer(array):
    """Return the array with twice the room."""
    wider = np.empty((2 * array.shape[0],) + array.shape[1:], array.dtype)
    wider[: array.shape[0]] = array
    return wider
