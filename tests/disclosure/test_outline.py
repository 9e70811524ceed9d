"""Laying keys into a tree: every record where descending puts it."""

import numpy as np

from anonymizer.disclosure.outline import keys_of, lay_keys, outline_of, truncate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.schema import Schema
from tests.disclosure.trees import grow_tree, table_of


def test_lay_keys__places_every_record_where_descending_does() -> None:
    table = table_of(1, 200, missing=True)
    schema = Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"])
    encoded = encode(table, schema)
    tree = grow(encoded, "entropy", 3)
    keyed_tree = lay_keys(outline_of(tree, encoded.encodings), keys_of(encoded))
    assert keyed_tree.n.tolist() == tree.n.tolist()
    assert keyed_tree.sums.tolist() == tree.sums.tolist()
    leaf = {
        tuple(row): int(at) for row, at in zip(encoded.codes.matrix().tolist(), descend(tree, encoded), strict=True)
    }
    assert [leaf[tuple(row)] for row in keyed_tree.keys.codes.tolist()] == keyed_tree.leaf_of_key.tolist()
    assert keyed_tree.keys.counts.sum() == len(table)
    assert (keyed_tree.keys.classes.sum(axis=1) == keyed_tree.keys.counts).all()


def test_lay_keys__cut_tree_has_the_groups_of_the_cut() -> None:
    table = table_of(2, 200)
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"]))
    tree = grow(encoded, "gini", 2)
    inner = [int(node) for node in np.flatnonzero(~tree.is_leaf) if tree.depth[node] == 2]
    keyed_tree = lay_keys(outline_of(tree, encoded.encodings, inner), keys_of(encoded))
    assert sorted(keyed_tree.n[keyed_tree.outline.leaves]) == sorted(
        tree.n[node] for node in range(tree.n_nodes) if node in inner or (tree.is_leaf[node] and tree.depth[node] <= 2)
    )


def test_truncate__keeps_what_is_above() -> None:
    tree, _ = grow_tree(3, n=100)
    inner = [int(node) for node in np.flatnonzero(tree.outline.feature >= 0)][1:2]
    outline, origin = truncate(tree.outline, inner)
    again = lay_keys(outline, tree.keys)
    assert again.n.tolist() == tree.n[origin].tolist()
    assert inner[0] in origin[outline.leaves]
