"""The flow: stages are computed once, and shared by all flows that agree on what they depend on."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.flow import DEPENDS, Flow
from anonymizer.pipeline import anonymize, run_flow
from anonymizer.provenance.report import schema_digest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.tiers import Groups, Parts, disjoint
from anonymizer.schema import Role, Schema
from anonymizer.settings import RUN, Settings, setting_names

TABLE = hospital(300)
SCHEMA = Schema.of(TABLE, quasi_identifying=["age", "sex", "postcode"], sensitive=["diagnosis", "days_of_stay"])


def stages(flow: Flow) -> dict[str, object]:
    """Every stage that can be asked for, computed."""
    return {name: getattr(flow, name) for name in DEPENDS}


def test_stages__depend_on_what_a_flow_has() -> None:
    flow = Flow(TABLE, SCHEMA)
    for needs in DEPENDS.values():
        assert all(hasattr(flow, name) or hasattr(flow.settings, name) or hasattr(SCHEMA, name) for name in needs)


OF_TABLE = {
    "encoded", "treated", "ladders", "reached", "grids", "coarse", "original", "about_table", "before", "on_all",
    "seed", "sequence", "keeps", "secret",
}  # fmt: skip
"""Stages that another tree does not change."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("change", "shared"),
    [
        (
            {"k": 20},
            {
                *(OF_TABLE - {"grids"}),
                "growth",
                "tree",
                "leaf",
                "risk",
                "node_ncp",
                "memory",
                "frontier",
                "by_k",
            },
        ),
        (
            {"grouping": "least"},
            {
                *OF_TABLE,
                *("growth", "tree", "leaf", "risk", "node_ncp", "memory", "frontier"),
            },
        ),
        ({"generalizer": "refine"}, set(DEPENDS) - {name for name in DEPENDS if "generalizer" in DEPENDS[name]}),
        (
            {"suppression": 0.1},
            set(DEPENDS) - {name for name in DEPENDS if "suppression" in DEPENDS[name]},
        ),
        ({"numbers": "mean"}, set(DEPENDS) - {name for name in DEPENDS if "numbers" in DEPENDS[name]}),
        (
            {"min_leaf": 9},
            OF_TABLE,
        ),
        ({"marketer_limit": 3}, set(DEPENDS)),
        ({"prosecutor_limit": 3}, set(DEPENDS) - {"judgement", "leaving", "report"}),
        (
            {"grouping": "median-mondrian"},
            OF_TABLE,
        ),
    ],
)
def test_but__shares_what_does_not_depend_on_the_change(change: dict, shared: set) -> None:
    settings = Settings(k=5, generalizer="uniform", numbers="range")
    flow = Flow(TABLE, SCHEMA, settings)
    before = stages(flow)
    other = flow.but(**change)
    assert {name for name in DEPENDS if other.ready(name)} == shared
    assert all(getattr(other, name) is before[name] for name in shared)
    fresh = Flow(TABLE, SCHEMA, settings.but(**change))
    assert np.array_equal(other.pruning.cut(), fresh.pruning.cut())
    assert other.utility.gcp == pytest.approx(fresh.utility.gcp, abs=1e-12)


def test_public_ends__another_k_has_other_bounds_and_the_same_tree() -> None:
    flow = Flow(TABLE, SCHEMA, Settings(k=5, numbers="public"))
    flow.compute("tree", "coarse", "node_ncp", "memory", "by_k")
    other = flow.but(k=20)
    assert [name for name in ("tree", "memory", "by_k", "coarse", "node_ncp") if other.ready(name)] == [
        "tree", "memory", "by_k",
    ]  # fmt: skip
    assert not flow.but(numbers="range").ready("memory")


def test_but__shares_what_is_computed_later() -> None:
    flow = Flow(TABLE, SCHEMA)
    other = flow.but(k=20)
    assert other.tree is flow.tree
    assert flow.but(k=20).pruning is not other.pruning


def test_roles__what_follows_from_them_is_made_again() -> None:
    flow = Flow(TABLE, SCHEMA)
    flow.compute("encoded", "before", "tree")
    other = flow.but(SCHEMA.with_column("days_of_stay", role=Role.INSENSITIVE))
    assert other.ready("before")
    assert not other.ready("encoded")
    assert other.encoded.numeric is None


def test_reasons__change_the_report_and_nothing_else() -> None:
    flow = Flow(TABLE, SCHEMA)
    flow.compute(*DEPENDS)
    columns = tuple(replace(c, own_reason="asked by the board") if c.name == "age" else c for c in SCHEMA.columns)
    other = flow.but(Schema(columns, SCHEMA.target))
    assert {name for name in DEPENDS if not other.ready(name)} == {"report"}
    assert other.report.provenance.schema["age"].why == "asked by the board"
    assert schema_digest(other.report.provenance.schema) == schema_digest(SCHEMA)
    assert "asked by the board" not in other.report.to_recipient_json()


def test_result__is_that_of_anonymize() -> None:
    settings = {"k": 8, "grouping": "error-risk", "generalizer": "refine", "l": 2}
    shares: list[float] = []
    flow = Flow(TABLE, SCHEMA, Settings(**settings), rng=np.random.default_rng(1))
    result = run_flow(flow, lambda share, what: shares.append(share))
    same = anonymize(TABLE, SCHEMA, **settings, rng=np.random.default_rng(1))
    pd.testing.assert_frame_equal(result.release.frame(), same.release.frame())
    assert result.report.provenance.parameters == same.report.provenance.parameters
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_rows__are_a_flow_in_the_same_encoding() -> None:
    flow = Flow(TABLE, SCHEMA)
    some = flow.rows(np.arange(0, 300, 2))
    assert some.encoded.n_records == 150
    assert some.encoded.encodings == flow.encoded.encodings
    assert np.array_equal(some.encoded.codes.matrix(), flow.encoded.codes.matrix()[::2])
    assert some.but(k=4).verification.k_anonymous


def test_a_stage_that_fails__is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = Flow(TABLE, SCHEMA, Settings(l=99))
    for _ in range(2):
        with pytest.raises(GuaranteeError, match="not enough"):
            flow.compute("release")
    assert not flow.ready("release")
    with pytest.raises(GuaranteeError, match="fewer than k = 301"):
        flow.but(k=301, l=None).compute("release")
    with pytest.raises(ParameterError, match="counts"):
        run_flow(flow.but(l=None, generalizer="tiered", writing="weighted"))


def test_threads__compute_a_stage_once() -> None:
    flow = Flow(TABLE, SCHEMA)
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda _: flow.tree, range(32)))
    assert all(tree is trees[0] for tree in trees)


def test_recorded__says_what_was_used_and_nothing_else() -> None:
    flow = Flow(TABLE, SCHEMA, Settings(min_leaf=3, max_depth=4, k=5))
    used = Settings(min_leaf=3, max_depth=4, k=5, criterion="detail", grouping="regions")
    assert flow.recorded == used.of(*RUN) | {"weight": None, "suppression_weight": None}
    papers = flow.but(grouping="error-risk").recorded
    assert (papers["criterion"], papers["grouping"]) == ("entropy", "error-risk")
    baseline = flow.but(grouping="median-mondrian").recorded
    assert {baseline[name] for name in ("criterion", "min_leaf", "max_depth", "weight")} == {None}
    assert set(baseline) == set(setting_names(*RUN))
    assert flow.settings.min_leaf == 3, "nothing is changed"


def test_bands__are_the_classes_that_look_alike_in_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts with equal cells look alike, so they are one class wherever groups are counted."""

    def halves(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
        """Return two parts whose records are alike."""
        return disjoint(np.arange(groups.encoded.n_records) % 2, 2)

    monkeypatch.setitem(GENERALIZERS, "halves", halves)
    table = pd.DataFrame({"age": [30] * 40, "sex": ["f"] * 40, "ill": ["flu", "cold"] * 20})
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["ill"])
    flow = Flow(table, schema, Settings(k=5, generalizer="halves"))
    assert flow.parts.n_parts == 2
    assert {node: sizes.tolist() for node, sizes in flow.bands.items()} == {0: [40]}
    assert flow.after.groups == len(flow.look_alikes.sizes) == 1
