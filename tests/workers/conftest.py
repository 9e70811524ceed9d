"""Two workers, the folder into which they spill, and a table in pieces."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from anonymizer.schema import Schema
from anonymizer.workers.cluster import Cluster, open_cluster
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.workers.runs import CANARY


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema]:
    table = people(4000, 3)
    table.loc[5:25, "town"] = CANARY
    whole = pa.Table.from_pandas(table, preserve_index=False)
    folder = write_pieces(tmp_path_factory.mktemp("source") / "in", whole, [1000, 1000, 2500], 700)
    return folder, schema_of(whole_frame(whole), sensitive=["diagnosis", "ward"])


@pytest.fixture(scope="module")
def spill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spill")


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, started once a process of tests."""
    spill = tmp_path_factory.mktemp("spill")
    with open_cluster(workers=2, memory="2GiB", spill=spill) as cluster:
        yield cluster
    assert os.listdir(spill) == []
