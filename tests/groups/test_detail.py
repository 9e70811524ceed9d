"""Trees of detail: the cuts of packing, drawn; against the line that packing lays, and against cuts by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.flow import Flow
from anonymizer.groups.detail import Order, grow_detail
from anonymizer.groups.hulls import scale_of
from anonymizer.groups.prune import ROOM, fewest, prune
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import EncodedTable, encode, rows_of
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree, goes_left
from anonymizer.releasing.pack import Lines
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.groups.test_refine import random_table
from tests.sweeps import few


def grown(seed: int, n: int, **how: int) -> tuple[EncodedTable, Secret, Tree, np.ndarray, Order]:
    """The tree of a random table under the secret of its number."""
    encoded = encode(*random_table(seed, n))
    secret = Secret.of(encoded.encodings, np.random.default_rng(seed))
    return encoded, secret, *grow_detail(encoded, secret, **how)


def loss_of(encoded: EncodedTable, weight: np.ndarray, rows: np.ndarray) -> float:
    """What the hull of some records loses, column by column from its definition."""
    scale, total = scale_of(encoded.encodings, weight), 0.0
    for j, encoding in enumerate(encoded.encodings):
        codes = encoded.codes.columns[j][rows].astype(int)
        if not scale.interval[j]:
            levels = len(set(codes.tolist()))
            total += weight[j] * levels / encoding.n_codes if levels > 1 else 0.0
            continue
        present = codes[codes < len(encoding.labels)]
        if len(present):
            at = scale.offset[j]
            width = scale.high[at + present.max()] - scale.low[at + present.min()]
            share = scale.missing_share[j] if len(present) < len(codes) else 0.0
            total += weight[j] * ((1 - share) * width + share)
    return total


def sides_of(encoded: EncodedTable, j: int, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every cut of some records by a column: in its order, or levels by falling frequency."""
    codes, cuts = encoded.codes.columns[j][rows].astype(int), []
    counts = np.bincount(codes)
    ranked = np.flatnonzero(counts)
    if not encoded.encodings[j].by_order:
        ranked = sorted(ranked.tolist(), key=lambda code: (-counts[code], code))
    for end in range(1, len(ranked)):
        left = np.isin(codes, ranked[:end])
        cuts.append((rows[left], rows[~left]))
    return cuts


@settings(max_examples=few(40, 8), deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 60))
def test_every_cut__is_that_of_least_loss(seed: int, n: int) -> None:
    encoded, secret, tree, leaf, _ = grown(seed, n, min_leaf=1)
    for node in np.flatnonzero(tree.feature >= 0):
        rows = np.flatnonzero((leaf >= node) & (leaf < node + tree.size[node]))
        own = goes_left(tree, encoded.encodings[tree.feature[node]], int(node))
        left = own[encoded.codes.columns[tree.feature[node]][rows]]
        lost = sum(len(side) * loss_of(encoded, secret.weight, side) for side in (rows[left], rows[~left]))
        every = [
            sum(len(side) * loss_of(encoded, secret.weight, side) for side in sides)
            for j in range(len(encoded.encodings))
            for sides in sides_of(encoded, j, rows)
        ]
        assert lost <= min(every) + 1e-6 * n


@settings(max_examples=few(40, 8), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 200), st.integers(2, 40))
def test_line__is_the_one_that_packing_lays_of_the_whole_table(seed: int, n: int, sample: int) -> None:
    encoded = encode(*random_table(seed, n))
    secret = Secret.of(encoded.encodings, np.random.default_rng(seed))
    for how in ({}, {"sample": sample}):
        line = grow_detail(encoded, secret, **how)[2]
        assert sorted(line.order.tolist()) == list(range(n))
        codes = encoded.codes.matrix()[line.order]
        changes = (np.diff(codes.astype(int), axis=0) != 0).any(axis=1)
        assert np.array_equal(changes, np.diff(line.leaf_start) != 0), "leaves are records that are equal"
        if not how:
            laid = Lines(encoded, secret).line(np.zeros(n, np.int64))
            assert np.array_equal(laid.order, line.order)
            assert np.array_equal(laid.leaf_start, line.leaf_start)


@settings(max_examples=few(40, 8), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 150), st.integers(1, 9), st.sampled_from([None, 0, 1, 3]))
def test_tree__has_leaves_and_depths_as_it_was_told(seed: int, n: int, min_leaf: int, max_depth: int | None) -> None:
    encoded, _, tree, leaf, line = grown(seed, n, min_leaf=min_leaf, max_depth=max_depth)
    assert np.array_equal(leaf, descend(tree, encoded))
    assert tree.n[tree.is_leaf].min() >= min(min_leaf, n)
    assert max_depth is None or tree.depth.max() <= max_depth
    places = leaf[line.order]
    assert len(np.flatnonzero(np.diff(places))) + 1 == len(set(places.tolist())), "a branch is a run of the line"
    counts = np.bincount(leaf, minlength=tree.n_nodes)
    assert np.array_equal(counts[tree.is_leaf], tree.n[tree.is_leaf])
    assert np.array_equal(tree.sums.sum(axis=1), tree.n) or not encoded.target.name


@settings(max_examples=few(30, 6), deadline=None)
@given(st.integers(0, 10**6), st.integers(20, 150))
def test_groups__follow_from_the_content_and_the_key_alone(seed: int, n: int) -> None:
    """Wherever rows stand, and whatever is sensitive of whom."""
    table, schema = random_table(seed, n)
    rng = np.random.default_rng(seed)
    way, deal = rng.permutation(n), rng.permutation(n)
    sensitive = list(schema.sensitive)
    other = table.assign(**{name: table[name].to_numpy()[deal] for name in sensitive}).iloc[way].reset_index(drop=True)
    flows = [Flow(one, schema, Settings(k=3), key=bytes(32)) for one in (table, other)]
    parts = [flow.parts.part for flow in flows]
    together = [part[:, None] == part for part in (parts[0][way], parts[1])]
    assert np.array_equal(*together)
    assert flows[0].parts.part.tolist() == Flow(table, schema, Settings(k=3), key=bytes(32)).parts.part.tolist()


def test_another_key__makes_another_tree() -> None:
    table, schema = random_table(3, 400)
    cuts = [Flow(table, schema, Settings(k=5), key=bytes([number]) * 32).tree.threshold for number in range(3)]
    assert len({cut.tobytes() for cut in cuts}) == 3


def test_order__of_rows_that_stand_elsewhere_is_the_same_line() -> None:
    encoded, _, _, _, line = grown(5, 90)
    rows = np.random.default_rng(0).permutation(90)
    moved = line.take(rows)
    assert np.array_equal(encoded.codes.matrix()[line.order], rows_of(encoded, rows).codes.matrix()[moved.order])
    assert np.array_equal(line.leaf_start, moved.leaf_start)
    for start in np.unique(moved.leaf_start):
        assert (np.diff(moved.order[moved.leaf_start == start]) > 0).all()


@pytest.mark.parametrize("generalizer", ["pack", "polish"])
def test_groups__lie_inside_the_regions_that_are_drawn(generalizer: str) -> None:
    flow = Flow(*random_table(8, 600), Settings(k=4, generalizer=generalizer), rng=np.random.default_rng(0))
    region = flow.pruning.group_of_node()[flow.leaf]
    assert flow.grouping == "regions"
    assert len(set(region.tolist())) > 5
    assert np.bincount(region).max() >= ROOM * 4
    assert flow.tree.n[flow.pruning.cut()].min() >= ROOM * 4
    sizes = np.bincount(flow.parts.part)
    assert sizes.min() >= 4
    for part in range(len(sizes)):
        assert len(set(region[flow.parts.part == part].tolist())) == 1


def test_regions__have_room_for_four_groups_where_the_table_has() -> None:
    assert [fewest("regions", 10, persons) for persons in (5, 10, 25, 40, 400)] == [10, 10, 25, 40, 40]
    assert fewest("least", 10, 400) == fewest("error-risk", 10, 400) == 10
    encoded, _, tree, _, _ = grown(2, 300)
    pruning = prune(tree, annotate(tree, encoded), "regions", 7)
    assert (pruning.k, pruning.satisfied) == (7, True)
    assert tree.n[pruning.cut()].min() >= 28
    same = prune(tree, annotate(tree, encoded), "least", 28)
    assert pruning.cut().tolist() == same.cut().tolist()
    small = prune(tree, annotate(tree, encoded), "regions", 301)
    assert not small.satisfied


def test_persons__are_counted_in_regions_and_stay_whole_in_figures() -> None:
    table, schema = random_table(4, 300)
    table = table.assign(who=np.arange(300) // 3)
    roles = {"quasi_identifying": list(schema.quasi_identifying), "sensitive": ["ill"], "person": "who"}
    flow = Flow(table, Schema.of(table, **roles), Settings(k=5), rng=np.random.default_rng(1))
    assert flow.tree.persons.n[0] == 100
    assert flow.tree.persons.n[flow.pruning.cut()].min() >= 20
    assert flow.verification.passed


def test_figures__of_every_node_are_those_of_its_records() -> None:
    table = pd.DataFrame({"age": [20, 21, 30, 31, 60, 61], "sex": list("ffmmfm"), "ill": list("abaabb")})
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=2), rng=np.random.default_rng(0))
    for node in range(flow.tree.n_nodes):
        rows = np.flatnonzero((flow.leaf >= node) & (flow.leaf < node + flow.tree.size[node]))
        counts = table["ill"].iloc[rows].value_counts()
        assert flow.tree.n[node] == len(rows)
        assert flow.risk.error[node] == len(rows) - counts.max()
        assert sorted(flow.tree.sums[node][flow.tree.sums[node] > 0].tolist()) == sorted(counts.tolist())
