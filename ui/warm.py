"""Compile at start what a steward will need in a minute: the first table must not wait for the compiler.

`python run.py` has compiled before it starts the server (:mod:`anonymizer.cli.warm`), so this only loads what was
compiled. Only made-up records are used. What stays loaded then is kept out of the way of the collection of garbage.
"""

import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

NAME = "warm-up"
"""Of the thread that compiles."""


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up beside the server, which answers meanwhile."""
    threading.Thread(target=begin, name=NAME, daemon=True).start()
    yield


def begin() -> None:
    """Load the libraries and compile, and sweep after each."""
    from anonymizer.attacks import attack  # noqa: F401
    from anonymizer.cli.warm import compile_loops
    from anonymizer.drawing import charts  # noqa: F401
    from anonymizer.measuring import comparison  # noqa: F401
    from anonymizer.reading.child import prepare

    prepare()
    sweep()
    compile_loops()
    sweep()


def sweep() -> None:
    """Collect all garbage, and take what is left out of the collections until the next sweep.

    After each drawing of a page all objects are looked through, so that large arrays do not pile up; those of the
    libraries, which stay, made a move of a slider wait for 150 ms. The frame sweeps again when a table came or went.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def wait_text(work: str) -> str:
    """Return what a spinner says: the work, and why it takes longer as long as loops are being compiled."""
    compiling = any(thread.name == NAME for thread in threading.enumerate())
    return f"{work} Copse is still compiling itself, as once after every update." if compiling else work
