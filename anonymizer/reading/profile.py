"""What each column holds, and which role and kind it probably has, with a reason in words.

A suggestion is a starting point for the steward. Where nothing speaks for a harmless or a private column it errs on the
safe side: what somebody could know of a person is quasi-identifying.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.errors import SchemaError
from anonymizer.labelled.variable import Variable
from anonymizer.reading.facts import ColumnFacts, profile
from anonymizer.reading.patterns import (
    CODE_WORDS,
    COUNT_WORDS,
    ENOUGH,
    HOUSEHOLD_WORDS,
    ID_WORDS,
    MEASURE_WORDS,
    OUTCOME,
    POSTCODE_WORDS,
    SCALE_WORDS,
    SURVEY_WEIGHT,
    THING_WORDS,
    Meaning,
    header_phrases,
    is_person_name,
    meanings_of,
    natural_order,
    numbers_rows,
    speaks_of_persons,
)
from anonymizer.schema import LEFT_OUT, ONCE, POINTING, REASONS, Column, Kind, Role, Schema
from anonymizer.values import value_text

FEW = 20
"""Up to so many different whole numbers can be codes."""

MOST_ORDERED = 60
"""Levels of a column at most that are put in a natural order."""

SCALE = 9
"""Whole numbers without a gap, up to so many, are codes or a scale; more of them are counts or measures."""


def suggest(
    table: pd.DataFrame | Mapping[str, Any],
    variables: Mapping[str, Variable] | None = None,
    facts: tuple[ColumnFacts, ...] | None = None,
) -> Schema:
    """Return a schema with a suggested role, kind, order and reason for every column, and a suggested target.

    ``table``: a table, or a column of values by name; with its ``facts``, the distinct values of each column will do,
    in which a missing one stands for all.
    ``variables``: what the file says of its columns: levels and their order are those of its codes. ``facts``: what
    :func:`profile` says of the table, where it is known.

    The target is the sensitive column that most looks like the outcome under study: named so, with few levels,
    or last in the table. Raises :class:`SchemaError` like :func:`profile`.

    >>> import anonymizer as an
    >>> an.suggest(an.SAMPLES["hospital"].load())["age"]
    Column 'age': quasi-identifying, numeric
    """
    facts = facts or profile(pd.DataFrame(table))
    labels = {name: variable.label for name, variable in (variables or {}).items()}
    columns = tuple(_suggestion(fact, table[fact.name], labels.get(fact.name, "")) for fact in facts)
    columns = _with_private_rest(_with_same_answers(columns, facts, labels), facts, labels, table)
    columns = _with_weight(_with_person(columns, facts), table)
    if variables:
        roles = {c.name: Role.IDENTIFYING if c.role in ONCE else c.role for c in columns}
        of = {name: variable.of for name, variable in variables.items()}
        columns = tuple(replace(c, role=roles.get(of.get(c.name, ""), c.role)) for c in columns)
        columns = tuple(with_variable(column, variables.get(column.name)) for column in columns)
    sensitive = [position for position, column in enumerate(columns) if column.role is Role.SENSITIVE]

    def fitness(position: int) -> tuple[int, int]:
        column, fact = columns[position], facts[position]
        few = column.kind is Kind.CATEGORICAL and 2 <= fact.distinct <= 50
        named = OUTCOME in meanings_of(column.name)
        return (2 * few + 2 * named + (position == len(columns) - 1), -position)

    target = columns[max(sensitive, key=fitness)].name if sensitive else None
    return Schema(columns, target)


def with_variable(column: Column, variable: Variable | None) -> Column:
    """Return a column with what its file says of it; its levels are the file's, in the order of their codes.

    They are ordered where the file says so, or says nothing and their names have an order. Of a column that never
    leaves they are no domain, which reports would name.
    """
    if variable is None or variable == Variable():
        return column
    if column.kind is not Kind.CATEGORICAL or not variable.levels or column.role in LEFT_OUT:
        return replace(column, variable=variable)
    ordered = variable.measure == "ordinal" or (not variable.measure and column.ordered)
    return replace(column, variable=variable, domain=variable.domain, ordered=ordered, suggested=True)


REPEATED = 0.9
"""A column of which so large a share of the values are different, or a smaller one, repeats."""


def person_columns(schema: Schema, facts: Sequence[ColumnFacts]) -> tuple[str, ...]:
    """Return the columns that can tell whose a row is: identifying ones whose values repeat and whose header speaks of
    numbers, accounts or addresses of people, not of names; those whose header numbers persons first. ``facts``: of all
    columns, or of some."""
    likely = [
        fact.name
        for fact in facts
        if schema[fact.name].role in POINTING and 1 < fact.distinct <= REPEATED * fact.present
        if speaks_of_one(fact.name)
    ]
    return tuple(sorted(likely, key=lambda name: not _numbers_people(name)))


LARGEST_HOUSEHOLD = 12
"""Rows that stand together in a household, on average at most."""


def household_columns(
    rows: pd.DataFrame | None, facts: Sequence[ColumnFacts], variables: Mapping[str, Variable]
) -> tuple[str, ...]:
    """Return the columns that can number households: called so first, then labelled so, then those whose equal values
    stand one below the other, each in one run of rows. None of them is a weight, or speaks of anything else.

    ``rows``: of the table in their order, ``None`` where that is not at hand. ``variables``: as for :func:`suggest`.
    """
    places: list[tuple[int, str]] = []
    for fact in facts:
        label = variables[fact.name].label if fact.name in variables else ""
        weighs = SURVEY_WEIGHT in meanings_of(fact.name) or SURVEY_WEIGHT in meanings_of(label)
        if weighs or not 1 < fact.distinct < fact.present or fact.records > LARGEST_HOUSEHOLD * fact.distinct:
            continue
        called = [bool(header_phrases(text) & HOUSEHOLD_WORDS) for text in (fact.name, label)]
        silent = fact.distinct >= ENOUGH_HOUSEHOLDS and not _meanings(fact.name, label)
        if any(called):
            places.append((called.index(True), fact.name))
        elif silent and rows is not None and _in_runs(rows[fact.name], fact):
            places.append((2, fact.name))
    return tuple(name for _, name in sorted(places, key=lambda entry: entry[0]))


ENOUGH_HOUSEHOLDS = 20
"""Different values of a column that nothing but its runs speaks for."""


def _in_runs(values: "pd.Series[Any]", fact: ColumnFacts) -> bool:
    """Return True when equal values stand together, and some do: codes or whole numbers, every row with one."""
    if fact.missing or fact.kind is Kind.DATE or (fact.kind is Kind.NUMERIC and not _whole(values)):
        return False
    codes = pd.factorize(values)[0]
    return int(np.count_nonzero(np.diff(codes))) + 1 == fact.distinct


def speaks_of_one(name: str) -> bool:
    """Return True when a header says that equal values are one person's: numbers, accounts or addresses of people."""
    return _numbers_people(name) or _is_address(name)


def _numbers_people(name: str) -> bool:
    """Return True when a header says that equal values are one person's: ``patient_id``, ``ssn``."""
    if any(meaning.what == "an official number" for meaning in meanings_of(name)):
        return True
    return numbers_rows(name) and (speaks_of_persons(name) or bool(header_phrases(name) & ID_WORDS))


def _is_address(name: str) -> bool:
    """Return True when a header speaks of what reaches one person: e-mail addresses, telephone numbers, accounts."""
    reaches = {"an e-mail address", "a telephone number", "an account or device"}
    return any(meaning.what in reaches for meaning in meanings_of(name))


def _with_person(columns: tuple[Column, ...], facts: Sequence[ColumnFacts]) -> tuple[Column, ...]:
    """Return the suggested columns; where a header numbers persons and its values repeat, it tells whose a row is."""
    names = [name for name in person_columns(Schema(columns), facts) if _numbers_people(name)]
    if not names:
        return columns
    fact = next(fact for fact in facts if fact.name == names[0])
    reason = f"{fact.present:,} rows of {fact.distinct:,} persons: its values repeat."
    return tuple(replace(c, role=Role.PERSON, reason=reason) if c.name == fact.name else c for c in columns)


MOST_ANSWERS = 20
"""Levels of a question at most; columns with more that agree in them are lists of codes."""


def _with_same_answers(
    columns: tuple[Column, ...], facts: Sequence[ColumnFacts], labels: Mapping[str, str]
) -> tuple[Column, ...]:
    """Return the suggested columns, in which those with the same answers are sensitive together: three at least, of
    which one is a private matter by its name or label (two where there are two answers), none is something else, and
    others whose levels are among these. ``labels``: of columns that have one."""
    levels = {
        fact.name: frozenset(fact.looked_at)
        for column, fact in zip(columns, facts, strict=True)
        if 2 <= fact.distinct <= MOST_ANSWERS and len(fact.looked_at) == fact.distinct and column.role not in LEFT_OUT
    }
    roles = {name: _named_role(name, labels.get(name, "")) for name in levels}
    reasons: dict[str, str] = {}
    for answers in set(levels.values()):
        alike = [name for name in levels if levels[name] <= answers]
        private = [name for name in alike if roles[name] is Role.SENSITIVE]
        agree = all(roles[name] in (None, Role.SENSITIVE) for name in alike)
        enough = 2 if len(answers) == 2 else 1
        if len(private) >= enough and agree and sum(levels[name] == answers for name in alike) >= 3:
            reasons |= dict.fromkeys(alike, f"Has the same answers as {private[0]}: a private matter.")
    return tuple(
        replace(column, role=Role.SENSITIVE, reason=reasons[column.name])
        if column.name in reasons and roles[column.name] is None
        else column
        for column in columns
    )


ENOUGH_PRIVATE = 5
"""Columns at least that must be private matters by their names before those of two answers are held to be so, too."""


def _with_private_rest(
    columns: tuple[Column, ...],
    facts: Sequence[ColumnFacts],
    labels: Mapping[str, str],
    table: "pd.DataFrame | Mapping[str, pd.Series[Any]]",
) -> tuple[Column, ...]:
    """Return the suggested columns; of those that do not say what they are about, amounts beside money are sensitive,
    and so are those of two answers where most that say it are private matters. ``labels``: of columns that have one."""
    meanings = {c.name: _meanings(c.name, labels.get(c.name, "")) for c in columns if c.role not in LEFT_OUT}
    first = [of[0] for of in meanings.values() if of]
    private, near = (sum(of.role is role for of in first) for role in (Role.SENSITIVE, Role.QUASI_IDENTIFYING))
    money = any(of.what == "money" for of in first)

    def reason(column: Column, fact: ColumnFacts) -> str:
        if column.role is not Role.QUASI_IDENTIFYING or column.kind is Kind.DATE or meanings[column.name]:
            return ""
        if fact.distinct == 2 and private >= ENOUGH_PRIVATE and private > near:
            return f"Two answers, beside {private:,} columns that are private matters by their names."
        if money and column.kind is Kind.NUMERIC and _amounts(fact, table[fact.name]):
            return "Its numbers look like amounts, and other columns speak of money: a private matter."
        return ""

    reasons = [reason(column, fact) for column, fact in zip(columns, facts, strict=True)]
    pairs = zip(columns, reasons, strict=True)
    return tuple(replace(c, role=Role.SENSITIVE, reason=why) if why else c for c, why in pairs)


TAIL = 3
"""The largest of amounts is more than so many times the middle one of their different values."""


def _amounts(fact: ColumnFacts, values: "pd.Series[Any]") -> bool:
    """Return whether many different numbers, none below 0, have a heavy upper tail, as sums of money have; ages, years,
    numbers of things and coordinates have none."""
    if fact.distinct <= FEW:
        return False
    numbers = np.unique(values.dropna().to_numpy(np.float64))
    return bool(numbers[0] >= 0 and numbers[-1] > TAIL * np.median(numbers))


def _named_role(name: str, label: str) -> Role | None:
    """Return the role that a column's name, or else its label, speaks of; ``None`` where neither says anything."""
    meanings = _meanings(name, label)
    return meanings[0].role if meanings else None


def _meanings(name: str, label: str) -> list[Meaning]:
    """Return what a column is about: by its name, or where that says nothing, by its label."""
    return meanings_of(name) or meanings_of(label)


def _with_weight(
    columns: tuple[Column, ...], table: "pd.DataFrame | Mapping[str, pd.Series[Any]]"
) -> tuple[Column, ...]:
    """Return the suggested columns; the first whose header says so, and whose values are all numbers above 0, tells of
    how many people each row stands for."""
    for column in columns:
        if column.role not in LEFT_OUT and SURVEY_WEIGHT in meanings_of(column.name):
            values = table[column.name]
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
            if values.dtype != bool and bool(((numbers > 0) & (numbers < np.inf)).all()):
                reason = "A survey weight: of how many people a row stands for. It never leaves."
                return tuple(replace(c, role=Role.WEIGHT, reason=reason) if c is column else c for c in columns)
    return columns


def suggest_again(
    schema: Schema,
    suggested: Schema,
    table: pd.DataFrame | Mapping[str, Any],
    variables: Mapping[str, Variable] | None = None,
    facts: tuple[ColumnFacts, ...] | None = None,
) -> Schema:
    """Return the schema for the same columns, read in another way: what was chosen otherwise than ``suggested`` stays,
    the rest is suggested anew.

    All three speak of the same columns in the same order. Raises :class:`SchemaError` like :func:`profile`.
    """
    fresh = suggest(table, variables, facts)
    columns = []
    for current, before, new in zip(schema.columns, suggested.columns, fresh.columns, strict=True):
        own = [name for name in ("role", "kind", *REASONS) if getattr(current, name) != getattr(before, name)]
        changes: dict[str, Any] = {name: getattr(current, name) for name in own}
        again = replace(new, **changes)
        if again.kind is not new.kind:
            again = replace(again, domain=None, ordered=False)
        if again.kind is current.kind and (current.domain, current.ordered) != (before.domain, before.ordered):
            again = replace(again, domain=current.domain, ordered=current.ordered, suggested=current.suggested)
        columns.append(replace(again, cuts=current.cuts, treat=current.treat) if again.kind is current.kind else again)
    sensitive = [column.name for column in columns if column.role is Role.SENSITIVE]
    target = schema.target if schema.target != suggested.target else fresh.target
    return Schema(tuple(columns), target if target in sensitive else None)


def with_suggested_reasons(schema: Schema, suggested: Schema) -> Schema:
    """Return the schema in which columns in the role that was suggested have the reason of that, and others none."""
    reasons = {(c.name, c.role): c.reason for c in suggested.columns}
    columns = tuple(replace(c, reason=reasons.get((c.name, c.role), "")) for c in schema.columns)
    return Schema(columns, schema.target)


def with_natural_orders(schema: Schema, table: "pd.DataFrame | Mapping[str, pd.Series[Any]]") -> Schema:
    """Return the schema in which categorical columns without a domain have their levels in their natural order, where
    it is beyond doubt. ``table``: the whole of it, for a level that it lacks will not be in the domain."""
    return Schema(tuple(_in_order(column, table) for column in schema.columns), schema.target)


def _in_order(column: Column, table: "pd.DataFrame | Mapping[str, pd.Series[Any]]") -> Column:
    if column.kind is not Kind.CATEGORICAL or column.domain or column.ordered or column.treat:
        return column
    if column.role not in (Role.QUASI_IDENTIFYING, Role.SENSITIVE) or column.name not in table:
        return column
    values = table[column.name]
    if not 3 <= values.nunique() <= MOST_ORDERED:
        return column
    order = natural_order(sorted({value_text(value) for value in values.dropna().unique()}))
    return column if order is None else replace(column, domain=order, ordered=True, suggested=True)


def columns_without_role(table: pd.DataFrame, schema: Schema, keep: Sequence[str]) -> dict[str, str]:
    """Return which insensitive columns look as if they told people apart, and why, a half-sentence each, but for those
    that somebody gave this role: in their own words, or among ``keep``.

    Raises :class:`SchemaError` for a column of ``keep`` that has another role.
    """
    for name in keep:
        if name not in schema.insensitive:
            raise SchemaError(
                f"Column {name!r} cannot be kept as it is: it has another role, or is not in the table.",
                column=name,
                remedy="Name it once.",
            )
    suggested = suggest(table)
    silent = [suggested[name] for name in schema.insensitive if name not in keep and not schema[name].own_reason]
    harmless = (Role.INSENSITIVE, Role.SENSITIVE)
    return {one.name: f"{one.name!r} looks {one.role} ({one.reason})" for one in silent if one.role not in harmless}


def _suggestion(fact: ColumnFacts, values: "pd.Series[Any]", label: str = "") -> Column:
    meanings = _meanings(fact.name, label)
    kind = _kind(fact, values, meanings)
    order, ordered = None, False
    if kind is Kind.CATEGORICAL and 3 <= fact.distinct <= MOST_ORDERED:
        if fact.kind is Kind.CATEGORICAL:
            order = natural_order(sorted(fact.looked_at))
            ordered = order is not None
        else:  # levels that are numbers are sorted as numbers
            ordered = bool(header_phrases(fact.name) & SCALE_WORDS) and _no_gap(fact)
    role, reason = _role(fact, kind, meanings, values)
    return Column(fact.name, role, kind, domain=order, ordered=ordered, reason=reason, suggested=order is not None)


def _kind(fact: ColumnFacts, values: "pd.Series[Any]", meanings: Sequence[Meaning]) -> Kind:
    """Return the kind of the values; whole numbers that only stand for something else are categorical: those whose
    header says so, and few ones that neither count nor measure anything."""
    if fact.kind is not Kind.NUMERIC or not _whole(values):
        return fact.kind
    words = header_phrases(fact.name)
    if words & POSTCODE_WORDS:
        return Kind.CATEGORICAL
    if words & MEASURE_WORDS and not (words & CODE_WORDS and not words & COUNT_WORDS):
        return Kind.NUMERIC
    if fact.distinct <= 2 and _codes_of_two(fact):
        return Kind.CATEGORICAL
    nominal = any(meaning.nominal for meaning in meanings[:1])
    if (nominal and fact.distinct <= FEW) or (words & CODE_WORDS and fact.distinct <= 5 * FEW):
        return Kind.CATEGORICAL
    measured = any(meaning.what in MEASURED for meaning in meanings[:1])
    repeats = fact.distinct <= fact.present / MOST_PER_LEVEL
    if not measured and repeats and fact.distinct <= (SCALE if _no_gap(fact) else FEW):
        return Kind.CATEGORICAL
    return Kind.NUMERIC


MEASURED = ("age", "a birth date", "money", "a survey weight", "a place on the map", "bodily features")
"""What whole numbers measure, however few they are."""

MOST_PER_LEVEL = 8
"""Whole numbers of a small table are codes only if each stands in so many records, on average."""


def _no_gap(fact: ColumnFacts) -> bool:
    """Return whether whole numbers fill the range between their ends."""
    return int(float(fact.high or 0)) - int(float(fact.low or 0)) + 1 == fact.distinct


def _whole(values: "pd.Series[Any]") -> bool:
    if values.dtype.kind in "iu":
        return True
    numbers = values.dropna().to_numpy(dtype=np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())


def _codes_of_two(fact: ColumnFacts) -> bool:
    return (fact.low, fact.high) in {("0", "1"), ("1", "2"), ("0", "0"), ("1", "1"), ("2", "2")}


def _role(fact: ColumnFacts, kind: Kind, meanings: Sequence[Meaning], values: "pd.Series[Any]") -> tuple[Role, str]:
    """Return the role of a column and why."""
    if not fact.present:
        return Role.INSENSITIVE, "It has no value at all."
    if fact.distinct == 1 and not fact.missing and fact.records > 1:
        return Role.INSENSITIVE, "The same value in every row tells nobody apart."
    identifying = _identifying(fact, meanings, values)
    if identifying:
        return Role.IDENTIFYING, identifying
    if kind is Kind.DATE or fact.pattern == "mostly dates":
        return Role.QUASI_IDENTIFYING, "Who knows a date of a person can find the row."
    for meaning in meanings:
        if meaning.role is Role.IDENTIFYING:
            continue
        if meaning is SURVEY_WEIGHT:
            return _weight(fact)
        if meaning is OUTCOME:
            return Role.SENSITIVE, "Its name says that it is the outcome under study."
        if meaning.role is Role.SENSITIVE:
            return Role.SENSITIVE, f"Speaks of {meaning.what}: a private matter."
        who = "others can see them" if meaning.what == "bodily features" else "others may know it"
        return Role.QUASI_IDENTIFYING, f"Speaks of {meaning.what}: {who}."
    if fact.distinct <= FEW:
        return Role.QUASI_IDENTIFYING, f"{fact.distinct:,} values, as of a trait that others may know."
    return Role.QUASI_IDENTIFYING, f"Nothing shows that its {fact.distinct:,} values are harmless."


def _weight(fact: ColumnFacts) -> tuple[Role, str]:
    if fact.distinct <= 0.05 * fact.present:
        return Role.INSENSITIVE, "A survey weight tells of the sample, not of the person."
    return Role.QUASI_IDENTIFYING, (
        f"A survey weight, but its {fact.distinct:,} values can be looked up in the survey itself. "
        "Leave it out if nobody needs it."
    )


def _identifying(fact: ColumnFacts, meanings: Sequence[Meaning], values: "pd.Series[Any]") -> str:
    """Return why the column identifies people directly; empty when it does not."""
    if fact.pattern and not fact.pattern.startswith(("codes", "mostly")):
        return f"Its values look like {fact.pattern}."
    words = header_phrases(fact.name)
    many = fact.distinct_share > 0.5 or fact.distinct > 50
    for meaning in meanings:
        if meaning.role is not Role.IDENTIFYING:
            continue
        named = meaning.what == "a person's name"
        if named and (_of_a_thing(words) or words & COUNT_WORDS and fact.kind is Kind.NUMERIC):
            continue
        if many or (named and fact.distinct > FEW / 2 and fact.kind is Kind.CATEGORICAL):
            return f"Speaks of {meaning.what}, with {fact.distinct:,} different values."
    share = fact.distinct_share
    unique = "Every row has a value of its own" if share == 1 else f"{share:.0%} of its values are different"
    of_persons = speaks_of_persons(fact.name) and numbers_rows(fact.name) and not words & CODE_WORDS - ID_WORDS
    if (of_persons or (words & ID_WORDS and share > 0.2)) and fact.distinct > 10:
        return f"Its name says that it numbers people: {fact.distinct:,} values."
    if numbers_rows(fact.name) and share >= ENOUGH and not any(m.role is Role.SENSITIVE for m in meanings):
        return f"Its name says that it numbers people. {unique}."
    if fact.present >= 10 and share == 1 and fact.kind is Kind.NUMERIC and values.dtype.kind in "iu":
        span = int(values.max()) - int(values.min())
        if span == fact.present - 1 and fact.missing == 0 and not meanings:
            return "It numbers the rows one by one."
        if fact.present >= 100 and not meanings:
            return f"{unique}, so it is as good as a name."
    if fact.kind is not Kind.CATEGORICAL or fact.present < 20 or fact.pattern.startswith("mostly"):
        return ""
    texts = fact.looked_at
    if share > 0.3 and sum(map(is_person_name, texts)) >= ENOUGH * len(texts):
        return "Its values look like names of people."
    if share > 0.3 and sum(map(len, texts)) > 60 * len(texts):
        return "Free text can name people and tell anything of them."
    if share >= ENOUGH:
        return f"{unique}, so it is as good as a name."
    return ""


def _of_a_thing(words: frozenset[str]) -> bool:
    """Return whether a name is that of a thing, a place or a firm."""
    return bool(words & THING_WORDS)
