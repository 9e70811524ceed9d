"""The experiments from a terminal: ``python -m anonymizer evaluate``."""

import argparse
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from anonymizer.comparison import as_table, by_fold, differences, drawable, tradeoff_figure, tradeoff_sentence
from anonymizer.errors import ParameterError
from anonymizer.experiment import GROUPINGS, MEASURES, Outcome, evaluate
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
    told.add_argument("--weight", type=float, default=0.5, help="of blends that do not name one (default: 0.5)")
    told.add_argument("--sample", type=int, metavar="N", help="use only so many records, drawn at random")
    told.add_argument("--out", metavar="CSV", help="where the table goes, one line a setting and fold")
    told.add_argument("--plot", metavar="HTML", help="where the figures go: loss against each measure")
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
    if chosen.plot and not chosen.plot.lower().endswith((".html", ".htm")):
        raise ParameterError(f"{chosen.plot} cannot be a plot.", remedy="Use a name that ends in .html.")
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
        weight=chosen.weight,
        run=chosen.only,
        sample=chosen.sample,
        seed=chosen.seed,
        progress=show,
    )
    show.end()
    tests = differences(found, chosen.against) if chosen.against else []
    if chosen.out:
        Path(chosen.out).write_text(by_fold(found), "utf-8")
    if chosen.plot:
        Path(chosen.plot).write_text(plots(found), "utf-8")
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


def plots(found: Sequence[Outcome]) -> str:
    """A page that needs nothing else: for every measure that applies, each setting's loss against it."""
    parts = []
    for number, measure in enumerate(drawable(found)):
        drawn = tradeoff_figure(found, measure).to_html(full_html=False, include_plotlyjs=number == 0)
        parts.append(f"<h2>{escape(tradeoff_sentence(found, measure))}</h2>\n{drawn}")
    style = "<style>body { font-family: sans-serif; max-width: 70em; margin: 2em auto; }</style>"
    head = f'<meta charset="utf-8"><title>Groupings and generalizers compared</title>{style}'
    return f"<!doctype html>\n<html><head>{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def plain(value: Any) -> Any:
    """A number for JSON, ``None`` for NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
