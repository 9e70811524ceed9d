"""What limits on classes cost: packed groups beside two simple ways to keep them.

    python run.py bench limits                       # five tables of at most 4,000 rows
    python run.py bench limits --generalizer polish
    python run.py bench limits --tables adult --rows 45222

The two ways are written down here, and share no code with packing. *Cuts*: Mondrian, which cuts the column with the
widest range at its median, or the next one, as long as both sides keep k and the limit. *Merging*: groups packed for k
alone, of which each that misses the limit joins the one with which all records lose least. A ratio is the loss beside
the better of the two. Tables are read from ``../shared/data``.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.flow import Flow
from anonymizer.groups.hulls import scale_of
from anonymizer.growing.encode import EncodedTable
from benchmarks._tables import RANGES, Table

SEVEN = ("age", "sex", "race", "education", "marital-stat", "class-of-worker", "weeks-worked-in-year")
TABLES = {
    "adult": Table("adult_complete.csv.gz", ("occupation",), left_out=("education",), categorical=("occupation",)),
    "adult-income": Table("adult_complete.csv.gz", ("income",), left_out=("education",)),
    "census": Table("census_income_kdd_95130.csv.gz", ("major-occupation-code",), SEVEN),
    "census-income": Table(
        "census_income_kdd_95130.csv.gz",
        ("income",),
        ("age", "sex", "race", "education", "major-occupation-code", "marital-stat"),
    ),
    "contra": Table("contraceptive.csv.gz", ("contraceptive_method",), categorical=("contraceptive_method",)),
    "german": Table("german_credit.csv.gz", ("purpose",)),
    "alcohol": Table("alcohol.csv.gz", ("marital",), categorical=("marital",)),
}
LIMITS: dict[str, tuple[float, ...]] = {
    "l": (2, 3, 4, 5),
    "entropy_l": (1.5, 2, 3, 4),
    "t": (0.3, 0.2, 0.1, 0.05),
}
"""From loose to strict."""
Groups = NDArray[np.int64]


def misses(counts: NDArray[np.int64], whole: NDArray[np.int64], name: str, value: float) -> bool:
    """Return whether a group misses a limit, by its records of each class (c,), and those of the table."""
    shares = counts / counts.sum()
    if name == "l":
        return bool((counts > 0).sum() < value)
    if name == "entropy_l":
        present = shares[shares > 0]
        return bool(np.exp(-(present * np.log(present)).sum()) < value - 1e-9)
    return bool(np.abs(shares - whole / whole.sum()).sum() / 2 > value + 1e-9)


class Plain:
    """A table as codes (n, p) and classes (n,), and what hulls of its records lose: the mean NCP of their columns."""

    def __init__(self, encoded: EncodedTable) -> None:
        self.codes, self.scale = encoded.codes.matrix().astype(np.int64), scale_of(encoded.encodings)
        self.n, self.p = self.codes.shape
        self.classes = np.unique(encoded.target.codes, return_inverse=True)[1]
        self.whole = np.bincount(self.classes)
        levels = [np.arange(e.n_codes) == self.codes[:, [j]] for j, e in enumerate(encoded.encodings)]
        self.sets = [j for j in range(self.p) if not self.scale.interval[j]]
        self.levels = {j: levels[j] for j in self.sets}

    def fails(self, rows: Groups, k: int, name: str, value: float) -> bool:
        """Return whether some rows are no group."""
        counts = np.bincount(self.classes[rows], minlength=len(self.whole))
        return len(rows) < k or misses(counts, self.whole, name, value)

    def widths(self, low: Any, high: Any, present: dict[int, Any]) -> NDArray[np.float64]:
        """Return the NCP of each column (g, p) of hulls with these ends (g, p) and levels."""
        ncp = np.empty(low.shape)
        for j in range(self.p):
            at = self.scale.offset[j]
            if self.scale.interval[j]:
                ncp[:, j] = self.scale.high[at + high[:, j]] - self.scale.low[at + low[:, j]]
            else:
                count = present[j].sum(axis=1)
                ncp[:, j] = np.where(count > 1, count / self.scale.n_codes[j], 0.0)
        return ncp


def cuts(table: Plain, k: int, name: str, value: float) -> Groups:
    """Return the group of each record (n,) by Mondrian, which cuts only where both sides keep k and the limit."""
    group, waiting, number = np.zeros(table.n, np.int64), [np.arange(table.n)], 0
    while waiting:
        rows = waiting.pop()
        codes = table.codes[rows]
        present = {j: table.levels[j][rows].any(axis=0)[None] for j in table.sets}
        widths = table.widths(codes.min(axis=0)[None], codes.max(axis=0)[None], present)[0]
        for j in np.argsort(-widths, kind="stable"):
            rank = codes[:, j]
            if not table.scale.interval[j]:
                rank = np.argsort(np.argsort(-np.bincount(rank), kind="stable"))[rank]
            middle = np.sort(rank)[len(rank) // 2]
            sides = [(rows[rank < at], rows[rank >= at]) for at in (middle, middle + 1)]
            possible = [pair for pair in sides if not any(table.fails(side, k, name, value) for side in pair)]
            if possible:
                waiting += possible[0]
                break
        else:
            group[rows] = number
            number += 1
    return group


def merging(table: Plain, group: Groups, k: int, name: str, value: float) -> Groups:
    """Return groups (n,) of which each that misses a limit has joined that with which all records lose least."""
    group = np.unique(group, return_inverse=True)[1]
    g = int(group.max()) + 1
    rows = [np.flatnonzero(group == number) for number in range(g)]
    size = np.array(list(map(len, rows)))
    low = np.array([table.codes[some].min(axis=0) for some in rows])
    high = np.array([table.codes[some].max(axis=0) for some in rows])
    present = {j: np.array([table.levels[j][some].any(axis=0) for some in rows]) for j in table.sets}
    counts = np.array([np.bincount(table.classes[some], minlength=len(table.whole)) for some in rows])
    for a in np.argsort(size, kind="stable"):
        while size[a] and np.count_nonzero(size) > 1 and misses(counts[a], table.whole, name, value):
            both = {j: present[j] | present[j][a] for j in table.sets}
            union = table.widths(np.minimum(low, low[a]), np.maximum(high, high[a]), both).sum(axis=1)
            own = table.widths(low, high, present).sum(axis=1)
            added = (size + size[a]) * union - size * own - size[a] * own[a]
            added[(size == 0) | (np.arange(g) == a)] = np.inf
            b = int(np.argmin(added))
            low[a], high[a] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
            for j in table.sets:
                present[j][a] |= present[j][b]
            counts[a], size[a], size[b] = counts[a] + counts[b], size[a] + size[b], 0
            group[group == b] = a
    return group


def loss(table: Plain, group: Groups) -> float:
    """Return the GCP of groups (n,)."""
    numbers = np.unique(group)
    rows = [np.flatnonzero(group == number) for number in numbers]
    low = np.array([table.codes[some].min(axis=0) for some in rows])
    high = np.array([table.codes[some].max(axis=0) for some in rows])
    present = {j: np.array([table.levels[j][some].any(axis=0) for some in rows]) for j in table.sets}
    of_group = table.widths(low, high, present).mean(axis=1)
    return float(of_group @ np.array(list(map(len, rows))) / table.n)


def error(table: Plain, group: Groups) -> float:
    """Return the share of records that are not of the most frequent class of their group."""
    pairs = np.bincount(group * len(table.whole) + table.classes, minlength=(int(group.max()) + 1) * len(table.whole))
    return float(1 - pairs.reshape(-1, len(table.whole)).max(axis=1).sum() / table.n)


def print_table(name: str, options: argparse.Namespace) -> list[float]:
    """Print what each limit costs on one table; returns the ratios."""
    whole, schema = TABLES[name].read()
    settings = RANGES.but(k=options.k, generalizer=options.generalizer)
    flows = [
        Flow(whole.head(options.rows), schema, settings, rng=np.random.default_rng(secret))
        for secret in range(options.secrets)
    ]
    table, ratios = Plain(flows[0].encoded), []
    alone = flows[0].but(generalizer="pack", min_leaf=table.n).parts.part
    print(f"\n### {name}: {table.n:,} rows, {table.p} columns, {len(table.whole)} classes, k = {options.k}\n")
    print("| limit | cuts | merging | packed | ratio | groups | error | seconds |\n|---|---|---|---|---|---|---|---|")
    for limit, values in LIMITS.items():
        last = 0.0
        for value in values:
            if misses(table.whole, table.whole, limit, value):
                continue
            first, second = cuts(table, options.k, limit, value), merging(table, alone, options.k, limit, value)
            losses, seconds, groups, errors = [], [], [], []
            for flow in flows:
                run = flow.but(**{limit: int(value) if limit == "l" else value})
                run.compute("pruning", "leaf")
                start = time.perf_counter()
                part = run.parts.part
                seconds.append(time.perf_counter() - start)
                losses.append(run.utility.gcp)
                groups.append(len(np.unique(part)))
                errors.append(error(table, part))
            middle = statistics.median(losses)
            ratios.append(middle / min(loss(table, first), loss(table, second)))
            looser = "" if middle >= last - 1e-9 else " (a looser limit loses more)"
            last = middle
            print(
                f"| {limit} = {value:g} | {loss(table, first):.3f} | {loss(table, second):.3f} | {middle:.3f}{looser} "
                f"| {ratios[-1]:.2f} | {statistics.median(groups):,.0f} | {statistics.median(errors):.3f} "
                f"| {statistics.median(seconds):.2f} |",
                flush=True,
            )
    return ratios


def main(arguments: Sequence[str]) -> None:
    """Parse the options, and print a table for each file and the ratios of all."""
    parser = argparse.ArgumentParser(prog="bench limits", description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--rows", type=int, default=4_000, help="at most so many of each table")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--secrets", type=int, default=3)
    parser.add_argument("--generalizer", default="pack", choices=["pack", "polish"])
    options = parser.parse_args(arguments)
    ratios = [ratio for name in options.tables for ratio in print_table(name, options)]
    print(f"\nRatios: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}.")
