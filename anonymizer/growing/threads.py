"""Threads that read records side by side, as compiled loops do without Python's lock, and those of linear algebra."""

import math
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

WORKERS = 2
"""Threads that read records at the same time."""
FEW = 5_000
"""Records that are read faster than they are handed to another thread."""
THREADS = "records"
"""How the names of these threads begin."""


def in_threads(work: Callable[[Any], Any], items: Iterable[Any], records: float = math.inf) -> Iterable[Any]:
    """Return the results of ``work`` on each item, in order; compiled kernels run side by side. Work that is itself
    done by one of the threads is done there: were it to wait for the others, all of them could wait. ``records``: that
    are read for one item."""
    items = list(items)
    if len(items) < 2 or records < FEW or threading.current_thread().name.startswith(THREADS):
        return [work(item) for item in items]
    return list(workers().map(work, items))


@cache
def workers() -> ThreadPoolExecutor:
    """Return the threads that read records, for the whole process: making them anew costs more than a small node's
    records."""
    return ThreadPoolExecutor(WORKERS, thread_name_prefix=THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers.cache_clear)  # the threads are the parent's, and nobody's here


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which products of matrices run in one thread: beside loops that run side by side, and on a
    busy machine, several wait for each other, ten times as long."""
    context: AbstractContextManager[Any] = linear_algebra().limit(limits=1, user_api="blas")
    return context


@cache
def linear_algebra() -> "ThreadpoolController":
    """Return the control of linear algebra's threads; to find its libraries takes a while, so it is kept."""
    import scipy.linalg  # noqa: F401 - compiled loops call its library, which must be found, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
