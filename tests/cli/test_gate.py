"""The gate from the terminal: names kept by mistake are not written without a reason, and --check writes nothing."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.cli.inputs import require_roles
from anonymizer.cli.main import main
from anonymizer.errors import SchemaError
from anonymizer.gate.finding import Finding, Gate, Severity, kind_of_key
from anonymizer.reading.samples import hospital, visits
from anonymizer.schema import Schema

WHY = "agreed with Zqwxcanary on paper"
ROLES = [
    "--quasi-identifying", "age,sex,admission_date", "--sensitive", "diagnosis,cost,days_of_stay",
    "--identifying", "email,postcode,marital_status,occupation", "--keep", "name", "--generalizer", "uniform",
]  # fmt: skip
KEYS = ["identifying: name", "unchanged: name"]
NAMES = ["identifying:name", "unchanged"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with people.csv in it."""
    monkeypatch.chdir(tmp_path)
    hospital(300, 6).to_csv("people.csv", index=False)
    return tmp_path


def make(*more: str) -> int:
    return main(["anonymize", "people.csv", *ROLES, "--k", "5", "--attack-seconds", "0.1", *more])


def files() -> set[str]:
    return {path.name for path in Path().iterdir()} - {"people.csv"}


def test_names_kept_by_mistake__are_written_for_a_typed_reason_only(capsys: Capture) -> None:
    assert make("--out", "out.csv", "--internal", "in.html", "--attack-seconds", "0.1") == 1
    output = capsys.readouterr().out
    assert not files()
    assert "“name” is released unchanged, and its values look like names of people." in output
    assert "2 risks are open." in output
    assert "Not written: not ready to release." in output
    options = [shlex.split(line.partition("; or ")[2])[0] for line in output.splitlines() if "=WHY" in line]
    assert options == [f"--reason={name}=WHY" for name in NAMES]
    assert make("--out", "out.csv", options[0].replace("WHY", WHY)) == 1
    assert not files()
    reasons = [option.replace("WHY", WHY) for option in options]
    capsys.readouterr()
    assert make("--out", "out.csv", "--report", "report.json", *reasons) == 0
    assert "Written: out.csv" in capsys.readouterr().out
    assert files() == {"out.csv", "report.json"}
    gate = json.loads(Path("report.json").read_text("utf-8"))["gate"]
    assert {f["key"]: f["reason"] for f in gate["findings"] if f["reason"]} == dict.fromkeys(KEYS, WHY)


def test_override__opens_no_gate() -> None:
    assert make("--out", "out.csv", "--override", "the board has agreed") == 1
    assert not files()


def test_check__prints_every_finding_and_writes_nothing(capsys: Capture) -> None:
    assert make("--check", "--out", "out.csv", "--report", "report.json") == 1
    output = capsys.readouterr().out
    assert not files()
    assert [line.split()[0] for line in output.splitlines() if line.startswith(("STOPS", "look", "ok"))][0] == "STOPS"
    assert "Leave it out (--identifying name)" in output
    assert "5-anonymous" in output
    assert make("--check", "--json") == 1
    described = json.loads(capsys.readouterr().out)
    assert described["passed"] is False
    assert [f["key"] for f in described["findings"] if f["severity"] == "stands in the way"] == KEYS
    reasons = [f"--reason={KEYS[0]}={WHY}", f"--reason={NAMES[1]}={WHY}"]
    assert make("--check", *reasons) == 0
    assert "Ready to release: 2 reasons given." in capsys.readouterr().out
    words = [word.replace("email,", "name,email,") for word in ROLES if word not in ("--keep", "name")]
    assert main(["anonymize", "people.csv", *words, "--k", "5", "--check"]) == 0


@pytest.mark.parametrize(
    ("reason", "says"), [("no key at all here", "Write it as NAME=TEXT"), (f"{KEYS[0]}=too short", "says too little")]
)
def test_reason_that_is_none__is_refused(reason: str, says: str, capsys: Capture) -> None:
    assert make("--out", "out.csv", "--reason", reason) == 2
    assert says in capsys.readouterr().err
    assert not files()


def test_reason_for_nothing__is_said(capsys: Capture) -> None:
    assert make("--check", f"--reason=identifying: street={WHY}") == 1
    error = capsys.readouterr().err
    assert "'identifying: street'" in error
    assert WHY not in error


def test_reason_for_what_is_never_found__is_refused_with_the_keys_that_there_are(capsys: Capture) -> None:
    assert make("--out", "out.csv", f"--reason=nosuchfinding={WHY}") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no finding 'nosuchfinding'" in error
    assert all(name in error for name in NAMES)
    assert WHY not in error
    assert not files()


def test_persons_with_several_rows__stop(capsys: Capture) -> None:
    visits(60, 1).to_csv("visits.csv", index=False)
    roles = ["--quasi-identifying", "age,sex,postcode,department,visit_date", "--sensitive", "diagnosis,cost"]
    assert main(["anonymize", "visits.csv", *roles, "--identifying", "patient_id", "--k", "3", "--out", "out.csv"]) == 1
    assert "Count persons (--person patient_id)" in capsys.readouterr().out
    assert "out.csv" not in files()


def test_refusal__names_columns_as_a_shell_takes_them() -> None:
    name = "e-mail $(x); y"
    table = pd.DataFrame({"age": [20, 30], name: ["anna@example.org", "ben@example.org"]})
    with pytest.raises(SchemaError) as refusal:
        require_roles(table, Schema.of(table, quasi_identifying=["age"]), [])
    assert shlex.split(refusal.value.remedy.partition("--keep ")[2].rstrip(".")) == [name]


def test_treated_column__is_released_treated_and_checked(capsys: Capture) -> None:
    left = ["--identifying", "name,email,postcode,marital_status,occupation", "--generalizer", "uniform", "--k", "5"]
    words = ["anonymize", "people.csv", *ROLES[:4], *left, "--treat", "cost=round:500", "--treat", "diagnosis=rare:20"]
    assert main([*words, "--out", "out.csv", "--report", "report.json"]) == 0
    released = pd.read_csv("out.csv")
    assert (released["cost"] % 500 == 0).all()
    assert released["diagnosis"].value_counts().min() >= 20
    check = ["verify", "out.csv", "--schema", "report.json", "--k", "5"]
    assert main([*check, "--original", "people.csv"]) == 0
    capsys.readouterr()
    assert main([*words, "--treat", "age=round:5", "--out", "no.csv"]) == 2
    assert "'age' is quasi-identifying: it is not treated" in capsys.readouterr().err
    assert main([*words, "--treat", "cost=month", "--out", "no.csv"]) == 2
    assert "cannot be treated by 'month'" in capsys.readouterr().err


def test_dirty_ids__stop_and_the_options_that_are_named_go_through(capsys: Capture) -> None:
    table = visits(60, 1)
    turn = np.random.default_rng(1).integers(0, 5, len(table))
    ids = table["patient_id"].astype(str)
    table["patient_id"] = np.select([turn == 1, turn == 2], [" " + ids + ".", "Not known"], ids)
    table.to_csv("visits.csv", index=False)
    roles = ["--quasi-identifying", "age,sex,postcode,department,visit_date", "--sensitive", "diagnosis,cost"]
    how = ["anonymize", "visits.csv", *roles, "--person", "patient_id", "--k", "3", "--out", "out.csv"]
    assert main(how) == 1
    out, error = capsys.readouterr()
    assert "Count them as one (--same-ids)" in out
    assert "These are nobody ('--nobody=Not known')" in out
    assert not any(text in out + error for text in ids)
    more = ["--same-ids", "--nobody=not known", "--share-max", "0.2", "--prosecutor-limit", "5"]
    assert main([*how, *more, "--report", "report.json"]) == 0
    column = next(
        column
        for column in json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema"]["columns"]
        if column["name"] == "patient_id"
    )
    assert (column["alike"], column["nobody"]) == (True, ["not known"])
    assert main(["anonymize", "visits.csv", *roles, "--identifying", "patient_id", "--same-ids"]) == 2
    assert "none does" in capsys.readouterr().err


def test_harmless_level__is_no_value_for_l(capsys: Capture) -> None:
    level = hospital(300, 6)["diagnosis"].value_counts().index[0]
    assert make("--l", "2", "--harmless", f"diagnosis={level}", "--override", WHY, "--json") in (0, 1)
    assert "distinct l-diversity of diagnosis" in capsys.readouterr().out
    assert make("--harmless", "age=30") == 2
    assert "'age' has no sensitive levels" in capsys.readouterr().err


def test_last_reason__counts_however_it_is_said(capsys: Capture) -> None:
    first, last = f"{KEYS[0]}=an older reason of ours", f"{NAMES[0]}=a newer reason of ours"
    for reasons, wins in (((first, last), "a newer"), ((last, first), "an older")):
        make("--check", "--json", *(f"--reason={reason}" for reason in reasons))
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {one["name"]: one["reason"] for one in findings}[NAMES[0]] == f"{wins} reason of ours"


def test_names_of_findings__stay_and_are_short() -> None:
    for key, columns, name in (
        ("identifying: name", ("name",), "identifying:name"),
        ("unchanged: name, age", ("name", "age"), "unchanged"),
        ("follows: job, age", ("job", "age"), "follows:job,age"),
        ("computed: a, b, c", ("a, b", "c"), 'computed:"a, b"'),
        ("together: 3 of 100 below 10 with out.csv", (), "together:below"),
        ("together: limits with out.csv: l", (), "together:limits"),
        ("together: not counted with entry 4 of the ledger", (), "together:not-counted"),
        ("ends of one person: age", ("age",), "ends-of-one-person:age"),
        ("repeats name: note", ("note", "name"), "repeats:note,name"),
        ("risk", ("age",), "risk"),
    ):
        finding = Finding(key, Severity.STOPS, "", "", columns=columns)
        assert finding.name == name
        assert kind_of_key(name) == kind_of_key(key)
        gate = Gate((finding,))
        assert gate.unused({name: WHY}) == gate.unused({key: WHY}) == []
        assert gate.with_reasons({name: WHY}).open == gate.with_reasons({key: WHY}).open == ()
