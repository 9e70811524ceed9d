"""What several released files prove together: by themselves, or beside the table that they were made from.

Two files alone bound the persons of every cell (:func:`anonymizer.checking.together.bounds`). Of more files each pair
does, and so do the rows whose unchanged values are unique in all of them: these are joined for sure. Beside the table,
each of its rows is in a class for sure when no other class has room for it. Where every row's is sure, cells are exact.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.checking.cell_limits import CellLimit, Promise, columns_of, limits_on_cells, worst_of
from anonymizer.checking.file_limits import OF_WHOLE, Pairs, limits_of_pair
from anonymizer.checking.linkage import classes_of
from anonymizer.checking.released import read_cells, require_column, texts_of
from anonymizer.checking.released_file import read_file
from anonymizer.checking.together import (
    Bounds,
    Classes,
    ReleasedClasses,
    Together,
    bounds,
    cells_of,
    classes_in_common,
    joins_of,
    together,
    unchanged_in,
    value_numbers,
)
from anonymizer.errors import ParameterError
from anonymizer.schema import Schema
from anonymizer.settings import OF_POPULATION, SETTINGS, Limits, extension_limits

UNKNOWN = -2
"""The class of a row of the table that no file tells."""
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
DIFFERENT = "The files need not hold the same people: they have unchanged values unequally often."
SAME = "Taken as files of the same people: they have all unchanged values equally often."
NOT_ASKED = "Not asked of groups that all files share"


@dataclass(frozen=True)
class Proof:
    """What some released ``files`` prove together: the ``verdict`` is ``fails``, ``holds`` or ``the files cannot
    tell``; at least ``below`` of ``persons`` people, which is ``None`` where the files may hold different people, are
    in a cell of fewer than ``k``. ``pairs``: of each two files at least so many. ``exact``: what the table says, where
    it tells the class of every row. ``limits``: what comes of those besides k; ``population``: the titles of those that
    no group that files share is asked for, such as those on what is known of the population.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> proof = an.verify_together([result.table, result.table], result.schema, k=10)
    >>> proof.files, proof.verdict
    (2, 'the files cannot tell')
    """

    k: int
    files: int
    verdict: str
    below: int
    persons: int | None
    pairs: tuple[tuple[int, int, int], ...]
    exact: Together | None = None
    beside_table: bool = False
    limits: tuple[CellLimit, ...] = ()
    population: tuple[str, ...] = ()

    @property
    def overall(self) -> str:
        """The verdict on k and all other limits: what fails in one fails in all, and holds where all hold."""
        verdicts = [self.verdict, *(one.verdict for one in self.limits)]
        unknown = "the files cannot tell"
        return "fails" if "fails" in verdicts else "holds" if {*verdicts} == {"holds"} else unknown

    @property
    def holds(self) -> bool:
        """True when it is proved that every cell has k people and keeps all that was required besides; what the files
        cannot tell does not hold."""
        return self.overall == "holds"

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.exact is not None:
            return f"With the table, {self.exact.sentence}"
        these = f"hese {NUMBERS.get(self.files, f'{self.files:,}')} files"
        these = f"With the table, t{these} " if self.beside_table else f"T{these} alone "
        if self.verdict == "fails":
            one = self.below == 1
            of = "" if self.persons is None else f" of {self.persons:,}"
            people = "person is" if one and not of else "people is" if one else "people are"
            return f"{these}prove it: at least {self.below:,}{of} {people} in groups of fewer than {self.k:,}."
        if self.verdict == "holds":
            return f"{these}prove it: everybody is in a group of at least {self.k:,} people."
        return f"{these}cannot tell. Use the {'' if self.beside_table else 'table, or the '}ledger."

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return all that there is to say, a sentence each, what fails first. ``names``: of the files."""
        limits = [(one.verdict, one.sentence[0].upper() + one.sentence[1:]) for one in self.limits]
        verdicts = sorted([(self.verdict, self.sentence), *limits], key=lambda one: one[0] != "fails")
        pairs = self.pairs if self.files > 2 else ()
        same = "" if self.beside_table else DIFFERENT if self.persons is None else SAME
        return (
            *(sentence for _, sentence in verdicts),
            *(
                f"{names[first]} and {names[second]}: at least {below:,} in groups of fewer than {self.k:,}."
                for first, second, below in pairs
            ),
            *([same] if same else []),
            *([f"{NOT_ASKED}: {', '.join(self.population)}."] if self.population else []),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        exact = self.exact
        return {
            "k": self.k, "files": self.files, "verdict": self.overall, "below": self.below, "persons": self.persons,
            "pairs": [dict(zip(("first", "second", "below"), pair, strict=True)) for pair in self.pairs],
            "alone": None if exact is None else exact.alone, "smallest": None if exact is None else exact.smallest,
            "exact": exact is not None, "sentence": self.sentence,
            "limits": [asdict(one) | {"sentence": one.sentence} for one in self.limits],
            "not_asked": list(self.population),
        }  # fmt: skip


def verify_together(
    releases: Sequence[pd.DataFrame | str | Path],
    schema: Schema | Sequence[Schema],
    *,
    k: int,
    original: pd.DataFrame | None = None,
    orders: Sequence[NDArray[np.integer[Any]] | None] = (),
    person: Classes | None = None,
    same_people: bool | None = None,
    **limits: Any,
) -> Proof:
    """Return what some releases of the same people prove together.

    ``releases``: released tables, or files. ``schema``: of all, or of each. ``k``: people that every cell must have.
    ``original``: the table (n rows) that all were made from. ``orders``: of each release the row of the table that each
    released row was made of, where that is known; otherwise rows are joined by their values. ``person`` (n,): whose
    each row of the table is, -1 for nobody's, where rows are not persons. ``same_people``: the files hold the same
    people; by default when both of two files have all unchanged values equally often. ``limits``: what else every cell
    must keep, by the names of :class:`anonymizer.settings.Limits`, on the sensitive columns of each file.

    Raises :class:`ParameterError` for fewer than two releases, or schemas or orders of another number of them, and what
    reading files and cells raises.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> other = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=15)
    >>> an.verify_together([result.table, other.table], result.schema, k=2).verdict
    'the files cannot tell'
    """
    schemas = [schema] * len(releases) if isinstance(schema, Schema) else list(schema)
    if len(releases) < 2 or len(schemas) != len(releases) or (orders and len(orders) != len(releases)):
        raise ParameterError(
            f"{len(releases)} releases, {len(schemas)} schemas and {len(orders)} orders do not go together.",
            remedy="Give two releases or more, one schema, or one of each, and no order, or one of each.",
        )
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.", value=k, remedy="Ten is a common choice.")
    promises = [Promise.of(own, {"k": k, **Limits(**limits).but(k=k)}) for own in schemas]
    tables = [
        table if isinstance(table, pd.DataFrame) else read_file(table).under(own).rows
        for table, own in zip(releases, schemas, strict=True)
    ]
    alone = files_alone(tables, schemas, k, same_people, promises)
    if original is None:
        return alone
    every_order = orders or [None] * len(tables)
    of_rows = [
        class_in_table(original, table, own, order)
        for table, own, order in zip(tables, schemas, every_order, strict=True)
    ]
    proof = beside_table(of_rows, tables, schemas, alone, person)
    of_limits = limits_beside_table(original, of_rows, tables, (alone, proof), person, promises)
    titles = alone.population if proof.exact is None else titles_of(OF_POPULATION, promises)
    return replace(proof, limits=of_limits, population=titles)


def files_alone(
    tables: Sequence[pd.DataFrame], schemas: Sequence[Schema], k: int, same_people: bool | None = None,
    promises: Sequence[Promise] = (),
) -> Proof:  # fmt: skip
    """Return what released tables prove by themselves; see :func:`verify_together`."""
    sizes = [classes_in(table, own) for table, own in zip(tables, schemas, strict=True)]
    small = max(int(np.sum(np.bincount(classes)[classes] < k)) for classes in sizes)
    pairs, answers, limits = [], [], list[CellLimit]()
    for first, second in combinations(range(len(tables)), 2):
        if not in_common((schemas[first], schemas[second])):
            raise ParameterError(
                "Two of the files have no column in common, so no row of one can be told from any of the other.",
                remedy="Use the table they were made from, with the order of their rows, or leave one out.",
            )
        both = classes_in_common(tables[first], tables[second], (schemas[first], schemas[second]))
        same = equally_often(*both) if same_people is None else same_people
        joins = joins_of(*both)
        answers.append(bounds(*both, same, joins))
        pairs.append((first, second, answers[-1].surely_below(k)))
        two = schemas[first], schemas[second]
        limits += limits_of_pair(tables[first], two, Pairs.of(both[0], joins, same), same, promises)
    same = all(one.same_people for one in answers)
    for table, classes in zip(tables, sizes, strict=True):
        of_file = (one for one in limits_on_cells(table, promises, classes) if same or one.limit not in OF_WHOLE)
        limits += [replace(one, exact=False) for one in of_file if one.verdict == "fails"]
    below = max(small, *(number for _, _, number in pairs))
    if len(tables) == 2:
        holds = answers[0].verdict(k) == "holds"
    else:
        joined, rows = unique_in_all(tables, schemas, sizes)
        below = max(below, int(sure_rows(joined, sizes, k, list(zip(pairs, answers, strict=True))).sum()))
        everybody = same and len(joined) == len(tables[0])
        holds = everybody and together(list(joined.T), k).holds
        fails = [one for one in limits if one.verdict == "fails"]
        sure = limits_on_cells(tables[0].iloc[rows], promises, cells_of(list(joined.T))[0]) if everybody else ()
        limits = [*fails, *(sure or (replace(one, verdict="cannot tell") for one in limits))]
    verdict = "fails" if below else "holds" if holds else "the files cannot tell"
    persons = len(tables[0]) if same else None
    titles = titles_of((*OF_POPULATION, *extension_limits()), promises)
    return Proof(k, len(tables), verdict, below, persons, tuple(pairs), limits=worst_of(limits), population=titles)


def titles_of(names: Sequence[str], promises: Sequence[Promise]) -> tuple[str, ...]:
    """Return the titles of those of some limits that somebody promised."""
    return tuple(SETTINGS[name].title for name in names if any(one.limits[name] is not None for one in promises))


def schema_there(schema: Schema, table: pd.DataFrame) -> Schema:
    """Return a schema with the columns that a released table has."""
    return replace(schema, columns=tuple(column for column in schema.columns if column.name in table.columns))


def in_common(schemas: tuple[Schema, Schema]) -> bool:
    """Return True when two releases have a column in common by which rows can be told apart."""
    first, second = schemas
    return bool(unchanged_in(schemas) or {*first.quasi_identifying} & {*second.quasi_identifying})


def equally_often(first: ReleasedClasses, second: ReleasedClasses) -> bool:
    """Return True when two files have all unchanged values equally often, as those of the same people have."""
    n = 1 + max(int(first.unchanged.max(initial=-1)), int(second.unchanged.max(initial=-1)))
    return bool((np.bincount(first.unchanged, minlength=n) == np.bincount(second.unchanged, minlength=n)).all())


def classes_in(table: pd.DataFrame, schema: Schema) -> Classes:
    """Return (n,) the class of each released row."""
    cells = read_cells(table, schema)
    return classes_of([(one.index, len(one.cells)) for one in cells.values()], len(table)).class_of


def unique_in_all(
    tables: Sequence[pd.DataFrame], schemas: Sequence[Schema], class_of: Sequence[Classes]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (q, s) the classes in s releases of the rows whose unchanged values are unique in all of them, and which
    rows of the first they are (q,)."""
    names = unchanged_in(schemas)
    numbers = value_numbers([table[names] for table in tables], names)
    n = 1 + max(int(number.max(initial=-1)) for number in numbers)
    unique = np.all([np.bincount(number, minlength=n) == 1 for number in numbers], axis=0)
    classes = np.full((len(tables), n), UNKNOWN, np.int64)
    for own, number, of in zip(classes, numbers, class_of, strict=True):
        own[number] = of
    row = np.zeros(n, np.int64)
    row[numbers[0]] = np.arange(len(tables[0]))
    return classes[:, unique].T, row[unique]


def sure_rows(
    joined: NDArray[np.int64],
    class_of: Sequence[Classes],
    k: int,
    pairs: Sequence[tuple[tuple[int, int, int], Bounds]] = (),
) -> NDArray[np.bool_]:
    """Return (q,) which joined rows are surely in a cell of fewer than k. ``joined`` (q, s): their classes in s
    releases, -1 where they are left out; ``class_of``: the class of each row of each release. Whoever else is in a cell
    is a row of each of its classes that is not joined. ``pairs``: what two files alone say of cells."""
    if not len(joined):
        return np.zeros(0, np.bool_)
    cells, which, most = np.unique(joined, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    others = np.full(len(cells), np.iinfo(np.int64).max)
    for side, classes in enumerate(class_of):
        there = cells[:, side] >= 0
        sizes = np.bincount(classes, minlength=int(cells[:, side].max()) + 1)
        rest = sizes - np.bincount(joined[joined[:, side] >= 0, side], minlength=len(sizes))
        others[there] = np.minimum(others[there], rest[cells[there, side]])
    most = most + others
    for (first, second, _), both in pairs:
        width = int(both.second.max(initial=-1)) + 1
        names = both.first * width + both.second
        at = np.searchsorted(names, cells[:, first] * width + cells[:, second])
        inside = (at < len(names)) & (cells[:, second] < width)
        at[~inside] = 0
        own = inside & (names[at] == cells[:, first] * width + cells[:, second]) if len(names) else inside
        most[own] = np.minimum(most[own], both.most[at[own]])
    return np.asarray((most < k)[which])


# Beside the table.


def class_in_table(
    original: pd.DataFrame, table: pd.DataFrame, schema: Schema, order: NDArray[np.integer[Any]] | None
) -> Classes:
    """Return (n,) the class in a release of each row of the table it was made from: -1 of those that are left out for
    sure, :data:`UNKNOWN` where the values do not tell. ``order``: see :func:`verify_together`."""
    class_of = np.full(len(original), -1 if order is not None else UNKNOWN, np.int64)
    classes = classes_in(table, schema)
    if order is not None:
        if len(order) != len(table) or (
            len(order) and not 0 <= int(np.min(order)) <= int(np.max(order)) < len(original)
        ):
            raise ParameterError(
                f"The order is not one of {len(table):,} released rows of a table of {len(original):,}.",
                remedy="Give the row of the table that each released row was made of.",
            )
        class_of[order] = classes
        return class_of
    for name in schema.quasi_identifying:
        require_column(original, name, "table")
    names = [name for name in unchanged_in([schema]) if name in original and name in table]
    names = [name for name in names if is_unchanged(original[name], table[name])]
    values = value_numbers([original, table], names)
    released = classes_in_common(table, table, (schema, schema))[0]
    rows = rows_as_classes(original, schema)
    first = ReleasedClasses(rows.class_of, rows.columns, values[0])
    second = ReleasedClasses(released.class_of, released.columns, values[1])
    joins = joins_of(first, second)
    n = 1 + max(int(number.max(initial=-1)) for number in values)
    counts = [np.bincount(number, minlength=n) for number in values]
    sure = joins.surely(True) == joins.first.rows[joins.i]
    sure &= (counts[0] == counts[1])[joins.first.value[joins.i]]
    of_entry = np.where(counts[1][joins.first.value] == 0, -1, UNKNOWN)
    of_entry[joins.i[sure]] = joins.second.of_class[joins.j[sure]]
    width = int(first.class_of.max(initial=-1)) + 1
    entry = np.searchsorted(joins.first.value * width + joins.first.of_class, values[0] * width + first.class_of)
    return np.asarray(of_entry[entry])


def limits_beside_table(
    original: pd.DataFrame, of_rows: Sequence[Classes], tables: Sequence[pd.DataFrame], proofs: tuple[Proof, Proof],
    person: Classes | None, promises: Sequence[Promise],
) -> tuple[CellLimit, ...]:  # fmt: skip
    """Return what comes of every promised limit: by the values of the table where it tells the class of every row, and
    where these are released unchanged; else what the files alone prove, of persons only where rows are persons.
    ``proofs``: of the files alone, and beside the table."""
    alone, proof = proofs
    if proof.exact is None:
        are_rows = person is None
        return tuple(
            one if are_rows or one.limit == "l" else replace(one, verdict="cannot tell") for one in alone.limits
        )
    names = [name for name in columns_of(promises) if name in original]
    names = [name for name in names if all(is_unchanged(original[name], one[name]) for one in tables if name in one)]
    return limits_on_cells(original[names], promises, cells_of(list(of_rows))[0], person)


def is_unchanged(original: "pd.Series[Any]", released: "pd.Series[Any]") -> bool:
    """Return True when no value is in a released column more often than in the table's."""
    numbers = value_numbers([original.to_frame("value"), released.to_frame("value")], ["value"])
    n = 1 + max(int(number.max(initial=-1)) for number in numbers)
    counts = [np.bincount(number, minlength=n) for number in numbers]
    return bool((counts[1] <= counts[0]).all())


def rows_as_classes(original: pd.DataFrame, schema: Schema) -> ReleasedClasses:
    """Return the table as a release of which each class is the rows that are equal in all quasi-identifiers."""
    columns, keys = [], []
    for name in schema.quasi_identifying:
        index, texts = texts_of(original[name])
        kind = schema[name].kind
        columns.append((tuple(Cell.MISSING if text is None else Cell.value(text, kind) for text in texts), index))
        keys.append((index, len(texts)))
    classes = classes_of(keys, len(original))
    own = tuple((cells, np.asarray(index[classes.first], np.int64)) for cells, index in columns)
    return ReleasedClasses(classes.class_of, own, np.zeros(len(original), np.int64))


def beside_table(
    of_rows: Sequence[Classes],
    tables: Sequence[pd.DataFrame],
    schemas: Sequence[Schema],
    alone: Proof,
    person: Classes | None,
) -> Proof:
    """Return what files prove beside the table. ``of_rows``: of each release the class of each row of the table, as
    :func:`class_in_table` returns it; ``alone``: what the files prove without it."""
    k, classes = alone.k, np.stack(of_rows, axis=1).astype(np.int64)
    is_sure = (classes != UNKNOWN).all(axis=1)
    if is_sure.all():
        exact = together(list(of_rows), k, person)
        verdict = "holds" if exact.holds else "fails"
        return Proof(k, alone.files, verdict, exact.below, exact.persons, alone.pairs, exact, True)
    rows = np.flatnonzero(is_sure & (classes >= 0).any(axis=1))
    of_files = [classes_in(table, own) for table, own in zip(tables, schemas, strict=True)]
    rows = rows[sure_rows(classes[rows], of_files, k)]
    whose = rows if person is None else person[rows][person[rows] >= 0]
    below = max(alone.below if person is None else min(1, alone.below), len(np.unique(whose)))
    persons = len(classes) if person is None else len(np.unique(person[person >= 0]))
    verdict = "fails" if below else "holds" if alone.holds else alone.verdict
    return Proof(k, alone.files, verdict, below, persons, alone.pairs, None, True)
