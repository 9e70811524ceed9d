"""What was typed goes before a plan, a project, a schema, a codebook and a report, whatever its value; and it is said.

An option counts as typed when it stands on the command line, also where its value is the one that it has when nothing
is said.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from anonymizer.cuts import Cuts
from anonymizer.errors import SchemaError
from anonymizer.schema import ONCE, Role, Schema
from anonymizer.settings import AT_MOST

ONCE_OPTIONS = dict(zip(("person", "sampling_weight", "household", "stratum"), ONCE, strict=True))
"""The options that name one column each, by their role."""
ROLE_OPTIONS = {
    "quasi_identifying": Role.QUASI_IDENTIFYING, "sensitive": Role.SENSITIVE, "identifying": Role.IDENTIFYING,
    "keep": Role.INSENSITIVE, **ONCE_OPTIONS,
}  # fmt: skip
"""Every option that gives columns a role."""
READING = {
    name: {"not_missing": "keep"}.get(name, name)
    for name in (
        "delimiter", "encoding", "decimal", "sheet", "header", "missing", "not_missing", "dates", "as_text",
        "as_numbers", "skip",
    )
}  # fmt: skip
"""The options that say how a file is read, with what they are of :class:`ReadOptions`."""


def in_words(value: Any) -> str:
    """Return a value of an option in a sentence."""
    if value is None or value in ((), [], ""):
        return "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def say(sentence: str) -> str:
    """Print a sentence on what was typed to standard error, and return it."""
    sentence = "".join(letter if letter.isprintable() else "?" for letter in sentence)
    print(sentence, file=sys.stderr)
    return sentence


def say_instead(name: str, value: Any, other: Any, whose: str, more: str = "") -> str:
    """Say that an option goes before another value of the same, and return the sentence. ``whose``: that one is."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return say(f"--{'' if value else 'no-'}{option} instead of what the {whose} says.")
    return say(f"--{option} {in_words(value)} instead of the {whose}'s {in_words(other)}{more}.")


def typed_values(options: argparse.Namespace, others: Mapping[str, Any], whose: str) -> dict[str, Any]:
    """Return the values among ``others`` that were typed, by name, and say those that are not the same."""
    typed = {name: getattr(options, name) for name in others if name in options.typed}
    for name, value in typed.items():
        if value != others[name]:
            say_instead(name, value, others[name], whose)
    return typed


def typed_roles(options: argparse.Namespace) -> dict[str, Role]:
    """Return the roles that were typed, by column. Raises :class:`SchemaError` for a column that was given two."""
    roles: dict[str, Role] = {}
    for option, role in ROLE_OPTIONS.items():
        value = getattr(options, option, None) if option in options.typed else None
        for name in [value] if isinstance(value, str) else value or ():
            if roles.setdefault(name, role) is not role:
                raise SchemaError(
                    f"Column {name!r} was given two roles: {roles[name]} and {role}.",
                    column=name,
                    remedy="Give it one.",
                )
    return roles


def with_typed(schema: Schema, options: argparse.Namespace, whose: str) -> Schema:
    """Return a schema from elsewhere with the roles, kinds and target that were typed, and say what they replace.

    ``whose`` the schema is, in a word. Raises :class:`SchemaError` for a column that it does not have.
    """
    roles, kinds = typed_roles(options), options.kinds if "kinds" in options.typed else {}
    for name in (*roles, *kinds):
        schema[name]
    new = schema.with_roles(roles)
    for name, kind in kinds.items():
        if new[name].kind != kind:
            bare: dict[str, Any] = {"domain": None, "ordered": False, "grid": None, "groups": None, "cuts": Cuts()}
            new = new.with_column(name, kind=kind, **bare)
    if "target" in options.typed:
        new = new.with_target(options.target)
    for before, after in zip(schema.columns, new.columns, strict=True):
        for now, then in ((after.role, before.role), (after.kind, before.kind)):
            if now is not then:
                say(f"Column {after.name!r} is {now} instead of the {whose}'s {then}.")
    if "target" in options.typed and new.target != schema.target:
        say_instead("target", new.target, schema.target, whose)
    return new


def typed_limits(
    options: argparse.Namespace, plain: Mapping[str, Any], stated: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the limits that a release is held to, and a sentence on each that is not the report's.

    ``plain``: every limit as the options have it, typed or not; ``stated``: by the report, ``None`` without one. A
    limit that was typed goes before the report's.
    """
    limits, sentences = {**plain, **(stated or {})}, []
    for name in stated or ():
        value, other = plain[name], limits[name]
        if name in options.typed and value != other:
            smaller = other is not None and value < other
            more = ", which is stricter" if other is None or smaller == (name in AT_MOST) else ", which is looser"
            sentences.append(say_instead(name, value, other, "report", more))
            limits[name] = value
    return limits, sentences
