"""Isolation by ends and levels: counted as plain loops over groups count it, and what it says of plain cases."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.attacks.isolation import isolation
from anonymizer.attacks.outcome import Rate
from anonymizer.flow import Flow
from anonymizer.releasing.generalize import GENERALIZERS, INTERVALS
from anonymizer.releasing.grid import public_parts
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.attacks.test_look_up import people
from tests.gate.test_who import visits
from tests.naive_attacks import slow_isolation
from tests.sweeps import few


def assert_as_slow(flow: Flow) -> None:
    table, settings = flow.table, flow.settings
    public = public_parts(flow.encoded, flow.schema, settings.public_k, settings.writing)
    slow = slow_isolation(table, flow.released, flow.schema, flow.release.order, public)
    fast = flow.isolation
    assert fast.records == Rate(len(slow.people), len(table))
    assert fast.groups == Rate(slow.groups, len(flow.look_alikes.sizes))
    assert {name: rate.right for name, rate in fast.by_column.items()} == slow.by_column
    assert (fast.ends, fast.levels) == (Rate(*slow.ends), Rate(*slow.levels))


WAYS = [
    *((name, {}) for name in GENERALIZERS),
    *((name, {"numbers": "range"}) for name in GENERALIZERS),
    *((name, {"writing": "groups"}) for name in GENERALIZERS),
    *((name, {"writing": "weighted", "numbers": "mean"}) for name in GENERALIZERS if name != "tiered"),
    *((name, {"writing": "concatenate", "k": 40}) for name in GENERALIZERS if name != "tiered"),
    ("tiered", {"k": 40}),
]
"""Boxes that share records cannot be counted."""


@pytest.mark.sweep(9)
@pytest.mark.parametrize(("generalizer", "options"), WAYS)
def test_isolation__is_the_loop(generalizer: str, options: dict) -> None:
    table, schema = people()
    assert_as_slow(Flow(table, schema, Settings(**{"k": 5, "generalizer": generalizer, **options})))


@given(data=st.data(), n=st.integers(2, 24), k=st.integers(1, 5), generalizer=st.sampled_from(["uniform", "refine"]))
@settings(max_examples=few(60), deadline=None)
def test_isolation__is_the_loop_on_any_table(data: st.DataObject, n: int, k: int, generalizer: str) -> None:
    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    table = pd.DataFrame(
        {
            "x": column(st.integers(0, 5)),
            "y": column(st.sampled_from([0.5, 1.5, np.nan])),
            "c": pd.Series(column(st.sampled_from(["a", "b", "c", None])), dtype=object),
            "s": column(st.sampled_from(["yes", "no"])),
        }
    )
    schema = Schema.of(
        table, quasi_identifying=["x", "y", "c"], sensitive=["s"], kinds={"y": "numeric", "c": "categorical"}
    )
    ways = {"numbers": data.draw(st.sampled_from(INTERVALS)), "writing": data.draw(st.sampled_from(["sets", "groups"]))}
    assert_as_slow(Flow(table, schema, Settings(k=min(k, n), generalizer=generalizer, **ways)))


@given(st.integers(0, 10**6), st.sampled_from(["range", "public"]), st.sampled_from(["sets", "groups"]))
@settings(max_examples=few(20))
def test_isolation__of_persons_with_several_rows__is_the_loop(seed: int, numbers: str, writing: str) -> None:
    table = visits(seed, 12)
    table["patient"] = table.patient.mask(np.random.default_rng(seed).random(len(table)) < 0.1)
    schema = Schema.of(table, person="patient", quasi_identifying=["age", "sex", "town"], sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=3, grouping="least", numbers=numbers, writing=writing))
    assert_as_slow(flow)
    assert flow.isolation.by_person


def test_isolation__of_one_person_with_all_rows_at_an_end() -> None:
    """Three rows are at the lower end, and all of them are Ann's."""
    table = pd.DataFrame({"who": list("aaabbc"), "age": [20, 20, 20, 30, 40, 40], "ill": list("xyxyxy")})
    schema = Schema.of(table, person="who", quasi_identifying=["age"], sensitive=["ill"])
    result = isolation(table, table[["age", "ill"]].assign(age="[20, 40]"), schema, np.arange(6))
    assert (result.records, result.groups, result.ends) == (Rate(3, 6), Rate(1, 1), Rate(1, 2))
    assert "Their person alone in the group" in result.sentence


def test_isolation__of_plain_cases() -> None:
    table = pd.DataFrame({"age": [20, 30, 30, 40, 50, 50, 60, 60], "sex": list("mfmfmmff"), "ill": list("abababab")})
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    released = table.assign(age=["[20, 40]"] * 4 + ["[50, 60]"] * 4, sex="*")
    order = np.arange(8)
    result = isolation(table, released, schema, order)
    # In the first group one is 20 and one is 40; in the second every end and level has two holders.
    assert result.records == Rate(2, 8)
    assert result.groups == Rate(1, 2)
    assert result.ends == Rate(2, 4)
    assert result.levels == Rate(0, 4)
    assert result.by_column == {"age": Rate(2, 8), "sex": Rate(0, 8)}
    assert "25%" in result.sentence
    assert "50%" in result.sentence
    # Ends that nobody holds single nobody out, and neither does a mean.
    for cells in (["[15, 45]"] * 4 + ["[50, 65]"] * 4, ["~30"] * 4 + ["~55"] * 4):
        assert isolation(table, table.assign(age=cells, sex="*"), schema, order).records == Rate(0, 8)
    # The original itself: everybody who is unique.
    assert isolation(table, table, schema, order).records == Rate(4, 8)
    lone = table.assign(age=["[20, 40]"] * 4 + ["[50, 60]"] * 4, sex=["{f, m}"] * 8)
    assert isolation(table.assign(sex=list("mffffmmm")), lone, schema, order).levels == Rate(2, 4)
    rows = np.array([7, 6, 5, 4, 3, 2, 1, 0])
    assert isolation(table, released.iloc[rows], schema, rows) == result


def test_isolation__missing_beside_a_range_is_a_level() -> None:
    table = pd.DataFrame({"age": [20, 20, 40, 40, np.nan], "ill": list("ababa")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"])
    released = table.assign(age="{[20, 40], missing}")
    result = isolation(table, released, schema, np.arange(5))
    assert (result.records, result.ends, result.levels) == (Rate(1, 5), Rate(0, 2), Rate(1, 1))
    assert result.to_dict()["records_by_column"] == {"age": 0.2}
