"""What is released unchanged, whatever its role: the rows that it finds, with the box and without."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import LookAlikes, classes_of, look_alikes
from anonymizer.schema import UNCHANGED, Role, Schema


@dataclass(frozen=True)
class Unchanged:
    """Rows that somebody finds who knows some unchanged ``columns`` of a person: by these ``alone``, and ``beside`` the
    box. A row is found where nobody else has a row like it."""

    columns: tuple[str, ...]
    alone: int
    beside: int


def unchanged_columns(
    released: pd.DataFrame,
    schema: Schema,
    class_of: NDArray[np.int64],
    of_row: NDArray[np.int64] | None = None,
    counts: NDArray[np.int64] | None = None,
) -> tuple[Unchanged, ...]:
    """Return what each column finds that is released unchanged, then the insensitive ones together, then all of them.

    ``class_of`` (n,): the box of each row; ``of_row`` (n,): whose it is, -1 for nobody's, where that is known;
    ``counts`` (n,): how many rows each stands for, where equal rows were put together.
    """
    names = [c.name for c in schema.columns if c.role in UNCHANGED and c.name in released.columns]
    insensitive = [name for name in names if schema[name].role is Role.INSENSITIVE]
    n, codes = len(released), {name: look_alikes(released, [name]) for name in names}
    person = np.arange(n) if of_row is None else np.where(of_row < 0, np.arange(n) + of_row.max(initial=0) + 1, of_row)
    nobody = np.ones(n, np.bool_) if of_row is None else of_row < 0
    rows = np.ones(n, np.int64) if counts is None else counts
    several = (rows > 1) & nobody

    def find(some: list[str]) -> Unchanged:
        keys = [(codes[name].class_of, len(codes[name].sizes)) for name in some]
        alike = codes[some[0]] if len(some) == 1 else classes_of(keys, n)
        both = classes_of([(class_of, int(class_of.max()) + 1), (alike.class_of, len(alike.sizes))], n)
        alone, beside = (int(rows[_are_one_persons(classes, person, several)].sum()) for classes in (alike, both))
        return Unchanged(tuple(some), alone, beside)

    sets = [[name] for name in names]
    sets += [some for some in (insensitive, names) if some and some not in sets]
    once = {tuple(some): None for some in sets}
    return tuple(find(list(some)) for some in once)


def _are_one_persons(classes: LookAlikes, person: NDArray[Any], several: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows (n,) are in a class that is one person's. ``several`` (n,): which stand for several persons."""
    other = several | (person != person[classes.first][classes.class_of])
    shared = np.zeros(len(classes.sizes), np.bool_)
    shared[classes.class_of[other]] = True
    return ~shared[classes.class_of]
