"""Packed groups against their slow twins, against every division of short lines, and against every limit by hand."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.groups.digression import covariance_test
from anonymizer.groups.hulls import scale_of
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import EncodedTable, encode, rows_of
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.releasing.pack import SAMPLE, Line, Lines, lay_line, pack_line, runs, wants_of
from anonymizer.releasing.packed import pack
from anonymizer.releasing.tiers import Groups
from anonymizer.settings import Limits
from tests import naive_pack
from tests.groups.test_refine import encoded_table, random_table
from tests.naive_refine import persons
from tests.sweeps import few

cases = st.tuples(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6))
LIMITS = (Limits(l=2), Limits(t=0.3), Limits(rsd_min=0.2, spread_min=0.3), Limits(entropy_l=1.5), Limits(l=2, t=0.4),
          Limits(share_max=0.4), Limits(share_max=0.25, l=2))  # fmt: skip


def secret_line(encoded: EncodedTable, seed: int, sample: int = SAMPLE, regions: int = 1) -> tuple[Line, np.ndarray]:
    """A line with weights and a first order that the twin can be told, and the first order."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, len(encoded.encodings))
    order = rng.permutation(encoded.n_records)
    region = rng.integers(0, regions, encoded.n_records)
    line = lay_line(encoded, region, order, scale_of(encoded.encodings, weight), sample)
    return line, order[np.argsort(region[order], kind="stable")]


def leaves_of(line: Line, region: int) -> list[list[int]]:
    starts, ends = runs(line.leaf_start)
    inside = (starts >= line.starts[region]) & (ends <= line.ends[region])
    return [line.order[start:end].tolist() for start, end in zip(starts[inside], ends[inside], strict=True)]


def members(group: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(group == number).tolist() for number in np.unique(group))


@settings(max_examples=few(40), deadline=None)
@given(cases, st.sampled_from([3, 5, SAMPLE]))
def test_line__agrees_with_its_slow_twin(case: tuple[int, int, int], sample: int) -> None:
    encoded = encoded_table(case[0], case[1])
    line, order = secret_line(encoded, case[2], sample, regions=2)
    assert sorted(line.order.tolist()) == list(range(encoded.n_records))
    np.testing.assert_array_equal(line.codes.T, encoded.codes.matrix()[line.order])
    for region, (start, end) in enumerate(zip(line.starts, line.ends, strict=True)):
        slow = naive_pack.slow_line(encoded, order[start:end].tolist(), line.scale.weight.tolist(), sample)
        assert leaves_of(line, region) == slow
        assert all(len(np.unique(encoded.codes.matrix()[leaf], axis=0)) == 1 for leaf in slow)


@settings(max_examples=few(40), deadline=None)
@given(cases)
def test_packed__agrees_with_its_slow_twin(case: tuple[int, int, int]) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n)
    line, _ = secret_line(encoded, seed, regions=2)
    weight = line.scale.weight.tolist()
    slow = [
        group
        for region in range(len(line.starts))
        for group in naive_pack.slow_groups(encoded, leaves_of(line, region), k, weight)
    ]
    assert members(pack_line(line, k)) == sorted(map(sorted, slow))


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 11), st.integers(1, 5))
def test_packed__loses_least_of_all_divisions_of_a_line(seed: int, n: int, k: int) -> None:
    encoded = encoded_table(seed, n)
    line, _ = secret_line(encoded, seed)
    weight = line.scale.weight.tolist()
    loss = naive_pack.loss_of(encoded, members(pack_line(line, k)), weight)
    assert loss == pytest.approx(naive_pack.least_lost(encoded, leaves_of(line, 0), k, weight), abs=1e-7)


@settings(max_examples=few(40), deadline=None)
@given(cases, st.sampled_from(LIMITS))
def test_packed__keeps_every_limit_as_its_slow_twin_does(case: tuple[int, int, int], limits: Limits) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n)
    limits = limits.but(k=k)
    line, _ = secret_line(encoded, seed)
    weight = line.scale.weight.tolist()
    judge = partial(naive_pack.keeps, encoded, limits)
    groups = members(pack_line(line, k, wants_of(line, encoded, limits)))
    assert groups == sorted(map(sorted, naive_pack.slow_groups(encoded, leaves_of(line, 0), k, weight, judge)))
    assert len(groups) == 1 or all(persons(encoded, group) >= k and judge(group) for group in groups)


@settings(max_examples=few(40), deadline=None)
@given(cases, st.sampled_from(LIMITS), st.sampled_from(["least", "error-risk"]))
def test_pack__keeps_every_limit_that_its_regions_keep(
    case: tuple[int, int, int], limits: Limits, criterion: str
) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n + 10)
    limits = limits.but(k=k)
    tree = grow(encoded, min_leaf=1)
    pruning = prune(tree, annotate(tree, encoded), criterion, limits=limits, encoded=encoded)
    if pruning.satisfied:
        groups = Groups(tree, encoded, descend(tree, encoded), pruning.group_of_node(), limits)
        parts = members(pack(groups, k, np.random.default_rng(seed)).part)
        assert all(persons(encoded, part) >= k and naive_pack.keeps(encoded, limits, part) for part in parts)


def test_release__passes_the_checker_and_loses_less_than_its_regions() -> None:
    table, schema = random_table(4, 300)
    schema = schema.with_column("cost", role="insensitive")
    packed = an.anonymize(table, schema, k=5, grouping="error-risk", generalizer="pack", l=2)
    whole = an.anonymize(table, schema, k=5, grouping="error-risk", generalizer="uniform", l=2)
    assert packed.verification.passed
    assert packed.report.after.groups > 4 * whole.report.after.groups
    assert packed.utility.gcp < 0.5 * whole.utility.gcp


@settings(max_examples=few(30), deadline=None)
@given(cases)
def test_groups__are_unions_of_neighbouring_leaves_of_one_region(case: tuple[int, int, int]) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n)
    line, _ = secret_line(encoded, seed, regions=3)
    group = pack_line(line, k)[line.order]
    assert set(np.diff(group)) <= {0, 1}
    cuts = np.flatnonzero(np.diff(group)) + 1
    assert set(cuts) <= set(line.leaf_start.tolist())
    for start, end in zip(line.starts, line.ends, strict=True):
        sizes = np.bincount(group[start:end] - group[start])
        assert len(sizes) == 1 or sizes.min() >= k
        assert start == 0 or group[start] > group[start - 1]


@settings(max_examples=few(30), deadline=None)
@given(cases)
def test_groups__depend_on_the_records_and_the_secret_only(case: tuple[int, int, int]) -> None:
    """Whoever comes first in the file, the same secret order of the same people makes the same groups."""
    seed, n, k = case
    encoded = encoded_table(seed, n)
    rng = np.random.default_rng(seed)
    order, moved, region = rng.permutation(n), rng.permutation(n), rng.integers(0, 2, n)
    scale = scale_of(encoded.encodings)
    group = pack_line(lay_line(encoded, region, order, scale), k)
    place = np.argsort(moved)  # record r of the file is record place[r] of the moved file
    again = pack_line(lay_line(rows_of(encoded, moved), region[moved], place[order], scale), k)
    assert members(again[place]) == members(group)


def test_secret__can_be_injected() -> None:
    table, schema = random_table(3, 400)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=5)
    pruning = prune(tree, annotate(tree, encoded), "error-risk", 40)
    leaf = descend(tree, encoded)

    def groups(rng: np.random.Generator) -> list[list[int]]:
        return members(pack(Groups(tree, encoded, leaf, pruning.group_of_node()), 5, rng).part)

    assert groups(np.random.default_rng(1)) == groups(np.random.default_rng(1))
    first, second = groups(np.random.default_rng(1)), groups(np.random.default_rng(2))
    assert len([group for group in first if group in second]) < len(first) / 2


def test_line__does_not_depend_on_k_and_serves_every_k() -> None:
    encoded = encoded_table(7, 300)
    line = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(1))).line(np.zeros(300, np.int64))
    for array in (line.order, line.codes, line.leaf_start):
        with pytest.raises(ValueError, match="read-only"):
            array[..., 0] = 0
    sizes = [np.bincount(pack_line(line, k)) for k in (2, 10, 150, 151, 300, 400)]
    assert [size.min() >= k for size, k in zip(sizes, (2, 10, 150, 151, 300, 300), strict=True)] == [True] * 6
    assert [len(size) for size in sizes[3:]] == [1, 1, 1]


def test_region__that_no_division_satisfies_is_one_group() -> None:
    table, schema = random_table(1, 30)
    table["ill"] = ["x"] * 29 + ["y"]
    encoded = encode(table, schema)
    line = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(0))).line(np.zeros(30, np.int64))
    group = pack_line(line, 3, wants_of(line, encoded, Limits(k=3, l=2)))
    assert set(group) == {0}
    assert len(set(pack_line(line, 3))) > 4


def test_columns__of_one_value_and_of_nothing_but_missing_are_packed() -> None:
    table = pd.DataFrame(
        {"a": [1.0] * 8, "b": [np.nan] * 8, "c": [None] * 8, "d": list("xxyyzzww"), "s": list("uvuvuvuv")}
    )
    schema = an.Schema.of(
        table, quasi_identifying=list("abcd"), sensitive=["s"], kinds={"b": "numeric", "c": "categorical"}
    )
    result = an.anonymize(table, schema, k=2, generalizer="pack")
    assert result.verification.k_anonymous
    assert sorted(str(cell) for cell in result.release.frame()["d"].unique()) == ["w", "x", "y", "z"]


@settings(max_examples=few(30), deadline=None)
@given(cases)
def test_lines__of_regions_asked_for_in_turn_are_those_asked_for_at_once(case: tuple[int, int, int]) -> None:
    seed, n, k = case
    encoded = encoded_table(seed, n)
    fine = np.random.default_rng(seed).integers(2, 6, n)
    coarse = np.where(fine < 4, 0, fine)  # two regions become one, the others stay
    lines = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(seed)))
    for region in (fine, coarse, fine):
        line = lines.line(region)
        whole = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(seed))).line(region)
        for name in ("order", "codes", "starts", "ends", "leaf_start"):
            np.testing.assert_array_equal(getattr(line, name), getattr(whole, name))
        assert members(pack_line(line, k)) == members(pack_line(whole, k))


def test_pack__keeps_the_covariance_test_of_groups() -> None:
    """What sums along a line cannot tell, cuts keep: every released class passes the test at α."""
    table = an.SAMPLES["hospital"].load().head(400)
    schema = an.Schema.of(table, quasi_identifying=["age", "sex", "postcode"], sensitive=["days_of_stay", "cost"])
    encoded = encode(table, schema)
    assert encoded.numeric is not None
    values = encoded.numeric.values

    def lowest(**limits: object) -> float:
        release = an.anonymize(table, schema, grouping="least", generalizer="pack", k=5, **limits).release
        cells = release.frame()[list(schema.quasi_identifying)].astype(str)
        group = np.empty(len(table), np.int64)
        group[release.order] = cells.groupby(list(cells)).ngroup()
        classes = [values, *(values[group == number] for number in np.unique(group))]
        within = np.stack([(len(rows) - 1) * np.cov(rows.T) for rows in classes])
        return float(covariance_test(within, np.array([len(rows) for rows in classes]))[1:].min())

    assert lowest() < 0.05 - 1e-9 <= lowest(significance=0.05, tested="leaves")


def test_lines__of_regions_that_come_again_are_remembered_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded = encoded_table(5, 200)
    lines, laid = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(5))), [0]

    def lay(*of: object) -> Line:
        laid[-1] += 1
        return lay_line(*of)

    monkeypatch.setattr("anonymizer.releasing.pack.lay_line", lay)
    halves, whole = np.arange(200) // 100, np.full(200, 2)
    for room, expected in ((2, [1, 1, 0]), (1, [0, 1, 1])):
        monkeypatch.setattr("anonymizer.releasing.pack.MEMORY", room)
        laid.clear()
        for region in (halves, whole, halves):
            laid.append(0)
            line = lines.line(region)
            fresh = Lines(encoded, Secret.of(encoded.encodings, np.random.default_rng(5))).line(region)
            laid[-1] -= 1
            assert np.array_equal(line.order, fresh.order)
            assert np.array_equal(line.leaf_start, fresh.leaf_start)
        assert laid == expected


def test_secret_numbers__follow_from_the_values_alone_and_of_another_secret_are_others() -> None:
    encoded = encoded_table(4, 300)
    secret, other = (Secret.of(encoded.encodings, np.random.default_rng(seed)) for seed in (4, 5))
    whole = secret.numbers(encoded.codes.columns, 300)
    rows = np.random.default_rng(1).permutation(300)[:100]
    part = rows_of(encoded, rows)
    assert secret.numbers(part.codes.columns, 100).tolist() == whole[rows].tolist()
    distinct, first = np.unique(encoded.codes.matrix(), axis=0, return_index=True)
    assert len(set(whole.tolist())) == len(distinct) > 100
    assert not set(other.numbers(encoded.codes.columns, 300).tolist()) & set(whole.tolist())
    ranks = np.argsort(np.argsort(whole[first]))
    assert abs(np.corrcoef(ranks, np.arange(len(first)))[0, 1]) < 0.2


def test_the_secret_weights__are_of_the_secret_and_move_groups() -> None:
    """Who knows the table and all but the weights of the columns cannot lay the line again."""
    encoded = encoded_table(11, 240)
    one, other = (Secret.of(encoded.encodings, np.random.default_rng(seed)) for seed in (1, 2))
    assert not np.allclose(one.weight, other.weight)
    assert not np.allclose(one.weight, 1.0)
    region = np.zeros(encoded.n_records, np.int64)
    lines = [Lines(encoded, Secret(weight, one.digests)).line(region) for weight in (one.weight, other.weight)]
    plain = Lines(encoded, Secret(np.ones(len(encoded.encodings)), one.digests)).line(region)
    assert not np.array_equal(lines[0].order, lines[1].order)
    assert not np.array_equal(lines[0].order, plain.order)
