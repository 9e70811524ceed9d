"""What a record costs the others of its box, against its slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.groups.hulls import scale_of
from anonymizer.suppression.gains import gains_of
from tests.groups.test_refine import encoded_table
from tests.naive_suppression import slow_alone, slow_loss, slow_together
from tests.sweeps import few


@settings(max_examples=few(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 4))
def test_gains__agree_with_their_slow_twin(seed: int, n: int, n_parts: int) -> None:
    encoded = encoded_table(seed, n)
    part = np.random.default_rng(seed).integers(0, n_parts, n)
    gains = gains_of(encoded.codes.matrix(), scale_of(encoded.encodings), part, n_parts)
    p = len(encoded.encodings)
    for number in range(n_parts):
        rows = np.flatnonzero(part == number).tolist()
        assert gains.size[number] == len(rows)
        assert gains.loss[number] == pytest.approx(slow_loss(encoded, rows) if rows else 0.0, abs=1e-12)
        for row in rows:
            alone = slow_alone(encoded, rows, row)
            shared = [
                j
                for j in range(p)
                if sum(encoded.codes.columns[j][o] == encoded.codes.columns[j][row] for o in rows) > 1
            ]
            # A row whose code is not an end saves nothing, and of the only code of a column nothing can be saved.
            several = [j for j in shared if len({int(encoded.codes.columns[j][o]) for o in rows}) > 1]
            together = {j: slow_together(encoded, rows, row, j) for j in several if codes_left(encoded, rows, row, j)}
            best = max(together.values(), default=0.0)
            if all(codes_left(encoded, rows, row, j) for j in range(p)):
                assert gains.saved[row] == pytest.approx(max(alone, best), abs=1e-9)
            assert gains.saved[row] <= max(alone, best) + 1e-9
            if gains.column[row] >= 0:
                assert together[int(gains.column[row])] == pytest.approx(gains.saved[row], abs=1e-9)


def codes_left(encoded, rows: list[int], row: int, j: int) -> bool:
    """Whether a value, and not only "missing", is left in a column of numbers when those with the row's code go."""
    encoding = encoded.encodings[j]
    left = {int(encoded.codes.columns[j][other]) for other in rows} - {int(encoded.codes.columns[j][row])}
    return not encoding.is_interval or bool(left - {len(encoding.labels)})


def test_total__is_what_all_lose_together() -> None:
    encoded = encoded_table(2, 12)
    gains = gains_of(encoded.codes.matrix(), scale_of(encoded.encodings), np.arange(12) % 3, 3)
    slow = sum(4 * slow_loss(encoded, list(range(number, 12, 3))) for number in range(3))
    assert gains.total == pytest.approx(slow)
