"""Public hierarchies of a column's values, read from and written as ARX's CSV files.

A row is a value and, after semicolons, what it is generalized to, level by level: ``Sales;Nontechnical;*``. There is no
header. A *node* is all values that share a word at some level; nodes lie in one another.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import SchemaError

MOST_VALUES = 65_000
MOST_LEVELS = 30
MOST_BYTES = 1 << 26
LONGEST_WORD = 500
ANYTHING = "*"
"""The word for all values."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MARKUP = re.compile(r"<[A-Za-z/!?]")

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Hierarchy:
    """Values and what they are generalized to. ``rows``: a value, then its words from the lowest level to the highest,
    in an order in which the values of every node stand side by side.

    Raises :class:`SchemaError` for rows that make no hierarchy.
    """

    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(tuple(str(word) for word in row) for row in self.rows)
        check_rows(rows)
        object.__setattr__(self, "rows", side_by_side(rows))
        check_words(self)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values in their order, b of them."""
        return tuple(row[0] for row in self.rows)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Which group of the lowest level each value is in, from 0."""
        return tuple((np.cumsum(self.heights > 1) - 1).tolist())

    @property
    def n_levels(self) -> int:
        """Number of levels above the values."""
        return len(self.rows[0]) - 1

    @cached_property
    def heights(self) -> NDArray[np.int16]:
        """(b,) the lowest level at which a value shares its word with the one before it; one more than there are levels
        where it shares none, and for the first value."""
        none = self.n_levels + 1
        apart = (
            next((level for level in range(1, none) if one[level:] == two[level:]), none)
            for one, two in pairwise(self.rows)
        )
        heights = np.array([none, *apart], np.int16)
        heights.flags.writeable = False
        return heights

    @cached_property
    def words(self) -> dict[str, tuple[int, int]]:
        """The word of each node of several values, the lowest where it has more than one, and its first and last value.
        All values are not among them where their word is ``*``."""
        words: dict[str, tuple[int, int]] = {}
        named: set[tuple[int, int]] = set()
        for level in range(1, self.n_levels + 1):
            starts = np.append(np.flatnonzero(self.heights > level), len(self.rows))
            for first, end in pairwise(starts.tolist()):
                reach = (first, end - 1)
                word = self.rows[first][level]
                if end - first > 1 and reach not in named and word != ANYTHING:
                    words[word] = reach
                    named.add(reach)
        return words

    @cached_property
    def word_of(self) -> dict[tuple[int, int], str]:
        """The word of the node from one value to another: the inverse of :attr:`words`."""
        return {reach: word for word, reach in self.words.items()}

    def cover(self, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """Return the first and last value of the smallest node that holds those from ``low`` to ``high`` (q,); where
        no node does, all values; of ``low`` above ``high``, the same."""
        pairs, place = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
        first, last = pairs[0].copy(), pairs[1].copy()
        for at, (one, two) in enumerate(pairs.T.tolist()):
            if one < two:
                highest = self.heights[one + 1 : two + 1].max()
                walls = self.heights > highest
                first[at] = np.flatnonzero(walls[: one + 1]).max(initial=0)
                after = np.flatnonzero(walls[two + 1 :])
                last[at] = two + after[0] if len(after) else len(walls) - 1
        place = place.reshape(-1)
        return first[place], last[place]

    def parts(self, codes: Sequence[int]) -> list[str]:
        """Return the words of the largest nodes that some values, ascending, consist of."""
        words, at, inside = [], 0, set(codes)
        nodes = sorted(self.word_of, key=lambda reach: reach[0] - reach[1])
        by_first: dict[int, list[tuple[int, int]]] = {}
        for node in nodes:
            by_first.setdefault(node[0], []).append(node)
        codes = list(codes)
        while at < len(codes):
            fits = (node for node in by_first.get(codes[at], ()) if inside.issuperset(range(node[0], node[1] + 1)))
            whole = next(fits, (codes[at], codes[at]))
            words.append(self.word_of.get(whole, self.values[codes[at]]))
            at += whole[1] - whole[0] + 1
        return words

    def in_numbers(self) -> "Hierarchy":
        """Return it with its values in ascending order. Raises :class:`SchemaError` where they are no numbers, or a
        node is no interval of them."""
        if not all(map(_NUMBER.fullmatch, self.values)):
            _refuse("The hierarchy has values that are no numbers.", "Make the column categorical, or correct it.")
        ascending = Hierarchy(tuple(sorted(self.rows, key=lambda row: float(row[0]))))
        numbers = ascending.numbers
        if (np.diff(numbers) <= 0).any():
            what = "The hierarchy has a group of numbers that is no interval, or a number twice."
            _refuse(what, "Let each group hold all numbers between its lowest and its highest.")
        return ascending

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """(b,) the values as numbers."""
        return np.array([float(value) for value in self.values]) + 0.0

    def levels(self) -> list[tuple[int, tuple[str, ...]]]:
        """Return how many words each level has, from the lowest on, and the first of them."""
        lists = (list(dict.fromkeys(row[level] for row in self.rows)) for level in range(1, self.n_levels + 1))
        return [(len(words), tuple(words[:5])) for words in lists]

    def to_csv(self) -> bytes:
        """Return it as ARX's CSV: UTF-8, semicolons, no header."""
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(self.rows)
        return text.getvalue().encode()

    @classmethod
    def from_csv(cls, data: bytes) -> "Hierarchy":
        """Return the hierarchy of a file in ARX's form. Raises :class:`SchemaError` for anything else."""
        if len(data) > MOST_BYTES or data.count(b"\n") > MOST_VALUES + 1:
            _refuse(f"The hierarchy has more than {MOST_VALUES:,} rows.", "Use one with a row for each value.")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            _refuse("The hierarchy is not text in UTF-8.", "Save it as a CSV file in UTF-8.")
        if "\0" in text:
            _refuse("The hierarchy is no text file.", "Use a CSV file: a value and its generalizations in each row.")
        if not text.strip():
            _refuse("The hierarchy is empty.", "Write a row for each value.")
        if ";" not in text.partition("\n")[0]:
            _refuse("The hierarchy has no semicolon in its first row.", "Write each row as value;group;*.")
        try:
            rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=";") if row]
        except csv.Error:
            _refuse("The hierarchy cannot be read as a CSV file.", "Write each row as value;group;*.")
        return cls(tuple(rows))


def check_rows(rows: Sequence[Sequence[str]]) -> None:
    """Raise :class:`SchemaError` unless rows are values, each once, with as many words each that may be written."""
    if not rows:
        _refuse("The hierarchy is empty.", "Write a row for each value.")
    if len(rows) > MOST_VALUES:
        _refuse(f"The hierarchy has more than {MOST_VALUES:,} rows.", "Use one with a row for each value.")
    width = len(rows[0])
    ragged = next((place for place, row in enumerate(rows, 1) if len(row) != width), None)
    if ragged is not None:
        own = len(rows[ragged - 1])
        fields = "1 field" if own == 1 else f"{own} fields"
        what = f"Row {ragged:,} of the hierarchy has {fields}, and the first row has {width}."
        _refuse(what, "Give every row the same levels.")
    if not 2 <= width <= MOST_LEVELS + 1:
        _refuse(f"A hierarchy has from 1 to {MOST_LEVELS} levels above its values.", "Write rows as value;group;*.")
    first_row: dict[str, int] = {}
    for place, row in enumerate(rows, 1):
        for word in row:
            _check_word(word, place)
        if row[0] == ANYTHING:
            _refuse(f"Row {place:,} of the hierarchy begins with *, which is no value.", "Take the row out.")
        if row[0] in first_row:
            same = tuple(rows[first_row[row[0]] - 1]) == tuple(row)
            where = "twice" if same else "under two parents"
            _refuse(
                f"Rows {first_row[row[0]]:,} and {place:,} of the hierarchy hold one value {where}.", "Write it once."
            )
        first_row[row[0]] = place


def _check_word(word: str, place: int) -> None:
    where = f"Row {place:,} of the hierarchy"
    if not word.strip() or len(word) > LONGEST_WORD:
        _refuse(f"{where} has a field that is empty or longer than {LONGEST_WORD} letters.", "Fill it, or shorten it.")
    if word.startswith(_FORMULA) and not _NUMBER.fullmatch(word):
        _refuse(f"{where} has a field that a spreadsheet would run as a formula.", "Let it begin with a letter.")
    if _MARKUP.search(word) or not word.isprintable():
        _refuse(f"{where} has a field with markup or control characters.", "Write plain words.")


def side_by_side(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return rows in an order in which those of each node stand side by side: nodes as they first appear.

    Raises :class:`SchemaError` for a group that lies under two parents.
    """
    parent: dict[tuple[int, str], str] = {}
    for place, row in enumerate(rows, 1):
        for level in range(1, len(row) - 1):
            above = parent.setdefault((level, row[level]), row[level + 1])
            if above != row[level + 1]:
                what = f"Row {place:,} of the hierarchy puts a group of level {level} under a second parent."
                _refuse(what, "Give every group one parent; groups that differ need names that do.")
    rank: dict[tuple[str, ...], int] = {}
    for row in rows:
        for level in range(len(row)):
            rank.setdefault(row[level:], len(rank))
    return tuple(sorted(rows, key=lambda row: [rank[row[level:]] for level in reversed(range(len(row)))]))


def check_words(hierarchy: Hierarchy) -> None:
    """Raise :class:`SchemaError` where a word stands for two different sets of values."""
    reach: dict[str, tuple[int, int]] = {value: (place, place) for place, value in enumerate(hierarchy.values)}
    b = len(hierarchy.rows)
    for level in range(1, hierarchy.n_levels + 1):
        starts = np.append(np.flatnonzero(hierarchy.heights > level), b)
        for first, end in pairwise(starts.tolist()):
            word = hierarchy.rows[first][level]
            node = (first, end - 1)
            if word == ANYTHING and node != (0, b - 1):
                _refuse("The hierarchy writes * for a group that does not hold all values.", "Name the group.")
            if reach.setdefault(word, node) != node:
                what = f"A word of level {level} of the hierarchy stands for two different groups of values."
                _refuse(what, "Give every group a name of its own, other than those of values.")


def rows_from(groups: Iterable[Iterable[str]], words: Iterable[str]) -> Hierarchy:
    """Return the hierarchy of groups of values: a word for each group, and ``*`` above them."""
    pairs = zip(groups, words, strict=True)
    return Hierarchy(tuple((value, word, ANYTHING) for group, word in pairs for value in group))


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise SchemaError(problem, remedy=remedy)
