"""Who could know which columns: the columns of a table in a few groups, each to be judged in one act.

A group is a block of alike columns, or what one circle of people could know of somebody: neighbours, an employer, a
register. Groups follow from names, kinds and suggested roles alone, so they stay when roles are changed.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.patterns import header_words, meanings_of
from anonymizer.schema import LEFT_OUT, Column, Kind, Role, Schema

FEWEST_ALIKE = 4
"""Columns that make a block when their names begin alike."""
FEWEST_SAME_LEVELS = 6
"""Columns that make a block when only their levels are the same."""

WORDS: dict[tuple[Role, str], tuple[str, str]] = {
    (Role.IDENTIFYING, ""): ("Identify a person", "Names, addresses, numbers of people."),
    (Role.PERSON, ""): ("Person", "Rows with one value belong together."),
    (Role.WEIGHT, ""): ("How many people a row stands for", "Estimates of the population use it."),
    (Role.HOUSEHOLD, ""): ("Who lives together", "Equal values live together."),
    (Role.STRATUM, ""): ("The part of the population a row was drawn from", "Rates of drawing differ by it."),
    (Role.QUASI_IDENTIFYING, "near"): (
        "Others may know", "Seen or told every day.",
    ),
    (Role.QUASI_IDENTIFYING, "work"): (
        "An employer may know", "In staff files and profiles.",
    ),
    (Role.QUASI_IDENTIFYING, "registers"): (
        "A register or a search may tell", "Looked up by name.",
    ),
    (Role.QUASI_IDENTIFYING, ""): (
        "Not sure who knows these", "Nothing says who could know them.",
    ),
    (Role.SENSITIVE, "registers"): ("On record with the police or a court", "Stops, charges and sentences."),
    (Role.SENSITIVE, "outcome"): ("The outcome under study", "What happened to a person."),
    (Role.SENSITIVE, ""): ("Told in confidence", "Findings, results and private facts."),
    (Role.INSENSITIVE, ""): ("Not about a person", "The same in every row, or about the sample."),
}  # fmt: skip
"""Title and text of the group of a suggested role and a circle; "" for any other circle."""


@dataclass(frozen=True)
class Circle:
    """Some columns in the table's order, and who could know them: a ``title``, a ``text``; ``key`` names the group.
    ``is_block``: its columns are alike."""

    key: str
    title: str
    text: str
    names: tuple[str, ...]
    is_block: bool = False


def circles_of(suggested: Schema, facts: Sequence[ColumnFacts]) -> tuple[Circle, ...]:
    """Return the groups: every column is in exactly one. ``suggested``: the schema with suggested roles; ``facts`` of
    the same columns."""
    pairs = list(zip(suggested.columns, facts, strict=True))
    blocks, others = blocks_of(pairs)
    groups: dict[tuple[Role, str], list[str]] = defaultdict(list)
    for column, _ in others:
        groups[column.role, circle_of(column)].append(column.name)
    circles = [
        Circle(f"{role.value} {circle}".strip(), *WORDS[role, circle], tuple(groups[role, circle]))
        for role, circle in WORDS
        if groups[role, circle]
    ]
    place = sum(circle.key.startswith(("person", "identifying", "quasi")) for circle in circles)
    return (*circles[:place], *blocks, *circles[place:])


def circle_of(column: Column) -> str:
    """Return which circle of :data:`WORDS` could know a column in its suggested role."""
    circle = next((m.circle for m in meanings_of(column.name) if m.role is column.role), "")
    if column.role is Role.QUASI_IDENTIFYING and not circle and column.kind is Kind.DATE:
        circle = "near"
    return circle if (column.role, circle) in WORDS else ""


Pair = tuple[Column, ColumnFacts]


def blocks_of(pairs: Sequence[Pair]) -> tuple[list[Circle], list[Pair]]:
    """Return the blocks of alike columns, and the columns that are in none."""
    blocks: list[Circle] = []
    rest = [pair for pair in pairs if pair[0].role not in LEFT_OUT]
    for key, fewest in ((by_stem, FEWEST_ALIKE), (by_levels, FEWEST_SAME_LEVELS)):
        alike: dict[Hashable, list[Pair]] = defaultdict(list)
        for pair in rest:
            alike[key(*pair)].append(pair)
        for group, members in alike.items():
            if group is not None and len(members) >= fewest:
                blocks.append(block(members))
                rest = [pair for pair in rest if pair not in members]
    left = {column.name for column, _ in rest}
    return blocks, [p for p in pairs if p[0].name in left or p[0].role in LEFT_OUT]


def by_stem(column: Column, fact: ColumnFacts) -> Hashable:
    """Return what alike columns share: a name but for its number, role, kind and, of categories, how many levels."""
    stem = "_".join(word for word in header_words(column.name) if not word.isdigit())
    if not re.search(r"\d", column.name) or not stem:
        return None
    return (stem, column.role, column.kind, fact.distinct if column.kind is Kind.CATEGORICAL else 0)


def by_levels(column: Column, fact: ColumnFacts) -> Hashable:
    """Return the same levels, role and kind; ``None`` where levels are too many to be the same on purpose."""
    if column.kind is not Kind.CATEGORICAL or not 2 <= fact.distinct <= 5 or not fact.top:
        return None
    return (frozenset(text for text, _ in fact.top), column.role)


def block(members: Sequence[Pair]) -> Circle:
    """Return one block of alike columns."""
    (first, fact), names = members[0], tuple(column.name for column, _ in members)
    stem = shared(names)
    levels = " / ".join(text for text, _ in fact.top[:3]) + (" …" if len(fact.top) > 3 else "")
    what = {Kind.NUMERIC: "Numbers", Kind.DATE: "Dates"}.get(first.kind, levels or f"{fact.distinct:,} codes")
    title = f"{stem} · {len(names):,} alike columns" if stem else f"{len(names):,} columns with the same answers"
    return Circle(f"block {names[0]}", title, f"{what}.", names, True)


def shared(names: Sequence[str]) -> str:
    """Return how all names begin, in whole words and without their numbers; "" when they do not."""
    words = [re.split(r"[\W_]+|(?<=\D)(?=\d)", name) for name in names]
    same = []
    for parts in zip(*words, strict=False):
        if len(set(parts)) > 1 or parts[0].isdigit():
            break
        same.append(parts[0])
    return " ".join(part for part in same if part)


def alike(values: Iterable[Role]) -> Role | None:
    """Return the one role of some columns; ``None`` when they have several."""
    roles = set(values)
    return roles.pop() if len(roles) == 1 else None
