"""The experiments from a terminal: ``python -m anonymizer evaluate``."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from anonymizer.comparison import as_table, by_fold, differences
from anonymizer.experiment import GROUPINGS, MEASURES, evaluate
from anonymizer.generalize import GENERALIZERS, NUMBERS, WRITINGS
from anonymizer.read import Reading
from anonymizer.schema import Schema


def add_evaluate(
    subparsers: Any, add_roles: Any, add_reading: Any, reading_of: Any, schema_of: Any, names: Any, progress: Any
) -> None:
    """Add the command ``evaluate``; the functions are those that every command reads its input with."""
    told = subparsers.add_parser("evaluate", help="compare groupings and generalizers under cross-validation")
    told.add_argument("input", help="csv, csv.gz, parquet or xlsx; or sample:NAME")
    add_roles(told)
    add_reading(told)
    told.add_argument("--target", help="the sensitive column that guides the tree (default: the first)")
    told.add_argument("--k", type=numbers, default=[10, 20, 30], metavar="K,K", help="default: 10,20,30")
    told.add_argument("--folds", type=int, default=10, help="default: 10")
    told.add_argument("--only", type=int, metavar="N", help="run only so many of the folds")
    told.add_argument(
        "--groupings", type=names, default=["least", "median-mondrian"], metavar="A,B",
        help=f"of {', '.join(GROUPINGS)}; blend:0.2 is a blend of that weight",
    )  # fmt: skip
    told.add_argument(
        "--generalizers", type=names, default=["uniform"], metavar="A,B", help=f"of {', '.join(GENERALIZERS)}"
    )
    told.add_argument("--writing", default="sets", choices=list(WRITINGS))
    told.add_argument("--numbers", default="range", choices=list(NUMBERS))
    told.add_argument("--significance", type=float, help="α of error-digression, on inner nodes (default: off)")
    told.add_argument("--against", metavar="A/B", help="paired t-tests against this grouping/generalizer at the same k")
    told.add_argument("--seed", type=int, default=0, help="of the folds")
    told.add_argument("--out", metavar="CSV", help="where the table goes, one line a setting and fold")
    told.add_argument("--json", action="store_true", help="print the means as JSON")

    def run(chosen: argparse.Namespace) -> int:
        reading = reading_of(chosen.input, chosen)
        return run_evaluate(chosen, reading, schema_of(reading.frame, chosen), progress(1))

    told.set_defaults(run=run)


def numbers(text: str) -> list[int]:
    """Whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers separated by commas, not {text!r}") from None


def run_evaluate(chosen: argparse.Namespace, reading: Reading, schema: Schema, show: Any) -> int:
    """``evaluate``: prints the mean of every measure for every setting."""
    found = evaluate(
        reading.frame,
        schema,
        folds=chosen.folds,
        ks=chosen.k,
        groupings=chosen.groupings,
        generalizers=chosen.generalizers,
        writing=chosen.writing,
        numbers=chosen.numbers,
        significance=chosen.significance,
        run=chosen.only,
        seed=chosen.seed,
        progress=show,
    )
    show.end()
    tests = differences(found, chosen.against) if chosen.against else []
    if chosen.out:
        Path(chosen.out).write_text(by_fold(found), "utf-8")
    if chosen.json:
        rows = [{name: plain(value) for name, value in row.items()} for row in as_table(found).to_dict("records")]
        print(json.dumps({"settings": rows, "differences": tests}, indent=2))
        return 0
    print(as_table(found).to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep=""))
    if tests:
        print(f"\nLess that of {chosen.against}, and the p-value of the paired t-test over the folds:")
    for test in tests:
        print(
            f"{test['grouping']}/{test['generalizer']}, k = {test['k']}: {MEASURES[test['measure']]} "
            f"{test['difference']:+.4f} (p = {test['p_value']:.3g})"
        )
    return 0


def plain(value: Any) -> Any:
    """A number for JSON, ``None`` for NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
