"""How a program shows the cells of a column, and which such format of a file fits a file of another kind.

No format changes a cell: one that does not fit gives way to a plain one.
"""

import re
from collections.abc import Iterable

from anonymizer.labelled.read import moment_scale, period_of

DAYS = {"sav": "DATE11", "dta": "%td", "xpt": "DATE9"}
MOMENTS = {"sav": "DATETIME23.2", "dta": "%tc", "xpt": "DATETIME20"}
NUMBERS = {"sav": "F8.2", "dta": "", "xpt": ""}
"""What a column of numbers has that comes without a format; "" is the writer's own."""

OF_NUMBERS = {
    "sav": re.compile(r"(?:F|COMMA|DOT|DOLLAR|PCT|E|N|Z|TIME|DTIME|MTIME|WKDAY|MONTH)(\d{1,2})(?:\.(\d{1,2}))?"),
    "dta": re.compile(r"%-?0?\d{1,2}[.,]\d{1,2}[gfe]c?|%-?ty[\w./:]{0,30}"),
    "xpt": re.compile(r"(?:BEST|F|COMMAX?|DOLLAR|PERCENT|E|Z|NUMX|TIME|HHMM|TOD)?(\d{1,2})(?:\.(\d{1,2}))?"),
}
OF_MOMENTS = {
    "sav": re.compile(r"[A-Z]+(\d{1,2})(?:\.(\d{1,2}))?"),
    "dta": re.compile(r"%(?:t[dcCwmqh]|d)[\w./:]{0,30}"),
    "xpt": re.compile(r"[A-Z][A-Z0-9]{0,7}?(?:(\d{1,2})(?:\.(\d{1,2}))?)?"),
}
OF_TEXTS = {
    "sav": re.compile("(?!)"),  # as wide as the longest text
    "dta": re.compile(r"%-?\d{1,3}s"),
    "xpt": re.compile(r"\$(?:CHAR)?\d{1,3}"),
}
LEAST = {
    "sav": {"DATETIME": 17, "YMDHMS": 16, "DATE": 9, "JDATE": 5, "MOYR": 6, "QYR": 6},
    "xpt": {"DATE": 5, "DATETIME": 7},
}
"""The narrowest that a format may be, where that is not 8."""
MOST = {"sav": {}, "xpt": {"DATE": 11}}
"""The widest, where that is not 40."""
WIDEST = 40
"""Letters of a column of codes on the screen, at most: longer labels are cut there, and nowhere else."""


def number_form(own: str, format: str) -> str:
    """Return the format of a column of numbers: its ``own`` where that is one of numbers there, else a plain one."""
    own = own.removesuffix(".0") if format == "xpt" else own  # there it is written so
    match = OF_NUMBERS[format].fullmatch(own)
    fits = match is not None and moment_scale(own, format) is None
    return own if fits and _has_room(match) else NUMBERS[format]  # type: ignore[arg-type]


def moment_form(own: str, format: str, days: bool) -> str:
    """Return the format of a column of dates: its ``own`` where that shows such there, else one of ``days`` alone or of
    moments."""
    own = own.removesuffix(".0") if format == "xpt" else own
    match, scale = OF_MOMENTS[format].fullmatch(own), moment_scale(own, format)
    if match is not None and period_of(own, format) is not None and days:
        return own
    if match is None or scale is None or (scale[0] > 1e6 and not days) or not _has_room(match):
        return (DAYS if days else MOMENTS)[format]
    if format != "dta" and match[1]:
        word, width = own.rstrip("0123456789."), int(match[1])
        least = LEAST[format].get(word, 8 if format == "sav" else 2)
        if not least <= width <= MOST[format].get(word, WIDEST):
            return (DAYS if days else MOMENTS)[format]
    return own


def text_form(own: str, format: str) -> str:
    """Return the format of a column of text: its ``own`` where that is one of texts there, else "", the writer's."""
    return own if OF_TEXTS[format].fullmatch(own) else ""


def code_form(own: str, format: str, codes: Iterable[float | str]) -> str:
    """Return the format of a column of ``codes``, wide enough for each."""
    numbers = [code for code in codes if not isinstance(code, str)]
    if format != "sav":
        return number_form(own, format) if own and OF_NUMBERS[format].fullmatch(own) else ""
    if not numbers:
        return ""
    digits = max(len(f"{code:.0f}") for code in numbers)
    match = OF_NUMBERS["sav"].fullmatch(own)
    decimals = int(match[2] or 0) if match else 0
    if match and own[0] == "F" and int(match[1]) >= digits + (decimals + 1 if decimals else 0) and _has_room(match):
        return own
    whole = all(float(code).is_integer() for code in numbers)
    return f"F{max(digits, int(match[1]) if match else 8)}.0" if whole else NUMBERS["sav"]


def screen_width(own: int, texts: Iterable[str]) -> int:
    """Return how wide a generalized column stands on the screen: as before, or as its longest cell."""
    return min(WIDEST, max([own or 8, *map(len, texts)]))


def _has_room(match: re.Match[str]) -> bool:
    """Return True where the width and the decimals of a format are such that a program takes them."""
    if match.re.groups < 2 or not match[1]:
        return True
    width, decimals = int(match[1]), int(match[2] or 0)
    return 1 <= width <= WIDEST and (decimals == 0 or decimals < min(width, 17))
