"""Compiled loops: numba's ``njit``, with machine code that several processes may keep in one place at once, and one
version of a loop for all whole numbers that stand in calls of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit, types
from numba.core.caching import IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

__all__ = ["njit"]

_save = IndexDataCacheFile.save
_template = Dispatcher.get_call_template


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock on a file beside ``path`` while the block lasts, where that is possible."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:  # another user's, whose loops are here
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _save_alone(self: Any, key: Any, data: Any) -> None:
    """Save a version of a loop while no other process does: numba reads its list, adds to it and writes it, so that two
    at once would give two versions one file."""
    with _locked(f"{self._cache_path}/.copse-loops.lock"):
        _save(self, key, data)


IndexDataCacheFile.save = _save_alone  # type: ignore[method-assign]


def _template_of_numbers(self: Any, args: Any, kws: Any) -> Any:
    """Return how a loop is called from another: with whole numbers, not with the 0 or 1 that stands there, for numba
    would compile a version for each (98 of 479)."""
    if self.py_func.__module__.startswith("anonymizer."):
        args = [types.unliteral(one) if isinstance(one, types.IntegerLiteral) else one for one in args]
    return _template(self, args, kws)


Dispatcher.get_call_template = _template_of_numbers  # type: ignore[method-assign]
