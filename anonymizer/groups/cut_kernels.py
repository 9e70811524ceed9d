"""What every cut of records needs: codes in order, and the records of one side before those of the other.

Codes stand column by column, (p, n). A cut of a column sends some of its codes to the left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.loops import njit

FEW = 24
"""So many values are sorted by insertion."""


class Room(NamedTuple):
    """Where up to s records of columns with up to b codes are worked on.

    ``tally`` (b,): records by code, zero between uses; ``ranked`` (b,): codes in the order of cuts; ``best`` (b,): the
    codes that go left; ``side`` (b,): marks of codes, zero between uses; ``stamps`` (b,): the last ``stamp`` of a
    code. ``sorted_`` (s,): records by rank of their code. ``left``, ``right`` (s,): by how much the loss of
    the left side grows when a record joins those before it, and that of the right side, those after it; zero between
    uses. ``columns`` (p,): those that vary. ``moved`` (s,): one column on its way to another order. ``met`` (persons,):
    the last ``stamp`` of a person.
    """

    tally: NDArray[np.int64]
    ranked: NDArray[np.int64]
    best: NDArray[np.int64]
    side: NDArray[np.uint8]
    stamps: NDArray[np.int64]
    stamp: NDArray[np.int64]
    sorted_: NDArray[np.int64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    columns: NDArray[np.int64]
    moved: NDArray[np.int64]
    met: NDArray[np.int64]


@njit
def room_for(size, scale, persons):
    """Return room for ``size`` records of so many persons."""
    most = scale.n_codes.max()
    return Room(
        tally=np.zeros(most, np.int64),
        ranked=np.empty(most, np.int64),
        best=np.empty(most, np.int64),
        side=np.zeros(most, np.uint8),
        stamps=np.zeros(most, np.int64),
        stamp=np.zeros(1, np.int64),
        sorted_=np.empty(size, np.int64),
        left=np.zeros(size),
        right=np.zeros(size),
        columns=np.empty(scale.offset.shape[0], np.int64),
        moved=np.empty(size, np.int64),
        met=np.zeros(persons, np.int64),
    )


@njit
def until(who, sorted_, least, backward, room):
    """Return how many records, in their order or from the last on, have ``least`` different persons; more than all of
    them when they have not. ``who`` (s,): -1 for nobody's; of no length when every record is a person."""
    if who.shape[0] == 0:
        return least
    size, persons = sorted_.shape[0], 0
    room.stamp[0] += 1
    for step in range(size):
        person = who[sorted_[size - 1 - step if backward else step]]
        if person >= 0 and room.met[person] != room.stamp[0]:
            room.met[person] = room.stamp[0]
            persons += 1
            if persons == least:
                return step + 1
    return size + 1


@njit
def sort_in_place(values):
    """Sort whole numbers."""
    if values.shape[0] > FEW:
        values.sort()
        return
    for i in range(1, values.shape[0]):
        value, at = values[i], i - 1
        while at >= 0 and values[at] > value:
            values[at + 1] = values[at]
            at -= 1
        values[at + 1] = value


@njit
def rank_codes(column, by_order, tally, ranked):
    """Return the number of codes of a column; ``ranked`` gets them in the order of cuts, ``tally`` their records."""
    size, d = column.shape[0], 0
    for i in range(size):
        code = column[i]
        if tally[code] == 0:
            ranked[d] = code
            d += 1
        tally[code] += 1
    if by_order:
        sort_in_place(ranked[:d])
        return d
    most = tally.shape[0]
    for x in range(d):
        ranked[x] += (size - tally[ranked[x]]) * most
    sort_in_place(ranked[:d])
    for x in range(d):
        ranked[x] %= most
    return d


@njit
def varying(codes, start, end, columns):
    """Return the number of columns in which records ``start`` to ``end`` differ; these go into ``columns``."""
    q = 0
    for j in range(codes.shape[0]):
        column = codes[j, start:end]
        for i in range(1, column.shape[0]):
            if column[i] != column[0]:
                columns[q] = j
                q += 1
                break
    return q


@njit
def first_codes(scale, j, left_codes, room):
    """Return the highest code that goes left where cuts of column j keep the order; else -1, and mark those that go."""
    if scale.by_order[j]:
        return room.best[left_codes - 1]
    for x in range(left_codes):
        room.side[room.best[x]] = 1
    return -1


@njit
def part_records(codes, order, start, end, j, highest, swapped, room):
    """Put the records on the left of a cut of column j before the others; both keep their order.

    On the left are codes up to ``highest`` and those that are marked; when ``swapped``, the others. Returns how many
    come first.
    """
    column, places, moved, size = codes[j, start:end], room.sorted_, room.moved, end - start
    first = 0
    for i in range(size):
        first += (column[i] <= highest or room.side[column[i]] == 1) != swapped
    at, after = 0, first
    for i in range(size):
        if (column[i] <= highest or room.side[column[i]] == 1) != swapped:
            places[at] = start + i
            at += 1
        else:
            places[after] = start + i
            after += 1
    for x in range(size):
        moved[x] = order[places[x]]
    for x in range(size):
        order[start + x] = moved[x]
    for a in range(codes.shape[0]):
        for x in range(size):
            moved[x] = codes[a, places[x]]
        for x in range(size):
            codes[a, start + x] = moved[x]
    return first


@njit
def unmark(left_codes, room):
    """Take the marks of a cut back."""
    for x in range(left_codes):
        room.side[room.best[x]] = 0
