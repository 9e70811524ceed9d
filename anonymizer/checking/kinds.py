"""Kinds of records: those that are equal in all that is known, released and measured of them are counted once.

After generalization many records are equal in their box, and in large tables in their values as well. Whatever is added
up over records is a sum over kinds, each as often as it has records.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.candidates import Original
from anonymizer.checking.linkage import LookAlikes, classes_of


def kinds_of(
    original: Original, class_of: NDArray[np.int64], others: Sequence[NDArray[np.integer]] = (),
    columns: "Sequence[pd.Series[object]]" = (),
) -> LookAlikes:  # fmt: skip
    """Return the records of a table that have the same quasi-identifying values, are in the same class of released
    rows (n,), -1 where they are in none, and have the same kept numbers, the same code (n,) in all ``others``, and the
    same value in all ``columns``: those with public cuts, of which the original has what they say."""
    others = [*others, *(pd.factorize(column, use_na_sentinel=False)[0] for column in columns)]
    numbers = [(places, len(distinct) + 1) for distinct, places in original.numbers.values()]
    codes = [(column, int(column.max(initial=0)) + 1) for column in others]
    types = original.types
    of_class = class_of + 1, int(class_of.max(initial=0)) + 2
    return classes_of([(types.class_of, len(types.sizes)), of_class, *numbers, *codes], len(original))


def every_record(n: int) -> LookAlikes:
    """Return n records, each a kind of its own."""
    return LookAlikes(np.arange(n), np.ones(n, dtype=np.int64))
