"""The rules that a private forest publishes: from the root to every node, with class, confidence, support and cost."""

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import kept_text
from anonymizer.domains import Domains
from anonymizer.forest import MODES, Forest
from anonymizer.private_tree import walk

COLUMNS = ("tree", "node", "rule", "class", "confidence", "support", "epsilon_spent", "is_leaf")


@dataclass(frozen=True, eq=False)
class Rule:
    """If all conditions hold, then probably this class.

    ``tree``: from 1; ``node``: from 1, in preorder. ``path``: (attribute, value) codes; empty at the root. ``label``:
    the code of the likeliest class; ``confidence``: its share; ``support``: noisy number of records, which may be
    negative; ``counts`` (c,): noisy records of each class. ``spent``: ε that the rule and all those above it cost.
    ``is_leaf``: whether no longer rule continues this one (F15 calls the others subrules).
    """

    tree: int
    node: int
    path: tuple[tuple[int, int], ...]
    label: int
    confidence: float
    support: float
    counts: NDArray[np.float64]
    spent: float
    is_leaf: bool

    def conditions(self, domains: Domains) -> tuple[tuple[str, str], ...]:
        """(column, value) of each condition, in words."""
        return tuple(
            (domains.attributes[attribute].name, domains.attributes[attribute].shown(value))
            for attribute, value in self.path
        )

    def premise(self, domains: Domains) -> str:
        """The conditions as one line."""
        return " and ".join(condition_text(name, value) for name, value in self.conditions(domains)) or "always"

    def to_dict(self, domains: Domains) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "tree": self.tree,
            "node": self.node,
            "if": [{"column": name, "value": value} for name, value in self.conditions(domains)],
            "class": domains.target.shown(self.label),
            "confidence": round(self.confidence, 6),
            "support": round(self.support, 3),
            "counts": {domains.target.shown(code): round(float(n), 3) for code, n in enumerate(self.counts)},
            "epsilon_spent": self.spent,
            "is_leaf": self.is_leaf,
        }


def condition_text(name: str, value: str) -> str:
    """A condition in words: ``age < 30``, ``sex = female``."""
    return f"{name} {value}" if value.startswith(("< ", ">= ")) else f"{name} = {value}"


def rules_of(forest: Forest) -> list[Rule]:
    """Every rule and subrule, tree by tree in preorder. Nodes at which no class was counted have none."""
    found = []
    for tree, root in enumerate(forest.trees, start=1):
        for number, (node, path) in enumerate(walk(root), start=1):
            if node.counts is None or node.label is None:
                continue
            found.append(
                Rule(tree, number, path, node.label, node.confidence, node.size, node.counts, node.spent,
                     not node.children)
            )  # fmt: skip
    return found


def chosen_rules(
    rules: Iterable[Rule],
    domains: Domains,
    *,
    confidence: float = 0.0,
    support: float = -math.inf,
    label: str | None = None,
    column: str | None = None,
    leaves: bool = False,
) -> list[Rule]:
    """The rules of at least this confidence and support, for one class, with a condition on one column, leaves only."""
    return [
        rule
        for rule in rules
        if rule.confidence >= confidence
        and rule.support >= support
        and (label is None or domains.target.shown(rule.label) == label)
        and (column is None or any(name == column for name, _ in rule.conditions(domains)))
        and (rule.is_leaf or not leaves)
    ]


def rules_csv(forest: Forest, rules: Iterable[Rule]) -> str:
    """The rules as CSV. Warnings come first, as rows of their own; text that a spreadsheet would run is quoted."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for warning in forest.warnings:
        writer.writerow(["", "", f"WARNING {warning}", "", "", "", "", ""])
    for rule in rules:
        writer.writerow(
            [
                rule.tree,
                rule.node,
                kept_text(rule.premise(forest.domains)),
                kept_text(forest.domains.target.shown(rule.label)),
                f"{rule.confidence:.6f}",
                f"{rule.support:.3f}",
                f"{rule.spent:.9g}",
                "yes" if rule.is_leaf else "no",
            ]
        )
    return written.getvalue()


def rules_json(forest: Forest, rules: Iterable[Rule]) -> str:
    """The rules with everything about how they were made."""
    described = forest.to_dict() | {"rules": [rule.to_dict(forest.domains) for rule in rules]}
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def promise(forest: Forest) -> list[str]:
    """What is promised, a line each: warnings first, then the guarantee of the mode where it keeps one."""
    mode = MODES[forest.mode]
    return [f"WARNING: {warning}" for warning in forest.warnings] + [mode.guarantee] * mode.private


def rules_text(forest: Forest, rules: Iterable[Rule]) -> str:
    """The rules in plain sentences, with the guarantee, or what is wrong with it, first."""
    described = forest.to_dict()
    lines = [
        *promise(forest),
        described["neighbours"],
        f"Budget: {forest.epsilon:g}, spent: {forest.ledger.spent:g}. Mode: {forest.mode}.",
        "",
    ]
    return "\n".join([*lines, *(rule_sentence(forest, rule) for rule in rules)]) + "\n"


def rule_sentence(forest: Forest, rule: Rule) -> str:
    """One rule in one line."""
    return (
        f"[tree {rule.tree}] if {rule.premise(forest.domains)} then {forest.domains.target.name} = "
        f"{forest.domains.target.shown(rule.label)} (confidence {rule.confidence:.3f}, "
        f"support {rule.support:.1f}, ε {rule.spent:.4g})"
    )
