"""A cluster of any number of workers in one process: every question is answered at once, and its bytes are counted."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anonymizer.workers.questions import Failure
from benchmarks._cluster import frames_of


@dataclass(eq=False)
class Answer:
    """What a worker answers: its ``size`` in bytes as Dask sends it, and the workers that have it."""

    step: str
    value: Any
    size: int
    places: set[int]


@dataclass
class Step:
    """What the questions of one step take: how many there are, processor seconds of workers, and bytes: ``out`` from
    the client with the questions, ``moved`` from worker to worker, ``back`` to the client."""

    tasks: int = 0
    cpu: float = 0.0
    out: int = 0
    moved: int = 0
    back: int = 0


@dataclass(eq=False)
class Inline:
    """Workers that are imagined: the code, its answers and their sizes are those of a cluster, and only the machine is
    not. A question goes to the worker that has its share, to the one that has half of what it takes, or to the one
    that has received least so far."""

    n_workers: int
    name: str = field(default_factory=lambda: secrets.token_hex(4))
    steps: dict[str, Step] = field(default_factory=dict)
    received: list[int] = field(default_factory=list)
    inside: float = 0.0
    running: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        self.received = [0] * self.n_workers

    def workers(self) -> list[str]:
        """See :class:`anonymizer.workers.cluster.Cluster`."""
        return [f"worker {number:04}" for number in range(self.n_workers)]

    def ask(self, step: str, work: Callable[..., Any], *arguments: Any, share: int | None = None) -> Answer:
        """See :class:`anonymizer.workers.cluster.Cluster`. ``inside``: seconds that are not the client's."""
        start = time.process_time()
        about = self.steps.setdefault(step, Step())
        inputs = [item for a in arguments for item in (a if isinstance(a, list) else [a]) if isinstance(item, Answer)]
        own = [a for a in arguments if not (isinstance(a, list) and a and isinstance(a[0], Answer))]
        about.out += frames_of([a for a in own if not isinstance(a, Answer)])
        place = self.place_of(inputs) if share is None else share % self.n_workers
        moved = sum(answer.size for answer in inputs if place not in answer.places)
        for answer in inputs:
            answer.places.add(place)
        self.received[place] += moved
        values = [
            [item.value if isinstance(item, Answer) else item for item in a]
            if isinstance(a, list)
            else (a.value if isinstance(a, Answer) else a)
            for a in arguments
        ]
        before = time.process_time()
        value = work(*values)
        about.cpu += time.process_time() - before
        if isinstance(value, Failure):
            raise SystemExit(f"{step}: {value.problem}")
        about.tasks += 1
        about.moved += moved
        answer = Answer(step, value, frames_of(value), {place})
        self.inside += time.process_time() - start
        return answer

    def client(self, stage: str) -> None:
        """Begin a stage of the client, which counts as a step without questions."""
        now = time.process_time() - self.inside
        if self.running is not None:
            self.steps.setdefault(f"client: {self.running[0]}", Step()).cpu += now - self.running[1]
        self.running = stage, now

    def place_of(self, inputs: list[Answer]) -> int:
        """Return the worker that answers a question of no share."""
        largest = max(inputs, key=lambda answer: answer.size, default=None)
        if largest is not None and 2 * largest.size > sum(answer.size for answer in inputs):
            return min(largest.places)
        return min(range(self.n_workers), key=lambda worker: self.received[worker])

    def answers(self, futures: list[Answer]) -> list[Any]:
        """See :class:`anonymizer.workers.cluster.Cluster`."""
        for future in futures:
            self.steps[future.step].back += future.size
        return [future.value for future in futures]

    def answer(self, future: Answer) -> Any:
        """See :class:`anonymizer.workers.cluster.Cluster`."""
        return self.answers([future])[0]
