"""What a record costs the others of its box: how much narrower the box would be without it.

Loss is the NCP of hulls, a mean over the columns, 0 to 1. From codes and parts alone: no sensitive value plays a part.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.hulls import Scale

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Gains:
    """n records in parts. ``loss``, ``size`` (parts,): the loss of each record of a part, and its records.

    ``saved`` (n,): what the others of the part lose less without the record, as a sum over them; where ``column`` (n,)
    is not -1, without all records of the part that have the same code in that column, divided by how many these are.
    """

    loss: Floats
    size: Numbers
    saved: Floats
    column: Numbers

    @property
    def total(self) -> float:
        """The loss of all records together, in records."""
        return float(self.loss @ self.size)


def gains_of(codes: NDArray[Any], scale: Scale, part: Numbers, n_parts: int) -> Gains:
    """Return what the records of each part would save the others.

    ``codes`` (n, p), ``part`` (n,): from 0 to ``n_parts`` - 1. Whoever alone holds an end or a level of some columns
    narrows all of these; several who hold one together are counted by the column where that saves most. What is
    beyond the next end, when both are left out, is not looked for.
    """
    n, p = codes.shape
    size = np.bincount(part, minlength=n_parts)
    loss, alone, together = np.zeros(n_parts), np.zeros(n), np.zeros(n)
    column = np.full(n, -1, np.int64)
    for j in range(p):
        b = int(scale.n_codes[j])
        keys, place, holders = np.unique(part * b + codes[:, j], return_inverse=True, return_counts=True)
        of_part, drop = _drops(scale, j, *np.divmod(keys, b), n_parts)
        loss += of_part / p
        saved = (drop / p * (size[keys // b] - holders) / holders)[place]
        single = holders[place] == 1
        alone += np.where(single, saved, 0.0)
        better = ~single & (saved > together)
        together[better], column[better] = saved[better], j
    column[alone >= together] = -1
    return Gains(loss, size, np.maximum(alone, together), column)


def _drops(scale: Scale, j: int, part: Numbers, code: Numbers, n_parts: int) -> tuple[Floats, Floats]:
    """Return the loss of each part in column j (parts,), and how much less it is without each of its codes.

    ``part``, ``code``: every code that occurs in a part, ascending by part, then code.
    """
    present = code != scale.missing_code[j]
    drop, weight = np.zeros(len(code)), scale.weight[j]
    if not scale.interval[j]:
        levels, all_levels = np.bincount(part, minlength=n_parts), scale.n_codes[j]
        loss = np.where(levels > 1, levels / all_levels, 0.0)
        fewer = np.where(levels > 2, (levels - 1) / all_levels, 0.0)
        return weight * loss, weight * (loss - fewer)[part]
    first, last = np.full(n_parts, -1), np.full(n_parts, -1)
    places = np.flatnonzero(present)
    last[part[places]] = places  # of several the last is kept, and they ascend
    first[part[places[::-1]]] = places[::-1]
    low, high = scale.low[scale.offset[j] + code], scale.high[scale.offset[j] + code]
    absent = np.zeros(n_parts, np.bool_)
    absent[part[~present]] = True
    width = np.where(first >= 0, high[last] - low[first], 0.0)
    share = np.where(absent & (first >= 0), scale.missing_share[j], 0.0)
    loss = (1 - share) * width + share
    several = first != last
    for end, step, value in ((first[several], 1, low), (last[several], -1, high)):
        drop[end] += (1 - share[part[end]]) * np.abs(value[end + step] - value[end])
    drop[~present] = (loss - width)[part[~present]]
    return weight * loss, weight * drop
