"""Work on files from outside, in a process of its own, whose memory and time are limited and whose death is one
sentence.

The parsers of foreign formats are native code: a small file can make them ask for more memory than there is, or end
the process that they run in. So they run in a child. It gets the file through a pipe, or its path, and sends what comes
of it back through a pipe: a table column by column, as Arrow; anything else as JSON. One child waits ready, so that
reading does not wait for Python to start; a program of one thread, such as the command line, works in a copy of itself,
which is there at once.
"""

import faulthandler
import importlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from anonymizer.errors import AnonymizerError, CancelledError, Progress, ReadError
from anonymizer.labelled.codebook import read_codebook
from anonymizer.labelled.description import Description
from anonymizer.reading.files import (
    MAX_BYTES,
    READERS,
    Reader,
    Reading,
    may_unfold,
    read_table,
    size_in_use,
)
from anonymizer.reading.options import Allowance, ReadOptions, bytes_text, operator_allowance
from anonymizer.reading.process import (
    ENDS,
    Child,
    Copy,
    Watch,
    allow_more,
    deny_network,
    described_reading,
    give_back,
    let_end,
    limit,
    reading_from,
    send_reading,
)

PATIENCE = 6
"""The clock may run so many times as long as the processor time that is allowed: other work goes on beside. After that,
the child goes on as long as it gets processor time."""

STALLED = 60.0
"""Seconds without processor time after which a child is ended then."""

PASSED = re.compile(r"PATH|HOME|LANG|LC_\w+|TZ|TE?MP(DIR)?|SYSTEMROOT|(DY)?LD_LIBRARY_PATH|PYTHON\w+")
"""Environment variables that a child has: whatever else is there, such as secrets of a login, is no business of a
parser of foreign files."""

PAUSE = 0.1
"""Seconds between two looks at whether the work is still wanted."""

ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONIOENCODING": "utf-8",
}

Message = tuple[Literal["progress", "size", "error", "reading", "result", "end"], Any]
Work = Callable[[bytes, Any, Progress], Any]
"""What a child may be asked to do: from bytes and a value that JSON can hold, make another such value."""

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
    instead: Mapping[str, Reader] | None = None,
    fork: bool = False,
) -> Reading:
    """Return what :func:`anonymizer.reading.files.read_table` returns, read in a process of its own.

    ``source``: bytes or a path. ``allowance``: what the child may take; ``None``: what the operator set.
    ``reader``: a function of a module that reads the bytes as they came, whatever their format; ``instead``: such
    functions for some formats. ``fork``: in a copy of
    this process, where the system is one that makes such safely; for programs with no other thread that holds locks.

    Raises :class:`ReadError` when no table can be made of the file, or when that takes more than is allowed, and
    :class:`CancelledError` when ``cancelled`` says so, which is asked ten times a second.
    """
    named = reader and (reader.__module__, reader.__qualname__)
    others = {kind: (each.__module__, each.__qualname__) for kind, each in (instead or {}).items()}
    what = {"options": asdict(options or ReadOptions()), "reader": named, "instead": others}
    reading: Reading = _answer(what, source, name, allowance, progress, cancelled, fork)
    return reading


def call_in_child(
    work: Work,
    argument: Any = None,
    *,
    source: bytes | str | os.PathLike[str] = b"",
    name: str | None = None,
    progress: Progress | None = None,
    allowance: Allowance | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    fork: bool = False,
    writes: bool = False,
) -> Any:
    """Return what ``work``, a function of a module, makes of ``source`` and ``argument`` in a process of its own.

    ``argument`` and the answer: values that JSON can hold. ``writes``: it may write files, and is asked to end before
    it is made to, so that it can clear away what it began. The others: of :func:`read_in_child`.

    Raises whatever the work raises, and what :func:`read_in_child` raises.
    """
    what = {"work": (work.__module__, work.__qualname__), "argument": argument, "writes": writes}
    return _answer(what, source, name, allowance, progress, cancelled, fork)


def read_codebook_in_child(data: bytes, *, fork: bool = False) -> tuple[Description, ...]:
    """Return what :func:`anonymizer.labelled.codebook.read_codebook` returns, read in a process of its own."""
    columns = call_in_child(_codebook, source=data, name="The codebook", fork=fork)
    return tuple(
        Description(
            **{
                **column,
                "levels": tuple(map(tuple, column["levels"])),
                "ends": tuple(column["ends"]),
                "missing": tuple(column["missing"]),
            }
        )
        for column in columns
    )


def _codebook(source: bytes, _: Any, progress: Progress) -> list[dict[str, Any]]:
    return list(map(asdict, read_codebook(source)))


def _answer(
    what: dict[str, Any],
    source: bytes | str | os.PathLike[str],
    name: str | None,
    allowance: Allowance | None,
    progress: Progress | None,
    cancelled: Callable[[], bool],
    fork: bool,
) -> Any:
    """Return what a child answers to a request."""
    allowance = operator_allowance() if allowance is None else allowance
    path = None if isinstance(source, bytes) else Path(source)
    called = name or (path.name if path else "The table")
    size = len(source) if isinstance(source, bytes) else _size(Path(source))
    writes = bool(what.get("writes"))
    request = {
        **what,
        "name": called,
        "path": None if path is None else str(path),
        "size": size,
        "readers": {kind: (each.__module__, each.__qualname__) for kind, each in READERS.items()},
        "allowance": asdict(allowance),
    }
    with suppress(OSError):  # the folder is gone
        request["folder"] = os.getcwd()  # the child that waits may have begun elsewhere
    forked = fork and sys.platform == "linux"
    child = _fork() if forked else _take()
    try:
        messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=_send, args=(child, request, source), daemon=True).start()
        threading.Thread(target=_receive, args=(child, messages), daemon=True).start()
        watch = Watch(child.pid)
        while True:
            kind, answer = _next(messages, watch, cancelled, called, size, allowance)
            if kind == "progress" and progress is not None:
                progress(*answer)
            elif kind == "size":
                size = answer
            elif kind == "error":
                raise _error_of(answer, called, size, allowance, writes)
            elif kind in ("reading", "result"):
                return answer
            elif kind == "end":
                raise _death(child.wait(), called, size, allowance, writes)
    finally:
        if writes:
            let_end(child)
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
        env={name: text for name, text in os.environ.items() if PASSED.fullmatch(name)}
        | {**ENVIRONMENT, "PYTHONPATH": paths},
    )


def _fork() -> Copy:
    """Return a copy of this process that waits for a request."""
    question, ask = os.pipe()
    answered, answer = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other threads, such as those of libraries, which know of copies
            pid = os.fork()
        if not pid:
            with suppress(BaseException):  # nothing of the parent's may go on here
                try:
                    os.close(ask)
                    os.close(answered)
                    _run_copy(question, answer)
                finally:
                    for one in ENDS:  # which would raise on the way out, too
                        signal.signal(one, signal.SIG_IGN)
            os._exit(0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(question)
    os.close(answer)
    return Copy(pid, os.fdopen(ask, "wb"), os.fdopen(answered, "rb"))


def _run_copy(question: int, answer: int) -> None:
    """Do the one thing that is asked for, in a copy of another process: what it says goes nowhere but to that."""
    faulthandler.disable()
    for one in ENDS:
        signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(question, 0)
    os.dup2(answer, 1)
    os.dup2(nowhere, 2)
    pa.set_memory_pool(pa.system_memory_pool())
    with os.fdopen(0, "rb") as source:
        main(source)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0  # reading it will say what is wrong


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
            messages.put((kind, reading_from(what, pipe) if kind == "reading" else what))
    except (OSError, ValueError):  # it ended in the middle of a sentence
        pass
    messages.put(("end", None))


def _next(
    messages: "queue.SimpleQueue[Message]",
    watch: Watch,
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
            allowed = allowance.seconds_for(size)
            if watch.seconds > PATIENCE * allowed and watch.stalls(STALLED):
                raise (_too_slow if watch.worked is None else _stalled)(name, size, allowance) from None


def _error_of(described: dict[str, Any], name: str, size: int, allowance: Allowance, writes: bool) -> Exception:
    """Return the error that the work raised in the child, as it was described."""
    kind, error = described.pop("kind"), described.pop("error", None)
    if kind == "OSError":
        return OSError(*error)
    if kind == "MemoryError":
        return _death(0, name, size, allowance, writes)
    kinds = {each.__name__: each for each in AnonymizerError.__subclasses__()}
    return kinds.get(kind, AnonymizerError)(described.pop("problem"), **described)


def _death(status: int, name: str, size: int, allowance: Allowance, writes: bool) -> ReadError:
    """Return what is said of a child that ended without a word. ``status``: minus the signal that ended it."""
    if status == -getattr(signal, "SIGXCPU", 0):
        return _too_slow(name, size, allowance)
    memory = bytes_text(allowance.memory_for(size))
    if writes:
        return ReadError(
            f"The work on {name} takes more than the {memory} of memory that it may, or it was ended from outside; "
            "nothing was written.",
            remedy="Use fewer rows or columns, or allow more (COPSE_READ_MEMORY).",
        )
    return ReadError(
        f"{name} cannot be read: it takes more than the {memory} of memory that a file of its size may, or it is "
        "damaged.",
        remedy="Use fewer rows or columns, or save it as CSV.",
    )


def _too_slow(name: str, size: int, allowance: Allowance) -> ReadError:
    return ReadError(
        f"{name} cannot be read in the {allowance.seconds_for(size):,.0f} seconds of work that a file of its size may "
        "take.",
        remedy="Use fewer rows or columns, or save it as CSV.",
    )


def _stalled(name: str, size: int, allowance: Allowance) -> ReadError:
    return ReadError(
        f"{name} was not read: for {STALLED:,.0f} seconds the computer gave no processor time to the work.",
        remedy="Try again when it is less busy; the file need not be at fault.",
    )


def _say(pipe: IO[bytes], kind: str, what: Any) -> None:
    pipe.write(json.dumps((kind, what)).encode() + b"\n")
    pipe.flush()


# What runs in the child.


def main(question: IO[bytes]) -> None:
    """Do the one thing that is asked for, and answer on standard output."""
    give_back()
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints does not mix with the answer
    line = question.readline()
    if not line:
        return
    request = json.loads(line)
    with suppress(KeyError, OSError):
        os.chdir(request["folder"])
    limit(Allowance(**request["allowance"]), request["size"], bool(request.get("writes")))
    from_database = str((request.get("reader") or [""])[0]).startswith("anonymizer.databases")
    if not (request.get("writes") or from_database):  # what writes may be a run on other machines
        deny_network()
    last = 0.0

    def progress(share: float, words: str) -> None:
        nonlocal last
        if time.monotonic() - last > PAUSE:
            last = time.monotonic()
            _say(pipe, "progress", (share, words))

    try:
        if "work" in request:
            source = question.read() if request["path"] is None else Path(request["path"]).read_bytes()
            _say(pipe, "result", _named(request["work"])(source, request["argument"], progress))
            return
        reading = _read(request, question, pipe, progress)
    except Exception as error:
        _say(pipe, "error", _described_error(error))
        return
    _say(pipe, "reading", described_reading(reading))
    send_reading(reading, pipe)


def _read(request: dict[str, Any], question: IO[bytes], pipe: IO[bytes], progress: Progress) -> Reading:
    """Return the table that is asked for. A packed file may take what it states it may, once that is known."""
    for kind, where in request["readers"].items():
        if kind not in READERS:  # added from outside, from where the child takes it as well
            READERS[kind] = _named(where)
    allowance = Allowance(**request["allowance"])
    source: bytes | Path = question.read() if request["path"] is None else Path(request["path"])
    if isinstance(source, Path) and source.is_file() and source.stat().st_size <= MAX_BYTES:
        with suppress(OSError):  # reading it will say what is wrong
            source = source.read_bytes() if may_unfold(source) else source
    if isinstance(source, bytes) and (size := size_in_use(source)) > request["size"]:
        _say(pipe, "size", size)
        allow_more(allowance, request["size"], size)
    return read_table(
        source,
        name=request["name"],
        options=ReadOptions(**request["options"]),
        progress=progress,
        allowance=allowance,
        reader=_named(request["reader"]) if request["reader"] else None,
        instead={kind: _named(where) for kind, where in request["instead"].items()},
    )


def _named(where: tuple[str, str]) -> Any:
    """Return the function of a module that a request names."""
    return getattr(importlib.import_module(where[0]), where[1])


def _described_error(error: Exception) -> dict[str, Any]:
    """Return an error so that JSON can hold it; one that nobody meant, by its kind and place, for its words may hold
    values."""
    if isinstance(error, AnonymizerError):
        value = error.value if isinstance(error.value, str | int | float) else None
        where = {"column": error.column, "row": error.row, "value": value, "in_full": error.in_full}
        return {"kind": type(error).__name__, "problem": error.problem, **where, "remedy": error.remedy}
    if isinstance(error, MemoryError):
        return {"kind": "MemoryError"}
    if isinstance(error, OSError) and error.filename is not None:
        return {"kind": "OSError", "error": (error.errno, error.strerror, str(error.filename))}
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    problem = f"The work failed: {type(error).__name__}{place}."
    return {"kind": "ReadError", "problem": problem, "remedy": "Nothing was written. Please report it."}


if __name__ == "__main__":
    main(sys.stdin.buffer)
