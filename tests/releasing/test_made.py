"""What ran is what is said: refined groups where packing cannot sum up what was asked, in memory and in pieces."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.cli.main import main
from anonymizer.engines import anonymize_files
from anonymizer.flow import Flow
from anonymizer.groups.limits import as_k
from anonymizer.pipeline import anonymize
from anonymizer.population.sample import Population
from anonymizer.releasing.generalize import GENERALIZERS, guarantee_of
from anonymizer.releasing.pack import made_of
from anonymizer.releasing.tiers import Groups, Made, Parts, uniform
from anonymizer.reporting.dossier import AUDIENCES, document_of
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.settings import Limits, Settings, name_of
from tests.partitions.tables import people, schema_of, write_pieces

TABLE = people(600).assign(cost=lambda table: table["age"].fillna(40) * 3 + np.arange(600) % 7)
SCHEMA = schema_of(TABLE, sensitive=["cost", "diagnosis"])
ON_LEAVES: dict[str, Any] = {"significance": 0.01, "tested": "leaves"}
COUNTED: dict[str, Any] = {"risk_max": 0.2}
COUNTS = TABLE[["job", "town"]].value_counts(dropna=False).reset_index(name="count")
PEOPLE = Population(table=COUNTS.assign(count=COUNTS["count"] * (2 + COUNTS.index % 3)))


def flow_of(generalizer: str, limits: dict[str, Any]) -> Flow:
    return Flow(
        TABLE, SCHEMA, Settings(k=5, generalizer=generalizer, **limits), rng=np.random.default_rng(1),
        population=PEOPLE if limits is COUNTED else Population(),
    )  # fmt: skip


@pytest.mark.parametrize("limits", [ON_LEAVES, COUNTED], ids=["covariance test", "people who are counted"])
@pytest.mark.parametrize("generalizer", ["pack", "polish"])
def test_made__is_refined_where_limits_are_no_sums(generalizer: str, limits: dict[str, Any]) -> None:
    flow = flow_of(generalizer, limits)
    assert flow.parts.made == made_of(generalizer, as_k(flow.limits, flow.reached))
    assert flow.parts.made.method == "refine" == flow.release.method
    assert "Refined groups were made, because packing cannot sum up" in flow.parts.made.why
    same = flow_of("refine", limits).but(grouping="regions")
    assert same.parts.part.tolist() == flow.parts.part.tolist()
    assert same.parts.made == Made("refine")


@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_made__is_what_was_asked_elsewhere(generalizer: str) -> None:
    limits = {} if generalizer == "tiered" else {"l": 2, "significance": 0.01}
    assert flow_of(generalizer, limits).parts.made == Made(generalizer) == made_of(generalizer, Limits(**limits))


def test_made__of_an_entry_from_outside_is_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
        """Return groups as they are."""
        return uniform(groups, k, rng)

    monkeypatch.setitem(GENERALIZERS, "own", own)
    assert flow_of("own", {}).parts.made == Made("own")


@pytest.mark.parametrize("generalizer", ["pack", "polish"])
def test_report__says_what_was_asked_what_was_made_and_why(generalizer: str) -> None:
    result = anonymize(TABLE, SCHEMA, k=5, generalizer=generalizer, **ON_LEAVES)
    method = result.report.to_dict()["method"]
    assert method["title"] == guarantee_of("refine").title
    assert method["promises"] == guarantee_of("refine").gives
    assert (method["asked"], method["made"]) == (name_of("generalizer", generalizer), "Refined groups")
    assert "α: significance" in method["why_not_as_asked"]
    assert result.report.provenance.parameters["generalizer"] == generalizer
    findings = findings_of(result.report, TABLE, result.release.frame(), None, ())
    for audience in AUDIENCES:
        sections = document_of(findings, Statement(), audience).sections
        (section,) = [one for one in sections if one.title == "Method"]
        text = " ".join(block for block in section.blocks if isinstance(block, str))
        assert f"{name_of('generalizer', generalizer)} were asked for. {method['why_not_as_asked']}" in text
        assert guarantee_of("refine").gives in text
        assert guarantee_of(generalizer).gives not in text


@pytest.mark.parametrize("generalizer", ["pack", "polish"])
def test_report_in_pieces__says_the_same(generalizer: str, tmp_path: Path) -> None:
    folder = write_pieces(tmp_path / "in", pa.Table.from_pandas(TABLE, preserve_index=False), [200])
    result = anonymize_files(
        folder, SCHEMA, tmp_path / "out", k=5, generalizer=generalizer, override="a test", **ON_LEAVES
    )
    method = result.to_dict()["method"]
    assert (method["title"], method["made"]) == (guarantee_of("refine").title, "Refined groups")
    assert method["why_not_as_asked"] == result.made.why == made_of("pack", Limits(**ON_LEAVES)).why


def test_terminal__says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    write_pieces(tmp_path / "in", pa.Table.from_pandas(TABLE, preserve_index=False), [200])
    roles = [
        "--quasi-identifying",
        "age,income,born,job,town",
        "--sensitive",
        "cost,diagnosis",
        "--k",
        "5",
        "--keep",
        "ward",
    ]
    limits = ["--significance", "0.01", "--tested", "leaves"]
    report = str(tmp_path / "report.json")
    for source, more in (("people.csv", []), ("in", ["--out", str(tmp_path / "out")])):
        assert main(["anonymize", str(tmp_path / source), *roles, *limits, *more, "--report", report]) in (0, 1)
        why = json.loads(Path(report).read_text("utf-8"))["method"]["why_not_as_asked"]
        assert why in capsys.readouterr().out


def test_comparison__names_what_ran_in_place_of_what_was_asked() -> None:
    from anonymizer.measuring.comparison import as_table, setting_text
    from anonymizer.studies.experiment import evaluate

    flow = Flow(TABLE, SCHEMA, Settings(significance=0.01, tested="leaves"))
    how = {"folds": 2, "ks": (5,), "groupings": ["error-digression"], "generalizers": ["pack", "refine"]}
    outcomes = evaluate(flow, **how)
    assert [outcome.made for outcome in outcomes] == ["", "refine", ""]
    assert as_table(outcomes)["made"].tolist() == ["", "refine", ""]
    assert setting_text(outcomes[1]).endswith("packed groups (made as refined groups)")
    assert "made" not in as_table(evaluate(flow.but(significance=None), **how))
