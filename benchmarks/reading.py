"""How far two-way tables and range counts of a release are off: boxes raked to one-way tables, read evenly, by nothing.

    python run.py bench reading                     # every table at k = 5, 10 and 25
    python run.py bench reading --k 10 --names contra

*Alone*: the product of the original's exact one-way tables, what somebody has who gets nothing else. Tables are read
from ``../shared/data``; of those with more than 4,000 rows as many are drawn.
"""

import argparse
import time
from collections.abc import Sequence
from statistics import mean

import numpy as np

from anonymizer.flow import Flow
from anonymizer.measuring.bins import bins_of
from anonymizer.measuring.two_way import MOST_BINS, MOST_LEVELS, two_way
from anonymizer.settings import Settings
from benchmarks._tables import TABLES

READINGS = ("raked", "even")
MOST_ROWS = 4_000
QUERIES = 400
BOUND = 0.01
"""A count of fewer than this share of the rows is divided by it."""


def flow_of(name: str, k: int) -> Flow:
    """Return a table, or rows that are drawn of it, with the suggested way to groups."""
    table, schema = TABLES[name].read()
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    return Flow(table, schema, Settings(k=k))


def range_counts(flow: Flow, rng: np.random.Generator) -> dict[str, float]:
    """Return the mean relative error of counts over ranges of two or three quasi-identifiers, by reading, and of the
    product of exact one-way tables (``alone``)."""
    encoded, boxed = flow.encoded, flow.boxed
    bins, before = [], []
    for codes, column in zip(encoded.codes.columns, boxed.columns, strict=True):
        counts = np.bincount(codes, minlength=column.encoding.n_codes)
        bins.append(bins_of(column.encoding, counts, MOST_BINS, MOST_LEVELS))
        before.append(bins[-1].of_code[codes])
    n = np.bincount(boxed.box[boxed.box >= 0], minlength=boxed.n_boxes)
    spreads = {}
    for how in READINGS:
        readings = boxed.readings if how == "raked" else {}
        pairs = (
            column.shares(own, readings.get(column.encoding.name))
            for column, own in zip(boxed.columns, bins, strict=True)
        )
        spreads[how] = [spread[of_box] for spread, of_box in pairs]
    errors: dict[str, list[float]] = {reading: [] for reading in (*READINGS, "alone")}
    for _ in range(QUERIES):
        columns = rng.choice(len(bins), min(len(bins), int(rng.integers(2, 4))), replace=False)
        inside = [range_of(bins[column].count, bins[column].edges is not None, rng) for column in columns]
        of_rows = [some[before[column]] for column, some in zip(columns, inside, strict=True)]
        true, whole = np.logical_and.reduce(of_rows).sum(), encoded.n_records
        answers = {
            reading: float(
                n @ np.prod([spreads[reading][c] @ some for c, some in zip(columns, inside, strict=True)], 0)
            )
            for reading in READINGS
        } | {"alone": whole * float(np.prod([some.mean() for some in of_rows]))}
        for reading, answer in answers.items():
            errors[reading].append(abs(answer - true) / max(true, BOUND * whole))
    return {reading: mean(some) for reading, some in errors.items()}


def range_of(bins: int, by_order: bool, rng: np.random.Generator) -> np.ndarray:
    """Return which bins a range takes: a run of numbers or dates, any half of levels, never all."""
    some = np.zeros(bins, dtype=np.bool_)
    if by_order:
        first, last = np.sort(rng.integers(0, bins, 2))
        some[first : last + 1] = True
    else:
        some[rng.permutation(bins)[: max(1, bins // 2)]] = True
    return some


def main(arguments: Sequence[str]) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="How far tables and counts of a release are off, by reading.")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 25])
    parser.add_argument("--names", nargs="+", default=sorted(TABLES), choices=sorted(TABLES))
    options = parser.parse_args(arguments)
    print("table k | two-way: raked even alone | range counts: raked even alone | CPU s of tables and readings")
    for name in options.names:
        for k in options.k:
            flow = flow_of(name, k)
            flow.compute("release", "look_alikes", "remaining")
            begin = time.process_time()
            _ = [one.weights for one in flow.boxed.readings.values()]
            seconds = time.process_time() - begin
            tables = {reading: two_way(flow.encoded, flow.boxed, None, flow.kinds, reading) for reading in READINGS}
            off = [*(tables[reading].mean for reading in READINGS), tables["even"].mean_alone]
            counts = range_counts(flow, np.random.default_rng(k))
            row = " | ".join(" ".join(f"{figure:.4f}" for figure in figures) for figures in (off, counts.values()))
            print(f"{name} {k} | {row} | {seconds:.2f}", flush=True)
