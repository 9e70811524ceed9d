"""What a second release leaves of people together with the first, made anew and made to keep it, and what both lose.

    python run.py bench releases                    # made-up hospital and Adult, 10,000 rows
    python run.py bench releases --rows 20000 --only years

The first release is packed in the groups of the default, or of ``--grouping error-risk``. Below: people in groups of
fewer than k that both releases share. A table that changes: 2 % leave, 3 % come and 5 % change in a year. Adult is read
from ``../shared/data``.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import anonymizer as an
from anonymizer.cells import parse_column_cell
from anonymizer.checking.released import texts_of
from anonymizer.checking.together import together
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.growing.encode import Encoding, encode
from anonymizer.measuring.utility import cell_ncp
from anonymizer.reading.samples import hospital
from anonymizer.schema import Role, Schema
from anonymizer.settings import Settings
from anonymizer.whatif.series import Series, first_release, next_release
from benchmarks._tables import RANGES, TABLES
from benchmarks.packed import seconds_of

HOSPITAL = ("age", "sex", "postcode", "marital_status", "occupation", "admission_date")
SECOND: dict[str, Mapping[str, Any]] = {
    "the same again": {"secret": 1},
    "another target": {"target": 1},
    "k = 12": {"k": 12},
    "k = 20": {"k": 20},
    "k = 30": {"k": 30},
    "first k = 30, then 10": {"first_k": 30},
    "l = 2 for another target": {"target": 1, "l": 2},
    "two columns fewer": {"fewer": 2},
    "two columns fewer, twice the importance": {"fewer": 2, "importance": 2},
    "two columns fewer, four times the importance": {"fewer": 2, "importance": 4},
    "two columns more": {"more": 2},
}
"""What the second release has otherwise."""


def main(arguments: Sequence[str]) -> None:
    """Print a table of second releases, and one of years, for each table."""
    parser = argparse.ArgumentParser(prog="releases")
    parser.add_argument("--tables", nargs="+", default=["hospital", "adult"], choices=["hospital", "adult"])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--years", type=int, default=5)
    parser.add_argument("--only", choices=["second", "years"])
    parser.add_argument("--grouping", help="of the first release, and of others for the same target")
    options = parser.parse_args(arguments)
    for name in options.tables:
        table, schema = table_of(name, options.rows)
        if options.only != "years":
            print_second(name, table, schema, options.k, options.grouping)
        if options.only != "second":
            print_years(name, table, schema, options.k, options.years, options.grouping)


def table_of(name: str, n: int) -> tuple[pd.DataFrame, Schema]:
    """Return the first rows of a table, and a schema with two sensitive columns."""
    if name == "hospital":
        table, quasi, sensitive = hospital(n), HOSPITAL, ["diagnosis", "days_of_stay"]
    else:
        table, sensitive = TABLES["adult"].read()[0], ["income", "occupation"]
        quasi = tuple(column for column in table.columns if column not in sensitive)
    table = table[[*quasi, *sensitive]].head(n).reset_index(drop=True)
    return table, an.Schema.of(table, quasi_identifying=list(quasi), sensitive=sensitive, target=sensitive[0])


def print_second(name: str, table: pd.DataFrame, schema: Schema, k: int, grouping: str | None) -> None:
    """Print what each second release leaves together with the first, made anew and kept."""
    print(f"\n### {name}, {len(table):,} rows, k = {k}\n")
    print("| second release | below k, anew | alone | below k, kept | GCP, anew | kept | kept ÷ anew | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for what, how in SECOND.items():
        settings = RANGES.but(k=k, generalizer="pack", grouping=grouping)
        wide, narrow = schema, with_fewer(schema, how.get("fewer", how.get("more", 0)))
        planned = wide
        for column in narrow.quasi_identifying:
            planned = planned.with_column(column, importance=how.get("importance", 1))
        first = flow_of(table, narrow if "more" in how else planned, settings.but(k=how.get("first_k", k)))
        second = narrow if "fewer" in how else wide
        second = second.with_target(second.sensitive[how.get("target", 0)])
        settings = settings.but(k=how.get("k", k), l=how.get("l"), grouping=None if how.get("target") else grouping)
        anew = flow_of(table, second, settings, how.get("secret", 0))
        keeping = Flow(
            table, second, settings, rng=np.random.default_rng(0), keep=True,
            earlier=[Earlier(first.class_of, first.settings.k)],
        )  # fmt: skip
        keeping.compute("pruning", "leaf", "coarse")
        seconds = seconds_of(keeping, "parts")
        least = min(k, first.settings.k, settings.k)
        cells = [together([first.class_of, flow.class_of], least) for flow in (anew, keeping)]
        losses = [flow.utility.gcp for flow in (anew, keeping)]
        print(
            f"| {what} | {cells[0].below / cells[0].persons:.0%} | {cells[0].alone / cells[0].persons:.0%} "
            f"| {cells[1].below:,} | {losses[0]:.3f} | {losses[1]:.3f} | {losses[1] / losses[0]:.2f} | {seconds:.2f} |",
            flush=True,
        )


def with_fewer(schema: Schema, columns: int) -> Schema:
    """Return a schema in which the last quasi-identifiers are left out."""
    out = schema.quasi_identifying[len(schema.quasi_identifying) - columns :] if columns else ()
    return replace(schema, columns=tuple(
        replace(column, role=Role.IDENTIFYING) if column.name in out else column for column in schema.columns
    ))  # fmt: skip


def flow_of(table: pd.DataFrame, schema: Schema, settings: Settings, secret: int = 0) -> Flow:
    """Return the flow under a secret."""
    return Flow(table, schema, settings, rng=np.random.default_rng(secret))


# A table that changes.


def years_of(table: pd.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], years: int) -> list[pd.DataFrame]:
    """Return tables of some years: 2 % leave, 3 % come, and 5 % change in a column or in a sensitive value."""
    rng = np.random.default_rng(1)
    everybody = table.sample(frac=1, random_state=0).reset_index(drop=True)
    everybody["who"] = [f"p{number}" for number in range(len(everybody))]
    n = int(len(everybody) / (1 + 0.03 * (years - 1)))
    tables, here, come = [], everybody.index[:n].to_numpy(), n
    values = everybody.copy()
    for year in range(years):
        if year:
            here = here[rng.random(len(here)) >= 0.02]
            here = np.append(here, np.arange(come, min(come + round(0.03 * n), len(everybody))))
            come = int(here.max()) + 1
            for row in here[rng.random(len(here)) < 0.05]:
                names = quasi if rng.random() < 0.5 else sensitive
                name = names[int(rng.integers(len(names)))]
                values.loc[row, name] = table[name].iloc[int(rng.integers(len(table)))]
        tables.append(values.loc[here].reset_index(drop=True))
    return tables


def print_years(name: str, table: pd.DataFrame, schema: Schema, k: int, years: int, grouping: str | None) -> None:
    """Print what releases of some years leave together, made anew each year and in groups for life."""
    tables = years_of(table, schema.quasi_identifying, schema.sensitive, years)
    own = an.Schema.of(
        tables[0], quasi_identifying=list(schema.quasi_identifying), sensitive=list(schema.sensitive), person="who",
        target=schema.target,
    )  # fmt: skip
    settings = RANGES.but(k=k, generalizer="pack", grouping=grouping)
    persons = pd.Index(sorted({who for each in tables for who in each["who"]}))
    anew, losses, encodings = [], [], encode(table, schema).encodings
    for each in tables:
        flow = flow_of(each, own, settings)
        classes = np.full(len(persons), -1)
        classes[persons.get_indexer(each["who"])] = flow.class_of
        anew.append(classes)
        losses.append(flow.utility.gcp)
    print(f"\n### {name}, {years} years, k = {k}\n\n| | below k, two years | all | alone | GCP, first and last year |")
    print("|---|---|---|---|---|")
    print_line("anew each year", anew, losses, k)
    for leavers in ("cumulative", "increments", "close"):
        series = [first_release(tables[0], own, settings)]
        for each in tables[1:]:
            series.append(next_release(series[-1], each, settings, leavers))
        classes_of, lost = [], []
        for one in series:
            classes = np.full(len(persons), -1)
            released = released_persons(one, leavers, series[0] is one)
            classes[persons.get_indexer(one.persons[released])] = one.class_of[released]
            classes_of.append(classes)
            lost.append(loss_of(one, released, encodings))
        wait, came = (sum(getattr(one.year, name) for one in series[1:]) for name in ("wait", "came"))
        about = (
            f"waiting {wait / max(1, wait + came):.0%}, in the last file {int(released.sum()):,} of {len(tables[-1]):,}"
        )
        print_line(f"groups for life, {leavers} ({about})", classes_of, lost, k)


def released_persons(series: Series, leavers: str, is_first: bool) -> np.ndarray:
    """Return (p,) which persons of a series are in its last file."""
    leaves = ~series.closed[series.class_of]
    if leavers == "increments" and not is_first:
        leaves[: len(leaves) - series.year.came] = False
    return np.asarray(leaves)


def loss_of(series: Series, released: np.ndarray, encodings: Sequence[Encoding]) -> float:
    """Return the GCP of the last file of a series, on the domains of all years."""
    rows, losses = series.class_of[released], []
    for encoding in encodings:
        index, texts = texts_of(series.boxes[encoding.name])
        cells = [parse_column_cell(text, series.schema[encoding.name]) for text in texts]
        ncp = np.array([cell_ncp(cell, encoding) for cell in cells])
        losses.append(ncp[index[rows]].mean() if len(rows) else 0.0)
    return float(np.mean(losses))


def print_line(what: str, classes: Sequence[np.ndarray], losses: Sequence[float], k: int) -> None:
    """Print one way to release the years."""
    two, every = together(classes[:2], k), together(classes, k)
    shares = two.below / two.persons, every.below / every.persons, every.alone / every.persons
    print(f"| {what} | {' | '.join(f'{one:.0%}' for one in shares)} | {losses[0]:.3f}, {losses[-1]:.3f} |", flush=True)
