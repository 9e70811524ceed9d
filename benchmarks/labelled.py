"""How long a large SPSS file takes to be read in batches, and how much memory, beside pyreadstat's own reading.

    python run.py bench labelled
    python run.py bench labelled --gib 0.1

The table is made up: labelled codes, numbers with decimals, and reasons for missing values. Each reading is a process
of its own; its peak is what it takes beyond what it had when the packages were there.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from anonymizer.reading.files import read_table

COLUMNS = 40
"""Half of them codes with labels, half numbers: eight bytes a cell, as the file is not compressed."""
LABELS = {float(code): f"Answer {code}" for code in range(1, 8)}
GIB = 1 << 30


def write_table(path: Path, size: float) -> int:
    """Write a made-up .sav file of about so many bytes; returns its rows."""
    import pyreadstat

    rows = int(size / (8 * COLUMNS))
    rng = np.random.default_rng(0)
    codes = {f"q{at}": rng.integers(1, 8, rows).astype(float) for at in range(COLUMNS // 2)}
    numbers = {f"x{at}": np.round(rng.normal(1000, 300, rows), 2) for at in range(COLUMNS // 2)}
    numbers["x0"][::50] = -9.0
    pyreadstat.write_sav(
        pd.DataFrame(codes | numbers, copy=False), str(path), variable_value_labels=dict.fromkeys(codes, LABELS),
        missing_ranges={"x0": [-9.0]},
    )  # fmt: skip
    return rows


def run_child(how: str, path: Path) -> None:
    """Read the file one way, and print seconds, bytes at the peak and bytes of the table."""
    import pyreadstat

    before, start, clock = resident(), time.process_time(), time.perf_counter()
    frame = read_table(path).frame if how == "copse" else pyreadstat.read_sav(str(path), user_missing=True)[0]
    seconds, wall = time.process_time() - start, time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps([seconds, wall, peak, int(frame.memory_usage(deep=False, index=False).sum())]))


def resident() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main(arguments: Sequence[str]) -> int:
    """Print a table of both readings, and how many times as much ours takes."""
    parser = argparse.ArgumentParser(prog="run.py bench labelled")
    parser.add_argument("--gib", type=float, default=1.0, help="size of the file (default: 1)")
    parser.add_argument("--child", nargs=2, metavar=("HOW", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        run_child(options.child[0], Path(options.child[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.sav"
        rows = write_table(path, options.gib * GIB)
        print(f"{rows:,} rows, {COLUMNS} columns, {path.stat().st_size / GIB:.2f} GiB\n")
        print("| reading | CPU s | wall s | peak, GiB | table, GiB |\n|---|---:|---:|---:|---:|")
        figures = {}
        for how in ("pyreadstat", "copse"):
            command = [sys.executable, "-m", "benchmarks", "labelled", "--child", how, str(path)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            figures[how] = seconds, wall, peak, table = json.loads(answer.stdout.splitlines()[-1])
            print(f"| {how} | {seconds:.1f} | {wall:.1f} | {peak / GIB:.2f} | {table / GIB:.2f} |", flush=True)
    ours, own = figures["copse"], figures["pyreadstat"]
    print(f"\n{ours[0] / own[0]:.2f} × pyreadstat's time; {ours[2] / ours[3]:.2f} × the table's memory, ", end="")
    print(f"{ours[2] / own[3]:.2f} × that of its cells as numbers.")
    return 0
