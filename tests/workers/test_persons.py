"""Persons with several records on a cluster: the files, sums and checks of one machine, whoever is killed."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.engines import anonymize_files
from anonymizer.errors import GuaranteeError
from anonymizer.groups.recipe import Recipe
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import grow_pieces
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.remote import grow_shares, release_on
from anonymizer.workers.table import ClusterTable
from tests.partitions.tables import visits, visits_schema, whole_frame, write_pieces
from tests.workers.killing import killing
from tests.workers.runs import same_files

WAYS: list[dict[str, Any]] = [
    {"generalizer": "uniform", "grouping": "least"},
    {"generalizer": "uniform", "grouping": "error-risk", "numbers": "range", "l": 2},
    {"generalizer": "refine", "grouping": "least", "t": 0.6},
    {"generalizer": "pack", "grouping": "least", "l": 2, "t": 0.6},
    {"generalizer": "pack", "grouping": "error-risk", "share_max": 0.1},
    {"generalizer": "refine", "grouping": "least", "share_max": 0.1},
    {"generalizer": "uniform", "grouping": "least", "share_max": 0.08},
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema]:
    whole = pa.Table.from_pandas(visits(4000, 3), preserve_index=False)
    folder = write_pieces(tmp_path_factory.mktemp("visits") / "in", whole, [1000, 1000, 2500], 700)
    return folder, visits_schema(whole_frame(whole), sensitive=["diagnosis", "ward"])


@pytest.mark.sweep(1)
@pytest.mark.parametrize("changes", WAYS)
def test_persons_on_a_cluster__are_released_as_on_one_machine(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema], changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anonymizer.workers.records.SMALL", 400)  # so that there are waves
    folder, schema = source
    rng, changes = np.random.default_rng, changes | {"prosecutor_limit": 1}
    expected = anonymize_files(folder, schema, tmp_path / "here", rows=900, rng=rng(5), **changes)
    there = tmp_path / "there"
    result = release_on(two, open_table(folder, 900), schema, there, Settings(**changes), rows=900, rng=rng(5))
    assert result.folder == there, result.gate.open
    assert same_files(there, tmp_path / "here")
    assert result.verification.to_dict() == expected.verification.to_dict()
    assert result.verification["k persons"].passed is True
    assert result.after.sizes.tolist() == expected.after.sizes.tolist()
    assert result.after.highest == expected.after.highest <= changes.get("share_max", 1)
    assert result.notes == expected.notes
    assert result.gate == expected.gate
    cuts = [(some.tree.persons, some.pruning.cut()) for some in (result, expected)]
    (one, own), (other, expected_cut) = cuts
    assert one.n[own].tolist() == other.n[expected_cut].tolist()
    assert one.sums[own].tolist() == other.sums[expected_cut].tolist()
    assert one.others[0][own].tolist() == other.others[0][expected_cut].tolist()


def test_persons_of_nodes__are_those_of_one_machine(two: Cluster, source: tuple[Path, Schema]) -> None:
    table = open_table(source[0], 900)
    there, coded = ClusterTable(two, table, source[1]), code_table(table, source[1])
    expected, *_ = grow_pieces(coded, Recipe("entropy", 2), 1000, 500)
    persons = grow_shares(there, Recipe("entropy", 2), 500)[0].persons
    assert persons.n.tolist() == expected.persons.n.tolist()
    assert persons.sums.tolist() == expected.persons.sums.tolist()
    assert [counts.tolist() for counts in persons.others] == [counts.tolist() for counts in expected.persons.others]
    sample, other = there.sample(77), coded.sample(77)
    assert sample.person is not None
    assert other.person is not None
    assert (sample.person >= 0).tolist() == (other.person >= 0).tolist()
    assert sample.others == other.others


def test_text_of_persons__is_numbered_as_on_one_machine(tmp_path: Path, two: Cluster) -> None:
    """Numbers that are written in two ways are one person's, and a mark of a missing one is nobody's."""
    table = visits(2000, 9).drop(columns="born")
    number = table["patient"].str[1:].astype(float)
    table["patient"] = [f"{one:.0f}" if at % 2 else f"{one:.1f}" for at, one in enumerate(number)]
    table.loc[number.isna(), "patient"] = "n/a"
    (tmp_path / "in").mkdir()
    for at in range(4):
        table[at * 500 : at * 500 + 500].to_csv(tmp_path / "in" / f"part-{at}.csv", index=False)
    roles: dict[str, Any] = {"quasi_identifying": ["age", "income", "job", "town"], "sensitive": ["diagnosis"]}
    schema = Schema.of(table, person="patient", **roles)
    changes: dict[str, Any] = {"generalizer": "uniform", "grouping": "least", "prosecutor_limit": 1}
    expected = anonymize_files(tmp_path / "in", schema, tmp_path / "here", rows=900, **changes)
    result = release_on(two, open_table(tmp_path / "in"), schema, tmp_path / "there", Settings(**changes), rows=900)
    assert result.tree.persons.n[0] == expected.tree.persons.n[0] == number.nunique()
    assert same_files(tmp_path / "there", tmp_path / "here")
    assert result.verification.to_dict() == expected.verification.to_dict()


def test_fewer_persons_than_k_and_columns_that_repeat__are_said(
    tmp_path: Path, two: Cluster, source: tuple[Path, Schema]
) -> None:
    folder, schema = source
    with pytest.raises(GuaranteeError, match="persons, fewer than k = 2000"):
        release_on(two, open_table(folder, 900), schema, tmp_path / "none", Settings(k=2000, generalizer="uniform"))
    frame = visits(1500, 5).rename(columns={"patient": "patient_id"})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    repeats = visits_schema(whole_frame(table), person=None, identifying=["patient_id"])
    source_of_rows = write_pieces(tmp_path / "in", table, [800])
    how: dict[str, Any] = {"generalizer": "uniform", "grouping": "least"}
    expected = anonymize_files(source_of_rows, repeats, tmp_path / "here", **how)
    result = release_on(two, open_table(source_of_rows), repeats, tmp_path / "there", Settings(**how))
    assert result.folder is None
    assert result.gate == expected.gate
    assert [finding.key for finding in result.gate.open] == ["persons: patient_id"]


@pytest.mark.sweep(0)
@pytest.mark.parametrize("step", ["number", "batch", "ends", "classes"])
def test_a_worker_that_is_killed_while_persons_are_counted__changes_nothing(
    tmp_path: Path, source: tuple[Path, Schema], step: str
) -> None:
    from anonymizer.workers.cluster import open_cluster

    folder, schema = source
    changes: dict[str, Any] = {"generalizer": "uniform", "grouping": "least", "prosecutor_limit": 1}
    anonymize_files(folder, schema, tmp_path / "here", rows=900, **changes)
    with open_cluster(workers=2, memory="2GiB", spill=tmp_path) as cluster, killing(cluster, step, tmp_path / "mark"):
        result = release_on(cluster, open_table(folder, 900), schema, tmp_path / "there", Settings(**changes), rows=900)
    assert result.verification.passed
    assert same_files(tmp_path / "there", tmp_path / "here")
