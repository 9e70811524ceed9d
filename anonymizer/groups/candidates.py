"""The branches that could go at one step of pruning, with the figures that decide. Tags: Y19; L09."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.digression import error_digression_ratio
from anonymizer.groups.prune import Pruning, failing
from anonymizer.groups.risk import NodeRisk, error_risk_ratio
from anonymizer.growing.encode import EncodedTable
from anonymizer.settings import Limits

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The c branches that could be collapsed at a step, the one that is first; each (c,), of the groups of the moment.

    ``nodes``; ``smallest``: persons of the smallest group in the branch; ``gain`` and ``price``: what collapsing it
    gains and costs; ``ratios``. Of error-digression these are Δ(B_t) − Δ(t), e(t) − e(B_t) and q, L09 (8), price by
    gain; of all other criteria R(t) − R(B_t) bits, E(t) − E(B_t) records and ω, Y19 (10), gain by price.
    """

    nodes: NDArray[np.int64]
    smallest: NDArray[np.int64]
    gain: Floats
    price: Floats
    ratios: Floats


def candidates(pruning: Pruning, risk: NodeRisk, encoded: EncodedTable, limits: Limits, step: int) -> Candidates:
    """Return the branches that step ``step`` (from 1) chose among, in the order in which they would have gone.

    By the criteria of the papers: each branch with a group that fails, or whose own test is significant. By ``least``
    and ``regions``: each that is to go, the fewest records first. ``limits``: those that the pruning kept.
    """
    from anonymizer.groups.prune_kernels import ten_digits

    tree, by_digression = pruning.tree, pruning.criterion == "error-digression"
    cut = pruning.cut(step - 1)
    inner = np.flatnonzero(pruning.group_of_node(step - 1) < 0)
    bounds = np.searchsorted(cut, np.stack([inner, inner + tree.size[inner]], axis=1)).ravel()

    def over(combine: np.ufunc, values: NDArray[np.generic]) -> Floats:
        """Combine the values of the groups of each branch."""
        return np.asarray(combine.reduceat(np.append(values[cut], values[cut[-1]]), bounds)[::2], dtype=np.float64)

    def at_digits(values: Floats) -> Floats:
        """Return values as pruning compares them."""
        return np.array([ten_digits.py_func(value) for value in values])

    if pruning.criterion in ("error-risk", "error-digression"):
        fails, offends = failing(tree, risk, pruning.criterion, limits, encoded)
        could = (over(np.add, fails.astype(np.int64)) > 0) | offends[inner]
    else:
        could = np.isin(inner, pruning.steps[step - 1 :])
    if by_digression:
        assert risk.numeric is not None
        gain = np.maximum(over(np.add, risk.numeric.digression) - risk.numeric.digression[inner], 0)
        price = np.maximum(risk.numeric.sse[inner] - over(np.add, risk.numeric.sse), 0)
        ratios, keys = error_digression_ratio(price, gain), (np.zeros(len(inner)),)
    else:
        gain = risk.tidi[inner] - over(np.minimum, risk.tidi)
        price = risk.error[inner] - over(np.add, risk.error)
        ratios = error_risk_ratio(gain, price.astype(np.int64))
        keys = (-at_digits(gain),)
    sign = 1 if by_digression else -1
    order = np.lexsort((inner, *keys, sign * at_digits(ratios), (inner == 0) & (not by_digression)))
    if pruning.criterion not in ("error-risk", "error-digression"):
        order = np.lexsort((inner, tree.n[inner]))
    order = order[could[order]]
    least = over(np.minimum, tree.persons.n).astype(np.int64)
    return Candidates(inner[order], least[order], gain[order], price[order], ratios[order])
