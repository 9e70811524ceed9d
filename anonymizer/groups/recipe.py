"""From a few parameters to a tree and its groups: the one place that says which parameters matter to which grouping.

A grouping either takes back splits of a grown tree (:data:`anonymizer.groups.prune.CRITERIA`) or is one of the
baselines, whose trees depend on k and whose leaves are the groups (:data:`anonymizer.groups.mondrian.MONDRIAN`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymizer.groups.detail import DETAIL, MOST, Order, grow_detail
from anonymizer.groups.mondrian import MONDRIAN, grow_mondrian
from anonymizer.groups.prune import CRITERIA, Pruning, prune
from anonymizer.groups.risk import NodeRisk
from anonymizer.groups.secret import Secret
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.grow import grow_with_leaves
from anonymizer.growing.people import with_people
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.schema import Kind, Schema
from anonymizer.settings import RUN, Limits, Settings, name_of, offer, setting_names


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


class Grown(NamedTuple):
    """A tree, the leaf of it that each record reaches (n,), and, of a tree of detail, the records along its line."""

    tree: Tree
    leaf: NDArray[np.int32]
    line: Order | None = None


PACKS = ("pack", "polish", "pack-persons")
"""Generalizers that make groups along a line, and so want regions that are larger than groups."""
BLIND = ("least", "regions")
"""Prunings that look at sizes, and at sensitive values only where a limit asks for it."""


def recipe_of(settings: Settings, n: int = 0) -> Recipe:
    """Return the recipe that settings amount to for a table of ``n`` records; those that do not matter to their
    grouping leave no trace.

    Where no criterion is named, detail guides a tree of at most :data:`anonymizer.groups.detail.MOST` records; what
    suits the target guides a larger one, and one that is pruned by anything but :data:`BLIND`.

    A blended tree is grown to its end, so its leaves have at least k records; so have the baselines, to which
    ``criterion``, ``min_leaf``, ``max_depth`` and ``weight`` mean nothing.
    """
    s = settings
    if s.grouping in MONDRIAN:
        return Recipe(MONDRIAN[s.grouping], s.k, mondrian=s.grouping)
    if s.criterion == "blend":
        return Recipe(s.criterion, max(s.min_leaf, s.k), s.max_depth, s.weight)
    by_detail = s.criterion is None and s.grouping in (None, *BLIND) and n <= MOST
    return Recipe(DETAIL if by_detail else s.criterion, s.min_leaf, s.max_depth)


def natural_criterion(encoded: EncodedTable) -> str:
    """Return the criterion of the papers that suits a target: squared error of numbers, entropy of anything else."""
    return "sse" if encoded.by_numbers else "entropy"


def natural_grouping(schema: Schema) -> str:
    """Return the papers' pruning that suits a schema: by digression for a numeric target, by risk for any other."""
    return "error-digression" if schema.by_numbers else "error-risk"


def grouping_of(settings: Settings, schema: Schema, n: int = 0) -> str:
    """Return the grouping of a table of ``n`` records: the one that is named, or what suits its tree: of a tree of
    detail regions with room to pack, or as many groups as k allows, of any other the papers' pruning."""
    if settings.grouping is not None:
        return str(settings.grouping)
    if recipe_of(settings, n).criterion != DETAIL:
        return natural_grouping(schema)
    return "regions" if settings.generalizer in PACKS else "least"


def named(settings: Settings, schema: Schema, n: int = 0) -> dict[str, str]:
    """Return what settings mean where they name no grouping and no criterion, by name, for a table of n records."""
    grouping = grouping_of(settings, schema, n)
    if grouping in MONDRIAN:
        return {"grouping": grouping}
    guide = recipe_of(settings, n).criterion or ("sse" if schema.by_numbers else "entropy")
    return {"grouping": grouping, "criterion": guide}


def with_criterion(recipe: Recipe, encoded: EncodedTable) -> Recipe:
    """Return the recipe with its criterion named."""
    if recipe.mondrian or recipe.criterion is not None:
        return recipe
    return replace(recipe, criterion=natural_criterion(encoded))


def used_settings(recipe: Recipe, encoded: EncodedTable) -> dict[str, Any]:
    """Return the settings of a tree that differ from those chosen: its criterion and weight as they were used, or
    ``None`` for all of them where Mondrian took none."""
    if recipe.mondrian:
        return dict.fromkeys(name for name in setting_names("tree") if name != "grouping")
    recipe = with_criterion(recipe, encoded)
    return {"criterion": recipe.criterion, "weight": recipe.weight}


def run_settings(settings: Settings, grouping: str, encoded: EncodedTable) -> dict[str, Any]:
    """Return the settings of a run as a report keeps them: ``grouping`` and criterion as used, ``None`` for what did
    not matter."""
    own = {"grouping": grouping, **used_settings(recipe_of(settings, encoded.n_records), encoded)}
    return settings.of(*RUN) | own | ({} if settings.suppression else {"suppression_weight": None})


def grow_by(recipe: Recipe, encoded: EncodedTable, secret: Callable[[], Secret] | None = None) -> Grown:
    """Return the tree of a recipe, and where the records are in it. ``secret``: of packing, for a tree of detail.
    Raises :class:`ParameterError` when the recipe does not fit the target."""
    if recipe.mondrian:
        tree = grow_mondrian(encoded, recipe.min_leaf, recipe.mondrian)
        return Grown(tree, descend(tree, encoded))
    recipe = with_criterion(recipe, encoded)
    if recipe.criterion == DETAIL:
        assert secret is not None
        return Grown(*grow_detail(encoded, secret(), recipe.min_leaf, recipe.max_depth))
    weight = 0.5 if recipe.weight is None else recipe.weight
    return Grown(*grow_with_leaves(encoded, recipe.criterion or "", recipe.min_leaf, recipe.max_depth, weight=weight))


def group(tree: Tree, risk: NodeRisk, encoded: EncodedTable, grouping: str, limits: Limits) -> Pruning:
    """Return the groups of a tree that :func:`grow_by` has grown: splits are taken back until every limit holds.

    A tree of the baselines is pruned by ``least``: with k alone nothing is taken back. The tree of the pruning has the
    people of the population behind its nodes, where ``encoded`` knows of them.
    """
    criterion = "least" if grouping in MONDRIAN else grouping
    return prune(with_people(tree, encoded), risk, criterion, limits=limits, encoded=encoded)


GROUPING_WORDS: dict[str, tuple[str, str]] = {
    "least": (
        ": as many groups as k allows",
        "A split stays when both of its sides have k rows and keep every limit below; no pruning keeps more.",
    ),
    "regions": (
        ": branches to pack groups in",
        "A split stays when both of its sides have room for four groups and keep every limit below.",
    ),
    "error-risk": (
        " (Yang et al. 2019)",
        "Merges first where it lowers the risk most per added error. It leaves few large groups: coarse when they are "
        "released whole, fine when they are packed.",
    ),
    "error-digression": (
        " (Li and Sarkar 2014)",
        "For numeric sensitive columns. Merges first where it takes away most digression per added squared error. It "
        "does not bound digression: ask for spread or RSD below.",
    ),
    "median-mondrian": (
        ", for comparison",
        "Cuts the column with the widest range at its median as long as k allows. Levels stand in their declared "
        "order. It never looks at what is sensitive. So boxes are tight, and what they predict is left to chance "
        "(LeFevre et al. 2006).",
    ),
    "infogain-mondrian": (
        ", for comparison",
        "The best split for the classes with k rows on both sides, until there is none. Columns that say little of "
        "the class keep hardly any detail (LeFevre et al. 2008).",
    ),
    "regression-mondrian": (
        ", for comparison",
        "The best split for the numbers with k rows on both sides, until there is none. Values within a group come "
        "close to each other, which is what a limit on spread forbids (LeFevre et al. 2008).",
    ),
}
"""What follows the name of each grouping in its title, and what it does, in words for a steward."""


def grouping_words(grouping: str) -> tuple[str, str]:
    """Return the title of a grouping and what it does; of a criterion without words, its own first sentence."""
    words = (CRITERIA[grouping].__doc__ or "").strip().partition("\n")[0] if grouping in CRITERIA else ""
    more, meaning = GROUPING_WORDS.get(grouping, ("", words))
    return name_of("grouping", grouping) + more, meaning


def fitting_groupings(schema: Schema) -> tuple[str, ...]:
    """Return the groupings that fit a schema: those that err in classes need a categorical target, those that look at
    numbers need numbers."""
    numeric = any(schema[name].kind is not Kind.CATEGORICAL for name in schema.sensitive)
    unfit = {
        "error-risk": schema.by_numbers,
        "error-digression": not numeric,
        "infogain-mondrian": schema.by_numbers or schema.target is None,
        "regression-mondrian": not schema.by_numbers,
    }
    return tuple(name for name in (*CRITERIA, *MONDRIAN) if not unfit.get(name, False))


offer("criterion", (DETAIL,))
offer("grouping", CRITERIA)
offer("grouping", MONDRIAN)
