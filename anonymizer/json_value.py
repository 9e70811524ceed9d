"""JSON that comes from outside: nothing in it is believed, and what does not fit is refused with its place.

:func:`parse` gives a :class:`JsonValue`, which is asked for what it should be: ``value.field("k").whole(1, 10**9)``.
Whatever else it is, of another type, out of range, too long, too deep, ends in one :class:`ReadError`.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from anonymizer.errors import AnonymizerError, ReadError

MAX_BYTES = 20 << 20
LONGEST_TEXT = 10_000
MOST_ITEMS = 1_000_000
MOST_VALUES = 2_000_000
"""Commas and brackets in a text that is parsed: a value takes up to a hundred times its letters."""
LARGEST = 1 << 53
GREATEST = sys.float_info.max

Built = TypeVar("Built")


@dataclass(frozen=True)
class JsonValue:
    """A value of a JSON document. ``place``: where it stands; ``document``: what the whole is called, such as "schema";
    ``remedy``: what to do when it does not fit."""

    value: Any
    place: str
    document: str
    remedy: str

    def refuse(self, problem: str) -> NoReturn:
        """Raise :class:`ReadError` that says what is wrong here."""
        where = f"{self.place}: " if self.place else ""
        raise ReadError(f"The {self.document} is not in order: {where}{problem}.", remedy=self.remedy)

    def build(self, make: Callable[[], Built]) -> Built:
        """Return what ``make`` makes of this value; its complaint is one about this place."""
        try:
            return make()
        except AnonymizerError as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(
                f"The {self.document} is not in order: {self.place}: {error.problem}",
                remedy=error.remedy or self.remedy,
            ) from error

    @property
    def absent(self) -> bool:
        """True when nothing stands here, or ``null``."""
        return self.value is None

    def field(self, name: str) -> "JsonValue":
        """Return a field of this object; one that is not there is absent."""
        place = f"{self.place}, {name}" if self.place else name
        return replace(self, value=self._object().get(name), place=place)

    def fields(self, names: Sequence[str] | None = None) -> dict[str, "JsonValue"]:
        """Return the fields of this object by name; no others than ``names``, where these are given."""
        for name in self._object():
            if names is not None and name not in names:
                self.refuse(f"there is no {short_text(name)}, but only {', '.join(names)}")
        return {name: self.field(name) for name in self._object()}

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.refuse("an object was expected")
        return self.value

    def items(self, most: int = MOST_ITEMS, fewest: int = 0) -> list["JsonValue"]:
        """Return the items of this list."""
        if not isinstance(self.value, list) or not fewest <= len(self.value) <= most:
            self.refuse(f"a list of {fewest} to {most:,} was expected")
        return [replace(self, value=item, place=f"{self.place} {at + 1}") for at, item in enumerate(self.value)]

    def texts(self, fewest: int = 0) -> tuple[str, ...]:
        """Return this list of texts."""
        return tuple(item.text() for item in self.items(fewest=fewest))

    def text(self, longest: int = LONGEST_TEXT, *, fewest: int = 0, plain: bool = False) -> str:
        """Return this text. ``plain``: without line breaks and other characters that cannot be shown."""
        if not isinstance(self.value, str) or not fewest <= len(self.value) <= longest:
            self.refuse(f"text of {fewest} to {longest:,} characters was expected")
        if plain and not self.value.isprintable():
            self.refuse("it holds characters that cannot be shown")
        return str(self.value)

    def one_of(self, names: Sequence[str]) -> str:
        """Return this text, one of ``names``."""
        if not isinstance(self.value, str) or self.value not in names:
            self.refuse(f"{short_text(self.value)} is none of {', '.join(names)}")
        return str(self.value)

    def whole(self, least: int = 0, most: int = LARGEST) -> int:
        """Return this whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            self.refuse(f"a whole number from {least:,} to {most:,} was expected, not {short_text(self.value)}")
        return int(self.value)

    def number(self, least: float = -math.inf, most: float = math.inf) -> float:
        """Return this number, as whole or broken as it is; never an infinite one."""
        right = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not right or not -GREATEST <= self.value <= GREATEST or not least <= self.value <= most:
            limits = "" if least == -math.inf else f" from {least:g} to {most:g}"
            self.refuse(f"a number{limits} was expected, not {short_text(self.value)}")
        return self.value  # type: ignore[no-any-return]

    def time(self) -> str:
        """Return this moment: ISO 8601, with its zone."""
        text = self.text(40, plain=True)
        try:
            stamp = datetime.fromisoformat(text)
        except ValueError:
            self.refuse("a time was expected (2026-01-31T12:00:00+00:00)")
        if stamp.tzinfo is None:
            self.refuse("a time with its zone was expected (2026-01-31T12:00:00+00:00)")
        return text

    def sha256(self) -> str:
        """Return this digest, 64 hexadecimal digits in small letters; "" for none."""
        sha256 = self.text(64)
        if sha256 and (len(sha256) != 64 or set(sha256) - set("0123456789abcdef")):
            self.refuse("a SHA-256 has 64 hexadecimal digits")
        return sha256

    def flag(self) -> bool:
        """Return this truth."""
        if not isinstance(self.value, bool):
            self.refuse(f"true or false was expected, not {short_text(self.value)}")
        return bool(self.value)


def parse(text: str | bytes, document: str, remedy: str) -> JsonValue:
    """Return the value of a JSON text.

    Raises :class:`ReadError` for what is no JSON, is too large or too deep, has too many values, names a field twice,
    or holds half a character (a lone surrogate, which cannot be written anywhere).
    """
    if len(text) > MAX_BYTES:
        raise ReadError(f"The {document} is larger than {MAX_BYTES >> 20} MiB.", remedy=remedy)
    marks: tuple[Any, ...] = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    if sum(map(text.count, marks)) > MOST_VALUES:
        raise ReadError(f"The {document} has more than {MOST_VALUES:,} values.", remedy=remedy)
    try:
        content = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ReadError(f"This is no {document}: it is not JSON that can be read.", remedy=remedy) from error
    return JsonValue(content, "", document, remedy)


def read_json(path: str | Path, document: str, remedy: str) -> JsonValue:
    """Return the value of a JSON file. Raises :class:`ReadError` as :func:`parse`, and when it cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ReadError(f"{Path(path).name} cannot be opened as a {document}.", remedy="Check the path.") from error
    return parse(content, document, remedy)


def first_difference(here: Any, expected: Any, place: str = "") -> str:
    """Return where a value of JSON is not the one that was expected, in words; "" where both are the same."""
    at = f"{place}, " if place else ""
    if isinstance(here, dict) and isinstance(expected, dict):
        if others := [name for name in here if name not in expected]:
            return f"{at}{short_text(others[0])} has no place there"
        if missing := [name for name in expected if name not in here]:
            return f"{at}{missing[0]} is missing"
        parts = [first_difference(here[name], expected[name], f"{at}{name}") for name in expected]
        return next(filter(None, parts), "" if list(here) == list(expected) else f"{place or 'it'} is in another order")
    if isinstance(here, list) and isinstance(expected, list):
        if len(here) != len(expected):
            return f"{place} has {len(here):,} entries, and should have {len(expected):,}"
        pairs = enumerate(zip(here, expected, strict=True), 1)
        return next(filter(None, (first_difference(*pair, f"{place} {at}") for at, pair in pairs)), "")
    same = type(here) is type(expected) and here == expected
    return "" if same else f"{place or 'it'} is not what follows"


def short_text(value: Any) -> str:
    """Return a value in a sentence, cut when it is long."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "so large a number"
    text = repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a field is named twice")
    return members
