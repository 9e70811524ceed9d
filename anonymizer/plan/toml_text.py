"""TOML that comes from outside: nothing in it is believed, and what does not fit is refused with its line and column.

The standard library reads the values and says where a text is broken; where each key of a whole text stands is looked
up here, in one pass over its marks.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.json_value import LONGEST_TEXT, Built, JsonValue, short_text

MOST_BYTES = 4 << 20
"""Bytes of the largest text that is read."""
MOST_PARTS = 20
"""Parts of a dotted key, and levels of values in one another; more make the standard library slow."""
REMEDY = "Correct that line."

Keys = tuple[str | int, ...]
"""The keys and the places in lists that lead to a value."""

_MARK = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*(?:"{3,5}|\Z)|' + r"'''(?:[^']|'(?!''))*(?:'{3,5}|\Z)|"
    r'"(?:[^"\\\n]|\\.)*"?|' + r"'[^'\n]*'?|#[^\n]*|[\[\]{}=,.\n]|[ \t]+|[^\[\]{}=,.\n\"'# \t]+",
    re.DOTALL,
)
"""A text, a comment, a sign, blanks, or a word."""


@dataclass(frozen=True)
class Source:
    """A TOML text, and what it is called. ``folder``: in which its file lies, ``None`` where it came from none."""

    name: str
    text: str
    folder: Path | None = None

    @cached_property
    def places(self) -> dict[Keys, int]:
        """Where each key and each item of a list begins: letters from the start of the text."""
        places: dict[Keys, int] = {}
        for path, at in _Scan(self.text).walk():
            places.setdefault(path, at)
        return places

    def where(self, path: Keys) -> str:
        """Return the place of a value in words: ``copse.toml, line 3, column 1``; of one that is not there, that of
        the table it would be in."""
        at = next((self.places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.places), None)
        return self.name if at is None else self.at(at)

    def at(self, letter: int) -> str:
        """Return a place in words. ``letter``: counted from the start of the text."""
        line, start = self.text.count("\n", 0, letter) + 1, self.text.rfind("\n", 0, letter) + 1
        return f"{self.name}, line {line:,}, column {letter - start + 1:,}"


class _Scan:
    """One pass over the marks of a text, whole or broken."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tables: Keys = ()
        self.frames: list[list[Any]] = []  # [sign that opened it, path, place in a list]

    def walk(self) -> Iterator[tuple[Keys, int]]:
        """Yield every key and item with where it begins. Stops where keys or values are too deep, which is refused
        by :func:`parse`."""
        parts: list[str] = []
        start, header, is_key, path = 0, False, True, ()
        for match in _MARK.finditer(self.text):
            mark, at = match[0], match.start()
            if mark[0] in " \t#":
                continue
            if len(self.frames) > MOST_PARTS or len(parts) > MOST_PARTS:
                raise _TooDeep(at)
            if is_key:
                if mark == "[" and not self.frames and not parts:
                    header, start = True, at
                elif mark == "]" and header:
                    self.tables = tuple(parts)
                    yield self.tables, start
                elif mark == "=" and parts:
                    base = self.frames[-1][1] if self.frames else self.tables
                    path, is_key = (*base, *parts), False
                    yield from ((path[: len(base) + n], start) for n in range(len(parts), 0, -1))
                elif mark == "\n":
                    parts, header = [], False
                elif mark == "}" and self.frames:
                    self.frames.pop()
                    parts, is_key = [], not self.frames
                elif mark not in ".[]{},":
                    start = start if parts or header else at
                    parts.append(_name(mark))
                continue
            if self.frames and self.frames[-1][0] == "[" and mark not in "\n,]":
                path = (*self.frames[-1][1], self.frames[-1][2])
                yield path, at
            if mark in "[{":
                self.frames.append([mark, path, 0])
                parts, is_key = [], mark == "{"
            elif mark in "]}" and self.frames:
                self.frames.pop()
            elif mark == "," and self.frames:
                self.frames[-1][2] += 1
                parts, is_key = [], self.frames[-1][0] == "{"
            elif mark == "\n" and not self.frames:
                parts, is_key, header = [], True, False


class _TooDeep(ValueError):
    """Keys or values lie too deep in one another. Its one argument is where."""


def _name(mark: str) -> str:
    """Return the name that a key is, without its quotes."""
    if mark[0] == "'":
        return mark[1:-1]
    if mark[0] != '"':
        return mark
    try:
        return str(tomllib.loads(f"key = {mark}")["key"])
    except ValueError:
        return mark


@dataclass(frozen=True)
class TomlValue(JsonValue):
    """A value of a TOML text that is asked for what it should be. ``path``: to it; ``source``: the text."""

    path: Keys = ()
    source: Source = Source("", "")

    def refuse(self, problem: str) -> NoReturn:
        """Raise :class:`ReadError` that says what is wrong here, with line and column."""
        where = self.source.where(self.path)
        words = (f" {key + 1}" if isinstance(key, int) else f".{key if key.isidentifier() else short_text(key)}"
                 for key in self.path)  # fmt: skip
        name = "".join(words).removeprefix(".")
        raise ReadError(f"{where}: {name}{': ' * bool(name)}{problem}.", remedy=self.remedy)

    def build(self, make: Callable[[], Built]) -> Built:
        """Return what ``make`` makes of this value; its complaint is one about this place."""
        try:
            return make()
        except AnonymizerError as error:
            problem = f"{self.source.where(self.path)}: {error.problem}"
            raise ReadError(problem, column=error.column, remedy=error.remedy or self.remedy) from error

    def field(self, name: str) -> "TomlValue":
        """Return a field of this table; one that is not there is absent."""
        return replace(self, value=self._object().get(name), path=(*self.path, name))

    def empty(self, name: str) -> "TomlValue":
        """Return an empty table in place of a field."""
        return replace(self, value={}, path=(*self.path, name))

    def fields(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the fields of this table by name; no others than ``names``, where these are given."""
        for name in self._object():
            if names is not None and name not in names:
                likely = get_close_matches(name, names, 1)
                more = f"did you mean {likely[0]}" if likely else f"use one of {', '.join(names)}"
                replace(self, path=(*self.path, name)).refuse(f"there is no such key here; {more}")
        return {name: self.field(name) for name in self._object()}

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.refuse(f"a table was expected, not {short_text(self.value)}")
        return self.value

    def items(self, most: int = 1_000_000, fewest: int = 0) -> list[Any]:
        """Return the items of this list."""
        if not isinstance(self.value, list) or not fewest <= len(self.value) <= most:
            self.refuse(f"a list of {fewest} to {most:,} was expected, not {short_text(self.value)}")
        return [replace(self, value=item, path=(*self.path, at)) for at, item in enumerate(self.value)]

    def text(self, longest: int = LONGEST_TEXT, *, fewest: int = 0, plain: bool = False) -> str:
        """Return this text. ``plain``: without line breaks and other characters that cannot be shown."""
        if not isinstance(self.value, str):
            self.refuse(f"a text was expected, in quotes, not {short_text(self.value)}")
        return super().text(longest, fewest=fewest, plain=plain)

    def end(self) -> float | str:
        """Return this end of a range: a number, or a day as ISO text."""
        if isinstance(self.value, datetime | date):
            return self.value.isoformat()
        return self.text(40) if isinstance(self.value, str) else self.number()


def parse(content: str | bytes, name: str, folder: Path | None = None) -> TomlValue:
    """Return the value of a TOML text. ``name``: what it is called; ``folder``: in which its file lies.

    Raises :class:`ReadError`, with line and column, for what is no TOML, is too large, or lies too deep.
    """
    if len(content) > MOST_BYTES:
        raise ReadError(f"{name} is larger than {MOST_BYTES >> 20} MiB.", remedy="Use a file that holds a plan.")
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1 if isinstance(content, bytes) else 1
        raise ReadError(f"{name}, line {line:,}: this is not text in UTF-8.", remedy="Save it in UTF-8.") from error
    source = Source(name, text.replace("\r\n", "\n"), folder)
    try:
        _ = source.places
        value = tomllib.loads(source.text)
    except _TooDeep as error:
        what = f"{source.at(error.args[0])}: more than {MOST_PARTS} keys or lists lie in one another."
        raise ReadError(what, remedy=REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise ReadError(_broken(source, str(error)), remedy=REMEDY) from error
    return TomlValue(value, "", "plan", REMEDY, (), source)


def _broken(source: Source, message: str) -> str:
    """Return where and why a text is no TOML. ``message``: of the standard library."""
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if place is None:
        return f"{source.name} is no TOML that can be read."
    what = message[: place.start()]
    what = what[0].lower() + what[1:] if what[1:2].islower() else what
    if place[1] is None:
        return f"{source.at(len(source.text))}: {what}."
    return f"{source.name}, line {int(place[1]):,}, column {int(place[2]):,}: {what}."
