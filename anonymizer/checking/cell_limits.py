"""What releases promised of their groups besides k, judged on the cells that they leave together.

A cell is judged as if it were a class of one more release (:mod:`anonymizer.checking.together`), by the figures of the
checker: whoever joins the releases row by row sees cells, and nobody sees less. Every release's promise counts, the
strictest of each column. A cell that a release leaves as it was owes what was promised before, and nothing new.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.evidence import class_histograms, class_spread
from anonymizer.checking.linkage import LookAlikes
from anonymizer.checking.persons import largest_shares, release_risk
from anonymizer.checking.privacy_models import MODELS, OURS, TOLERANCE
from anonymizer.checking.together import Classes, cells_of
from anonymizer.checking.verify import evidence_of
from anonymizer.population.sample import Population, person_of
from anonymizer.schema import Column, Schema
from anonymizer.settings import OF_POPULATION, Limits, extension_limits, setting_names

LEAST = {"l": True, "entropy_l": True, "t": False, "rsd_min": True, "spread_min": True, "share_max": False}
"""The limits that are judged on cells, and whether more is better."""
OF_ROWS = "share_max"
"""The one of these that is on no column."""
WORDS = {
    "l": "with fewer than {required:g} values of {column} (at worst {achieved:g})",
    "entropy_l": "with {column} less mixed than {required:g} equally frequent values (at worst {achieved:.2f})",
    "t": "with {column} further than {required:g} from the whole table's (at worst {achieved:.3f})",
    "rsd_min": "that leave less than {required:.1%} of the squared error of {column} (at worst {achieved:.1%})",
    "spread_min": "that leave less than {required:.1%} of the standard deviation of {column} (at worst {achieved:.1%})",
    "share_max": "with more than {required:.1%} of the rows one person's (at worst {achieved:.1%})",
    "risk_max": "where a link to a row is right with a chance above {required:.3g} (at worst {achieved:.3g})",
    "risk_mean": "where it is above {required:.3g}, and {achieved:.3g} on average, that a link to a row is right",
    "k_map": "that fewer than {required:g} people of the population fit (at worst {achieved:.3g})",
}
"""What a group that misses a limit is."""


TITLES = {
    "l": "at least {required:g} values of {column}",
    "entropy_l": "values of {column} as mixed as {required:g} equally frequent ones",
    "t": "{column} within {required:g} of the whole table's",
    "rsd_min": "at least {required:.1%} of the squared error of {column}",
    "spread_min": "at least {required:.1%} of the standard deviation of {column}",
    "share_max": "at most {required:.1%} of the rows from one person",
    "risk_max": "a chance of at most {required:.3g} that a link to a row is right",
    "risk_mean": "on average a chance of at most {required:.3g} that a link to a row is right",
    "k_map": "at least {required:g} people of the population behind it",
}
"""What a group that keeps a limit has."""


@dataclass(frozen=True)
class Promise:
    """What a release promises of its groups: the ``limits``, on each of its ``sensitive`` columns."""

    limits: Limits = Limits()
    sensitive: tuple[Column, ...] = ()

    @classmethod
    def of(cls, schema: Schema, limits: Mapping[str, Any]) -> "Promise":
        """Return the promise of a release under a schema. ``limits``: with others, by name, such as all settings."""
        names = setting_names("limit")
        own = {name: value for name, value in limits.items() if name in names}
        return cls(Limits(**own), tuple(schema[name] for name in schema.sensitive))

    @property
    def is_on_cells(self) -> bool:
        """True when a limit is promised that is judged on cells."""
        return any(self.limits[name] is not None for name in LEAST)

    @property
    def extensions(self) -> dict[str, Any]:
        """The promised limits that are extensions, by name."""
        return {name: self.limits[name] for name in extension_limits() if self.limits[name] is not None}


@dataclass(frozen=True)
class CellLimit:
    """What came of one promised ``limit``, by the name of its setting, on the cells of so many ``persons``. ``column``
    that it is on, "" of all; ``required``; ``achieved``: by the worst cell, ``None`` where that is not known;
    ``below``: how many persons are in cells that miss it, at least so many when not ``exact``. ``verdict``: ``fails``,
    ``holds``, or ``cannot tell``. ``older``: how many are in cells that miss it, and owe it not, being as before.
    ``words``: of an extension's check, whose name the ``limit`` is then, what it says; it counts no persons."""

    limit: str
    column: str
    required: float
    achieved: float | None
    below: int
    persons: int | None
    verdict: str
    exact: bool = True
    older: int = 0
    words: str = ""

    @property
    def title(self) -> str:
        """What a group has that keeps it, in words."""
        if self.words:
            return f"{self.limit} as required ({self.required:g})"
        return TITLES[self.limit].format(required=self.required, column=self.column)

    @property
    def figure(self) -> str:
        """How far it is missed, in a few words."""
        return "Not counted" if self.verdict != "fails" else "A limit fails" if self.words else f"{self.below:,} people"

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.verdict == "holds":
            return f"Every group that all releases share has {self.title}."
        if self.achieved is None or self.verdict != "fails":
            return f"Whether every group that all releases share has {self.title} is not known."
        if self.words:
            return f"the groups that all releases share do not have {self.title}: {self.words}"
        of = "" if self.persons is None else f" of {self.persons:,}"
        people = f"{self.below:,}{of} {'person is' if self.below == 1 and not of else 'people are'}"
        about = {"required": self.required, "column": self.column, "achieved": self.achieved}
        at_least = "" if self.exact else "at least "
        return f"{at_least}{people} in groups {WORDS[self.limit].format(**about)}."


class Figure(NamedTuple):
    """A limit on the cells (c,): the figure of each, and which ``miss`` what is ``required``; ``figures`` is ``None``
    where a column is not there."""

    limit: str
    column: str
    required: float
    figures: NDArray[np.float64] | None
    miss: NDArray[np.bool_]

    @property
    def worst(self) -> float | None:
        """The worst figure of those that miss it, else of all; ``None`` where there is none."""
        some = self.figures if self.figures is None or not self.miss.any() else self.figures[self.miss]
        return None if some is None or not len(some) else float(some.min() if LEAST[self.limit] else some.max())


def strictest(name: str, promises: Iterable[Promise], column: str = "") -> float | None:
    """Return the strictest that a limit was promised for a column, ``None`` where it was not."""
    values = [
        float(one.limits[name])
        for one in promises
        if one.limits[name] is not None and (name == OF_ROWS or any(own.name == column for own in one.sensitive))
    ]
    return (max if LEAST[name] else min)(values, default=None)


def owed_on(promises: Sequence[Promise], column: str) -> dict[str, float]:
    """Return the limits that are promised for a column, and how strictly."""
    of_column = {limit: strictest(limit, promises, column) for limit in LEAST if limit != OF_ROWS}
    return {limit: required for limit, required in of_column.items() if required is not None}


def columns_of(promises: Iterable[Promise]) -> dict[str, Column]:
    """Return the sensitive columns of all promises by name, each as the first of them has it."""
    columns: dict[str, Column] = {}
    for column in (column for one in promises for column in one.sensitive):
        columns.setdefault(column.name, column)
    return columns


def figures_on(
    values: pd.DataFrame,
    promises: Sequence[Promise],
    class_of: NDArray[np.int64],
    person: Classes | None = None,
    counts: NDArray[np.int64] | None = None,
) -> Iterator[Figure]:
    """Yield every promised limit on the cells of some rows (n,). ``class_of``: numbers from 0, without gaps;
    ``person`` (n,): whose each row is, -1 for nobody's; ``counts`` (n,): how many rows each stands for."""
    sizes = np.bincount(class_of, counts).astype(np.int64)
    who = None if person is None else np.asarray(person, np.int64)
    there = sizes > 0 if who is None else np.bincount(class_of[who >= 0], minlength=len(sizes)) > 0
    for name, column in columns_of(promises).items():
        owed = owed_on(promises, name)
        if owed and name not in values:
            yield from (Figure(limit, name, required, None, there) for limit, required in owed.items())
        elif owed:
            of_each = column_figures(values[name], column, (class_of, sizes, who, counts), tuple(owed))
            for limit, figures in of_each.items():
                yield Figure(limit, name, owed[limit], figures, there & ~keeps(figures, limit, owed[limit]))
    required = strictest(OF_ROWS, promises)
    if required is not None:
        figures = largest_shares(class_of, sizes, who, counts)
        yield Figure(OF_ROWS, "", required, figures, there & ~keeps(figures, OF_ROWS, required))


def column_figures(
    values: "pd.Series[Any]",
    column: Column,
    rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.int64] | None],
    limits: Sequence[str],
) -> dict[str, NDArray[np.float64]]:
    """Return of each of some limits on a column the figures of the classes; those that have nothing to look at are
    left out. ``rows``: the class of each, the sizes, whose it is and how many it stands for."""
    class_of, sizes, who, counts = rows
    figures: dict[str, NDArray[Any]] = {}
    if {"l", "entropy_l", "t"} & {*limits}:
        histograms = class_histograms(values, column, class_of, sizes, who, counts)
        figures |= (
            {"l": histograms.distinct(), "entropy_l": histograms.effective()} if histograms.tells_anything else {}
        )
        figures |= {"t": histograms.distances()} if "t" in limits else {}
    spread = class_spread(values, column, class_of, sizes, counts) if {"rsd_min", "spread_min"} & {*limits} else None
    figures |= {} if spread is None else {"rsd_min": spread.rsd, "spread_min": spread.spread}
    return {limit: np.asarray(figures[limit], np.float64) for limit in limits if limit in figures}


def keeps(figures: NDArray[np.float64], limit: str, required: float) -> NDArray[np.bool_]:
    """Return which figures keep a limit."""
    slack = TOLERANCE * max(1.0, abs(required))
    return np.asarray(figures >= required - slack if LEAST[limit] else figures <= required + slack)


def limits_on_cells(
    values: pd.DataFrame,
    promises: Sequence[Promise],
    cell: Classes,
    person: Classes | None = None,
    before: Sequence[Promise] = (),
    changed: NDArray[np.bool_] | None = None,
) -> tuple[CellLimit, ...]:
    """Return what comes of every promised limit. ``values``: a table (n rows) with the sensitive columns as released;
    ``cell`` (n,): of each row, -1 of those that are not judged; ``person`` (n,): whose each is, -1 for nobody's, where
    rows are not persons. ``changed`` (c,): the cells that are smaller than before, all by default; of the others only
    the promises made ``before`` count."""
    rows = np.flatnonzero(cell >= 0)
    if not len(rows) or not any(one.is_on_cells or one.extensions for one in promises):
        return ()
    numbers, class_of = np.unique(cell[rows], return_inverse=True)
    who = None if person is None else np.asarray(person, np.int64)[rows]
    new = np.ones(len(numbers), np.bool_) if changed is None else changed[numbers]
    everybody = len(rows) if who is None else len(np.unique(who[who >= 0]))
    answers = []
    there = [name for name in columns_of(promises) if name in values]
    for one in figures_on(values[there].iloc[rows], promises, class_of, who):
        earlier = strictest(one.limit, before, one.column)
        miss = one.miss & new
        if one.figures is not None and earlier is not None:
            miss |= one.miss & ~keeps(one.figures, one.limit, earlier)
        below, older = (people_in(cells[class_of], who) for cells in (miss, one.miss & ~miss))
        verdict = "holds" if not miss.any() else "fails" if one.figures is not None else "cannot tell"
        worst = one._replace(miss=miss).worst
        answers.append(CellLimit(one.limit, one.column, one.required, worst, below, everybody, verdict, older=older))
    owed = promises if new.any() else before
    return (*answers, *models_on_cells(values.iloc[rows], owed, class_of, who, everybody))


def models_on_cells(
    values: pd.DataFrame, promises: Sequence[Promise], class_of: NDArray[np.int64], who: Classes | None, everybody: int
) -> Iterator[CellLimit]:
    """Yield what the privacy models that are extensions say of cells as classes, of each limit of theirs that a release
    promised. All cells are asked, those that are as before, too. ``values``, ``class_of``, ``who`` (n,): the rows;
    ``everybody``: how many persons they have."""
    pairs = []
    for promise in promises:
        columns = tuple(column for column in promise.sensitive if column.name in values)
        if not promise.extensions or (promise.extensions, columns) in pairs:
            continue
        pairs.append((promise.extensions, columns))
        classes = LookAlikes(class_of, np.bincount(class_of))
        person = None if who is None else np.asarray(who, np.int64)
        evidence = evidence_of(values, Schema(columns), promise.limits, classes, None, person)
        models = (model for name, model in MODELS.items() if name not in OURS)
        for one in (check for model in models for check in model(evidence)):
            if one.required is None:
                continue
            verdict = "cannot tell" if one.passed is None else "holds" if one.passed else "fails"
            yield CellLimit(
                one.name, "", float(one.required), one.achieved, 0, everybody, verdict, words=one.sentence
            )  # fmt: skip


def people_in(rows: NDArray[np.bool_], who: NDArray[np.int64] | None) -> int:
    """Return how many persons some rows have. ``rows`` (n,): which; ``who`` (n,): whose each is, -1 for nobody's,
    ``None`` where rows are persons."""
    return int(rows.sum()) if who is None else len(np.unique(who[rows & (who >= 0)]))


def risks_on_cells(
    table: pd.DataFrame,
    schema: Schema,
    population: Population | None,
    promises: Sequence[Promise],
    cell: Classes,
    before: Sequence[Promise] = (),
    changed: NDArray[np.bool_] | None = None,
) -> tuple[CellLimit, ...]:
    """Return what comes of the promised limits on what is known of the population. Behind a cell are as many people as
    its rows stand for; where a table of the population has them it is not known who fits all releases, and nothing is
    said where the population is ``None``. Other arguments: as of :func:`limits_on_cells`, with the table itself."""
    every = {name: risk_owed(name, promises) for name in OF_POPULATION}
    owed = {name: required for name, required in every.items() if required is not None}
    rows = np.flatnonzero(cell >= 0)
    if population is None or not owed or not len(rows):
        return ()
    if population.table is not None:
        return tuple(CellLimit(name, "", one, None, 0, None, "cannot tell") for name, one in owed.items())
    class_of = np.unique(cell[rows], return_inverse=True)[1]
    sample = release_risk(
        table.iloc[rows], LookAlikes(class_of, np.bincount(class_of)), rows, table, schema, population
    )
    person = person_of(table, schema)
    who = sample.rows if person is None else person[sample.rows]
    new = np.ones(len(who), np.bool_) if changed is None else changed[cell[sample.rows]]
    answers = []
    for name, required in owed.items():
        earlier, sign = risk_owed(name, before), -1 if name == "k_map" else 1
        figures = -sample.population if name == "k_map" else sample.risk
        miss = figures > sign * required + TOLERANCE
        miss &= new if earlier is None else new | (figures > sign * earlier + TOLERANCE)
        worst = sample.marketer if name == "risk_mean" else abs(float(figures.max()))
        fails = bool(miss.any()) and (name != "risk_mean" or worst > required + TOLERANCE)
        verdict = "cannot tell" if name == "k_map" and not sample.exact else "fails" if fails else "holds"
        below = len(np.unique(who[miss])) if verdict == "fails" else 0
        old = len(np.unique(who[(figures > sign * required + TOLERANCE) & ~miss]))
        answers.append(CellLimit(name, "", required, worst, below, len(np.unique(who)), verdict, older=old))
    return tuple(answers)


def risk_owed(name: str, promises: Iterable[Promise]) -> float | None:
    """Return the strictest that a limit on what is known of the population was promised, ``None`` where it was not."""
    values = [float(one.limits[name]) for one in promises if one.limits[name] is not None]
    return (max if name == "k_map" else min)(values, default=None)


def hold_in(
    values: pd.DataFrame, promises: Sequence[Promise], part: NDArray[np.int64], person: Classes | None = None
) -> NDArray[np.bool_]:
    """Return which parts of a table keep every promised limit (parts,). ``part`` (n,): of each row, from 0 without
    gaps; ``person`` (n,): as of :func:`limits_on_cells`."""
    good = np.ones(int(part.max(initial=-1)) + 1, np.bool_)
    for one in figures_on(values, promises, part, person):
        good &= ~one.miss | (one.figures is None)
    return good


def judge_of(
    table: pd.DataFrame, rows: NDArray[np.int64], promises: Sequence[Promise], person: Classes | None
) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None:
    """Return what :func:`hold_in` says of parts of some rows of a table, once it is called with these; ``None`` where
    nothing is promised that cells are held to."""
    if not any(one.is_on_cells for one in promises):
        return None
    values = table[[name for name in columns_of(promises) if name in table]].iloc[rows]
    who = None if person is None else np.asarray(person)[rows]
    return lambda part: hold_in(values, promises, part, who)


def changed_cells(
    before: Sequence[Classes], cell: Classes, sizes: NDArray[np.int64], person: Classes | None = None
) -> NDArray[np.bool_]:
    """Return which cells (c,) are smaller than the one that their people were in ``before``, or have people who were in
    none. ``cell`` (n,) and ``sizes`` (c,): of all releases, those before among them, as
    :func:`anonymizer.checking.together.cells_of` returns them: of rows, or of persons with ``person`` (n,)."""
    changed = np.ones(len(sizes), np.bool_)
    if before:
        earlier, persons = cells_of(before, person)
        there = cell >= 0
        same = there & (earlier >= 0)
        same[same] = sizes[cell[same]] == persons[earlier[same]]
        changed[cell[same]] = False
    return changed


def worst_of(answers: Iterable[CellLimit]) -> tuple[CellLimit, ...]:
    """Return of each limit and column the answer that is worst: judged on other rows, or by another way to count."""
    order = {"holds": 0, "cannot tell": 1, "fails": 2}
    worst_answers: dict[tuple[str, str], CellLimit] = {}
    for one in answers:
        before = worst_answers.get((one.limit, one.column))
        if before is None or (order[one.verdict], one.below) > (order[before.verdict], before.below):
            worst_answers[one.limit, one.column] = one
    return tuple(worst_answers.values())
