"""What the gate says of guidance by sensitive values: the attack's own figures, the same everywhere, and never slow."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from anonymizer.attacks import guidance
from anonymizer.attacks.guidance import CELLS, MINIMALITY, MORE, RUNS, SWAPS, finding_of, is_guided
from anonymizer.attacks.minimality import Minimality, minimality
from anonymizer.attacks.outcome import Rate
from anonymizer.errors import CancelledError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding, Severity
from anonymizer.groups.prune import CRITERIA
from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema
from anonymizer.settings import HOW_TESTED, OF_POPULATION, Limits, Settings
from tests.attacks.test_minimality import flow_of
from tests.conftest import ROOT


def people(n: int = 300, seed: int = 3, **settings: object) -> Flow:
    """The flow of people whose illness follows from their age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    ill = np.where(rng.random(n) < age / 100, "ill", "well")
    table = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "town": rng.integers(0, 9, n), "state": ill})
    schema = Schema.of(table, quasi_identifying=["age", "sex", "town"], sensitive=["state"])
    return Flow(
        table,
        schema,
        Settings(**{"k": 5, "grouping": "least", "criterion": "entropy", "generalizer": "uniform"} | settings),
    )


def finding_in(flow: Flow) -> Finding:
    """What the gate says of it."""
    return flow.judgement[MINIMALITY]


@pytest.mark.parametrize("flow", [flow_of(1, 10), flow_of(4, 10), people(), people(l=2), people(generalizer="pack")])
def test_figure__is_the_attack_s(flow: Flow) -> None:
    result = minimality(flow.run, np.random.default_rng(0), runs=RUNS, swaps=SWAPS)
    assert result is not None
    finding = finding_in(flow)
    assert finding.figure.removeprefix("≤ ") == f"{result.certain.right:,.0f} of {result.certain.tries:,} rows"
    assert finding.figure.startswith("≤") == bool(result.walks and result.certain.right)
    assert result.sentence in finding.detail
    assert result.runs <= RUNS
    assert (finding.severity is Severity.FINE) == (result.certain.right == 0)


def test_runs__bound_who_is_tried() -> None:
    flow = people()
    results = [minimality(flow.run, np.random.default_rng(0), runs=runs, swaps=10) for runs in (0, 10, 40, 160, 640)]
    tries = [result.certain.tries for result in results if result]
    assert tries == sorted(tries)
    assert tries[0] == 0 < tries[1] < tries[-1] <= 300
    assert all(result.runs <= runs for result, runs in zip(results, (0, 10, 40, 160, 640), strict=True) if result)


@pytest.mark.parametrize("generalizer", ["uniform", "refine", "pack"])
def test_finding__is_the_same_wherever_rows_stand(generalizer: str) -> None:
    flow = people(generalizer=generalizer)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(flow.table))
        other = Flow(flow.table.iloc[order].reset_index(drop=True), flow.schema, flow.settings)
        assert other.guidance == flow.guidance


def test_finding__is_the_same_in_another_process() -> None:
    text = "from tests.attacks.test_guidance import people; print(people().guidance)"
    answer = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == str(people().guidance)


def test_large_table__is_not_tried_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guidance, "minimality", None)  # not called
    flow = people(9_000)
    assert CELLS // 27_000 < guidance.FEWEST
    finding = finding_in(flow)
    assert (finding.severity, finding.figure) == (Severity.LOOK, "Not tried")
    assert finding.detail.endswith(MORE)
    assert MINIMALITY not in {one.key for one in flow.gate.open}


def test_method_that_does_not_look__has_no_finding() -> None:
    flow = people(grouping="median-mondrian")
    assert flow.guidance == ()
    assert MINIMALITY not in {finding.key for finding in flow.judgement.findings}
    bare = flow.table[["age", "sex"]]
    schema = Schema.of(bare, quasi_identifying=["age", "sex"])
    assert Flow(bare, schema, Settings(k=5, generalizer="uniform")).guidance == ()
    result = minimality(flow.run, np.random.default_rng(0), runs=RUNS)
    assert result is not None
    assert result.certain.right == 0


def test_limits_of_values__are_those_beside_persons_and_people() -> None:
    values = {"l": 2, "entropy_l": 1.5, "t": 0.4, "rsd_min": 0.1, "spread_min": 0.1, "significance": 0.05}
    assert all(Limits(k=5, **{name: value}).of_values for name, value in values.items())
    beside = {name for name, _ in Limits(k=5).items() if name not in ("k", *HOW_TESTED, *values)}
    assert beside == {"share_max", *OF_POPULATION}
    assert not Limits(k=5, share_max=0.5, k_map=3).of_values
    schema = people().schema
    assert is_guided(schema, Settings(k=5, grouping="median-mondrian", l=2))
    assert not is_guided(schema, Settings(k=5, grouping="median-mondrian", share_max=0.5))


def test_trees_of_detail__are_guided_by_limits_and_by_prunings_that_look_at_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = people().schema
    for settings in (
        {},
        {"grouping": "least"},
        {"criterion": "detail"},
        {"share_max": 0.5},
        {"generalizer": "uniform"},
    ):
        assert not is_guided(schema, Settings(k=5, **settings)), settings
    guided = ({"l": 2}, {"t": 0.3}, {"criterion": "entropy"}, {"grouping": "error-risk"}, {"criterion": "detail",
              "grouping": "error-risk"})  # fmt: skip
    for settings in guided:
        assert is_guided(schema, Settings(k=5, **settings)), settings
    assert is_guided(schema, Settings(k=5), n=2_000_000)
    monkeypatch.setitem(CRITERIA, "own", CRITERIA["error-risk"])  # nobody knows what an extension looks at
    assert is_guided(schema, Settings(k=5, grouping="own"))
    assert is_guided(schema, Settings(k=5, grouping="own", criterion="detail"))
    table = people().table
    deals = [np.random.default_rng(seed).permutation(len(table)) for seed in range(3)]
    flows = [Flow(table, schema, Settings(k=5), key=bytes(32))]
    flows += [
        Flow(table.assign(state=table["state"].to_numpy()[way]), schema, Settings(k=5), key=bytes(32)) for way in deals
    ]
    assert len({flow.parts.part.tobytes() for flow in flows}) == 1


def test_repair__is_grouping_without_the_values_where_no_limit_looks_at_them() -> None:
    flow = next(flow for flow in map(flow_of, range(9)) if flow.guidance[0].severity is not Severity.FINE)
    (repair,) = finding_in(flow).repairs
    assert repair.options == "--grouping least --criterion detail"
    assert flow.but(**dict(repair.settings)).guidance == ()
    with_limit = flow.but(l=2, grouping="infogain-mondrian")
    assert guidance.repairs_of(with_limit.settings) == ()


@pytest.mark.parametrize("settings", [{"generalizer": "tiered"}, {"suppression": 0.1, "generalizer": "pack"}])
def test_what_cannot_be_tried__is_said(settings: dict) -> None:
    flow = people(**settings)
    (finding,) = flow.guidance
    if flow.left_out or "suppression" not in settings:
        assert finding.figure == "Not tried"
        assert finding.detail.startswith("This attack is not tried where")


def test_severity__is_a_look_where_somebody_becomes_certain() -> None:
    def severity(right: int, tries: int, people: int) -> Severity:
        return finding_of(Minimality(Rate(right, tries), Rate(0, tries), people, None, 60, False, tries), ()).severity

    assert severity(0, 20, 2000) is Severity.FINE
    assert severity(1, 20, 2000) is Severity.LOOK
    assert severity(12, 12, 12) is Severity.LOOK


@pytest.mark.sweep(1)
@pytest.mark.parametrize("settings", [{}, {"l": 2}, {"k": 5}])
def test_sample__leaves_with_a_look(settings: dict) -> None:
    table = hospital()
    guided = {"k": 10, "grouping": "error-risk", **settings}
    result = anonymize(table, suggest(table).with_target("diagnosis"), **guided)
    assert result.gate[MINIMALITY].severity is Severity.LOOK
    assert not result.gate.open


def test_moves_of_k__do_not_wait_for_it() -> None:
    flow = people()
    flow.compute("judgement")
    other = flow.but(k=7)
    other.compute("pruning", "parts", "release", "utility", "after", "verification")
    assert not other.ready("guidance")
    assert flow.but(prosecutor_limit=4).ready("guidance")
    assert flow.but(writing="concatenate").ready("guidance")


def test_cancel__ends_it() -> None:
    def stop(share: float, what: str) -> None:
        raise CancelledError("enough")

    flow = people()
    flow.compute("parts")
    with pytest.raises(CancelledError):
        assert flow.watch(stop).guidance
