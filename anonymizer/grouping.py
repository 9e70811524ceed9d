"""From a few parameters to a tree and its groups: the one place that says which parameters matter to which grouping.

A grouping either takes back splits of a grown tree (:data:`anonymizer.prune.CRITERIA`) or is one of the baselines,
whose trees depend on k and whose leaves are the groups (:data:`anonymizer.mondrian.MONDRIAN`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anonymizer.encode import EncodedTable
from anonymizer.errors import ParameterError
from anonymizer.grow import grow
from anonymizer.limits import Limits
from anonymizer.mondrian import MONDRIAN, grow_mondrian
from anonymizer.prune import CRITERIA, Pruning, prune
from anonymizer.risk import NodeRisk
from anonymizer.tree import Tree

GROUPINGS = (*CRITERIA, *MONDRIAN)
"""Every way to make groups, by name."""


@dataclass(frozen=True)
class Recipe:
    """How a tree comes to be. Two equal recipes give the same tree of the same table.

    ``criterion``: of splits, ``None`` for what suits the target (and for median Mondrian, which has none);
    ``min_leaf``: fewest records of a leaf; ``weight``: of the target in a blend, ``None`` in any other tree;
    ``mondrian``: the baseline that grows it, empty for a tree that is grown to be pruned.
    """

    criterion: str | None
    min_leaf: int
    max_depth: int | None = None
    weight: float | None = None
    mondrian: str = ""


def recipe_of(
    grouping: str,
    k: int,
    *,
    criterion: str | None = None,
    min_leaf: int = 2,
    max_depth: int | None = None,
    weight: float = 0.5,
) -> Recipe:
    """The recipe that parameters amount to; those that do not matter to this grouping leave no trace.

    A blended tree is grown to its end, so its leaves have at least k records; so have the baselines, to which
    ``criterion``, ``min_leaf``, ``max_depth`` and ``weight`` mean nothing. Raises :class:`ParameterError` for an
    unknown grouping.
    """
    if grouping not in CRITERIA and grouping not in MONDRIAN:  # as they are now: an extension may have added to them
        known = ", ".join((*CRITERIA, *MONDRIAN))
        raise ParameterError(f"There is no grouping {grouping!r}.", value=grouping, remedy=f"Choose one of {known}.")
    if grouping in MONDRIAN:
        return Recipe(MONDRIAN[grouping], k, mondrian=grouping)
    if criterion == "blend":
        return Recipe(criterion, max(min_leaf, k), max_depth, weight)
    return Recipe(criterion, min_leaf, max_depth)


def natural_criterion(encoded: EncodedTable) -> str:
    """How to grow when nothing is said: squared error for a numeric target, entropy for any other."""
    return "sse" if encoded.by_numbers else "entropy"


def settled(recipe: Recipe, encoded: EncodedTable) -> Recipe:
    """The recipe with its criterion named."""
    if recipe.mondrian or recipe.criterion is not None:
        return recipe
    return replace(recipe, criterion=natural_criterion(encoded))


def grow_by(recipe: Recipe, encoded: EncodedTable) -> Tree:
    """The tree of a recipe. Raises :class:`ParameterError` when the recipe does not fit the target."""
    if recipe.mondrian:
        return grow_mondrian(encoded, recipe.min_leaf, recipe.mondrian)
    recipe = settled(recipe, encoded)
    weight = 0.5 if recipe.weight is None else recipe.weight
    return grow(encoded, recipe.criterion or "", recipe.min_leaf, recipe.max_depth, weight=weight)


def group(tree: Tree, risk: NodeRisk, encoded: EncodedTable, grouping: str, limits: Limits) -> Pruning:
    """The groups of a tree that :func:`grow_by` has grown: splits are taken back until every limit holds.

    A tree of the baselines is pruned by ``least``: with k alone nothing is taken back.
    """
    return prune(tree, risk, "least" if grouping in MONDRIAN else grouping, limits=limits, encoded=encoded)


def recorded(parameters: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """The parameters as a report keeps them: the criterion as used, ``None`` for what did not matter."""
    used: dict[str, Any] = {"criterion": recipe.criterion, "weight": recipe.weight}
    if recipe.mondrian:
        used = dict.fromkeys(("criterion", "min_leaf", "max_depth", "weight"))
    return {**parameters, **used}
