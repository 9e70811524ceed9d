"""The sections of a plan: which keys each may have, and what their values may be. Reader and writer know them by this.

The keys are the words of the command line, with an underscore where an option has a hyphen.
"""

from collections.abc import Callable, Mapping
from typing import Any

from anonymizer.hierarchy import MOST_LEVELS, MOST_VALUES
from anonymizer.json_value import JsonValue, short_text
from anonymizer.plan.columns import visible
from anonymizer.plan.toml_text import TomlValue
from anonymizer.reading.options import MOST_SKIPPED
from anonymizer.schema import LONGEST_REASON, LONGEST_TREAT, Kind, Role
from anonymizer.settings import SETTINGS, setting_names

LAYOUT = 1
"""Version of the file's layout."""
ENGINES = ("memory", "local", "dask")
"""Where a run takes place."""
LONGEST_COMMENT = 5_000
MOST_TEXTS = 2_000

Look = Callable[[TomlValue], Any]
"""Returns a value as a plan holds it, or raises :class:`ReadError`."""


def text(value: TomlValue, longest: int = LONGEST_COMMENT) -> str:
    """Return this text, which may have several lines, and nothing that a terminal would obey."""
    own = value.text(longest)
    if own != visible(own):
        value.refuse("it holds characters that cannot be shown")
    return own


def texts(value: TomlValue) -> tuple[str, ...]:
    """Return this list of texts."""
    return tuple(item.text() for item in value.items(MOST_TEXTS))


def levels(value: TomlValue) -> tuple[str, ...]:
    """Return this list of levels, one at least."""
    return tuple(item.text() for item in value.items(MOST_VALUES, 1))


def numbers(value: TomlValue) -> tuple[float, ...]:
    """Return this list of numbers."""
    return tuple(item.number() for item in value.items(MOST_TEXTS))


def ends(value: TomlValue) -> tuple[Any, ...]:
    """Return the two ends of a range, or the step and the origin of a grid."""
    return tuple(item.end() for item in value.items(2, 2))


def lists(value: TomlValue) -> tuple[tuple[str, ...], ...]:
    """Return this list of lists of texts."""
    return tuple(tuple(item.text() for item in own.items(MOST_VALUES, 1)) for own in value.items(MOST_VALUES, 1))


def hierarchy(value: TomlValue) -> str | tuple[tuple[str, ...], ...]:
    """Return this hierarchy: the path of its file in ARX's form, or its rows."""
    if isinstance(value.value, str):
        return value.text()
    rows = value.items(MOST_VALUES, 1)
    return tuple(tuple(word.text() for word in row.items(MOST_LEVELS + 1, 1)) for row in rows)


READING: Mapping[str, Look] = {
    "delimiter": text, "encoding": text, "decimal": text, "sheet": text, "header": TomlValue.flag, "missing": texts,
    "not_missing": texts, "dates": text, "as_text": texts, "as_numbers": texts,
    "skip": lambda value: value.whole(0, MOST_SKIPPED),
}  # fmt: skip
"""How the file is read, by the option that says so."""
RELEASE: Mapping[str, Look] = {
    **dict.fromkeys(("input", "out", "report", "packet", "internal_packet", "internal", "external"), text),
    **dict.fromkeys(("ledger", "to"), text),
    "earlier": texts, "keep_earlier": TomlValue.flag, "engine": lambda value: value.one_of(ENGINES),
}  # fmt: skip
"""From where the table comes, where releases go, and with which others they are counted."""
PATHS = (
    "input",
    "out",
    "report",
    "packet",
    "internal_packet",
    "internal",
    "external",
    "ledger",
    "earlier",
    "population",
)
"""What names files; a path is one from the folder of the plan."""
POPULATION: Mapping[str, Look] = {"population": text, "fraction": TomlValue.number}
"""What is known of the population."""
REPORT: Mapping[str, Look] = dict.fromkeys(("purpose", "recipient", "basis", "prepared_by"), text)
"""Texts for the reports."""
COLUMN: Mapping[str, Look] = {
    "role": lambda value: value.one_of(list(Role)),
    "kind": lambda value: value.one_of(list(Kind)),
    "reason": lambda value: text(value, LONGEST_REASON),
    "range": ends,
    "levels": levels,
    "ordered": TomlValue.flag,
    "grid": ends,
    "groups": lists,
    "bands": numbers,
    "bottom": TomlValue.number,
    "top": TomlValue.number,
    "round": TomlValue.number,
    "hierarchy": hierarchy,
    "treat": lambda value: value.text(LONGEST_TREAT),
    "importance": TomlValue.number,
    "same_ids": TomlValue.flag,
    "nobody": texts,
    "harmless": texts,
}
"""What is decided of a column."""
PARTS = {"limits": ("limit", "attackers"), "method": ("tree", "cells", "file", "analysis")}
"""The parts of the settings that stand in each section."""
ALWAYS = ("k", "grouping", "generalizer", "criterion")
"""Settings that a plan says though they are the usual ones, which another version may change."""
SECTIONS = ("layout", "copse", "target", "release", "reading", "columns", *PARTS, "population", "report", "answers")


def setting_in(name: str, value: JsonValue) -> Any:
    """Return the value of a setting. Raises :class:`ReadError` for one that it cannot have."""
    setting = SETTINGS.get(name)
    if setting is None:
        value.refuse("there is no such choice")
    if not setting.allows(name, value.value):
        value.refuse(f"{setting.range_text(name)} was expected, not {short_text(value.value)}")
    return value.value


def settings_in(plan: TomlValue) -> dict[str, Any]:
    """Return the settings that a plan says, by name."""
    settings: dict[str, Any] = {}
    for section, parts in PARTS.items():
        own = section_in(plan, section)
        others = {name: other for other, names in PARTS.items() for name in setting_names(*names) if other != section}
        for name, value in own.fields().items():
            if name in others:
                value.refuse(f"it stands in [{others[name]}]")
        settings |= {name: setting_in(name, value) for name, value in own.fields(setting_names(*parts)).items()}
    return settings


def section_in(plan: TomlValue, name: str) -> TomlValue:
    """Return a section of a plan; one that is not there is an empty table."""
    section = plan.field(name)
    return plan.empty(name) if section.absent else section


def looked_up(section: TomlValue, looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return the values of a section by key."""
    return {name: looks[name](value) for name, value in section.fields(tuple(looks)).items()}
