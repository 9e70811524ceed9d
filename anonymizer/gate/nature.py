"""What others can know of a person although nobody guards it: dates and times, places, numbers of cases and things.

A header says so, or the values do: by their shape, whatever the column is called. Coarse dates, such as
months, are none of these: many people share them.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.patterns import (
    CASE_WORDS,
    COUNT_WORDS,
    ENOUGH,
    ID_WORDS,
    MAP_WORDS,
    NUMBER_ENDS,
    NUMBER_WORDS,
    POSTCODE_WORDS,
    header_phrases,
    header_words,
    meanings_of,
)
from anonymizer.schema import Kind, Role

FEWEST = 20
"""Different values from which on a column can number cases or tell places apart."""
MANY = 50
"""Different values from which on their shape alone says that they number something."""
OFTEN = 0.2
"""Share of different values from which on numbers without a gap number something, and codes are those of cases."""
LARGE = 10**6
"""Whole numbers from here on that all have as many digits and are mostly different number something."""
LONGEST = 200
"""Letters of a text that are looked at."""
LOOKED_AT = 2_000
"""Different texts of a column that are looked at, spread evenly."""

DATES, TIMES, PLACES, NUMBERS = "dates", "times", "places", "numbers of cases or things"

EXACT_AGE = re.compile(
    r"(age|alter|edad|eta|leeftijd|idade)(in)?(days?|tagen?|jours?|dias?|giorni|dagen|hours?|weeks?)"
)

_DATE = r"(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{2,4}|[0-9]{1,2}[-. ]?[A-Za-zäéû]{3,9}\.?,?[- ]?[0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4})"  # fmt: skip  # noqa: E501
_TIME = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[AaPp][Mm])?"
_DEGREES = r"[-+]?[0-9]{1,3}(?:\.[0-9]{1,}|°[0-9 .'′″\"]*)\s*[NSEWnsew]?"

SHAPES: dict[str, tuple[str, Callable[[str], bool]]] = {}
"""How texts show what they are, by a name of the shape: what they are, and whether a text is one."""


def _shape(what: str, name: str, pattern: str) -> None:
    compiled = re.compile(pattern)
    SHAPES[name] = what, lambda text: compiled.fullmatch(text) is not None


_shape(DATES, "date", _DATE)
_shape(TIMES, "moment", rf"{_DATE}[T ,]+{_TIME}(?: ?(?:Z|UTC|[-+][0-9]{{2}}:?[0-9]{{2}}))?")
_shape(TIMES, "time", _TIME)
_shape(PLACES, "coordinates", rf"\(?(?:POINT ?\()?{_DEGREES}[,; ] ?{_DEGREES}\)?")
_shape(PLACES, "grid reference", r"[A-Z]{2} ?[0-9]{2,5} ?[0-9]{2,5}|[0-9]{1,2}[C-X] ?[A-Z]{2} ?[0-9]{2,5} ?[0-9]{2,5}")
_shape(PLACES, "plus code", r"[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,4}.*")
_shape(PLACES, "geohash", r"(?=[a-z0-9]*[0-9])(?=[a-z0-9]*[b-hj-km-np-z])[0-9b-hjkmnp-z]{5,12}")
_shape(PLACES, "three words", r"/{0,3}[^\W\d_]+\.[^\W\d_]+\.[^\W\d_]+")
_shape(NUMBERS, "digest", r"(?=.*[0-9])(?:[0-9a-f]{8,128}|[0-9A-F]{8,128})")
_shape(NUMBERS, "base64", r"(?=.*[0-9+/_-])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{10,}={0,2}")
_shape(NUMBERS, "MAC address", r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}")


def is_code(text: str) -> bool:
    """Return True for a number of a case: digits, and letters that are at most three times as many, on their own."""
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    return digits >= 2 and letters <= 3 * digits and re.fullmatch(r"(?![0-9]+\.[0-9]+$)[\w ./:#-]*", text) is not None


SHAPES["code"] = NUMBERS, is_code

FEW_OF_CODES = ("code", "geohash", "grid reference", "date", "time", "three words")
"""Shapes that values of another meaning can have: private ones are not judged by them, but for dates and times."""


def nature_of(fact: ColumnFacts, kind: Kind, values: NDArray[Any]) -> str:
    """Return what others can know of the values of a column: dates, times, places, numbers; "" where nothing shows.

    ``values``: its different ones, missing left out.
    """
    phrases = header_phrases(fact.name)
    meanings = meanings_of(fact.name)
    private = any(meaning.role is Role.SENSITIVE for meaning in meanings[:1])
    if fact.distinct < 2:
        return ""
    some = values[_spread(len(values))]
    if kind is Kind.DATE or fact.kind is Kind.DATE:
        return of_stamps(some)
    if fact.kind is Kind.NUMERIC:
        nature = of_numbers(np.asarray(values, np.float64), fact, private)
    else:
        nature = of_texts([str(value) for value in some], fact, private)
    if nature or fact.distinct < FEWEST:
        return nature
    if any(EXACT_AGE.fullmatch(phrase) for phrase in phrases):
        return TIMES
    if phrases & (MAP_WORDS | POSTCODE_WORDS):
        return PLACES
    return NUMBERS if names_cases(fact.name, private) else ""


def names_cases(name: str, private: bool) -> bool:
    """Return whether a header says that its values number cases, people or things, and does not count them."""
    words = header_words(name)
    if not words or words[0] in COUNT_WORDS | {"age"}:
        return False
    last = words[-1]
    head = re.sub(r"(id|nr|no|num|number|nummer|key|code)$", "", last)
    numbered = last in NUMBER_WORDS and len(words) > 1 or last.endswith(NUMBER_ENDS) or bool(ID_WORDS & {*words})
    return numbered or (bool(CASE_WORDS & {"".join(words), last, head}) and not private)


def of_stamps(values: NDArray[Any]) -> str:
    """Return whether dates are exact: "" where none says more than a month."""
    try:
        stamps = pd.to_datetime(
            pd.Series(values), utc=True, format="mixed" if values.dtype == object else None
        ).dropna()
    except (ValueError, TypeError):
        return DATES
    if (stamps.dt.normalize() != stamps).any():
        return TIMES
    return DATES if (stamps.dt.day != 1).any() else ""


def of_numbers(values: NDArray[np.float64], fact: ColumnFacts, private: bool) -> str:
    """Return what numbers are by their range: dates written as one number, seconds of the clock, running numbers."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return ""
    if len(values) >= FEWEST and (is_daily(values) or is_clock(values)):
        return DATES if is_daily(values) else TIMES
    if private or len(values) < MANY:
        return ""
    low, high = values.min(), values.max()
    dense = high - low < 1.5 * len(values) and len(values) >= 2 * MANY and fact.distinct_share >= OFTEN
    digits = len(str(int(low))) == len(str(int(high))) and low >= LARGE and fact.distinct_share >= 0.5
    return NUMBERS if dense or digits else ""


def is_daily(values: NDArray[np.float64]) -> bool:
    """Return whether all numbers are days as 20240131, and not all the first of a month."""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    real = (year >= 1850) & (year <= 2150) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(real.all() and (day != 1).any())


def is_clock(values: NDArray[np.float64]) -> bool:
    """Return whether all numbers are seconds, or thousandths of one, since 1970 and lie between 1995 and 2040."""
    low, high = 788_918_400, 2_208_988_800
    return any(bool(((values >= low * unit) & (values <= high * unit)).all()) for unit in (1, 1_000, 1_000_000))


def of_texts(texts: Sequence[str], fact: ColumnFacts, private: bool) -> str:
    """Return what texts are by their shape; of dates, "" where all are firsts of a month."""
    texts = [text.strip()[:LONGEST] for text in texts]
    for name, (what, matches) in SHAPES.items():
        if sum(map(matches, texts)) < ENOUGH * len(texts):
            continue
        if what in (DATES, TIMES):
            return what if len(texts) >= 2 else ""
        if private and name in FEW_OF_CODES or len(texts) < FEWEST:
            continue
        if name in FEW_OF_CODES and (fact.distinct_share < OFTEN or len(texts) < MANY):
            continue
        return what
    return ""


def _spread(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(np.int64))
