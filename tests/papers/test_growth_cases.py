"""Growing against the reference's trees, field by field, and the naive twin against the same trees."""

from typing import Any

import numpy as np
import pytest

from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.target import entropy, gini
from tests import naive
from tests.cases import describe, load, table_of

FILES = ("y19_growth_entropy", "y19_growth_gini", "y19_growth_ordered")
GROWN = [pytest.param(case, id=f"{name}-{case['name']}") for name in FILES for case in load(name)]


def without_gains(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in node.items() if key != "gain"} for node in nodes]


@pytest.mark.parametrize("case", GROWN)
def test_grow_gives_the_references_tree(case: dict[str, Any]) -> None:
    table, schema = table_of(case)
    encoded = encode(table, schema)
    tree = grow(encoded, case["criterion"], case["min_leaf"], exhaustive_max=case["exhaustive_max"])

    assert describe(tree, encoded) == without_gains(case["tree"])
    assert tree.parent.tolist() == parents(case["tree"])
    assert tree.depth.tolist() == depths(case["tree"])
    total_impurity = tree.n * {"entropy": entropy, "gini": gini}[case["criterion"]](tree.sums)
    for t, node in enumerate(case["tree"]):
        classes = encoded.target.codes[node["records"]]
        assert tree.sums[t].tolist() == np.bincount(classes, minlength=encoded.target.n_classes).tolist()
        if "gain" in node:
            gain = total_impurity[t] - sum(total_impurity[child - 1] for child in node["children"])
            assert gain == pytest.approx(node["gain"], rel=1e-9)


@pytest.mark.parametrize("case", GROWN)
def test_naive_grow_gives_the_references_tree(case: dict[str, Any]) -> None:
    table, schema = table_of(case)
    classes = encode(table, schema).target
    nodes = naive.grow(
        naive.attributes_of(table, schema), classes.codes.tolist(), classes.n_classes,
        case["criterion"], case["min_leaf"], None, case["exhaustive_max"],
    )  # fmt: skip
    assert without_gains(nodes) == without_gains(case["tree"])
    gains = [(ours["gain"], theirs["gain"]) for ours, theirs in zip(nodes, case["tree"], strict=True) if "gain" in ours]
    assert [ours for ours, _ in gains] == pytest.approx([theirs for _, theirs in gains], rel=1e-9)


def parents(nodes: list[dict[str, Any]]) -> list[int]:
    parent = [-1] * len(nodes)
    for node in nodes:
        for child in node.get("children", []):
            parent[child - 1] = node["id"] - 1
    return parent


def depths(nodes: list[dict[str, Any]]) -> list[int]:
    depth = [0] * len(nodes)
    for node in nodes:
        for child in node.get("children", []):
            depth[child - 1] = depth[node["id"] - 1] + 1
    return depth
