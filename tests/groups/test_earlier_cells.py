"""Sums of earlier cells on nodes, against the counted cases, brute force, and virtual trees walked by hand."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import ParameterError
from anonymizer.groups.earlier_cells import small_cells
from tests.checking.test_together import cases
from tests.sweeps import few


def test_small_cells__are_those_of_the_cases() -> None:
    for case in cases("ledger_node_sums"):
        parent, size, leaf = (np.array(case[name]) for name in ("parent", "branch", "leaf_of_record"))
        answer = small_cells(parent, size, leaf, np.array(case["earlier_cell_of_record"]), case["k"])
        expected = case["expected"]
        assert answer.tolist() == expected["bad"]
        assert groups_of_least(parent, size, expected["records"], answer, case["k"]) == expected["groups_of_least"]


def groups_of_least(parent: np.ndarray, size: np.ndarray, n: list[int], bad: np.ndarray, k: int) -> list[int]:
    """The nodes left when a split stays whose sides both have k records and no bad cell, and those above stay."""
    groups, to_see = [], [0]
    while to_see:
        node = to_see.pop()
        sides = [node + 1, node + 1 + int(size[node + 1])] if size[node] > 1 else []
        if sides and all(n[side] >= k and bad[side] == 0 for side in sides):
            to_see += sides
        else:
            groups.append(node)
    return sorted(groups)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """A tree in preorder: the parent and the size of each node."""
    parent, size = [-1], [1]

    def grow(node: int) -> None:
        if len(parent) < 30 and draw(st.integers(0, 2)):
            for _ in range(2):
                parent.append(node)
                size.append(1)
                child = len(parent) - 1
                grow(child)
                size[node] += size[child]

    grow(0)
    return parent, size


@given(trees(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 4)), max_size=60), st.integers(1, 6))
@settings(max_examples=few(400, 80))
def test_small_cells__agree_with_virtual_trees_and_counting(
    tree: tuple[list[int], list[int]], records: list[tuple[int, int]], k: int
) -> None:
    parent, size = tree
    leaves = [node for node in range(len(parent)) if size[node] == 1]
    leaf = [leaves[number % len(leaves)] for number, _ in records]
    cell = [own for _, own in records]
    arrays = (np.array(one, np.int64) for one in (parent, size, leaf, cell))
    answer = small_cells(*arrays, k)
    counted = []
    for node in range(len(parent)):
        inside = Counter(own for at, own in zip(leaf, cell, strict=True) if node <= at < node + size[node])
        counted.append(sum(number < k for number in inside.values()))
    assert answer.tolist() == counted
    assert virtual(parent, size, leaf, cell, k) == counted


def virtual(parent: list[int], size: list[int], leaf: list[int], cell: list[int], k: int) -> list[int]:
    """The same by the virtual tree of every cell: a mark at each of its nodes that has fewer than k records, and its
    opposite at the node above in the virtual tree; a node's own are the marks in its branch."""
    marks = [0] * len(parent)
    of_cell = defaultdict(list)
    for at, own in sorted(zip(leaf, cell, strict=True)):
        of_cell[own].append(at)

    def lowest(a: int, b: int) -> int:
        while not a <= b < a + size[a]:
            a = parent[a]
        return a

    for own in of_cell.values():
        nodes = sorted({*own, *(lowest(a, b) for a, b in zip(own, own[1:], strict=False))})
        for node in nodes:
            if sum(node <= at < node + size[node] for at in own) < k:
                marks[node] += 1
                above = [one for one in nodes if one < node < one + size[one]]
                if above:
                    marks[max(above)] -= 1
    return [sum(marks[node : node + size[node]]) for node in range(len(parent))]


def test_small_cells__refuse_a_k_below_one() -> None:
    with pytest.raises(ParameterError):
        small_cells(np.array([-1]), np.array([1]), np.array([0]), np.array([0]), 0)
