"""The order of released rows: it follows from their cells alone, so it tells nothing of whose they are."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymizer.cells import Cell
from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.verify import verify
from anonymizer.flow import Flow
from anonymizer.releasing.boxes import Boxes, kept_column
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.release import ORDERS, Release
from anonymizer.releasing.row_order import sorted_rows
from anonymizer.releasing.tiers import Parts
from anonymizer.schema import Column, Kind, Role
from anonymizer.settings import Settings
from tests.groups.test_refine import random_table
from tests.releasing.test_release import cell_column, rows, texts
from tests.sweeps import few

K = 4
MIXED = st.one_of(st.none(), texts, st.integers(-3, 3), st.booleans(), st.sampled_from([0.0, -0.0, 1.0, 2.5]))


def release_of(case, mixed) -> Release:
    sets, intervals, pairs = map(list, zip(*case, strict=True))
    values_by_name = {
        "note": (Kind.CATEGORICAL, pd.Series([pair[0] for pair in pairs], dtype="str")),
        "cost": (Kind.NUMERIC, pd.Series([pair[1] for pair in pairs], dtype="float64")),
        "mixed": (Kind.CATEGORICAL, pd.Series(mixed, dtype=object)),
    }
    everybody = np.arange(len(case))
    columns = [
        kept_column(values, Column(name, Role.SENSITIVE, kind)) for name, (kind, values) in values_by_name.items()
    ]
    cells = [cell_column("city", Kind.CATEGORICAL, sets), cell_column("age", Kind.NUMERIC, intervals)]
    return Release((columns[0], *cells, *columns[1:]), everybody, "uniform")


def permuted(release: Release, order) -> Release:
    return replace(release, columns=tuple(column.take(order) for column in release.columns), order=release.order[order])


@settings(max_examples=few(60))
@given(rows, st.data())
def test_any_order_of_the_rows__gives_the_same_files(case, data):
    assume(all(abs(cost or 0) < 8.9e307 for _, _, (_, cost) in case))  # Stata has no larger number
    mixed = data.draw(st.lists(MIXED, min_size=len(case), max_size=len(case)))
    release = release_of(case, mixed)
    order = np.array(data.draw(st.permutations(range(len(case)))))
    classes = look_alikes(permuted(release, order).frame(), ["city", "age"]).class_of
    one, other = release.by_content(), permuted(release, order).by_content(classes)
    for format in one.formats:
        assert one.to_bytes(format) == other.to_bytes(format), format
    assert sorted(one.order) == list(range(len(case)))
    pd.testing.assert_frame_equal(one.frame(), release.frame().iloc[one.order].reset_index(drop=True))
    runs = [run for run, _ in groupby(zip(*(column.index.tolist() for column in one.generalized), strict=True))]
    assert len(runs) == len(set(runs)), "rows that look alike stand together"


@settings(max_examples=few(60))
@given(
    st.integers(0, 40), st.lists(st.sampled_from([1, 2, 3, 300, 2**17, 2**40, 2**61]), max_size=6), st.integers(0, 99)
)
def test_sorted_rows__are_those_of_a_slow_twin(n, bounds, seed):
    rng = np.random.default_rng(seed)
    few = [rng.integers(0, bound, 5) for bound in bounds]
    keys = [(values[rng.integers(0, 5, n)], bound) for values, bound in zip(few, bounds, strict=True)]
    slow = sorted(range(n), key=lambda row: tuple(int(ranks[row]) for ranks, _ in keys))
    assert sorted_rows(keys, n).tolist() == slow


def test_numbers__stand_by_size_and_missing_last():
    cells = [Cell.interval("10", "20"), Cell.MISSING, Cell.interval("9", "12"), Cell.interval("9", "9")]
    release = Release((cell_column("age", Kind.NUMERIC, cells),), np.arange(4), "uniform")
    assert release.by_content().order.tolist() == [3, 2, 0, 1]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_the_table__gives_the_same_files(seed: int) -> None:
    table, schema = random_table(seed, 200)
    mixed = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    flows = [Flow(people, schema, Settings(k=K, grouping="least", generalizer="uniform")) for people in (table, mixed)]
    one, other = (replace(flow.leaving, bars=()) for flow in flows)
    for format in one.formats:
        assert one.to_bytes(format) == other.to_bytes(format)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("method", sorted(GENERALIZERS))
def test_what_leaves__is_the_release_in_the_order_that_was_chosen(method: str) -> None:
    table, schema = random_table(8, 150)
    flow = Flow(table, schema, Settings(k=K, generalizer=method))
    secret = flow.but(order="secret")
    assert secret.release is flow.release
    assert sorted(secret.leaving.order) == sorted(flow.release.order)
    assert not np.array_equal(secret.leaving.order, flow.release.order), "rows of a box stand together there"
    leaving = flow.leaving
    assert np.array_equal(leaving.order, flow.release.by_content().order)
    beside = verify(leaving.frame(), schema, k=K, original=table, order=leaving.order)
    assert [(check.name, check.passed) for check in beside.checks] == [
        (check.name, check.passed) for check in flow.verification.checks
    ]
    for each in (flow, secret):
        provenance = each.report.to_dict()["provenance"]
        assert provenance["row_order"] == ORDERS[each.settings.order]
        assert provenance["parameters"]["order"] == each.settings.order
        assert ("--order secret" in provenance["command"]) == (each.settings.order == "secret")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(0, 99))
def test_in_order__keeps_boxes_together_and_else_the_order_that_is_given(listed, seed):
    of_record, sequence = np.array(listed), np.random.default_rng(seed).permutation(len(listed))
    nobody = np.empty(0, np.int64)
    boxes = Boxes(7, of_record, Parts(of_record, 7, nobody, nobody), nobody, nobody)
    order, present, sizes = boxes.in_order(sequence)
    slow: dict[int, list[int]] = {}
    for record in sequence.tolist():
        slow.setdefault(listed[record], []).append(record)
    assert present.tolist() == list(slow)
    assert sizes.tolist() == [len(records) for records in slow.values()]
    assert order.tolist() == [record for records in slow.values() for record in records]


@pytest.mark.parametrize("method", ["pack", "uniform", "tiered"])
def test_the_same_run__has_the_same_report_to_the_last_digit(method: str) -> None:
    """Sums of numbers depend on the order of the rows in the last digit, and the worst of equal groups on which comes
    first."""
    table, schema = random_table(4, 300)
    first, second = (Flow(table, schema, Settings(k=K, generalizer=method)).report.to_dict() for _ in range(2))
    for report in (first, second):
        del report["provenance"]["time"]
    assert first == second


def test_the_working_order__is_not_that_of_the_table() -> None:
    table, schema = random_table(4, 300)
    mixed = table.sample(frac=1, random_state=1).reset_index(drop=True)
    one, other = (Flow(people, schema, Settings(k=K)).release for people in (table, mixed))
    assert one.order.tolist() != sorted(one.order)
    pd.testing.assert_frame_equal(one.frame(), other.frame())
