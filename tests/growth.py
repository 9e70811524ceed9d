"""How the time of a reader grows with what it reads."""

import math
import time
from collections.abc import Callable

ENOUGH = 0.004
"""Seconds of processor time that can be told from noise."""
LARGEST = 1 << 22


def seconds(read: Callable[[str], object], text: str) -> float:
    """The processor time of one reading: the least of several."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        read(text)
        times.append(time.thread_time() - began)
    return min(times)


def growth(read: Callable[[str], object], make: Callable[[int], str]) -> float:
    """By how much the time grows when the text is twice as long: 2 where it grows in step, 4 with the square.

    ``make``: a text of a length. It is made longer until the time can be told from noise; one that is always short
    grows by 1.
    """
    size = 500
    while (before := seconds(read, make(size))) < ENOUGH:
        size *= 2
        if size > LARGEST:
            return 1.0
    return math.sqrt(seconds(read, make(4 * size)) / before)
