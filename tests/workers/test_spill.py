"""What does not fit into the memory of workers of ours: where it goes, who can read it, and that nothing is left."""

import os
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymizer.workers.cluster import Cluster, open_cluster
from tests.waiting import wait_until
from tests.workers.runs import CANARY

VALUES = 4_000_000
"""So many are 60 MB."""
MOST = 16
"""Arrays that are more than a worker keeps of 1 GiB."""
"""Seconds until an array that does not fit is on the disk."""


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX systems")
def test_what_is_spilled__only_its_owner_can_read_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spill, elsewhere = tmp_path / "spill", tmp_path / "elsewhere"
    for folder in (spill, elsewhere):
        folder.mkdir(mode=0o755)
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    with open_cluster(workers=1, memory="1GiB", spill=spill) as cluster:
        arrays = fill(cluster)
        (folder,) = spill.iterdir()
        assert folder == cluster.folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.geteuid()
        files = spilled(cluster)
        assert all(path.is_relative_to(folder) for path in files)
        assert any(CANARY.encode() in path.read_bytes()[: 1 << 20] for path in files)
        assert os.listdir(elsewhere) == []
        sizes = cluster.answers([cluster.ask("size", np.size, array) for array in arrays[:2]])  # read back from there
        assert sizes == [VALUES, VALUES]
        del arrays
    assert os.listdir(spill) == os.listdir(elsewhere) == []


def fill(cluster: Cluster) -> list[Any]:
    """Return futures of arrays that are more than the memory of a worker, once some are on the disk."""
    arrays: list[Any] = []
    for _ in range(MOST):
        arrays.append(cluster.ask("fill", np.full, VALUES, CANARY.encode()))
        cluster.wait(arrays)
    wait_until(lambda: spilled(cluster))
    return arrays


def spilled(cluster: Cluster) -> list[Path]:
    """Return the files with data that are in the folder of a cluster."""
    assert cluster.folder is not None
    return [path for path in cluster.folder.rglob("*") if path.is_file() and path.stat().st_size > 1000]
