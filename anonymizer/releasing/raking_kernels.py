"""Loops of reading boxes by one-way tables: the expected counts of one column, box by box."""

import numpy as np

from anonymizer.loops import njit

NEWTON = 60
"""Most steps to a rate."""
CLOSE = 1e-13
"""A step of so little of a rate is the last."""


@njit(makes_arrays=False)
def at_least_one(mean):
    """Return the expected value of a Poisson number that is at least 1, x / (1 − e^−x), and its slope."""
    if mean <= 1e-5:
        return 1 + mean / 2, 0.5 + mean / 6
    rest = -np.expm1(-mean)
    return mean / rest, (rest - mean * np.exp(-mean)) / rest**2


@njit(makes_arrays=False)
def rate_of(first, last, atom, sure, n, hull, weights):
    """Return λ of a kind of boxes of n records whose cell has the pairs ``first`` to ``last``: see :func:`expected`.

    The sum of expected counts is convex in λ and at least λ times the weights, so Newton's steps from above never pass
    its root.
    """
    whole, free, certain = 0.0, 0.0, 0
    for m in range(first, last):
        whole += weights[atom[m]]
        if sure[m]:
            certain += 1
        else:
            free += weights[atom[m]]
    rate = n / whole if whole > 0 else 0.0
    if not hull or certain == 0:
        return rate
    if certain == n:
        return 0.0
    for _ in range(NEWTON):
        above, steep = rate * free - n, free
        for m in range(first, last):
            if sure[m]:
                count, slope = at_least_one(rate * weights[atom[m]])
                above += count
                steep += weights[atom[m]] * slope
        step = above / steep if steep > 0 else 0.0
        rate = max(rate - step, 0.0)
        if abs(step) <= CLOSE * rate:
            break
    return rate


@njit(makes_arrays=False)
def expected(starts, atom, sure, cell, n, hull, times, weights, there, counts):
    """Add to ``there`` (a,) how many records of all boxes have each atom, and fill ``counts`` with the same of a box of
    each kind, kind after kind; with room for none, it is left out.

    ``starts`` (c + 1,): where the pairs of each cell begin in ``atom``, ``sure`` (m,): see
    :class:`anonymizer.releasing.raking.OpenCells`; ``cell``, ``n``, ``hull``, ``times`` (q,): of each kind, its cell,
    its records, whether ``sure`` holds of it, and how many boxes it is; ``weights`` (a,): of the atoms.
    """
    place = 0
    for q in range(len(cell)):
        first, last = starts[cell[q]], starts[cell[q] + 1]
        rate = rate_of(first, last, atom, sure, n[q], hull[q], weights)
        for m in range(first, last):
            count = rate * weights[atom[m]]
            if sure[m] and hull[q]:
                count = at_least_one(count)[0]
            there[atom[m]] += times[q] * count
            if place < len(counts):
                counts[place] = count
                place += 1
