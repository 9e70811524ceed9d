"""What a report for people is made of: what was found, counted once more where no other stage does, and what only the
steward can say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cells import WITHHELD_SIGN
from anonymizer.checking.linkage import look_alikes
from anonymizer.errors import Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.measuring.utility import discernibility, majority_class_error
from anonymizer.population.sample import Population, Risky, riskiest, sample_risk, special_of
from anonymizer.provenance.report import Report
from anonymizer.releasing.set_names import named
from anonymizer.reporting.document import Picture
from anonymizer.schema import Kind, Schema
from anonymizer.studies.attack import Attacks
from anonymizer.values import share, value_text

MOST_RISKY = 10
"""Records that a report names by each order."""


@dataclass(frozen=True)
class Approval:
    """Who approves, in which function, and when (text); empty parts are left open to be filled in by hand."""

    name: str = ""
    function: str = ""
    date: str = ""


@dataclass(frozen=True)
class Statement:
    """What only the steward can say: why the data leave, to whom, on what basis, and who stands for it."""

    purpose: str = ""
    recipient: str = ""
    basis: str = ""
    prepared_by: str = ""
    approvals: tuple[Approval, ...] = ()


@dataclass(frozen=True)
class ColumnCells:
    """Cells of one released column: empty (missing) before and after, withheld ``*`` after, and the distinct ones."""

    name: str
    missing_before: int
    missing_after: int
    withheld: int
    distinct_before: int
    distinct_after: int


@dataclass(frozen=True)
class Riskiest:
    """The records that are easiest to recognise: ``by_score``, whom fewest columns single out, and ``by_risk``, to
    whom a link is most likely right; ``contribution``: each quasi-identifier with its part of all scores, 0 to 1,
    the largest first; ``source``: what is known of the population, in words."""

    by_score: tuple[Risky, ...]
    by_risk: tuple[Risky, ...]
    contribution: tuple[tuple[str, float], ...]
    source: str


@dataclass(frozen=True)
class OneRow:
    """A row before and after: ``cells``, of each quasi-identifier its name, its original value and its released cell,
    what changed first; ``alike``: how many other rows look the same."""

    cells: tuple[tuple[str, str, str], ...]
    alike: int

    @property
    def changed(self) -> int:
        """Number of cells that are not as they were."""
        return sum(before != after for _, before, after in self.cells)


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a document is made of. ``error_before``: share of records outside the most frequent target value of
    their look-alikes in the original, ``discernibility_before`` in squared records; ``attacks``: when they were run;
    ``pictures``: of the internal report, see :func:`anonymizer.reporting.pictures.pictures_of`; ``riskiest``: records
    of the original that are easiest to recognise, and ``one_row``, for the internal report alone.
    """

    report: Report
    cells: tuple[ColumnCells, ...]
    discernibility_before: int
    error_before: float | None
    attacks: Attacks | None = None
    rows_before: int = 0
    rows_after: int = 0
    pictures: tuple[Picture, ...] = ()
    riskiest: Riskiest | None = None
    one_row: OneRow | None = None

    @property
    def suppressed(self) -> int:
        """Records that were left out."""
        return self.rows_before - self.rows_after

    @property
    def suppression_text(self) -> str:
        """Whether records were left out, why, and where they count, in words."""
        if not self.suppressed:
            return "Rows are never dropped to reach a promise."
        return (
            f"{share(self.suppressed / self.rows_before)} of the rows were left out, because the boxes of the "
            "others would be wider with them; within a group only quasi-identifying values decided who. They are in no "
            "row, so nothing is missing or withheld of them. What was lost counts them as lost whole; attacks are "
            "judged over the people who are there, and the method was not run again."
        )


def findings_of(
    report: Report,
    table: pd.DataFrame,
    released: pd.DataFrame,
    attacks: Attacks | None = None,
    pictures: tuple[Picture, ...] = (),
    riskiest: Riskiest | None = None,
    one_row: OneRow | None = None,
) -> Findings:
    """Return the findings: the report, and what it has not: cells and utility before. ``released``: the release as a
    table of text cells."""
    schema = report.provenance.schema
    names = list(schema.quasi_identifying)
    cells = tuple(column_cells(table[name], released[name], name) for name in schema.released)
    target, classes = schema.target, look_alikes(table, names)
    classed = target is not None and schema[target].kind is Kind.CATEGORICAL
    return Findings(
        report=report,
        cells=cells,
        discernibility_before=discernibility(classes),
        error_before=majority_class_error(table[target], classes) if classed and target is not None else None,
        attacks=attacks,
        rows_before=len(table),
        rows_after=len(released),
        pictures=pictures,
        riskiest=riskiest,
        one_row=one_row,
    )


def one_row_of(flow: Flow, row: int | None = None) -> OneRow:
    """Return a row of the table before and after, as the files write it. ``row``: its number, ``None`` for the one in
    the middle of the release."""
    order = flow.release.order
    place = len(order) // 2 if row is None else int(np.flatnonzero(order == row)[0])
    row, names = int(order[place]), list(flow.schema.quasi_identifying)
    cells_there = named(flow.release.take(np.array([place])), flow.settings.sets).frame()
    original, released = (
        ["missing" if pd.isna(value) else value_text(value) for value in values]
        for values in (flow.table[names].iloc[row], cells_there[names].iloc[0])
    )
    cells = sorted(zip(names, original, released, strict=True), key=lambda cell: cell[1] == cell[2])
    return OneRow(tuple(cells), int(flow.look_alikes.sizes[flow.class_of[row]]) - 1)


def riskiest_of(
    table: pd.DataFrame, schema: Schema, population: Population, progress: Progress = no_progress
) -> Riskiest:
    """Return the riskiest records of a table, :data:`MOST_RISKY` by each order. Raises what
    :func:`anonymizer.population.sample.sample_risk` raises, and what ``progress`` raises."""
    risk, special = sample_risk(table, schema, population), special_of(table, schema, progress)
    names = schema.quasi_identifying
    by_score, by_risk = (tuple(riskiest(risk, special, names, MOST_RISKY, by)) for by in ("score", "risk"))
    parts = sorted(zip(names, special.contribution.tolist(), strict=True), key=lambda part: -part[1])
    return Riskiest(by_score, by_risk, tuple(parts), risk.source)


def column_cells(before: "pd.Series[Any]", after: "pd.Series[Any]", name: str) -> ColumnCells:
    """Return what became of the cells of one column."""
    withheld = int((after.astype(object) == WITHHELD_SIGN).sum())
    return ColumnCells(
        name,
        int(before.isna().sum()),
        int(after.isna().sum()),
        withheld,
        int(before.nunique()),
        int(after.nunique()),
    )
