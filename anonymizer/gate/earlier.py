"""What a release leaves of people together with others: of the same table, or of last year's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import CellLimit, Promise, changed_cells, limits_on_cells, risks_on_cells, worst_of
from anonymizer.checking.file_limits import Pairs, limits_of_pair
from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.together import (
    Classes,
    Together,
    bounds,
    cells_of,
    classes_in_common,
    joins_of,
    together,
    value_sets,
)
from anonymizer.errors import ParameterError
from anonymizer.gate.finding import Finding, Repair, Severity
from anonymizer.population.sample import Population
from anonymizer.releasing.release import Release
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Limits
from anonymizer.values import value_text

NO_PROMISE = Promise()
EARLIER_REPORT = "EARLIER-REPORT.json"
"""What the report of an earlier release is called where that is not known."""
LAST_TABLE, LAST_PROJECT = "LAST-TABLE.csv", "LAST-PROJECT.json"
"""What last time's table and project are called where that is not known."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """A release of the same table: ``class_of`` (n,) the class of look-alike rows that each of its rows was released
    in, -1 of those left out; ``k``, and the ``promise`` besides. ``whole``: all its rows are of this table, with the
    same sensitive values; ``report``: the file that speaks of it, as far as that has a name."""

    class_of: NDArray[np.int64]
    k: int
    promise: Promise = NO_PROMISE
    whole: bool = True
    report: str = EARLIER_REPORT

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """How a command names it."""
        return (("--earlier", self.report),)

    @classmethod
    def of(cls, release: Release, n: int, k: int, promise: Promise = NO_PROMISE) -> "Earlier":
        """Return a release of a table of n rows. Raises :class:`ParameterError` when its rows are not of this table."""
        class_of = np.full(n, -1, np.int64)
        if release.n_records and int(release.order.max()) >= n:
            raise ParameterError(
                f"The earlier release has rows of another table: this one has {n:,}.",
                remedy="Name releases of this table, with its rows in the same order.",
            )
        names = [column.name for column in release.generalized]
        class_of[release.order] = look_alikes(release.frame(shared=True), names).class_of
        return cls(class_of, k, promise)

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> "tuple[Earlier, ...]":
        """Return it alone: it is of the rows of the table."""
        return (self,)


KEEP_EARLIER = Repair("Keep the earlier groups", keep=True)
"""What leaves everybody in a group of k people that all releases share."""


@dataclass(frozen=True, eq=False)
class Now:
    """A release that is looked at: its table of n rows and schema, the ``released`` cells, the class of each row (n,),
    -1 of those left out, ``k``, and whose each row is, -1 for nobody's, when rows are not persons. ``keeps``: its
    groups keep those of earlier releases. ``promise``: what it promises besides; ``treated``: the table with its
    columns as they are released, where that is another one; ``population``: what is known of it, ``None`` where that is
    not said; ``can_keep``: whether groups can be made that keep earlier ones."""

    table: pd.DataFrame
    schema: Schema
    released: pd.DataFrame
    class_of: NDArray[np.int64]
    k: int
    person: NDArray[np.integer[Any]] | None
    keeps: bool = False
    promise: Promise = NO_PROMISE
    treated: pd.DataFrame | None = None
    population: Population | None = None
    can_keep: bool = True

    def risks(self, before: Sequence[Promise], cell: Classes, changed: NDArray[np.bool_]) -> tuple[CellLimit, ...]:
        """Return what comes of promised limits on what is known of the population, on cells: see
        :func:`anonymizer.checking.cell_limits.risks_on_cells`."""
        promises = [self.promise, *before]
        return risks_on_cells(self.table, self.schema, self.population, promises, cell, before, changed)

    @property
    def values(self) -> pd.DataFrame:
        """The table with its columns as they are released."""
        return self.table if self.treated is None else self.treated

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What can be done where it leaves too few people together with earlier ones."""
        return (KEEP_EARLIER,) if self.can_keep and not self.keeps else ()


class OtherPeople(Protocol):
    """Releases of other tables, such as last year's, which the same people may be in."""

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """How a command names them, where their groups can be kept."""

    def beside(self, now: Now) -> Finding | Sequence[Finding]:
        """Return what they leave of people together with the one that is looked at."""

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> Sequence[Earlier]:
        """Return them as releases of the rows of a table, as far as it is known which of its rows are in them."""


@dataclass(frozen=True, eq=False)
class Uncounted:
    """A release of which nothing is here but that there was one; ``remedy``: how it can be counted, or why not."""

    remedy: str = (
        "To count it, open last time's table or its release: on the Data page under “What changed since last time”, "
        "or with --last-table or --last-release."
    )
    options: ClassVar[tuple[tuple[str, str], ...]] = ()

    def beside(self, now: Now) -> Finding:
        """Return that it cannot be counted."""
        return Finding(
            "together: not counted",
            Severity.STOPS,
            "Not counted",
            "What this release and last time's leave together cannot be counted.",
            "Whoever has both can put the rows of one person together, and may find fewer people than either promises. "
            + self.remedy,
        )

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> tuple[Earlier, ...]:
        """Return none."""
        return ()


NOBODYS = Uncounted("No column says whose a row is, so nobody can be found in both tables.")
"""A release whose rows cannot be put beside those of another table."""


@dataclass(frozen=True, eq=False)
class LastTable:
    """The release of another table: whose each of its m rows is, ``person``, missing for nobody's; the class that each
    was released in, ``class_of`` (m,), -1 of those left out; ``k``, and the ``promise`` besides; ``values``: its
    sensitive columns as released. ``table``, ``project``: the files that it was made of, as far as they have names."""

    person: "pd.Series[Any]"
    class_of: NDArray[np.int64]
    k: int
    promise: Promise = NO_PROMISE
    values: pd.DataFrame | None = None
    table: str = LAST_TABLE
    project: str = LAST_PROJECT

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """How a command names it."""
        return ("--last-table", self.table), ("--last-project", self.project)

    def beside(self, now: Now) -> tuple[Finding, ...]:
        """Return what both leave of everybody in either: who is in one alone is in a group with who else is."""
        if now.schema.person is None:
            return (NOBODYS.beside(now),)
        before, people, n = self._persons(now.table[now.schema.person])
        values = pd.DataFrame(index=self.person.index) if self.values is None else self.values
        sides = (before, self.class_of, values), (people, now.class_of, now.values)
        classes = [classes_of_persons(who, class_of, n) for who, class_of, _ in sides]
        both = together(classes, max(self.k, now.k))
        cell, sizes = cells_of(classes)
        changed = changed_cells(classes[:1], cell, sizes)
        promises, answers = [now.promise, self.promise], list[CellLimit]()
        for who, class_of, own in sides:
            of_row = np.where((class_of >= 0) & (who >= 0), np.append(cell, -1)[who], -1)
            answers += limits_on_cells(own, promises, of_row, who, [self.promise], changed)
        own = np.where((now.class_of >= 0) & (people >= 0), np.append(cell, -1)[people], -1)
        risks, last = now.risks([self.promise], own, changed), "last time's release"
        of_each = (of_limits(some, last, now.repairs) for some in (worst_of(answers), risks))
        return of_cells(both, last, repairs=now.repairs), *(finding for some in of_each for finding in some)

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> tuple[Earlier, ...]:
        """Return the release of these rows by their persons; none where no column says whose they are."""
        if schema.person is None:
            return ()
        before, people, n = self._persons(table[schema.person])
        classes = np.append(classes_of_persons(before, self.class_of, n), -1)[people]
        return (Earlier(classes, self.k, self.promise, whole=False),)

    def _persons(self, now: "pd.Series[Any]") -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return whose each row of last time (m,) and of another table (n,) is, -1 for nobody's, and how many persons
        both have. ``now``: whose the latter are, missing for nobody's."""
        texts = [column.astype(object).map(value_text, na_action="ignore") for column in (self.person, now)]
        person = np.asarray(pd.factorize(pd.concat(texts, ignore_index=True))[0], np.int64)
        return person[: len(self.person)], person[len(self.person) :], int(person.max(initial=-1)) + 1


def last_of(
    table: pd.DataFrame, treated: pd.DataFrame, schema: Schema, class_of: NDArray[np.int64], limits: Limits
) -> LastTable | Uncounted:
    """Return the release of a table as a later one is counted together with it: :data:`NOBODYS` where no column says
    whose its rows are. ``treated``: the table with its columns as they are released."""
    if schema.person is None:
        return NOBODYS
    promise = Promise.of(schema, limits)
    return LastTable(table[schema.person], class_of, limits.k, promise, treated[list(schema.sensitive)])


@dataclass(frozen=True, eq=False)
class LastRelease:
    """A released file alone: its rows, the schema that it was made under, ``k`` and the ``promise`` besides. Raises
    :class:`ParameterError` for rows of something else."""

    rows: pd.DataFrame
    schema: Schema
    k: int
    promise: Promise = NO_PROMISE

    options: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        other = [(name, "no") for name in self.schema.released if name not in self.rows]
        other += [(name, "the left-out") for name in self.schema.identifying if name in self.rows]
        for name, which in other:
            raise ParameterError(
                f"This is not last time's release: it has {which} column {name!r}.",
                column=name,
                remedy="Give the file that was released. Its table counts where a column says whose each row is.",
            )

    def beside(self, now: Now) -> tuple[Finding, ...]:
        """Return what both files prove by themselves. People may be in one alone."""
        k, schemas = max(self.k, now.k), (self.schema, now.schema)
        first, second = classes_in_common(self.rows, now.released, schemas)
        joins = joins_of(first, second)
        below = bounds(first, second, same_people=False, joins=joins).surely_below(k)
        people = "1 person is" if below == 1 else f"{below:,} people are"
        pairs, promises = Pairs.of(first, joins, same_people=False), [now.promise, self.promise]
        limits = limits_of_pair(self.rows, schemas, pairs, False, promises)
        fails = [one for one in limits if one.verdict == "fails"]
        of_k = Finding(
            f"together: at least {below:,} below {k:,} with last time's release",
            Severity.STOPS,
            f"≥ {below:,} people" if below else "Not counted",
            f"With last time's release, {people} in groups of fewer than {k:,}, by the two files alone."
            if below
            else "The two files alone do not tell what this release and last time's leave together.",
            "Rows are put together that hold the same unchanged values, where their cells can be one person's. It is a "
            "lower bound: with last time's table it can be counted, as the other limits can.",
        )
        return of_k, *of_limits(fails, "last time's release")

    def of_rows(self, table: pd.DataFrame, schema: Schema) -> tuple[Earlier, ...]:
        """Return none: a file alone does not say whose its rows are."""
        return ()


def classes_of_persons(who: NDArray[np.int64], class_of: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return (n,) a number for the set of classes of the rows of each of n persons, -1 of those who have none: the
    class itself where it is one."""
    somebody, width = (who >= 0) & (class_of >= 0), int(class_of.max(initial=0)) + 1
    pairs = np.sort(who[somebody] * width + class_of[somebody])
    persons, classes = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], width)
    answer = np.full(n, -1, np.int64)
    answer[persons] = classes
    several = np.bincount(persons, minlength=n)[persons] > 1
    if several.any():
        sets = pd.Series(classes[several]).groupby(persons[several]).agg(tuple)
        answer[sets.index.to_numpy(np.int64)] = width + pd.factorize(sets)[0]
    return answer


def beside_earlier(earlier: Sequence[Earlier | OtherPeople], now: Now) -> Iterable[Finding]:
    """Yield what a release and earlier ones leave together, nothing where there was none."""
    same = [one for one in earlier if isinstance(one, Earlier)]
    if same:
        before = "the release made before" if len(same) == 1 else f"the {len(same):,} releases made before"
        promised, certain = with_smaller_k(same, now), certain_values(same, now)
        yield of_cells(of_same_table(same, now), before, promised, certain, now.repairs)
        for limits in limits_of_same_table(same, now):
            yield from of_limits(limits, before, now.repairs)
    for one in earlier:
        if not isinstance(one, Earlier):
            findings = one.beside(now)
            yield from (findings,) if isinstance(findings, Finding) else findings


def of_same_table(same: Sequence[Earlier], now: Now) -> Together:
    """Return what releases of one table leave together, at the largest k that any of them promised."""
    return with_all_before([one.class_of for one in same], now.class_of, max(one.k for one in same), now.k, now.person)


def with_all_before(
    before: Sequence[NDArray[np.int64]], class_of: NDArray[np.int64], promised: int, k: int,
    person: NDArray[np.integer[Any]] | None,
) -> Together:  # fmt: skip
    """Return what a release leaves with those ``before``, at the larger of the ``promised`` k and its own. A k that is
    larger than all before is not asked of cells that were smaller before, and are what they were. Classes (n,) and
    ``person`` as of :func:`anonymizer.checking.together.together`."""
    everything = [*before, class_of]
    if before and k > promised:
        cell, sizes = cells_of(everything, person)
        if not (changed_cells(before, cell, sizes, person) & (sizes < k)).any():
            return together(everything, promised, person)
    return together(everything, max(k, promised), person)


def limits_of_same_table(same: Sequence[Earlier], now: Now) -> tuple[tuple[CellLimit, ...], tuple[CellLimit, ...]]:
    """Return what comes of every limit besides k that releases of one table promise, on what they leave together: of
    those on values, and of those on what is known of the population."""
    before, promises = [one.class_of for one in same], [one.promise for one in same]
    cell, rows = cells_of([*before, now.class_of])
    changed = changed_cells(before, cell, rows)
    of_values = limits_on_cells(now.values, [now.promise, *promises], cell, now.person, promises, changed)
    return of_values, now.risks(promises, cell, changed)


def with_smaller_k(same: Sequence[Earlier], now: Now) -> str:
    """Return that earlier releases promised more than this one, where all keep what it promises; "" otherwise."""
    promised = max(one.k for one in same)
    if now.k >= promised or not together([*(one.class_of for one in same), now.class_of], now.k, now.person).holds:
        return ""
    return f"The release made before promised {promised:,}. With this one it is {now.k:,}. "


def certain_values(same: Sequence[Earlier], now: Now) -> str:
    """Return to how many people the groups of all releases leave one value of a sensitive column, where that is more
    than this release alone does; "" otherwise."""
    sentences = []
    for name in now.schema.sensitive:
        if now.schema[name].kind is not Kind.CATEGORICAL:
            continue
        codes = pd.factorize(now.table[name])[0]
        releases = [*(one.class_of for one in same), now.class_of]
        alone, all_of_them = (value_sets(some, [codes] * len(some)).common == 1 for some in ([now.class_of], releases))
        who = np.arange(len(codes)) if now.person is None else now.person
        persons = [len(np.unique(who[rows & (who >= 0)])) for rows in (alone, all_of_them)]
        if persons[1] > persons[0]:
            sentences.append(
                f"All releases together leave one possible {name!r} for {persons[1]:,} people, this release alone for "
                f"{persons[0]:,}. "
            )
    return "".join(sentences)


def of_cells(
    both: Together, before: str, promised: str = "", certain: str = "", repairs: tuple[Repair, ...] = ()
) -> Finding:
    """Return the finding of what releases leave together. ``before``: what the other ones are called; ``promised``,
    ``certain``: sentences on what they promised, and on the values that they leave; ``repairs``: of what does not
    hold."""
    why = (
        "Whoever has the releases puts rows together that hold the same unchanged values. The same table and settings "
        "give the same release again, which adds nothing."
    )
    return Finding(
        f"together: {both.below:,} of {both.persons:,} below {both.k:,} with {before}",
        Severity.FINE if both.holds else Severity.STOPS,
        f"{both.below:,} of {both.persons:,} people",
        f"With {before}, {both.sentence}",
        certain.strip() if both.holds else f"{promised}{certain}{why}",
        repairs=() if both.holds else repairs,
    )


def of_limits(
    limits: Sequence[CellLimit], before: str, repairs: tuple[Repair, ...] = (), unknown: str = ""
) -> tuple[Finding, ...]:
    """Return the finding of what releases leave of the limits that they promise besides k, none where they promise
    none. ``before``, ``repairs``: as of :func:`of_cells`; ``unknown``: a sentence on what is not counted."""
    missed = sorted((one for one in limits if one.verdict != "holds"), key=lambda one: (one.verdict, -one.below))
    titles = ", ".join(one.title for one in limits)
    if not missed:
        old = max((one.older for one in limits), default=0)
        sentence = f"With {before}, every group that all share keeps the other limits, too."
        if old:
            who = f"{old:,} people are" if old > 1 else "1 person is"
            sentence = f"With {before}, no group that all share is new and misses the other limits."
            unknown = f"{who} in groups as they were before, which miss one that was not promised then. {unknown}"
        severity, detail = Severity.LOOK if unknown else Severity.FINE, f"{titles}. {unknown}".strip()
        finding = Finding(f"together: limits hold with {before}: {titles}", severity, "Limits hold", sentence, detail)
        return (finding,) if limits else ()
    first, *others = missed
    figures = "; ".join(f"{one.title}: {one.below:,}, {one.verdict}" for one in missed)
    fails = first.verdict == "fails"
    return (
        Finding(
            f"together: limits with {before}: {figures}", Severity.STOPS,
            first.figure, f"With {before}, {first.sentence}"
            if fails else first.sentence,
            " ".join([*(one.sentence for one in others), SHARED_GROUPS, unknown]).strip(), repairs=repairs,
        ),
    )  # fmt: skip


SHARED_GROUPS = "A limit is asked of the people who are in the same group in every release, as of a group of their own."
