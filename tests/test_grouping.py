"""What a tree depends on: recipes, and the groups that every grouping makes of them."""

import numpy as np
import pytest

from anonymizer.encode import encode
from anonymizer.errors import ParameterError
from anonymizer.grouping import GROUPINGS, Recipe, group, grow_by, recipe_of, recorded, settled
from anonymizer.grow import grow
from anonymizer.limits import Limits
from anonymizer.mondrian import MONDRIAN
from anonymizer.prune import CRITERIA, prune
from anonymizer.risk import annotate
from anonymizer.samples import employees, hospital
from anonymizer.schema import Schema

TABLE = hospital(300, 2)
SCHEMA = Schema.of(
    TABLE, quasi_identifying=["age", "sex", "postcode"], sensitive=["diagnosis", "cost"], identifying=["name", "email"]
)
BY_CLASS, BY_NUMBERS = encode(TABLE, SCHEMA), encode(TABLE, SCHEMA.with_target("cost"))


@pytest.mark.parametrize("grouping", CRITERIA)
def test_prunings__share_a_tree_that_k_does_not_matter_to(grouping: str) -> None:
    assert recipe_of(grouping, 5, weight=0.1) == recipe_of("least", 50, weight=0.9) == Recipe(None, 2)
    assert recipe_of(grouping, 5, criterion="gini", min_leaf=4, max_depth=3) == Recipe("gini", 4, 3)


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_baselines__depend_on_k_alone(grouping: str) -> None:
    plain = recipe_of(grouping, 5)
    assert plain == recipe_of(grouping, 5, criterion="blend", min_leaf=9, max_depth=2, weight=0.1)
    assert plain != recipe_of(grouping, 6)
    assert (plain.min_leaf, plain.max_depth, plain.weight) == (5, None, None)


def test_blends__depend_on_k_and_their_weight() -> None:
    assert recipe_of("least", 5, criterion="blend", weight=0.2) == Recipe("blend", 5, None, 0.2)
    assert recipe_of("least", 5, criterion="blend", min_leaf=8, weight=0.2).min_leaf == 8
    assert recipe_of("least", 5, criterion="blend") != recipe_of("least", 6, criterion="blend")


def test_an_unknown_grouping__is_told_which_there_are() -> None:
    with pytest.raises(ParameterError, match="no grouping 'nearest'") as caught:
        recipe_of("nearest", 5)
    assert all(grouping in caught.value.remedy for grouping in GROUPINGS)


def test_settled__names_the_criterion_that_suits_the_target() -> None:
    assert settled(Recipe(None, 2), BY_CLASS).criterion == "entropy"
    assert settled(Recipe(None, 2), BY_NUMBERS).criterion == "sse"
    assert settled(Recipe("gini", 2), BY_CLASS).criterion == "gini"
    assert settled(recipe_of("median-mondrian", 4), BY_CLASS).criterion is None


def test_grow_by__is_grow_with_the_recipe() -> None:
    for recipe, plain in (
        (Recipe(None, 3, 4), grow(BY_CLASS, "entropy", 3, 4)),
        (Recipe("blend", 9, None, 0.3), grow(BY_CLASS, "blend", 9, weight=0.3)),
        (recipe_of("infogain-mondrian", 7), grow(BY_CLASS, "entropy", 7)),
    ):
        made = grow_by(recipe, BY_CLASS)
        assert np.array_equal(made.feature, plain.feature)
        assert np.array_equal(made.n, plain.n)
    by_numbers = grow_by(recipe_of("regression-mondrian", 7), BY_NUMBERS)
    assert np.array_equal(by_numbers.n, grow(BY_NUMBERS, "sse", 7).n)


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_group__keeps_further_limits_in_the_baselines_too(grouping: str) -> None:
    encoded = BY_NUMBERS if grouping == "regression-mondrian" else BY_CLASS
    tree = grow_by(recipe_of(grouping, 5), encoded)
    risk = annotate(tree, encoded)
    free = group(tree, risk, encoded, grouping, Limits(k=5))
    assert free.n_steps == 0
    kept = group(tree, risk, encoded, grouping, Limits(k=5, spread_min=0.7))
    assert kept.n_steps > 0
    assert kept.satisfied
    assert risk.numeric is not None
    assert risk.numeric.spread[kept.cut()].min() >= 0.7
    assert risk.numeric.spread[free.cut()].min() < 0.7


def test_group__prunes_by_the_grouping() -> None:
    encoded = encode(employees(), Schema.of(employees(), quasi_identifying=["Age"], sensitive=["Income"]))
    tree = grow_by(recipe_of("error-digression", 2), encoded)
    risk = annotate(tree, encoded)
    for grouping in ("least", "error-digression"):
        steps = group(tree, risk, encoded, grouping, Limits(k=3)).steps
        assert np.array_equal(steps, prune(tree, risk, grouping, 3).steps)


def test_recorded__says_what_was_used_and_nothing_else() -> None:
    asked = {"grouping": "least", "criterion": None, "min_leaf": 3, "max_depth": 4, "weight": 0.5, "k": 5}
    used = recorded(asked, Recipe("sse", 3, 4))
    assert used == asked | {"criterion": "sse", "weight": None}
    baseline = recorded(asked, recipe_of("median-mondrian", 5))
    assert {baseline[name] for name in ("criterion", "min_leaf", "max_depth", "weight")} == {None}
    assert asked["min_leaf"] == 3, "nothing given is changed"
