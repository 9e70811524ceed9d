"""What changed between two plans, in sentences."""

from collections.abc import Collection, Mapping
from typing import Any

from anonymizer.gate.finding import name_of_key
from anonymizer.plan.plan import Plan
from anonymizer.plan.sections import COLUMN, PARTS
from anonymizer.settings import PARTS as SETTING_PARTS
from anonymizer.settings import Settings, setting_names

LONGEST = 60
KEYS = {"ordered": "natural order", "same_ids": "likeness of ids", "nobody": "ids of nobody"}
"""What keys of a column are called in sentences, where not by themselves."""
WORDS = {
    "release": "what [release] says of {}",
    "reading": "how the file is read, {}",
    "population": "what is known of the population, {}",
    "texts": "the text for reports, {}",
}
"""What is said of a key of a section."""


def differences(before: Plan, after: Plan) -> tuple[str, ...]:
    """Return what is decided otherwise in the second of two plans, a sentence each: columns, target, limits and
    method, answers, and where things are. A value that is not said is the usual one."""
    sentences = _columns(before, after)
    if before.target != after.target:
        sentences.append(_sentence("the target", after.target, before.target))
    old, new = Settings(**before.settings), Settings(**after.settings)
    assert set(SETTING_PARTS) == {part for parts in PARTS.values() for part in parts}
    for name in setting_names(*SETTING_PARTS):
        if old[name] != new[name]:
            sentences.append(_sentence(name, new[name], old[name]))
    columns = {*before.columns, *after.columns}
    first, second = (_by_name(plan.answers, columns) for plan in (before, after))
    for name in dict.fromkeys((*first, *second)):
        if first.get(name) != second.get(name):
            sentences.append(_answer(name, first.get(name), second.get(name)))
    for part, words in WORDS.items():
        old_part, new_part = getattr(before, part), getattr(after, part)
        sentences += [
            _sentence(words.format(key), new_part.get(key), old_part.get(key))
            for key in dict.fromkeys((*old_part, *new_part))
            if old_part.get(key) != new_part.get(key)
        ]
    return tuple(_visible(one if one[1] == " " else one[0].upper() + one[1:]) for one in sentences)


def _visible(sentence: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in sentence)


def _columns(before: Plan, after: Plan) -> list[str]:
    sentences = []
    for name in dict.fromkeys((*before.columns, *after.columns)):
        old: Mapping[str, Any] | None = before.columns.get(name)
        new: Mapping[str, Any] | None = after.columns.get(name)
        if new is None:
            sentences.append(f"column {name!r} is gone; it was {(old or {})['role']}.")
        elif old is None:
            sentences.append(f"column {name!r} is new: {new['role']}.")
        else:
            sentences += [
                _sentence(f"the {KEYS.get(key, key)} of {name!r}", new.get(key), old.get(key))
                for key in COLUMN
                if new.get(key) != old.get(key)
            ]
    return sentences


def _by_name(answers: Mapping[str, str], columns: Collection[str]) -> dict[str, str]:
    """Return answers by the names of their findings: a key changes with a figure, and its finding is the same."""
    texts: dict[str, list[str]] = {}
    for key, text in answers.items():
        texts.setdefault(name_of_key(key, columns), []).append(text)
    return {name: " ".join(dict.fromkeys(own)) for name, own in texts.items()}


def _answer(key: str, before: str | None, after: str | None) -> str:
    if after is None:
        return f"{key!r} is no longer answered."
    return f"{key!r} is answered{' in other words' * (before is not None)}: {after}"


def _sentence(what: str, after: Any, before: Any) -> str:
    return f"{what} is {_words(after)}; it was {_words(before)}."


def _words(value: Any) -> str:
    """Return a value in a sentence, cut where it is long."""
    if value is None or value in ("", ()):
        return "not said"
    if isinstance(value, tuple):
        text = ", ".join(map(str, value))
    else:
        text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
