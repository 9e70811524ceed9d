"""What packed groups lose, alone and inside the papers' groups, beside the baselines, and what they are still good for.

    python run.py bench packed                      # the loss on whole tables, beside baselines and goals
    python run.py bench packed --folds 10           # under cross-validation, beside every baseline
    python run.py bench packed --rows 45222 452220  # how long it takes

The first of these opens :mod:`benchmarks.frontier` too. Packing draws a secret, so figures are medians over several.
All releases that are compared are k-anonymous. Tables are read from ``../shared/data``.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import paired_t_test
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.studies.experiment import ORIGINAL, Outcome, evaluate
from benchmarks._tables import RANGES, TABLES
from benchmarks.flow import adult

EIGHT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
"""The quasi-identifiers of ARX's example of Adult."""
SECRET = ("pack", "polish")
"""Generalizers that draw a secret."""
TRAINING = 30_162
"""Records of the training part of Adult without missing values: they come first."""
GOALS = {
    "adult-14": ("goal: the loss of packing's trial", {10: 0.080, 20: 0.116, 30: 0.141}),
    "adult-8": ("goal: ARX, local recoding", {10: 0.060, 20: 0.091, 30: 0.112}),
}
"""What packing is to reach where a figure is known from elsewhere; on other tables it is the best of the baselines."""
POLISHED = 3
BASELINES = ("least, with cuts", "median Mondrian", "InfoGain or Regression Mondrian")


def flow_of(name: str) -> Flow:
    """Return a table of which whole releases are compared: one of :data:`TABLES`, or Adult as in :data:`GOALS`."""
    if name not in GOALS:
        return Flow(*TABLES[name].read())
    table, _ = TABLES["adult"]._replace(left_out=()).read()
    if name == "adult-8":
        table = table.iloc[:TRAINING].reset_index(drop=True)
    columns = list(EIGHT) if name == "adult-8" else [column for column in table.columns if column != "income"]
    return Flow(table, Schema.of(table, quasi_identifying=columns, sensitive=["income"]))


WHOLE = (*GOALS, *(name for name in TABLES if name != "adult"))
"""The tables whose whole releases are compared."""


def ways(flow: Flow) -> dict[str, Settings]:
    """Return the releases that are compared on a whole table; a tree of one leaf makes the table one region."""
    whole = {"min_leaf": len(flow.table)}
    guided = "regression-mondrian" if flow.schema.by_numbers else "infogain-mondrian"
    return {
        "packed alone": Settings(generalizer="pack", **whole),
        "cuts alone": Settings(generalizer="refine", **whole),
        "packed in the papers' groups": Settings(generalizer="pack"),
        "polished alone": Settings(generalizer="polish", **whole),
        "polished in the papers' groups": Settings(generalizer="polish"),
        "the papers' groups": Settings(generalizer="uniform"),
        "least, with cuts": Settings(grouping="least", generalizer="refine"),
        "median Mondrian": Settings(grouping="median-mondrian", generalizer="uniform"),
        "InfoGain or Regression Mondrian": Settings(grouping=guided, generalizer="uniform"),
    }


def print_losses(name: str, ks: Sequence[int], secrets: int, *, polish: bool = True) -> None:
    """Print GCP and seconds (of making the groups) of every way at every k: the median over the secrets; the goals.

    Polishing, which takes long, is done under the first :data:`POLISHED` of them.
    """
    flow = flow_of(name)
    print(
        f"\n### {name}, {len(flow.table):,} records: GCP (seconds to make the groups), medians of {secrets} secrets\n"
    )
    print("| release | " + " | ".join(f"k = {k}" for k in ks) + " |\n|---|" + "---|" * len(ks))
    median: dict[tuple[str, int], float] = {}
    for way, settings in ways(flow).items():
        if settings.generalizer == "polish" and not polish:
            continue
        cells = []
        for k in ks:
            losses, seconds = [], []
            few = 1 if settings.generalizer not in SECRET else POLISHED if settings.generalizer == "polish" else secrets
            for secret in range(few):
                run = Flow(
                    flow.table, flow.schema, settings.but(k=k, numbers="range"), rng=np.random.default_rng(secret)
                )
                run.compute("leaf", "pruning")
                seconds.append(seconds_of(run, "parts"))
                losses.append(run.utility.gcp)
            median[way, k] = statistics.median(losses)
            cells.append(f"{median[way, k]:.4f} ({statistics.median(seconds):.2f})")
        print(f"| {way} | " + " | ".join(cells) + " |", flush=True)
    title, goal = GOALS.get(name, ("goal: the best baseline", {k: min(median[b, k] for b in BASELINES) for k in ks}))
    packed = {k: median["packed alone", k] for k in ks if k in goal}
    reached = [f"{goal[k]:.4f} {'reached' if packed[k] <= goal[k] else 'missed'}" for k in packed]
    print(f"| {title} | " + " | ".join(reached) + " |", flush=True)


def print_scale(rows: Sequence[int], k: int) -> None:
    """Print seconds of growing, packing and cutting for Adult of so many rows, drawn again with other numbers."""
    print(f"\n### Adult drawn again, k = {k}: seconds\n\n| rows | growing | packing | cuts | ratio |")
    print("|---|---|---|---|---|")
    for n in rows:
        table, rng = adult(n), np.random.default_rng(1)
        for name, least, most in (("age", 17, 90), ("hours-per-week", 1, 99)):
            table[name] = np.clip(table[name] + rng.integers(-3, 4, n), least, most)
        table["fnlwgt"] = rng.integers(0, 60_000, n)
        columns = [name for name in table.columns if name != "income"]
        flow = Flow(table, Schema.of(table, quasi_identifying=columns, sensitive=["income"]), Settings(k=k))
        flow.compute("encoded")
        seconds = [seconds_of(flow, "leaf", "pruning"), seconds_of(flow, "parts")]
        seconds.append(seconds_of(flow.but(generalizer="refine"), "parts"))
        growing, packing, cuts = seconds
        ratio = (growing + packing) / (growing + cuts)
        print(f"| {n:,} | {growing:.2f} | {packing:.2f} | {cuts:.2f} | {ratio:.2f} |", flush=True)


def seconds_of(flow: Flow, *stages: str) -> float:
    """Return how long some stages take."""
    start = time.perf_counter()
    flow.compute(*stages)
    return time.perf_counter() - start


def print_folds(name: str, ks: Sequence[int], folds: int, run: int | None, seed: int) -> None:
    """Print what is measured under cross-validation, with the p-value of the difference from packed groups."""
    table, schema = TABLES[name].read()
    papers = "error-digression" if schema.by_numbers else "error-risk"
    best = "regression-mondrian" if schema.by_numbers else "infogain-mondrian"
    pairs = [
        *((papers, generalizer) for generalizer in ("pack", "polish", "uniform")),
        ("least", "refine"), ("median-mondrian", "uniform"), (best, "uniform"),
    ]  # fmt: skip
    outcomes: dict[tuple[str, str, int], Outcome] = {}
    for grouping, generalizer in pairs:
        blocks = evaluate(
            Flow(table, schema, RANGES), folds=folds, run=run, ks=ks, groupings=[grouping], generalizers=[generalizer],
            seed=seed,
        )  # fmt: skip
        outcomes |= {(o.grouping, o.generalizer, o.k): o for o in blocks}
    original = next(outcome for outcome in outcomes.values() if outcome.grouping == ORIGINAL)
    measures = [m for m in original.measured if np.isfinite(outcomes[papers, "pack", ks[0]].mean(m))]
    print(f"\n### {name}: {run or folds} of {folds} folds, seed {seed}; p: paired t-test against packed groups\n")
    print("| release | k | " + " | ".join(measures) + " | p (gcp) |\n|---|---|" + "---|" * (len(measures) + 1))
    for (grouping, generalizer, k), outcome in outcomes.items():
        packed = outcomes.get((papers, "pack", k))
        p_value = "" if packed in (None, outcome) else f"{paired_t_test(packed, outcome, 'gcp').p_value:.2g}"
        figures = " | ".join(f"{outcome.mean(measure):.4g}" for measure in measures)
        print(f"| {grouping}, {generalizer} | {k} | {figures} | {p_value} |", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Parse the options and measure."""
    parser = argparse.ArgumentParser(prog="bench packed", description=__doc__.split("\n")[0])
    parser.add_argument("--k", nargs="+", type=int, default=[10, 20, 30])
    parser.add_argument("--secrets", type=int, default=15)
    parser.add_argument("--folds", type=int, default=0, help="cross-validate in so many folds")
    parser.add_argument("--only", type=int, help="run only so many of the folds")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES), help="to cross-validate")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument("--rows", nargs="+", type=int, help="how long packing takes for so many rows")
    options = parser.parse_args(arguments)
    if options.rows:
        print_scale(options.rows, options.k[0])
        return
    if options.folds:
        for name in options.tables:
            print_folds(name, options.k, options.folds, options.only, options.seed)
        return
    for name in WHOLE:
        print_losses(name, options.k, options.secrets)
