"""Private forests: accuracy against the budget, and seconds.

    python -m benchmarks.forest accuracy --repeats 2 --out accuracy.json
    python -m benchmarks.forest diffprivlib --diffprivlib-python PATH --out accuracy.json
    python -m benchmarks.forest table accuracy.json
    python -m benchmarks.forest cut_points
    python -m benchmarks.forest speed --diffprivlib-python PATH

Reads the papers' sets in ``../shared/data`` (all columns as text; the class is the last column, the first in Mushroom).
Everything is a rehearsal on public tables with seeded noise. diffprivlib does not import beside this project's
scikit-learn, so it runs in an interpreter of its own, given by its path.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.forest.cut_points import buy_cuts
from anonymizer.forest.domains import CodedTable, code, domains_of
from anonymizer.forest.forest import MODES, grow_forest, predict, rehearsed_accuracy
from anonymizer.forest.mechanisms import Budget, RehearsalNoise

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = {
    "Car": "car_evaluation", "Tic-tac-toe": "tic_tac_toe", "Nursery": "nursery", "Mushroom": "mushroom",
    "krkopt": "chess_krkopt", "Connect-4": "connect4",
}  # fmt: skip
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0)
RUNS = (
    ("strict", 1), ("paper", 1), ("paper", 4), ("strict", 2), ("strict", 4), ("paper-strict", 1), ("diffpid3", 1),
    ("diffpid3-weighted", 1),
)  # fmt: skip
DIFFPRIVLIB_RUN = ("diffprivlib", 10)
UNTOUCHED_RUNS = 5
BASELINE_TREES = 100
CUTS = {
    "age": [25, 32, 40, 50, 60], "education-num": [8, 9, 10, 12, 13], "hours-per-week": [30, 40, 41, 50],
    "capital-gain": [1, 5000], "capital-loss": [1, 1500], "wife_age": [25, 30, 35, 40, 45],
    "num_children": [1, 2, 3, 4, 6], "duration": [12, 18, 24, 36], "credit_amount": [1500, 2500, 4000, 7000],
    "fnlwgt": [100000, 200000, 300000],
}  # fmt: skip
"""Round cut points that anybody could name without a look at the records."""


def load(file: str) -> pd.DataFrame:
    """Return a set as text."""
    return pd.read_csv(DATA / f"{file}.csv.gz", dtype=str, keep_default_na=False)


def load_set(file: str) -> CodedTable:
    """Return one of the six sets: all attributes categorical, domains as found in the public file."""
    table = load(file)
    target = table.columns[0] if file == "mushroom" else table.columns[-1]
    return code(table, domains_of(table, str(target)))


def load_untouched() -> dict[str, CodedTable]:
    """Return sets that no constant of ``strict`` was ever tuned on, numbers cut at round public points."""
    tables = {}
    for name, file, target, left_out in (
        ("Adult income", "adult", "income", ("education",)),
        ("Adult education", "adult", "education", ("education-num",)),
        ("Contra", "contraceptive", "contraceptive_method", ()),
        ("German", "german_credit", "class", ()),
    ):
        table = load(file).drop(columns=list(left_out))
        numeric = [column for column in CUTS if column in table.columns]
        table[numeric] = table[numeric].astype(float)
        tables[name] = code(table, domains_of(table, target, {column: {"cuts": CUTS[column]} for column in numeric}))
    return tables


def baselines(table: CodedTable, folds: int) -> dict[str, float]:
    """Return the majority class, and a non-private random forest on indicator columns, cross-validated."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.preprocessing import OneHotEncoder

    x = OneHotEncoder(dtype=np.float32, sparse_output=False).fit_transform(table.codes)
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    forest = RandomForestClassifier(BASELINE_TREES, random_state=0)
    return {
        "majority": float(np.bincount(table.classes).max() / table.n_records),
        "random forest": float(cross_val_score(forest, x, table.classes, cv=split).mean()),
    }


def accuracy(repeats: int, folds: int, out: Path, only: str = "") -> None:
    """Measure the cross-validated accuracy of every mode on every set (or those named), saved after each set.

    What ``out`` holds already, from a run with as many repeats and folds, is not done again.
    """
    results: dict[str, Any] = {"repeats": repeats, "folds": folds, "sets": {}}
    if out.exists():
        earlier = json.loads(out.read_text("utf-8"))
        results = earlier if (earlier["repeats"], earlier["folds"]) == (repeats, folds) else results
    tables = {name: load_set(file) for name, file in SETS.items()} | load_untouched()
    names = [name for name in tables if not only or name in only.split(",")]
    for name, table in ((name, tables[name]) for name in names):
        runs = RUNS if name in SETS else RUNS[:UNTOUCHED_RUNS]
        size = {"records": table.n_records, "attributes": table.codes.shape[1]}
        answer: dict[str, Any] = results["sets"].get(name, size)
        for mode, n_trees in runs:
            for beta in BUDGETS:
                if f"{mode} {n_trees} {beta}" in answer:
                    continue
                scores = rehearsed_accuracy(table, beta, folds=folds, repeats=repeats, mode=mode, n_trees=n_trees)
                answer[f"{mode} {n_trees} {beta}"] = [float(scores.mean()), float(scores.std(ddof=1))]
                print(name, mode, n_trees, beta, f"{scores.mean():.4f}", flush=True)
        results["sets"][name] = answer
        out.write_text(json.dumps(results, indent=1))
        if "majority" not in answer:
            answer |= baselines(table, folds)
        out.write_text(json.dumps(results, indent=1))


BOUNDS = {
    "adult": {
        "age": (17, 100), "education-num": (1, 16), "hours-per-week": (1, 99), "capital-gain": (0, 100000),
        "capital-loss": (0, 5000), "fnlwgt": (0, 1500000),
    },
    "contraceptive": {"wife_age": (15, 50), "num_children": (0, 20)},
    "german_credit": {"duration": (1, 72), "credit_amount": (0, 20000), "age": (18, 80)},
}  # fmt: skip
"""Ends that anybody could name."""
CUT_SHARE = 0.1


def cut_points(folds: int) -> None:
    """Print the accuracy of ``strict`` with even cuts, cuts bought for a tenth of the budget, and round public ones."""
    from sklearn.model_selection import StratifiedKFold

    targets = {"adult": "income", "contraceptive": "contraceptive_method", "german_credit": "class"}
    for file, target in targets.items():
        left_out = ["education"] if file == "adult" else []
        table = load(file).drop(columns=left_out)
        numeric = list(BOUNDS[file])
        table[numeric] = table[numeric].astype(float)
        ends = {name: {"low": low, "high": high} for name, (low, high) in BOUNDS[file].items()}
        ways = {"even": ends, "bought": ends, "public": {name: {"cuts": CUTS[name]} for name in numeric}}
        for beta in (0.1, 0.5, 1.0, 2.0):
            answer = []
            for way, declarations in ways.items():
                domains, scores = domains_of(table, target, declarations), []
                split = StratifiedKFold(folds, shuffle=True, random_state=0)
                for fold, (train, test) in enumerate(split.split(table, table[target])):
                    noise = RehearsalNoise(np.random.default_rng([7, fold]))
                    budget, used = Budget(beta), domains
                    if way == "bought":
                        used = buy_cuts(table.iloc[train], domains, budget, CUT_SHARE * beta, noise=noise)
                    coded_table = code(table, used)
                    forest = grow_forest(coded_table.part(train), beta, noise=noise, budget=budget)
                    scores.append((predict(forest, coded_table.codes[test]) == coded_table.classes[test]).mean())
                answer.append(f"{way} {100 * np.mean(scores):.1f}")
            print(file, beta, *answer, flush=True)


def print_table(path: Path) -> None:
    """Print the saved accuracies as Markdown."""
    results = json.loads(path.read_text("utf-8"))
    groups = {"Mean of the six": [n for n in results["sets"] if n in SETS]}
    groups |= {name: [name] for name in results["sets"] if name in SETS}
    others = [name for name in results["sets"] if name not in SETS]
    groups |= {"Mean of the untouched four": others} | {name: [name] for name in others}
    for title, names in groups.items():
        sets = [results["sets"][name] for name in names]
        if not sets:
            continue
        print(f"\n**{title}**\n\n| accuracy in % | " + " | ".join(f"β = {beta:g}" for beta in BUDGETS) + " |")
        print("|---" * (len(BUDGETS) + 1) + "|")
        for mode, n_trees in (*RUNS, DIFFPRIVLIB_RUN):
            if not all(f"{mode} {n_trees} {BUDGETS[0]}" in entry for entry in sets):
                continue
            cells = [100 * np.mean([entry[f"{mode} {n_trees} {beta}"][0] for entry in sets]) for beta in BUDGETS]
            print(f"| `{mode}`, τ = {n_trees} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
        for key in ("majority", "random forest"):
            if not all(key in entry for entry in sets):
                continue
            mean = 100 * np.mean([entry[key] for entry in sets])
            print(f"| {key} | {mean:.1f} |" + " |" * (len(BUDGETS) - 1))


DIFFPRIVLIB = """
import sys, json, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import RandomForestClassifier
held = np.load(sys.argv[1])
x, y = held["codes"].astype(float), held["classes"]
bounds, classes = (np.zeros(x.shape[1]), held["n_levels"] - 1.0), list(range(int(held["n_classes"])))
def made(trees, epsilon, seed):
    public = dict(bounds=bounds, classes=classes)
    return RandomForestClassifier(trees, epsilon=epsilon, max_depth=5, random_state=seed, **public)
answer = {}
start = time.perf_counter(); made(4, 1.0, 0).fit(x, y); answer["first"] = time.perf_counter() - start
start = time.perf_counter(); made(4, 1.0, 1).fit(x, y); answer["seconds"] = time.perf_counter() - start
order = np.random.default_rng(0).permutation(len(x))
for beta in map(float, sys.argv[2:]):
    scores = []
    for fold in range(10):
        test = order[fold::10]; train = np.setdiff1d(order, test)
        scores.append(float((made(10, beta, fold).fit(x[train], y[train]).predict(x[test]) == y[test]).mean()))
    answer[str(beta)] = float(np.mean(scores))
print(json.dumps(answer))
"""


def diffprivlib(python: str, table: CodedTable, budgets: tuple[float, ...]) -> dict[str, float]:
    """Return the seconds of a forest of 4 trees, and 10-fold accuracy of one of 10 at each budget, in another
    interpreter."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(file, codes=table.codes, classes=table.classes, n_levels=table.n_levels, n_classes=table.n_classes)
        process = subprocess.run(
            [python, "-c", DIFFPRIVLIB, str(file), *map(str, budgets)], capture_output=True, text=True, check=True
        )
    answer: dict[str, float] = json.loads(process.stdout.strip().splitlines()[-1])
    return answer


def add_diffprivlib(python: str, out: Path) -> None:
    """Add the accuracy of diffprivlib's forest on the six sets to the saved accuracies."""
    results = json.loads(out.read_text("utf-8"))
    mode, n_trees = DIFFPRIVLIB_RUN
    for name, file in SETS.items():
        accuracies = diffprivlib(python, load_set(file), BUDGETS)
        print(name, accuracies, flush=True)
        results["sets"][name] |= {f"{mode} {n_trees} {beta}": [accuracies[str(beta)]] for beta in BUDGETS}
        out.write_text(json.dumps(results, indent=1), "utf-8")


def speed(python: str | None) -> None:
    """Print the seconds of a forest of 4 trees of depth 5 on Connect-4: first call, then best and median of seven."""
    table = load_set("connect4")
    for mode in MODES:
        times = []
        for _ in range(8):
            start = time.perf_counter()
            grow_forest(table, 1.0, mode=mode, n_trees=4, max_depth=5)
            times.append(time.perf_counter() - start)
        warm = times[1:]
        print(f"{mode:<20} first {times[0]:.2f}  warm best {min(warm):.3f}  median {np.median(warm):.3f} seconds")
    if python:
        seconds = diffprivlib(python, table, ())
        print(f"diffprivlib, 4 trees, depth 5: first {seconds['first']:.2f}, warm {seconds['seconds']:.2f} seconds")


def main(arguments: list[str] | None = None) -> int:
    """Run one of the benchmarks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["accuracy", "cut_points", "diffprivlib", "speed", "table"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="", metavar="SET,SET", help="these sets (default: all)")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("forest-accuracy.json"))
    parser.add_argument("--diffprivlib-python")
    options = parser.parse_args(arguments)
    if options.what == "accuracy":
        accuracy(options.repeats, options.folds, options.out, options.only)
    elif options.what == "cut_points":
        cut_points(options.folds)
    elif options.what == "speed":
        speed(options.diffprivlib_python)
    elif options.what == "table":
        print_table(options.file)
    else:
        add_diffprivlib(options.diffprivlib_python or sys.executable, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
