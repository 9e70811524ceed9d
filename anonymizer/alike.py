"""Texts that differ in writing only: ids of one person, words of one meaning, and marks that stand for nobody."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.schema import Column
from anonymizer.values import value_text

NOBODY = frozenset({
    "unknown", "notknown", "unspecified", "undefined", "unidentified", "anonymous", "anon", "na", "none", "null",
    "nil", "nan", "nat", "missing", "empty", "blank", "tba", "tbd", "tbc", "todo", "test", "dummy", "x", "xx", "xxx",
    "xxxx", "unbekannt", "fehlt", "keine", "keiner", "ka", "kein", "inconnu", "aucun", "desconocido", "ninguno",
    "sconosciuto", "nessuno", "onbekend", "geen", "desconhecido", "nenhum", "nieznany", "brak",
})  # fmt: skip
"""Keys of ids that stand for nobody."""
FILLS = re.compile(r"0+|9{2,}|-[0-9]+|12345(6(7(8(90?)?)?)?)?")
"""Numbers that can stand for nobody, and can be somebody's."""
FREQUENT = 5
"""A number that can stand for nobody does where it has so many times the rows of the median id."""
WHOLE = re.compile(r"([+-]?\d+)[.,]0+")
ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
JOINED = re.compile(r"(?<=\w)[-_.'’\u2010-\u2015 ]+(?=\w)")
"""What stands within a word and may be left out."""


def plain_form(text: str) -> str:
    """Return a text in one Unicode form, without capitals, marks on letters, and signs that nobody sees; digits of any
    script are ASCII, and blanks of any kind one blank, none at the ends."""
    if text.isascii():
        return " ".join(text.lower().split())
    forms = unicodedata.normalize("NFKC", text).casefold()
    letters = (
        str(unicodedata.decimal(one)) if unicodedata.category(one) == "Nd" else one
        for one in unicodedata.normalize("NFD", forms)
        if one.isspace() or not (unicodedata.category(one) in ("Cf", "Cc") or "\u0300" <= one <= "\u036f")
    )
    return " ".join(unicodedata.normalize("NFC", "".join(letters)).split())


def id_key(value: Any) -> str:
    """Return what is left of an id when case, form, blanks, signs and leading zeros do not count: ``P-007`` and ``p 7``
    are ``p7``, ``12.0`` and ``0012`` are ``12``."""
    text = value_text(value)
    if text.isascii() and text.isalnum():
        return ZEROS.sub("", text.lower()) if "0" in text else text.lower()
    text = plain_form(text)
    whole = WHOLE.fullmatch(text)
    text = whole[1] if whole else text
    key = text if text.isalnum() or is_negative(text) else "".join(one for one in text if one.isalnum())
    return ZEROS.sub("", key) if "0" in key else key or text


def is_negative(text: str) -> bool:
    """Return True for a number below 0."""
    return text[:1] == "-" and text[1:].isdecimal()


def meaning(text: str) -> str:
    """Return what is left of a level when case, form, accents, blanks, dots and hyphens do not count: ``H.I.V.``,
    ``hiv`` and ``HIV`` are one. Between digits these count, and so does a sign at an end: ``1.5``, ``A-``."""
    word = JOINED.sub(lambda match: match[0] if is_between(match) else "", plain_form(text))
    return re.sub(r"(?<=[^\W\d])\.$", "", word) or text


def is_between(match: "re.Match[str]") -> bool:
    """Return True where what joins two parts of a word stands between digits."""
    return match.string[match.start() - 1].isdigit() and match.string[match.end()].isdigit()


def persons_of_values(values: "pd.Series[Any]", column: Column) -> NDArray[np.int64]:
    """Return a number of each value's person (n,), in the order in which they come; -1 for nobody's. ``column``: which
    values are alike, and which are nobody's."""
    codes, distinct = pd.factorize(values)
    if not column.alike and not column.nobody:
        return np.asarray(codes, np.int64)
    keys = [id_key(value) for value in distinct]
    nobody = {id_key(text) for text in column.nobody}
    of_each = keys if column.alike else list(map(value_text, distinct))
    numbers = [None if key in nobody else one for key, one in zip(keys, of_each, strict=True)]
    return np.asarray(np.append(pd.factorize(np.array(numbers, object))[0], -1)[codes], np.int64)


def count_alike(distinct: Iterable[Any]) -> int:
    """Return how many of some different ids are left when those that differ in writing only are one."""
    return len(set(map(id_key, distinct)))


def nobodies(distinct: Iterable[Any], counts: NDArray[np.int64]) -> tuple[str, ...]:
    """Return those of some different ids that stand for nobody: words that say so; and numbers that are often filled
    in, and signs, that have many more rows than others. ``counts`` (d,): rows of each."""
    often = FREQUENT * float(np.median(counts)) if len(counts) else 0.0
    texts = (value_text(value).strip() for value in distinct)
    return tuple(text for text, rows in zip(texts, counts.tolist(), strict=True) if is_nobody(text, rows >= often))


def is_nobody(text: str, often: bool) -> bool:
    """Return True for an id that stands for nobody; ``often``: where it has many more rows than others."""
    key = text.lower() if text.isascii() and text.isalnum() else id_key(text)
    if key in NOBODY or not any(map(str.isalnum, key)):
        return True
    return often and FILLS.fullmatch(plain_form(text).removesuffix(".0")) is not None
