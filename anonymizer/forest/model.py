"""What a mode learns: something that predicts, and that can be written as rules. Trees do, and a scorecard does."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymizer.forest.domains import Domains
from anonymizer.forest.nodes import NoisyNode, shares_of, walk

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rule:
    """If all conditions hold, then probably this class.

    ``tree``: from 1 (in a scorecard: the column, 0 for everybody); ``node``: from 1, in preorder (in a scorecard: the
    value). ``path``: (attribute, value) codes; empty at the root. ``label``: the code of the likeliest class;
    ``confidence``: its share; ``support``: noisy number of records, which may be negative; ``counts`` (c,): noisy
    records of each class. ``spent``: ε that the rule and all those above it cost. ``is_leaf``: whether no longer rule
    continues this one (F15 calls the others subrules). ``points`` (c,): what a scorecard adds for each class.
    """

    tree: int
    node: int
    path: tuple[tuple[int, int], ...]
    label: int
    confidence: float
    support: float
    counts: Floats
    spent: float
    is_leaf: bool
    points: Floats | None = None

    def conditions(self, domains: Domains) -> tuple[tuple[str, str], ...]:
        """Return (column, value) of each condition, in words."""
        return tuple(
            (domains.attributes[attribute].name, domains.attributes[attribute].text(value))
            for attribute, value in self.path
        )

    def premise(self, domains: Domains) -> str:
        """Return the conditions as one line."""
        return " and ".join(condition_text(name, value) for name, value in self.conditions(domains)) or "always"

    def to_dict(self, domains: Domains) -> dict[str, Any]:
        """Return the rule, JSON-ready."""
        target = domains.target
        rule = {
            "tree": self.tree,
            "node": self.node,
            "if": [{"column": name, "value": value} for name, value in self.conditions(domains)],
            "class": target.text(self.label),
            "confidence": round(self.confidence, 6),
            "support": round(self.support, 3),
            "counts": {target.text(code): round(float(n), 3) for code, n in enumerate(self.counts)},
            "epsilon_spent": self.spent,
            "is_leaf": self.is_leaf,
        }
        if self.points is None:
            return rule
        return rule | {"points": {target.text(code): float(value) for code, value in enumerate(self.points)}}


def condition_text(name: str, value: str) -> str:
    """Return a condition in words: ``age < 30``, ``sex = female``."""
    return f"{name} {value}" if value.startswith(("< ", ">= ")) else f"{name} = {value}"


class Model(Protocol):
    """What the records taught, as noisy answers only. All of this is post-processing: it costs no budget."""

    @property
    def trees(self) -> tuple[NoisyNode, ...]:
        """The trees; none in a scorecard."""

    @property
    def title(self) -> str:
        """The name of what it is, in a few words."""

    @property
    def reading(self) -> str:
        """The sentence that says how the rules are to be applied."""

    def shares(self, codes: NDArray[np.integer]) -> Floats:
        """Return (n, c) how much speaks for each class, summing to 1; ``codes`` (n, p)."""

    @property
    def always(self) -> int | None:
        """The class that most speaks for whoever it is; ``None`` where people are told apart."""

    def rules(self) -> list[Rule]:
        """Return every rule that it publishes."""

    def to_dict(self) -> dict[str, Any]:
        """Return how it was made, JSON-ready, without the rules."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Noisy trees that vote. ``max_depth``: most nodes on a path; ``pruning``: the rule, where the mode prunes."""

    trees: tuple[NoisyNode, ...]
    max_depth: int
    pruning: str | None = None

    @property
    def title(self) -> str:
        """The name of what it is, in a few words."""
        return "1 tree" if len(self.trees) == 1 else f"{len(self.trees)} trees"

    @property
    def reading(self) -> str:
        """The sentence that says how the rules are to be applied."""
        return "In each tree the longest rule that holds speaks for its class with its confidence."

    def shares(self, codes: NDArray[np.integer]) -> Floats:
        """Return (n, c) how strongly the trees together vote for each class, summing to 1; ``codes`` (n, p).

        Each tree votes for the likeliest class of the record's leaf with the confidence of that class as weight
        (F15, section 3). A single tree gives the shares of its leaf.
        """
        shares = [shares_of(tree, codes) for tree in self.trees]
        if len(shares) == 1:
            return shares[0]
        votes = np.zeros_like(shares[0])
        rows = np.arange(len(codes))
        for share in shares:
            label = share.argmax(axis=1)
            votes[rows, label] += share[rows, label]
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    @property
    def always(self) -> int | None:
        """The class that most speaks for whoever it is; ``None`` where people are told apart."""
        leaves = (node for tree in self.trees for node, _ in walk(tree) if not node.children or node.attribute is None)
        labels = {int(np.argmax(node.shares)) for node in leaves if node.shares is not None}
        return labels.pop() if len(labels) == 1 else None

    def rules(self) -> list[Rule]:
        """Return every rule and subrule, tree by tree in preorder. Nodes at which no class was counted have none."""
        rules = []
        for tree, root in enumerate(self.trees, start=1):
            for number, (node, path) in enumerate(walk(root), start=1):
                if node.counts is None or node.label is None:
                    continue
                rules.append(
                    Rule(tree, number, path, node.label, node.confidence, node.size, node.counts, node.spent,
                         not node.children)
                )  # fmt: skip
        return rules

    def to_dict(self) -> dict[str, Any]:
        """Return how they were grown, JSON-ready, without the rules."""
        return {"trees": len(self.trees), "max_depth": self.max_depth, "pruning": self.pruning}
