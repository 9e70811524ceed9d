"""Tables in pieces that unfold far: one sentence, exit status 2, and nothing of it left."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.partitions.folder import Part, write_manifest
from anonymizer.reading.options import MIB
from tests.conftest import ROOT, run_python
from tests.hostile.bombs import plain_text_parquet
from tests.partitions.tables import people
from tests.waiting import wait_until

ROLES = ["--quasi-identifying", "age,income,born,job,town", "--sensitive", "diagnosis"]
RUN = ["anonymize", "in", *ROLES, "--keep", "ward", "--grouping", "least", "--generalizer", "uniform", "--out", "out"]
SAY = """
import contextlib, io, json, resource, sys
from anonymizer.cli.main import main

words = io.StringIO()
with contextlib.redirect_stderr(words):
    status = main(json.loads(sys.argv[1]))
lines = open("/proc/self/status").read().splitlines()  # its own, where usage begins with that of who started it
own = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([status, words.getvalue(), own, children]))
"""

WORKER = """
import json, resource
import anonymizer as an
from anonymizer.engines import anonymize_files

schema = an.Schema((an.Column("a", an.Role.QUASI_IDENTIFYING, an.Kind.CATEGORICAL),))
cluster = {"workers": 1, "memory": "400MiB", "spill": "spill"}
try:
    anonymize_files("in", schema, "out", engine="dask", cluster=cluster, generalizer="uniform")
except an.AnonymizerError as error:
    print(json.dumps([str(error), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    people(1500).to_parquet("in/0.parquet", index=False)
    return tmp_path


def say(folder: Path, *command: str) -> str:
    """What a command says that ends with one sentence, in little memory and with nothing left."""
    before = sorted(folder.rglob("*"))
    status, words, own, children = json.loads(run_python(["-c", SAY, json.dumps(command)], folder, real=True))
    assert status == 2, words
    assert words.startswith("copse: ")
    assert words.count("\n") == 1, words
    assert max(own, children) < 1100 * MIB
    assert sorted(folder.rglob("*")) == before
    return str(words)


def write_bomb(path: Path) -> None:
    """1.2 GB of text in 5 MB, in groups of 100 MB, each of which could be unpacked alone."""
    path.write_bytes(plain_text_parquet())


def test_anonymize__pieces_that_unfold_end_in_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPSE_READ_MEMORY", "350")
    (folder / "in" / "0.parquet").unlink()
    write_bomb(folder / "in" / "1.parquet")
    command = ["anonymize", "in", "--engine", "local", "--quasi-identifying", "a", "--out", "out"]
    assert "memory" in say(folder, *command)
    monkeypatch.setenv("COPSE_READ_MEMORY", "90")
    assert "1.parquet has 4.7 MB, but would unfold into at least 100.0 MB" in say(folder, *command)


@pytest.mark.sweep(0)
def test_a_worker__that_is_asked_to_unfold_ends_the_run_in_one_sentence(folder: Path) -> None:
    pytest.importorskip("distributed")
    (folder / "in" / "0.parquet").unlink()
    (folder / "spill").mkdir()
    write_bomb(folder / "in" / "1.parquet")
    problem, memory = json.loads(run_python(["-c", WORKER], folder, real=True))
    assert problem.startswith("1.parquet takes more memory than there is"), problem
    assert memory < 1100 * MIB
    assert sorted(os.listdir()) == ["in", "spill"]
    assert os.listdir("spill") == []


def test_a_run_that_is_stopped__leaves_nothing(folder: Path) -> None:
    people(400_000).to_parquet("in/0.parquet", index=False)
    run = subprocess.Popen(
        [sys.executable, "-m", "anonymizer", *RUN], stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # tests may run in the background
    )  # fmt: skip
    wait_until(lambda: list(folder.glob(".out.*")) or run.poll() is not None, 0.02)
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate()[1].splitlines()[-1] == "copse: stopped; nothing more was written."
    assert run.returncode == 130
    assert sorted(os.listdir()) == ["in"]


@pytest.mark.sweep(0)
def test_verify__a_folder_that_unfolds_ends_in_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPSE_READ_MEMORY", "350")
    (folder / "out").mkdir()
    write_bomb(folder / "out" / "part-00000.parquet")
    part = Part("part-00000.parquet", 1200, digest((folder / "out" / "part-00000.parquet").read_bytes()))
    entry = {"name": "a", "role": "quasi-identifying", "kind": "categorical"}
    write_manifest(folder / "out", [part], [entry])
    assert "The work on out takes more than the 367.0 MB of memory" in say(folder, "verify", "out")
    monkeypatch.setenv("COPSE_READ_MEMORY", "90")
    assert "part-00000.parquet has 4.7 MB, but would unfold into at least 100.0 MB" in say(folder, "verify", "out")


def test_time_and_cells__are_those_of_the_operator(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COPSE_READ_CELLS", "1000")
    assert main(RUN) == 2
    assert "0.parquet reaches over 1,500 rows and 7 columns; at most 1,000 cells" in capsys.readouterr().err
    people(1500).to_csv("in/0.csv", index=False)
    (folder / "in" / "0.parquet").unlink()
    assert main(RUN) == 2
    assert "0.csv reaches over 1,500 rows and 7 columns; at most 1,000 cells" in capsys.readouterr().err
    monkeypatch.delenv("COPSE_READ_CELLS")
    monkeypatch.setenv("COPSE_READ_SECONDS", "0.001")
    table = pa.Table.from_pandas(people(300_000), preserve_index=False)
    (folder / "in" / "0.csv").unlink()
    pq.write_table(table, "in/0.parquet")
    assert main(RUN) == 2
    assert "in cannot be read in the 0 seconds of work" in capsys.readouterr().err.splitlines()[-1]
    assert sorted(os.listdir()) == ["in"]
