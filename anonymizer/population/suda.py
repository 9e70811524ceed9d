"""Special uniques: records that few columns are enough to single out, and which columns those are.

A minimal sample unique (MSU) of a record is a set of columns on which it is alone, and on no proper subset of which it
is. The fewer columns it has, the easier the record is to recognise (Elliot, Manning and Ford 2002).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import Progress, no_progress
from anonymizer.population.frequencies import Codes, combine

Floats = NDArray[np.float64]

FEWEST = 3
"""With fewer columns, scores are those of so many."""
MOST_SETS = 5_000
"""Sets of columns that are tried: all of 12, the smaller ones of more."""


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques of a table of n records and m columns.

    ``sets`` (s, m): distinct sets of columns that are an MSU of somebody; ``record``, ``set_of`` (q,): the record of
    each MSU, and which of the sets it is. ``score`` (n,): Σ (m − |S|)! over a record's MSUs, 0 for those without.
    ``share`` (n, m): the part of the score that comes from MSUs with each column; parts add up to more than 1.
    ``contribution`` (m,): the same of all scores together. ``alone``, ``pairs``: records that are alone, and that have
    exactly one look-alike, on all columns. ``largest``: the most columns of a set that was tried; fewer than m where
    there were too many sets.
    """

    sets: NDArray[np.bool_]
    record: NDArray[np.int64]
    set_of: NDArray[np.int64]
    score: Floats
    share: Floats
    contribution: Floats
    alone: int
    pairs: int
    largest: int

    def of(self, record: int) -> list[tuple[int, ...]]:
        """Return the MSUs of one record as numbers of columns, those of fewest columns first."""
        mine = self.set_of[self.record == record]
        return sorted((tuple(np.flatnonzero(self.sets[one]).tolist()) for one in mine), key=lambda s: (len(s), s))

    def dis(self, fraction: float) -> Floats:
        """Return the DIS-SUDA score of each record (n,): the chance, by the score, that a match of this sample unique
        with the population is right. ``fraction``: of the population that is in the sample, 0 to 1 (Elliot and Manning
        2003). Without pairs nothing speaks against a match, and every scored record gets 1."""
        scores = self.score > 0
        exponent = 1 + (8 - max(self.share.shape[1], FEWEST)) / 20
        powers = self.score[scores] ** exponent
        against = self.pairs * (1 - fraction) / fraction
        chance = np.zeros(len(self.score))
        if len(powers):
            chance[scores] = 1 / (1 + against / (powers * (1 / powers).sum()))
        return chance


def special_uniques(codes: Codes, progress: Progress = no_progress) -> SpecialUniques:
    """Return the minimal sample uniques of keys (n, m), -1 where a value is missing, which agrees with nothing.

    By levels: who is alone on a set is alone on every larger one, so that each level counts only those who are not yet.
    """
    n, m = codes.shape
    columns, largest = max(m, FEWEST), largest_size(m)
    score, parts = np.zeros(n), np.zeros((n, m))
    sets: list[NDArray[np.bool_]] = []
    records: list[NDArray[np.int64]] = []
    before: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.ones(n, bool) if n == 1 else np.zeros(n, bool)}
    for size in range(1, largest + 1):
        progress(effort(m, size - 1) / max(effort(m, largest), 1), f"Looking at sets of {size:,} columns")
        weight = float(factorial(columns - size))
        alone_on: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for subset in combinations(range(m), size):
            listed = list(subset)
            alone = alone_before(before, subset)
            rest = np.flatnonzero(~alone & (codes[:, listed] >= 0).all(axis=1))
            rows = rest[singles(combine(codes[rest][:, listed]))]
            alone[rows] = True
            alone_on[subset] = alone
            if len(rows):
                score[rows] += weight
                parts[rows[:, None], listed] += weight
                sets.append(np.isin(np.arange(m), listed))
                records.append(rows)
        before = alone_on
    share = np.divide(parts, score[:, None], out=np.zeros_like(parts), where=score[:, None] > 0)
    total = score.sum()
    sizes = np.bincount(pd.factorize(combine(codes))[0]) if n else np.zeros(0, np.int64)
    return SpecialUniques(
        sets=np.array(sets).reshape(-1, m),
        record=np.concatenate(records) if records else np.zeros(0, np.int64),
        set_of=np.repeat(np.arange(len(sets)), [len(rows) for rows in records]),
        score=score,
        share=share,
        contribution=parts.sum(axis=0) / total if total else np.zeros(m),
        alone=int((sizes == 1).sum()),
        pairs=int((sizes == 2).sum()) * 2,
        largest=largest,
    )


def alone_before(before: Mapping[tuple[int, ...], NDArray[np.bool_]], subset: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return who is alone on a set of columns without one of them (n,), from the sets of one column less."""
    parts = [before[subset[:j] + subset[j + 1 :]] for j in range(len(subset))]
    return np.asarray(np.logical_or.reduce(parts))


def singles(keys: Codes) -> NDArray[np.int64]:
    """Return the rows whose key no other row has."""
    number, distinct = pd.factorize(keys)
    return np.flatnonzero(np.bincount(number, minlength=len(distinct))[number] == 1)


def effort(m: int, size: int) -> int:
    """Return how many sets of so many and fewer of ``m`` columns there are."""
    return sum(comb(m, one) for one in range(1, size + 1))


def largest_size(m: int) -> int:
    """Return the most columns of a set such that all sets of so many and fewer are at most :data:`MOST_SETS`."""
    size = 0
    while size < m and (size < 2 or effort(m, size + 1) <= MOST_SETS):
        size += 1
    return size
