"""What is printed as JSON is what its published schema says, layout and all; so is an error."""

import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from anonymizer.cli.examples import OF_RELEASE, ROLES
from anonymizer.cli.main import main
from anonymizer.cli.output import LAYOUTS
from anonymizer.cli.schemas import FOLDER, names_there
from anonymizer.partitions import folder as folders
from anonymizer.provenance import report as reports
from anonymizer.reading.samples import hospital
from tests.cli.test_main import Capture

SMALL = (
    "-q age,sex -s diagnosis -i name,email,postcode --keep marital_status,occupation,admission_date,days_of_stay,cost"
)
TREE = "disclosure people.csv -q age,marital_status --target sex --max-depth 2"
LINES = {
    "report": [f"anonymize people.csv {ROLES} -k 10 -o again.csv --json",
               f"anonymize people.csv {ROLES} -k 10 --l 2 --generalizer tiered --risk-max 0.5 --fraction 0.1 --json",
               f"anonymize people.csv {SMALL} -k 10 --json", f"anonymize pieces {ROLES} -k 10 -o folder --json"],
    "check": [f"anonymize people.csv {SMALL} -k 10 --check --json"],
    "verify": ["verify released.csv -r report.json --original people.csv --json",
               f"verify released.csv {OF_RELEASE} -k 10 --json", "verify pieces-released --json",
               f"verify released.csv second.csv {OF_RELEASE} -k 5 --json", "verify packet.zip --json",
               f"verify released.csv second.csv {OF_RELEASE} --original people.csv --l 2 --json"],
    "risk": ["risk people.csv -q age,sex,postcode --fraction 0.05 --riskiest 2 --json"],
    "evaluate": ["evaluate people.csv -q age,sex -s diagnosis -k 5 --folds 2 --against least/uniform --groupings least"
                 " --json"],
    "forest": ["forest people.csv --target diagnosis --columns age,sex --json",
               "forest people.csv --target diagnosis --columns age,sex --mode scorecard --json",
               "forest people.csv --target diagnosis --columns age,sex --folds 2 --hold-out 0.2 --json"],
    "audit": ["audit --mode strict --runs 200 --json"],
    "diff": ["diff copse.toml copse.toml --json"],
    "attack": [f"attack released.csv second.csv {OF_RELEASE} -k 10 --json",
               f"attack released.csv second.csv {OF_RELEASE} -k 10 --original people.csv --json"],
    "disclosure": [f"{TREE} --compare --json", f"{TREE} --bound 0.9 --exact --json",
                   f"{TREE} --bound 0.6 --repair prune --json", f"{TREE} --tree tree.json --ledger register --json",
                   f"{TREE} --ledger register --no-internal -o second.json --json"],
    "error": ["risk nowhere.csv --json", "risk people.csv -q nope --json", "risk people.csv --what --json",
              "anonymize people.csv --generalizer packs --json"],
}  # fmt: skip
"""What prints each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, two releases of it, a packet, a plan, and a folder of pieces with its release."""
    folder = tmp_path_factory.mktemp("schemas")
    table = hospital(300, 6)
    table.to_csv(folder / "people.csv", index=False)
    (folder / "pieces").mkdir()
    table.to_parquet(folder / "pieces" / "part.parquet", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "init people.csv -k 5 -i name,email -o copse.toml",
            f"anonymize people.csv {ROLES} -k 10 -o released.csv -r report.json",
            f"anonymize people.csv {ROLES} -k 15 --packet packet.zip -o second.csv --attack-seconds 0.1",
            f"anonymize pieces {ROLES} -k 10 -o pieces-released",
            "ledger new register",
            f"{TREE} --no-internal -o tree.json",
        ):
            assert main(shlex.split(line)) == 0, line
    return folder


def errors(name: str, value: Any) -> list[str]:
    """How a value is not what a schema says; nothing where it is."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    return [
        f"{list(one.absolute_path)}: {one.message[:300]}" for one in Draft202012Validator(schema).iter_errors(value)
    ]


@pytest.mark.sweep(8)
@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in LINES.items() for line in lines])
def test_json__is_what_its_schema_says(
    name: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(folder)
    try:
        status = main(shlex.split(line))
    except SystemExit as ended:
        status = ended.code
    output = capsys.readouterr()
    assert (status == 2) is (name == "error"), output.err
    value = json.loads(output.out)
    assert value["layout"] == LAYOUTS[name]
    assert errors(name, value) == []


def test_manifests_and_reports__are_what_their_schemas_say(folder: Path) -> None:
    assert errors("manifest", json.loads((folder / "pieces-released" / "manifest.json").read_text("utf-8"))) == []
    with zipfile.ZipFile(folder / "packet.zip") as packet:
        assert errors("manifest", json.loads(packet.read("manifest.json"))) == []
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert errors("report", report) == []
    assert errors("report", report | {"more": 1}), "a field that nobody described is seen"
    assert errors("report", {name: value for name, value in report.items() if name != "layout"})


def test_schemas__are_schemas_of_every_layout() -> None:
    assert {*names_there()} == {*LAYOUTS}
    assert set(LINES) == {*names_there()} - {"manifest"}
    assert (LAYOUTS["report"], LAYOUTS["manifest"]) == (reports.LAYOUT, folders.LAYOUT)
    for name in names_there():
        schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
        Draft202012Validator.check_schema(schema)
        assert f'"const": {LAYOUTS[name]}' in json.dumps(schema)


def test_schema__is_printed(capsys: Capture) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == names_there()
    assert main(["schema", "report"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("The report")
    assert main(["schema", "reports"]) == 2
    assert "Did you mean report?" in capsys.readouterr().err


def test_quiet__prints_the_result_and_errors_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(folder)
    line = ["verify", "released.csv", "-r", "report.json", "-k", "20"]
    assert main(line) == 1
    assert "instead of the report's" in capsys.readouterr().err
    assert main([*line, "--quiet"]) == 1
    output = capsys.readouterr()
    assert output.err == ""
    assert "FAILED" in output.out
    assert main(["risk", "people.csv", "-q", "nope", "--quiet"]) == 2
    assert "There is no column 'nope'" in capsys.readouterr().err
