"""The flow stage by stage on Adult, made larger by resampling, beside scikit-learn's and XGBoost's trees.

    python run.py bench flow --rows 45222 452220 4522200

Every figure is the median of several warm runs in this process; the peers run in turn with ours, on the same codes
and two threads, so ratios hold on a busy machine better than seconds do. Adult is read from ``../shared/data``.
"""

import argparse
import gc
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import psutil

import anonymizer as an
from anonymizer.measuring.utility import cut_gcp, node_ncp

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult_complete.csv.gz"
MIN_LEAF = 10
GOALS = {"sklearn": {45_222: 0.25, 452_220: 0.12, 4_522_200: 0.08}, "xgboost": 0.5}
"""Growing time over the peer's, at most: the aim, printed beside what was measured."""


class Timing(NamedTuple):
    """Seconds of several runs and the last result."""

    seconds: list[float]
    result: Any

    @property
    def median(self) -> float:
        """The middle run, in seconds."""
        return statistics.median(self.seconds)


def time_work(work: Callable[[], Any], repeats: int) -> Timing:
    """Run ``work`` several times."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return Timing(seconds, result)


class Peak:
    """The most memory that this process held while the block ran, in bytes above where it began."""

    def __enter__(self) -> "Peak":
        gc.collect()
        self.process, self.stop = psutil.Process(), threading.Event()
        self.start = self.highest = self.process.memory_info().rss
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def watch(self) -> None:
        """Look every few milliseconds."""
        while not self.stop.wait(0.005):
            self.highest = max(self.highest, self.process.memory_info().rss)

    def __exit__(self, *exception: Any) -> None:
        self.stop.set()
        self.watcher.join()
        self.bytes = self.highest - self.start


def adult(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return Adult without missing values; larger sizes are drawn from it with replacement, from this seed."""
    table = an.read_table(ADULT).frame
    if rows <= len(table):
        return table.head(rows)
    return table.iloc[np.random.default_rng(seed).integers(0, len(table), rows)].reset_index(drop=True)


def peers(codes: np.ndarray, classes: np.ndarray, repeats: int) -> dict[str, Timing]:
    """Return one tree of scikit-learn and one of XGBoost on the same ordinal codes, as the 32-bit floats that they
    take."""
    import xgboost
    from sklearn.tree import DecisionTreeClassifier

    features, labels = codes.astype(np.float32), classes.astype(np.float32)
    parameters = {
        "tree_method": "hist", "objective": "binary:logistic", "max_depth": 0, "max_leaves": 0,
        "grow_policy": "depthwise", "min_child_weight": MIN_LEAF / 4, "nthread": 2, "lambda": 0, "max_bin": 256,
    }  # fmt: skip

    def sklearn_tree() -> Any:
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=MIN_LEAF, random_state=0)
        return tree.fit(features, classes)

    def xgboost_tree() -> Any:
        return xgboost.train(parameters, xgboost.QuantileDMatrix(features, labels), 1)

    return {"sklearn": time_work(sklearn_tree, repeats), "xgboost": time_work(xgboost_tree, repeats)}


def run(rows: int, repeats: int, with_peers: bool) -> None:
    """Measure and print one size."""
    table = adult(rows)
    names = [name for name in table.columns if name != "income"]
    schema = an.Schema.of(table, quasi_identifying=names, sensitive=["income"])
    print(f"\n{rows:,} rows × {len(names)} quasi-identifiers, {repeats} runs each")
    encoded = time_work(lambda: an.encode(table, schema), repeats)
    codes = encoded.result
    report("encode", encoded)
    grown = time_work(lambda: an.grow(codes, min_leaf=MIN_LEAF), repeats)
    report(f"grow (min leaf {MIN_LEAF}: {grown.result.n_nodes:,} nodes)", grown)
    deep = time_work(lambda: an.grow(codes, min_leaf=2), repeats)
    tree = deep.result
    report(f"grow (min leaf 2: {tree.n_nodes:,} nodes)", deep)
    scored = time_work(lambda: an.annotate(tree, codes), repeats)
    report("annotate", scored)
    risk, losses = scored.result, node_ncp(tree, codes.encodings)
    for criterion in ("least", "error-risk"):
        for k in (10, 30):

            def prune_again(criterion: str = criterion, k: int = k) -> Any:
                pruning = an.prune(tree, risk, criterion, k)
                return pruning, cut_gcp(tree, losses, pruning.cut())

            pruned = time_work(prune_again, max(repeats, 5))
            report(f"re-prune {criterion} k={k}, with its GCP {pruned.result[1]:.3f}", pruned)
    pruning = an.prune(tree, risk, "least", 10)
    leaf = time_work(lambda: an.descend(tree, codes), repeats)
    report("descend", leaf)
    for method in ("uniform", "tiered", "tiered-strict"):
        report(
            f"generalize {method}",
            time_work(
                lambda method=method: an.generalize(table, schema, codes, pruning, method, 10, leaf=leaf.result),
                repeats,
            ),
        )
    release = an.generalize(table, schema, codes, pruning, "uniform", 10, leaf=leaf.result)
    report("verify the release alone", time_work(lambda: an.verify(release.frame(), schema, k=10), repeats))
    if rows <= 500_000:
        report(
            "verify beside the original",
            time_work(lambda: an.verify(release.frame(), schema, k=10, original=table), repeats),
        )

    def flow() -> Any:
        again = an.encode(table, schema)
        whole = an.grow(again)
        cut = an.prune(whole, an.annotate(whole, again), "least", 10)
        return an.generalize(table, schema, again, cut, "uniform", 10)

    with Peak() as peak:
        whole = time_work(flow, max(1, repeats - 2))
    report("encode to release, in memory", whole)
    size = sum(column.nbytes for column in codes.codes.columns)
    print(f"  {'peak memory over the encoded table':<52}{peak.bytes / size:>9.1f} x")
    if with_peers:
        for peer, timing in peers(codes.codes.matrix(), codes.target.codes, max(1, repeats - 2)).items():
            goal = GOALS[peer]
            aim = goal.get(rows) if isinstance(goal, dict) else goal
            ratio = grown.median / timing.median
            print(
                f"  {peer:<20}{timing.median:>10.3f} s    ours / {peer} = {ratio:.3f}"
                + (f" (goal {aim})" if aim else "")
            )


def report(what: str, timing: Timing) -> None:
    """Print one line: median, and the range when there were several runs."""
    spread = f"   ({min(timing.seconds):.4f} to {max(timing.seconds):.4f})" if len(timing.seconds) > 1 else ""
    print(f"  {what:<52}{timing.median:>10.4f} s{spread}", flush=True)


def main(arguments: list[str]) -> int:
    """Parse the options and run every size."""
    parser = argparse.ArgumentParser(prog="bench flow", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[45_222, 452_220])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args(arguments)
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    run(2_000, 1, False)  # compiles what is not compiled yet
    for rows in options.rows:
        run(rows, options.repeats if rows < 1_000_000 else max(1, min(3, options.repeats)), not options.no_peers)
    return 0
