"""Forms of dates: how a table that is text wrote its days, so that its release writes them in the same way."""

import re
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FORMS = tuple(
    form.replace("-", sign)
    for form in ("DD-MM-YYYY", "D-M-YYYY", "MM-DD-YYYY", "M-D-YYYY", "YYYY-M-D", "YYYY-MM-DD", "DD-MMM-YYYY")
    for sign in ("/", ".", "-", " ")
    if form.replace("-", sign) != "YYYY-MM-DD"
) + ("YYYYMMDD",)
"""The forms that a release can be written in, beside year-month-day: D and M have no zero before them, MMM is the
beginning of the month's English name."""
SIGNS = "-/., :T"
"""What can stand between the parts of a form that somebody says."""
_TWO = "[0-9]{1,2}"
OWN_PARTS = {
    "YYYY": "(?P<year>[0-9]{4})", "YY": "(?P<short>[0-9]{2})", "MMM": r"(?P<name>[^\x00-@\[-`{-\x7F]{3,10}\.?)",
    "MM": f"(?P<month>{_TWO})", "M": f"(?P<month>{_TWO})", "DD": f"(?P<day>{_TWO})", "D": f"(?P<day>{_TWO})",
    "hh": f"(?P<hour>{_TWO})", "mm": f"(?P<minute>{_TWO})", "ss": f"(?P<second>{_TWO})",
}  # fmt: skip
"""The parts of such a form, and what they match: one digit or two, whatever the form has."""
_PARTS = {"YYYY": "([0-9]{4})", "MMM": f"({'|'.join(MONTHS)})", "MM": "([0-9]{2})", "DD": "([0-9]{2})",
          "M": "([1-9]|1[0-2])", "D": "([1-9]|[12][0-9]|3[01])"}  # fmt: skip


def parts_of(form: str) -> list[str]:
    """Return year, month and day as a form has them, in its order."""
    return re.findall("Y+|M+|D+", form)


def write_dates(texts: pa.Array, form: str) -> pa.Array:
    """Return texts (n,) with every date in the order year-month-day written in a form; "" changes nothing."""
    if not form:
        return texts
    parts = parts_of(form)
    if "MMM" in parts:
        texts = _each_month(texts, r"\b([0-9]{{4}})-{number:02}-([0-9]{{2}})\b", r"\1-{name}-\2")
    year, month, day = r"\b([0-9]{4})", "([A-Z][a-z]{2})" if "MMM" in parts else "([0-9]{2})", r"([0-9]{2})\b"
    if "D" in parts:
        month, day = "0?([1-9]|1[0-2])", r"0?([1-9]|[12][0-9]|3[01])\b"
    order = {"Y": r"\1", "M": r"\2", "D": r"\3"}
    pattern = re.sub("Y+|M+|D+", lambda part: order[part[0][0]], form)
    return pc.replace_substring_regex(texts, f"{year}-{month}-{day}", pattern)


def pattern_of(form: str) -> str:
    """Return a form in the words of ``strptime``."""
    return re.sub(
        "Y+|M+|D+", lambda part: {"Y": "%Y", "D": "%d"}.get(part[0][0], "%b" if part[0] == "MMM" else "%m"), form
    )


def read_dates(texts: pa.Array, form: str) -> pa.Array:
    """Return texts (n,) with every date of a form in the order year-month-day: the inverse of :func:`write_dates`."""
    if not form:
        return texts
    parts = parts_of(form)
    pattern = re.sub("Y+|M+|D+", lambda part: _PARTS[part[0]], form.replace(".", r"\."))
    place = {part[0]: rf"\{at}" for at, part in enumerate(parts, 1)}
    texts = pc.replace_substring_regex(texts, rf"\b{pattern}\b", "-".join(place[part] for part in "YMD"))
    if "MMM" in parts:
        return _each_month(texts, r"\b([0-9]{{4}})-{name}-([0-9]{{2}})\b", r"\1-{number:02}-\2")
    return padded(texts) if "D" in parts else texts


def padded(texts: pa.Array) -> pa.Array:
    """Return texts (n,) with months and days of one digit, in the order year-month-day, with two."""
    texts = pc.replace_substring_regex(texts, r"\b([0-9]{4})-([0-9])-", r"\1-0\2-")
    return pc.replace_substring_regex(texts, r"\b([0-9]{4}-[0-9]{2})-([0-9])($|[^0-9])", r"\1-0\2\3")


def pattern_of_own(form: str) -> str | None:
    """Return the regular expression of a form that somebody says, such as ``DD.MM.YY hh:mm``: its groups are day, month
    (``name`` for MMM), year (``short`` for YY), hour, minute and second. ``None`` where it is no form.

    19 or 20 before YY is a century, and does not stand in the texts.
    """
    form = re.sub("(19|20)(?=YY(?!Y))", "", form)
    tokens = re.findall("YYYY|YY|MMM|MM?|DD?|hh|mm|ss|.", form)
    kinds = [token[0] for token in tokens if token in OWN_PARTS]
    if sorted(kinds[:3]) != ["D", "M", "Y"] or kinds[3:] not in ([], ["h", "m"], ["h", "m", "s"]):
        return None
    if any(token not in OWN_PARTS and token not in SIGNS for token in tokens):
        return None
    return "^" + "".join(OWN_PARTS.get(token, re.escape(token)) for token in tokens) + "$"


def century_of(form: str) -> str:
    """Return the first two digits of all years of a form of one's own, "" where the texts or nobody say them."""
    match = re.search("(19|20)YY(?!Y)", form)
    return match[1] if match else ""


def form_of(texts: pa.Array, iso: pa.Array) -> str | None:
    """Return the form in which texts (n,) write their dates, "" for year-month-day, ``None`` for none of
    :data:`FORMS` or several. ``iso``: the same dates in the order year-month-day."""
    iso = iso.cast(texts.type)
    for form in ("", *FORMS):
        first, rest = (write_dates(part, form).equals(whole) for part, whole in ((iso[:8], texts[:8]), (iso, texts)))
        if first and rest:
            return form
    return None


def _each_month(texts: pa.Array, pattern: str, form: str) -> pa.Array:
    def replaced(before: pa.Array, number: int) -> pa.Array:
        words = {"number": number, "name": MONTHS[number - 1]}
        return pc.replace_substring_regex(before, pattern.format(**words), form.format(**words))

    return reduce(replaced, range(1, 13), texts)
