"""Programs of tests that begin as copies of one that has loaded the package, which is what takes most of their time.

A process of tests starts such a program (``python -m tests.copies``), of one thread, when it first needs it: one that
has loaded the compiled loops and the framework as well, and for children that read files, whose memory is limited, one
that has not. What is tested about the start itself, such as options of the interpreter, starts a real one.
"""

import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from math import inf
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 1_048_576
"""Bytes of a request: the words and the environment of a program."""
READER = ("-P", "-m", "anonymizer.reading.child")


class Program:
    """A copy that runs, with what :class:`subprocess.Popen` has of it."""

    def __init__(self, pid: int, end: int, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._end = os.fdopen(end, "rb", buffering=0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(False)

    def wait(self, seconds: float = inf) -> int:
        until = time.monotonic() + seconds
        while (status := self._look(seconds == inf)) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a copy", seconds)
            time.sleep(0.05)
        return status

    def _look(self, wait: bool) -> int | None:
        if self.returncode is None:
            os.set_blocking(self._end.fileno(), wait)
            if status := self._end.read(16):
                self.returncode = int(status)
                self._end.close()
        return self.returncode

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, one: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, one)


@cache
def server(loads: str) -> socket.socket:
    """The line to the program that copies itself; it ends with this process. ``loads``: "all" or "little"."""
    from anonymizer.reading.child import ENVIRONMENT

    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.copies", str(theirs.fileno()), loads]
    alike = os.environ | ENVIRONMENT  # some of it counts when a program begins
    subprocess.Popen(command, cwd=ROOT, env=alike, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    return ours


def start(
    words: Sequence[str],
    folder: str | os.PathLike[str],
    environment: dict[str, str],
    *outputs: int,
    loads: str = "all",
) -> tuple[int, int]:
    """Start ``python WORDS`` as a copy: the number of its process, and where to read how it ended. ``outputs``: its
    input, output and error output."""
    end, ended = os.pipe()
    request = {"words": list(words), "folder": str(folder), "environment": environment}
    socket.send_fds(server(loads), [json.dumps(request).encode()], [*outputs, ended])
    os.close(ended)
    return int(os.read(end, 16)), end


def start_reader() -> Program:
    """Start what :func:`anonymizer.reading.child._start` starts."""
    from anonymizer.reading.child import ENVIRONMENT, PASSED

    passed = {name: text for name, text in os.environ.items() if PASSED.fullmatch(name)}
    question, ask = os.pipe()
    answered, answer = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    environment = passed | ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
    started = start(READER, os.getcwd(), environment, question, answer, nowhere, loads="little")
    for descriptor in (question, answer, nowhere):
        os.close(descriptor)
    return Program(*started, os.fdopen(ask, "wb"), os.fdopen(answered, "rb"))


def begin(words: Sequence[str], folder: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    """What :func:`run` returns, of a program that begins as for users."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)


def run(words: Sequence[str], folder: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    """How ``python WORDS`` ends, and what it prints, in ``folder``, as a copy; it finds the package."""
    if sys.platform != "linux":
        return begin(words, folder)
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
        tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as script,
    ):
        if words[0] == "-c":
            script.write(words[1])
            script.flush()
            words = [script.name, *words[2:]]
        _, end = start(words, folder, dict(os.environ), nothing.fileno(), out.fileno(), errors.fileno())
        with os.fdopen(end, "rb") as ending:
            status = int(ending.read())
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(list(words), status, *texts)


def begin_server(command: Sequence[str], folder: Path, environment: dict[str, str], output: int) -> Program:
    """Start a server, ``PYTHON WORDS``, as a copy. ``output``: where what it says goes."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return Program(*start(command[1:], folder, environment, nothing, output, output))
    finally:
        os.close(nothing)


# What runs in the program that copies itself.


def load(loads: str) -> None:
    """Load what programs take: all modules of the package but those of other machines; and "all", the compiled loops
    and the framework of the dashboard."""
    from numba.core.registry import cpu_target

    import anonymizer.cli.main
    import anonymizer.reading.child
    import anonymizer.reading.spreadsheet
    import anonymizer.reading.workbook  # noqa: F401

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    if loads == "all":
        import streamlit.web.cli  # noqa: F401

        from anonymizer.cli.warm import is_compiled, load_loops
        from anonymizer.growing.threads import workers

        if is_compiled():
            load_loops()
            workers().shutdown()  # a copy has no threads
            workers.cache_clear()


def serve(line: socket.socket, loads: str) -> None:
    """Make copies for as long as somebody asks."""
    load(loads)
    assert threading.active_count() == 1, "what has threads cannot be copied"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(line, LONGEST, 4)
        if not request:
            return
        if not os.fork():
            line.close()
            watch(json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def watch(request: dict[str, Any], question: int, answer: int, errors: int, ended: int) -> None:
    """Make the copy, and say its number and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(ended)
        be(request, question, answer, errors)
    os.write(ended, f"{pid:<16}".encode())
    for descriptor in (question, answer, errors):
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody asks any more
        os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def be(request: dict[str, Any], *outputs: int) -> None:
    """Run a program in this process, and end with it."""
    for place, descriptor in enumerate(outputs):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)))
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BufferedWriter(io.FileIO(place, "wb")), encoding="utf-8", write_through=True)
        for place in (1, 2)
    )
    status: Any = 1
    try:
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        tempfile.tempdir = None
        os.chdir(request["folder"])
        perform(request["words"])
        status = 0
    except SystemExit as end:
        status = end.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def perform(words: list[str]) -> None:
    """Do what ``python WORDS`` does."""
    words = [word for word in words if word != "-P"]
    sys.argv = words[1:]
    os.execve = become  # type: ignore[assignment]
    if words[0] == "-m":
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def become(program: str, words: list[str], environment: dict[str, str]) -> None:
    """Do what the system's own does, with this interpreter, and end."""
    assert program == sys.executable
    os.environ.clear()
    os.environ.update(environment)
    perform(words[1:])
    raise SystemExit


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
