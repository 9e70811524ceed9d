"""What Copse does without its extras: the rest works, and what needs one says in a sentence which, and how to get it.

One process hides the modules of every extra; that they are all is what its runs show.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from anonymizer.errors import EXTRAS, AnonymizerError, extra_of
from anonymizer.reading.samples import hospital
from anonymizer.version import NAME, how_to_install
from tests.conftest import ROOT

BARE = """
import contextlib, importlib.util, io, json, sys
HIDDEN = set(json.loads(sys.argv[1]))
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in HIDDEN else find(name, *rest)
from anonymizer.cli.main import main
from anonymizer.cli.warm import steps
assert not {"Loading the drawing of trees", "Compiling: private forests"} & {what for what, _ in steps()}
answers = []
for line in json.loads(sys.argv[2]):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main(line.split())
        except SystemExit as ended:
            status = ended.code
    answers.append([status, errors.getvalue()])
print(json.dumps(answers))
"""
ROLES = "-q age,sex -s diagnosis -k 10"
CORE = (
    f"anonymize people.csv {ROLES} -o released.csv -r report.json", "verify released.csv -r report.json",
    "risk people.csv -q age,sex", "disclosure people.csv -q age,sex --target diagnosis --max-depth 2 --no-internal",
    f"anonymize people.csv {ROLES} -o released.parquet", f"anonymize people.csv {ROLES} -o made.xlsx",
    "init people.csv", "app --help",
)  # fmt: skip
"""What works without any extra."""
NEEDS = {
    f"anonymize people.csv {ROLES} --packet packet.zip": "reports",
    f"anonymize people.csv {ROLES} --external report.html": "reports",
    f"anonymize made.xlsx {ROLES} -o released.csv": "office",
    f"anonymize people.csv {ROLES} -o released.sav": "office",
    "forest people.csv --target diagnosis --columns age,sex --domains domains.json": "forest",
    "app": "dashboard",
    "key new key.pem": "reports",
    "anonymize sqlite:///people.db?table=people -o released.csv": "databases",
    "disclosure people.csv -q age,sex --target diagnosis --max-depth 2": "disclosure",
    f"anonymize people.csv {ROLES} --engine dask -o folder": "dask",
}
"""What needs an extra, and which."""


def test_without_extras__the_rest_works_and_each_is_named(tmp_path: Path) -> None:
    table = hospital(200, 6)[["age", "sex", "diagnosis"]]
    table.to_csv(tmp_path / "people.csv", index=False)
    levels = {name: sorted(table[name].unique()) for name in ("sex", "diagnosis")}
    (tmp_path / "domains.json").write_text(json.dumps({"age": {"low": 0, "high": 120}, **levels}), "utf-8")
    hidden = [module for _, modules in EXTRAS.values() for module in modules]
    words = [json.dumps(hidden), json.dumps([*CORE, *NEEDS])]
    answer = subprocess.run(
        [sys.executable, "-c", BARE, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = dict(zip((*CORE, *NEEDS), json.loads(answer.stdout.splitlines()[-1]), strict=True))
    assert {line: answers[line] for line in CORE if answers[line][0] != 0} == {}
    for line, extra in NEEDS.items():
        status, errors = answers[line]
        assert status == 2, (line, errors)
        assert how_to_install(extra) in errors, (line, errors)


def test_extras__are_those_of_the_project_and_of_its_modules() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {*EXTRAS} == {*project} - {"all"}
    for extra, (_, modules) in EXTRAS.items():
        names = {re.split(r"[\[~]", one)[0].replace("-", "_").lower() for one in project[extra]}
        assert names - {NAME.replace("-", "_")} == {*modules}
    (everything,) = project["all"]
    assert set(re.findall(r"\w+", everything.partition("[")[2])) == {"dashboard", "dask", "databases", "login"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_of__a_module_names_the_extra(extra: str) -> None:
    for module in EXTRAS[extra][1]:
        problem = extra_of(ModuleNotFoundError("gone", name=f"{module}.part"))
        assert isinstance(problem, AnonymizerError)
        assert f"[{extra}]" in problem.remedy
    assert extra_of(ModuleNotFoundError("gone", name="another")) is None


def test_how_to_install__keeps_what_is_installed_and_else_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert how_to_install("forest") == 'In the folder of Copse: pip install ".[forest]".'
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    assert how_to_install("forest") == f'Install it: pip install "{NAME}[forest]".'
