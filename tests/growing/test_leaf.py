"""A node that cannot be divided: the same whether it is grown by the compiled loop or made without it."""

from dataclasses import fields
from typing import Any

import pytest

from anonymizer import kernels
from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.subtree import Branch
from anonymizer.settings import Settings
from tests.drawn_trees import table


def test_leaf__is_what_the_loop_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop is asked for the root, with a depth that it reaches at once."""
    frame, schema = table()
    calls: list[tuple[Any, ...]] = []
    loop = kernels.grow_branch
    monkeypatch.setattr(kernels, "grow_branch", lambda *arguments: calls.append(arguments) or loop(*arguments))
    grow(encode(frame, schema), min_leaf=5)
    columns, start, end, sums, active, depth, growth, hist = calls[0]
    by_loop = Branch(*loop(columns, start, end, sums, active, depth, growth._replace(max_depth=depth), hist))
    leaf = Branch.of_leaf(start, end, sums)
    for field in fields(Branch):
        own, other = getattr(leaf, field.name), getattr(by_loop, field.name)
        assert own.dtype == other.dtype, field.name
        assert own.shape == other.shape, field.name
        assert (own == other).all(), field.name


def test_median_cuts__need_no_loop_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that helps to compile begins with such a release."""
    frame, schema = table()

    def refuse(*arguments: Any) -> None:
        raise AssertionError("the loop of trees was called")

    monkeypatch.setattr(kernels, "grow_branch", refuse)
    flow = Flow(frame, schema, Settings().but(k=8, grouping="median-mondrian"))
    assert flow.after.smallest >= 8
