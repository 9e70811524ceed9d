"""Killed in the middle of a write, whichever: what stood under the name is whole, and half a file stands nowhere."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from anonymizer.cli.commands import commands
from anonymizer.cli.main import main
from anonymizer.releasing.files import write_file
from tests.conftest import ROOT
from tests.waiting import PATIENCE

ROWS = "age,sex,pay\n" + "".join(f"{20 + n % 9},{'fm'[n % 2]},{['low', 'high'][n % 3 > 0]}\n" for n in range(60))
ROLES = ["--quasi-identifying", "age,sex", "--sensitive", "pay"]
RUN = ["anonymize", "people.csv", *ROLES, "--k", "3", "--attack-seconds", "1"]
COMPARISON = ["evaluate", "people.csv", *ROLES, "--k", "3", "--folds", "2", "--groupings", "least"]
TREE = ["disclosure", "people.csv", *ROLES[:2], "--target", "pay", "--max-depth", "2"]
FOREST = ["forest", "people.csv", "--target", "pay"]
HIERARCHY = ["hierarchy", "people.csv", "--codebook", "codes.csv", "--bands", "age=20,24,28", "--column", "age"]
WRITES = [
    (*RUN, "--out", "x.csv"), (*RUN, "--out", "x.csv.gz"), (*RUN, "--out", "x.parquet"), (*RUN, "--report", "x.json"),
    (*RUN, "--internal", "x.html"), (*RUN, "--internal", "x.pdf"), (*RUN, "--external", "x.html"),
    (*RUN, "--external", "x.pdf"), (*RUN, "--packet", "x.zip"), (*RUN, "--internal-packet", "x.zip"),
    (*COMPARISON, "--out", "x.csv"), (*COMPARISON, "--plot", "x.html"),
    (*TREE, "--out", "x.json"), (*TREE, "--out", "x.txt"), (*TREE, "--out", "x.pmml"),
    (*FOREST, "--rules", "x.json"), (*FOREST, "--rules", "x.csv"), (*FOREST, "--rules", "x.txt"),
    (*HIERARCHY, "--out", "x.csv"), ("init", "people.csv", "--out", "copse.toml"),
]  # fmt: skip
"""A command for each file that any command writes; the last two words say which."""
LIMIT = 40
"""Bytes of a file after which the system kills the program that writes."""
KILLER = f"""
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".part"):
        resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))


sys.addaudithook(limit)
"""
"""Runs before anything else: what writes more than the limit is killed in that very call, once the half file is open.
(Memory that is shared as a file, as the layout of drawings takes it, is limited, too.)"""


def name_of(write: tuple[str, ...]) -> str:
    return f"{write[0]} {write[-2]} {write[-1]}"


def test_every_write__is_tried() -> None:
    choices = next(action.choices for action in commands()._actions if isinstance(action.choices, dict))
    options = {
        (name, f"--{one.replace('_', '-')}")
        for name, parser in choices.items()
        for one in parser.get_default("writes") or ()
        if name != "release"  # it is anonymize by another name
    }
    assert options == {(write[0], write[-2]) for write in WRITES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "codes.csv").write_text("name,role,kind,domain\nage,quasi-identifying,numeric,20..30\n")
    (tmp_path / "sitecustomize.py").write_text(KILLER)
    return tmp_path


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit of the size of files")
@pytest.mark.sweep(1)
@pytest.mark.parametrize("write", WRITES, ids=name_of)
def test_kill__in_the_middle_of_a_write(folder: Path, write: tuple[str, ...]) -> None:
    path = folder / write[-1]
    if not (is_new := write[0] == "init"):  # which never writes over a file
        path.write_text("old")
    paths = os.pathsep.join((str(folder), str(ROOT)))
    answer = subprocess.run(
        [sys.executable, "-m", "anonymizer", *write], cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, check=False
    )  # fmt: skip
    assert answer.returncode == -signal.SIGXFSZ, answer.stderr
    halves = [half for half in folder.iterdir() if half.suffix == ".part"]
    assert [half.stat().st_size for half in halves] == [LIMIT], "it was killed elsewhere"
    assert not path.exists() if is_new else path.read_text() == "old"
    write_file(path, "new")
    assert not list(folder.glob(".*.part"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipe__gets_the_file_and_stays_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    os.mkfifo("pipe.json")
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(Path("pipe.json").read_text("utf-8")))
    reader.start()
    assert main([*RUN, "--report", "pipe.json", "--out", "x.csv"]) == 0
    reader.join(PATIENCE)
    assert texts[0].startswith("{")
    assert stat.S_ISFIFO(os.stat("pipe.json").st_mode)
