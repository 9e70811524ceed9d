"""The sessions that are open, in the order in which they came, and the memory that they take.

The operator says how many may be open at once, and what their tables may take (:mod:`ui.server.capacity`). Who comes
later waits, and gets in as soon as somebody leaves.
"""

import threading
import weakref
from collections.abc import Callable

from anonymizer.errors import ReadError
from anonymizer.reading.options import bytes_text
from ui.server.capacity import Capacity, operator_capacity
from ui.server.turns import Owner

GROWTH = 8
"""What is worked out of a table takes about so many times its own memory: docs/experiments/ui.md."""

Measure = Callable[[], int]
"""What tells the bytes that a session holds."""


class Places:
    """The places of one process. Every function may be called from any thread."""

    def __init__(self, capacity: Capacity) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._measures: weakref.WeakKeyDictionary[Owner, Measure] = weakref.WeakKeyDictionary()

    def enter(self, owner: Owner, measure: Measure) -> int:
        """Return 0 when a session has a place, or the place in the line that it waits at, from 1."""
        with self._lock:
            if owner not in self._measures:
                self._measures[owner] = measure
            return max(0, list(self._measures).index(owner) + 1 - self.capacity.sessions)

    def leave(self, owner: Owner) -> None:
        """Note that a session is over."""
        with self._lock:
            self._measures.pop(owner, None)

    def count(self) -> int:
        """Return how many sessions have a place."""
        with self._lock:
            return min(len(self._measures), self.capacity.sessions)

    def waiting(self) -> int:
        """Return how many sessions wait for a place."""
        with self._lock:
            return max(0, len(self._measures) - self.capacity.sessions)

    def memory(self) -> dict[Owner, int]:
        """Return the bytes that each session holds, about: its table and what was worked out of it."""
        with self._lock:
            measures = dict(self._measures)
        return {owner: measure() for owner, measure in measures.items()}

    def left(self, owner: Owner) -> int:
        """Return the bytes that a session may still come to hold, beside what the others hold."""
        others = sum(size for other, size in self.memory().items() if other is not owner)
        return max(0, min(self.capacity.session_memory, self.capacity.memory - others))

    def require(self, owner: Owner, name: str, size: int) -> None:
        """Raise :class:`ReadError` when a session cannot work on a table of ``size`` bytes, called ``name``, beside the
        others."""
        left = self.left(owner)
        if GROWTH * size > left:
            alone = left >= self.capacity.session_memory
            room = "a session may take {}" if alone else "beside the tables of others, {} are left"
            wait = "" if alone else "try again when others have left, "
            raise ReadError(
                f"{name} takes {bytes_text(size)}, and with what is worked out of it about "
                f"{bytes_text(GROWTH * size)}; {room.format(bytes_text(left))}.",
                remedy=f"Use fewer rows or columns, {wait}or ask who runs this server to allow more.",
            )


PLACES = Places(operator_capacity())
"""Those of this process."""
