"""The classes of a table's people in the releases of a ledger, and what a new release leaves of them together.

Persons are found by their digests. A release of a table that does not say whose its rows are finds the rows of that
same table, and nobody in another one. Whoever is in an earlier release and not in the table is in the class of the
absent in the new release.
"""

from calendar import month_name
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import CellLimit, Promise, changed_cells, limits_on_cells, worst_of
from anonymizer.checking.together import Classes, Together, cells_of, together
from anonymizer.gate.earlier import Now, classes_of_persons, of_cells, of_limits
from anonymizer.gate.finding import Finding, Severity
from anonymizer.ledger.chain import ReleaseEntry, TreeEntry
from anonymizer.ledger.members import Members, Words
from anonymizer.ledger.rows import LedgerRows, classes_of_records, classes_of_rows, own_persons, somebodys
from anonymizer.ledger.trees import TreeLeaves, finding_of, remainder_of
from anonymizer.schema import Schema
from anonymizer.values import plural

UNCHANGED = "This release changes no group of people: it asks for more than earlier ones did."
NOBODY = "Nothing says who is who, so last time's people cannot be recognised."
KEEP = "Keep the same groups, or join earlier ones."
ALONE_FAILS = (
    "{which} has groups of fewer people than it promises by itself, as tiered boxes do: it cannot be composed with any "
    "other release."
)
NAME_IT = "Name the column that says whose each row is, or state as the reason that all are new."


class Since(NamedTuple):
    """How many people ``stayed`` since a release, made on a ``day``: they are in it and in the table; how many ``came``
    and are in the table and not in it, whether or not in an earlier one; how many ``left`` and are in it alone."""

    day: str
    stayed: int
    came: int
    left: int


@dataclass(frozen=True, eq=False)
class LedgerCells:
    """The classes of the n rows of a table in s earlier releases.

    ``lines`` (s) of the entries, ``k`` (s) that they promised, ``days`` (s) on which they were made. ``unit`` (n,):
    whose each row is, from 0, -1 for nobody's; without persons each row is its own. ``classes``: s of (u,), the class
    of each unit, -1 of who is not in the release; the first ``present`` units are those of the table, the others are
    in earlier releases alone. Where persons have ``several`` rows, ``aligned``: s of (n,), the class of each row in a
    release of this very table, ``None`` of another one. ``related`` (s): whether a release has somebody of this table,
    directly or by way of others. ``recognised``: how many of the table are in the ledger; ``unknown``: the line of each
    release of which nobody can be recognised, why, and what columns of both tables tell. ``promises`` (s): what each
    release promised besides k; ``composes`` (s): whether each can be put beside others at all. ``trees``: those
    published about somebody of the table.
    """

    lines: tuple[int, ...]
    k: tuple[int, ...]
    days: tuple[str, ...]
    unit: NDArray[np.int64]
    classes: tuple[NDArray[np.int64], ...]
    present: int
    aligned: tuple[NDArray[np.int64] | None, ...]
    several: bool
    related: tuple[bool, ...]
    recognised: int
    unknown: tuple[tuple[int, str, str], ...] = ()
    promises: tuple[Promise, ...] = ()
    composes: tuple[bool, ...] = ()
    trees: tuple[TreeLeaves, ...] = ()

    @property
    def rows(self) -> tuple[NDArray[np.int64], ...]:
        """The class of each row in each release, s of (n,); -1 of those that are not in it. Where persons have several
        rows and the release is of another table, a number for the set of classes of the person."""
        pairs = zip(self.classes, self.aligned, strict=True)
        return tuple(np.append(classes, -1)[self.unit] if rows is None else rows for classes, rows in pairs)

    @property
    def since(self) -> Since | None:
        """What changed since the last release that has somebody of the table; ``None`` where there is none."""
        for day, classes in reversed(list(zip(self.days, self.classes, strict=True))):
            here, absent = classes[: self.present] >= 0, classes[self.present :] >= 0
            if again := int(here.sum()):
                return Since(day, again, self.present - again, int(absent.sum()))
        return None

    def beside(self, class_of: Classes) -> NDArray[np.int64]:
        """Return the class of each unit (u,) in a release of the table, in which that of each row is ``class_of``
        (n,)."""
        units = len(self.classes[0]) if self.classes else self.present
        return classes_of_persons(self.unit, np.asarray(class_of, np.int64), units)

    def together(self, class_of: Classes, k: int) -> Together:
        """Return what a release leaves together with the earlier ones. ``class_of`` (n,): the class of each row, -1 of
        those that are left out; ``k``: what it promises. Where persons have several rows, those of one table are put
        beside each other row by row, and all by the sets of each person's classes; what leaves more below k counts."""
        counted = self.counted(k)
        by_person = together([*(self.classes[at] for at in counted), self.beside(class_of)], self.required(k))
        rows = [rows for rows in (self.aligned[at] for at in counted) if rows is not None]
        if not self.several or not rows:
            return by_person
        by_row = together([*rows, np.asarray(class_of, np.int64)], self.required(k), self.unit)
        return by_row if len(rows) == len(counted) else max(by_row, by_person, key=lambda one: one.below)

    def limits(self, now: Now) -> tuple[tuple[CellLimit, ...], tuple[CellLimit, ...], int]:
        """Return what comes of every limit besides k that a release and the earlier ones of its people promise, where
        all of a cell are in the table: of those on values, and of those on what is known of the population; and how
        many persons the others have."""
        counted = self.counted(now.k)
        before = [self.promises[at] for at in counted if self.related[at]]
        how = [now.promise, *before]
        earlier, who = [self.classes[at] for at in counted], self.unit if self.several else None
        cell, sizes = cells_of([*earlier, self.beside(now.class_of)])
        changed = changed_cells(earlier, cell, sizes)
        absent = np.bincount(cell[self.present :][cell[self.present :] >= 0], minlength=len(sizes)) > 0
        of_unit = np.where(np.append(absent, True)[cell], -1, cell)
        ways = [(np.append(of_unit, -1)[self.unit], changed)]
        rows = [rows for rows in (self.aligned[at] for at in counted) if rows is not None]
        if self.several and rows:
            of_row, n_rows = cells_of([*rows, np.asarray(now.class_of, np.int64)])
            by_row = of_row, changed_cells(rows, of_row, n_rows)
            ways = [by_row] if len(rows) == len(counted) else [*ways, by_row]
        answers = [limits_on_cells(now.values, how, own, who, before, new) for own, new in ways]
        risks = [now.risks(before, own, new) for own, new in ways]
        of_values, of_people = (worst_of(one for some in each for one in some) for each in (answers, risks))
        return of_values, of_people, int(sizes[absent & changed].sum())

    def people_below(self, class_of: Classes, k: int, group: NDArray[np.integer]) -> dict[int, int]:
        """Return how many persons of each group are in a cell of too few; a group without any is left out, and there is
        none where a release makes no such cell. ``class_of`` (n,), ``k``: as of :meth:`together`; ``group`` (n,): of
        each row."""
        counted = self.counted(k)
        ways: list[tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64] | None]]
        ways = [([self.classes[at] for at in counted], self.beside(class_of), None)]
        rows = [rows for rows in (self.aligned[at] for at in counted) if rows is not None]
        ways += [(rows, np.asarray(class_of, np.int64), self.unit)] if self.several and rows else []
        few = np.zeros(len(self.unit), np.bool_)
        for before, own, person in ways:
            cell, sizes = cells_of([*before, own], person)
            below = sizes < self.required(k)
            new = (below & changed_cells(before, cell, sizes, person)).any()
            of_each = np.append(below & new, False)[cell]
            few |= np.append(of_each, False)[self.unit] if person is None else of_each
        few &= self.unit >= 0
        pairs = np.unique(np.column_stack([np.asarray(group, np.int64)[few], self.unit[few]]), axis=0)
        return {int(one): int(number) for one, number in zip(*np.unique(pairs[:, 0], return_counts=True), strict=True)}

    def required(self, k: int) -> int:
        """Return the k that cells need beside a release that promises ``k``: the largest that its people were
        promised."""
        return max([k, *(own for own, related in zip(self.k, self.related, strict=True) if related)])

    def counted(self, k: int) -> list[int]:
        """Return the places of the releases that count beside one that promises ``k``: all but those of other people
        who were promised less."""
        ways = enumerate(zip(self.k, self.related, strict=True))
        return [at for at, (own, related) in ways if related or own >= self.required(k)]

    def same_as(self, class_of: Classes) -> int | None:
        """Return the line of an earlier release with the same groups, ``None`` where there is none."""
        somebody = self.unit >= 0
        own = np.asarray(class_of, np.int64)[somebody] if self.several else self.beside(class_of)
        for line, classes, rows in zip(self.lines, self.classes, self.aligned, strict=True):
            if self.several:
                if rows is None:
                    continue
                classes = rows[somebody]
            inside = own >= 0
            pairs = own[inside] * (int(classes.max(initial=-1)) + 1) + classes[inside]
            sizes = {len(pd.unique(one)) for one in (pairs, own[inside], classes[inside])}
            if np.array_equal(inside, classes >= 0) and len(sizes) == 1:
                return line
        return None


def cells_of_rows(rows: LedgerRows, releases: Sequence[tuple[ReleaseEntry, Members]]) -> LedgerCells:
    """Return the classes of a table's rows in earlier releases. ``releases``: entry and members of each."""
    n, schema, person = len(rows), rows.schema, rows.person
    unit = np.arange(n, dtype=np.int64) if person is None else np.asarray(person, np.int64)
    digests = own_persons(rows)
    present = n if person is None else len(digests)
    by_person = [members for entry, members in releases if person is not None and entry.person is not None]
    absent = _absent(by_person, digests)
    everybody = np.append(digests, absent)
    ascending = np.argsort(everybody)
    somebody = somebodys(rows)
    several = len(somebody) > present
    here, classes, aligned, usable, unknown = np.zeros(present, np.bool_), [], [], [], []
    for entry, members in releases:
        of_rows = None
        if entry.person is None:
            of_rows = classes_of_records(rows, entry, members)
            why = "" if of_rows is not None else NOBODY
            if of_rows is not None:
                own = of_rows if person is None else classes_of_persons(unit, of_rows, present)
                own, inside = np.append(own, np.full(len(absent), -1)), np.ones(present, np.bool_)
        else:
            why = _unlike(entry, schema)
            if not why:
                own, inside = np.empty(len(everybody), np.int64), np.empty(len(everybody), np.bool_)
                own[ascending], inside[ascending] = members.classes(everybody[ascending])
                if several:
                    of_rows = classes_of_rows(rows, entry, members, digests[unit[somebody]])
        if why:
            unknown.append((entry.line, why, _in_common(rows, entry)))
            continue
        usable.append((entry.line, entry.k, day_text(entry.at), entry.promise, entry.composes))
        classes.append(own)
        aligned.append(of_rows if several else None)
        here |= inside[:present]
    lines, k, days, promises, composes = zip(*usable, strict=True) if usable else ((), (), (), (), ())
    related = _related(classes, present)
    return LedgerCells(
        lines, k, days, unit, tuple(classes), present, tuple(aligned), several, related, int(here.sum()),
        tuple(unknown), promises, composes,
    )  # fmt: skip


def with_trees(cells: LedgerCells, rows: LedgerRows, trees: Sequence[tuple[TreeEntry, Members]]) -> LedgerCells:
    """Return the classes of a table's rows together with the leaves that they have in published trees. ``trees``: entry
    and members of each."""
    leaves = cells_of_rows(rows, [(tree.people, members) for tree, members in trees])
    of_line, own = {tree.people.line: tree for tree, _ in trees}, []
    for at, (line, of_rows) in enumerate(zip(leaves.lines, leaves.rows, strict=True)):
        tree, absent = of_line[line], frozenset(leaves.classes[at][leaves.present :].tolist()) - {-1}
        elsewhere = frozenset(one for one in absent if one < tree.number) if leaves.aligned[at] is None else frozenset()
        if (of_rows >= 0).any():
            own.append(TreeLeaves(tree.target, of_rows, tree.number, tree.rates, tree.says, line, elsewhere))
    return replace(cells, trees=tuple(own), unknown=(*cells.unknown, *leaves.unknown))


def together_of(members: Sequence[Members], k: Sequence[int]) -> Together:
    """Return what releases leave together of everybody in them. ``k``: what each promised, of which the largest
    counts."""
    everybody = _absent(members, np.empty(0, np.uint64))
    return together([one.classes(everybody)[0] for one in members] or [everybody.astype(np.int64)], max(k, default=1))


def _absent(members: Sequence[Members], digests: Words) -> Words:
    """Return the digests of who is in a class of some releases and not in the table, ascending."""
    here = Members(np.sort(digests), np.zeros(len(digests), np.int32))
    persons = [distinct[class_of >= 0] for distinct, class_of in (one.persons for one in members)]
    others = [distinct[~here.classes(distinct)[1]] for distinct in persons]
    return np.unique(np.concatenate(others)) if others else np.empty(0, np.uint64)


def _unlike(entry: ReleaseEntry, schema: Schema) -> str:
    """Return why the people of a release cannot be recognised by the persons of a table, "" where they can."""
    if schema.person is None:
        return NOBODY
    if entry.alike != schema[schema.person].alike:
        return "Ids that differ in writing only were one person's there and are not here, or the other way round."
    return ""


def _in_common(rows: LedgerRows, entry: ReleaseEntry) -> str:
    """Return how many columns of a release's table hold the same values here, in a sentence; "" where none does."""
    prints = rows.prints([name for name in rows.names if name in entry.prints])
    number = sum(one == entry.prints[name] for name, one in prints.items())
    columns = plural(len(entry.prints), "column")
    return f"{number:,} of {columns} hold what entry {entry.line:,} held. " if number else ""


def _related(classes: Sequence[NDArray[np.int64]], present: int) -> tuple[bool, ...]:
    """Return whether each release shares somebody with the table, directly or by way of others."""
    inside = np.zeros(len(classes[0]) if classes else present, np.bool_)
    inside[:present] = True
    related = [False] * len(classes)
    while True:
        more = [at for at, own in enumerate(classes) if not related[at] and (own[inside] >= 0).any()]
        if not more:
            return tuple(related)
        for at in more:
            related[at] = True
            inside |= classes[at] >= 0


def findings_of(cells: LedgerCells, now: Now) -> tuple[Finding, ...]:
    """Return what a release leaves together with those of a ledger, as the gate lists it."""
    findings = [_not_counted(*one) for one in cells.unknown]
    findings += findings_on_values(cells, now.table, now.class_of, now.k, now.promise)
    if not any(cells.related):
        return tuple(findings) or (_nobody_here(),)
    line = cells.same_as(now.class_of)
    findings.append(_counted(cells, now) if line is None else _same(cells, line))
    *limits, elsewhere = cells.limits(now)
    who = "1 person" if elsewhere == 1 else f"{elsewhere:,} people"
    unknown = f"In the groups of {who} not all values are known: some are not in this table." if elsewhere else ""
    for some in limits:
        findings += of_limits(some, _before(cells, now.k), now.repairs, unknown)
    if (most := cells.required(now.k)) > now.k:
        day = next(day for day, *of in zip(cells.days, cells.k, cells.related, strict=True) if of == [most, True])
        findings.append(
            Finding(
                f"together: promised {most:,}, now {now.k:,}", Severity.STOPS, f"k = {most:,}, now {now.k:,}",
                f"The release of {day} promised {most:,}. With this one it is {now.k:,}.",
            )
        )  # fmt: skip
    return tuple(findings)


def tree_findings_of(cells: LedgerCells, values: pd.DataFrame, leaves: TreeLeaves) -> tuple[Finding, ...]:
    """Return what a tree that is to be published leaves together with what a ledger has, as the gate lists it.
    ``values``: the column that it predicts; ``leaves``: of the rows."""
    findings = [*(_not_counted(*one) for one in cells.unknown), *findings_on_values(cells, values, leaves)]
    nobody = cells.lines and not findings and not any(cells.related)
    return (_nobody_here(),) if nobody else tuple(findings)


def findings_on_values(
    cells: LedgerCells, table: pd.DataFrame, now: Classes | TreeLeaves, k: int = 1, promise: Promise | None = None
) -> list[Finding]:
    """Return what releases and published trees leave of values together, a finding for each column that a tree
    predicts. ``table``: with these columns; ``now``: a release of the table with the ``promise``, or a tree of it, that
    is looked at."""
    looked_at = isinstance(now, TreeLeaves)
    columns = [now.target] if isinstance(now, TreeLeaves) else dict.fromkeys(one.target for one in cells.trees)
    places = [at for at in cells.counted(k) if cells.related[at]]
    promises = [*([] if promise is None else [promise]), *(cells.promises[at] for at in places)]
    whole, some = zip(*(_whole_classes(cells, at) for at in places), strict=True) if places else ((), ())
    leaves = [one.leaf for one in cells.trees] + [now.leaf if isinstance(now, TreeLeaves) else now]
    group = together([*(cells.rows[at] for at in places), *leaves], k, cells.unit).smallest
    findings = []
    for name in columns:
        trees = [one for one in cells.trees if one.target == name]
        if name in table and (trees or (looked_at and places)):
            remainder = remainder_of(table[name], cells.unit, whole, trees, now, promises)
            partly = any(some) or any(one.elsewhere for one in trees)
            findings.append(finding_of(remainder, _beside(len(places), len(trees)), group, ELSEWHERE * partly))
    return findings


ELSEWHERE = "Of groups that have somebody who is not in this table, not all values are known: they count as all."


def _whole_classes(cells: LedgerCells, at: int) -> tuple[NDArray[np.int64], bool]:
    """Return the class of each row in a release (n,), -1 where somebody of it is not in the table, so that its values
    are not known; and whether there is any such row."""
    rows = cells.rows[at]
    absent = np.isin(rows, cells.classes[at][cells.present :]) & (rows >= 0) & (cells.aligned[at] is None)
    return np.where(absent, -1, rows), bool(absent.any())


def _beside(releases: int, trees: int) -> str:
    """Return what is looked at is put beside."""
    parts = [plural(releases, "earlier release")] * bool(releases) + [plural(trees, "published tree")] * bool(trees)
    return " and ".join(parts)


def _not_counted(line: int, why: str, common: str) -> Finding:
    return Finding(
        f"together: not counted with entry {line:,} of the ledger", Severity.STOPS, "Not counted", why,
        f"What this and entry {line:,} leave together cannot be counted. {common}{NAME_IT}",
    )  # fmt: skip


def _nobody_here() -> Finding:
    return Finding(
        "together: nobody in the ledger", Severity.LOOK, "0 people", "None of these people is in the ledger.",
        "Nobody is counted together with earlier releases. If some are in them, their ids are written in another way.",
    )  # fmt: skip


def _same(cells: LedgerCells, line: int) -> Finding:
    day = cells.days[cells.lines.index(line)]
    return Finding(
        f"together: the same groups as entry {line:,}", Severity.FINE, "Same groups",
        f"These are the same groups as release {line:,}, of {day}: nobody is in a smaller one than before.",
    )  # fmt: skip


def _counted(cells: LedgerCells, now: Now) -> Finding:
    counted = [cells.classes[at] for at in cells.counted(now.k)]
    before = _before(cells, now.k)
    both = cells.together(now.class_of, now.k)
    finding = of_cells(both, before, repairs=now.repairs)
    if both.holds:
        return finding
    if which := _uncomposed(cells, now):
        return replace(finding, detail=ALONE_FAILS.format(which=which), repairs=())
    if cells.several:
        return replace(finding, detail=KEEP)
    own, promised = cells.beside(now.class_of), cells.required(1)
    cell, sizes = cells_of([*counted, own])
    earlier = cells_of(counted)[0]
    if promised < both.k and _is_unchanged(own, cell, earlier):
        return replace(of_cells(cells.together(now.class_of, promised), before), detail=UNCHANGED)
    leavers = _leavers(own, cell, sizes, earlier, both.k)
    detail = " ".join([*leavers, *_comers(own, earlier, now.k), KEEP])
    return replace(finding, detail=detail, repairs=() if leavers else finding.repairs)


def _uncomposed(cells: LedgerCells, now: Now) -> str:
    """Return which release of those that count cannot be put beside others, "" where all can."""
    if not together([now.class_of], now.k, cells.unit).holds:
        return "This release"
    return next((f"The release of {cells.days[at]}" for at in cells.counted(now.k) if not cells.composes[at]), "")


def _before(cells: LedgerCells, k: int) -> str:
    """Return what the releases that count are called."""
    several = f"the {len(cells.counted(k)):,} releases before"
    return f"the release of {cells.days[0]}" if len(cells.lines) == 1 else several


def _leavers(own: Classes, cell: Classes, sizes: NDArray[np.int64], earlier: Classes, k: int) -> list[str]:
    """Return the sentence on people who are not in the release while others of their earlier group are."""
    stays = np.zeros(int(earlier.max()) + 1, np.bool_)
    stays[earlier[(earlier >= 0) & (own >= 0)]] = True
    gone = (earlier >= 0) & (own < 0)
    gone[gone] = (sizes[cell[gone]] < k) & stays[earlier[gone]]
    if not gone.any():
        return []
    groups = np.unique(earlier[gone])
    others = int((np.isin(earlier, groups) & (own >= 0)).sum())
    number = int(gone.sum())
    who = f"{number:,} people" if number > 1 else "1 person"
    of_groups = plural(len(groups), "earlier group")
    return [
        f"{who} of {of_groups} {'are' if number > 1 else 'is'} not in this release. No grouping changes that: keep "
        f"their rows, publish only who is new, or leave out the {others:,} others of these groups."
    ]


def _comers(own: Classes, earlier: Classes, k: int) -> list[str]:
    number = int(((earlier < 0) & (own >= 0)).sum())
    who = f"{number:,} people are" if number > 1 else "1 person is"
    return [f"{who} new, fewer than {k:,}: they wait for the next release."] if 0 < number < k else []


def _is_unchanged(own: Classes, cell: Classes, earlier: Classes) -> bool:
    """Return True when a release parts no cell of earlier ones, and has nobody who is new."""
    inside = earlier >= 0
    return len(np.unique(cell[inside])) == len(np.unique(earlier[inside])) and not (~inside & (own >= 0)).any()


def day_text(at: str) -> str:
    """Return the day of a time (ISO 8601) as it is read, such as ``3 May 2026``."""
    day = datetime.fromisoformat(at)
    return f"{day.day} {month_name[day.month]} {day.year}"
