"""What a treated column has to be, worked out again from the original by rules of the checker's own."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import pandas as pd

from anonymizer.errors import AnonymizerError
from anonymizer.schema import Column, Kind, Schema
from anonymizer.treatments import OTHER, parts_of
from anonymizer.values import exact_numbers, value_text

EPOCH = datetime(1970, 1, 1)

Expect = Callable[[Any, float], Any]
"""Of a value and the number of a treatment, what has to be released."""


def _multiple(value: Any, step: float) -> float:
    unit = Decimal(repr(step))
    return float((Decimal(repr(value)) / unit + Decimal("0.5")).to_integral_value(ROUND_FLOOR) * unit)


def _first_signs(value: str, n: float) -> str:
    if sum(map(str.isalnum, value)) <= n:
        return value
    while sum(map(str.isalnum, value)) > n or not value[-1].isalnum():
        value = value[:-1]
    return value


HOLDS: dict[str, Expect] = {
    "hour": lambda value, n: value.replace(minute=0, second=0, microsecond=0),
    "day": lambda value, n: datetime(value.year, value.month, value.day),
    "month": lambda value, n: datetime(value.year, value.month, 1),
    "quarter": lambda value, n: datetime(value.year, {1: 1, 2: 4, 3: 7, 4: 10}[(value.month + 2) // 3], 1),
    "year": lambda value, n: datetime(value.year, 1, 1),
    "round": _multiple,
    "digits": _first_signs,
}
"""What each treatment makes of a value. That of rare values looks at all of them: :func:`rare_values`."""


def as_treated(original: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return the original with its treated columns as they have to be released; the same table where none is treated.

    A column whose treatment has no rule here is compared untreated, and so does not pass.
    """
    columns = [column for column in schema.columns if column.treat and column.name in original]
    if not columns:
        return original
    whose = None if schema.person is None else original.get(schema.person)
    return original.assign(**{column.name: expected(original[column.name], column, whose) for column in columns})


def expected(values: "pd.Series[Any]", column: Column, whose: "pd.Series[Any] | None" = None) -> "pd.Series[Any]":
    """Return what has to be released of each value (n,). ``whose`` (n,): the person of each, where rows are none."""
    name, n = parts_of(column.treat)
    plain = plain_values(values, column)
    if name == "rare":
        rare = rare_values(plain, range(len(plain)) if whose is None else whose.tolist(), n)
        return pd.Series([OTHER if value in rare else value for value in plain], index=values.index, dtype=object)
    if name == "level" and column.cuts.hierarchy is not None:
        words = {row[0]: row[int(n)] for row in column.cuts.hierarchy.rows} | {None: None}
        return pd.Series([words.get(value, value) for value in plain], index=values.index, dtype=object)
    if name not in HOLDS:
        return values
    made: dict[Any, Any] = {None: None}
    for value in {*plain} - {None}:
        made[value] = HOLDS[name](value, n)
    kind = "datetime64[us]" if column.kind is Kind.DATE else object if column.kind is Kind.CATEGORICAL else None
    return pd.Series([made[value] for value in plain], index=values.index, dtype=kind)


def plain_values(values: "pd.Series[Any]", column: Column) -> list[Any]:
    """Return values as texts, numbers or moments of Python, ``None`` for missing."""
    if column.kind is Kind.CATEGORICAL:
        return [None if absent else value_text(value) for value, absent in zip(values, values.isna(), strict=True)]
    numbers: list[Any] = list(exact_numbers(values, column))
    if column.kind is not Kind.DATE:
        return numbers
    return [None if micro is None else EPOCH + timedelta(microseconds=micro) for micro in numbers]


def rare_values(values: Sequence[Any], whose: Sequence[Any] | range, n: float) -> set[Any]:
    """Return the values that are merged: those of fewer than n persons, and the next ones until n have them."""
    persons: Mapping[Any, set[Any]] = defaultdict(set)
    for at, (value, who) in enumerate(zip(values, whose, strict=True)):
        if value is not None:
            persons[value].add((at, "nobody") if who is None or who != who else who)
    rare: set[Any] = set()
    for value, people in sorted(persons.items(), key=lambda pair: (len(pair[1]), pair[0])):
        if len(people) >= n and (not rare or sum(len(persons[one]) for one in rare) >= n):
            break
        rare.add(value)
    return rare


def wrong_forms(texts: Sequence[str | None], column: Column) -> dict[int, str]:
    """Return which released texts of a treated column are no values that its treatment gives, as far as a file alone
    tells: what is treated stays as it is when it is treated again."""
    if parts_of(column.treat)[0] not in HOLDS:
        return {}
    cells = pd.Series(list(texts), dtype=object)
    try:
        before, after = plain_values(cells, column), plain_values(expected(cells, column), column)
    except AnonymizerError:
        return {}
    return {at: f"it is not treated: {column.treat}" for at, value in enumerate(before) if value != after[at]}
