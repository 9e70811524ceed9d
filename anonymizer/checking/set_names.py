"""Sets that a release writes by a short name, read with its dictionary: ``{C: 48 levels}`` is the list of its levels
again. What is long, and which letters a set has, is worked out here again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from string import ascii_uppercase

import numpy as np
import pandas as pd

from anonymizer.cells import Cell, parse_column_cell
from anonymizer.checking.released import texts_of
from anonymizer.errors import CellError
from anonymizer.schema import Column, Kind, Schema

SetNames = Mapping[str, Mapping[str, Sequence[str]]]
"""The levels of each set that has a short name, by column and name."""

PATTERN = re.compile(r"\{(?P<name>[A-Z]+): (?P<count>[1-9][0-9]*) levels(?P<missing>, missing)?\}")
LISTED, LETTERS = 12, 100
"""Levels, or runs of bands, and letters, of the longest set that is written in full."""


def in_full(rows: pd.DataFrame, schema: Schema, sets: SetNames) -> tuple[pd.DataFrame, list[str]]:
    """Return rows in which sets are lists of levels, and how their names are not what they should be, a sentence each.

    ``sets``: as the dictionary of the release has them. A cell whose name it does not explain stays as it is.
    """
    rows, sentences = rows.copy(deep=False), []
    named = [c.name for c in schema.columns if c.name in schema.quasi_identifying and c.kind is Kind.CATEGORICAL]
    if others := [name for name in sets if name not in named or name not in rows.columns]:
        sentences.append(f"The dictionary names sets of {others[0]!r}, where no cell is a set of levels.")
    for name in (name for name in named if name in rows.columns):
        index, texts = texts_of(rows[name])
        own, column = sets.get(name, {}), schema[name]
        full = [as_list(text, own, column) for text in texts]
        sentences += [f"Column {name!r}: {problem}." for problem in _problems(texts, full, own, column)]
        if full != texts:
            distinct = list(dict.fromkeys(text for text in full if text is not None))
            place = {text: at for at, text in enumerate(distinct)}
            codes = np.array([place.get(text, -1) if text else -1 for text in full], np.int64)[index]
            rows[name] = pd.Categorical.from_codes(codes, pd.Index(distinct, dtype="str"))
    return rows, sentences


def as_list(text: str | None, own: Mapping[str, Sequence[str]], column: Column) -> str | None:
    """Return a cell as a list of levels, where it is the name of a set that has as many; else the cell."""
    match = PATTERN.fullmatch(text or "")
    levels = own.get(match["name"], ()) if match else ()
    if match is None or len(levels) != int(match["count"]):
        return text
    return _list_of(levels, column, bool(match["missing"])) or text


def _list_of(levels: Sequence[str], column: Column, missing: bool = False) -> str | None:
    """Return levels as a set that lists them; ``None`` for what makes none."""
    try:
        return parse_column_cell(Cell.of_levels(tuple(levels), missing).text(), column).text()
    except CellError:
        return None


def _problems(
    texts: Sequence[str | None], full: Sequence[str | None], own: Mapping[str, Sequence[str]], column: Column
) -> Iterator[str]:
    """Yield how the names of a column are not what they should be. ``full``: its cells, ``texts``, as lists."""
    present = {match["name"] for text in texts if (match := PATTERN.fullmatch(text or ""))}
    for text, other in zip(texts, full, strict=True):
        match = PATTERN.fullmatch(text or "")
        if match and text == other:
            there = own.get(match["name"])
            says = "does not name it" if there is None else f"lists {len(there):,} levels, or some twice"
            yield f"the set {text} is not in the dictionary as it is in the rows, which {says}"
        elif match is None and text and _is_long(text, column):
            yield f"a set of many levels is written in full ({text[:40]} …)"
    if unused := [name for name in own if name not in present]:
        yield f"the dictionary names a set {unused[0][:20]} that no row has"
    lists = {name: _list_of(levels, column) for name, levels in own.items()}
    if short := [name for name, text in lists.items() if text is None or not _is_long(text, column)]:
        yield f"the dictionary names a set {short[0][:20]} that has too few levels for a name, or some twice"
    elif list(lists) != list(_names(len(lists))) or list(lists.values()) != sorted({*filter(None, lists.values())}):
        yield "the names of its sets do not stand in the order of the sets"


def _is_long(text: str, column: Column) -> bool:
    try:
        cell = parse_column_cell(text, column)
    except CellError:
        return False
    parts = cell.words or cell.levels
    if len(parts) < 2 or cell.joined or cell.counts:
        return False
    return len(parts) > LISTED or len(text.removesuffix(", missing}")) + text.endswith(", missing}") > LETTERS


def _names(count: int) -> Iterator[str]:
    """Yield names: A to Z, AA, AB and so on."""
    width = 1
    while count > 0:
        for letters in product(ascii_uppercase, repeat=width):
            if count <= 0:
                return
            yield "".join(letters)
            count -= 1
        width += 1
