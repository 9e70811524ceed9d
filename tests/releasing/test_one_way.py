"""One-way tables: their cells, their noise, and that they follow from key, content and nothing else."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from anonymizer.schema import Kind
from tests.releasing.test_raking import cases_of


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
    assert table is not None
    assert table.cell_of.tolist() == [0, 1, 0]
    assert table.counts.tolist() == [32, 12]
    assert table_of(atoms, np.arange(3), np.array([9, 4, 0]), records, "job", 10, 1.0, bytes(32)) is None


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
