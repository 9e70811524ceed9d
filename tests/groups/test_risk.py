"""Scores of nodes worked out by hand, and where their definitions are at their limits."""

from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.groups.risk import NodeRisk, annotate, error_risk_ratio
from anonymizer.growing.encode import CodeColumns, EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import Tree
from anonymizer.schema import Schema
from tests import naive
from tests.cases import describe


def score(columns: dict[str, Any], classes: list[str], **rest: Any) -> tuple[Tree, NodeRisk, EncodedTable]:
    table = pd.DataFrame(columns).assign(target=classes)
    encoded = encode(table, Schema.of(table, quasi_identifying=list(columns), sensitive=["target"], **rest))
    tree = grow(encoded, min_leaf=1)
    return tree, annotate(tree, encoded), encoded


def test_numbers_by_hand() -> None:
    # x in [0, 10]: cut at 2; 1/5 of the range goes left, 4/5 right.
    _, risk, _ = score({"x": [0, 1, 3, 10]}, ["p", "p", "q", "q"])
    assert risk.n.tolist() == [4, 2, 2]
    assert risk.big.tolist() == pytest.approx([0, log2(5), log2(5 / 4)])
    assert risk.icr.tolist() == [2, 1, 1]
    assert risk.tidi.tolist() == pytest.approx([2, log2(5) + 1, log2(5 / 4) + 1])
    assert risk.error.tolist() == [2, 0, 0]
    assert risk.entropy.tolist() == [1, 0, 0]
    assert risk.gini.tolist() == [0.5, 0, 0]
    assert risk.branch_tidi.tolist() == pytest.approx([log2(5 / 4) + 1, log2(5) + 1, log2(5 / 4) + 1])
    assert risk.branch_error.tolist() == [0, 0, 0]
    assert risk.smallest_leaf.tolist() == [2, 2, 2]
    assert risk.error_risk[0] == pytest.approx((2 - log2(5 / 4) - 1) / 2)
    assert np.isnan(risk.error_risk[1:]).all()


def test_a_declared_range_counts_and_not_that_of_the_data() -> None:
    _, risk, _ = score({"x": [0, 1, 3, 10]}, ["p", "p", "q", "q"], domains={"x": (-30, 50)})
    assert risk.big.tolist() == pytest.approx([0, log2(80 / 32), log2(80 / 48)])


def test_levels_by_hand__those_that_nobody_has_count() -> None:
    _, risk, _ = score(
        {"level": ["a", "a", "b"]}, ["p", "p", "q"], domains={"level": ("a", "b", "c", "d", "e", "f", "g", "h")}
    )
    assert risk.big.tolist() == pytest.approx([0, log2(8 / 7), 3])


def test_missing__takes_up_one_of_the_codes_and_constant_columns_too_are_divided_by_it() -> None:
    _, risk, _ = score({"x": [0.0, 5, 10, np.nan]}, ["p", "p", "p", "q"])
    assert risk.big.tolist() == pytest.approx([0, log2(4 / 3), 2])
    _, risk, _ = score({"x": [7.0, 7, np.nan]}, ["p", "p", "q"])
    assert risk.big.tolist() == pytest.approx([0, 1, 1])
    _, risk, _ = score({"level": ["a", "a", None]}, ["p", "p", "q"])
    assert risk.big.tolist() == pytest.approx([0, 1, 1])


def test_branches__the_column_of_a_deeper_split_is_measured_within_its_path() -> None:
    rng = np.random.default_rng(0)
    n = 400
    columns = {
        "x": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 50, n)),
        "y": rng.normal(size=n),
        "level": [f"v{code}" for code in rng.integers(0, 9, n)],
        "rank": [f"r{code}" for code in rng.integers(0, 9, n)],
    }
    tree, risk, encoded = score(columns, [f"k{code}" for code in rng.integers(0, 3, n)], ordered=["rank"])
    table = pd.DataFrame(columns).assign(target="k0")
    schema = Schema.of(table, quasi_identifying=list(columns), sensitive=["target"], ordered=["rank"])
    attributes = naive.attributes_of(table, schema)
    shares = naive.region_shares(describe(tree, encoded), attributes)
    assert tree.depth.max() > 8
    assert (2**-risk.big).tolist() == pytest.approx(shares, rel=1e-9)
    leaves = tree.is_leaf
    assert (2 ** -risk.big[leaves]).sum() == pytest.approx(1)


@pytest.mark.parametrize("x", [[0.3, 0.1 + 0.2] * 2, [10**17, 10**17 + 1] * 2, [0, 1e-320, 1e300, 1e300]])
def test_regions_too_narrow_to_measure__stay_finite(x: list[float]) -> None:
    tree, risk, _ = score({"x": x}, ["p", "q", "p", "q"])
    assert tree.n_nodes > 1
    assert np.isfinite(risk.big).all()
    assert not np.isnan(risk.error_risk[~tree.is_leaf]).any()


def test_no_record_is_read() -> None:
    tree, risk, encoded = score({"x": [0, 1, 3, 10]}, ["p", "p", "q", "q"])
    blind = replace(encoded, codes=CodeColumns(0))
    assert annotate(tree, blind).tidi.tolist() == risk.tidi.tolist()


def test_read_only() -> None:
    _, risk, _ = score({"x": [0, 1, 3, 10]}, ["p", "p", "q", "q"])
    with pytest.raises(ValueError, match="read-only"):
        risk.big[0] = 1


def test_ratio__nothing_added_is_free() -> None:
    ratios = error_risk_ratio(np.array([1.0, 0.0, 3.0]), np.array([2, 0, 0]))
    assert ratios.tolist() == [0.5, np.inf, np.inf]
