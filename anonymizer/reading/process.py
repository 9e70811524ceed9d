"""A process of its own: a copy of this one, and what it may take of memory, processor time and files."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from anonymizer.reading.files import USUAL_FOLDED
from anonymizer.reading.options import MIB, Allowance

RESERVED = 64 * MIB
"""Bytes of stacks and buffers that the child's threads may take beside what the file may."""

FAREWELL = 10.0
"""Seconds that work which writes has to clear away what it began, once it is not wanted any more."""


@dataclass(eq=False)
class Copy:
    """A copy of this process that does one thing, to be talked to as a child is. ``status``: how it ended."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    status: int | None = None

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, unless that is known to have happened."""
        self._signal(signal.SIGKILL)

    def _signal(self, one: signal.Signals) -> None:
        if self.status is None:
            os.kill(self.pid, one)

    def poll(self) -> int | None:
        """Return how it ended, ``None`` as long as it has not."""
        return self._look(os.WNOHANG)

    def wait(self) -> int:
        """Return how it ended, when it has: minus the signal that ended it."""
        status = self._look(0)
        assert status is not None
        return status

    def _look(self, how: int) -> int | None:
        if self.status is None:
            pid, status = os.waitpid(self.pid, how)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status


Child = subprocess.Popen[bytes] | Copy


def let_end(child: Child) -> None:
    """Ask a child to end, and wait until it did, as long as that may take."""
    if child.poll() is None:
        child.terminate()
    until = time.monotonic() + FAREWELL
    while child.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def limit(allowance: Allowance, size: int = 0, writes: bool = False) -> None:
    """Hold this process to what work on a file of ``size`` bytes may take, as far as the system can: memory, processor
    time, no core dump, and no file unless it ``writes``."""
    if writes:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, _stop)
    try:
        import resource
    except ImportError:  # not on every system; the parent's clock still ends it
        return
    most = USUAL_FOLDED * size
    limit_memory(allowance.memory_for(size), allowance.memory_for(most))
    seconds = int(time.process_time()) + 2
    resource.setrlimit(
        resource.RLIMIT_CPU,
        (seconds + int(allowance.seconds_for(size)), seconds + int(allowance.seconds_for(most)) + 5),
    )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not writes:
        os.nice(5)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, RESERVED + int(allowance.memory_for(most))))


def limit_memory(memory: int, most: int | None = None) -> None:
    """Hold this process to so many bytes of memory beside those that it has, and make it the first to end where memory
    runs out all the same. ``most``: to what that can be raised; ``None``: no further."""
    try:
        import resource
    except ImportError:
        return
    adjustment = Path("/proc/self/oom_score_adj")
    if adjustment.exists():
        adjustment.write_text("1000")
    present, hard = _data_bytes() + RESERVED, resource.getrlimit(resource.RLIMIT_DATA)[1]
    ends = [present + int(memory), present + int(memory if most is None else most)]
    if hard != resource.RLIM_INFINITY:
        ends = [min(end, hard) for end in ends]
    resource.setrlimit(resource.RLIMIT_DATA, (ends[0], ends[1]))


def allow_more(allowance: Allowance, before: int, size: int) -> None:
    """Let this process take what a file of ``size`` bytes may, where it was held to what one of ``before`` bytes
    may."""
    try:
        import resource
    except ImportError:
        return
    for what, more in (
        (resource.RLIMIT_DATA, allowance.memory_for(size) - allowance.memory_for(before)),
        (resource.RLIMIT_CPU, allowance.seconds_for(size) - allowance.seconds_for(before)),
    ):
        soft, hard = resource.getrlimit(what)
        resource.setrlimit(what, (min(hard, soft + int(more)), hard))


def _stop(*_: Any) -> None:
    """Have the work end, once: what clears up after it is not ended as well."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def _data_bytes() -> int:
    """Return the bytes of writable memory that this process has already."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmData:")), 0)
