"""A tree grown on pieces is the tree grown on the whole: every array, bit for bit."""

from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from anonymizer.errors import ParameterError
from anonymizer.groups.recipe import Recipe, grow_by
from anonymizer.growing import threads
from anonymizer.growing.encode import encode
from anonymizer.growing.records import descend
from anonymizer.growing.target import moments_of_nodes, on_steps
from anonymizer.growing.tree import Tree
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import InPieces, grow_pieces
from anonymizer.schema import Schema
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces


def assert_same_tree(mine: Tree, other: Tree) -> None:
    for entry in fields(Tree):
        one, two = getattr(mine, entry.name), getattr(other, entry.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype, entry.name
            assert one.tobytes() == two.tobytes(), entry.name
    assert [sums.tolist() for sums in mine.others] == [sums.tolist() for sums in other.others]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("criterion", ["entropy", "gini", "in-order"])
@pytest.mark.parametrize(("classes", "rows", "enough"), [(2, 1000, 700), (4, 333, 50), (3, 6000, 10_000), (3, 1, 900)])
def test_any_pieces__grow_the_same_tree(tmp_path: Path, criterion: str, classes: int, rows: int, enough: int) -> None:
    n = 6000 if rows > 1 else 60
    table = pa.Table.from_pandas(people(n, classes, classes), preserve_index=False)
    frame = whole_frame(table)
    schema = schema_of(frame, sensitive=["diagnosis", "ward"])
    coded = code_table(open_table(write_pieces(tmp_path, table, [n // 3])), schema)
    encoded = encode(frame, schema)
    recipe = Recipe(criterion, 2, 4 if criterion == "in-order" else None)
    whole, *_ = grow_by(recipe, encoded)
    assert whole.n_nodes > 5
    tree, leaf, _ = grow_pieces(coded, recipe, rows, enough)
    assert_same_tree(tree, whole)
    assert leaf.tolist() == descend(whole, encoded).tolist()
    again, same, _ = grow_pieces(coded, recipe, rows, enough)
    assert_same_tree(again, tree)
    assert same.tolist() == leaf.tolist()


@pytest.mark.parametrize("number", [1, 3, 7])
def test_any_number_of_threads__grows_the_same_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    table = pa.Table.from_pandas(people(6000, 4), preserve_index=False)
    frame = whole_frame(table)
    schema = schema_of(frame, sensitive=["diagnosis", "ward"])
    coded = code_table(open_table(write_pieces(tmp_path, table, [2000])), schema)
    whole, leaf, _ = grow_by(Recipe(None, 2), encode(frame, schema))
    monkeypatch.setattr(threads, "WORKERS", number)
    threads.workers.cache_clear()
    try:
        tree, again, _ = grow_pieces(coded, Recipe(None, 2), 700, 400)
    finally:
        threads.workers.cache_clear()
    assert_same_tree(tree, whole)
    assert again.tolist() == leaf.tolist()


def test_progress__is_of_waves_up_to_a_half_and_of_branches_after_it(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(3000, 4), preserve_index=False)
    coded = code_table(open_table(write_pieces(tmp_path, table, [2000])), schema_of(whole_frame(table)))
    heard: list[tuple[float, str]] = []
    grow_pieces(coded, Recipe(None, 2), 700, 60, progress=lambda share, what: heard.append((share, what)))
    waves = [share for share, what in heard if what == "Dividing large groups"]
    assert waves == [min(0.5, 0.05 * wave) for wave in range(1, len(waves) + 1)]
    branches = sorted(share for share, what in heard if what == "Growing branches")
    assert len(waves) > 3
    assert branches[0] == 0.5
    assert 0.6 < branches[-1] < 0.9
    assert len(waves) + len(branches) == len(heard)


def numbered(n: int) -> tuple[pa.Table, Schema]:
    """Return people with two sensitive numbers, one of them with missing values and whole, and a schema in which these
    guide the tree."""
    frame = people(n).assign(
        cost=np.random.default_rng(1).lognormal(8, 1, n).round(2),
        visits=pd.array([None if at % 7 == 0 else at % 13 for at in range(n)], "Int64"),
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    whole = whole_frame(table)
    return table, schema_of(whole, sensitive=["cost", "visits", "diagnosis"], target="cost")


@pytest.mark.sweep(2)
@pytest.mark.parametrize("criterion", ["sse", "in-order"])
@pytest.mark.parametrize(("rows", "enough"), [(1000, 700), (333, 50), (6000, 10_000), (1, 900)])
def test_sensitive_numbers_in_any_pieces__grow_the_same_tree(
    tmp_path: Path, criterion: str, rows: int, enough: int
) -> None:
    n = 6000 if rows > 1 else 60
    table, schema = numbered(n)
    coded = code_table(open_table(write_pieces(tmp_path, table, [n // 3])), schema)
    encoded = encode(whole_frame(table), schema)
    assert coded.encoded.numeric is not None
    assert encoded.numeric is not None
    for entry in fields(type(encoded.numeric)):
        one, two = getattr(coded.encoded.numeric, entry.name), getattr(encoded.numeric, entry.name)
        assert np.array_equal(one, two), entry.name
    recipe = Recipe(criterion, 2, 4 if criterion == "in-order" else None)
    whole, *_ = grow_by(recipe, encoded)
    assert whole.n_nodes > 5
    tree, leaf, _ = grow_pieces(coded, recipe, rows, enough)
    assert_same_tree(tree, whole)
    assert leaf.tolist() == descend(whole, encoded).tolist()


def test_sensitive_numbers_beside_classes__add_up_to_the_same(tmp_path: Path) -> None:
    table, schema = numbered(2000)
    schema = schema_of(whole_frame(table), sensitive=["diagnosis", "cost", "visits"])
    coded = code_table(open_table(write_pieces(tmp_path, table, [700])), schema)
    recipe = Recipe("entropy", 2, None)
    tree, *_ = grow_pieces(coded, recipe, 300, 50)
    assert_same_tree(tree, grow_by(recipe, encode(whole_frame(table), schema))[0])


def test_records_in_another_order__have_the_same_moments() -> None:
    rng = np.random.default_rng(0)
    values = on_steps(rng.random((5000, 3)) - 0.5, 5000)
    ends = np.array([0, 0, 1200, 1200, 4999]), np.array([5000, 1200, 5000, 4999, 5000])
    size = np.array([5, 1, 3, 1, 1], np.int32)
    moments = moments_of_nodes(values, None, *ends, size)
    for turn in range(3):
        inside = [rng.permutation(np.arange(a, b)) for a, b in ((0, 1200), (1200, 4999), (4999, 5000))]
        assert moments_of_nodes(values, np.concatenate(inside), *ends, size).tobytes() == moments.tobytes(), turn
    for row, start, end in zip(moments, *ends, strict=True):
        part = [[Fraction(number) for number in record] for record in values[start:end].tolist()]
        exact = [Fraction(end - start)] + [sum(record[j] for record in part) for j in range(3)]
        exact += [sum(record[a] * record[b] for record in part) for a in range(3) for b in range(a + 1)]
        assert np.allclose(row, [float(number) for number in exact], rtol=1e-15, atol=0)


def test_a_wave_run_twice_on_another_source__gives_the_same_histograms(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(2000), preserve_index=False)
    coded = code_table(open_table(write_pieces(tmp_path, table, [])), schema_of(whole_frame(table)))
    sources = [InPieces(coded, rows) for rows in (2000, 300, 300)]
    answers = [source.divide([], [source.root()])[0] for source in sources]
    for histograms in zip(*answers, strict=True):
        assert len({histogram.tobytes() for histogram in histograms if histogram is not None}) == 1


@pytest.mark.parametrize("recipe", [Recipe("blend", 10, None, 0.5), Recipe(None, 10, mondrian="median-mondrian")])
def test_what_takes_the_whole_table__gets_its_codes(tmp_path: Path, recipe: Recipe) -> None:
    table = pa.Table.from_pandas(people(100), preserve_index=False)
    schema = schema_of(whole_frame(table))
    coded = code_table(open_table(write_pieces(tmp_path, table, [])), schema)
    (tree, leaf, _), (expected, of_records, _) = (
        grow_pieces(coded, recipe),
        grow_by(recipe, encode(whole_frame(table), schema)),
    )
    assert_same_tree(tree, expected)
    assert leaf.tolist() == of_records.tolist()
    with pytest.raises(ParameterError, match="does not fit the target"):
        grow_pieces(coded, Recipe("sse", 2))
