"""What a published tree tells: constraints, estimates, counting, repair and publishing, against slow definitions."""

import itertools
import json
import math
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anonymizer.cli import main
from anonymizer.constraints import Candidate, Knowledge, Rule, candidates_of, count_constraints, measured, residuals
from anonymizer.constraints import slacks as all_slacks
from anonymizer.disclosure import assess, assumptions, figures_of, figures_of_shares, leaves_alone, most_exposed
from anonymizer.encode import encode
from anonymizer.errors import ParameterError
from anonymizer.grow import grow
from anonymizer.integer_posterior import integer_posterior
from anonymizer.maxent import CancelledError, closed_form, filled, maximum_entropy
from anonymizer.multiway import grow_multiway
from anonymizer.outline import KeyedTree, collapsed, keyed, keys_of, outline_of
from anonymizer.publish import (
    PMML_NAMESPACE,
    conditions_of,
    from_json,
    knowledge_of,
    publish,
    to_json,
    to_pmml,
    to_rules,
    tree_from,
)
from anonymizer.records import descend
from anonymizer.repair import pruned_to, repairs
from anonymizer.schema import Schema


def table_of(seed: int, n: int = 60, classes: int = 3, missing: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b, x = rng.integers(0, 3, n), rng.integers(0, 4, n), rng.integers(0, 8, n)
    y = (a + (x > 4) + rng.integers(0, classes, n) * (rng.random(n) < 0.5)) % classes
    numbers = x.astype(float)
    if missing:
        numbers[rng.random(n) < 0.15] = np.nan
    letters = np.array(list("pqrs"), dtype=object)
    return pd.DataFrame({"a": letters[a], "b": letters[b], "x": numbers, "y": np.array(list("uvwz"))[y]})


def grown(
    seed: int, splits: str = "multiway", measure: str = "entropy", *, missing: bool = False, **shape: int
) -> tuple[KeyedTree, Rule]:
    table = table_of(seed, shape.pop("n", 60), shape.pop("classes", 3), missing)
    schema = Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"])
    encoded = encode(table, schema)
    keys = keys_of(encoded)
    least, depth = shape.get("least", 2), shape.get("depth", 3)
    if splits == "binary":
        outline = outline_of(grow(encoded, measure, least, depth), keys.encodings)
    else:
        outline = grow_multiway(keys, measure, least, depth)
    return keyed(outline, keys), Rule(measure, splits, least if splits == "binary" else 1)


TREES = [
    (seed, splits, measure)
    for seed in range(3)
    for splits, measure in [
        ("multiway", "gini"),
        ("multiway", "entropy"),
        ("multiway", "gain-ratio"),
        ("binary", "gini"),
        ("binary", "entropy"),
    ]
]


def test_keyed__places_every_record_where_descending_does() -> None:
    table = table_of(1, 200, missing=True)
    schema = Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"])
    encoded = encode(table, schema)
    tree = grow(encoded, "entropy", 3)
    placed = keyed(outline_of(tree, encoded.encodings), keys_of(encoded))
    assert placed.n.tolist() == tree.n.tolist()
    assert placed.sums.tolist() == tree.sums.tolist()
    leaf = {tuple(row): int(at) for row, at in zip(encoded.codes.tolist(), descend(tree, encoded), strict=True)}
    assert [leaf[tuple(row)] for row in placed.keys.codes.tolist()] == placed.leaf_of_key.tolist()
    assert placed.keys.counts.sum() == len(table)
    assert (placed.keys.classes.sum(axis=1) == placed.keys.counts).all()


def test_keyed__cut_tree_has_the_groups_of_the_cut() -> None:
    table = table_of(2, 200)
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"]))
    tree = grow(encoded, "gini", 2)
    inner = [int(node) for node in np.flatnonzero(~tree.is_leaf) if tree.depth[node] == 2]
    placed = keyed(outline_of(tree, encoded.encodings, inner), keys_of(encoded))
    assert sorted(placed.n[placed.outline.leaves]) == sorted(
        tree.n[node] for node in range(tree.n_nodes) if node in inner or (tree.is_leaf[node] and tree.depth[node] <= 2)
    )


def test_grow_multiway__asks_the_best_question_of_each_node() -> None:
    for seed in range(4):
        for measure in ("gini", "entropy", "gain-ratio"):
            tree, rule = grown(seed, "multiway", measure, missing=True)
            for node in np.flatnonzero(tree.outline.feature >= 0):
                children = np.array(tree.outline.children[node])
                asked = measured(tree.sums[children].astype(float), measure)
                run = slice(tree.first[node], tree.last[node])
                for candidate in candidates_of(tree, rule, int(node)):
                    side = candidate.group[tree.keys.codes[run, candidate.column]]
                    groups = np.array([tree.keys.classes[run][side == s].sum(axis=0) for s in np.unique(side)])
                    assert asked <= measured(groups.astype(float), measure) + 1e-9


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_truth__breaks_no_constraint(seed: int, splits: str, measure: str) -> None:
    tree, rule = grown(seed, splits, measure, missing=True)
    assert residuals(tree, Knowledge(True, True, rule), tree.truth).worst < 1e-12


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_slacks__are_those_of_the_best_candidate(seed: int, splits: str, measure: str) -> None:
    tree, rule = grown(seed, splits, measure)
    posterior = closed_form(tree, True)
    masses = posterior * tree.keys.counts[:, None]
    found = {(c.node, c.column): slack for c, slack in all_slacks(tree, rule, posterior)}
    slow: dict[tuple[int, int], float] = {}
    for node in np.flatnonzero(tree.outline.feature >= 0):
        run = slice(tree.first[node], tree.last[node])
        groups = np.array([masses[tree.first[c] : tree.last[c]].sum(axis=0) for c in tree.outline.children[node]])
        asked = measured(groups, measure)
        for candidate in candidates_of(tree, rule, int(node)):
            side = candidate.group[tree.keys.codes[run, candidate.column]]
            parts = np.array([masses[run][side == s].sum(axis=0) for s in np.unique(side)])
            slack = (measured(parts, measure) - asked) / tree.n[node]
            place = int(node), candidate.column
            slow[place] = min(slow.get(place, np.inf), slack)
    assert slow
    for place, slack in slow.items():
        assert found[place] == pytest.approx(slack, abs=1e-9)


def test_count_constraints__of_two_columns_by_hand() -> None:
    table = pd.DataFrame({"a": list("ppqq") * 3, "b": list("rsrs") * 3, "y": list("uuvw") * 3})
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b"], sensitive=["y"]))
    keys = keys_of(encoded)
    tree = keyed(grow_multiway(keys, "gini"), keys)
    counts = count_constraints(tree, Knowledge(True, True, Rule("gini")))
    leaves = int((tree.n[tree.outline.leaves] > 0).sum())
    # The root asks a or b and could have asked the other; below it one column is left, without a rival.
    assert (counts.qi, counts.rate, counts.label, counts.sa, counts.internal) == (4, leaves, 2 * leaves, 3, 1)


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
def test_maximum_entropy__keeps_every_constraint_and_its_bound(seed: int, splits: str, measure: str) -> None:
    tree, rule = grown(seed, splits, measure)
    for totals in (False, True):
        estimate = maximum_entropy(tree, Knowledge(True, totals, rule), starts=2)
        assert estimate.converged
        assert estimate.residuals.worst <= 1e-6
        assert estimate.entropy <= estimate.bound + 1e-7
        truth = figures_of(tree, tree.truth)
        assert truth.mean_divergence == pytest.approx(0, abs=1e-12)


def test_maximum_entropy__no_feasible_point_nearby_has_more() -> None:
    tree, rule = grown(5, "multiway", "entropy", n=40)
    knowledge = Knowledge(True, False, rule)
    estimate = maximum_entropy(tree, knowledge, starts=4)
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(400):
        other = estimate.posterior * np.exp(rng.normal(0, 0.02, estimate.posterior.shape))
        part = rng.random()
        other = (1 - part) * estimate.posterior + part * (other / other.sum(axis=1, keepdims=True))
        if residuals(tree, knowledge, other).worst < 1e-9:
            tried += 1
    mixed = [(1 - t) * estimate.posterior + t * tree.truth for t in np.linspace(0.01, 1, 50)]
    from anonymizer.maxent import conditional_entropy

    for other in mixed:
        if residuals(tree, knowledge, other).worst < 1e-9:
            assert conditional_entropy(tree, other) <= estimate.entropy + 1e-7


def test_totals_without_rates__agree_with_a_general_solver() -> None:
    from scipy.optimize import minimize

    tree, _ = grown(7, depth=1, n=50)
    estimate = maximum_entropy(tree, Knowledge(False, True))
    leaves = tree.outline.leaves[tree.n[tree.outline.leaves] > 0]
    n, c = tree.n[leaves].astype(float), tree.n_classes

    def negative(p: np.ndarray) -> float:
        q = np.clip(p.reshape(-1, c), 1e-12, 1)
        return float((n[:, None] * q * np.log(q)).sum() / n.sum())

    rules = [{"type": "eq", "fun": lambda p: p.reshape(-1, c).sum(axis=1) - 1}]
    rules.append({"type": "eq", "fun": lambda p: (n @ p.reshape(-1, c) - tree.sums[0])[:-1] / n.sum()})
    label = tree.label[leaves]
    rules.append(
        {
            "type": "ineq",
            "fun": lambda p: (p.reshape(-1, c)[np.arange(len(n)), label][:, None] - p.reshape(-1, c)).ravel(),
        }
    )
    start = (tree.sums[leaves] / n[:, None]).ravel()
    found = minimize(negative, start, bounds=[(0, 1)] * len(start), constraints=rules, options={"maxiter": 500})
    assert found.success
    assert estimate.entropy == pytest.approx(-found.fun, abs=1e-5)
    assert estimate.converged


def test_filled__reaches_its_target_with_caps() -> None:
    rng = np.random.default_rng(0)
    rates, caps = rng.random((50, 6)), rng.random((50, 6))
    targets = rng.random(50) * caps.sum(axis=1)
    t = filled(rates, caps, targets)
    assert np.minimum(caps, rates * t[:, None]).sum(axis=1) == pytest.approx(targets)


def test_cancel__ends_the_estimate() -> None:
    tree, rule = grown(1, "multiway", "entropy", n=400)
    with pytest.raises(CancelledError):
        maximum_entropy(tree, Knowledge(False, True), cancelled=lambda: True)


# Whole people.


def assignments(tree: KeyedTree, knowledge: Knowledge) -> Iterator[np.ndarray]:
    """Every way to give classes to people that agrees with what is known, as class counts of the keys: by hand."""
    c = tree.n_classes
    owner = np.repeat(np.arange(tree.n_keys), tree.keys.counts)
    for classes in itertools.product(range(c), repeat=len(owner)):
        counts = np.zeros((tree.n_keys, c), dtype=int)
        np.add.at(counts, (owner, np.array(classes)), 1)
        if agrees(tree, knowledge, counts):
            yield counts


def agrees(tree: KeyedTree, knowledge: Knowledge, counts: np.ndarray) -> bool:
    for leaf in tree.outline.leaves:
        total = counts[tree.first[leaf] : tree.last[leaf]].sum(axis=0)
        if tree.n[leaf] and total.max() > total[tree.label[leaf]]:
            return False
        if knowledge.rates and total[tree.label[leaf]] != tree.correct[leaf]:
            return False
    if knowledge.totals and (counts.sum(axis=0) != tree.sums[0]).any():
        return False
    if knowledge.rule is None:
        return True
    posterior = counts / tree.keys.counts[:, None]
    return all(slack >= -1e-9 for _, slack in all_slacks(tree, knowledge.rule, posterior))


@pytest.mark.parametrize("rates", [True, False])
@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize(("splits", "measure"), [("multiway", "entropy"), ("multiway", "gini"), ("binary", "gini")])
def test_integer_posterior__is_that_of_all_assignments(rates: bool, totals: bool, splits: str, measure: str) -> None:
    for seed in (1, 2):
        tree, rule = grown(seed, splits, measure, n=9, depth=2, least=1, classes=2)
        for known in (None, rule):
            knowledge = Knowledge(rates, totals, known)
            every = list(assignments(tree, knowledge))
            expected = np.mean(every, axis=0) / tree.keys.counts[:, None]
            found = integer_posterior(tree, knowledge)
            assert found.exact.all()
            assert found.posterior == pytest.approx(expected, abs=1e-9)


def test_integer_posterior__says_where_it_cannot_count() -> None:
    tree, rule = grown(3, "multiway", "entropy", n=300)
    found = integer_posterior(tree, Knowledge(True, True, rule), limit=50)
    assert not found.exact.any()
    assert np.isnan(found.posterior).all()


# Figures, repair, publishing.


def test_figures__by_hand() -> None:
    tree, _ = grown(1, n=30)
    posterior = closed_form(tree, True)
    found = figures_of(tree, posterior)
    slow = [
        sum(t * math.log(t / p) for t, p in zip(truth, row, strict=True) if t > 0)
        for truth, row in zip(tree.truth, posterior, strict=True)
    ]
    assert found.divergence == pytest.approx(np.maximum(slow, 0), abs=1e-12)
    assert found.accuracy == pytest.approx(tree.correct[tree.outline.leaves].sum() / tree.n_records)
    assert found.people_above(0) == tree.n_records


def test_figures__an_estimate_that_rules_the_truth_out_is_infinitely_far() -> None:
    tree, _ = grown(1, n=30)
    wrong = np.zeros_like(tree.truth)
    wrong[np.arange(len(wrong)), (tree.truth.argmax(axis=1) + 1) % tree.n_classes] = 1.0
    assert figures_of(tree, wrong).mean_divergence == math.inf


def test_assumptions__more_knowledge_never_raises_entropy() -> None:
    tree, rule = grown(4, "multiway", "gini")
    found = {k: assess(tree, k, starts=2).estimate.entropy for k in assumptions(rule)}
    assert len(found) == 8
    for few, many in itertools.product(found, repeat=2):
        if few.rates <= many.rates and few.totals <= many.totals and (few.rule is None or many.rule is not None):
            assert found[many] <= found[few] + 1e-5


def test_most_exposed__highest_first() -> None:
    tree, _ = grown(2, n=100)
    groups = most_exposed(tree, assess(tree, Knowledge()))
    posteriors = [group.posterior for group in groups]
    assert posteriors == sorted(posteriors, reverse=True)
    assert groups[0].records <= tree.n[groups[0].node]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bound", [0.5, 0.7, 0.9])
def test_repair__is_the_largest_tree_that_keeps_the_bound(seed: int, bound: float) -> None:
    tree, _ = grown(seed, n=120, depth=4)
    found = pruned_to(tree, Knowledge(), bound)
    blind = tree.sums[0].max() / tree.n_records
    assert found.possible == (blind <= bound)
    if not found.possible:
        return
    outline = tree.outline

    def least_error(node: int) -> float:
        """The least error of a branch in which every leaf keeps the bound; infinite when there is none."""
        if not tree.n[node]:
            return 0.0
        own = tree.error[node] if tree.correct[node] <= bound * tree.n[node] else math.inf
        if outline.feature[node] < 0:
            return own
        return min(own, sum(least_error(child) for child in outline.children[node]))

    leaves = found.tree.outline.leaves
    assert found.tree.error[leaves].sum() == least_error(0)
    assert found.exposure.figures.highest_posterior <= bound + 1e-6
    assert found.accuracy == pytest.approx(1 - least_error(0) / tree.n_records)


def test_repair__with_the_growing_rule_keeps_the_bound_too() -> None:
    tree, rule = grown(2, "multiway", "entropy", n=120)
    for way in repairs(tree, Knowledge(True, False, rule), 0.75):
        assert way.possible
        again = assess(way.tree, way.knowledge)
        assert again.figures.highest_posterior <= 0.75 + 1e-5


def test_repair__impossible_bound_is_refused() -> None:
    tree, _ = grown(2)
    with pytest.raises(ParameterError, match="blind guess"):
        repairs(tree, Knowledge(), 0.3)


def test_collapsed__keeps_what_is_above() -> None:
    tree, _ = grown(3, n=100)
    inner = [int(node) for node in np.flatnonzero(tree.outline.feature >= 0)][1:2]
    outline, kept = collapsed(tree.outline, inner)
    again = keyed(outline, tree.keys)
    assert again.n.tolist() == tree.n[kept].tolist()
    assert inner[0] in kept[outline.leaves]


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES[:5])
@pytest.mark.parametrize("rates", [True, False])
def test_publish__read_back_is_the_same_tree_with_the_same_fields(
    seed: int, splits: str, measure: str, rates: bool
) -> None:
    tree, rule = grown(seed, splits, measure, missing=True)
    for knowledge in (Knowledge(rates), Knowledge(rates, True, rule)):
        document = from_json(to_json(publish(tree, knowledge)))
        assert document == publish(tree, knowledge)
        assert knowledge_of(document) == knowledge
        again = tree_from(document, tree.keys)
        assert again.leaf_of_key.tolist() == tree.leaf_of_key.tolist()
        assert again.label.tolist() == tree.label.tolist() or again.error.sum() == tree.error.sum()
        held = {key for node in document["nodes"] for key in node}
        assert held <= {"column", "children", "label", "error_rate"}
        assert ("error_rate" in held) == rates


def test_publish__rules_name_every_leaf() -> None:
    tree, _ = grown(1, "binary", missing=True)
    document = publish(tree, Knowledge())
    lines = to_rules(document).splitlines()
    assert len(lines) == len(tree.outline.leaves)
    assert all(line.startswith("if ") and " then y = " in line for line in lines)
    assert len(set(conditions_of(document).values())) == tree.outline.n_nodes


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_publish__pmml_sends_every_record_to_its_leaf(splits: str) -> None:
    tree, _ = grown(1, splits, missing=True)
    root = ElementTree.fromstring(to_pmml(publish(tree, Knowledge())))
    space = {"p": PMML_NAMESPACE}
    top = root.find("p:TreeModel/p:Node", space)
    assert top is not None
    for row, leaf in zip(tree.keys.codes.tolist(), tree.leaf_of_key.tolist(), strict=True):
        values = {e.name: e.text(code) for e, code in zip(tree.keys.encodings, row, strict=True)}
        node = top
        while inner := node.findall("p:Node", space):
            (node,) = [child for child in inner if admits(child, values)]
        assert node.get("id") == str(leaf)
        assert node.get("score") == tree.keys.labels[tree.label[leaf]]
        (rate,) = node.findall("p:Extension", space)
        assert float(rate.get("value", "")) == pytest.approx(tree.error[leaf] / tree.n[leaf])


def admits(node: ElementTree.Element, values: dict[str, str | None]) -> bool:
    predicates = [holds(part, values) for part in node if part.tag.split("}")[1] not in ("Node", "Extension")]
    assert len(predicates) == 1
    return predicates[0] is True


def holds(part: ElementTree.Element, values: dict[str, str | None]) -> bool | None:
    """A PMML predicate, ``None`` for unknown."""
    kind = part.tag.split("}")[1]
    if kind == "True":
        return True
    if kind == "CompoundPredicate":
        assert part.get("booleanOperator") == "or"
        inside = [holds(inner, values) for inner in part]
        return True if True in inside else None if None in inside else False
    value = values[part.get("field", "")]
    if part.get("operator") in ("isMissing", "isNotMissing"):
        return (value is None) == (part.get("operator") == "isMissing")
    if value is None:
        return None
    if kind == "SimpleSetPredicate":
        return value in [text.strip('"') for text in (part[0].text or "").split(" ")]
    limit = float(part.get("value", ""))
    return float(value) <= limit if part.get("operator") == "lessOrEqual" else float(value) > limit


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "copse-published-tree", "version": 1}', "null", "3"])
def test_publish__what_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="not a published tree"):
        from_json(text)


def test_publish__another_table_is_refused() -> None:
    tree, _ = grown(1, "binary")
    other, _ = grown(2, "binary")
    with pytest.raises(ParameterError, match="not made from this table"):
        tree_from(publish(tree, Knowledge()), other.keys)


def test_candidate__names_tell_sides_apart() -> None:
    first, second = np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    assert Candidate(0, 0, first).name != Candidate(0, 0, second).name


def test_command__figures_repair_and_the_file_assessed_again(tmp_path, capsys) -> None:
    path, out = tmp_path / "people.csv", tmp_path / "tree.json"
    table_of(3, 200).to_csv(path, index=False)
    asked = ["disclosure", str(path), "--quasi-identifying", "a,b,x", "--target", "y", "--json"]
    assert main([*asked, "--max-depth", "3", "--criterion", "entropy", "--compare", "--exact"]) == 0
    told = json.loads(capsys.readouterr().out)
    for name in ("keys", "variables", "active", "mean_divergence", "highest_posterior", "seconds", "status"):
        assert name in told
    assert len(told["assumptions"]) == 8
    assert main([*asked, "--max-depth", "3", "--bound", "0.6"]) == 1
    capsys.readouterr()
    repairing = [*asked, "--no-internal", "--bound", "0.6", "--repair", "prune", "--out", str(out)]
    assert main(repairing) == 0
    repaired = json.loads(capsys.readouterr().out)
    assert repaired["repair"]["kept"]
    assert main([*asked, "--tree", str(out), "--bound", "0.6"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["highest_posterior"] == pytest.approx(repaired["highest_posterior"])
    assert main([*asked, "--repair"]) == 2
    assert "needs a bound" in capsys.readouterr().err


def test_figures_of_shares__are_those_of_the_keys() -> None:
    table = table_of(6, 80)
    encoded = encode(table, Schema.of(table, quasi_identifying=["a", "b", "x"], sensitive=["y"]))
    tree = keyed(grow_multiway(keys_of(encoded), "gini", 2, 2), keys_of(encoded))
    posterior = closed_form(tree, True)
    of_key = {tuple(row): share for row, share in zip(tree.keys.codes.tolist(), posterior, strict=True)}
    shares = np.array([of_key[tuple(row)] for row in encoded.codes.tolist()])
    by_record = figures_of_shares(encoded.codes, encoded.target.codes, shares)
    by_key = figures_of(tree, posterior)
    assert by_record.mean_divergence == pytest.approx(by_key.mean_divergence)
    assert by_record.accuracy == pytest.approx(by_key.accuracy)
    assert by_record.people_above(0.7) == by_key.people_above(0.7)


def test_leaves_alone__ignore_how_the_tree_was_grown() -> None:
    tree, rule = grown(2)
    assert (
        leaves_alone(tree, Knowledge(rule=rule)).mean_divergence
        == figures_of(tree, closed_form(tree, True)).mean_divergence
    )
