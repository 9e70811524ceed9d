"""What Copse is made of, and what is known of it."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

import run
import supply
from tests.conftest import ROOT
from tests.test_house_rules import pins


def schema(name: str) -> Any:
    """A schema of CycloneDX, as its own library brings it."""
    return json.loads((files("cyclonedx.schema._res") / name).read_text("utf-8"))


def test_bill__is_of_the_form() -> None:
    """The schema of CycloneDX 1.6 itself, with the licences that SPDX lists."""
    parts = ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    registry = Registry().with_resources((part["$id"], Resource.from_contents(part)) for part in map(schema, parts))
    checker = jsonschema.Draft7Validator(schema("bom-1.6.SNAPSHOT.schema.json"), registry=registry)
    checker.validate(supply.bill())
    assert not checker.is_valid({**supply.bill(), "components": [{"name": "no type"}]})


def test_bill__has_every_package_of_the_lock_with_every_digest() -> None:
    lock = (ROOT / "requirements.txt").read_text("utf-8")
    components = supply.bill()["components"]
    assert {(part["name"], part["version"]) for part in components} == pins(lock)
    digests = [entry["content"] for part in components for entry in part["externalReferences"][0]["hashes"]]
    assert len(digests) == lock.count("--hash=sha256:")
    numpy = [part["properties"][0]["value"] for part in components if part["name"] == "numpy"]
    assert len(numpy) == len(set(numpy)) == 2, "one for each range of Pythons"


def test_bill__is_printed_without_anything_installed() -> None:
    answer = subprocess.run(
        [sys.executable, "-S", "run.py", "sbom"], cwd=ROOT, capture_output=True, text=True, check=True,
        encoding="utf-8",
    )  # fmt: skip
    assert json.loads(answer.stdout) == supply.bill()


@pytest.mark.skipif(os.name != "posix", reason="pipes that break differ elsewhere")
@pytest.mark.parametrize("command", ["sbom", "help"])
def test_closed_pipe__ends_quietly(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        answer = subprocess.run(
            [sys.executable, "run.py", command], cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (answer.returncode, answer.stderr) == (run.PIPE_CLOSED, b"")


FLAW = {"id": "PYSEC-2026-1", "fix_versions": ["2.0"], "aliases": [], "description": "…"}


@pytest.mark.parametrize(
    ("packages", "status", "words"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "No weakness is known of the 1 packages"),
        ([{"name": "a", "version": "1", "vulns": [FLAW]}], 1, "a 1: PYSEC-2026-1, fixed in 2.0"),
        ([{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not there"}], 1, "b: not there"),
        ([{"name": "a", "skip_reason": "not there"}], 0, "they were not audited"),
    ],
)
def test_judge__fails_on_a_known_weakness(packages: list[dict[str, Any]], status: int, words: str) -> None:
    answer = supply.judge(json.dumps({"dependencies": packages, "fixes": []}), "")
    assert answer[0] == status
    assert words in answer[1]


def test_judge__a_fault_of_the_look_up_is_no_pass() -> None:
    assert supply.judge("", "ERROR: the requirement file is damaged")[0] == 1


def test_audit__passes_with_a_sentence_where_nobody_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    assert "PIP_AUDIT_REQUIREMENTS" not in os.environ
    assert supply.audit(sys.executable) == 0
    assert capsys.readouterr().out == "No index is reachable: the packages were not audited.\n"
