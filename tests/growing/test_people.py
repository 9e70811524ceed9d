"""Where people of a population fall in a tree."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from anonymizer.growing.people import leaf_of_people

WIDE = 1 << 17


def tree_of_levels(listed: list[list[int]]) -> Any:
    """A stump below a stump: the root and its left child list these codes, and listed codes go left."""
    ends = np.cumsum([0, *map(len, listed), 0, 0, 0])
    return SimpleNamespace(
        n_nodes=5, feature=np.array([0, 0, -1, -1, -1]), cut=np.full(5, -1), size=np.array([5, 3, 1, 1, 1]),
        listed_start=ends, listed=np.array([code for codes in listed for code in codes], np.uint32),
        listed_left=np.ones(5, np.bool_),
    )  # fmt: skip


def test_many_levels__keep_the_lists_of_nodes_apart() -> None:
    """Code 2^17 + 5 at the root is not code 5 in the list of the node after it."""
    tree = tree_of_levels([[1, 5], [5]])
    assert leaf_of_people(tree, np.array([[5.0], [1.0], [WIDE + 5.0], [7.0]])).tolist() == [2, 3, 4, 4]


def test_unknown_level__goes_where_levels_that_no_list_has_go() -> None:
    tree = tree_of_levels([[1, 5], [5]])
    assert leaf_of_people(tree, np.array([[np.nan], [5.0], [65536.0]])).tolist() == [4, 2, 4]
