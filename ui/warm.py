"""Compile at start what a steward will need in a minute: the first table must not wait for the compiler.

After an update a process beside the server compiles (:mod:`anonymizer.cli.warm`), first what a first tree needs, then
what a first release does; the server loads these as soon as they are there, and pages that need them wait for them
alone. Only made-up records are used. What stays loaded then is kept out of the way of the collection of garbage.
"""

import gc
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from anonymizer.cli.warm import RELEASE, STAGES, is_compiled, load_loops, load_stage

NAME = "warm-up"
"""Of the thread that warms up."""
NEEDED = {"": "", "roles": "", "verify": "", "tree": RELEASE, "gate": RELEASE, "release": RELEASE}
"""The stage of the compiler that a page waits for, "" for none; every other page waits for its end."""
COMPILER = (sys.executable, "-m", "anonymizer", "compile")
LINE = re.compile(r" *([0-9]+)% (.+)")
"""What the process that compiles says."""


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Warm up beside the server, which answers meanwhile."""
    threading.Thread(target=begin, name=NAME, daemon=True).start()
    try:
        yield
    finally:
        WARM_UP.stop()


@dataclass
class WarmUp:
    """How far it is: ``done``, or why it ended before, as a sentence. ``compiler``: the process that compiles, as long
    as it does; ``share``, ``words``: how far that is, and at what; ``loaded``: of :data:`anonymizer.cli.warm.STAGES`,
    those whose loops are there."""

    done: bool = False
    failure: str = ""
    compiler: "subprocess.Popen[str] | None" = None
    share: float = 0.0
    words: str = "Starting"
    loaded: frozenset[str] = frozenset()

    def is_ready(self, page: str) -> bool:
        """Whether a page finds all loops that it needs, or nobody compiles, so that it may load or compile them."""
        return self.compiler is None or NEEDED.get(page) in {"", *self.loaded}

    def stop(self) -> None:
        """End the process that compiles."""
        if self.compiler is not None:
            self.compiler.terminate()

    def health(self) -> tuple[int, str]:
        """Return the HTTP status that says whether a tree can be grown, and words for it."""
        if self.failure:
            return 503, self.failure
        return 200, "ok" if self.done else "Warming up: compiled code is being loaded; a first tree waits for it."


WARM_UP = WarmUp()
"""That of this process."""

AGAIN_AFTER = 30.0
"""Seconds after which a warm-up that failed is tried again."""

GIVES_WAY = 10
"""How nice the process that compiles is."""

PAUSE = 5.0
"""Seconds after a drawing until garbage is collected."""

AGAIN = threading.Event()
"""Whether the next collection is a sweep."""

COLLECTION = threading.Lock()
"""Held while a collection of garbage is planned."""


def begin() -> None:
    """Warm up; where that did not work, try again after a while."""
    while not warmed_up():
        time.sleep(AGAIN_AFTER)


def warmed_up() -> bool:
    """Load the libraries and compile, and return whether that worked, which is noted."""
    try:
        load()
        WARM_UP.done, WARM_UP.failure = True, ""
    except Exception as error:  # of whatever kind: nothing but this note would say that no tree can be grown
        if not WARM_UP.failure:
            logging.getLogger(__name__).exception("The warm-up failed; it is tried again")
        WARM_UP.failure = (
            f"No tree can be grown: Copse's compiled code could not be loaded ({type(error).__name__}: {error}). "
            "Start Copse anew; if that does not help, install it anew."
        )
    return WARM_UP.done


def load() -> None:
    """Load the libraries and loops, compile them where that was not done yet, and sweep after each."""
    from anonymizer.drawing import charts  # noqa: F401
    from anonymizer.measuring import comparison  # noqa: F401
    from anonymizer.reading.child import prepare
    from anonymizer.studies import attack  # noqa: F401

    prepare()
    sweep()
    if not is_compiled():
        compile_beside()
    load_loops()
    sweep()


def compile_beside() -> None:
    """Compile in a process beside this one, and load the loops of each stage as soon as they are there."""
    with subprocess.Popen(
        COMPILER, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
    ) as WARM_UP.compiler:
        give_way(WARM_UP.compiler.pid)
        for line in WARM_UP.compiler.stderr or ():
            if (step := LINE.fullmatch(line.rstrip())) is None:
                continue
            WARM_UP.share, WARM_UP.words = int(step[1]) / 100, step[2]
            if step[2] in STAGES:
                load_stage(step[2])
                WARM_UP.loaded |= {step[2]}
    WARM_UP.compiler = None


def give_way(process: int) -> None:
    """Let this process, which draws pages, go before another one, and before those that it starts, where the system
    can: what is compiled after a first tree must not hold that up."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, GIVES_WAY)


def sweep() -> None:
    """Collect all garbage, and take what is left out of the collections until the next sweep.

    Those of the libraries, which stay, made a move of a slider wait for 150 ms. The frame sweeps again when a table
    came or went; and :data:`PAUSE` seconds later, when nobody holds any more what was in use at that moment.
    """
    sweep_now()
    AGAIN.set()
    tidy()


def sweep_now() -> None:
    """Do what :func:`sweep` does, once."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def tidy() -> None:
    """Have the garbage of drawn pages collected :data:`PAUSE` seconds from now, so that large arrays do not pile up:
    once, however many sessions draw meanwhile. The framework would do it after each drawing, while everybody waits."""
    if COLLECTION.acquire(blocking=False):
        timer = threading.Timer(PAUSE, collect)
        timer.daemon = True
        timer.start()


def collect() -> None:
    """Collect garbage, all of it when a table came or went, and let the next collection be planned."""
    COLLECTION.release()
    if AGAIN.is_set():
        AGAIN.clear()
        sweep_now()
    else:
        gc.collect()


def wait_text(work: str) -> str:
    """Return what a spinner says: the work, and why it may take longer as long as loops are being compiled."""
    compiling = WARM_UP.compiler is not None
    return f"{work} Copse is still compiling itself, as once after every update." if compiling else work
