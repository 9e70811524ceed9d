"""What methods that are guided by sensitive values give away by that, on tiny tables; and whether noise helps.

    python run.py bench minimality --draws 40
    python run.py bench minimality --only noise --draws 20
    python run.py bench minimality --only large

*methods*: samples of Adult (12 rows, 3 quasi-identifiers, income), every way to deal out the values of each group
enumerated: the share of people who become certain, and by how much the chance of their true value rises. *noise*:
groups by a tree that was grown with a secret share of the values of the target replaced by ones drawn from the column
(a half stands for a tree that is guided by half of the records). The attacker runs each way under secrets of their own,
and a way is as likely as it brings the release back often. Beside it, what the groups lose and err on 4,000 rows at
k = 10. *large*: groups of the hospital sample, k = 10, walked through for 20 seconds. Nothing is asserted; read the
tables.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.minimality import deal, deals, minimality, number_of_ways
from anonymizer.attacks.rerun import Grid, Group, groups_of
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.tiers import disjoint
from anonymizer.settings import Settings
from benchmarks.attacks import EIGHT, print_head, sample

THREE = ["age", "education-num", "sex"]
METHODS: dict[str, dict[str, Any]] = {
    "least, uniform, l = 2": {"l": 2},
    "least, uniform": {},
    "error-risk, uniform, l = 2": {"grouping": "error-risk", "l": 2},
    "error-risk, uniform": {"grouping": "error-risk"},
    "infogain-mondrian": {"grouping": "infogain-mondrian"},
    "least, refine": {"generalizer": "refine"},
    "least, refine, l = 2": {"generalizer": "refine", "l": 2},
    "error-risk, pack": {"grouping": "error-risk", "generalizer": "pack"},
    "error-risk, pack, l = 2": {"grouping": "error-risk", "generalizer": "pack", "l": 2},
    "one region, pack": {"generalizer": "pack", "min_leaf": 10**6},
    "median-mondrian": {"grouping": "median-mondrian"},
}
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def main(arguments: Sequence[str]) -> None:
    """Print the tables that are wanted."""
    parser = argparse.ArgumentParser(prog="minimality")
    parts = {"methods": methods, "noise": noise, "large": large}
    parser.add_argument("--only", nargs="+", default=list(parts), choices=list(parts))
    parser.add_argument("--draws", type=int, default=40, help="tables")
    parser.add_argument("--rows", type=int, default=12, help="of each table")
    parser.add_argument("--k", type=int, default=2)
    parser.add_argument("--secrets", type=int, default=20, help="under which an attacker runs each way")
    options = parser.parse_args(arguments)
    for part in options.only:
        parts[part](options)


def methods(options: argparse.Namespace) -> None:
    """Each method, over all tables together."""
    print_head("method", "tables", "people", "certain", "certain already", "chance of the truth rises by")
    for name, ways in METHODS.items():
        settings = Settings(**{"k": options.k, "grouping": "least", "generalizer": "uniform", **ways})
        results = []
        for seed in range(options.draws):
            flow = Flow(*sample(THREE, options.rows, seed), settings, rng=np.random.default_rng(seed))
            try:
                result = minimality(flow.run, np.random.default_rng(seed), most=10_000)
            except AnonymizerError:
                continue  # the whole table has one value: no l of 2
            if result is not None:
                results.append(result)
        people = sum(result.certain.tries for result in results)
        certain, already = (sum(rate.right for rate in rates) / people
                            for rates in zip(*((r.certain, r.already) for r in results), strict=True))  # fmt: skip
        gain = np.mean([result.gain for result in results if result.gain is not None])
        print(f"| {name} | {len(results)} | {people} | {certain:.3f} | {already:.3f} | {gain:.3f} |", flush=True)


def large(options: argparse.Namespace) -> None:
    """A table that cannot be enumerated."""
    table = hospital()
    print_head("method", "people", "certain, at most", "certain already")
    for name in ("error-risk, pack", "least, uniform", "least, refine", "median-mondrian"):
        ways = {"grouping": "least", "generalizer": "uniform", **METHODS[name]}
        flow = Flow(table, suggest(table), Settings(k=10, **ways), rng=np.random.default_rng(0))
        flow.compute("parts")
        result = minimality(flow.run, np.random.default_rng(0), seconds=20)
        assert result is not None
        figures = (result.certain.tries, result.certain.right, result.already.right)
        print(f"| {name} | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |", flush=True)


def noise(options: argparse.Namespace) -> None:
    """Groups that a noisy tree guides."""
    print_head("values replaced", "certain", "chance of the truth rises by", "GCP, 4,000 rows", "error, 4,000 rows")
    for share in SHARES:
        tiny = np.array([of_noise(share, seed, options) for seed in range(options.draws)])
        large = np.array([of_many(share, seed) for seed in range(5)])
        certain, gain = tiny.mean(axis=0)
        loss, error = np.median(large, axis=0)
        print(f"| {share:.0%} | {certain:.3f} | {gain:.3f} | {loss:.3f} | {error:.3f} |", flush=True)


def noisy_groups(encoded: EncodedTable, k: int, share: float, seed: int) -> NDArray[np.int64]:
    """The group of each record: the largest pruning of a tree whose guide has been made noisy."""
    rng, codes = np.random.default_rng(seed), encoded.target.codes.copy()
    hidden = rng.random(len(codes)) < share
    codes[hidden] = rng.choice(np.sort(codes), int(hidden.sum()))  # sorted: the draw tells nothing of who has what
    guide = replace(encoded, target=replace(encoded.target, codes=codes))
    tree = grow(guide)
    return prune(tree, annotate(tree, guide), "least", k).group_of_node()[descend(tree, guide)].astype(np.int64)


def released(encoded: EncodedTable, groups: NDArray[np.int64], values: NDArray[np.int64]) -> Counter[Group]:
    """The groups as they are published: boxes and values."""
    grid: Grid = [np.arange(encoding.n_codes) for encoding in encoded.encodings]
    return Counter(groups_of(encoded, disjoint(groups, int(groups.max()) + 1), values, grid).of)


def of_noise(share: float, seed: int, options: argparse.Namespace) -> tuple[float, float]:
    """The share of people who become certain (their true value to 99%), and the mean rise, of one table."""
    encoded = Flow(*sample(THREE, options.rows, seed)).encoded
    values = encoded.target.codes.astype(np.int64)
    groups = noisy_groups(encoded, options.k, share, seed + 10**6)
    published = released(encoded, groups, values)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    assert number_of_ways(members, values) < 10**6
    secrets = [seed * 1_000 + number for number in range(options.secrets if 0 < share < 1 else 1)]
    right, total = np.zeros(len(values)), 0.0
    for way in deals(members, values):
        other = deal(encoded, way)
        back = sum(
            released(encoded, noisy_groups(other, options.k, share, secret), values[way]) == published
            for secret in secrets
        )
        right += back * (values[way] == values)
        total += back
    shares = pd.Series(values).groupby(groups).transform(lambda column: column.map(column.value_counts(normalize=True)))
    if not total:
        return 0.0, 0.0  # no run of the attacker's brings the release back: nothing is learnt
    chance = right / total
    return float(((chance > 0.99) & (shares < 1)).mean()), float((chance - shares).mean())


def of_many(share: float, seed: int) -> tuple[float, float]:
    """The loss of groups of 4,000 rows, and the share of records outside the most frequent class of their group."""
    encoded = Flow(*sample(EIGHT, 4_000, seed)).encoded
    groups = noisy_groups(encoded, 10, share, seed)
    frame = pd.DataFrame({"group": groups, "value": encoded.target.codes})
    error = 1 - frame.groupby("group")["value"].agg(lambda column: column.value_counts().iloc[0]).sum() / len(frame)
    losses = []
    for j, encoding in enumerate(encoded.encodings):
        codes = pd.Series(encoded.codes.columns[j].astype(np.int64)).groupby(groups)
        if encoding.is_interval:
            width = codes.max().map(lambda code, e=encoding: e.high[code]) - codes.min().map(
                lambda code, e=encoding: e.low[code]
            )
            loss = width / (encoding.domain[1] - encoding.domain[0])
        else:
            levels = codes.nunique()
            loss = levels.where(levels > 1, 0) / encoding.n_codes
        losses.append(float((loss * codes.size()).sum() / len(groups)))
    return float(np.mean(losses)), float(error)


if __name__ == "__main__":
    main(sys.argv[1:])
