"""How often the target of the people in a release is guessed right, beside others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.attacks.guidance import is_guided
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.growing.tree import Tree
from anonymizer.measuring.members import Members, class_shares, has_classes, seed_for
from anonymizer.releasing.generalize import divide
from anonymizer.settings import OF_POPULATION


@dataclass(frozen=True, eq=False)
class OneGroup:
    """A pruned tree that divides nobody."""

    tree: Tree

    def group_of_node(self, after: int | None = None) -> NDArray[np.int64]:
        """Return the root for every node."""
        return np.zeros(self.tree.n_nodes, np.int64)


def members(flow: Flow) -> Members | None:
    """Return how often the target of members is guessed right, beside others; ``None`` where it has no classes, or
    records were left out. Who is held out follows from the content of the table."""
    if not has_classes(flow.encoded) or flow.left_out:
        return None
    classes = np.asarray(flow.encoded.target.codes, np.int64)
    inside = class_shares(classes, flow.class_of, flow.encoded.target.n_classes).max(axis=1)
    sizes = np.bincount(flow.class_of)
    return Members(
        float((inside * sizes).sum() / sizes.sum()),
        blind_share(flow, classes) if is_guided(flow.schema, flow.settings, len(classes)) else None,
        flow.held_out,
        float(np.bincount(classes).max() / len(classes)),
    )


def blind_share(flow: Flow, classes: NDArray[np.int64]) -> float | None:
    """Return the share that is guessed right in packed groups of the whole table, which no tree divides first."""
    limits, rng = flow.limits.but(**dict.fromkeys(OF_POPULATION)), np.random.default_rng(seed_for(flow.table))
    try:
        parts = divide(
            flow.coarse, OneGroup(flow.tree), "pack", flow.settings.k, limits=limits, leaf=flow.leaf, rng=rng
        )
    except AnonymizerError:
        return None
    counts = class_shares(classes, parts.part, flow.encoded.target.n_classes).max(axis=1)
    sizes = np.bincount(parts.part, minlength=parts.n_parts)
    return float((counts * sizes).sum() / sizes.sum())
