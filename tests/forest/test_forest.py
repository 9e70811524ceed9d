"""Private forests: budgets on every path, guarantees, predictions."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ParameterError
from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import MODES, grow_and_measure, grow_forest, predict, rehearsed_accuracy
from anonymizer.forest.mechanisms import RehearsalNoise
from anonymizer.forest.nodes import walk
from anonymizer.forest.rules import rules_csv, rules_json, rules_of, rules_text
from tests.forest.samples import rehearse, sample
from tests.sweeps import few


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=few(15))
@given(
    epsilon=st.floats(0.05, 4),
    trees=st.integers(1, 4),
    depth=st.integers(1, 6),
    n=st.integers(0, 800),
    seed=st.integers(0, 99),
)
def test_every_mode__spends_no_more_than_its_budget_on_any_path(
    mode: str, epsilon: float, trees: int, depth: int, n: int, seed: int
) -> None:
    noise = RehearsalNoise(np.random.default_rng(seed))
    forest = grow_forest(sample(n), epsilon, mode=mode, n_trees=trees, max_depth=depth, noise=noise)
    assert forest.ledger.spent <= epsilon * (1 + 1e-9)
    assert math.fsum(step[3] for step in forest.ledger.dearest) == pytest.approx(forest.ledger.spent)
    for tree in forest.trees:
        for node, path in walk(tree):
            assert node.spent <= epsilon / trees * (1 + 1e-9)
            assert len(path) < depth
            assert len({attribute for attribute, _ in path}) == len(path)
            if node.shares is not None:
                assert node.shares.sum() == pytest.approx(1)
                assert (node.shares >= 0).all()


@settings(max_examples=few(15))
@given(epsilon=st.floats(0.05, 4), trees=st.integers(1, 3), depth=st.integers(1, 6), n=st.integers(0, 800))
def test_strict__every_path_pays_exactly_the_budget(epsilon: float, trees: int, depth: int, n: int) -> None:
    noise = RehearsalNoise(np.random.default_rng(1))
    forest = grow_forest(sample(n), epsilon, n_trees=trees, max_depth=depth, noise=noise)
    leaves = [node for tree in forest.trees for node, _ in walk(tree) if not node.children]
    assert [leaf.spent for leaf in leaves] == pytest.approx([epsilon / trees] * len(leaves), rel=1e-9)
    assert forest.ledger.spent == pytest.approx(epsilon, rel=1e-9)
    assert forest.ledger.spent == math.fsum(step[3] for step in forest.ledger.dearest)


def test_strict__counts_add_up() -> None:
    for node, _ in walk(rehearse().trees[0]):
        if node.children:
            np.testing.assert_allclose(np.sum([child.counts for child in node.children], axis=0), node.counts)


def test_every_public_value_has_a_child_even_when_nobody_has_it() -> None:
    table = sample()
    attributes = tuple(
        Attribute(attribute.name, (*attribute.levels, "nobody")) for attribute in table.domains.attributes
    )
    wider = CodedTable(Domains(attributes, table.domains.target), table.codes, table.classes)
    forest = grow_forest(wider, 5.0, noise=RehearsalNoise(np.random.default_rng(0)))
    assert forest.trees[0].attribute is not None
    for node, _ in walk(forest.trees[0]):
        if node.attribute is not None:
            assert len(node.children) == attributes[node.attribute].n_levels


@pytest.mark.parametrize("mode", ["strict", "paper", "paper-strict"])
def test_trees_have_different_roots(mode: str) -> None:
    roots = [tree.attribute for tree in rehearse(mode, 20.0, n_trees=4).trees]
    assert None not in roots
    assert len(set(roots)) == 4


def test_more_trees_than_attributes_are_refused() -> None:
    with pytest.raises(ParameterError, match="5 trees"):
        rehearse(n_trees=5)


@pytest.mark.parametrize("bad", [{"mode": "magic"}, {"max_depth": 0}, {"epsilon": 0.0}, {"epsilon": math.nan}])
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        rehearse(**bad)


def test_real_noise_is_the_default_and_its_forest_is_no_rehearsal() -> None:
    first, second = (grow_forest(sample(), 1.0) for _ in range(2))
    assert not first.rehearsal
    assert first.private
    assert not first.warnings
    assert not np.array_equal(first.trees[0].answers, second.trees[0].answers)


def test_paper__says_that_it_is_not_private_wherever_it_goes() -> None:
    forest = grow_forest(sample(), 1.0, mode="paper")
    rules = rules_of(forest)
    assert not forest.private
    for text in (rules_csv(forest, rules), rules_json(forest, rules), rules_text(forest, rules)):
        assert "NOT differentially private" in text
    assert "not private" in MODES["paper"].title.lower()


def test_predictions_follow_the_signal_and_beat_the_majority() -> None:
    table = sample()
    scores = rehearsed_accuracy(table, 2.0, folds=5)
    assert scores.shape == (5,)
    assert scores.mean() > 0.85
    assert rehearsed_accuracy(table, 2.0, folds=5).tolist() == scores.tolist()


def test_measured_accuracy__costs_the_budget_once_and_is_near_the_truth() -> None:
    table = sample(6000)
    measured = grow_and_measure(table, 2.0)
    assert [measured.ledger.spent, measured.forest.ledger.spent] == pytest.approx([2.0, 2.0])
    assert measured.accuracy == pytest.approx((predict(measured.forest, table.codes) == table.classes).mean(), abs=0.06)
    assert measured.right + measured.wrong == pytest.approx(1200, abs=200)
    with pytest.raises(ParameterError):
        grow_and_measure(table, 2.0, test_share=1.0)


@pytest.mark.parametrize("mode", ["strict", "scorecard", "paper-strict"])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_always__is_the_class_that_is_predicted_for_all_there_can_be(mode: str, epsilon: float, seed: int) -> None:
    table = sample(60, seed)
    forest = grow_forest(table, epsilon, mode=mode, noise=RehearsalNoise(np.random.default_rng(seed)))
    everybody = np.array(list(itertools.product(*(range(width) for width in (3, 2, 4, 2)))))
    labels = np.unique(predict(forest, everybody))
    always = forest.model.always
    assert always is None or labels.tolist() == [always]
    if len(forest.trees) == 1:
        assert (always is not None) == (len(labels) == 1)
    assert ("says no more than a majority" in forest.lesson) == (always is not None)


def test_one_class_nearly_everywhere__is_said_to_be_no_more_than_a_majority() -> None:
    table = replace(sample(3000), classes=(np.arange(3000) % 50 == 0).astype(np.uint16))
    for mode in ("strict", "scorecard"):
        forest = grow_forest(table, 1.0, mode=mode, noise=RehearsalNoise(np.random.default_rng(1)))
        assert forest.model.always == 0
        assert forest.to_dict()["predicts_for_everybody"] == "a"
        assert forest.lesson.endswith("It predicts 'a' for everybody, so it says no more than a majority would.")
    assert rehearse(epsilon=8.0).model.always is None
    assert rehearse("scorecard", 8.0).model.always is None
