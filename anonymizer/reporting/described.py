"""What the report of a packet says of its table beside roles and limits: words and domains of columns, and what for.

With the table and the report, all other files of a packet follow from it, and so whoever checks one makes them again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cells import number_of, parse_column_cell
from anonymizer.checking.evidence import Check
from anonymizer.checking.form import records_check
from anonymizer.checking.privacy_models import CONTAINED, CONTAINED_BUT
from anonymizer.checking.released import texts_of
from anonymizer.checking.verify import Verification
from anonymizer.json_value import JsonValue
from anonymizer.labelled.variable import LONGEST_LABEL, MOST_LEVELS, Variable
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.reporting.findings import Statement
from anonymizer.schema import MOST_COLUMNS, Column, Kind, Role, Schema
from anonymizer.values import numbers_of, value_text


@dataclass(frozen=True)
class DescribedColumn:
    """Words of a released column. ``domain``, ``declared`` and ``may_miss``: as those of
    :class:`anonymizer.releasing.release.ReleasedColumn`; ``variable``: what the file that it came from says of it."""

    name: str
    domain: tuple[str, ...]
    declared: bool
    may_miss: bool
    variable: Variable = Variable()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; no words are left out."""
        words = {"variable": self.variable.to_dict()} if self.variable != Variable() else {}
        parts = {"name": self.name, "domain": list(self.domain), "declared": self.declared, "may_miss": self.may_miss}
        return parts | words

    @classmethod
    def from_value(cls, value: JsonValue) -> "DescribedColumn":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        fields = value.fields(("name", "domain", "declared", "may_miss", "variable"))
        return cls(
            value.field("name").text(fewest=1),
            tuple(one.text(LONGEST_LABEL) for one in value.field("domain").items(MOST_LEVELS)),
            value.field("declared").flag(),
            value.field("may_miss").flag(),
            Variable.from_value(fields["variable"]) if "variable" in fields else Variable(),
        )


@dataclass(frozen=True)
class Described:
    """``purpose``, ``prepared_by``: in the steward's words. ``failed``: the names of the checks that failed beside the
    original; ``contained``: whether every cell was found to contain its person's value there; ``persons``: of how many
    persons the rows of every class are at least, ``None`` where each row is a person or that was not found."""

    columns: tuple[DescribedColumn, ...]
    purpose: str = ""
    prepared_by: str = ""
    failed: tuple[str, ...] = ()
    contained: bool = False
    persons: int | None = None

    @classmethod
    def of(cls, release: Release, verification: Verification, statement: Statement) -> "Described":
        """Return what is said of a release. ``verification``: of it beside its original."""
        containment, persons = verification.get("containment"), verification.get("k persons")
        return cls(
            tuple(
                DescribedColumn(column.name, tuple(column.domain), column.declared, column.may_miss, column.variable)
                for column in release.columns
            ),
            statement.purpose, statement.prepared_by, tuple(check.name for check in verification.failed),
            containment is not None and containment.passed is True,
            None if persons is None or not persons.passed else int(persons.achieved or 0),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "purpose": self.purpose,
            "prepared_by": self.prepared_by,
            "failed": list(self.failed),
            "contained": self.contained,
            "persons": self.persons,
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_value(cls, value: JsonValue) -> "Described":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        value.fields(("purpose", "prepared_by", "failed", "contained", "persons", "columns"))
        persons = value.field("persons")
        return cls(
            tuple(map(DescribedColumn.from_value, value.field("columns").items(MOST_COLUMNS))),
            value.field("purpose").text(),
            value.field("prepared_by").text(),
            tuple(one.text(60, plain=True) for one in value.field("failed").items(1000)),
            value.field("contained").flag(),
            None if persons.absent else persons.whole(),
        )

    @property
    def variables(self) -> dict[str, Variable]:
        """What a file says of each column, by name."""
        return {column.name: column.variable for column in self.columns}

    @property
    def statement(self) -> Statement:
        """What the steward says of the release in a catalogue."""
        return Statement(purpose=self.purpose, prepared_by=self.prepared_by)

    def what(self, verification: Verification, suppression: float) -> str:
        """Return what the release is, in the checker's words. ``verification``: of the table, alone or beside the
        original; ``suppression``: the largest share of records that may be left out."""
        if self.failed:
            return f"This release fails required checks: {', '.join(self.failed)}."
        counted = verification.get("k persons") is not None
        others = ("k persons", "containment", "rows left out")
        checks = [check for check in verification.checks if check.name not in others]
        if counted or self.persons is not None:
            enough = None if self.persons is None else self.persons >= verification.k
            checks.append(Check("k persons", verification.k, self.persons, enough, "", "Persons were not counted."))
        if self.contained:
            sentence = CONTAINED if verification.get("means and medians") is None else CONTAINED_BUT
            checks.append(Check("containment", None, None, True, "", sentence))
        checks += records_check(
            verification.rows, verification.rows + verification.left_out, suppression, verification.left_out
        )
        return replace(verification, checks=tuple(checks)).describe()

    def problems(self, release: Release, schema: Schema, left_out: int) -> list[str]:
        """Return how the columns of a release are not what is said of them, a sentence each. ``left_out``: how many
        records are in no row; what these held can be in domains then."""
        judge = {True: _wrong_cells, False: _wrong_values}
        return [
            f"The report says what is not so of column {column.name!r}: {problem}."
            for column in release.columns
            if (problem := judge[column.generalized](column, schema[column.name], bool(left_out)))
        ]


def release_from(rows: pd.DataFrame, schema: Schema, columns: Sequence[DescribedColumn], numbers: str = "") -> Release:
    """Return the release that a table of these rows is, as :meth:`ReleasedFile.under` a schema gives them. ``columns``:
    what is said of each; ``numbers``: how they are written. Raises :class:`CellError` for what is no cell."""
    released = []
    for words in columns:
        column = schema[words.name]
        plain = ReleasedColumn(
            words.name, column.role, column.kind, words.domain, words.may_miss, variable=words.variable,
            declared=words.declared, treat=column.treat,
        )  # fmt: skip
        if column.role is Role.QUASI_IDENTIFYING:
            index, texts = texts_of(rows[words.name])
            cells = tuple(parse_column_cell(text, column) for text in texts)
            released.append(replace(plain, cells=cells, index=index))
        else:
            released.append(replace(plain, values=rows[words.name]))
    return Release(tuple(released), np.arange(len(rows)), "", numbers=numbers)


def _wrong_cells(column: ReleasedColumn, of: Column, lacks: bool) -> str:
    """Return what is said of a column of cells and is not so; "" where all is. ``lacks``: records are in no row."""
    if any(cell.missing for cell in column.cells) and not column.may_miss:
        return "no value is said to be missing"
    named = {level for cell in column.cells for level in cell.levels}
    if of.domain is not None or column.kind is not Kind.CATEGORICAL:
        return ""
    if named - set(column.domain) or (
        set(column.domain) - named and not lacks and not any(cell.withheld for cell in column.cells)
    ):
        return "its levels are not those of the cells"
    return ""


def _wrong_values(column: ReleasedColumn, of: Column, lacks: bool) -> str:
    """Return what is said of a column of values and is not so; "" where all is. ``lacks``: records are in no row."""
    assert column.values is not None
    misses = bool(column.values.isna().any())
    if misses is not column.may_miss and not (lacks and column.may_miss):
        return f"{'no value' if misses else 'a value'} is said to be missing"
    values = column.values.dropna()
    if lacks or not column.domain or not len(values):
        return ""
    if column.kind is Kind.CATEGORICAL:
        same = of.domain is not None or set(map(value_text, pd.unique(values))) == set(column.domain)
        return "" if same else "its levels are not those of the rows"
    numbers = numbers_of(values, of)[0]
    same = [number_of(end) for end in column.domain] == [float(numbers.min()), float(numbers.max())]
    return "" if same else "its lowest and highest value are not those of the rows"
