"""What guides the tree: packed groups in a tree of detail, in the papers' tree, and of the whole table.

    python run.py bench guides                        # five tables of at most 4,000 rows, k = 10
    python run.py bench guides --tables adult --rows 45222 --ks 5 10 25
    python run.py bench guides --propose              # and whether a model would want the target's guidance

Medians over secrets. *Detail*: regions with room in a tree that cuts where least is lost; *public*, the default, is the
same with public ends, and all others have ends that are values. *Papers*:
error-risk pruning of a tree that the target guides. *Whole*: one region, in no branch of any tree. *Median*:
median Mondrian. Cross tables and counts over ranges are read by the one-way tables; *guessed*: rows whose class is
the likeliest of their look-alikes. Tables are read from ``../shared/data``.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from anonymizer.flow import Flow
from anonymizer.measuring.ranges import range_counts
from anonymizer.studies.proposal import inside, propose
from benchmarks._tables import RANGES
from benchmarks.limits import TABLES

FIVE = ("adult", "census", "contra", "german", "alcohol")
WAYS: dict[str, dict[str, Any]] = {
    "detail": {},
    "public": {"numbers": "public"},
    "papers": {"grouping": "error-risk"},
    "whole": {"min_leaf": 10**6},
    "median": {"grouping": "median-mondrian", "generalizer": "uniform"},
}


def figures_of(flow: Flow) -> tuple[float, ...]:
    """Return what one release loses: detail, cross tables, counts over ranges, guesses, and its seconds."""
    start = time.perf_counter()
    _ = flow.parts
    seconds = time.perf_counter() - start
    counts = range_counts(flow.encoded, flow.boxed)
    guessed = inside(flow) if flow.encoded.target.name else float("nan")
    return flow.utility.gcp, flow.two_way.mean or 0.0, counts.error if counts else float("nan"), guessed, seconds


def print_table(name: str, options: argparse.Namespace) -> None:
    """Print every way of one table at each k."""
    whole, schema = TABLES[name].read()
    table = whole.head(options.rows)
    print(f"\n### {name}: {len(table):,} rows, {len(schema.quasi_identifying)} columns\n")
    print("| k | way | GCP | cross tables | ranges | guessed | seconds |\n|---|---|---|---|---|---|---|")
    for k in options.ks:
        for way, settings in WAYS.items():
            rows = []
            for secret in range(options.secrets):
                flow = Flow(table, schema, RANGES.but(k=k, **settings), rng=np.random.default_rng(secret))
                _ = flow.encoded
                rows.append(figures_of(flow))
            middle = [statistics.median(column) for column in zip(*rows, strict=True)]
            gcp, cross, ranges, guessed, seconds = middle
            print(
                f"| {k} | {way} | {gcp:.4f} | {cross:.4f} | {ranges:.4f} | {guessed:.3f} | {seconds:.2f} |", flush=True
            )
    if options.propose:
        flow = Flow(table, schema, RANGES.but(k=options.ks[0]), rng=np.random.default_rng(0))
        answer = propose(flow)
        print(f"\n{answer.sentence} Proposed: {answer.pays}." if answer else "\nNothing to propose.", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Parse the options, and print a table for each file."""
    parser = argparse.ArgumentParser(prog="bench guides", description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=list(FIVE), choices=list(TABLES))
    parser.add_argument("--rows", type=int, default=4_000, help="at most so many of each table")
    parser.add_argument("--ks", type=int, nargs="+", default=[10])
    parser.add_argument("--secrets", type=int, default=3)
    parser.add_argument("--propose", action="store_true", help="ask a model by folds, which takes a minute a table")
    options = parser.parse_args(arguments)
    for name in options.tables:
        print_table(name, options)
