"""What columns that are released hold inside their texts: what reaches a person, and values of columns left out."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.gate.finding import Finding, Severity, leave_out
from anonymizer.reading.facts import ColumnFacts, Distinct
from anonymizer.reading.inside import inside
from anonymizer.reading.patterns import is_person_name
from anonymizer.schema import POINTING, Kind, Role, Schema
from anonymizer.values import plural, value_text

DIFFERENT = 0.3
"""Share of different values from which on a column that is left out tells people apart."""
FEWEST = 20
"""Different values from which on names are those of people."""
SHORTEST = 4
"""Letters of a word that means somebody, and digits of a number."""
LONGEST = 6
"""Signs of the shortest value that is looked for in all rows, and not in its own only."""
MOST_WORDS = 4
"""Words of the longest value that is looked for."""
WORD = re.compile(r"\w+")
CHANCE = 3
"""Rows that hold a word of their own person are more than so many times those that hold it of another row's."""


def holding(values: "pd.Series[Any]", name: str, distinct: Distinct) -> Iterable[Finding]:
    """Yield what reaches a person inside the texts of a column. ``distinct``: its different values, and how many rows
    have each."""
    for what, places in inside([str(value) for value in distinct[0]]).items():
        rows = int(distinct[1][places].sum())
        yield Finding(
            f"holds {what}: {name}",
            Severity.STOPS,
            plural(rows, "row"),
            f"“{name}” is released with {what} in it.",
            f"{rows:,} of {len(values):,} rows hold one: somebody who reads them can reach the person.",
            (name,),
            (leave_out(name),),
        )


def repeated(
    table: pd.DataFrame,
    schema: Schema,
    facts: Iterable[ColumnFacts],
    distinct: Mapping[str, Distinct],
    but: Collection[str] = (),
) -> Iterable[Finding]:
    """Yield the released columns in whose cells values of columns that are left out stand, such as the person's name.

    Whole values are looked for in all rows, single words of names in the row of their person. ``but``:
    not in these.
    """
    of = {fact.name: fact for fact in facts}
    left = [c for c in schema.columns if c.role in POINTING and c.name in of and of[c.name].distinct > 1]
    left = [c for c in left if c.role is Role.PERSON or tells_apart(of[c.name])]
    if not left:
        return
    people = [(column, Words.of([words_of(value) for value in distinct[column.name][0]])) for column in left]
    for name in schema.released:
        if of[name].kind is Kind.DATE or name in but:
            continue
        spelled = [words_of(value) for value in distinct[name][0]]
        for column, words in people:
            rows = rows_with(table, name, column.name, spelled, words, distinct)
            if rows:
                yield Finding(
                    f"repeats {column.name}: {name}",
                    Severity.STOPS,
                    plural(rows, "row"),
                    f"“{name}” is released, and repeats values of “{column.name}”, which is left out.",
                    f"{rows:,} of {len(table):,} rows hold one: somebody who reads them knows the person.",
                    (name, column.name),
                    (leave_out(name),),
                )


def tells_apart(fact: ColumnFacts) -> bool:
    """Return whether the values of a column are mostly different, or names of people."""
    names = sum(map(is_person_name, fact.looked_at)) >= DIFFERENT * len(fact.looked_at) and fact.distinct >= FEWEST
    return fact.distinct_share >= DIFFERENT or (names and len(fact.looked_at) > 0)


class Words(NamedTuple):
    """The words of a column that is left out.

    ``whole``: the values that mean one person, as one text each, ``sizes`` of so many words, of which ``heads`` are the
    first; ``single``: the values of one word; ``telling``: the long words; ``own``: those of each value.
    """

    whole: set[str]
    sizes: set[int]
    heads: set[str]
    single: set[str]
    telling: set[str]
    own: list[set[str]]

    @classmethod
    def of(cls, values: list[list[str]]) -> "Words":
        """Return the words of a column, whose different values have these."""
        means = [words for words in values if is_telling(words)]
        telling = {word for words in values for word in words if len(word) >= SHORTEST}
        return cls(
            {" ".join(words) for words in means}, {len(words) for words in means},
            {words[0] for words in means}, {words[0] for words in values if len(words) == 1}, telling,
            [telling.intersection(words) for words in values],
        )  # fmt: skip


def rows_with(
    table: pd.DataFrame, name: str, left: str, spelled: list[list[str]], people: Words, distinct: Mapping[str, Distinct]
) -> int:
    """Return how many rows hold a value of a column that is left out. ``spelled``: the words of each different value of
    the released column; ``people``: those of the column that is left out."""
    whole, sizes, heads, single, telling = people.whole, people.sizes, people.heads, people.single, people.telling
    holds = [not heads.isdisjoint(words) and not whole.isdisjoint(runs_of(words, sizes)) for words in spelled]
    place = places_of(table[name], distinct[name][0])
    rows = np.append(np.array(holds, np.bool_), False)[place]
    notes = [telling.intersection(words) if len(words) > 1 or single.issuperset(words) else set() for words in spelled]
    if any(notes):
        whose = places_of(table[left], distinct[left][0])
        mine, chance = (common_words(notes, place, people.own, who) for who in (whose, np.roll(whose, len(whose) // 2)))
        often, by_chance = (Counter(word for _, word in some) for some in (mine, chance))
        rows[[row for row, word in mine if often[word] > CHANCE * by_chance[word]]] = True
    return int(rows.sum())


def words_of(value: Any) -> list[str]:
    """Return the words of a value, and its numbers, in small letters."""
    return WORD.findall((value if isinstance(value, str) else value_text(value)).casefold())


def is_telling(words: list[str]) -> bool:
    """Return whether the words of a value mean one person wherever they stand: some words, or letters and digits."""
    text = "".join(words)
    mixed = len(words) > 1 or any(letter.isdigit() for letter in text)
    return len(text) >= LONGEST and len(words) <= MOST_WORDS and mixed and not text.isdigit()


def runs_of(words: list[str], sizes: set[int]) -> Iterable[str]:
    """Yield the runs of so many words, as one text each."""
    for size in sizes:
        for start in range(len(words) - size + 1):
            yield " ".join(words[start : start + size])


def places_of(values: "pd.Series[Any]", distinct: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each value (n,) among the different ones; -1 for missing."""
    index = pd.Index(distinct)
    plain = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    return np.asarray(index.get_indexer(pd.Index(plain)), np.int64)


def common_words(
    notes: list[set[str]], place: NDArray[np.int64], own: list[set[str]], whose: NDArray[np.int64]
) -> list[tuple[int, str]]:
    """Return the rows that hold a word of their person, each with the word. ``notes``, ``own``: the words of each
    different note and name; ``place``, ``whose`` (n,): which of them is each row's, -1 for none."""
    some = np.flatnonzero((place >= 0) & (whose >= 0) & np.append([bool(note) for note in notes], False)[place])
    rows = zip(some.tolist(), place[some].tolist(), whose[some].tolist(), strict=True)
    return [(row, word) for row, at, who in rows for word in notes[at] & own[who]]
