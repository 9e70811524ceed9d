"""The whole product behind ``import anonymizer as an``: what commands do, examples of docstrings, a light import."""

import doctest
import inspect
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import anonymizer as an
from anonymizer import api
from anonymizer.cli.main import main
from tests.conftest import ROOT

TABLE = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
ROLES = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis"}
SCHEMA = an.Schema.of(TABLE, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
EXAMPLES = doctest.DocTestParser()


def example_of(name: str) -> doctest.DocTest:
    """The example in a public thing's own docstring; of what has none, that of the module of all names."""
    thing = getattr(api, name)
    text = inspect.getdoc(thing) if callable(thing) else api.__doc__
    return EXAMPLES.get_doctest(text or "", dict(vars(api)), name, None, None)


OF_CONSTANTS = next(name for name in an.__all__ if not callable(getattr(api, name)))


@pytest.mark.parametrize("name", [name for name in an.__all__ if callable(getattr(api, name))] + [OF_CONSTANTS])
def test_examples__run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example_of(name)).failed == 0


def names_without_example(examples: dict[str, str]) -> list[str]:
    """The names whose example does not use them."""
    return [name for name, text in examples.items() if not re.search(rf"\b{re.escape(name)}\b", text)]


def test_every_public_name__has_an_example_that_uses_it() -> None:
    """A class may be used by what makes it, where the example shows it."""
    texts = {name: "".join(one.source for one in example_of(name).examples) for name in an.__all__}
    assert [name for name, text in texts.items() if "import anonymizer as an" not in text] == []
    things = {name: text for name, text in texts.items() if not inspect.isclass(getattr(api, name))}
    assert names_without_example(things) == []
    assert names_without_example({"risk": "an.risk(table)", "other": "an.risk(table)"}) == ["other"]


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


def test_verify__of_a_packet_and_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = an.release(TABLE.head(300), **ROLES, k=10)
    result.packet("out.zip", seconds=0.1)
    assert an.verify("out.zip", original=TABLE.head(300)).passed
    assert not an.verify("out.zip", k=200).passed
    assert not an.verify("out.zip", original=TABLE.head(300).iloc[::-1].assign(age=1)).passed
    with pytest.raises(an.ParameterError, match="A packet's own report says its roles"):
        an.verify("out.zip", SCHEMA)
    TABLE.head(300).to_csv("people.csv", index=False)
    options = "-q age,sex -s diagnosis -k 10 --engine local -o released -r report.json"
    assert main(["anonymize", "people.csv", *options.split()]) == 0
    assert an.verify("released", k=10).to_dict() == an.verify_folder("released", SCHEMA, k=10).to_dict()
    assert an.verify("released", report="report.json").passed
    assert not an.verify("released", k=200).passed
    with pytest.raises(an.ParameterError, match="verify\\(\\) lacks k"):
        an.verify("released")
    with pytest.raises(an.ParameterError, match="A folder is checked alone"):
        an.verify("released", k=10, original=TABLE)
    options = options.replace("-o released -r report.json", "-o other -r other.json").replace("-k 10", "-k 20")
    assert main(["anonymize", "people.csv", *options.split()]) == 0
    with pytest.raises(an.ParameterError, match="released is not what the report speaks of"):
        an.verify("released", report="other.json")


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
