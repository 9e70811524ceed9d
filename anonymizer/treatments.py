"""What is done to a column that is released without a box: dates to months, numbers to a step, codes to fewer digits,
rare levels to one.

A treatment is written as ``month``, or with its number as ``round:100``. Another one is an entry in :data:`TREATMENTS`,
and one in ``HOLDS`` of :mod:`anonymizer.checking.treated`, by which it is checked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import SchemaError
from anonymizer.hierarchy import Hierarchy

OTHER = "other"
"""The level in which rare ones are merged."""
MOST = 1e15


@dataclass(frozen=True, eq=False)
class About:
    """What a treatment knows beside the values: its number ``n``, the ``persons`` who have each, (d,), and the public
    ``hierarchy`` of the column, ``None`` for none."""

    n: float
    persons: NDArray[np.int64]
    hierarchy: Hierarchy | None = None


Apply = Callable[[NDArray[Any], About], NDArray[Any]]
"""Of the different values of a column (d,) and what is known beside: what is released for each."""


@dataclass(frozen=True)
class Treatment:
    """``words``: what is done, on a button; ``note``: what that means for a reader, {n} the number; ``kind``: of the
    columns that it suits; ``least``: the smallest number that goes with it, ``None`` for none; ``whole``: it is a whole
    one; ``apply``: see :data:`Apply`."""

    words: str
    note: str
    kind: str
    apply: Apply
    least: float | None = None
    whole: bool = True


def _floor(unit: str) -> Apply:
    def apply(values: NDArray[Any], about: About) -> NDArray[Any]:
        return np.asarray(values.astype(f"datetime64[{unit}]").astype("datetime64[us]"))

    return apply


def _to_quarters(values: NDArray[Any], about: About) -> NDArray[Any]:
    months = values.astype("datetime64[M]").astype(np.int64)
    return np.asarray((months // 3 * 3).astype("datetime64[M]").astype("datetime64[us]"))


def _to_step(values: NDArray[Any], about: About) -> NDArray[Any]:
    n = about.n
    places = np.floor(np.round(values / n, 9) + 0.5)  # 0.15 / 0.1 is 1.5, and not a little less
    if values.dtype.kind in "iu" and n.is_integer():
        return np.asarray((places * n).astype(np.int64))
    return np.array([float(f"{place * n:.12g}") for place in places])


def _to_digits(values: NDArray[Any], about: About) -> NDArray[Any]:
    def shorten(text: str) -> str:
        places = [at for at, sign in enumerate(text) if sign.isalnum()]
        return text if len(places) <= about.n else text[: places[int(about.n) - 1] + 1]

    return np.array([shorten(text) for text in values], dtype=object)


def _to_level(values: NDArray[Any], about: About) -> NDArray[Any]:
    rows = {} if about.hierarchy is None else {row[0]: row[int(about.n)] for row in about.hierarchy.rows}
    outside = sum(value not in rows for value in values)
    if outside:
        what = f"{outside:,} values of a treated column are not in its hierarchy."
        raise SchemaError(what, remedy="Add them to the hierarchy, or choose another treatment.")
    return np.array([rows[value] for value in values], dtype=object)


def _merge_rare(values: NDArray[Any], about: About) -> NDArray[Any]:
    n, persons = about.n, about.persons
    by_size = sorted(range(len(values)), key=lambda at: (persons[at], values[at]))
    rare: set[int] = set()
    together = 0
    for at in by_size:
        if persons[at] >= n and (not rare or together >= n):
            break
        rare.add(at)
        together += int(persons[at])
    return np.array([OTHER if at in rare else value for at, value in enumerate(values)], dtype=object)


TREATMENTS: dict[str, Treatment] = {
    "hour": Treatment("Round to hours", "Each time stands for its hour.", "date", _floor("h")),
    "day": Treatment("Round to days", "Each time stands for its day.", "date", _floor("D")),
    "month": Treatment("Round to months", "The first day stands for the month.", "date", _floor("M")),
    "quarter": Treatment("Round to quarters", "The first day stands for the quarter.", "date", _to_quarters),
    "year": Treatment("Round to years", "The first day stands for the year.", "date", _floor("Y")),
    "round": Treatment("Round to multiples of {n}", "Rounded to the nearest multiple of {n}, halves up.", "numeric",
                       _to_step, least=1e-9, whole=False),
    "digits": Treatment("Shorten codes to {n} signs", "Only the first {n} letters and digits of each code.",
                        "categorical", _to_digits, least=1),
    "level": Treatment("Write level {n} of the hierarchy", "Each value stands as its group on level {n} of the public "
                       "hierarchy.", "categorical", _to_level, least=1),
    "rare": Treatment("Merge rare values", "Values of fewer than {n} persons are “" + OTHER + "”.", "categorical",
                      _merge_rare, least=2),
}  # fmt: skip
"""What can be done to a column, by name."""


def parts_of(treat: str) -> tuple[str, float]:
    """Return the name of a treatment and its number, 0 for none."""
    name, _, number = treat.partition(":")
    return name, float(number or 0)


def suit(column: str, kind: str, treat: str, levels: int = 0) -> str:
    """Return a treatment of a column in its one spelling. Raises :class:`SchemaError` for one that is none, or suits
    another kind of column. ``levels``: of its public hierarchy."""
    name, colon, number = treat.strip().partition(":")
    names = [one for one, treatment in TREATMENTS.items() if treatment.kind == kind]
    treatment = TREATMENTS.get(name)
    ways = [one + ":10" * (TREATMENTS[one].least is not None) for one in names]
    remedy = f"Choose {', '.join(ways)}."
    if treatment is None or treatment.kind != kind:
        raise SchemaError(
            f"Column {column!r} is {kind} and cannot be treated by {name!r}.", column=column, remedy=remedy
        )
    if treatment.least is None:
        if colon:
            raise SchemaError(f"The treatment {name!r} of {column!r} has no number.", column=column, remedy=remedy)
        return name
    try:
        n = float(number)
    except ValueError:
        n = np.nan
    if not treatment.least <= n <= MOST or (treatment.whole and not n.is_integer()):
        what = f"The treatment {name!r} of {column!r} needs a {'whole ' * treatment.whole}number"
        raise SchemaError(f"{what} from {treatment.least:g}.", column=column, remedy=remedy)
    if name == "level" and n > levels:
        raise SchemaError(f"The hierarchy of {column!r} has {levels:,} levels.", column=column, remedy=remedy)
    return f"{name}:{n:.12g}"


def words_of(treat: str) -> str:
    """Return a treatment as a button says it."""
    name, n = parts_of(treat)
    return TREATMENTS[name].words.format(n=f"{n:.12g}")


def note_of(treat: str) -> str:
    """Return what a treatment did, for those who read the column; "" for none."""
    name, n = parts_of(treat)
    return TREATMENTS[name].note.format(n=f"{n:.12g}") if treat else ""
