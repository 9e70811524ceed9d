"""The gate: each finding with a table that has it and one that has not, figures from pandas, repairs that close it."""

import ast
import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import AnonymizerWarning, GuaranteeError, ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.finding import (
    Finding,
    Gate,
    Repair,
    Severity,
    is_reason,
    kind_of_key,
    names_text,
    share_text,
    verdict_of,
)
from anonymizer.pipeline import anonymize, run_flow
from anonymizer.reading.samples import hospital, visits
from anonymizer.schema import Role, Schema
from anonymizer.settings import Settings
from tests.conftest import ROOT

WHY = "agreed with Zqwxcanary on paper"
N = 400


def people(**more: object) -> pd.DataFrame:
    """People of whom nothing is to be said: what leaves repeats, and follows from nothing."""
    rng = np.random.default_rng(11)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, N),
            "sex": rng.choice(["f", "m"], N),
            "diagnosis": rng.choice(["flu", "cough", "cold"], N),
            "cost": rng.integers(10, 60, N) * 10.0,
        }
    )
    return table.assign(**more)


def flow_of(table: pd.DataFrame, schema: Schema | None = None, **settings: object) -> Flow:
    schema = schema or Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis", "cost"])
    return Flow(
        table,
        schema,
        Settings(**{"k": 5, "generalizer": "uniform", "numbers": "range", "prosecutor_limit": 5} | settings),
    )


def names() -> list[str]:
    first, family = ["Ada", "Bruno", "Carla", "Dana", "Emil"], ["Abbott", "Bauer", "Chen", "Dubois", "Farah"]
    return [f"{first[i % 5]} {family[i // 5 % 5]}{'abcdefghijklmnop'[i // 25]}" for i in range(N)]


LETTERS = [f"Zqwxcanary{i % 9}" for i in range(N)]
MAKE = {
    "identifying: pupil": {"pupil": names()},
    "identifying: contact": {"contact": [f"p{i}@example.org" for i in range(N)]},
    "identifying: phone": {"phone": [f"+49 30 {1000000 + i}" for i in range(N)]},
    "identifying: note": {"note": [f"{'seen at the ward, sent home with a letter ' * 2}{i}" for i in range(N)]},
    "identifying: mark": {"mark": [f"x{i}y" for i in range(N)]},
    "holds e-mail addresses: remark": {"remark": ["call Zqwxcanary at jane@example.org", *["none"] * (N - 1)]},
    "holds telephone numbers: remark": {"remark": [*["+44 20 7946 0123 after six"] * 3, *["none"] * (N - 3)]},
}  # fmt: skip


@pytest.mark.parametrize("key", MAKE)
def test_column_that_reaches_people__stops(key: str) -> None:
    table = people(**MAKE[key])
    flow = flow_of(table)
    (finding,) = [finding for finding in flow.about_table if finding.severity is Severity.STOPS]
    assert finding.key == key
    (name,) = MAKE[key]
    values = table[name]
    if key.startswith("identifying"):
        assert finding.figure.startswith(f"{values.nunique():,} ")
    else:
        rows = values.str.contains(r"@|\+44").sum()
        assert finding.figure.startswith(f"{rows:,} row")
    assert "Zqwxcanary" not in repr(finding)
    check_repairs(flow, finding)


def check_repairs(flow: Flow, finding: Finding) -> None:
    """Every repair of roles and settings closes the finding: it is gone, or its figure is no longer there to see to."""
    tried = 0
    for repair in finding.repairs:
        if repair.missing:
            continue
        schema, settings = repair.apply(flow.schema, flow.settings)
        after = flow.but(schema, **settings).judgement
        assert finding.key not in {f.key for f in after.findings if f.severity is not Severity.FINE}, repair
        tried += 1
    assert tried


def test_nothing_to_see_to__leaves() -> None:
    flow = flow_of(people(), grouping="median-mondrian")
    assert [finding.key for finding in flow.judgement.findings if finding.severity is not Severity.FINE] == []
    assert flow.gate.verdict == "Ready to release"
    assert flow.leaving.to_bytes() == flow.release.by_content().to_bytes()


def test_sensitive_name__stops_too_and_numbers_in_boxes_do_not() -> None:
    table = people(pupil=names(), patient_no=range(N))
    schema = Schema.of(table, quasi_identifying=["age", "sex", "patient_no"], sensitive=["pupil"])
    keys = {finding.key for finding in flow_of(table, schema).about_table if finding.severity is Severity.STOPS}
    assert keys == {"identifying: pupil"}
    boxed = Schema.of(table, quasi_identifying=["age", "sex", "pupil"], identifying=["patient_no"])
    finding = next(f for f in flow_of(table, boxed).about_table if f.key == "identifying: pupil")
    assert "is released in its boxes" in finding.sentence


def test_kept_columns__are_counted_alone_and_beside_the_boxes() -> None:
    rng = np.random.default_rng(3)
    table = people(shoe=rng.integers(30, 48, N), hat=rng.integers(50, 60, N), town=rng.integers(0, 9, N).astype(str))
    flow = flow_of(table)
    names_ = ["shoe", "hat", "town"]
    alone = (table.groupby(names_).size() == 1).sum()
    beside = (flow.released.groupby(["age", "sex", *names_], observed=True).size() == 1).sum()
    assert 0 < alone < beside
    assert beside > N / 2
    finding = flow.judgement["unchanged: shoe, hat, town"]
    assert finding.severity is Severity.STOPS
    assert finding.figure == share_text(beside / N)
    assert f"{alone:,} are unique on shoe, hat, town alone, and {beside:,} beside" in finding.detail
    check_repairs(flow, finding)
    few = flow_of(people(town=rng.integers(0, 2, N).astype(str))).judgement["unchanged: town"]
    assert few.severity is not Severity.STOPS


def test_column_that_follows__stops_and_a_sensitive_one_is_worth_a_look() -> None:
    rng = np.random.default_rng(4)
    table = people()
    table["age_group"] = (table["age"] // 10).astype(str) + "x"
    table["years"] = table["age"] - 18 + rng.integers(-8, 9, N)
    flow = flow_of(table)
    exact, near = flow.judgement["follows: age_group, age"], flow.judgement["follows: years, age"]
    assert exact.severity is near.severity is Severity.STOPS
    rank, groups = table["age"].rank(), table["age_group"].nunique()
    rest = ((rank - rank.groupby(table["age_group"]).transform("mean")) ** 2).sum() / (N - groups)
    by_age = pd.get_dummies(table["age_group"]).astype(float)
    within = ((by_age - by_age.groupby(table["age"]).transform("mean")) ** 2).to_numpy().sum()
    tells = 1 - rest / ((rank - rank.mean()) ** 2).sum() * (N - 1)
    assert within == 0
    assert 0.9 < tells < 0.99
    assert exact.figure == f"{tells:.1%}"
    check_repairs(flow, exact)
    sensitive = flow_of(table, flow.schema.with_column("years", role=Role.SENSITIVE))
    assert sensitive.judgement["follows: years, age"].severity is Severity.LOOK
    assert not [f for f in flow_of(people()).about_table if f.key.startswith("follows")]


def test_repeating_persons__stop_until_they_are_counted() -> None:
    table = visits(60, 1)
    roles = {"quasi_identifying": ["age", "sex"], "sensitive": ["diagnosis"]}
    schema = Schema.of(table[["patient_id", "age", "sex", "diagnosis"]], identifying=["patient_id"], **roles)
    flow = flow_of(table[["patient_id", "age", "sex", "diagnosis"]], schema)
    finding = flow.judgement["persons: patient_id"]
    assert finding.severity is Severity.STOPS
    assert finding.figure == f"{table['patient_id'].nunique():,} persons"
    (repair,) = finding.repairs
    after, _ = repair.apply(flow.schema, flow.settings)
    assert after.person == "patient_id"
    assert flow.but(after).judgement["persons"].severity is Severity.FINE


def test_codes__are_counted_and_named() -> None:
    rng = np.random.default_rng(5)
    income = rng.integers(900, 4000, N).astype(float)
    income[:30], income[30:37] = -8, -9
    table = people(income=income, visits=np.where(np.arange(N) < 12, 999, rng.integers(0, 30, N)))
    table["grade"] = rng.integers(-5, 6, N)
    table["old"] = np.where(np.arange(N) < 9, 99, rng.integers(20, 98, N))
    findings = {f.key: f for f in flow_of(table).about_table if f.key.startswith("codes")}
    assert set(findings) == {"codes: income", "codes: visits"}
    assert findings["codes: income"].figure == "−9, −8"
    assert findings["codes: income"].sentence.startswith(f"{(income < 0).sum():,} values")
    assert findings["codes: visits"].repairs[0].missing == ("999",)
    assert findings["codes: visits"].repairs[0].options == "--missing=999"
    assert findings["codes: income"].severity is Severity.LOOK
    assert not [f for f in flow_of(table.assign(income=np.nan, visits=1)).about_table if f.key.startswith("codes")]


def test_levels_and_ends_of_one_person() -> None:
    rng = np.random.default_rng(6)
    town = rng.choice(["a", "b", "c"], N).astype(object)
    town[0], town[1] = "Zqwxcanary", "elsewhere"
    table = people(town=town, pay=rng.integers(100, 200, N).astype(float))
    table.loc[7, "pay"], table.loc[9, "age"] = 900.0, 99
    flow = flow_of(table)
    findings = {finding.key: finding for finding in flow.judgement.findings}
    assert findings["levels of one person: town"].figure == f"{(table['town'].value_counts() == 1).sum()} levels"
    assert {"ends of one person: pay", "ends of one person: age"} <= set(findings)
    assert "Zqwxcanary" not in repr(flow.judgement)
    for key in ("levels of one person: town", "ends of one person: age"):
        assert findings[key].severity is Severity.LOOK
    public = flow.but(numbers="public").judgement
    assert "ends of one person: age" not in {finding.key for finding in public.findings}
    assert "Zqwxcanary" not in repr(flow.judgement)
    table["sex"] = table["sex"].where(table.index != 3, "x")
    boxes = flow_of(table).judgement["levels of one person: sex"]
    assert boxes.figure == f"{(table['sex'].value_counts() == 1).sum()} level"
    check_repairs(flow_of(table), boxes)
    table["sex"] = table["sex"].where(table.index != 3, "f")
    twice = pd.concat([table, table.iloc[[0, 1, 7, 9]]], ignore_index=True)
    assert not [f for f in flow_of(twice).about_table if "of one person" in f.key]
    person = twice.assign(pid=[f"{i:04d}" for i in [*range(N), 0, 1, 7, 9]])
    of = Schema.of(person, quasi_identifying=["age", "sex"], sensitive=["diagnosis", "cost"], person="pid")
    again = {finding.key for finding in flow_of(person, of).about_table}
    assert {"levels of one person: town", "ends of one person: pay", "ends of one person: age"} <= again


@pytest.mark.parametrize(("column", "setting"), [("diagnosis", "l"), ("cost", "spread_min")])
def test_shared_values__advice_closes_them(column: str, setting: str) -> None:
    """Everybody of forty shares the diagnosis and the cost: levels ask for l, numbers for a spread."""
    table = people()
    table.loc[table["age"] >= 50, ["diagnosis", "cost"]] = ["ulcer", 990.0]
    flow = flow_of(table, grouping="least", k=8)
    finding = flow.judgement[f"one value: {column}"]
    classes = flow.released.groupby(["age", "sex"], observed=True)[column]
    shared = classes.transform("nunique") == 1
    assert finding.figure == f"{shared.sum():,} rows"
    advice = finding.repairs[0]
    assert advice.settings[0][0] == setting
    check_repairs(flow, finding)
    schema, settings = advice.apply(flow.schema, flow.settings)
    assert flow.but(schema, **settings).verification.passed


def test_promise__is_the_checkers() -> None:
    passed = flow_of(people()).judgement["promise"]
    assert (passed.severity, passed.figure) == (Severity.FINE, "5-anonymous")
    assert not flow_of(people()).gate.failed
    failed = flow_of(people(), generalizer="tiered", k=7)
    assert not failed.verification.passed
    assert failed.judgement["promise"].severity is Severity.LOOK
    assert failed.gate.failed
    assert not failed.gate.open
    assert "Ready" not in failed.gate.verdict


# Reasons.


def test_names_kept_by_mistake__cannot_be_written_without_a_reason(tmp_path: object) -> None:
    table = people(pupil=names())
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis", "cost"])
    result = anonymize(table, schema, k=5, generalizer="uniform")
    keys = [finding.key for finding in result.gate.open]
    assert keys == ["identifying: pupil", "unchanged: pupil"]
    for write in (result.release.to_bytes, lambda: result.release.write(f"{tmp_path}/out.csv")):
        with pytest.raises(GuaranteeError, match="identifying: pupil") as caught:
            write()
        assert "reasons=" in caught.value.remedy
        assert names()[0] not in str(caught.value)
    with pytest.warns(AnonymizerWarning, match="'identifying: other'"):
        part = anonymize(table, schema, k=5, generalizer="uniform", reasons={keys[0]: WHY, "identifying: other": WHY})
    assert part.gate.open
    with pytest.raises(GuaranteeError):
        part.release.to_bytes()
    for reason, says in (
        ({keys[0]: WHY, keys[1]: "two words"}, "says too little"),
        ({"identifing: pupil": WHY}, "no finding 'identifing: pupil'.*The findings are:.*identifying:pupil"),
    ):
        with pytest.raises(ParameterError, match=says):
            anonymize(table, schema, k=5, generalizer="uniform", reasons=reason)
    done = anonymize(table, schema, k=5, generalizer="uniform", reasons=dict.fromkeys(keys, f"  {WHY}\n"))
    assert done.gate.open == ()
    assert done.gate.verdict == "Ready to release: 2 reasons given"
    assert len(done.release.to_bytes().splitlines()) == N + 1
    report = json.loads(done.report.to_json())
    assert [f["reason"] for f in report["gate"]["findings"] if f["key"] in keys] == [WHY, WHY]
    assert WHY not in done.report.to_recipient_json()
    assert "identifying: pupil" not in done.report.to_recipient_json()


def test_reasons__make_nothing_again_but_what_says_them() -> None:
    flow = flow_of(people(pupil=names()))
    flow.compute("report", "leaving")
    other = flow.but(reasons={"identifying: pupil": WHY})
    assert other.release is flow.release
    assert other.verification is flow.verification
    assert not other.ready("report")
    assert other.but(k=6).reasons == {"identifying: pupil": WHY}
    assert [finding.key for finding in flow.gate.open] == ["identifying: pupil", "unchanged: pupil"]
    assert run_flow(other).report.gate["identifying: pupil"].reason == WHY


def test_reason_of_one_role__does_not_outlive_it() -> None:
    flow = flow_of(people(pupil=names(), friend=names()[::-1])).but(reasons={"identifying: pupil": WHY})
    assert {finding.key for finding in flow.gate.open} == {"identifying: friend", "unchanged: pupil, friend"}
    left = flow.but(flow.schema.with_column("pupil", role=Role.IDENTIFYING))
    assert not any(finding.reason for finding in left.gate.findings)


@pytest.mark.parametrize(("text", "enough"), [("", False), ("x y z", False), ("1 2 3 4", False), ("two words", False),
                                              ("für den Beirat", True), ("the board agreed", True)])  # fmt: skip
def test_reason__is_a_few_words(text: str, enough: bool) -> None:
    assert is_reason(text) is enough


def test_verdict__counts() -> None:
    assert [verdict_of(n) for n in (0, 1, 2, 7)] == [
        "Ready to release", "1 risk is open", "2 risks are open",
        "7 risks are open",
    ]  # fmt: skip
    assert verdict_of(2, failed=True) == verdict_of(2)
    assert verdict_of(0, failed=True) == "A check failed: releasing it takes a stated reason"
    finding = Finding("a", Severity.STOPS, "1", "b")
    assert Gate((finding, replace(finding, reason=WHY))).open == (finding,)


def test_key_of_many_columns__is_short_and_theirs_alone() -> None:
    many = tuple(f"column {i}" for i in range(38))
    assert len(names_text(many)) < 100
    assert names_text(many) != names_text((*many[:-1], "other"))
    assert names_text(("a", "b")) == "a, b"


@pytest.mark.parametrize("sample", ["hospital", "visits"])
def test_samples__leave_as_they_are_suggested(sample: str) -> None:
    from anonymizer.reading.profile import suggest

    table = hospital(300, 2) if sample == "hospital" else visits(80, 2)
    flow = flow_of(table, suggest(table))
    if sample == "visits":  # one person owns many rows of some group
        (risk,) = flow.gate.open
        flow = flow.but(**dict(risk.repairs[0].settings))
    assert flow.gate.open == ()


def test_repair__on_the_command_line_is_one_word_a_name() -> None:
    name = "na; touch $(x) 'y'"
    repair = Repair("Leave it out", roles=((name, Role.IDENTIFYING),), settings=(("l", 2),), missing=("n/a $x",))
    assert shlex.split(repair.options) == ["--identifying", name, "--l", "2", "--missing=n/a $x"]
    assert "'na; touch" in repair.options, "quoted, so that a shell runs nothing of it"


def test_kinds__are_those_of_all_findings_that_are_made() -> None:
    """A reason for what is of no kind is refused, so every key that the sources make must be of one."""
    rooms = [*(ROOT / "anonymizer" / "gate").glob("*.py"), *(ROOT / "anonymizer" / "ledger").glob("*.py")]
    texts = {
        node.args[0].value if isinstance(node.args[0], ast.Constant) else node.args[0].values[0].value  # type: ignore[attr-defined]
        for path in rooms
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding" and node.args
        if isinstance(node.args[0], ast.Constant)
        or (isinstance(node.args[0], ast.JoinedStr) and isinstance(node.args[0].values[0], ast.Constant))
    }
    assert len(texts) > 15
    assert [text for text in texts if not kind_of_key(f"{text}:")] == []
    assert not any(map(kind_of_key, ("", "nonsense", "nosuchfinding", 3, "unchanged by me")))
