"""Cuts below groups against their slow twins, and what a refined pruning still is: a tree with its groups."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.groups.limits import margins
from anonymizer.groups.mondrian import MONDRIAN, grow_mondrian
from anonymizer.groups.prune import prune
from anonymizer.groups.refine import origin_of, refine
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import EncodedTable, encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.measuring.utility import cut_gcp, node_ncp
from anonymizer.schema import Schema
from anonymizer.settings import Limits
from tests.naive_refine import slow_pieces
from tests.sweeps import few


def random_table(seed: int, n: int, target: str = "ill") -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, rng.choice([2, 9, 60]), n).astype(float)
    born = pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, rng.choice([4, 500]), n), unit="D")
    city = rng.choice(list("abcdefghij")[: rng.integers(1, 11)], n, p=None).astype(object)
    grade = rng.choice(["low", "mid", "high"], n).astype(object)
    if rng.random() < 0.5:
        age[rng.random(n) < 0.2] = np.nan
        city[rng.random(n) < 0.2] = None
        grade[rng.random(n) < 0.2] = None
    table = pd.DataFrame({"age": age, "born": born, "city": city, "grade": grade})
    table["ill"] = rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1])
    table["cost"] = rng.gamma(2.0, 50.0, n).round(1) + 40 * (city == "a")
    schema = Schema.of(
        table,
        quasi_identifying=["age", "born", "city", "grade"],
        sensitive=["ill", "cost"],
        target=target,
        ordered=["grade"],
        domains={"grade": ["low", "mid", "high"]},
    )
    return table, schema


def encoded_table(seed: int, n: int, target: str = "ill") -> EncodedTable:
    """A table whose rows are persons, or, for odd seeds, of fewer persons, some of nobody."""
    encoded, rng = encode(*random_table(seed, n, target)), np.random.default_rng(seed)
    person = rng.integers(-1, rng.integers(1, n + 1), n).astype(np.int32)
    return replace(encoded, person=person) if seed % 2 else encoded


cases = st.tuples(st.integers(0, 10**6), st.integers(4, 70), st.integers(1, 6))


def parts(label: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(label == t).tolist() for t in np.unique(label))


@settings(max_examples=few(200))
@given(cases)
def test_refine__agrees_with_its_slow_twin(case):
    seed, n, k = case
    encoded = encoded_table(seed, max(n, k))
    tree = grow(encoded, min_leaf=1)
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 3 * k)
    refined = refine(pruning, encoded, Limits(k=k))
    groups = parts(pruning.group_of_node()[descend(tree, encoded)])
    expected = sorted(piece for group in groups for piece in slow_pieces(encoded, group, k))
    group = refined.group_of_node()[descend(refined.tree, encoded)]
    assert parts(group) == expected
    assert refined.k == k


@settings(max_examples=few(100))
@given(cases)
def test_median_mondrian__agrees_with_its_slow_twin(case):
    seed, n, k = case
    encoded = encoded_table(seed, max(n, k))
    tree = grow_mondrian(encoded, k)
    expected = sorted(slow_pieces(encoded, list(range(encoded.n_records)), k, by_median=True))
    assert parts(descend(tree, encoded)) == expected


@settings(max_examples=few(100))
@given(cases, st.sampled_from([("ill", "entropy"), ("cost", "sse")]))
def test_refined__tree_adds_up_and_keeps_what_was_above(case, grown_for):
    seed, n, k = case
    target, criterion = grown_for
    encoded = encoded_table(seed, n + 2 * k, target)
    tree = grow(encoded, criterion, min_leaf=1)
    pruning = prune(tree, annotate(tree, encoded), "least", 2 * k)
    refined = refine(pruning, encoded, Limits(k=k)).tree
    leaf = descend(refined, encoded)
    for t in range(refined.n_nodes):
        inside = (leaf >= t) & (leaf < t + refined.size[t])
        assert refined.n[t] == inside.sum()
        classes = np.bincount(encoded.target.codes[inside], minlength=encoded.target.n_classes)
        assert refined.sums[t].tolist() == classes.tolist()
        y = encoded.numeric.values[inside, 0]
        np.testing.assert_allclose(refined.moments[t], [len(y), y.sum(), (y**2).sum()], atol=1e-9)
    group = pruning.group_of_node()
    origin = origin_of(tree, group, refined)
    originals = np.flatnonzero(origin >= 0)
    assert origin[originals].tolist() == np.flatnonzero((group < 0) | (group == np.arange(tree.n_nodes))).tolist()
    for name in ("n", "sums", "low", "high", "levels", "has_missing", "depth"):
        np.testing.assert_array_equal(getattr(refined, name)[originals], getattr(tree, name)[origin[originals]])
    inner = originals[group[origin[originals]] < 0]
    for name in ("feature", "threshold", "cut"):
        np.testing.assert_array_equal(getattr(refined, name)[inner], getattr(tree, name)[origin[inner]])
    for t in inner:
        assert refined.listed_codes(t).tolist() == tree.listed_codes(origin[t]).tolist()


LIMITS = (Limits(k=3, l=2), Limits(k=3, t=0.2), Limits(k=2, rsd_min=0.3, spread_min=0.5), Limits(k=3, entropy_l=1.5))


@settings(max_examples=few(100))
@given(cases, st.sampled_from(LIMITS))
def test_refined__groups_satisfy_every_limit(case, limits):
    seed, n, _ = case
    encoded = encoded_table(seed, n + 10)
    tree = grow(encoded, min_leaf=1)
    pruning = prune(tree, annotate(tree, encoded), "least", limits=limits, encoded=encoded)
    refined = refine(pruning, encoded, limits)
    cut = refined.cut()
    risk = annotate(refined.tree, encoded)
    if pruning.satisfied:
        for margin in margins(refined.tree, risk, encoded, limits):
            assert margin.passes[cut].all(), margin.limit
    # Nothing that satisfies the limits was left whole: the two sides of an undone cut cannot both pass.
    passes = np.logical_and.reduce([margin.passes for margin in margins(refined.tree, risk, encoded, limits)])
    for t in cut:
        children = refined.tree.children(int(t))
        assert not children or not passes[list(children)].all()
    before = cut_gcp(tree, node_ncp(tree, encoded.encodings), pruning.cut())
    assert cut_gcp(refined.tree, node_ncp(refined.tree, encoded.encodings), cut) <= before + 1e-12


def test_refine__starts_from_any_moment_of_the_pruning():
    table, schema = random_table(5, 80)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=8)
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 30)
    assert pruning.n_steps > 0
    early = refine(pruning, encoded, Limits(k=4), after=0)
    assert parts(early.group_of_node()[descend(early.tree, encoded)]) == sorted(
        piece for group in parts(descend(tree, encoded)) for piece in slow_pieces(encoded, group, 4)
    )


@pytest.mark.parametrize("method", MONDRIAN)
def test_mondrian__says_what_it_cannot_do(method):
    table, schema = random_table(1, 20)
    encoded = encode(table, schema)
    with pytest.raises(GuaranteeError, match="fewer than k = 21"):
        grow_mondrian(encoded, 21, method)
    with pytest.raises(ParameterError, match="at least 1"):
        grow_mondrian(encoded, 0, method)
    with pytest.raises(ParameterError, match="Choose one of median-mondrian"):
        grow_mondrian(encoded, 2, "mondrian")


@pytest.mark.parametrize("method", MONDRIAN)
def test_mondrian__every_leaf_has_k(method):
    table, schema = random_table(2, 200)
    schema = schema.with_target("cost" if method == "regression-mondrian" else "ill")
    tree = grow_mondrian(encode(table, schema), 7, method)
    assert tree.n[tree.is_leaf].min() >= 7
    assert tree.is_leaf.sum() > 4
