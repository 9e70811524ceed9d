"""What a report for people is made of: what was found, counted once more where no other stage does, and what only the
steward can say."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from anonymizer.attacks.attack import Attacks
from anonymizer.cells import WITHHELD_SIGN
from anonymizer.measuring.utility import discernibility, majority_class_error
from anonymizer.reporting.document import Picture
from anonymizer.reporting.report import Report
from anonymizer.schema import Kind


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


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a document is made of. ``error_before``: share of records outside the most frequent target value of
    their look-alikes in the original, ``discernibility_before`` in squared records; ``attacks``: when they were run;
    ``pictures``: of the internal report, see :func:`anonymizer.reporting.pictures.pictures_of`.
    """

    report: Report
    cells: tuple[ColumnCells, ...]
    discernibility_before: int
    error_before: float | None
    attacks: Attacks | None = None
    rows_before: int = 0
    rows_after: int = 0
    pictures: tuple[Picture, ...] = ()


def findings_of(
    report: Report,
    table: pd.DataFrame,
    released: pd.DataFrame,
    attacks: Attacks | None = None,
    pictures: tuple[Picture, ...] = (),
) -> Findings:
    """Return the findings: the report, and what it has not: cells and utility before. ``released``: the release as a
    table of text cells."""
    schema = report.provenance.schema
    names = list(schema.quasi_identifying)
    cells = tuple(column_cells(table[name], released[name], name) for name in schema.released)
    target = schema.target
    classed = target is not None and schema[target].kind is Kind.CATEGORICAL
    return Findings(
        report=report,
        cells=cells,
        discernibility_before=discernibility(table, names),
        error_before=majority_class_error(table, names, target) if classed and target is not None else None,
        attacks=attacks,
        rows_before=len(table),
        rows_after=len(released),
        pictures=pictures,
    )


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
