"""Read a file in a process of its own, whose memory and time are limited and whose death is one sentence.

The parsers of foreign formats are native code: a small file can make them ask for more memory than there is, or end
the process that they run in. So they run in a child. It gets the file through a pipe, or its path, and sends the table
back through a pipe, column by column, as Arrow; nothing is written to disk. One child waits ready, so that reading
does not wait for Python to start; a program of one thread, such as the command line, reads in a copy of itself, which
is there at once.
"""

import ctypes
import faulthandler
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.errors import CancelledError, Progress, ReadError
from anonymizer.json_value import JsonValue
from anonymizer.labelled.variable import Variable
from anonymizer.reading.files import READERS, Reader, Reading, read_table, size_in_use
from anonymizer.reading.options import (
    MIB,
    Allowance,
    Answer,
    Problem,
    Question,
    ReadOptions,
    bytes_text,
    operator_allowance,
)

PATIENCE = 6
"""The clock may run so many times as long as the processor time that is allowed: other work goes on beside."""

PAUSE = 0.1
"""Seconds between two looks at whether the reading is still wanted."""

RESERVED = 64 * MIB
"""Bytes of stacks and buffers that the child's threads may take beside what the file may."""

OWN_MAPPING = -3
"""M_MMAP_THRESHOLD of mallopt(3): what is larger is memory of its own, that goes back when it is freed."""

ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONIOENCODING": "utf-8",
}

Message = tuple[Literal["progress", "error", "reading", "end"], Any]

_waiting: "queue.SimpleQueue[subprocess.Popen[bytes]]" = queue.SimpleQueue()


def read_in_child(
    source: bytes | str | os.PathLike[str],
    *,
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
    allowance: Allowance | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    reader: Reader | None = None,
    fork: bool = False,
) -> Reading:
    """Return what :func:`anonymizer.reading.files.read_table` returns, read in a process of its own.

    ``source``: bytes or a path. ``allowance``: what the child may take; ``None``: what the operator set.
    ``reader``: a function of a module that reads the bytes as they came, whatever their format. ``fork``: in a copy of
    this process, where the system is one that makes such safely; for programs with no other thread that holds locks.

    Raises :class:`ReadError` when no table can be made of the file, or when that takes more than is allowed, and
    :class:`CancelledError` when ``cancelled`` says so, which is asked ten times a second.
    """
    allowance = operator_allowance() if allowance is None else allowance
    path = None if isinstance(source, bytes) else Path(source)
    called = name or (path.name if path else "The table")
    size = size_in_use(len(source), source[:2], source[-4:]) if isinstance(source, bytes) else _size(source)
    request = {
        "name": called,
        "path": None if path is None else str(path.absolute()),
        "size": size,
        "options": asdict(options or ReadOptions()),
        "readers": {kind: (each.__module__, each.__qualname__) for kind, each in READERS.items()},
        "reader": reader and (reader.__module__, reader.__qualname__),
        "allowance": asdict(replace(allowance, memory=allowance.memory_for(size), seconds=allowance.seconds_for(size))),
    }
    forked = fork and sys.platform == "linux"
    child = _fork() if forked else _take()
    try:
        messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=_send, args=(child, request, source), daemon=True).start()
        threading.Thread(target=_receive, args=(child, messages), daemon=True).start()
        deadline = time.monotonic() + PATIENCE * allowance.seconds_for(size)
        while True:
            kind, what = _next(messages, deadline, cancelled, called, size, allowance)
            if kind == "progress" and progress is not None:
                progress(*what)
            elif kind == "error":
                raise ReadError(what.pop("problem"), **what)
            elif kind == "reading":
                reading: Reading = what
                return reading
            elif kind == "end":
                raise _death(child.wait(), called, size, allowance)
    finally:
        child.kill()
        child.wait()
        if not forked:
            prepare()


def prepare() -> None:
    """Start a child that waits for a file, unless one does already."""
    if _waiting.empty():
        _waiting.put(_start())


def _take() -> "subprocess.Popen[bytes]":
    """Return a child that waits for a file: the one that is ready, or a new one."""
    while True:
        try:
            child = _waiting.get_nowait()
        except queue.Empty:
            return _start()
        if child.poll() is None:
            return child


def _start() -> "subprocess.Popen[bytes]":
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "anonymizer.reading.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what a dying parser says may hold records
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": paths},
    )


@dataclass(eq=False)
class _Copy:
    """A copy of this process that reads one file, to be talked to as a child is. ``status``: how it ended."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    status: int | None = None

    def kill(self) -> None:
        """End it, unless that is known to have happened."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return how it ended, when it has: minus the signal that ended it."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status


Child = subprocess.Popen[bytes] | _Copy


def _fork() -> _Copy:
    """Return a copy of this process that waits for a file."""
    question, ask = os.pipe()
    answered, answer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other threads, such as those of libraries, which know of copies
        pid = os.fork()
    if pid:
        os.close(question)
        os.close(answer)
        return _Copy(pid, os.fdopen(ask, "wb"), os.fdopen(answered, "rb"))
    with suppress(BaseException):  # nothing of the parent's may go on here
        os.close(ask)
        os.close(answered)
        _run_copy(question, answer)
    os._exit(0)


def _run_copy(question: int, answer: int) -> None:
    """Read the one file that is asked for, in a copy of another process: what it says goes nowhere but to that."""
    faulthandler.disable()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(question, 0)
    os.dup2(answer, 1)
    os.dup2(nowhere, 2)
    pa.set_memory_pool(pa.system_memory_pool())
    with os.fdopen(0, "rb") as source:
        main(source)


def _size(path: str | os.PathLike[str]) -> int:
    if not Path(path).is_file():
        return 0  # reading it will say what is wrong
    with suppress(OSError), open(path, "rb") as file:
        start, size = file.read(2), file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 4))
        return size_in_use(size, start, file.read(4))
    return 0


def _send(child: Child, request: dict[str, Any], source: Any) -> None:
    """Hand the request and the bytes to the child; one that has ended takes nothing more."""
    pipe = child.stdin
    assert pipe is not None
    try:
        pipe.write(json.dumps(request).encode() + b"\n")
        if request["path"] is None:
            pipe.write(source)
        pipe.close()
    except (BrokenPipeError, ConnectionError, OSError, ValueError):
        return


def _receive(child: Child, messages: "queue.SimpleQueue[Message]") -> None:
    """Put what the child says into the queue; "end" when it says nothing more."""
    pipe = child.stdout
    assert pipe is not None
    try:
        for line in iter(pipe.readline, b""):
            kind, what = json.loads(line)
            messages.put((kind, _reading_from(what, pipe) if kind == "reading" else what))
    except (OSError, ValueError):  # it ended in the middle of a sentence
        pass
    messages.put(("end", None))


def _next(
    messages: "queue.SimpleQueue[Message]",
    deadline: float,
    cancelled: Callable[[], bool],
    name: str,
    size: int,
    allowance: Allowance,
) -> Message:
    """Return the next message, waited for as long as it is wanted and allowed."""
    while True:
        try:
            return messages.get(timeout=PAUSE)
        except queue.Empty:
            if cancelled():
                raise CancelledError(f"The reading of {name} was stopped.") from None
            if time.monotonic() > deadline:
                raise _too_slow(name, size, allowance) from None


def _death(status: int, name: str, size: int, allowance: Allowance) -> ReadError:
    """Return what is said of a child that ended without a word. ``status``: minus the signal that ended it."""
    if status == -getattr(signal, "SIGXCPU", 0):
        return _too_slow(name, size, allowance)
    return ReadError(
        f"{name} cannot be read: it takes more than the {bytes_text(allowance.memory_for(size))} of memory that a file "
        "of its size may, or it is damaged.",
        remedy="Bring fewer records or columns, or save it as CSV.",
    )


def _too_slow(name: str, size: int, allowance: Allowance) -> ReadError:
    return ReadError(
        f"{name} cannot be read in the {allowance.seconds_for(size):,.0f} seconds of work that a file of its size may "
        "take.",
        remedy="Bring fewer records or columns, or save it as CSV.",
    )


# The table on its way: column by column, so that never more than one is there twice.


def _columns_of(frame: pd.DataFrame) -> Iterator[pa.Array]:
    """Yield the columns of a table, and hold none any longer than that."""
    for name in list(frame.columns):
        values = frame.pop(name)
        if isinstance(values.dtype, pd.CategoricalDtype):
            codes = values.cat.codes.to_numpy()
            indices = pa.array(codes, mask=codes < 0)
            yield pa.DictionaryArray.from_arrays(indices, pa.array(values.cat.categories, pa.large_string()))
        elif isinstance(values.dtype, np.dtype):
            yield pa.array(values.to_numpy(), from_pandas=False)
        else:
            yield pa.array(values, pa.large_string())


def _values_of(column: pa.Array) -> Any:
    if pa.types.is_dictionary(column.type):
        codes = np.array(column.indices.fill_null(-1))
        return pd.Categorical.from_codes(codes, categories=pd.Index(column.dictionary.to_pandas(), dtype="str"))
    if pa.types.is_large_string(column.type):
        return pd.Series(column.to_pandas(), dtype="str")
    return np.array(column.to_numpy(zero_copy_only=False))


def _send_reading(reading: Reading, pipe: IO[bytes]) -> None:
    described = {
        key: value
        for key, value in vars(reading).items()
        if key not in ("frame", "options", "problems", "questions", "variables")
    }
    described["options"] = asdict(reading.options)
    described["problems"] = [asdict(problem) for problem in reading.problems]
    described["questions"] = [asdict(question) for question in reading.questions]
    described["variables"] = {name: variable.to_dict() for name, variable in reading.variables.items()}
    described["columns"] = list(reading.frame.columns)
    _say(pipe, "reading", described)
    for column in _columns_of(reading.frame):
        batch = pa.record_batch([column], names=["values"])
        with pa.ipc.new_stream(pipe, batch.schema) as stream:
            stream.write_batch(batch)
    pipe.flush()


def _reading_from(described: dict[str, Any], pipe: IO[bytes]) -> Reading:
    values = {}
    for label in described.pop("columns"):
        with pa.ipc.open_stream(pipe) as stream:
            values[label] = _values_of(stream.read_next_batch().column(0))
            if next(iter(stream), None) is not None:
                raise ValueError("one batch a column was expected")
    described["options"] = ReadOptions(**described["options"])
    described["problems"] = tuple(Problem(**problem) for problem in described["problems"])
    described["questions"] = tuple(_question(question) for question in described["questions"])
    described["sheets"] = tuple(described["sheets"])
    variables = JsonValue(described["variables"], "variables", "file", "Save it again.").fields()
    described["variables"] = {name: Variable.from_value(value) for name, value in variables.items()}
    return Reading(pd.DataFrame(values, copy=False), **described)


def _question(described: dict[str, Any]) -> Question:
    answers = [
        Answer(answer["label"], *(tuple(map(tuple, answer[name])) for name in ("changes", "sample")))
        for answer in described["answers"]
    ]
    return Question(**{**described, "answers": tuple(answers)})


def _say(pipe: IO[bytes], kind: str, what: Any) -> None:
    pipe.write(json.dumps((kind, what)).encode() + b"\n")
    pipe.flush()


# What runs in the child.


def main(question: IO[bytes]) -> None:
    """Read the one file that is asked for, and answer on standard output."""
    _give_back()
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints does not mix with the answer
    line = question.readline()
    if not line:
        return
    request = json.loads(line)
    allowance = Allowance(**request["allowance"])
    _limit(allowance)
    last = 0.0

    def progress(share: float, words: str) -> None:
        nonlocal last
        if time.monotonic() - last > PAUSE:
            last = time.monotonic()
            _say(pipe, "progress", (share, words))

    for kind, (module, function) in request["readers"].items():
        if kind not in READERS:  # added from outside, from where the child takes it as well
            READERS[kind] = getattr(importlib.import_module(module), function)
    module, function = request["reader"] or ("", "")
    reader = getattr(importlib.import_module(module), function) if module else None
    try:
        source = request["path"] or question.read()
        reading = read_table(
            source,
            name=request["name"],
            options=ReadOptions(**request["options"]),
            progress=progress,
            allowance=allowance,
            reader=reader,
        )
    except ReadError as error:
        value = error.value if isinstance(error.value, str | int | float) else None
        where = {"column": error.column, "row": error.row, "value": value}
        _say(pipe, "error", {"problem": error.problem, **where, "remedy": error.remedy})
        return
    _send_reading(reading, pipe)


def _give_back() -> None:
    """Have the memory of each freed column go back to the system at once, where its C library can be told."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(OWN_MAPPING, MIB)


def _limit(allowance: Allowance) -> None:
    """Hold this process to the allowance, as far as the system can: memory, processor time, no file, no core dump."""
    try:
        import resource
    except ImportError:  # not on every system; the parent's clock still ends it
        return
    memory = int(allowance.memory or 0) + _data_bytes() + RESERVED
    seconds = int(time.process_time() + (allowance.seconds or 0)) + 1
    os.nice(5)
    adjustment = Path("/proc/self/oom_score_adj")
    if adjustment.exists():
        adjustment.write_text("1000")  # where memory runs out all the same, this process ends first
    for what, soft, hard in (
        ("DATA", memory, memory), ("CPU", seconds, seconds + 5), ("FSIZE", 0, memory), ("CORE", 0, 0)
    ):  # fmt: skip
        resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), (soft, hard))


def _data_bytes() -> int:
    """Return the bytes of writable memory that this process has already."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmData:")), 0)


if __name__ == "__main__":
    main(sys.stdin.buffer)
