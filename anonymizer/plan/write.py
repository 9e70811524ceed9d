"""A plan as TOML: written anew, or into the text that it was read from, so that comments stay where they stand."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, Table

from anonymizer.plan.toml_text import Keys

LONG = 100
"""Letters of a list from which each item stands on a line of its own."""
LONGEST_COMMENT = 90


def text_of(
    sections: Mapping[str, Any], before: str = "", comments: Mapping[Keys, str] | None = None, head: Sequence[str] = ()
) -> str:
    """Return the TOML of the sections of a plan.

    ``before``: the text that it changes, of which comments, order and blank lines stay; where that text is laid out in
    a way that cannot be changed key by key, it is written anew. ``comments``: by path, behind values; ``head``: lines
    of a comment above it all.
    """
    sections = _lists(sections)
    if before:
        text = _changed(sections, before)
        if text:
            return text
    document = tomlkit.document()
    for line in head:
        document.add(tomlkit.comment(line))
    if head:
        document.add(tomlkit.nl())
    _fill(document, sections, (), comments or {})
    return tomlkit.dumps(document)


def _changed(sections: Mapping[str, Any], before: str) -> str:
    """Return a text with other sections, "" where that cannot be done key by key."""
    try:
        document = tomlkit.parse(before)
        _update(document, sections)
        text = tomlkit.dumps(document)
        return text if tomllib.loads(text) == sections else ""
    except (TOMLKitError, ValueError, RecursionError, KeyError, AttributeError):
        return ""


def _update(table: Any, values: Mapping[str, Any]) -> None:
    """Make a table of a document hold these values, and no others."""
    for name in [name for name in table if name not in values]:
        del table[name]
    for name, value in values.items():
        if name not in table:
            table[name] = _item(value)
        elif isinstance(value, Mapping):
            _update(table[name], value)
        elif not _is_same(table[name], value):
            table[name] = _item(value)


def _is_same(item: Any, value: Any) -> bool:
    """Return whether an item of a document is this value, days and texts of days being the same."""
    own = item.unwrap() if hasattr(item, "unwrap") else item
    return bool(own == value) and isinstance(own, bool) is isinstance(value, bool)


def _fill(table: Any, values: Mapping[str, Any], path: Keys, comments: Mapping[Keys, str]) -> None:
    for name, value in values.items():
        here = (*path, name)
        if isinstance(value, Mapping):
            is_super = bool(value) and all(isinstance(one, Mapping) for one in value.values())
            own = tomlkit.table(is_super_table=is_super)
            _fill(own, value, here, comments)
            table.append(tomlkit.key(name), own)
            continue
        item = _item(value)
        if comment := " ".join("".join(map(_visible, comments.get(here, ""))).split()):
            item.comment(comment if len(comment) <= LONGEST_COMMENT else comment[: LONGEST_COMMENT - 1] + "…")
        table.append(tomlkit.key(name), item)


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else " "


def _item(value: Any) -> Item:
    """Return a value as it stands in a document."""
    if isinstance(value, Mapping):
        table: Table = tomlkit.table()
        _fill(table, value, (), {})
        return table
    item: Any = tomlkit.item(value)
    if isinstance(value, list) and len(item.as_string()) > LONG:
        item.multiline(True)
    return cast(Item, item)


def _lists(value: Any) -> Any:
    """Return a value with lists in place of tuples."""
    if isinstance(value, Mapping):
        return {name: _lists(own) for name, own in value.items()}
    return [_lists(own) for own in value] if isinstance(value, tuple | list) else value
