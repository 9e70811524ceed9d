"""From text to values: which columns of a table are numbers, which are dates, which stay text.

A column comes in as its distinct texts and a code for every record, so most decisions look at a few hundred
texts, however long the table is. A column becomes numbers or dates only when *all* of its values are; whatever
is doubtful stays text, and a :class:`Problem` says why.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.labelled.dates import form_of, padded
from anonymizer.reading.days import Days, like_days, read_days, stamps_of, whole_days
from anonymizer.reading.decimals import (
    INFINITE,
    INTEGER,
    LONGEST_INTEGER,
    ONLY_DIGITS,
    code_question,
    doubt,
    dressed,
    file_mark,
    list_question,
    mark_of,
    numbers_from,
    readable,
    undress,
)
from anonymizer.reading.options import Problem, Question, ReadOptions
from anonymizer.values import count_codes, look_up, present_codes, share

MOSTLY = 0.8
"""Share of number-like values from which a text column is reported as numbers with some text among them."""

LOOKED_AT = 1_000
"""Different texts, evenly spread, by which it is told what a column may nearly be."""
MOST_HEADS = 100
"""Columns whose names are compared with their values."""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column as text. ``codes`` (n,) say which of the ``texts`` a record has; ``None``: one text a record."""

    texts: pa.Array
    codes: NDArray[np.integer] | None

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.texts) if self.codes is None else len(self.codes)

    def present(self) -> NDArray[np.int64]:
        """Return the positions of the texts that any record has, ascending."""
        return np.arange(len(self.texts)) if self.codes is None else present_codes(self.codes, len(self.texts))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of records that have each text."""
        if self.codes is None:
            return np.ones(len(self.texts), dtype=np.int64)
        return count_codes(self.codes, len(self.texts))

    def first_row(self, position: int) -> int:
        """Return the first record (from 0) that has the text at this position."""
        return position if self.codes is None else int(np.argmax(self.codes == position))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each record, of one value for each text."""
        return values if self.codes is None else np.take(values, self.codes)

    @classmethod
    def of(cls, chunks: Sequence[pa.Array]) -> "TextColumn":
        """Return a column from pieces, each plain text or dictionary-encoded text."""
        if chunks and all(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            whole = pa.concat_arrays([chunk.dictionary for chunk in chunks]).dictionary_encode()
            texts, place = whole.dictionary, whole.indices.to_numpy()
            place = place.astype(np.min_scalar_type(-len(texts) - 1))
            starts = np.cumsum([0, *(len(chunk.dictionary) for chunk in chunks)])
            pieces = [np.take(place[at:], chunk.indices) for at, chunk in zip(starts, chunks, strict=False)]
            return cls(texts, np.concatenate(pieces))
        plain = [pc.cast(chunk, pa.large_string()) for chunk in chunks]
        return cls(pa.concat_arrays(plain) if plain else pa.array([], pa.large_string()), None)

    def trim(self) -> "TextColumn":
        """Return the column without blanks around its texts; itself when there are none."""
        if not _any(pc.match_substring_regex(self.texts, r"^[\s\x{00A0}]|[\s\x{00A0}]$")):
            return self
        texts = pc.utf8_trim_whitespace(self.texts)
        if self.codes is None:
            return TextColumn(texts, None)
        encoded = texts.dictionary_encode()
        return TextColumn(
            encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)[self.codes].astype(np.int32)
        )


@dataclass(frozen=True, eq=False)
class Typed:
    """The values (n,) of a column, ready for a DataFrame; what a steward should know of them, and must be asked.
    ``dates``: how they were written: see :class:`anonymizer.labelled.variable.Variable`."""

    values: Any
    problems: list[Problem] = field(default_factory=list)
    question: Question | None = None
    dates: str = ""


@dataclass(frozen=True)
class Manner:
    """How the texts of a file become values: its options, its fields' ``delimiter`` (``None`` where it has none), and
    the ``decimal`` mark that its columns show ("" for none, ``None`` when they contradict each other)."""

    options: ReadOptions
    delimiter: str | None = None
    decimal: str | None = ""


def manner_of(columns: Iterable[TextColumn], options: ReadOptions, delimiter: str | None) -> Manner:
    """Return the manner of a file with these columns."""
    marks = pa.array(sorted(set(options.marks)), pa.large_string())
    return Manner(options, delimiter, file_mark(_present(column.texts.slice(0, 20_000), marks) for column in columns))


def with_decimal(options: ReadOptions, manner: Manner, questions: list[Question]) -> ReadOptions:
    """Return the options with the decimal mark that was used, where there is no doubt."""
    doubtful = manner.decimal is None or any(question.about == "decimal mark" for question in questions)
    return replace(options, decimal=options.decimal or (None if doubtful else manner.decimal or "."))


def type_column(name: str, column: TextColumn, manner: Manner) -> Typed:
    """Return the values of a column.

    Whole numbers give int64 (float64 with missing ones), numbers float64, dates datetime64, all else text:
    categorical when values repeat. What can be read in two ways stays text, with a question.
    """
    column, present, absent, problems = _present_texts(name, column, manner.options.marks)
    typed = _values(name, column, present, absent, manner)
    if absent.any():
        problems.append(_missing_problem(name, column, absent, not isinstance(typed.values, np.ndarray)))
    return replace(typed, problems=problems + typed.problems)


def header_problems(names: list[str], columns: Sequence[TextColumn]) -> list[Problem]:
    """Return a problem where the names of columns look like a record: one is a number, or most are values of their own
    columns."""
    number = re.compile(r"^-?[0-9]+([.,][0-9]+)?$")
    numbers = sum(bool(number.match(name.strip())) for name in names)
    heads = [set(column.texts.slice(0, 1000).to_pylist()) for column in columns[:MOST_HEADS]]
    own = sum(bool(name.strip()) and name in head for name, head in zip(names, heads, strict=False))
    years = sum(bool(re.match(r"^(19|20)[0-9]{2}$", name.strip())) for name in names)
    if numbers - years <= 0 and own * 2 <= len(heads):
        return []
    text = "The first line looks like a row, not like column names."
    return [Problem("warning", text, remedy="Say that the file has no header if that is so.")]


def plain_text(name: str, column: TextColumn, marks: Iterable[str]) -> Typed:
    """Return the values of a column that its source says is text."""
    column, present, absent, problems = _present_texts(name, column, marks)
    if absent.any():
        problems.append(_missing_problem(name, column, absent, True))
    return Typed(as_text(column, absent), problems + ([] if len(present) else _no_value(name, column)))


def _present_texts(
    name: str, column: TextColumn, marks: Iterable[str]
) -> tuple[TextColumn, pa.Array, NDArray[np.bool_], list[Problem]]:
    """Return the column without blanks around its texts, the texts that are present, which are absent, and a note."""
    trimmed = column.trim()
    note = f"Blanks around the values of column {name!r} were removed."
    problems = [] if trimmed is column else [Problem("info", note, name)]
    missing = pa.array(sorted(set(marks)), trimmed.texts.type)
    absent = _truth(pc.is_in(trimmed.texts, value_set=missing))
    present = trimmed.texts if not absent.any() else trimmed.texts.filter(pa.array(~absent))
    return trimmed, present, absent, problems


def _no_value(name: str, column: TextColumn) -> list[Problem]:
    warning = Problem("warning", f"Column {name!r} has no value at all.", name, remedy="Leave it out.")
    return [warning] if column.n_records else []


def _values(name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], manner: Manner) -> Typed:
    """Return the typed values, from the texts that are present."""
    options = manner.options
    if not len(present):
        return Typed(as_text(column, absent), _no_value(name, column))
    if name in options.as_text:
        return Typed(as_text(column, absent))
    if _all_match(present, INTEGER):
        days = None if name in options.as_numbers else whole_days(name, present)
        if days is not None and days.iso is not None:
            return _as_days(name, column, present, absent, days)
        numbers = pc.cast(present, pa.int64()).to_numpy()
        return Typed(_spread_numbers(column, numbers, absent), list(days.problems) if days else [])
    if _all_match(present, ONLY_DIGITS):
        days = whole_days(name, present)
        return Typed(as_text(column, absent), list(days.problems) if days else [_digits_problem(name, present)])
    finite = present.filter(pc.invert(pc.match_substring_regex(present, INFINITE)))
    mark = mark_of(finite)
    if options.decimal is not None and mark:
        mark = options.decimal if readable(finite, options.decimal).all() else ""
    if mark:
        return _numbers(name, column, present, finite, absent, manner, mark)
    if days := read_days(name, present, options.dates):
        return _as_days(name, column, present, absent, days)
    if bare := dressed(name, present):
        typed = _values(name, column, bare[0], absent, manner)
        return replace(typed, problems=bare[1] + typed.problems)
    return Typed(as_text(column, absent), _text_problems(name, column, present, absent))


def _numbers(
    name: str,
    column: TextColumn,
    present: pa.Array,
    finite: pa.Array,
    absent: NDArray[np.bool_],
    manner: Manner,
    mark: str,
) -> Typed:
    """Return numbers with this decimal mark ("?" for either), or text with what has to be asked."""
    question = None if name in manner.options.as_numbers else code_question(name, finite)
    if mark == "?":
        mark, doubtful = doubt(name, finite, manner.decimal, manner.delimiter)
        question = question or doubtful
    elif manner.options.decimal is None and name not in manner.options.as_numbers:
        question = question or list_question(name, finite, mark, manner.decimal, manner.delimiter)
    if question is not None:
        return Typed(as_text(column, absent), [Problem("warning", f"{question.text} It stays text.", name)], question)
    numbers, problems = numbers_from(name, present, mark)
    if numbers is None:
        return Typed(as_text(column, absent), problems)
    values = _spread_numbers(column, numbers, absent)
    return Typed(values, problems + infinity_problems(name, values))


def as_text(column: TextColumn, absent: NDArray[np.bool_]) -> Any:
    """Return the column as text: categorical with sorted levels when values repeat, plain text otherwise."""
    if column.codes is None:
        texts = column.texts if not absent.any() else pc.if_else(pa.array(absent), None, column.texts)
        return pd.Series(texts.to_pandas(), dtype="str")
    texts = np.asarray(column.texts.to_pylist(), dtype=object)
    used = column.present()
    used = used[~absent[used]]
    order = used[np.argsort(texts[used].astype(str), kind="stable")] if len(used) else used
    rank = np.full(len(texts), -1, dtype=np.min_scalar_type(-len(order) - 1))
    rank[order] = np.arange(len(order))
    return pd.Categorical.from_codes(look_up(rank, column.codes), categories=pd.Index(texts[order], dtype="str"))


def _spread_numbers(column: TextColumn, numbers: NDArray[Any], absent: NDArray[np.bool_]) -> NDArray[Any]:
    if not absent.any():
        return column.spread(numbers)
    values = np.full(len(absent), np.nan)
    values[~absent] = numbers
    return column.spread(values)


def _as_days(name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], days: Days) -> Typed:
    """Return the column as dates; as text where one of its texts is none, or there is something to be asked."""
    if days.iso is None:
        return Typed(as_text(column, absent), list(days.problems), days.question)
    stamps = stamps_of(days.iso)
    wrong = np.flatnonzero(stamps.isna().to_numpy())
    if len(wrong):
        text = f"Column {name!r} looks like dates, but {days.iso[int(wrong[0])].as_py()!r} is none. It stays text."
        warning = Problem("warning", text, name, remedy="Correct the date, or list it as a missing mark.")
        return Typed(as_text(column, absent), [warning])
    values = np.full(len(absent), np.datetime64("NaT"), dtype="datetime64[us]")
    values[~absent] = stamps.to_numpy(dtype="datetime64[us]")
    form = form_of(present, padded(days.iso))
    another = f"A release writes the dates of column {name!r} in the order year-month-day."
    notes = [] if form is not None else [Problem("info", another, name)]
    return Typed(column.spread(values), [*days.problems, *notes], dates=form or "")


def _digits_problem(name: str, present: pa.Array) -> Problem:
    if _any(pc.match_substring_regex(present, "^-?0[0-9]")):
        why = "some begin with zeros that a number would lose"
    else:
        why = f"some have more than {LONGEST_INTEGER} digits, as identifiers do"
    return Problem("info", f"Column {name!r} holds digits only, but stays text: {why}.", name)


def infinity_problems(name: str, values: NDArray[Any]) -> list[Problem]:
    rows = np.flatnonzero(np.isinf(values))
    if not len(rows):
        return []
    text = f"Column {name!r} holds {len(rows):,} infinite or too large numbers, the first in row {rows[0] + 1:,}."
    remedy = "List their text as a missing mark, or correct them; an infinite number cannot be generalized."
    return [Problem("warning", text, name, int(rows[0]), remedy)]


def _text_problems(name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_]) -> list[Problem]:
    """Return the problems of a column of text of which nearly all values look like numbers, or like dates."""
    what = almost(present.take(pa.array(np.linspace(0, len(present) - 1, min(len(present), LOOKED_AT)).astype(int))))
    if not what:
        return []
    like = LIKENESS[what](present)
    counts = column.counts[~absent]
    part = float(counts[like].sum() / max(1, counts.sum()))
    if part < MOSTLY:
        return []
    if like.all():
        shapes = pc.replace_substring_regex(present, "[0-9]+", "9").dictionary_encode()
        if len(shapes.dictionary) == 1:
            return []
        other = int(np.argmax(shapes.indices.to_numpy() > 0))
        examples = " and ".join(_short(present[at].as_py()) for at in (0, other))
        text = f"Column {name!r} holds {what} written in several ways, such as {examples}. It stays text."
        return [Problem("warning", text, name, remedy="Write them in one way.")]
    others: dict[str, int] = {}
    for position in np.flatnonzero(~absent)[~like]:
        others.setdefault(column.texts[int(position)].as_py(), column.first_row(int(position)))
    rows = sorted((row, text) for text, row in list(others.items())[:5])
    sample = ", ".join(f"{_short(text)} (row {row + 1:,})" for row, text in rows)
    more = f" and {len(others) - 5:,} more" if len(others) > 5 else ""
    text = f"Column {name!r} is {share(part)} {what}, but also holds text: {sample}{more}. It stays text."
    remedy = "Correct these values, or list them as missing marks."
    return [Problem("warning", text, name, rows[0][0], remedy)]


def almost(texts: pa.Array) -> str:
    """Return what most of some different texts look like: "dates", "numbers", or "" for neither."""
    shares = {what: float(like(texts).mean()) for what, like in LIKENESS.items()} if len(texts) else {"": 0.0}
    most = max(shares, key=lambda what: shares[what])
    return most if shares[most] >= 1 / 2 else ""


def mostly(texts: pa.Array) -> str:
    """Return "mostly dates" or "mostly numbers" of different texts that nearly all look so, numbers with a fraction or
    a unit among them, for plain digits may be codes; "" for others."""
    what = almost(texts)
    if not what or LIKENESS[what](texts).mean() < MOSTLY:
        return ""
    measures = (
        what == "dates" or pc.mean(pc.match_substring_regex(texts, r"[.,]|^[^0-9]+ ?[0-9]|[^0-9]$")).as_py() > 1 / 4
    )
    return f"mostly {what}" if measures else ""


def like_numbers(texts: pa.Array) -> NDArray[np.bool_]:
    """Return whether each text (n,) is a number with some decimal mark, with a unit or without."""
    plain = undress(texts)[0]
    return readable(plain, ".") | readable(plain, ",")


LIKENESS: dict[str, Callable[[pa.Array], NDArray[np.bool_]]] = {"dates": like_days, "numbers": like_numbers}
"""What a column of text may nearly be, and what says so of each of its texts."""


def _missing_problem(name: str, column: TextColumn, absent: NDArray[np.bool_], is_text: bool) -> Problem:
    counts = column.counts
    tally: dict[str, int] = {}
    for position in np.flatnonzero(absent):
        mark = column.texts[int(position)].as_py() if column.codes is not None else None
        if mark is not None and counts[position]:
            tally[mark] = int(counts[position])
    if column.codes is None:
        pairs = column.texts.filter(pa.array(absent)).value_counts()
        tally = {item["values"].as_py(): item["counts"].as_py() for item in pairs}
    marks = ", ".join(f"{mark!r} ({n:,})" if mark else f"blank ({n:,})" for mark, n in sorted(tally.items()))
    words = sorted(mark for mark in tally if any(letter.isalpha() for letter in mark))
    total = sum(tally.values())
    text = f"Column {name!r}: {total:,} of {column.n_records:,} values were taken as missing: {marks}."
    if words and is_text:
        return Problem(
            "warning",
            text + f" In a text column {words[0]!r} may be a real value.",
            name,
            remedy=f"Keep {words[0]!r} as a value if it is a category of its own.",
            keep=words[0],
        )
    return Problem("info", text, name)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _present(texts: pa.Array, marks: pa.Array) -> pa.Array:
    trimmed = pc.cast(pc.utf8_trim_whitespace(texts), pa.large_string())
    return trimmed.filter(pc.invert(pc.is_in(trimmed, value_set=marks)))


def _all_match(texts: pa.Array, pattern: str) -> bool:
    matches: Callable[[pa.Array], Any] = lambda part: pc.match_substring_regex(part, pattern)  # noqa: E731
    return _all(matches(texts.slice(0, 256))) and (len(texts) <= 256 or _all(matches(texts.slice(256))))


def _all(truth: Any) -> bool:
    return pc.all(truth, min_count=0).as_py() is True


def _any(truth: Any) -> bool:
    return pc.any(truth, min_count=0).as_py() is True


def _truth(values: Any) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
