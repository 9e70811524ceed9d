"""Cells of boxes: what they hold does not depend on the order in which records stand."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.releasing.boxes import Boxes, centres
from anonymizer.releasing.tiers import disjoint
from anonymizer.schema import Schema
from anonymizer.settings import Settings


@pytest.mark.parametrize("numbers", ["mean", "median"])
def test_centres__are_the_same_to_the_last_digit_in_any_order(numbers: str) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"income": np.round(rng.lognormal(10, 1, 5000), 1), "sick": "no"})
    schema = Schema.of(frame, quasi_identifying=["income"], sensitive=["sick"])
    encoded, box = encode(frame, schema), rng.integers(0, 40, 5000)
    exact, codes = encoded.encodings[0].low, encoded.codes.columns[0]
    expected = centres(exact, codes, Boxes.of(disjoint(box, 40)), numbers)
    assert expected[7] == pytest.approx(getattr(np, numbers)(frame["income"][box == 7]), rel=1e-12)
    for _ in range(5):
        order = rng.permutation(5000)
        other = centres(exact, codes[order], Boxes.of(disjoint(box[order], 40)), numbers)
        assert other.tobytes() == expected.tobytes()


@pytest.mark.parametrize("numbers", ["mean", "median"])
@pytest.mark.parametrize("step", ["h", "D"])
def test_estimate__of_dates_is_to_the_second_or_to_the_day_as_the_values_are(numbers: str, step: str) -> None:
    rng = np.random.default_rng(4)
    moments = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), step)
    table = pd.DataFrame({"seen": moments, "ill": rng.choice(["a", "b"], 60)})
    schema = Schema.of(table, quasi_identifying=["seen"], sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=20, numbers=numbers))
    texts = flow.released["seen"].astype(str)
    assert texts.str.startswith("~").all()
    unit = np.timedelta64(1, "s") if step == "h" else np.timedelta64(1, "D")
    values, group = moments.to_numpy(), flow.released["seen"].to_numpy()
    for text in texts.unique():
        own = values[flow.release.order][group == text].astype("datetime64[us]").astype(np.int64)
        expected = getattr(np, numbers)(own) / unit.astype("timedelta64[us]").astype(np.int64)
        assert np.datetime64(text.removeprefix("~"), "us") == np.datetime64(0, "us") + round(expected) * unit
