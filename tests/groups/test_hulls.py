"""What a hull loses: by width, and half by rank."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.flow import Flow
from anonymizer.groups.hulls import scale_of
from anonymizer.growing.encode import RANKS, encode
from anonymizer.releasing.grid import Grid, on_grids
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings
from tests.sweeps import few

numbers = st.lists(st.one_of(st.none(), st.integers(-3, 9)), min_size=2, max_size=30).filter(
    lambda values: len({value for value in values if value is not None}) > 1
)


def share_below(values: list[int], at: int) -> float:
    """How many have a lower value, and half of those that have it, from 0 at the lowest to 1 at the highest."""

    def place(number: int) -> float:
        return sum((value < number) + (value == number) / 2 for value in values)

    return (place(at) - place(min(values))) / (place(max(values)) - place(min(values)))


def coded(values: list[int | None], cost: str):
    table = pd.DataFrame({"number": pd.array(values, "Float64"), "ill": ["a"] * len(values)})
    schema = Schema.of(table, quasi_identifying=["number"], sensitive=["ill"], domains={"number": (-5, 15)})
    return table, schema, encode(table, schema, cost=cost)


@settings(max_examples=few(60))
@given(numbers)
def test_a_code__stands_in_the_middle_between_its_place_and_its_rank(values):
    here = sorted(value for value in values if value is not None)
    scale = scale_of(coded(values, RANKS)[2].encodings)
    expected = [((value + 5) / 20 + share_below(here, value)) / 2 for value in sorted(set(here))]
    assert scale.low[: len(expected)] == pytest.approx(expected)
    assert scale.high.tolist() == scale.low.tolist()
    by_width = scale_of(coded(values, "detail")[2].encodings)
    assert by_width.low[: len(expected)] == pytest.approx([(value + 5) / 20 for value in sorted(set(here))])


@settings(max_examples=few(60))
@given(numbers, st.integers(1, 7))
def test_a_cell_of_a_grid__reaches_to_the_ranks_of_its_own_values(values, step):
    here = sorted(value for value in values if value is not None)
    ends = np.arange(-5.0, 16.0, step)
    grid = Grid(ends, np.append(ends[1:], 15.0), step, Kind.NUMERIC)
    _, _, encoded = coded(values, RANKS)
    scale = scale_of(on_grids(encoded, {"number": grid}).encodings)
    for place, value in enumerate(sorted(set(here))):
        cell = (value + 5) // step
        same = [other for other in here if (other + 5) // step == cell]
        low = step * cell / 20, share_below(here, min(same))
        high = (min(step * (cell + 1), 20)) / 20, share_below(here, max(same))
        assert scale.low[place] == pytest.approx(sum(low) / 2)
        assert scale.high[place] == pytest.approx(sum(high) / 2)


def test_groups__by_rank_lose_fewer_ranks() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({
        "income": np.round(rng.lognormal(3, 1.5, 600), 1), "age": rng.integers(20, 80, 600),
        "ill": rng.choice(["a", "b"], 600),
    })  # fmt: skip
    schema = Schema.of(table, quasi_identifying=["income", "age"], sensitive=["ill"])
    flows = [Flow(table, schema, Settings(k=8, cost=cost), rng=np.random.default_rng(1)) for cost in ("detail", RANKS)]
    by_width, by_rank = ((flow.utility.gcp, flow.two_way.marginals.ranks) for flow in flows)
    assert by_rank[1] < by_width[1]
    assert by_rank[0] > by_width[0]
    assert flows[0].tree is not flows[0].but(cost=RANKS).tree
