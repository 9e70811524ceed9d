"""The accuracy of a private forest at each budget, beside models that keep no secret: for public tables only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymizer.errors import ParameterError, Progress, no_progress
from anonymizer.forest.domains import CodedTable
from anonymizer.forest.forest import rehearsed_accuracy

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
        raise ParameterError("There are too few records to hold some out.", remedy="Use a larger public table.")
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
