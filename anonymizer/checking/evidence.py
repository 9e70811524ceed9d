"""What the privacy models look at, and what they answer."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.consistency import Consistency
from anonymizer.checking.diversity import ClassHistograms, ClassSpread
from anonymizer.checking.persons import PersonCounts
from anonymizer.schema import Schema
from anonymizer.settings import Limits


@dataclass(frozen=True)
class Check:
    """One figure of a release.

    ``required``: what was asked for, ``None`` when the figure is only reported; ``achieved``: what was found,
    ``None`` when it was not computed; ``passed``: ``None`` when nothing was asked for or nothing was computed (the
    sentence says why); ``worst``: where it is worst, by released cells or column; ``sentence``: the same in words.
    """

    name: str
    required: float | None
    achieved: float | None
    passed: bool | None
    worst: str
    sentence: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the models look at. ``required``: the limits, by name; ``class_of`` (n,): the class of each row; ``sizes``:
    rows of each class; ``histograms``: one a sensitive column; ``spreads``: one a numeric one; ``comparison``: the
    comparison with the original, when there is one; ``persons``: of whom the rows are, where that is not every row a
    person of its own and the original tells."""

    released: pd.DataFrame
    schema: Schema
    required: Limits
    class_of: NDArray[np.int64]
    sizes: NDArray[np.int64]
    histograms: tuple[ClassHistograms, ...]
    comparison: Consistency | None
    spreads: tuple[ClassSpread, ...] = ()
    persons: PersonCounts | None = None

    def where(self, group: int) -> str:
        """Return a class, by its cells."""
        return self.cells_of(int(np.argmax(self.class_of == group)))

    def cells_of(self, row: int) -> str:
        """Return the quasi-identifying cells of a released row, in words."""
        cells = self.released[list(self.schema.quasi_identifying)].iloc[row]
        return ", ".join(f"{name} {'(missing)' if pd.isna(cell) else cell}" for name, cell in cells.items())

    @property
    def smallest(self) -> int:
        """Rows in the smallest class."""
        return int(self.sizes.min())


def rows_text(count: float) -> str:
    """Return a number of rows, in words."""
    return "1 row" if count == 1 else f"{count:,.0f} rows"
