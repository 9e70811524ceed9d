"""What a move of the k slider costs on Adult, stage by stage, warm.

    python run.py bench slider --rows 45222 452220 --generalizer uniform tiered
    python run.py bench slider --browser --rows 45222 --moves 40

A stage is what the pages ask of a session (ui/workspace.py): the table is encoded and grown, and k has been moved
before. Figures are medians over the moves, by the clock and in processor time, which a busy machine disturbs less.
Adult is read from ``../shared/data``, made larger by resampling.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable

import psutil

import anonymizer as an
from anonymizer.reading.files import Reading, ReadOptions
from benchmarks import _mouse
from benchmarks.flow import ADULT, adult
from ui.workspace import Workspace

STAGES = (
    "pruning", "release", "verification", "after", "utility", "distributions", "two_way", "coefficients", "isolation",
    "report",
)  # fmt: skip
MOVES = (11, 12, 14, 17, 20, 25, 19, 13, 10)


def session(rows: int, generalizer: str) -> Workspace:
    """Return a session with Adult as its table, grown and released once."""
    table = adult(rows)
    ws = Workspace(reading=Reading(table, ReadOptions(), (), f"adult {rows}", 0, "adult.csv", "csv"))
    names = [name for name in table.columns if name != "income"]
    ws.schema = an.Schema.of(table, quasi_identifying=names, sensitive=["income"])
    ws.set(generalizer=generalizer)
    timed_stages(ws)
    return ws


def timed_stages(ws: Workspace) -> dict[str, tuple[float, float]]:
    """Return the seconds of every stage, by the clock and of processors, each on the answers of those before it."""
    seconds = {}
    for stage in STAGES:
        start = time.perf_counter(), time.process_time()
        ws.flow.compute(stage)
        seconds[stage] = time.perf_counter() - start[0], time.process_time() - start[1]
    return seconds


def run(rows: int, generalizer: str, moves: Iterable[int] = MOVES) -> None:
    """Move k and print what every stage takes."""
    ws = session(rows, generalizer)
    seconds = defaultdict(list)
    for k in moves:
        ws.set(k=k)
        stages = timed_stages(ws)
        whole = tuple(sum(took) for took in zip(*stages.values(), strict=True))
        for stage, took in {**stages, "in all": whole}.items():
            seconds[stage].append(took)
    print(f"\n{rows:,} rows, {generalizer}, k moved {len(seconds['in all'])} times: median (most); processor time")
    for stage, times in seconds.items():
        clock, processor = ([1000 * second for second in column] for column in zip(*times, strict=True))
        middle = f"{statistics.median(clock):>10.1f} ms ({max(clock):.1f}); {statistics.median(processor):.1f} ms"
        print(f"  {stage:<16}{middle}", flush=True)
    print(f"  machine load {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores")


def main(arguments: list[str]) -> int:
    """Parse the options and measure."""
    parser = argparse.ArgumentParser(prog="bench slider", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[45_222, 452_220])
    parser.add_argument("--generalizer", nargs="+", default=["uniform"])
    parser.add_argument("--browser", action="store_true", help="measure the page in Chromium instead")
    parser.add_argument("--page", choices=["What if", "Tree"], default="What if")
    parser.add_argument("--moves", type=int, default=30)
    options = parser.parse_args(arguments)
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    for rows in options.rows:
        for generalizer in options.generalizer:
            if options.browser:
                _mouse.run(adult(rows), options.moves, generalizer, options.page)
            else:
                run(rows, generalizer)
    return 0
