"""What the framework holds of a session, and when it lets go of it.

The framework keeps uploads until a session is shut down and, of a session that lost its browser, forgets to shut it
down. Here every session that drew a page is known: when its page was left it is closed at once, and when only the
connection was lost, before the framework would drop it unseen (``server.disconnectedSessionTTL``).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.runtime import Runtime, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.warm import sweep

CONNECTION = "x-copse-connection"
"""The header that names a connection between browser and server; the server itself writes it."""
PERIOD = 1.0
"""Seconds between two looks at the sessions."""
FILES_PERIOD = 4.0
"""Seconds in which a file that was made for a click must begin to be fetched."""
MARGIN = 10.0
"""Seconds before the framework's own limit at which a session without a browser is closed."""


@dataclass(frozen=True)
class Visit:
    """A session that drew a page.

    ``connection``: the newest one. ``empty``: drops all that is held of the session. ``left``: whether the page was
    closed, reloaded or left. ``lost``: since when it has had no browser, in seconds of the monotonic clock; ``None``
    while it has one.
    """

    connection: str
    empty: Callable[[], None]
    left: bool = False
    lost: float | None = None


class Sessions:
    """The sessions that drew a page and have not ended."""

    def __init__(self) -> None:
        self.visits: dict[str, Visit] = {}

    def draw(self, session: str, visit: Visit) -> None:
        """Note that a session draws a page."""
        self.visits[session] = visit

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


SESSIONS = Sessions()


def draw(empty: Callable[[], None]) -> None:
    """Note that the running session draws a page: from now on it is known here. ``empty`` drops all that is held of
    it."""
    context = get_script_run_ctx()
    if context is not None:
        SESSIONS.draw(context.session_id, Visit(st.context.headers.get(CONNECTION, ""), empty))


def drop_uploads() -> None:
    """Remove all files that were uploaded in the running session from the framework's memory: they were read."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def close(runtime: Runtime, session: str, visit: Visit) -> None:
    """End a session and empty all that was held of it: the framework lets go of the last session only for a next."""
    runtime.close_session(session)
    runtime.uploaded_file_mgr.remove_session_files(session)
    runtime.media_file_mgr.clear_session_refs(session)
    visit.empty()


async def watch(runtime: Runtime) -> None:
    """Close sessions that have ended, and delete files that no page offers, for as long as the server runs."""
    cleared, swept = time.monotonic(), True
    while True:
        await asyncio.sleep(PERIOD)
        now = time.monotonic()
        ended = SESSIONS.end(runtime.is_active_session, now, st.get_option("server.disconnectedSessionTTL") - MARGIN)
        while ended:
            close(runtime, *ended.popitem())
            swept = False
        if now - cleared >= FILES_PERIOD:
            cleared = now
            runtime.media_file_mgr.remove_orphaned_files()
        if not swept:
            await asyncio.to_thread(sweep)
            swept = True


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    """Watch over the sessions beside the server."""
    watcher = asyncio.create_task(watch(get_instance()))
    yield
    watcher.cancel()
