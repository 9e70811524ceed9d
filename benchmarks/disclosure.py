"""What a published tree tells on Adult as in Z10: constraints, divergence, time and memory, one row an adversary.

    python run.py bench disclosure [--starts 3] [--only gini-3]

30,162 records, 8 categorical quasi-identifiers, education with 16 values; and all 14 attributes, numbers by
thresholds, with the income. Seconds are the clock's and the
processor's: on a busy machine only the second is a measure. Memory is the peak of this process.
"""

import argparse
import resource
import time
from pathlib import Path

import pandas as pd

from anonymizer.disclosure.constraints import GrowingRule, Knowledge, count_constraints
from anonymizer.disclosure.exposure import assess
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, keys_of, lay_keys, outline_of
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.schema import Schema

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult_complete.csv.gz"
RECORDS = 30_162
EIGHT = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income"]
TREES: dict[str, tuple[str, str, int, int | None]] = {
    "gini-3": ("multiway", "gini", 2, 3),
    "entropy-3": ("multiway", "entropy", 2, 3),
    "gini-500": ("multiway", "gini", 250, None),
    "gini-50": ("multiway", "gini", 50, None),
    "entropy-50": ("multiway", "entropy", 50, None),
    "binary-4": ("binary", "gini", 50, 4),
    "thresholds-5": ("binary", "gini", 50, 5),
    "thresholds-50": ("binary", "gini", 50, None),
}
"""Splits, measure, fewest records (of a leaf, or of a node that asks), deepest level."""


def tree_of(name: str) -> tuple[KeyedTree, GrowingRule]:
    """Return a tree on Adult, grown anew. The trees of thresholds ask all 14 attributes for the income."""
    splits, measure, least, depth = TREES[name]
    table = pd.read_csv(ADULT, nrows=RECORDS)
    target = "income" if name.startswith("thresholds") else "education"
    columns = [column for column in table.columns if column != target] if target == "income" else EIGHT
    encoded = encode(table, Schema.of(table, quasi_identifying=columns, sensitive=[target]))
    keys = keys_of(encoded)
    if splits == "binary":
        outline = outline_of(grow(encoded, measure, least, depth), keys.encodings)
        return lay_keys(outline, keys), GrowingRule(measure, splits, least)
    return lay_keys(grow_multiway(keys, measure, least, depth), keys), GrowingRule(measure)


def main(arguments: list[str]) -> int:
    """Print one line for each tree and each kind of adversary."""
    parser = argparse.ArgumentParser(prog="disclosure", description=__doc__)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--only", action="append", choices=list(TREES))
    options = parser.parse_args(arguments)
    print(
        "| tree | leaves | constraints QI, rate, label, internal | knows | active | unknowns | H | D_overall | ", end=""
    )
    print("highest | right | seconds | CPU | MiB |\n" + "|---" * 13 + "|")
    for name in options.only or TREES:
        began, used = time.perf_counter(), time.process_time()
        tree, rule = tree_of(name)
        leaves = int((tree.n[tree.outline.leaves] > 0).sum())
        grown, busy = time.perf_counter() - began, time.process_time() - used
        counts = count_constraints(tree, Knowledge(rule=rule))
        kinds = f"{counts.qi:,}, {counts.rate:,}, {counts.label:,}, {counts.internal:,}"
        print(f"| {name} | {leaves:,} | {kinds} | (growing) | | | | | | | {grown:.2f} | {busy:.2f} | |", flush=True)
        for knowledge in (Knowledge(rates=False), Knowledge(), Knowledge(totals=True), Knowledge(rule=rule)):
            began, used = time.perf_counter(), time.process_time()
            assessment = assess(tree, knowledge, starts=options.starts)
            seconds, busy = time.perf_counter() - began, time.process_time() - used
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            words = [w for w, on in (("rates", knowledge.rates), ("totals", knowledge.totals)) if on]
            words += ["internal"] if knowledge.rule else []
            estimate, figures = assessment.estimate, assessment.figures
            print(
                f"| | | | {', '.join(words) or 'labels'} | {len(estimate.active)} | {estimate.variables:,} "
                f"| {estimate.entropy:.4f} ± {estimate.spread:.1g} | {figures.mean_divergence:.4f} "
                f"| {figures.highest_posterior:.3f} | {figures.accuracy:.3f} | {seconds:.2f} | {busy:.2f} "
                f"| {memory:.0f} | {'' if estimate.converged else estimate.status}",
                flush=True,
            )
    return 0
