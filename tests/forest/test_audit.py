"""Audits: they refute what is false, and nothing that is proved."""

import math

import numpy as np
import pytest

from anonymizer.forest.audit import PAIRS, audit, lower_bound


def test_lower_bound__agrees_with_exact_limits() -> None:
    assert lower_bound(0, 0, 100, 0.95) == -math.inf
    assert lower_bound(100, 0, 100, 0.95) == pytest.approx(math.log(0.025 ** (1 / 100) / (1 - 0.025 ** (1 / 100))))
    assert lower_bound(50, 50, 100, 0.95) < 0


@pytest.mark.parametrize("pair", PAIRS)
def test_audit__pairs_are_neighbours(pair: str) -> None:
    fewer, more = PAIRS[pair](5)
    assert more.n_records == fewer.n_records + 1
    np.testing.assert_array_equal(more.codes[:-1], fewer.codes)


def test_audit__refutes_the_printed_algorithm() -> None:
    finding = audit("paper", 0.1, n_classes=18, runs=6000, seed=0)
    assert finding.violated
    assert finding.lower_bound > 0.15


@pytest.mark.parametrize("mode", ["strict", "paper-strict", "diffpid3", "diffpid3-weighted"])
def test_audit__does_not_refute_what_is_proved(mode: str) -> None:
    assert not audit(mode, 0.1, n_classes=18, runs=1500, seed=0).violated
    near = audit(mode, 3.0, pair="many-and-one-more", n_classes=2, max_depth=2, runs=1500, seed=0)
    assert not near.violated
    assert near.lower_bound > 0.05, "an audit that finds nothing at a large ε proves nothing"
