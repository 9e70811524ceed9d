"""What a guess at the target owes to the groups: of the people in a release, of people held out, and in blind groups.

Groups that are made with an eye on the target put people of one value together, so the likeliest value of a person's
look-alikes is right more often than it would be for anybody else. How much of that comes from the grouping is what two
other figures tell: the same guess in groups of the same k that are made without a look at the target, and at people who
were held out while groups were made of the others.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.releasing.generalize import divide
from anonymizer.settings import OF_POPULATION
from anonymizer.values import content_digest, share

if TYPE_CHECKING:
    from anonymizer.flow import Flow

HELD_OUT = 0.2
"""Share of the persons who are held out."""
MOST = 20_000
"""Records of a larger table among which people are held out, as groups are made once more for it."""

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Members:
    """Shares of people for whom the likeliest value of the target is theirs, 0 to 1, missing a value: of their
    look-alikes in the release, ``inside``; in ``blind`` groups of the same k; of look-alikes of the leaf that people
    who were held out reach, ``outside``; ``majority``: of the whole table. ``None`` where groups cannot be made."""

    inside: float
    blind: float | None
    outside: float | None
    majority: float

    @property
    def sentence(self) -> str:
        """The same in words, with what comes from the grouping."""
        text = f"By the likeliest value in their group {share(self.inside)} of the people in it are guessed right"
        if self.outside is not None:
            text += f", {share(self.outside)} of people who were held out while groups were made of the others"
        if self.blind is not None:
            text += f", {share(self.blind)} in groups of the same k that are made without a look at the target"
        text += f"; {share(self.majority)} by the likeliest value of the table."
        points = 0.0 if self.blind is None else round(100 * (self.inside - self.blind))
        if points >= 1:
            text += f" {points:,.0f} {'point comes' if points == 1 else 'points come'} from the grouping."
        return text


@dataclass(frozen=True, eq=False)
class OneGroup:
    """A pruned tree that divides nobody."""

    tree: Tree

    def group_of_node(self, after: int | None = None) -> NDArray[np.int64]:
        """Return the root for every node."""
        return np.zeros(self.tree.n_nodes, np.int64)


def hold_out(flow: "Flow", seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that releases are made from, and those of the persons who are held out."""
    n, person = flow.encoded.n_records, flow.encoded.person
    owner = np.arange(n) if person is None else np.where(person < 0, np.arange(n) + n, person)
    persons = np.unique(owner)
    rng = np.random.default_rng(seed)
    outside = rng.permutation(persons)[: int(len(persons) * HELD_OUT)]
    if not len(outside):
        raise ParameterError("There are too few rows to hold some out.", remedy="Use a larger table.")
    is_out = np.isin(owner, outside)
    return np.flatnonzero(~is_out), np.flatnonzero(is_out)


def class_shares(classes: NDArray[np.int64], group: NDArray[np.int64], n_classes: int) -> Shares:
    """Return the share of each class of the target in each group (groups, c). ``classes``, ``group`` (n,)."""
    counts = np.zeros((int(group.max()) + 1, n_classes))
    np.add.at(counts, (group, classes), 1)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def members(flow: "Flow") -> Members | None:
    """Return how often the target of members is guessed right, beside others; ``None`` where it has no classes, or
    records were left out. Who is held out follows from the content of the table."""
    target, n_classes = flow.encoded.target, flow.encoded.target.n_classes
    if not target.name or n_classes < 2 or flow.encoded.by_numbers or flow.left_out:
        return None
    classes = np.asarray(target.codes, np.int64)
    seed = int(content_digest(flow.table)[:15], 16)
    inside = class_shares(classes, flow.class_of, n_classes).max(axis=1)
    sizes = np.bincount(flow.class_of)
    return Members(
        float((inside * sizes).sum() / sizes.sum()),
        blind_share(flow, classes, seed),
        flow.held_out,
        float(np.bincount(classes).max() / len(classes)),
    )


def blind_share(flow: "Flow", classes: NDArray[np.int64], seed: int) -> float | None:
    """Return the share that is guessed right in packed groups of the whole table, which no tree divides first."""
    limits, rng = flow.limits.but(**dict.fromkeys(OF_POPULATION)), np.random.default_rng(seed)
    try:
        parts = divide(
            flow.coarse, OneGroup(flow.tree), "pack", flow.settings.k, limits=limits, leaf=flow.leaf, rng=rng
        )
    except AnonymizerError:
        return None
    counts = class_shares(classes, parts.part, flow.encoded.target.n_classes).max(axis=1)
    sizes = np.bincount(parts.part, minlength=parts.n_parts)
    return float((counts * sizes).sum() / sizes.sum())


def outside_share(flow: "Flow") -> float | None:
    """Return the share that is guessed right of people who are held out, by the look-alikes of the leaf they reach;
    ``None`` without classes. Of a large table, whose rows are persons, :data:`MOST` records are looked at."""
    if not flow.encoded.target.name or flow.encoded.target.n_classes < 2 or flow.encoded.by_numbers or flow.left_out:
        return None
    seed = int(content_digest(flow.table)[:15], 16)
    n = flow.encoded.n_records
    if n > MOST and flow.encoded.person is None:
        flow = flow.rows(np.sort(np.random.default_rng(seed).permutation(n)[:MOST]))
    try:
        stay, others = hold_out(flow, seed)
        train = flow.rows(stay).but(**dict.fromkeys(OF_POPULATION))
        train.rng = np.random.default_rng(seed)
        judge, n_classes = flow.rows(others).encoded, flow.encoded.target.n_classes
        if not train.pruning.satisfied:
            return None
        own = class_shares(np.asarray(train.encoded.target.codes, np.int64), train.class_of, n_classes)[train.class_of]
    except AnonymizerError:
        return None
    of_leaf = np.zeros((train.tree.n_nodes, n_classes))
    np.add.at(of_leaf, train.leaf, own)
    return float((of_leaf[descend(train.tree, judge)].argmax(axis=1) == judge.target.codes).mean())
