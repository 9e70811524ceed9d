"""Connections that do not say what they want: each has a time for it, and each address may have so many of them.

A request begins with its head. Whoever opens connections and sends no whole head takes from others the files that the
system lends to a server, so such connections end, and this server asks for as many files as it may have.
"""

import asyncio
import functools
import logging
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must have come."""
MOST_OF_ADDRESS = 64
"""Connections without a whole head that one address may have at a time; the oldest ends for one more. A browser opens a
handful."""
SILENCE = 60.0
"""Seconds for which a fault of the event loop is not said again."""

WAITING: dict[str, dict[H11Protocol, asyncio.TimerHandle]] = {}
"""The connections of each address that have sent no whole head, the oldest first, and what will end them."""


def address_of(line: H11Protocol) -> str:
    """Return the address at the other end of a connection."""
    return line.client[0] if line.client else ""


def wait(line: H11Protocol) -> None:
    """Begin to wait for a head, and end the oldest connection of the address where it has too many."""
    others = WAITING.setdefault(address_of(line), {})
    if line not in others:
        others[line] = line.loop.call_later(HEAD_SECONDS, line.transport.close)
    if len(others) > MOST_OF_ADDRESS:
        oldest = next(iter(others))
        stop(oldest)
        oldest.transport.abort()


def stop(line: H11Protocol) -> None:
    """End the waiting, where there is any."""
    others = WAITING.get(address_of(line), {})
    if line in others:
        others.pop(line).cancel()
    if not others:
        WAITING.pop(address_of(line), None)


def look(line: H11Protocol) -> None:
    """Wait as long as the head of a request has not come, and no longer."""
    if line.conn.their_state is h11.IDLE and line.transport.get_protocol() is line:
        wait(line)
    else:
        stop(line)


class Once(logging.Filter):
    """Lets the same line of the log pass once in :data:`SILENCE` seconds, and without its traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is said."""
        record.exc_info = record.exc_text = None
        now = time.monotonic()
        again = now - self.last.get(record.getMessage(), -SILENCE) < SILENCE
        if not again:
            self.last = {text: at for text, at in self.last.items() if now - at < SILENCE} | {record.getMessage(): now}
        return not again


def followed(method: Any, then: Any) -> Any:
    """Return a method of a connection after which something else is done with it."""

    @functools.wraps(method)
    def both(line: H11Protocol, *parts: Any) -> None:
        method(line, *parts)
        then(line)

    return both


def guard() -> None:
    """Have this process take connections so, have as many files open as the system lets it, and say a fault of the
    event loop, such as that no file is left, in one line a minute."""
    for name, then in (("connection_made", wait), ("data_received", look), ("connection_lost", stop)):
        setattr(H11Protocol, name, followed(getattr(H11Protocol, name), then))
    logging.getLogger("asyncio").addFilter(Once())
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
