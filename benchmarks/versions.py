"""The command line of another version beside today's, on the same file in the same run: processor seconds and memory.

    python run.py bench versions --revision v0.1 --rows 4500000 --runs 3
    python run.py bench versions --revision v0.1 --rows 4500000 --to release

Adult, resampled, with 14 quasi-identifiers, k = 10, groups of least pruning, from a Parquet file to a checked release
in one, as ``copse anonymize`` writes it. The other version is what version control has at ``--revision``, in a folder
for temporary files. Both run in the same Python, in turns, after a run of a small table that compiles their loops. CPU
seconds are of all threads and processes of a command, its start included; memory is of the largest process.

``--to release`` leaves the report out: both versions run the same few functions (``_steps.py``), in the secret order
and with what each finds again, and beside them stand the stages of today's command, which hand on what they find and
end in the order by content. CPU seconds are then of all threads, from reading to the last step; the start of the
process and of what it compiles is not among them. The command of the other version, which has no way to a checked
release without its report, runs in the same turns.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.flow import ADULT, adult
from benchmarks.scale import GIB, in_child, middle_run, print_sum, seconds, write_input

ROOT = Path(__file__).parent.parent
STEPS = Path(__file__).with_name("_steps.py")
SMALL = 5_000
"""Records of the table that compiles the loops."""
TODAY = "now, the stages of the command"


class Run(NamedTuple):
    """What one command took: CPU seconds, seconds, and bytes of memory."""

    cpu: float
    wall: float
    memory: int


def main(arguments: list[str]) -> int:
    """Parse the options, and run both versions in turns."""
    parser = argparse.ArgumentParser(prog="bench versions", description=__doc__.split("\n")[0])
    parser.add_argument("--revision", required=True, help="as version control names it")
    parser.add_argument("--rows", type=int, default=450_000)
    parser.add_argument("--generalizer", default="uniform")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--to", default="report", choices=("report", "release"), help="where the measured work ends")
    options = parser.parse_args(arguments)
    if not ADULT.exists():
        print(f"The data set {ADULT.name} is not in ../shared/data, so there is nothing to measure.")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(options.revision, folder / "before")
        places = {options.revision: folder / "before", "now": ROOT}
        if options.to == "release":
            compare_releases(options, folder, places)
            return 0
        runs: dict[str, list[Run]] = {version: [] for version in places}
        for rows, times in ((SMALL, 1), (options.rows, options.runs)):
            source = folder / f"{rows}.parquet"
            write_input(rows, source)
            for _ in range(times):
                for version, place in places.items():
                    run = release(place, source, options.generalizer)
                    runs[version] += [run] if rows == options.rows else []
    print_runs(options, runs)
    return 0


def export(revision: str, folder: Path) -> None:
    """Write what version control has at a revision into a new folder."""
    command = ["git", "archive", "--format=tar", revision]
    content = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")


def release(place: Path, source: Path, generalizer: str) -> Run:
    """Return what it takes to release a file with the program in this folder."""
    names = ",".join(name for name in adult(1).columns if name != "income")
    target = source.with_name("released.parquet")
    command = [sys.executable, "-m", "anonymizer", "anonymize", str(source), "--quasi-identifying", names]
    command += ["--sensitive", "income", "--k", "10", "--grouping", "least", "--generalizer", generalizer]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--out", str(target)], cwd=place, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode or not target.exists():
        raise SystemExit(f"The program in {place} ended with {process.returncode}.")
    target.unlink()
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def compare_releases(options: argparse.Namespace, folder: Path, places: dict[str, Path]) -> None:
    """Run both versions and the stages of today's command in turns, and print the middle run of each, with ratios of
    medians."""
    small, source = folder / f"{SMALL}.parquet", folder / "table.parquet"
    write_input(SMALL, small)
    write_input(options.rows, source)
    runs: dict[str, list[list[Any]]] = {version: [] for version in (*places, TODAY)}
    before_place, commands = places[options.revision], list[Run]()
    release(before_place, small, options.generalizer)
    for _ in range(options.runs):
        commands.append(release(before_place, source, options.generalizer))
        for version, place in places.items():
            runs[version].append(steps(place, small, source, options.generalizer))
        command = ["--child", str(source), "--generalizer", options.generalizer, "--no-report"]
        runs[TODAY].append(in_child(command)["stages"])
    print(f"\n{options.rows:,} rows, parquet, {options.generalizer}, the middle run of {options.runs}")
    middle = {version: middle_run(of_version) for version, of_version in runs.items()}
    for version, stages in middle.items():
        print(f"\n{version}\n\n| step | CPU s | wall s | peak, GiB |\n|---|---:|---:|---:|")
        for name, cpu, wall, memory in stages:
            print(f"| {name} | {cpu:.2f} | {wall:.2f} | {memory / GIB:.2f} |")
        print_sum("file to checked release", stages)
    before, now, today = (statistics.median(map(seconds, of_version)) for of_version in runs.values())
    print(f"\nOf medians: now / {options.revision} = {now / before:.2f};", end=" ")
    print(f"{TODAY} / {options.revision} = {today / before:.2f};", end=" ")
    command = statistics.median(run.cpu for run in commands)
    print(f"{TODAY} / the command of {options.revision} ({command:.1f} CPU s) = {today / command:.2f}", flush=True)


def steps(place: Path, small: Path, source: Path, generalizer: str) -> list[Any]:
    """Return what each step takes of releasing a file with the functions of the program in this folder."""
    command = [sys.executable, "-P", str(STEPS), str(small), str(source), generalizer]
    own = {**os.environ, "PYTHONPATH": str(place)}
    lines = subprocess.run(command, cwd=place, env=own, check=True, stdout=subprocess.PIPE, text=True).stdout
    stages: list[Any] = json.loads(lines.strip().split("\n")[-1])
    return stages


def print_runs(options: argparse.Namespace, runs: dict[str, list[Run]]) -> None:
    """Print medians of both versions, and the ratio of their CPU seconds."""
    print(f"\n{options.rows:,} rows, parquet, {options.generalizer}, medians of {options.runs}\n")
    print("| version | CPU s | wall s | peak, GiB |\n|---|---:|---:|---:|")
    cpu = []
    for version, costs in runs.items():
        median = Run(*map(statistics.median, zip(*costs, strict=True)))  # type: ignore[arg-type]
        cpu.append(median.cpu)
        print(f"| {version} | {median.cpu:.2f} | {median.wall:.2f} | {median.memory / GIB:.2f} |")
    print(f"\nnow / {options.revision} = {cpu[1] / cpu[0]:.2f}", flush=True)
