"""A tree grown on pieces is the tree grown on the whole: every array, bit for bit."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.errors import ParameterError
from anonymizer.groups.recipe import Recipe, grow_by
from anonymizer.growing.encode import encode
from anonymizer.growing.records import descend
from anonymizer.growing.tree import Tree
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import InPieces, grow_pieces
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces


def assert_same_tree(mine: Tree, other: Tree) -> None:
    for entry in fields(Tree):
        one, two = getattr(mine, entry.name), getattr(other, entry.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype, entry.name
            assert one.tobytes() == two.tobytes(), entry.name
    assert [sums.tolist() for sums in mine.others] == [sums.tolist() for sums in other.others]


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
    whole = grow_by(recipe, encoded)
    assert whole.n_nodes > 5
    tree, leaf = grow_pieces(coded, recipe, rows, enough)
    assert_same_tree(tree, whole)
    assert leaf.tolist() == descend(whole, encoded).tolist()
    again, same = grow_pieces(coded, recipe, rows, enough)
    assert_same_tree(again, tree)
    assert same.tolist() == leaf.tolist()


def test_a_wave_run_twice_on_another_source__gives_the_same_histograms(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(2000), preserve_index=False)
    coded = code_table(open_table(write_pieces(tmp_path, table, [])), schema_of(whole_frame(table)))
    sources = [InPieces(coded, rows) for rows in (2000, 300, 300)]
    answers = [source.divide([], [source.root()])[0] for source in sources]
    for histograms in zip(*answers, strict=True):
        assert len({histogram.tobytes() for histogram in histograms if histogram is not None}) == 1


@pytest.mark.parametrize("recipe", [Recipe("blend", 10, None, 0.5), Recipe(None, 10, mondrian="median-mondrian")])
def test_what_takes_the_whole_table__is_said(tmp_path: Path, recipe: Recipe) -> None:
    table = pa.Table.from_pandas(people(100), preserve_index=False)
    coded = code_table(open_table(write_pieces(tmp_path, table, [])), schema_of(whole_frame(table)))
    with pytest.raises(ParameterError, match="takes one table in memory"):
        grow_pieces(coded, recipe)
