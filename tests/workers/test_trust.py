"""Who may see records: workers of the same versions, at addresses that are encrypted or of this machine."""

import os
from pathlib import Path
from typing import Any

import pytest

from anonymizer.errors import ParameterError
from anonymizer.partitions.pieces import open_table
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.workers.cluster import Cluster, open_cluster, spawn
from anonymizer.workers.remote import release_on
from anonymizer.workers.table import ClusterTable
from tests.workers.runs import CASES

OTHER = 'import anonymizer.version\nanonymizer.version.VERSION = "0.0.1"\n'


@pytest.mark.sweep(0)
def test_other_versions__are_named_whenever_a_worker_joins(
    tmp_path: Path, spill: Path, source: tuple[Path, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_cluster(workers=1, memory="1GiB", spill=spill) as cluster:
        cluster.require_same_versions()
        table = open_table(source[0], 900)
        ClusterTable(cluster, table, source[1])
        (tmp_path / "sitecustomize.py").write_text(OTHER)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        cluster.processes.append(spawn(wish_of(cluster)))
        cluster.client.wait_for_workers(2)
        with pytest.raises(ParameterError, match=r"has Copse 0\.0\.1; here it is"):
            release_on(cluster, table, source[1], tmp_path / "out", Settings(**CASES[0]))
    assert set(os.listdir(tmp_path)) <= {"sitecustomize.py", "__pycache__"}


def wish_of(cluster: Cluster) -> dict[str, Any]:
    """Return what another worker of a cluster is told."""
    keys = cluster.client.security
    tls = {name: getattr(keys, name) for name in keys.__slots__ if name.startswith("tls_") and "_" in name[4:]}
    tls = {name: value for name, value in tls.items() if isinstance(value, str)}
    return {"tls": tls, "folder": str(cluster.folder), "role": "worker", "name": "other", "scheduler": cluster.address,
            "memory": 1 << 30}  # fmt: skip


@pytest.mark.parametrize("address", ["tcp://10.0.0.7:8786", "10.0.0.7:8786", "tcp://example.org:8786"])
def test_a_scheduler_elsewhere__takes_tls(address: str) -> None:
    with pytest.raises(ParameterError, match="nothing would be encrypted"), open_cluster(scheduler=address):
        pass


class Listed:
    """A client of a scheduler that lists its own address and those of its workers; ``questions``: to them."""

    status = "running"

    def __init__(self, own: str, *workers: str) -> None:
        self.about: dict[str, Any] = {"address": own, "workers": dict.fromkeys(workers, {})}
        self.questions: list[str] = []
        self.closed = False

    def scheduler_info(self, n_workers: int = -1) -> dict[str, Any]:
        return self.about

    def run(self, work: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
        self.questions.append(work.__name__)
        return {}

    def close(self, timeout: float) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("own", "worker", "what"),
    [
        ("tcp://10.0.0.7:8786", "tcp://127.0.0.1:1", "scheduler at 'tcp://10.0.0.7:8786'"),
        ("tcp://127.0.0.1:8786", "tcp://10.0.0.7:1", "worker at 'tcp://10.0.0.7:1'"),
    ],
)
def test_behind_a_tunnel__what_is_not_encrypted_is_refused(
    monkeypatch: pytest.MonkeyPatch, own: str, worker: str, what: str
) -> None:
    listed = Listed(own, "tls://10.0.0.8:1", worker)
    monkeypatch.setattr("distributed.Client", lambda *arguments, **more: listed)
    with pytest.raises(ParameterError, match=what), open_cluster(scheduler="tcp://127.0.0.1:8786"):
        pass
    assert listed.closed
    assert set(listed.questions) <= {"forget"}
