"""The accuracy of a private forest at each budget, beside models that keep no secret: for public tables only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.forest.domains import CodedTable
from anonymizer.forest.forest import grow_forest, rehearsed_accuracy
from anonymizer.forest.mechanisms import Ledger, RehearsalNoise

BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class AccuracyCurve:
    """Cross-validated accuracy of each mode at each budget, and of what the forest is measured by.

    ``modes``: (mode, accuracies at ``budgets``). ``tree``, ``random_forest``: not private. ``majority``: always the
    most frequent class.
    """

    budgets: tuple[float, ...]
    modes: tuple[tuple[str, tuple[float, ...]], ...]
    tree: float
    random_forest: float
    majority: float
    folds: int
    records: int


def accuracy_curve(
    table: CodedTable,
    modes: Sequence[str],
    *,
    budgets: Sequence[float] = BUDGETS,
    folds: int = 3,
    n_trees: int = 1,
    max_depth: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> AccuracyCurve:
    """Return the accuracy of every mode at every budget. **Nothing here is private**: the table must be public.

    Raises :class:`ParameterError` for a table that cannot be divided into ``folds``.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    if table.n_records < 2 * folds:
        raise ParameterError("There are too few rows to hold some out.", remedy="Use a larger public table.")
    say = progress or no_progress
    curves = []
    for place, mode in enumerate(modes):
        scores = []
        for step, beta in enumerate(budgets):
            say((place + step / len(budgets)) / (len(modes) + 1), f"Rehearsing {mode} at β = {beta:g}")
            trees = min(n_trees, len(table.domains.attributes))
            accuracy = rehearsed_accuracy(
                table, beta, folds=folds, seed=seed, mode=mode, n_trees=trees, max_depth=max_depth
            )
            scores.append(float(accuracy.mean()))
        curves.append((mode, tuple(scores)))
    say(len(modes) / (len(modes) + 1), "Growing a tree and a forest without privacy")
    indicators = OneHotEncoder(dtype=np.float32).fit_transform(table.codes)
    split = KFold(folds, shuffle=True, random_state=seed)
    open_models = (
        DecisionTreeClassifier(random_state=seed),
        RandomForestClassifier(30, random_state=seed),
    )
    tree, forest = (float(cross_val_score(model, indicators, table.classes, cv=split).mean()) for model in open_models)
    majority = float(np.bincount(table.classes).max() / table.n_records)
    say(1.0, "Done")
    return AccuracyCurve(tuple(budgets), tuple(curves), tree, forest, majority, folds, table.n_records)


RIVALS = (("strict", 1), ("paper", 1), ("paper", 4), ("diffpid3", 1), ("diffpid3-weighted", 1))
"""Modes with their number of trees: ours, F15's with one tree and with four, and the older one in both readings."""


@dataclass(frozen=True)
class Rival:
    """One mode at a budget, on a public table. ``ledger``: of one forest from all records; ``accuracy``: under
    cross-validation, 0 to 1. ``least`` and ``most``: ε of the cheapest and the dearest query on its dearest path."""

    mode: str
    n_trees: int
    ledger: Ledger
    accuracy: float

    @property
    def least(self) -> float:
        """ε of the cheapest query on the dearest path."""
        return min(step[3] for step in self.ledger.dearest)

    @property
    def most(self) -> float:
        """ε of the dearest query on that path."""
        return max(step[3] for step in self.ledger.dearest)


def rivals(
    table: CodedTable, epsilon: float, *, max_depth: int = 5, folds: int = 3, seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Rival, ...]:  # fmt: skip
    """Return where the budget goes in each of :data:`RIVALS`, and how accurate that is. **Nothing here is private**:
    the table must be public. A number of trees that the table has no attributes for is left out."""
    say = progress or no_progress
    fitting = [(mode, n_trees) for mode, n_trees in RIVALS if n_trees <= len(table.domains.attributes)]
    answers = []
    for place, (mode, n_trees) in enumerate(fitting):
        say(place / len(fitting), f"{mode}, {n_trees} {'tree' if n_trees == 1 else 'trees'}")
        how: dict[str, Any] = {"mode": mode, "n_trees": n_trees, "max_depth": max_depth}
        forest = grow_forest(table, epsilon, noise=RehearsalNoise(np.random.default_rng(seed)), **how)
        accuracy = float(rehearsed_accuracy(table, epsilon, folds=folds, seed=seed, **how).mean())
        answers.append(Rival(mode, n_trees, forest.ledger, accuracy))
    return tuple(answers)
