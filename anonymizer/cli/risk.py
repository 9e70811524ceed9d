"""``copse risk``: how risky a table is as it stands, as a sample of its population."""

import argparse
from typing import Any

from anonymizer.cli.inputs import population_from, reading_of, schema_of
from anonymizer.cli.output import print_json
from anonymizer.errors import ParameterError
from anonymizer.population.sample import Risky, SampleRisk, riskiest, sample_risk, special_of
from anonymizer.population.suda import SpecialUniques


def run_risk(options: argparse.Namespace) -> int:
    """Print the figures; return 0."""
    if options.riskiest < 0:
        raise ParameterError("--riskiest cannot be below 0.", value=options.riskiest)
    reading = reading_of(options.input, options)
    schema = schema_of(reading.frame, options)
    population = population_from(options, wildcard=options.wildcard)
    risk, special = sample_risk(reading.frame, schema, population), special_of(reading.frame, schema)
    names = schema.quasi_identifying
    records = riskiest(risk, special, names, options.riskiest, options.by)
    if options.json:
        listed = [{**vars(record), "columns": list(record.columns), "row": record.row + 1} for record in records]
        print_json("risk", risk.to_dict() | {"special_uniques": special_figures(special, names), "riskiest": listed})
    else:
        print_risk(risk, special, names)
        print_records(records)
    return 0


def special_figures(special: SpecialUniques, names: tuple[str, ...]) -> dict[str, Any]:
    """Return how many records are special uniques and what each column contributes, JSON-ready."""
    contribution = dict(zip(names, special.contribution.tolist(), strict=True))
    return {
        "records": int((special.score > 0).sum()),
        "largest_set": special.largest,
        "contribution": dict(sorted(contribution.items(), key=lambda item: -item[1])),
    }


def print_risk(risk: SampleRisk, special: SpecialUniques, names: tuple[str, ...]) -> None:
    """Print the figures of a table as lines."""
    print(f"Known of the population: {risk.source} ({risk.size:,} people).")
    lines = [
        ("records", f"{len(risk.rows):,}"),
        ("unique rows", f"{risk.alone:,}"),
        ("of these alone there, too", alone_text(risk)),
        ("highest risk of a row", f"{risk.risk.max():.4g}"),
        ("expected right links", f"{risk.risk.sum():,.1f}"),
        ("k of k-map", "not counted" if risk.k_map is None else f"{risk.k_map:,}"),
        ("prosecutor, highest", f"{risk.prosecutor.highest:.4g}"),
        ("journalist, highest", f"{risk.journalist.highest:.4g}"),
        ("marketer", f"{risk.marketer:.4g}"),
    ]
    if risk.log_linear is not None and risk.alone:
        lines.append(("alone there, log-linear", f"{risk.log_linear.alone:,.1f}"))
        lines.append(("right links to them", f"{risk.log_linear.right:,.1f}"))
    if risk.household is not None:
        lines.append(("average risk of households", f"{risk.household.mean():.4g}"))
    for label, value in lines:
        print(f"{label:<28}{value:>14}")
    if risk.uniques is not None:
        best = risk.uniques.best
        print(f"\nAbout {best.uniques or 0:,.0f} of {risk.uniques.population:,} people are alone in the population:")
        for one in risk.uniques.estimates:
            value = "none" if one.uniques is None else f"{one.uniques:,.0f}"
            mark = "*" if one is best else " "
            print(f"{mark} {one.model:<26}{value:>14}{'  ' + one.note if one.note else ''}")
    print("\nWhat makes rows special (a set of columns on which they are alone):")
    for name, share in special_figures(special, names)["contribution"].items():
        print(f"  {name:<26}{share:>14.1%}")


def alone_text(risk: SampleRisk) -> str:
    """Return how many of the unique records are alone in the population, too, counted or estimated."""
    if risk.sure is not None:
        return f"{risk.sure:,}"
    return "not estimated" if risk.alone_there is None else f"about {risk.alone_there:.0%}"


def print_records(records: list[Risky]) -> None:
    """Print the riskiest records by their row, counted from 1."""
    if records:
        print(f"\n{'row':>9}{'risk':>10}{'score':>10}  alone by")
    for record in records:
        columns = ", ".join(record.columns) or "no set of columns"
        print(f"{record.row + 1:>9,}{record.risk:>10.4g}{record.score:>10,.0f}  {columns}")
