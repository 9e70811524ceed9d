"""From text to values: which columns of a table are numbers, which are dates, which stay text.

A column comes in as its distinct texts and a code for every record, so most decisions look at a few hundred
texts, however long the table is. A column becomes numbers or dates only when *all* of its values are; whatever
is doubtful stays text, and a :class:`Problem` says why.
"""

import calendar
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

from anonymizer.reading.decimals import (
    INFINITE,
    INTEGER,
    LONGEST_INTEGER,
    ONLY_DIGITS,
    SAMPLE,
    code_question,
    doubt,
    file_mark,
    mark_of,
    numbers_from,
    readable,
)
from anonymizer.reading.options import Answer, Problem, Question, ReadOptions
from anonymizer.values import count_codes, look_up, present_codes, share

MOSTLY = 0.8
"""Share of number-like values from which a text column is reported as numbers with some text among them."""

ZONE = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"
TIME = r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
YEAR_FIRST = r"^[0-9]{4}([-/.])[0-9]{1,2}([-/.])[0-9]{1,2}" + TIME + ZONE + "?$"
YEAR_LAST = r"^[0-9]{1,2}([-/.])[0-9]{1,2}([-/.])[0-9]{4}" + TIME + "$"
MOST_HEADS = 100
"""Columns whose names are compared with their values."""
SHORT_YEAR = r"^[0-9]{1,2}([-/.])[0-9]{1,2}([-/.])[0-9]{2}$"


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
    """The values (n,) of a column, ready for a DataFrame; what a steward should know of them, and must be asked."""

    values: Any
    problems: list[Problem] = field(default_factory=list)
    question: Question | None = None


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
    text = "The first line looks like a record, not like column names."
    return [Problem("warning", text, remedy="Say that the file has no header if that is so.")]


def constant_problem(name: str, of_all: bool) -> list[Problem]:
    """Return a problem for a column with one value ``of_all`` records."""
    text = f"Column {name!r} has the same value in every record."
    remedy = "It tells nobody apart; it may as well be left out."
    return [Problem("info", text, name, remedy=remedy)] if of_all else []


def constant_columns(frame: pd.DataFrame) -> list[Problem]:
    """Return a problem for each column with one value in all records."""
    problems = []
    for name in frame.columns if len(frame) > 1 else ():
        values = frame[name]
        first = values.iloc[0]
        same = len(values.cat.categories) == 1 if isinstance(values.dtype, pd.CategoricalDtype) else None
        if same is None:
            same = bool(values.iloc[-1] == first) and bool((values == first).all()) if pd.notna(first) else False
        problems += constant_problem(str(name), same and not values.isna().any())
    return problems


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
        return Typed(_spread_numbers(column, pc.cast(present, pa.int64()).to_numpy(), absent))
    if _all_match(present, ONLY_DIGITS):
        return Typed(as_text(column, absent), [_digits_problem(name, present)])
    finite = present.filter(pc.invert(pc.match_substring_regex(present, INFINITE)))
    mark = mark_of(finite)
    if options.decimal is not None and mark:
        mark = options.decimal if readable(finite, options.decimal).all() else ""
    if mark:
        return _numbers(name, column, present, finite, absent, manner, mark)
    if _all_match(present, YEAR_FIRST):
        return _year_first(name, column, present, absent)
    if _all_match(present, YEAR_LAST):
        return _year_last(name, column, present, absent, options.dates)
    decimal = options.decimal or manner.decimal or "."
    return Typed(as_text(column, absent), _text_problems(name, column, present, absent, readable(present, decimal)))


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


def _dates(name: str, column: TextColumn, texts: pa.Array, absent: NDArray[np.bool_], notes: list[Problem]) -> Typed:
    """Return the column as dates, from its texts in the order year, month, day; as text when one of them is none."""
    for _ in range(2):
        texts = pc.replace_substring_regex(texts, r"-([0-9])(-|$|[T ])", r"-0\1\2")
    stamps = pd.to_datetime(pd.Series(texts.to_pandas()), format="ISO8601", errors="coerce")
    wrong = np.flatnonzero(stamps.isna().to_numpy())
    if len(wrong):
        text = f"Column {name!r} looks like dates, but {texts[int(wrong[0])].as_py()!r} is none. It stays text."
        warning = Problem("warning", text, name, remedy="Correct the date, or list it as a missing mark.")
        return Typed(as_text(column, absent), [warning])
    values = np.full(len(absent), np.datetime64("NaT"), dtype="datetime64[us]")
    values[~absent] = stamps.to_numpy(dtype="datetime64[us]")
    return Typed(column.spread(values), notes)


def _year_first(name: str, column: TextColumn, texts: pa.Array, absent: NDArray[np.bool_]) -> Typed:
    plain = pc.replace_substring_regex(texts, ZONE + "$", "")
    notes = []
    zoned = pc.not_equal(plain, texts)
    if _any(zoned):
        zones = pc.replace_substring_regex(texts, f"^.*?({ZONE})?$", r"\1").unique()
        text = f"The times of column {name!r} are those of the clock where they were written; the zone is left out."
        notes.append(Problem("info" if len(zones) == 1 else "warning", text, name))
    iso = pc.replace_substring_regex(plain, r"^([0-9]{4})[/.-]([0-9]{1,2})[/.-]", r"\1-\2-")
    return _dates(name, column, iso, absent, notes)


def _year_last(name: str, column: TextColumn, texts: pa.Array, absent: NDArray[np.bool_], dates: str | None) -> Typed:
    """Return dates with the year at their end: the order that they show, or that was chosen, or a question."""
    dashed = pc.replace_substring_regex(texts, "^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]", r"\1-\2-")
    day_first = _any(pc.match_substring_regex(dashed, "^(1[3-9]|[2-9][0-9])-"))
    month_first = _any(pc.match_substring_regex(dashed, "^[0-9]{1,2}-(1[3-9]|[2-9][0-9])-"))
    if day_first and month_first:
        text = f"Column {name!r} looks like dates, but some can only be day first and others only month first."
        warning = Problem("warning", text + " It stays text.", name, remedy="Write dates as year-month-day.")
        return Typed(as_text(column, absent), [warning])
    order = "day" if day_first else "month" if month_first else dates
    if order is None and _all(pc.match_substring_regex(texts, r"^[0-9]{1,2}\.")):
        order = "day"
    orders = {"day": r"\3-\2-\1", "month": r"\3-\1-\2"}
    by_order = {
        first: pc.replace_substring_regex(dashed, "^([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})", parts)
        for first, parts in orders.items()
    }
    if order is None:
        answers = tuple(
            Answer(
                f"{first} first",
                (("dates", first),),
                tuple(zip(texts[:SAMPLE].to_pylist(), map(_in_words, iso[:SAMPLE].to_pylist()), strict=True)),
            )
            for first, iso in by_order.items()
        )
        text = f"Column {name!r} holds {texts[0].as_py()!r}: nothing shows whether the day or the month comes first."
        question = Question("dates", text, answers, name)
        return Typed(as_text(column, absent), [Problem("warning", f"{text} It stays text.", name)], question)
    note = Problem("info", f"The dates of column {name!r} were read {order} first.", name)
    return _dates(name, column, by_order[order], absent, [note])


def _in_words(iso: str) -> str:
    """Return a date such as 2024-2-1 as 1 February 2024."""
    year, month, day = (int(part) for part in iso.split("T")[0].split(" ")[0].split("-"))
    return f"{day} {calendar.month_name[month] if 1 <= month <= 12 else f'in month {month}'} {year}"


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
    text = f"Column {name!r} holds {len(rows):,} infinite or too large numbers, the first in record {rows[0] + 1:,}."
    remedy = "List their text as a missing mark, or correct them; an infinite number cannot be generalized."
    return [Problem("warning", text, name, int(rows[0]), remedy)]


def _text_problems(
    name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], numeric: NDArray[np.bool_]
) -> list[Problem]:
    """Return the problems of a column of text: numbers with some text among them, and dates with two-digit years."""
    if _all_match(present, SHORT_YEAR):
        text = f"Column {name!r} looks like dates with two-digit years. It stays text."
        return [Problem("warning", text, name, remedy="Write dates as year-month-day with four-digit years.")]
    counts = column.counts[~absent]
    part = float(counts[numeric].sum() / max(1, counts.sum()))
    if not MOSTLY <= part < 1:
        return []
    positions = np.flatnonzero(~absent)[~numeric]
    rows = sorted(column.first_row(int(position)) for position in positions[:5])
    by_row = {column.first_row(int(position)): column.texts[int(position)].as_py() for position in positions[:5]}
    sample = ", ".join(f"{_short(by_row[row])} (record {row + 1:,})" for row in rows)
    more = f" and {len(positions) - 5:,} more" if len(positions) > 5 else ""
    text = f"Column {name!r} is {share(part)} numbers, but also holds text: {sample}{more}. It stays text."
    remedy = "Correct these values, or list them as missing marks."
    return [Problem("warning", text, name, rows[0], remedy)]


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
