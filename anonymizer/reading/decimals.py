"""Texts as numbers: which mark is the decimal one, which digits would be lost, and what has to be asked.

``1.234`` is a little more than one where the point is the decimal mark, and more than a thousand where it stands
between thousands. A column says which by its other values; where none does, the steward is asked.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonymizer.reading.options import Answer, Problem, Question

LONGEST_INTEGER = 15
"""Digits of the longest whole number that is read as one: longer ones are identifiers, and floats lose digits."""

MOST_TRIED = 10_000
"""Numbers of many digits that are looked at one by one."""

SAMPLE = 3
"""Values that are shown with a question."""

INTEGER = rf"^-?(0|[1-9][0-9]{{0,{LONGEST_INTEGER - 1}}})$"
NUMBER = r"^-?((0|[1-9][0-9]{0,307})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
SHORT_NUMBER, SHORT = NUMBER.replace("{0,307}", "*"), 300
"""The same of texts of fewer bytes: counting digits is most of the work where there are many columns."""
GROUPED = r"^-?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?$"
INFINITE = r"(?i)^[+-]?inf(inity)?$"
ONLY_DIGITS = r"^-?[0-9]+$"
TOO_LONG = rf"^-?[0-9]{{{LONGEST_INTEGER + 1},}}"
TICKED = r"^[0-9]{1,2}(,[0-9]{1,2})?$"
LIKE_A_CODE = r"^[0-9]+[eE][0-9]{1,2}$"
TWO_FORMS = r"[eE]|[.][0-9]*0$|[.]$|^-?[.]|^-0$"
MARKS = {".": "point", ",": "comma"}
UNIT = r"\p{Sc}|%|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN"
GAP = r"['’ \x{00A0}\x{2009}\x{202F}]"
"""What stands between thousands where it is no comma and no point."""
DRESSED = (
    rf"^(?P<sign>[-−]?)[ \x{{00A0}}]?(?P<before>{UNIT})?[ \x{{00A0}}]?(?P<inner>[-−]?)"
    rf"(?P<number>[0-9][0-9.,]*(?:[eE][+-]?[0-9]{{1,3}})?|\.[0-9]+|[1-9][0-9]{{0,2}}(?:{GAP}[0-9]{{3}})+(?:[.,][0-9]*)?)"
    rf"[ \x{{00A0}}]?(?P<after>{UNIT})?$"
)
"""A number with a sign, a unit before or behind it, and blanks or apostrophes between thousands."""
DRESSES = ("sign", "before", "inner", "number", "after")
MOST_DIGITS = 12
"""Digits of the longest number in whose thousands blanks are believed: longer ones are those of accounts."""


def joined(*parts: Any, by: str = "") -> pa.Array:
    """Return the texts of several columns, written one behind the other; missing where one of them is."""
    kind = pa.large_string()
    return pc.binary_join_element_wise(*(pc.cast(part, kind) for part in parts), pa.scalar(by, kind))


def with_point(texts: pa.Array, mark: str) -> pa.Array:
    """Return the texts as they are written where the decimal mark is a point."""
    if mark == ".":
        return texts
    return pc.replace_substring(pc.replace_substring(pc.replace_substring(texts, ".", "\0"), ",", "."), "\0", ",")


def readable(texts: pa.Array, mark: str) -> NDArray[np.bool_]:
    """Return whether each text (n,) is a number with this decimal mark, thousands set apart or not."""
    points = with_point(texts, mark)
    is_short = (pc.max(pc.binary_length(points)).as_py() or 0) < SHORT
    number = pc.match_substring_regex(points, SHORT_NUMBER if is_short else NUMBER)
    return np.asarray(pc.or_(number, pc.match_substring_regex(points, GROUPED)).to_numpy(zero_copy_only=False))


def mark_of(texts: pa.Array) -> str:
    """Return the decimal mark that the texts show: "." or ","; "?" when both fit, "" when they are no numbers."""
    marks = ""
    for part in (texts.slice(0, 256), texts) if len(texts) else ():
        marks = "".join(mark for mark in MARKS if readable(part, mark).all())
        if not marks or len(part) == len(texts):
            break
    return "?" if len(marks) == 2 else marks


def undress(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the texts (n,) without units, as ``$``, ``EUR`` and ``%`` are, without blanks and apostrophes between
    thousands, and with a hyphen for a minus; and the unit of each, "" for none. What is no such number stays."""
    parts = pc.extract_regex(texts, DRESSED)
    sign, before, inner, number, after = (pc.struct_field(parts, part) for part in DRESSES)
    minus = pc.if_else(pc.equal(joined(sign, inner), ""), "", "-")
    plain = joined(minus, pc.replace_substring_regex(number, GAP, ""))
    twice = pc.or_(
        pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")),
        pc.and_(pc.not_equal(sign, ""), pc.not_equal(inner, "")),
    )
    plain = pc.if_else(pc.fill_null(twice, True), texts, plain.cast(texts.type))
    units = pc.fill_null(joined(before, after), "")
    return plain, units


def dressed(name: str, texts: pa.Array) -> tuple[pa.Array, list[Problem]] | None:
    """Return numbers with one unit, or with blanks or apostrophes between thousands, without them, and a note; ``None``
    where the texts are no such numbers, or have several units."""
    if not len(texts) or not pc.all(pc.match_substring_regex(texts.slice(0, 256), DRESSED)).as_py():
        return None
    plain, units = undress(texts)
    mark = mark_of(plain)
    grouped = pc.match_substring_regex(texts, f"[0-9]{GAP}[0-9]")
    if (
        not mark
        or plain.equals(texts)
        or len(units.unique()) > 1
        or (pc.any(grouped).as_py() and _is_code(plain, grouped))
    ):
        return None
    at = next((int(at) for at in np.flatnonzero(pc.not_equal(plain, texts).to_numpy(zero_copy_only=False))), 0)
    text = f"The numbers of column {name!r} were read without what stands around them: {texts[at].as_py()!r} is "
    return plain, [Problem("info", f"{text}{plain[at].as_py()}.", name)]


def _is_code(plain: pa.Array, grouped: pa.Array) -> bool:
    """Return whether digits in groups may be those of accounts or telephones: all have the same number, or too many."""
    lengths = pc.utf8_length(pc.replace_substring_regex(plain, "[.,].*$|-", ""))
    ends = pc.min_max(lengths).as_py()
    return pc.any(grouped).as_py() and bool(
        ends["max"] > MOST_DIGITS or (ends["min"] == ends["max"] and pc.all(grouped).as_py())
    )


def file_mark(columns: Iterable[pa.Array]) -> str | None:
    """Return the decimal mark that the columns of a file show, given the texts of each; "" when none does, ``None``
    when they contradict each other."""
    marks = {mark_of(texts) for texts in columns} & set(MARKS)
    return None if len(marks) > 1 else next(iter(marks), "")


def doubt(name: str, texts: pa.Array, decimal: str | None, delimiter: str | None) -> tuple[str, Question | None]:
    """Return the decimal mark of a column whose own values leave it open, and the question where it must be asked.

    ``decimal``: the mark of the rest of the file, "" or ``None`` when that shows none. Nothing is asked when every
    value has the mark of the rest, or a point in text whose fields are separated by commas.
    """
    used = {mark for mark in MARKS if pc.any(pc.match_substring(texts, mark)).as_py()}
    mark = decimal or ("." if delimiter == "," else "")
    if used <= {mark}:
        return mark or ".", None
    example = texts.filter(pc.match_substring_regex(texts, "[.,]"))
    answers = tuple(
        Answer(
            f"{word}: the decimal mark",
            (("decimal", mark),),
            tuple((text.as_py(), f"{_number(text.as_py(), mark):,.15g}") for text in example[:SAMPLE]),
        )
        for mark, word in MARKS.items()
    )
    first = example[0].as_py()
    text = f"Column {name!r} holds {first!r}: is that {_number(first, '.'):g} or {_number(first, ','):g}?"
    return "", Question("decimal mark", text, answers, name)


def _number(text: str, mark: str) -> float:
    return float(with_point(pa.array([text]), mark)[0].as_py().replace(",", ""))


def code_question(name: str, texts: pa.Array) -> Question | None:
    """Return the question whether ``12e4`` is a code or a number; ``None`` when no text is like
    it, or others show that these are numbers."""
    like = texts.filter(pc.match_substring_regex(texts, LIKE_A_CODE))
    if not len(like) or pc.any(pc.match_substring_regex(texts, "[.,]|[eE][+-]")).as_py():
        return None
    sample = [text.as_py() for text in like[:SAMPLE]]
    answers = (
        Answer("text, such as codes", (("as_text", name),), tuple((text, text) for text in sample)),
        Answer("numbers", (("as_numbers", name),), tuple((text, f"{float(text):,.15g}") for text in sample)),
    )
    text = f"Column {name!r} holds {sample[0]!r}: is that a code or the number {float(sample[0]):,.15g}?"
    return Question("numbers", text, answers, name)


def list_question(name: str, texts: pa.Array, mark: str, decimal: str | None, delimiter: str | None) -> Question | None:
    """Return the question whether ``1,3`` is a number or a list, such as options that were ticked; ``None`` where the
    column's ``mark`` is in no doubt.

    It is where other columns of the file have another one, ``decimal=None``, and where commas separate its fields, as
    well as numbers of one or two digits in some of the values only.
    """
    some = pc.match_substring(texts, mark)
    short = pc.all(pc.match_substring_regex(texts, TICKED)).as_py() and not pc.all(some).as_py()
    ticked = delimiter == "," == mark and short
    if not (ticked or (decimal is None and (mark == "," or delimiter != ","))):
        return None
    sample = [text.as_py() for text in texts.filter(some)[:SAMPLE]]
    if not sample:
        return None
    number = "numbers with a decimal " + MARKS[mark]
    answers = (
        Answer(number, (("as_numbers", name),), tuple((text, f"{_number(text, mark):,.15g}") for text in sample)),
        Answer("text, such as options ticked", (("as_text", name),), tuple((text, text) for text in sample)),
    )
    text = f"Column {name!r} holds {sample[0]!r}: is that the number {_number(sample[0], mark):g}, or a list?"
    return Question("numbers", text, answers, name)


def numbers_from(name: str, texts: pa.Array, mark: str) -> tuple[NDArray[np.float64] | None, list[Problem]]:
    """Return the texts as numbers, and notes; no numbers when digits before the mark would be lost."""
    points = with_point(texts, mark)
    if pc.any(pc.match_substring_regex(points, TOO_LONG)).as_py():
        return None, [too_long(name)]
    problems = []
    if mark == ",":
        problems.append(Problem("info", f"The numbers of column {name!r} were read with a decimal comma.", name))
    grouped = pc.match_substring(points, ",")
    if pc.any(grouped).as_py():
        example = texts.filter(grouped)[0].as_py()
        between = "commas" if mark == "." else "points"
        text = f"The {between} between thousands in column {name!r} were removed ({example!r})."
        problems.append(Problem("info", text, name))
        points = pc.replace_substring(points, ",", "")
    numbers = np.asarray(pc.cast(points, pa.float64()).to_numpy(zero_copy_only=False))
    return numbers, problems + _note_rounding(name, points, numbers) + _two_forms(name, texts, points, numbers)


def too_long(name: str) -> Problem:
    """Return the note for numbers that would lose digits."""
    why = f"some numbers have more than {LONGEST_INTEGER} digits, as identifiers do"
    return Problem("info", f"Column {name!r} stays text: {why}.", name)


def _note_rounding(name: str, points: pa.Array, numbers: NDArray[np.float64]) -> list[Problem]:
    """Return a note when numbers have more digits than can be kept; of those written in other forms, the first are
    tried."""
    if (pc.max(pc.utf8_length(points)).as_py() or 0) <= LONGEST_INTEGER:
        return []
    digits = pc.replace_substring_regex(pc.replace_substring_regex(points, "[eE].*$", ""), r"[-.]", "")
    longer = pc.greater(pc.utf8_length(pc.utf8_trim(digits, characters="0")), LONGEST_INTEGER)
    other = pc.not_equal(pc.cast(pa.array(numbers), points.type), points)
    doubtful = pc.and_(longer, other).to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(doubtful)[:MOST_TRIED]:
        text, number = points[int(at)].as_py(), float(numbers[at])
        if np.isfinite(number) and Decimal(text) != Decimal(repr(number)):
            note = f"Numbers of column {name!r} with too many digits to be kept were rounded ({text[:40]!r})."
            return [Problem("info", note, name)]
    return []


def _two_forms(name: str, texts: pa.Array, points: pa.Array, numbers: NDArray[Any]) -> list[Problem]:
    """Return a note when different texts are one number."""
    if not pc.any(pc.match_substring_regex(points, TWO_FORMS)).as_py():
        return []
    distinct = texts.unique()
    if len(np.unique(numbers)) >= len(distinct):
        return []
    first: dict[float, str] = {}
    for text, number in zip(texts.to_pylist(), numbers.tolist(), strict=True):
        other = first.setdefault(number, text)
        if other != text:
            note = f"In column {name!r} {other!r} and {text!r} are one number."
            return [Problem("info", note, name, remedy="If they are codes, say that the column is text.")]
    return []
