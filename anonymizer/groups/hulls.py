"""What a hull loses: the scale on which compiled loops weigh the columns of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.encode import Encoding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Scale(NamedTuple):
    """p columns and all of their codes. A hull loses, in each column, ``weight`` times its NCP.

    ``offset`` (p,): where a column's codes begin in ``low`` and ``high``, the ends of each code as shares of the
    domain. ``n_codes`` (p,); ``by_order`` (p,): whether cuts keep the order of codes; ``interval`` (p,): whether a hull
    is a range rather than a set of levels; ``missing_code`` (p,): -1 where nothing is missing; ``missing_share`` (p,):
    what "or missing" takes of a range; ``weight`` (p,).
    """

    offset: Integers
    n_codes: Integers
    by_order: Flags
    interval: Flags
    missing_code: Integers
    missing_share: Floats
    low: Floats
    high: Floats
    weight: Floats


def scale_of(encodings: Sequence[Encoding], weight: Floats | None = None) -> Scale:
    """Return the scale of a table's columns; ``weight`` (p,): by default what their detail counts."""
    n_codes = np.array([encoding.n_codes for encoding in encodings], np.int64)
    ends = [code_ends(encoding) for encoding in encodings]
    return Scale(
        offset=np.cumsum(n_codes) - n_codes,
        n_codes=n_codes,
        by_order=np.array([encoding.by_order for encoding in encodings]),
        interval=np.array([encoding.is_interval or encoding.hierarchy is not None for encoding in encodings]),
        missing_code=np.array([len(e.labels) if e.missing else -1 for e in encodings], np.int64),
        missing_share=np.array([1 / e.n_codes if e.missing and e.hierarchy else e.missing_share for e in encodings]),
        low=np.concatenate([low for low, _ in ends]),
        high=np.concatenate([high for _, high in ends]),
        weight=np.array([encoding.importance for encoding in encodings]) if weight is None else weight,
    )


def code_ends(encoding: Encoding) -> tuple[Floats, Floats]:
    """Return the lowest and highest value of each code (b,), as shares of the domain from its lower end; where detail
    costs by ranks, too, in the middle between this and the rank.

    A column of one value, and the code for missing, have zeros: no width is read from them. Values of a public
    hierarchy stand on a line, the farther apart the more values the group has that holds two neighbours: what a hull
    loses there is less than what its group does, and more where the group is larger.
    """
    none = [0.0] * encoding.missing
    if encoding.hierarchy is not None:
        b = len(encoding.labels)
        first, last = encoding.hierarchy.cover(np.arange(b - 1), np.arange(1, b))
        line = np.append(0.0, np.cumsum(last - first + 1.0))
        ends = np.append(line / max(line[-1], 1.0), none)
        return ends, ends
    start, end = encoding.domain
    width = end - start if end > start else np.inf
    low, high = (encoding.low - start) / width, (encoding.high - start) / width
    if encoding.ranks is not None:
        low, high = (low + encoding.ranks[0]) / 2, (high + encoding.ranks[1]) / 2
    return np.append(low, none), np.append(high, none)
