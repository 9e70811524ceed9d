"""Reading in a child: the same table, limits that hold, and a death that is one sentence."""

import errno
import gzip
import io
import json
import os
import platform
import queue
import signal
import struct
import subprocess
import sys
import threading
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.errors import CancelledError, ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.reading import child, process
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import ReadOptions, read_table, size_in_use
from anonymizer.reading.options import MIB, Allowance, operator_allowance
from anonymizer.reading.process import CALLS
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema
from tests.conftest import run_python
from tests.hostile.bombs import READ, REFUSED
from tests.hostile.make import TABLES, xlsx
from tests.reading.surroundings import surroundings

START = child._start


@cache
def slow() -> bytes:
    """A table that takes a while."""
    return ("zip,n\n" + "".join(f"{i:06d}x{i % 7},{i}\n" for i in range(400_000))).encode()


@pytest.fixture(autouse=True)
def real_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that begin as they do for users, not as copies."""
    monkeypatch.setattr(child, "_start", START)
    monkeypatch.setattr(child, "_waiting", queue.SimpleQueue())


Process = subprocess.Popen[bytes]
ROOT = Path(__file__).resolve().parents[2]
ALIKE = (
    "plain", "semicolons and decimal commas", "all missing", "infinities", "emoji", "duplicate headers", "utf-16",
    "gzip in a text name", "parquet named csv", "workbook",
)  # fmt: skip
BOMBS = """
import json, resource, sys, time
from anonymizer.errors import ReadError
from anonymizer.reading.child import read_in_child
from tests.hostile.bombs import READ, REFUSED

def used():
    return resource.getrusage(resource.RUSAGE_CHILDREN)

for name, (called, build, *_) in {**REFUSED, **READ}.items():
    data, before = build(), used()
    try:
        said = list(read_in_child(data, name=called).frame.shape)
    except ReadError as error:
        said = str(error)
    after = used()
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([name, said, work, after.ru_maxrss * 1024]))
"""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", ALIKE)
def test_read_in_child__gives_what_read_table_gives(name: str) -> None:
    called, data = TABLES[name]
    here, there = read_table(data, name=called), read_in_child(data, name=called)
    pd.testing.assert_frame_equal(there.frame, here.frame)
    assert {**vars(there), "frame": None} == {**vars(here), "frame": None}
    there.frame.iloc[0, :] = here.frame.iloc[0, :]  # nothing of it is read-only


def test_read_in_child__takes_options_and_a_path(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;NA\n2,5;x\n", "utf-8")
    options = ReadOptions(decimal=",", keep=("NA",))
    here, there = read_table(path, options=options), read_in_child(path, options=options)
    pd.testing.assert_frame_equal(there.frame, here.frame)
    assert there.options == here.options
    with pytest.raises(ReadError, match=r"absent.csv cannot be opened"):
        read_in_child(tmp_path / "absent.csv")


def test_read_in_child__errors_keep_their_place() -> None:
    with pytest.raises(ReadError) as raised:
        read_in_child(b"a,b\n1,2\n1,2,3\n", name="t.csv")
    assert raised.value.row == 2
    assert raised.value.remedy


def test_read_in_child__says_how_far_it_is() -> None:
    heard: list[float] = []
    read_in_child(slow(), progress=lambda share, words: heard.append(share))
    assert heard == sorted(heard)
    assert all(0 <= share <= 1 for share in heard)


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux alone")
@pytest.mark.parametrize("place", ["at its end", "at its beginning"])
def test_a_copy_that_is_asked_to_end__never_goes_on_as_the_process_it_is_a_copy_of(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that came when its work was done raised where nothing held it: there were two of the process."""
    end, run, here = os._exit, child._run_copy, os.getpid()

    def end_late(status: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        end(status)

    def run_copy(question: int, answer: int) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, process._stop)

    def fork() -> int:
        pid = forked()
        if not pid:
            os.kill(os.getpid(), signal.SIGINT)  # as from a terminal, to the whole group
            sum(range(1000))
        return pid

    forked = os.fork
    if place == "at its end":
        monkeypatch.setattr(os, "_exit", end_late)
        monkeypatch.setattr(child, "_run_copy", run_copy)
    else:
        monkeypatch.setattr(os, "fork", fork)
    try:
        copy = child._fork()
    except BaseException:
        end(77)  # in the copy
    assert os.getpid() == here
    assert child._run_copy is run or place == "at its end"
    status = copy.wait()
    assert status == (0 if place == "at its end" else -signal.SIGINT)


@pytest.fixture
def waiting() -> Process:
    """The child that waits for the next file."""
    while not child._waiting.empty():
        child._waiting.get().kill()
    process = child._start()
    child._waiting.put(process)
    return process


def test_read_in_child__takes_the_one_that_waits(waiting: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    start, ends = child._start, list[int | None]()
    monkeypatch.setattr(child, "_start", lambda: ends.append(waiting.poll()) or start())
    assert read_in_child(b"a,b\n1,x\n2,y\n").frame.shape == (2, 2)
    assert len(ends) == 1, "one was started, for the next file"
    assert ends[0] is not None, "after the one that had waited"


def test_read_in_child__can_be_cancelled(waiting: Process) -> None:
    with pytest.raises(CancelledError, match=r"The reading of t.csv was stopped"):
        read_in_child(slow() * 20, name="t.csv", cancelled=lambda: True)
    assert waiting.poll() is not None


def test_read_in_child__death_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    process = child._take()
    monkeypatch.setattr(child, "_take", lambda: process)
    threading.Timer(0.05, process.kill).start()
    with pytest.raises(ReadError, match=r"t.csv cannot be read: it takes more than the 1.4 GB of memory") as raised:
        read_in_child(slow() * 4, name="t.csv", allowance=Allowance(memory=1_400_000_000))
    assert "\n" not in str(raised.value)


def test_read_in_child__one_that_died_while_waiting_is_replaced() -> None:
    child.prepare()
    waiting = child._waiting.get()
    waiting.kill()
    waiting.wait()
    child._waiting.put(waiting)
    assert len(read_in_child(b"a,b\n1,2\n").frame) == 1


def test_allowance__memory_is_held() -> None:
    with pytest.raises(ReadError, match="memory"):
        read_in_child(slow() * 4, allowance=Allowance(memory=24 * MIB))


def test_allowance__time_is_held() -> None:
    with pytest.raises(ReadError, match=r"in the 0 seconds of work"):
        read_in_child(slow() * 40, allowance=Allowance(seconds=0.1))


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what a process worked")
def test_work_that_gets_no_processor_time__is_not_the_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PATIENCE", 0.0)
    assert len(read_in_child(slow(), name="t.csv").frame) > 1000, "the clock ran, and so did the work"
    monkeypatch.setattr(child, "STALLED", 0.5)
    process = child._take()
    monkeypatch.setattr(child, "_take", lambda: process)
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(ReadError, match=r"t.csv was not read: .* no processor time .* need not be at fault"):
        read_in_child(slow(), name="t.csv")


@pytest.mark.parametrize("fork", [False, True])
def test_child__has_no_secret_of_the_server_and_no_network(monkeypatch: pytest.MonkeyPatch, fork: bool) -> None:
    monkeypatch.setattr(child, "_waiting", queue.SimpleQueue())
    secrets = {"COPSE_LOGIN_SECRET": "Zq1canary", "PGPASSWORD": "Zq2canary", "AWS_SECRET_ACCESS_KEY": "Zq3canary"}
    for name, text in secrets.items():
        monkeypatch.setenv(name, text)
    variables, refused = child.call_in_child(surroundings, fork=fork)
    if sys.platform == "linux" and platform.machine() in CALLS:
        assert refused == errno.EACCES
    if not fork:  # a copy of the terminal is the person's own
        assert not [text for text in variables.values() if "canary" in text]
        assert variables["PATH"] == os.environ["PATH"]


def test_allowance__cells_are_counted_before_they_are_read() -> None:
    with pytest.raises(ReadError, match=r"400,001 rows and 2 columns; at most 1,000 cells"):
        read_table(slow(), name="t.csv", allowance=Allowance(cells=1000))


def test_packed_table__may_take_what_it_may_unpacked(tmp_path: Path) -> None:
    """An ordinary one: ten times as large unpacked. One that says more, or too little, is judged as it came."""
    rows = "\n".join(f"{n % 97},{n * 7919 % 10007},Springfield" for n in range(60_000)).encode()
    packed = gzip.compress(rows, mtime=0)
    assert 3 * len(packed) < len(rows) < 32 * len(packed)
    assert size_in_use(packed) == len(rows)
    assert size_in_use(rows) == len(rows)
    bomb = gzip.compress(bytes(10 * MIB), mtime=0)
    assert size_in_use(bomb) == len(bomb)


def test_parquet_and_workbooks__may_take_what_they_state_unpacked() -> None:
    sink = io.BytesIO()
    pd.DataFrame({"a": np.arange(200_000) % 7, "b": np.arange(200_000)}).to_parquet(sink, compression="zstd")
    parquet, book = sink.getvalue(), xlsx({"S": [(f"name {n % 50}", n) for n in range(3000)]})
    assert size_in_use(parquet) >= 16 * 200_000 > 2 * len(parquet)
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        assert size_in_use(book) == sum(part.file_size for part in packed.infolist()) > 2 * len(book)
    memory = 64 * len(parquet)  # less than the table of what it states may take
    allowance = Allowance(least_memory=memory, least_seconds=60.0)
    assert allowance.memory_for(size_in_use(parquet)) > 2 * memory
    assert read_in_child(parquet, name="t.parquet", allowance=allowance).frame.shape == (200_000, 2)
    assert size_in_use(REFUSED["constant parquet"][1]()) < 1 << 20, "one that states more is judged as it came"
    assert size_in_use(parquet[:-9]) == len(parquet) - 9


def test_packed_table__that_states_less_than_it_unfolds_into_is_bounded() -> None:
    most = 600 * MIB
    bomb = bytearray(gzip.compress(bytes(most), compresslevel=1, mtime=0))
    bomb[-4:] = struct.pack("<I", 20 * len(bomb))
    with pytest.raises(ReadError, match="unfolds into more than 536.9 MB"):
        read_table(bytes(bomb), name="t.csv.gz", allowance=Allowance(memory=4096 * MIB))


def test_allowance__grows_with_the_file_and_is_set_by_the_operator() -> None:
    assert Allowance().memory_for(1_000) == 1024 * MIB
    assert Allowance(memory=7).memory_for(1_000_000_000) == 7
    assert Allowance().seconds_for(100 * MIB) == 200
    settings = {"COPSE_READ_MEMORY": "512", "COPSE_READ_SECONDS": "2.5", "COPSE_READ_CELLS": "1e6"}
    assert operator_allowance(settings) == Allowance(512 * MIB, 2.5, 1_000_000)
    assert operator_allowance({}) == Allowance()
    with pytest.raises(ParameterError, match="COPSE_READ_SECONDS is 'soon'"):
        operator_allowance({"COPSE_READ_SECONDS": "soon"})


def test_limits__the_child_can_write_no_file(tmp_path: Path) -> None:
    script = (
        "import sys; from anonymizer.reading.process import limit; from anonymizer.reading.options import Allowance\n"
        "limit(Allowance(memory=1 << 30, seconds=10.0))\n"
        "try:\n    open(sys.argv[1], 'wb', buffering=0).write(b'x')\nexcept OSError as error:\n    print(error.errno)\n"
    )
    assert int(run_python(["-c", script, str(tmp_path / "out")], ROOT, real=True)) == 27
    assert (tmp_path / "out").stat().st_size == 0


@pytest.mark.skipif(os.name != "posix", reason="the system has no limits for a process")
def test_bombs__one_sentence_each_in_little_memory_and_time() -> None:
    answers = [json.loads(line) for line in run_python(["-c", BOMBS], ROOT, real=True).splitlines()]
    outcomes = {name: what for name, what, *_ in answers}
    assert list(outcomes) == [*REFUSED, *READ]
    for name in REFUSED:
        assert isinstance(outcomes[name], str), name
        assert outcomes[name].startswith(REFUSED[name][0])
        assert "\n" not in outcomes[name]
    for name, (_, _, shape) in READ.items():
        assert tuple(outcomes[name]) == shape
    assert max(work for *_, work, _ in answers) < 12  # seconds of processor time, Python's start included
    assert np.max([memory for *_, memory in answers]) < 1.5e9


@pytest.mark.sweep(2)
@pytest.mark.parametrize("format", ["sav", "dta", "xpt", "feather"])
def test_release__read_in_a_child_holds_nothing_beside_its_rows(format: str) -> None:
    """The child may write no file, and has to write these anew, in memory, to compare their bytes."""
    table = hospital(60)[["age", "sex", "diagnosis"]]
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    data = Flow(table, schema).but(k=5).release.to_bytes(format)
    file = ReleasedFile.of_reading(read_in_child(data, name=f"release.{format}", reader=read_released))
    assert (file.beside, len(file.rows)) == ((), 60)
