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
from anonymizer.forest.domains import Domains
from anonymizer.forest.forest import MODES, NEIGHBOURS, Forest
from anonymizer.forest.nodes import walk

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
        return {
            "tree": self.tree,
            "node": self.node,
            "if": [{"column": name, "value": value} for name, value in self.conditions(domains)],
            "class": domains.target.text(self.label),
            "confidence": round(self.confidence, 6),
            "support": round(self.support, 3),
            "counts": {domains.target.text(code): round(float(n), 3) for code, n in enumerate(self.counts)},
            "epsilon_spent": self.spent,
            "is_leaf": self.is_leaf,
        }


def condition_text(name: str, value: str) -> str:
    """Return a condition in words: ``age < 30``, ``sex = female``."""
    return f"{name} {value}" if value.startswith(("< ", ">= ")) else f"{name} = {value}"


def rules_of(forest: Forest) -> list[Rule]:
    """Return every rule and subrule, tree by tree in preorder. Nodes at which no class was counted have none."""
    rules = []
    for tree, root in enumerate(forest.trees, start=1):
        for number, (node, path) in enumerate(walk(root), start=1):
            if node.counts is None or node.label is None:
                continue
            rules.append(
                Rule(tree, number, path, node.label, node.confidence, node.size, node.counts, node.spent,
                     not node.children)
            )  # fmt: skip
    return rules


def select_rules(
    rules: Iterable[Rule],
    domains: Domains,
    *,
    confidence: float = 0.0,
    support: float = -math.inf,
    label: str | None = None,
    column: str | None = None,
    leaves: bool = False,
) -> list[Rule]:
    """Return the rules of at least this confidence and support, of one class, with a condition on one column,
    leaves.
    """
    return [
        rule
        for rule in rules
        if rule.confidence >= confidence
        and rule.support >= support
        and (label is None or domains.target.text(rule.label) == label)
        and (column is None or any(name == column for name, _ in rule.conditions(domains)))
        and (rule.is_leaf or not leaves)
    ]


def rules_csv(forest: Forest, rules: Iterable[Rule]) -> str:
    """Return the rules as CSV. Warnings come first, as rows of their own; text that a spreadsheet would run is
    quoted.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for warning in forest.warnings:
        writer.writerow(["", "", f"WARNING {warning}", "", "", "", "", ""])
    for rule in rules:
        writer.writerow(
            [
                rule.tree,
                rule.node,
                kept_text(rule.premise(forest.domains)),
                kept_text(forest.domains.target.text(rule.label)),
                f"{rule.confidence:.6f}",
                f"{rule.support:.3f}",
                f"{rule.spent:.9g}",
                "yes" if rule.is_leaf else "no",
            ]
        )
    return text.getvalue()


def rules_json(forest: Forest, rules: Iterable[Rule]) -> str:
    """Return the rules as JSON, with everything about how they were made."""
    document = forest.to_dict() | {"rules": [rule.to_dict(forest.domains) for rule in rules]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def promise(forest: Forest) -> list[str]:
    """Return what is promised, a line each: warnings first, then the guarantee of the mode where it keeps one."""
    mode = MODES[forest.mode]
    return [f"WARNING: {warning}" for warning in forest.warnings] + [mode.guarantee] * mode.private


def rules_text(forest: Forest, rules: Iterable[Rule]) -> str:
    """Return the rules in plain sentences, with the guarantee, or what is wrong with it, first."""
    lines = [
        *promise(forest),
        NEIGHBOURS,
        f"Budget: {forest.epsilon:g}, spent: {forest.ledger.spent:g}. Mode: {forest.mode}.",
        "",
    ]
    return "\n".join([*lines, *(rule_sentence(forest, rule) for rule in rules)]) + "\n"


def rule_sentence(forest: Forest, rule: Rule) -> str:
    """Return one rule in one line."""
    return (
        f"[tree {rule.tree}] if {rule.premise(forest.domains)} then {forest.domains.target.name} = "
        f"{forest.domains.target.text(rule.label)} (confidence {rule.confidence:.3f}, "
        f"support {rule.support:.1f}, ε {rule.spent:.4g})"
    )
