"""Accuracy against the budget, beside models without privacy."""

import math

import pytest

from anonymizer.errors import ParameterError
from anonymizer.forest.drawing import accuracy_figure
from anonymizer.forest.rehearsal import accuracy_curve
from tests.forest.samples import sample


def test_accuracy_curve__beside_models_without_privacy() -> None:
    curve = accuracy_curve(sample(1500), ("paper", "strict"), budgets=(0.1, 5.0), folds=3)
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
        accuracy_curve(sample(4), ("strict",))
