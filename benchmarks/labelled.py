"""How long a large SPSS file takes to be read in parts, and how much memory, beside pyreadstat's own reading.

    python run.py bench labelled
    python run.py bench labelled --gib 0.1 --compressed

The table is made up as surveys are: of every 40 columns 26 are codes with labels (one with reasons for missing values),
8 numbers with decimals, 3 whole numbers, 2 texts and 1 day. Each reading is a process of its own. **Peak**: the most
memory that it and the child in which Copse reads hold together, beyond what both had before, as proportional set size
(a page that two share counts once), looked at fifty times a second from outside; what the system keeps of the file is
not theirs. An upload stands in the server's memory before, and once more in the child. **Table**: what the reader
returns, as it is held.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from anonymizer.reading import child

COLUMNS = 40
"""Eight bytes a cell, in a file that is not compressed."""
LABELS = {float(code): f"Answer {code}" for code in range(1, 8)}
TOWNS = np.array([f"Town {at}" for at in range(500)])  # 8 letters: one cell of the file
LOOK = 0.02
"""Seconds between two looks at the memory."""
GIB = 1 << 30


def write_table(path: Path, size: float, compressed: bool) -> int:
    """Write a made-up .sav file of about so many bytes, were it not compressed; returns its rows."""
    import pyreadstat

    rows = int(size / (8 * COLUMNS))
    rng = np.random.default_rng(0)
    table = {f"q{at}": rng.integers(1, 8, rows).astype(float) for at in range(26)}
    table["q0"][::50] = -9.0
    table |= {f"x{at}": np.round(rng.normal(1000, 300, rows), 2) for at in range(8)}
    table |= {f"n{at}": rng.integers(0, 10 ** (at + 3), rows).astype(float) for at in range(3)}
    labels = {name: LABELS | ({-9.0: "Refused"} if name == "q0" else {}) for name in table if name[0] == "q"}
    texts = {f"t{at}": pd.Series(TOWNS[rng.integers(0, len(TOWNS), rows)], dtype="str") for at in range(2)}
    days = {"born": 12e9 + 86_400.0 * rng.integers(0, 20_000, rows)}
    pyreadstat.write_sav(
        pd.DataFrame(table | texts | days, copy=False), str(path), variable_value_labels=labels,
        missing_ranges={"q0": [-9.0]}, variable_format={"born": "DATE11"}, row_compress=compressed,
    )  # fmt: skip
    return rows


def run_child(how: str, path: Path) -> None:
    """Read the file one way when told to, and print seconds, bytes of the table, and wait to be told to end."""
    import pyreadstat

    source = path.read_bytes() if how == "copse, upload" else path
    if how != "pyreadstat":
        child.prepare()
        time.sleep(6)  # it loads its packages
    print("ready", flush=True)
    sys.stdin.readline()
    start, clock = cpu_seconds(), time.perf_counter()
    if how != "pyreadstat":
        frame = child.read_in_child(source, name=path.name, allowance=child.Allowance(seconds=3600)).frame
    else:
        frame = pyreadstat.read_sav(str(path), user_missing=True)[0]
    seconds, wall = cpu_seconds() - start, time.perf_counter() - clock
    print(json.dumps([seconds, wall, int(frame.memory_usage(deep=True, index=False).sum())]), flush=True)
    sys.stdin.readline()


def cpu_seconds() -> float:
    """Return the seconds of work of this process and of its children that ended."""
    return sum(os.times()[:4])


def memory_in_use(parent: int) -> int:
    """Return the bytes that a process and its children hold: proportional set size, so that shared pages count once."""
    pids, total = [parent], 0
    for pid in pids:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (OSError, ValueError):  # it ended
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def measure(how: str, path: Path) -> tuple[float, float, int, int]:
    """Return seconds of work, seconds, bytes at the peak and bytes of the table."""
    command = [sys.executable, "-m", "benchmarks", "labelled", "--child", how, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = peak = memory_in_use(process.pid)
        done = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not done.wait(LOOK):
                peak = max(peak, memory_in_use(process.pid))

        watching = threading.Thread(target=watch)
        watching.start()
        process.stdin.write("go\n")
        process.stdin.flush()
        seconds, wall, table = json.loads(process.stdout.readline())
        done.set()
        watching.join()
        process.stdin.close()
    return seconds, wall, peak - before, table


def main(arguments: Sequence[str]) -> int:
    """Print a table of both readings, and how many times as much ours takes."""
    parser = argparse.ArgumentParser(prog="run.py bench labelled")
    parser.add_argument("--gib", type=float, default=1.0, help="size of the file, not compressed (default: 1)")
    parser.add_argument("--compressed", action="store_true", help="write the file as SPSS does unless told otherwise")
    parser.add_argument("--child", nargs=2, metavar=("HOW", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        run_child(options.child[0], Path(options.child[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.sav"
        rows = write_table(path, options.gib * GIB, options.compressed)
        print(f"{rows:,} rows, {COLUMNS} columns, {path.stat().st_size / GIB:.2f} GiB\n")
        print("| reading | CPU s | wall s | peak, GiB | table, GiB |\n|---|---:|---:|---:|---:|")
        figures = {}
        for how in ("pyreadstat", "copse", "copse, upload"):
            figures[how] = seconds, wall, peak, table = measure(how, path)
            print(f"| {how} | {seconds:.1f} | {wall:.1f} | {peak / GIB:.2f} | {table / GIB:.2f} |", flush=True)
    own = figures.pop("pyreadstat")
    for how, ours in figures.items():
        print(f"\n{how}: {ours[0] / own[0]:.2f} × pyreadstat's time; {ours[2] / ours[3]:.2f} × the table's memory.")
    return 0
