"""Values that stand out: codes among numbers, levels and ends that only one person has."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import EncodeError
from anonymizer.gate.finding import Finding, Repair, Severity, generalize, leave_out, treat
from anonymizer.reading.facts import ColumnFacts, Distinct
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.values import count_codes, counts_of, ranks_of, value_text

CODES = (*range(1, 10), *(digit * ones for ones in (11, 111, 1111, 11111, 111111) for digit in (7, 8, 9)))
"""Numbers that surveys write for "not asked", "refused" and the like: negative ones, or those of two digits and more
beyond all others."""
FEWEST = 3
"""Records that must have a code: a lone number can be a slip."""
GAP = 0.2
"""A code beyond the others is at least this share of their range away from them."""
FAR = 0.1
"""An end is one person's when the next value is at least this share of the range away."""


def of_numbers(
    table: pd.DataFrame,
    schema: Schema,
    facts: Iterable[ColumnFacts],
    distinct: Mapping[str, Distinct],
    person: NDArray[np.integer[Any]] | None,
) -> tuple[list[Finding], list[Finding]]:
    """Return the columns of numbers that leave and hold codes among their numbers, and those of numbers and dates whose
    ends are one person's. ``facts``: what each column holds; ``distinct``: its values; ``person`` (n,): whose each
    record is, when rows are not persons."""
    alone = with_unique(facts, person)
    with_codes: list[Finding] = []
    with_ends: list[Finding] = []
    for column in leaving(schema, Kind.NUMERIC, Kind.DATE):
        if column.kind is Kind.DATE and column.name not in alone:
            continue
        with suppress(EncodeError):  # it holds others than numbers
            values, counts = distinct[column.name]
            records, own = counts_of(pd.Series(values), column, counts)
            with_codes += codes(column, records, own) if column.kind is Kind.NUMERIC else ()
            if column.name in alone:
                places = None if person is None else ranks_of(table[column.name], column)[0]
                with_ends += ends(column, records if places is None else holders_of(places, len(own), person), own)
    return with_codes, with_ends


def codes(column: Column, counts: NDArray[np.int64], own: NDArray[np.float64]) -> Iterable[Finding]:
    """Yield that a column holds codes among its numbers. ``counts`` (d,): of the records that have each of ``own``, the
    distinct ones, ascending."""
    marks = sentinels(own, counts)
    if marks:
        rows = int(counts[np.isin(own, marks)].sum())
        texts = tuple(value_text(mark) for mark in marks)
        signs = ", ".join(text.replace("-", "−") for text in texts)
        detail = "They widen the boxes of their groups" if column.role is Role.QUASI_IDENTIFYING else (
            "They are released with the numbers and count in every mean"
        )  # fmt: skip
        yield Finding(
            f"codes: {column.name}",
            Severity.LOOK,
            signs,
            f"{rows:,} values of “{column.name}” are {signs}: codes, by their looks, and not numbers.",
            f"{detail}. The others lie between {between(own[~np.isin(own, marks)])}.",
            (column.name,),
            (Repair("Treat as missing", missing=texts),),
        )


def sentinels(values: NDArray[np.float64], counts: NDArray[np.int64]) -> list[float]:
    """Return which of the different values of a column, ascending, are codes: repeated whole numbers of
    :data:`CODES`, negative where all others are not, or far beyond all others.

    ``counts``: how many records have each.
    """
    likely = (counts >= FEWEST) & np.isin(np.abs(values), CODES)
    negative = values[likely & (values < 0)]
    below = values[values < 0]
    marks = list(negative) if len(negative) == len(below) <= FEWEST and len(below) < len(values) else []
    rest = values[~np.isin(values, marks)]
    high = values[likely & (values >= 77)]
    while len(high) and len(rest) > 1 and rest[-1] == high[-1]:
        others = rest[:-1][~np.isin(rest[:-1], high)]
        if len(others) < 2 or high[-1] - others[-1] < GAP * (others[-1] - others[0]):
            break
        marks.append(high[-1])
        rest, high = rest[:-1], high[:-1]
    return sorted(float(mark) for mark in marks)


def ends(column: Column, holders: NDArray[np.int64], own: NDArray[np.float64]) -> Iterable[Finding]:
    """Yield that the lowest or highest value of a column is one person's, far from all others. ``holders`` (d,): the
    persons who have each of ``own``, the distinct ones, ascending."""
    if len(own) < FEWEST:
        return
    width = own[-1] - own[0]
    sides = [
        name
        for name, at, gap in (("lowest", 0, own[1] - own[0]), ("highest", -1, own[-1] - own[-2]))
        if holders[at] == 1 and gap >= FAR * width
    ]
    if sides:
        boxed = column.role is Role.QUASI_IDENTIFYING
        share = max((own[1] - own[0]) * ("lowest" in sides), (own[-1] - own[-2]) * ("highest" in sides)) / width
        how = "stands at the end of a box" if boxed else "is released unchanged"
        yield Finding(
            f"ends of one person: {column.name}",
            Severity.LOOK,
            "1 person" if len(sides) == 1 else "2 ends",
            f"The {' and the '.join(sides)} “{column.name}” is one person's, and {how}.",
            f"The next value is {share:.0%} of the range away: somebody who knows that a person is far out finds them.",
            (column.name,),
            (Repair("Write round ends", settings=(("numbers", "public"),)),) if boxed else coarser(column),
        )


def with_unique(facts: Iterable[ColumnFacts], person: NDArray[np.integer[Any]] | None) -> set[str]:
    """Return the columns that may have a value that is one person's: of records, those with a value that one of them
    has; ``person``: where rows are not persons, all."""
    return {fact.name for fact in facts if person is not None or fact.unique}


def rare_levels(
    table: pd.DataFrame, schema: Schema, facts: Iterable[ColumnFacts], person: NDArray[np.integer[Any]] | None
) -> Iterable[Finding]:
    """Yield the columns of levels that are released unchanged and have levels that one person has; and those in boxes,
    where a box names its levels, as one finding. ``facts``, ``person``: as of :func:`of_numbers`."""
    alone_in = with_unique(facts, person)
    boxed: dict[str, int] = {}
    for column in leaving(schema, Kind.CATEGORICAL):
        if column.name not in alone_in:
            continue
        codes_, n_levels = texts_in(table[column.name])
        holders = holders_of(codes_, n_levels, person)
        alone, levels = int((holders == 1).sum()), int((holders > 0).sum())
        if not alone:
            continue
        if column.role is Role.QUASI_IDENTIFYING:
            boxed[column.name] = alone
            continue
        yield Finding(
            f"levels of one person: {column.name}",
            Severity.LOOK,
            plural_levels(alone),
            f"“{column.name}” is released unchanged, with levels that only one person has.",
            f"{alone:,} of its {levels:,} levels. Somebody who knows that a person has one finds the row.",
            (column.name,),
            (treat(column.name, "rare:10"), *coarser(column)),
        )
    if boxed:
        names = tuple(boxed)
        yield Finding(
            f"levels of one person: {', '.join(names)}",
            Severity.LOOK,
            plural_levels(sum(boxed.values())),
            "Boxes can name levels that only one person has.",
            "Who is known to have one of them is known to be in that group: "
            + ", ".join(f"{alone:,} of “{name}”" for name, alone in boxed.items())
            + ".",
            names,
            (Repair("Write public groups", settings=(("writing", "groups"),)),),
        )


def coarser(column: Column) -> tuple[Repair, ...]:
    """Return what can be done about a column that is released unchanged; a sensitive one is there to be studied."""
    return () if column.role is Role.SENSITIVE else (generalize(column.name), leave_out(column.name))


def plural_levels(number: int) -> str:
    """Return a number of levels, in words."""
    return "1 level" if number == 1 else f"{number:,} levels"


def leaving(schema: Schema, *kinds: Kind) -> list[Column]:
    """Return the columns of some kinds that leave, unchanged or in boxes."""
    return [schema[name] for name in schema.released if schema[name].kind in kinds]


def texts_in(values: "pd.Series[Any]") -> tuple[NDArray[np.integer[Any]], int]:
    """Return a number for the text of each value (n,), -1 for missing, and what they are below."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        number, texts = pd.factorize(np.array([*map(str, values.cat.categories)], dtype=object))
        return np.append(number, -1)[values.array.codes], len(texts)
    codes_, texts = pd.factorize(values.astype(str).where(values.notna()))
    return codes_, len(texts)


def holders_of(
    codes_: NDArray[np.integer[Any]], n_codes: int, person: NDArray[np.integer[Any]] | None
) -> NDArray[np.int64]:
    """Return how many persons have each value (d,), of those from 0 on and below ``n_codes``; a record of nobody's is a
    person of its own."""
    if person is None:
        return count_codes(codes_, n_codes)
    pairs = pd.DataFrame({"value": codes_, "person": person})
    once = pairs[(pairs["person"] < 0) | ~pairs.duplicated()]
    return count_codes(once["value"].to_numpy(), n_codes)


def between(values: NDArray[np.float64]) -> str:
    """Return the ends of some numbers, in words."""
    return f"{value_text(values[0])} and {value_text(values[-1])}".replace("-", "−")
