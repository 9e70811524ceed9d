"""Packed groups, polished: records change groups inside their region as long as that saves detail.

The line of :mod:`anonymizer.releasing.pack` is cut into pieces of neighbouring groups, and in each piece records move
to other groups, or change places, by the loss of the hulls alone. Every other round the pieces begin half a piece
further, so that nothing is kept apart by where they end. Groups are no longer unions of leaves of the line.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import Progress, no_progress
from anonymizer.growing.threads import WORKERS
from anonymizer.releasing.merge import members_of
from anonymizer.releasing.pack import Line, Places
from anonymizer.releasing.packed import packed_parts
from anonymizer.releasing.tiers import Groups, Parts

if TYPE_CHECKING:
    from anonymizer.releasing.limit_kernels import Wants

Flags = NDArray[np.bool_]

PIECE = 128
"""Most groups of a piece."""
PARTNERS = 3
"""Groups among which a record's new one is sought: those in which it costs least."""
ROUNDS = 6
"""Most rounds over all records."""
ENOUGH = 0.01
"""A round that saves less than this share of the loss is the last."""


def polish(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return packed groups (:func:`anonymizer.releasing.packed.pack`), among which records have moved until little more
    is saved. ``rng``: the secret. Raises what ``groups.progress`` raises, between two pieces."""

    def improve(line: Line, group: Places, k: int, wants: "Wants | None") -> Places:
        """Return the groups of a line, polished."""
        return polish_line(line, group, k, wants, groups.progress)

    return packed_parts(groups, k, rng, "polish", improve)


def polish_line(
    line: Line, group: Places, k: int, wants: "Wants | None" = None, progress: Progress = no_progress
) -> Places:
    """Return the group of each place of a line (n,), polished. ``group`` (n,): before, with numbers that are neighbours
    where groups are, as packing gives them; ``wants``: what groups must have besides k records."""
    from anonymizer.releasing import polish_kernels
    from anonymizer.releasing.limit_kernels import NOTHING

    needs = wants or NOTHING
    pairs = 0 if np.isnan(needs.share_max) else int(needs.pairs.max(initial=-1)) + 1
    codes, ends = np.ascontiguousarray(line.codes.T), np.maximum.reduceat(group, line.starts) + 1
    g = int(ends[-1])
    members = members_of(group, g + 2 * len(pieces_of(ends, PIECE // 2)), line, needs)
    polish_kernels.gather(codes, members, line.scale, needs)

    def polish_pieces(shift: int, awake: Flags, turn: int) -> Flags:
        """Polish all pieces once and return the groups that changed; records of ``awake`` groups (g,) are looked at."""
        what = f"Polishing groups, round {turn + 1} of at most {ROUNDS}"
        changes = np.zeros(g, np.bool_)
        pieces = pieces_of(ends, shift)
        by_group = np.argsort(members.group, kind="stable")
        starts = np.searchsorted(members.group[by_group], np.arange(g + 1))

        def work(number: int) -> None:
            first, last = pieces[number]
            records = np.sort(by_group[starts[first] : starts[last]])
            choice = (k, line.scale, needs, wants is not None, PARTNERS, pairs)
            polish_kernels.polish(codes, members, records, first, last, *choice, g + 2 * number, awake, changes)

        for done, _ in enumerate(in_threads(work, len(pieces))):
            progress((turn + done / len(pieces)) / ROUNDS, what)
        return changes

    awake, before = np.ones(g, np.bool_), np.inf
    for turn in range(ROUNDS):
        loss = float(members.size @ members.loss[:g])
        if before - loss < ENOUGH * loss:
            break
        awake = polish_pieces(PIECE // 2 * (turn % 2), awake, turn)
        before = loss
    return members.group


def pieces_of(ends: Places, shift: int) -> list[tuple[int, int]]:
    """Return the first group of each piece and the one after its last. ``ends`` (regions,): where the groups of each
    region end; ``shift``: groups of the first piece of a region, 0 for as many as any has."""
    starts = np.concatenate([[0], ends[:-1]])
    cuts = [[*range(start + (shift or PIECE), end, PIECE), end] for start, end in zip(starts, ends, strict=True)]
    return [
        (int(first), int(last))
        for start, region in zip(starts, cuts, strict=True)
        for first, last in pairwise([start, *region])
    ]


def in_threads(work: Callable[[int], None], count: int) -> Iterator[None]:
    """Do the work for each number below ``count``, side by side, and yield after each; what is left is not begun when
    the caller stops."""
    pool = ThreadPoolExecutor(WORKERS)
    try:
        yield from pool.map(work, range(count))
    finally:
        pool.shutdown(cancel_futures=True)
