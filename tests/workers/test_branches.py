"""Branches that are cut off where they grew leave the same groups, cells and report."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.engines import anonymize_files
from anonymizer.groups.recipe import Recipe, group
from anonymizer.groups.risk import annotate
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import grow_pieces
from anonymizer.settings import Limits, Settings
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.remote import grow_shares, release_on
from anonymizer.workers.table import ClusterTable
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.partitions.test_records import numbered
from tests.workers.runs import same_files

LIMITS: list[dict[str, Any]] = [{}, {"l": 2}, {"entropy_l": 1.5, "t": 0.5}, {"spread_min": 0.05}, {"risk_max": 0.08}]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("k", [2, 5, 10, 300])
@pytest.mark.parametrize("target", ["diagnosis", "cost"])
def test_groups_of_least_pruning__are_those_of_whole_branches(
    two: Cluster, tmp_path: Path, k: int, target: str
) -> None:
    table, _ = numbered(4000)
    pieces = open_table(write_pieces(tmp_path / "in", table, [900, 2100], 500), 600)
    schema = schema_of(whole_frame(table), sensitive=["cost", "visits", "diagnosis"], target=target)
    coded = code_table(pieces, schema).encoded
    whole, *_ = grow_pieces(code_table(pieces, schema), Recipe(None, 2), 700, 500)
    there = ClusterTable(two, pieces, schema)
    short, places = grow_shares(there, Recipe(None, 2), 500, k)
    assert len(places) == short.n_nodes
    assert short.n_nodes < whole.n_nodes or k == 2
    for name in ("n", "depth", "sums", "moments", "low", "high", "levels", "has_missing"):
        assert np.array_equal(getattr(short, name), getattr(whole, name)[places]), name
    inner = short.feature >= 0
    for name in ("feature", "cut", "threshold", "listed_left"):
        assert np.array_equal(getattr(short, name)[inner], getattr(whole, name)[places][inner], equal_nan=True), name
    for limits in LIMITS:
        bounds = Limits(k=k, **limits)
        groups = [group(tree, annotate(tree, coded), coded, "least", bounds).cut().tolist() for tree in (short, whole)]
        assert places[groups[0]].tolist() == groups[1], limits


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    "changes",
    [
        {"generalizer": "uniform", "grouping": "least", "criterion": "entropy", "k": 25},
        {"generalizer": "refine", "grouping": "least", "criterion": "entropy", "l": 2, "k": 8},
        {"generalizer": "uniform", "grouping": "error-risk"},
    ],
)
def test_a_release_of_cut_branches__has_the_same_files_and_report(
    tmp_path: Path, two: Cluster, changes: dict[str, Any]
) -> None:
    table = pa.Table.from_pandas(people(4000, 3), preserve_index=False)
    folder = write_pieces(tmp_path / "in", table, [1000, 1000, 2500], 700)
    schema = schema_of(whole_frame(table), sensitive=["diagnosis", "ward"])
    expected = anonymize_files(folder, schema, tmp_path / "here", rows=900, **changes)
    result = release_on(two, open_table(folder, 900), schema, tmp_path / "there", Settings(**changes), rows=900)
    assert same_files(tmp_path / "there", tmp_path / "here")
    one, other = (some.to_dict() for some in (result, expected))
    for key in one.keys() - {"provenance", "plan"}:
        assert one[key] == other[key], key
    smaller = result.tree.n_nodes < expected.tree.n_nodes
    assert smaller == (changes["grouping"] == "least")
