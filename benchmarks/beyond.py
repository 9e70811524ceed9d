"""What 1e9 and 1e10 rows would take on 50 and 500 workers, from bytes counted and processor seconds measured here.

    python run.py bench beyond --rows 2000000

The questions of ``--engine dask`` are asked of 2 and of 50 workers that are imagined: one process answers all of them,
the code and every answer are those of a cluster, and the release is that of ``--engine local``. Counted are questions
and bytes, measured are processor seconds of each step. What a question takes of scheduler and client is measured on
a cluster of two processes. The waves of 500 workers are those of the same table in one process, with nodes that small.

Modelled is the rest: each figure grows by its law, rows, workers, files or nodes (``LAWS``); a worker has one core
and 10 Gbit/s, and so has the client; steps follow each other. The table is Adult, resampled, with one
column of 65,536 values in the place of ``fnlwgt``, so that few records are alike.
"""

import argparse
import shutil
import tempfile
import time
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

import anonymizer as an
from anonymizer.growing.grow import grow_from
from anonymizer.growing.threads import one_thread
from anonymizer.partitions.coded import code_table
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.records import LEVELS, InPieces
from anonymizer.schema import Schema
from anonymizer.settings import RUN, Settings
from anonymizer.workers import columns
from anonymizer.workers.cluster import open_cluster
from anonymizer.workers.questions import guarded
from anonymizer.workers.remote import release_on
from benchmarks._inline import Inline, Step
from benchmarks.flow import ADULT, adult
from benchmarks.scale import schema_of

WIDE = 65_536
"""Values of the one column that has many."""
FILE = 1 << 20
"""Rows of a file of the release."""
WIRE = 1.25e9
"""Bytes that a worker, or the client, receives or sends in a second."""
FEW, MANY = 2, 50
"""Workers that are imagined."""
PAPER = ((10**9, 50), (10**9, 500), (10**10, 50), (10**10, 500))
EXPECTED = {PAPER[0]: "3-4 min", PAPER[1]: "1 min", PAPER[2]: "25-30 min", PAPER[3]: "4-5 min"}
"""What was expected on paper, before any of it was built."""

ALONE = ("merge", "cells_of_parts", "whole", "choose", "route", "rules", "routes")
"""Steps of one question each."""
LAWS: dict[str, tuple[str, str, str, str, str]] = {
    "read": ("W", "N", "W", "", ""),
    "merge": ("", "W", "", "W", ""),
    "sample": ("W", "W", "W", "W", ""),
    "rules": ("", "", "", "", ""),
    "route": ("V", "VH", "H", "", ""),
    "count": ("WV", "N", "WH", "WVH", ""),
    "total": ("WV", "WH", "", "WH", ""),
    "whole": ("V", "H", "H", "H", ""),
    "choose": ("V", "H", "H", "", "H"),
    "take": ("WB", "N", "WH", "WH", ""),
    "finish": ("B", "N", "H", "N", "N"),
    "routes": ("", "N", "N", "", ""),
    "parts": ("W", "N", "WN", "WN", ""),
    "values_of_parts": ("W", "N", "", "", ""),
    "cells": ("", "N", "", "N", ""),
    "cells_of_parts": ("", "N", "", "N", "N"),
    "rows": ("WF", "N", "WF", "WN", ""),
    "merge_rows": ("F", "N", "F", "N", ""),
    "write": ("F", "N", "F", "", "F"),
    "check": ("F", "N", "F", "", "N"),
    "client: growing": ("", "N", "", "", ""),
    "client: making": ("", "N", "", "", ""),
    "client: looking": ("", "", "", "", ""),
    "client: writing": ("", "N", "", "", ""),
}
"""Of each step how its questions, processor seconds, bytes from the client, bytes between workers and bytes to the
client grow: with N rows, W workers, F files, V waves, H nodes that are counted, B bins of small nodes."""


@dataclass
class Waves:
    """Waves of growing, and nodes that are counted in each."""

    nodes: list[int]


def main(arguments: list[str]) -> int:
    """Parse the options, run what can be run, and print the model beside the paper."""
    parser = argparse.ArgumentParser(prog="bench beyond", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args(arguments)
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    rows, settings = options.rows, Settings(k=10, grouping="least", generalizer="uniform")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        write_distinct(rows, source)
        schema, target = schema_of(source), Path(folder) / "out"
        expected = an.anonymize_files(source, schema, target, **settings.of(*RUN)).manifest.sha256
        shutil.rmtree(target)
        runs = {workers: inline(source, schema, target, settings, workers, expected) for workers in (FEW, FEW, MANY)}
        table = code_table(open_table(source), schema)
        waves = {workers: waves_of(table, rows, workers) for workers in (FEW, MANY, 500)}
        cells = [encoding.n_codes * 2 * 4 for encoding in table.encoded.encodings]
    per_question = question_seconds()
    print_steps(rows, runs, waves)
    print(f"\nA question takes {per_question * 1e3:.2f} ms of scheduler and client (measured, two workers).")
    for place in PAPER:
        print_model(rows, runs, waves, cells, per_question, *place)
    return 0


def write_distinct(rows: int, folder: Path) -> None:
    """Write the table as files, one for each of the workers; few of its rows are alike."""
    folder.mkdir()
    table = adult(rows)
    noise = np.random.default_rng(1).normal(0, 2e4, rows)
    rank = pd.Series(table["fnlwgt"] + noise).rank(method="first").to_numpy() - 1
    table["fnlwgt"] = (rank * WIDE // rows).astype(np.int64)
    step = -(-rows // MANY)
    for number, start in enumerate(range(0, rows, step)):
        table.iloc[start : start + step].to_parquet(folder / f"{number:04}.parquet", index=False)


def inline(
    source: Path, schema: Schema, target: Path, settings: Settings, workers: int, expected: str
) -> dict[str, Step]:
    """Return what each step takes on imagined workers; the release has to be the one that is expected."""
    cluster: Any = Inline(workers)
    result = release_on(
        cluster, open_table(source, 1), schema, target, settings,
        progress=lambda _, what: cluster.client(what.partition(" ")[0].lower()),
    )  # fmt: skip
    shutil.rmtree(target)
    if result.manifest.sha256 != expected or not result.verification.passed:
        raise SystemExit("The release of the imagined workers is another one.")
    return dict(cluster.steps)


class Counting(InPieces):
    """Records in this process that keep account of their waves."""

    def divide(self, divisions: Any, nodes: Any) -> Any:
        """See :class:`anonymizer.growing.records.RecordSource`."""
        self.counted = [*getattr(self, "counted", []), len(nodes)]
        return super().divide(divisions, nodes)

    def finish(self, nodes: Any, growth: Any) -> Any:
        """See :class:`anonymizer.growing.records.RecordSource`; no branch is grown."""
        self.small = len(nodes)
        raise StopIteration


def waves_of(table: Any, rows: int, workers: int) -> Waves:
    """Return the waves of growing on so many workers."""
    source = Counting(table, enough=rows // (4 * workers))
    try:
        with one_thread():
            grow_from(source, table.encoded.encodings, "entropy", 2, None, LEVELS)
    except StopIteration:
        pass
    return Waves([nodes for nodes in source.counted if nodes])


@guarded
def nothing(*arguments: Any) -> int:
    """Return a number, for what a question itself takes."""
    return 1


def question_seconds(questions: int = 4_000, inputs: int = 50) -> float:
    """Return the seconds of scheduler and client for one question, each of which is an input of another one."""
    with open_cluster(workers=2, memory="1GiB") as cluster:
        watched = [psutil.Process(), psutil.Process(cluster.processes[0].pid)]
        cluster.answers([cluster.ask("first", nothing) for _ in range(100)])
        start, cpu = time.perf_counter(), sum(sum(process.cpu_times()[:2]) for process in watched)
        ends = [
            cluster.ask("end", nothing, [cluster.ask("each", nothing) for _ in range(inputs)])
            for _ in range(questions // inputs)
        ]
        cluster.answers(ends)
        cpu = sum(sum(process.cpu_times()[:2]) for process in watched) - cpu
        wall = time.perf_counter() - start
    print(
        f"{questions:,} questions that do nothing: {cpu:.1f} CPU s of scheduler and client, {wall:.1f} s by the clock."
    )
    return cpu / (questions * (1 + 1 / inputs))


def print_steps(rows: int, runs: dict[int, dict[str, Step]], waves: dict[int, Waves]) -> None:
    """Print what was counted and measured here."""
    for workers, steps in runs.items():
        nodes = waves[workers].nodes
        print(f"\n{rows:,} rows, {workers} imagined workers: {len(nodes)} waves, {sum(nodes)} nodes counted\n")
        print("| step | questions | workers, CPU s | from the client, MB | between workers, MB | to the client, MB |")
        print("|---|---:|---:|---:|---:|---:|")
        for name, step in steps.items():
            sizes = " | ".join(f"{size / 1e6:.2f}" for size in (step.out, step.moved, step.back))
            print(f"| {name} | {step.tasks} | {step.cpu:.2f} | {sizes} |")


def print_model(
    base: int, runs: dict[int, dict[str, Step]], waves: dict[int, Waves], widths: list[int], per_question: float,
    rows: int, workers: int,
) -> None:  # fmt: skip
    """Print what each step would take with so many rows and workers."""

    def letters(n: int, w: int) -> dict[str, float]:
        own = waves[w].nodes
        return {"N": n, "W": w, "F": max(1.0, n / FILE), "V": len(own), "H": sum(own), "B": w}

    ours, theirs = letters(base, MANY), letters(rows, workers)
    theirs["F"] = rows / FILE
    cells, batches = sum(widths), len(columns.batches_of(widths, columns.AT_ONCE / 2 / (4 * workers)))
    ours["F"] = -(-base // FILE)

    def grown(figure: float, law: str) -> float:
        return figure * prod(theirs[letter] / ours[letter] for letter in law)

    def seconds(name: str, step: Step) -> float:
        """Return what workers take: for records as few of them, and the rest by question, by cell or by group."""
        few, rest = runs[FEW].get(name, step).cpu, LAWS[name][0]
        rest = {"count": "WH", "values_of_parts": "WN"}.get(name, rest)
        if LAWS[name][1] != "N" or few >= step.cpu:
            return grown(step.cpu, LAWS[name][1])
        return few * rows / base + grown(step.cpu - few, rest)

    print(f"\n### {rows:,} rows, {workers} workers (paper: {EXPECTED[rows, workers]})\n")
    print("| step | questions | CPU s, busiest | busiest receives, GB | from the client, GB | to the client, GB | s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    sums = np.zeros(6)
    for name, step in runs[MANY].items():
        law = LAWS[name]
        tasks, cpu = grown(step.tasks, law[0]), seconds(name, step)
        out, moved, back = (grown(size, law[at]) for at, size in ((2, step.out), (3, step.moved), (4, step.back)))
        alone = name.startswith("client") or name in ALONE
        tasks *= batches if name in ("count", "whole", "choose") else 1
        spread = 1 if alone else min(workers, max(tasks, 1))
        busiest = moved / spread
        if name == "total":
            tasks, busiest = levels(waves[workers].nodes, workers, cells)
            tasks *= batches
            cpu = grown(runs[MANY]["total"].cpu, "WH")
        if name == "whole":
            busiest = sum(fan_in(nodes, cells, workers) * nodes * cells for nodes in waves[workers].nodes)
        own = cpu / spread
        spent = max(own + busiest / WIRE + (out + back) / WIRE, tasks * per_question)
        row = np.array([tasks, own, busiest / 1e9, out / 1e9, back / 1e9, spent])
        sums += row
        print(
            f"| {name} | {tasks:,.0f} | " + " | ".join(f"{figure:,.2f}" for figure in row[1:5]) + f" | {spent:,.1f} |"
        )
    print(
        f"| **sum** | {sums[0]:,.0f} | " + " | ".join(f"{figure:,.1f}" for figure in sums[1:5]) + f" | {sums[5]:,.0f} |"
    )
    cells_moved = runs[MANY]["cells"].moved / runs[MANY]["cells"].tasks
    direct = sum(waves[workers].nodes) * workers * cells / 1e9
    print(
        f"\n{sums[5] / 60:.1f} minutes; {batches} runs of columns. "
        f"Histograms to one client would be {direct:,.1f} GB, {direct / 1.25:,.0f} s. "
        f"One worker gets {grown(cells_moved, 'N') / 1e9:,.1f} GB to make cells of one column.",
        flush=True,
    )


def fan_in(nodes: int, cells: int, workers: int) -> int:
    """Return how many workers' histograms are added at a time."""
    return min(workers, columns.most_at_once(nodes * cells))


def levels(waves: list[int], workers: int, cells: int) -> tuple[float, float]:
    """Return the questions that add histograms, before the last of each wave, and the bytes that the busiest worker
    receives for them."""
    tasks, size = 0.0, 0.0
    for nodes in waves:
        left, most = workers, columns.most_at_once(nodes * cells)
        while left > most:
            left = -(-left // most)
            tasks += left
            size += most * nodes * cells
    return tasks, size
