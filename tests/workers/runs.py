"""What runs on a cluster are made of, and what is looked at afterwards."""

import os
from pathlib import Path
from typing import Any

import psutil

from anonymizer.workers.cluster import Cluster

CASES: list[dict[str, Any]] = [
    {"generalizer": "uniform", "grouping": "least"},
    {"generalizer": "uniform", "grouping": "error-risk", "numbers": "range", "l": 2},
    {"generalizer": "uniform", "grouping": "least", "numbers": "mean", "writing": "weighted"},
    {"generalizer": "refine", "grouping": "error-risk", "l": 2, "t": 0.6},
]
CANARY = "Rumpelstiltskin"


def same_files(one: Path, other: Path) -> bool:
    names = sorted(os.listdir(one))
    return names == sorted(os.listdir(other)) and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names
    )


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def keys_of(cluster: Cluster, folder: Path) -> dict[str, str]:
    """Return the configuration of Dask with which others join a cluster; its keys are written into a folder."""
    keys = cluster.client.security
    for name in ("tls_ca_file", "tls_client_key", "tls_client_cert"):
        (folder / name).write_text(getattr(keys, name), "utf-8")
    return {
        "distributed.comm.tls.ca-file": str(folder / "tls_ca_file"),
        "distributed.comm.tls.client.key": str(folder / "tls_client_key"),
        "distributed.comm.tls.client.cert": str(folder / "tls_client_cert"),
    }
