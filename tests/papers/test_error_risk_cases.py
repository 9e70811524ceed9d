"""Yang et al. 2019: node measures (1) to (10), error-risk pruning and the least pruning, on reference trees."""

from typing import Any

import numpy as np
import pytest

from anonymizer.groups.prune import Pruning, prune
from anonymizer.groups.risk import annotate
from tests import naive
from tests.cases import Case, describe, load, number, tree_of

FIGURE = "y19_figure_1"
CASES = [
    pytest.param(case, id=f"{name}-{case['name']}")
    for name in (FIGURE, "y19_error_risk", "degenerate")
    for case in load(name)
    if "class" in case
]
FIELDS = {
    "BIG": "big",
    "ICR": "icr",
    "R": "tidi",
    "E": "error",
    "RB": "branch_tidi",
    "EB": "branch_error",
    "omega": "error_risk",
}


@pytest.mark.parametrize("reference", CASES)
def test_tree_of_says_what_the_case_says(reference: dict[str, Any]) -> None:
    case = tree_of(reference)
    ours = {node["id"] - 1: node for node in describe(case.tree, case.encoded)}
    for node in reference["tree"]:
        mine = ours[case.ids[node["id"]]]
        for key in ("n", "records", "path_domain", "attr", "threshold", "left_categories"):
            assert mine.get(key) == node.get(key), (node["id"], key)
        assert [case.ids[child] + 1 for child in node.get("children", [])] == mine.get("children", [])


@pytest.mark.parametrize("reference", CASES)
def test_every_measure_of_every_node(reference: dict[str, Any]) -> None:
    case = tree_of(reference)
    risk = annotate(case.tree, case.encoded)
    for node_id, measures in reference["nodes"].items():
        t = case.ids[int(node_id)]
        for name, value in measures.items():
            assert getattr(risk, FIELDS[name])[t] == pytest.approx(number(value), rel=1e-9, abs=1e-12), (node_id, name)
        if "omega" not in measures:
            assert np.isnan(risk.error_risk[t])


@pytest.mark.parametrize("reference", CASES)
def test_error_risk_takes_the_references_steps(reference: dict[str, Any]) -> None:
    case = tree_of(reference)
    pruning = prune(case.tree, annotate(case.tree, case.encoded), "error-risk", reference["k"])
    check_log(case, pruning, reference["error_risk"])


@pytest.mark.parametrize("reference", CASES)
def test_least_keeps_the_references_leaves(reference: dict[str, Any]) -> None:
    case = tree_of(reference)
    pruning = prune(case.tree, annotate(case.tree, case.encoded), "least", reference["k"])
    assert groups(case, pruning) == reference["least"]


@pytest.mark.parametrize("reference", CASES)
def test_naive_twins_agree_with_the_reference(reference: dict[str, Any]) -> None:
    case = tree_of(reference)
    attributes = naive.attributes_of(case.table, case.schema)
    target = case.encoded.target
    nodes = [
        next(node for node in reference["tree"] if case.ids[node["id"]] == t) for t in range(len(reference["tree"]))
    ]
    measured = naive.measures(nodes, attributes, target.codes.tolist(), target.n_classes)
    for node_id, expected in reference["nodes"].items():
        assert measured[int(node_id)] == pytest.approx({name: number(v) for name, v in expected.items()}, abs=1e-12)
    log, leaves = naive.error_risk(nodes, measured, reference["k"])
    assert [step["node"] for step in log] == [step["node"] for step in reference["error_risk"]["log"]]
    assert leaves == set(map(int, reference["error_risk"]["leaves"]))
    sizes = {node["id"]: node["n"] for node in nodes}
    expected_leaves = set(map(int, reference["least"]))
    assert naive.least(nodes, lambda node_id: sizes[node_id] >= reference["k"]) == expected_leaves


@pytest.fixture
def figure() -> Case:
    """Figure 1 of Y19: 14 people, k = 3."""
    (reference,) = load(FIGURE)
    return tree_of(reference)


def test_figure_1__printed_numbers_hold_to_their_digits(figure: Case) -> None:
    # Y19, Figure 1 and Section 4: R(t6), R(B6), omega and errors as printed, three decimals.
    risk = annotate(figure.tree, figure.encoded)
    ours = {
        "R": risk.tidi,
        "RB": risk.branch_tidi,
        "omega": risk.error_risk,
        "E": risk.error,
        "EB": risk.branch_error,
    }
    printed = figure.content["printed"]
    assert len(printed) == 11
    for label, value in printed.items():
        name = label.rstrip("0123456789")
        assert ours[name][figure.ids[int(label[len(name) :])]] == pytest.approx(value, abs=6e-4), label


def test_figure_1__erratum_the_root_goes_last(figure: Case) -> None:
    # As printed, the root would compete and win at step 2 with omega = .2018, which contradicts the paper's Table 1.
    pruning = prune(figure.tree, annotate(figure.tree, figure.encoded), "error-risk", 3)
    assert figure.content["steps_as_printed"] == [6, 1]
    assert [figure.ids[node] for node in (6, 2)] == pruning.steps.tolist()
    assert figure.tree.n[pruning.cut()].tolist() == [5, 5, 4]


def check_log(case: Case, pruning: Pruning, expected: dict[str, Any]) -> None:
    log = expected["log"]
    assert pruning.steps.tolist() == [case.ids[step["node"]] for step in log]
    assert pruning.ratios.tolist() == pytest.approx([number(step["omega"]) for step in log], rel=1e-9)
    assert pruning.smallest.tolist() == [step["smallest"] for step in log]
    assert case.tree.n[pruning.steps].tolist() == [step["n"] for step in log]
    assert pruning.satisfied == expected["satisfied"]
    assert groups(case, pruning) == expected["leaves"]


def groups(case: Case, pruning: Pruning) -> dict[str, list[int]]:
    """The records of each group of the cut, by the case's own node number."""
    names = {t: str(node_id) for node_id, t in case.ids.items()}
    records = {node["id"] - 1: node["records"] for node in describe(case.tree, case.encoded)}
    return {names[t]: records[t] for t in pruning.cut().tolist()}
