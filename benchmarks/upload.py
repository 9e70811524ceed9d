"""The memory of a session whose table was uploaded, kept whole and in pieces, step by step up to the bytes that leave.

    python run.py bench upload --rows 3000000

Adult is read from ``../shared/data`` and made larger by resampling. Each way runs in a process of its own, without a
browser: it brings the bytes as the Data page does, gives the roles (the income is sensitive, all else may be known),
grows the tree (k = 10, uniform groups) and makes what is downloaded. Memory is the highest of that process while the
step ran; the process that reads the file is beside it.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anonymizer as an
import ui.workspace
from anonymizer.partitions.folder import Packing
from benchmarks._steps import peak, reset_peak
from benchmarks.flow import adult
from benchmarks.scale import write_input

GIB = 1 << 30


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print what a step takes."""
    reset_peak()
    began, used = time.perf_counter(), time.process_time()
    yield
    clock, processor = time.perf_counter() - began, time.process_time() - used
    print(f"  {name:<28}{clock:>8.1f} s {processor:>8.1f} CPU s {peak() / GIB:>8.2f} GiB", flush=True)


def run(path: Path, is_whole: bool) -> None:
    """Bring one file, and print every figure."""
    if is_whole:
        ui.workspace.LARGE_READERS = {}
    ws = ui.workspace.Workspace()
    with step("read"):
        assert ws.bring(path.read_bytes(), path.name), ws.failure
    assert ws.reading is not None
    assert ws.reading.in_pieces is not is_whole, "the table is too small to be read in pieces"
    with step("facts, suggested roles"):
        ws.suggest()
    table = adult(5_000)
    ws.set_schema(an.Schema.of(table, quasi_identifying=[*table.columns.drop("income")], sensitive=["income"]))
    ws.set(generalizer="uniform", grouping="least")
    with step("tree, risk before"):
        ws.flow.compute("pruning", "about_table", "before")
    with step("report and bytes"):
        if is_whole:
            ws.flow.compute("report")
            size = len(ws.flow.release.to_bytes("parquet"))
        else:
            archive = ws.flow.write_folder(Packing("out")).folder  # type: ignore[attr-defined]
            assert archive is not None
            size = len(archive.data)
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(
        f"  it leaves as {size / 1e6:.1f} MB; the session holds {ws.memory() / GIB:.2f} GiB, the bytes that came among"
    )
    print(f"  them; the process that read them had {child / GIB:.2f} GiB at most", flush=True)


def main(arguments: list[str]) -> int:
    """Run every kind of file in both ways."""
    parser = argparse.ArgumentParser(prog="python run.py bench upload", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.file:
        run(Path(options.file), options.whole)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv"):
            path = Path(folder) / f"adult.{kind}"
            write_input(options.rows, path)
            for words in ([], ["--whole"]):
                print(f"{options.rows:,} rows of {kind}, {path.stat().st_size / 1e6:.0f} MB, "
                      f"{'whole' if words else 'in pieces'}:", flush=True)  # fmt: skip
                command = [sys.executable, "-m", "benchmarks", "upload", "--file", str(path), *words]
                subprocess.run(command, check=True)
    return 0
