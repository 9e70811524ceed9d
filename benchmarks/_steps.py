"""From a file to a checked release in the functions that every version has, step by step; and stages that are measured.

    python -P benchmarks/_steps.py SMALL.parquet TABLE.parquet uniform

Run in the folder of a version, with that folder in ``PYTHONPATH``, it prints what each step took as a line of JSON. It
imports the package of that version and nothing else of the project. The small table is released first, so that loops
are compiled.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Stages:
    """Stages that were measured: name, CPU seconds, seconds, and the highest memory of the process during each."""

    def __init__(self, profile: str | None = None) -> None:
        self.rows: list[tuple[str, float, float, int]] = []
        self.profile = profile

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what stands in the block."""
        profile = None
        if name == self.profile:
            import cProfile

            profile = cProfile.Profile()
        reset_peak()
        wall, cpu = time.perf_counter(), time.process_time()
        if profile:
            profile.enable()
        yield
        if profile:
            import pstats

            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        self.rows.append((name, time.process_time() - cpu, time.perf_counter() - wall, peak()))


def reset_peak() -> None:
    """Let the highest memory of this process begin anew; nothing where the system does not know that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak() -> int:
    """Return the highest memory of this process since :func:`reset_peak`, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().split("\n")
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def release(source: Path, generalizer: str, stages: Stages) -> None:
    """Release a table as a file, which is removed again; every step is measured."""
    import anonymizer as an

    with stages.stage("read"):
        table = an.read_table(source).frame
    with stages.stage("roles"):
        names = [name for name in table.columns if name != "income"]
        schema = an.Schema.of(table, quasi_identifying=names, sensitive=["income"])
    with stages.stage("grow"):
        encoded = an.encode(table, schema)
        tree = an.grow(encoded)
        leaf = an.descend(tree, encoded)
    with stages.stage("prune"):
        pruning = an.prune(tree, an.annotate(tree, encoded), "least", 10)
    with stages.stage("generalize"):
        released = an.generalize(table, schema, encoded, pruning, generalizer, 10, leaf=leaf)
    target = source.with_name("steps.parquet")
    with stages.stage("write"):
        released.write(target)
    target.unlink()
    with stages.stage("verify"):
        verification = an.verify(released.frame(), schema, k=10, original=table, order=released.order)
    if not verification.passed:
        raise SystemExit("The release fails a check.")


def main(small: str, table: str, generalizer: str) -> None:
    """Release both tables, and print what the second took."""
    import anonymizer as an

    if Path(an.__file__).resolve().parents[1] != Path.cwd().resolve():
        raise SystemExit(f"The package is that of {Path(an.__file__).parents[1]}, not of {Path.cwd()}.")
    release(Path(small), generalizer, Stages())
    stages = Stages()
    release(Path(table), generalizer, stages)
    print(json.dumps(stages.rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
