"""Boxes of parts, ranges by runs of records that stand together: those that one record after the other gives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.partitions import boxes
from anonymizer.partitions.boxes import interval_boxes, level_boxes, sorted_by
from anonymizer.partitions.values import CodedColumn
from anonymizer.schema import Column, Kind, Role
from tests.sweeps import few


@settings(max_examples=few(60))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 70_000), st.integers(0, 2)), min_size=1, max_size=30))
def test_sorted_by__is_the_stable_sort_of_tuples(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    ranks = [np.array([2, 0, 1, 1]), np.arange(70_001), np.array([5, 4, 3])]
    keys = [(rank, column.astype(np.uint32)) for rank, column in zip(ranks, columns, strict=True)]
    for some in (keys, keys[1:], keys[::-1], [*keys, *keys]):
        expected = sorted(range(len(rows)), key=lambda row: tuple(rank[codes[row]] for rank, codes in some))
        assert sorted_by(some).tolist() == expected


@pytest.mark.parametrize("most", [2, 7, 1000])
@settings(max_examples=few(40))
@given(data=st.data())
def test_boxes_of_parts__are_those_of_their_records(most: int, data: st.DataObject) -> None:
    n_parts = data.draw(st.integers(1, 6))
    some = st.one_of(st.none(), st.sampled_from([3.0, -1.5, 0.0, -0.0, 8.0, 7.5]))
    values = data.draw(st.lists(some, min_size=1, max_size=7))
    part = np.array([*range(n_parts), *data.draw(st.lists(st.integers(0, n_parts - 1), max_size=25))])
    codes = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=len(part), max_size=len(part))))
    series = pd.Series(values, dtype=float)
    coded = CodedColumn("x", series, codes.astype(np.uint8))
    by_part = sorted_by([(np.arange(n_parts), part.astype(np.uint32))])
    sizes = np.bincount(part, minlength=n_parts)
    starts = np.cumsum(sizes) - sizes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "ROWS", most)
        ranges = interval_boxes(coded, codes, Column("x", Role.QUASI_IDENTIFYING, Kind.NUMERIC), by_part, starts)
        lookup = np.arange(len(values)).astype(np.uint16)
        sets = level_boxes(coded, lookup, Column("x", Role.QUASI_IDENTIFYING, Kind.CATEGORICAL), by_part, starts)
    for number in range(n_parts):
        own = series[codes[part == number]]
        mine = series[ranges[2][ranges[1] == ranges[0][number]]]
        assert bool(mine.isna().any()) == bool(own.isna().any())
        assert [mine.min(), mine.max()] == pytest.approx([own.min(), own.max()], nan_ok=True)
        assert set(sets[2][sets[1] == sets[0][number]]) == set(codes[part == number])
