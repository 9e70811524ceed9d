"""What a guess at the target owes to the groups: of the people in a release, of people held out, and in blind groups.

Groups that are made with an eye on the target put people of one value together, so the likeliest value of a person's
look-alikes is right more often than it would be for anybody else. How much of that comes from the grouping is what two
other figures tell: the same guess in groups of the same k that are made without a look at the target, and at people who
were held out while groups were made of the others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.settings import OF_POPULATION
from anonymizer.values import content_digest, share

HELD_OUT = 0.2
"""Share of the persons who are held out."""
MOST = 20_000
"""Records of a larger table among which people are held out, as groups are made once more for it."""

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Members:
    """Shares of people for whom the likeliest value of the target is theirs, 0 to 1, missing a value: of their
    look-alikes in the release, ``inside``; in ``blind`` groups of the same k; of look-alikes of the leaf that people
    who were held out reach, ``outside``; ``majority``: of the whole table. ``None`` where groups cannot be made, and of
    ``blind`` where the release's own groups are made without a look at the target."""

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


def hold_out(encoded: EncodedTable, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that releases are made from, and those of the persons who are held out."""
    owner = owners_of(encoded)
    persons = np.unique(owner)
    rng = np.random.default_rng(seed)
    outside = rng.permutation(persons)[: int(len(persons) * HELD_OUT)]
    if not len(outside):
        raise ParameterError("There are too few rows to hold some out.", remedy="Use a larger table.")
    is_out = np.isin(owner, outside)
    return np.flatnonzero(~is_out), np.flatnonzero(is_out)


def owners_of(encoded: EncodedTable) -> NDArray[np.int64]:
    """Return a number of whose each record is (n,): nobody's rows are a person's each."""
    rows, person = np.arange(encoded.n_records), encoded.person
    return rows if person is None else np.where(person < 0, rows + len(rows), person)


def class_shares(classes: NDArray[np.int64], group: NDArray[np.int64], n_classes: int) -> Shares:
    """Return the share of each class of the target in each group (groups, c). ``classes``, ``group`` (n,)."""
    counts = np.zeros((int(group.max()) + 1, n_classes))
    np.add.at(counts, (group, classes), 1)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def has_classes(encoded: EncodedTable) -> bool:
    """Return True where the target is one of several classes."""
    return bool(encoded.target.name) and encoded.target.n_classes > 1 and not encoded.by_numbers


def seed_for(table: pd.DataFrame) -> int:
    """Return what decides who is held out: it follows from the content of the table."""
    return int(content_digest(table)[:15], 16)


def few_rows(encoded: EncodedTable, seed: int) -> NDArray[np.int64]:
    """Return the rows among which some are held out: all, or :data:`MOST` of a larger table whose rows are persons."""
    n = encoded.n_records
    if n <= MOST or encoded.person is not None:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).permutation(n)[:MOST])


def outside_share(
    train: EncodedTable, class_of: NDArray[np.int64], tree: Tree, leaf: NDArray[np.int32], judge: EncodedTable
) -> float:
    """Return the share that is guessed right of people who are held out, by the look-alikes of the leaf they reach.
    ``class_of``, ``leaf`` (n,): of the others, who ``train``; ``judge``: the people held out, in the same codes."""
    n_classes = judge.target.n_classes
    own = class_shares(np.asarray(train.target.codes, np.int64), class_of, n_classes)[class_of]
    of_leaf = np.zeros((tree.n_nodes, n_classes))
    np.add.at(of_leaf, leaf, own)
    return float((of_leaf[descend(tree, judge)].argmax(axis=1) == judge.target.codes).mean())


def share_held_out(flow: Any) -> float | None:
    """Return the share of people, held out while the groups of a flow are made of the others, whose target is guessed
    right; ``None`` without classes, and where no groups can be made. ``flow``: an :class:`anonymizer.flow.Flow`."""
    if not has_classes(flow.encoded):
        return None
    seed = seed_for(flow.table)
    rows = few_rows(flow.encoded, seed)
    some = flow if len(rows) == len(flow.table) else flow.rows(rows)
    try:
        stay, others = hold_out(some.encoded, seed)
        train, judge = some.rows(stay).but(**dict.fromkeys(OF_POPULATION)), some.rows(others).encoded
        train.rng = np.random.default_rng(seed)
        if not train.pruning.satisfied:
            return None
        return outside_share(train.encoded, train.class_of, train.tree, train.leaf, judge)
    except AnonymizerError:
        return None
