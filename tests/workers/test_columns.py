"""Histograms that are summed on workers grow the tree of one machine, and never come to the client."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.groups.recipe import Recipe
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import choose_split, grow, grow_from, tree_of
from anonymizer.growing.records import Growth, InMemory, heights_of
from anonymizer.growing.waves import LocalSplitter
from anonymizer.partitions.coded import CodedTable, code_table
from anonymizer.partitions.pieces import PartitionedTable, open_table
from anonymizer.partitions.records import grow_pieces
from anonymizer.schema import Schema
from anonymizer.workers import columns
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.remote import grow_shares
from anonymizer.workers.table import ClusterTable
from tests.partitions.tables import QUASI, people, schema_of, whole_frame, write_pieces
from tests.partitions.test_records import assert_same_tree, numbered


def twins(n: int) -> pa.Table:
    """Return people with columns that say the same in other words, so that many splits gain the same."""
    table = people(n, 3)
    table = table.assign(years=table["age"], months=table["age"] * 12, place=table["town"])
    return pa.Table.from_pandas(table, preserve_index=False)


ALL = [*QUASI, "years", "months", "place"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[PartitionedTable, Schema, CodedTable]:
    folder = write_pieces(tmp_path_factory.mktemp("twins") / "in", twins(6000), [1000, 2000, 2500, 4000], 500)
    schema = schema_of(whole_frame(twins(6000)), quasi_identifying=ALL, sensitive=["diagnosis", "ward"])
    return open_table(folder, 600), schema, code_table(open_table(folder, 600), schema)


@pytest.mark.sweep(0)
@pytest.mark.parametrize("at_once", [3000, 1, 1 << 28])
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_columns_on_several_workers__grow_the_tree_of_one_machine(
    two: Cluster, source: Any, criterion: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", at_once)
    table, schema, coded = source
    for enough in (150, 900):
        expected, *_ = grow_pieces(coded, Recipe(criterion, 2), 1000, enough)
        tree, _ = grow_shares(ClusterTable(two, table, schema), Recipe(criterion, 2), enough)
        assert_same_tree(tree, expected)


def test_numbers_in_columns_on_several_workers__grow_the_tree_of_one_machine(
    two: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 1)
    table, schema = numbered(3000)
    pieces = open_table(write_pieces(tmp_path / "in", table, [900, 2100], 500), 600)
    expected, *_ = grow_pieces(code_table(pieces, schema), Recipe(None, 2), 700, 200)
    assert_same_tree(grow_shares(ClusterTable(two, pieces, schema), Recipe(None, 2), 200)[0], expected)


def test_the_client__receives_no_histogram(two: Cluster, source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema, _ = source
    there, answers, steps = ClusterTable(two, table, schema), two.answers, set()

    def answering(futures: list[Any]) -> list[Any]:
        steps.update(future.key.rsplit("-", 2)[-2] for future in futures)
        return answers(futures)

    monkeypatch.setattr(two, "answers", answering)
    grow_shares(there, Recipe("entropy", 2), 150)
    assert steps == {"choose", "finish"}


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
@pytest.mark.sweep(0)
@pytest.mark.parametrize("step", ["total", "whole", "choose", "route"])
def test_a_worker_that_is_killed_with_sums__changes_nothing(
    tmp_path: Path, source: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 1)
    table, schema, coded = source
    expected, *_ = grow_pieces(coded, Recipe("entropy", 2), 1000, 150)
    with open_cluster(workers=3, memory="2GiB", spill=tmp_path) as cluster:
        ask, times, killed = cluster.ask, [0], []

        def asking(name: str, *arguments: Any, **more: Any) -> Any:
            future = ask(name, *arguments, **more)
            times[0] += name == step
            if times[0] == 5 and not killed:  # in a later wave
                cluster.wait([future])
                (holder,) = next(iter(cluster.client.who_has([future]).values()))
                killed.append(cluster.client.run(os.getpid)[holder])
                os.kill(killed[0], signal.SIGKILL)
            return future

        monkeypatch.setattr(cluster, "ask", asking)
        tree, _ = grow_shares(ClusterTable(cluster, table, schema), Recipe("entropy", 2), 150)
        assert_same_tree(tree, expected)
        assert killed


@pytest.mark.parametrize("seed", range(20))
def test_columns_one_after_the_other__tie_as_all_at_once(seed: int) -> None:
    frame = whole_frame(twins(300 + seed))
    encoded = encode(frame, schema_of(frame, quasi_identifying=ALL))
    source = InMemory(encoded)
    node = source.root()
    orders = [encoding.by_order for encoding in encoded.encodings], heights_of(encoded.encodings)
    numbers = np.arange(1 << 14, dtype=np.float64)
    logs = numbers * np.log2(numbers, out=np.zeros_like(numbers), where=numbers > 0)
    rng = np.random.default_rng(seed)
    (histograms,) = source.divide([], [node])
    for tolerance in (1e-9, 0.5, 3.0, 30.0):  # in bits, so that much is a tie
        growth = Growth(0, 2, -1, 8, tolerance, logs)
        expected = choose_split(node, histograms, orders, growth)
        cuts = sorted({0, len(histograms), *rng.integers(1, len(histograms), 3).tolist()})
        best = None
        for low, high in zip(cuts, cuts[1:], strict=False):
            some = [cells if low <= j < high else None for j, cells in enumerate(histograms)]
            (best,) = columns.choose(columns.Rules(growth, orders), {node.key: some}, [node], best and [best])
        assert best is not None
        if expected is None:
            assert best.split is None
            continue
        assert best.split is not None
        assert best.split[:3] == expected[0][:3]
        assert best.split.code_left >= 0 or np.array_equal(best.split.side, expected[0].side)
        assert np.array_equal(best.active, expected[1])


def test_runs_of_columns__hold_every_column_once() -> None:
    for most in (0, 1, 5, 9, 100):
        batches = columns.batches_of([4, 4, 9, 1, 1], most)
        assert [j for batch in batches for j in range(batch.start, batch.stop)] == [0, 1, 2, 3, 4]
    assert columns.batches_of([4, 4, 9, 1, 1], 9) == [slice(0, 2), slice(2, 3), slice(3, 5)]
    assert columns.most_at_once(1) == columns.MOST
    assert columns.most_at_once(1 << 40) == 2


def test_a_splitter_that_is_given__chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = whole_frame(twins(9000))
    encoded = encode(frame, schema_of(frame, quasi_identifying=ALL))
    expected = grow(encoded)
    source, waves = InMemory(encoded), []

    class Counting(LocalSplitter):
        def best(self, divisions: Any, families: Any) -> Any:
            waves.append(len(families))
            return super().best(divisions, families)

    def splitter(growth: Growth, orders: Any) -> LocalSplitter:
        return Counting(source, growth, orders)

    subtree = grow_from(source, encoded.encodings, "entropy", 2, None, 8, splitter=splitter)
    assert_same_tree(tree_of(subtree, encoded.encodings, len(frame)), expected)
    assert waves[0] == 1
    assert len(waves) > 1
