"""Public cuts of a column, which a steward declares before anything is grown: bands, a top and a bottom code, rounding,
a hierarchy; and steps of public grids.

A band goes from its first value to just below the next band's; the last is open upwards. A top code T says every value
of T and more as ``≥ T``, a bottom code B every value of B and less as ``≤ B``. Rounding says every number as the
nearest multiple of a step, halves as the one above. A hierarchy says several values as one of its groups. Cuts are
public, so none depends on the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import SchemaError
from anonymizer.hierarchy import MOST_LEVELS, MOST_VALUES, Hierarchy
from anonymizer.json_value import JsonValue

MOST_BANDS = 1_000
NUMBERS = ("bottom", "top", "rounding")
PARTS = ("bands", *NUMBERS, "hierarchy")

DATE_STEPS = {"day": 1.0, "week": 7.0, "month": 30.4375, "quarter": 91.3125, "year": 365.25}
"""The steps of a public grid of dates, and about how many days each has."""


@dataclass(frozen=True)
class Cuts:
    """The public cuts of a column. ``bands``: the first value of each, ascending, two at least, () for none; ``bottom``
    and ``top``: the lowest and the highest value that is said, ``None`` for none; not beside bands. ``rounding``: the
    step of which every number is said as a multiple; not beside bands. ``hierarchy``: the only groups of values that
    are said; beside nothing else.

    Raises :class:`SchemaError` for cuts that are not in order.

    >>> import anonymizer as an
    >>> an.Column("age", "quasi-identifying", "numeric", cuts=an.Cuts(bands=(0, 18, 65))).cuts.bands
    (0.0, 18.0, 65.0)
    """

    bands: tuple[float, ...] = ()
    bottom: float | None = None
    top: float | None = None
    rounding: float | None = None
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "bands", tuple(float(start) for start in self.bands))
            for name in NUMBERS:
                value = getattr(self, name)
                object.__setattr__(self, name, None if value is None else float(value))
        except (TypeError, ValueError) as error:
            raise _refusal("Public cuts are not all numbers.", "Write them as 0,18,65.") from error
        codes = [code for code in (self.bottom, self.top) if code is not None]
        if not np.isfinite([*self.bands, *codes, self.rounding or 0.0]).all():
            raise _refusal("A public cut is not a finite number.", "Write cuts as 0,18,65.")
        if self.bands and (not 2 <= len(self.bands) <= MOST_BANDS or any(a >= b for a, b in pairwise(self.bands))):
            what = f"Bands need from 2 to {MOST_BANDS:,} first values, each above the one before."
            raise _refusal(what, "Write them as 0,18,65.")
        if self.bands and codes:
            raise _refusal("A column has bands or a top and a bottom code.", "Make the last band the top code.")
        if len(codes) == 2 and codes[0] >= codes[1]:
            raise _refusal("The bottom code is not below the top code.", "Write the lower number as the bottom code.")
        self._check_rounding(codes)
        if self.hierarchy is not None and (self.bands or codes or self.rounding is not None):
            raise _refusal("A hierarchy stands beside no other public cuts.", "Leave the others out.")

    def _check_rounding(self, codes: list[float]) -> None:
        if self.rounding is None:
            return
        if not 0 < self.rounding < np.inf:
            raise _refusal("A column is rounded to multiples of a number above 0.", "Write 5, 10 or 0.5.")
        if self.bands:
            raise _refusal("A column has bands or is rounded.", "Leave one of them out.")
        if codes and (self.rounded(np.array(codes)) != codes).any():
            raise _refusal("A top or bottom code is no multiple of what is rounded to.", "Round the code, too.")

    def __bool__(self) -> bool:
        return bool(self.bands) or self.hierarchy is not None or any(getattr(self, one) is not None for one in NUMBERS)

    def suit(self, name: str, kind: str) -> "Cuts":
        """Return the cuts as a column of this kind has them: a hierarchy of numbers in their order. Raises
        :class:`SchemaError` where it cannot have them."""
        hierarchy = self.hierarchy
        if self and kind != "numeric" and (hierarchy is None or kind != "categorical"):
            what = f"{name!r} has no numbers to cut." if hierarchy is None else f"{name!r} holds dates."
            raise SchemaError(what, column=name, remedy="Make it numeric.")
        if hierarchy is None or kind != "numeric":
            return self
        ascending = hierarchy.in_numbers()
        return self if ascending.rows == hierarchy.rows else replace(self, hierarchy=ascending)

    def clip(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers (n,) with the codes in place of what lies beyond them; NaN stays."""
        return np.clip(numbers, *self.codes)

    def rounded(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers (n,) as they are said: the nearest multiples, halves the one above; NaN stays."""
        step = self.rounding
        if step is None:
            return numbers
        # A quotient of decimals can be off in its last digits, and so can a multiple of one.
        whole = np.floor(np.round(numbers.astype(np.float64) / step, 9) + 0.5)
        nearest = whole * step if step % 1 == 0 else np.round(whole * step, 10 - int(np.floor(np.log10(step))))
        return np.asarray(nearest + 0.0)

    @property
    def codes(self) -> tuple[float, float]:
        """The bottom and the top code; infinite where there is none."""
        return -np.inf if self.bottom is None else self.bottom, np.inf if self.top is None else self.top

    def ends(self, gap: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where bands begin and end, the last at infinity. ``gap``: 1 for whole numbers, which do not touch."""
        starts = np.array(self.bands)
        return starts, np.append(starts[1:] - gap, np.inf)

    def allows(self, low: float, high: float) -> bool:
        """Return True when a released interval keeps to the cuts: it is a union of bands; or it lies between the codes,
        and is open where it holds one."""
        if self.bands:
            starts = np.array(self.bands)
            ends = np.concatenate([starts[1:], np.ceil(starts[1:]) - 1, [np.inf]])
            return bool(low in starts and high in ends)
        if self.hierarchy is not None:
            ends = self.hierarchy.numbers
            first, last = (int(np.searchsorted(ends, end)) for end in (low, high))
            if not (last < len(ends) and ends[first] == low and ends[last] == high):
                return False
            return first == last or (first, last) in self.hierarchy.word_of or (first, last) == (0, len(ends) - 1)
        if not np.array_equal(self.rounded(np.array([low, high])), [low, high]):
            return False
        least, most = self.codes
        below = low == -np.inf and self.bottom is not None
        above = high == np.inf and self.top is not None
        inside_low = np.isfinite(low) and low >= least and high > least
        inside_high = np.isfinite(high) and high <= most and low < most
        return bool((below or inside_low) and (above or inside_high))

    def notes(self, name: str, numbers: NDArray[np.float64]) -> tuple[str, ...]:
        """Return what becomes of the values (n,) of a column, in sentences."""
        if self.bands:
            text = ", ".join(f"{start:.15g}" for start in self.bands)
            return (
                f"{name!r} is said in {len(self.bands):,} public bands, which begin at {text}; the last one is open, "
                f"and every value is only said as its band.",
            )
        if self.hierarchy is not None:
            of = self.hierarchy
            values, levels = f"{len(of.values):,} values", "1 level" if of.n_levels == 1 else f"{of.n_levels} levels"
            return (f"{name!r} is said in the groups of a public hierarchy of {values} in {levels}.",)
        sentences = []
        if self.rounding is not None:
            sentences.append(f"{name!r} is rounded to multiples of {self.rounding:.15g}, halves to the one above.")
        for code, beyond, words, more in (
            (self.bottom, numbers < (self.bottom or 0.0), "below", "less"),
            (self.top, numbers > (self.top or 0.0), "above", "more"),
        ):
            if code is not None:
                count = int(beyond.sum())
                what = "1 value" if count == 1 else f"{count:,} values"
                verb = "is" if count == 1 else "are"
                sentences.append(f"{what} of {name!r} {words} {code:.15g} {verb} said as {code:.15g} or {more}.")
        return tuple(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return them, JSON-ready; empty parts are left out."""
        parts: Mapping[str, Any] = {"bands": list(self.bands) or None} | {name: getattr(self, name) for name in NUMBERS}
        if self.hierarchy is not None:
            parts = {"hierarchy": [list(row) for row in self.hierarchy.rows]}
        return {name: part for name, part in parts.items() if part is not None}

    @classmethod
    def from_value(cls, value: JsonValue) -> "Cuts":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        fields = value.fields(PARTS)
        bands = tuple(start.number() for start in fields["bands"].items(MOST_BANDS)) if "bands" in fields else ()
        codes = {name: fields[name].number() for name in NUMBERS if name in fields}
        rows = fields["hierarchy"].items(MOST_VALUES) if "hierarchy" in fields else ()
        words = tuple(tuple(word.text() for word in row.items(MOST_LEVELS + 1)) for row in rows)
        return value.build(lambda: cls(bands, **codes, hierarchy=Hierarchy(words) if "hierarchy" in fields else None))

    def but(self, **changes: Any) -> "Cuts":
        """Return other cuts: these with some changed."""
        return replace(self, **changes)


def grid_step(name: str, kind: str, step: object, origin: object = 0.0) -> tuple[float | str, float]:
    """Return the step and the origin of a public grid of a column, as they are kept. Raises :class:`SchemaError` for
    what is none."""
    if kind == "date" and step in DATE_STEPS:
        return str(step), 0.0
    if kind == "numeric" and not isinstance(step, str):
        number, start = float(cast(float, step)), float(cast(float, origin))
        if 0 < number < np.inf and np.isfinite(start):
            return number, start
    raise SchemaError(
        f"The grid of {name!r} cannot have the step {str(step)[:40]!r}.",
        column=name,
        value=step,
        remedy=f"Give a number above 0, or for dates one of {', '.join(DATE_STEPS)}.",
    )


def _refusal(problem: str, remedy: str) -> SchemaError:
    return SchemaError(problem, remedy=remedy)
