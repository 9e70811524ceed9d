"""Columns of numbers with more values than codes, whose values stay where their records are.

A code is a run of neighbouring values with about equally many records, so numbers at some ranks divide codes. They are
found by counting: how many records are below some edges adds up over shares, and edges close in on each rank a few bits
at a time, until so few values are left that they can be sent.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.partitions.coded import Bins
from anonymizer.workers.cluster import MOST, Cluster
from anonymizer.workers.questions import Share, guarded
from anonymizer.workers.shares import Tallies, numbers_in, read

FIRST, BITS = 16, 4
"""Bits of a number that are counted at first, and by each question after that."""
FEW = 1 << 20
"""Values that are looked through on one worker, for those at the ranks."""
BATCH = 1 << 25
"""Values that are sent to one worker to be counted."""
TOP = np.uint64(1 << 63)
Keys = NDArray[np.uint64]


def keys_of(numbers: NDArray[np.float64]) -> Keys:
    """Return whole numbers in the order of these, (n,); zero is one number, whatever its sign."""
    bits = (numbers + 0.0).view(np.uint64)
    return np.where(bits >= TOP, ~bits, bits | TOP)


def numbers_of_keys(keys: Keys) -> NDArray[np.float64]:
    """Return the numbers whose keys these are, (n,)."""
    return np.where(keys >= TOP, keys ^ TOP, ~keys).view(np.float64)


# On workers.


class Ends(NamedTuple):
    """Of each code of a column in a share its records, its lowest and its highest value, (b,)."""

    records: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@guarded
def stay(reads: list[Tallies]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns whose values stay with their shares, and those whose values must come from each after all."""
    some = {name for tallies in reads for name in tallies.local}
    unfit = {name for name in some if any(name in tallies.unfit for tallies in reads)}
    return tuple(sorted(some - unfit)), tuple(sorted(unfit))


@guarded
def extent(share: Share, name: str) -> NDArray[np.int64]:
    """Return how many records of a share have a number, how many have none, and how many numbers there are, (3,)."""
    values = numbers_in(share, name)
    return np.array([values.below[-1], values.missing, len(values.numbers)])


@guarded
def below(share: Share, name: str, edges: Keys) -> NDArray[np.int64]:
    """Return how many records of a share are below each edge, and how many of its different values, (2, e)."""
    values = numbers_in(share, name)
    place = np.searchsorted(keys_of(values.numbers), edges)
    return np.stack([values.below[place], place])


@guarded
def within(share: Share, name: str, starts: Keys, width: int) -> tuple[Keys, NDArray[np.int64]]:
    """Return the different values of a share in ranges of ``width`` bits, and how many records have each, (d,)."""
    values = numbers_in(share, name)
    keys = keys_of(values.numbers)
    there = np.isin(keys >> np.uint64(width), starts >> np.uint64(width))
    return keys[there], np.diff(values.below)[there]


@guarded
def at_ranks(parts: list[tuple[Keys, NDArray[np.int64]]], ranks: NDArray[np.int64]) -> Keys:
    """Return the values at some ranks among these, from 1."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    records = np.bincount(place, np.concatenate([records for _, records in parts])).astype(np.int64)
    return keys[np.searchsorted(np.cumsum(records), ranks)]


@guarded
def ends(share: Share, name: str, cuts: NDArray[np.float64]) -> Ends:
    """Return the codes of a share, of which each goes up to one of the ``cuts``, and the last one beyond them."""
    values, b = numbers_in(share, name), len(cuts) + 1
    code = np.searchsorted(cuts, values.numbers)
    records = np.bincount(code, np.diff(values.below), minlength=b).astype(np.int64)
    low, high = np.full(b, np.inf), np.full(b, -np.inf)
    np.minimum.at(low, code, values.numbers)
    np.maximum.at(high, code, values.numbers)
    return Ends(records, low, high)


@guarded
def join(parts: list[Ends]) -> Ends:
    """Return the codes of all shares."""
    records, low, high = zip(*parts, strict=True)
    return Ends(np.sum(records, axis=0), np.minimum.reduce(low), np.maximum.reduce(high))


@guarded
def add_up(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of what shares counted."""
    return np.asarray(np.sum(parts, axis=0))


@guarded
def between(share: Share, name: str, low: float, high: float) -> NDArray[np.float64]:
    """Return the different values of a share above ``low`` and not above ``high``."""
    numbers = numbers_in(share, name).numbers
    return numbers[slice(*np.searchsorted(numbers, [low, high], side="right"))]


@guarded
def count_different(parts: list[NDArray[np.float64]]) -> int:
    """Return how many different values there are."""
    return len(np.unique(np.concatenate(parts)))


# Here.


def bins_of_shares(cluster: Cluster, shares: Sequence[Share], reads: list[Any]) -> tuple[dict[str, Bins], list[Any]]:
    """Return the codes of each column whose values stay with their shares, those of
    :func:`anonymizer.growing.number_codes.number_codes`; and futures of what shares hold, which is read again where
    values have to be sent after all. ``reads``: these futures."""
    if not shares[0].numeric:
        return {}, reads
    names, unfit = cluster.answer(cluster.ask("stay", stay, reads))
    if unfit:
        reads = [cluster.ask("read", read, share, unfit, share=share.number) for share in shares]

    def ask_each(step: str, work: Any, *arguments: Any) -> list[Any]:
        return [cluster.ask(step, work, share, *arguments, share=share.number) for share in shares]

    def ask(step: str, work: Any, *arguments: Any, together: Any = add_up) -> Any:
        futures = ask_each(step, work, *arguments)
        while len(futures) > 1:
            futures = [cluster.ask("sum", together, futures[at : at + MOST]) for at in range(0, len(futures), MOST)]
        return cluster.answer(futures[0])

    bins = {}
    for name in names:
        present, missing, values = ask("extent", extent, name).tolist()
        most = shares[0].most - (missing > 0)
        ranks = -(-np.arange(1, most, dtype=np.int64) * present // most)  # records below the code, rounded up
        ranges = ranges_of(partial(ask, "below", below, name), ranks, present, values)
        if ranges.width:
            few = ask_each("within", within, name, np.unique(ranges.start), ranges.width)
            keys = cluster.answer(cluster.ask("ranks", at_ranks, few, ranges.rest))
        else:
            keys = ranges.start
        cuts = numbers_of_keys(np.unique(keys))
        whole: Ends = ask("ends", ends, name, cuts, together=join)
        b = int(np.count_nonzero(whole.records))  # less the last, where the highest value is at a rank
        batches = min(-(-values // BATCH), len(cuts) + 1)
        marks = [-np.inf, *cuts[len(cuts) * np.arange(1, batches) // batches].tolist(), np.inf]
        different = [
            cluster.ask("different", count_different, ask_each("between", between, name, *two))
            for two in zip(marks[:-1], marks[1:], strict=True)
        ]
        bins[name] = Bins(
            cuts[: b - 1], whole.low[:b], whole.high[:b], whole.records[:b], missing, sum(cluster.answers(different))
        )
    return bins, reads


class Ranges(NamedTuple):
    """For each rank the ``start`` of a range of ``width`` bits in which its value is, and its rank among the values of
    all ranges, ``rest``, (r,) each."""

    start: Keys
    width: int
    rest: NDArray[np.int64]


def ranges_of(ask: Callable[[Keys], NDArray[np.int64]], ranks: NDArray[np.int64], present: int, values: int) -> Ranges:
    """Return the ranges in which the values at some ranks are. ``ask``: says of some edges what :func:`below` says of
    them, over all shares; ``ranks`` (r,): ascending, from 1; ``present``, ``values``: records and values in all."""
    width, start, first, last = 64, np.zeros(1, np.uint64), np.zeros((2, 1), np.int64), np.array([[present], [values]])
    while True:
        bits = FIRST if width == 64 else BITS
        width -= bits
        edges = start[:, None] + (np.arange(1 << bits, dtype=np.uint64) << np.uint64(width))
        inner = ask(edges[:, 1:].ravel()).reshape(2, len(start), -1)
        lower = np.concatenate([first[:, :, None], inner], axis=2).reshape(2, -1)
        upper = np.concatenate([inner, last[:, :, None]], axis=2).reshape(2, -1)
        place, of_rank = np.unique(np.searchsorted(upper[0], ranks), return_inverse=True)
        start, first, last = edges.ravel()[place], lower[:, place], upper[:, place]
        if not width or (last - first)[1].sum() <= FEW:
            before = np.cumsum(last[0] - first[0]) - (last[0] - first[0])
            return Ranges(start[of_rank], width, ranks - (first[0] - before)[of_rank])
