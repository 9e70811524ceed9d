"""Two-way tables before and after: against a slow twin, and against every number worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.flow import Flow
from anonymizer.growing.encode import encode
from anonymizer.measuring.bins import bins_of, bins_of_points
from anonymizer.measuring.boxed import BoxedTable
from anonymizer.measuring.two_way import two_way
from anonymizer.reading.files import read_table
from anonymizer.releasing.atoms import atoms_of_pieces
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.one_way import SHARED
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.groups.test_refine import random_table
from tests.naive_margins import raked_mean
from tests.naive_measures import two_way_distance, two_way_mean
from tests.sweeps import few


@settings(max_examples=few(40))
@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from(sorted(GENERALIZERS)), st.booleans())
def test_two_way__agrees_with_its_slow_twin(seed: int, n: int, generalizer: str, written_out: bool) -> None:
    table, schema = random_table(seed, n)
    writing = "weighted" if written_out and generalizer != "tiered" else "sets"
    numbers = "mean" if written_out and generalizer != "tiered" else "range"
    flow = Flow(table, schema, Settings(k=4, generalizer=generalizer, writing=writing, numbers=numbers))
    answer = flow.two_way.even
    assert answer.mean == pytest.approx(two_way_mean(table, flow.released, schema), abs=1e-9)
    first, second, most = answer.worst
    assert most == pytest.approx(two_way_distance(table, flow.released, schema, first, second), abs=1e-9)
    assert most == pytest.approx(np.nanmax(answer.distances))


def test_two_way__by_hand() -> None:
    """Four people in one group: ages 0, 0, 1, 1 become [0, 1], a, a, b, b become *; the sensitive column stays."""
    table = pd.DataFrame({"age": [0, 0, 1, 1], "city": list("aabb"), "ill": list("xyxy")})
    flow = Flow(table, Schema.of(table, quasi_identifying=["age", "city"], sensitive=["ill"]), Settings(k=4))
    answer = flow.two_way
    assert answer.names == ("age", "city", "ill")
    # age × city: 2, 0, 0, 2 become 1, 1, 1, 1, so two of four people move; with ill nothing changes.
    assert answer.distances[0].tolist()[1:] == [0.5, 0.0]
    assert answer.distances[1].tolist()[2] == 0.0
    # Shares .5, 0, 0, .5 become .25 each: half the sum of (√p − √q)² is (√.5 − .5)² + .25.
    assert answer.hellinger[0].tolist()[1:] == pytest.approx([np.sqrt((np.sqrt(0.5) - 0.5) ** 2 + 0.25), 0.0])
    assert answer.mean_hellinger == pytest.approx(answer.hellinger[0, 1] / 3)
    assert answer.mean == pytest.approx(0.5 / 3)
    assert answer.worst == ("age", "city", 0.5)
    assert np.isnan(answer.distances[:, 0]).all()


def test_two_way__of_the_records_themselves_is_nothing() -> None:
    for seed in range(5):
        table, schema = random_table(seed, 80)
        encoded = Flow(table, schema).encoded
        assert two_way(encoded, BoxedTable.of_records(encoded)).mean == pytest.approx(0, abs=1e-12)


def test_two_way__without_a_pair() -> None:
    table = pd.DataFrame({"age": [1, 2, 3, 4]})
    answer = Flow(table, Schema.of(table, quasi_identifying=["age"]), Settings(k=2)).two_way
    assert (answer.mean, answer.worst) == (None, None)
    assert json.dumps(answer.to_dict()) == (
        '{"rows_in_another_cell": null, "read_evenly": null, "one_way_tables_alone": null, '
        '"hellinger_distance": null, "range_counts": null, "single_columns": {"hellinger_distance": 0.0, '
        '"kullback_leibler_bits": 0.0, "rank_loss": 0.33333333333333326}, "most": null}'
    )


def test_blocks__of_boxes_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = random_table(3, 200)
    flow = Flow(table, schema, Settings(k=5, generalizer="refine"))
    whole = flow.two_way.distances
    monkeypatch.setattr("anonymizer.measuring.two_way._BLOCK", 3)
    np.testing.assert_allclose(two_way(flow.encoded, flow.boxed).distances, whole, atol=1e-12)


def test_alone__is_the_product_of_one_way_tables() -> None:
    """Two of four are (0, a) and two (1, b): one by one each is a half, so the product has a quarter everywhere."""
    table = pd.DataFrame({"age": [0, 0, 1, 1], "city": list("aabb"), "ill": list("xyxy")})
    flow = Flow(table, Schema.of(table, quasi_identifying=["age", "city"], sensitive=["ill"]), Settings(k=4))
    assert flow.two_way.alone[0].tolist()[1:] == [0.5, 0.0]
    assert flow.two_way.mean_alone == pytest.approx(0.5 / 3)


def test_atoms__lie_in_bins_as_their_values_do() -> None:
    """Every whole number of an atom counts once, those that are heaps not in the rest of their piece."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        table = pd.DataFrame({"age": [0, 60, *rng.integers(0, 61, 80)]})
        encoding = encode(table, Schema.of(table, quasi_identifying=["age"])).encodings[0]
        bins = bins_of(encoding, np.ones(encoding.n_codes, int), int(rng.integers(2, 15)), 12)
        start = np.unique(np.append(0, rng.integers(1, 60, 6))).astype(float)
        atoms = atoms_of_pieces(start, np.append(start[1:] - 1, 60), np.unique(rng.integers(0, 61, 5)).astype(float),
                                encoding.kind, missing=False)  # fmt: skip
        values = np.arange(61.0)
        counts = np.zeros((atoms.count, bins.count))
        np.add.at(counts, (atoms.of_numbers(values), bins_of_points(bins.edges, values)), 1)
        filled = counts.sum(axis=1) > 0
        np.testing.assert_allclose(
            bins.of_atoms(atoms)[filled], counts[filled] / counts.sum(axis=1)[filled, None], atol=1e-12
        )
        np.testing.assert_allclose(bins.of_atoms(atoms).sum(axis=1), 1)
        assert (atoms.lengths == counts.sum(axis=1)).all()


@settings(max_examples=few(30))
@given(st.integers(0, 10**6), st.integers(30, 90), st.sampled_from(sorted(GENERALIZERS)),
       st.sampled_from(["public", "range", "mean"]))  # fmt: skip
def test_tables_read_by_one_way_tables__add_up(seed: int, n: int, generalizer: str, numbers: str) -> None:
    """Every reading leaves every released row once, and gives what a box surely has."""
    table, schema = random_table(seed, n)
    numbers = "range" if generalizer == "tiered" and numbers == "mean" else numbers
    flow = Flow(table, schema, Settings(k=4, generalizer=generalizer, numbers=numbers))
    for name, reading in flow.boxed.readings.items():
        atoms, boxes = reading.atoms, reading.boxes
        shares = boxes.shares(reading.weights).toarray()
        assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)))
        assert reading.table is None or reading.table.counts.min() >= 1
        inside = flow.encoded.encodings[flow.encoded.names.index(name)]
        codes = flow.encoded.codes.columns[flow.encoded.names.index(name)][flow.release.order]
        values = (inside.low + inside.high) / 2 if inside.is_interval else np.arange(len(inside.labels))
        own = atoms.of_numbers(values) if inside.is_interval else np.arange(len(values))
        own = np.append(own, [atoms.count - 1] * (inside.n_codes - len(values))).astype(int)[codes]
        open_atoms = boxes.shares(np.ones(atoms.count)).toarray()[boxes.kind] > 0
        if generalizer != "tiered":  # a cell leaves the atom of each of its records open
            assert open_atoms[flow.look_alikes.class_of, own].all()
        column = flow.release[name]
        cells = atoms.open(column.cells, hull=True)
        pairs = set(zip(column.index.tolist(), own.tolist(), strict=True))
        if generalizer not in SHARED and not any(cell.estimate for cell in column.cells):
            assert pairs >= set(zip(cells.cell[cells.sure].tolist(), cells.atom[cells.sure].tolist(), strict=True))
    assert flow.two_way.mean == pytest.approx(raked_mean(flow), abs=1e-9)


def test_tables_raked__are_nearer_than_even_ones_and_one_way_tables(data: Callable[[str], Path]) -> None:
    table = read_table(data("contraceptive.csv.gz")).frame
    quasi = [name for name in table.columns if name != "contraceptive_method"]
    schema = Schema.of(table, quasi_identifying=quasi, sensitive=["contraceptive_method"])
    for k in (5, 10):
        flow = Flow(table, schema, Settings(k=k))
        raked, even = (two_way(flow.encoded, flow.boxed, None, flow.kinds, how) for how in ("raked", "even"))
        assert raked.mean < even.mean_alone
        assert raked.mean < (0.51 if k == 10 else 1) * even.mean
