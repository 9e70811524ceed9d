"""Columns of numbers with more values than codes: what it takes to know their codes when values stay with their shares.

    python run.py bench bounds --rows 10000000

A table of one such column is opened on 2 and on 50 workers that are imagined (one process answers every question; code
and answers are those of a cluster): with values that stay, and with all values on one worker, as it was before.
Counted are questions and bytes, measured are processor seconds, and the size of what every worker has to know.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from anonymizer.partitions.pieces import open_table
from anonymizer.schema import Schema
from anonymizer.workers import table as of_table
from anonymizer.workers.questions import shares_of
from benchmarks._cluster import frames_of
from benchmarks._inline import Inline

FILES = 50


def main(arguments: list[str]) -> int:
    """Parse the options, open the table in both ways, and print what that took."""
    parser = argparse.ArgumentParser(prog="bench bounds", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000, 20_000_000])
    options = parser.parse_args(arguments)
    print(
        "| rows | workers | values | questions | CPU s | busiest worker receives, MB | to the client, MB | coding, MB |"
    )
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            write_numbers(rows, Path(folder))
            for workers in (2, FILES):
                same = [opened(Path(folder), rows, workers, stay) for stay in (False, True)]
                if not np.array_equal(*same):
                    raise SystemExit("The codes are others.")
    return 0


def write_numbers(rows: int, folder: Path) -> None:
    """Write one column of numbers, hardly two of them alike, as files."""
    rng, step = np.random.default_rng(1), -(-rows // FILES)
    for number, start in enumerate(range(0, rows, step)):
        n = min(step, rows - start)
        table = pd.DataFrame({"amount": rng.lognormal(10, 1, n), "ill": rng.integers(0, 2, n).astype(str)})
        table.to_parquet(folder / f"{number:04}.parquet", index=False)


def opened(folder: Path, rows: int, workers: int, stay: bool) -> np.ndarray:
    """Return the ends of all codes of a table on so many workers, and print what it took to open it. ``stay``: values
    stay with their shares."""
    schema = Schema.of(pd.DataFrame({"amount": [1.5], "ill": ["0"]}), quasi_identifying=["amount"], sensitive=["ill"])
    cluster: Any = Inline(workers)

    def shares(*arguments: Any) -> Any:
        return tuple(replace(share, most=share.most if stay else rows) for share in shares_of(*arguments))

    with patch.object(of_table, "shares_of", shares):
        table = of_table.ClusterTable(cluster, open_table(folder, 1), schema)
    (encoding,), steps = table.here.encodings, cluster.steps.values()
    figures = [
        sum(step.cpu for step in steps), max(cluster.received) / 1e6, sum(step.back for step in steps) / 1e6,
        frames_of(table.here) / 1e6,
    ]  # fmt: skip
    print(
        f"| {rows:,} | {workers} | {'stay' if stay else 'come'} | {sum(step.tasks for step in steps):,} | "
        f"{' | '.join(f'{figure:,.1f}' for figure in figures)} |",
        flush=True,
    )
    return np.array([encoding.low, encoding.high])
