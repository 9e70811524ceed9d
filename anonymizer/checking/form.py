"""The form of a release: what has to be in order before any figure of it means anything.

Cells are judged by the grammar of :mod:`anonymizer.cells`, by the domains that the schema declares, and beside an
original by what occurs there. A cell has one spelling: another one could mark a row, or make equal rows look unlike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, is_date, number_of, parse_column_cell
from anonymizer.checking.candidates import Original, OriginalColumn
from anonymizer.checking.evidence import Check, rows_text
from anonymizer.checking.linkage import LookAlikes, columns_of
from anonymizer.checking.released import ColumnCells, is_plain, texts_of
from anonymizer.checking.treated import wrong_forms
from anonymizer.errors import AnonymizerError, CellError
from anonymizer.schema import LEFT_OUT, Column, Kind, Role, Schema
from anonymizer.settings import Limits
from anonymizer.values import level_order, numbers_of, value_text
from anonymizer.values import share as share_text

ON_SENSITIVE = ("l", "entropy_l", "t", "rsd_min", "spread_min")
"""Limits that speak of sensitive columns."""


def records_check(rows: int, records: int, share: float, left_out: int | None) -> tuple[Check, ...]:
    """Return the check that a release of so many rows lacks at most a share of the records of its original, and just as
    many as were said to be ``left_out``; none where nobody may be left out and nobody is. ``None``: nothing was said.

    Who was left out is in no row: nothing is missing or withheld there.
    """
    lacks, most = records - rows, int(share * records + 1e-9)
    if not (lacks or share or left_out):
        return ()
    says = f"{lacks:,} of {records:,} rows ({share_text(lacks / records)}) were left out: they are not in the release."
    if lacks < 0:
        says = f"The release has {-lacks:,} rows more than the original."
    elif lacks > most:
        says += f" At most {most:,} may be."
    elif left_out is not None and left_out != lacks:
        says += f" The release says that {left_out:,} were."
    elif not lacks:
        says = f"No row was left out; {most:,} might have been."
    right = 0 <= lacks <= most and left_out in (None, lacks)
    return (Check("rows left out", most, lacks, right, "", says),)


def file_check(beside: Sequence[str] | None, unjudged: str = "") -> tuple[Check, ...]:
    """Return the check that a file holds its rows and nothing else. ``beside``: what else it holds, a sentence each;
    ``None`` when no file was read. ``unjudged``: why that cannot be said for certain: then it is neither right nor
    wrong."""
    if beside is None:
        return ()
    if unjudged and not beside:
        return (Check("file", 0, 0, None, "", unjudged),)
    sentence = " ".join(beside) or "The file holds its rows and nothing else, written in one way."
    return (Check("file", 0, len(beside), not beside, "", sentence),)


def sensitive_check(released: pd.DataFrame, schema: Schema, required: Limits) -> tuple[Check, ...]:
    """Return the check that the columns that limits speak of are in the release; none when no limit does."""
    on = [name for name in ON_SENSITIVE if required[name] is not None]
    if not on:
        return ()
    absent = [name for name in schema.sensitive if name not in released.columns]
    if "rsd_min" in on or "spread_min" in on:
        absent += [
            name
            for name in schema.sensitive
            if name in released.columns
            and schema[name].kind is not Kind.CATEGORICAL
            and not _has_numbers(released, schema[name])
        ]
    sentence = "Every sensitive column is in the release."
    if not schema.sensitive:
        sentence = f"No column is sensitive, so {', '.join(on)} cannot hold of any."
    elif absent:
        sentence = f"{', '.join(on)} cannot hold: the release lacks the sensitive values of {', '.join(absent)}."
    passed = bool(schema.sensitive) and not absent
    return (Check("sensitive columns", 0, len(absent), passed, ", ".join(absent), sentence),)


def _has_numbers(released: pd.DataFrame, column: Column) -> bool:
    try:
        numbers_of(released[column.name], column)
    except AnonymizerError:
        return False
    return True


def cells_check(
    released: pd.DataFrame,
    schema: Schema,
    classes: LookAlikes,
    original: Original | None,
    cells: Mapping[str, ColumnCells] | None = None,
    counts: "np.ndarray | None" = None,
) -> tuple[Check, bool]:
    """Return the check that every cell is one, in its one spelling, within the domain, and whether all can be read.

    ``cells``: of each quasi-identifier, when the caller has read them; ``counts``: how many rows each stands for.
    """
    wrong, worst, sentences, readable = 0, "", [], True
    for column in schema.columns:
        if column.name not in released.columns or column.role in LEFT_OUT:
            continue
        own = None if cells is None else cells.get(column.name)
        index, texts = (own.index, list(own.texts)) if own and own.texts else texts_of(released[column.name])
        if column.role is Role.QUASI_IDENTIFYING:
            have = None if original is None else original.columns[schema.quasi_identifying.index(column.name)]
            ready = {} if own is None else dict(zip(texts, own.cells, strict=True))
            judge = _Judge(column, have, ready)
            problems = {place: problem for place, text in enumerate(texts) if text and (problem := judge.problem(text))}
            problems |= _wrong_counts(judge.cells, texts, index, classes, problems)
            if original is not None:
                problems |= _strange(judge.cells, texts, column, original, problems)
            readable &= judge.readable
        else:
            problems = _outside(texts, column)
        if problems:
            rows = np.bincount(index, counts, minlength=len(texts))
            place = max(problems, key=lambda one: (rows[one], -one))
            count = int(sum(rows[one] for one in problems))
            wrong += count
            excerpt = _excerpt(texts[place] or "")
            worst = worst or f"{column.name} {excerpt}"
            sentences.append(f"{rows_text(count)} of {column.name} ({excerpt}: {problems[place]}).")
    if not wrong:
        return Check("cells", 0, 0, True, "", "Every cell has the expected format."), True
    return Check("cells", 0, wrong, False, worst, f"Cells are not in order: {' '.join(sentences)}"), readable


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


class _Judge:
    """Judges the distinct cells of one quasi-identifier. ``cells``: those that could be read, by their text, of which
    some may be ``ready``."""

    def __init__(self, column: Column, original: OriginalColumn | None, ready: dict[str | None, Cell]) -> None:
        self.column = column
        self.ready = ready
        self.original = original
        self.cells: dict[str, Cell] = {}
        self.readable = True
        self.in_full: set[bool] = set()
        domain = column.domain or ()
        self.place = {str(level): at for at, level in enumerate(domain)} if column.kind is Kind.CATEGORICAL else {}
        self.ends = None
        if domain and column.kind is not Kind.CATEGORICAL:
            low, high = (
                number_of(value_text(pd.Timestamp(end) if column.kind is Kind.DATE else end)) for end in domain
            )
            self.ends = (low, high)

    def problem(self, text: str) -> str:
        """Return what is wrong with a cell; "" when nothing is."""
        try:
            cell = self.ready.get(text) or parse_column_cell(text, self.column)
        except CellError as error:
            self.readable = False
            return error.problem.rpartition(": ")[2].rstrip(".") or "it is no cell"
        self.cells[text] = cell
        if not self._spelled(cell, text):
            return "a cell has one spelling, and this is another"
        if cell.withheld or cell == Cell.MISSING:
            return ""
        return self._of_levels(cell) if self.column.kind is Kind.CATEGORICAL else self._of_numbers(cell)

    def _spelled(self, cell: Cell, text: str) -> bool:
        """Return whether a cell is spelled as it should be. Runs of bands that nobody declared as ordered can be
        written level by level, if all those of the column are."""
        in_full = bool(cell.words) and self.column.bands is not None and replace(cell, words=()).text() == text
        if cell.words:
            self.in_full.add(in_full)
        return len(self.in_full) < 2 and (cell.text() == text or (in_full and self.column.suggested))

    def _of_levels(self, cell: Cell) -> str:
        if cell.ends is not None:
            return "an interval in a column of levels"
        if self.place:
            if unknown := [level for level in cell.levels if level not in self.place]:
                return f"{_excerpt(unknown[0])} is outside the declared domain"
            if self.column.cuts.hierarchy is not None and len(cell.levels) > 1 and not cell.words:
                return "it does not keep to the public hierarchy"
            places = [self.place[level] for level in cell.levels]
            if places == sorted(places) or self.column.declared:
                return "" if places == sorted(places) else "the levels are not in their order"
        orders = (sorted(cell.levels), sorted(cell.levels, key=level_order(list(cell.levels))))
        return "" if list(cell.levels) in map(list, orders) else "the levels are not in their order"

    def _of_numbers(self, cell: Cell) -> str:
        of_dates = self.column.kind is Kind.DATE
        if cell.ends is None:
            return f"levels in a column of {'dates' if of_dates else 'numbers'}"
        low, high = cell.low, cell.high
        assert low is not None
        assert high is not None
        if self.column.cuts and not self.column.cuts.allows(low, high):
            return "it does not keep to the public cuts"
        for text in filter(None, cell.ends):
            if is_date(text) is not of_dates:
                return f"a {'number' if of_dates else 'date'} in a column of {'dates' if of_dates else 'numbers'}"
            if not is_plain(text):
                return "a number or date has one spelling, and this is another"
        if not self.column.cuts and "" in cell.ends:
            return "an open end in a column without public cuts"
        ends = [end for end in (low, high) if np.isfinite(end)]
        if self.ends is not None and not self.ends[0] <= ends[0] <= ends[-1] <= self.ends[1]:
            return "it is outside the declared domain"
        numbers = None if self.original is None else self.original.numbers
        if cell.estimate and numbers is not None and not (len(numbers) and numbers[0] <= low <= numbers[-1]):
            return "no value of the original is as low, or as high"
        return ""


def _wrong_counts(
    cells: dict[str, Cell], texts: list[str | None], index: "np.ndarray", classes: LookAlikes, others: dict[int, str]
) -> dict[int, str]:
    """Return the cells whose counts do not add up to the groups that have them: a class is one such group, or some."""
    totals = np.array([sum(cells[text].counts) if text in cells else 0 for text in texts], dtype=np.int64)
    if not totals.any():
        return {}
    counted = np.flatnonzero(totals[index] > 0)
    sizes = classes.sizes[classes.class_of[counted]]
    odd = np.unique(index[counted[sizes % totals[index[counted]] != 0]])
    return {int(place): "its counts do not add up to a group of rows" for place in odd if int(place) not in others}


def _strange(
    cells: dict[str, Cell], texts: list[str | None], column: Column, original: Original, others: dict[int, str]
) -> dict[int, str]:
    """Return the cells with levels or counts that the original does not have; a declared domain has its levels."""
    if column.kind is not Kind.CATEGORICAL:
        return {}
    position = original.schema.quasi_identifying.index(column.name)
    have = original.columns[position]
    has_counts = any(cell.counts for cell in cells.values())
    records = np.bincount(columns_of(original.codes)[position] if has_counts else [], minlength=have.n_codes)
    declared = set(map(str, column.domain or ()))
    strange: dict[int, str] = {}
    for place, text in enumerate(texts):
        cell = cells.get(text or "")
        if cell is None or place in others:
            continue
        unknown = [level for level in cell.levels if level not in have.position and level not in declared]
        if unknown:
            strange[place] = f"{_excerpt(unknown[0])} is nowhere in the original"
            continue
        codes = [have.position.get(level, -1) for level in cell.levels] + [have.missing] * cell.missing
        for code, count in zip(codes, cell.counts, strict=False):
            if code < 0 or count > records[code]:
                strange[place] = "it counts more rows than the original has"
    return strange


def _outside(texts: list[str | None], column: Column) -> dict[int, str]:
    """Return the values of a column without boxes that are outside its declared domain, or not treated as it says."""
    if column.treat:
        return wrong_forms(texts, column)
    if column.domain is None:
        return {}
    if column.kind is Kind.CATEGORICAL:
        inside = set(map(str, column.domain))
        return {
            at: "it is outside the declared domain"
            for at, text in enumerate(texts)
            if text is not None and text not in inside
        }
    try:
        numbers = numbers_of(pd.Series(texts, dtype=object), column)[0]
        low, high = numbers_of(pd.Series(list(column.domain), dtype=object), column)[0]
    except AnonymizerError:
        what = "dates" if column.kind is Kind.DATE else "numbers"
        return {0: f"the values are not {what}, which their domain is declared of"}
    return {int(at): "it is outside the declared domain" for at in np.flatnonzero((numbers < low) | (numbers > high))}
