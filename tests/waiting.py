"""How long a test waits for what must come: as long as the whole gate may take, as a busy machine is slower, not wrong.

No test has a limit of its own below this one. Who writes a test sets ``COPSE_PATIENCE`` to a few seconds.
"""

import os
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

PATIENCE = float(os.environ.get("COPSE_PATIENCE", "1200"))
"""Seconds after which what was waited for is said not to come."""


def wait_until(look: Callable[[], Answer], pause: float = 0.05) -> Answer:
    """What ``look`` answers, once that is true; an answer that stays false fails. ``pause``: seconds between looks."""
    until = time.monotonic() + PATIENCE
    while not (answer := look()):
        assert time.monotonic() < until, f"not within {PATIENCE:g} seconds: {answer!r}"
        time.sleep(pause)
    return answer
