"""Texts as dates: the forms in which people write days and moments, and which of them are read.

A column becomes dates only when all of its texts have one form; where some have another, or the century is not
written, it stays text, and a note says so.
"""

import calendar
import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.labelled.dates import century_of, padded, pattern_of_own
from anonymizer.reading.decimals import SAMPLE, joined
from anonymizer.reading.options import FIRST, Answer, Problem, Question

ZONE = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"
TIME = r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)?"
HALF_DAY = (
    r"^(?P<date>.*[0-9]) (?P<hour>0?[1-9]|1[0-2])(?P<rest>(?::[0-5][0-9]){0,2})[ \x{202F}]?(?P<half>[AaPp])\.?[Mm]\.?$"
)
YEAR_FIRST = r"^[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}" + TIME + ZONE + "?$"
YEAR_LAST = r"^[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}" + TIME + "$"
LETTER = r"[^\x00-@\[-`{-\x7F]"
"""One of any writing: what is not of ASCII may be one. Patterns of all letters take long to compile."""
SHORT_YEAR = r"^[0-9]{1,2}[-/. ](?:[0-9]{1,2}|" + LETTER + r"{3,10}\.?)[-/. ][0-9]{2}" + TIME + "$"
PLAUSIBLE = (
    r"^(?:[0-9]{4}.(?:0?[1-9]|1[0-2]).|(?:0?[1-9]|[12][0-9]|3[01]).(?:"
    + LETTER
    + r"+.*|0?[1-9]|[12][0-9]|3[01])[-/. ])"
)
"""What begins with numbers that a month and a day may have."""
_DAY, _MONTH, _YEAR = r"(?P<day>[0-9]{1,2})", f"(?P<month>{LETTER}{{3,10}})", "(?P<year>[0-9]{4})"
_REST = "(?P<time>" + TIME + ")$"
NAMED = (
    rf"^{_DAY}\.?[-/. ]{{0,2}}(?:de )?{_MONTH}\.?,?[-/. ]?(?:de )?{_YEAR}{_REST}",
    rf"^{_MONTH}\.?[-/ ]{_DAY}(?:st|nd|rd|th)?,?[-/ ]{{1,2}}{_YEAR}{_REST}",
    rf"^{_YEAR}[-/. ]?{_MONTH}\.?[-/. ]?{_DAY}{_REST}",
)
"""A date with the name of its month: the day, the month or the year first."""
WHOLE = {
    "days": r"^(?:1[89]|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$",
    "months": r"^(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])$",
    "days, day first": r"^(?:0?[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])(?:19|20)[0-9]{2}$",
    "days, month first": r"^(?:0?[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:19|20)[0-9]{2}$",
}
"""Whole numbers that look like dates."""
PIVOT = 30
"""The first year of two digits that is one of the last century, where nobody says which."""
LEAST_WHOLE = 4
"""Different whole numbers that must all be days for the column to be dates: by chance one in thirty is."""

_MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
"""The names of the months in the languages of headers, without accents."""


@dataclass(frozen=True, eq=False)
class Days:
    """What a column of dates says: ``iso``, its texts in the order year, month, day, or ``None`` where they stay text;
    what is to be known of them, and what must be asked."""

    iso: pa.Array | None
    problems: tuple[Problem, ...] = ()
    question: Question | None = None


def read_days(name: str, texts: pa.Array, order: str | None) -> Days | None:
    """Return what texts say that are all dates of one form; ``None`` where they are none. ``order``: "day" or "month",
    which of them comes first where nothing shows it, or a form that is tried before all others."""
    plain = _of_24_hours(texts)
    if order is not None and order not in FIRST:
        if (iso := _in_form(plain, order)) is not None:
            return Days(iso, (Problem("info", _own_form_text(name, order), name),))
        order = None
    if _all_match(plain, YEAR_FIRST):
        return _year_first(name, plain)
    if _all_match(plain, YEAR_LAST):
        return _year_last(name, plain, order)
    if _all_match(texts, SHORT_YEAR) and like_days(texts.slice(0, 256)).all():
        text = f"Column {name!r} looks like dates with two-digit years. It stays text."
        remedy = "Say the form of the dates, such as DD.MM.YY, or 19YY for the century."
        return Days(None, (Problem("warning", text, name, remedy=remedy),))
    for form in NAMED:
        if _all_match(plain, form) and (iso := _named(plain, form)) is not None:
            note = f"The dates of column {name!r} were read by the names of their months ({texts[0].as_py()!r})."
            return Days(iso, (Problem("info", note, name),))
    return None


def whole_days(name: str, texts: pa.Array) -> Days | None:
    """Return what whole numbers say that look like dates, such as 19560314; ``None`` where nothing is to be said."""
    if len(texts) < LEAST_WHOLE or not _some_match(texts.slice(0, 256), "|".join(WHOLE.values())):
        return None
    for what, form in WHOLE.items():
        fits = _matches(texts, form)
        if fits.mean() < 0.8 or what == "months" and len(texts) < 3 * LEAST_WHOLE:
            continue
        sample = repr(texts[int(np.argmax(fits))].as_py())
        iso = pc.replace_substring_regex(texts, "^([0-9]{4})([0-9]{2})([0-9]{2})$", r"\1-\2-\3")
        if what == "days" and fits.all() and stamps_of(iso).notna().all():
            note = f"The whole numbers of column {name!r} are days ({sample}); they were read as dates."
            remedy = "If they are none, say that the column holds numbers."
            return Days(iso, (Problem("info", note, name, remedy=remedy),))
        if what.startswith("days, ") and not _valid_last(texts.filter(pa.array(fits)), what):
            continue
        part = "" if fits.all() else f" in {fits.mean():.1%} of its different values"
        text = f"Column {name!r} looks like {what.split(',')[0]} written as whole numbers ({sample}){part}. "
        remedy = "Write dates as year-month-day, or boxes will hold days that are none."
        return Days(None, (Problem("warning", text + "It stays as it is.", name, remedy=remedy),))
    return None


def like_days(texts: pa.Array) -> NDArray[np.bool_]:
    """Return whether each text (n,) has a form in which people write a date."""
    like = np.zeros(len(texts), dtype=bool)
    if not _some_match(texts, "[0-9]"):  # to compile the other patterns takes longer than to match them
        return like
    plain = _of_24_hours(texts)
    for form in (YEAR_FIRST, YEAR_LAST, SHORT_YEAR):
        like |= _matches(plain, form)
    like &= _matches(plain, PLAUSIBLE)
    for form in NAMED:
        like |= _matches(plain, form)
    months = pc.extract_regex(plain, _MONTH)
    words = pc.struct_field(months, "month").fill_null("").to_pylist()
    named = np.array([not word or word in ("T", "Z") or month_of(word) > 0 for word in words], dtype=bool)
    return np.asarray(like & named)


def stamps_of(iso: pa.Array) -> "pd.Series[Any]":
    """Return the moments (n,) of texts in the order year, month, day; missing for what is no date."""
    return pd.to_datetime(pd.Series(padded(iso).to_pandas()), format="ISO8601", errors="coerce")


def month_of(word: str) -> int:
    """Return the number of the month that a word, or at least its first three letters, names; 0 for none."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter)).rstrip(".")
    if plain == "mrt":
        return 3
    months = {
        number
        for language in _MONTHS
        for number, month in enumerate(language.split(), 1)
        if len(plain) >= 3 and (month.startswith(plain) or (plain == "sept" and number == 9))
    }
    return months.pop() if len(months) == 1 else 0


def _named(texts: pa.Array, form: str) -> pa.Array | None:
    """Return dates with named months in the order year, month, day; ``None`` where a word names no month."""
    parts = pc.extract_regex(texts, form)
    words = pc.struct_field(parts, "month").dictionary_encode()
    numbers = [month_of(word) for word in words.dictionary.to_pylist()]
    if not all(numbers):
        return None
    months = pa.array([f"{number:02d}" for number in numbers], pa.large_string()).take(words.indices)
    year, day, time = (pc.struct_field(parts, part) for part in ("year", "day", "time"))
    return joined(joined(year, months, day, by="-"), time)


def _in_form(texts: pa.Array, form: str) -> pa.Array | None:
    """Return dates of a form that somebody said in the order year, month, day; ``None`` where a text has another."""
    pattern = pattern_of_own(form)
    if pattern is None or not _all_match(texts, pattern):
        return None
    parts = pc.extract_regex(texts, pattern)
    here = {field.name: pc.struct_field(parts, field.name) for field in parts.type}
    if "name" in here:
        words = here["name"].dictionary_encode()
        numbers = [month_of(word) for word in words.dictionary.to_pylist()]
        if not all(numbers):
            return None
        here["month"] = pa.array(list(map(str, numbers)), pa.large_string()).take(words.indices)
    if "short" in here:
        late = pc.less(pc.cast(here["short"], pa.int64()), PIVOT)
        here["year"] = joined(
            pa.scalar(century_of(form)) if century_of(form) else pc.if_else(late, "20", "19"), here["short"]
        )
    two = {
        part: pc.utf8_lpad(here[part], 2, "0") for part in ("month", "day", "hour", "minute", "second") if part in here
    }
    day = joined(here["year"], two["month"], two["day"], by="-")
    clock = [two[part] for part in ("hour", "minute", "second") if part in two]
    return joined(day, joined(*clock, by=":"), by=" ") if clock else day


def _own_form_text(name: str, form: str) -> str:
    """Return the note that a column was read in a form that somebody said."""
    pivot = "" if "YYYY" in form or century_of(form) else f" Years from {PIVOT} to 99 are of the last century."
    return f"The dates of column {name!r} were read as {form}.{pivot}"


def _of_24_hours(texts: pa.Array) -> pa.Array:
    """Return the texts with times such as 1:05 PM as 13:05, and hours of one digit with two."""
    if not _some_match(texts, "[0-9](:[0-9]|.?[AaPp]\\.?[Mm])"):
        return texts
    texts = pc.replace_substring_regex(texts, "([0-9]),? ([0-9]{1,2}:[0-9])", r"\1 \2")
    parts = pc.extract_regex(texts, HALF_DAY)
    date, hour, rest, half = (pc.struct_field(parts, part) for part in ("date", "hour", "rest", "half"))
    late = pc.multiply(pc.cast(pc.is_in(half, value_set=pa.array(["P", "p"], half.type)), pa.int64()), 12)
    number = pc.add(pc.if_else(pc.equal(hour, "12"), 0, pc.cast(hour, pa.int64())), late)
    clock = joined(pc.cast(number, pa.string()), pc.if_else(pc.equal(rest, ""), ":00", rest))
    moment = joined(date, clock, by=" ")
    texts = pc.coalesce(moment, texts)
    return pc.replace_substring_regex(texts, "([0-9])([T ])([0-9]:[0-5][0-9])", r"\1\20\3")


def _year_first(name: str, texts: pa.Array) -> Days:
    plain = pc.replace_substring_regex(texts, ZONE + "$", "")
    notes = []
    if pc.any(pc.not_equal(plain, texts)).as_py():
        zones = pc.replace_substring_regex(texts, f"^.*?({ZONE})?$", r"\1").unique()
        text = f"The times of column {name!r} are those of the clock where they were written; the zone is left out."
        notes.append(Problem("info" if len(zones) == 1 else "warning", text, name))
    iso = pc.replace_substring_regex(plain, r"^([0-9]{4})[/.-]([0-9]{1,2})[/.-]", r"\1-\2-")
    return Days(iso, tuple(notes))


def _year_last(name: str, texts: pa.Array, preference: str | None) -> Days:
    """Return dates with the year at their end: the order that they show, or that was chosen, or a question."""
    dashed = pc.replace_substring_regex(texts, "^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]", r"\1-\2-")
    day_first = _some_match(dashed, "^(1[3-9]|[2-9][0-9])-")
    month_first = _some_match(dashed, "^[0-9]{1,2}-(1[3-9]|[2-9][0-9])-")
    if day_first and month_first:
        text = f"Column {name!r} looks like dates, but some can only be day first and others only month first."
        remedy = "Write dates as year-month-day."
        return Days(None, (Problem("warning", text + " It stays text.", name, remedy=remedy),))
    order = "day" if day_first else "month" if month_first else preference
    if order is None and _all_match(texts, r"^[0-9]{1,2}\."):
        order = "day"
    orders = {"day": r"\3-\2-\1", "month": r"\3-\1-\2"}
    by_order = {
        first: pc.replace_substring_regex(dashed, "^([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})", parts)
        for first, parts in orders.items()
    }
    if order is not None:
        return Days(by_order[order], (Problem("info", f"The dates of column {name!r} were read {order} first.", name),))
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
    return Days(None, (Problem("warning", f"{text} It stays text.", name),), question)


def _valid_last(texts: pa.Array, what: str) -> bool:
    """Return whether whole numbers with the year last are all days of the calendar."""
    parts = r"\3-\2-\1" if what.endswith("day first") else r"\3-\1-\2"
    iso = pc.replace_substring_regex(texts, "^([0-9]{1,2})([0-9]{2})([0-9]{4})$", parts)
    return bool(stamps_of(iso).notna().all())


def _in_words(iso: str) -> str:
    """Return a date such as 2024-2-1 as 1 February 2024."""
    year, month, day = (int(part) for part in iso.split("T")[0].split(" ")[0].split("-"))
    return f"{day} {calendar.month_name[month] if 1 <= month <= 12 else f'in month {month}'} {year}"


def _matches(texts: pa.Array, form: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(texts, form).to_numpy(zero_copy_only=False), dtype=bool)


def _all_match(texts: pa.Array, form: str) -> bool:
    first = _matches(texts.slice(0, 256), form)
    return bool(first.all()) and (len(texts) <= 256 or bool(_matches(texts.slice(256), form).all()))


def _some_match(texts: pa.Array, form: str) -> bool:
    return pc.any(pc.match_substring_regex(texts, form), min_count=0).as_py() is True
