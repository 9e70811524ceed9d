"""The groups of a cut: their table and the worst of them."""

import pandas as pd
import pytest

from anonymizer.drawing.groups import group_table, worst_groups
from anonymizer.groups.prune import prune
from anonymizer.growing.records import descend
from anonymizer.values import number_text


def test_worst_groups__of_a_cut(number_tree) -> None:
    encoded, tree, risk = number_tree
    cut = prune(tree, risk, "least", 10).cut()
    worst_by = {worst.figure: worst for worst in worst_groups(tree, risk, encoded, cut)}
    assert set(worst_by) == {"TIDI", "digression", "RSD", "spread"}
    assert risk.tidi[worst_by["TIDI"].node] == min(risk.tidi[t] for t in cut)
    assert risk.numeric.digression[worst_by["digression"].node] == max(risk.numeric.digression[t] for t in cut)
    lowest = min((risk.numeric.rsd[t, at], name) for t in cut for at, name in enumerate(risk.numeric.names))
    assert (worst_by["RSD"].column, worst_by["RSD"].what) == (
        lowest[1],
        f"lowest RSD: {number_text(lowest[0])} ({lowest[1]})",
    )


def test_group_table__numbers_of_every_group(number_tree) -> None:
    encoded, tree, risk = number_tree
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


def test_group_table__one_row_a_group(class_tree) -> None:
    encoded, tree, risk = class_tree
    cut = prune(tree, risk, "least", 8).cut()
    groups = group_table(tree, risk, encoded.encodings, encoded.target.labels, cut)
    assert list(groups["node"]) == list(cut)
    assert groups["records"].sum() == tree.n[0]
    assert (groups["records"] - groups["E"] == (groups["records"] * groups["its share"]).round()).all()
    assert (groups["TIDI"] - groups["BIG"] - groups["ICR"]).abs().max() < 1e-9
