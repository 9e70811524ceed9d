"""Public cuts of a column of numbers: bands, or a top and a bottom code, which a steward declares before anything is
grown; and how an open end is said.

A band goes from its first value to just below the next band's; the last is open upwards. A top code T says every value
of T and more as ``≥ T``, a bottom code B every value of B and less as ``≤ B``. Cuts are public, so none depends on the
table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import SchemaError
from anonymizer.json_value import JsonValue

MOST_BANDS = 1_000
PARTS = ("bands", "bottom", "top")


@dataclass(frozen=True)
class Cuts:
    """The public cuts of a column. ``bands``: the first value of each, ascending, two at least, () for none; ``bottom``
    and ``top``: the lowest and the highest value that is said, ``None`` for none; not beside bands.

    Raises :class:`SchemaError` for cuts that are not in order.
    """

    bands: tuple[float, ...] = ()
    bottom: float | None = None
    top: float | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "bands", tuple(float(start) for start in self.bands))
            for name in ("bottom", "top"):
                value = getattr(self, name)
                object.__setattr__(self, name, None if value is None else float(value))
        except (TypeError, ValueError) as error:
            raise _refusal("Public cuts are not all numbers.", "Write them as 0,18,65.") from error
        codes = [code for code in (self.bottom, self.top) if code is not None]
        if not np.isfinite([*self.bands, *codes]).all():
            raise _refusal("A public cut is not a finite number.", "Write cuts as 0,18,65.")
        if self.bands and (not 2 <= len(self.bands) <= MOST_BANDS or any(a >= b for a, b in pairwise(self.bands))):
            what = f"Bands need from 2 to {MOST_BANDS:,} first values, each above the one before."
            raise _refusal(what, "Write them as 0,18,65.")
        if self.bands and codes:
            raise _refusal("A column has bands or a top and a bottom code.", "Make the last band the top code.")
        if len(codes) == 2 and codes[0] >= codes[1]:
            raise _refusal("The bottom code is not below the top code.", "Write the lower number as the bottom code.")

    def __bool__(self) -> bool:
        return bool(self.bands) or self.bottom is not None or self.top is not None

    def clip(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers (n,) with the codes in place of what lies beyond them; NaN stays."""
        return np.clip(numbers, *self.codes)

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
        sentences = []
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
        parts: Mapping[str, Any] = {"bands": list(self.bands) or None, "bottom": self.bottom, "top": self.top}
        return {name: part for name, part in parts.items() if part is not None}

    @classmethod
    def from_value(cls, value: JsonValue) -> "Cuts":
        """Return the inverse of :meth:`to_dict`. Raises :class:`ReadError` with the place of what does not fit."""
        fields = value.fields(PARTS)
        bands = tuple(start.number() for start in fields["bands"].items(MOST_BANDS)) if "bands" in fields else ()
        codes = {name: fields[name].number() for name in PARTS[1:] if name in fields}
        return value.build(lambda: cls(bands, **codes))

    def but(self, **changes: Any) -> "Cuts":
        """Return other cuts: these with some changed."""
        return replace(self, **changes)


def _refusal(problem: str, remedy: str) -> SchemaError:
    return SchemaError(problem, remedy=remedy)
