"""A job: work in a thread of its own, in its session's turn, which can be watched and stopped."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from anonymizer.errors import CancelledError
from ui.server.turns import Owner, Work
from ui.turn import TURNS

BEGIN = "Beginning"
"""What is said to be done before anything is."""

SAYS_LITTLE = 3.0
"""Seconds before the pace of a job says how long it will take."""


@dataclass
class Job:
    """Work in a thread of its own, so that it can be watched and stopped.

    ``key``: what the answer depends on; ``unwanted``: True when nobody waits for it any more. ``owner``: the session in
    whose turn it works; ``before``: how many sessions wait before it, ``None`` while it works. ``parts``: what is there
    of the answer while it works; the page is drawn again for each.
    """

    key: Any
    unwanted: Callable[[], bool]
    owner: Owner = field(default_factory=Owner)
    before: int | None = None
    share: float = 0.0
    what: str = BEGIN
    answer: Any = None
    parts: list[Any] = field(default_factory=list)
    failure: Exception | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)

    def start(self, work: Callable[["Job"], Any], after: float = 0.0) -> None:
        """Start the work after so many seconds, unless it is stopped before."""

        def run() -> None:
            try:
                if self.stopped.wait(after) or (after and self.unwanted()):
                    raise CancelledError("This was stopped.")
                with TURNS.turn(self.owner, Work.BACKGROUND, self._look):
                    self.before = None
                    self.answer = work(self)
            except Exception as error:
                self.failure = error
            finally:
                self.done.set()

        threading.Thread(target=run, daemon=True).start()

    def cancelled(self) -> bool:
        """Return True when the work should end: Cancel was pressed, or nobody waits for it any more.

        Work asks between its pieces, so that here is where others go before.
        """
        with suppress(CancelledError):
            TURNS.rest(self.owner, self._look)
        self.before = None
        return self._ends()

    def _ends(self) -> bool:
        return self.stopped.is_set() or self.unwanted()

    def _look(self, before: int) -> None:
        if self._ends():
            raise CancelledError("This was stopped.")
        self.before = before

    def say(self, share: float, what: str) -> None:
        """Note how far the work is, 0 to 1, and what it does."""
        self.share, self.what = min(max(share, 0.0), 1.0), what

    def go_on(self, share: float, what: str) -> None:
        """Note how far the work is; raises :class:`CancelledError` when it should end."""
        self.say(share, what)
        if self.cancelled():
            raise CancelledError("This was stopped.")

    @property
    def left(self) -> float | None:
        """Seconds that are left if it goes on at its pace; ``None`` as long as that is not known."""
        passed = time.monotonic() - self.started
        return passed * (1 - self.share) / self.share if passed > SAYS_LITTLE and self.share > 0 else None
