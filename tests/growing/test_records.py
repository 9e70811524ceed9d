"""Where records live: histograms and division of runs, hulls, and sending records down a tree."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import division_of, grow
from anonymizer.growing.records import InMemory, descend
from anonymizer.growing.subtree import Node, Split
from anonymizer.growing.threads import in_threads
from anonymizer.schema import Schema

ABSENT = 2


def make_table(n: int, seed: int = 0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 30, n).astype(float)
    level = rng.integers(0, 5, n)
    table = pd.DataFrame({"x": x, "level": [f"v{code}" for code in level], "class": (x > 10).astype(int) + level % 2})
    table.loc[rng.random(n) < 0.1, "x"] = np.nan
    return encode(table, Schema.of(table, quasi_identifying=["x", "level"], sensitive=["class"], kinds={
        "class": "categorical"
    }))  # fmt: skip


def rows_of(source: InMemory, node: Node) -> np.ndarray:
    start, end = source.runs[node.key]
    return source.order[start:end]


def test_histograms__count_codes_and_classes_of_the_nodes_records() -> None:
    encoded = make_table(500)
    source = InMemory(encoded)
    root = source.root()
    assert root.n == 500
    assert root.sums.tolist() == np.bincount(encoded.target.codes, minlength=3).tolist()
    for j, histogram in enumerate(source.divide([], [root])[0]):
        expected = np.zeros((encoded.encodings[j].n_codes, 3), int)
        np.add.at(expected, (encoded.codes.columns[j], encoded.target.codes), 1)
        assert histogram is not None
        assert histogram.reshape(-1, 3).tolist() == expected.tolist()


def test_histograms__settled_columns_are_left_out() -> None:
    source = InMemory(make_table(50))
    node = source.root()._replace(active=np.array([0, 1], dtype=np.uint8))
    (histograms,) = source.divide([], [node])
    assert histograms[0] is None
    assert histograms[1] is not None


@pytest.mark.parametrize("by_order", [True, False])
def test_divide__each_side_holds_its_records_and_sums_add_up(by_order: bool) -> None:
    encoded = make_table(800, 1)
    source = InMemory(encoded)
    root = source.root()
    if by_order:
        split = Split(0, 12, 13, np.full(encoded.encodings[0].n_codes, ABSENT, dtype=np.uint8))
        expected = encoded.codes.columns[0] <= 12
    else:
        split = Split(1, -1, -1, np.array([1, 0, 0, 1, 0], dtype=np.uint8))
        expected = np.isin(encoded.codes.columns[1], [0, 3])
    division = division_of(root, split, root.active, source.divide([], [root])[0], 0, 1)
    source.divide([division], [])
    left, right = division.left, division.right
    assert set(rows_of(source, left).tolist()) == set(np.flatnonzero(expected).tolist())
    assert set(rows_of(source, right).tolist()) == set(np.flatnonzero(~expected).tolist())
    assert (left.sums + right.sums).tolist() == root.sums.tolist()
    assert left.n + right.n == root.n
    assert left.depth == right.depth == 1
    for node in (left, right):
        start, end = source.runs[node.key]
        for j in range(2):
            packed = source.packed[j, start:end].astype(int)
            assert (packed // 3 == encoded.codes.matrix()[rows_of(source, node), j]).all()
            assert (packed % 3 == encoded.target.codes[rows_of(source, node)]).all()


def test_in_memory__leaves_the_encoded_table_alone() -> None:
    encoded = make_table(300, 2)
    codes, classes = encoded.codes.matrix().copy(), encoded.target.codes.copy()
    grow(encoded)
    assert (encoded.codes.matrix() == codes).all()
    assert (encoded.target.codes == classes).all()


def test_descend__records_that_the_tree_was_not_grown_on() -> None:
    everything = make_table(600, 3)
    target = everything.target
    half = EncodedTable(everything.codes.take(slice(None, 40)), everything.encodings, type(target)(
        target.name, target.labels, target.codes[:40]
    ))  # fmt: skip
    tree = grow(half, "gini", 1)
    leaf = descend(tree, everything)
    assert tree.is_leaf[leaf].all()
    assert np.bincount(leaf[:40], minlength=tree.n_nodes)[tree.is_leaf].tolist() == tree.n[tree.is_leaf].tolist()
    for record in range(600):
        node = 0
        while tree.feature[node] >= 0:
            code = everything.codes.columns[tree.feature[node]][record]
            left, right = tree.children(node)
            if tree.cut[node] >= 0:
                node = left if code < tree.cut[node] else right
            else:
                node = left if (code in tree.listed_codes(node)) == tree.listed_left[node] else right
        assert leaf[record] == node


def test_descend__many_records_in_parts_agree_with_few() -> None:
    encoded = make_table(50_001, 4)
    tree = grow(encoded, min_leaf=50)
    leaf = descend(tree, encoded)
    assert np.bincount(leaf, minlength=tree.n_nodes)[tree.is_leaf].tolist() == tree.n[tree.is_leaf].tolist()
    tail = EncodedTable(encoded.codes.take(slice(-100, None)), encoded.encodings, encoded.target)
    assert descend(tree, tail).tolist() == leaf[-100:].tolist()
    nobody = EncodedTable(encoded.codes.take(slice(None, 0)), encoded.encodings, encoded.target)
    assert descend(tree, nobody).tolist() == []


def test_in_threads__within_its_own_threads_works_in_place() -> None:
    """Every thread that waits for a thread that is waiting, too, was the end of tables in two or more pieces."""

    def outer(item: int) -> list[int]:
        return list(in_threads(lambda inner: 10 * item + inner, range(3)))

    assert list(in_threads(outer, range(4))) == [[10 * item + inner for inner in range(3)] for item in range(4)]


def test_in_threads__keeps_the_order_and_passes_errors_on() -> None:
    assert list(in_threads(lambda item: item * 2, range(20))) == list(range(0, 40, 2))
    assert list(in_threads(lambda item: item, [])) == []

    def fails(item: int) -> int:
        if item == 7:
            raise KeyError(item)
        return item

    with pytest.raises(KeyError):
        list(in_threads(fails, range(20)))
