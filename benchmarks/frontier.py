"""Is there, for every baseline, a setting of ours that loses no more and predicts no worse?

    python run.py bench frontier --losses           # only the first part, on all tables
    python run.py bench frontier --tables contra credit alcohol --repeats 5
    python run.py bench frontier --tables adult census --only 3

It begins with the loss of packed groups beside every baseline at equal k, on whole tables, alone and in the regions of
the papers' pruning (:mod:`benchmarks.packed`), with what they are to reach. Then settings are picked and judged. There,
loss is GCP of the training records; what is predicted is the class (error) or the numbers (MAPE) of test records under
cross-validation. All settings that are compared are k-anonymous. Ours are tried on a grid: prunings by ``least`` and
blends of several weights, uniform and refined; the baselines' own groups, refined; and each of these also with groups
of more than k, which is k-anonymous too. The best of many is flattered by the folds it was picked on, so it is picked
on some divisions into folds and judged, beside the baseline, on others. Nothing is asserted; read the tables.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anonymizer.flow import Flow
from anonymizer.measuring.comparison import paired_t_test
from anonymizer.measuring.measures import ORIGINAL, Outcome
from anonymizer.studies.experiment import evaluate
from benchmarks import packed
from benchmarks._tables import RANGES, TABLES

BASELINES = {
    "classes": [
        ("median-mondrian", "uniform"), ("infogain-mondrian", "uniform"), ("error-risk", "uniform"),
        ("error-risk", "tiered-strict"),
    ],
    "numbers": [
        ("median-mondrian", "uniform"), ("regression-mondrian", "uniform"), ("error-digression", "uniform"),
        ("error-digression", "tiered-strict"),
    ],
}  # fmt: skip
WEIGHTS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.985, 0.995, 1.0)
LARGER = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
UNIT = {"gcp": 0.005, "error_box": 0.01, "mape_linear_box": 0.02, "mape_tree_box": 0.02}
"""How much of each measure weighs the same when a setting is picked; of MAPE as a share of the baseline's."""


Block = tuple[list[str], list[str], list[int]]
"""Groupings, generalizers and ks, each with each."""


class Setting(NamedTuple):
    """One way to make a release."""

    grouping: str
    generalizer: str
    k: int

    def __str__(self) -> str:
        return f"{self.grouping} · {self.generalizer} · {self.k}"


def main(arguments: Sequence[str]) -> None:
    """Pick, judge and print, table by table."""
    parser = argparse.ArgumentParser(prog="frontier")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--k", nargs="+", type=int, default=[10, 20, 30])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", type=int, help="run only so many of the folds, when picking and when judging")
    parser.add_argument("--repeats", type=int, default=1, help="divisions into folds to pick on; as many to judge on")
    parser.add_argument("--seed", type=int, default=0, help="of the first division; the others have the next ones")
    parser.add_argument("--weights", nargs="+", type=float, default=WEIGHTS, help="of the blends that are tried")
    parser.add_argument("--larger", nargs="+", type=float, default=LARGER, help="groups of so many times k are tried")
    parser.add_argument("--losses", action="store_true", help="print what packed groups lose, and pick nothing")
    parser.add_argument("--secrets", type=int, default=15, help="of packed groups")
    parser.add_argument("--out", type=Path, help="where every figure goes, as JSON")
    options = parser.parse_args(arguments)
    for name in packed.WHOLE:
        if name.split("-")[0] in options.tables:
            packed.print_losses(name, options.k, options.secrets, polish=False)
    if options.losses:
        return
    everything = {}
    for name in options.tables:
        start = time.perf_counter()
        everything[name] = compare(name, options)
        print(f"\n{name}: {time.perf_counter() - start:.0f} s in all.\n", flush=True)
        if options.out:
            options.out.write_text(json.dumps(everything, indent=1), "utf-8")


def compare(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Print the tables of one table; returns every figure."""
    table, schema = TABLES[name].read()
    numeric = schema[schema.target or ""].kind != "categorical"
    kind, measures = ("numbers", ["mape_linear_box", "mape_tree_box"]) if numeric else ("classes", ["error_box"])

    def figures(blocks: Sequence[Block], first: int, what: str) -> dict[Setting, Outcome]:
        runs: dict[Setting, list[Outcome]] = {}
        for seed in range(first, first + options.repeats):
            for place, (groupings, generalizers, ks) in enumerate(blocks):
                show = terminal_progress(f"{name}, {what}, seed {seed}, {place + 1} of {len(blocks)}")
                for outcome in evaluate(
                    Flow(table, schema, RANGES), folds=options.folds, run=options.only, ks=ks, groupings=groupings,
                    generalizers=generalizers, seed=seed, progress=show,
                ):  # fmt: skip
                    runs.setdefault(setting_of(outcome), []).append(outcome)
        return {setting: join(outcomes) for setting, outcomes in runs.items()}

    ways = BASELINES[kind]
    baselines = [Setting(*way, k) for way in ways for k in options.k]
    most = int(len(table) * 0.4)
    sizes = sorted({round(k * larger) for k in options.k for larger in options.larger if k * larger <= most})
    blends = [f"blend:{weight:g}" for weight in options.weights]
    theirs = [grouping for grouping, _ in ways if grouping != "median-mondrian"]
    grid = [
        (["least", *blends], ["uniform", "refine"], sizes),
        (list(dict.fromkeys(theirs)), ["refine"], sizes),
    ]
    others = [([grouping], [generalizer], options.k) for grouping, generalizer in ways]
    tried = figures([*others, *grid], options.seed, "picking")
    ours = [setting for setting in tried if setting not in baselines and setting.grouping != ORIGINAL]
    picked = {
        (base, measure): pick(tried[base], [tried[s] for s in ours if s.k >= base.k], measure)
        for base in baselines
        for measure in measures
    }
    finalists = [([s.grouping], [s.generalizer], [s.k]) for s in dict.fromkeys([*baselines, *picked.values()])]
    judged = figures(finalists, options.seed + options.repeats, "judging")
    for measure in measures:
        print_picked(name, measure, options, baselines, picked, judged)
    for k in options.k:
        print_ends(k, [tried[s] for s in ours if s.k >= k], measures)
    return {
        "picking": {str(setting): plain(outcome) for setting, outcome in tried.items()},
        "judging": {str(setting): plain(outcome) for setting, outcome in judged.items()},
        "picked": {f"{base} | {measure}": str(setting) for (base, measure), setting in picked.items()},
    }


def pick(base: Outcome, ours: Sequence[Outcome], measure: str) -> Setting:
    """Return the setting whose smaller lead over a baseline, of loss and ``measure``, is surely largest.

    A lead is the mean difference over the folds less its standard error, so that luck on these folds counts little.
    """

    def lead(outcome: Outcome, what: str) -> float:
        apart = base.measured[what] - outcome.measured[what]
        apart = apart[np.isfinite(apart)]
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
        unit = UNIT[what] * (1 if what in ("gcp", "error_box") else base.mean(what))
        return float(apart.mean() - error) / unit

    # Some groups cannot be refined: then refined ones are the baseline itself, and no better in anything.
    others = [o for o in ours if any(not np.allclose(o.measured[w], base.measured[w]) for w in ("gcp", measure))]
    best = max(others, key=lambda outcome: min(lead(outcome, "gcp"), lead(outcome, measure)))
    return Setting(best.grouping, best.generalizer, best.k)


def print_picked(
    name: str,
    measure: str,
    options: argparse.Namespace,
    baselines: Sequence[Setting],
    picked: dict[tuple[Setting, str], Setting],
    judged: dict[Setting, Outcome],
) -> None:
    """Print a line for each baseline: its figures, ours, and whether ours is nowhere worse."""
    first = options.seed + options.repeats
    count = options.repeats * (options.only or options.folds)
    print(f"\n### {name}: GCP and {measure}, {count} of {options.repeats * options.folds} folds, seeds from {first}\n")
    print("| baseline | its GCP | its " + measure + " | ours | GCP | " + measure + " | not worse | p (GCP) | p |")
    print("|---|---|---|---|---|---|---|---|---|")
    for base in baselines:
        theirs, ours = judged[base], judged[picked[base, measure]]
        leads = [theirs.mean(what) - ours.mean(what) for what in ("gcp", measure)]
        holds = "yes" if min(leads) >= 0 and max(leads) > 0 else "no"
        tests = [paired_t_test(ours, theirs, what).p_value for what in ("gcp", measure)]
        print(
            f"| {base} | {theirs.mean('gcp'):.3f} | {theirs.mean(measure):.4f} | {picked[base, measure]} | "
            f"{ours.mean('gcp'):.3f} | {ours.mean(measure):.4f} | {holds} | {tests[0]:.2g} | {tests[1]:.2g} |",
            flush=True,
        )


def print_ends(k: int, ours: Sequence[Outcome], measures: Sequence[str]) -> None:
    """Print the two ends of our frontier at k, on the folds it was picked on."""
    tightest = min(ours, key=lambda outcome: outcome.mean("gcp"))
    print(f"\nk = {k}: lowest GCP {tightest.mean('gcp'):.3f} ({setting_of(tightest)})", end="")
    for measure in measures:
        best = min(ours, key=lambda outcome: outcome.mean(measure))
        print(f"; lowest {measure} {best.mean(measure):.4f} at GCP {best.mean('gcp'):.3f} ({setting_of(best)})", end="")
        tight = [outcome for outcome in ours if outcome.mean("gcp") < 0.2]
        if tight:
            best = min(tight, key=lambda outcome: outcome.mean(measure))
            print(
                f"; with GCP below 0.2: {measure} {best.mean(measure):.4f} at GCP {best.mean('gcp'):.3f} "
                f"({setting_of(best)})", end="",
            )  # fmt: skip
    print(flush=True)


def join(outcomes: Sequence[Outcome]) -> Outcome:
    """Return one setting in the folds of several divisions."""
    measured = {name: np.concatenate([o.measured[name] for o in outcomes]) for name in outcomes[0].measured}
    return replace(outcomes[0], measured=measured, left_out=sum(o.left_out for o in outcomes))


def setting_of(outcome: Outcome) -> Setting:
    """Return the setting that an outcome is of."""
    return Setting(outcome.grouping, outcome.generalizer, outcome.k)


def plain(outcome: Outcome) -> dict[str, Any]:
    """Return the means over the folds, for JSON."""
    means = {measure: outcome.mean(measure) for measure in outcome.measured}
    return {"folds": outcome.folds, **{measure: mean for measure, mean in means.items() if mean == mean}}


def terminal_progress(what: str) -> Callable[[float, str], None]:
    """Return a function that prints how far the work is, on a terminal."""

    def show(share: float, step: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{what}: {share:4.0%} {step:<60}", end="\r", file=sys.stderr, flush=True)

    return show
