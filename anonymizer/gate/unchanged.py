"""What is released unchanged, whatever its role: who is found by it, and what it gives away together."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.unchanged import Unchanged
from anonymizer.checking.verify import Verification
from anonymizer.errors import EncodeError
from anonymizer.gate.codes import coarser
from anonymizer.gate.finding import Finding, Repair, Severity, generalize, leave_out, names_text, share_text, treat
from anonymizer.gate.nature import nature_of
from anonymizer.reading.facts import ColumnFacts, Distinct
from anonymizer.reading.patterns import meanings_of
from anonymizer.schema import UNCHANGED, Column, Kind, Role, Schema
from anonymizer.values import numbers_of

MOST = 0.5
"""From this share of the rows on, somebody who knows the unchanged columns finds most of them."""
PUBLIC = 0.05
"""From this share of the rows on that a column finds beside the boxes, one that others can know stops a release."""
NEARLY = 0.95
"""From this share on, nearly all of them."""
SOME = 0.01
"""From this share of rows on that a column finds alone, it is worth a look."""
RARE = 0.2
"""From this share of different values on, few rows share one."""
FEWEST = 10
"""Persons of a value that is not merged with others, where that is proposed."""
STEPS = 40
"""Steps of the range of numbers to which rounding is proposed."""
TOGETHER = 0.1
"""From this share on, what all unchanged columns find is."""
COMPUTED = 0.99
"""Share of what differs in a column from which on it is computed from others."""
LOOKED_AT = 2_000
"""Records that are looked at for what is computed, spread evenly."""
ROWS_EACH = 10
"""Records for each column that another can be computed from, at least."""


def knowable(
    schema: Schema, facts: Iterable[ColumnFacts], distinct: Mapping[str, Distinct], but: Collection[str]
) -> Iterable[Finding]:
    """Yield the unchanged columns whose values others can know, and those that single out many rows alone.

    ``facts``, ``distinct``: of the table; ``but``: not of these.
    """
    for fact in facts:
        column = schema[fact.name]
        if column.role not in UNCHANGED or fact.name in but:
            continue
        nature = nature_of(fact, column.kind, distinct[fact.name][0])
        if nature:
            yield Finding(
                f"known: {fact.name}",
                Severity.STOPS,
                f"{fact.distinct:,} values",
                f"“{fact.name}” is released unchanged and holds {nature}, which others can know.",
                f"{fact.distinct:,} different values in {fact.records:,} rows.",
                (fact.name,),
                (*(softer(column, fact) if column.kind is Kind.DATE else ()), *ways_out(fact.name)),
            )
        elif fact.distinct_share >= RARE or (fact.unique >= SOME * fact.records and fact.kind is not Kind.CATEGORICAL):
            yield Finding(
                f"rare values: {fact.name}",
                Severity.LOOK,
                f"{fact.distinct:,} values",
                f"“{fact.name}” is released unchanged, with values that few rows share.",
                f"{fact.distinct:,} values in {fact.records:,} rows; {fact.unique:,} are in one row only.",
                (fact.name,),
                (*softer(column, fact), *coarser(column)),
            )


def ways_out(name: str) -> tuple[Repair, ...]:
    """Return the repairs that keep a column from being released unchanged."""
    return generalize(name), leave_out(name)


def softer(column: Column, fact: ColumnFacts) -> tuple[Repair, ...]:
    """Return the treatments that close a finding: dates to months, numbers to some steps of their range, rare levels
    merged."""
    if column.kind is Kind.DATE:
        return (treat(column.name, "month"),)
    if column.kind is Kind.CATEGORICAL:
        return (treat(column.name, f"rare:{FEWEST}"),)
    low, high = float(fact.low or 0), float(fact.high or 0)
    if fact.kind is not Kind.NUMERIC or not low < high:
        return ()
    return (treat(column.name, f"round:{nice_step((high - low) / STEPS):.12g}"),)


def nice_step(step: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, … times a power of ten that is at least a step."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(n * power for n in (1, 2, 5, 10) if n * power >= step * (1 - 1e-9)))


def judged(finding: Finding, verification: Verification) -> Iterable[Finding]:
    """Yield a finding; that others can know a column stops a release where it finds rows beside the box."""
    if not finding.key.startswith("known: "):
        yield finding
        return
    own = next((one for one in verification.unchanged if one.columns == finding.columns), None)
    if own is None or not own.beside:
        return
    n = verification.rows
    detail = f"Alone it finds {own.alone:,} of {n:,} rows, and {own.beside:,} beside the boxes."
    severity = Severity.STOPS if own.beside >= PUBLIC * n else Severity.LOOK
    yield replace(finding, severity=severity, figure=share_text(own.beside / n), detail=detail)


def unchanged(schema: Schema, verification: Verification, identifying: Collection[str]) -> Iterable[Finding]:
    """Yield how many rows the insensitive columns find, and all unchanged columns together, alone and beside the boxes.

    ``identifying``: columns that look so cannot be generalized. What only the person could know is worth a look.
    """
    together = verification.unchanged[-1:]
    insensitive = [one for one in verification.unchanged if one.columns == schema.insensitive]
    for one in insensitive[:1]:
        private = all(_is_private(name) for name in one.columns)
        yield from found_by(one, verification.rows, identifying, private)
    for one in together:
        if one not in insensitive and len(one.columns) > 1 and one.alone >= TOGETHER * verification.rows:
            yield _all_together(one, verification.rows)


def _is_private(name: str) -> bool:
    return any(meaning.role is Role.SENSITIVE for meaning in meanings_of(name)[:1])


def found_by(one: Unchanged, n: int, identifying: Collection[str], private: bool) -> Iterable[Finding]:
    """Yield the finding of the insensitive columns; ``private``: only the person could know them."""
    names, beside = one.columns, one.beside
    which = f"“{names[0]}”" if len(names) == 1 else f"the {len(names):,} insensitive columns"
    key = f"unchanged: {names_text(names)}"
    if not beside:
        detail = f"Nobody is unique by {which}, with the box or without."
        yield Finding(key, Severity.FINE, "0 rows", f"Nobody is unique by {which}.", detail, names)
        return
    most = beside >= MOST * n
    boxes, out = (tuple(name for name in names if (name in identifying) is left) for left in (False, True))
    repairs = [leave_out(*names)]
    if boxes:
        repairs.insert(0, replace(generalize(*boxes), roles=(*generalize(*boxes).roles, *leave_out(*out).roles)))
    yield Finding(
        key,
        Severity.STOPS if most and not private else Severity.LOOK,
        share_text(beside / n),
        f"Somebody who knows {which} finds {how_many(beside, n)}.",
        f"Of {n:,} rows {one.alone:,} are unique on {listed(names)} alone, and {beside:,} beside the boxes.",
        names,
        tuple(repairs),
    )


def _all_together(one: Unchanged, n: int) -> Finding:
    return Finding(
        f"unchanged together: {names_text(one.columns)}",
        Severity.LOOK,
        share_text(one.alone / n),
        f"Somebody who knows the {len(one.columns):,} unchanged columns finds {one.alone:,} of {n:,} rows.",
        f"Sensitive columns are counted too: {listed(one.columns)}. Beside the boxes {one.beside:,} rows are unique.",
        one.columns,
    )


def how_many(rows: int, n: int) -> str:
    """Return how many of n rows are found, in words."""
    if rows >= NEARLY * n:
        return "every row" if rows == n else "nearly every row"
    return "most rows" if rows >= MOST * n else "some rows"


def listed(names: tuple[str, ...]) -> str:
    """Return the first names of columns."""
    return ", ".join(names[:6]) + (" …" if len(names) > 6 else "")


def computed(table: pd.DataFrame, schema: Schema, but: Collection[str]) -> Iterable[Finding]:
    """Yield the unchanged columns that are sums, differences, products or ratios of generalized ones, and those from
    which a generalized one can be computed. ``but``: not of these.

    A body mass is computed from height and weight, an age in days from two dates. Sums are found by least squares of
    the numbers, products by those of their logarithms; single columns that depend on each other are not looked at here.
    """
    rows = np.unique(np.linspace(0, len(table) - 1, min(len(table), LOOKED_AT)).astype(np.int64))
    numbers = _numbers(table.iloc[rows], schema)
    boxed = {name: one for name, one in numbers.items() if schema[name].role is Role.QUASI_IDENTIFYING}
    rest = {name: one for name, one in numbers.items() if name not in boxed}
    named = set(but)
    for name, values in rest.items():
        if name not in named and (of := sources(values, boxed)):
            named.add(name)
            yield _computed(name, of, f"“{name}” is released unchanged and follows from {' and '.join(of)}.", (name,))
    free = {name: values for name, values in rest.items() if name not in named}
    for name, values in boxed.items():
        if of := sources(values, free):
            sentence = f"{' and '.join(of)} are released unchanged and reveal “{name}”."
            yield _computed(name, of, sentence, of)


def _computed(name: str, of: tuple[str, ...], sentence: str, out: tuple[str, ...]) -> Finding:
    detail = f"“{name}” can be computed from {' and '.join(of)}, so boxes no longer hide it."
    figure = f"{len(of):,} columns"
    repairs = (leave_out(*out),)
    return Finding(
        f"computed: {names_text((name, *of))}", Severity.STOPS, figure, sentence, detail, (name, *of), repairs
    )


def _numbers(table: pd.DataFrame, schema: Schema) -> dict[str, NDArray[np.float64]]:
    """Return the released columns of numbers and dates that have several values, as numbers."""
    numbers = {}
    for name in schema.released:
        if schema[name].kind is not Kind.CATEGORICAL:
            try:
                values = np.asarray(numbers_of(table[name], schema[name])[0], np.float64)
            except EncodeError:
                continue
            if len(np.unique(values[np.isfinite(values)])) > 2:
                numbers[name] = values
    return numbers


def sources(values: NDArray[np.float64], others: Mapping[str, NDArray[np.float64]]) -> tuple[str, ...]:
    """Return the two or more columns of which some numbers (n,) are a sum or product with fixed weights; () for
    none."""
    if len(others) < 2:
        return ()
    for way in (np.asarray, _logarithm):
        y, columns = way(values), {name: way(of) for name, of in others.items()}
        columns = {name: x for name, x in columns.items() if np.isfinite(x).mean() > MOST}
        some = list(columns)
        there = np.isfinite(y) & np.all([np.isfinite(x) for x in columns.values()], axis=0) if some else []
        if len(some) < 2 or np.count_nonzero(there) < ROWS_EACH * (len(some) + 2):
            continue
        scaled = {name: _scaled(x[there]) for name, x in columns.items()}
        target = _scaled(y[there])
        if explains(target, list(scaled.values())) < COMPUTED:
            continue
        for name in tuple(scaled):
            fewer = [x for other, x in scaled.items() if other != name]
            if explains(target, fewer) >= COMPUTED:
                del scaled[name]
        return tuple(scaled) if len(scaled) > 1 else ()
    return ()


def _logarithm(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.where(values > 0, values, np.nan)))


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


def explains(target: NDArray[np.float64], columns: list[NDArray[np.float64]]) -> float:
    """Return the share of the variance of scaled numbers (n,) that a sum of others explains, corrected for their
    number."""
    if not columns or not target.any():
        return 0.0
    x = np.stack(columns, axis=1)
    rest = target - x @ np.linalg.lstsq(x, target, rcond=None)[0]
    n = len(target)
    return float(1 - (rest**2).sum() / max(1, n - len(columns) - 1) / ((target**2).sum() / (n - 1)))
