"""What is written to the log: text that came from outside moves no cursor, colours nothing and begins no line."""

import logging
import re
from typing import Any

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, or that turn text around. Words of the code may have line feeds and tabs."""
ANY = re.compile(rf"{CONTROL.pattern}|[\t\n]")


class Record(logging.LogRecord):
    """A line of the log without control characters: those of its parts are written as escapes, such as ``\\x1b``."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.msg = plain(self.msg, CONTROL)
        if isinstance(self.args, tuple):
            self.args = tuple(plain(part, ANY) for part in self.args)
        if self.exc_info:
            self.exc_text = plain(logging.Formatter().formatException(self.exc_info), CONTROL)  # type: ignore[arg-type]


def plain(part: Any, characters: re.Pattern[str]) -> Any:
    """Return a text with these characters as escapes; an exception as such a text; anything else as it is."""
    if isinstance(part, BaseException):
        part = str(part)
    if not isinstance(part, str):
        return part
    return characters.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), part)


def escape() -> None:
    """Have all loggers of this process make such lines."""
    logging.setLogRecordFactory(Record)
