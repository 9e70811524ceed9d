"""Who is left out: promises of the rows that are there, what decides, and what a checker says of other releases."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymizer as an
from anonymizer.checking.linkage import look_alikes
from anonymizer.engines import anonymize_files
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.measuring.utility import ncp
from anonymizer.provenance.claim import claim_from
from anonymizer.reading.samples import hospital
from anonymizer.releasing.generalize import GENERALIZERS, LEAVES_OUT
from anonymizer.reporting.dossier import document_of
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.reporting.packet import check_packet, packet_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.attack import attack_release
from anonymizer.suppression.choice import allowed, staying_rows
from anonymizer.values import share
from anonymizer.whatif.ends import loss_by_ends
from tests.groups.test_refine import random_table
from tests.sweeps import few

NAMES = ["age", "sex", "postcode"]
FAST = ("uniform", "refine", "pack")


@cache
def table_of(n: int = 400) -> tuple[pd.DataFrame, Schema]:
    table = hospital(n)[[*NAMES, "diagnosis", "days_of_stay"]]
    return table, Schema.of(table, quasi_identifying=NAMES, sensitive=["diagnosis", "days_of_stay"])


@cache
def flow_of(generalizer: str = "uniform", **settings: object) -> Flow:
    """A flow in which records are left out."""
    choice = {"k": 5, "suppression": 0.05, "suppression_weight": 0.0, "generalizer": generalizer} | settings
    return Flow(*table_of(), Settings(**choice), rng=np.random.default_rng(3))


@settings(max_examples=few(25), deadline=None)
@given(
    st.integers(0, 10**6), st.integers(8, 60), st.integers(1, 5), st.floats(0, 1), st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from(FAST), st.sampled_from(["range", "public"]),
)  # fmt: skip
def test_any_share__keeps_every_promise_for_who_is_there(
    seed: int, n: int, k: int, share: float, weight: float, generalizer: str, numbers: str
) -> None:
    table, schema = random_table(seed, n)
    choice = Settings(
        k=k, suppression=share, suppression_weight=weight, generalizer=generalizer, numbers=numbers, grouping="least"
    )
    flow = Flow(table, schema, choice, rng=np.random.default_rng(seed))
    left_out, order = flow.left_out, flow.release.order
    assert 0 <= left_out <= share * n + 1e-9
    assert len(flow.released) == n - left_out == len(set(order.tolist()))
    assert look_alikes(flow.released, schema.quasi_identifying).sizes.min() >= k
    assert flow.verification.passed
    assert flow.verification.left_out == left_out
    beside = an.verify(flow.released, schema, k=k, original=table, suppression=share, left_out=left_out)
    assert beside.passed
    for name in ("ill", "cost"):
        assert flow.released[name].tolist() == table[name].iloc[order].tolist()
    cells = ncp(flow.release, flow.encoded.encodings)
    assert flow.utility.gcp == pytest.approx((cells.mean(axis=1).sum() + left_out) / n, abs=1e-12)
    assert flow.utility.gcp_released == pytest.approx(cells.mean(), abs=1e-12)


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_share_of_nothing__makes_the_same_bytes(generalizer: str) -> None:
    table, schema = table_of()
    if generalizer == "polish":
        table = table.iloc[:80]
    releases = [
        Flow(table, schema, Settings(k=5, generalizer=generalizer, **more), rng=np.random.default_rng(4)).release
        for more in ({}, {"suppression": 0.0, "suppression_weight": 0.0})
    ]
    assert releases[0].to_bytes() == releases[1].to_bytes()
    assert releases[0].n_records == len(table)


@pytest.mark.parametrize("generalizer", FAST)
def test_weight__of_one_loses_less_all_in_all_and_of_none_where_rows_are(generalizer: str) -> None:
    flow = flow_of(generalizer)
    nobody, whole = flow.but(suppression=0.0), flow.but(suppression_weight=1.0)
    assert flow.left_out > 0
    assert flow.utility.gcp_released < nobody.utility.gcp
    assert whole.utility.gcp <= nobody.utility.gcp + 1e-3  # secret weights, and grids in place of codes
    assert nobody.utility.gcp == nobody.utility.gcp_released


def test_a_share__changes_neither_tree_nor_cut() -> None:
    flow = flow_of()
    flow.compute("release")
    other = flow.but(suppression=0.01)
    assert all(other.ready(name) for name in ("tree", "leaf", "pruning", "coarse", "memory"))
    assert not other.ready("staying")


def test_who_goes__does_not_depend_on_sensitive_values() -> None:
    table, schema = table_of()
    for generalizer in FAST:
        flow = flow_of(generalizer)
        rng = np.random.default_rng(1)
        rows = rng.permutation(len(table))
        other = table.assign(diagnosis=table["diagnosis"].to_numpy()[rows])
        encoded = an.encode(other, schema)
        coarse = replace(flow.coarse, target=encoded.target, numeric=encoded.numeric, others=encoded.others)
        of = {"leaf": flow.leaf, "limits": flow.limits, "memory": dict(flow.memory)}
        stays = staying_rows(coarse, flow.pruning, generalizer, 5, 0.05, 0.0, **of)
        assert np.array_equal(stays, flow.staying)


@pytest.mark.parametrize("limits", [{"l": 3.0}, {"t": 0.5}, {"spread_min": 0.3}, {"risk_max": 0.1}])
@pytest.mark.parametrize("generalizer", FAST)
def test_limits__hold_for_who_is_there(limits: dict[str, float], generalizer: str) -> None:
    sensitive = "days_of_stay" if "spread_min" in limits else "diagnosis"
    table = table_of()[0][[*NAMES, sensitive]]
    schema = Schema.of(table, quasi_identifying=NAMES, sensitive=[sensitive])
    choice = Settings(k=5, suppression=0.05, suppression_weight=0.0, generalizer=generalizer, **limits)
    flow = Flow(table, schema, choice)
    assert flow.verification.passed
    assert flow.left_out <= 20


def test_a_value_of_nobody_there__is_nowhere_in_the_release() -> None:
    table, schema = table_of()
    table = table.assign(sex=table["sex"].astype(object))
    table.loc[7, "sex"], table.loc[7, "age"] = "a level of one", 114
    flow = Flow(table, schema, Settings(k=5, suppression=0.01, generalizer="uniform", numbers="range"))
    assert 7 not in flow.staying
    text = str(flow.leaving.dictionary()) + "".join(map(str, flow.released.to_numpy().ravel()))
    assert "a level of one" not in text
    assert "114" not in text
    assert "a level of one" not in str([column.cells for column in flow.release.generalized])


def test_another_release__is_refused() -> None:
    table, schema = table_of()
    flow = flow_of("pack")
    released, left_out = flow.released, flow.left_out
    allows = {"k": 1, "original": table, "suppression": 0.05, "left_out": left_out}
    assert an.verify(released, schema, **allows).passed

    def failing(rows: pd.DataFrame, **more: object) -> set[str]:
        return {check.name for check in an.verify(rows, schema, **allows | more).failed}

    assert failing(released.iloc[1:]) >= {"rows left out"}
    assert failing(pd.concat([released, released.iloc[:1]], ignore_index=True)) >= {"rows left out"}
    twice = pd.concat([released.iloc[1:], released.iloc[-1:]], ignore_index=True)
    assert "containment" in failing(twice)
    assert "rows left out" in failing(released, suppression=0.0)
    assert "containment" in failing(released, suppression=0.0)
    wrong = released.copy()
    wrong["diagnosis"] = wrong["diagnosis"].to_numpy()[::-1]
    assert "containment" in failing(wrong)
    order = flow.release.order.copy()
    order[0] = order[1]
    with pytest.raises(ParameterError, match="none twice"):
        an.verify(released, schema, order=order, **allows)
    more = pd.concat([table, table.iloc[:1]], ignore_index=True)
    assert "rows left out" in failing(more)


def test_weak_releases__are_compared_row_by_row() -> None:
    table, schema = table_of()
    flow = flow_of("pack")
    checked = an.verify(flow.released, schema, k=50, original=table, suppression=0.05)
    assert checked["containment"].passed
    assert checked["(k,1)"].achieved >= 5
    assert checked["(1,k)"].passed is None
    assert "left out" in checked["(1,k)"].sentence


@pytest.mark.parametrize("generalizer", [name for name in GENERALIZERS if name not in LEAVES_OUT])
def test_others__leave_no_record_out(generalizer: str) -> None:
    with pytest.raises(ParameterError, match="leaves no row out"):
        an.anonymize(*table_of(), k=5, suppression=0.01, generalizer=generalizer)


def test_persons_and_pieces__leave_no_record_out(tmp_path) -> None:
    table, _ = table_of()
    table = table.assign(who=np.arange(len(table)) // 2)
    schema = Schema.of(table, quasi_identifying=NAMES, sensitive=["diagnosis"], person="who")
    with pytest.raises(ParameterError, match="every row is a person"):
        an.anonymize(table, schema, k=5, suppression=0.01)
    table.to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ParameterError, match="Leaving rows out takes one table in memory"):
        anonymize_files(tmp_path / "table.parquet", schema, tmp_path / "out", suppression=0.01)


def test_allowed__rounds_down() -> None:
    assert [allowed(n, 0.01) for n in (99, 100, 199, 200)] == [0, 1, 1, 2]
    assert allowed(1000, 0.029) == 29


def test_figures__count_who_was_left_out() -> None:
    flow = flow_of("uniform")
    n, left_out = len(flow.table), flow.left_out
    losses = ncp(flow.release, flow.encoded.encodings).sum(axis=0)
    for name, loss in zip(flow.encoded.names, losses, strict=True):
        assert flow.utility.ncp_by_column[name] == pytest.approx((loss + left_out) / n)
    assert flow.utility.discernibility == (flow.look_alikes.sizes**2).sum() + left_out * n
    for column in flow.distributions:
        gone = np.append(column.before, column.missing[0]) - np.append(column.after, column.missing[1])
        assert column.moved == pytest.approx(gone[gone > 0].sum() / n)
        assert gone.sum() == pytest.approx(left_out)
    assert (flow.boxed.box < 0).sum() == left_out
    assert np.array_equal(np.flatnonzero(flow.class_of >= 0), flow.staying)
    assert flow.two_way.mean >= left_out / n
    ends = loss_by_ends(flow)
    assert ends["public"] == pytest.approx(flow.utility.gcp, abs=0.02)
    assert flow.after.records == n - left_out
    assert sum(sizes.sum() for sizes in flow.bands.values()) == n - left_out


def test_attacks__are_judged_over_who_is_there() -> None:
    flow = flow_of("pack")
    attacks = attack_release(flow, tries=20, seconds=1)
    names = {outcome.name for outcome in attacks.outcomes}
    assert {"singling out", "linkability", "inference", "downcoding"} <= names
    assert not names & {"rerun", "minimality"}
    assert attacks["linkability"].rates[1].tries == len(flow.staying)
    nobody = attack_release(flow.but(suppression=0.0), tries=20, seconds=1)
    assert {"rerun", "minimality"} <= {outcome.name for outcome in nobody.outcomes}


def test_report_and_packet__say_how_many(tmp_path) -> None:
    table, schema = table_of()
    flow = flow_of("pack")
    reasons = {finding.key: "this is a test" for finding in flow.gate.findings}
    flow = flow.but(reasons=reasons)
    report, left_out = flow.report, flow.left_out
    described = report.to_dict()
    assert described["utility"]["records_left_out"] == left_out == described["verification"]["left_out"]
    assert described["provenance"]["parameters"]["suppression"] == 0.05
    assert "--suppression 0.05" in report.provenance.command
    assert "suppression=0.05" in report.provenance.python
    findings = findings_of(report, table, flow.released)
    document = document_of(findings, audience="external")
    assert document.figures["records.suppressed"] == f"{left_out:,}"
    assert document.figures["gcp_released.after"] == share(flow.utility.gcp_released)
    assert "were left out" in str(document)
    packet = packet_of(flow.leaving, findings, Statement(), "external")
    claim = check_packet(packet).claim
    assert (claim.left_out, claim.suppression) == (left_out, 0.05)
    assert check_packet(packet).passed
    recipient = report.with_output({"csv": "0" * 64}).to_recipient_json().encode()
    assert claim_from(recipient).left_out == left_out
