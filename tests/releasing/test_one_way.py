"""One-way tables: their cells, their noise, and that they follow from key, content and nothing else."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.flow import Flow
from anonymizer.releasing.atoms import atoms_of_levels, atoms_of_pieces
from anonymizer.releasing.one_way import (
    cells_of_levels,
    cells_of_numbers,
    laplace_by_inversion,
    odds_of,
    persons_of_codes,
    scale_of_noise,
    table_of,
    with_noise,
    with_rows,
)
from anonymizer.releasing.raking import Boxes, OpenCells
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings
from tests.releasing.test_raking import cases_of
from tests.sweeps import few


def test_cells__are_those_of_the_worked_tables() -> None:
    for case in cases_of("cells"):
        counts, k = case["counts"], case["k"]
        if case["kind"] == "levels":
            cells = cells_of_levels(counts, k)
        else:
            cells = cells_of_numbers(counts, k, case["missing"] or 0)
        expected = [[len(counts) if atom == "missing" else atom for atom in cell["atoms"]] for cell in case["cells"]]
        assert cells == expected
        sums = [sum([*counts, case["missing"] or 0][atom] for atom in cell) for cell in cells]
        assert sums == [cell["count"] for cell in case["cells"]]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(1, 30), st.integers(0, 40))
def test_cells__hold_every_atom_once_and_k_where_that_can_be(counts: list[int], k: int, missing: int) -> None:
    everybody = [*counts, missing] if missing else counts
    for cells, whole in (cells_of_numbers(counts, k, missing), everybody), (cells_of_levels(counts, k), counts):
        assert sorted(atom for cell in cells for atom in cell) == list(range(len(whole)))
        small = [cell for cell in cells if sum(whole[atom] for atom in cell) < k]
        assert not small or len(cells) == 1 or (len(cells) == 2 and missing >= k)
    for cell in cells_of_numbers(counts, k):
        assert cell == list(range(cell[0], cell[-1] + 1))


def test_noise__has_the_chances_of_discrete_laplace() -> None:
    """Of 20,000 evenly spaced words as many stand for each number as its chance says."""
    b, n = 2.5, 20_000
    words = [((2 * at + 1) * 2**63 // n).to_bytes(8, "big") for at in range(n)]
    numbers = Counter(laplace_by_inversion(word, b) for word in words)
    p = math.exp(-1 / b)
    for number in range(-15, 16):
        assert numbers[number] == pytest.approx(n * (1 - p) / (1 + p) * p ** abs(number), abs=1.01)


def test_noise__grows_with_the_words() -> None:
    numbers = [laplace_by_inversion((at << 48).to_bytes(8, "big"), 3.0) for at in range(0, 1 << 16, 97)]
    assert numbers == sorted(numbers)
    assert laplace_by_inversion(bytes(8), 2.0) < -80
    assert laplace_by_inversion(b"\xff" * 8, 2.0) > 80


def test_noise__follows_from_what_the_cell_is() -> None:
    counts, labels = np.array([50, 60]), ["a", "b"]
    first = with_noise(counts, labels, "job", 2.5, bytes(32))
    assert (first == with_noise(counts, labels, "job", 2.5, bytes(32))).all()
    assert (first[::-1] == with_noise(counts[::-1], labels[::-1], "job", 2.5, bytes(32))).all()
    many = [f"{at}" for at in range(300)]
    draws = [with_noise(np.full(300, 500), many, name, b, seed) - 500
             for name, b, seed in (("job", 2.5, bytes(32)), ("town", 2.5, bytes(32)), ("job", 2.0, bytes(32)),
                                   ("job", 2.5, b"x" * 32))]  # fmt: skip
    for at, one in enumerate(draws):
        assert abs(one.mean()) < 1
        for other in draws[:at]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.25
    assert with_noise(np.zeros(300, int), many, "job", 2.5, bytes(32)).min() == 1


def test_odds__are_those_that_the_pages_say() -> None:
    assert scale_of_noise(10) == 2.5
    assert (scale_of_noise(5), scale_of_noise(25), scale_of_noise(10, 3)) == (2, 6.25, 7.5)
    assert (odds_of(10), odds_of(25), odds_of(5)) == (2.23, 1.38, 2.72)
    for k in (5, 10, 25):  # one person has one of two values: the two counts are one more or less
        b = scale_of_noise(k)
        chances = [math.exp(-abs(x) / b) for x in range(-60, 61)]
        one = max(a / other for a, other in itertools.pairwise(chances)) * max(
            other / a for a, other in itertools.pairwise(chances)
        )
        assert odds_of(k) - 0.01 < one <= odds_of(k)


def test_table__counts_persons_for_cells_and_records_for_counts() -> None:
    """Six persons have 20 records of level a: that is no cell of ten."""
    codes, person = np.array([0] * 20 + [1] * 12 + [2] * 12), np.array([*range(6)] * 3 + [0, 1] + [*range(6, 30)])
    persons, records = persons_of_codes(codes, person, 3), np.bincount(codes)
    assert persons.tolist() == [6, 12, 12]
    atoms = atoms_of_levels(("a", "b", "c"), missing=False)
    table = table_of(atoms, np.arange(3), persons, records, "job", 10, 1e-9, bytes(32))
    assert table.cell_of.tolist() == [0, 1, 0]
    assert table.counts.tolist() == [32, 12]
    one = table_of(atoms, np.arange(3), np.array([9, 4, 0]), records, "job", 10, 1.0, bytes(32))
    assert one.cell_of.tolist() == [0, 0, 0]


@settings(max_examples=few(50))
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 9))
def test_bounds__hold_every_table_that_boxes_allow(seed: int, atoms: int, n_boxes: int) -> None:
    """Of records in boxes that are hulls, by counting them; a box that leaves nothing open is exact."""
    rng = np.random.default_rng(seed)
    cell_of = rng.integers(0, 3, atoms)
    cell_of = np.unique(cell_of, return_inverse=True)[1]
    members, sure, sizes, counts = [], [], [], np.zeros(cell_of.max() + 1, int)
    exact = np.zeros_like(counts)
    for _ in range(n_boxes):
        records = rng.integers(0, atoms, rng.integers(1, 6))
        more = rng.integers(0, atoms, rng.integers(0, 3))
        sure.append(sorted(set(records.tolist())))
        members.append(sorted({*sure[-1], *more.tolist()}))
        sizes.append(len(records))
        np.add.at(counts, cell_of[records], 1)
        if len(members[-1]) == 1:
            exact[cell_of[records[0]]] += len(records)
    boxes = Boxes(OpenCells.of(atoms, members, sure), np.arange(n_boxes), np.array(sizes))
    least, most = boxes.bounds(cell_of, len(counts))
    assert (exact <= least).all()
    assert (least <= counts).all()
    assert (counts <= most).all()
    assert least.sum() <= sum(sizes) <= most.sum()


def test_cells__hold_enough_rows_for_their_noise() -> None:
    atoms = atoms_of_pieces(np.arange(6.0), np.arange(6.0), np.empty(0), Kind.NUMERIC, missing=False)
    rows = np.array([30.0, 5, 6, 40, 8, 50])
    assert with_rows([[0], [1], [2], [3], [4], [5]], rows, 20, atoms) == [[0, 1, 2], [3, 4], [5]]
    assert with_rows([[0], [1, 2], [3], [4], [5]], rows, 1, atoms) == [[0], [1, 2], [3], [4], [5]]
    levels = atoms_of_levels(tuple("abcdef"), missing=False)
    assert with_rows([[3], [0], [5], [4], [2], [1]], rows, 15, levels) == [[0], [1, 2, 4], [3], [5]]


def test_a_table__ships_only_where_it_helps() -> None:
    """Numbers that are evenly spread are read best evenly where noise is large; those that are not, by their table."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"even": rng.integers(0, 60, 400), "steep": rng.exponential(5, 400).astype(int)})
    table["ill"] = rng.choice(list("xy"), 400)
    flow = Flow(table, Schema.of(table, quasi_identifying=["even", "steep"], sensitive=["ill"]), Settings(k=40))
    assert "steep" in flow.boxed.readings
    for name, column in zip(flow.boxed.names, flow.boxed.columns, strict=True):
        codes, encoding = flow.encoded.codes.columns[flow.boxed.names.index(name)], column.encoding
        if (reading := flow.boxed.readings.get(name)) is not None:
            atom_of = reading.atoms.of_numbers((encoding.low + encoding.high) / 2)[codes]
            true, pieces = np.bincount(atom_of, minlength=reading.atoms.count), reading.atoms.pieces
            sums = reading.boxes.sums(reading.weights), reading.boxes.evenly(reading.atoms.lengths)
            raked, evenly = (np.abs(np.bincount(pieces, one - true)).sum() for one in sums)
            assert raked < evenly


def test_noise_of_a_cell__knows_which_heaps_are_not_in_it() -> None:
    """The rest of a piece is another cell where a heap stands beside it."""
    start, stop = np.array([0.0, 10]), np.array([9.0, 19])
    counts = []
    for heaps in (np.array([3.0]), np.array([3.0, 4.0])):
        atoms = atoms_of_pieces(start, stop, heaps, Kind.NUMERIC, missing=False)
        people = np.full(atoms.count, 10_000)
        table = table_of(atoms, np.arange(atoms.count), people, people, "age", 10, 500.0, bytes(32))
        assert table is not None
        counts.append(table.counts)
    assert counts[0][0] != counts[1][0]
    assert counts[0][1] == counts[1][1]
    assert counts[0][-1] == counts[1][-1]
