"""One entry is enough: what is added to a dictionary from outside works wherever the built-in entries do."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.attacks.outcome import Outcome, Rate
from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.privacy_models import MODELS, Check, Evidence
from anonymizer.checking.several import verify_together
from anonymizer.cli.main import main
from anonymizer.errors import GuaranteeError, Progress
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.gate.finding import Severity
from anonymizer.groups.limits import MARGINS, Margin, class_columns
from anonymizer.groups.prune import CRITERIA, Steps, by_ratio
from anonymizer.ledger.ledger import Ledger
from anonymizer.pipeline import anonymize, run_flow
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import READERS, read_table
from anonymizer.reading.options import Content, Extent, ReadOptions
from anonymizer.reading.samples import hospital
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.tiers import Groups, Parts, disjoint
from anonymizer.reporting.dossier import document_of
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.schema import Schema
from anonymizer.settings import SETTINGS, Setting, Settings
from anonymizer.studies.attack import ATTACKS, Scene, attack
from anonymizer.studies.experiment import evaluate
from anonymizer.whatif.frontier import record_frontier
from anonymizer.whatif.project import Project, from_json, to_json

TABLE = hospital(300)[["age", "sex", "postcode", "diagnosis"]]
ROLES = ["--quasi-identifying", "age,sex,postcode", "--sensitive", "diagnosis"]
SCHEMA = Schema.of(TABLE, quasi_identifying=["age", "sex", "postcode"], sensitive=["diagnosis"])
NEW = {"grouping": "surprise-risk", "generalizer": "everybody", "most_frequent": 0.7}


def everybody(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """One box for the whole table."""
    return disjoint(np.zeros(len(groups.leaf), np.int64), groups.tree.n_nodes)


def surprise_risk(tree, risk, fails, offends) -> Steps:
    """As error-risk, with bits of surprise about the class in place of errors."""
    return by_ratio(tree, risk.tidi, risk.n * risk.entropy, True, fails, np.zeros_like(offends))


def most_frequent_margin(tree, risk, encoded, limits) -> Iterable[Margin]:
    """The greatest share that one value has in each node."""
    for target, shares in class_columns(tree, encoded):
        yield Margin("most frequent value", target.name, limits.most_frequent, shares.max(axis=1), False)


def most_frequent(evidence: Evidence) -> tuple[Check, ...]:
    """The greatest share that one sensitive value has in a class."""
    checks = []
    for histograms in evidence.histograms:
        share = float((histograms.count / histograms.sizes[histograms.group]).max())
        required = evidence.required.most_frequent
        passed = None if required is None else share <= required + 1e-9
        name = f"most frequent {histograms.column}"
        checks.append(Check(name, required, share, passed, "", f"At most {share:.0%} of a class have one value."))
    return tuple(checks)


def read_lines(
    data: bytes, name: str, options: ReadOptions, stop: Callable[[Extent], None], progress: Progress | None
) -> Content:
    """A record a line, each a JSON object."""
    return Content(pd.DataFrame([json.loads(line) for line in data.splitlines()]), options, [])


def oldest(scene: Scene) -> tuple[Outcome, ...]:
    """How often the oldest person's cells say their age."""
    age = scene.table["age"].max()
    before, after = (
        Rate(int((column.astype(str) == str(age)).any()), 1) for column in (scene.table["age"], scene.released["age"])
    )
    return (Outcome("oldest person", (before, after), "The oldest person's age can be read."),)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One entry of each kind, in a folder with the table as lines."""
    setting = Setting(None, "number", "limit", "α", "most of a group with one value", 0, 1, optional=True, checked=True)
    monkeypatch.setitem(GENERALIZERS, "everybody", everybody)
    monkeypatch.setitem(CRITERIA, "surprise-risk", surprise_risk)
    monkeypatch.setitem(SETTINGS, "most_frequent", setting)
    monkeypatch.setitem(MARGINS, "most_frequent", most_frequent_margin)
    monkeypatch.setitem(MODELS, "most frequent value", most_frequent)
    monkeypatch.setitem(READERS, "jsonl", read_lines)
    monkeypatch.setitem(ATTACKS, "oldest person", oldest)
    monkeypatch.chdir(tmp_path)
    TABLE.to_json("people.jsonl", orient="records", lines=True)


def test_pipeline__keeps_and_records_them() -> None:
    result = anonymize(TABLE, SCHEMA, k=5, **NEW)
    assert result.report.after.groups == 1
    assert {name: result.report.provenance.parameters[name] for name in NEW} == NEW
    assert result.verification["most frequent diagnosis"].passed is True
    groups = anonymize(TABLE, SCHEMA, k=5, grouping="surprise-risk", most_frequent=0.7)
    assert groups.report.after.groups > 1
    assert 0.3 < groups.verification["most frequent diagnosis"].achieved <= 0.7
    with pytest.raises(GuaranteeError, match="most frequent value of diagnosis"):
        anonymize(TABLE, SCHEMA, most_frequent=0.01)


def test_releases_together__are_asked_with_their_cells_as_classes(tmp_path: Path) -> None:
    first = Flow(TABLE, SCHEMA, Settings(k=5, most_frequent=0.7))
    second = Flow(TABLE, SCHEMA, Settings(k=5, most_frequent=0.7, grouping="least"))
    keys = [first.class_of, second.class_of]
    worst = TABLE["diagnosis"].groupby(keys).agg(lambda own: own.value_counts(normalize=True).max()).max()
    assert worst > 0.7
    earlier = Earlier(first.class_of, 5, Promise.of(first.schema, first.limits))
    ledger = Ledger.new(tmp_path / "register", bytes(range(32)))
    result = run_flow(first)
    ledger.add(TABLE, result.release, result.report, "y1.csv", "0" * 64)
    assert [one.promise.extensions for one in ledger.read().releases] == [{"most_frequent": 0.7}]
    for others in ([earlier], ledger.earlier):
        findings = second.but(earlier=others).gate.findings
        (finding,) = (one for one in findings if one.key.startswith("together: limits"))
        assert finding.is_open
        assert finding.figure == "A limit fails"
        assert f"{worst:.0%} of a class have one value." in finding.sentence
    (same,) = (one for one in first.but(earlier=[earlier]).gate.findings if one.key.startswith("together: limits"))
    assert same.severity is Severity.FINE
    tables = [flow.released.iloc[np.argsort(flow.release.order)] for flow in (first, second)]
    alone = verify_together(tables, SCHEMA, k=1, most_frequent=0.7)
    assert "Not asked of groups that all files share: α." in alone.sentences(["a", "b"])
    orders = [np.arange(len(TABLE))] * 2
    beside = verify_together(tables, SCHEMA, k=1, original=TABLE, orders=orders, most_frequent=0.7)
    assert beside.overall == "fails"
    assert not [one for one in beside.sentences(["a", "b"]) if one.startswith("Not asked")]


def test_terminal__offers_them(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--grouping", "surprise-risk", "--generalizer", "everybody", "--most-frequent", "0.7"]
    assert (
        main(["anonymize", "people.jsonl", *ROLES, "--k", "5", *options, "--out", "out.csv", "--report", "r.json"]) == 0
    )
    assert {name: json.loads(Path("r.json").read_text())["provenance"]["parameters"][name] for name in NEW} == NEW
    assert main(["verify", "out.csv", *ROLES, "--k", "5", "--most-frequent", "0.7"]) == 0
    assert main(["verify", "out.csv", *ROLES, "--k", "5", "--most-frequent", "0.01"]) == 1
    compared = ["--groupings", "surprise-risk", "--generalizers", "everybody", "--most-frequent", "0.7"]
    capsys.readouterr()
    assert main(["evaluate", "people.jsonl", *ROLES, "--k", "5", "--folds", "2", *compared, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"][1]["grouping"] == "surprise-risk"


def test_evaluate__compares_them() -> None:
    flow = Flow(TABLE, SCHEMA, Settings(most_frequent=0.7))
    of_all, of_groups = evaluate(
        flow, folds=2, ks=(5,), groupings=["surprise-risk"], generalizers=["everybody", "uniform"]
    )[1:]
    assert (of_all.generalizer, of_all.mean("groups"), of_all.mean("smallest")) == ("everybody", 1, 150)
    free = evaluate(Flow(TABLE, SCHEMA), folds=2, ks=(5,), groupings=["surprise-risk"])[1]
    assert 1 < of_groups.mean("groups") < free.mean("groups")
    with pytest.raises(GuaranteeError, match="most frequent value of diagnosis"):
        evaluate(flow.but(most_frequent=0.01), folds=2, ks=(5,))


def test_frontier__draws_them() -> None:
    flow = Flow(TABLE, SCHEMA, Settings(most_frequent=0.7))
    points = flow.points(ks=(2, 5))
    assert {point.k for point in points if point.grouping == "surprise-risk"} == {2, 5}
    assert all(point.posterior <= 0.7 for point in points)
    (of_all,) = [point for point in record_frontier(flow, ks=(5,)) if point.generalizer == "everybody"]
    assert (of_all.groups, of_all.smallest) == (1, 300)


def test_project_files__hold_them() -> None:
    project = Project(SCHEMA, dict(Settings(k=5, **NEW)))
    assert from_json(to_json(project)).parameters == project.parameters


def test_reader__is_asked_here_and_in_a_child() -> None:
    for reading in (read_table("people.jsonl"), read_in_child("people.jsonl")):
        assert reading.format == "jsonl"
        assert reading.frame["diagnosis"].tolist() == TABLE["diagnosis"].tolist()
        assert reading.frame["age"].tolist() == TABLE["age"].tolist()


def test_attack__is_run_and_reported() -> None:
    result = anonymize(TABLE, SCHEMA, k=5)
    released = result.release.frame()
    attacks = attack(TABLE, released, SCHEMA, result.encoded, tries=20)
    assert (attacks["oldest person"].before, attacks["oldest person"].after) == (1, 0)
    findings = findings_of(result.report, TABLE, released, attacks)
    figures = document_of(findings, Statement(), "internal").figures
    assert figures["oldest person.before"] == "100%"
