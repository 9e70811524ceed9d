"""Packed groups under limits: what they keep, that looser limits never lose more, and that releases are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.releasing import packed as module
from anonymizer.releasing.packed import LADDERS, as_one_region, rungs_of
from anonymizer.settings import Limits, Settings
from tests import naive_pack
from tests.groups.test_refine import random_table
from tests.naive_refine import persons
from tests.releasing.test_pack import members
from tests.sweeps import few

SOME: tuple[dict[str, Any], ...] = (
    {"l": 2}, {"l": 3}, {"entropy_l": 1.5}, {"t": 0.3}, {"t": 0.1}, {"l": 2, "t": 0.2}, {"l": 2, "share_max": 0.3},
)  # fmt: skip


def flow_of(seed: int, n: int, **changes: Any) -> Flow:
    """A random table without numeric sensitive values, and the secret of its number."""
    table, schema = random_table(seed, n)
    schema = schema.with_column("cost", role="insensitive")
    return Flow(table, schema, Settings(k=3, **changes), rng=np.random.default_rng(seed))


@settings(max_examples=few(60), deadline=None)
@given(
    st.integers(0, 10**6), st.integers(20, 90), st.sampled_from(SOME), st.sampled_from(["pack", "polish"]),
    st.sampled_from(["least", "error-risk"]),
)  # fmt: skip
def test_groups__keep_every_limit(seed: int, n: int, limits: dict[str, Any], generalizer: str, grouping: str) -> None:
    flow = flow_of(seed, n, generalizer=generalizer, grouping=grouping, **limits)
    if not flow.pruning.satisfied:
        return
    for rows in members(flow.parts.part):
        assert persons(flow.encoded, rows) >= 3
        assert naive_pack.keeps(flow.encoded, flow.limits, rows)
    assert flow.verification.passed


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(LADDERS)), st.sampled_from(["pack", "polish"]))
def test_ladder__a_looser_limit_never_loses_more(seed: int, name: str, generalizer: str) -> None:
    """From one rung to the next, on a table of many classes; values between rungs lose no more than the next one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 120))
    table = pd.DataFrame({
        "age": rng.integers(18, 80, n), "job": rng.choice(list("abcdefg"), n), "town": rng.choice(list("xyz"), n),
        "ill": rng.choice(list("pqrstu"), n, p=rng.dirichlet(np.ones(6))),
    })  # fmt: skip
    schema = an.Schema.of(table, quasi_identifying=["age", "job", "town"], sensitive=["ill"])
    first = Flow(table, schema, Settings(k=3, generalizer=generalizer), rng=np.random.default_rng(seed))
    flows = [first.but(**{name: rung}) for rung in LADDERS[name]]
    losses = [flow.utility.gcp for flow in flows if flow.pruning.satisfied]
    assert losses == pytest.approx(sorted(losses), abs=1e-9)
    if len(losses) > 5:
        between = first.but(**{name: 9 if name == "l" else (LADDERS[name][4] + LADDERS[name][5]) / 2})
        assert between.utility.gcp <= losses[5] + 1e-9


@settings(max_examples=few(30), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SOME))
def test_groups__depend_on_the_records_and_the_secret_only(seed: int, limits: dict[str, Any]) -> None:
    flow = flow_of(seed, 60, generalizer="pack", **limits)
    if not flow.pruning.satisfied:
        return
    order = np.random.default_rng(seed).permutation(60)
    moved = Flow(
        flow.table.iloc[order].reset_index(drop=True), flow.schema, flow.settings, rng=np.random.default_rng(seed)
    )
    again = [sorted(order[rows].tolist()) for rows in members(moved.parts.part)]
    assert sorted(again) == members(flow.parts.part)


def test_rungs__are_the_limits_and_all_stricter_steps_together() -> None:
    assert rungs_of(Limits(k=5)) == [Limits(k=5)]
    assert [rung.t for rung in rungs_of(Limits(t=0.2))] == [0.2, 0.15, 0.1, 0.05]
    assert [rung.t for rung in rungs_of(Limits(t=0.17))] == [0.17, 0.15, 0.1, 0.05]
    assert [rung.l for rung in rungs_of(Limits(l=15))] == [15, 20, 30, 50]
    both = rungs_of(Limits(l=30, t=0.15, rsd_min=0.2))
    assert [(rung.l, rung.t, rung.rsd_min) for rung in both] == [(30, 0.15, 0.2), (50, 0.1, 0.2), (50, 0.05, 0.2)]
    for ladder in LADDERS.values():
        assert len(set(np.sign(np.diff(ladder)))) == 1


def test_tables__that_are_large_stay_in_the_regions_of_their_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flow_of(4, 400, generalizer="pack", grouping="error-risk", l=2)
    region = flow.pruning.group_of_node()[flow.leaf]
    assert len(set(region)) > 2
    assert any(len(set(region[rows])) > 1 for rows in members(flow.parts.part))
    monkeypatch.setattr(module, "MOST", 399)
    assert not as_one_region(flow.limits, 400)
    parts = members(flow_of(4, 400, generalizer="pack", grouping="error-risk", l=2).parts.part)
    assert all(len(set(region[rows])) == 1 for rows in parts)
    assert all(naive_pack.keeps(flow.encoded, flow.limits, rows) for rows in parts)


def test_large_tables__are_not_packed_for_stricter_rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Limits] = []
    wants_of = module.wants_of

    def count(*of: Any) -> Any:
        calls.append(of[2])
        return wants_of(*of)

    monkeypatch.setattr(module, "wants_of", count)
    flow_of(4, 200, generalizer="pack", t=0.3).compute("parts")
    assert [limits.t for limits in calls] == [0.3, 0.2, 0.15, 0.1, 0.05]
    calls.clear()
    monkeypatch.setattr(module, "MANY", 199)
    flow_of(4, 200, generalizer="pack", t=0.3).compute("parts")
    assert [limits.t for limits in calls] == [0.3]


def test_adult__has_many_groups_where_they_exist(data: Callable[[str], Path]) -> None:
    """Under t = .05 there were 8 groups, of nearly all detail; under l = 2 a third of the loss was regions'."""
    table = an.read_table(data("adult_complete.csv.gz")).frame.head(2000)
    columns = [name for name in table.columns if name not in ("income", "education")]
    schema = an.Schema.of(table, quasi_identifying=columns, sensitive=["income"])
    flow = Flow(table, schema, Settings(k=10, generalizer="pack", t=0.05), rng=np.random.default_rng(1))
    assert flow.parts.n_parts > 50
    assert flow.utility.gcp < 0.5
    assert flow.verification.passed
