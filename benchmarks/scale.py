"""From a file to a checked release beside the original, stage by stage: processor seconds, seconds, and memory.

    python run.py bench scale --rows 450000 --format parquet csv
    python run.py bench scale --rows 4500000 --format parquet --generalizer uniform pack
    python run.py bench scale --rows 4500000 45000000 --engine local
    python run.py bench scale --rows 4500000 --engine local dask --workers 2
    python run.py bench scale --rows 4500000 --format csv --no-report --runs 3

Adult, resampled, with 14 quasi-identifiers, k = 10, groups of least pruning. Every run is a process of its own, warm
(it releases a small table first), so its highest memory is that of the run; the stage that reaches it is marked. CPU
seconds are those of all threads; with ``--engine dask`` of a scheduler and workers, too, which are started for the run.
The peer reads the same file in a process of its own: polars where it is installed, else pyarrow. With ``--runs``,
peers, generalizers and engines run in turns, so many times each; the tables are those of the middle run by its CPU
seconds, and ratios are those of medians. Adult is read from ``../shared/data``; files are made in a folder for
temporary files, which is deleted.
"""

import argparse
import hashlib
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.settings import RUN, Settings
from benchmarks._cluster import print_cluster, release_measured
from benchmarks._steps import Stages
from benchmarks.flow import ADULT, adult

STAGES = (
    ("encode", ("encoded",)),
    ("grow", ("tree",)),
    ("annotate, prune", ("risk", "pruning")),
    ("leaf of each record", ("leaf",)),
    ("make groups", ("coarse", "parts")),
    ("write cells", ("release",)),
    ("cells as a table, classes", ("released", "look_alikes", "cells")),
    ("prepare the original", ("original",)),
    ("verify beside the original", ("verification",)),
    ("gate", ("about_table", "judgement")),
    ("sort by content", ("leaving",)),
)
"""The stages between reading and writing, and what each asks of the flow."""

REPORT = (
    ("linkage before", ("before",)),
    ("linkage after", ("after",)),
    ("utility", ("utility",)),
    ("singled out", ("isolation",)),
    ("tables, regression", ("two_way", "coefficients")),
    ("report", ("report",)),
)
"""What a report takes besides."""

PIECE = 1_000_000
"""Records of a file of a table in pieces."""
GIB = 1 << 30


def main(arguments: list[str]) -> int:
    """Parse the options, and run every case in a process of its own."""
    parser = argparse.ArgumentParser(prog="bench scale", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[450_000])
    parser.add_argument("--format", nargs="+", choices=("parquet", "csv"), default=["parquet", "csv"])
    parser.add_argument("--generalizer", nargs="+", default=["uniform"])
    parser.add_argument("--order", default="content", choices=("content", "secret"))
    engines = ("memory", "local", "dask")
    parser.add_argument("--engine", nargs="+", default=["memory"], choices=engines, help="but memory: a folder in, out")
    parser.add_argument("--workers", type=int, default=2, help="of --engine dask")
    parser.add_argument("--memory", default="8GiB", help="of each of these workers")
    parser.add_argument("--runs", type=int, default=1, help="of each, in turns")
    parser.add_argument("--no-report", action="store_true", help="stop when the release is written")
    parser.add_argument("--profile", metavar="STAGE", help="print the functions that this stage spends its time in")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child or options.peer:
        run_child(options) if options.child else run_peer(options.peer)
        return 0
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        in_pieces = [engine for engine in options.engine if engine != "memory"]
        for rows in options.rows if in_pieces else ():
            source = Path(folder) / f"adult-{rows}"
            write_pieces(rows, source)
            for generalizer in options.generalizer:
                passed = ["--child", str(source), "--generalizer", generalizer, "--order", options.order]
                passed += ["--workers", str(options.workers), "--memory", options.memory]
                runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in in_pieces}
                for _ in range(options.runs):
                    for engine in in_pieces:
                        runs[engine].append(in_child([*passed, "--engine", engine]))
                if "local" in runs:
                    print_pieces(rows, generalizer, runs["local"])
                if "dask" in runs:
                    print_cluster(rows, generalizer, runs["dask"], runs.get("local"))
                if len({run["sha256"] for of_engine in runs.values() for run in of_engine}) > 1:
                    print("The manifests of the engines are NOT the same.")
            shutil.rmtree(source)
        for rows in options.rows if "memory" in options.engine else ():
            for format in options.format:
                source = Path(folder) / f"adult-{rows}.{format}"
                write_input(rows, source)
                peers, of_files = [], {generalizer: [] for generalizer in options.generalizer}
                for _ in range(options.runs):
                    peers.append(in_child(["--peer", str(source)]))
                    for generalizer in options.generalizer:
                        passed = ["--child", str(source), "--generalizer", generalizer, "--order", options.order]
                        passed += ["--no-report"] * options.no_report
                        passed += ["--profile", options.profile] * bool(options.profile)
                        of_files[generalizer].append(in_child(passed))
                for generalizer in options.generalizer:
                    print_run(rows, format, generalizer, of_files[generalizer], peers, source.stat().st_size)
                source.unlink()
    return 0


def write_input(rows: int, path: Path) -> None:
    """Write Adult, resampled; Parquet as other programs write it, with dictionaries."""
    table = adult(rows)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)


def write_pieces(rows: int, folder: Path, most: int = PIECE) -> None:
    """Write Adult, resampled, as Parquet files of at most so many records."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows, most)):
        adult(min(most, rows - start), number).to_parquet(folder / f"{number:04}.parquet", index=False)


def in_child(arguments: list[str]) -> dict[str, Any]:
    """Return what a process of this module prints last, a line of JSON; what it prints before is printed."""
    command = [sys.executable, "-m", "benchmarks", "scale", *arguments]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip().split("\n")
    if lines[:-1]:
        print("\n".join(lines[:-1]))
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def run_child(options: argparse.Namespace) -> None:
    """Run the flow on a file, and print what each stage took."""
    settings = Settings(k=10, grouping="least", generalizer=options.generalizer[0], order=options.order)
    if options.child.is_dir():
        small = options.child.with_name("small")
        write_pieces(options.workers * 5_000, small, 5_000)  # so that every worker has some
        if options.engine == ["dask"]:
            run = release_measured(options.child, small, schema_of, settings, options.workers, options.memory)
        else:
            release_pieces(small, settings, Stages())
            stages = Stages()
            digest = release_pieces(options.child, settings, stages)
            run = {"stages": stages.rows, "sha256": digest}
        shutil.rmtree(small)
        print(json.dumps(run))
        return
    release_of(options.child, settings, Stages(), head=2_000)
    stages = Stages(options.profile)
    size, digest = release_of(options.child, settings, stages, report=not options.no_report)
    print(json.dumps({"stages": stages.rows, "size": size, "sha256": digest}))


def release_of(
    source: Path, settings: Settings, stages: Stages, *, head: int | None = None, report: bool = True
) -> tuple[int, str]:
    """Return the size and SHA-256 of the release of a file; every stage is measured. ``head``: of the first rows."""
    with stages.stage("read"):
        reading = an.read_table(source)
    if head is not None:
        reading = replace(reading, frame=reading.frame.head(head))
    names = [name for name in reading.frame.columns if name != "income"]
    with stages.stage("schema"):
        schema = an.Schema.of(reading.frame, quasi_identifying=names, sensitive=["income"])
    flow = Flow(reading.frame, schema, settings, reading=reading, rng=np.random.default_rng(0))
    for name, parts in STAGES:
        with stages.stage(name):
            flow.compute(*parts)
    leaving = replace(flow.leaving, bars=())
    target = source.with_name(f"released{source.suffix}")
    with stages.stage("write"):
        leaving.write(target)
    content = target.read_bytes()
    target.unlink()
    if not flow.verification.passed:
        raise SystemExit("The release fails a check.")
    for name, parts in REPORT if report else ():
        with stages.stage(name):
            flow.compute(*parts)
    return len(content), hashlib.sha256(content).hexdigest()


def schema_of(source: Path) -> an.Schema:
    """Return the roles of a folder of files: all but the income may be known of somebody."""
    table = pd.read_parquet(sorted(source.iterdir())[0])
    names = [name for name in table.columns if name != "income"]
    return an.Schema.of(table, quasi_identifying=names, sensitive=["income"])


def release_pieces(source: Path, settings: Settings, stages: Stages) -> str:
    """Release a folder of files as a folder, and return the SHA-256 of its manifest; every stage is measured, as its
    progress names it."""
    schema = schema_of(source)
    running: list[Any] = []
    turn = Lock()

    def progress(share: float, what: str) -> None:
        name = what.partition(" ")[0]
        with turn:  # it is called from several threads
            if running and running[0] == name:
                return
            if running:
                running[1].__exit__(None, None, None)
            running[:] = [name, stages.stage(name)]
            running[1].__enter__()

    target = source.with_name("released")
    result = an.anonymize_files(source, schema, target, progress=progress, **settings.of(*RUN))
    running[1].__exit__(None, None, None)
    shutil.rmtree(target, ignore_errors=True)
    if not result.verification.passed:
        raise SystemExit("The release fails a check.")
    return result.manifest.sha256


def seconds(stages: list[Any]) -> float:
    """Return the CPU seconds of some stages."""
    return sum(stage[1] for stage in stages)


def middle_run(runs: list[list[Any]]) -> list[Any]:
    """Return the stages of the middle one of some runs, by its CPU seconds; of two the faster."""
    return sorted(runs, key=seconds)[(len(runs) - 1) // 2]


def print_pieces(rows: int, generalizer: str, runs: list[dict[str, Any]]) -> None:
    """Print the table of the middle run over files."""
    stages = middle_run([run["stages"] for run in runs])
    print(f"\n{rows:,} rows in Parquet files, {generalizer}, --engine local, the middle run of {len(runs)}\n")
    print("| stage | CPU s | wall s | peak, GiB |\n|---|---:|---:|---:|")
    for name, cpu, wall, memory in stages:
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {memory / GIB:.2f} |")
    print_sum("files to checked folder", stages)
    print(f"\n{seconds(stages) / rows * 1e6:.2f} CPU s for a million rows.", flush=True)


def run_peer(source: Path) -> None:
    """Read a file as the peer does, and print what that took."""
    stages = Stages()
    name, read = peer(source.suffix)
    first_rows = source.with_name(f"first{source.suffix}")
    write_input(2_000, first_rows)
    read(first_rows)
    first_rows.unlink()
    with stages.stage(name):
        table = read(source)
    assert len(table)
    print(json.dumps({"stages": stages.rows}))


def peer(suffix: str) -> tuple[str, Callable[[Path], Any]]:
    """Return the name of the peer, and how it reads a file of this ending."""
    if importlib.util.find_spec("polars"):
        polars: Any = importlib.import_module("polars")
        return "polars", polars.read_csv if suffix == ".csv" else polars.read_parquet
    import pyarrow.csv
    import pyarrow.parquet

    return "pyarrow", pyarrow.csv.read_csv if suffix == ".csv" else pyarrow.parquet.read_table


def print_run(
    rows: int, format: str, generalizer: str, runs: list[dict[str, Any]], peers: list[dict[str, Any]], size: int
) -> None:
    """Print the table of the middle run, and the ratios of medians."""
    stages = middle_run([run["stages"] for run in runs])
    end = next(place for place, stage in enumerate(stages) if stage[0] == "write") + 1
    print(f"\n{rows:,} rows, {format} ({size / 2**20:.1f} MiB), {generalizer}, the middle run of {len(runs)}\n")
    print("| stage | CPU s | wall s | peak, GiB |\n|---|---:|---:|---:|")
    for place, (name, cpu, wall, memory) in enumerate(stages):
        if place == end:
            print_sum("file to checked release", stages[:end])
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {memory / GIB:.2f} |")
    print_sum("with the report" if len(stages) > end else "file to checked release", stages)
    name, _, _, memory = peers[0]["stages"][0]
    peer, read = (statistics.median(run["stages"][0][1] for run in of) for of in (peers, runs))
    all_stages = statistics.median(seconds(run["stages"][:end]) for run in runs)
    print(
        f"\n{name} reads it in {peer:.2f} CPU s ({memory / GIB:.2f} GiB); reading / {name} = {read / peer:.2f}; "
        f"all / {name} = {all_stages / peer:.1f}. "
        f"The release: {runs[0]['size'] / 2**20:.2f} MiB, SHA-256 {runs[0]['sha256'][:12]}",
        flush=True,
    )


def print_sum(name: str, stages: list[Any]) -> None:
    """Print the sum of some stages; of memory the highest."""
    cpu, wall, memory = (column for column in list(zip(*stages, strict=True))[1:])
    print(f"| **{name}** | **{sum(cpu):.2f}** | **{sum(wall):.2f}** | **{max(memory) / GIB:.2f}** |")
