"""A release on a cluster that is there already, with the commands and defaults of Dask itself."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest

from anonymizer.engines import anonymize_files
from anonymizer.errors import AnonymizerError
from anonymizer.partitions.pieces import PartitionedTable, open_table
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.remote import release_on
from anonymizer.workers.table import ClusterTable
from tests.conftest import ROOT
from tests.partitions.tables import write_pieces
from tests.workers.runs import CANARY, CASES, same_files
from tests.workers.stock import Stock, stock_cluster

FOLDERS = "every worker sees the input and the output folder under the same path"
SECRET = 123456.75
"""A number of the table that cannot be read."""


def test_a_stock_cluster__writes_the_files_of_one_machine_and_keeps_nothing(
    tmp_path: Path, source: tuple[Path, Schema]
) -> None:
    import dask.config

    folder, schema = source
    with (
        stock_cluster(tmp_path) as stock,
        dask.config.set(stock.config),
        open_cluster(scheduler=stock.address) as cluster,
    ):
        assert len(cluster.workers()) == 2
        for changes in (CASES[1], CASES[3]):
            here, there = (tmp_path / f"{where}-{changes['generalizer']}" for where in ("here", "there"))
            anonymize_files(folder, schema, here, rows=900, **changes)
            release_on(cluster, open_table(folder, 900), schema, there, Settings(**changes), rows=900)
            assert same_files(there, here)
        words = [
            refusal_of_infinity(cluster, tmp_path),
            refusal_of_absent_input(cluster, open_table(folder, 900), schema, tmp_path),
            refusal_of_absent_output(cluster, open_table(folder, 900), schema, tmp_path),
        ]
        assert_on_loopback(stock)
    assert "make the column categorical" in words[0]
    assert all(FOLDERS in sentence for sentence in words[1:]), words
    assert "part-000.parquet': No such file" in words[1]
    assert "absent/part-00000.parquet': No such file" in words[2]
    words.append(stock.words())
    assert "Registered to:" in words[-1]
    for value in (CANARY, "asthma", str(SECRET)):
        assert value not in "".join(words)
    assert not (tmp_path / "out").exists()
    assert {path.name for path in stock.spill.rglob("*") if path.is_dir() or path.stat().st_size} == {
        "dask-scratch-space"
    }


def test_operating__names_options_and_variables_that_dask_has() -> None:
    from dask.config import collect_env, defaults, get, merge
    from distributed.cli import dask_scheduler, dask_worker

    text = (ROOT / "docs" / "OPERATING.md").read_text("utf-8").replace("\\\n", " ")
    (tls,) = re.findall(r'^TLS="(.*)"$', text, re.MULTILINE)
    for command in (dask_scheduler, dask_worker):
        (line,) = re.findall(rf"^python -m {command.__name__} (.*)$", text, re.MULTILINE)
        options = {option for some in command.main.params for option in (*some.opts, *some.secondary_opts)}
        assert set(re.findall(r"--[a-z-]+", f"{tls} {line}")) <= options
    variables = set(re.findall(r"\bDASK_\w+", text))
    assert len(variables) == 4
    for variable in variables:
        name = ".".join(names_in(collect_env({variable: "there"})))
        assert get(name, "absent", config=merge(*defaults)) is None, name


def names_in(config: Any) -> list[str]:
    """Return the names that lead to the one value of a configuration."""
    if not isinstance(config, dict):
        return []
    ((name, inside),) = config.items()
    return [name, *names_in(inside)]


def assert_on_loopback(stock: Stock) -> None:
    listening = [
        socket.laddr.ip
        for process in stock.everybody()
        for socket in process.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 8  # of scheduler, workers and nannies, and what serves Dask's pages
    assert set(listening) == {"127.0.0.1"}


def refusal_of_infinity(cluster: Cluster, tmp_path: Path) -> str:
    """Return what is said of a number that no worker can code."""
    table = pd.DataFrame({"x": [*np.arange(70_000) / 7, np.inf, SECRET], "ill": CANARY})
    pieces = write_pieces(tmp_path / "infinite", pa.Table.from_pandas(table, preserve_index=False), [])
    schema = Schema.of(table.head(9), quasi_identifying=["x"], sensitive=["ill"])
    with pytest.raises(AnonymizerError) as refusal:
        ClusterTable(cluster, open_table(pieces, 80_000), schema)
    return str(refusal.value)


def refusal_of_absent_input(cluster: Cluster, table: PartitionedTable, schema: Schema, tmp_path: Path) -> str:
    """Return what is said where no worker sees the input."""
    moved = replace(table, pieces=tuple(replace(piece, path=tmp_path / piece.path.name) for piece in table.pieces))
    with pytest.raises(AnonymizerError) as refusal:
        ClusterTable(cluster, moved, schema)
    return str(refusal.value)


def refusal_of_absent_output(cluster: Cluster, table: PartitionedTable, schema: Schema, tmp_path: Path) -> str:
    """Return what is said where no worker sees the folder of the release."""
    ask = cluster.ask

    def elsewhere(step: str, work: Any, *arguments: Any, **more: Any) -> Any:
        if step == "write":
            arguments = *arguments[:4], str(tmp_path / "absent"), *arguments[5:]
        return ask(step, work, *arguments, **more)

    cluster.ask = elsewhere  # type: ignore[method-assign]
    with pytest.raises(AnonymizerError) as refusal:
        release_on(cluster, table, schema, tmp_path / "out", Settings(**CASES[0]), rows=900)
    del cluster.ask  # type: ignore[method-assign]
    return str(refusal.value)
