"""Downcoding: what it narrows, against loops over pairs of groups; nothing where there is nothing to be had."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.attacks.downcoding import Downcoding, downcode
from anonymizer.attacks.outcome import Rate
from anonymizer.checking.linkage import look_alikes
from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.attacks.test_look_up import people
from tests.naive_attacks import slow_downcoding
from tests.sweeps import few


def downcoding_of(flow: Flow, k: int, who: np.ndarray | None = None) -> Downcoding:
    return downcode(
        flow.table, flow.released, flow.schema, flow.encoded.encodings, flow.release.order, flow.look_alikes, k, who
    )


def assert_as_slow(flow: Flow, k: int) -> Downcoding:
    right, wrong = slow_downcoding(
        flow.table, flow.released, flow.schema, flow.encoded.encodings, flow.release.order, k
    )
    fast = downcoding_of(flow, k)
    cells = len(flow.table) * len(flow.encoded.encodings)
    assert fast == Downcoding(Rate(right, cells), Rate(wrong, cells))
    return fast


WAYS = [
    *((name, options) for name in GENERALIZERS for options in ({}, {"grouping": "median-mondrian"})),
    *((name, {"numbers": "mean"}) for name in GENERALIZERS if name != "tiered"),  # its boxes share records
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("generalizer", "options"), WAYS)
def test_downcoding__is_the_loop(generalizer: str, options: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymizer.attacks.downcoding.FITS_AT_ONCE", 100)
    table, schema = people()
    assert_as_slow(Flow(table, schema, Settings(k=3, generalizer=generalizer, **options)), 3)


@given(data=st.data(), n=st.integers(4, 30), generalizer=st.sampled_from(["uniform", "refine", "pack"]))
@settings(max_examples=few(60), deadline=None)
def test_downcoding__is_the_loop_on_any_table(data: st.DataObject, n: int, generalizer: str) -> None:
    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    table = pd.DataFrame(
        {
            "x": column(st.integers(0, 5)),
            "y": column(st.sampled_from([0.5, 1.5, 2.5, np.nan])),
            "c": pd.Series(column(st.sampled_from(["a", "b", "c", None])), dtype=object),
            "s": column(st.sampled_from(["yes", "no"])),
        }
    )
    kinds = {"y": "numeric", "c": "categorical"}
    schema = Schema.of(table, quasi_identifying=["x", "y", "c"], sensitive=["s"], kinds=kinds)
    assert_as_slow(Flow(table, schema, Settings(k=2, grouping="least", generalizer=generalizer)), 2)


def plain_case() -> tuple[pd.DataFrame, Schema, pd.DataFrame]:
    """A wide group of four whose people could have been in a narrow one, and one person who could indeed."""
    table = pd.DataFrame({"x": [0, 1, 2, 9, 8, 9], "y": [0, 0, 1, 1, 0, 1], "ill": list("ababab")})
    schema = Schema.of(table, quasi_identifying=["x", "y"], sensitive=["ill"])
    released = table.assign(x=["[0, 9]"] * 4 + ["[8, 9]"] * 2, y=["[0, 1]"] * 6)
    return table, schema, released


def test_downcoding__of_a_plain_case() -> None:
    table, schema, released = plain_case()
    encodings, order = encode(table, schema).encodings, np.arange(6)
    classes = look_alikes(released, schema.quasi_identifying)
    # "Nobody of [0, 9] is 8 or 9": right for 0, 1 and 2, wrong for the 9.
    result = downcode(table, released, schema, encodings, order, classes, 2)
    assert result == Downcoding(Rate(3, 12), Rate(1, 12))
    # A group of k cannot give a record away.
    assert downcode(table, released, schema, encodings, order, classes, 4).right == Rate(0, 12)
    some = downcode(table, released, schema, encodings, order, classes, 2, np.array([0, 3, 5]))
    assert some == Downcoding(Rate(1, 6), Rate(1, 6))


def test_downcoding__one_group_says_nothing_more() -> None:
    table, schema = people()
    assert downcoding_of(Flow(table, schema, Settings(k=300)), 2).right.right == 0
