"""Turns of heavy work: as many sessions compute at once as the operator allows, the others wait.

Half of the work holds the interpreter's lock, so more turns than cores make everybody slower, and the server's own
answers with them. A session has one turn at a time, whatever number of its threads work: what they compute, they share.

Short work goes before long, and long before work in the background. In each of these whoever has had no turn for
longest goes first, so that a session that was idle is answered at once by a busy server. So that nobody waits for ever,
one turn in :data:`PASSED` + 1 goes to that session whatever its work is, while others were passed over. Work in the
background leaves one turn to the pages, where there are two or more.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

PERIOD = 0.25
"""Seconds between two looks at how many are before."""
PASSED = 3
"""Turns in a row that may pass over work of a later kind."""

PAGE = -1
"""Stands for a page among the threads that use a turn."""

Look = Callable[[int], None]
"""What a waiting thread calls with the number of sessions before it. What it raises ends the waiting."""


class Work(IntEnum):
    """How long work takes, first those that go first."""

    SHORT = 0
    LONG = 1
    BACKGROUND = 2


@dataclass(eq=False)
class Owner:
    """A session that has turns. ``served``: the number of its newest turn, in its pages and in the background.
    ``run``: the drawing of a page that asked last, and ``rank`` its place: one drawing keeps it for all that it asks.
    ``keeps``: whether it keeps its next turn for a while, and ``has_kept``: whether it does so now.
    """

    served: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    run: Any = None
    rank: int = 0
    keeps: bool = False
    has_kept: bool = False


@dataclass(eq=False)
class Request:
    """A thread that waits for a turn of its session. ``rank``: the smaller, the longer it had no turn."""

    owner: Owner
    work: Work
    rank: int
    thread: int = field(default_factory=threading.get_ident)
    granted: threading.Event = field(default_factory=threading.Event)

    @property
    def place(self) -> tuple[int, int]:
        """What requests are ordered by."""
        return self.work, self.rank


@dataclass
class Holding:
    """A turn: what it was taken for, and the threads of its session that use it, each as often as it asked.

    The page that keeps it counts as the thread :data:`PAGE`.
    """

    work: Work
    threads: Counter[int] = field(default_factory=Counter)


class Turns:
    """The turns of one process. ``most``: at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._waiting: list[Request] = []
        self._holdings: dict[Owner, Holding] = {}
        self._count = 0
        self._passed = 0

    @contextmanager
    def turn(self, owner: Owner, work: Work, look: Look | None = None, run: Any = None) -> Iterator[None]:
        """Let the block run in a turn of a session, which is waited for.

        ``look``: see :data:`Look`. ``run``: any object that stands for the drawing of the page that asks.
        """
        self._enter(owner, work, look, run)
        try:
            yield
        finally:
            with self._lock:
                self._drop(owner, threading.get_ident())
                self._grant()

    @contextmanager
    def keeping(self, owner: Owner) -> Iterator[None]:
        """Let a session keep the first turn that it gets in the block until the block ends."""
        owner.keeps = True
        try:
            yield
        finally:
            with self._lock:
                owner.keeps = False
                if owner.has_kept:
                    owner.has_kept = False
                    self._drop(owner, PAGE)
                    self._grant()

    def rest(self, owner: Owner, look: Look | None = None) -> None:
        """Let others go before, between two pieces of work in the background; nothing where another thread of the
        session uses the turn, too."""
        thread = threading.get_ident()
        with self._lock:
            holding = self._holdings.get(owner)
            if holding is None or set(holding.threads) != {thread} or not self._waiting:
                return
            del self._holdings[owner]
            self._grant()
        more = holding.threads[thread] - 1
        try:
            self._enter(owner, Work.BACKGROUND, look)
        except BaseException:  # its blocks end now, and give this back
            more += 1
            raise
        finally:
            with self._lock:
                for _ in range(more):
                    self._use(owner, Work.BACKGROUND, thread)

    def waiting(self) -> int:
        """Return how many sessions wait for a turn."""
        with self._lock:
            return len({request.owner for request in self._waiting})

    def working(self) -> int:
        """Return how many sessions have a turn."""
        with self._lock:
            return len(self._holdings)

    def _enter(self, owner: Owner, work: Work, look: Look | None, run: Any = None) -> None:
        with self._lock:
            rank = owner.served[work is Work.BACKGROUND]
            if run is not None:
                owner.rank = owner.rank if run is owner.run else rank
                owner.run, rank = run, owner.rank
            request = Request(owner, work, rank)
            self._waiting.append(request)
            self._grant()
        try:
            while not request.granted.wait(PERIOD):
                if look is not None:
                    look(self._before(request))
        except BaseException:
            with self._lock:
                if request.granted.is_set():
                    self._drop(owner, request.thread)
                else:
                    self._waiting.remove(request)
                self._grant()
            raise

    def _before(self, request: Request) -> int:
        """Return how many sessions wait before a request."""
        with self._lock:
            earlier = self._waiting[: self._waiting.index(request)] if request in self._waiting else []
            before = {other.owner for other in self._waiting if other.place < request.place}
            before |= {other.owner for other in earlier if other.place == request.place}
            return len(before - {request.owner})

    # With the lock.

    def _grant(self) -> None:
        """Give turns to whoever is next, as long as there are any."""
        for request in tuple(self._waiting):
            if request.owner in self._holdings:
                self._admit(request)
        while (request := self._next()) is not None:
            self._count += 1
            request.owner.served[request.work is Work.BACKGROUND] = self._count
            for shared in [one for one in self._waiting if one.owner is request.owner]:
                self._admit(shared)

    def _next(self) -> Request | None:
        if len(self._holdings) >= self.most:
            return None
        behind = sum(holding.work is Work.BACKGROUND for holding in self._holdings.values())
        may = Work.BACKGROUND if behind < max(1, self.most - 1) else Work.LONG
        able = [request for request in self._waiting if request.work <= may]
        if not able:
            return None
        first = min(able, key=lambda request: request.place)
        if all(request.work == first.work for request in able):
            return first
        if self._passed >= PASSED:
            self._passed = 0
            return min(able, key=lambda request: request.rank)
        self._passed += 1
        return first

    def _admit(self, request: Request) -> None:
        self._waiting.remove(request)
        self._use(request.owner, request.work, request.thread)
        request.granted.set()

    def _use(self, owner: Owner, work: Work, thread: int) -> None:
        holding = self._holdings.setdefault(owner, Holding(work))
        holding.threads[thread] += 1
        if owner.keeps and not owner.has_kept:
            owner.has_kept = True
            holding.threads[PAGE] += 1

    def _drop(self, owner: Owner, thread: int) -> None:
        holding = self._holdings[owner]
        holding.threads[thread] -= 1
        holding.threads += Counter()  # drops those that are done
        if not holding.threads:
            del self._holdings[owner]
