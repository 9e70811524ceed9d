"""How far two-way tables and range counts of a release are off: boxes raked to one-way tables, read evenly, by nothing.

    python run.py bench reading                     # every table at k = 5, 10 and 25
    python run.py bench reading --k 10 --names contra

*Alone*: the product of the original's exact one-way tables, what somebody has who gets nothing else. Tables are read
from ``../shared/data``; of those with more than 4,000 rows as many are drawn.
"""

import argparse
import time
from collections.abc import Sequence

from anonymizer.flow import Flow
from anonymizer.measuring.ranges import range_counts
from anonymizer.measuring.two_way import two_way
from anonymizer.settings import Settings
from benchmarks._tables import TABLES

READINGS = ("raked", "even")
MOST_ROWS = 4_000


def flow_of(name: str, k: int) -> Flow:
    """Return a table, or rows that are drawn of it, with the suggested way to groups."""
    table, schema = TABLES[name].read()
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    return Flow(table, schema, Settings(k=k))


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
            ranges = [range_counts(flow.encoded, flow.boxed, flow.kinds, reading) for reading in READINGS]
            counts = [*(one.error for one in ranges), ranges[0].alone]
            row = " | ".join(" ".join(f"{figure:.4f}" for figure in figures) for figures in (off, counts))
            print(f"{name} {k} | {row} | {seconds:.2f}", flush=True)
