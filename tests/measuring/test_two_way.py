"""Two-way tables before and after: against a slow twin, and against every number worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.flow import Flow
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.two_way import two_way
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.groups.test_refine import random_table
from tests.naive_measures import two_way_distance, two_way_mean
from tests.sweeps import few


@settings(max_examples=few(40))
@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from(sorted(GENERALIZERS)), st.booleans())
def test_two_way__agrees_with_its_slow_twin(seed: int, n: int, generalizer: str, written_out: bool) -> None:
    table, schema = random_table(seed, n)
    writing = "weighted" if written_out and generalizer != "tiered" else "sets"
    numbers = "mean" if written_out and generalizer != "tiered" else "range"
    flow = Flow(table, schema, Settings(k=4, generalizer=generalizer, writing=writing, numbers=numbers))
    answer = flow.two_way
    assert answer.mean == pytest.approx(two_way_mean(table, flow.released, schema), abs=1e-9)
    first, second, most = answer.worst
    assert most == pytest.approx(two_way_distance(table, flow.released, schema, first, second), abs=1e-9)
    assert most == pytest.approx(np.nanmax(answer.distances))


def test_two_way__by_hand() -> None:
    """Four people in one group: ages 0, 0, 1, 1 become [0, 1], a, a, b, b become *; the sensitive column stays."""
    table = pd.DataFrame({"age": [0, 0, 1, 1], "city": list("aabb"), "ill": list("xyxy")})
    flow = Flow(table, Schema.of(table, quasi_identifying=["age", "city"], sensitive=["ill"]), Settings(k=4))
    answer = flow.two_way
    assert answer.names == ("age", "city", "ill")
    # age × city: 2, 0, 0, 2 become 1, 1, 1, 1, so two of four people move; with ill nothing changes.
    assert answer.distances[0].tolist()[1:] == [0.5, 0.0]
    assert answer.distances[1].tolist()[2] == 0.0
    # Shares .5, 0, 0, .5 become .25 each: half the sum of (√p − √q)² is (√.5 − .5)² + .25.
    assert answer.hellinger[0].tolist()[1:] == pytest.approx([np.sqrt((np.sqrt(0.5) - 0.5) ** 2 + 0.25), 0.0])
    assert answer.mean_hellinger == pytest.approx(answer.hellinger[0, 1] / 3)
    assert answer.mean == pytest.approx(0.5 / 3)
    assert answer.worst == ("age", "city", 0.5)
    assert np.isnan(answer.distances[:, 0]).all()


def test_two_way__of_the_records_themselves_is_nothing() -> None:
    for seed in range(5):
        table, schema = random_table(seed, 80)
        encoded = Flow(table, schema).encoded
        assert two_way(encoded, BoxedTable.of_records(encoded)).mean == pytest.approx(0, abs=1e-12)


def test_two_way__without_a_pair() -> None:
    table = pd.DataFrame({"age": [1, 2, 3, 4]})
    answer = Flow(table, Schema.of(table, quasi_identifying=["age"]), Settings(k=2)).two_way
    assert (answer.mean, answer.worst) == (None, None)
    assert json.dumps(answer.to_dict()) == '{"rows_in_another_cell": null, "hellinger_distance": null, "most": null}'


def test_blocks__of_boxes_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = random_table(3, 200)
    flow = Flow(table, schema, Settings(k=5, generalizer="refine"))
    whole = flow.two_way.distances
    monkeypatch.setattr("anonymizer.measuring.two_way._BLOCK", 3)
    np.testing.assert_allclose(two_way(flow.encoded, flow.boxed).distances, whole, atol=1e-12)
