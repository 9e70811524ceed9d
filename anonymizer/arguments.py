"""What public functions are given, looked at in one place: each argument is taken as what its parameter is declared to
be, or refused in one sentence that says which it is and what to do."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import wraps
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, BinaryIO, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from anonymizer.errors import ParameterError, SchemaError, extras_by_name
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import columns_without_role, with_natural_orders
from anonymizer.result import Result
from anonymizer.schema import ONCE, Role, Schema, check_values
from anonymizer.tables import frame_of, kind_text, remedy_for
from anonymizer.values import plural

P = ParamSpec("P")
R = TypeVar("R")

DESCRIBE = "Make one: Schema.of(table, quasi_identifying=[...], sensitive=[...]), or suggest(table)."
FRAMES = {"table", "frame", "released", "original", "population"}
"""Parameters whose tables are looked at whole; ``columns`` says which columns matter."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that takes each argument as what its parameter is declared to be.

    A table is whatever :func:`anonymizer.tables.frame_of` takes, or a :class:`Reading`; a schema may be a dictionary of
    roles, a generator a seed, a list of columns a single name. Raises :class:`ParameterError` for an argument that is
    none of what is declared, one that is missing or one too many, and :class:`SchemaError` for tables and schemas.
    """
    own, is_open = inspect.signature(function), bool(function.__code__.co_flags & inspect.CO_VARKEYWORDS)

    @wraps(function)
    def call(*arguments: P.args, **words: P.kwargs) -> R:
        values = bind(function.__name__, own, is_open, arguments, words)
        hints = hints_of(function)
        kind = type(values["table"]) if "table" in values else None
        if isinstance(reading := values.get("table"), Reading):  # with all that the file says of the table
            beside = {"reading": reading, "variables": reading.variables}
            values = {name: value for name, value in beside.items() if name in hints} | values
        for name in sorted(values, key=lambda name: name not in FRAMES):  # tables first: schemas speak of them
            if name in hints:
                values[name] = taken_as(values[name], hints[name], Place(function.__name__, name, values))
        with extras_by_name():
            answer = function(**values)  # type: ignore[call-arg]
        if isinstance(answer, Result) and kind is not None:
            return replace(answer, came_as=kind)
        return answer

    return call


def bind(
    name: str, own: inspect.Signature, is_open: bool, arguments: Sequence[Any], words: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call of a function by the name of their parameter. Raises :class:`ParameterError` for
    one that is unknown, unless others are open to it, one that is missing, or there twice."""
    parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    plain = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(arguments) > len(plain):
        only = ", ".join(plain) or "nothing"
        raise ParameterError(f"{name}() takes {only} without a name.", remedy="Name every other argument, as in k=10.")
    names = [one.name for one in parameters]
    if unknown := [] if is_open else [word for word in words if word not in names]:
        raise ParameterError(f"{name}() has no argument {unknown[0]!r}.", remedy=near_text(unknown[0], names))
    values = dict(zip(plain, arguments, strict=False))
    if twice := [word for word in words if word in values]:
        raise ParameterError(f"{name}() is given {twice[0]!r} twice.", remedy="Give it once.")
    values |= words
    lacks = [one.name for one in parameters if one.default is one.empty and one.name not in values]
    if lacks:
        remedy = DESCRIBE if "schema" in lacks else f"Give {'it' if len(lacks) == 1 else 'them'}: see help({name})."
        raise ParameterError(f"{name}() lacks {' and '.join(lacks)}.", remedy=remedy)
    return values


def near_text(word: str, names: Iterable[str]) -> str:
    """Return what else may be meant by a word: the names that are nearly spelled so, or all of them."""
    names = list(names)
    near = get_close_matches(word, names, 3, 0.6)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"Choose among {', '.join(names[:60])}."


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what each parameter of a function is declared to be; nothing where that cannot be told."""
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {
            name: one for name, one in vars(function).get("__annotations__", {}).items() if not isinstance(one, str)
        }


class Place(NamedTuple):
    """Where an argument stands: of which function, its name, and the others by name."""

    function: str
    name: str
    others: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The place in words."""
        return f"{self.name!r} of {self.function}()"


def taken_as(value: Any, hint: Any, place: Place) -> Any:
    """Return a value as what a parameter is declared to be. Raises :class:`ParameterError` for any other."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for kind in kinds:
        if kind is pd.DataFrame and is_table(value):
            return table_of(value, place)
        if get_args(kind) == (str,) and get_origin(kind) in (Sequence, Collection) and value is not None:
            return names_of(value, place)
    if is_any_of(value, hint):
        return value
    for kind in kinds:
        if (take := TAKES.get(kind if get_origin(kind) is None else (get_origin(kind), *get_args(kind)))) is not None:
            return take(value, place)
        if get_origin(kind) is Sequence and is_any_of(value, get_args(kind)[0]):
            return [value]
    words = " or ".join(dict.fromkeys(kind_words(kind) for kind in kinds if kind is not NoneType))
    remedy = (
        "It is a table already: use it as it is." if is_table(value) and place.name == "source" else remedy_of(kinds)
    )
    raise ParameterError(
        f"{place.text} is {kind_text(value)}, not {words}.", remedy=remedy or f"See help({place.function})."
    )


def is_any_of(value: Any, hint: Any) -> bool:
    """Return True when a value is of one of the kinds that are declared."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return any(is_a(value, kind) for kind in kinds)


def is_table(value: Any) -> bool:
    """Return True for a table of any kind, or a reading of one."""
    return isinstance(value, pd.DataFrame | Reading) or hasattr(value, "__arrow_c_stream__") or is_batch(value)


def is_batch(value: Any) -> bool:
    """Return True for a batch of rows of Arrow; an array has the same capsule, and no columns."""
    return hasattr(value, "__arrow_c_array__") and hasattr(value, "num_columns")


def is_a(value: Any, kind: Any) -> bool:
    """Return True when a value is of a declared kind; what is no class is not looked into."""
    origin = get_origin(kind) or kind
    if origin is Any or isinstance(kind, TypeVar):
        return True
    if origin is Callable:
        return callable(value)
    if origin is BinaryIO:
        return hasattr(value, "read")
    if not isinstance(origin, type):
        return True
    if getattr(origin, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(origin) if not name.startswith("_"))
    if origin in (Sequence, Collection, Iterable, list, tuple):
        return isinstance(value, origin) and not isinstance(value, str | bytes)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if origin is bool:
        return isinstance(value, bool | np.bool_)
    if origin is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if origin is float:
        return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return isinstance(value, origin)


def kind_words(kind: Any) -> str:
    """Return a declared kind in words, with its article."""
    origin = get_origin(kind) or kind
    plain = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", pd.DataFrame: "a table",
             Path: "a path", PathLike: "a path", np.ndarray: "an array", Callable: "a function", bytes: "bytes",
             bytearray: "bytes", memoryview: "bytes", BinaryIO: "an open file"}  # fmt: skip
    if origin in plain:
        return plain[origin]
    if origin in (Sequence, Collection, Iterable, list, tuple):
        return "a list"
    if origin is Mapping:
        return "a dictionary"
    name = getattr(origin, "__name__", str(origin))
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


MAKERS = {
    "Schema": DESCRIBE, "EncodedTable": "encode(table, schema) makes one.", "Tree": "grow(encoded) makes one.",
    "NodeRisk": "annotate(tree, encoded) makes one.", "Pruning": "prune(tree, risk) makes one.",
    "PrunedTree": "prune(tree, risk) makes one.", "Release": "generalize(...) makes one, or anonymize(...).release.",
    "Reading": "read_table(path) makes one.", "Ledger": "Ledger.open(name) makes one.",
    "DataFrame": "Use a DataFrame of pandas or polars, a table of Arrow, or a relation of DuckDB.",
}  # fmt: skip
"""What makes the things that functions take, by the name of their class."""


def remedy_of(kinds: Iterable[Any]) -> str:
    """Return what to do where an argument should be of some kinds; nothing where no function makes one."""
    names = [getattr(get_origin(kind) or kind, "__name__", "") for kind in kinds]
    return next((MAKERS[name] for name in names if name in MAKERS), "")


def table_of(value: Any, place: Place) -> pd.DataFrame:
    """Return a table of pandas. Raises :class:`SchemaError` for what is no table, and for cells that are lists or
    records, in those columns that matter."""
    if isinstance(value, Reading):
        return value.frame
    frame = frame_of(value, place.name)
    names = place.others.get("columns")
    check_values(frame, None if not isinstance(names, list | tuple) else names)
    return frame


def schema_from(value: Any, place: Place) -> Schema:
    """Return a schema from a dictionary of roles: by column, or of columns by role; every other column is kept if it
    looks harmless. Raises :class:`SchemaError` for a role that is none, and for anything else."""
    if not isinstance(value, Mapping) or not value:
        what = (
            "A list of names says no roles"
            if isinstance(value, list | tuple)
            else f"{place.text} is {kind_text(value)}"
        )
        raise SchemaError(f"{what}, and {place.function}() takes a Schema.", remedy=DESCRIBE)
    table = next((place.others[name] for name in ("table", "released", "original") if name in place.others), None)
    if not isinstance(table, pd.DataFrame):
        raise SchemaError(f"{place.text} is {kind_text(value)}, not a Schema.", remedy=DESCRIBE)
    columns = set(map(str, table.columns))
    lists: dict[Role, list[str]] = {}
    if not set(value) & columns:
        for word, names in value.items():
            lists[role_of(word, None)] = names_of(names, place)
    else:
        for name, word in value.items():
            lists.setdefault(role_of(word, name), []).append(name)
    by_name: dict[str, Any] = {role.value.replace("-", "_"): names for role, names in lists.items()}
    return schema_of_roles(table, **by_name)


def role_of(word: Any, column: Any) -> Role:
    """Return the role that a word names. Raises :class:`SchemaError` for any other, with the roles that are nearly
    spelled so."""
    if isinstance(word, Role):
        return word
    text = str(word).strip().lower().replace("_", "-").replace(" ", "-") if isinstance(word, str) else ""
    if text in list(Role):
        return Role(text)
    if not isinstance(word, str):
        raise SchemaError(f"A role is a text, not {kind_text(word)}.", remedy=f"Choose among {', '.join(Role)}.")
    near = [role.value for role in Role if text and role.value.startswith(text)] or get_close_matches(
        text, [*map(str, Role)]
    )
    remedy = f"Did you mean {near[0]!r}?" if near else f"Choose among {', '.join(Role)}."
    where = "" if column is None else f" of column {column!r}"
    raise SchemaError(f"The role{where} is none that there is.", column=column, value=word, remedy=remedy)


def schema_of_roles(
    table: pd.DataFrame, *, insensitive: Sequence[str] = (), target: str | None = None, **roles: Any
) -> Schema:
    """Return the schema of a table from its columns by role, with levels in their natural order. ``insensitive``:
    columns that are released as they are.

    Raises :class:`SchemaError` for a column that nobody named and that looks as if it told people apart.
    """
    several = [role.value for role in ONCE if len(roles.get(role.value) or ()) > 1]
    if several:
        raise SchemaError(f"Only one column can be the {several[0]}.", remedy="Make the others identifying.")
    single = {role.value: roles.pop(role.value)[0] for role in ONCE if roles.get(role.value)}
    schema = Schema.of(table, **{"quasi_identifying": (), **roles, **single}, target=target)
    schema = with_natural_orders(schema, table)
    if looks := columns_without_role(table, schema, insensitive):
        reasons = "; ".join([*looks.values()][:5]) + (f"; and {len(looks) - 5:,} more" if len(looks) > 5 else "")
        have = plural(len(looks), "column has no role", "columns have no role")
        what = f"{have} and would be released unchanged: {reasons}."
        remedy = f"Give them roles, or keep them as they are: insensitive={[*looks]!r}."
        raise SchemaError(what, column=next(iter(looks)), remedy=remedy)
    return schema


def names_of(value: Any, place: Place) -> list[str]:
    """Return names of columns: a single one is a list of it. Raises :class:`ParameterError` for what is none."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, np.ndarray | pd.Index | set | frozenset):
        names = sorted(names) if isinstance(names, set | frozenset) else list(names)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        remedy = 'Write them as ["age", "sex"].'
        raise ParameterError(f"{place.text} is {kind_text(value)}, not names of columns.", remedy=remedy)
    return list(names)


def rng_of(value: Any, place: Place) -> np.random.Generator:
    """Return a generator of random numbers, from a seed too. Raises :class:`ParameterError` for anything else."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    remedy = "Use numpy.random.default_rng(seed), or a whole number as the seed."
    raise ParameterError(f"{place.text} is {kind_text(value)}, not a generator of random numbers.", remedy=remedy)


def array_of(value: Any, place: Place) -> Any:
    """Return a list of numbers as an array. Raises :class:`ParameterError` for anything else."""
    if isinstance(value, list | tuple | pd.Series | pd.Index):
        return np.asarray(value)
    raise ParameterError(f"{place.text} is {kind_text(value)}, not an array.", remedy="Use numpy.asarray(...).")


def no_table(value: Any, place: Place) -> Any:
    """Raise :class:`SchemaError`: a table is declared, and this is none."""
    raise SchemaError(f"{place.text} is {kind_text(value)}, not a table.", value=None, remedy=remedy_for(value))


TAKES: dict[Any, Callable[[Any, Place], Any]] = {
    pd.DataFrame: no_table, Schema: schema_from, np.random.Generator: rng_of, (Sequence, str): names_of,
    (Collection, str): names_of, np.ndarray: array_of,
}  # fmt: skip
"""What is made of a value that is not of the kind that is declared, by that kind."""
