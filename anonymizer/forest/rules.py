"""The rules that a private forest publishes: from the root to every node, with class, confidence, support and cost."""

import csv
import io
import json
import math
from collections.abc import Iterable

from anonymizer.cells import kept_text
from anonymizer.forest.domains import Domains
from anonymizer.forest.forest import MODES, NEIGHBOURS, Forest
from anonymizer.forest.model import Rule

COLUMNS = ("tree", "node", "rule", "class", "confidence", "support", "epsilon_spent", "is_leaf")


def rules_of(forest: Forest) -> list[Rule]:
    """Return every rule that a forest publishes: of trees subrules too, in preorder; of a scorecard one a value."""
    return forest.model.rules()


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
    """Return the rules as CSV. Warnings come first, as rows of their own; text that a spreadsheet would run is quoted.

    A scorecard has a column of points for each class.
    """
    text, domains = io.StringIO(), forest.domains
    classes = [] if forest.trees else [domains.target.text(code) for code in range(domains.target.n_levels)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *(kept_text(f"points for {name}") for name in classes)])
    for warning in forest.warnings:
        writer.writerow(["", "", f"WARNING {warning}", *[""] * (len(COLUMNS) + len(classes) - 3)])
    for rule in rules:
        writer.writerow(
            [
                rule.tree,
                rule.node,
                kept_text(rule.premise(domains)),
                kept_text(domains.target.text(rule.label)),
                f"{rule.confidence:.6f}",
                f"{rule.support:.3f}",
                f"{rule.spent:.9g}",
                "yes" if rule.is_leaf else "no",
                *([] if rule.points is None else map(repr, rule.points.tolist())),
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
        f"Budget: {forest.epsilon:g}, spent: {forest.ledger.spent:g}. Mode: {forest.mode}, {forest.model.title}.",
        forest.model.reading,
        "",
    ]
    return "\n".join([*lines, *(rule_sentence(forest, rule) for rule in rules)]) + "\n"


def rule_sentence(forest: Forest, rule: Rule) -> str:
    """Return one rule in one line."""
    target, premise = forest.domains.target, rule.premise(forest.domains)
    basis = f"support {rule.support:.1f}, ε {rule.spent:.4g}"
    if rule.points is not None:
        points = ", ".join(f"{value:+.3f} for {target.text(code)}" for code, value in enumerate(rule.points))
        return f"[column {rule.tree}] if {premise} then {target.name}: {points} ({basis})"
    return (
        f"[tree {rule.tree}] if {premise} then {target.name} = {target.text(rule.label)} "
        f"(confidence {rule.confidence:.3f}, {basis})"
    )
