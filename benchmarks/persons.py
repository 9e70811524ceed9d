"""What counting persons in place of rows costs: growing, packing and checking the made-up visits.

    python run.py bench persons --rows 450000

The same table is grown, packed and checked twice in turn, once as if every visit were a person and once by the
patient's number. Figures are medians of warm runs in this process.
"""

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.reading.samples import visits
from benchmarks.flow import time_work

GOAL = 1.3
"""Growing with persons over growing without, at most: the aim, printed beside what was measured."""
VISITS = 5.65
"""Visits of a patient, on average."""


def main(arguments: Sequence[str]) -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="persons")
    parser.add_argument("--rows", type=int, default=450_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="also make a release of both and check it")
    options = parser.parse_args(arguments)
    table = visits(round(options.rows / VISITS))
    schema = an.suggest(table)
    encoded = an.encode(table, schema)
    tables = {"rows": replace(encoded, person=None), "persons": encoded}
    print(f"{len(table):,} visits of {encoded.n_persons:,} patients\n")
    print(f"{'':>8}  {'grow':>7}  {'prune':>7}   seconds")
    seconds: dict[str, dict[str, list[float]]] = {name: {"grow": [], "prune": []} for name in tables}
    for _ in range(options.repeats + 1):
        for name, one in tables.items():
            grown = time_work(lambda one=one: an.grow(one), 1)
            tree = grown.result
            risk = an.annotate(tree, one)
            seconds[name]["grow"].append(grown.median)
            seconds[name]["prune"].append(
                time_work(lambda t=tree, r=risk: an.prune(t, r, "error-risk", options.k), 1).median
            )
    medians = {name: {what: statistics.median(of[1:]) for what, of in by.items()} for name, by in seconds.items()}
    for name, of in medians.items():
        print(f"{name:>8}  {of['grow']:7.3f}  {of['prune']:7.3f}")
    ratios = [b / a for a, b in zip(seconds["rows"]["grow"][1:], seconds["persons"]["grow"][1:], strict=True)]
    print(f"\nGrowing with persons over without: {np.median(ratios):.2f} (goal {GOAL})")
    if options.check:
        for name, roles in (("rows", schema.with_column("patient_id", role="identifying")), ("persons", schema)):
            flow = Flow(table, roles).but(k=options.k)
            flow.compute("pruning")
            made = time_work(lambda flow=flow: flow.release, 1).median
            checked = time_work(lambda flow=flow: flow.verification, 1).median
            verdict = flow.verification.describe()
            print(f"{name:>8}: packed in {made:.1f} s, checked in {checked:.1f} s. {verdict}")
