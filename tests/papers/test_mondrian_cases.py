"""Mondrian, LeFevre et al. 2006 and 2008: groups and losses of the worked cases, by slow reference implementations."""

from typing import Any

import numpy as np
import pytest

from anonymizer.groups.mondrian import grow_mondrian
from anonymizer.growing.encode import encode
from anonymizer.growing.records import descend
from anonymizer.measuring.utility import cut_gcp, node_ncp, relative_squared_distance
from tests.cases import load, table_of

CASES = [pytest.param(case, id=case["name"]) for case in load("mondrian")]


@pytest.mark.parametrize("reference", CASES)
def test_groups_and_loss(reference: dict[str, Any]) -> None:
    table, schema = table_of(reference)
    encoded = encode(table, schema)
    tree = grow_mondrian(encoded, reference["k"], reference["method"])
    leaf = descend(tree, encoded)
    assert sorted(np.flatnonzero(leaf == t).tolist() for t in np.unique(leaf)) == sorted(reference["groups"])
    if "gcp" in reference:
        ours = cut_gcp(tree, node_ncp(tree, encoded.encodings), np.flatnonzero(tree.is_leaf))
        assert ours == pytest.approx(reference["gcp"], rel=1e-9)
    else:
        ours = relative_squared_distance(np.array(reference["responses"]), leaf).mean()
        assert ours == pytest.approx(reference["rsd"], rel=1e-9)
