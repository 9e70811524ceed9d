"""Packed and polished groups beside methods of the literature, on five public tables and five made-up ones.

    python run.py bench peers                         # ten tables of at most 4,000 rows, k = 3, 5, 10, 25
    python run.py bench peers --tables adult tastes --ks 10

*Median*: median Mondrian, levels by frequency. *MDAV* (Domingo-Ferrer and Torra 2005): the k nearest to the farthest
from the middle, again and again. *k-member* (Byun et al. 2007): groups that grow by the record that costs least, n²
steps. Both are written down here, and share no code with packing. Ends are values. GCP, and the error of counts over
ranges, read by one-way tables; then cross tables of packed groups: raked, read evenly, one-way tables alone. Tables are
read from ``../shared/data``.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.extend import GENERALIZERS, Groups, Parts
from anonymizer.flow import Flow
from anonymizer.growing.encode import COSTS
from anonymizer.measuring.ranges import range_counts
from anonymizer.schema import Schema
from benchmarks import limits
from benchmarks._tables import RANGES

FIVE = ("adult", "census", "contra", "german", "alcohol")
WAYS: dict[str, dict[str, Any]] = {
    "packed": {},
    "polished": {"generalizer": "polish"},
    "median": {"generalizer": "median", "min_leaf": 10**6},
    "MDAV": {"generalizer": "mdav", "min_leaf": 10**6},
    "k-member": {"generalizer": "k-member", "min_leaf": 10**6},
}
BASELINES = ("median", "MDAV", "k-member")


def made_up(name: str, n: int = 2_000) -> tuple[pd.DataFrame, Schema]:
    """Return a table that nothing was tuned on: answers of a survey, incomes, purchases, visits, or codes."""
    rng = np.random.default_rng(sum(map(ord, name)))
    leaning = rng.normal(size=n)
    age = np.clip(rng.gamma(9, 5, n) + 3 * leaning, 16, 99).round()
    town = rng.choice([f"town {number:02d}" for number in range(24)], n, p=(p := 1 / np.arange(1, 25)) / p.sum())
    if name == "answers":
        columns = {f"q{j}": np.clip(np.round(3 + leaning + rng.normal(0, 1, n)), 1, 5) for j in range(8)}
    elif name == "incomes":
        pay = np.round(rng.lognormal(7.5 + 0.3 * leaning, 0.9, n) + 15 * age, -1)
        columns = {"pay": pay, "wealth": np.where(rng.random(n) < 0.6, 0, np.round(pay * rng.gamma(1, 9, n), -2))}
        columns |= {"children": rng.poisson(1.2, n), "town": town}
    elif name == "purchases":
        columns = {f"bought {j}": rng.random(n) < 1 / (1 + np.exp(j / 2 - leaning)) for j in range(9)}
        columns = {column: np.where(yes, "yes", "no") for column, yes in columns.items()} | {"town": town}
    elif name == "visits":
        day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
        columns = {"day": day, "nights": rng.geometric(0.25, n), "ward": rng.choice(list("ABCDEFGH"), n), "town": town}
    else:
        region = rng.integers(1, 10, n)
        columns = {"place": (region * 100 + rng.integers(0, 40, n)).astype(float), "town": town}
        columns |= {"trade": rng.choice([f"trade {j:02d}" for j in range(60)], n), "sex": rng.choice(["f", "m"], n)}
    ill = np.where(leaning + rng.normal(0, 1, n) + (age - 45) / 30 > 0.8, "yes", "no")
    table = pd.DataFrame({"age": age, **columns, "ill": ill})
    return table, Schema.of(table, quasi_identifying=[c for c in table if c != "ill"], sensitive=["ill"])


MADE_UP = ("answers", "incomes", "purchases", "visits", "codes")


def median(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return groups of median Mondrian, levels by falling frequency in the group that is cut."""
    return parts_of(limits.cuts(limits.Plain(groups.encoded), k, "l", 1))


def mdav(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return groups of the k records nearest to the farthest from the middle of those that are left."""
    plain = limits.Plain(groups.encoded)
    numbers = [j for j in range(plain.p) if plain.scale.interval[j]]
    at = [plain.scale.low[plain.scale.offset[j] + plain.codes[:, j]] for j in numbers]
    spaces = [np.array(at).T, plain.codes[:, plain.sets]]
    group, left, number = np.full(plain.n, -1), np.arange(plain.n), 0

    def far(rows: NDArray[np.int64], number: NDArray[Any], levels: NDArray[Any]) -> NDArray[np.float64]:
        return ((spaces[0][rows] - number) ** 2).sum(axis=1) + (spaces[1][rows] != levels).sum(axis=1)

    while len(left) >= 2 * k:
        levels = np.array([np.bincount(column).argmax() for column in spaces[1][left].T], np.int64)
        start = left[far(left, spaces[0][left].mean(axis=0), levels).argmax()]
        for _ in range(2 if len(left) >= 3 * k else 1):
            order = np.argsort(far(left, spaces[0][start], spaces[1][start]), kind="stable")
            group[left[order[:k]]], number = number, number + 1
            start, left = left[order[-1]], np.delete(left, order[:k])
    group[left] = number
    return parts_of(group)


def k_member(groups: Groups, k: int, rng: np.random.Generator) -> Parts:
    """Return groups that begin far from the last one and grow by the record that costs least."""
    plain = limits.Plain(groups.encoded)
    intervals = [j for j in range(plain.p) if plain.scale.interval[j]]
    places = [plain.scale.offset[j] + plain.codes[:, j] for j in intervals]
    low, high = (
        np.array([ends[at] for at in places]).reshape(len(intervals), plain.n).T
        for ends in (plain.scale.low, plain.scale.high)
    )
    hulls: list[tuple[Any, Any, dict[int, Any]]] = []

    def costs(rows: NDArray[np.int64], hull: tuple[Any, Any, dict[int, Any]]) -> NDArray[np.float64]:
        """Return what a hull loses with each of some records besides."""
        least, most, present = hull
        lost = (np.maximum(high[rows], most) - np.minimum(low[rows], least)).sum(axis=1)
        for j in plain.sets:
            count = present[j].sum() + ~present[j][plain.codes[rows, j]]
            lost += np.where(count > 1, count / plain.scale.n_codes[j], 0.0)
        return np.asarray(lost)

    def with_record(hull: tuple[Any, Any, dict[int, Any]], row: int) -> tuple[Any, Any, dict[int, Any]]:
        least, most, present = hull
        both = {j: present[j] | plain.levels[j][row] for j in plain.sets}
        return np.minimum(low[row], least), np.maximum(high[row], most), both

    group, left, sizes = np.full(plain.n, -1), np.arange(plain.n), []
    last = int(rng.integers(plain.n))
    while len(left) >= k:
        own = low[last], high[last], {j: plain.levels[j][last] for j in plain.sets}
        last = int(left[costs(left, own).argmax()])
        hull = low[last], high[last], {j: plain.levels[j][last] for j in plain.sets}
        left = left[left != last]
        group[last] = len(hulls)
        for _ in range(k - 1):
            row = int(left[costs(left, hull).argmin()])
            hull, left = with_record(hull, row), left[left != row]
            group[row] = len(hulls)
        hulls.append(hull)
        sizes.append(k)
    for row in left:
        one = np.array([row])
        added = [(s + 1) * costs(one, h)[0] - s * loss_of(plain, h) for s, h in zip(sizes, hulls, strict=True)]
        best = int(np.argmin(added))
        hulls[best], sizes[best], group[row] = with_record(hulls[best], row), sizes[best] + 1, best
    return parts_of(group)


def loss_of(plain: limits.Plain, hull: tuple[Any, Any, dict[int, Any]]) -> float:
    """Return what the records of a hull lose, each."""
    least, most, present = hull
    counts = {j: int(present[j].sum()) for j in plain.sets}
    return float((most - least).sum() + sum(c / plain.scale.n_codes[j] for j, c in counts.items() if c > 1))


def parts_of(group: NDArray[np.int64]) -> Parts:
    """Return groups (n,) as parts."""
    none = np.empty(0, np.int64)
    return Parts(np.unique(group, return_inverse=True)[1].astype(np.int64), len(np.unique(group)), none, none)


def print_table(name: str, options: argparse.Namespace) -> dict[str, int]:
    """Print every way of one table at each k; returns how often packed and polished groups are ahead of baselines."""
    table, schema = table_called(name, options.rows)
    wins: dict[str, int] = {}
    print(f"\n### {name}: {len(table):,} rows, {len(schema.quasi_identifying)} columns\n")
    print(f"| k | {' | '.join(WAYS)} | cross tables |\n|---|{'---|' * (len(WAYS) + 1)}")
    for k in options.ks:
        figures = {}
        for way, settings in WAYS.items():
            flow = Flow(table, schema, RANGES.but(k=k, **settings), rng=np.random.default_rng(0))
            counts = range_counts(flow.encoded, flow.boxed)
            figures[way] = flow.utility.gcp, counts.error if counts else float("nan")
            if way == "packed":
                tables = flow.two_way
                even = tables.even
                cross = f"{tables.mean or 0:.3f} · {(even and even.mean) or 0:.3f} · {tables.mean_alone or 0:.3f}"
        for own in ("packed", "polished"):
            for base in BASELINES:
                key = f"{own} beats {base}"
                wins[key] = wins.get(key, 0) + all(a < b for a, b in zip(figures[own], figures[base], strict=True))
        texts = [f"{gcp:.3f} · {ranges:.3f}" for gcp, ranges in figures.values()]
        print(f"| {k} | {' | '.join(texts)} | {cross} |", flush=True)
    return wins


def table_called(name: str, rows: int) -> tuple[pd.DataFrame, Schema]:
    """Return at most so many rows of a table, and its schema."""
    table, schema = made_up(name) if name in MADE_UP else limits.TABLES[name].read()
    return table.head(rows), schema


def print_costs(options: argparse.Namespace) -> None:
    """Print what packed groups lose by each way to count detail: GCP, loss by ranks, two-way tables, range counts."""
    print("table k | GCP | rank loss | two-way | range counts, by width and by ranks")
    for name in options.tables:
        table, schema = table_called(name, options.rows)
        for k in options.ks:
            rows = []
            for cost in COSTS:
                flow = Flow(table, schema, RANGES.but(k=k, cost=cost), rng=np.random.default_rng(0))
                tables = flow.two_way
                assert tables.marginals is not None
                assert tables.ranges is not None
                rows.append((flow.utility.gcp, tables.marginals.ranks, tables.mean or 0, tables.ranges.error))
            texts = [f"{first:.3f} {second:.3f}" for first, second in zip(*rows, strict=True)]
            print(f"{name} {k} | {' | '.join(texts)}", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Parse the options, print a table for each file, and in how many of them ours are ahead in both figures."""
    parser = argparse.ArgumentParser(prog="bench peers", description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=[*FIVE, *MADE_UP], choices=[*limits.TABLES, *MADE_UP])
    parser.add_argument("--rows", type=int, default=4_000, help="at most so many of each table")
    parser.add_argument("--ks", type=int, nargs="+", default=[3, 5, 10, 25])
    parser.add_argument("--costs", action="store_true", help="packed groups by width and by ranks, and nothing else")
    options = parser.parse_args(arguments)
    if options.costs:
        print_costs(options)
        return
    GENERALIZERS.update({"median": median, "mdav": mdav, "k-member": k_member})
    wins = [print_table(name, options) for name in options.tables]
    print(f"\nAhead in both figures, of {len(options.tables) * len(options.ks)} settings:")
    for key in wins[0]:
        print(f"{key}: {sum(one[key] for one in wins)}")
