"""Rows held against their own records, one by one: the compiled loop and a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.checking import candidates
from anonymizer.checking.candidates import AllowedCodes, Sides
from anonymizer.checking.linkage import LookAlikes, side_by_side

CODES = 7
CELLS = st.tuples(st.integers(0, CODES - 1), st.integers(-1, CODES - 1), st.sets(st.integers(0, CODES - 1), max_size=4))
"""The lowest code of a cell, the highest (below it: none in between), and those that it lists."""


@given(st.lists(CELLS, min_size=1, max_size=4), st.integers(1, 40), st.sampled_from([1, 5, 100]), st.data())
def test_misfits__are_those_of_a_slow_twin_in_any_order(cells, n, at_once, data) -> None:
    codes = [data.draw(st.lists(st.integers(0, CODES - 1), min_size=n, max_size=n)) for _ in range(2)]
    index = [data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=n, max_size=n)) for _ in range(2)]
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    low, high = (np.array([cell[side] for cell in cells], np.int32) for side in (0, 1))
    starts = np.cumsum([0, *(len(listed) for _, _, listed in cells)])
    listed = np.array([code for _, _, some in cells for code in sorted(some)], np.int32)
    allowed = AllowedCodes(CODES, low, high, starts, listed)
    nobody = LookAlikes(np.zeros(n, np.int64), np.array([n]))
    packed = side_by_side([np.array(column, np.uint8) for column in codes])
    places = tuple(np.array(column, np.int8) for column in index)
    sides = Sides(packed, lambda: nobody, places, nobody, (allowed, allowed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "ROWS", at_once)
        wrong = sides.misfits(order)

    def fits(code: int, cell: int) -> bool:
        lowest, highest, some = cells[cell]
        return lowest <= code <= highest or code in some

    slow = [False] * n
    for column, places_of_rows in zip(codes, index, strict=True):
        for row, (record, cell) in enumerate(zip(order.tolist(), places_of_rows, strict=True)):
            slow[row] |= not fits(column[record], cell)
    assert wrong.tolist() == slow
