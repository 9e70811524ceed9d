"""Growing on larger tables: wide columns, many classes, every way of dividing, against the naive tree."""

import dataclasses
import importlib
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import ParameterError
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow, grow_from, tree_of
from anonymizer.growing.records import InMemory
from anonymizer.growing.target import entropy
from anonymizer.growing.tree import Tree
from anonymizer.kernels import splits
from anonymizer.schema import Schema
from tests import naive
from tests.cases import describe

records_module = importlib.import_module("anonymizer.growing.records")


def table_of(columns: dict[str, Any], classes: Any, **rest: Any) -> tuple[pd.DataFrame, Schema]:
    table = pd.DataFrame(columns)
    table["class"] = [f"k{int(code):02}" for code in classes]
    return table, Schema.of(table, quasi_identifying=list(columns), sensitive=["class"], **rest)


def letters(codes: Any, n_letters: int = 26) -> list[str]:
    return [chr(ord("a") + int(code)) for code in np.asarray(codes) % n_letters]


def check_against_naive(table: pd.DataFrame, schema: Schema, **rules: Any) -> Tree:
    """The grown tree, after every field of it was compared with the naive one's."""
    encoded = encode(table, schema)
    tree = grow(encoded, **rules)
    target = encoded.target
    slow = naive.grow(naive.attributes_of(table, schema), target.codes.tolist(), target.n_classes, **rules)
    ours = describe(tree, encoded)
    assert len(ours) == len(slow)
    for mine, theirs in zip(ours, slow, strict=True):
        theirs.pop("gain", None)
        assert mine == theirs
    return tree


def assert_same_tree(one: Tree, other: Tree) -> None:
    for part, twin in ((one, other), (one.persons, other.persons)):
        for field in dataclasses.fields(part):
            if field.name != "persons":
                np.testing.assert_array_equal(getattr(part, field.name), getattr(twin, field.name), err_msg=field.name)


# Wide columns: histograms of their own, bitmaps, 32-bit cells.


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("c", [1, 2, 3, 20])
def test_narrow_columns__pooled_histograms(criterion: str, c: int) -> None:
    rng = np.random.default_rng(10 + c)
    n = 700
    x, y, z = rng.integers(0, 40, n), rng.integers(0, 7, n), rng.integers(0, 6, n)
    classes = (x // 8 + y * (z > 2) + rng.integers(0, 3, n)) % c
    table, schema = table_of({"x": x, "y": letters(y), "z": letters(z)}, classes, ordered=["z"])
    tree = check_against_naive(table, schema, criterion=criterion, min_leaf=3)
    assert tree.n_nodes == 1 if c == 1 else tree.n_nodes > 50


@pytest.mark.sweep(1)
@pytest.mark.parametrize(("n", "values", "c"), [(1200, 100_000, 3), (1200, 900, 20), (3600, 10_000_000, 20)])
def test_wide_numeric_columns(n: int, values: int, c: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, values, n), rng.integers(0, 50, n) / 8
    classes = ((c * x) // values + (y > 3) * 2 + (rng.random(n) < 0.2)).astype(int) % c
    table, schema = table_of({"x": x, "y": np.where(rng.random(n) < 0.1, np.nan, y)}, classes)
    encoded = encode(table, schema)
    assert InMemory(encoded).packed.dtype == (np.uint32 if n > 3000 else np.uint16)
    tree = check_against_naive(table, schema, criterion="entropy", min_leaf=20)
    assert tree.n_nodes > 10


@pytest.mark.sweep(0)
def test_wide_categorical_columns__thousands_of_levels() -> None:
    rng = np.random.default_rng(3)
    n = 6000
    level, x = np.arange(n) % 4200, rng.integers(0, 9, n)
    classes = ((level % 7 < 3) ^ (x > 4) ^ (rng.random(n) < 0.1)).astype(int)
    table, schema = table_of({"level": [f"v{code:05}" for code in level], "x": x}, classes)
    tree = check_against_naive(table, schema, criterion="gini", min_leaf=400)
    assert set(tree.feature.tolist()) == {-1, 0, 1}
    assert len(tree.listed) > 1000


def test_missing_is_a_side_of_its_own_where_it_tells_the_class() -> None:
    x = np.array([1.0, 2, 3, 4, np.nan, np.nan, np.nan])
    table, schema = table_of({"x": x}, np.isnan(x))
    tree = check_against_naive(table, schema, criterion="entropy", min_leaf=1)
    assert tree.n_nodes == 3
    assert tree.threshold[0] == np.inf
    assert tree.n.tolist() == [7, 4, 3]
    assert tree.low[2, 0] > tree.high[2, 0]
    assert tree.has_missing[:, 0].tolist() == [True, False, True]


# Categories of many classes.


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("exhaustive_max", [0, 4, 8])
def test_many_classes__exhaustive_or_by_principal_component(criterion: str, exhaustive_max: int) -> None:
    rng = np.random.default_rng(exhaustive_max)
    n = 900
    a, b = rng.integers(0, 8, n), rng.integers(0, 12, n)
    favourite = rng.integers(0, 4, (8, 12))
    classes = np.where(rng.random(n) < 0.6, favourite[a, b], rng.integers(0, 4, n))
    table, schema = table_of({"a": letters(a), "b": letters(b)}, classes)
    tree = check_against_naive(table, schema, criterion=criterion, min_leaf=20, exhaustive_max=exhaustive_max)
    assert tree.n_nodes > 10


def test_exhaustive_search_is_at_least_as_good_as_the_principal_component() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        level, classes = rng.integers(0, 7, 150), rng.integers(0, 4, 150)
        encoded = encode(*table_of({"level": letters(level)}, classes))
        gains = []
        for exhaustive_max in (8, 0):
            tree = grow(encoded, "entropy", 1, 1, exhaustive_max)
            totals = tree.n * entropy(tree.sums)
            gains.append(totals[0] - totals[1:].sum() if tree.n_nodes == 3 else 0)
        assert gains[0] >= gains[1] - 1e-9


def test_two_classes__the_order_of_class_shares_finds_the_best_of_all_subsets() -> None:
    # Breiman et al. 1984: exact for min_leaf = 1. A third class that nobody has forces the exhaustive search.
    rng = np.random.default_rng(1)
    for _ in range(10):
        level, classes = rng.integers(0, 7, 60), rng.integers(0, 2, 60)
        table, schema = table_of({"level": letters(level)}, classes)
        domain = {"class": ("k00", "k01", "k02")}
        _, wider = table_of({"level": letters(level)}, classes, domains=domain)
        trees = [grow(encode(table, each), "gini", 1, 1) for each in (schema, wider)]
        gains = [naive.impurity(tree.sums[0].tolist(), "gini") - sum(
            naive.impurity(tree.sums[child].tolist(), "gini") for child in tree.children(0)
        ) for tree in trees]  # fmt: skip
        assert gains[0] == pytest.approx(gains[1], rel=1e-12)


# Growing in pieces.


def tree_from(source: InMemory, criterion: str, min_leaf: int) -> Tree:
    subtree = grow_from(source, source.encodings, criterion, min_leaf, None, 8)
    return tree_of(subtree, source.encodings, source.encoded.n_records)


def mixed_table(n: int, seed: int, c: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    x, wide = rng.integers(0, 60, n).astype(float), rng.integers(0, 10**6, n)
    level, many = rng.integers(0, 6, n), rng.integers(0, 20, n)
    classes = ((x > 30) + (level % 2) * (many % 3) + (rng.random(n) < 0.3)).astype(int) % c
    x[rng.random(n) < 0.1] = np.nan
    table, schema = table_of(
        {"x": x, "wide": wide, "level": letters(level), "many": letters(many)}, classes, ordered=["many"]
    )
    return encode(table, schema)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("c", [2, 5])
@pytest.mark.parametrize(("small", "workers"), [(1, 10**6), (50, 10**6), (300, 4), (2000, 1)])
def test_pieces__the_divided_top_changes_nothing(criterion: str, c: int, small: int, workers: int) -> None:
    encoded = mixed_table(2500, 7, c)
    whole = grow(encoded, criterion, 2)
    with mock.patch.object(records_module, "SMALL", small), mock.patch.object(records_module, "WORKERS", workers):
        pieces = tree_from(InMemory(encoded), criterion, 2)
    assert whole.n_nodes > 100
    assert_same_tree(pieces, whole)


@pytest.mark.parametrize("max_depth", [0, 1, 2, 5])
def test_pieces__depth_is_limited_everywhere(max_depth: int) -> None:
    encoded = mixed_table(1500, 8, 3)
    whole = grow(encoded, "entropy", 2, max_depth)
    assert whole.depth.max() == max_depth
    with mock.patch.object(records_module, "SMALL", 10), mock.patch.object(records_module, "WORKERS", 10**6):
        assert_same_tree(grow(encoded, "entropy", 2, max_depth), whole)


def test_pieces__a_large_table_is_divided_without_help() -> None:
    encoded = mixed_table(40_000, 9, 3)
    sources = [InMemory(encoded), InMemory(encoded)]
    with mock.patch.object(records_module, "SMALL", 10**9):
        whole = tree_from(sources[0], "entropy", 25)
    assert_same_tree(tree_from(sources[1], "entropy", 25), whole)
    assert len(sources[0].runs) == 1
    assert len(sources[1].runs) > 1
    assert sorted(sources[1].order.tolist()) == list(range(40_000))


# In order.


@pytest.mark.parametrize("min_leaf", [1, 2, 7])
@pytest.mark.parametrize("c", [2, 4])
def test_in_order__a_column_is_asked_until_it_gains_nothing(c: int, min_leaf: int) -> None:
    rng = np.random.default_rng(c)
    columns = {
        "level": letters(rng.integers(0, 5, 90), 5),
        "x": rng.integers(0, 30, 90),
        "flag": letters(rng.integers(0, 2, 90), 2),
    }
    table, schema = table_of(columns, rng.integers(0, c, 90))
    tree = check_against_naive(table, schema, criterion="in-order", min_leaf=min_leaf, max_depth=6)
    assert tree.feature[0] == 0
    assert set(tree.feature) > {0, 1}


def test_in_order__numbers_by_squared_error() -> None:
    table = pd.DataFrame({"late": [1, 2, 3, 4] * 5, "early": [1, 1, 2, 2] * 5, "y": [0.0, 1.0, 5.0, 6.0] * 5})
    for names, first in ((["late", "early"], "late"), (["early", "late"], "early")):
        encoded = encode(table, Schema.of(table[[*names, "y"]], quasi_identifying=names, sensitive=["y"]))
        tree = grow(encoded, "in-order")
        assert encoded.names[tree.feature[0]] == first
        assert sorted(set(tree.feature.tolist())) == ([-1, 0] if first == "late" else [-1, 0, 1])
        assert tree.n[tree.is_leaf].tolist() == [5, 5, 5, 5]


# Splits.


def test_min_leaf_and_depth_by_hand() -> None:
    table, schema = table_of({"x": [1, 2, 3, 4, 5, 6]}, [0, 1, 1, 1, 1, 1])
    for min_leaf, sizes in ((1, [6, 1, 5]), (2, [6, 2, 4]), (3, [6, 3, 3]), (4, [6])):
        assert check_against_naive(table, schema, min_leaf=min_leaf, max_depth=1).n.tolist() == sizes
    assert check_against_naive(table, schema, min_leaf=1, max_depth=0).n.tolist() == [6]


def test_ties__the_first_column_then_the_lowest_threshold() -> None:
    table, schema = table_of({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}, [0, 1, 1, 0])
    tree = check_against_naive(table, schema, min_leaf=1)
    assert tree.feature[0] == 0
    assert tree.threshold[0] == 1.5


def test_ties__in_a_large_table_with_few_of_a_class() -> None:
    # Two equal halves gain nothing, whatever the rounding of sums as large as n log n says.
    for n in (20_000, 35_838, 75_432):
        half = np.arange(n) % 2
        encoded = encode(*table_of({"x": half}, np.isin(np.arange(n), [0, 1])))
        assert grow(encoded, "entropy", 1).n_nodes == 1, n


def test_thresholds__lie_between_neighbours_even_when_nothing_lies_between_them() -> None:
    low = 0.3
    high = np.nextafter(low, 1)
    table, schema = table_of({"x": [low, high, low, high]}, [0, 1, 0, 1])
    tree = check_against_naive(table, schema, min_leaf=1)
    assert tree.n.tolist() == [4, 2, 2]
    assert low <= tree.threshold[0] < high


def test_levels_that_a_node_does_not_hold_go_to_the_larger_child() -> None:
    for classes, left in (([0, 0, 1], ["a", "z"]), ([0, 1, 1], ["a"]), ([0, 1], ["a", "z"])):
        levels = letters(classes)
        table, schema = table_of({"level": levels}, classes, domains={"level": ("a", "b", "z")})
        tree = check_against_naive(table, schema, min_leaf=1)
        assert describe(tree, encode(table, schema))[0]["left_categories"] == left


def test_a_constant_column_is_never_split() -> None:
    table, schema = table_of({"x": [1, 1, 1, 1], "level": ["a"] * 4}, [0, 1, 0, 1])
    assert check_against_naive(table, schema, min_leaf=1).n_nodes == 1


def test_one_record() -> None:
    table, schema = table_of({"x": [1], "level": ["a"]}, [0])
    tree = check_against_naive(table, schema, min_leaf=1)
    assert tree.n_nodes == 1
    assert tree.low.tolist() == tree.high.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "rules",
    [
        {"criterion": "chi2"},
        {"min_leaf": 0},
        {"max_depth": -1},
        {"exhaustive_max": -1},
        {"exhaustive_max": 17},
    ],
)
def test_parameters_out_of_range_are_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        grow(encode(*table_of({"x": [1, 2]}, [0, 1])), **rules)
    assert caught.value.remedy


def test_kernels__best_cut_is_the_first_of_the_best() -> None:
    rng = np.random.default_rng(2)
    table = np.arange(64.0)
    table[1:] *= np.log2(table[1:])
    for _ in range(50):
        hist = rng.integers(0, 4, (6, 3))
        hist = hist[hist.sum(axis=1) > 0]
        total = hist.sum(axis=0)
        n = int(total.sum())
        present = np.arange(len(hist))
        for min_leaf in (1, 4):
            best = []
            for position in range(1, len(hist)):
                left = hist[:position].sum(axis=0)
                if min_leaf <= left.sum() <= n - min_leaf:
                    parts = naive.impurity(left.tolist(), "entropy") + naive.impurity(
                        (total - left).tolist(), "entropy"
                    )
                    best.append((-parts, position))
            score, where = splits.best_cut(
                hist.ravel(), present, len(hist), total, n, min_leaf, splits.ENTROPY, table,
                np.zeros(3, np.int64), np.zeros(3, np.int64), 1e-12, -1e9, present, np.zeros(0, np.int16),
            )  # fmt: skip
            if not best:
                assert where == 0
                continue
            assert score == pytest.approx(max(best)[0], abs=1e-9)
            assert where == min(position for parts, position in best if parts > max(best)[0] - 1e-12)
