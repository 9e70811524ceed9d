"""What a record contributes to a node's sum, and what is read from the sum.

Contributions add up: the sum of a node is the sum of its children's. Everything here is arithmetic on such
sums, vectorised over nodes: arrays of shape (m, c) in, arrays of shape (m,) out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """A categorical sensitive column that guides the tree: a record contributes a one-hot class.

    ``labels``: the c classes in domain order, ``None`` for missing. ``codes`` (n,): each record's class.
    """

    name: str
    labels: tuple[str | None, ...]
    codes: NDArray[np.unsignedinteger]

    @property
    def n_classes(self) -> int:
        """Number of classes c, those without a record included."""
        return len(self.labels)


def majority_error(sums: NDArray[np.integer]) -> NDArray[np.int64]:
    """E(t), Y19 (8): records outside the node's majority class. ``sums`` (m, c) -> (m,) records."""
    return np.asarray(sums.sum(axis=-1) - sums.max(axis=-1), dtype=np.int64)


def entropy(sums: NDArray[np.integer]) -> Floats:
    """Shannon entropy of the class shares, bits per record; 0 for an empty node. ``sums`` (m, c) -> (m,)."""
    shares = class_shares(sums)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.maximum(0.0, -(shares * logs).sum(axis=-1)))


def gini(sums: NDArray[np.integer]) -> Floats:
    """Gini impurity 1 − Σ share², per record; 0 for an empty node. ``sums`` (m, c) -> (m,)."""
    shares = class_shares(sums)
    return np.asarray(np.where(sums.sum(axis=-1) > 0, 1.0 - (shares**2).sum(axis=-1), 0.0))


def class_shares(sums: NDArray[np.integer]) -> Floats:
    """Share of each class in its node; zeros for an empty node. ``sums`` (m, c) -> (m, c)."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros(sums.shape), where=totals > 0)
