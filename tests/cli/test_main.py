"""The terminal: exit statuses, one line for bad input, JSON for machines, and nothing written that failed unseen."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from anonymizer.cli.main import main
from anonymizer.reading.samples import hospital, visits
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES
from anonymizer.releasing.release import read_release
from tests.conftest import ROOT

ROLES = [
    "--quasi-identifying", "age,sex,postcode,marital_status,admission_date", "--sensitive", "diagnosis,cost",
    "--identifying", "name,email", "--keep", "occupation",
    "--reason=follows: occupation, age=nobody in this table lives",
    "--reason=unchanged: occupation, days_of_stay=nobody in this table lives",
]  # fmt: skip
CHECKED = [*ROLES[:4], "--keep", "occupation"]
TABLE = hospital(300, 6)
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with people.csv in it."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)
    return tmp_path


def files() -> set[str]:
    return {path.name for path in Path().iterdir()} - {"people.csv"}


def make(*more: str) -> int:
    return main(["anonymize", "people.csv", *ROLES, "--k", "5", "--attack-seconds", "0.1", *more])


# When all is well.


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "CSV"])
def test_anonymize__writes_the_release_and_its_report(ending: str, capsys: Capture) -> None:
    assert make("--out", f"out.{ending}", "--report", "report.json") == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert f"Written: out.{ending}" in output.out
    assert "This release is 5-anonymous" in output.out
    released = read_release(f"out.{ending}")
    assert len(released) == len(TABLE)
    assert list(released.columns) == [name for name in TABLE.columns if name not in ("name", "email")]
    sizes = released.groupby(CHECKED[1].split(","), dropna=False, observed=True).size()
    assert sizes.min() >= 5
    report = json.loads(Path("report.json").read_text("utf-8"))
    digest = hashlib.sha256(Path(f"out.{ending}").read_bytes()).hexdigest()
    assert report["provenance"]["output_sha256"] == {ending.lower(): digest}
    assert report["passed"] is True
    assert report["override"] is None


def test_anonymize__the_table_says_what_the_report_says(capsys: Capture) -> None:
    assert make("--report", "report.json") == 0
    lines = {line[:24].strip(): line[24:].split() for line in capsys.readouterr().out.splitlines()[1:8]}
    report = json.loads(Path("report.json").read_text("utf-8"))
    before, after = report["linking_risk"]["before"], report["linking_risk"]["after"]
    assert lines["records"] == [str(before["records"]), str(after["records"])]
    assert lines["groups"] == [str(before["groups"]), str(after["groups"])]
    assert lines["unique rows"] == [str(before["unique_records"]), str(after["unique_records"])]
    assert lines["smallest group"] == [str(before["smallest_group"]), str(after["smallest_group"])]
    assert lines["detail lost (GCP)"] == ["0", f"{report['utility']['gcp']:.3f}"]
    assert report["provenance"]["output_sha256"] == {}
    assert files() == {"report.json"}


def test_json__is_the_report_and_nothing_else(capsys: Capture) -> None:
    assert make("--json", "--report", "report.json") == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == json.loads(Path("report.json").read_text("utf-8"))
    assert output.err == ""


def test_a_sample_needs_no_file(capsys: Capture) -> None:
    words = ["anonymize", "sample:customers", "--quasi-identifying", "Age,Gender,Marital Status", "--k", "3"]
    assert main([*words, "--sensitive", "Bought Medical Product"]) == 0
    assert "3-anonymous" in capsys.readouterr().out


def test_a_saved_schema_stands_for_the_roles(capsys: Capture) -> None:
    assert make("--generalizer", "uniform", "--report", "report.json", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert (
        main(
            [
                "anonymize",
                "people.csv",
                "--schema",
                "report.json",
                "--k",
                "5",
                "--generalizer",
                "uniform",
                "--json",
                *ROLES[-2:],
            ]
        )
        == 0
    )
    second = json.loads(capsys.readouterr().out)
    assert second["provenance"]["schema"] == first["provenance"]["schema"]
    assert second["utility"]["ncp_by_column"] == pytest.approx(first["utility"]["ncp_by_column"])
    assert second["linking_risk"] == first["linking_risk"]


def test_kinds_and_target_reach_the_schema(capsys: Capture) -> None:
    papers = ["--grouping", "error-digression"]
    assert make("--kinds", "age=categorical,admission_date=date", "--target", "cost", *papers, "--json") == 0
    provenance = json.loads(capsys.readouterr().out)["provenance"]
    kinds = {column["name"]: column["kind"] for column in provenance["schema"]["columns"]}
    assert kinds["age"] == "categorical"
    assert kinds["admission_date"] == "date"
    assert provenance["schema"]["target"] == "cost"
    assert provenance["parameters"]["criterion"] == "sse"


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("options", "parameter", "value"),
    [
        (["--l", "2"], "l", 2), (["--entropy-l", "1.5"], "entropy_l", 1.5), (["--t", "0.7"], "t", 0.7),
        (["--rsd-min", "0.1"], "rsd_min", 0.1), (["--spread-min", "0.1"], "spread_min", 0.1),
        (["--max-depth", "3"], "max_depth", 3), (["--min-leaf", "4"], "min_leaf", 4),
        (["--criterion", "gini"], "criterion", "gini"), (["--grouping", "error-risk"], "grouping", "error-risk"),
        (["--significance", "0.01", "--tested", "leaves"], "significance", 0.01),
        (["--grouping", "median-mondrian"], "grouping", "median-mondrian"),
        (["--generalizer", "refine"], "generalizer", "refine"),
        (["--writing", "weighted"], "writing", "weighted"), (["--numbers", "median"], "numbers", "median"),
        (["--generalizer", "concatenate"], "writing", "concatenate"),
    ],
)  # fmt: skip
def test_options_reach_the_run(options: list[str], parameter: str, value: object, capsys: Capture) -> None:
    assert make(*options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["provenance"]["parameters"][parameter] == value


# When a check fails.


LOOSE = [name for name in GENERALIZERS if not GUARANTEES[name].strict]


@pytest.mark.parametrize("generalizer", LOOSE)
def test_a_failing_release__is_not_written_without_a_reason(generalizer: str, capsys: Capture) -> None:
    assert make("--generalizer", generalizer, "--out", "out.csv", "--report", "report.json") == 1
    output = capsys.readouterr().out
    assert "Not written" in output
    assert "FAILED" in output
    assert "not 5-anonymous" in output
    assert files() == {"report.json"}
    report = json.loads(Path("report.json").read_text("utf-8"))
    assert (report["passed"], report["override"], report["provenance"]["output_sha256"]) == (False, None, {})
    assert make("--generalizer", generalizer, "--out", "out.csv", "--override", "   ") == 1
    assert files() == {"report.json"}


@pytest.mark.parametrize("generalizer", LOOSE)
def test_a_failing_release__is_written_with_a_reason_that_the_report_keeps(generalizer: str, capsys: Capture) -> None:
    words = ["--generalizer", generalizer, "--out", "out.csv", "--report", "report.json"]
    assert make(*words, "--override", " agreed with the board ") == 0
    assert "Written: out.csv" in capsys.readouterr().out
    report = json.loads(Path("report.json").read_text("utf-8"))
    assert report["override"] == "agreed with the board"
    digest = hashlib.sha256(Path("out.csv").read_bytes()).hexdigest()
    assert report["provenance"]["output_sha256"] == {"csv": digest}


def test_a_reason_that_was_not_needed__is_not_kept() -> None:
    assert make("--out", "out.csv", "--report", "report.json", "--override", "just in case") == 0
    assert json.loads(Path("report.json").read_text("utf-8"))["override"] is None


# Checking a release.


@pytest.mark.sweep(2)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_verify__agrees_with_the_run(generalizer: str, ending: str, capsys: Capture) -> None:
    status = make("--generalizer", generalizer, "--out", f"out.{ending}", "--override", "a test", "--json")
    made = {check["name"]: check for check in json.loads(capsys.readouterr().out)["verification"]["checks"]}
    assert status == 0, "a check that fails is overridden"
    status = 0 if generalizer not in LOOSE else 1

    alone = ["verify", f"out.{ending}", *CHECKED, "--k", "5", "--json"]
    assert main(alone) == status
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks.pop("file")["passed"] is True
    assert "containment" not in checks
    assert set(checks) < set(made)
    beside = [*alone, "--original", "people.csv"]
    assert main(beside) == status
    checks |= {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks.pop("file")["passed"] is True
    assert set(checks) == set(made)
    for name, check in made.items():
        assert (checks[name]["required"], checks[name]["passed"]) == (check["required"], check["passed"]), name
        assert checks[name]["achieved"] == pytest.approx(check["achieved"], abs=1e-6), name
    assert checks["containment"]["passed"] is True
    assert checks["(k,k)"]["passed"] is True


def test_verify__fails_for_a_larger_k_and_for_limits(capsys: Capture) -> None:
    assert make("--out", "out.csv") == 0
    smallest = read_release("out.csv").groupby(CHECKED[1].split(","), dropna=False, observed=True).size().min()
    for more, status in (
        (["--k", str(smallest)], 0), (["--k", str(smallest + 1)], 1), (["--k", "5", "--l", "11"], 1),
        (["--k", "5", "--entropy-l", "11"], 1), (["--k", "5", "--t", "0"], 1), (["--k", "5", "--t", "1"], 0),
        (["--k", "5", "--rsd-min", "1"], 1), (["--k", "5", "--spread-min", "1"], 1),
    ):  # fmt: skip
        capsys.readouterr()
        assert main(["verify", "out.csv", *CHECKED, *more]) == status, more
        assert ("FAILED" in capsys.readouterr().out) == bool(status)


def test_verify__finds_a_cell_that_was_changed(capsys: Capture) -> None:
    assert make("--out", "out.parquet") == 0
    released = pd.read_parquet("out.parquet")
    for column, cell in (("age", "[300, 301]"), ("diagnosis", "Made up"), ("cost", -1.0)):
        changed = released.copy()
        changed[column] = changed[column].astype(object)
        changed.loc[7, column] = cell
        changed.to_parquet("changed.parquet")
        capsys.readouterr()
        status = main(["verify", "changed.parquet", *CHECKED, "--k", "1", "--original", "people.csv"])
        assert status == 1, column
        assert "does not fit the original" in capsys.readouterr().out


def test_verify__finds_an_identifying_column_and_misses_a_lost_one(capsys: Capture) -> None:
    assert make("--out", "out.parquet", "--report", "report.json") == 0
    released = pd.read_parquet("out.parquet")
    released.assign(email="x@example.invalid").to_parquet("more.parquet")
    released.drop(columns="age").to_parquet("less.parquet")
    capsys.readouterr()
    assert main(["verify", "more.parquet", "--schema", "report.json", "--k", "5"]) == 1
    assert "still has identifying columns: email" in capsys.readouterr().out
    assert main(["verify", "less.parquet", "--schema", "report.json", "--k", "5"]) == 2
    assert "no column 'age'" in capsys.readouterr().err


def test_formula_cells__survive_and_stay_harmless(capsys: Capture) -> None:
    formulas = ["=1+1", "+cmd", "@x", "-2+3", "{a, b}", "[1, 2]", "*", "plain"]
    table = pd.DataFrame(
        {
            "job": [formulas[i // 2 % 8] for i in range(160)],
            "age": [20 + i // 20 for i in range(160)],
            "note": [formulas[i % 8] for i in range(160)],
            "=head": [formulas[i % 3] for i in range(160)],
        }
    )
    table.to_csv("odd.csv", index=False)
    roles = ["--quasi-identifying", "job,age", "--sensitive", "note", "--keep", "=head"]
    assert main(["anonymize", "odd.csv", *roles, "--k", "4", "--out", "out.csv"]) == 0
    lines = Path("out.csv").read_text("utf-8").splitlines()
    risky = tuple('"' + sign for sign in "=+-@")
    assert not [line for line in lines if line.startswith(risky) or any(f",{start}" in line for start in risky)]
    assert any('""=1+1""' in line for line in lines)
    capsys.readouterr()
    assert main(["verify", "out.csv", *roles, "--k", "4", "--original", "odd.csv", "--json"]) == 0
    checks = {check["name"]: check["passed"] for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["containment"] is True


# Bad input: one line, status 2, nothing written.


BAD = {
    "no such file": (["anonymize", "nope.csv", *ROLES], "nope.csv cannot be opened"),
    "a folder": (["anonymize", ".", *ROLES], "is written into a new folder"),
    "not a table": (["anonymize", "noise.bin", *ROLES], "This is not a text file"),
    "no such sample": (["anonymize", "sample:nope", *ROLES], "no sample 'nope'"),
    "no roles": (["anonymize", "people.csv"], "No column is quasi-identifying"),
    "unknown column": (["anonymize", "people.csv", "--quasi-identifying", "age,nope"], "no column 'nope'"),
    "two roles": (["anonymize", "people.csv", "--quasi-identifying", "age", "--sensitive", "age"], "two roles"),
    "insensitive target": (["anonymize", "people.csv", *ROLES, "--target", "age"], "not a sensitive column"),
    "k = 0": (["anonymize", "people.csv", *ROLES, "--k", "0"], "k cannot be 0"),
    "k too large": (["anonymize", "people.csv", *ROLES, "--k", "301"], "300 rows, fewer than k = 301"),
    "k in words": (["anonymize", "people.csv", *ROLES, "--k", "ten"], "--k takes a whole number, not 'ten'."),
    "t above 1": (["anonymize", "people.csv", *ROLES, "--t", "2"], "from 0 to 1"),
    "an impossible l": (["anonymize", "people.csv", *ROLES, "--l", "40"], "l-diversity of diagnosis is 10"),
    "min leaf 0": (["anonymize", "people.csv", *ROLES, "--min-leaf", "0"], "min_leaf cannot be 0"),
    "weight 2": (["anonymize", "people.csv", *ROLES, "--criterion", "blend", "--weight", "2"], "from 0 to 1"),
    "sse of classes": (["anonymize", "people.csv", *ROLES, "--criterion", "sse"], "does not fit the target"),
    "a baseline for numbers": (["anonymize", "people.csv", *ROLES, "--grouping", "regression-mondrian"],
                               "needs a numeric sensitive column"),
    "unknown grouping": (["anonymize", "people.csv", *ROLES, "--grouping", "x"], "cannot be 'x'. Choose among least,"),
    "unknown generalizer": (["anonymize", "people.csv", *ROLES, "--generalizer", "x"], "cannot be 'x'. Choose among"),
    "bad ending": (["anonymize", "people.csv", *ROLES, "--out", "out.txt"], "Use .csv, .csv.gz, .parquet"),
    "no ending": (["anonymize", "people.csv", *ROLES, "--out", "csv"], "Use .csv, .csv.gz, .parquet"),
    "no folder to write to": (["anonymize", "people.csv", *ROLES, "--out", "no/out.csv"], "There is no folder 'no'"),
    "unknown kind": (["anonymize", "people.csv", *ROLES, "--kinds", "age=number"], "age=number"),
    "kind of no column": (["anonymize", "people.csv", *ROLES, "--kinds", "nope=numeric"], "no column 'nope'"),
    "text as numbers": (["anonymize", "people.csv", *ROLES, "--kinds", "sex=numeric"], "'sex'"),
    "unknown encoding": (["anonymize", "people.csv", *ROLES, "--encoding", "utf-99"], "utf-99"),
    "no schema there": (["anonymize", "people.csv", "--schema", "nope.json"], "nope.json cannot be opened"),
    "no schema inside": (["anonymize", "people.csv", "--schema", "people.csv"], "This is no schema"),
    "an unknown command": (["publish", "people.csv"], "There is no command publish."),
    "nothing": ([], "No command is named."),
    "verify no such file": (["verify", "nope.csv", *CHECKED], "cannot be opened"),
    "verify no roles": (["verify", "people.csv"], "No column is quasi-identifying"),
    "verify unknown column": (["verify", "people.csv", "--quasi-identifying", "nope"], "no column 'nope'"),
    "verify k = 0": (["verify", "people.csv", *CHECKED, "--k", "0"], "k cannot be 0"),
    "verify noise": (["verify", "noise.bin", *CHECKED], "copse: "),
    "verify beside nothing": (["verify", "people.csv", *CHECKED, "--original", "nope.csv"], "nope.csv"),
}  # fmt: skip


@pytest.mark.sweep(18)
@pytest.mark.parametrize("name", BAD)
def test_bad_input__is_one_line_and_status_2(name: str, capsys: Capture) -> None:
    Path("noise.bin").write_bytes(bytes(range(256)) * 8)
    words, says = BAD[name]
    try:
        status = main(words)
    except SystemExit as ended:
        status = ended.code
    output = capsys.readouterr()
    assert status == 2
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith("copse")
    assert says in output.err
    assert not [name for name in TABLE["name"].unique() if name in output.err], "it may name the one wrong value"
    assert files() == {"noise.bin"}


def test_help_names_every_choice(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "--help-all"])
    assert ended.value.code == 0
    output = capsys.readouterr().out
    assert [name for name in GENERALIZERS if name not in output] == []


# A process of its own.


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anonymizer", *words]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)


def test_a_process__ends_with_the_status(folder: Path) -> None:
    words = ["--quasi-identifying", "Age,Gender,Marital Status", "--sensitive", "Bought Medical Product", "--k", "3"]
    made = run("anonymize", "sample:customers", *words, "--out", "out.csv")
    assert (made.returncode, made.stderr) == (0, "")
    assert "Written: out.csv" in made.stdout
    failed = run("verify", "out.csv", *words[:4], "--k", "14")
    assert (failed.returncode, failed.stderr) == (1, "")
    wrong = run("verify", "nope.csv", *words)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr
    assert wrong.stderr.count("\n") == 1


def test_two_readings__are_refused_with_the_options_that_say_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "doubt.csv"
    path.write_text("a;sex\n" + "1.234;f\n5.678;m\n" * 10, "utf-8")
    words = ["anonymize", str(path), "--quasi-identifying", "a,sex", "--k", "2"]
    assert main(words) == 2
    message = capsys.readouterr().err
    assert "Say which: --decimal=. or --decimal=,." in message
    assert "\n" not in message.strip()
    assert main([*words, "--decimal=,"]) == 0


# What nobody mentioned.


def test_column_that_nobody_mentioned__is_refused_when_it_tells_people_apart(capsys: Capture) -> None:
    roles = ["--quasi-identifying", "age,sex", "--sensitive", "diagnosis"]
    assert main(["anonymize", "people.csv", *roles, "--k", "5", "--out", "out.csv"]) == 2
    error = capsys.readouterr().err
    assert "'name' looks identifying" in error
    assert "'postcode' looks quasi-identifying" in error
    assert "--keep name,email,postcode,marital_status,occupation,admission_date" in error
    assert not files()
    assert (
        main(
            [
                "anonymize",
                "people.csv",
                *roles,
                "--keep",
                "name,email,postcode,marital_status,occupation,admission_date",
                "--k",
                "5",
                "--out",
                "out.csv",
            ]
        )
        == 1
    )
    assert "identifying:name=WHY" in capsys.readouterr().out
    assert not files()
    assert main(["anonymize", "people.csv", *roles, "--keep", "age", "--k", "5"]) == 2
    assert "'age' cannot be kept as it is" in capsys.readouterr().err


def test_person__is_counted_and_left_out(capsys: Capture) -> None:
    roles = ["--quasi-identifying", "age,sex,postcode,department,visit_date", "--sensitive", "diagnosis,cost"]
    assert main(["anonymize", "sample:visits", *roles, "--identifying", "patient_id"]) == 1
    assert "11,302 rows of 2,000 persons" in capsys.readouterr().out
    make_file = ["anonymize", "sample:visits", *roles, "--person", "patient_id", "--out", "out.csv"]
    assert main(make_file) == 1
    assert "Let nobody own more than 1 in 10 (--share-max 0.1)" in capsys.readouterr().out
    assert not Path("out.csv").exists()
    assert main([*make_file, "--share-max", "0.1"]) == 0
    assert re.search("rows of at least [0-9]+ other persons", capsys.readouterr().out)
    released, table = read_release("out.csv"), visits()
    assert "patient_id" not in released
    assert len(released) == len(table)
    table.to_csv("visits.csv", index=False)
    beside = ["--original", "visits.csv", *roles, "--person", "patient_id", "--k", "5"]
    assert main(["verify", "out.csv", *beside]) == 0
    assert "whatever row is whose" in capsys.readouterr().out


def test_a_regression_that_is_named__is_printed_before_and_after(capsys: Capture) -> None:
    assert make("--regression", "cost ~ age + sex", "--report", "report.json") == 0
    out = capsys.readouterr().out
    assert "Linear regression: cost ~ age + sex; 95% intervals before and after, and their overlap" in out
    named = json.loads(Path("report.json").read_text("utf-8"))["utility"]["weighted"]["regression"]
    assert [term["column"] for term in named["coefficients"]] == ["(constant)", "age", "sex"]
    line = next(line for line in out.splitlines() if line.startswith("  sex = "))
    assert f"{named['coefficients'][2]['interval_overlap']:.4f}" in line
    assert make("--regression", "cost ~ shoe") == 2
    assert "names 'shoe', which is no column" in capsys.readouterr().err


def test_public_cuts__are_kept_and_verified(capsys: Capture) -> None:
    assert make("--bands", "age=0,18,65", "--top", "cost=9000", "--out", "r.csv", "--report", "report.json") == 0
    ages = set(read_release("r.csv")["age"].dropna())
    assert ages <= {"[0, 17]", "[18, 64]", "≥ 65", "[0, 64]", "≥ 18", "≥ 0"} | {f"{{{a}, missing}}" for a in ages}
    notes = json.loads(Path("report.json").read_text("utf-8"))["notes"]
    assert any("'age' is said in 3 public bands" in note for note in notes)
    assert any("public cuts of 'cost' do not count" in note for note in notes)
    assert main(["verify", "r.csv", "--report", "report.json", "--original", "people.csv", "--k", "5"]) == 0
    rows = Path("r.csv").read_text("utf-8").replace('"[18, 64]"', '"[19, 64]"')
    Path("other.csv").write_text(rows, "utf-8")
    assert main(["verify", "other.csv", "--report", "report.json", "--k", "5"]) == 1
    assert "it does not keep to the public cuts" in capsys.readouterr().out
    assert make("--bands", "age=old") == 2
    assert "--bands age=old cannot be read" in capsys.readouterr().err
