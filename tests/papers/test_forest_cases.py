"""The worked cases of the private forests: budgets, sensitivities, trees without noise and with scripted noise."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymizer.domains import Attribute, CodedTable, Domains
from anonymizer.forest import Forest, class_shares_of, grow_forest, predict
from anonymizer.forest_growth import Part, Shares, gini_sensitivity, lengths, weighted_gini
from anonymizer.mechanisms import selection_shares
from anonymizer.private_tree import Node, class_shares, gini, make_consistent, prune_tree, walk
from anonymizer.rules import rules_of

Case = dict[str, Any]


@pytest.fixture
def case(shared: Path) -> Callable[[str], Case]:
    def read(name: str) -> Case:
        found: Case = json.loads((shared / "cases" / f"{name}.json").read_text("utf-8"))
        return found

    return read


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


def grown(case: Case, mode: str, noise: Traced, pruning: str | None = None) -> Forest:
    return grow_forest(
        table_of(case),
        case["beta"],
        mode=mode,
        n_trees=case.get("tau", 1),
        max_depth=case["delta"],
        min_size=case.get("min_size", 100),
        pruning=pruning,
        noise=noise,
    )


def preorder(tree: Case, children: str = "children") -> list[Case]:
    return [tree, *(node for child in tree[children] for node in preorder(child, children))]


def expect_trees(found: Forest, expected: list[Case]) -> None:
    assert len(found.trees) == len(expected)
    for tree, answer in zip(found.trees, expected, strict=True):
        nodes = [node for node, _ in walk(tree)]
        answers = preorder(answer)
        assert len(nodes) == len(answers)
        for node, its in zip(nodes, answers, strict=True):
            assert node.attribute == its["attr"]
            assert node.size == pytest.approx(its["size"], rel=1e-9)
            if its["counts"] is not None:
                np.testing.assert_allclose(node.drawn, its["counts"], rtol=1e-9)


def expect_choices(noise: Traced, expected: list[Case], sensitivity: float | None = None) -> None:
    """Scores, sensitivities and selection probabilities of every choice, in the order they were asked for."""
    asked = [node for tree in expected for node in preorder(tree) if node["cand"] is not None]
    assert len(asked) == len(noise.choices) > 0
    for choice, answer in zip(noise.choices, asked, strict=True):
        np.testing.assert_allclose(choice["scores"], answer["utilities"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(choice["shares"], answer["probs"], rtol=1e-9)
        assert choice["sensitivity"] == pytest.approx(sensitivity or answer["sens"], rel=1e-9)


# Budgets and sensitivities.


@pytest.mark.parametrize(("mode", "row", "trees"), [
    ("paper", "DPDF_tau1", 1), ("paper", "DPDF_tau4", 4), ("paper-strict", "DPDF_tau4", 4), ("diffpid3", "DiffPID3", 1),
    ("diffpid3-weighted", "DiffPID3", 1),
])  # fmt: skip
def test_table_1__epsilon_of_each_query(case: Callable[[str], Case], mode: str, row: str, trees: int) -> None:
    table_1 = case("dpdf_table1")
    rng = np.random.default_rng(0)
    domains = [2] * 6
    records = np.column_stack([rng.integers(0, 2, (4000, 6)), rng.integers(0, 2, 4000)])
    for beta, exact in zip(table_1["betas"], table_1["exact"][row], strict=True):
        example = {"records": records, "domains": domains, "n_classes": 2, "beta": beta, "tau": trees, "delta": 5}
        ledger = grown(example, mode, Traced()).ledger
        assert [entry.epsilon for entry in ledger.entries] == pytest.approx([exact] * len(ledger.entries), rel=1e-12)
        queries = 10 if mode.startswith("diffpid3") else 9 * trees
        assert len(ledger.dearest) == queries
        assert ledger.spent == pytest.approx(beta, rel=1e-9)


def test_sensitivity__equation_11(case: Callable[[str], Case]) -> None:
    given = case("dpdf_sensitivity")
    for n, exact in zip(given["n"], given["eq11"], strict=True):
        assert gini_sensitivity(n) == pytest.approx(exact, rel=1e-9)
        assert gini_sensitivity(n) == pytest.approx(2 * n / (n + 1) ** 2, rel=1e-9)


def test_theorem_1__holds_for_adding_and_the_weighted_index_for_both(case: Callable[[str], Case]) -> None:
    from fractions import Fraction

    rows = case("dpdf_theorem1_exhaustive")["rows"]
    assert len(rows) > 50
    for row in rows:
        n = row["n"]
        assert float(Fraction(row["add"])) <= gini_sensitivity(n) + 1e-12
        if n > 1:
            assert float(Fraction(row["remove"])) == pytest.approx(gini_sensitivity(n - 1), rel=1e-9)
        low, high = (float(Fraction(end)) for end in row["weighted_change"])
        assert -2 < low <= high <= 0


def test_lost_privacy__of_a_choice_at_a_noisy_size(case: Callable[[str], Case]) -> None:
    """Two tables of one record and of two: the choice of the printed algorithm gives more away than it is charged."""
    one = table_of({"records": [[0, 0, 0]], "domains": [2, 2], "n_classes": 2})
    two = table_of({"records": [[0, 0, 0], [0, 1, 1]], "domains": [2, 2], "n_classes": 2})
    for row in case("dpdf_privacy_loss_micro")["rows"]:
        chance = [
            selection_shares(
                (weighted_gini(Part.whole(table), [0, 1]) / table.n_records).tolist(),
                row["eps"],
                gini_sensitivity(row["noisy_size"]),
            )[0]
            for table in (one, two)
        ]
        assert chance == pytest.approx([row["P_bad_D"], row["P_bad_Dprime"]], rel=1e-9)
        assert np.log(chance[0] / chance[1]) == pytest.approx(row["loss"], rel=1e-7)
        assert row["loss"] > row["eps"]


# Trees.


@pytest.mark.parametrize("name", ["dpdf_noiseoff_1", "dpdf_noiseoff_2"])
@pytest.mark.parametrize(("pruning", "key"), [(None, "none"), ("line-42", "alg"), ("equation-27", "eq27")])
def test_paper__without_noise(case: Callable[[str], Case], name: str, pruning: str | None, key: str) -> None:
    given = case(name)
    expected = given["expected"][key]
    noise = Traced()
    forest = grown(given, "paper", noise, pruning)
    expect_trees(forest, expected["forest"])
    expect_choices(noise, given["expected"]["none"]["forest"])
    assert [tree.attribute for tree in forest.trees] == given["roots"]
    assert forest.ledger.spent == pytest.approx(given["beta"])
    table = table_of(given)
    assert predict(forest, table.codes[: len(expected["predictions"])]).tolist() == expected["predictions"]
    if "rules_tree0" in expected:
        rules = [rule for rule in rules_of(forest) if rule.tree == 1]
        assert len(rules) == len(expected["rules_tree0"])
        for rule, answer in zip(rules, expected["rules_tree0"], strict=True):
            assert [list(step) for step in rule.path] == answer["antecedent"]
            assert (rule.label, rule.is_leaf) == (answer["label"], answer["leaf"])
            assert rule.confidence == pytest.approx(answer["confidence"], rel=1e-9)
            assert rule.support == pytest.approx(answer["support"], rel=1e-9)


def test_paper__with_scripted_noise(case: Callable[[str], Case]) -> None:
    given = case("dpdf_scripted_1")
    noise = Traced(list(given["z"]), list(given["u"]))
    forest = grown(given, "paper", noise, "line-42")
    assert noise.laplace_left == []
    assert noise.uniform_left == []
    expect_trees(forest, given["forest_pruned_alg"])
    expect_choices(noise, given["forest_pruned_alg"])
    table = table_of(given)
    assert predict(forest, table.codes[: len(given["predictions"])]).tolist() == given["predictions"]


@pytest.mark.parametrize(("name", "mode", "sensitivity"), [
    ("diffpid3_paper", "diffpid3", 0.5), ("diffpid3_fs2010", "diffpid3-weighted", 2.0),
])  # fmt: skip
def test_diffpid3__without_noise(case: Callable[[str], Case], name: str, mode: str, sensitivity: float) -> None:
    given = case(name)
    noise = Traced()
    forest = grown(given, mode, noise)
    expect_trees(forest, [given["tree"]])
    expect_choices(noise, [given["tree"]], sensitivity)
    entries = forest.ledger.entries
    assert [entry.epsilon for entry in entries] == pytest.approx([given["eps"]] * len(entries))
    assert forest.ledger.spent <= given["beta"] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["strict_noiseoff_1", "strict_noiseoff_2"])
def test_strict__without_noise(case: Callable[[str], Case], name: str) -> None:
    given = case(name)
    noise = Traced()
    forest = grown(given, "strict", noise)
    shares = Shares.of(given["beta"], len(given["hist_eps"]))
    assert shares.counts == pytest.approx(given["hist_eps"], rel=1e-9)
    assert shares.choices == pytest.approx(given["split_eps"], rel=1e-9)
    answers = preorder(given["forest"][0], "ch")
    nodes = [node for node, _ in walk(forest.trees[0])]
    assert len(nodes) == len(answers)
    for node, answer in zip(nodes, answers, strict=True):
        assert node.attribute == answer["attr"]
        assert node.variance == pytest.approx(answer["var"], rel=1e-9)
        np.testing.assert_allclose(node.drawn, answer["f"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.counts, answer["z"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.shares, answer["p"], rtol=1e-9)
        if answer["paid"] is not None:
            assert node.spent == pytest.approx(answer["paid"], rel=1e-9)
    scores = [answer["scores"] for answer in answers if answer["scores"] is not None]
    assert [choice["scores"] for choice in noise.choices] == scores
    assert {choice["sensitivity"] for choice in noise.choices} == {given["score_sensitivity"]}
    table = table_of(given)
    assert predict(forest, table.codes[: len(given["predictions"])]).tolist() == given["predictions"]
    assert forest.ledger.spent == pytest.approx(given["beta"], rel=1e-9)


def test_strict__consistent_counts(case: Callable[[str], Case]) -> None:
    def node_of(given: Case) -> Node:
        children = tuple(node_of(child) for child in given["ch"])
        attribute = 0 if children else None
        return Node(0.0, 0.0, np.array(given["f"]), variance=given["var"], attribute=attribute, children=children)

    given = case("strict_consistency")["tree"]
    for (node, _), answer in zip(walk(make_consistent(node_of(given))), preorder(given, "ch"), strict=True):
        np.testing.assert_allclose(node.counts, answer["z"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(node.shares, answer["p"], rtol=1e-9)


def test_pruning_and_confidence__single_nodes(case: Callable[[str], Case]) -> None:
    given = case("dpdf_prune_micro")

    def leaf(counts: list[float]) -> Node:
        drawn = np.array(counts)
        return Node(float(drawn.sum()), 0.0, drawn, drawn, class_shares(drawn))

    for row in given["rows"]:
        parent = leaf(row["parent"])
        assert gini(parent.drawn) == pytest.approx(row["G_parent"])
        children = tuple(map(leaf, row["children"]))
        tree = Node(parent.size, 0.0, parent.drawn, attribute=0, children=children)
        for rule, key in (("line-42", "alg/children"), ("equation-27", "eq27/children")):
            left = "kept" if prune_tree(tree, rule).children else "pruned"
            assert left == row["result"][key], row["case"]
    for row in given["conf"]:
        node = leaf(row["counts"])
        assert [node.label, node.confidence] == pytest.approx(row["label_conf"])


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


def test_vote__shares_sum_to_one(case: Callable[[str], Case]) -> None:
    given = case("dpdf_noiseoff_2")
    forest = grown(given, "paper", Traced(), "line-42")
    shares = class_shares_of(forest, table_of(given).codes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
