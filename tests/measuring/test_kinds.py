"""Records that are equal in all that is measured, counted once: the figures are those of every record by itself."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.attacks.isolation import isolation
from anonymizer.checking.kinds import every_record, kinds_of
from anonymizer.cuts import Cuts
from anonymizer.flow import Flow
from anonymizer.measuring.two_way import two_way
from anonymizer.measuring.weighted import by_kind, weighted
from anonymizer.population.estimates import sampling_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.sweeps import few

DESIGNS = [{}, {"weight": "weight"}, {"weight": "weight", "stratum": "region"}, {"household": "home"}]


def flow_of(seed: int, design: dict[str, str], generalizer: str, suppression: float, by_number: bool) -> Flow:
    """A survey in which most records have others that are equal in every value."""
    rng = np.random.default_rng(seed)
    n, kinds = 90, 14
    some = pd.DataFrame(
        {
            "age": rng.choice([20.0, 31, 42.5, 60, np.nan], kinds), "sex": rng.choice(["f", "m", None], kinds),
            "zip": rng.integers(1, 6, kinds), "ill": rng.choice(list("xyz"), kinds), "pay": rng.integers(1, 9, kinds),
            "rooms": rng.integers(1, 4, kinds), "weight": rng.choice([1.0, 2.5], kinds),
            "region": rng.choice(["n", "s"], kinds),
        }
    )  # fmt: skip
    table = some.iloc[rng.integers(0, kinds, n)].reset_index(drop=True).assign(home=rng.integers(0, 30, n))
    roles = {"sensitive": ["pay"], "kinds": {"pay": "numeric"}} if by_number else {"sensitive": ["ill"]}
    names = ["age", "sex", "zip", *roles["sensitive"], "rooms", *design.values()]
    schema = Schema.of(table[names], quasi_identifying=["age", "sex", "zip"], **roles, **design)
    how = Settings(k=4, generalizer=generalizer, suppression=suppression)
    return Flow(table[names], schema, how, rng=np.random.default_rng(seed))


@settings(max_examples=few(25), deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(DESIGNS), st.sampled_from(["uniform", "pack", "tiered"]), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_figures__are_those_of_every_record(
    seed: int, design: dict[str, str], generalizer: str, lacks: bool, by_number: bool
) -> None:
    flow = flow_of(seed, design, generalizer, 0.1 if lacks and generalizer == "uniform" else 0.0, by_number)
    kinds, alone = flow.kinds, every_record(len(flow.table))
    assert len(kinds.sizes) < len(flow.table)
    about = flow.original, flow.released, flow.schema, flow.release.order, flow.look_alikes, flow.cells, None
    assert isolation(*about, kinds) == isolation(*about, alone)
    weights = sampling_of(flow.table, flow.schema).weights
    for heavy in (None, weights):
        fast, slow = (two_way(flow.encoded, flow.boxed, heavy, of) for of in (kinds, alone))
        np.testing.assert_allclose(fast.distances, slow.distances, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(fast.hellinger, slow.hellinger, rtol=1e-9, atol=1e-9)  # a root of a difference
    shapes = flow.table, flow.schema, flow.encoded, flow.boxed, flow.two_way
    fast, slow = (weighted(*shapes, None, of) for of in (kinds, alone))
    for one, other in zip(fast.figures, slow.figures, strict=True):
        assert (one.what, one.column, one.level) == (other.what, other.column, other.level)
        for a, b in ((one.before, other.before), (one.after, other.after)):
            assert [*vars(a).values()] == pytest.approx([*vars(b).values()], rel=1e-9, abs=1e-9, nan_ok=True)
    for one, other in zip(fast.correlations, slow.correlations, strict=True):
        assert (one.before, one.after) == pytest.approx((other.before, other.after), rel=1e-9, abs=1e-9, nan_ok=True)


def test_kinds__agree_in_values_before_they_are_rounded() -> None:
    table = flow_of(3, {}, "uniform", 0.0, False).table.assign(weight=1.0)
    table.loc[table.index % 2 == 0, "age"] += 1
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"]).with_column(
        "age", cuts=Cuts(rounding=50)
    )
    flow = Flow(table, schema, Settings(k=4, generalizer="uniform"))
    assert all(ages.nunique(dropna=False) == 1 for _, ages in table["age"].groupby(flow.kinds.class_of))
    means = [one.before.value for one in flow.weighted.figures if (one.what, one.column) == ("mean", "age")]
    assert means == [pytest.approx(table["age"].mean())]


def test_kinds__agree_in_values_class_numbers_and_codes() -> None:
    flow = flow_of(3, {}, "uniform", 0.0, False)
    columns = flow.table[["age", "sex", "zip", "rooms", "ill"]].assign(box=flow.class_of)
    expected = columns.groupby(list(columns), dropna=False).ngroup().to_numpy()
    kinds = flow.kinds
    assert len(kinds.sizes) == expected.max() + 1
    assert len(set(zip(kinds.class_of, expected, strict=True))) == len(kinds.sizes)
    ill = [flow.encoded.target.codes]
    assert len(kinds_of(flow.original, flow.class_of, ill).sizes) == len(kinds.sizes)


def test_rows_of_households__are_no_kinds() -> None:
    flow = flow_of(4, {"household": "home"}, "uniform", 0.0, False)
    sampling = sampling_of(flow.table, flow.schema)
    rows, design = by_kind(sampling, flow.kinds)
    assert rows.tolist() == list(range(len(flow.table)))
    assert design is sampling
    alone = replace(sampling, cluster=np.arange(90), stratum=np.zeros(90, np.int64))
    assert by_kind(alone, flow.kinds)[1].records.sum() == 90
