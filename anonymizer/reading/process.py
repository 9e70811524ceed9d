"""A process of its own: a copy of this one, what it may take of memory, processor time and files, and how a table
comes back from it."""

import ctypes
import errno
import os
import platform
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anonymizer.json_value import JsonValue
from anonymizer.labelled.variable import Variable
from anonymizer.reading.files import USUAL_FOLDED, Reading
from anonymizer.reading.options import MIB, Allowance, Answer, Problem, Question, ReadOptions

RESERVED = 64 * MIB
"""Bytes of stacks and buffers that the child's threads may take beside what the file may."""

OWN_MAPPING = -3
"""M_MMAP_THRESHOLD of mallopt(3): what is larger is memory of its own, that goes back when it is freed."""

ENDS = signal.SIGINT, signal.SIGTERM
"""Signals that ask a process to end."""

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


class Watch:
    """How long a process was watched, ``seconds``, and the processor time that it ``worked``, ``None`` where the system
    does not say."""

    def __init__(self, pid: int) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._began = self._last = time.monotonic()
        self.worked = self._work()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def stalls(self, seconds: float) -> bool:
        """Return True when it got no processor time for so many seconds, or the system does not say."""
        if (work := self._work()) != self.worked:
            self.worked, self._last = work, time.monotonic()
        return work is None or time.monotonic() - self._last > seconds

    def _work(self) -> float | None:
        with suppress(OSError, ValueError, IndexError):
            parts = self._stat.read_text().rpartition(")")[2].split()
            return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
        return None


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
        for one in ENDS:
            if signal.getsignal(one) is not signal.SIG_IGN:  # as a shell has it for work in the background
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


CALLS = {"x86_64": (0xC000003E, 317, (41, 425)), "aarch64": (0xC00000B7, 277, (198, 425))}
"""Of a machine: its number, that of seccomp(2), and of calls that open a way to a network: socket, io_uring_setup."""


def deny_network() -> None:
    """Keep this process from opening a connection, and from gaining rights, for good, where the system can: a parser of
    a foreign file needs neither."""
    number, seccomp, calls = CALLS.get(platform.machine(), (0, 0, ()))
    if sys.platform != "linux" or not number:
        return
    load, jump, above, answer = 0x20, 0x15, 0x35, 0x06
    refuse, allow = 0x00050000 | errno.EACCES, 0x7FFF0000
    program = [(load, 0, 0, 4), (jump, 0, len(calls) + 3, number), (load, 0, 0, 0)]
    program += [(above, len(calls) + 1, 0, 0x40000000)]  # the same calls by other numbers, on x86-64
    program += [(jump, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    program += [(answer, 0, 0, allow), (answer, 0, 0, refuse)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    rules = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    libc.syscall(seccomp, 1, 1, rules)  # SECCOMP_SET_MODE_FILTER, for all threads


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
    for one in ENDS:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def give_back() -> None:
    """Have the memory of each freed column go back to the system at once, where its C library can be told."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(OWN_MAPPING, MIB)


def _data_bytes() -> int:
    """Return the bytes of writable memory that this process has already."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmData:")), 0)


# A reading on its way through a pipe: column by column, so that never more than one is there twice.


def _columns_of(frame: pd.DataFrame) -> Iterator[pa.Array]:
    """Yield the columns of a table, and hold none any longer than that."""
    for name in list(frame.columns):
        values = frame.pop(name)
        if isinstance(values.dtype, pd.CategoricalDtype):
            codes = values.array.codes
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


def described_reading(reading: Reading) -> dict[str, Any]:
    """Return all of a reading but the values, JSON-ready."""
    described = {
        key: value
        for key, value in vars(reading).items()
        if key not in ("frame", "options", "problems", "questions", "variables", "distinct")
    }
    described["options"] = asdict(reading.options)
    described["problems"] = [asdict(problem) for problem in reading.problems]
    described["questions"] = [asdict(question) for question in reading.questions]
    described["variables"] = {name: variable.to_dict() for name, variable in reading.variables.items()}
    described["columns"] = list(reading.frame.columns)
    described["distinct"] = reading.distinct is not None
    return described


def send_reading(reading: Reading, pipe: IO[bytes]) -> None:
    """Write the columns of a table into a pipe, as Arrow, then their distinct values where they are in codes; the table
    is emptied."""
    send_values(reading.frame, pipe)
    for name, values in (reading.distinct or {}).items():
        send_values(pd.DataFrame({name: values}, copy=False), pipe)


def send_values(frame: pd.DataFrame, pipe: IO[bytes]) -> None:
    """Write the columns of a table into a pipe, as Arrow; the table is emptied."""
    for column in _columns_of(frame):
        batch = pa.record_batch([column], names=["values"])
        with pa.ipc.new_stream(pipe, batch.schema) as stream:
            stream.write_batch(batch)
    pipe.flush()


def reading_from(described: dict[str, Any], pipe: IO[bytes]) -> Reading:
    """Return the reading that was described, its values taken from a pipe. Raises :class:`ValueError` for others."""
    names = described.pop("columns")
    values = {label: _next_values(pipe) for label in names}
    coded = described.pop("distinct")
    described["distinct"] = {label: pd.Series(_next_values(pipe), name=label) for label in names} if coded else None
    described["options"] = ReadOptions(**described["options"])
    described["problems"] = tuple(Problem(**problem) for problem in described["problems"])
    described["questions"] = tuple(_question(question) for question in described["questions"])
    described["sheets"] = tuple(described["sheets"])
    variables = JsonValue(described["variables"], "variables", "file", "Save it again.").fields()
    described["variables"] = {name: Variable.from_value(value) for name, value in variables.items()}
    return Reading(pd.DataFrame(values, copy=False), **described)


def _next_values(pipe: IO[bytes]) -> Any:
    with pa.ipc.open_stream(pipe) as stream:
        values = _values_of(stream.read_next_batch().column(0))
        if next(iter(stream), None) is not None:
            raise ValueError("one batch a column was expected")
    return values


def _question(described: dict[str, Any]) -> Question:
    answers = [
        Answer(answer["label"], *(tuple(map(tuple, answer[name])) for name in ("changes", "sample")))
        for answer in described["answers"]
    ]
    return Question(**{**described, "answers": tuple(answers)})
