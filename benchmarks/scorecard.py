"""Private scorecards beside private trees, and methods of others: accuracy and AUC against the budget.

    python -m benchmarks.scorecard adult --runs 11
    python -m benchmarks.scorecard others --runs 11
    python -m benchmarks.scorecard printed --runs 5

``adult``: grown from the rows of UCI's ``adult.data``, measured on those of ``adult.test``. ``others``: the sets of
:mod:`benchmarks.forest`, each run grown from another stratified 70% and measured on the rest. ``printed``: PrivaTree,
built again, under the five folds of its paper. Medians of the runs, which differ in their noise. Everything is a
rehearsal on public tables with seeded noise, on the public values and cut points that :mod:`benchmarks.forest` has.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.forest.domains import CodedTable, code, domains_of
from anonymizer.forest.forest import class_shares_of, grow_forest
from anonymizer.forest.mechanisms import RehearsalNoise
from benchmarks._anchors import Columns, binned, lumberjack, privatree
from benchmarks.forest import BOUNDS, SETS, load, load_set, load_untouched

BUDGETS = (0.1, 0.5, 1.0, 2.0)
MODES = ("strict", "scorecard")
TRAIN = 32_561
"""Rows of ``adult.data``; those of ``adult.test`` follow."""
TEST_SHARE = 0.3
DELTA = 1e-5
TREES = (5, 25)
"""Sizes of Lumberjack's forests: its code leaves them open (1, and 25 in an example)."""
PRINTED = {0.01: "0.751 ± .001", 0.1: "0.79", 1.0: "0.822 ± .002"}
"""Accuracy of PrivaTree on Adult by ε: tables VI to VIII of its paper's appendix."""

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


def columns_of(table: CodedTable, raw: pd.DataFrame) -> Columns:
    """Return the columns of Adult as others take them: numbers with public ends, and codes of public levels."""
    ends = BOUNDS["adult"]
    names = [attribute.name for attribute in table.domains.attributes]
    values = [raw[name] if name in ends else table.codes[:, j] for j, name in enumerate(names)]
    return Columns(
        np.column_stack(values).astype(float),
        np.array([ends.get(name, (0, 0)) for name in names], dtype=float),
        tuple(0 if attribute.name in ends else attribute.n_levels for attribute in table.domains.attributes),
    )


def same_values(table: CodedTable) -> Columns:
    """Return the codes of our public values as levels."""
    levels = tuple(attribute.n_levels for attribute in table.domains.attributes)
    return Columns(table.codes.astype(float), np.zeros((len(levels), 2)), levels)


def privatree_grower(columns: Columns, classes: NDArray[np.integer]) -> Grower:
    """Return how PrivaTree predicts: labels alone, so its AUC is that of a single threshold."""
    (bins, sizes), labels = binned(columns), classes.astype(np.int64)

    def shares(train: NDArray[np.int64], test: NDArray[np.int64], epsilon: float, seed: int) -> Shares:
        return privatree(bins, sizes, labels, (train, test), epsilon, np.random.default_rng([13, seed]))

    return shares


def lumberjack_grower(columns: Columns, classes: NDArray[np.integer], trees: int) -> Grower:
    """Return how Lumberjack predicts, (ε, δ)-private."""
    labels = classes.astype(np.int64)

    def shares(train: NDArray[np.int64], test: NDArray[np.int64], epsilon: float, seed: int) -> Shares:
        rng = np.random.default_rng([17, seed])
        return lumberjack(columns, labels, (train, test), epsilon, DELTA, trees, rng)

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
    own, same = columns_of(table, load("adult")), same_values(table)
    growers["PrivaTree, its own ranges"] = privatree_grower(own, table.classes)
    growers["PrivaTree, the same public values"] = privatree_grower(same, table.classes)
    growers |= {f"Lumberjack, {trees} trees": lumberjack_grower(own, table.classes, trees) for trees in TREES}
    print("| accuracy · AUC | " + " | ".join(f"β = {epsilon:g}" for epsilon in BUDGETS) + " | seconds |")
    print("|---" * (len(BUDGETS) + 2) + "|")
    for name, grower in growers.items():
        figures = [medians(grower, table.classes, parts, epsilon) for epsilon in BUDGETS]
        cells = [f"{accuracy:.3f} · {area:.3f}" for accuracy, area, _ in figures]
        print(f"| {name} | " + " | ".join(cells) + f" | {np.median([s for *_, s in figures]):.2f} |", flush=True)


def printed(runs: int) -> None:
    """Print the accuracy of our PrivaTree on Adult under five folds, beside what its paper prints."""
    from sklearn.model_selection import StratifiedKFold

    raw = load("adult_complete")
    ends = BOUNDS["adult"]
    raw[list(ends)] = raw[list(ends)].astype(float)
    table = code(
        raw, domains_of(raw, "income", {name: {"low": low, "high": high} for name, (low, high) in ends.items()})
    )
    grower = privatree_grower(columns_of(table, raw), table.classes)
    print("| PrivaTree on Adult, 45,222 records | printed | ours | standard error |\n|---|---|---|---|")
    for epsilon, figure in PRINTED.items():
        scores = []
        for seed in range(runs):
            folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(table.codes, table.classes)
            for fold, (train, test) in enumerate(folds):
                right = grower(train, test, epsilon, 5 * seed + fold).argmax(axis=1) == table.classes[test]
                scores.append(float(right.mean()))
        print(f"| ε = {epsilon:g} | {figure} | {np.mean(scores):.3f} | {np.std(scores) / np.sqrt(len(scores)):.3f} |")


def others(runs: int) -> None:
    """Print accuracy on the other sets, as Markdown."""
    from sklearn.model_selection import StratifiedShuffleSplit

    tables = {name: load_set(file) for name, file in SETS.items()} | load_untouched()
    print("| accuracy in %, `strict` · `scorecard` | " + " | ".join(f"β = {e:g}" for e in BUDGETS) + " |")
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
    parser.add_argument("what", choices=["adult", "others", "printed"])
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args(arguments)
    {"adult": adult, "others": others, "printed": printed}[options.what](options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
