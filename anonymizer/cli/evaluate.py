"""The experiments from a terminal: ``copse evaluate``."""

import argparse
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from anonymizer.cli.inputs import reading_of, schema_of
from anonymizer.cli.options import shared_settings
from anonymizer.cli.output import ProgressBar, print_json
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
from anonymizer.settings import Settings
from anonymizer.studies.experiment import evaluate


def run_evaluate(options: argparse.Namespace) -> int:
    """Run ``evaluate``: print the mean of every measure for every setting."""
    if options.plot and not options.plot.lower().endswith((".html", ".htm")):
        raise ParameterError(f"{options.plot} cannot be a plot.", remedy="Use a name that ends in .html.")
    reading, show = reading_of(options.input, options), ProgressBar()
    settings = Settings(**{name: getattr(options, name) for name in shared_settings()})
    outcomes = evaluate(
        Flow(reading.frame, schema_of(reading.frame, options), settings),
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
        print_json("evaluate", {"settings": rows, "differences": tests})
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
