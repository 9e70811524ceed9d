"""``anonymize --project``: last time's decisions on next year's file, with what changed before anything else."""

import json
from pathlib import Path

from anonymizer.cli.main import main
from anonymizer.reading.samples import hospital
from tests.cli.test_main import Capture, folder, make
from tests.cli.test_packet import members_of

__all__ = ["folder"]


def test_project__of_a_packet_decides_next_years_file(capsys: Capture) -> None:
    assert make("--internal-packet", "own.zip", "--attack-seconds", "0.1") == 0
    Path("last.json").write_bytes(members_of("own.zip")["project.json"])
    table = hospital(320, 9).rename(columns={"postcode": "post_code"}).assign(ward=7)
    table.to_csv("new.csv", index=False)
    capsys.readouterr()
    status = main(["anonymize", "new.csv", "--project", "last.json", "--report", "report.json"])
    lines = capsys.readouterr().out.splitlines()
    assert status in (0, 1)  # the reasons spoke of last year's values, so the gate may ask again
    assert lines[0] == "Roles taken from people.csv. Differences:"
    assert any(line.startswith("renamed?") and "'post_code'" in line for line in lines)
    assert any(line.startswith("new column") and "'ward'" in line for line in lines)
    assert lines.index("") < next(at for at, line in enumerate(lines) if line.startswith("Rows"))
    then_and_now = next(line.split() for line in lines if line.startswith("Rows"))
    assert then_and_now == ["Rows", "300", "320"]
    report = json.loads(Path("report.json").read_text("utf-8"))
    assert report["provenance"]["parameters"]["k"] == 5
    roles = {column["name"]: column["role"] for column in report["provenance"]["schema"]["columns"]}
    assert roles["post_code"] == "quasi-identifying"
    assert roles["email"] == "identifying"
    assert main(["anonymize", "new.csv", "--project", "last.json", "--codebook", "book.csv"]) == 2
    assert main(["anonymize", "new.csv", "--project", "none.json"]) == 2
    assert main(["anonymize", "new.csv", "--project", "new.csv"]) == 2
    assert capsys.readouterr().err.count("\n") == 3
    assert main(["anonymize", "new.csv", "--project", "own.zip"]) in (0, 1)
    assert capsys.readouterr().out.splitlines() == lines, "the packet itself says what its project says"


def test_project__keeps_reasons_that_are_used_again(capsys: Capture) -> None:
    assert make("--internal-packet", "own.zip", "--attack-seconds", "0.1") == 0
    Path("last.json").write_bytes(members_of("own.zip")["project.json"])
    reasons = json.loads(Path("last.json").read_text("utf-8"))["reasons"]
    assert reasons
    assert main(["anonymize", "people.csv", "--project", "last.json", "--report", "same.json"]) in (0, 1)
    capsys.readouterr()
    findings = json.loads(Path("same.json").read_text("utf-8"))["gate"]["findings"]
    assert {one["key"]: one["reason"] for one in findings if one["reason"]} == reasons
    key = next(iter(reasons))
    command = ["anonymize", "people.csv", "--project", "last.json", "--report", "other.json"]
    assert main([*command, f"--reason={key}=another reason for this year"]) in (0, 1)
    findings = json.loads(Path("other.json").read_text("utf-8"))["gate"]["findings"]
    assert {one["key"]: one["reason"] for one in findings}[key] == "another reason for this year"
    capsys.readouterr()
    assert main([*command, "--identifying", "occupation"]) in (0, 1)
    assert "No finding is called 'follows: occupation, age'" in capsys.readouterr().err


def test_project__of_a_packet_for_the_recipient_is_one_line(capsys: Capture) -> None:
    assert make("--packet", "out.zip", "--attack-seconds", "0.1") == 0
    capsys.readouterr()
    assert main(["anonymize", "people.csv", "--project", "out.zip"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "This packet has no project" in error


def test_codebook__decides_what_no_option_says(capsys: Capture) -> None:
    book = ["name,label,role,kind,domain", "age,Age in years,quasi-identifying,numeric,0..120"]
    roles = {"sex": "quasi-identifying", "postcode": "quasi-identifying", "diagnosis": "sensitive"}
    book += [f"{name},,{role},," for name, role in roles.items()] + ["name,,identifying,,", "email,,identifying,,"]
    Path("book.csv").write_text("\n".join([*book, "nobody,,sensitive,,"]) + "\n", "utf-8")
    options = ["--codebook", "book.csv", "--keep", "occupation,marital_status,admission_date", "--k", "5"]
    assert main(["anonymize", "people.csv", *options, "--report", "report.json", "--sensitive", "cost"]) in (0, 1)
    text = capsys.readouterr().err
    assert "The table has no column 'nobody', which the codebook describes." in text
    assert "The codebook says nothing of" in text
    columns = json.loads(Path("report.json").read_text("utf-8"))["provenance"]["schema"]["columns"]
    of = {column["name"]: column for column in columns}
    assert of["age"]["domain"] == [0.0, 120.0]
    assert {name: of[name]["role"] for name in (*roles, "cost", "email")} == {
        **roles, "cost": "sensitive", "email": "identifying",
    }  # fmt: skip
    for more in (["--codebook", "none.csv"], ["--codebook", "people.csv"], ["--codebook", "book.csv", "--schema", "x"]):
        assert main(["anonymize", "people.csv", *more]) == 2
    assert capsys.readouterr().err.count("\n") == 3
