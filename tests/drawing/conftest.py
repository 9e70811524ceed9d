"""The trees that are drawn and explained: of classes, of numbers, and the one of a printed figure."""

import pytest

from anonymizer.groups.risk import annotate
from tests.cases import load, tree_of
from tests.drawn_trees import grown_tree, numbers_tree


@pytest.fixture(scope="module")
def class_tree():
    return grown_tree()


@pytest.fixture(scope="module")
def number_tree():
    return numbers_tree()


@pytest.fixture(scope="module")
def figure1():
    case = tree_of(load("y19_figure_1")[0])
    return case, annotate(case.tree, case.encoded)
