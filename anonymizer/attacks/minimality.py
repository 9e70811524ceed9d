"""What a method gives away by being guided by sensitive values: it is run again under other ways that these could lie.

A method that looks at sensitive values makes these boxes and no others *because* the values lie as they do (minimality:
Wong, Fu, Wang and Pei 2007). The attacker knows the settings, the quasi-identifying values of everybody, who is in
which group, and the sensitive values of each group as they were released, but not whose they are. Each way to deal
these out within the groups is tried: the method is run on it, and a way that does not bring the published release back
was not the truth. What all other ways agree on is certain.

Small tables are enumerated as a whole. In larger ones each group is tried for itself, as if all others were known: an
attacker who knows more. A group with too many ways is walked through: two people exchange their values, and where that
brings the release back the walk goes on from there. Whose value never changed may be certain, and need not be.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.outcome import Rate
from anonymizer.attacks.rerun import Run, cells_of, groups_of
from anonymizer.errors import Progress
from anonymizer.groups.recipe import PACKS, group, grow_by
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import others_of, sequence_of, words_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.releasing.generalize import divide, memory_of
from anonymizer.releasing.packed import as_one_region
from anonymizer.values import share

Rows = NDArray[np.int64]

MOST = 1_000
"""Most ways of a table, or of a group, that are all tried."""
SWAPS = 20
"""Exchanges that are tried for a person of a group with more ways, until one changes the person's value."""
KEY = b"minimality"
"""Of the order in which records are tried, which everybody may know."""
SECRET = PACKS
"""Generalizers with a secret. What the attacker can say without it: where the tree leaves several regions, every
published group lies inside one of them."""


@dataclass(frozen=True)
class Minimality:
    """What the method's guidance gave away. ``certain``: people whose sensitive value became certain, of those who were
    counted; ``already``: people whose whole group shares it, of the same. ``people`` in the table. ``gain``: by how
    much the chance of the true value rose on average, of groups whose ways were all tried (``None`` without any).
    ``runs`` of the method. ``whole``: the table was enumerated as a whole, and not group by group. ``walks``: people of
    whose group not all ways were tried, for whom ``certain`` is an upper bound.
    """

    certain: Rate
    already: Rate
    people: int
    gain: float | None
    runs: int
    whole: bool
    walks: int

    @property
    def sentence(self) -> str:
        """The same in words."""
        n = self.certain.tries
        if not n:
            return "Not counted: no group could be tried in the time."
        beside = "" if self.whole else ", and whose they are in all other groups,"
        text = (
            "Somebody who knows everybody's quasi-identifiers and the sensitive values of each group"
            f"{beside} and runs the method on other ways that these could lie, becomes certain of "
            f"{'at most ' if self.walks and self.certain.right else ''}{self.certain.right:,.0f} of {n:,} rows "
            f"({self.already.right:,.0f} more share theirs with their whole group)."
        )
        if self.gain is not None:
            text += f" The chance of the true value rises by {share(self.gain)} on average."
        if n < self.people:
            text += f" {self.people - n:,} rows were not tried."
        return text


def minimality(
    run: Run, rng: np.random.Generator, *, most: int = MOST, runs: float = math.inf, seconds: float = math.inf,
    swaps: int = SWAPS, say: Progress | None = None,
) -> Minimality | None:  # fmt: skip
    """Return what rerunning the settings of a run under other ways to deal out sensitive values tells of the target.

    ``None`` without a sensitive column, or of groups that share records. ``most``: ways of a table or a group that are
    all tried. ``runs`` of the method at most: of each group its fair part of the people that these are sure to do for.
    After ``seconds`` no other way is tried, and people who are not done are not counted. ``swaps``: exchanges for each
    person on a walk, see :data:`SWAPS`. ``rng`` draws exchanges, the order of the groups and who of them is tried,
    whatever the order of the rows.
    """
    schema = run.schema
    if schema.target is None or len(run.parts.shared_record):
        return None
    end, n = time.monotonic() + seconds, len(run.table)
    reruns = Reruns(run, end, runs)
    target = np.asarray(pd.factorize(run.table[schema.target], use_na_sentinel=False)[0], dtype=np.int64)
    parts = np.unique(run.parts.part, return_inverse=True)[1]
    groups = groups_in_sequence(run, parts)
    share = (
        np.bincount(parts * (target.max() + 1) + target)[parts * (target.max() + 1) + target]
        / np.bincount(parts)[parts]
    )
    whole = number_of_ways(groups, reruns.values) <= min(most, runs)
    rounds = [groups] if whole else [[groups[place]] for place in rng.permutation(len(groups))]
    counted, certain, gains, walks, rest = np.zeros(n, np.bool_), np.zeros(n, np.bool_), [], 0, n
    for number, some in enumerate(rounds):
        if reruns.late or (reruns.left < swaps and not whole):
            break
        if say is not None:
            used = 0.0 if math.isinf(seconds) else 1 - max(end - time.monotonic(), 0.0) / max(seconds, 1e-9)
            say(min(1.0, max(number / len(rounds), used)), "Running the method under other values")
        rows = np.concatenate(some)
        if number_of_ways(some, reruns.values) <= min(most, reruns.left):
            chance = enumerate_ways(reruns, some, target)
            if chance is not None:
                counted[rows], certain[rows] = True, chance == 1
                gains.append(chance - share[rows])
        else:
            fair = max(1.0, reruns.left / swaps * len(rows) / rest)
            places = rng.permutation(len(rows))[: int(min(len(rows), fair))]
            same = walk(reruns, rows, places, target, swaps, rng)
            if same is not None:
                counted[rows[places]], certain[rows[places]] = True, same
                walks += len(places)
        rest -= len(rows)
    tries, alone = int(counted.sum()), share == 1
    return Minimality(
        Rate(int((certain & ~alone & counted).sum()), tries), Rate(int((alone & counted).sum()), tries), n,
        float(np.concatenate(gains).mean()) if gains else None, reruns.runs, whole, walks,
    )  # fmt: skip


def groups_in_sequence(run: Run, parts: Rows) -> list[Rows]:
    """Return the records of each part, in an order of parts and of records that follows from what these hold."""
    sequence = sequence_of(run.encoded, (words_of(run.table[name]) for name in others_of(run.schema)), KEY)
    numbers = np.asarray(pd.factorize(parts[sequence])[0], dtype=np.int64)
    return np.split(sequence[np.argsort(numbers, kind="stable")], np.cumsum(np.bincount(numbers))[:-1])


def enumerate_ways(reruns: "Reruns", groups: Sequence[Rows], target: Rows) -> NDArray[np.float64] | None:
    """Return the chance of the true target value of each record of some groups, when all ways that bring the release
    back are as likely; ``None`` when the time was over before."""
    rows = np.concatenate(groups)
    right, ways = np.zeros(len(rows), np.int64), 0
    for way in deals(groups, reruns.values):
        if reruns.late:
            return None
        if reruns.brings_back(way):
            ways += 1
            right += target[way[rows]] == target[rows]
    return right / ways


def walk(
    reruns: "Reruns", rows: Rows, places: Rows, target: Rows, swaps: int, rng: np.random.Generator
) -> NDArray[np.bool_] | None:
    """Return for some records of a group, by their places in it, whether none of the ways on a walk gave them another
    target value; ``None`` when the time was over before the end."""
    way, same = np.arange(len(target)), np.ones(len(rows), np.bool_)
    for _ in range(swaps):
        for place in rng.permutation(places[same[places]]):
            if reruns.late:
                return None
            others = np.flatnonzero(target[way[rows]] != target[way[rows[place]]])
            if same[place] and len(others):
                pair = rows[[place, rng.choice(others)]]
                changed = way.copy()
                changed[pair] = way[pair[::-1]]
                if reruns.brings_back(changed):
                    way = changed
                    same &= target[way[rows]] == target[rows]
    return same[places]


class Reruns:
    """Runs of a method on other ways to deal out its sensitive values, ``most`` of them, until ``end``.

    ``values`` (n,): a number for all sensitive values of each record together. A *way* is (n,) the record whose
    sensitive values each record gets.
    """

    def __init__(self, run: Run, end: float = math.inf, most: float = math.inf) -> None:
        self.run, self.end, self.most = run, end, most
        rows = run.table.groupby(list(run.schema.sensitive), dropna=False, sort=False, observed=True)
        self.values = np.asarray(rows.ngroup(), dtype=np.int64)
        self.grid = cells_of(run)
        self.published = Counter(groups_of(run.encoded, run.parts, self.values, self.grid).of)
        self.first = np.unique(run.parts.part, return_index=True)[1]  # a record of each part
        self.runs = 0

    @property
    def left(self) -> float:
        """Number of runs that are left."""
        return self.most - self.runs

    @property
    def late(self) -> bool:
        """True when the time is over."""
        return time.monotonic() > self.end

    def brings_back(self, way: Rows) -> bool:
        """Return whether the method, run on this way, could have made the published release."""
        if np.array_equal(self.values[way], self.values):
            return True
        self.runs += 1
        run, s = self.run, self.run.settings
        exact = deal(run.reached, way)
        coarse = replace(deal(run.coarse, way), people=exact.people)
        tree, leaf, line = grow_by(run.recipe, exact, lambda: run.secret)
        pruning = group(tree, annotate(tree, exact), exact, run.grouping, run.limits)
        if not pruning.satisfied:
            return False
        made = run.parts.made.method
        if made in SECRET:
            if made == "pack-persons" or as_one_region(run.limits, len(run.table)):
                return True  # it takes no regions of a tree
            region = pruning.group_of_node()[leaf]
            part = np.unique(run.parts.part, return_inverse=True)[1]
            return bool(np.array_equal(region, region[self.first][part]))
        parts = divide(
            coarse, pruning, s.generalizer, s.k, limits=run.limits, leaf=leaf, rng=np.random.default_rng(0),
            sequence=run.sequence_asked, memory=memory_of(line),
        )  # fmt: skip
        return Counter(groups_of(exact, parts, self.values[way], self.grid).of) == self.published


def deal(encoded: EncodedTable, way: Rows) -> EncodedTable:
    """Return the table in which each record has the sensitive values of another."""
    numeric = encoded.numeric and replace(encoded.numeric, values=encoded.numeric.values[way])
    target = replace(encoded.target, codes=encoded.target.codes[way])
    others = tuple(replace(other, codes=other.codes[way]) for other in encoded.others)
    return replace(encoded, target=target, numeric=numeric, others=others)


def number_of_ways(groups: Sequence[Rows], values: Rows) -> int:
    """Return in how many different ways values can be dealt out within groups of records."""
    ways = 1
    for rows in groups:
        ways *= math.factorial(len(rows))
        for count in np.unique(values[rows], return_counts=True)[1].tolist():
            ways //= math.factorial(count)
    return ways


def deals(groups: Sequence[Rows], values: Rows) -> Iterator[Rows]:
    """Yield every way to deal out values within groups of records; records outside the groups keep their own."""
    for orders in product(*(list(arrangements(values[rows].tolist())) for rows in groups)):
        way = np.arange(len(values))
        for rows, order in zip(groups, orders, strict=True):
            holder = dict(zip(values[rows].tolist(), rows.tolist(), strict=True))
            way[rows] = [holder[value] for value in order]
        yield way


def arrangements(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every different order of some values."""
    counts = Counter(values)

    def extend(prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(prefix) == len(values):
            yield prefix
            return
        for value in sorted(counts):
            if counts[value]:
                counts[value] -= 1
                yield from extend((*prefix, value))
                counts[value] += 1

    return extend(())
