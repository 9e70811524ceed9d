"""Cut points of numeric columns, bought with privacy budget where only the two ends of a column are public.

Even cuts waste branches on ranges that hold hardly anybody. A noisy histogram over fine, public, even cells tells where
the records are; cuts are then placed so that each range holds about the same number. Placing them is post-processing.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import ParameterError
from anonymizer.forest.domains import MISSING, N_BINS, Attribute, CodedTable, Domains, code
from anonymizer.forest.forest import Forest, grow_forest
from anonymizer.forest.mechanisms import Budget, Noise, SecureNoise

N_CELLS = 64
FIND = "find cut points"


def buy_cuts(
    table: pd.DataFrame, domains: Domains, budget: Budget, epsilon: float, *, bins: int = N_BINS,
    noise: Noise | None = None,
) -> Domains:  # fmt: skip
    """Return the domains with better cut points for every attribute of which only the ends are known.

    Costs ``epsilon`` of ``budget`` in all, shared equally by these columns: each is one histogram of sensitivity 1. An
    attribute whose ends were themselves read from the records keeps its mark. Nothing is spent when there are none.
    """
    if not 2 <= bins <= N_CELLS:
        raise ParameterError(f"There can be 2 to {N_CELLS} ranges, not {bins}.")
    even = [attribute for attribute in domains.attributes if attribute.bounds is not None]
    source: Noise = noise or SecureNoise()
    better = {}
    for attribute in even:
        low, high = attribute.bounds or (0.0, 1.0)
        cost = budget.spend(epsilon / len(even), f"{FIND} of {attribute.name}")
        counts = source.discrete_laplace(cell_counts(table[attribute.name], low, high), cost)
        cuts = even_shares(counts, low, high, bins)
        better[attribute.name] = Attribute.numeric(
            attribute.name, cuts, missing=MISSING in attribute.levels, public=attribute.public
        )
    return replace(domains, attributes=tuple(better.get(each.name, each) for each in domains.attributes))


def grow_private(
    table: pd.DataFrame, domains: Domains, epsilon: float, *, cut_share: float = 0.0, **growth: Any
) -> tuple[Forest, CodedTable]:
    """Return a forest of a table (n rows) that costs ``epsilon`` in all, and the table in the codes that it was grown
    on. ``cut_share``: the share of that which buys cut points first, from 0 to below 1; ``growth``: of
    :func:`anonymizer.forest.forest.grow_forest`. Raises :class:`ParameterError` for another share."""
    if not 0 <= cut_share < 1:
        raise ParameterError("The share for cut points must be from 0 to below 1.", remedy="0.1 is usual.")
    paid = Budget(epsilon)
    if cut_share:
        domains = buy_cuts(table, domains, paid, cut_share * epsilon)
    coded = code(table, domains)
    return grow_forest(coded, epsilon, budget=paid, **growth), coded


def cell_counts(values: "pd.Series[float]", low: float, high: float) -> NDArray[np.int64]:
    """Return (N_CELLS,) records in each of the even cells from ``low`` to ``high``; values beyond count at the ends."""
    numbers = pd.to_numeric(values.astype("object"), errors="coerce").to_numpy(dtype=np.float64)
    numbers = np.clip(numbers[~np.isnan(numbers)], low, high)
    cells = np.minimum((numbers - low) / (high - low) * N_CELLS, N_CELLS - 1).astype(np.int64)
    return np.bincount(cells, minlength=N_CELLS)


def even_shares(counts: NDArray[np.float64], low: float, high: float, bins: int) -> list[float]:
    """Return cut points between cells so that ranges hold about equal noisy counts: at most ``bins`` - 1, at least
    one.
    """
    positive = np.maximum(counts, 0)
    if positive.sum() == 0:
        positive = np.ones_like(positive)
    up_to = np.cumsum(positive) / positive.sum()
    places = {int(np.argmin(np.abs(up_to[:-1] - share))) + 1 for share in np.arange(1, bins) / bins}
    step = (high - low) / N_CELLS
    digits = max(0, 2 - int(np.floor(np.log10(step))))
    return sorted({round(low + step * place, digits) for place in places})
