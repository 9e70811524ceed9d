"""The whole product behind ``import anonymizer as an``: what commands do, examples of docstrings, a light import."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer import api
from tests.conftest import ROOT

TABLE = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
ROLES = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis"}
SCHEMA = an.Schema.of(TABLE, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
COMMANDS = ("attack", "audit", "disclosure", "evaluate", "expand", "forest", "hierarchy", "release", "risk", "verify")
WITH_EXAMPLE = [name for name in an.__all__ if ">>>" in (inspect.getdoc(getattr(api, name)) or "")]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_examples__run(name: str) -> None:
    thing = getattr(api, name)
    (example,) = (test for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs=dict(vars(api))))
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_commands__have_an_example(name: str) -> None:
    assert name in WITH_EXAMPLE


@pytest.mark.parametrize("name", [name for name in an.__all__ if callable(getattr(api, name))])
def test_public_names__are_described(name: str) -> None:
    assert len((inspect.getdoc(getattr(api, name)) or "").split()) > 5


@pytest.mark.parametrize("name", ["forest", "disclosure", "hierarchy"])
def test_rooms_of_the_same_name__are_called_and_still_rooms(name: str) -> None:
    for first in (f"import anonymizer.{name}", "import anonymizer.api", "import anonymizer"):
        probe = f"{first}\nimport anonymizer as an\ntry: an.{name}()\nexcept an.ParameterError as error: print(error)"
        answer = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
        assert f"{name}() lacks " in answer.stdout
    assert isinstance(sys.modules[f"anonymizer.{name}"], ModuleType)


def test_import__loads_no_room() -> None:
    probe = "import sys, anonymizer; print(*(name for name in sys.modules if name.startswith('anonymizer')))"
    answer = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in answer.stdout.split() if "." in name}
    assert rooms <= {"loop_cache"}, "where machine code lies is chosen before numba is imported, and that is all"


def test_verify__of_a_file_is_that_of_its_report(tmp_path: Path) -> None:
    result = an.release(TABLE, **ROLES, k=20, l=2)
    sha256 = result.release.write(tmp_path / "out.csv")
    (tmp_path / "report.json").write_text(result.report.with_output({"csv": sha256}, "").to_json(), "utf-8")
    by_report = an.verify(tmp_path / "out.csv", report=tmp_path / "report.json")
    assert by_report.passed
    assert by_report.k == 20
    assert by_report["l-diversity of diagnosis"].required == 2 if by_report.get("l-diversity of diagnosis") else True
    assert an.verify(str(tmp_path / "out.csv"), result.schema, k=20, original=TABLE).passed
    assert not an.verify(tmp_path / "out.csv", report=tmp_path / "report.json", k=500).passed
    (tmp_path / "other.csv").write_bytes((tmp_path / "out.csv").read_bytes().replace(b"female", b"male"))
    with pytest.raises(an.ParameterError, match="is not what the report speaks of"):
        an.verify(tmp_path / "other.csv", report=tmp_path / "report.json")


def test_forest__of_public_domains_is_private(tmp_path: Path) -> None:
    domains = {"age": {"low": 0, "high": 120}, "sex": ["female", "male"], "diagnosis": sorted(set(TABLE["diagnosis"]))}
    forest = an.forest(TABLE, "diagnosis", 2.0, domains=domains, cut_share=0.1, max_depth=3)
    assert forest.ledger.spent == pytest.approx(2.0)
    (tmp_path / "d.json").write_text('{"sex": ["female", "male"]}', "utf-8")
    assert an.forest(TABLE, "diagnosis", domains=tmp_path / "d.json", columns="sex").warnings
    with pytest.raises(an.ParameterError, match="from 0 to below 1"):
        an.forest(TABLE, "diagnosis", cut_share=1.0)


def test_disclosure__of_a_result_a_tree_and_a_file(tmp_path: Path) -> None:
    result = an.release(TABLE, **ROLES, k=100)
    encoded = an.encode(TABLE, SCHEMA)
    assert an.disclosure(result.tree).highest_posterior <= an.disclosure(an.grow(encoded), encoded).highest_posterior
    assert an.disclosure(an.grow(encoded), TABLE, SCHEMA).highest_posterior == pytest.approx(
        an.disclosure(an.grow(encoded), encoded).highest_posterior
    )
    with pytest.raises(an.ReadError, match=r"nowhere.json cannot be opened"):
        an.disclosure(tmp_path / "nowhere.json", TABLE, SCHEMA)


def test_risk__knows_a_population() -> None:
    people = pd.concat([TABLE] * 3, ignore_index=True)
    assert an.risk(TABLE, SCHEMA, population=people).k_map == 3
    assert an.risk(TABLE, SCHEMA, fraction=0.1).size == 10 * len(TABLE)


def test_walk__of_a_statistician(tmp_path: Path) -> None:
    """From a file to a packet, as one would type it into a notebook."""
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    reading = an.read_table(tmp_path / "people.csv")
    before = an.linkage_risk(reading.frame, ["age", "sex"])
    result = an.release(reading.frame, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10, rng=1)
    assert result.report.after.highest <= 0.1 < before.highest
    points = result.frontier()
    assert points.loc[points["k"] == 10, "gcp"].min() > 0
    assert result.compare().loc["unique rows", "after"] == 0
    assert result.attack(0.1).outcomes
    result.packet(tmp_path / "out.zip", seconds=0.1)
    rows = an.expand(result.table, result.schema)
    assert np.isclose(rows["weight"].sum(), len(TABLE))
    assert (tmp_path / "out.zip").stat().st_size > 1000
