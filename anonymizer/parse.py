"""From text to values: which columns of a table are numbers, which are dates, which stay text.

A column comes in as its distinct texts and a code for every record, so most decisions look at a few hundred
texts, however long the table is. A column becomes numbers or dates only when *all* of its values are; whatever
is doubtful stays text, and a :class:`Problem` says why.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

DEFAULT_MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", "-", "--",
    ".",
)  # fmt: skip
"""Texts taken as "missing" when they are the whole cell."""

LONGEST_INTEGER = 15
"""Digits of the longest whole number that is read as one: longer ones are identifiers, and floats lose digits."""

MOSTLY = 0.8
"""Share of number-like values from which a text column is reported as numbers with some text among them."""

INTEGER = rf"^-?(0|[1-9][0-9]{{0,{LONGEST_INTEGER - 1}}})$"
NUMBER = r"^-?((0|[1-9][0-9]{0,307})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
COMMA_NUMBER = NUMBER.replace(r"\.", ",")
INFINITE = r"(?i)^[+-]?inf(inity)?$"
THOUSANDS = r"^-?[1-9][0-9]{0,2}(,[0-9]{3})+$"
ONLY_DIGITS = r"^-?[0-9]+$"
TIME = r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
YEAR_FIRST = r"^[0-9]{4}([-/.])[0-9]{1,2}([-/.])[0-9]{1,2}" + TIME + "(Z|[+-][0-9]{2}:?[0-9]{2})?$"
YEAR_LAST = r"^[0-9]{1,2}([-/.])[0-9]{1,2}([-/.])[0-9]{4}" + TIME + "$"
SHORT_YEAR = r"^[0-9]{1,2}([-/.])[0-9]{1,2}([-/.])[0-9]{2}$"


@dataclass(frozen=True)
class Problem:
    """Something found while reading: ``level`` is "info" (done, please check) or "warning" (look at this).

    ``row`` is the record's position, from 0; the text says record numbers from 1.
    """

    level: str
    text: str
    column: str | None = None
    row: int | None = None
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column as text. ``codes`` (n,) say which of the ``texts`` a record has; ``None``: one text a record."""

    texts: pa.Array
    codes: NDArray[np.int32] | None

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.texts) if self.codes is None else len(self.codes)

    def counts(self) -> NDArray[np.int64]:
        """How many records have each text."""
        if self.codes is None:
            return np.ones(len(self.texts), dtype=np.int64)
        return np.bincount(self.codes, minlength=len(self.texts))

    def first_row(self, position: int) -> int:
        """The first record (from 0) that has the text at this position."""
        return position if self.codes is None else int(np.argmax(self.codes == position))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value a text -> one value a record."""
        return values if self.codes is None else values[self.codes]

    @classmethod
    def of(cls, chunks: Sequence[pa.Array]) -> "TextColumn":
        """A column from pieces, each plain text or dictionary-encoded text."""
        if chunks and all(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            whole = pa.chunked_array(chunks).unify_dictionaries()
            codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in whole.chunks])
            return cls(whole.chunk(0).dictionary, codes.astype(np.int32, copy=False))
        plain = [pc.cast(chunk, pa.large_string()) for chunk in chunks]
        return cls(pa.concat_arrays(plain) if plain else pa.array([], pa.large_string()), None)

    def trimmed(self) -> "TextColumn":
        """The column without blanks around its texts; itself when there are none."""
        if not _any(pc.match_substring_regex(self.texts, r"^[\s\x{00A0}]|[\s\x{00A0}]$")):
            return self
        texts = pc.utf8_trim_whitespace(self.texts)
        if self.codes is None:
            return TextColumn(texts, None)
        encoded = texts.dictionary_encode()
        return TextColumn(
            encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)[self.codes].astype(np.int32)
        )


def decimal_mark(columns: Iterable[TextColumn], missing: Iterable[str], delimiter: str) -> str:
    """A comma when numbers are written with one somewhere and with a decimal point nowhere, else a point."""
    marks = pa.array(sorted(set(missing)), pa.large_string())
    commas = False
    for column in columns:
        texts = _present(column.texts.slice(0, 20_000), marks)
        if not len(texts):
            continue
        if _all_match(texts, NUMBER) and not _all_match(texts, INTEGER):
            return "."
        if _all_match(texts, COMMA_NUMBER) and not _all_match(texts, INTEGER):
            with_comma = texts.filter(pc.match_substring(texts, ","))
            commas |= delimiter != "," or not _all_match(with_comma, THOUSANDS)
    return "," if commas else "."


def typed(
    name: str, column: TextColumn, missing: Iterable[str], decimal: str = ".", *, numbers: bool = True
) -> tuple[Any, list[Problem]]:
    """The values (n,) of a column, ready for a DataFrame, and what a steward should know of them.

    Whole numbers give int64 (float64 with missing ones), numbers float64, dates datetime64, all else text:
    categorical when values repeat. ``missing``: the texts that mean "missing". ``numbers=False``: the source
    said that the column is text, so it stays text.
    """
    problems: list[Problem] = []
    trimmed = column.trimmed()
    if trimmed is not column:
        problems.append(Problem("info", f"Blanks around the values of column {name!r} were removed.", name))
    column = trimmed
    marks = pa.array(sorted(set(missing)), column.texts.type)
    absent = _truth(pc.is_in(column.texts, value_set=marks))
    present = column.texts if not absent.any() else column.texts.filter(pa.array(~absent))
    values, found = _values(name, column, present, absent, decimal, numbers)
    is_text = not isinstance(values, np.ndarray)
    if absent.any():
        problems.append(_missing_problem(name, column, absent, is_text))
    return values, problems + found


def _values(
    name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], decimal: str, numbers: bool
) -> tuple[Any, list[Problem]]:
    """The typed values, from the texts that are present, and the problems found on the way."""
    if not len(present):
        warning = Problem("warning", f"Column {name!r} has no value at all.", name, remedy="Leave it out.")
        return as_text(column, absent), [warning] if column.n_records else []
    if not numbers:
        return as_text(column, absent), []
    if _all_match(present, INTEGER):
        return _spread_numbers(column, present, absent, pa.int64()), []
    if _all_match(present, ONLY_DIGITS):
        return as_text(column, absent), [_digits_problem(name, present)]
    pattern = COMMA_NUMBER if decimal == "," else NUMBER
    finite = pc.match_substring_regex(present, pattern)
    numeric = pc.or_(finite, pc.match_substring_regex(present, INFINITE))
    if _all(numeric):
        points = pc.replace_substring(present, ",", ".") if decimal == "," else present
        values = _spread_numbers(column, points, absent, pa.float64())
        return values, _infinity_problems(name, values)
    for pattern, parse in ((YEAR_FIRST, _year_first), (YEAR_LAST, _year_last)):
        if _all_match(present, pattern):
            dates, problem = parse(name, present)
            found = [problem] if problem else []
            return (as_text(column, absent) if dates is None else _spread_dates(column, dates, absent)), found
    return as_text(column, absent), _text_problems(name, column, present, absent, _truth(finite))


def as_text(column: TextColumn, absent: NDArray[np.bool_]) -> Any:
    """The column as text: categorical with sorted levels when values repeat, plain text otherwise."""
    if column.codes is None:
        texts = column.texts if not absent.any() else pc.if_else(pa.array(absent), None, column.texts)
        return pd.Series(texts.to_pandas(), dtype="str")
    texts = np.asarray(column.texts.to_pylist(), dtype=object)
    used = np.flatnonzero(~absent & (column.counts() > 0))
    order = used[np.argsort(texts[used].astype(str), kind="stable")] if len(used) else used
    rank = np.full(len(texts), -1, dtype=np.int32)
    rank[order] = np.arange(len(order))
    return pd.Categorical.from_codes(rank[column.codes], categories=pd.Index(texts[order], dtype="str"))


def _spread_numbers(
    column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], kind: pa.DataType
) -> NDArray[Any]:
    found = pc.cast(present, kind).to_numpy(zero_copy_only=False)
    if not absent.any():
        return column.spread(found)
    numbers = np.full(len(absent), np.nan)
    numbers[~absent] = found
    return column.spread(numbers)


def _spread_dates(column: TextColumn, dates: NDArray[Any], absent: NDArray[np.bool_]) -> NDArray[Any]:
    values = np.full(len(absent), np.datetime64("NaT"), dtype="datetime64[us]")
    values[~absent] = dates
    return column.spread(values)


def _year_first(name: str, texts: pa.Array) -> tuple[NDArray[Any] | None, Problem | None]:
    zones = pc.match_substring_regex(texts, "(Z|[+-][0-9]{2}:?[0-9]{2})$")
    zoned = pc.match_substring(texts, ":")
    note = None
    if _any(pc.and_(zones, zoned)):
        note = Problem("info", f"The times of column {name!r} were taken to UTC.", name)
    plain = pc.replace_substring_regex(texts, r"^([0-9]{4})[/.]([0-9]{1,2})[/.]", r"\1-\2-")
    return _dates(name, plain, "ISO8601" if _all_match(plain, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}") else "mixed", note)


def _year_last(name: str, texts: pa.Array) -> tuple[NDArray[Any] | None, Problem | None]:
    dashed = pc.replace_substring_regex(texts, "^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]", r"\1-\2-")
    first_over = _any(pc.match_substring_regex(dashed, "^(1[3-9]|[2-9][0-9])-"))
    second_over = _any(pc.match_substring_regex(dashed, "^[0-9]{1,2}-(1[3-9]|[2-9][0-9])-"))
    dotted = _all(pc.match_substring_regex(texts, r"^[0-9]{1,2}\."))
    if first_over == second_over and not (dotted and not second_over):
        text = f"Column {name!r} looks like dates, but "
        text += (
            "some can only be day first and others only month first."
            if first_over
            else "nothing shows whether the day or the month comes first."
        )
        return None, Problem("warning", text + " It stays text.", name, remedy="Write dates as year-month-day.")
    parts = pc.replace_substring_regex(dashed, "^([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})",
                                       r"\3-\1-\2" if second_over else r"\3-\2-\1")  # fmt: skip
    padded = pc.replace_substring_regex(parts, r"-([0-9])(-|$|[T ])", r"-0\1\2")
    padded = pc.replace_substring_regex(padded, r"-([0-9])(-|$|[T ])", r"-0\1\2")
    order = "month first" if second_over else "day first"
    return _dates(name, padded, "ISO8601", Problem("info", f"The dates of column {name!r} were read {order}.", name))


def _dates(name: str, texts: pa.Array, style: str, note: Problem | None) -> tuple[NDArray[Any] | None, Problem | None]:
    if style == "mixed":
        texts = pc.replace_substring_regex(texts, r"-([0-9])(-|$|[T ])", r"-0\1\2")
        texts = pc.replace_substring_regex(texts, r"-([0-9])(-|$|[T ])", r"-0\1\2")
    stamps = pd.to_datetime(pd.Series(texts.to_pandas()), format="ISO8601", errors="coerce", utc=True)
    wrong = np.flatnonzero(stamps.isna().to_numpy())
    if len(wrong):
        text = f"Column {name!r} looks like dates, but {texts[int(wrong[0])].as_py()!r} is none. It stays text."
        return None, Problem("warning", text, name, remedy="Correct the date, or list it as a missing mark.")
    return stamps.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"), note


def _digits_problem(name: str, present: pa.Array) -> Problem:
    if _any(pc.match_substring_regex(present, "^-?0[0-9]")):
        why = "some begin with zeros that a number would lose"
    else:
        why = f"some have more than {LONGEST_INTEGER} digits, as identifiers do"
    return Problem("info", f"Column {name!r} holds digits only, but stays text: {why}.", name)


def _infinity_problems(name: str, values: NDArray[Any]) -> list[Problem]:
    rows = np.flatnonzero(np.isinf(values))
    if not len(rows):
        return []
    text = f"Column {name!r} holds {len(rows):,} infinite or too large numbers, the first in record {rows[0] + 1:,}."
    remedy = "List their text as a missing mark, or correct them; an infinite number cannot be generalized."
    return [Problem("warning", text, name, int(rows[0]), remedy)]


def _text_problems(
    name: str, column: TextColumn, present: pa.Array, absent: NDArray[np.bool_], numeric: NDArray[np.bool_]
) -> list[Problem]:
    """Numbers with some text among them, thousands separators, and dates with two-digit years."""
    if _all_match(present, SHORT_YEAR):
        text = f"Column {name!r} looks like dates with two-digit years. It stays text."
        return [Problem("warning", text, name, remedy="Write dates as year-month-day with four-digit years.")]
    grouped = _truth(pc.match_substring_regex(present, THOUSANDS))
    if grouped.any() and (grouped | numeric).all():
        text = f"Column {name!r} looks like numbers with commas between thousands. It stays text."
        return [Problem("warning", text, name, remedy="Remove the commas, or say that the decimal mark is a comma.")]
    counts = column.counts()[~absent]
    share = float(counts[numeric].sum() / max(1, counts.sum()))
    if not MOSTLY <= share < 1:
        return []
    positions = np.flatnonzero(~absent)[~numeric]
    rows = sorted(column.first_row(int(position)) for position in positions[:5])
    by_row = {column.first_row(int(position)): column.texts[int(position)].as_py() for position in positions[:5]}
    shown = ", ".join(f"{_short(by_row[row])} (record {row + 1:,})" for row in rows)
    more = f" and {len(positions) - 5:,} more" if len(positions) > 5 else ""
    text = f"Column {name!r} is {share:.1%} numbers, but also holds text: {shown}{more}. It stays text."
    remedy = "Correct these values, or list them as missing marks."
    return [Problem("warning", text, name, rows[0], remedy)]


def _missing_problem(name: str, column: TextColumn, absent: NDArray[np.bool_], is_text: bool) -> Problem:
    counts = column.counts()
    tally: dict[str, int] = {}
    for position in np.flatnonzero(absent):
        mark = column.texts[int(position)].as_py() if column.codes is not None else None
        if mark is not None and counts[position]:
            tally[mark] = int(counts[position])
    if column.codes is None:
        found = column.texts.filter(pa.array(absent)).value_counts()
        tally = {item["values"].as_py(): item["counts"].as_py() for item in found}
    shown = ", ".join(f"{mark!r} ({n:,})" if mark else f"blank ({n:,})" for mark, n in sorted(tally.items()))
    words = sorted(mark for mark in tally if any(letter.isalpha() for letter in mark))
    total = sum(tally.values())
    text = f"Column {name!r}: {total:,} of {column.n_records:,} values were taken as missing: {shown}."
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
