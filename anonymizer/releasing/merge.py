"""Groups along a line, what is counted of them, and merging those that lack something that limits ask.

A group that lacks something joins the partner of its region, wherever on the line that is, with which least is lost for
what is lacking less. That is weighed in one of three ways (:data:`RULES`), of which none is always the best.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymizer.releasing.pack import Line, Places

if TYPE_CHECKING:
    from anonymizer.releasing.limit_kernels import Wants
    from anonymizer.releasing.polish_kernels import Members

RULES = 3
"""Ways to weigh what is lost against what is lacking; see :func:`anonymizer.releasing.merge_kernels.merge`."""
REACH = 200
"""Among so many groups that are near on the line partners are sought at first, and among as many of all others."""


def merge(line: Line, group: Places, k: int, wants: "Wants", rule: int) -> Places:
    """Return the group of each place of a line (n,), numbered by their first places, after all that lack something have
    joined others. ``group`` (n,): before, numbered along the line; ``rule``: one of :data:`RULES`."""
    from anonymizer.releasing import merge_kernels

    members = gathered(line, group, wants)
    region = np.searchsorted(line.ends, np.unique(group, return_index=True)[1], side="right")
    merge_kernels.merge(members, region, k, wants, line.scale, rule, REACH)
    _, first, number = np.unique(members.group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])


def losses_of(line: Line, group: Places) -> NDArray[np.float64]:
    """Return what the records of each region of a line lose in their groups (regions,). ``group`` (n,): of places."""
    from anonymizer.releasing.limit_kernels import NOTHING

    return np.add.reduceat(gathered(line, group, NOTHING).loss[group], line.starts)


def gathered(line: Line, group: Places, wants: "Wants") -> "Members":
    """Return groups along a line with what is counted of them. ``group`` (n,): of each place."""
    from anonymizer.releasing import polish_kernels

    members = members_of(group, int(group.max()) + 1, line, wants)
    polish_kernels.gather(np.ascontiguousarray(line.codes.T), members, line.scale, wants)
    return members


def members_of(group: Places, rows: int, line: Line, wants: "Wants") -> "Members":
    """Return groups that :func:`anonymizer.releasing.polish_kernels.gather` fills, with ``rows`` hulls."""
    from anonymizer.releasing.polish_kernels import WORD, Members

    n, g, p = len(group), int(group.max()) + 1, len(line.codes)
    words = np.where(line.scale.interval, 0, -(-line.scale.n_codes // WORD))
    hulls = np.empty((3, rows, p), np.int64)
    return Members(
        group=group.copy(),
        first=np.empty(g, np.int64),
        next_=np.empty(n, np.int64),
        previous=np.empty(n, np.int64),
        size=np.empty(g, np.int64),
        low=hulls[0],
        high=hulls[1],
        levels=hulls[2],
        bits=np.zeros((rows, int(words.sum())), np.uint64),
        word=np.cumsum(words) - words,
        loss=np.zeros(rows),
        classes=np.zeros((g, int(wants.first[-1]) + 1), np.int64),
        numbers=np.zeros((g, wants.numbers.shape[1])),
    )
