"""What is read from class counts."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.growing.target import ClassTarget, class_shares, entropy, gini, majority_error

COUNTS = np.array([[4, 0, 0], [2, 2, 0], [1, 1, 2], [0, 0, 0], [0, 0, 1]])


def test_values_by_hand() -> None:
    assert majority_error(COUNTS).tolist() == [0, 2, 2, 0, 0]
    assert entropy(COUNTS).tolist() == [0.0, 1.0, 1.5, 0.0, 0.0]
    assert gini(COUNTS).tolist() == [0.0, 0.5, 0.625, 0.0, 0.0]
    assert class_shares(COUNTS).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0, 0], [0, 0, 1]]


def test_a_pure_node_has_no_negative_zero() -> None:
    assert not np.signbit(entropy(COUNTS)).any()
    assert not np.signbit(gini(COUNTS)).any()


def test_one_node_alone_is_read_the_same_way() -> None:
    assert entropy(COUNTS[2]) == 1.5
    assert gini(COUNTS[2]) == 0.625
    assert majority_error(COUNTS[2]) == 2


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_against_the_definitions(counts: list[int]) -> None:
    sums, n = np.array([counts]), sum(counts)
    shares = [count / n for count in counts] if n else []
    assert entropy(sums)[0] == pytest.approx(-sum(share * log2(share) for share in shares if share), abs=1e-12)
    assert gini(sums)[0] == pytest.approx(1 - sum(share**2 for share in shares) if n else 0, abs=1e-12)
    assert majority_error(sums)[0] == n - max(counts)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6))
def test_impurity_never_rises_when_a_node_is_divided(pairs: list[tuple[int, int]]) -> None:
    left, right = np.array(pairs).T
    for impurity in (entropy, gini):
        parts = left.sum() * impurity(left) + right.sum() * impurity(right)
        assert parts <= (left + right).sum() * impurity(left + right) + 1e-9


def test_class_target__counts_classes_without_a_record() -> None:
    assert ClassTarget("y", ("a", "b", None), np.array([0, 0], dtype=np.uint8)).n_classes == 3
