"""Short names of long sets: ``{C: 48 levels}`` in the files, and what set C holds in the dictionary and the report.

A set is long by its written form alone, and letters follow from the released sets of a column alone: nothing of them
depends on which row has which set, or on anything that is not released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anonymizer.cells import Cell
from anonymizer.releasing.release import Release, ReleasedColumn
from anonymizer.settings import offer

SETS: dict[str, str] = {
    "full": "A set lists all of its levels, so a file can be read alone.",
    "named": "A set of many levels has a short name, such as {C: 48 levels}. The dictionary and the report list what "
    "each holds, so give them along with the file.",
}
"""How long sets are written, and what that takes."""

offer("sets", SETS)

MOST_LISTED = 12
"""Levels, or runs of bands, that a set lists; one of more has a name."""
MOST_LETTERS = 100
"""Letters of a set that is written in full."""


def named(release: Release, sets: str) -> Release:
    """Return a release whose long sets have short names, where ``sets`` says so."""
    return replace(release, columns=named_columns(release.columns, sets))


def named_columns(columns: Sequence[ReleasedColumn], sets: str) -> tuple[ReleasedColumn, ...]:
    """Return the columns of a release, the long sets of which have short names, where ``sets`` says so."""
    return tuple(map(_named, columns)) if sets == "named" else tuple(columns)


def names_of(release: Release, sets: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the levels of each set that has a short name, by column and name; none where ``sets`` says full."""
    return {column.name: dict(column.names) for column in named(release, sets).generalized if column.names}


def _named(column: ReleasedColumn) -> ReleasedColumn:
    plain = {cell: replace(cell, missing=False) for cell in column.cells if is_long(cell)}
    order = sorted(set(plain.values()), key=lambda cell: cell.text() or "")
    letters = {cell: letters_of(place) for place, cell in enumerate(order)}
    cells = (replace(cell, name=letters[plain[cell]]) if cell in plain else cell for cell in column.cells)
    return replace(column, cells=tuple(cells)) if plain else column


def is_long(cell: Cell) -> bool:
    """Return whether a cell is a set that lists too much, whether a value may be missing as well or not."""
    listed = cell.words or cell.levels
    if len(listed) < 2 or cell.joined or cell.counts:
        return False
    return len(listed) > MOST_LISTED or len(replace(cell, missing=False).text() or "") > MOST_LETTERS


def letters_of(place: int) -> str:
    """Return the name of the set at a place, from 0: A to Z, AA, AB and so on."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def said_of(names: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Return how many sets have short names, in a sentence."""
    counts = [f"{len(own):,} of {column}" for column, own in names.items()]
    return f"Sets with a short name, such as {{C: 48 levels}}: {', '.join(counts)}. The data dictionary lists them."
