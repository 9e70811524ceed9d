"""Workers that are killed while they answer: by themselves, so that it is the one that has the question at hand."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anonymizer.releasing.files import replace_file
from anonymizer.workers import leaving, shares
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.questions import Share
from tests.waiting import PATIENCE


def die_once(mark: str) -> None:
    """Kill this process, unless another one was killed so before; ``mark``: a file that says which."""
    try:
        handle = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    os.write(handle, str(os.getpid()).encode())
    os.close(handle)
    os.kill(os.getpid(), signal.SIGKILL)


def note_readings(log: str) -> None:
    """Let this process write the number of each share into a file whenever it reads its records."""
    values_in = shares.values_in

    def noted(share: Share) -> Any:
        with Path(log).open("a") as file:
            file.write(f"{share.number}\n")
        return values_in(share)

    shares.values_in = noted


@dataclass(frozen=True)
class Fragile:
    """An array whose holder dies as it is sent to another worker."""

    value: Any
    mark: str

    def __reduce__(self) -> Any:
        die_once(self.mark)
        return np.asarray, (self.value,)


@dataclass(frozen=True)
class Dying:
    """A question whose worker dies: with the answer done and not given ("answering"), with half a file written
    ("writing"), or as another worker gets the answer ("shipping")."""

    work: Callable[..., Any]
    mark: str
    moment: str

    def __call__(self, *arguments: Any) -> Any:
        if self.moment == "writing" and not os.path.exists(self.mark):
            leaving.write_file = self.write_half  # type: ignore[attr-defined]
        answer = self.work(*arguments)
        if self.moment == "shipping":
            return answer._replace(who=Fragile(answer.who, self.mark))
        die_once(self.mark)
        return answer

    def write_half(self, path: Path, content: bytes) -> None:
        """Write the first half of a file, and die."""
        with replace_file(path) as sink:
            sink.write(content[: len(content) // 2])
            sink.flush()
            die_once(self.mark)
            sink.write(content[len(content) // 2 :])


@contextmanager
def killing(cluster: Cluster, step: str, mark: Path, moment: str = "answering", after: int = 0) -> Iterator[None]:
    """Let the worker die that has a step at hand, one of those after the first ``after``; once."""
    ask, times = cluster.ask, 0

    def asking(name: str, work: Any, *arguments: Any, **more: Any) -> Any:
        nonlocal times
        times += name == step
        dies = name == step and times > after
        return ask(name, Dying(work, str(mark), moment) if dies else work, *arguments, **more)

    cluster.ask = asking  # type: ignore[method-assign]
    try:
        yield
    finally:
        del cluster.ask  # type: ignore[method-assign]
    assert mark.exists(), f"nobody was killed in {step}"
    (dead,) = [process for process in cluster.processes[1:] if process.pid == int(mark.read_text())]
    assert dead.wait(PATIENCE) == -signal.SIGKILL
    mark.unlink()
    cluster.processes.remove(dead)
    dead.communicate()
