"""What every released group must satisfy: its size, and how much it may tell about each sensitive column.

A limit is judged on a node's sums alone, so it is known for every node of a tree at once, before anything is pruned.
k and distinct l hold in a union when they hold in its parts; the others need not, so the largest pruning that
satisfies them is sought from the top: a split is kept when both of its sides pass.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.encode import EncodedTable
from anonymizer.errors import ParameterError
from anonymizer.risk import NodeRisk
from anonymizer.target import class_shares
from anonymizer.tree import Tree

TESTS = ("inner", "leaves")
"""Where ``significance`` is tested: on the nodes that could be pruned (the papers) or on the groups themselves."""


@dataclass(frozen=True)
class Limits:
    """Required of every group; ``None`` is off.

    ``k``: records. ``l``: different values, and ``entropy_l``: effective number of values, exp(entropy), of every
    categorical sensitive column. ``t``:
    greatest distance of their distribution from the whole table's (0 to 1). ``rsd_min``, ``spread_min``: the value-
    disclosure limit on every numeric sensitive column: least RSD, and least standard deviation as a share of the
    file's (0 to 1). ``significance``: α of the covariance test, where ``tested`` says; on "inner" nodes it steers
    pruning and promises nothing about groups.
    """

    k: int = 10
    l: float | None = None  # noqa: E741 - the field's name
    entropy_l: float | None = None
    t: float | None = None
    rsd_min: float | None = None
    spread_min: float | None = None
    significance: float | None = None
    tested: str = "inner"

    def __post_init__(self) -> None:
        shares = (self.t, self.rsd_min, self.spread_min, self.significance)
        if self.k < 1:
            raise ParameterError(f"k must be at least 1, not {self.k}.", remedy="Choose how many must look alike.")
        if any(share is not None and not 0 <= share <= 1 for share in shares) or any(
            count is not None and not count >= 1 for count in (self.l, self.entropy_l)
        ):
            raise ParameterError(
                "t, rsd_min, spread_min and significance are shares from 0 to 1, l and entropy_l at least 1.",
                remedy="Correct the number.",
            )
        if self.tested not in TESTS:
            raise ParameterError(f"significance is tested on {' or '.join(TESTS)}, not {self.tested!r}.")

    @property
    def required(self) -> dict[str, Any]:
        """What the checker requires of the release, by name; the covariance test is a rule of pruning only."""
        return {name: getattr(self, name) for name in ("k", "l", "entropy_l", "t", "rsd_min", "spread_min")}


@dataclass(frozen=True, eq=False)
class Margin:
    """One limit on every node (m,): ``achieved`` and what is ``required``; ``least``: whether more is better."""

    limit: str
    column: str
    required: float
    achieved: NDArray[np.float64]
    least: bool

    @property
    def passes(self) -> NDArray[np.bool_]:
        """(m,) whether the node, released as a group, satisfies the limit."""
        slack = 1e-9 * max(1.0, abs(self.required))
        if self.least:
            return np.asarray(self.achieved >= self.required - slack)
        return np.asarray(self.achieved <= self.required + slack)

    def shortfall(self, node: int) -> str:
        """How far off a node is, in words."""
        achieved = float(self.achieved[node])
        about = f" of {self.column}" if self.column else ""
        bound = "at least" if self.least else "at most"
        return f"{self.limit}{about} is {achieved:.4g}, and {bound} {self.required:.4g} is required"


def margins(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> tuple[Margin, ...]:
    """Every limit that is on, judged on every node."""
    found = [Margin("group size", "", limits.k, tree.n.astype(np.float64), True)]
    classes = [(encoded.target, tree.sums), *zip(encoded.others, tree.others, strict=True)]
    for target, sums in classes:
        if not target.name:
            continue
        shares = class_shares(sums[:, sums[0] > 0])
        if limits.l is not None:
            found.append(
                Margin("l-diversity", target.name, limits.l, (shares > 0).sum(axis=1).astype(np.float64), True)
            )
        if limits.entropy_l is not None:
            logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
            found.append(Margin("entropy l", target.name, limits.entropy_l, np.exp(-(shares * logs).sum(axis=1)), True))
        if limits.t is not None:
            found.append(Margin("t-closeness", target.name, limits.t, distances(shares, target.ordered), False))
    if risk.numeric is not None:
        for position, name in enumerate(risk.numeric.names):
            if limits.rsd_min is not None:
                found.append(Margin("RSD", name, limits.rsd_min, risk.numeric.rsd[:, position], True))
            if limits.spread_min is not None:
                found.append(Margin("spread", name, limits.spread_min, risk.numeric.spread[:, position], True))
        if limits.significance is not None and limits.tested == "leaves":
            p_value = np.where(np.isnan(risk.numeric.p_value), 1.0, risk.numeric.p_value)
            found.append(Margin("p-value of the covariance", "", limits.significance, p_value, True))
    return tuple(found)


def distances(shares: NDArray[np.float64], ordered: bool) -> NDArray[np.float64]:
    """Earth mover's distance of each node's class shares (m, c) from the root's -> (m,), 0 to 1.

    Li, Li and Venkatasubramanian 2007: between ranks for ordered classes, all equally far apart otherwise.
    """
    moved = shares - shares[0]
    if ordered and shares.shape[1] > 1:
        return np.asarray(np.abs(np.cumsum(moved, axis=1)).sum(axis=1) / (shares.shape[1] - 1))
    return np.asarray(np.abs(moved).sum(axis=1) / 2)
