"""What a tree depends on: recipes, and the groups that every grouping makes of them."""

import numpy as np
import pytest

from anonymizer.errors import ParameterError
from anonymizer.groups.mondrian import MONDRIAN
from anonymizer.groups.prune import CRITERIA, prune
from anonymizer.groups.recipe import (
    BLIND,
    Recipe,
    fitting_groupings,
    group,
    grouping_of,
    grow_by,
    natural_grouping,
    recipe_of,
    with_criterion,
)  # fmt: skip
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.reading.samples import employees, hospital
from anonymizer.schema import Schema
from anonymizer.settings import Limits, Settings, names_of

TABLE = hospital(300, 2)
SCHEMA = Schema.of(
    TABLE, quasi_identifying=["age", "sex", "postcode"], sensitive=["diagnosis", "cost"], identifying=["name", "email"]
)
BY_CLASS, BY_NUMBERS = encode(TABLE, SCHEMA), encode(TABLE, SCHEMA.with_target("cost"))


@pytest.mark.parametrize("grouping", CRITERIA)
def test_prunings__share_a_tree_that_k_does_not_matter_to(grouping: str) -> None:
    guide = "detail" if grouping in BLIND else None
    assert recipe_of(Settings(grouping=grouping, k=5, weight=0.1)) == Recipe(guide, 2)
    assert recipe_of(Settings(grouping="least", k=50, weight=0.9)) == Recipe("detail", 2)
    grown = Settings(grouping=grouping, k=5, criterion="gini", min_leaf=4, max_depth=3)
    assert recipe_of(grown) == Recipe("gini", 4, 3)


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_baselines__depend_on_k_alone(grouping: str) -> None:
    plain = recipe_of(Settings(grouping=grouping, k=5))
    assert plain == recipe_of(Settings(grouping=grouping, k=5, criterion="blend", min_leaf=9, max_depth=2, weight=0.1))
    assert plain != recipe_of(Settings(grouping=grouping, k=6))
    assert (plain.min_leaf, plain.max_depth, plain.weight) == (5, None, None)


def test_blends__depend_on_k_and_their_weight() -> None:
    assert recipe_of(Settings(grouping="least", k=5, criterion="blend", weight=0.2)) == Recipe("blend", 5, None, 0.2)
    assert recipe_of(Settings(grouping="least", k=5, criterion="blend", min_leaf=8, weight=0.2)).min_leaf == 8
    assert recipe_of(Settings(k=5, criterion="blend")) != recipe_of(Settings(k=6, criterion="blend"))


def test_an_unknown_grouping__is_told_which_there_are() -> None:
    with pytest.raises(ParameterError, match="no grouping 'nearest'") as caught:
        recipe_of(Settings(grouping="nearest", k=5))
    assert all(grouping in caught.value.remedy for grouping in names_of("grouping"))


def test_settled__names_the_criterion_that_suits_the_target() -> None:
    assert with_criterion(Recipe(None, 2), BY_CLASS).criterion == "entropy"
    assert with_criterion(Recipe(None, 2), BY_NUMBERS).criterion == "sse"
    assert with_criterion(Recipe("gini", 2), BY_CLASS).criterion == "gini"
    assert with_criterion(recipe_of(Settings(grouping="median-mondrian", k=4)), BY_CLASS).criterion is None


def test_grow_by__is_grow_with_the_recipe() -> None:
    for recipe, plain in (
        (Recipe(None, 3, 4), grow(BY_CLASS, "entropy", 3, 4)),
        (Recipe("blend", 9, None, 0.3), grow(BY_CLASS, "blend", 9, weight=0.3)),
        (recipe_of(Settings(grouping="infogain-mondrian", k=7)), grow(BY_CLASS, "entropy", 7)),
    ):
        made, leaf, line = grow_by(recipe, BY_CLASS)
        assert line is None
        assert np.array_equal(made.feature, plain.feature)
        assert np.array_equal(made.n, plain.n)
        assert np.array_equal(leaf, descend(made, BY_CLASS))
    by_numbers, leaf, _ = grow_by(recipe_of(Settings(grouping="regression-mondrian", k=7)), BY_NUMBERS)
    assert np.array_equal(leaf, descend(by_numbers, BY_NUMBERS))
    assert np.array_equal(by_numbers.n, grow(BY_NUMBERS, "sse", 7).n)


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_group__keeps_further_limits_in_the_baselines_too(grouping: str) -> None:
    encoded = BY_NUMBERS if grouping == "regression-mondrian" else BY_CLASS
    tree, *_ = grow_by(recipe_of(Settings(grouping=grouping, k=5)), encoded)
    risk = annotate(tree, encoded)
    free = group(tree, risk, encoded, grouping, Limits(k=5))
    assert free.n_steps == 0
    pruning = group(tree, risk, encoded, grouping, Limits(k=5, spread_min=0.7))
    assert pruning.n_steps > 0
    assert pruning.satisfied
    assert risk.numeric is not None
    assert risk.numeric.spread[pruning.cut()].min() >= 0.7
    assert risk.numeric.spread[free.cut()].min() < 0.7


def test_group__prunes_by_the_grouping() -> None:
    encoded = encode(employees(), Schema.of(employees(), quasi_identifying=["Age"], sensitive=["Income"]))
    tree, *_ = grow_by(recipe_of(Settings(grouping="error-digression", k=2)), encoded)
    risk = annotate(tree, encoded)
    for grouping in ("least", "error-digression"):
        steps = group(tree, risk, encoded, grouping, Limits(k=3)).steps
        assert np.array_equal(steps, prune(tree, risk, grouping, 3).steps)


def test_unsaid__is_what_suits_the_rest_of_the_settings() -> None:
    """Detail in regions where groups are packed, by as many as k allows where not; of a pruning or a guide of the
    papers, and of a table that is too large to be cut in one place, what the papers say."""
    few, many = 1_000_000, 1_000_001
    for settings, n, guide, grouping in (
        ({}, few, "detail", "regions"), ({}, many, None, "error-risk"),
        ({"generalizer": "polish"}, few, "detail", "regions"),
        ({"generalizer": "uniform"}, few, "detail", "least"), ({"generalizer": "refine"}, few, "detail", "least"),
        ({"grouping": "error-risk"}, few, None, "error-risk"), ({"criterion": "gini"}, few, "gini", "error-risk"),
        ({"grouping": "least"}, few, "detail", "least"), ({"grouping": "least"}, many, None, "least"),
        ({"criterion": "detail"}, many, "detail", "regions"),
        ({"criterion": "detail", "grouping": "error-risk"}, few, "detail", "error-risk"),
    ):  # fmt: skip
        assert recipe_of(Settings(**settings), n).criterion == guide, settings
        assert grouping_of(Settings(**settings), SCHEMA, n) == grouping, settings
    assert grouping_of(Settings(), SCHEMA.with_target("cost"), many) == "error-digression"


def test_groupings__that_suit_a_schema() -> None:
    """By whether the target has classes, numbers, or is missing."""
    alone = Schema.of(TABLE, quasi_identifying=["age"], identifying=["name", "email"])
    targets = {"diagnosis": SCHEMA, "cost": SCHEMA.with_target("cost"), "none": alone}
    natural = {name: natural_grouping(schema) for name, schema in targets.items()}
    assert natural == {"diagnosis": "error-risk", "cost": "error-digression", "none": "error-risk"}
    unfit = {name: {*CRITERIA, *MONDRIAN} - set(fitting_groupings(schema)) for name, schema in targets.items()}
    assert unfit == {
        "diagnosis": {"regression-mondrian"},
        "cost": {"error-risk", "infogain-mondrian"},
        "none": {"error-digression", "infogain-mondrian", "regression-mondrian"},
    }
