"""The text of released cells: values, intervals, sets, concatenations; written one way and read back the same.

==============================  ===============================================
``29``, ``2024-05-17``, ``a``   one value
``[29, 61]``                    closed interval of numbers or dates
``{a, b}``                      one of these levels, in domain order
``{C: 48 levels}``              one of the levels of set C, ``{C: 48 levels, missing}`` or missing: see the dictionary
``{[29, 61], missing}``         in the interval, or missing
``{a, missing}``                this level, or missing
``[70-90)``                     one of the bands ``[70-80)`` and ``[80-90)``: a run of them, in their own notation
``Nontechnical``                one of a group's levels, where a public hierarchy has that word for them
``*``                           withheld: anything in the column's domain
(empty cell)                    missing
``a+b``, ``a:4+b:1``            concatenation, with counts when weighted
``≥ 80``, ``{≥ 80, missing}``   this number or more, where a steward cut there; ``≤ 20``: this number or less
``~41.5``, ``{~41.5, missing}``  mean or median of a group's numbers or dates; a person's own value can be any
==============================  ===============================================

Text that could be mistaken for any of this, or that a spreadsheet would run as a formula, is written as a JSON
string. Therefore no level can imitate another cell, and no level can act.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NoReturn

import numpy as np

from anonymizer.bands import BARE, Bands
from anonymizer.errors import CellError
from anonymizer.hierarchy import Hierarchy
from anonymizer.schema import Column, Kind

MISSING_WORD = "missing"
WITHHELD_SIGN = "*"
ESTIMATE_SIGN = "~"
UP_SIGN, DOWN_SIGN = "≥ ", "≤ "
"""Before the one end of an interval that is open upwards, or downwards."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?")
_STRUCTURE = frozenset(',{}+:[]"')
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are full-width forms
_COUNT = re.compile(r"[0-9]+")
_BAND = re.compile(BARE)
_IN_SET = re.compile(rf"(?:{BARE})(?=, |\}}$)|[^,}}]*")
_IN_CONCATENATION = re.compile(r"[^+:]*")
_SHORT = re.compile(r"\{[A-Z]+: [0-9]+ levels(?:, missing)?\}")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a released cell says about the value behind it. Equal cells have equal text, and the reverse.

    ``low``, ``high``: the closed interval (numbers; dates as microseconds since 1970), ``None`` when there is none,
    infinite where it is open; ``ends``: the same two as they are written, "" where it is open. ``levels``: the possible
    levels. ``missing``: the value may be missing. ``withheld``: anything in the domain. ``joined``: a concatenation;
    ``counts``: how many records have each of its levels (that of "missing" last), empty when not weighted.
    ``estimate``: the number is a mean or median of several, so it is no bound for anybody's value. ``words``: what the
    levels are called where they are not named one by one: the word of a public hierarchy, or the runs of bands.
    ``name``: the letters that a long set is written by, where the dictionary says what its levels are.

    Use the constructors; they refuse what cannot be written.
    """

    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()
    missing: bool = False
    withheld: bool = False
    ends: tuple[str, str] | None = None
    joined: bool = False
    counts: tuple[int, ...] = ()
    estimate: bool = False
    words: tuple[str, ...] = ()
    name: str = ""

    WITHHELD: ClassVar["Cell"]
    MISSING: ClassVar["Cell"]

    @classmethod
    def value(cls, text: str, kind: Kind = Kind.CATEGORICAL) -> "Cell":
        """Return one value: a level, or a number or date when ``kind`` says so."""
        return cls(levels=(text,)) if kind is Kind.CATEGORICAL else cls.interval(text, text)

    @classmethod
    def interval(
        cls, low_text: str, high_text: str, missing: bool = False, number: Callable[[str], float] | None = None
    ) -> "Cell":
        """Return all numbers or dates from ``low_text`` to ``high_text``, both included; ``missing``: or missing.

        ``number``: :func:`number_of`, or the same with a memory, for many cells of few ends. Raises :class:`CellError`
        when an end is neither a finite number nor a date, or the ends are reversed.
        """
        number = number or number_of
        low = number(low_text)
        high = low if low_text == high_text else number(high_text)
        if low > high:
            _refuse(f"[{low_text}, {high_text}]", "the lower end is above the upper end")
        return cls(low=low, high=high, ends=(low_text, high_text), missing=missing)

    @classmethod
    def reaching(
        cls, low_text: str, high_text: str, missing: bool = False, number: Callable[[str], float] | None = None
    ) -> "Cell":
        """Return all numbers between two ends, of which "" is none: ``≥ 80``, ``≤ 20``; without any, withheld.

        Raises :class:`CellError` as :meth:`interval` does.
        """
        if low_text and high_text:
            return cls.interval(low_text, high_text, missing, number)
        if not (low_text or high_text):
            return cls.WITHHELD
        end = (number or number_of)(low_text or high_text)
        low, high = (end, math.inf) if low_text else (-math.inf, end)
        return cls(low=low, high=high, ends=(low_text, high_text), missing=missing)

    @classmethod
    def estimated(cls, text: str, missing: bool = False) -> "Cell":
        """Return a mean or median of numbers or dates; ``missing``: some of them are missing.

        Raises :class:`CellError` when it is neither a finite number nor a date.
        """
        number = number_of(text)
        return cls(low=number, high=number, ends=(text, text), missing=missing, estimate=True)

    @classmethod
    def of_levels(cls, levels: tuple[str, ...] | list[str], missing: bool = False) -> "Cell":
        """Return one of these levels, given in domain order; ``missing``: or missing. No level at all: missing.

        Raises :class:`CellError` when a level is listed twice or there is nothing to list.
        """
        levels = tuple(levels)
        if len(set(levels)) != len(levels) or not (levels or missing):
            _refuse(str(list(levels)), "a set needs levels, each of them once")
        return cls(levels=levels, missing=missing)

    @classmethod
    def concatenation(
        cls, levels: tuple[str, ...] | list[str], missing: bool = False, counts: tuple[int, ...] = ()
    ) -> "Cell":
        """Return the levels that occur, joined by ``+``; ``counts``: records of each, that of "missing" last.

        Raises :class:`CellError` for doubled levels, or counts that do not fit or are below 1.
        """
        plain = cls.of_levels(levels, missing)
        if counts and (len(counts) != len(plain.levels) + missing or min(counts) < 1):
            _refuse(str(list(counts)), "a weighted concatenation needs one count of at least 1 for each level")
        if not counts and len(plain.levels) + missing == 1:
            return plain
        return cls(levels=plain.levels, missing=missing, joined=True, counts=tuple(counts))

    @property
    def is_single(self) -> bool:
        """True when the cell leaves exactly one possibility."""
        if self.withheld or self.estimate:
            return False
        if self.ends is not None:
            return self.ends[0] == self.ends[1] and not self.missing
        return len(self.levels) + self.missing == 1

    def text(self) -> str | None:
        """Return the cell as it is written; ``None`` for missing, which is an empty cell."""
        if self.withheld:
            return WITHHELD_SIGN
        if self.ends is not None:
            low, high = self.ends
            inner = low if low == high else f"[{low}, {high}]"
            inner = inner if low and high else f"{UP_SIGN}{low}" if low else f"{DOWN_SIGN}{high}"
            inner = ESTIMATE_SIGN + inner if self.estimate else inner
            return f"{{{inner}, {MISSING_WORD}}}" if self.missing else inner
        if self.name:
            return f"{{{self.name}: {len(self.levels)} levels{f', {MISSING_WORD}' if self.missing else ''}}}"
        write = member_text if self.joined else level_text
        members = [write(level) for level in self.words or self.levels]
        if self.missing:
            if not members and not self.counts:
                return None
            members.append(MISSING_WORD)
        if self.counts:
            return "+".join(f"{member}:{count}" for member, count in zip(members, self.counts, strict=True))
        if self.joined:
            return "+".join(members)
        return members[0] if len(members) == 1 else "{" + ", ".join(members) + "}"

    def admits(self, value_text: str | None, number: float | None = None) -> bool:
        """Return True when a value can be behind this cell.

        ``value_text``: the value's text, ``None`` when it is missing; ``number``: the value as a number (dates:
        microseconds since 1970), for cells that hold an interval. A withheld cell admits everything.
        """
        if self.withheld:
            return True
        if value_text is None:
            return self.missing
        if self.estimate:
            return number is not None
        if self.low is not None and self.high is not None:
            return number is not None and self.low <= number <= self.high
        return value_text in self.levels


Cell.WITHHELD = Cell(withheld=True)
Cell.MISSING = Cell(missing=True)


def number_of(text: str) -> float:
    """Return a number, or a date as microseconds since 1970. Raises :class:`CellError` on any other text."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return number
    elif _DATE.fullmatch(text):
        try:
            return float(np.datetime64(text, "us").astype(np.int64))
        except ValueError:
            pass
    _refuse(text, "a finite number or a date (2024-05-17) was expected")


def is_number(text: str) -> bool:
    """Return whether a text is written as a number is."""
    return _NUMBER.fullmatch(text) is not None


def is_date(text: str) -> bool:
    """Return whether a text is written as a date is."""
    return _DATE.fullmatch(text) is not None


def level_text(level: str) -> str:
    """Return a level as it is written in a cell, alone or in a set: bare, or a JSON string where bare text would be
    misread. A band, such as ``[70-80)`` or ``80+``, would not."""
    return level if _BAND.fullmatch(level) else member_text(level)


def member_text(level: str) -> str:
    """Return a level as it is written in a concatenation: bare, or a JSON string where bare text would be misread."""
    return _quote(level) if _must_quote(level) or not _STRUCTURE.isdisjoint(level) else level


def kept_text(text: str) -> str:
    """Return a kept value or a header as it is written to a CSV file: bare, or a JSON string where bare text could act
    as a formula, be taken for missing or withheld, lose its blanks, or break the line."""
    return _quote(text) if _must_quote(text) or text.startswith('"') else text


def kept_value(text: str) -> str:
    """Return the inverse of :func:`kept_text`; text that is not a whole JSON string is itself."""
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if isinstance(value, str):
            return value
    return text


def _must_quote(text: str) -> bool:
    return (
        text in ("", MISSING_WORD, WITHHELD_SIGN)
        or text != text.strip()
        or not text.isprintable()
        or (text.startswith(_FORMULA) and not _NUMBER.fullmatch(text))
    )


def _quote(text: str) -> str:
    # Line ends, control characters and lone surrogates are escaped; letters of every script stay legible.
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1]
        for character in json.dumps(text, ensure_ascii=False)
    )


def parse_cell(text: str | None, kind: Kind) -> Cell:
    """Return the cell that a text says: the inverse of :meth:`Cell.text`. ``None`` and empty text are missing.

    ``kind`` decides what a bare value is: a level, a number or a date. An interval is read as one whatever the
    kind, since no level can look like it. Raises :class:`CellError` for anything that is not a cell.
    """
    if text is None or text == "":
        return Cell.MISSING
    if text == WITHHELD_SIGN:
        return Cell.WITHHELD
    if kind is Kind.CATEGORICAL and _BAND.fullmatch(text):
        return Cell.of_levels((text,))
    if text[0] == "[":
        return _interval(text, text, missing=False)
    if _SHORT.fullmatch(text):
        raise CellError(
            f"{text!r} is not a released cell: names of sets cannot be resolved without the dictionary of the release.",
            value=text,
            remedy="Check one file beside its report (--report), a folder with its dictionary, or a packet.",
        )
    if text[0] == "{":
        return _set(text, kind)
    if kind is not Kind.CATEGORICAL:
        return _number(text, missing=False)
    if text[0] != '"' and "+" not in text and ":" not in text:
        return Cell.of_levels((text,))
    return _concatenation(text)


def parse_column_cell(text: str | None, column: Column) -> Cell:
    """Return the cell that a text says in a column: :func:`parse_cell`, and words of its public hierarchy and runs of
    its bands are all of their levels. Raises :class:`CellError` for anything that is not a cell."""
    cell = parse_cell(text, column.kind)
    if column.bands is not None:
        return in_bands(cell, column.bands)
    hierarchy = column.cuts.hierarchy
    if hierarchy is None or len(cell.levels) != 1 or cell.joined or cell.counts:
        return cell
    node = hierarchy.words.get(cell.levels[0])
    return cell if node is None else hierarchy_cell(hierarchy, *node, cell.missing)


def in_bands(cell: Cell, bands: Bands) -> Cell:
    """Return the same cell, in which runs of bands are written as such; texts of runs are all of their bands."""
    if cell.joined or cell.counts or not cell.levels:
        return cell
    levels: list[str] = []
    for level in cell.levels:
        first, last = bands.words.get(level, (0, -1))
        levels += bands.values[first : last + 1] or (level,)
    if len(set(levels)) != len(levels) or not set(levels) <= set(bands.values):
        return cell
    words = bands.in_runs(levels)
    return replace(cell, levels=tuple(levels), words=() if words == tuple(levels) else words)


def hierarchy_cell(hierarchy: Hierarchy, first: int, last: int, missing: bool = False) -> Cell:
    """Return the levels from one to another as a public hierarchy says them: by the word of their node; withheld, where
    they are all levels and have none."""
    levels = hierarchy.values[first : last + 1]
    word = hierarchy.word_of.get((first, last), "")
    if len(levels) > 1 and not word:
        return Cell.WITHHELD
    return Cell(levels=levels, missing=missing, words=(word,) if word else ())


def _number(part: str, missing: bool) -> Cell:
    for sign in (UP_SIGN, DOWN_SIGN):
        if part.startswith(sign) and len(part) > len(sign):
            end = part.removeprefix(sign)
            return Cell.reaching(end, "", missing) if sign == UP_SIGN else Cell.reaching("", end, missing)
    if part.startswith(ESTIMATE_SIGN):
        return Cell.estimated(part.removeprefix(ESTIMATE_SIGN), missing)
    return Cell.interval(part, part, missing)


def _interval(part: str, text: str, missing: bool) -> Cell:
    ends = part[1:-1].split(", ")
    if part[-1] != "]" or len(ends) != 2:
        _refuse(text, "an interval is written [low, high]")
    return Cell.interval(ends[0], ends[1], missing)


def _set(text: str, kind: Kind) -> Cell:
    tail = f", {MISSING_WORD}}}"
    if text.endswith(tail):
        inner = text[1 : -len(tail)]
        if inner.startswith("[") and not (kind is Kind.CATEGORICAL and _BAND.match(inner)):
            return _interval(inner, text, missing=True)
        if kind is not Kind.CATEGORICAL:
            return _number(inner, missing=True)
    if text[-1] != "}":
        _refuse(text, "a set ends with a closing brace")
    levels: list[str] = []
    missing = False
    place = 1
    while True:
        level, bare, place = _member(text, place, _IN_SET)
        if missing or (missing := bare and level == MISSING_WORD):
            if not missing or text[place] != "}" or place != len(text) - 1:
                _refuse(text, f"{MISSING_WORD!r} comes last in a set")
            break
        levels.append(level)
        if text.startswith(", ", place):
            place += 2
        elif place == len(text) - 1 and text[place] == "}":
            break
        else:
            _refuse(text, "the levels of a set are separated by a comma and a blank")
    return Cell.of_levels(levels, missing)


def _concatenation(text: str) -> Cell:
    """Return one quoted level, or a concatenation."""
    levels: list[str] = []
    counts: list[int] = []
    missing = False
    place = 0
    while True:
        level, bare, place = _member(text, place, _IN_CONCATENATION)
        if missing:
            _refuse(text, f"{MISSING_WORD!r} comes last in a concatenation")
        if bare and level == MISSING_WORD:
            missing = True
        else:
            levels.append(level)
        if text.startswith(":", place):
            count = _COUNT.match(text, place + 1)
            if count is None:
                _refuse(text, "a colon is followed by a count")
            counts.append(int(count.group()))
            place = count.end()
        if place == len(text):
            break
        if text[place] != "+":
            _refuse(text, "the parts of a concatenation are joined by +")
        place += 1
    return Cell.concatenation(levels, missing, tuple(counts))


def _member(text: str, place: int, bare: re.Pattern[str]) -> tuple[str, bool, int]:
    """Return the level that starts at ``place``, whether it is bare (not a JSON string), and where it ends.
    ``bare``: what a bare level can hold."""
    if text.startswith('"', place):
        try:
            level, end = json.JSONDecoder().raw_decode(text, place)
        except ValueError:
            _refuse(text, "a quotation mark is never closed")
        return level, False, end
    end = bare.match(text, place).end()  # type: ignore[union-attr]
    if end == place:
        _refuse(text, "a level is empty")
    return text[place:end], True, end


def _refuse(text: str, reason: str) -> NoReturn:
    excerpt = text if len(text) <= 60 else text[:57] + "..."
    raise CellError(
        f"{excerpt!r} is not a released cell: {reason}.",
        value=text,
        remedy="Check that the file is a release and that no program has changed it.",
    )
