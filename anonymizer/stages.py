"""Lazy values that several flows share, and what a stage is."""

import time
from collections.abc import Callable
from threading import RLock, local
from typing import Any, Generic, TypeVar

Answer = TypeVar("Answer")

DEPENDS: dict[str, tuple[str, ...]] = {}
"""Each stage, and what it depends on beside the table: what :func:`stage` was told where it stands."""


_clock = local()
"""``inside``: the seconds that answers took which were computed for the one that is being computed, by thread."""


class LazyValue(Generic[Answer]):
    """A value that is computed when it is first asked for, by one thread. ``seconds``: what that took, without
    the answers that it had to wait for."""

    __slots__ = ("_answer", "_lock", "ready", "seconds")

    def __init__(self) -> None:
        self.ready = False
        self.seconds = 0.0
        self._answer: Answer | None = None
        self._lock = RLock()

    def get(self, compute: Callable[[], Answer]) -> Answer:
        """Return the answer, computed now when it was not before."""
        with self._lock:
            if not self.ready:
                outside, _clock.inside = getattr(_clock, "inside", 0.0), 0.0
                began = time.perf_counter()
                try:
                    self._answer = compute()
                finally:
                    took = time.perf_counter() - began
                    self.seconds, _clock.inside = took - _clock.inside, outside + took
                self.ready = True
            return self._answer  # type: ignore[return-value]


class Stage(Generic[Answer]):
    """A property of a :class:`anonymizer.flow.Flow` that is computed once for all that agree on what it needs."""

    def __init__(self, compute: Callable[[Any], Answer]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, flow: Any, owner: type) -> Answer:
        answer: Answer = flow._once(self._compute.__name__, lambda: self._compute(flow))
        return answer


def stage(*needs: str) -> "Callable[[Callable[[Any], Answer]], Stage[Answer]]":
    """Return what makes a stage of a function; ``needs``: what it depends on beside the table."""

    def of(compute: Callable[[Any], Answer]) -> Stage[Answer]:
        DEPENDS[compute.__name__] = needs
        return Stage(compute)

    return of
