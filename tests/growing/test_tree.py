"""The tree as a table: structure, routes and regions of one small tree, worked out by hand."""

from math import inf

import numpy as np
import pandas as pd
import pytest

from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.tree import NO_NODE, Condition, Tree, goes_left, region
from anonymizer.schema import Schema


@pytest.fixture(scope="module")
def encoded() -> EncodedTable:
    # job b or c: always "no"; otherwise age up to 35: "yes", above: "maybe", missing: "never" (cut last: a tie).
    table = pd.DataFrame(
        {
            "age": [20, 30, 40, 50, np.nan, np.nan, 20, 40, 50, 30],
            "job": ["a", "a", "a", "a", "a", "a", "b", "b", "c", "c"],
            "class": ["yes", "yes", "maybe", "maybe", "never", "never", "no", "no", "no", "no"],
        }
    )
    schema = Schema.of(
        table, quasi_identifying=["age", "job"], sensitive=["class"], domains={"job": ("a", "b", "c", "unseen")}
    )
    return encode(table, schema)


@pytest.fixture(scope="module")
def tree(encoded: EncodedTable) -> Tree:
    return grow(encoded, "entropy", 2)


def test_structure(tree: Tree) -> None:
    assert tree.n_nodes == 7
    assert tree.n.tolist() == [10, 6, 2, 4, 2, 2, 4]
    assert tree.feature.tolist() == [1, 0, -1, 0, -1, -1, -1]
    assert tree.is_leaf.tolist() == [False, False, True, False, True, True, True]
    assert tree.parent.tolist() == [NO_NODE, 0, 1, 1, 3, 3, 0]
    assert tree.size.tolist() == [7, 5, 1, 3, 1, 1, 1]
    assert [tree.children(node) for node in range(7)] == [(1, 6), (2, 3), (), (4, 5), (), (), ()]
    assert tree.depth.tolist() == [0, 1, 2, 2, 3, 3, 1]
    assert tree.path(4) == [0, 1, 3, 4]
    assert tree.path(0) == [0]


def test_routes(tree: Tree, encoded: EncodedTable) -> None:
    age, job = encoded.encodings
    # The larger child takes the level that nobody has.
    assert goes_left(tree, job, 0).tolist() == [True, False, False, True]
    assert tree.listed_codes(0).tolist() == [1, 2]
    assert not tree.listed_left[0]
    assert tree.listed_codes(1).tolist() == []
    assert goes_left(tree, age, 1).tolist() == [True, True, False, False, False]
    assert goes_left(tree, age, 3).tolist() == [True, True, True, True, False]
    assert tree.threshold[[1, 3]].tolist() == [35, inf]


def test_regions(tree: Tree, encoded: EncodedTable) -> None:
    job = Condition(1, -inf, inf, (0, 3), False)
    assert region(tree, encoded.encodings, 0) == ()
    assert region(tree, encoded.encodings, 1) == (job,)
    assert region(tree, encoded.encodings, 6) == (Condition(1, -inf, inf, (1, 2), False),)
    assert region(tree, encoded.encodings, 2) == (job, Condition(0, -inf, 35, None, False))
    assert region(tree, encoded.encodings, 3) == (job, Condition(0, 35, inf, None, True))
    assert region(tree, encoded.encodings, 4) == (job, Condition(0, 35, inf, None, False))
    assert region(tree, encoded.encodings, 5) == (job, Condition(0, inf, inf, None, True))


def test_hulls(tree: Tree) -> None:
    assert tree.low[[0, 2, 4, 6], 0].tolist() == [0, 0, 2, 0]
    assert tree.high[[0, 2, 4, 6], 0].tolist() == [3, 1, 3, 3]
    assert tree.low[5, 0] > tree.high[5, 0]
    assert tree.has_missing[:, 0].tolist() == [True, True, False, True, False, True, False]
    assert tree.levels[:, 0].tolist() == [0] * 7
    assert tree.levels[:, 1].tolist() == [3, 1, 1, 1, 1, 1, 2]


def test_all_arrays_are_read_only(tree: Tree) -> None:
    for name in ("parent", "feature", "threshold", "n", "sums", "low", "has_missing", "listed"):
        assert not getattr(tree, name).flags.writeable, name
    with pytest.raises(ValueError, match="read-only"):
        tree.n[0] = 3


def test_ordered_levels__a_region_is_the_codes_between_two_cuts() -> None:
    levels = ("low", "middle", "high", "highest")
    table = pd.DataFrame(
        {
            "rank": ["low", "low", "low", "high", "high", "highest", "highest"],
            "class": ["p", "p", "p", "q", "q", "r", "r"],
        }
    )
    schema = Schema.of(
        table, quasi_identifying=["rank"], sensitive=["class"], domains={"rank": levels}, ordered=["rank"]
    )
    encoded = encode(table, schema)
    tree = grow(encoded, "entropy", 2)
    allowed = [region(tree, encoded.encodings, leaf)[0].codes for leaf in np.flatnonzero(tree.is_leaf)]
    # "middle" lies between the neighbours low (3 records) and high (4): with the larger child.
    assert allowed == [(0,), (1, 2), (3,)]
    assert np.isnan(tree.threshold).all()
