"""A cluster of Dask: one of our own on this machine, or one that is there, and questions to its workers.

Everything a worker is asked can be asked again, of any worker: answers that were lost with it are made anew. A worker
that a question would rather go to is a wish. Processes of our own are :mod:`anonymizer.workers.server`; the folder into
which they spill is locked as long as this process lives, so that one that was left is known by that.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from anonymizer.errors import AnonymizerError, EncodeError, GuaranteeError, ParameterError, ReadError, SchemaError
from anonymizer.releasing.files import MARK, lock_folder, remove_left_folders
from anonymizer.version import how_to_install
from anonymizer.workers.questions import Failure, R, about, answers_in, keys_in, quiet
from anonymizer.workers.server import LOOPBACK
from anonymizer.workers.shares import forget

PATIENCE = 60.0
"""Seconds that a process has to start, and that a cluster may be without any worker."""
LOOK = 0.5
"""Seconds between two looks at whether everybody is still there."""
SPILL = f"{MARK}cluster-"
"""Begins the name of the folder of what does not fit into memory."""
YOUNG = 60.0
"""Seconds in which nobody takes such a folder for left: it may not be locked yet."""
MOST = 8
"""Workers whose answers are added at a time."""
LOCAL_HOSTS = (LOOPBACK, "localhost", "[::1]", "::1")
KINDS: Mapping[str, type[AnonymizerError]] = {
    kind.__name__: kind for kind in (EncodeError, GuaranteeError, ParameterError, ReadError, SchemaError)
}

MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": f"{1 << 20}"}
"""Variables of a worker's process: what is freed goes back to the system, not into gaps between what stays."""


class ClusterError(AnonymizerError):
    """The scheduler or every worker is gone, or what a worker was asked failed there."""


class Cluster:
    """A client of a scheduler. ``name``: of this run; it begins every key, and no key holds a value. ``again``: starts
    another one when ours has lost its scheduler, once; then every question whose answer is needed is asked again.
    """

    def __init__(self, client: Any, address: str) -> None:
        self.client = client
        self.address = address
        self.name = f"{MARK}{secrets.token_hex(4)}"
        self.processes: list[subprocess.Popen[str]] = []
        self.folder: Path | None = None
        self.lock: int | None = None
        self.again: Callable[[], Cluster] | None = None
        self._same: set[str] = set()
        self._places: dict[int, str] = {}
        self._steps: dict[str, int] = {}
        self._questions: dict[str, tuple[Any, ...]] = {}
        self._renewed: dict[str, Any] = {}

    def workers(self) -> list[str]:
        """Return the addresses of the workers, in a fixed order; raise :class:`ClusterError` without a scheduler."""
        self._require_scheduler()
        try:
            return sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        except Exception as error:
            raise self._gone() from error

    def place(self, number: int) -> str | None:
        """Return the worker that has, or from now on should have, a share of the table; ``None`` when none is there."""
        there = self.workers()
        if self._places.get(number) not in there:
            self._places.pop(number, None)
            loads = [sum(place == worker for place in self._places.values()) for worker in there]
            if not there:
                return None
            self._places[number] = there[loads.index(min(loads))]
        return self._places[number]

    def ask(self, step: str, work: Callable[..., Any], *arguments: Any, share: int | None = None) -> Any:
        """Return a future of what a worker answers; ``share``: it should be the one that has this share."""
        self._steps[step] = number = self._steps.get(step, -1) + 1
        key = f"{self.name}-{step}-{number}"
        self._questions[key] = work, share, [keys_in(argument) for argument in arguments]  # answers are not held on to
        return self._keep_on(lambda: self._submit(key))

    def _submit(self, key: str) -> Any:
        work, share, arguments = self._questions[key]
        place = None if share is None else self.place(share)
        wish = {} if place is None else {"workers": [place], "allow_other_workers": True}
        own = [answers_in(argument, self._future) for argument in arguments]
        try:
            return self.client.submit(work, *own, key=key, pure=False, **wish)
        except Exception as error:
            raise self._gone() from error

    def _future(self, key: str, future: Any) -> Any:
        """Return the future of a question, from this scheduler."""
        if future is not None and future.client is self.client:
            return future
        if key not in self._renewed:
            self._renewed[key] = self._submit(key)
        return self._renewed[key]

    def _keep_on(self, work: Callable[[], R]) -> R:
        """Return what ``work`` does, done again on another cluster of ours where the scheduler is gone meanwhile."""
        try:
            return work()
        except ClusterError:
            if self.again is None or not ended(self.processes[0]):
                raise
        again, self.again = self.again, None
        self.close()
        other = again()
        self.client, self.address = other.client, other.address
        self.processes, self.folder, self.lock = other.processes, other.folder, other.lock
        self._places.clear()
        return work()

    def answers(self, futures: Sequence[Any]) -> list[Any]:
        """Return the answers to questions, in their order.

        Raises what went wrong there, in its own words, and :class:`ClusterError` when nobody is left to answer.
        """
        return self._keep_on(lambda: self._answers([self._future(future.key, future) for future in futures]))

    def _answers(self, futures: list[Any]) -> list[Any]:
        self.wait(futures)
        self.require_same_versions()  # of who has joined meanwhile
        try:
            direct = bool(self.processes)  # else a worker may be where only its scheduler reaches it
            answers = self.client.gather(futures, errors="raise", direct=direct)
        except Exception as error:
            raise self._lost(error) from None
        for answer in answers:
            if isinstance(answer, Failure):
                raise KINDS.get(answer.kind, ClusterError)(answer.problem, column=answer.column, remedy=answer.remedy)
        return list(answers)

    def answer(self, future: Any) -> Any:
        """Return the answer to one question."""
        return self.answers([future])[0]

    def wait(self, futures: Sequence[Any]) -> None:
        """Wait until questions are answered, as long as there is somebody to answer them."""
        from distributed import wait

        alone = time.monotonic()
        while True:
            try:
                with self.client.as_current():
                    wait(list(futures), timeout=LOOK)
                return
            except TimeoutError:
                pass
            except Exception as error:
                raise self._lost(error) from None
            if self.workers():
                alone = time.monotonic()
            own = bool(self.processes) and all(process.poll() is not None for process in self.processes[1:])
            if own or time.monotonic() - alone > PATIENCE:
                raise ClusterError(
                    "Every worker is gone: they were stopped, or took more memory than there is.",
                    remedy="Start more workers, or give each more memory, and run it again. Nothing was written.",
                )

    def _lost(self, error: Exception) -> AnonymizerError:
        """Return what is said of a question that nobody answered; never in the words of the worker."""
        self._require_scheduler()
        return ClusterError(
            f"A worker could not answer ({type(error).__name__}).",
            remedy="Give each worker more memory, and run it again. Nothing was written.",
        )

    def _require_scheduler(self) -> None:
        ended = bool(self.processes) and self.processes[0].poll() is not None
        if ended or self.client.status not in ("running", "newly-created"):
            raise self._gone()

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"The scheduler at {self.address} is gone.",
            remedy="Start it again, then run this again. Nothing was written.",
        )

    def require_same_versions(self) -> None:
        """Raise :class:`ParameterError` when a worker that was not asked so far runs other versions than this process,
        or does not encrypt what it says."""
        new = [worker for worker in self.workers() if worker not in self._same]
        if not new:
            return
        for worker in new:
            require_private("worker", worker)
        here = about()
        try:
            there = self.client.run(about, workers=new, on_error="return")
        except Exception as error:
            raise self._lost(error) from None
        for worker, versions in sorted(there.items()):
            if isinstance(versions, BaseException):
                continue  # it is gone again, or will be asked once more
            for name in sorted(here):
                if versions.get(name) != here[name]:
                    raise ParameterError(
                        f"The worker at {worker} has {name} {versions.get(name) or '(none)'}; here it is {here[name]}.",
                        remedy="Install the same versions on every machine.",
                    )
            self._same.add(worker)

    def close(self) -> None:
        """Let go of the workers: our own end, others forget this run."""
        with suppress(Exception):
            if not self.processes:
                self.client.run(forget, self.name)
        with quiet():
            with suppress(Exception):
                self.client.close(timeout=2)
            end(self.processes)
        remove_spill(self.folder, self.lock)
        self.folder = self.lock = None


@contextmanager
def open_cluster(
    scheduler: str | None = None, workers: int | None = None, memory: str = "4GiB", spill: str | Path | None = None
) -> Iterator[Cluster]:
    """Open a cluster: the one whose ``scheduler`` is at an address such as ``tls://HOST:8786``, or one of our own on
    this machine, of so many ``workers`` with ``memory`` each.

    ``spill``: the folder for what does not fit into memory. Ours is inside it, readable by nobody else, and removed
    at every end. TLS keys of a scheduler elsewhere are those of Dask's own configuration.

    Raises :class:`ParameterError` where Dask is not installed, for an address on another machine without TLS, and for
    workers that run other versions; :class:`ClusterError` where nobody answers.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ParameterError("Dask is not installed.", remedy=how_to_install("dask")) from None
    if scheduler is not None and workers is not None:
        raise ParameterError("A scheduler that is there has its own workers.", remedy="Give one of the two.")
    count = os.cpu_count() or 1 if workers is None else workers
    cluster = connect(scheduler) if scheduler is not None else start(count, memory, spill)
    try:
        cluster.require_same_versions()
        yield cluster
    finally:
        cluster.close()


def connect(scheduler: str) -> Cluster:
    """Return a client of a scheduler that is there, with the keys of Dask's configuration."""
    from distributed import Client
    from distributed.security import Security

    require_private("scheduler", scheduler)
    with quiet():
        try:
            security = Security(require_encryption=True) if scheduler.startswith("tls://") else None
            client = Client(scheduler, security=security, timeout=PATIENCE / 4, set_as_default=False)
        except Exception as error:
            raise ClusterError(
                f"No scheduler answers at {scheduler} ({type(error).__name__}).",
                remedy="Start one, and give its address; TLS takes Dask's configuration: distributed.comm.tls.",
            ) from None
    cluster = Cluster(client, scheduler)
    try:
        require_private("scheduler", client.scheduler_info()["address"])  # it may be behind a tunnel
    except ParameterError:
        cluster.close()
        raise
    if not cluster.workers():
        cluster.close()
        raise ClusterError(f"The scheduler at {scheduler} has no workers.", remedy="Start some, and run this again.")
    return cluster


def require_private(what: str, address: str) -> None:
    """Raise :class:`ParameterError` for the address of a scheduler or a worker, ``what``, that is neither encrypted nor
    of this machine."""
    protocol, _, rest = address.rpartition("://")
    host = rest.rpartition(":")[0] or rest
    if protocol != "tls" and not (protocol in ("", "tcp") and host in LOCAL_HOSTS):
        raise ParameterError(
            f"The {what} at {address!r} can be reached from other machines, and nothing would be encrypted.",
            value=address,
            remedy="Start the scheduler and its workers with TLS, and write tls://HOST:8786.",
        )


def start(workers: int, memory: str, spill: str | Path | None) -> Cluster:
    """Return a client of a cluster that was started on this machine: processes of ours that listen on the loopback
    address, encrypt, and let nobody in who does not have the keys, which are made for this run."""
    from dask.utils import parse_bytes
    from distributed import Client
    from distributed.security import Security

    if workers < 1:
        raise ParameterError(f"There must be at least one worker, not {workers}.", value=workers, remedy="Two will do.")
    try:
        limit = parse_bytes(memory)
    except ValueError:
        raise ParameterError(f"{memory!r} is no amount of memory.", value=memory, remedy="Write 4GiB.") from None
    folder, lock = make_spill(spill)
    processes: list[subprocess.Popen[str]] = []
    try:
        keys = Security.temporary()
        tls = {name: getattr(keys, name) for name in keys.__slots__ if name.startswith("tls_") and "_" in name[4:]}
        tls = {name: value for name, value in tls.items() if isinstance(value, str)}
        common = {"tls": tls, "folder": str(folder)}
        processes.append(spawn({**common, "role": "scheduler"}))
        address = first_line(processes[0])
        for number in range(workers):
            wish = {**common, "role": "worker", "name": number, "scheduler": address, "memory": limit}
            processes.append(spawn(wish))
        with quiet():
            client = Client(address, security=keys, timeout=PATIENCE, set_as_default=False)
            client.wait_for_workers(workers, timeout=PATIENCE)
    except BaseException as error:
        end(processes)
        remove_spill(folder, lock)
        if isinstance(error, (AnonymizerError, KeyboardInterrupt, SystemExit)):
            raise
        raise ClusterError(
            f"The workers did not start within {PATIENCE:.0f} seconds ({type(error).__name__}).",
            remedy="Ask for fewer workers.",
        ) from None
    cluster = Cluster(client, address)
    cluster.processes, cluster.folder, cluster.lock = processes, folder, lock
    cluster.again = partial(start, workers, memory, spill)
    return cluster


def make_spill(spill: str | Path | None) -> tuple[Path, int | None]:
    """Return a new folder inside ``spill`` that nobody else can read, and a descriptor that keeps it locked until it is
    closed, or this process ends; ``None`` where folders cannot be locked. What killed processes left there goes."""
    parent = Path(tempfile.gettempdir() if spill is None else spill)
    remove_left_folders(parent, f"{SPILL}????????", YOUNG)
    folder = Path(tempfile.mkdtemp(prefix=SPILL, dir=parent))  # mode 0700
    with suppress(OSError):  # where nothing can be locked, nothing is taken for left, either
        return folder, lock_folder(folder)
    return folder, None


def remove_spill(folder: Path | None, lock: int | None) -> None:
    """Remove a folder of :func:`make_spill`, and let go of it."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def spawn(wish: Mapping[str, Any]) -> "subprocess.Popen[str]":
    """Return a process of :func:`anonymizer.workers.server.main` that was told what to be; it writes no log."""
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "anonymizer.workers.server"], text=True,
        env={**os.environ, "PYTHONPATH": paths, **MEMORY}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if wish["role"] == "scheduler" else subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(wish) + "\n")
    process.stdin.flush()
    return process


def first_line(process: "subprocess.Popen[str]") -> str:
    """Return the first line that a process prints. Raises :class:`ClusterError` when none comes in time."""
    lines: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        lines.append(process.stdout.readline().strip())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(PATIENCE)
    if not lines or not lines[0]:
        raise ClusterError("The scheduler did not start.", remedy="See whether this machine has memory left.")
    return lines[0]


def ended(process: "subprocess.Popen[str]") -> bool:
    """Return whether a process is gone; its connections close a moment before it is."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(2)
    return process.poll() is not None


def end(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """End processes that were spawned here, workers before their scheduler."""
    for process in reversed(processes):
        with suppress(OSError):
            process.kill()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
