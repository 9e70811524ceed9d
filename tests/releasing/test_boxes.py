"""Cells of boxes: what they hold does not depend on the order in which records stand."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.growing.encode import encode
from anonymizer.releasing.boxes import Boxes, centres
from anonymizer.releasing.tiers import disjoint
from anonymizer.schema import Schema


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
