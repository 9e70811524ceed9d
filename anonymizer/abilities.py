"""What each engine can do, as data; and the sentence that says what one cannot, before anything is read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from anonymizer.errors import ParameterError
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.recipe import fitting_groupings
from anonymizer.reading.files import IN_PIECES, endings
from anonymizer.schema import Schema
from anonymizer.settings import OF_POPULATION, Settings


@dataclass(frozen=True)
class Abilities:
    """What an engine can do. ``words``: how it is chosen; ``only``: of some settings the names that it can do, of the
    others all; ``never``: of a setting the names that it cannot, and of other choices those that it does not take."""

    words: str
    only: Mapping[str, tuple[str, ...]]
    never: Mapping[str, tuple[str, ...]]


AS_ONE = ("suppression", "regression", "cuts", "treat", "population")
ENGINES: dict[str, Abilities] = {
    "memory": Abilities(
        "--engine memory, with a file as --out", {}, {"source": ("files", "address", "memory address")}
    ),
    "local": Abilities(
        "--engine local",
        {"generalizer": ("uniform", "refine", "pack", "polish", "tiered-strict", "pack-persons")},
        {"choice": AS_ONE, "source": ("format",)},
    ),
    "dask": Abilities(
        "--engine dask",
        {"generalizer": ("uniform", "refine", "pack"), "order": ("content",), "sets": ("full",)},
        {
            "choice": AS_ONE, "source": ("format", "memory address"),
            "criterion": ("blend", "in-order"), "grouping": ("median-mondrian",),
        },
    ),
}  # fmt: skip
"""Each engine by its name. Entries from outside are done by all engines, but for generalizers: whether the boxes of one
share records is known of ours alone."""

CHOICES = {
    "suppression": ("Leaving rows out", "leave the suppression out"),
    "regression": ("A regression to compare", "leave the regression out"),
    "cuts": ("A column with public cuts", "leave the public cuts out"),
    "treat": ("A treated column", "leave the treatment out"),
    "population": ("A limit on the risk in a population", "leave the limits of the population out"),
}
"""What other choices are called, and how to do without."""
SOURCES = {
    "files": ("A table in a folder or many files", "use it as one file"),
    "address": ("A table at an address", "open it as a file here"),
    "memory address": ("A table at memory://", "use it as files in a folder that every worker sees"),
    "format": ("A file that is neither Parquet nor delimited text", "save it as Parquet"),
}
"""What tables are called by where they are, and what else can be brought."""
PLACES = {
    ("memory",): "one table in memory",
    ("memory", "local"): "one machine",
    ("local", "dask"): "work in pieces",
    ("local",): "one process that works in pieces",
}
"""What something takes, by the engines that can do it."""


class Need(NamedTuple):
    """Something that an engine has to be able to do: of a setting, a choice or a source, the name; its ``words``; how
    to do ``without``, where that is no other name of a setting."""

    kind: str
    name: str
    words: str
    without: str = ""


def can(engine: str, need: Need) -> bool:
    """Return whether an engine can do something."""
    if need.kind == "option":
        return engine == "memory"
    able = ENGINES[engine]
    only = able.only.get(need.kind)
    return (only is None or need.name in only) and need.name not in able.never.get(need.kind, ())


def fits(engine: str, setting: str, value: Any) -> bool:
    """Return whether an engine can do a value of a setting."""
    name = "population" if setting in OF_POPULATION else setting
    return not value or can(engine, Need("choice" if name in CHOICES else name, name if name in CHOICES else value, ""))


def source_of(source: str | Path) -> str:
    """Return where a table is, by its name alone: "files", "address", "memory address", a file of another "format", or
    a "file"."""
    text = str(source)
    protocol, colon, _ = text.partition("://")
    if colon and protocol != "file":
        return "memory address" if protocol == "memory" else "address"
    path = Path(text)
    if path.is_dir() or (not path.exists() and any(letter in text for letter in "*?[")):
        return "files"
    ending = PurePosixPath(text.lower().removesuffix(".gz")).suffix[1:]
    return "format" if ending in {*endings()} - {*IN_PIECES, "gz"} else "file"


def needs_of(
    settings: Settings, schema: Schema | None, source: str | Path | None, options: Collection[str]
) -> list[Need]:
    """Return what a run needs of its engine. ``options``: of the command line, which take one table in memory."""
    s = settings
    needs: list[Need] = []
    names: dict[str, Any] = {"generalizer": s.generalizer, "order": s.order, "grouping": s.grouping, "sets": s.sets}
    if s.grouping not in MONDRIAN:  # else the criterion is its own
        names["criterion"] = s.criterion
    words = {"order": "The order {!r}", "sets": "A short name of a long set"}
    needs += [Need(kind, name, words.get(kind, "{!r}").format(name)) for kind, name in names.items() if name]
    choices = {
        "suppression": s.suppression, "regression": s.regression, "population": s.limits.of_population,
        "cuts": schema is not None and any(column.cuts for column in schema.columns),
        "treat": schema is not None and any(column.treat for column in schema.columns),
    }  # fmt: skip
    needs += [Need("choice", name, *CHOICES[name]) for name, is_on in choices.items() if is_on]
    needs += [Need("option", name, name, f"leave {name} out") for name in options]
    where = "file" if source is None else source_of(source)
    return needs + [Need("source", where, *SOURCES.get(where, ("A file", "")))]


def require(
    engine: str,
    settings: Settings,
    schema: Schema | None = None,
    source: str | Path | None = None,
    options: Collection[str] = (),
) -> None:
    """Raise :class:`ParameterError` for what an engine cannot do: what that takes, and what to choose in its place.

    ``schema``, ``source``: as far as they are known; ``options``: of the command line, that take one table in memory.
    """
    if engine not in ENGINES:
        raise ParameterError(f"There is no engine {engine!r}.", value=engine, remedy=f"Choose {either(list(ENGINES))}.")
    needs = needs_of(settings, schema, source, options)
    unable = [need for need in needs if not can(engine, need)]
    if not unable:
        return
    first = unable[0]
    places = tuple(name for name in ENGINES if can(name, first))
    others = [ENGINES[name].words for name in ENGINES if all(can(name, need) for need in needs)]
    if not others and all(can("memory", need) for need in needs if need.kind != "source"):
        others = ["one file that is here, and " + ENGINES["memory"].words]
    ways = [f"choose {either(others)}"] if others else []
    ways.append(" and ".join(instead(engine, need, schema) for need in unable))
    remedy = "; or ".join(ways)
    raise ParameterError(
        f"{first.words} takes {PLACES[places]}.", value=first.name, remedy=f"{remedy[0].upper()}{remedy[1:]}."
    )


def instead(engine: str, need: Need, schema: Schema | None) -> str:
    """Return what to choose in the place of something that an engine cannot do."""
    if need.without:
        return need.without
    if need.kind == "grouping":
        fitting = fitting_groupings(schema) if schema is not None else ("least",)
        names = [name for name in fitting if can(engine, Need("grouping", name, ""))]
    elif need.kind == "criterion":
        names = ["sse"] if schema is not None and schema.by_numbers else ["entropy", "gini"]
    else:
        names = list(ENGINES[engine].only[need.kind])
    if schema is None or schema.person is None:
        names = [name for name in names if name != "pack-persons"]
    return f"choose --{need.kind} {either(names)}"


def either(names: Collection[str]) -> str:
    """Return names as a choice: ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
