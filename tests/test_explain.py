"""Trees in words: rules hold for exactly their records, sentences hold true numbers."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from anonymizer.encode import encode
from anonymizer.explain import (
    explain_leaf,
    group_table,
    number_text,
    regions,
    rule_text,
    step_text,
    threshold_text,
    worst_groups,
)
from anonymizer.grow import grow
from anonymizer.limits import Limits, margins
from anonymizer.prune import prune
from anonymizer.records import descend
from anonymizer.risk import annotate
from anonymizer.schema import Schema
from anonymizer.tree import region
from tests.cases import load, tree_of
from tests.drawn_trees import grown_tree, numbers_tree, table


@pytest.fixture(scope="module")
def grown():
    return grown_tree()


@pytest.fixture(scope="module")
def by_numbers():
    return numbers_tree()


@pytest.fixture(scope="module")
def figure1(shared):
    case = tree_of(load("paper_icis2019_figure1")[0])
    return case, annotate(case.tree, case.encoded)


# Words.


def test_rule_text__admits_exactly_the_records_of_the_node(grown) -> None:
    """Read the words back: every record that satisfies them reaches the node, and no other."""
    from anonymizer.records import descend

    encoded, tree, _ = grown
    frame, _ = table()
    leaf = descend(tree, encoded)
    for node in range(tree.n_nodes):
        inside = (leaf >= node) & (leaf < node + tree.size[node])
        said = np.ones(len(frame), dtype=bool)
        for part in rule_text(tree, encoded.encodings, node).split(" and "):
            said &= satisfied(part, frame)
        assert (said == inside).all(), rule_text(tree, encoded.encodings, node)


def test_regions__are_those_of_each_node(grown) -> None:
    encoded, tree, _ = grown
    found = regions(tree, encoded.encodings, range(tree.n_nodes))
    assert set(found) == set(range(tree.n_nodes))
    for node, conditions in found.items():
        assert conditions == region(tree, encoded.encodings, node)
    some = regions(tree, encoded.encodings, [tree.n_nodes - 1])
    assert set(some) == set(tree.path(tree.n_nodes - 1))


def satisfied(part: str, frame: pd.DataFrame) -> np.ndarray:
    """Which rows satisfy one condition in words."""
    if part == "all records":
        return np.ones(len(frame), dtype=bool)
    name = next(name for name in frame if name in part)
    values = frame[name]
    if part == f"{name} missing":
        return values.isna().to_numpy()
    if part in (f"{name} present", f"{name} missing or not"):
        return np.ones(len(frame), bool) if "or not" in part else values.notna().to_numpy()
    core = part.removesuffix(" or missing")
    held = values.isna().to_numpy() & (core != part)
    read = pd.Timestamp if name == "day" else float
    if match := re.fullmatch(rf"(?:(\S+) < )?{name}(?: ([≤>]) (\S+))?", core):
        low, sign, end = match.groups()
        inside = values.notna().to_numpy().copy()
        if low:
            inside &= (values > read(low)).to_numpy()
        inside &= ((values <= read(end)) if sign == "≤" else (values > read(end))).to_numpy()
        return inside | held
    if match := re.fullmatch(rf"{name} ([=≠]) (\w+)", core):
        return ((values == match[2]) == (match[1] == "=")).to_numpy()
    levels = re.fullmatch(rf"{name} in {{(.*)}}", core)[1].split(", ")
    return values.isin(levels).to_numpy()


def test_threshold_text__parts_the_same_values() -> None:
    values = [0.1, 0.1000000001, 0.3, 12345.678, 12345.679, 9e15]
    frame = pd.DataFrame({"x": values})
    (encoding,) = encode(frame, Schema.of(frame, quasi_identifying=["x"])).encodings
    for low, high in zip(values, values[1:], strict=False):
        shown = float(threshold_text(encoding, (low + high) / 2))
        assert low <= shown < high
    assert threshold_text(encoding, 0.2) == "0.2"


def test_step_text__is_brief_and_complete_in_the_rule() -> None:
    levels = [f"a rather long level number {number}" for number in range(9)]
    frame = pd.DataFrame({"column": levels * 4, "class": (["x"] * 5 + ["y"] * 4) * 4})
    encoded = encode(frame, Schema.of(frame, quasi_identifying=["column"], sensitive=["class"]))
    tree = grow(encoded)
    brief = step_text(tree, encoded.encodings, 1, brief=True)
    assert re.fullmatch(r"column in \{a rather long level n…?.*, … 5 of 9\}", brief)
    assert all(level in rule_text(tree, encoded.encodings, 1) for level in levels[:5])
    assert region(tree, encoded.encodings, 1)[0].codes == tuple(range(5))


# Why records were merged.


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_explain_leaf__numbers_are_those_of_the_tree(grown, criterion: str) -> None:
    encoded, tree, risk = grown
    pruning = prune(tree, risk, criterion, 8)
    cut = pruning.cut()
    kinds = set()
    for node in range(tree.n_nodes):
        said = explain_leaf(tree, risk, pruning, encoded.encodings, node)
        assert said.count(". ") == 0
        assert said.endswith(".")
        assert f" {tree.n[node]:,} record" in said
        branch = np.arange(node, node + tree.size[node])
        leaves = branch[tree.is_leaf[branch]]
        if node not in cut and not any(t in cut for t in tree.path(node)):
            inside = np.intersect1d(branch, cut)
            assert f"divided into {len(inside)} groups" in said
            assert f"smallest of {tree.n[inside].min()} record" in said
            kinds.add("divided")
        elif node in cut and len(leaves) > 1:
            apart = (tree.n[leaves] - tree.sums[leaves].max(axis=1)).sum()
            errors = int(tree.n[node] - tree.sums[node].max() - apart)
            harder = risk.tidi[node] - risk.tidi[leaves].min()
            assert f"merging the {len(leaves)} leaves" in said
            assert (f"cost {errors} more misclassified" in said) if errors else ("cost no further error" in said)
            assert (f"{harder:.2f} bits harder" in said) if harder >= 0.005 else ("as it was" in said)
            few = re.search(r"(?:left a group of|\) had) (\d+)", said)
            assert int(few[1]) < 8
            assert int(few[1]) == smallest_before(pruning, node)
            assert "fewer than k = 8" in said
            kinds.add("merged")
        elif node in cut:
            assert "not merged" in said
            kinds.add("leaf")
        else:
            assert "merged into a larger group" in said
            kinds.add("inside")
    assert kinds >= {"divided", "merged", "inside"}


def smallest_before(pruning, node: int) -> int:
    """Records of the smallest group in the branch just before it was collapsed, by replaying the steps."""
    tree = pruning.tree
    ends = set(np.flatnonzero(tree.is_leaf))
    for step in pruning.steps:
        branch = {t for t in ends if step <= t < step + tree.size[step]}
        if step == node:
            return int(min(tree.n[t] for t in branch))
        ends = (ends - branch) | {int(step)}
    raise AssertionError(node)


@pytest.mark.parametrize("criterion", ["least", "error-risk"])
def test_explain_leaf__holds_at_every_step(grown, criterion: str) -> None:
    encoded, tree, risk = grown
    pruning = prune(tree, risk, criterion, 8)
    for after in range(0, pruning.n_steps + 1, 5):
        for node in pruning.cut(after):
            said = explain_leaf(tree, risk, pruning, encoded.encodings, int(node), after)
            if tree.is_leaf[node]:
                assert ("not merged" in said) == (tree.n[node] >= 8)
                assert ("later step" in said) == (tree.n[node] < 8)
            else:
                assert "were merged because" in said
                few = re.search(r"group of (\d+), fewer than k = 8|had (\d+) records?, fewer than k = 8", said)
                assert int(few[1] or few[2]) < 8


def test_explain_leaf__figure_1(figure1) -> None:
    case, risk = figure1
    encodings = case.encoded.encodings
    pruning = prune(case.tree, risk, "error-risk", 3)
    said = explain_leaf(case.tree, risk, pruning, encodings, case.ids[6])
    assert said.startswith("These 5 records were merged because the split on Age ≤ 65 left a group of 2, fewer than k")
    assert "0.445 bits for each record of error" in said  # printed ω6
    assert "cost 2 more misclassified records" in said  # E6 − EB6
    assert f"{4.322 - 3.432:.2f} bits harder" in said  # printed R6, RB6
    least = explain_leaf(case.tree, risk, prune(case.tree, risk, "least", 3), encodings, case.ids[6])
    assert "ω" not in least
    assert "error-risk" not in least
    untouched = explain_leaf(case.tree, risk, pruning, encodings, case.ids[7])
    assert untouched == "These 4 records were not merged: they are a leaf of the grown tree, and at least k = 3."


def test_explain_leaf__numbers_alone_have_no_classes_and_other_limits_are_named(figure1) -> None:
    case, risk = figure1
    pruning = replace(prune(case.tree, risk, "least", 3), k=2)  # as if another limit than k had merged these
    said = explain_leaf(case.tree, risk, pruning, case.encoded.encodings, case.ids[6])
    assert "other limits" in said
    assert "fewer than" not in said
    one_class = replace(case.tree, sums=case.tree.n[:, None].copy())
    said = explain_leaf(one_class, risk, prune(one_class, risk, "least", 3), case.encoded.encodings, case.ids[6])
    assert "misclassified" not in said
    assert "error" not in said
    assert "0.89 bits harder" in said


def test_explain_leaf__digression_and_limits_by_their_numbers(by_numbers) -> None:
    encoded, tree, risk = by_numbers
    leaves = tree.is_leaf
    limits = Limits(k=10, rsd_min=0.3)
    pruning = prune(tree, risk, "error-digression", limits=limits, encoded=encoded)
    kept, kinds = margins(tree, risk, encoded, limits), set()
    for node in map(int, pruning.cut()):
        said = explain_leaf(tree, risk, pruning, encoded.encodings, node, limits=kept)
        if leaves[node]:
            assert "not merged" in said
            continue
        branch = np.arange(node, node + tree.size[node])
        branch = branch[leaves[branch]]
        moved = risk.numeric.digression
        assert f"from {number_text(moved[branch].sum())} to {number_text(moved[node])}" in said
        added = risk.numeric.sse[node] - risk.numeric.sse[branch].sum()
        assert f"squared error by {number_text(added)}" in said
        assert "misclassified" not in said
        few = re.search(r"(?:left a group of|\) had) (\d+)", said)
        short = re.search(r"RSD of (income|day) is ([\d.e-]+), and at least 0.3 is required", said)
        assert few or short
        assert int(few[1]) < 10 if few else float(short[2]) < 0.3
        kinds.add("few" if few else "short")
    assert kinds == {"few", "short"}
    pairs = Limits(k=2, rsd_min=0.3)
    pruning = prune(tree, risk, "error-digression", limits=pairs, encoded=encoded)
    kept = margins(tree, risk, encoded, pairs)
    start = [t for t in np.flatnonzero(leaves) if tree.n[t] >= 2 and risk.numeric.rsd[t].min() < 0.3]
    said = explain_leaf(tree, risk, pruning, encoded.encodings, int(start[0]), 0, limits=kept)
    assert "is required; a later step" in said


def test_explain_leaf__a_branch_that_its_own_test_offends(by_numbers) -> None:
    encoded, tree, risk = by_numbers
    pruning = prune(tree, risk, "error-digression", limits=Limits(k=1, significance=0.3), encoded=encoded)
    merged = [int(t) for t in pruning.cut() if not tree.is_leaf[t]]
    assert merged
    for node in merged:
        p_value = risk.numeric.p_value[node]
        assert p_value < 0.3
        said = explain_leaf(tree, risk, pruning, encoded.encodings, node, significance=0.3)
        assert f"unlike the whole table's (p = {p_value:.3g}, below α = 0.3)" in said


def test_worst_groups__of_a_cut(by_numbers) -> None:
    encoded, tree, risk = by_numbers
    cut = prune(tree, risk, "least", 10).cut()
    found = {worst.figure: worst for worst in worst_groups(tree, risk, encoded, cut)}
    assert set(found) == {"TIDI", "digression", "RSD", "spread"}
    assert risk.tidi[found["TIDI"].node] == min(risk.tidi[t] for t in cut)
    assert risk.numeric.digression[found["digression"].node] == max(risk.numeric.digression[t] for t in cut)
    lowest = min((risk.numeric.rsd[t, at], name) for t in cut for at, name in enumerate(risk.numeric.names))
    assert (found["RSD"].column, found["RSD"].what) == (
        lowest[1],
        f"lowest RSD: {number_text(lowest[0])} ({lowest[1]})",
    )


def test_group_table__numbers_of_every_group(by_numbers) -> None:
    encoded, tree, risk = by_numbers
    cut = prune(tree, risk, "least", 30).cut()
    groups = group_table(tree, risk, encoded.encodings, encoded.target.labels, cut)
    leaf = descend(tree, encoded)
    income = encoded.numeric.values[:, encoded.numeric.names.index("income")]
    for row in groups.itertuples():
        here = income[(leaf >= row.node) & (leaf < row.node + tree.size[row.node])]
        squared = ((here - here.mean()) ** 2).sum() / ((here - income.mean()) ** 2).sum()
        assert groups.loc[row.Index, "RSD of income"] == pytest.approx(squared)
        assert groups.loc[row.Index, "spread of income"] == pytest.approx(here.std() / income.std())
    assert pd.to_datetime(groups["mean of day"]).between("2020-01-01", "2022-07-01").all()


def test_group_table__one_row_a_group(grown) -> None:
    encoded, tree, risk = grown
    cut = prune(tree, risk, "least", 8).cut()
    groups = group_table(tree, risk, encoded.encodings, encoded.target.labels, cut)
    assert list(groups["node"]) == list(cut)
    assert groups["records"].sum() == tree.n[0]
    assert (groups["records"] - groups["E"] == (groups["records"] * groups["its share"]).round()).all()
    assert (groups["TIDI"] - groups["BIG"] - groups["ICR"]).abs().max() < 1e-9
