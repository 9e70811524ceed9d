"""Groups told of another sensitive column: colours, counts and words are those of its values in the same groups."""

import numpy as np
import pandas as pd
import pytest

from anonymizer.drawing.about import as_target, looks_of
from anonymizer.drawing.leaving import leaving
from anonymizer.drawing.shades import risk_levels, risk_scores
from anonymizer.flow import Flow
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.drawn_trees import table


def flow_of(target: str) -> Flow:
    """Four hundred people with an illness, a habit, and two amounts."""
    frame, _ = table()
    rng = np.random.default_rng(2)
    habit = np.where(frame["job"] < "c", "smokes", rng.choice(["smokes", "runs", "sleeps"], len(frame)))
    pay = np.nan_to_num(frame["age"].to_numpy(), nan=50) * 100 + rng.integers(0, 900, len(frame))
    frame = frame.assign(habit=habit, pay=pay, debt=rng.integers(0, 5000, len(frame)))
    sensitive = ["illness", "habit", "pay", "debt"]
    schema = Schema.of(frame, quasi_identifying=["age", "job", "day"], sensitive=sensitive).with_target(target)
    return Flow(frame, schema, Settings().but(k=8))


@pytest.mark.parametrize("target", ["illness", "pay"])
def test_looks__are_all_sensitive_columns_the_target_first(target: str) -> None:
    flow = flow_of(target)
    looks = looks_of(flow.pruning, flow.risk, flow.encoded, target)
    columns = [look for look in looks if look[0]]
    assert columns[0][0] == target
    assert set(columns) == {("illness", "sure"), ("habit", "sure"), ("pay", "digression"), ("debt", "digression")}
    assert ("", "tidi") in looks


@pytest.mark.parametrize("target", ["illness", "pay"])
def test_another_column_of_classes__has_its_own_shares(target: str) -> None:
    flow = flow_of(target)
    pruning, risk, encoded = as_target(flow.pruning, flow.risk, flow.encoded, "habit")
    leaf, habit = flow.leaf, flow.table["habit"]
    scores = risk_scores(pruning.tree, risk, "sure")
    for node in range(0, pruning.tree.n_nodes, 7):
        inside = habit[(leaf >= node) & (leaf < node + pruning.tree.size[node])]
        assert scores[node] == pytest.approx(inside.value_counts(normalize=True).max())
    assert (pruning.cut() == flow.pruning.cut()).all()
    of = np.unique(flow.class_of, return_inverse=True)[1]
    picture = leaving(pruning, encoded, leaf, of)
    shares = habit.groupby(of).agg(lambda values: values.value_counts(normalize=True).max()).to_numpy()
    assert (picture.up_to_even, picture.certain) == (int((shares <= 0.5).sum()), int((shares == 1).sum()))
    sizes, levels = np.bincount(of), risk_levels(shares, "sure")
    assert picture.records == {int(level): int(sizes[levels == level].sum()) for level in np.unique(levels)}


@pytest.mark.parametrize("target", ["illness", "pay"])
def test_another_column_of_numbers__has_ranges_in_its_own_unit(target: str) -> None:
    flow = flow_of(target)
    of = np.unique(flow.class_of, return_inverse=True)[1]
    pictures = {}
    for name in ("pay", "debt"):
        pruning, risk, encoded = as_target(flow.pruning, flow.risk, flow.encoded, name)
        picture = pictures[name] = leaving(pruning, encoded, flow.leaf, of, colour_by="digression")
        assert picture.number == name
        assert encoded.numeric is not None
        assert risk.numeric is not None
        numbers = encoded.numeric.low[0] + encoded.numeric.width[0] * (
            encoded.numeric.values[:, 0] + encoded.numeric.centre[0]
        )
        assert pd.Series(numbers).to_numpy() == pytest.approx(flow.table[name].to_numpy(float), rel=1e-6)
        assert risk.numeric.mean[0, 0] == pytest.approx(flow.table[name].mean())
    assert pictures["pay"].ranges != pictures["debt"].ranges
    assert pictures["pay"].records != pictures["debt"].records


def test_the_target_and_a_stranger__change_nothing() -> None:
    flow = flow_of("illness")
    for name in ("illness", "", "job"):
        assert as_target(flow.pruning, flow.risk, flow.encoded, name) == (flow.pruning, flow.risk, flow.encoded)
