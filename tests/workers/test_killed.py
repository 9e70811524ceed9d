"""Somebody is killed at work: the files of one machine all the same, or one sentence, and nothing stays behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymizer.cli.main import main
from anonymizer.engines import anonymize_files
from anonymizer.partitions.pieces import open_table
from anonymizer.releasing.files import lock_folder
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.workers.cluster import YOUNG, ClusterError, make_spill, open_cluster, remove_spill
from anonymizer.workers.remote import release_on
from tests.waiting import PATIENCE, wait_until
from tests.workers.killing import killing, note_readings
from tests.workers.runs import CASES, alive, keys_of, same_files

GROWN = CASES[0] | {"criterion": "entropy"}
"""A tree that grows in waves, on all workers."""
KILLS = [
    ("count", "answering", 6),  # in the second wave, or after it
    ("take", "shipping", 0),
    ("finish", "answering", 0),
    ("write", "writing", 0),
    ("pack", "answering", 0),
]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.sweep(1)
@pytest.mark.parametrize("kills", [KILLS[::3], KILLS], ids=["some", "all"])
def test_a_worker_that_is_killed__changes_nothing(
    tmp_path: Path, spill: Path, source: tuple[Path, Schema], monkeypatch: pytest.MonkeyPatch, kills: Any
) -> None:
    folder, schema = source
    monkeypatch.setattr("anonymizer.workers.records.SMALL", 400)  # so that there are waves
    changes, packed = GROWN, GROWN | {"generalizer": "pack"}
    anonymize_files(folder, schema, tmp_path / "here", rows=900, **changes)
    anonymize_files(folder, schema, tmp_path / "as-packed", rows=900, rng=np.random.default_rng(7), **packed)
    with open_cluster(workers=len(kills) + 1, memory="2GiB", spill=spill) as cluster:
        for step, moment, after in kills:
            out, how = tmp_path / step, Settings(**(packed if step == "pack" else changes))
            with killing(cluster, step, tmp_path / "mark", moment, after):
                rng = np.random.default_rng(7)
                release_on(cluster, open_table(folder, 900), schema, out, how, rows=900, rng=rng)
            assert same_files(out, tmp_path / ("as-packed" if step == "pack" else "here")), step
        assert len(cluster.workers()) == 1
        os.kill(cluster.processes[-1].pid, signal.SIGKILL)
        with pytest.raises(ClusterError, match="Every worker is gone"):
            release_on(cluster, open_table(folder, 900), schema, tmp_path / "none", Settings(**changes), rows=900)
    assert sorted(os.listdir(tmp_path)) == sorted(["as-packed", "here", *(step for step, *_ in kills)])


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.sweep(0)
def test_a_worker_that_is_killed__costs_one_reading_of_its_share(
    tmp_path: Path, spill: Path, source: tuple[Path, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, schema = source
    monkeypatch.setattr("anonymizer.workers.records.SMALL", 400)  # so that there are waves
    log = tmp_path / "readings"
    with open_cluster(workers=2, memory="2GiB", spill=spill) as cluster:
        cluster.client.run(note_readings, str(log))
        with killing(cluster, "count", tmp_path / "mark", after=6):
            release_on(cluster, open_table(folder, 900), schema, tmp_path / "out", Settings(**GROWN), rows=900)
    assert sorted(Counter(log.read_text().split()).values()) == [1, 2]


@pytest.mark.sweep(0)
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.parametrize("step", ["count", "write"])
def test_a_scheduler_that_is_killed__is_started_again_once(
    tmp_path: Path, spill: Path, source: tuple[Path, Schema], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder, schema = source
    monkeypatch.setattr("anonymizer.workers.records.SMALL", 400)  # so that there are waves
    anonymize_files(folder, schema, tmp_path / "here", rows=900, **GROWN)
    others = set(os.listdir(spill))
    with open_cluster(workers=2, memory="2GiB", spill=spill) as cluster:
        first, ask, killed = cluster.address, cluster.ask, []

        def asking(name: str, *arguments: Any, **more: Any) -> Any:
            future = ask(name, *arguments, **more)
            if name == step and not killed:
                killed.append(cluster.processes[0].pid)
                os.kill(killed[0], signal.SIGKILL)
            return future

        monkeypatch.setattr(cluster, "ask", asking)
        release_on(cluster, open_table(folder, 900), schema, tmp_path / "out", Settings(**GROWN), rows=900)
        assert killed
        assert cluster.address != first
        assert same_files(tmp_path / "out", tmp_path / "here")
        assert len(set(os.listdir(spill)) - others) == 1  # the folder of the first is gone
        os.kill(cluster.processes[0].pid, signal.SIGKILL)
        cluster.processes[0].wait(PATIENCE)
        with pytest.raises(ClusterError, match=r"The scheduler at tls://127\.0\.0\.1:\d+ is gone"):
            release_on(cluster, open_table(folder, 900), schema, tmp_path / "none", Settings(**GROWN), rows=900)
    assert not any(map(alive, killed))


CLIENT = """
import sys, time
from anonymizer.workers.cluster import open_cluster
with open_cluster(workers=1, memory="1GiB", spill=sys.argv[1]) as cluster:
    print(*[process.pid for process in cluster.processes], flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
def test_a_client_that_is_killed__leaves_no_process_and_no_file(tmp_path: Path) -> None:
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout is not None
        reader = threading.Timer(PATIENCE, client.kill)
        reader.start()
        pids = [int(pid) for pid in client.stdout.readline().split()]
        reader.cancel()
        assert len(pids) == 2
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    finally:
        client.kill()
        client.communicate()
    wait_until(lambda: not any(map(alive, pids)) and not os.listdir(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="folders are locked on POSIX systems")
def test_folders_that_killed_runs_left__go_at_the_next_start(tmp_path: Path) -> None:
    names = ["left", "young", "other", "mine"]
    left, young, other, mine = (tmp_path / f"copse-cluster-{name:_<8}" for name in names)
    for folder in (left, young, mine):
        (folder / "worker").mkdir(parents=True)
        (folder / "worker" / "spilled").write_bytes(b"rows")
    other.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    lock = lock_folder(mine)
    assert lock is not None
    for folder in (left, mine, tmp_path / "elsewhere"):
        os.utime(folder, (time.time() - 2 * YOUNG,) * 2)
    new, own = make_spill(tmp_path)
    assert set(tmp_path.iterdir()) == {young, other, mine, new, tmp_path / "elsewhere"}
    os.utime(new, (time.time() - 2 * YOUNG,) * 2)
    os.close(lock)
    remove_spill(*make_spill(tmp_path))
    assert set(tmp_path.iterdir()) == {young, other, new, tmp_path / "elsewhere"}
    remove_spill(new, own)
    assert set(tmp_path.iterdir()) == {young, other, tmp_path / "elsewhere"}


KILLED_WITH_ALL = """
import os, signal, sys
from anonymizer.workers.cluster import open_cluster
with open_cluster(workers=1, memory="1GiB", spill=sys.argv[1]) as cluster:
    print(*[process.pid for process in cluster.processes], flush=True)
    for process in cluster.processes:
        os.kill(process.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
def test_a_run_that_is_killed_with_all_its_processes__leaves_its_folder_until_the_next(tmp_path: Path) -> None:
    client = subprocess.run([sys.executable, "-c", KILLED_WITH_ALL, str(tmp_path)], stdout=subprocess.PIPE)
    assert client.returncode == -signal.SIGKILL
    (folder,) = tmp_path.iterdir()
    os.utime(folder, (time.time() - 2 * YOUNG,) * 2)
    with open_cluster(workers=1, memory="1GiB", spill=tmp_path) as cluster:
        assert os.listdir(tmp_path) == [cluster.folder.name]  # type: ignore[union-attr]
    assert os.listdir(tmp_path) == []


@pytest.mark.sweep(0)
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
def test_a_scheduler_elsewhere_that_is_lost__is_one_sentence(
    tmp_path: Path, spill: Path, source: tuple[Path, Schema], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    import dask.config

    monkeypatch.setattr("anonymizer.cli.compiling.is_compiled", lambda: True)  # or it says that it compiles
    folder, schema = source
    place, keys = tmp_path / "place", tmp_path / "keys"
    place.mkdir()
    keys.mkdir()
    (keys / "roles.json").write_text(schema.to_json(), "utf-8")
    command = ["anonymize", str(folder), "--schema", str(keys / "roles.json"), "--out", str(place / "out"),
               "--generalizer", "uniform", "--grouping", "least", "--engine", "dask", "--scheduler"]  # fmt: skip
    with open_cluster(workers=1, memory="1GiB", spill=spill) as other:
        scheduler, is_over, lost = other.processes[0], threading.Event(), []

        def kill_in_writing() -> None:
            while not is_over.wait(0.01) and not lost:
                lost.extend(os.listdir(place))
            scheduler.kill()

        with dask.config.set(keys_of(other, keys)):
            killer = threading.Thread(target=kill_in_writing)
            killer.start()
            status = main([*command, other.address])
            is_over.set()
            killer.join(PATIENCE)
            assert status == 2
            assert lost, "the run was over before it wrote anything"
            assert f"The scheduler at {other.address} is gone. Start it again" in one_line(capsys)
            assert os.listdir(place) == []
            monkeypatch.setattr("anonymizer.workers.cluster.PATIENCE", 8)
            assert main([*command, other.address]) == 2
            assert f"No scheduler answers at {other.address}" in one_line(capsys)
            assert os.listdir(place) == []


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was said, which is one line and nothing else."""
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    return line
