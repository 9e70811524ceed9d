"""What a statistician's file says of a column: its label, the labels of its codes, which of them mean missing."""

import re
from dataclasses import dataclass
from typing import Any

from anonymizer.json_value import JsonValue
from anonymizer.labelled.dates import FORMS

Code = float | str
"""What a file holds instead of a level: a number, or text; ``.a`` to ``.z`` are missing values that Stata and SAS tell
apart."""

LONGEST_LABEL = 32_000
MOST_LEVELS = 100_000
TEXTS = ("label", "format", "measure", "of", "alignment", "dates")
"""The parts of a variable that are one text each."""
LABEL_SHEET, LABEL_HEAD = "labels", ("column", "what", "code", "label")
"""The sheet of a workbook that has the labels of another's columns, and its first row."""
LABEL_KINDS = ("variable label", "value label", "missing value")
"""What a row there tells: the label of the column, of one of its codes, of a code that means missing."""


@dataclass(frozen=True)
class Variable:
    """A column as its file describes it.

    ``label``: what it is, in words. ``levels``: each value as the table has it, and its code in the file; of a column
    that stays numbers, those of its numbers that have a label. ``missing``: those levels that the file declares to be
    missing. ``ranges``: codes from and to that it declares so. ``format``: how the file shows values, such as F8.2;
    ``measure``: "nominal", "ordinal", "scale" or "". ``of``: the column whose missing values this one tells apart.
    ``width``: letters that a column takes on the screen, 0 where nothing is said; ``alignment``: "left", "right" or
    "center" where it is not that of its kind. ``meanings``: what a level means, where a codebook says so of codes that
    the table shows. ``dates``: one of :data:`anonymizer.labelled.dates.FORMS`, in which text has them; "" for
    year-month-day.
    """

    label: str = ""
    levels: tuple[tuple[str, Code], ...] = ()
    missing: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    format: str = ""
    measure: str = ""
    of: str = ""
    width: int = 0
    alignment: str = ""
    meanings: tuple[tuple[str, str], ...] = ()
    dates: str = ""

    @property
    def domain(self) -> tuple[str, ...]:
        """The levels in the order of their codes, those that mean missing last."""
        return tuple(level for level, _ in self.levels)

    def full_name(self, name: str) -> str:
        """Return what a column of this name is called where there is room: its label, and the name in brackets."""
        return f"{self.label} ({name})" if self.label and self.label != name else name

    def level_text(self, level: str) -> str:
        """Return a level, and in brackets what it means where it is a code of a codebook."""
        meaning = dict(self.meanings).get(level)
        return level if meaning is None else f"{level} ({meaning})"

    def entries(self, texts: set[str]) -> list[tuple[str, str, str]]:
        """Return what a workbook says of the column: of :data:`LABEL_KINDS`, a code and a label each, in their order;
        of codes, those that are among ``texts``, its cells, or whose labels are."""
        entries = [(LABEL_KINDS[0], "", self.label)] if self.label.strip() else []
        pairs = [(code_text(code), level) for level, code in self.levels] + list(self.meanings)
        words = {(code, label): LABEL_KINDS[1 + (label in self.missing)] for code, label in pairs if code and label}
        entries += [(word, *pair) for pair, word in words.items() if not texts.isdisjoint(pair) and pair[0] != pair[1]]
        return sorted({entry[:2]: entry for entry in entries}.values(), key=lambda entry: label_order(*entry[:2]))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; empty parts are left out."""
        parts = {name: getattr(self, name) for name in (*TEXTS, "width") if getattr(self, name)}
        lists = {"levels": self.levels, "ranges": self.ranges, "meanings": self.meanings}
        parts |= {name: [list(pair) for pair in pairs] for name, pairs in lists.items() if pairs}
        return parts | ({"missing": list(self.missing)} if self.missing else {})

    @classmethod
    def from_value(cls, value: JsonValue) -> "Variable":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        value.fields((*TEXTS, "width", "levels", "missing", "ranges", "meanings"))
        texts = {name: value.field(name).text(LONGEST_LABEL) for name in TEXTS if not value.field(name).absent}
        levels, ranges, missing, meanings = (value.field(name) for name in ("levels", "ranges", "missing", "meanings"))
        if texts.get("dates", "") not in ("", *FORMS):
            value.field("dates").refuse(f"one of {', '.join(FORMS)} is expected")
        words = [] if meanings.absent else [pair.items(2, 2) for pair in meanings.items(MOST_LEVELS)]
        pairs = [] if levels.absent else [level.items(2, 2) for level in levels.items(MOST_LEVELS)]
        ends = [] if ranges.absent else [pair.items(2, 2) for pair in ranges.items(10)]
        return cls(
            width=0 if value.field("width").absent else int(value.field("width").number()),
            levels=tuple((level.text(LONGEST_LABEL), _code(code)) for level, code in pairs),
            ranges=tuple((float(low.number()), float(high.number())) for low, high in ends),
            meanings=tuple((level.text(LONGEST_LABEL), meaning.text(LONGEST_LABEL)) for level, meaning in words),
            missing=() if missing.absent else tuple(one.text(LONGEST_LABEL) for one in missing.items(MOST_LEVELS)),
            **texts,
        )


def label_order(kind: str, code: str) -> tuple[int, float, str]:
    """Return what the rows of a column stand in the order of: its own label, its values, its missing codes."""
    number = float(code) if re.fullmatch(r"-?\d{1,300}(\.\d{1,20})?(e[+-]?\d{1,2})?", code) else float("inf")
    return LABEL_KINDS.index(kind), number, code


def code_text(code: Code) -> str:
    """Return a code as text."""
    if isinstance(code, str):
        return code
    return str(int(code)) if code.is_integer() and abs(code) < 1e15 else repr(code)


def _code(value: JsonValue) -> Code:
    return value.text(LONGEST_LABEL) if isinstance(value.value, str) else float(value.number())
