"""How many made-up cases a property is tried on: few in the tests, all in the sweeps of ``python run.py fuzz``."""

import os

SWEEPS = bool(os.environ.get("COPSE_SWEEPS"))
"""Whether every case of everything is wanted."""


def few(n: int, least: int = 10) -> int:
    """Return how many of n cases are tried: all in sweeps, otherwise a tenth, and at least ``least`` of them."""
    return n if SWEEPS else max(min(n, least), n // 10)
