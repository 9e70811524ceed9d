"""Levels that are bands of numbers, such as ``[70-80)``, ``18-24`` or ``65+``: their ends, and how a run of them is
written in their own notation."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, isclose

MOST_BANDS = 300

_END = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|[Ii]nf)"
_SIGN = r" ?[,;–-] ?"
BARE = rf"(?!\[{_END}, {_END}\])[\[(]{_END}{_SIGN}{_END}[\])]|[0-9]+(?:\.[0-9]+)?\+"
"""A band that needs no quotation marks in a cell: in brackets, or open upwards. ``[29, 61]`` is an interval."""

_IN_BRACKETS = re.compile(rf"([\[(])\s*({_END})(\s*[,;–-]\s*)({_END})\s*([\])])")
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BELOW = _words("<= ≤ < under below less lessthan upto unter bis moins menos meno minder jusqua hasta fino")
ABOVE = _words(">= ≥ > over above more morethan greaterthan greater uber mehr ab plus mas piu mais meer")
OPENING = _words("between from age ages aged von zwischen entre de da van leeftijd")
BETWEEN = _words("- to bis a au al ate tot und and")
EXCLUDING = _words(
    "< > under below less lessthan unter menos meno minder over above more morethan greaterthan greater uber"
)
"""Words before a number that does not belong to the band."""
BRACKETS = ("[", "(", "]", ")")
AFTER = _words("+ plus more mehr mas over")


@dataclass(frozen=True, slots=True)
class Band:
    """One band: its ends, infinite where it is open, their texts ("" for none), and what is written before, between and
    behind them."""

    low: float
    high: float
    ends: tuple[str, str]
    before: str
    between: str
    behind: str

    @property
    def excludes(self) -> bool:
        """True when an open band does not hold the number that it names: ``<18``, ``over 64``."""
        words = set(re.findall("[a-z]+|[<>]=?", unicodedata.normalize("NFKD", self.before.lower())))
        return bool(words & EXCLUDING) and "=" not in self.before


def band_of(level: str) -> Band | None:
    """Return the band that a level is, such as ``18-25``, ``[0-10)``, ``<=30``, ``>65``, ``80+`` or ``25 to 34 years
    old``; ``None`` where it is none."""
    if match := _IN_BRACKETS.fullmatch(level.strip()):
        opening, one, sign, two, closing = match.groups()
        low, high = float(one), float(two)
        return Band(low, high, (one, two), opening, sign, closing) if low < high else None
    texts = list(_NUMBER.finditer(level))
    plain = unicodedata.normalize("NFKD", level.lower().replace("–", "-").replace(",", ""))
    plain = "".join(letter for letter in plain if letter.isascii() or letter in "≤≥")
    parts = re.findall(r"[0-9]+(?:\.[0-9]+)?|[a-z]+|<=|>=|[-<>≤≥+]", plain)
    numbers = [(place, float(part)) for place, part in enumerate(parts) if part[0].isdigit()]
    if len(texts) != len(numbers) or len(numbers) not in (1, 2):
        return None
    first, last = texts[0], texts[-1]
    pieces = level[: first.start()], level[first.end() : last.start()], level[last.end() :]
    (place, low), (until, high) = numbers[0], numbers[-1]
    before, after = set(parts[:place]), set(parts[until + 1 :])
    if len(numbers) == 2:
        between = set(parts[place + 1 : until])
        fits = between <= BETWEEN | {"years", "year"} and between & BETWEEN and before <= OPENING
        return Band(low, high, (first[0], last[0]), *pieces) if fits and low < high else None
    if before & BELOW:
        return Band(-inf, high, ("", last[0]), *pieces)
    if before & ABOVE or after & AFTER:
        return Band(low, inf, (first[0], ""), *pieces)
    return None


@dataclass(frozen=True)
class Bands:
    """Levels in their order, all of them bands, and the texts of their runs."""

    values: tuple[str, ...]
    bands: tuple[Band, ...]

    @cached_property
    def step(self) -> float:
        """How far the next band begins above the end of one: 0 where they share an end, 1 for whole years."""
        closed = [band for band in self.bands if all(band.ends)]
        return min(two.low - one.high for one, two in pairwise(closed))

    @cached_property
    def walls(self) -> tuple[bool, ...]:
        """Whether there is a hole before each band, the first excepted, so that no run reaches over it."""
        return (True, *(not self._meet(one, two) for one, two in pairwise(self.bands)))

    def _meet(self, one: Band, two: Band) -> bool:
        return any(isclose(two.low - one.high, gap, abs_tol=1e-9) for gap in (0.0, self.step))

    @cached_property
    def words(self) -> dict[str, tuple[int, int]]:
        """The text of each run of two bands or more, and its first and last; runs without a text are not among them."""
        words: dict[str, tuple[int, int]] = {}
        for first in range(len(self.bands)):
            for last in range(first + 1, len(self.bands)):
                if self.walls[last]:
                    break
                word = self._word(first, last)
                if word and word not in self.values:
                    words.setdefault(word, (first, last))
        return words

    def in_runs(self, levels: Sequence[str]) -> tuple[str, ...]:
        """Return the texts of the longest runs that levels, in their order, are; of a level that is in none, itself."""
        places, texts, at = [self._place[level] for level in levels], [], 0
        while at < len(places):
            last = at
            while last + 1 < len(places) and places[last + 1] == places[last] + 1:
                last += 1
            while last > at and (places[at], places[last]) not in self._text_of:
                last -= 1
            texts.append(self._text_of[places[at], places[last]] if last > at else levels[at])
            at = last + 1
        return tuple(texts)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.values)}

    @cached_property
    def _text_of(self) -> dict[tuple[int, int], str]:
        return {reach: text for text, reach in self.words.items()}

    def _word(self, first: int, last: int) -> str:
        """Return how the bands from one to another are written as one; "" where their notation cannot say it."""
        one, two = self.bands[first], self.bands[last]
        if all(one.ends) and all(two.ends):
            return f"{one.before}{one.ends[0]}{one.between}{two.ends[1]}{two.behind}"
        if all(one.ends):
            number = self._lowest(first, two)
            return f"{two.before}{number}{two.behind}" if number else ""
        if all(two.ends):
            number = self._highest(last, one)
            return f"{one.before}{number}{one.behind}" if number else ""
        return ""

    def _lowest(self, first: int, top: Band) -> str:
        """Return the number with which a run that is open upwards begins: 80+ begins where it says, >79 behind that; ""
        where no band of both ends says it."""
        one, before = self.bands[first], self.bands[first - 1]
        if self.step > 0 and top.low == self.bands[-2].high:
            return before.ends[1] if first and before.high < one.low else ""
        if one.before in BRACKETS and (one.before == "(") is not top.excludes:
            return ""
        return one.ends[0]

    def _highest(self, last: int, bottom: Band) -> str:
        """Return the number with which a run that is open downwards ends: ≤17 ends where it says, <18 before that."""
        two, after = self.bands[last], self.bands[(last + 1) % len(self.bands)]
        if self.step > 0 and bottom.high == self.bands[1].low:
            return after.ends[0] if after.low > two.high else ""
        if two.behind in BRACKETS and (two.behind == ")") is not bottom.excludes:
            return ""
        return two.ends[1]


def bands_of(levels: tuple[str, ...]) -> Bands | None:
    """Return the bands that levels, in their order, are; ``None`` unless all are, in one notation and apart from each
    other, two of them with both ends."""
    bands = [band for level in levels if (band := band_of(level)) is not None] if len(levels) <= MOST_BANDS else []
    closed = [band for band in bands if all(band.ends)]
    if len(bands) < len(levels) or len(closed) < 2 or not all(all(band.ends) for band in bands[1:-1]):
        return None
    if len({(_bare(band.before), band.between, _bare(band.behind)) for band in closed}) > 1:
        return None
    if any(one.high > two.low for one, two in pairwise(closed)) or not (bands[0].low < bands[1].low):
        return None
    return Bands(levels, tuple(bands))


def in_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return levels by the ends of the bands that they are; ``None`` unless each is a band, and another."""
    ends = {level: (band.low, band.high) for level in levels if (band := band_of(level)) is not None}
    if len(set(ends.values())) != len(levels):
        return None
    return tuple(sorted(levels, key=lambda level: ends[level]))


def _bare(text: str) -> str:
    return "" if text in BRACKETS else text
