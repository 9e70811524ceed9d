"""Values of a released table that are written unlike the others of their column: marks that nobody sees can hide there.
They are listed, not judged: a name may well have them."""

import re
import unicodedata
from collections.abc import Mapping

import numpy as np
import pandas as pd

from anonymizer.checking.released import texts_of
from anonymizer.schema import LEFT_OUT, Column, Kind, Role, Schema
from anonymizer.values import plural

MOST_LISTED = 5
"""Values of a column that are listed at most."""
RARE = 100
"""Numbers have more digits than the others where at most one row in so many has as many."""
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Letters and marks that take no room, beside those of the categories of Unicode that do not."""
LATIN = "LATIN"
TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "HANGUL": "CJK", "BOPOMOFO": "CJK"}
"""Scripts that are written in one word, by what they are together."""
ANY = frozenset(("MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE", "MODIFIER", "SUPERSCRIPT"))
"""First words of the names of letters that stand beside any script."""


def rare_forms(rows: pd.DataFrame, schema: Schema) -> tuple[str, ...]:
    """Return the rare forms among the values of each column, a sentence for each column and form; none where there are
    none: words of two scripts, letters that nobody sees, numbers with more digits than the others."""
    sentences = []
    for column in schema.columns:
        if column.role in LEFT_OUT or column.name not in rows.columns:
            continue
        index, distinct = texts_of(rows[column.name])
        texts = [text or "" for text in distinct]
        letters = set().union(*(text for text in texts if not text.isascii()))
        unseen, scripts = set(filter(_is_unseen, letters)), {letter: _script(letter) for letter in letters}
        is_mixed = len(set(scripts.values()) - {"", LATIN}) > 0
        forms = {
            "letters that nobody sees": [text for text in texts if unseen and not unseen.isdisjoint(text)],
            "letters of two scripts in one word": [text for text in texts if is_mixed and _is_mixed(text, scripts)],
            "more digits than the others": _with_more_digits(column, texts, index),
        }
        sentences += [
            f"Column {column.name!r} has {plural(len(values), 'value')} with {what}: {_listed(values)}."
            for what, values in forms.items()
            if values
        ]
    return tuple(sentences)


def _listed(values: list[str]) -> str:
    """Return values in a sentence, every letter that is not plain by its number."""
    more = f", and {len(values) - MOST_LISTED:,} more" if len(values) > MOST_LISTED else ""
    return ", ".join(ascii(value if len(value) <= 40 else value[:37] + "...") for value in values[:MOST_LISTED]) + more


def _is_unseen(letter: str) -> bool:
    return letter in UNSEEN or unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn")


def _is_mixed(text: str, scripts: Mapping[str, str]) -> bool:
    """Return whether a word of a text has letters of two scripts. ``scripts``: of each letter of the column that is not
    plain."""
    if text.isascii():
        return False
    return any(len({scripts[letter] for letter in word} - {""}) > 1 for word in re.findall(r"\w+", text))


def _script(letter: str) -> str:
    """Return the script of a letter, as its name begins; "" for what is none, or stands beside any."""
    first = unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
    return "" if first in ANY else TOGETHER.get(first, first)


def _with_more_digits(column: Column, texts: list[str], index: "np.ndarray") -> list[str]:
    """Return the numbers that have more digits behind the point than nearly all others of their column."""
    if column.kind is not Kind.NUMERIC or column.role is Role.QUASI_IDENTIFYING:
        return []
    digits = np.array([len(text.partition(".")[2].partition("e")[0]) for text in texts], dtype=np.int64)
    of_rows = np.sort(digits[index])
    usual = of_rows[len(of_rows) - 1 - max(1, len(of_rows) // RARE)] if len(of_rows) > 1 else digits.max(initial=0)
    return [text for text, number in zip(texts, digits, strict=True) if number > usual]
