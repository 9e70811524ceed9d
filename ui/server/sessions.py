"""What the framework holds of a session, and when it lets go of it.

The framework keeps uploads until a session is shut down and, of a session that lost its browser, forgets to shut it
down. Here every session that drew a page is known: when its page was left it is closed at once, and when only the
connection was lost, before the framework would drop it unseen (``server.disconnectedSessionTTL``).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import streamlit as st

from ui.server.files import drop_files
from ui.server.framework import Runtime, get_instance, session_name
from ui.warm import sweep

CONNECTION = "x-copse-connection"
"""The header that names a connection between browser and server; the server itself writes it."""
BROWSER = "x-copse-browser"
"""The header that names the browser: the digest of its cookie. Whatever a client writes there is overwritten."""
PERIOD = 1.0
"""Seconds between two looks at the sessions."""
FILES_PERIOD = 4.0
"""Seconds between two looks at the files that no page offers."""
MARGIN = 10.0
"""Seconds before the framework's own limit at which a session without a browser is closed."""


@dataclass(frozen=True)
class Visit:
    """A session that drew a page.

    ``connection``: the newest one. ``empty``: drops all that is held of the session. ``browser``: the name of its
    browser. ``stage`` and ``memory``: say how far the session is, in words of ours, and how many bytes its table takes.
    ``left``: whether the page was closed, reloaded or left. ``lost``: since when it has had no browser. ``began``,
    ``last``: when the session drew its first page, and its last. Times are seconds of the monotonic clock.
    """

    connection: str
    empty: Callable[[], None]
    browser: str = ""
    stage: Callable[[], str] = str
    memory: Callable[[], int] = int
    left: bool = False
    lost: float | None = None
    began: float = 0.0
    last: float = 0.0


class Sessions:
    """The sessions that drew a page and have not ended."""

    def __init__(self) -> None:
        self.visits: dict[str, Visit] = {}

    def draw(self, session: str, visit: Visit) -> None:
        """Note that a session draws a page; it began when it drew its first."""
        before = self.visits.get(session)
        self.visits[session] = visit if before is None else replace(visit, began=before.began)

    def leave(self, connection: str) -> None:
        """Note that the page at the other end of a connection is gone for good."""
        for session, visit in tuple(self.visits.items()):
            if visit.connection == connection:
                self.visits[session] = replace(visit, left=True)

    def end(self, is_active: Callable[[str], bool], now: float, patience: float) -> dict[str, Visit]:
        """Forget the sessions that have ended and return them: left, or without a browser for ``patience`` seconds.

        ``is_active``: whether a session has a browser at the moment ``now``.
        """
        ended = {}
        for session, visit in tuple(self.visits.items()):
            lost = None if is_active(session) else now if visit.lost is None else visit.lost
            self.visits[session] = replace(visit, lost=lost)
            if lost is not None and (visit.left or now - lost >= patience):
                ended[session] = self.visits.pop(session)
        return ended


@dataclass(frozen=True)
class Line:
    """A connection: the name of the ``browser`` at its other end, and what ends it."""

    browser: str
    hang_up: Callable[[], Awaitable[None]]


SESSIONS = Sessions()
LINES: dict[str, Line] = {}
"""The connections that stand, by name."""
LEAVING: set[str] = set()
"""The names of those whose pages are on their way elsewhere: nothing may lead them back."""


async def hang_up(ends: Callable[[str, Line], bool]) -> None:
    """End the connections for which ``ends``, of name and line, is true."""
    for name, line in tuple(LINES.items()):
        if ends(name, line):
            await line.hang_up()


def draw(empty: Callable[[], None], stage: Callable[[], str], memory: Callable[[], int]) -> None:
    """Note that the running session draws a page: from now on it is known here. ``empty`` drops all that is held of
    it; ``stage`` and ``memory`` say how far it is and what it takes."""
    session = session_name()
    if session:
        headers, now = st.context.headers, time.monotonic()
        names = {"connection": headers.get(CONNECTION, ""), "browser": headers.get(BROWSER, "")}
        SESSIONS.draw(session, Visit(**names, empty=empty, stage=stage, memory=memory, began=now, last=now))


def go() -> None:
    """Note that the page of the running session is on its way elsewhere."""
    LEAVING.add(st.context.headers.get(CONNECTION, ""))


def close(server: Runtime, session: str, visit: Visit) -> None:
    """End a session and empty all that was held of it: the framework lets go of the last session only for a next."""
    server.close_session(session)
    server.uploaded_file_mgr.remove_session_files(session)
    server.media_file_mgr.clear_session_refs(session)
    drop_files(session)
    visit.empty()


async def forget(ends: Callable[[str, Visit], bool]) -> int:
    """End the sessions for which ``ends``, of name and visit, is true, and all that was held of them, at once; return
    how many.

    Their pages, where they are still open, begin a session that holds nothing.
    """
    server = get_instance()
    ended = {session: visit for session, visit in SESSIONS.visits.items() if ends(session, visit)}
    for session, visit in ended.items():
        SESSIONS.visits.pop(session, None)
        close(server, session, visit)
    connections = {visit.connection for visit in ended.values()}
    await hang_up(lambda name, _: name in connections)
    if ended:
        await asyncio.to_thread(sweep)
    return len(ended)


async def watch(server: Runtime) -> None:
    """Close sessions that have ended, and delete files that no page offers, for as long as the server runs."""
    cleared, swept = time.monotonic(), True
    while True:
        await asyncio.sleep(PERIOD)
        now = time.monotonic()
        ended = SESSIONS.end(server.is_active_session, now, st.get_option("server.disconnectedSessionTTL") - MARGIN)
        while ended:
            close(server, *ended.popitem())
            swept = False
        if now - cleared >= FILES_PERIOD:
            cleared = now
            server.media_file_mgr.remove_orphaned_files()
        if not swept:
            await asyncio.to_thread(sweep)
            swept = True


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    """Watch over the sessions beside the server."""
    watcher = asyncio.create_task(watch(get_instance()))
    yield
    watcher.cancel()
