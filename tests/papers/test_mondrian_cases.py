"""Mondrian, LeFevre et al. 2006 and 2008: groups and losses of the worked cases, by slow reference implementations."""

from typing import Any

import numpy as np
import pytest

from anonymizer.encode import encode
from anonymizer.mondrian import grow_mondrian
from anonymizer.records import descend
from anonymizer.utility import cut_gcp, node_ncp, relative_squared_distance
from tests.cases import load, table_of

GIVEN = [
    pytest.param(case, method, id=f"{method}-{case['seed']}")
    for name, method in (
        ("random_median_mondrian", "median-mondrian"),
        ("random_infogain_mondrian", "infogain-mondrian"),
        ("random_regression_mondrian", "regression-mondrian"),
    )
    for case in load(name)
]


@pytest.mark.parametrize(("given", "method"), GIVEN)
def test_groups_and_loss(given: dict[str, Any], method: str) -> None:
    table, schema = table_of(given)
    encoded = encode(table, schema)
    tree = grow_mondrian(encoded, given["k"], method)
    leaf = descend(tree, encoded)
    assert sorted(np.flatnonzero(leaf == t).tolist() for t in np.unique(leaf)) == sorted(given["groups"])
    if "gcp" in given:
        found = cut_gcp(tree, node_ncp(tree, encoded.encodings), np.flatnonzero(tree.is_leaf))
        assert found == pytest.approx(given["gcp"], rel=1e-9)
    else:
        found = relative_squared_distance(np.array(given["responses"]), leaf).mean()
        assert found == pytest.approx(given["rsd"], rel=1e-9)
