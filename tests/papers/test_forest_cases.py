"""The worked cases of the private forests: budgets, sensitivities, trees without noise and with scripted noise."""

from typing import Any

import numpy as np
import pytest

from anonymizer.forest.domains import Attribute, CodedTable, Domains
from anonymizer.forest.forest import Forest, class_shares_of, grow_forest, predict
from anonymizer.forest.growth import Part, Shares, gini_sensitivity, lengths, weighted_gini
from anonymizer.forest.mechanisms import selection_shares
from anonymizer.forest.nodes import NoisyNode, gini, make_consistent, positive_shares, prune_tree, walk
from anonymizer.forest.rules import rules_of
from tests.cases import load

Case = dict[str, Any]
FORESTS = [pytest.param(case, id=case["name"]) for case in load("f15_forest")]
DIFFPID3 = [pytest.param(case, id=case["name"]) for case in load("f15_diffpid3")]
STRICT = [pytest.param(case, id=case["name"]) for case in load("f15_strict")]


class Traced:
    """Noise that a test decides, with a record of every choice that was asked for."""

    rehearsal = True

    def __init__(self, laplace: list[float] | None = None, uniform: list[float] | None = None) -> None:
        self.laplace_left = laplace
        self.uniform_left = uniform
        self.choices: list[dict[str, Any]] = []

    def laplace(self, counts: np.ndarray, epsilon: float) -> np.ndarray:
        if self.laplace_left is None:
            return counts.astype(float)
        return np.array([count + self.laplace_left.pop(0) / epsilon for count in counts])

    def discrete_laplace(self, counts: np.ndarray, epsilon: float) -> np.ndarray:
        return counts.astype(float)

    def exponential(self, scores: list[float], epsilon: float, sensitivity: float) -> int:
        shares = selection_shares(scores, epsilon, sensitivity)
        self.choices.append({"scores": scores, "sensitivity": sensitivity, "shares": shares})
        if self.uniform_left is None:
            return int(np.argmax(scores))
        return int(np.searchsorted(np.cumsum(shares), self.uniform_left.pop(0), side="right"))

    def noisy_max(self, scores: list[int], epsilon: float, sensitivity: int) -> int:
        self.choices.append({"scores": scores, "sensitivity": sensitivity})
        return int(np.argmax(scores))


def table_of(case: Case) -> CodedTable:
    records = np.array(case["records"])
    attributes = tuple(
        Attribute(f"a{place}", tuple(map(str, range(size)))) for place, size in enumerate(case["domains"])
    )
    target = Attribute("class", tuple(map(str, range(case["n_classes"]))))
    return CodedTable(
        Domains(attributes, target),
        np.ascontiguousarray(records[:, :-1]).astype(np.uint16),
        records[:, -1].astype(np.uint16),
    )


def grow_case(case: Case, mode: str, noise: Traced, pruning: str | None = None) -> Forest:
    return grow_forest(
        table_of(case),
        case["beta"],
        mode=mode,
        n_trees=case.get("n_trees", 1),
        max_depth=case["max_depth"],
        min_size=case.get("min_size", 100),
        pruning=pruning,
        noise=noise,
    )


def preorder(tree: Case) -> list[Case]:
    return [tree, *(node for child in tree.get("children", ()) for node in preorder(child))]


def expect_trees(forest: Forest, expected: list[Case]) -> None:
    assert len(forest.trees) == len(expected)
    for tree, answer in zip(forest.trees, expected, strict=True):
        nodes = [node for node, _ in walk(tree)]
        answers = preorder(answer)
        assert len(nodes) == len(answers)
        for node, its in zip(nodes, answers, strict=True):
            assert node.attribute == its.get("attribute")
            assert node.size == pytest.approx(its["size"], rel=1e-9)
            if "counts" in its:
                np.testing.assert_allclose(node.answers, its["counts"], rtol=1e-9)


def expect_choices(noise: Traced, expected: list[Case], sensitivity: float | None = None) -> None:
    """Scores, sensitivities and selection probabilities of every choice, in the order they were asked for."""
    choices = [node for tree in expected for node in preorder(tree) if "scores" in node]
    assert len(choices) == len(noise.choices) > 0
    for choice, answer in zip(noise.choices, choices, strict=True):
        np.testing.assert_allclose(choice["scores"], answer["scores"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(choice["shares"], answer["shares"], rtol=1e-9)
        assert choice["sensitivity"] == pytest.approx(sensitivity or answer["sensitivity"], rel=1e-9)


# Budgets and sensitivities.


@pytest.mark.parametrize(("mode", "row", "trees"), [
    ("paper", "one tree", 1), ("paper", "four trees", 4), ("paper-strict", "four trees", 4),
    ("diffpid3", "diffpid3", 1), ("diffpid3-weighted", "diffpid3", 1),
])  # fmt: skip
def test_table_1__epsilon_of_each_query(mode: str, row: str, trees: int) -> None:
    (table_1,) = load("f15_table_1")
    rng = np.random.default_rng(0)
    domains = [2] * 6
    records = np.column_stack([rng.integers(0, 2, (4000, 6)), rng.integers(0, 2, 4000)])
    reference = {"records": records, "domains": domains, "n_classes": 2, "max_depth": table_1["max_depth"]}
    for beta, exact, printed in zip(table_1["budgets"], table_1["exact"][row], table_1["printed"][row], strict=True):
        assert exact == pytest.approx(printed, abs=5.1e-4)
        example = reference | {"beta": beta, "n_trees": trees}
        ledger = grow_case(example, mode, Traced()).ledger
        assert [entry.epsilon for entry in ledger.entries] == pytest.approx([exact] * len(ledger.entries), rel=1e-12)
        queries = 10 if mode.startswith("diffpid3") else 9 * trees
        assert len(ledger.dearest) == queries
        assert ledger.spent == pytest.approx(beta, rel=1e-9)


def test_sensitivity__equation_11() -> None:
    for row in load("f15_sensitivity"):
        n = row["n"]
        assert gini_sensitivity(n) == pytest.approx(row["sensitivity"], rel=1e-9)
        assert gini_sensitivity(n) == pytest.approx(2 * n / (n + 1) ** 2, rel=1e-9)


def test_theorem_1__holds_for_adding_and_the_weighted_index_for_both() -> None:
    from fractions import Fraction

    rows = load("f15_theorem_1")
    assert len(rows) > 50
    for row in rows:
        n = row["n"]
        assert float(Fraction(row["add"])) <= gini_sensitivity(n) + 1e-12
        if n > 1:
            assert float(Fraction(row["remove"])) == pytest.approx(gini_sensitivity(n - 1), rel=1e-9)
        low, high = (float(Fraction(end)) for end in row["weighted_change"])
        assert -2 < low <= high <= 0


def test_lost_privacy__of_a_choice_at_a_noisy_size() -> None:
    """Two tables of one record and of two: the choice of the printed algorithm gives more away than it is charged."""
    one = table_of({"records": [[0, 0, 0]], "domains": [2, 2], "n_classes": 2})
    two = table_of({"records": [[0, 0, 0], [0, 1, 1]], "domains": [2, 2], "n_classes": 2})
    for row in load("f15_privacy_loss"):
        chance = [
            selection_shares(
                (weighted_gini(Part.whole(table), [0, 1]) / table.n_records).tolist(),
                row["epsilon"],
                gini_sensitivity(row["size"]),
            )[0]
            for table in (one, two)
        ]
        assert chance == pytest.approx([row["chance_of_one"], row["chance_of_two"]], rel=1e-9)
        assert np.log(chance[0] / chance[1]) == pytest.approx(row["loss"], rel=1e-7)
        assert row["loss"] > row["epsilon"]


# Trees.


@pytest.mark.parametrize("reference", FORESTS)
@pytest.mark.parametrize("pruning", [None, "line-42", "equation-27"])
def test_paper__without_noise(reference: Case, pruning: str | None) -> None:
    expected = reference["results"][pruning or "unpruned"]
    noise = Traced()
    forest = grow_case(reference, "paper", noise, pruning)
    expect_trees(forest, expected["forest"])
    expect_choices(noise, reference["results"]["unpruned"]["forest"])
    assert [tree.attribute for tree in forest.trees] == reference["roots"]
    assert forest.ledger.spent == pytest.approx(reference["beta"])
    table = table_of(reference)
    assert predict(forest, table.codes[: len(expected["predictions"])]).tolist() == expected["predictions"]
    if "rules" in expected:
        rules = [rule for rule in rules_of(forest) if rule.tree == 1]
        assert len(rules) == len(expected["rules"])
        for rule, answer in zip(rules, expected["rules"], strict=True):
            assert [list(step) for step in rule.path] == answer["path"]
            assert (rule.label, rule.is_leaf) == (answer["label"], answer["is_leaf"])
            assert rule.confidence == pytest.approx(answer["confidence"], rel=1e-9)
            assert rule.support == pytest.approx(answer["support"], rel=1e-9)


def test_paper__with_scripted_noise() -> None:
    (reference,) = load("f15_scripted_noise")
    noise = Traced(list(reference["laplace"]), list(reference["uniform"]))
    forest = grow_case(reference, "paper", noise, "line-42")
    assert noise.laplace_left == []
    assert noise.uniform_left == []
    expect_trees(forest, reference["forest"])
    expect_choices(noise, reference["forest"])
    table = table_of(reference)
    assert predict(forest, table.codes[: len(reference["predictions"])]).tolist() == reference["predictions"]


@pytest.mark.parametrize("reference", DIFFPID3)
def test_diffpid3__without_noise(reference: Case) -> None:
    noise = Traced()
    forest = grow_case(reference, reference["name"], noise)
    expect_trees(forest, [reference["tree"]])
    expect_choices(noise, [reference["tree"]], reference["sensitivity"])
    entries = forest.ledger.entries
    assert [entry.epsilon for entry in entries] == pytest.approx([reference["epsilon"]] * len(entries))
    assert forest.ledger.spent <= reference["beta"] * (1 + 1e-9)


@pytest.mark.parametrize("reference", STRICT)
def test_strict__without_noise(reference: Case) -> None:
    noise = Traced()
    forest = grow_case(reference, "strict", noise)
    shares = Shares.of(reference["beta"], len(reference["epsilon_of_counts"]))
    assert shares.counts == pytest.approx(reference["epsilon_of_counts"], rel=1e-9)
    assert shares.choices == pytest.approx(reference["epsilon_of_choices"], rel=1e-9)
    answers = preorder(reference["tree"])
    nodes = [node for node, _ in walk(forest.trees[0])]
    assert len(nodes) == len(answers)
    for node, answer in zip(nodes, answers, strict=True):
        assert node.attribute == answer.get("attribute")
        assert node.variance == pytest.approx(answer["variance"], rel=1e-9)
        np.testing.assert_allclose(node.answers, answer["answers"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.counts, answer["counts"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.shares, answer["shares"], rtol=1e-9)
        if "spent" in answer:
            assert node.spent == pytest.approx(answer["spent"], rel=1e-9)
    scores = [answer["scores"] for answer in answers if "scores" in answer]
    assert [choice["scores"] for choice in noise.choices] == scores
    assert {choice["sensitivity"] for choice in noise.choices} == {reference["sensitivity"]}
    table = table_of(reference)
    assert predict(forest, table.codes[: len(reference["predictions"])]).tolist() == reference["predictions"]
    assert forest.ledger.spent == pytest.approx(reference["beta"], rel=1e-9)


def test_strict__consistent_counts() -> None:
    def node_of(reference: Case) -> NoisyNode:
        children = tuple(node_of(child) for child in reference.get("children", ()))
        attribute = 0 if children else None
        answers, variance = np.array(reference["answers"]), reference["variance"]
        return NoisyNode(0.0, 0.0, answers, variance=variance, attribute=attribute, children=children)

    (reference,) = load("f15_consistency")
    for (node, _), answer in zip(
        walk(make_consistent(node_of(reference["tree"]))), preorder(reference["tree"]), strict=True
    ):
        np.testing.assert_allclose(node.counts, answer["counts"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.shares, answer["shares"], rtol=1e-9)


def test_pruning_and_confidence__single_nodes() -> None:
    def leaf(counts: list[float]) -> NoisyNode:
        sums = np.array(counts)
        return NoisyNode(float(sums.sum()), 0.0, sums, sums, positive_shares(sums))

    for row in load("f15_pruning"):
        parent = leaf(row["parent"])
        assert gini(parent.answers) == pytest.approx(row["gini"])
        children = tuple(map(leaf, row["children"]))
        tree = NoisyNode(parent.size, 0.0, parent.answers, attribute=0, children=children)
        for rule in ("line-42", "equation-27"):
            left = "kept" if prune_tree(tree, rule).children else "pruned"
            assert left == row[rule], row["name"]
    for row in load("f15_confidence"):
        node = leaf(row["counts"])
        assert [node.label, node.confidence] == pytest.approx([row["label"], row["confidence"]])


def test_lengths__change_by_at_most_one_unit_and_never_fall() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        records = np.column_stack([rng.integers(0, 3, (n, 2)), rng.integers(0, 3, n)])
        sizes = {"domains": [3, 3], "n_classes": 3}
        more, fewer = ({"records": records[:rows], **sizes} for rows in (n, n - 1))
        change = np.subtract(*(lengths(Part.whole(table_of(each)), [0, 1]) for each in (more, fewer)))
        assert (change >= 0).all()
        assert (change <= 2**20 + 1).all()


def test_vote__shares_sum_to_one() -> None:
    _, reference = load("f15_forest")
    forest = grow_case(reference, "paper", Traced(), "line-42")
    shares = class_shares_of(forest, table_of(reference).codes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
