"""What released columns look like: names, addresses, numbers of people, and persons who are counted as several."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from anonymizer.gate.finding import Finding, Repair, Severity, leave_out
from anonymizer.gate.texts import holding
from anonymizer.reading.facts import ColumnFacts, Distinct
from anonymizer.reading.patterns import PATTERNS, is_person_name, meanings_of
from anonymizer.reading.profile import person_columns
from anonymizer.schema import LEFT_OUT, POINTING, Kind, Role, Schema

HALF = 0.5
"""Share of different values that must look like names where nothing else speaks for them."""
DIFFERENT = 0.3
"""Share of different values from which on names are those of people rather than of things."""
MOST_VALUES = 20_000
"""Different values of a column that are looked at, the first ones."""

WHO_SAYS = {Role.SENSITIVE: "sensitive", Role.INSENSITIVE: "insensitive", Role.QUASI_IDENTIFYING: "quasi-identifying"}


def looks(
    table: pd.DataFrame,
    schema: Schema,
    suggested: Schema,
    facts: tuple[ColumnFacts, ...],
    distinct: Mapping[str, Distinct],
) -> Iterable[Finding]:
    """Yield the columns that are released although they look identifying, and those that hold what reaches a person.

    ``suggested``, ``facts``: the schema that is suggested for the table, and what each of its columns holds;
    ``distinct``: its different values. Numbers in boxes are numbers of nobody: a quasi-identifying column is looked at
    when it has levels.
    """
    for fact in facts:
        column = schema[fact.name]
        if column.role in LEFT_OUT or (column.role is Role.QUASI_IDENTIFYING and column.kind is not Kind.CATEGORICAL):
            continue
        own = suggested[fact.name]
        texts: Sequence[str] = []
        if fact.kind is Kind.CATEGORICAL:
            all_there = len(fact.looked_at) == fact.distinct
            texts = fact.looked_at if all_there else texts_of(table[fact.name])
        names = fact.distinct_share > DIFFERENT and sum(map(is_person_name, texts)) >= HALF * max(1, len(texts))
        if own.role in LEFT_OUT or names:
            yield identifying(fact, column.role, own.reason if own.role in LEFT_OUT else "", names)
        elif fact.kind is Kind.CATEGORICAL:
            yield from holding(table[fact.name], fact.name, distinct[fact.name])


def identifying(fact: ColumnFacts, role: Role, reason: str, names: bool) -> Finding:
    """Return the finding of one column that looks identifying. ``role``: its own; ``reason``: why it was suggested to
    be identifying, "" when it was not; ``names``: its values look like names of people."""
    headers = [meaning.what for meaning in meanings_of(fact.name) if meaning.role is Role.IDENTIFYING]
    if fact.pattern in PATTERNS:
        unit, look = fact.pattern, f"its values look like {fact.pattern}"
    elif names:
        unit, look = "names", "its values look like names of people"
    elif headers:
        unit, look = "values", f"its name suggests {headers[0]}"
    elif reason.startswith("Free text"):
        unit, look = "texts", "it is free text, which can name people and tell anything of them"
    else:
        unit, look = "values", "it tells people apart as a name does"
    how = "is released in its boxes" if role is Role.QUASI_IDENTIFYING else "is released unchanged"
    says = f"It was suggested as identifying and is {WHO_SAYS[role]}." if reason else f"It is {WHO_SAYS[role]}."
    return Finding(
        f"identifying: {fact.name}",
        Severity.STOPS,
        f"{fact.distinct:,} {unit}",
        f"“{fact.name}” {how}, and {look}.",
        f"{says} {fact.distinct:,} different values in {fact.records:,} rows.",
        (fact.name,),
        (leave_out(fact.name),),
    )


def texts_of(values: "pd.Series[Any]") -> list[str]:
    """Return the different values of a column as text, at most :data:`MOST_VALUES`."""
    if values.dtype != object:  # there 1 and True are equal, and their texts are not
        values = values.drop_duplicates()
    return [str(value) for value in values.dropna().astype(str).unique()[:MOST_VALUES]]


def persons(schema: Schema, facts: tuple[ColumnFacts, ...]) -> Iterable[Finding]:
    """Yield whether persons are counted, or rows although persons have several."""
    if schema.person is not None:
        fact = next(fact for fact in facts if fact.name == schema.person)
        yield Finding(
            "persons",
            Severity.FINE,
            f"{fact.distinct:,} persons",
            "Counted by person, not by row.",
            f"{fact.present:,} rows of {fact.distinct:,} persons, by “{fact.name}”.",
            (fact.name,),
        )
        return
    if not any(column.role in POINTING for column in schema.columns):
        return
    names = person_columns(schema, facts)
    if not names:
        yield Finding(
            "persons",
            Severity.FINE,
            f"{max(fact.records for fact in facts):,} rows",
            "Every row is counted as a person.",
            "No identifying column that numbers people repeats.",
        )
        return
    fact = next(fact for fact in facts if fact.name == names[0])
    yield Finding(
        f"persons: {fact.name}",
        Severity.STOPS,
        f"{fact.distinct:,} persons",
        f"Rows are counted, not persons: “{fact.name}” repeats.",
        f"{fact.present:,} rows of {fact.distinct:,} persons: a group of k rows can be one person's.",
        (fact.name,),
        (Repair("Count persons", roles=((fact.name, Role.PERSON),)),),
    )
