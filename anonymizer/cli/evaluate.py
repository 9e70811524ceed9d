"""The experiments from a terminal: ``copse evaluate``."""

import argparse
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from anonymizer.cli.options import (
    ProgressBar,
    add_codebook,
    add_cuts,
    add_reading,
    add_roles,
    add_settings,
    names,
    print_json,
    reading_of,
    schema_of,
)
from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.measuring.comparison import (
    as_table,
    asked_by,
    by_fold,
    differences,
    drawable,
    ranks,
    tradeoff_figure,
    tradeoff_sentence,
)
from anonymizer.measuring.measures import FORMS, MEASURES, Outcome
from anonymizer.releasing.files import write_file
from anonymizer.settings import Settings, names_of, setting_names
from anonymizer.studies.experiment import all_groupings, evaluate


def add_evaluate(subparsers: Any) -> None:
    """Add the command ``evaluate``."""
    command = subparsers.add_parser("evaluate", help="compare groupings and generalizers under cross-validation")
    command.add_argument("input", help="csv, csv.gz, parquet or xlsx; or sample:NAME")
    add_roles(command)
    add_codebook(command)
    add_cuts(command)
    add_reading(command)
    command.add_argument(
        "--target",
        help="the sensitive column that errors are counted on, and that may guide the tree (default: the first)",
    )
    command.add_argument("--k", type=numbers, default=[10, 20, 30], metavar="K,K", help="default: 10,20,30")
    command.add_argument("--folds", type=int, default=10, help="default: 10")
    command.add_argument("--only", type=int, metavar="N", help="run only so many of the folds")
    command.add_argument(
        "--groupings", type=names, default=[], metavar="A,B",
        help=f"of {', '.join(all_groupings())}; blend:0.2 is a blend of that weight (default: the papers' pruning that "
        "suits the target, and median-mondrian)",
    )  # fmt: skip
    command.add_argument(
        "--generalizers",
        type=names,
        default=["uniform", "pack"],
        metavar="A,B",
        help="of " + ", ".join(names_of("generalizer")) + " (default: uniform,pack)",
    )
    add_settings(command, *shared_settings())
    command.add_argument(
        "--against", metavar="A/B", help="paired t-tests against this grouping/generalizer at the same k"
    )
    command.add_argument("--seed", type=int, default=0, help="of the folds")
    command.add_argument("--sample", type=int, metavar="N", help="use only so many rows, drawn at random")
    command.add_argument("--out", metavar="CSV", help="where the table goes, one line a setting and fold")
    command.add_argument("--plot", metavar="HTML", help="where the figures go: loss against each measure")
    command.add_argument("--json", action="store_true", help="print the means as JSON")

    def run(options: argparse.Namespace) -> int:
        reading = reading_of(options.input, options)
        settings = Settings(**{name: getattr(options, name) for name in shared_settings()})
        flow = Flow(reading.frame, schema_of(reading.frame, options), settings)
        return run_evaluate(options, flow, ProgressBar())

    command.set_defaults(run=run, reads=("input", "schema", "codebook"), writes=("out", "plot"))


UNFIT = ("k", "generalizer", "suppression", "suppression_weight")
"""Settings that are compared, or that comparing methods knows nothing of: it leaves nobody out."""


def shared_settings() -> tuple[str, ...]:
    """Return the settings that all that is compared has in common: limits beside k, and how cells are written."""
    return (*(name for name in setting_names("limit", "cells") if name not in UNFIT), "weight")


def numbers(text: str) -> list[int]:
    """Return whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers separated by commas, not {text!r}") from None


def run_evaluate(options: argparse.Namespace, flow: Flow, show: ProgressBar) -> int:
    """Run ``evaluate``: print the mean of every measure for every setting."""
    if options.plot and not options.plot.lower().endswith((".html", ".htm")):
        raise ParameterError(f"{options.plot} cannot be a plot.", remedy="Use a name that ends in .html.")
    outcomes = evaluate(
        flow,
        folds=options.folds,
        ks=options.k,
        groupings=options.groupings,
        generalizers=options.generalizers,
        run=options.only,
        sample=options.sample,
        seed=options.seed,
        progress=show,
    )
    show.end()
    tests = differences(outcomes, options.against) if options.against else []
    if options.out:
        write_file(options.out, by_fold(outcomes))
    if options.plot:
        write_file(options.plot, plots(outcomes))
    if options.json:
        rows = [{name: plain(value) for name, value in row.items()} for row in as_table(outcomes).to_dict("records")]
        print_json({"settings": rows, "differences": tests})
        return 0
    means = as_table(outcomes)
    for form, meaning in FORMS.items():
        presumes = ", which presumes the tree" if form == "box" else ""
        print(f"People who were left out, asked about by their {meaning} ({form}){presumes}:")
        part = asked_by(means, form)
        print(part.to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep=""), end="\n\n")
    unranked = [measure for measure in drawable(outcomes) if not ranks(outcomes, measure)]
    if unranked:
        print(f"{tradeoff_sentence(outcomes, unranked[0])}: {', '.join(MEASURES[measure] for measure in unranked)}.")
    if tests:
        print(f"\nLess that of {options.against}, and the p-value of the paired t-test over the folds:")
    for test in tests:
        print(
            f"{test['grouping']}/{test['generalizer']}, k = {test['k']}: {MEASURES[test['measure']]} "
            f"{test['difference']:+.4f} (p = {test['p_value']:.3g})"
        )
    return 0


def plots(outcomes: Sequence[Outcome]) -> str:
    """Return a page that needs nothing else: for every measure that applies, each setting's loss against it."""
    parts = []
    for number, measure in enumerate(drawable(outcomes)):
        figure = tradeoff_figure(outcomes, measure).to_html(full_html=False, include_plotlyjs=number == 0)
        parts.append(f"<h2>{escape(tradeoff_sentence(outcomes, measure))}</h2>\n{figure}")
    style = "<style>body { font-family: sans-serif; max-width: 70em; margin: 2em auto; }</style>"
    head = f'<meta charset="utf-8"><title>Groupings and generalizers compared</title>{style}'
    return f"<!doctype html>\n<html><head>{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def plain(value: Any) -> Any:
    """Return a number for JSON, ``None`` for NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
