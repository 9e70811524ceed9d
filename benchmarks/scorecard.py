"""Private scorecards beside private trees: accuracy and AUC against the budget.

    python -m benchmarks.scorecard adult --runs 11
    python -m benchmarks.scorecard others --runs 11

``adult``: grown from the rows of UCI's ``adult.data``, measured on those of ``adult.test``. ``others``: the sets of
:mod:`benchmarks.forest`, each run grown from another stratified 70 % and measured on the rest. Medians of the runs,
which differ in their noise. Everything is a rehearsal on public tables with seeded noise, on the public values and cut
points that :mod:`benchmarks.forest` has.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.forest.domains import CodedTable
from anonymizer.forest.forest import class_shares_of, grow_forest
from anonymizer.forest.mechanisms import RehearsalNoise
from benchmarks.forest import BOUNDS, SETS, load, load_set, load_untouched

BUDGETS = (0.1, 0.5, 1.0, 2.0)
MODES = ("strict", "scorecard", "best")
TRAIN = 32_561
"""Rows of ``adult.data``; those of ``adult.test`` follow."""
TEST_SHARE = 0.3
DELTA = 1e-5

Shares = NDArray[np.float64]
Grower = Callable[[NDArray[np.int64], NDArray[np.int64], float, int], Shares]
"""(rows to grow from, rows to predict, ε, seed) to the class shares of the latter."""


def mode_grower(mode: str, table: CodedTable) -> Grower:
    """Return how a mode of ours predicts."""

    def shares(train: NDArray[np.int64], test: NDArray[np.int64], epsilon: float, seed: int) -> Shares:
        noise = RehearsalNoise(np.random.default_rng([11, seed]))
        return class_shares_of(grow_forest(table.part(train), epsilon, mode=mode, noise=noise), table.codes[test])

    return shares


def ebm_grower(table: CodedTable, *, same_values: bool) -> Grower:
    """Return how DP-EBM predicts on Adult, (ε, δ)-private: from our public values, or from columns as they are.

    In the latter case it knows the ends of numeric columns, and buys ranges in between.
    """
    from interpret.privacy import DPExplainableBoostingClassifier

    names = [attribute.name for attribute in table.domains.attributes]
    columns = pd.DataFrame(table.codes.astype(str), columns=names) if same_values else load("adult")[names]
    ends = {} if same_values else BOUNDS["adult"]
    columns[list(ends)] = columns[list(ends)].astype(float)
    kinds = ["continuous" if name in ends else "nominal" for name in names]

    def shares(train: NDArray[np.int64], test: NDArray[np.int64], epsilon: float, seed: int) -> Shares:
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=DELTA, privacy_bounds=ends, feature_types=kinds, random_state=seed, n_jobs=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(columns.iloc[train], table.classes[train].astype(np.int64))
            return np.asarray(model.predict_proba(columns.iloc[test]))

    return shares


def medians(
    grower: Grower,
    classes: NDArray[np.integer],
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    epsilon: float,
) -> tuple[float, float, float]:
    """Return the median accuracy, AUC (nan for more than two classes) and seconds of a run for each of ``parts``."""
    from sklearn.metrics import roc_auc_score

    scores = []
    for seed, (train, test) in enumerate(parts):
        start = time.perf_counter()
        shares = grower(train, test, epsilon, seed)
        seconds = time.perf_counter() - start
        area = roc_auc_score(classes[test], shares[:, 1]) if shares.shape[1] == 2 else np.nan
        scores.append((float((shares.argmax(axis=1) == classes[test]).mean()), area, seconds))
    accuracy, area, seconds = np.median(scores, axis=0)
    return float(accuracy), float(area), float(seconds)


def adult(runs: int) -> None:
    """Print accuracy and AUC on Adult's own test part, as Markdown."""
    table = load_untouched()["Adult income"]
    parts = [(np.arange(TRAIN), np.arange(TRAIN, table.n_records))] * runs
    growers = {f"`{mode}`": mode_grower(mode, table) for mode in MODES}
    try:
        growers["DP-EBM, its own ranges"] = ebm_grower(table, same_values=False)
        growers["DP-EBM, the same public values"] = ebm_grower(table, same_values=True)
    except ImportError:
        print("DP-EBM is left out: interpret-core is not installed (requirements-bench.txt has it).\n")
    print("| accuracy · AUC | " + " | ".join(f"β = {epsilon:g}" for epsilon in BUDGETS) + " | seconds |")
    print("|---" * (len(BUDGETS) + 2) + "|")
    for name, grower in growers.items():
        figures = [medians(grower, table.classes, parts, epsilon) for epsilon in BUDGETS]
        cells = [f"{accuracy:.3f} · {area:.3f}" for accuracy, area, _ in figures]
        print(f"| {name} | " + " | ".join(cells) + f" | {np.median([s for *_, s in figures]):.2f} |", flush=True)


def others(runs: int) -> None:
    """Print accuracy on the other sets, as Markdown."""
    from sklearn.model_selection import StratifiedShuffleSplit

    tables = {name: load_set(file) for name, file in SETS.items()} | load_untouched()
    print("| accuracy in %, `strict` · `scorecard` · `best` | " + " | ".join(f"β = {e:g}" for e in BUDGETS) + " |")
    print("|---" * (len(BUDGETS) + 1) + "|")
    for name, table in tables.items():
        split = StratifiedShuffleSplit(runs, test_size=TEST_SHARE, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            parts = list(split.split(table.codes, table.classes))
        cells = []
        for epsilon in BUDGETS:
            figures = [medians(mode_grower(mode, table), table.classes, parts, epsilon)[0] for mode in MODES]
            cells.append(" · ".join(f"{100 * accuracy:.1f}" for accuracy in figures))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run one of the benchmarks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["adult", "others"])
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args(arguments)
    {"adult": adult, "others": others}[options.what](options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
