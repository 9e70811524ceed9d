"""Readings of boxes: the worked cases, a slow twin, and what must hold of every reading."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.cells import Cell
from anonymizer.releasing.atoms import Atoms, atoms_of_levels, atoms_of_pieces
from anonymizer.releasing.raking import Boxes, OpenCells, rake, self_consistent
from anonymizer.schema import Kind
from tests import naive_margins as naive
from tests.conftest import ROOT, absent
from tests.sweeps import few

CASES = ROOT.parent / "shared" / "cases"
AGES = np.array([20.0, 25, 30, 35, 40]), np.array([24.0, 29, 34, 39, 49])
COLUMNS = (
    atoms_of_pieces(*AGES, np.empty(0), Kind.NUMERIC, missing=True),
    atoms_of_levels(("clerk", "nurse", "cook", "pilot"), missing=False),
    atoms_of_levels(("A", "B", "C"), missing=True),
)


def cases_of(name: str) -> list[dict[str, Any]]:
    """The shared cases of a name; skips where the folder is not there."""
    path = CASES / f"margins_{name}.json"
    if not path.is_file():
        absent("shared", f"{path.name} of the shared cases is absent")
    cases: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cases"]
    return cases


def cell_of(value: Any) -> Cell:
    if isinstance(value, dict):
        return Cell.interval(str(value["low"]), str(value["high"]), value["missing"])
    return Cell.of_levels([level for level in value if level != "missing"], "missing" in value)


def boxes_of(case: dict[str, Any], column: int, hull: bool) -> Boxes:
    cells = [cell_of(box["cells"][column]) for box in case["boxes"]]
    n = np.array([box["n"] for box in case["boxes"]])
    return Boxes(COLUMNS[column].open(cells, hull), np.arange(len(cells)), n)


def compare(case: dict[str, Any], columns: list[tuple[Boxes, np.ndarray]], close: float) -> None:
    """Compare the shares of all boxes, and the distances of their two-way tables."""
    shares = []
    for position, (boxes, weights) in enumerate(columns):
        own = boxes.shares(weights).toarray()[boxes.kind]
        expected = np.zeros_like(own)
        for box, cells in enumerate(case["shares"]):
            for atom, share in cells[position].items():
                expected[box, int(atom)] = float(Fraction(share))
        np.testing.assert_allclose(own, expected, rtol=close, atol=close)
        shares.append(own)
    rows, n = np.array(case["rows"]), np.array([box["n"] for box in case["boxes"]])
    shares.append(np.array([box["diagnosis"] for box in case["boxes"]]) / n[:, None])
    for pair in case["two_way"]:
        first, second = pair["pair"]
        table = np.einsum("b,bi,bj->ij", n, shares[first], shares[second])
        np.subtract.at(table, (rows[:, first], rows[:, second]), 1)
        assert np.abs(table).sum() / 2 / len(rows) == pytest.approx(float(Fraction(pair["tv"])), rel=close, abs=close)


def test_shares__are_those_of_the_even_reading() -> None:
    for case in cases_of("even_tables"):
        compare(case, [(boxes_of(case, at, hull=False), atoms.lengths) for at, atoms in enumerate(COLUMNS)], 1e-9)


def test_shares__are_in_proportion_to_one_way_tables() -> None:
    for case in cases_of("by_tables"):
        tables = [np.array(counts, float) for counts in case["one_way"]]
        compare(case, [(boxes_of(case, at, hull=False), counts) for at, counts in enumerate(tables)], 1e-9)


def test_rates__are_those_of_the_worked_boxes() -> None:
    for case in cases_of("occupied"):
        members = case["members"]
        open_cells = OpenCells.of(len(members), [members], [case["occupied"]])
        boxes = Boxes(open_cells, np.zeros(1, int), np.array([case["n"]]))
        weights = np.array([float(Fraction(weight)) for weight in case["weights"]])
        np.testing.assert_allclose(boxes.sums(weights), case["expected"], rtol=1e-9)
        np.testing.assert_allclose(boxes.shares(weights).toarray()[0] * case["n"], case["expected"], rtol=1e-9)


def test_self_consistent__is_that_of_the_worked_tables() -> None:
    for case in cases_of("self_consistent"):
        columns = []
        for at, (atoms, column) in enumerate(zip(COLUMNS, case["columns"], strict=True)):
            boxes = boxes_of(case, at, case["occupied"])
            weights = self_consistent(boxes, atoms.lengths, rounds=1500, close=1e-12)
            expected = [column["self_consistent"].get(str(atom), 0.0) for atom in range(atoms.count)]
            np.testing.assert_allclose(weights, expected, rtol=1e-7, atol=1e-9)
            columns.append((boxes, weights))
        compare(case, columns, 1e-7)


def test_rake__meets_the_worked_tables() -> None:
    for case in cases_of("raked"):
        columns = []
        for at, (atoms, column) in enumerate(zip(COLUMNS, case["columns"], strict=True)):
            boxes, counts = boxes_of(case, at, case["occupied"]), np.array(column["one_way"], float)
            start = self_consistent(boxes, atoms.lengths)
            weights = rake(boxes, start, np.arange(atoms.count), counts, rounds=3000, close=1e-11)
            np.testing.assert_allclose(boxes.sums(weights), counts, atol=1e-6)
            columns.append((boxes, weights))
        compare(case, columns, 1e-6)


def random_boxes(seed: int) -> tuple[OpenCells, np.ndarray, np.ndarray, list[naive.Box]]:
    rng = np.random.default_rng(seed)
    atoms, cells, q = (int(rng.integers(low, high)) for low, high in ((1, 9), (1, 7), (1, 12)))
    members = [sorted(rng.choice(atoms, rng.integers(1, atoms + 1), replace=False).tolist()) for _ in range(cells)]
    sure = [[one for one in own if rng.random() < 0.5] for own in members]
    cell, n = rng.integers(0, cells, q), rng.integers(1, 9, q)
    boxes = [(int(size), members[at], sure[at]) for at, size in zip(cell, n, strict=True)]
    return OpenCells.of(atoms, members, sure), cell, n, boxes


@settings(max_examples=few(20))
@given(st.integers(0, 10**6))
def test_reading__agrees_with_its_slow_twin(seed: int) -> None:
    open_cells, cell, n, slow = random_boxes(seed)
    rng = np.random.default_rng(seed + 1)
    boxes, even = Boxes(open_cells, cell, n), rng.integers(1, 20, open_cells.atoms).astype(float)
    start = self_consistent(boxes, even)
    np.testing.assert_allclose(start, naive.self_consistent(slow, even.tolist()), atol=1e-8)
    cell_of = np.unique(rng.integers(0, 4, open_cells.atoms), return_inverse=True)[1]
    counts = rng.integers(1, 40, cell_of.max() + 1).astype(float)
    weights = rake(boxes, start, cell_of, counts)
    groups = [np.flatnonzero(cell_of == number).tolist() for number in range(len(counts))]
    twin = naive.rake(slow, start.tolist(), groups, counts.tolist())
    expected = np.zeros((len(slow), open_cells.atoms))
    for row, ((size, members, _), own) in enumerate(zip(slow, naive.all_expected(slow, twin), strict=True)):
        expected[row, members] = np.array(own) / size
    np.testing.assert_allclose(boxes.shares(weights).toarray()[boxes.kind], expected, atol=1e-6)


@given(st.integers(0, 10**6))
def test_shares__keep_what_is_sure_and_what_is_counted(seed: int) -> None:
    open_cells, cell, n, slow = random_boxes(seed)
    boxes = Boxes(open_cells, cell, n)
    weights = np.random.default_rng(seed).exponential(size=open_cells.atoms)
    shares = boxes.shares(weights).toarray()[boxes.kind]
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(n)))
    for (size, members, sure), own in zip(slow, shares, strict=True):
        assert np.flatnonzero(own > 0).tolist() == ([one for one in members if own[one] > 0])
        if len(sure) <= size:
            assert (own[sure] * size >= 1 - 1e-9).all()
    assert boxes.sums(weights) == pytest.approx((shares * n[:, None]).sum(axis=0))


@given(st.integers(0, 10**6))
def test_rake__is_no_farther_than_its_start(seed: int) -> None:
    open_cells, cell, n, _ = random_boxes(seed)
    boxes, rng = Boxes(open_cells, cell, n), np.random.default_rng(seed)
    start, counts = np.ones(open_cells.atoms), rng.integers(1, 40, open_cells.atoms).astype(float)
    each = np.arange(open_cells.atoms)
    target = counts * n.sum() / counts.sum()
    first = np.abs(boxes.sums(rake(boxes, start, each, counts, rounds=1)) - target).sum()
    last = np.abs(boxes.sums(rake(boxes, start, each, counts)) - target).sum()
    assert last <= first + 1e-9


def test_atoms__are_pieces_and_heaps() -> None:
    """Hours from 1 to 99 in tens, 40 and 50 are heaps: an end piece with a heap in it is nobody's for sure."""
    start = np.array([1.0, 11, 21, 31, 41])
    atoms = atoms_of_pieces(start, start + 9, np.array([40.0, 50.0]), Kind.NUMERIC, missing=True)
    assert atoms.lengths.tolist() == [10, 10, 10, 9, 1, 9, 1, 1]
    assert atoms.of_numbers(np.array([1.0, 39, 40, 41, 50])).tolist() == [0, 3, 4, 5, 6]
    cells = [Cell.interval("11", "40"), Cell.interval("21", "30", True), Cell.interval("40", "40"), Cell.WITHHELD]
    parts = atoms.open(cells, hull=True)
    pairs = [(parts.atom[parts.cell == c].tolist(), parts.atom[(parts.cell == c) & parts.sure].tolist())
             for c in range(4)]  # fmt: skip
    assert pairs == [([1, 2, 3, 4], [1]), ([2, 7], [2, 7]), ([4], [4]), ([0, 1, 2, 3, 4, 5, 6, 7], [])]


def test_atoms__that_touch_hold_their_lower_end() -> None:
    atoms = atoms_of_pieces(np.array([0.0, 1, 2]), np.array([1.0, 2, 3]), np.array([1.5, 2.0]), Kind.NUMERIC, False)
    assert isinstance(atoms, Atoms)
    assert atoms.of_numbers(np.array([0.0, 1.0, 1.5, 2.0, 2.5, 3.0])).tolist() == [0, 1, 2, 4, 3, 3]
    assert atoms.lengths.tolist() == [1, 1, 0, 1, 0]
