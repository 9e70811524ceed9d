"""Nothing that leaves carries a digest of the original: who knows most of a table could try values until it fits."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from anonymizer.cli.main import main
from anonymizer.provenance.claim import claim_from
from anonymizer.reading.files import read_table
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.settings import Settings
from anonymizer.whatif.project import Project, outward, to_json
from anonymizer.whatif.scenarios import Scenario, basis_of

TABLE = hospital(200, 5)
ROLES = [
    "--quasi-identifying",
    "age,sex",
    "--sensitive",
    "diagnosis",
    "--identifying",
    "name,email,postcode,marital_status,occupation,admission_date,days_of_stay,cost",
]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("people.csv", index=False)
    return tmp_path


def canaries() -> list[bytes]:
    """What must be nowhere: digests of the original, of every usual kind, as they could be written."""
    data = Path("people.csv").read_bytes()
    raw = [hashlib.new(name, data).digest() for name in ("sha256", "sha1", "md5", "sha512", "blake2b", "sha3_256")]
    basis = basis_of(suggest(TABLE), f"{hashlib.sha256(data).hexdigest()} {read_table('people.csv').options!r}")
    ways = [way for one in raw for way in (one, one.hex().encode(), one.hex().upper().encode(), base64.b64encode(one))]
    return [*ways, basis.encode()]


def test_no_output_carries_a_digest_of_the_original(capsys: Capture) -> None:
    tree = ["people.csv", *ROLES[:2]]
    outputs = ["--out", "out.parquet", "--report", "internal.json"]
    for audience in ("internal", "external"):
        reports = [f"--{audience}", f"{audience}-report.html"]
        assert main(["anonymize", "people.csv", *ROLES, "--k", "5", *outputs, *reports, "--attack-seconds", "0.1"]) == 0
    assert main(["anonymize", "people.csv", *ROLES, "--k", "5", "--json", "--external", "for-them.json"]) == 0
    assert main(["disclosure", *tree, "--target", "diagnosis", "--max-depth", "2", "--json"]) in (0, 1)
    said_all = capsys.readouterr()
    reading = read_table("people.csv")
    scenario = Scenario(
        "a", dict(Settings()), {}, "", basis_of(suggest(TABLE), f"{reading.sha256} {reading.options!r}")
    )
    project = Project(
        suggest(TABLE), dict(Settings()), (scenario,), table_name="people.csv", table_sha256=reading.sha256
    )
    Path("project.json").write_text(to_json(outward(project)), "utf-8")
    files = {path.name: path.read_bytes() for path in Path().iterdir() if path.name != "people.csv"}
    assert len(files) == 6
    files["terminal"] = (said_all.out + said_all.err).encode()
    for name, content in files.items():
        assert not [canary for canary in canaries() if canary in content], name


def test_a_forest_carries_none(capsys: Capture) -> None:
    table = hospital(300, 6)[["sex", "marital_status", "diagnosis"]]
    table.to_csv("people.csv", index=False)
    order = ["forest", "people.csv", "--target", "diagnosis", "--mode", "paper", "--json", "--rules", "rules.json"]
    assert main(order) == 0
    content = capsys.readouterr().out.encode() + Path("rules.json").read_bytes()
    assert b"sha256" not in content
    assert not [canary for canary in canaries() if canary in content]


def test_the_commitment_binds_where_its_key_is(capsys: Capture) -> None:
    made = ["--k", "5", "--out", "out.csv", "--report", "internal.json", "--external", "for-them.json"]
    assert main(["anonymize", "people.csv", *ROLES, *made, "--attack-seconds", "0.1"]) == 0
    internal, external = claim_from("internal.json"), claim_from("for-them.json")
    assert external.key == ""
    assert external.commitment == internal.commitment
    assert internal.key not in Path("for-them.json").read_text("utf-8")
    assert "people.csv" not in Path("for-them.json").read_text("utf-8")
    capsys.readouterr()
    check = ["verify", "out.csv", "--k", "5", "--original", "people.csv", "--report"]
    assert main([*check, "internal.json"]) == 0
    assert "This is the original that the report speaks of." in capsys.readouterr().out
    assert main([*check, "for-them.json"]) == 0
    assert "the key in the internal report" in capsys.readouterr().out
    Path("people.csv").write_bytes(Path("people.csv").read_bytes() + b"\n")
    assert main([*check, "internal.json", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["is_the_reported_original"] is False
