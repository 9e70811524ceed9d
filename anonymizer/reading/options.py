"""How a file is read: what the steward says of it, what reading it has to say, and what it may take.

A packed file says little by its own size: a kilobyte can unfold into gigabytes. So how far a table reaches is read
from the file's own account first, and what is beyond the :class:`Allowance` is refused before it is allocated.
"""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from anonymizer.errors import ParameterError, ReadError
from anonymizer.labelled.dates import pattern_of_own
from anonymizer.labelled.variable import Variable

DEFAULT_MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", "-", "--",
    ".",
)  # fmt: skip
"""Texts taken as "missing" when they are the whole cell."""

MOST_SKIPPED = 1_000
"""Lines above the names of the columns that can be left out."""

FIRST = ("day", "month")
"""What can come first in a date."""

MAX_COLUMNS = 2_000
"""Widest table that is read."""


@dataclass(frozen=True)
class ReadOptions:
    r"""How to read a file; ``None`` means "find out".

    ``delimiter``: one character. ``encoding``: one of ENCODINGS. ``decimal``: "." or ",". ``missing``: texts that
    mean "missing"; ``keep``: those among them that are real values in this file. ``sheet``: name of the sheet of
    a spreadsheet. ``header``: the first line holds the column names. ``dates``: "day" or "month", which of them comes
    first where a date does not show it, or the form of dates, such as ``DD.MM.YY`` (``19YY``: of which century).
    ``as_text``, ``as_numbers``: columns that are text, or numbers, though they may look like the other. ``skip``: lines
    of text, or rows of a sheet, that stand above the names of the columns.

    >>> import anonymizer as an
    >>> text = b"age;sex\n41;f\n-;m\n"
    >>> options = an.ReadOptions(delimiter=";", missing=("-",))
    >>> int(an.read_table(text, options=options).frame["age"].isna().sum())
    1
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = DEFAULT_MISSING
    keep: tuple[str, ...] = ()
    sheet: str | None = None
    header: bool = True
    dates: str | None = None
    as_text: tuple[str, ...] = ()
    as_numbers: tuple[str, ...] = ()
    skip: int | None = None

    def __post_init__(self) -> None:
        for name in ("missing", "keep", "as_text", "as_numbers"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.dates not in (None, *FIRST) and pattern_of_own(self.dates) is None:
            raise ReadError(
                f"{self.dates!r} is no form of dates.",
                value=self.dates,
                remedy="Say day or month, for what comes first, or a form such as DD.MM.YY or 19YY-MM-DD hh:mm.",
            )
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n' or not self.delimiter.isascii()
        ):
            raise ReadError(
                f"The delimiter {self.delimiter!r} cannot be used.",
                value=self.delimiter,
                remedy="Choose one character, such as a comma, semicolon, tab or bar.",
            )
        if self.skip is not None and not 0 <= self.skip <= MOST_SKIPPED:
            raise ReadError(
                f"{self.skip:,} lines above the names of the columns cannot be left out.",
                value=self.skip,
                remedy=f"Choose a number from 0 to {MOST_SKIPPED:,}.",
            )
        if self.decimal not in (None, ".", ","):
            raise ReadError(f"The decimal mark {self.decimal!r} cannot be used.", remedy="Choose a point or a comma.")

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that are taken as missing: ``missing`` without those in ``keep``."""
        return tuple(mark for mark in self.missing if mark not in self.keep)

    def with_missing(self, texts: Iterable[str]) -> "ReadOptions":
        """Return the options with more texts that are taken as missing."""
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *texts))))


@dataclass(frozen=True)
class Problem:
    """Something found while reading: ``level`` is "info" (done, please check) or "warning" (look at this).

    ``row`` is the record's position, from 0; the text says record numbers from 1. ``keep``: a text that was taken as
    missing, and may be a value.
    """

    level: str
    text: str
    column: str | None = None
    row: int | None = None
    remedy: str = ""
    keep: str = ""


@dataclass(frozen=True)
class Answer:
    """One way to read what can be read in several ways.

    ``changes``: the options that choose it, as pairs of name and value; a column is added to ``as_text`` or
    ``as_numbers``.
    ``sample``: what stands in the file, and what it is when read so.
    """

    label: str
    changes: tuple[tuple[str, str], ...]
    sample: tuple[tuple[str, str], ...] = ()

    def apply(self, options: ReadOptions) -> ReadOptions:
        """Return the options with this answer."""
        changes: dict[str, Any] = dict(self.changes)
        for name in ("as_text", "as_numbers"):
            if name in changes:
                changes[name] = tuple(dict.fromkeys((*getattr(options, name), changes[name])))
        if changes.get("sheet", options.sheet) != options.sheet:
            changes["skip"] = None  # the rows above the names are those of the other sheet
        return replace(options, **changes)

    @property
    def words(self) -> str:
        """The answer as options of the command line."""
        return " ".join(shlex.quote(f"--{name.replace('_', '-')}={value}") for name, value in self.changes)


@dataclass(frozen=True)
class Question:
    """What only the steward can tell before the table is used: ``about`` a mark, dates, a sheet, an encoding, numbers.

    Until it is answered, the values that it is about stay text, or are those of the first answer.
    """

    about: str
    text: str
    answers: tuple[Answer, ...]
    column: str | None = None


def one_each(questions: Iterable[Question]) -> tuple[Question, ...]:
    """Return the questions without those that the same answer settles: one for all columns with the same doubt."""
    by_answers: dict[tuple[tuple[str, str], ...], Question] = {}
    more: Counter[tuple[tuple[str, str], ...]] = Counter()
    for question in questions:
        key = tuple(pair for answer in question.answers for pair in answer.changes)
        more[key] += key in by_answers
        by_answers.setdefault(key, question)
    return tuple(
        replace(question, text=f"{question.text} ({more[key]:,} more columns are like it.)") if more[key] else question
        for key, question in by_answers.items()
    )


@dataclass(frozen=True, eq=False)
class Content:
    """What the bytes of a file hold: the table, the options as used, and what was noticed on the way.

    ``sheets``: the sheets that a spreadsheet has. ``questions``: what has to be answered before the table is used.
    ``variables``: what a statistician's file says of its columns. ``distinct``: of a table in pieces, the distinct
    values of each column by name; the frame holds each record's place among them.
    """

    frame: pd.DataFrame
    options: ReadOptions
    problems: list[Problem]
    sheets: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=dict)
    distinct: "Mapping[str, pd.Series[Any]] | None" = None


def refuse_too_wide(width: int, name: str) -> None:
    """Raise :class:`ReadError` for a table of too many columns."""
    if width > MAX_COLUMNS:
        raise ReadError(
            f"{name} has {width:,} columns; at most {MAX_COLUMNS:,} can be handled.",
            remedy="Leave out columns that need not be released.",
        )


MIB = 1 << 20
LEAST_MEMORY = 1024 * MIB
LEAST_SECONDS = 10.0
PIECES_SECONDS = 4 * 3600.0
VARIABLES = {"memory": "COPSE_READ_MEMORY", "seconds": "COPSE_READ_SECONDS", "cells": "COPSE_READ_CELLS"}
"""The environment variables of the operator: MiB, seconds of processor time, and rows times columns."""


@dataclass(frozen=True)
class Allowance:
    """What the reading of one file may take.

    ``memory``: bytes; ``None``: 64 times the size of the file, at least ``least_memory`` and at most half of this
    computer's. ``seconds``: of processor time; ``None``: two a MiB of the file, at least ``least_seconds``. ``cells``:
    rows times columns.
    """

    memory: int | None = None
    seconds: float | None = None
    cells: int = 1_000_000_000
    least_memory: int = LEAST_MEMORY
    least_seconds: float = LEAST_SECONDS

    def memory_for(self, size: int) -> int:
        """Return the bytes of memory that a file of ``size`` bytes may take."""
        if self.memory is not None:
            return self.memory
        return max(self.least_memory, min(64 * size, memory_of_computer() // 2))

    def seconds_for(self, size: int) -> float:
        """Return the seconds of processor time that a file of ``size`` bytes may take."""
        return max(self.least_seconds, 2.0 * size / MIB) if self.seconds is None else self.seconds


def memory_of_computer() -> int:
    """Return the bytes of memory of this computer; 4 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4096 * MIB


def operator_allowance(environment: Mapping[str, str] = os.environ) -> Allowance:
    """Return the allowance that the operator set in the environment.

    Raises :class:`ParameterError` for what is no number above zero.
    """
    memory, seconds, cells = (operator_number(environment.get(name, ""), name) for name in VARIABLES.values())
    standard = Allowance()
    return Allowance(
        standard.memory if memory is None else int(memory * MIB),
        standard.seconds if seconds is None else seconds,
        standard.cells if cells is None else int(cells),
    )


def pieces_allowance(environment: Mapping[str, str] = os.environ) -> Allowance:
    """Return what work on a table in pieces may take: what the operator set, or three quarters of this computer's
    memory, four hours of processor time, and as many cells as bytes, for a cell is kept in one byte at least.

    Raises :class:`ParameterError` for what is no number above zero.
    """
    operator = operator_allowance(environment)
    memory = operator.memory or memory_of_computer() * 3 // 4
    cells = operator.cells if environment.get(VARIABLES["cells"], "").strip() else memory
    return replace(operator, memory=memory, seconds=operator.seconds or PIECES_SECONDS, cells=cells)


def operator_number(text: str, name: str) -> float | None:
    """Return what an environment variable of the operator says; ``None`` when it is empty. ``name``: of the variable.

    Raises :class:`ParameterError` for what is no number above zero.
    """
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e15:
        raise ParameterError(f"{name} is {text!r}, which is no number above zero.", remedy="Correct it, or unset it.")
    return number


def bytes_text(size: float) -> str:
    """Return a number of bytes in words: "1.2 GB"."""
    for unit, bytes_of_unit in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:,.1f} {unit}"
    return f"{size:,.0f} bytes"


@dataclass(frozen=True)
class Extent:
    """How far a table reaches. ``cells``: those that hold something; ``memory``: bytes that it takes at least."""

    rows: int
    columns: int
    cells: int
    memory: int


def refuse_too_large(extent: Extent, name: str, size: int, allowance: Allowance) -> None:
    """Raise :class:`ReadError` when a table reaches further than a file of ``size`` bytes may."""
    span = extent.rows * extent.columns
    if span > allowance.cells:
        few = f", though only {extent.cells:,} of its cells hold anything" if extent.cells * 100 < span else ""
        raise ReadError(
            f"{name} reaches over {extent.rows:,} rows and {extent.columns:,} columns{few}; at most "
            f"{allowance.cells:,} cells are read.",
            remedy="Delete what stands far from the table, or use fewer rows or columns.",
        )
    if extent.memory > allowance.memory_for(size):
        raise ReadError(
            f"{name} has {bytes_text(size)}, but would unfold into at least {bytes_text(extent.memory)} "
            f"({extent.rows:,} rows, {extent.columns:,} columns); a file of its size may take "
            f"{bytes_text(allowance.memory_for(size))}.",
            remedy="Use fewer rows or columns, or ask who runs this program to allow more.",
        )
