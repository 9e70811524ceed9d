"""The lock of a ledger: a file beside it, which one writer makes and removes."""

import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from anonymizer.errors import ParameterError, ReadError
from anonymizer.json_value import parse

if sys.platform != "win32":
    import fcntl

OLD = 600.0
"""Seconds after which another writer may take a lock over: the one that made it was ended."""


@contextmanager
def lock_ledger(path: Path) -> Iterator[None]:
    """Keep other writers from a ledger meanwhile. Raises :class:`ParameterError` when somebody writes it.

    A lock that is older than ten minutes is taken over, unless the process that made it still runs here.
    """
    lock = path.with_name(path.name + ".lock")
    handle = _make(lock)
    if handle is None:
        handle = _take_over(lock)
    try:
        yield
    finally:
        with suppress(OSError):
            if _is_at(lock, handle):
                lock.unlink()
        os.close(handle)


def _make(lock: Path) -> int | None:
    """Return the descriptor of a new lock, ``None`` where there is one."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    _keep(handle)
    _sign(handle)
    return handle


def _take_over(lock: Path) -> int:
    """Return the descriptor of a lock that was left, now signed by this process."""
    try:
        handle = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        raise _busy("now") from None
    since = _time_in(handle)
    try:
        age = (datetime.now(UTC) - since).total_seconds()
        if age < OLD or not _keep(handle) or not _is_at(lock, handle) or _time_in(handle) != since:
            raise _busy(since.astimezone().strftime("%H:%M"))
    except ParameterError:
        os.close(handle)
        raise
    _sign(handle)
    return handle


def _busy(since: str) -> ParameterError:
    return ParameterError(f"Somebody has been writing this ledger since {since}.", remedy="Try again.")


def _keep(handle: int) -> bool:
    """Lock the file itself, which the system unlocks when this process ends; return False where another one did."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _is_at(lock: Path, handle: int) -> bool:
    """Return whether an open file is still the one at its path."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), lock.stat()) and stat.S_ISREG(os.fstat(handle).st_mode)
    return False


def _sign(handle: int) -> None:
    """Write who locks the ledger, and since when."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "time": now}).encode())
    os.fsync(handle)


def _time_in(handle: int) -> datetime:
    """Return since when a ledger is locked: as the lock says, or the time of its file where it says nothing."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        return datetime.fromisoformat(parse(os.read(handle, 1000), "lock", "").field("time").time())
    except ReadError:
        return datetime.fromtimestamp(os.fstat(handle).st_mtime, UTC)
