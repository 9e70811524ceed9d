"""Private forests: budgets on every path, domains, rules, predictions, audits, and the command line."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.audit import PAIRS, audit, lower_bound
from anonymizer.cli import main
from anonymizer.cut_points import buy_cuts
from anonymizer.domains import Attribute, CodedTable, Domains, code, domains_of, even_cuts, read_domains
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.forest import MODES, Forest, grow_and_measure, grow_forest, predict, rehearsed_accuracy
from anonymizer.forest_drawing import accuracy_figure, ledger_figure, outline, tree_dot
from anonymizer.forest_growth import Part
from anonymizer.mechanisms import Budget, RehearsalNoise
from anonymizer.private_tree import walk
from anonymizer.rehearsal import accuracy_curve
from anonymizer.rules import chosen_rules, rules_csv, rules_json, rules_of, rules_text
from anonymizer.schema import Schema


def made(n: int = 3000, seed: int = 0, widths: tuple[int, ...] = (3, 2, 4, 2)) -> CodedTable:
    """Records whose class follows their first two attributes, mostly."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, width, n) for width in widths]).astype(np.uint8)
    signal = (codes[:, 0] + codes[:, 1]) % 3
    classes = np.where(rng.random(n) < 0.9, signal, rng.integers(0, 3, n)).astype(np.uint16)
    attributes = tuple(
        Attribute(f"q{place}", tuple(f"v{value}" for value in range(width))) for place, width in enumerate(widths)
    )
    return CodedTable(Domains(attributes, Attribute("class", ("a", "b", "c"))), codes, classes)


def grown(mode: str = "strict", epsilon: float = 1.0, seed: int = 0, **parameters: Any) -> Forest:
    return grow_forest(made(), epsilon, mode=mode, noise=RehearsalNoise(np.random.default_rng(seed)), **parameters)


# Budgets.


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15)
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
    forest = grow_forest(made(n), epsilon, mode=mode, n_trees=trees, max_depth=depth, noise=noise)
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


@settings(max_examples=15)
@given(epsilon=st.floats(0.05, 4), trees=st.integers(1, 3), depth=st.integers(1, 6), n=st.integers(0, 800))
def test_strict__every_path_pays_exactly_the_budget(epsilon: float, trees: int, depth: int, n: int) -> None:
    noise = RehearsalNoise(np.random.default_rng(1))
    forest = grow_forest(made(n), epsilon, n_trees=trees, max_depth=depth, noise=noise)
    leaves = [node for tree in forest.trees for node, _ in walk(tree) if not node.children]
    assert [leaf.spent for leaf in leaves] == pytest.approx([epsilon / trees] * len(leaves), rel=1e-9)
    assert forest.ledger.spent == pytest.approx(epsilon, rel=1e-9)
    assert forest.ledger.spent == math.fsum(step[3] for step in forest.ledger.dearest)


def test_strict__counts_add_up() -> None:
    for node, _ in walk(grown().trees[0]):
        if node.children:
            np.testing.assert_allclose(np.sum([child.counts for child in node.children], axis=0), node.counts)


def test_every_public_value_has_a_child_even_when_nobody_has_it() -> None:
    table = made()
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
    roots = [tree.attribute for tree in grown(mode, 20.0, n_trees=4).trees]
    assert None not in roots
    assert len(set(roots)) == 4


def test_more_trees_than_attributes_are_refused() -> None:
    with pytest.raises(ParameterError, match="5 trees"):
        grown(n_trees=5)


@pytest.mark.parametrize("bad", [{"mode": "magic"}, {"max_depth": 0}, {"epsilon": 0.0}, {"epsilon": math.nan}])
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        grown(**bad)


def test_real_noise_is_the_default_and_its_forest_is_no_rehearsal() -> None:
    first, second = (grow_forest(made(), 1.0) for _ in range(2))
    assert not first.rehearsal
    assert first.private
    assert not first.warnings
    assert not np.array_equal(first.trees[0].drawn, second.trees[0].drawn)


def test_paper__says_that_it_is_not_private_wherever_it_goes() -> None:
    forest = grow_forest(made(), 1.0, mode="paper")
    rules = rules_of(forest)
    assert not forest.private
    for text in (rules_csv(forest, rules), rules_json(forest, rules), rules_text(forest, rules)):
        assert "NOT differentially private" in text
    assert "not private" in MODES["paper"].title.lower()


def test_rules_text__states_the_guarantee_beside_a_warning_about_domains() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 50, "class": ["p", "q"] * 50})
    forest = grow_forest(code(table, domains_of(table, "class")), 1.0)
    text = rules_text(forest, rules_of(forest))
    assert text.index("were read from the records") < text.index(MODES["strict"].guarantee)
    assert "one record added or removed" in text


def test_part__split_agrees_with_counting_by_hand() -> None:
    table = made(500)
    for value, part in enumerate(Part.whole(table).split(2)):
        rows = np.flatnonzero(table.codes[:, 2] == value)
        assert sorted(part.rows) == rows.tolist()
        assert part.class_counts.tolist() == np.bincount(table.classes[rows], minlength=3).tolist()
        for attribute, width in enumerate(table.n_levels):
            for other in range(width):
                here = rows[table.codes[rows, attribute] == other]
                expected = np.bincount(table.classes[here], minlength=3).tolist()
                assert part.counts[attribute, other].tolist() == expected


def test_predictions_follow_the_signal_and_beat_the_majority() -> None:
    table = made()
    scores = rehearsed_accuracy(table, 2.0, folds=5)
    assert scores.shape == (5,)
    assert scores.mean() > 0.85
    assert rehearsed_accuracy(table, 2.0, folds=5).tolist() == scores.tolist()


def test_measured_accuracy__costs_the_budget_once_and_is_near_the_truth() -> None:
    table = made(6000)
    measured = grow_and_measure(table, 2.0)
    assert [measured.ledger.spent, measured.forest.ledger.spent] == pytest.approx([2.0, 2.0])
    assert measured.accuracy == pytest.approx((predict(measured.forest, table.codes) == table.classes).mean(), abs=0.06)
    assert measured.right + measured.wrong == pytest.approx(1200, abs=200)
    with pytest.raises(ParameterError):
        grow_and_measure(table, 2.0, held_out=1.0)


# Domains.


def test_domains__given_beat_declared_beat_read() -> None:
    table = pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40), "c": ["p"] * 40, "t": ["u", "v"] * 20})
    schema = Schema.of(table, quasi_identifying=["a"], domains={"b": (0, 80)})
    found = domains_of(table, "t", {"a": ["x", "y", "z"]}, schema=schema)
    assert [attribute.levels for attribute in found.attributes][0] == ("x", "y", "z")
    assert found.attributes[1].cuts == tuple(range(10, 80, 10))
    assert found.read_from_data == ("c", "t")
    assert "read from the records" in found.warning
    assert not domains_of(table[["a", "t"]], "t", {"a": ["x", "y"], "t": ["u", "v"]}).warning


def test_domains__round_trip_through_json() -> None:
    given = {"a": ["x", None, "*"], "b": {"cuts": [1, 2.5], "missing": True}, "t": ["u", "v"]}
    table = pd.DataFrame({"a": ["x", None, "q"], "b": [0.5, None, 2.5], "t": ["u", "v", "v"]})
    found = domains_of(table, "t", given)
    again = domains_of(table, "t", read_domains(json.dumps(found.to_dict())))
    assert again == found
    coded = code(table, found)
    assert coded.codes.tolist() == [[0, 0], [1, 3], [2, 2]]
    assert [found.attributes[0].shown(value) for value in range(3)] == ["x", "missing", "anything else"]


@pytest.mark.parametrize("value", ["w", None])
def test_domains__a_value_outside_is_refused_with_its_place(value: str | None) -> None:
    table = pd.DataFrame({"a": ["x", "y", value], "t": ["u", "v", "v"]})
    with pytest.raises(SchemaError, match="record 3") as caught:
        code(table, domains_of(table, "t", {"a": ["x", "y"]}))
    assert (caught.value.column, caught.value.row) == ("a", 2)


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": {"cuts": []}}', '{"a": {"low": 1}}', '{"a": ["x", "x"]}'])
def test_domains__nonsense_is_refused(text: str) -> None:
    table = pd.DataFrame({"a": ["x", "y"], "t": ["u", "v"]})
    with pytest.raises(SchemaError):
        domains_of(table, "t", read_domains(text))


def test_numeric_ranges__hold_what_they_say() -> None:
    attribute = Attribute.numeric("age", [30, 40])
    values = pd.Series([-5, 29.9, 30, 39.9, 40, 1000], name="age")
    assert [attribute.shown(place) for place in attribute.codes(values)] == [
        "< 30", "< 30", "30 to < 40", "30 to < 40", ">= 40", ">= 40",
    ]  # fmt: skip
    assert even_cuts(0, 80) == [10, 20, 30, 40, 50, 60, 70]


def test_bought_cuts__follow_the_records_and_are_paid_from_the_same_budget() -> None:
    rng = np.random.default_rng(3)
    age = np.concatenate([rng.normal(30, 2, 3000), rng.uniform(0, 100, 300)]).clip(0, 99)
    table = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 3300), "t": np.where(age < 30, "u", "v")})
    given = {"age": {"low": 0, "high": 100}, "sex": ["f", "m"], "t": ["u", "v"]}
    domains = domains_of(table, "t", given)
    budget = Budget(1.0)
    better = buy_cuts(table, domains, budget, 0.1)
    assert budget.spent == pytest.approx(0.1)
    assert better.attributes[0].cuts is not None
    assert sum(25 < cut < 35 for cut in better.attributes[0].cuts) >= 4
    assert better.attributes[1] == domains.attributes[1]
    assert not better.warning
    forest = grow_forest(code(table, better), 1.0, paid=budget, n_trees=2)
    assert forest.ledger.spent == pytest.approx(1.0)
    assert forest.ledger.dearest[0][2] == "find cut points of age"
    accurate = (predict(forest, code(table, better).codes) == code(table, better).classes).mean()
    plain = grow_forest(code(table, domains), 1.0, n_trees=2)
    assert accurate > (predict(plain, code(table, domains).codes) == code(table, domains).classes).mean()


def test_bought_cuts__nothing_to_buy_costs_nothing() -> None:
    table = pd.DataFrame({"sex": ["f", "m"], "t": ["u", "v"]})
    budget = Budget(1.0)
    domains = domains_of(table, "t", {"sex": ["f", "m"], "t": ["u", "v"]})
    assert buy_cuts(table, domains, budget, 0.5) == domains
    assert budget.spent == 0


# Rules.


def test_rules__filters() -> None:
    forest = grown(epsilon=5.0)
    rules = rules_of(forest)
    domains = forest.domains
    assert len(rules) == sum(1 for _ in walk(forest.trees[0]))
    assert rules[0].premise(domains) == "always"
    chosen = chosen_rules(rules, domains, confidence=0.6, support=50, label="b", column="q0", leaves=True)
    assert chosen
    assert all(rule.confidence >= 0.6 and rule.support >= 50 and rule.is_leaf for rule in chosen)
    assert all("q0" in dict(rule.conditions(domains)) and rule.label == 1 for rule in chosen)


def test_rules__texts_read_back_and_run_nothing() -> None:
    table = pd.DataFrame({"=cmd": ["+1", "-x"] * 300, "t": ["@u", "v,w"] * 300})
    coded = code(table, domains_of(table, "t", {"=cmd": ["+1", "-x"], "t": ["@u", "v,w"]}))
    forest = grow_forest(coded, 5.0)
    rules = rules_of(forest)
    assert len(rules) == 3
    rows = list(csv.reader(io.StringIO(rules_csv(forest, rules))))
    assert len(rows) == 4
    assert all(not cell.startswith(("=", "+", "@")) for row in rows for cell in row)
    described = json.loads(rules_json(forest, rules))
    assert described["rules"][1]["if"] == [{"column": "=cmd", "value": "+1"}]
    assert described["spent"] == pytest.approx(5.0)
    assert "then t = @u" in rules_text(forest, rules)


# Audits.


def test_lower_bound__agrees_with_exact_limits() -> None:
    assert lower_bound(0, 0, 100, 0.95) == -math.inf
    assert lower_bound(100, 0, 100, 0.95) == pytest.approx(math.log(0.025 ** (1 / 100) / (1 - 0.025 ** (1 / 100))))
    assert lower_bound(50, 50, 100, 0.95) < 0


@pytest.mark.parametrize("pair", PAIRS)
def test_audit__pairs_are_neighbours(pair: str) -> None:
    fewer, more = PAIRS[pair](5)
    assert more.n_records == fewer.n_records + 1
    np.testing.assert_array_equal(more.codes[:-1], fewer.codes)


def test_audit__refutes_the_printed_algorithm() -> None:
    finding = audit("paper", 0.1, n_classes=18, runs=6000, seed=0)
    assert finding.violated
    assert finding.lower_bound > 0.15


@pytest.mark.parametrize("mode", ["strict", "paper-strict", "diffpid3", "diffpid3-weighted"])
def test_audit__does_not_refute_what_is_proved(mode: str) -> None:
    assert not audit(mode, 0.1, n_classes=18, runs=1500, seed=0).violated
    near = audit(mode, 3.0, pair="many-and-one-more", n_classes=2, max_depth=2, runs=1500, seed=0)
    assert not near.violated
    assert near.lower_bound > 0.05, "an audit that finds nothing at a large ε proves nothing"


# The command line.


@pytest.fixture
def nursery(data: Any) -> str:
    return str(data("nursery.csv.gz"))


def test_forest_command__json(nursery: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(nursery, dtype=str, keep_default_na=False)
    codebook = tmp_path / "domains.json"
    codebook.write_text(json.dumps({name: sorted(set(table[name])) for name in table.columns}))
    out = tmp_path / "rules.json"
    status = main(
        ["forest", nursery, "--target", "class", "--epsilon", "0.5", "--domains", str(codebook), "--rules", str(out),
         "--folds", "3", "--json"]
    )  # fmt: skip
    answer = json.loads(capsys.readouterr().out)
    assert status == 0
    assert answer["spent"] == pytest.approx(0.5)
    assert answer["private"]
    assert answer["warnings"] == []
    assert answer["accuracy"] > 0.8
    assert "rehearsal" in answer["accuracy_note"]
    assert len(json.loads(out.read_text())["rules"]) == answer["rules"] > 10


def test_forest_command__text_warns_of_domains_and_of_the_printed_algorithm(
    nursery: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--target", "class", "--mode", "paper", "--trees", "2"]
    assert main(["forest", nursery, *options, "--hold-out", "0.3"]) == 0
    text = capsys.readouterr().out
    assert "NOT differentially private" in text
    assert "were read from the records" in text
    assert "spent 1 of 1" in text
    assert "accuracy" in text


@pytest.mark.parametrize("options", [["--target", "nothing"], ["--target", "class", "--rules", "rules.exe"]])
def test_forest_command__bad_input(nursery: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forest", nursery, *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_audit_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--mode", "strict", "--runs", "200", "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["violated"] is False


# Drawings.


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_drawing__nodes_edges_and_the_warning(theme: str) -> None:
    forest = grown("paper", 20.0, n_trees=2)
    drawn = outline(forest, 1)
    source = tree_dot(forest, drawn, max_depth=10, theme=theme)
    assert drawn.n_nodes == sum(1 for _ in walk(forest.trees[1])) > 3
    assert source.count(" -> ") == drawn.n_nodes - 1
    assert "NOT differentially private" in source
    assert drawn.path(drawn.n_nodes - 1)[0] == 0
    folded = tree_dot(forest, drawn, max_depth=1)
    assert folded.count(" -> ") == 0
    assert "folded" in folded


def test_ledger_figure__pieces_add_up_to_the_budget() -> None:
    forest = grown("strict", 0.7, n_trees=2)
    figure = ledger_figure(forest.ledger)
    assert math.fsum(float(bar.x[0]) for bar in figure.data) == pytest.approx(0.7)
    assert "0.7" in figure.layout.title.text


def test_accuracy_curve__beside_models_without_privacy() -> None:
    curve = accuracy_curve(made(1500), ("paper", "strict"), budgets=(0.1, 5.0), folds=3)
    assert [mode for mode, _ in curve.modes] == ["paper", "strict"]
    assert curve.modes[1][1][1] > curve.majority
    assert curve.random_forest > 0.85
    assert curve.tree > 0.85
    figure = accuracy_figure(curve, 0.5)
    assert figure.layout.annotations[0].x == pytest.approx(math.log10(0.5))
    names = [trace.name for trace in figure.data]
    assert "paper (NOT private)" in names
    assert "majority class" in names
    with pytest.raises(ParameterError):
        accuracy_curve(made(4), ("strict",))
