"""Programs of tests that begin as copies of one that has loaded the package, which is what takes most of their time.

A process of tests starts one such program (``python -m tests.copies``), of one thread, when it first needs it. What is
tested about the start itself, such as options of the interpreter, starts a real one.
"""

import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 1_048_576
"""Bytes of a request: the words and the environment of a program."""
READER = ("-P", "-m", "anonymizer.reading.child")


class Program:
    """A copy that runs, with what :class:`subprocess.Popen` has of it."""

    def __init__(self, pid: int, end: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._end = os.fdopen(end, "rb", buffering=0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        os.set_blocking(self._end.fileno(), False)
        return self._look()

    def wait(self) -> int:
        os.set_blocking(self._end.fileno(), True)
        status = self._look()
        assert status is not None
        return status

    def _look(self) -> int | None:
        if self.returncode is None and (said := self._end.read(16)):
            self.returncode = int(said)
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
def server() -> socket.socket:
    """The line to the program that copies itself; it ends with this process."""
    from anonymizer.reading.child import ENVIRONMENT

    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.copies", str(theirs.fileno())]
    alike = os.environ | ENVIRONMENT  # some of it counts when a program begins
    subprocess.Popen(command, cwd=ROOT, env=alike, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    return ours


def start(words: Sequence[str], folder: str | os.PathLike[str] | None = None, **environment: str) -> Program:
    """Start ``python WORDS`` as a copy; what it writes on its error output goes nowhere."""
    question, ask = os.pipe()
    answered, answer = os.pipe()
    end, ended = os.pipe()
    request = {"words": list(words), "folder": str(folder or os.getcwd()), "environment": environment}
    socket.send_fds(server(), [json.dumps(request).encode()], [question, answer, ended])
    for descriptor in (question, answer, ended):
        os.close(descriptor)
    pid = int(os.read(end, 16))
    return Program(pid, end, os.fdopen(ask, "wb"), os.fdopen(answered, "rb"))


def start_reader() -> Program:
    """Start what :func:`anonymizer.reading.child._start` starts."""
    from anonymizer.reading.child import ENVIRONMENT, PASSED

    passed = {name: text for name, text in os.environ.items() if PASSED.fullmatch(name)}
    return start(READER, **passed | ENVIRONMENT | {"PYTHONPATH": str(ROOT)})


# What runs in the program that copies itself.


def load() -> None:
    """Load what programs take: all modules of the package but those of other machines."""
    import anonymizer.cli.main
    import anonymizer.reading.child
    import anonymizer.reading.spreadsheet
    import anonymizer.reading.workbook  # noqa: F401


def serve(line: socket.socket) -> None:
    """Make copies for as long as somebody asks."""
    load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        said, descriptors, _, _ = socket.recv_fds(line, LONGEST, 3)
        if not said:
            return
        if not os.fork():
            line.close()
            watch(json.loads(said), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def watch(request: dict[str, Any], question: int, answer: int, ended: int) -> None:
    """Make the copy, and say its number and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(ended)
        run(request, question, answer)
    os.write(ended, f"{pid:<16}".encode())
    os.close(question)
    os.close(answer)
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody asks any more
        os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def run(request: dict[str, Any], question: int, answer: int) -> None:
    """Run a program in this process, and end with it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor, place in ((question, 0), (answer, 1), (nowhere, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BufferedReader(io.FileIO(0))),
        io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "wb")), encoding="utf-8"),
        io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "wb")), encoding="utf-8", write_through=True),
    )
    status: Any = 1
    try:
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        os.chdir(request["folder"])
        words = request["words"]
        module = words.index("-m") + 1
        sys.argv = words[module:]
        runpy.run_module(words[module], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
